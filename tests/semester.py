"""Simulate a semester of a class through the commands alone: `python -m tests.semester` plays a large one.

The large one plays in bubblewrap; the small one is a test. Owners submit waves of versions around deadlines, a third
of them broken. A final is held and grades are written. The output of the commands is compared with the submissions,
in `check` and the functions below it.
"""

import argparse
import csv
import hashlib
import io
import json
import math
import random
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from arena.cli import cli
from tests.cli_workspace import ROOT, Ran

GOOD = [
    path for path in sorted((ROOT / "sample_bots").glob("*.py")) if path.stem in {"opportunist", "honest", "random_bot"}
]
BROKEN = [
    *(ROOT / "tests" / "bad_bots" / f"{name}.py" for name in ("exit_at_start", "syntax_error", "bad_hello")),
    *(ROOT / "tests" / "bad_bots" / f"{name}.py" for name in ("illegal_move", "half_line_exit", "dies_after_answer")),
    *(ROOT / "tests" / "mistakes" / f"{name}.py" for name in ("missing_module", "out_of_range", "python_repr")),
]

BASELINES = """
[[baselines]]
name = "beats random_bot"
points = 40
beats = "random_bot"

[[baselines]]
name = "plays"
points = 30
min_games = {games}
max_fault_percent = 1.0

[[baselines]]
name = "share"
points = 30
min_win_rate_percent = {share}
"""


@dataclass(frozen=True)
class Wave:
    """How many owners submit a version, and how many of them a broken one; then the named deadline, if any, is over.

    `grace`: the second half arrives after the deadline, in its grace. `rated`: matches that are played afterwards.
    """

    owners: int
    broken: int
    rated: int
    deadline: str | None = None
    grace: bool = False


@dataclass(frozen=True)
class Scale:
    owners: int
    waves: tuple[Wave, ...]
    sandbox: str
    seats: int
    match_games: int
    final_games: int
    jobs: int

    @property
    def final(self) -> str:
        return [wave.deadline for wave in self.waves if wave.deadline is not None][-1]


LARGE = Scale(
    owners=40,
    waves=(Wave(40, 13, 12, "first"), Wave(40, 13, 12, "second", grace=True), Wave(40, 14, 12)),
    sandbox="bubblewrap",
    seats=4,
    match_games=12,
    final_games=36,
    jobs=2,
)
SMALL = Scale(
    owners=4,
    waves=(Wave(4, 1, 0, "first"), Wave(2, 1, 2)),
    sandbox="process",
    seats=2,
    match_games=2,
    final_games=12,
    jobs=1,  # starting a second worker takes longer than its matches
)


@contextmanager
def restore_signal_handlers() -> Iterator[None]:
    """Restore the handlers of SIGINT and SIGTERM, with which a runner ends gracefully."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class SubmittedVersion:
    owner: str
    label: str
    good: bool
    at: float


@dataclass
class Term:
    """A ladder in a folder, and its submissions. Its methods are the steps of a term; `lines` are its summary."""

    folder: Path
    scale: Scale
    submitted: list[SubmittedVersion] = field(default_factory=list)
    closes: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    commands: int = 0

    # --- commands

    def arena(self, *words: object, code: int = 0) -> Ran:
        self.commands += 1
        with chdir(self.folder):
            found = CliRunner().invoke(cli, [str(word) for word in words], prog_name="arena", env={"COLUMNS": "200"})
        assert found.exit_code == code, (words, found.output, found.exception)
        return Ran(found.exit_code, found.stdout, found.stderr)

    def ladder(self, command: str, *words: object, code: int = 0) -> Ran:
        return self.arena("ladder", *command.split(), "spring", *words, code=code)

    def shown(self, command: str, *words: object) -> Any:
        return json.loads(self.ladder(command, *words, "--json").out)

    def serve(self, *words: object) -> None:
        began = time.monotonic()
        with restore_signal_handlers():
            self.ladder("run", "--jobs", self.scale.jobs, *words)
        self.lines.append(f"run {' '.join(map(str, words))}: {time.monotonic() - began:.0f} s")

    # --- the term

    def begin(self) -> None:
        scale = self.scale
        self.arena(
            "ladder", "init", "spring", "--sandbox", scale.sandbox, "--seats", scale.seats, "--match-games",
            scale.match_games, "--reference", "sample:random_bot", "--reference", "sample:honest",
        )  # fmt: skip
        rows = "".join(f"student{n},Student Number {n},Group {n % 2},s{n}@example.edu\n" for n in range(scale.owners))
        (self.folder / "roster.csv").write_text(f"Login,Name,Section,Email address\n{rows}")
        self.ladder("users import", "roster.csv")
        share = 100 / scale.seats
        self.settle(BASELINES.format(games=scale.final_games, share=share))

    def settle(self, text: str) -> None:
        path = self.folder / "spring" / "ladder.toml"
        path.write_text(path.read_text() + text)

    def wave(self, wave: Wave, draw: random.Random) -> None:
        owners = draw.sample(range(self.scale.owners), wave.owners)
        broken = set(draw.sample(owners, wave.broken))
        half = time.time()
        for place, owner in enumerate(owners):
            if place == len(owners) // 2:
                half = time.time()
            self.submit_version(f"student{owner}", owner not in broken, draw)
        end = time.time()
        if wave.deadline is not None:
            at, grace = (half, math.ceil((end - half) / 60)) if wave.grace else (end, 0)
            self.closes[wave.deadline] = at + 60 * grace
            shown = datetime.fromtimestamp(at, UTC).isoformat()
            self.settle(f'\n[[deadlines]]\nname = "{wave.deadline}"\nat = {shown}\ngrace_minutes = {grace}\n')
        self.serve("--until", "idle")
        if wave.rated:
            self.serve("--matches", wave.rated)
        self.check()

    def submit_version(self, owner: str, good: bool, draw: random.Random) -> None:
        name = f"bot-of-{owner}"
        source = draw.choice(GOOD if good else BROKEN)
        path = self.folder / f"{name}.py"
        path.write_text(f"{source.read_text()}\n# version {len(self.submitted)}\n")
        at = time.time()
        self.ladder("submit", path.name, "--owner", owner)
        number = 1 + sum(each.owner == owner for each in self.submitted)
        self.submitted.append(SubmittedVersion(owner, f"{name}@{number}", good, at))

    def hold_final(self) -> None:
        """Freeze, hold the final, verify it, and write the grades."""
        games, deadline = self.scale.final_games, self.scale.final
        while time.time() <= self.closes[deadline]:
            time.sleep(0.5)  # the deadline's last minute
        self.ladder("freeze", "--reason", "the final")
        self.ladder("final create", "last", "--deadline", deadline, "--games", games)
        published = (self.folder / "spring" / "final-last.txt").read_text()
        assert self.shown("final show", "last")["key"] is None
        self.serve("--until", "idle")
        first = self.shown("final reveal", "last")
        assert hashlib.sha256(bytes.fromhex(first["key"])).hexdigest() == first["commitment"]
        assert first["commitment"] in published
        assert (first["pending"], first["abandoned"]) == (0, [])
        self.ladder("final export", "last", "--out", "out")
        self.lines.append(self.arena("verify", "out").out.strip())
        self.check_final(first)

    # --- invariants

    def in_time(self, deadline: str) -> Iterator[SubmittedVersion]:
        """Yield the newest good version of each owner by a deadline's close."""
        newest = {each.owner: each for each in self.submitted if each.good and each.at <= self.closes[deadline]}
        yield from newest.values()

    def check(self) -> None:
        """Assert that each version has its status and reason, and that the newest accepted one plays."""
        playing = {each.owner: each.label for each in self.submitted if each.good}
        for owner in dict.fromkeys(each.owner for each in self.submitted):
            page = self.shown("bot", f"bot-of-{owner}")
            for version in page["versions"]:
                about = version.get("version", version)
                label = f"bot-of-{owner}@{about['number']}"
                good = next(each.good for each in self.submitted if each.label == label)
                assert about["status"] == ("accepted" if good else "rejected"), (label, about)
                assert good or about["reason"], label
        rows = self.shown("standings")["items"]
        assert {f"{row['bot']}@{row['number']}" for row in rows if not row["is_reference"]} == set(playing.values())
        shown = self.ladder("standings").out
        assert "Student Number" not in shown, "names of people"

    def check_final(self, first: Any) -> None:
        """Check that the final had the right versions, and that grades are the same, complete, and well formed."""
        wanted = {each.owner: each.label for each in self.in_time(self.scale.final)}
        assert {label for label in first["versions"] if label.startswith("bot-of")} == set(wanted.values())
        assert all(row["games"] >= self.scale.final_games for row in first["standings"]["items"])
        plain = self.ladder("grades show", "--final", "last").out
        grades = {row["login"]: row for row in csv.DictReader(io.StringIO(plain))}
        assert len(grades) == self.scale.owners
        for login, row in grades.items():
            assert row["version"] == wanted.get(login, "")
            assert login in wanted or (float(row["points"]) == 0 and "check" in row["reason"])
        late = [row for row in grades.values() if row["late_hours"] and float(row["late_hours"]) > 0]
        canvas = list(csv.reader(io.StringIO(self.ladder("grades show", "--final", "last", "--format", "canvas").out)))
        moodle = list(
            csv.DictReader(io.StringIO(self.ladder("grades show", "--final", "last", "--format", "moodle").out))
        )
        assert {row[3]: row[5] for row in canvas[2:]} == {login: row["points"] for login, row in grades.items()}
        assert {row["Username"]: row["Coup"] for row in moodle} == {
            login: row["points"] for login, row in grades.items()
        }
        points = sorted(float(row["points"]) for row in grades.values())
        self.lines.append(
            f"grades: {len(wanted)} of {len(grades)} owners have a version in the final, {len(late)} of them late; "
            f"points {points[0]:g} to {points[-1]:g}, median {points[len(points) // 2]:g}"
        )


def play_term(folder: Path, scale: Scale) -> Term:
    """Play a term in a folder, and return it. Raises AssertionError for wrong results."""
    term = Term(folder, scale)
    draw = random.Random(11)
    term.begin()
    for wave in scale.waves:
        term.wave(wave, draw)
    term.hold_final()
    return term


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the small one")
    chosen = parser.parse_args(words)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        term = play_term(Path(folder), SMALL if chosen.small else LARGE)
        size = (Path(folder) / "spring" / "ladder.db").stat().st_size
    broken = sum(not each.good for each in term.submitted)
    print(f"{term.scale.owners} owners, {len(term.submitted)} versions, of which {broken} broken")
    print(*term.lines, sep="\n")
    print(f"{term.commands} commands in {time.monotonic() - began:.0f} s; the database has {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
