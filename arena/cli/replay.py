"""The command `arena replay`: recorded games in words."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.out import counted, fail, folded, refuse, width, write

if TYPE_CHECKING:
    from arena.cli.unfold import Telling, Turn
    from arena.referee import GameRecord, Record


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@click.option("--match", type=click.IntRange(0), metavar="N", help="Of a run's folder: this match alone.")
@click.option("--game", type=click.IntRange(0), metavar="N", help="This game of each match alone.")
@click.option("--lost", metavar="BOT", help="Only games that this bot lost.")
@click.option("--faults", is_flag=True, help="Only games in which a bot was at fault.")
@click.option("--seat", metavar="N|BOT", help="What this seat, or this bot, could know.  [all cards]")
@click.option("--from", "since", type=click.IntRange(1), metavar="TURN", help="Begin at this turn.  [1]")
def replay(path: Path, since: int | None, **chosen: Any) -> None:
    """Show recorded games in words, a line for each turn.

    RECORD is a file of a run's folder records/, DIR the run's folder.
    """
    found = list(_chosen(path, **chosen))
    if not found:
        refuse(f"{path} has no such game; arena stats {shlex.quote(str(path))} tells what there is")
    for record, game, _ in found:
        _tell(record, game, chosen["seat"], since or 1)


def _chosen(
    path: Path, match: int | None, game: int | None, lost: str | None, faults: bool, seat: str | None
) -> "Iterator[tuple[Record, GameRecord, Path]]":
    """Yield the games that are asked for, with their records and files. Exits with 2 where that can't be."""
    from arena.run import KeptError, record_at, records_at

    seen: set[str] = set()
    try:
        for file in records_at(path):
            record = record_at(file)
            header = record.header
            seen.update(header.bots)
            if match not in (None, header.match) or (lost is not None and lost not in header.bots):
                continue
            for each in record.games:
                seats = [header.bots[bot] for bot in each.seating]
                if (
                    game in (None, each.game)
                    and (lost is None or seats.index(lost) not in each.survivors)
                    and (each.faults or not faults)
                    and (seat is None or seat in seats or seat.isdecimal())
                ):
                    yield record, each, file
    except KeptError as problem:
        refuse(str(problem))
    for name in (lost, None if seat is None or seat.isdecimal() else seat):
        if name is not None and name not in seen:
            refuse(f"no bot of {path} is called {name!r}; there are {', '.join(sorted(seen))}")


def _tell(record: "Record", game: "GameRecord", seat: str | None, since: int) -> None:
    """Write one game in words."""
    from arena.cli.unfold import Telling, ending
    from arena.referee import RecordError

    place = _place(record, game, seat)
    telling = Telling(record, game, place)
    rules = record.header.terms.rules
    whose = "all cards" if place is None else f"as {telling.names[place]} saw it"
    write(f"match {record.header.match}, game {game.game}: {rules.name}, {counted(len(game.seating), 'seat')}, {whose}")
    try:
        for turn in telling.turns():
            if turn.number >= since:
                _write_turn(telling, turn)
    except RecordError as problem:
        fail(str(problem))
    write(f"{ending(game, telling.names)}\n")


def _place(record: "Record", game: "GameRecord", seat: str | None) -> int | None:
    if seat is None:
        return None
    names = [record.header.bots[bot] for bot in game.seating]
    if seat in names:
        return names.index(seat)
    if int(seat) >= len(names):
        refuse(f"--seat {seat}: the seats are 0 to {len(names) - 1}, or a bot's name")
    return int(seat)


def _write_turn(telling: "Telling", turn: "Turn") -> None:
    columns = width()
    write(folded(f"{turn.number:>4}  {turn.words}", columns))
    for given in turn.faults:
        write(folded(f"      ! {telling.names[given.seat]}: {_fault_words(given.fault)}, {given.word}", columns))
    write(click.style(folded(f"      {telling.table(turn.after)}", columns), dim=True))


def _fault_words(code: str | None) -> str:
    from arena.referee import FAULTS

    assert code is not None
    return f"{code} ({FAULTS[code].message})"
