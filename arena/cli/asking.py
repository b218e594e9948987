"""`arena replay --ask`: an edited bot before the requests of recorded games."""

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

from arena.bots import Bot, BotError, BuildError, build_all, completed, load, shown
from arena.cli.out import EASY, Column, counted, note, refuse, show, table
from arena.examine import BUILD_S
from arena.referee import GameRecord, Record
from arena.review import AnswerPair, ask_again

_LONGEST_S = 600.0  # for all requests of a process


@dataclass(frozen=True, slots=True)
class Differences:
    """Of so many requests, those at which a program chooses otherwise than the recorded bot, or not at all."""

    requests: int
    rows: tuple[AnswerPair, ...]


def ask(argument: str, name: str | None, recorded: Sequence[tuple[Record, GameRecord, Path]]) -> Differences:
    """Ask a bot what it chooses in recorded games, in place of the bot of this name, or of its own.

    It runs as a plain process, without a clock, and what it writes to standard error is shown. Exits with 2 where
    there is no such bot.
    """
    with tempfile.TemporaryDirectory() as scratch:
        try:
            bots, notes = load([argument])
            for each in notes:
                note(each)
            bot = build_all([completed(bots[0], False, Path(scratch, "bot"))], Path(scratch), BUILD_S)[0]
        except BuildError as problem:
            where = "The whole log"  # is gone with the scratch folder
            refuse("\n".join(line for line in str(problem).split("\n") if not line.startswith(where)))
        except BotError as problem:
            refuse(str(problem))
        name = bot.name if name is None else name
        games: dict[int, tuple[Record, set[int]]] = {}
        for record, game, _ in recorded:
            if name in record.header.bots:
                games.setdefault(id(record), (record, set()))[1].add(game.game)
        if not games:
            refuse(f"{shown(name)} plays in none of these games: name whose requests are meant by --seat BOT")
        rows: list[AnswerPair] = []
        for record, chosen in games.values():
            place = record.header.bots.index(name)
            rows += (each for each in ask_again(record, place, lambda sent: _output(bot, sent)) if each.game in chosen)
    return Differences(len(rows), tuple(each for each in rows if each.now is None or each.now != each.then))


def show_differences(differences: Differences) -> None:
    """Print what a bot chooses otherwise."""
    silent = sum(each.now is None for each in differences.rows)
    show(
        Text(f"it chooses otherwise at {len(differences.rows)} of {counted(differences.requests, 'request')}"),
        *([Text(f"at {silent} no allowed answer came")] if silent else []),
        *([Text(), _table(differences.rows)] if differences.rows else []),
        widest=EASY,
    )


def _table(rows: Sequence[AnswerPair]) -> RenderableType:
    numbers = (Column(name, number=True) for name in ("match", "game", "turn"))
    return table(
        [*numbers, "asked", Column("then", least=16), Column("now", least=16)],
        [
            [
                str(each.match),
                str(each.game),
                str(each.turn),
                each.kind,
                shown(each.then or "a fault"),
                shown(each.now or "no allowed answer"),
            ]
            for each in rows
        ],
    )


def _output(bot: Bot, lines: bytes) -> bytes:
    """Give a new process of the bot all lines at once; return what it printed until it ended.

    The processes that the bot has started end with it.
    """
    with tempfile.TemporaryFile() as printed:
        try:
            process = subprocess.Popen(
                bot.argv, stdin=subprocess.PIPE, stdout=printed, cwd=bot.cwd, start_new_session=True
            )
        except OSError as problem:
            refuse(f"{shown(bot.name)} can't be started: {problem.strerror}")
        try:
            process.communicate(lines, _LONGEST_S)
            if process.returncode:
                note(f"{shown(bot.name)} ended with {process.returncode}")
        except subprocess.TimeoutExpired:
            note(f"{shown(bot.name)} was stopped after {_LONGEST_S:.0f} s")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed.seek(0)
        return printed.read()
