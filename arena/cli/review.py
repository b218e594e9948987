"""Implement `arena review`: find the decisions that cost a bot the most wins, and their common patterns."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import RenderableType
from rich.text import Text

from arena.cli import console, options
from arena.cli.options import complete_bot, complete_name
from arena.cli.replay import MAX_GAMES, open_asked_bot, write_page
from arena.cli.run import count_cores
from arena.escaping import escape_control
from arena.formatting import format_count, format_interval, format_percent
from arena.local import JobError
from arena.referee import Record, RecordError
from arena.review import CostlyDecision, Judge, JudgeError, MistakePattern, Review, UnknownRulesError, review_bot
from arena.run import RecordFileError, read_records


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@console.option("--bot", metavar="BOT", required=True, shell_complete=complete_name, help="The bot to review.")
@console.option(
    "--judge", metavar="BOT", shell_complete=complete_bot, help="The bot that chooses better moves.  [strategist]"
)
@console.option("--max-games", type=click.IntRange(1), metavar="N", default=100, help="Review the first N lost games.")
@console.option("--jobs", type=click.IntRange(1), metavar="N", help="Matches in parallel, on Linux.  [number of cores]")
@options.time_option("Stop after this time: 60s, 5m.  [no limit]")
@console.option("--top", type=click.IntRange(1), metavar="N", default=10, help="Show N decisions.")
@console.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write an HTML page of these games, as the bot saw them.",
)
@console.json_option(Review)
def review(
    *,
    path: Path,
    bot: str,
    judge: str | None,
    max_games: int,
    seconds: float | None,
    jobs: int | None,
    top: int,
    html: Path | None,
    as_json: bool,
) -> None:
    """Find the decisions that cost a bot the most wins.

    RECORD is a file in a run's folder records/, DIR the run's folder. For each decision in a lost game, review samples
    the hidden cards many times and plays each move to the end. It lists decisions where another move wins clearly more.
    --json has all of them, and the chances to win throughout each game.

    With --judge, BOT is asked as by arena replay --what-if, and only its choices count as better moves.

    --html writes a page with these games, the chances to win, and links to the costly decisions.
    """
    if html is not None and max_games > MAX_GAMES:
        console.usage_error(f"--max-games {max_games}: a page has space for {MAX_GAMES} games")
    records = _read_records_of(path, bot)
    with console.stop_early(seconds) as early_stop, _open_judge(judge) as chooser:
        try:
            result = _review_with_progress(records, bot, max_games, jobs, early_stop, chooser)
        except (RecordError, UnknownRulesError, JobError, JudgeError) as problem:
            console.fail(f"{path}: {problem}")
    try:
        if html is not None and result.games:
            _write_page(html, path, records, result)
    finally:  # also if the page can't be written
        _print_review(result, path, top, as_json)
    if html is not None and not result.games:
        console.print_note(f"no game of {path} that {bot} lost was reviewed: {html} isn't written")
    elif html is None and not result.lost and not as_json:
        console.print_note(f"{bot} lost no game of {path}")
    if early_stop.reason is not None:
        console.print_note(early_stop.reason)
        sys.exit(early_stop.exit_code)


def _print_review(result: Review, path: Path, top: int, as_json: bool) -> None:
    if as_json:
        console.print_json(result)
    elif result.lost:
        console.print_parts(*_format_review(result, top), widest=console.MAX_PROSE_COLUMNS)
        if result.costly_decisions:
            console.print_text(f"the first: {_command(path, result.bot, result.costly_decisions[0])}")


@contextmanager
def _open_judge(argument: str | None) -> Iterator[Judge | None]:
    """Yield the judge that a bot's argument names, None for None. Exits with 2 as `open_asked_bot` does."""
    if argument is None:
        yield None
        return
    with open_asked_bot(argument) as (name, ask):
        yield Judge(escape_control(name), ask)


def _review_with_progress(
    records: Sequence[tuple[Record, Path]],
    bot: str,
    max_games: int,
    jobs: int | None,
    early_stop: console.EarlyStop,
    judge: Judge | None,
) -> Review:
    """Return the review of a bot, and show the progress meanwhile. Raises the errors of `review_bot`."""
    reviewed_matches = 0

    def describe() -> str:
        text = f"{reviewed_matches} of {format_count(len(records), 'match', 'es')} reviewed"
        return text + early_stop.describe_left(reviewed_matches / len(records))

    def count() -> None:
        nonlocal reviewed_matches
        reviewed_matches += 1
        early_stop.check()
        redraw()

    processes = (jobs or count_cores()) if sys.platform == "linux" else 1
    with console.show_progress(describe, describe) as redraw:
        return review_bot(
            [record for record, _ in records], bot, max_games, jobs=processes, on_match=count, judge=judge
        )


def _read_records_of(path: Path, bot: str) -> list[tuple[Record, Path]]:
    """Return the records in which a bot plays, with their files. Exits with 2 without such a record."""
    try:
        records = list(read_records(path, lambda reason: console.print_note(f"skipped: {reason}")))
    except RecordFileError as problem:
        console.usage_error(str(problem))
    records_of_bot = [(record, file) for record, file in records if bot in record.header.bots]
    if not records_of_bot:
        names = sorted({name for record, _ in records for name in record.header.bots})
        console.usage_error(f'{path} has no bot "{bot}"; its bots are {", ".join(map(escape_control, names))}')
    return records_of_bot


def _write_page(html: Path, path: Path, records: Sequence[tuple[Record, Path]], result: Review) -> None:
    """Write an HTML page of the reviewed games, as the bot saw them, with the review. Exits with 1 if that fails."""
    reviewed_games = {(curve.match, curve.game) for curve in result.curves}
    games = [
        (record, game, file)
        for record, file in records
        for game in record.games
        if (record.header.match, game.game) in reviewed_games
    ]
    write_page(html, path, games, None, result.bot, asdict(result))


def _format_review(result: Review, top: int) -> Iterator[RenderableType]:
    """Yield the review as `print_parts` takes it: the counts, the `top` most costly decisions, and their patterns."""
    limit = "" if result.games == result.lost else f" (reviewed: the first {result.games})"
    yield Text(
        f"{escape_control(result.bot)} lost {format_count(result.lost, 'game')}{limit}: "
        f"{format_count(result.decisions, 'decision')}"
    )
    if not result.games:
        return
    if not result.costly_decisions:
        yield Text("no decision cost clearly more than the error of the playouts")
        return
    decisions = result.costly_decisions[:top]
    total = format_count(len(result.costly_decisions), "decision")
    yield Text(f"\nthe {len(decisions)} most costly of {total} that lowered the chance to win\n")
    yield _make_decision_table(decisions)
    if result.patterns:
        yield Text("\npatterns, with lost wins per 100 lost games\n")
        yield from map(_pattern, result.patterns)
    else:
        yield Text("\nno pattern stands out")
    yield Text(f"\n{result.caution}\n")


def _make_decision_table(decisions: Sequence[CostlyDecision]) -> RenderableType:
    """Return a row for each decision, in the order given; costs and chances are in percent."""
    number_names = ("match", "game", "turn", "95 %\ninterval", "chance\nafter it")
    columns = [
        console.Column("wins given\naway", number=True),
        console.Column("it chose", min_width=12),
        console.Column("better", min_width=12),
        *(console.Column(name, number=True) for name in number_names),
    ]
    rows = [
        [
            format_percent(decision.cost.value, 0),
            escape_control(decision.move),
            escape_control(decision.better_move),
            str(decision.match),
            str(decision.game),
            str(decision.turn),
            format_interval(decision.cost, 0),
            format_percent(decision.win_probability.value, 0),
        ]
        for decision in decisions
    ]
    return console.make_table(columns, rows)


def _pattern(pattern: MistakePattern) -> Text:
    cost = pattern.cost
    return Text(f"{cost.value:z5.1f} ({cost.low:z.1f} to {cost.high:z.1f})  {pattern.text}, {pattern.count} times")


def _command(path: Path, bot: str, decision: CostlyDecision) -> str:
    match = f" --match {decision.match}" if path.is_dir() else ""
    seat = shlex.quote(bot)
    return f"arena replay {shlex.quote(str(path))}{match} --game {decision.game} --seat {seat} --from {decision.turn}"
