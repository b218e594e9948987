"""The command `arena ladder bot`: all that a bot's owner should be told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
from rich.console import RenderableType
from rich.text import Text

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.findings import step_lines
from arena.cli.ladder.log import write_log
from arena.cli.ladder.matches import matches_table
from arena.cli.ladder.opening import FOLDER, complete_bots, ladder_at
from arena.cli.ladder.words import day, interval, megabytes, signed, took, when
from arena.cli.out import Column, counted, note, refuse, show, table
from arena.cli.report import counts, example_lines
from ladder import views
from ladder.access import STAFF, Viewer
from ladder.cells import span, style_rows
from ladder.service import known_bot
from ladder.views import Bot, BotVersion, did


@click.command()
@FOLDER
@click.argument("name", metavar="BOT", shell_complete=complete_bots)
@click.option("--version", "number", type=click.IntRange(1), metavar="N", help="The version to look at.  [the newest]")
@click.option("--last", type=click.IntRange(0, 1000), metavar="N", default=10, help="How many matches.  [10]")
@click.option("--build-log", is_flag=True, help="Print what the version's build printed, and nothing else.")
@answers(views.Bot, views.BuildLog)
def bot(folder: Path, name: str, number: int | None, last: int, build_log: bool, as_json: bool) -> None:
    """Print all about a bot: its versions, why one doesn't play, where it stands, its faults, times and matches.

    It is what the bot's owner may see.
    """
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        owner = Viewer(known_bot(reader.connection, name).login)
        as_owner = replace(reader, viewer=owner)
        view = views.build_log(as_owner, name, number) if build_log else views.bot(as_owner, name, number, last)
    if view is None:
        refuse(f"{name} has no version {number}; leave --version out to see which it has")
    if as_json:
        print_json(view)
    elif isinstance(view, views.Bot):
        show(*_parts(view))
    elif view.text:
        write_log(view.text)
    else:
        note(f"version {view.version} has no log of a build: it needs none, printed nothing, or waits for it")


def _parts(view: Bot) -> Iterator[RenderableType]:
    """Yield what is printed: what plays, where it stands, versions, examination, faults, matches, decisions."""
    row = view.row
    playing = next((version for version in view.versions if version.active), None)
    whose = "a reference bot" if view.reference else f"owner {shown(view.pseudonym)}"
    yield f"{shown(view.bot)}, {whose}: " + (
        f"version {playing.number} plays" if playing else shown(views.why_none(view))
    )
    if row is not None and view.fair is not None:
        yield (
            f"rank {span(row.ranks)} of {view.of}, rating {interval(row.rating, 1, 1)}, "
            f"share of wins {interval(row.adjusted, 100, 1)} % (fair {100 * view.fair:.0f})"
        )
        yield (
            f"share since yesterday {signed(view.trend.day)}, in 7 days {signed(view.trend.week)}; "
            f"{row.games} games in {counted(row.matches, 'match', 'es')} that rate"
        )
    yield ""
    yield _versions(view)
    for version in view.versions:
        if version.received not in (None, version.submitted):
            received, submitted = when(version.received), when(version.submitted)
            yield f"version {version.number} was received {received}, and taken in {submitted}"
    yield f"times are its own, a request's limit is {view.limit_ms} ms; wins and games are of matches that rate"
    exam = view.examination
    if exam is not None:
        yield ""
        yield f"examination of {shown(view.bot)}@{exam.version}:"
        version = next(version for version in view.versions if version.number == exam.version)
        if not exam.steps or version.state == "examined":
            state = "being examined" if version.state == "examined" else version.state
            yield f"  it is {state}" + (f": {shown(version.reason)}" if version.reason else "")
        for step in exam.steps:
            yield Text.from_ansi("\n".join(step_lines(step)))
        if exam.build_log:
            yield "all that its build printed: --build-log"
    yield from _style(view)
    yield from _faults(view)
    if view.last:
        yield ""
        yield matches_table(view.last)
    if view.acts:
        yield ""
        yield "what was decided:"
        yield from (f"  {when(act.at)} {shown(did(act))}: {shown(act.why)}" for act in view.acts)


def _versions(view: Bot) -> RenderableType:
    names = ("games", "wins", "faults", "forfeits", "ms, mean/\nslowest", "MB")
    columns = [
        Column("#"),
        Column("state", least=12),
        Column("sent in"),
        *(Column(name, number=True) for name in names),
    ]
    return table(columns, list(map(_version, view.versions)))


def _version(version: BotVersion) -> tuple[str, ...]:
    sums, rated = version.all, version.rated
    state = "plays" if version.active else version.state
    if version.reason:
        state += f": {shown(version.reason)}"
    return (
        str(version.number),
        state,
        day(version.submitted),
        str(rated.games),
        f"{rated.wins:g}",
        str(sums.faults),
        str(sums.forfeits),
        took(sums.requests, sums.time_us, sums.slowest_us),
        megabytes(sums.peak_bytes),
    )


def _style(view: Bot) -> Iterator[RenderableType]:
    """Yield what it does, beside what the bots that play do on average."""
    if view.style is None:
        return
    yield ""
    rows = [
        (what, own, field, str(number.of))
        for part in (view.style.public, view.style.hidden or ())
        for what, own, field, number in style_rows(part)
    ]
    title = f"what it does, in its newest {counted(view.style.matches, 'match', 'es')}"
    yield table([Column(title, least=20), *(Column(name, number=True) for name in ("it", "field", "cases"))], rows)


def _faults(view: Bot) -> Iterator[RenderableType]:
    """Yield how many faults of each kind each version committed, and an example of each kind."""
    faulty = [version for version in view.versions if version.faults]
    if faulty:
        yield ""
        yield "faults, of all matches:"
    for version in faulty:
        yield f"  version {version.number}: {counts(version.faults or {})}"
    first = {example.code: example for example in reversed(view.examples or ())}
    for example in view.examples or ():
        if first[example.code] is example:
            yield from example_lines(example)
