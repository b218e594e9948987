"""The command `arena ladder bot`: all that a bot's owner should be told."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.ladder.log import write_log
from arena.cli.ladder.matches import matches_table
from arena.cli.ladder.opened import AS_JSON, FOLDER, complete_bots, opened, print_json
from arena.cli.ladder.words import day, interval, megabytes, ranks, signed, took, when
from arena.cli.out import Column, counted, note, refuse, show, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.examine import Step
    from arena.run import Example
    from ladder.pages import BotPage, VersionSums


@click.command()
@FOLDER
@click.argument("name", metavar="BOT", shell_complete=complete_bots)
@click.option("--version", "number", type=click.IntRange(1), metavar="N", help="The version to look at.  [the newest]")
@click.option("--last", type=click.IntRange(0, 1000), metavar="N", default=10, help="How many matches.  [10]")
@click.option("--build-log", is_flag=True, help="Print what the version's build printed, and nothing else.")
@AS_JSON
def bot(folder: Path, name: str, number: int | None, last: int, build_log: bool, as_json: bool) -> None:
    """Print all about a bot: its versions, why one doesn't play, where it stands, its faults, times and matches."""
    with opened(folder) as ladder:
        from arena.examine import Step
        from ladder.pages import bot_page
        from ladder.service import fault_example, known_bot

        with ladder.database.read() as connection:
            known_bot(connection, name)
            found = bot_page(connection, name, ladder.clock(), number, last)
            if found is None:
                refuse(f"{name} has no version {number}; leave --version out to see which it has")
            versions = [each.version for each in found.versions]
            seen = [
                example
                for kept in found.exchanges
                if (example := fault_example(ladder, connection, kept, versions)) is not None
            ]
        limit_ms = ladder.play.terms.timing.limit_ms
    steps = [Step.from_text(step) for step in found.steps]
    if build_log:
        _write_build_log(found, steps, as_json)
    elif as_json:
        print_json(_json(found, steps, seen, limit_ms))
    else:
        show(*_parts(found, steps, seen, limit_ms))


def _write_build_log(found: "BotPage", steps: "list[Step]", as_json: bool) -> None:
    """Print what the build of the version that is looked at printed."""
    log = b"".join(step.log for step in steps)
    if as_json:
        print_json({"version": found.shown, "text": log.decode(errors="backslashreplace")})
    elif log:
        write_log(log)
    else:
        note(f"version {found.shown} has no log of a build: it needs none, printed nothing, or waits for it")


def _parts(found: "BotPage", steps: "list[Step]", seen: "list[Example]", limit_ms: int) -> "Iterator[RenderableType]":
    """Yield what is printed: what plays, where it stands, versions, examination, faults, matches, decisions."""
    from rich.text import Text

    from arena.bots import shown
    from arena.cli.findings import log_has_more, step_lines

    bot, row = found.bot, found.row
    playing = next((each for each in found.versions if each.version.active), None)
    whose = "a reference bot" if bot.reference else f"owner {shown(bot.pseudonym)}"
    yield f"{shown(bot.name)}, {whose}: " + (f"version {playing.version.number} plays" if playing else _why_none(found))
    if row is not None and found.fair is not None:
        yield (
            f"rank {ranks(*row.ranks)} of {found.of}, rating {interval(row.rating, 1, 1)}, "
            f"share of wins {interval(row.adjusted, 100, 1)} % (fair {100 * found.fair:.0f})"
        )
        yield (
            f"share since yesterday {signed(found.trend.day)}, in 7 days {signed(found.trend.week)}; "
            f"{row.games} games in {counted(row.matches, 'match', 'es')} that rate"
        )
    yield ""
    yield _versions(found)
    yield f"times are its own, a request's limit is {limit_ms} ms; wins and games are of matches that rate"
    yield ""
    yield f"examination of {shown(bot.name)}@{found.shown}:"
    shown_version = next(each.version for each in found.versions if each.version.number == found.shown)
    if not steps:
        yield f"  it is {shown_version.state}" + (f": {shown(shown_version.reason)}" if shown_version.reason else "")
    for step in steps:
        yield Text.from_ansi("\n".join(step_lines(step)))
    if any(map(log_has_more, steps)):
        yield "all that its build printed: --build-log"
    yield from _faults(found, seen)
    if found.last:
        yield ""
        yield matches_table(found.last)
    if found.acts:
        yield ""
        yield _acts(found)


def _why_none(found: "BotPage") -> str:
    """Return why no version plays: what was decided last, or what examinations said."""
    from arena.bots import shown

    decided = [act for act in found.acts if act.what in ("activate", "bench", "disable")]
    last = decided[-1] if decided else None
    if last is not None and last.what in ("bench", "disable"):
        word = "benched" if last.what == "bench" else "disabled"
        return f"it is {word}: {shown(last.why)}"
    newest = found.versions[-1].version
    if newest.state == "unfit":
        return f"no version plays, since version {newest.number} is unfit: {shown(newest.reason or '')}"
    return f"no version plays yet; version {newest.number} waits for its examination"


def _versions(found: "BotPage") -> "RenderableType":
    names = ("games", "wins", "faults", "forfeits", "ms, mean/\nslowest", "MB")
    columns = [
        Column("#"),
        Column("state", least=12),
        Column("sent in"),
        *(Column(name, number=True) for name in names),
    ]
    return table(columns, [_version(each) for each in found.versions])


def _version(each: "VersionSums") -> tuple[str, ...]:
    from arena.bots import shown

    version, sums, rated = each.version, each.all, each.rated
    state = "plays" if version.active else version.state
    if version.reason:
        state += f": {shown(version.reason)}"
    return (
        str(version.number),
        state,
        day(version.at),
        str(rated.games),
        f"{rated.wins:g}",
        str(sums.faults),
        str(sums.forfeits),
        took(sums.requests, sums.time_us, sums.slowest_us),
        megabytes(sums.peak_bytes),
    )


def _faults(found: "BotPage", seen: "list[Example]") -> "Iterator[RenderableType]":
    """Yield how many faults of each kind each version committed, and an example of each kind."""
    from arena.cli.report import counts, example_lines

    faulty = [each for each in found.versions if each.faults]
    if faulty:
        yield ""
        yield "faults, of all matches:"
    for each in faulty:
        yield f"  version {each.version.number}: {counts(each.faults)}"
    told = set()
    for example in seen:
        if example.code not in told:
            told.add(example.code)
            yield from example_lines(example)


def _acts(found: "BotPage") -> "RenderableType":
    from arena.bots import shown

    number = {each.version.id: str(each.version.number) for each in found.versions}
    rows = [
        (when(act.at), act.what, number.get(act.version or 0, ""), shown(act.who), shown(act.why)) for act in found.acts
    ]
    return table(["decided", "what", "version", "by", Column("why", least=20)], rows)


def _json(found: "BotPage", steps: "list[Step]", seen: "list[Example]", limit_ms: int) -> dict[str, Any]:
    """Return the page as an object. The owner's login isn't in it: pages show pseudonyms."""
    from dataclasses import asdict

    from arena.cli.findings import step_json

    row = None if found.row is None else asdict(found.row)
    if row is not None:
        del row["owner"]
    return {
        "bot": found.bot.name,
        "owner": found.bot.pseudonym,
        "reference": found.bot.reference,
        "row": row,
        "of": found.of,
        "fair": found.fair,
        "trend": asdict(found.trend),
        "limit_ms": limit_ms,
        "versions": [
            {
                "number": each.version.number,
                "digest": each.version.digest,
                "state": each.version.state,
                "reason": each.version.reason,
                "active": each.version.active,
                "submitted": each.version.at,
                "examined": each.version.examined_at,
                "rated": asdict(each.rated),
                "all": asdict(each.all),
                "faults": each.faults,
            }
            for each in found.versions
        ],
        "examination": {"version": found.shown, "steps": [step_json(step) for step in steps]},
        "examples": [
            {
                **asdict(each),
                "sent": each.sent.decode(errors="backslashreplace"),
                "got": None if each.got is None else each.got.decode(errors="backslashreplace"),
                "stderr": each.stderr.decode(errors="backslashreplace"),
            }
            for each in seen
        ],
        "last": [asdict(line) for line in found.last],
        "acts": [{"at": act.at, "what": act.what, "by": act.who, "why": act.why} for act in found.acts],
    }
