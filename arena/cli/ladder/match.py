"""The command `arena ladder match`: one match."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.ladder.opened import AS_JSON, FOLDER, opened, print_json
from arena.cli.ladder.words import became, megabytes, took, when
from arena.cli.out import Column, refuse, show, table, write

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ladder.pages import MatchPage
    from ladder.results import GameResult


@click.command()
@FOLDER
@click.argument("match", metavar="MATCH", type=click.IntRange(1, 2**31 - 1))
@click.option("--record", is_flag=True, help="Print the record, which arena verify replays.")
@AS_JSON
def match(folder: Path, match: int, record: bool, as_json: bool) -> None:
    """Print what is known of a match: its table, each game, faults, times, and why it ended."""
    with opened(folder) as ladder:
        from ladder.pages import match_page
        from ladder.store.database import get_record

        with ladder.database.read() as connection:
            found = match_page(connection, match)
            text = get_record(connection, match) if record else None
        if found is None:
            refuse(f"there is no match {match}; see arena ladder matches {folder}")
        limit_ms = ladder.play.terms.timing.limit_ms
    if record:
        if text is None:
            refuse(f"match {match} has no record: it {_why_no_record(found)}")
        write(text.rstrip("\n"))
    elif as_json:
        print_json(_json(found))
    else:
        show(*_parts(found, folder, limit_ms))


def _why_no_record(found: "MatchPage") -> str:
    if found.line.cause == "played":
        return "was played too long ago (ladder.toml, retention)"
    return f"wasn't played ({became(found.line)})"


def _parts(found: "MatchPage", folder: Path, limit_ms: int) -> "Iterator[RenderableType]":
    """Yield what is printed, from the head to where to look further."""
    from arena.bots import shown

    line = found.line
    head = f"match {line.id}: {line.kind}"
    if found.final is not None:
        head += f" of the final {shown(found.final)}"
    if line.by is not None:
        head += f", asked for by {shown(line.by)}"
    yield f"{head}; {became(line)}, {when(line.ended_at or line.at)}"
    if line.reason:
        yield f"why: {shown(line.reason)}"
    for at, reason in found.voids:
        yield f"an attempt failed through the machine at {when(at)}: {shown(reason)}"
    for act in found.acts:
        yield f"{act.what} at {when(act.at)} by {shown(act.who)}: {shown(act.why)}"
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
            for seat in line.seats
        ],
    )
    if line.cause != "played":
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
            for game in found.results
        ],
    )
    yield ""
    if found.record:
        yield f"record: arena ladder match {folder} {line.id} --record"
    for label in found.logs:
        yield f"standard error: arena ladder log {folder} {line.id} {shown(label)}"


def _seats(game: "GameResult") -> str:
    from arena.bots import shown

    return ", ".join(f"{shown(label)}{'*' if seat == game.winner else ''}" for seat, label in enumerate(game.seats))


def _faults(game: "GameResult") -> str:
    from arena.bots import shown

    told = [f"{shown(game.seats[seat])}: {code} {count}" for seat, code, count in game.faults]
    told += [f"{shown(game.seats[seat])} forfeits" for seat in game.forfeits]
    return "; ".join(told)


def _json(found: "MatchPage") -> dict[str, Any]:
    from dataclasses import asdict

    told = asdict(found)
    told["voids"] = [{"at": at, "why": why} for at, why in found.voids]
    return {**told.pop("line"), **told}
