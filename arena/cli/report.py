"""What a run says at its end, as tables for people and as one object for programs. Returns it, prints nothing.

Whatever comes from a bot (names, lines, standard error) is wrapped so that it can't be markup or a terminal escape.
"""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from arena.cli.out import Column, counted, table
from arena.referee import FAULTS, Consequence, RecordError, read, request_line
from arena.run import Progress, Run
from ladder.board import Board, Standing
from ladder.rating import Estimate
from ladder.store import RunFolder
from protocol import show

_STDERR_LINES = 6  # of a faulty bot's standard error in its example
_NO_ID = '"id":0,'  # the id of a rebuilt request
_LINE_SHOWN = 400  # characters of a request or an answer
_NAME_WIDTH = 12  # columns for a name in a narrow terminal; longer names wrap


def live(progress: Progress) -> RenderableType:
    """Return the table that is drawn while games are played."""
    rows = [[bot, str(games), f"{share:.1%}"] for bot, games, share in progress.shares()]
    return Group(_ranked(["bot", "games", "win share"], 0, rows), progress_line(progress))


def progress_line(progress: Progress) -> str:
    """Return how far the run is, and how long the rest will take."""
    played = progress.done - progress.resumed
    text = f"{progress.done} of {progress.plan.matches} matches"
    if played and progress.seconds > 0:
        left = (progress.plan.matches - progress.done) * progress.seconds / played
        text += f", {progress.fresh_games / progress.seconds:.0f} games/s, {_duration(left)} left"
    if progress.voided:
        text += f", {progress.voided} void"
    return text


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def parts(run: Run, folder: RunFolder, board: Board) -> Iterator[RenderableType]:
    """Yield what is printed at the end, from the head to where to look further."""
    yield head(run, board)
    if board.games:
        yield ""
        yield standings(board)
        yield from (Text(line, style="dim") for line in notes(board))
        yield ""
        yield duels(board)
    for text in trouble(run, folder, board):
        yield ""
        yield text
    yield ""
    yield Text(where(folder), no_wrap=True, overflow="ignore")


def head(run: Run, board: Board) -> str:
    """Return one line: what was played, and how fast."""
    config, progress = run.config, run.progress
    drawn = f", {board.draws} drawn" if board.draws else ""
    matches = counted(board.matches, "match", "es")
    text = f"{board.games} games of {config.terms.rules.name} at {config.seats} seats in {matches}{drawn}"
    if progress.seconds > 0 and progress.fresh_games:
        text += f"; {progress.fresh_games / progress.seconds:.0f} games/s"
    return text


def standings(board: Board) -> Table:
    """Return the standings as a table."""
    rows: list[list[str | Text]] = []
    for row in board.standings:
        share = row.ratings["win_share"]
        numbers = [_rated(row), f"{share.value:.1%}", _interval(share), str(row.games)]
        faults = [Text(str(count), style="red" if count else "") for count in (sum(row.faults.values()), row.forfeits)]
        rows.append([str(row.rank), row.bot, *numbers, *faults])
    return _ranked(["#", "bot", "rating", "win share", "95 %", "games", "faults", "forfeits"], 1, rows)


def _ranked(names: Sequence[str], bot: int, rows: Sequence[Sequence[str | Text]]) -> Table:
    """Return a table of numbers; the column `bot` holds names, which wrap if need be."""
    columns = [
        Column(name, least=_NAME_WIDTH) if place == bot else Column(name, number=True)
        for place, name in enumerate(names)
    ]
    return table(columns, rows)


def _rated(row: Standing) -> str:
    return f"{row.ratings['trueskill'].value:.1f} ± {2 * _sigma(row):.1f}"


def _sigma(row: Standing) -> float:
    """Return TrueSkill's sigma: its interval ends 2 sigma from mu."""
    found = row.ratings["trueskill"]
    assert found.high is not None
    return (found.high - found.value) / 2


def _interval(share: Estimate) -> str:
    if share.low is None or share.high is None:
        return "-"
    return f"{100 * share.low:.1f}-{100 * share.high:.1f}"


def notes(board: Board) -> list[str]:
    """Return what a reader of the standings has to know."""
    lines = ["rating: TrueSkill mu ± 2 sigma; a win share's interval counts each match as one observation"]
    if any(row.ratings["win_share"].low is None for row in board.standings):
        lines.append("no interval below 10 matches a bot: play more --games")
    return lines


def duels(board: Board) -> Table:
    """Return who beats whom: the share of games at a common table that the row's bot won."""
    rows = []
    for row in board.standings:
        cells = [str(row.rank), row.bot]
        for other in board.standings:
            duel = board.duels[row.bot].get(other.bot)
            cells.append(f"{duel.wins / duel.games:.0%}" if duel else "-")
        rows.append(cells)
    return _ranked(["#", "wins against", *(str(row.rank) for row in board.standings)], 1, rows)


def trouble(run: Run, folder: RunFolder, board: Board) -> Iterator[Text]:
    """Yield, for each faulty bot, its faults and one example, and for each match that was given up, why."""
    for row in board.standings:
        if row.faults:
            yield Text(_example(folder, row))
    for void in run.progress.given_up:
        yield Text(f"match {void.match} was void too often and is not counted: {void.reason}")


def _example(folder: RunFolder, row: Standing) -> str:
    counts = ", ".join(f"{code} {count}" for code, count in row.faults.items())
    lines = [f"{row.bot}: {counts}"]
    # A forfeit follows from what came before it, and a fault that costs nothing matters least.
    for wanted in (Consequence.LIFE, Consequence.FORFEIT, Consequence.FREE):
        code = next((code for code in row.faults if FAULTS[code].consequence is wanted and code != "retired"), None)
        if code is not None:
            return "\n".join(lines + list(_found(folder, row.bot, code)))
    return lines[0]


def _found(folder: RunFolder, name: str, code: str) -> Iterator[str]:
    rule = FAULTS[code]
    for match in sorted(folder.kept()):
        record = read(folder.read(match))
        if name not in record.header.bots:
            continue
        bot = record.header.bots.index(name)
        for game in record.games:
            for fault in game.faults:
                if (fault.bot, fault.code) != (bot, code):
                    continue
                named = fault.detail is not None and rule.limit  # "out of memory: 256 MB"
                yield f"  match {match}, game {game.game}: {fault.detail if named else rule.message}"
                if fault.detail and not named:
                    yield f"    detail   {fault.detail}"
                if fault.step is not None:
                    try:
                        line = request_line(record.header, game, fault.step).strip()
                        yield f"    request  {_cut(line.replace(_NO_ID, '', 1))}"
                    except RecordError as problem:
                        yield f"    request  can't be rebuilt: {problem}"
                if fault.got is not None:
                    yield f"    answer   {_cut(fault.got)}"
                if fault.used and rule.consequence is Consequence.LIFE:
                    yield f"    played   {fault.used}"
                yield f"    help     {rule.help}"
                yield from _stderr(folder, match, name)
                return


def _stderr(folder: RunFolder, match: int, name: str) -> Iterator[str]:
    for path in folder.log_files(match, name):
        lines = [line for line in path.read_bytes().split(b"\n") if line and not line.startswith(b"--- ")]
        if lines:
            yield f"    stderr   {path}"
            for line in lines[-_STDERR_LINES:]:
                yield f"      | {show(line, 160)}"
            return


def _cut(text: str) -> str:
    return text if len(text) <= _LINE_SHOWN else f"{text[:_LINE_SHOWN]}… ({len(text)} characters)"


def where(folder: RunFolder) -> str:
    """Return where to look further."""
    verify = f"arena verify {shlex.quote(str(folder.path))}"
    return f"records {folder.records}/, standard error {folder.logs}/; {verify}"


def to_json(run: Run, folder: RunFolder, board: Board) -> dict[str, Any]:
    """Return the object that --json prints."""
    config, progress = run.config, run.progress
    seconds = progress.seconds
    played = progress.done - progress.resumed
    return {
        "run": str(folder.path),
        "rules": config.terms.rules.name,
        "seed": config.seed,
        "seats": config.seats,
        "games": board.games,
        "matches": board.matches,
        "draws": board.draws,
        "voided": progress.voided,
        "given_up": [void.match for void in progress.given_up],
        "standings": [_standing(row) for row in board.standings],
        "head_to_head": {
            bot: {
                other: {"wins": _whole(duel.wins), "losses": _whole(duel.losses), "games": duel.games}
                for other, duel in row.items()
            }
            for bot, row in board.duels.items()
        },
        "speed": {
            "games_per_s": round(progress.fresh_games / seconds, 2) if seconds else 0.0,
            "requests_per_s": round(progress.requests / seconds, 1) if seconds else 0.0,
            "startup_s": round(progress.startup_s / played, 4) if played else 0.0,
        },
    }


def _standing(row: Standing) -> dict[str, Any]:
    share = row.ratings["win_share"]
    return {
        "rank": row.rank,
        "bot": row.bot,
        "games": row.games,
        "wins": _whole(row.wins),
        "win_share": round(share.value, 4),
        "win_share_95": None
        if share.low is None or share.high is None
        else [round(share.low, 4), round(share.high, 4)],
        "mu": round(row.ratings["trueskill"].value, 3),
        "sigma": round(_sigma(row), 3),
        "faults": {code: row.faults.get(code, 0) for code in FAULTS},
        "forfeits": row.forfeits,
    }


def _whole(number: float) -> float | int:
    return int(number) if number == int(number) else round(number, 4)
