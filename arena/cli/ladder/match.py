"""The command `arena ladder match`: one match."""

from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import RenderableType

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.words import became, megabytes, took, when
from arena.cli.out import Column, refuse, show, table, write
from ladder import views
from ladder.access import STAFF
from ladder.results import GameResult
from ladder.views import Match, did


@click.command()
@FOLDER
@click.argument("match", metavar="MATCH", type=click.IntRange(1, 2**31 - 1))
@click.option("--record", is_flag=True, help="Print the record, which arena verify replays.")
@answers(views.Match)
def match(folder: Path, match: int, record: bool, as_json: bool) -> None:
    """Print what is known of a match: its table, each game, faults, times, and why it ended."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        view = views.match(reader, match)
        text = views.record_text(reader, match) if record else None
    if view is None:
        refuse(f"there is no match {match}; see arena ladder matches {folder}")
    if record:
        if text is None:
            refuse(f"match {match} has no record: it {_why_no_record(view)}")
        write(text.rstrip("\n"))
    elif as_json:
        print_json(view)
    else:
        show(*_parts(view, folder, reader.limit_ms))


def _why_no_record(view: Match) -> str:
    if view.cause == "played":
        return "was played too long ago (ladder.toml, retention)"
    return f"wasn't played ({became(view)})"


def _parts(view: Match, folder: Path, limit_ms: int) -> Iterator[RenderableType]:
    """Yield what is printed, from the head to where to look further."""
    head = f"match {view.id}: {view.kind}"
    if view.final is not None:
        head += f" of the final {shown(view.final)}"
    if view.by is not None:
        head += f", asked for by {shown(view.by)}"
    yield f"{head}; {became(view)}, {when(view.ended_at or view.at)}"
    if view.reason:
        yield f"why: {shown(view.reason)}"
    for attempt in view.voids:
        yield f"an attempt failed through the machine at {when(attempt.at)}: {shown(attempt.why or '')}"
    for act in view.acts:
        yield f"{when(act.at)} {shown(did(act))}: {shown(act.why)}"
    yield ""
    names = ("games won", "forfeits", "faults", "requests", "ms, mean/slowest", "MB")
    columns = [Column("version", least=12), *(Column(name, number=True) for name in names)]
    yield table(
        columns,
        [
            (
                shown(seat.label),
                f"{seat.wins:g}/{seat.games}" if seat.games else "-",
                str(seat.forfeits),
                str(seat.faults),
                str(seat.requests),
                took(seat.requests, seat.time_us, seat.slowest_us),
                megabytes(seat.peak_bytes),
            )
            for seat in view.seats
        ],
    )
    if view.cause != "played":
        return
    yield f"times are the bots' own; a request's limit is {limit_ms} ms"
    yield ""
    yield table(
        [
            Column("game", number=True),
            Column("seats, the winner's with *", least=20),
            "ended by",
            Column("turns", number=True),
            Column("faults", least=10),
        ],
        [
            (str(game.game), _seats(game), game.reason.replace("_", " "), str(game.turns), _faults(game))
            for game in view.results
        ],
    )
    yield ""
    if view.record:
        yield f"record: arena ladder match {folder} {view.id} --record"
    for label in view.logs:
        yield f"standard error: arena ladder log {folder} {view.id} {shown(label)}"


def _seats(game: GameResult) -> str:
    return ", ".join(f"{shown(label)}{'*' if seat == game.winner else ''}" for seat, label in enumerate(game.seats))


def _faults(game: GameResult) -> str:
    texts = [f"{shown(game.seats[seat])}: {code} {count}" for seat, code, count in game.faults]
    texts += [f"{shown(game.seats[seat])} forfeits" for seat in game.forfeits]
    return "; ".join(texts)
