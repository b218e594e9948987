"""Over pipes: the referee against the bare loop, with the same bots and the same bytes.

The bare loop starts the same programs, sends the lines of a match that the referee has played, waits for the answers
of each window by poll, encodes and decodes each line once with the standard library, and does nothing else. So the
ratio is what rules, checks, clocks, events and the record cost.
"""

import json
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.coup import list_legal_moves, view_from_seat
from arena.referee import MatchResult, MatchSpec, Record, hello, make_legal_moves, replay_game, wire
from arena.sandbox import Program
from tests.bench.figures import played, spec

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "sample_bots"
KITS = HERE.parents[1] / "protocol" / "kits"
ENVIRONMENT = {"PATH": os.environ["PATH"]}  # as small as a box's: a developer's settings would slow the bots
PYTHON_BOTS = ("honest", "opportunist", "bluffer", "counter", "turtle", "challenger")


@dataclass(frozen=True)
class Cost:
    """CPU microseconds a request: of the referee's own process, of its bots."""

    referee: float
    bots: float
    requests: int


def c_bot(folder: Path) -> Program:
    out = folder / "bot"
    subprocess.run(["cc", "-O2", "-o", str(out), str(HERE / "bot.c")], check=True)
    return Program((str(out),), folder)


def python_bots(seats: int) -> list[Program]:
    return [
        Program(("env", f"PYTHONPATH={KITS}", sys.executable, f"{PYTHON_BOTS[i % len(PYTHON_BOTS)]}.py"), SAMPLES)
        for i in range(seats)
    ]


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def referee(programs: Sequence[Program], games: int) -> tuple[Cost, MatchResult, MatchSpec]:
    """Play a match; its cost includes the start of its processes, spread over its requests.

    Of the bare loop's starts, only the part of the bots is included: 1 or 2 us a request less than the referee.
    Raises ValueError if a bot has a fault.
    """
    own, bots, result = played(programs, games)
    us = 1e6 / result.requests
    return Cost(own * us, bots * us, result.requests), result, spec(len(programs), games)


def mean_line_bytes(match: MatchSpec, record: Record) -> float:
    lengths = [len(line) for sends, waits in script(match, record) if waits for _, line in sends]
    return sum(lengths) / len(lengths)


def script(match: MatchSpec, record: Record) -> Iterator[tuple[list[tuple[int, str]], list[int]]]:
    """Yield the steps of the bare loop: (bot, line) to send, then the bots whose answers it waits for."""
    numbers = [0] * match.seats
    for game in record.games:
        feed = wire.LineCursor(match.seats)
        handles = [match.handles[bot] for bot in game.seating]
        board = None
        for step in replay_game(record.header, game):
            state = step.before
            if board is None:
                seeds = [match.game_seed(bot, game.game) for bot in game.seating]
                lines = [
                    wire.encode_game_start(view_from_seat(state, s), game.game, seed, handles)
                    for s, seed in enumerate(seeds)
                ]
                yield [(bot, line.decode()) for bot, line in zip(game.seating, lines, strict=True)], []
            question = wire.PhaseRequests(state.board, game.game)
            sends = []
            for seat in state.board.phase.asked:
                bot = game.seating[seat]
                numbers[bot] += 1
                sight = view_from_seat(state, seat)
                known, events = feed.known(sight), feed.take(seat)
                line = question.line(
                    sight, known, numbers[bot], events, make_legal_moves(list_legal_moves(sight)), 500, 10_000
                )
                sends.append((bot, line.decode()))
            yield sends, [bot for bot, _ in sends]
            feed.add(step.events)
            board = step.after.board
        yield (
            [
                (bot, wire.encode_game_over(game.game, board, feed.take(seat)).decode())  # type: ignore[arg-type]
                for seat, bot in enumerate(game.seating)
            ],
            [],
        )


def bare_loop(programs: Sequence[Program], match: MatchSpec, result: MatchResult) -> Cost:
    """Send the same lines to the same bots, and do nothing but what every such loop does."""
    steps = [([(bot, json.loads(line)) for bot, line in sends], waits) for sends, waits in script(match, result.record)]
    hellos = [hello(match, bot) for bot in range(match.seats)]
    children = _children()
    bots = [
        subprocess.Popen(program.argv, cwd=program.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)
        for program in programs
    ]
    inputs = [bot.stdin.fileno() for bot in bots]  # type: ignore[union-attr]
    outputs = [bot.stdout.fileno() for bot in bots]  # type: ignore[union-attr]
    poll = select.poll()
    for output in outputs:
        poll.register(output, select.POLLIN)
    for bot, line in enumerate(hellos):
        os.write(inputs[bot], line)
        os.read(outputs[bot], 65536)
    requests = 0
    own = time.process_time()
    for sends, waits in steps:
        for bot, message in sends:
            os.write(inputs[bot], json.dumps(message, separators=(",", ":")).encode() + b"\n")
        missing = len(waits)
        requests += missing
        while missing:
            for output, _ in poll.poll():
                json.loads(os.read(output, 65536))
                missing -= 1
    own = time.process_time() - own
    for process in bots:
        process.stdin.close()
        process.stdout.close()
        process.wait()
    return Cost(own / requests * 1e6, (_children() - children) / requests * 1e6, requests)
