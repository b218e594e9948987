"""Implement `arena replay`, which shows recorded games as text, as JSON or as a page."""

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import click

from arena.cli.completion import complete_name
from arena.cli.console import (
    fail,
    format_count,
    option,
    os_error_reason,
    print_note,
    print_text,
    terminal_columns,
    usage_error,
    wrap_line,
)
from arena.cli.json_output import json_option, print_json
from arena.cli.narration import GameNarrator, NarratedGames
from arena.cli.what_if import WhatIfReport, ask_bot_again, print_what_if
from arena.referee import GameRecord, Record, RecordError
from arena.replay import make_replay_object, replay_page
from arena.run import RecordFileError, read_logs, read_records

_MAX_TITLE_NAMES = 6  # in a page's title
MAX_GAMES = 240  # in a page: about 5 MB, which a browser still opens in seconds


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@option("--match", type=click.IntRange(0), metavar="N", help="Only this match, of a run's folder.")
@option("--game", type=click.IntRange(0), metavar="N", help="Only this game of each match.")
@option("--lost-by", metavar="BOT", shell_complete=complete_name, help="Only games that this bot lost.")
@option("--faults", is_flag=True, help="Only games in which a bot was at fault.")
@option(
    "--seat",
    metavar="N|BOT",
    shell_complete=complete_name,
    help="What this seat, or this bot, could know.  [all cards]",
)
@option("--from", "since", type=click.IntRange(1), metavar="TURN", help="Begin at this turn.  [1]")
@option(
    "--what-if",
    metavar="BOT",
    help="Ask this bot what it would choose, in place of the recorded one of its name or of --seat.",
)
@option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page instead.")
@json_option(NarratedGames, WhatIfReport)
def replay(path: Path, html: Path | None, since: int | None, what_if: str | None, as_json: bool, **chosen: Any) -> None:
    """Show recorded games in words, a line for each turn, or as a page.

    RECORD is a file of a run's folder records/, DIR the run's folder. The page of --html is one file that needs nothing
    else: the table, each seat's knowledge, odds, times and standard error; open it in a browser. With --seat BOT it
    holds only what this bot could know; with --lost-by BOT it holds all cards, and opens with what BOT knew.

    --what-if starts an edited bot as a plain process, sends it the lines of the recorded bot, and prints where its
    choices differ. The games continue as recorded. It draws new random numbers, except those from game_seed.
    """
    games = _choose_games(path, **chosen)
    first = next(games, None)
    if first is None:
        wanted = [f"{chosen['lost_by']} lost"] * bool(chosen["lost_by"]) + ["has a fault of a bot"] * chosen["faults"]
        if wanted and (chosen["match"], chosen["game"]) == (None, None):
            usage_error(f"no game of {path} is one that {' and that '.join(wanted)}")
        usage_error(f"{path} has no such game; arena stats {shlex.quote(str(path))} lists what there is")
    games = chain((first,), games)
    try:
        if what_if is not None:
            if html is not None or since is not None:
                usage_error("--what-if prints a table: not with --html or --from")
            differences = ask_bot_again(what_if, chosen["seat"], list(games))
            print_json(differences) if as_json else print_what_if(differences)
            return
        if html is not None:
            if since is not None:
                usage_error("--from is for the terminal: the page shows all turns")
            write_page(html, path, list(games), chosen["lost_by"], chosen["seat"])
            return
        narrators = (GameNarrator(record, game, select_seat(record, game, chosen["seat"])) for record, game, _ in games)
        if as_json:
            print_json(NarratedGames(tuple(narrator.narrate(since or 1) for narrator in narrators)))
            return
        for narrator in narrators:
            print_narration(narrator, since or 1)
    except RecordError as problem:
        fail(str(problem))


def _choose_games(
    path: Path, match: int | None, game: int | None, lost_by: str | None, faults: bool, seat: str | None
) -> Iterator[tuple[Record, GameRecord, Path]]:
    """Yield (record, game, file) for each selected game. Exits with 2 for unreadable files and unknown bots."""
    seen: set[str] = set()
    try:
        for record, file in read_records(path, lambda why: print_note(f"left out: {why}")):
            header = record.header
            seen.update(header.bots)
            if match not in (None, header.match) or (lost_by is not None and lost_by not in header.bots):
                continue
            for each in record.games:
                seats = [header.bots[bot] for bot in each.seating]
                if (
                    game in (None, each.game)
                    and (lost_by is None or each.lost_by(header.bots.index(lost_by)))
                    and (not faults or any(_sees_fault_of(seat, record, each, fault.bot) for fault in each.faults))
                    and (seat is None or seat in seats or seat.isdecimal())
                ):
                    yield record, each, file
    except RecordFileError as problem:
        usage_error(str(problem))
    for name in (lost_by, None if seat is None or seat.isdecimal() else seat):
        if name is not None and name not in seen:
            usage_error(f"no bot of {path} is called {name!r}; there are {', '.join(sorted(seen))}")


def _sees_fault_of(seat: str | None, record: Record, game: GameRecord, bot: int) -> bool:
    """Return whether `seat`, by name or number, sees a bot's faults: a seat sees only its own, None sees all."""
    return seat in (None, record.header.bots[bot], str(game.seating.index(bot)))


def select_seat(record: Record, game: GameRecord, seat: str | None) -> int | None:
    """Return the number of a seat given by number or bot, None for None. Exits with 2 if it doesn't exist."""
    if seat is None:
        return None
    names = [record.header.bots[bot] for bot in game.seating]
    if seat in names:
        return names.index(seat)
    if not seat.isdecimal() or int(seat) >= len(names):
        usage_error(f"--seat {seat}: the seats are 0 to {len(names) - 1}, or a bot's name")
    return int(seat)


def print_narration(narrator: GameNarrator, since: int = 1, pause_s: float = 0) -> None:
    """Print one game in words from turn `since`, with a pause after each turn."""
    columns = terminal_columns()
    print_text(narrator.title)
    game = narrator.narrate(since)
    for turn in game.turns:
        print_text(wrap_line(f"{turn.turn:>4}  {turn.text}", columns))
        for fault in turn.faults:
            print_text(wrap_line(f"      ! {game.names[fault.seat]}: {fault.text}", columns))
        print_text(click.style(wrap_line(f"      {turn.table_state}", columns), dim=_supports_styles() or None))
        time.sleep(pause_s)
    for stray in game.unattributed_faults:
        print_text(wrap_line(f"      ! {stray}", columns))
    print_text(f"{game.result_text}\n")


def _supports_styles() -> bool:
    """Return whether the terminal supports styles. If standard output isn't a terminal, click removes them."""
    return "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb"


def write_page(
    file: Path,
    source: Path,
    chosen: Sequence[tuple[Record, GameRecord, Path]],
    bot: str | None,
    only: str | None,
    review: dict[str, Any] | None = None,
) -> None:
    """Write the games `chosen` as an HTML page, with all cards, or only with information that the bot `only` had.

    The page opens with the knowledge of `bot`. review: as for `replay_page`. Exits with 2 if there are too many games,
    with 1 if the file can't be written.
    """
    if only is not None and any(only not in record.header.bots for record, _, _ in chosen):
        usage_error(f"--seat {only}: seats change from game to game; for a page name a bot")
    if len(chosen) > MAX_GAMES:
        usage_error(
            f"{len(chosen)} games are too many for a page, {MAX_GAMES} aren't: choose by --match, --game or --lost-by"
        )
    matches = []
    bots = dict.fromkeys(bot for record, _, _ in chosen for bot in record.header.bots)
    title = ", ".join(bots) if len(bots) <= _MAX_TITLE_NAMES else f"{format_count(len(bots), 'bot')} of {source.name}"
    for path, group in groupby(chosen, key=lambda each: each[2]):
        games = list(group)
        record = replace(games[0][0], games=tuple(game for _, game, _ in games))
        eyes = None if only is None else (record.header.bots.index(only),)
        matches.append(make_replay_object(record, read_logs(path, record), eyes))
    try:
        file.write_text(
            replay_page(matches, f"Coup: {title}", bot if only is None else None, review),
            encoding="utf-8",
            errors="replace",
        )
    except OSError as problem:
        fail(f"{os_error_reason(problem)}; name another file")
    cards = "all cards" if only is None else f"only what {only} could know"
    opens = f", and opens with what {bot} knew" if bot is not None and only is None else ""
    print_note(f"{format_count(len(chosen), 'game')} in {file}: open it in a browser. It holds {cards}{opens}")
