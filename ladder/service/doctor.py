"""What somebody who looks after a ladder wants to know: whether it needs a hand, where, and what to do."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from arena.bots import shown
from arena.examine import Finding, Level
from arena.run import cache_folder
from arena.sandbox import forbids_programs
from ladder.service.boxes import demand_boxes
from ladder.service.ladder import Ladder, open_ladder
from ladder.service.rerate import rerate
from ladder.service.retention import overdue_now
from ladder.service.service import CLOCK_S
from ladder.service.settings import LadderError, read_settings
from ladder.store.database import (
    NEWEST,
    PLAYING,
    DatabaseError,
    active_versions,
    count_tables,
    damage,
    deaths_of,
    given_up_since,
    holders,
    is_gone,
    last_event_at,
    living,
    newest_time,
    size_of,
    waiting,
    wrong_sums,
)

_PATIENCE_S = 5.0  # for a database that doesn't answer
_LEAST_BYTES = 500 << 20  # free on a disk: an evening's matches, and room for boxes
_LATE_S = 600.0  # a submission is examined within a minute; an evening with sixty takes five
_DEATHS = 3  # of workers: fewer happen to any table
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Checkup:
    """All that a checkup said."""

    rows: tuple[Finding, ...]


def check_up(folder: Path, deep: bool = False) -> Iterator[Finding]:
    """Yield what is found, one thing after the other. `deep` reads all results, too. Raises LadderError for no ladder.

    It only looks, but `deep` keeps the table that it computes. A database that is away is a finding, and the last one.
    """
    settings = read_settings(folder)
    yield Finding("ladder.toml", Level.OK, f"{len(settings.deadlines)} deadline{'s' * (len(settings.deadlines) != 1)}")
    try:
        with closing(open_ladder(folder, _PATIENCE_S)) as ladder:
            yield Finding("database", Level.OK, f"answers, revision {NEWEST}")
            yield from _of_ladder(ladder, deep)
    except (LadderError, DatabaseError) as problem:
        yield Finding("database", Level.FAIL, " ".join(str(problem).splitlines()), do=_start_it(settings.database))


def _start_it(url: str) -> str:
    if url.startswith("sqlite"):
        return "make its folder writable, or restore a backup: arena ladder restore FILE NEW-FOLDER"
    return "start PostgreSQL, or mend the URL in ladder.toml"


def _of_ladder(ladder: Ladder, deep: bool) -> Iterator[Finding]:
    database = ladder.database
    broken = damage(database, deep)
    if broken:
        yield Finding(
            "integrity",
            Level.FAIL,
            "; ".join(broken),
            do="stop the runner, and restore the last backup into a new folder",
        )
        return
    if database.sqlite is not None:
        yield Finding("integrity", Level.OK, "the file is whole")
    yield from _disks(ladder)
    yield _clock(ladder)
    yield _boxes(ladder)
    yield from _runners(ladder)
    yield _queue(ladder)
    yield _tables(ladder)
    yield _given_up(ladder)
    yield _deaths(ladder)
    yield _retention(ladder)
    if deep:
        sums = _sums(ladder)
        yield sums
        if sums.level is Level.OK:  # of wrong sums there is no table
            yield _table(ladder)


def _disks(ladder: Ladder) -> Iterator[Finding]:
    with ladder.database.read() as connection:
        size, games = size_of(connection)
    per_game = f", {size / games:.0f} bytes a game" if games else ""
    yield Finding("size", Level.OK, f"{size / 1e6:.1f} MB, {games} games{per_game}")
    cache = cache_folder()
    while not cache.exists():
        cache = cache.parent
    places = {"ladder": ladder.path, "cache of bots": cache, "temporary files": Path(tempfile.gettempdir())}
    for what, place in places.items():
        free = shutil.disk_usage(place).free
        text = f"{free / 1e9:.1f} GB free below {place}" if free else f"full: nothing is free below {place}"
        if free < _LEAST_BYTES:
            do = "set TMPDIR or ARENA_CACHE to a larger disk" if what != "ladder" else "remove old backups, or move it"
            yield Finding(f"disk: {what}", Level.FAIL, text, do=f"make room: {do}")
        elif what != "ladder" and forbids_programs(str(place)):
            text = f"{place} is mounted noexec: compiled bots that play as plain processes can't be started there"
            yield Finding(f"disk: {what}", Level.WARN, text, do="set TMPDIR or ARENA_CACHE to another folder")
        elif what == "ladder" and ladder.database.sqlite is not None and free < 2 * size:
            yield Finding(
                f"disk: {what}", Level.NOTE, text, do="a backup needs twice the database's size: write it elsewhere"
            )
        else:
            yield Finding(f"disk: {what}", Level.OK, text)


def _clock(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        ahead = newest_time(connection) - ladder.clock()
        last = last_event_at(connection) - ladder.clock()
    if last <= CLOCK_S < ahead:
        text = f"agrees with what was written last; what was written before is up to {ahead:.0f} seconds ahead of it"
        return Finding("clock", Level.NOTE, text, do="nothing, if this clock is right: one was ahead then")
    if ahead > CLOCK_S:
        return Finding(
            "clock",
            Level.FAIL,
            f"this machine's clock is {ahead:.0f} seconds behind the newest entry of the database",
            "timedatectl set-ntp true",
            "set it; deadlines and quotas go by it, results don't",
        )
    return Finding("clock", Level.OK, "not behind what the database holds")


def _boxes(ladder: Ladder) -> Finding:
    choice = ladder.play.sandbox
    try:
        demand_boxes(ladder)
    except LadderError as problem:
        do = "see arena doctor; a runner whose matches are all played on a cluster needs none here"
        return Finding("sandbox", Level.FAIL, " ".join(str(problem).splitlines()), do=do)
    if not choice.isolates:
        return Finding("sandbox", Level.NOTE, "bots are plain processes: for authors you trust")
    return Finding("sandbox", Level.OK, f"{choice.name} works, for bots of strangers too")


def _runners(ladder: Ladder) -> Iterator[Finding]:
    with ladder.database.read() as connection:
        runners = holders(connection)
    alive = [each for each in runners if not each.dead]
    if not alive:
        yield Finding("runner", Level.NOTE, "none is running", f"arena ladder run {ladder.path}")
    for each in runners:
        runner = each.runner
        text = f"{runner.id[:8]}, process {runner.pid} at {shown(runner.host.split()[0])}, holds {each.leases}"
        if each.dead and alive:
            yield Finding(
                "runner", Level.NOTE, f"{text}: it is dead", do="another runner takes that back within seconds"
            )
        elif each.dead:
            level = Level.FAIL if each.leases else Level.NOTE
            yield Finding(
                "runner", level, f"{text}: it is dead", f"arena ladder run {ladder.path}", "start another: it goes on"
            )
        elif each.dead is None:
            yield Finding("runner", Level.NOTE, f"{text}: on another machine", do="look there whether it lives")
        else:
            yield Finding("runner", Level.OK, f"{text}, {runner.width} at a time")


def _queue(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        count, since = waiting(connection)
    waits = 0.0 if since is None else ladder.clock() - since
    text = f"{count} wait, the first for {waits / 60:.0f} minutes" if count else "none waits"
    if waits > _LATE_S:
        return Finding("submissions", Level.FAIL, text, f"arena ladder run {ladder.path}", "is a runner running?")
    return Finding("submissions", Level.OK, text)


def _tables(ladder: Ladder) -> Finding:
    """Tell how many tables for people there are."""
    with ladder.database.read() as connection:
        states, people = count_tables(connection)
        played_here = any(not is_gone(runner) for runner in living(connection, evenings=True))
    count = sum(states.values())
    text = f"{count} open, at {states[PLAYING]} of them a match; people who have sat down: {people}"
    if not count:
        return Finding("tables", Level.OK, "none is open")
    if not played_here:
        mend = f"arena ladder tables {ladder.path}"
        return Finding("tables", Level.NOTE, f"{text}; no process plays them", mend, "arena ladder serve does it, too")
    return Finding("tables", Level.OK, text)


def _given_up(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        failures = given_up_since(connection, ladder.clock() - 7 * _DAY_S)
    if not failures:
        return Finding("given up", Level.OK, "no match in the last 7 days")
    last = failures[0]
    text = f"{len(failures)} matches in the last 7 days; the last, {last.match}: {shown(last.reason)}"
    return Finding("given up", Level.FAIL, text, do="see arena doctor on the machine that failed; they don't rate")


def _deaths(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        deaths = deaths_of(connection, ladder.clock() - 7 * _DAY_S)
        counts = sorted((-deaths.get(each.id, 0), each.label) for each in active_versions(connection))
    most = [f"{shown(label)} ({-count})" for count, label in counts if -count >= _DEATHS]
    if not most:
        return Finding("workers", Level.OK, f"no bot that plays sat at the tables of {_DEATHS} that died in 7 days")
    text = f"in the last 7 days some died in matches of {', '.join(most[:5])}"
    return Finding("workers", Level.FAIL, text, do="look at their matches; to stop one: arena ladder disable")


def _retention(ladder: Ladder) -> Finding:
    old = overdue_now(ladder)
    if not old.records and not old.logs:
        return Finding("retention", Level.OK, "nothing is older than ladder.toml keeps it")
    text = f"records of {old.records} matches and logs of {old.logs} are older than ladder.toml keeps them"
    return Finding(
        "retention",
        Level.NOTE,
        text,
        f"arena ladder doctor {ladder.path} --prune",
        "or wait: a runner removes them daily",
    )


def _sums(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        wrong = wrong_sums(connection)
    if wrong:
        text = f"{len(wrong)} matches, such as {wrong[0]}, have other sums than their games"
        return Finding("sums", Level.FAIL, text, do="the database was changed by hand: restore the last backup")
    return Finding("sums", Level.OK, "each match's sums are those of its games")


def _table(ladder: Ladder) -> Finding:
    result = rerate(ladder)
    if result.first:
        return Finding("table", Level.OK, "it was computed for the first time")
    if result.same is None:
        return Finding("table", Level.NOTE, f"it was {result.news} matches behind the results; it was computed anew")
    if not result.same:
        text = f"it differed from a new one by {result.largest:.2g}, and was computed anew"
        return Finding("table", Level.FAIL, text, do="tell the arena's authors: both ways should give the same")
    return Finding("table", Level.OK, "as a new one from all results")
