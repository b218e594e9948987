"""`make bench`: print the table of figures; `python -m tests.bench engine pipes ...` measures only those named.

`python -m tests.bench pairs --against CHECKOUT [NAME...]` measures this tree beside another checkout of the project, in
pairs (tests/bench/pairs.py); `... pairs --help` lists what it can measure.

`python -m tests.bench replies` searches for what beats each sample bot, and tells it (tests/bench/replies.py).
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from arena.referee import Timing
from arena.run import keyed_shuffle
from arena.sandbox import ISOLATING, Program, why_not
from ladder.schedule import plan
from tests.bench import (
    boxes,
    cluster,
    engine,
    exams,
    figures,
    kits,
    ladder,
    learning,
    long,
    numbers,
    order,
    pairs,
    peers,
    pipes,
    replies,
    served_tables,
    starts,
    tables,
    web,
)
from tests.bench.peers import environments
from tests.place import Place

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Row:
    """A figure beside what it is held against; `good` is the ratio that was hoped for, with its direction."""

    name: str
    value: str
    against: str
    ratio: float
    good: str


def engine_rows() -> Iterator[Row]:
    """Measure the engine alone."""
    for seats in (2, 4, 6, 10):
        found = engine.decisions_per_second(seats, 3.0)
        against = f"goal {engine.GOAL:,}" if seats == 6 else f"goal at 6 seats {engine.GOAL:,}"
        yield Row(f"engine, {seats} seats, decisions/CPU-s", f"{found:,.0f}", against, found / engine.GOAL, ">= 1")


def pipes_rows() -> Iterator[Row]:
    """Measure the referee over pipes on one core, each time beside the bare loop with the same bots and bytes."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {min(cores)})  # as the arena's workers do
    with tempfile.TemporaryDirectory() as folder:
        c = pipes.c_bot(Path(folder))
        for kind, seats, games, programs in (
            ("C bots", 4, 600, [c] * 4),
            ("C bots", 6, 360, [c] * 6),
            ("Python bots", 4, 120, pipes.python_bots(4)),
            ("Python bots", 6, 60, pipes.python_bots(6)),
        ):
            cost, result, match = pipes.referee(programs, games)
            floor = pipes.bare_loop(programs, match, result)
            name = f"{kind}, {seats} seats"
            yield Row(
                f"{name}: referee CPU us/request",
                f"{cost.referee:.1f}",
                f"bare loop {floor.referee:.1f}",
                cost.referee / floor.referee,
                "<= 3, aim 2",
            )
            both = cost.referee + cost.bots
            bare = floor.referee + floor.bots
            yield Row(f"{name}: with bots, CPU us/request", f"{both:.1f}", f"bare loop {bare:.1f}", both / bare, "-")
        yield from peers_rows(c, Path(folder))
    if cores:
        os.sched_setaffinity(0, cores)


def peers_rows(c: Program, folder: Path) -> Iterator[Row]:
    """Measure the referee beside imitations of other programs that play the same bots; starts are taken off."""
    first = peers.first_bot()
    chess = peers.chess_runner(c, folder, 40_000)
    poker = peers.poker_dealer(first, 4, 400, pipes.ENVIRONMENT)
    for kind, bot, games, named, peer in (
        ("C bots", c, 600, "chess runner", chess),
        ("Python bots, 4 seats", first, 120, "poker dealer", poker),
    ):
        _, result, match = pipes.referee([bot] * 4, 4)
        own, bots = figures.us_a_request([bot] * 4, games)
        name = f"equal {kind}, {pipes.line_bytes(match, result.record):.0f} B a line"
        for what, ours, theirs in (
            ("referee", own, peer.own),
            ("bots", bots, peer.bots),
            ("with bots", own + bots, peer.own + peer.bots),
        ):
            against = f"{named} {theirs:.1f}; {peer.line_bytes:.0f} B a line"
            yield Row(f"{name}: {what}, CPU us/request", f"{ours:.1f}", against, ours / theirs, "-")


def starts_rows() -> Iterator[Row]:
    """Measure starts by box and language: a bot is started, greeted, told that the match is over, and removed."""
    cores = os.sched_getaffinity(0)
    plain: dict[str, float] = {}
    for box, matches in (("process", 6), ("bubblewrap", 6), ("docker", 1)):
        reason = why_not(box)
        if reason is not None:
            print(f"starts in {box} are left out: {reason}")
            continue
        os.sched_setaffinity(0, {min(cores)})
        for language in starts.NAMES:
            start = starts.start(box, language, matches)
            if start.problem is not None:
                print(f"the start of {language} in {box} is left out: {start.problem}")
                continue
            # What happens in a container is no child of ours: there the clock is all that tells.
            unit, found = ("wall ms", start.wall_ms) if box == "docker" else ("CPU-ms", start.cpu_ms)
            against = plain.setdefault(language, found)
            told = f"process {against:.1f} CPU-ms; wall {start.wall_ms:.1f} ms"
            yield Row(f"start, {box}, {language}: {unit}", f"{found:.1f}", told, found / against, "-")
        os.sched_setaffinity(0, cores)


def long_rows() -> Iterator[Row]:
    """Measure what the owner of a long run does and has, its live table, and a resume of all of it, end to end."""
    games = f"{long.BOTS} bots, {long.GAMES:,} games"
    with long.scratch() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.long", f"{folder}/run", str(long.GAMES)],
            check=True,
            capture_output=True,
            cwd=ROOT,
        )
        owner = long.Owner(**json.loads(done.stdout))
        resumed = long.resumed(Path(folder, "run"))
    grown_bytes = (owner.late_mb - owner.early_mb) * 2**20 / (0.9 * long.GAMES)
    grown = f"after a tenth {owner.early_mb:.0f}; {grown_bytes:.0f} bytes a game"
    yield Row(f"{games}: the owner, MB", f"{owner.late_mb:.0f}", grown, owner.late_mb / owner.early_mb, "<= 1.1")
    a_game = f"{owner.match_ms / long.MATCH_GAMES:.2f} a game"
    yield Row(f"{games}: the owner, CPU-ms a match", f"{owner.match_ms:.2f}", a_game, 1.0, "-")
    yield Row(f"{games}: the final table, CPU-s", f"{owner.board_s:.1f}", "goal 5", owner.board_s / 5, "<= 1")
    drawing = long.drawing_ms()
    yield Row(f"{games}: a live drawing, CPU-ms", f"{drawing:.1f}", "goal 5", drawing / 5, "<= 1")
    told = f"goal of its table 5; {resumed.seconds:.1f} s wall"
    yield Row(f"{games}: --resume of all, CPU-s", f"{resumed.cpu_s:.1f}", told, resumed.cpu_s / 5, "-")
    owned = f"the owner {owner.late_mb:.0f}"
    yield Row(
        f"{games}: --resume of all, most MB", f"{resumed.peak_mb:.0f}", owned, resumed.peak_mb / owner.late_mb, "-"
    )


def kits_rows() -> Iterator[Row]:
    """Measure what a kit costs beside a bot written by hand, in the languages that need no compiler."""
    for language, good in (("python", "<= 1"), ("javascript", "-")):
        if shutil.which(kits.PROGRAMS[language][0]):
            by_hand, with_kit = kits.us_a_request(language, 1000, 5)
            against = f"by hand {by_hand:.1f}; goal 15 more"
            yield Row(
                f"bot with the kit, {language}, CPU us/request",
                f"{with_kit:.1f}",
                against,
                (with_kit - by_hand) / 15,
                good,
            )


def run_rows() -> Iterator[Row]:
    """Measure whole runs of 600 games with the Python sample bots, starts included."""
    bots = sorted(str(path) for path in (ROOT / "sample_bots").glob("*.py"))
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for seats, goal in ((4, 40), (6, 12)):
        with tempfile.TemporaryDirectory() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            began = time.monotonic()
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "arena.cli", "run", "--games", "600", "--seats", str(seats)),
                    *("--jobs", str(jobs), "--out", f"{folder}/run", "--json", *bots),
                ],
                check=True,
                capture_output=True,
                cwd=ROOT,
            )
            seconds = time.monotonic() - began
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = json.loads(done.stdout)
        rate = out["games"] / seconds / jobs
        cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / out["games"]
        name = f"run of {out['games']} games, {seats} seats, {jobs} jobs: games/s/core"
        yield Row(name, f"{rate:.1f}", f"goal {goal} ({1000 * cpu:.1f} CPU-ms a game)", rate / goal, ">= 1")


def boxes_rows() -> Iterator[Row]:
    """Measure the isolating boxes beside the plain process, on one core; those that don't work here are left out."""
    from arena.sandbox import why_not

    names = ["process"]
    for name in ("bubblewrap", "docker"):
        reason = why_not(name)
        if reason is None:
            names.append(name)
        else:
            print(f"{name} is left out: {reason}")
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        echo, bot = boxes.static("echo", Path(folder)), boxes.static("bot", Path(folder))
        os.sched_setaffinity(0, {min(cores)})
        if "bubblewrap" in names:
            for kind, program in (("C", echo), ("Python", boxes.python_echo(Path(folder)))):
                start = boxes.starts_ms(["process", "bubblewrap"], program, 40)
                more = start["bubblewrap"] - start["process"]
                against = f"process {start['process']:.1f}; goal {more:.1f} more <= 25"
                yield Row(
                    f"bubblewrap: start to first line, {kind}, ms",
                    f"{start['bubblewrap']:.1f}",
                    against,
                    more / 25,
                    "<= 1",
                )
            ways = (
                ("process", Timing(ponder=True)),
                ("bubblewrap", Timing(ponder=True)),
                ("bubblewrap", Timing(own=True)),
            )
            for kind, programs, games in (
                ("C", [bot] * 4, 600),
                ("Python", pipes.python_bots(4), 120),
                ("slow (2 ms)", boxes.napping(Path(folder), 4), 24),  # these are frozen while the others take theirs
            ):
                rounds = [  # in turns, and the least of each: what else the machine does only adds
                    [boxes.match(*way, programs=programs, games=games).cpu_us for way in ways] for _ in range(3)
                ]
                floor, free, frozen = map(min, zip(*rounds, strict=True))
                name = f"bubblewrap: CPU us/request, {kind} bots"
                yield Row(name, f"{free:.1f}", f"process {floor:.1f}", free / floor, "<= 1.15")
                more = frozen - free
                against = f"{more:.1f} more; goal 25"
                yield Row(f"{name}, own time and freezing", f"{frozen:.1f}", against, more / 25, "<= 1")
        trips = boxes.trips_us(names, echo, 10)
        for name in names[1:]:
            ratio = trips[name] / trips["process"]
            yield Row(
                f"{name}: round trip, us", f"{trips[name]:.1f}", f"process {trips['process']:.1f}", ratio, "<= 1.5"
            )
        if "docker" in names and "bubblewrap" in names:
            start = boxes.starts_ms(["process", "docker"], echo, 5)
            ratio = start["docker"] / start["process"]
            yield Row(
                "docker: start to first line, ms",
                f"{start['docker']:.0f}",
                f"process {start['process']:.1f}",
                ratio,
                "-",
            )
            turns = [
                [boxes.match(name, Timing(own=True), [bot] * 4, 24) for name in ("bubblewrap", "docker")]
                for _ in range(5)
            ]
            held, contained = (sorted(ways, key=lambda played: played.seconds)[2] for ways in zip(*turns, strict=True))
            against = f"bubblewrap {1000 * held.seconds:.0f}"
            yield Row(
                "docker: match of 24 games without the start, ms",
                f"{1000 * contained.seconds:.0f}",
                against,
                contained.seconds / held.seconds,
                "<= 1.2",
            )
            yield Row(
                "docker: its start, ms",
                f"{1000 * contained.startup_s:.0f}",
                f"bubblewrap {1000 * held.startup_s:.0f}",
                contained.startup_s / held.startup_s,
                "-",
            )
    os.sched_setaffinity(0, cores)


def cluster_rows() -> Iterator[Row]:
    """Measure how much more two Dask workers play than one, on this machine."""
    one, two = cluster.one_and_two(24, 2)
    yield Row("two Dask workers: matches of 12 games/s", f"{two:.2f}", f"one {one:.2f}", two / one, ">= 1.8")


def load_rows() -> Iterator[Row]:
    """Play 500 games beside four burning processes a core: a bot thinks 20 ms a move under 60 ms, without a bank."""
    for box in ("process", *(name for name in ISOLATING if why_not(name) is None)):
        found = boxes.loaded(box, 500)
        name = f"loaded host, {box}, {found.games} games: timeouts"
        against = f"a move costs {found.own_ms:.1f} ms of own time, at most {found.most_ms:.0f}"
        yield Row(name, str(found.timeouts), against, found.own_ms / 20, "0")


def schedule_rows() -> Iterator[Row]:
    """Measure how long it takes to plan, and how evenly pairs meet then; and how long a round of a ladder takes."""
    for bots, seats, matches in ((8, 4, 40), (24, 4, 480), (60, 4, 1600), (60, 10, 600)):
        rounds = matches * seats // bots
        began = time.process_time()
        planned = plan(bots, seats, matches * seats, seats, keyed_shuffle(bytes(32), "bench"))
        each_ms = (time.process_time() - began) * 1000 / rounds
        met = Counter(frozenset(pair) for table in planned.tables for pair in combinations(table.bots, 2))
        times = [met[frozenset(pair)] for pair in combinations(range(bots), 2)]
        name = f"plan of {matches} matches, {bots} bots, {seats} seats: ms a round"
        yield Row(name, f"{each_ms:.2f}", f"goal 2; pairs meet {min(times)} to {max(times)} times", each_ms / 2, "<= 1")
    for bots, seats in ((60, 4), (500, 4), (500, 10)):
        each_ms = order.round_ms(bots, seats)
        yield Row(
            f"round of a ladder, {bots} bots, {seats} seats: ms", f"{each_ms:.1f}", "goal 50", each_ms / 50, "<= 1"
        )


def order_rows() -> Iterator[Row]:
    """Simulate ladders of 24 bots, 4 seats, winner only: is their order the true one after so many games a bot?"""
    for spread in (0.7, 1.9):
        for kind in order.WORLDS:
            for games, goal in ((450, 0.9), (2000, 0.95)):
                found = order.simulated(kind, spread, games, 48)
                name = f"{kind}, SD {spread}, {games} games a bot: Kendall tau"
                against = f"goal {goal} (error {found.error:.3f}); plan {found.plan:.3f}; random {found.random:.3f}"
                yield Row(name, f"{found.ladder:.3f}", against, found.ladder / goal, ">= 1")


def memory_rows() -> Iterator[Row]:
    """Measure the referee's memory over 10,000 games."""
    # In a process of its own: what the other benchmarks have cached isn't the referee's.
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.flat", "10000"], check=True, capture_output=True, cwd=ROOT
    )
    early, late, games = json.loads(done.stdout)
    yield Row(
        f"memory of the referee after {games} games, MB", f"{late:.1f}", f"after a tenth {early:.1f}", late / early, "1"
    )


def exams_rows() -> Iterator[Row]:
    """Measure how long a class waits whose sixty bots come at once: Python and JavaScript, on two cores."""
    found = exams.measured(60, ROOT / "sample_bots", 2)
    against = f"goal 300; each {found.median_s:.1f}, at most {found.most_s:.1f}; {found.passed} pass"
    name = f"60 submissions, {found.sandbox}, 2 workers: s"
    yield Row(name, f"{found.seconds:.0f}", against, found.seconds / 300, "<= 1")


def ladder_rows() -> Iterator[Row]:
    """Measure a ladder after a term: 500 bots, 1,000,000 games, in SQLite; and what a runner adds to the matches."""
    found = ladder.term()
    ms = 1000 * found.first
    yield Row(
        "ladder: to keep one of the first 10,000 games' matches, ms",
        f"{ms:.2f}",
        f"a bare commit {1000 * found.floor:.2f}",
        found.first / found.floor,
        "-",
    )
    yield Row(
        "ladder: and of the last 10,000 of 1,000,000, ms",
        f"{1000 * found.last:.2f}",
        f"the first {ms:.2f}",
        found.last / found.first,
        "<= 1.1",
    )
    for name, seconds, goal in (
        ("a fold over everything, CPU-s", found.batch, 60.0),
        ("a fold that goes on, 100 matches later, CPU-s", found.again, 1.0),
        ("the standings' data, CPU-s", found.table, 0.1),
        ("a bot's page data, CPU-s", found.page, 0.1),
        ("a round of 125 matches with its database, CPU-s", found.rounds, 0.25),
        ("the first round of a runner, CPU-s", found.first_round, 60.0),
    ):
        yield Row(f"ladder, 500 bots: {name}", f"{seconds:.3f}", f"goal {goal:g}", seconds / goal, "<= 1")
    against = f"without records {found.without_records:.0f}"
    yield Row("ladder: bytes a game", f"{found.bytes_a_game:.0f}", against, 1.0, "-")
    own, others = ladder.runner_seconds(60)
    yield Row(
        "ladder: a runner's own CPU, 60 matches of 12 games, s",
        f"{own:.2f}",
        f"its workers and bots {others:.1f}",
        own / others,
        "<= .05",
    )


def tables_rows() -> Iterator[Row]:
    """Measure tables with two people and two bots each in one process: how late a move shows, and what they take."""
    for count in (1, 50):
        evening = tables.measured(count, 30.0)
        name = f"{count} {'table' if count == 1 else 'tables'} with people"
        against = f"goal 100; half within {evening.p50_ms:.1f}, at most {evening.most_ms:.0f}; {evening.frames} moves"
        yield Row(f"{name}: a move shows, p99, ms", f"{evening.p99_ms:.1f}", against, evening.p99_ms / 100, "<= 1")
        yield Row(f"{name}: cores", f"{evening.cores:.2f}", "goal 2", evening.cores / 2, "<= 1")
        against = f"its two bots {evening.bots_mb:.1f}"
        yield Row(f"{name}: MB a table", f"{evening.table_mb:.1f}", against, evening.table_mb / evening.bots_mb, "-")


def web_rows() -> Iterator[Row]:
    """Measure the pages of a ladder of 500 bots and 1,000,000 games: for staff, 300 open ones, beside a runner."""
    with web.filled() as (filled, change):
        costs, grown = web.measure(filled)
        opened, loaded = list(web.opened(filled, change)), list(web.under_load(filled, change))
        held, seconds = web.uploaded(filled)
    for cost in costs:
        name = f"web: {cost.path} ({cost.status}, {cost.size / 1000:.0f} kB)"
        yield Row(f"{name}, CPU-ms", f"{1000 * cost.drawn:.1f}", "goal 50", cost.drawn / 0.05, "<= 1")
        yield Row(f"{name}, from its ETag", f"{1000 * cost.known:.2f}", "goal 2", cost.known / 0.002, "<= 1")
    yield Row("web: MB that 10,000 requests add", f"{grown:.1f}", "goal 5", grown / 5, "<= 1")
    uploads = "web: MB that 50 uploads of 5 MB at once add"
    yield Row(uploads, f"{held:.0f}", f"goal 200; {seconds:.0f} s", held / 200, "<= 1")
    for pages in opened:
        name, rate = f"web: 300 open pages, {pages.what}, % of a core", f"{pages.answers} answers, {pages.words} words"
        yield Row(name, f"{100 * pages.core:.1f}", f"goal 10; {rate}", pages.core / 0.1, "<= 1")
    for pages in loaded:
        name, rate = f"web: a page while {pages.what}, ms, 99 of 100", f"floor {1000 * pages.floor_s:.0f}"
        yield Row(name, f"{1000 * pages.percentile_s:.0f}", f"goal 300; {rate}", pages.percentile_s / 0.3, "<= 1")


def served_rows() -> Iterator[Row]:
    """Measure 50 tables of two people and two bots each on a served ladder, over sockets: on two cores, scripts too."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, most[1]), most[1]))
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        try:
            found = served_tables.measure(place, 50, 90.0)
        finally:
            place.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, most)
    for share in (0.5, 0.99):
        shown, late = served_tables.below_ms(found.delays_ms, share), served_tables.below_ms(found.late_ms, share)
        name = f"50 served tables: a move shows after ms, {100 * share:.0f} % of {len(found.delays_ms)}"
        against = f"goal 100; the scripts wake {late:.1f} late"
        yield Row(name, f"{shown:.1f}", against, shown / 100, "<= 1")
    for what, kb, goal in (("table", found.table_kb, 4_000), ("socket in the web server", found.socket_kb, 400)):
        yield Row(f"50 served tables: kB of a {what}", f"{kb:.0f}", f"goal {goal}", kb / goal, "<= 1")
    yield Row("50 served tables: kB of a table's two bots", f"{found.bots_kb:.0f}", "-", 1.0, "-")
    for what, cpu in (("web server", found.web_cpu), ("process for tables", found.tables_cpu)):
        yield Row(f"50 served tables: CPU s a second, {what}", f"{cpu:.2f}", "goal 0.5", cpu / 0.5, "<= 1")


def command_rows() -> Iterator[Row]:
    """Measure how long the command takes to answer."""
    times = []
    for _ in range(10):
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "arena.cli", "--help"], check=True, capture_output=True, cwd=ROOT)
        times.append(time.monotonic() - began)
    found = sorted(times)[5]
    yield Row("arena --help, s (median of 10)", f"{found:.3f}", "goal 0.2", found / 0.2, "< 1")


def numbers_rows() -> Iterator[Row]:
    """Hold simulated runs against the truth: how often intervals hold it, and how far estimates are from it."""
    ours = 0.0
    for spread in (0.7, 1.9):
        for bots, games, worlds, runs in ((8, 480, 10, 20), (8, 4800, 10, 8), (40, 480, 4, 8), (40, 4800, 4, 3)):
            tally, differ = numbers.simulated(bots, spread, games, worlds, runs)
            name = f"{bots} bots of SD {spread}, {games} games"
            against = f"goal .95; shares differ by {differ:.2f}"
            for figure in ("rating", "share"):
                held = tally.mean(figure)
                yield Row(f"{name}: {figure}s in their interval", f"{held:.3f}", against, held / 0.95, ".98-1.02")
            held, width = tally.mean("ranks"), tally.mean("width")
            yield Row(f"{name}: ranks among theirs", f"{held:.3f}", f"goal .95; {width:.1f} ranks", held / 0.95, ">= 1")
            apart = tally.root("twins")
            yield Row(f"{name}: equal bots apart, in errors", f"{apart:.2f}", "goal 1", apart, ".9-1.1")
            if (bots, games, spread) == (8, 480, 1.9):
                ours = tally.root("error")
    before = numbers.error_of_twenty_matches(8, 1.9, 10, 20)
    against = f"random tables, 20 x 24: {100 * before:.1f}"
    yield Row("8 bots, 480 games: error of a share, points", f"{100 * ours:.1f}", against, ours / before, "<= .55")
    seconds = numbers.seconds_to_rate(60, 100_000)
    yield Row("100,000 games of 60 bots: to rate them, CPU-s", f"{seconds:.1f}", "goal 10", seconds / 10, "< 1")


def rating_rows() -> Iterator[Row]:
    """Rate a long ladder, and hold what a ladder asks besides ratings against simulated truths."""
    cost = numbers.ladder_costs()
    name = f"{cost.games:,} games, 500 bots, 2,000 versions"
    yield Row(f"{name}: rated from nothing, CPU-s", f"{cost.cold:.1f}", "goal 60", cost.cold / 60, "< 1")
    yield Row(f"{name}: and 300 matches more, CPU-s", f"{cost.warm:.1f}", "goal 1", cost.warm, "< 1")
    yield Row(
        f"{name}: games a second", f"{cost.games / cost.cold:,.0f}", "goal 1,000", 1000 * cost.cold / cost.games, "< 1"
    )
    yield Row(f"{name}: favours, CPU-s", f"{cost.favours:.1f}", "goal 60", cost.favours / 60, "< 1")
    yield Row(f"{name}: memory, MB", f"{cost.memory_mb:.0f}", "goal 1,000", cost.memory_mb / 1000, "< 1")
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.many", "5000", "10000000"], check=True, capture_output=True, cwd=ROOT
    )
    many, name = json.loads(done.stdout), "10,000,000 games, 5,000 bots"
    told = f"goal 20; {many['cold']:.1f} CPU-s"
    yield Row(f"{name}: rated from nothing, s", f"{many['wall']:.1f}", told, many["wall"] / 20, "< 1")
    yield Row(f"{name}: and a round more, CPU-s", f"{many['warm']:.1f}", "goal 1", many["warm"], "< 1")
    yield Row(f"{name}: memory, MB", f"{many['memory_mb']:.0f}", "goal 1,000", many["memory_mb"] / 1000, "< 1")
    for jump in (0.0, 0.4, 0.8):
        for figure, held in zip(("ratings", "shares"), numbers.new_versions_held(jump, 60), strict=True):
            row = f"new version, {jump:+.1f}, 108 games: {figure} in their interval"
            yield Row(row, f"{held:.3f}", "goal .93 to .97", held / 0.95, ".98-1.02")
    told, wrong = numbers.decisions(60)
    yield Row(
        "near twins, 40 looks: decisions that are wrong",
        f"{wrong:.3f}",
        f"goal .05; decided {told:.2f}",
        wrong / 0.05,
        "< 1",
    )
    for gives, likes, matches in (
        (0.0, 0.0, 1500),
        (0.0, 0.2, 1500),
        (0.2, 0.0, 1500),
        (0.2, 0.0, 3000),
        (0.5, 0.0, 750),
    ):
        found, false = numbers.reports(40, matches, gives, likes)
        games = matches * numbers.GAMES // 11
        row = f"12 bots, gamma {likes:.1f}, {games:,} games a pair: innocents told"
        yield Row(row, f"{false:.3f}", f"goal .05; who gives {gives:.1f} is found in {found:.2f}", false / 0.05, "< 1")


def page_rows() -> Iterator[Row]:
    """Measure how fast a page of 24 games opens and steps in Chromium."""
    from tests.bench import pages
    from tests.chromium import why_no_chromium

    reason = why_no_chromium()
    if reason is not None:
        print(f"the page is left out: {reason}")
        return
    for seats in (4, 10):
        found = pages.measured(seats, 24, 5, 120)
        name = f"page of 24 games, {seats} seats"
        yield Row(f"{name}: size, kB", str(found.kb), "goal 500", found.kb / 500, "<= 1")
        yield Row(f"{name}: opens, ms", f"{found.opened_ms:.0f}", "goal 300", found.opened_ms / 300, "<= 1")
        yield Row(f"{name}: a step, ms", f"{found.step_ms:.1f}", "a frame 16.7", found.step_ms / 16.7, "<= 1")
        floor = found.frames_a_second
        against = f"goal 60; one line that changes {floor:.0f}"
        yield Row(f"{name}: steps/s", f"{found.steps_a_second:.0f}", against, found.steps_a_second / floor, ">= .95")


def local_rows() -> Iterator[Row]:
    """Measure bots of the kit in process, beside the same bots over pipes and beside the engine alone."""
    found = learning.games_per_second(480)
    name = f"kit's bots in process, 4 seats: {found.in_process:,.0f} games/CPU-s"
    for row, rate, goal in (
        ("against arena run", found.piped, ">= 5"),
        ("against one match over pipes", found.one_match, "-"),
        ("against the engine", found.engine, "-"),
    ):
        yield Row(f"{name}, {row}", f"{found.in_process:,.0f}", f"{rate:,.1f}", found.in_process / rate, goal)


def env_rows() -> Iterator[Row]:
    """Measure random decisions in both forms of the environment, beside the engine alone and other environments."""
    for seats in (2, 4, 6, 10):
        found = learning.beside_the_engine(seats, 12)
        for form, rate in (("AEC", found.aec), ("parallel", found.parallel)):
            name = f"arena.env, {form}, {seats} seats, decisions/CPU-s"
            yield Row(name, f"{rate:,.0f}", f"engine {found.engine:,.0f}", rate / found.engine, ">= .5")
    for other in environments.ENVIRONMENTS:
        pair = learning.beside_another(other, 12)
        if pair is None:
            print(f"{other} is left out: not installed")
            continue
        ours, theirs = pair
        yield Row(
            "arena.env, AEC, 2 seats, beside others", f"{ours:,.0f}", f"{other} {theirs:,.0f}", ours / theirs, "-"
        )


BENCHMARKS: dict[str, Callable[[], Iterator[Row]]] = {
    "engine": engine_rows,
    "pipes": pipes_rows,
    "local": local_rows,
    "env": env_rows,
    "kits": kits_rows,
    "run": run_rows,
    "long": long_rows,
    "starts": starts_rows,
    "boxes": boxes_rows,
    "cluster": cluster_rows,
    "load": load_rows,
    "schedule": schedule_rows,
    "order": order_rows,
    "memory": memory_rows,
    "numbers": numbers_rows,
    "rating": rating_rows,
    "exams": exams_rows,
    "ladder": ladder_rows,
    "web": web_rows,
    "tables": tables_rows,
    "served": served_rows,
    "command": command_rows,
    "page": page_rows,
}


def main() -> None:
    """Measure what is named on the command line, or everything."""
    for name, other in (("pairs", pairs.main), ("replies", replies.main)):
        if sys.argv[1:2] == [name]:
            other(sys.argv[2:])
            return
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]}; there are: {', '.join(BENCHMARKS)}")
    os.environ["PATH"] = f"{pairs.BIN}{os.pathsep}{os.environ['PATH']}"
    print(f"{'':66} {'measured':>10}  {'against':36} {'ratio':>6}  hoped")
    for name in names:
        for row in BENCHMARKS[name]():
            print(f"{row.name:66} {row.value:>10}  {row.against:36} {row.ratio:6.2f}  {row.good}", flush=True)


if __name__ == "__main__":
    main()
