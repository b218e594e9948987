"""Run a what-if replay for `arena replay`: compare a changed bot's choices with recorded games."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from arena.bots import Bot, BotError, BuildError, build_all, escape_control, load_bots, with_kit
from arena.checks import BUILD_S
from arena.cli.console import MAX_PROSE_COLUMNS, Column, format_count, make_table, print_note, print_parts, usage_error
from arena.referee import GameRecord, Record
from arena.review import DecisionPair, replay_decisions

_MAX_PROCESS_S = 600.0  # for a process with all its requests


@dataclass(frozen=True, slots=True)
class WhatIfReport:
    """The requests at which a program chooses another move than the recorded bot, or none. requests: their total."""

    requests: int
    items: tuple[DecisionPair, ...]


def ask_bot_again(argument: str, name: str | None, recorded: Sequence[tuple[Record, GameRecord, Path]]) -> WhatIfReport:
    """Replay recorded games to the bot `argument` in place of the recorded bot `name` (None: of its own name).

    It runs as a plain process without a clock, and its standard error is shown. Exits with 2 for unknown bots.
    """
    with tempfile.TemporaryDirectory() as scratch:
        try:
            bots, notes = load_bots([argument])
            for each in notes:
                print_note(each)
            bot = build_all([with_kit(bots[0], False, Path(scratch, "bot"))], Path(scratch), BUILD_S)[0]
        except BuildError as problem:
            where = "The whole log"  # is gone with the scratch folder
            usage_error("\n".join(line for line in str(problem).split("\n") if not line.startswith(where)))
        except BotError as problem:
            usage_error(str(problem))
        name = bot.name if name is None else name
        games: dict[int, tuple[Record, set[int]]] = {}
        for record, game, _ in recorded:
            if name in record.header.bots:
                games.setdefault(id(record), (record, set()))[1].add(game.game)
        if not games:
            usage_error(
                f"{escape_control(name)} plays in none of these games: name whose requests are meant by --seat BOT"
            )
        rows: list[DecisionPair] = []
        for record, chosen in games.values():
            place = record.header.bots.index(name)
            rows += (
                each
                for each in replay_decisions(record, place, lambda sent: _run_bot(bot, sent))
                if each.game in chosen
            )
    return WhatIfReport(
        len(rows), tuple(each for each in rows if each.new_choice is None or each.new_choice != each.recorded_choice)
    )


def print_what_if(differences: WhatIfReport) -> None:
    """Print the requests at which a bot's choices differ."""
    silent = sum(each.new_choice is None for each in differences.items)
    print_parts(
        Text(f"it chooses otherwise at {len(differences.items)} of {format_count(differences.requests, 'request')}"),
        *([Text(f"at {silent} no allowed answer came")] if silent else []),
        *([Text(), _table(differences.items)] if differences.items else []),
        widest=MAX_PROSE_COLUMNS,
    )


def _table(rows: Sequence[DecisionPair]) -> RenderableType:
    numbers = (Column(name, number=True) for name in ("match", "game", "turn"))
    return make_table(
        [*numbers, "request", Column("recorded", least=16), Column("new", least=16)],
        [
            [
                str(each.match),
                str(each.game),
                str(each.turn),
                each.kind,
                escape_control(each.recorded_choice or "a fault"),
                escape_control(each.new_choice or "no allowed answer"),
            ]
            for each in rows
        ],
    )


def _run_bot(bot: Bot, lines: bytes) -> bytes:
    """Start the bot, send it all lines at once, and return its output. Kills the processes that it has started."""
    with tempfile.TemporaryFile() as printed:
        try:
            process = subprocess.Popen(
                bot.argv, stdin=subprocess.PIPE, stdout=printed, cwd=bot.cwd, start_new_session=True
            )
        except OSError as problem:
            usage_error(f"{escape_control(bot.name)} can't be started: {problem.strerror}")
        try:
            process.communicate(lines, _MAX_PROCESS_S)
            if process.returncode:
                print_note(f"{escape_control(bot.name)} ended with {process.returncode}")
        except subprocess.TimeoutExpired:
            print_note(f"{escape_control(bot.name)} was stopped after {_MAX_PROCESS_S:.0f} s")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed.seek(0)
        return printed.read()
