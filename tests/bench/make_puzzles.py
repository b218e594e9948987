"""Add puzzles to arena/lessons/puzzles.json: positions in which one decision is clearly better than all others.

`python -m tests.bench.make_puzzles NUMBER` continues until the file has NUMBER puzzles, and prints what each
proposal took. It needs make and a C++ compiler.

A simple bot plays games with strong ones, and `arena.review` proposes the decisions that cost it most. Whole games
decide. In each round the hidden cards are dealt again, as the player can believe after all claims. Each move that is
left is then played once to the game's end, with strategist_cpp in each seat. A move is out once an interval that is
valid at each look (`arena.compare.Evidence`) says that it is worse; the best of them plays all ROUNDS, so that at least
2,000 games decide. A proposal is dropped if a move is as good, if ROUNDS leave a doubt, or if all others lose almost
always.
"""

import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from arena import coup
from arena.compare import Evidence
from arena.local import LocalPlayer, play
from arena.referee import (
    UNTIMED_MS,
    MatchSettings,
    MatchSpec,
    Record,
    hello,
    make_legal_moves,
    messages,
    replay_game,
    sent_lines,
)
from arena.review import MoveEvaluation, MoveEvaluator

ROOT = Path(__file__).parents[2]
PUZZLES = ROOT / "arena/lessons/puzzles.json"
LEARNERS = ("honest", "bluffer", "challenger", "counter", "opportunist")
KINDS = ("turn", "challenge", "block")
MIN_COST, MIN_GAIN = 0.2, 0.1  # of a game: of a proposal by playouts, and of a puzzle by whole games
ROUNDS, BLOCK = 1000, 5  # fresh deals, and of how many a block of the test is
MIN_SHARE = 0.05  # of the second best move: otherwise the choice is between a chance and the end
FUTILE = 8  # blocks after which a proposal with half of MIN_GAIN or less is dropped
ROLES = {0: "duke", 1: "assassin", 2: "captain", 3: "ambassador", 4: "contessa"}  # of sample_bots/strategist.py


class PipeBot:
    """A bot that runs as a process of this one."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def reply(self, message: Mapping[str, Any]) -> Any:
        """Send a message; return the reply, None if it needs none."""
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline()) if message["type"] in ("hello", "request") else None


class Proposer(MoveEvaluator):
    """Evaluates moves by playouts, and keeps what is needed to deal the hidden cards of a decision again."""

    sitting: Any = None

    def _evaluate(self, game: Any, options: Any, start: Any, sitting: Any, margin: Any) -> Any:
        self.sitting = sitting
        if game.kind not in KINDS:
            return options[0], options[0], 0.0, 0.0, 0.0, 0.0, 0.0, None
        return super()._evaluate(game, options, start, sitting, margin)


def build_strategist(folder: Path) -> Path:
    """Return the program of strategist_cpp, built in a folder."""
    shutil.copytree(ROOT / "sample_bots/strategist_cpp", folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "protocol/kits/coup_kit.hpp", folder)
    subprocess.run(["make", "--silent"], cwd=folder, check=True)
    return folder / "build/bot"


def propose(program: Path, seats: int) -> Iterator[tuple[Record, int, MoveEvaluation, Any]]:
    """Play a match; yield (record, seat, decision, sitting) of costly decisions of the learner, one of each game.

    The learner plays simply, so that it makes the mistakes of people; the others are strategist_cpp.
    """
    bots: dict[str, Any] = {f"bot{seat}": PipeBot(program) for seat in range(seats - 1)}
    bots["learner"] = f"sample:{secrets.choice(LEARNERS)}"
    [record] = play(bots, games=12, seed=secrets.randbits(64), records=True).records
    proposer, done = Proposer(), set()
    for found in proposer.judge(list(sent_lines(record, seats - 1)), frozenset(game.game for game in record.games)):
        costs = found.request["kind"] in KINDS and found.cost - 2 * found.cost_error > MIN_COST
        if costs and found.game not in done:
            done.add(found.game)
            yield record, record.games[found.game].seating.index(seats - 1), found, proposer.sitting


class Position:
    """A decision of a seat, which can be played to the end after each of its moves."""

    def __init__(self, record: Record, seat: int, found: MoveEvaluation, sitting: Any, bots: Sequence[PipeBot]) -> None:
        self.seat, self.sitting, self.bots = seat, sitting, bots
        self.game = record.games[found.game]
        self.history: list[coup.Event] = []
        self.moves: list[str] = []
        within, turn = 0, 1
        for step in replay_game(record.header, self.game):
            within = within + 1 if step.before.board.turn == turn else 0
            turn = step.before.board.turn
            if (turn, within) >= (found.request["state"]["turn"], found.step) and seat in step.before.board.phase.asked:
                break
            self.moves += map(coup.format_move, step.answers)
            self.history += step.events
        self.state = step.before
        self.legal = make_legal_moves(coup.list_legal_moves(coup.view_from_seat(self.state, seat)))
        index = self.legal.find(found.better_move)
        assert index is not None
        self.right = self.legal.words[index]

    def deal(self) -> coup.State:
        """Return the position with other hidden cards."""
        hands, deck = self.sitting.deal()
        cards = [coup.Role(ROLES[card]) for card in deck]
        secrets.SystemRandom().shuffle(cards)
        return self.state._replace(
            hands=tuple(tuple(sorted(coup.Role(ROLES[card]) for card in hand)) for hand in hands), deck=tuple(cards)
        )

    def play_out(self, state: coup.State, word: str, number: int) -> float:
        """Return the seat's share of the win after its move."""
        seats = state.board.seats
        spec = MatchSpec(0, secrets.token_bytes(32), tuple("ABCDEFGHIJ"[:seats]), (tuple(range(seats)),))
        chance, feed = coup.KeyedRng(spec.key, 0), messages.MessageCursor(seats)
        names = [f"{handle}{number}" for handle in spec.bots]  # new ones: no bot knows them from another game
        players = [LocalPlayer(handle, bot) for handle, bot in zip(spec.bots, self.bots, strict=False)]
        past = []
        for seat, player in enumerate(players):
            view = coup.view_from_seat(state, seat)
            player.send(messages.make_game_start(view, 0, spec.game_seed(seat, 0), names))
            owner = seat if seat == self.seat else None
            past.append([messages.make_event(at, event, owner) for at, event in enumerate(self.history)])
        asked_first = True
        while state.board.phase.asked:
            answers = []
            for seat in state.board.phase.asked:
                view = coup.view_from_seat(state, seat)
                legal = make_legal_moves(coup.list_legal_moves(view))
                if asked_first and seat == self.seat:
                    answers.append(coup.parse_move(word))
                    continue
                player = players[seat]
                player.number += 1
                events = [*past[seat], *feed.take(seat)]
                past[seat] = []
                request = messages.make_request(
                    view, coup.NOTHING_KNOWN, 0, player.number, events, legal, UNTIMED_MS, UNTIMED_MS
                )
                answers.append(legal.moves[player.choice(request, legal)])
            asked_first = False
            state, events_now = coup.apply_moves(state, answers, chance)
            feed.add(events_now)
            if not state.board.influence[self.seat]:
                return 0.0
        alive = [seat for seat in range(seats) if state.board.influence[seat]]
        return 1 / len(alive) if self.seat in alive else 0.0


def confirm(position: Position) -> dict[str, Any] | None:
    """Return a puzzle, None if the proposed move isn't clearly better than all others."""
    others = {word: Evidence(MIN_GAIN) for word in position.legal.words if word != position.right}
    shares: dict[str, list[float]] = {word: [] for word in position.legal.words}
    for number in range(ROUNDS // BLOCK):
        best = max(others, key=lambda word: fmean(shares[word]) if number else 0.0)
        if number == FUTILE and fmean(shares[best]) < MIN_SHARE:
            return None
        left = [word for word, found in others.items() if found.verdict is None or word == best]
        for deal in range(BLOCK):
            state = position.deal()
            for word in (position.right, *left):
                shares[word].append(position.play_out(state, word, number * BLOCK + deal))
        for word in left:
            others[word].add(list(zip(shares[word][-BLOCK:], shares[position.right][-BLOCK:], strict=True)))
            mean, _, _ = others[word].estimate()
            if others[word].verdict in ("worse", "no difference") or (number >= FUTILE and mean < MIN_GAIN / 2):
                return None
    if any(each.verdict != "better" or each.estimate()[0] < MIN_GAIN for each in others.values()):
        return None
    return {
        "starter": position.game.starter,
        "game": position.game.game,
        "seat": position.seat,
        "moves": " ".join(position.moves),
        "right": position.right,
        "results": {word: [round(fmean(found), 3), len(found)] for word, found in shares.items()},
    }


def main() -> None:
    """Add puzzles to the file until it has enough."""
    wanted = int(sys.argv[1])
    puzzles = json.loads(PUZZLES.read_text("utf-8")) if PUZZLES.exists() else []
    proposals = 0
    with tempfile.TemporaryDirectory() as folder:
        program = build_strategist(Path(folder))
        bots = [PipeBot(program) for _ in range(4)]
        while len(puzzles) < wanted:
            seats = (2, 3, 2, 3, 4)[len(puzzles) % 5]
            spec = MatchSpec(0, bytes(32), tuple("ABCD"[:seats]), (tuple(range(seats)),), MatchSettings())
            for bot, player in enumerate(bots[:seats]):
                player.reply(json.loads(hello(spec, bot)))
            for record, seat, found, sitting in propose(program, seats):
                kinds = [puzzle["kind"] for puzzle in puzzles]
                if kinds.count(found.request["kind"]) > len(kinds) / 3 + 3:
                    continue
                proposals += 1
                begun = time.process_time(), time.monotonic()
                position = Position(record, seat, found, sitting, bots)
                puzzle = confirm(position)
                cost = f"{time.process_time() - begun[0]:.0f} s of this process, {time.monotonic() - begun[1]:.0f} s"
                print(
                    proposals,
                    len(puzzles),
                    seats,
                    found.request["kind"],
                    position.right,
                    cost,
                    puzzle and puzzle["results"],
                    flush=True,
                )
                if puzzle is not None:
                    puzzles.append(
                        {"key": record.header.key.hex(), "players": seats, "kind": found.request["kind"], **puzzle}
                    )
                    lines = ",\n".join(json.dumps(each) for each in puzzles)
                    PUZZLES.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
