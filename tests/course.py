"""A course as a lecturer lives it, through the commands alone: `python -m tests.course [--people N]`.

Forty people come from Canvas and from Moodle; they hand in on both, some late, some with more time; one is suspended,
one leaves, four are in teams, one was taken in twice. Grades are handed out twice, and a regrade once. What commands
tell is held against what this script knows. The small course is a test.
"""

import argparse
import csv
import io
import json
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from arena.cli import cli
from tests.place import ROOT, Ran
from tests.term import ending_as_before

DAY_S = 86_400.0
FAMILIES = ["Ahlström", "Bauer", "Çelik", "Dąbrowski", "Eriksen", "Fischer", "García", "Huber", "Ivanova", "Jansen"]
GIVEN = ["Ana", "Björn", "Chen", "Dana"]
GOOD = [(ROOT / "sample_bots" / f"{name}.py").read_text() for name in ("opportunist", "honest", "random_bot")]
BROKEN = (ROOT / "tests" / "bad_bots" / "exit_at_start.py").read_text()

TERM = {"percent_per_day": 10.0, "cap_percent": 40.0, "late_days": 2, "days": 6, "bots_per_owner": 2}
SETTINGS = """
[[deadlines]]
name = "first"
at = {first}
grace_minutes = 15

[[deadlines]]
name = "second"
at = {second}
grace_minutes = 15

[[baselines]]
name = "beats random_bot"
points = 40
beats = "random_bot"

[[baselines]]
name = "plays"
points = 60
games = 2
"""


OWN = '''"""A bot of somebody's own: it keeps count of what the others have."""
import json
import sys


def richest(state, seat):
    others = [place for place, player in enumerate(state["players"]) if place != seat and player["influence"]]
    return max(others, key=lambda place: state["players"][place]["coins"], default=None)


def turn(message):
    seat, state = message["you"]["seat"], message["state"]
    target, coins = richest(state, seat), state["players"][seat]["coins"]
    best, value = 0, -1
    for place, move in enumerate(message["legal"]):
        worth = {"coup": 9, "assassinate": 5, "tax": 4, "steal": 3, "exchange": 1, "income": 2}.get(move["action"], 0)
        if move.get("target") == target and coins > 2:
            worth += 2
        if worth > value:
            best, value = place, worth
    return best


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "hello"}), flush=True)
    elif message["type"] == "request":
        choice = turn(message) if message["kind"] == "turn" else 0
        print(json.dumps({"id": message["id"], "choice": choice}), flush=True)
'''


@dataclass(frozen=True)
class Student:
    """A person as the platforms know the person: no login in Canvas where `login` is empty."""

    place: int
    given: str
    family: str
    login: str

    @property
    def number(self) -> str:
        """Return the school's number."""
        return f"{30_000 + self.place}"

    @property
    def canvas(self) -> str:
        """Return Canvas' ID."""
        return f"{70_000 + self.place}"

    @property
    def moodle(self) -> str:
        """Return the number of Moodle's participant."""
        return f"{9_000 + self.place}"

    @property
    def email(self) -> str:
        """Return the address that Moodle knows."""
        return f"person{self.place}@example.edu"

    @property
    def full(self) -> str:
        """Return the name."""
        return f"{self.given} {self.family}"


def students(count: int) -> list[Student]:
    """Return a class; the fourth has no login in Canvas."""
    people = []
    for place in range(count):
        given, family = GIVEN[place // len(FAMILIES) % len(GIVEN)], FAMILIES[place % len(FAMILIES)]
        people.append(Student(place, given, family, "" if place == 3 else f"p{place:02d}"))
    return people


def text_of(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def canvas_export(people: Sequence[Student]) -> str:
    """Return a gradebook as Canvas exports it, with the name in two columns, a row of points and the test student."""
    head = ["LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Section", "Homework 1 (4711)", "Final Score"]
    rows: list[list[object]] = [head, ["    Points Possible", "", "", "", "", "", "10.00", "(read only)"]]
    rows += [[who.family, who.given, who.canvas, who.number, who.login, "Coup 101", "", ""] for who in people]
    return text_of([*rows, ["Student", "Test", "79999", "", "0a1b2c3d4e5f", "Coup 101", "", ""]])


def moodle_export(people: Sequence[Student]) -> str:
    """Return grades as Moodle exports them: no login, but the email."""
    head = ["First name", "Last name", "ID number", "Institution", "Department", "Email address", "Course total (Real)"]
    head += ["Last downloaded from this course"]
    return text_of([head, *([w.given, w.family, w.number, "", "", w.email, "-", "1764057600"] for w in people)])


def moodle_worksheet(people: Sequence[Student], came: Mapping[int, float] | None = None) -> str:
    """Return an assignment's grading worksheet as Moodle writes it; `came`: when each handed in, to the minute."""
    came = came or {}
    head = ["Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum Grade"]
    head += ["Grade can be changed", "Last modified (submission)", "Last modified (grade)", "Feedback comments"]
    status = "Submitted for grading"
    return text_of(
        [
            head,
            *(
                [
                    f"Participant {w.moodle}",
                    w.full,
                    w.number,
                    w.email,
                    status,
                    "",
                    "100.00",
                    "Yes",
                    moodle_time(came.get(w.place)),
                    "-",
                    "",
                ]
                for w in people
            ),
        ]
    )


def moodle_time(at: float | None) -> str:
    """Return a time as Moodle writes it in English, in the machine's zone."""
    return "-" if at is None else datetime.fromtimestamp(at).strftime("%A, %d %B %Y, %I:%M %p")


def when(at: float) -> str:
    """Return a time as people write it for a command."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def canvas_zip(handed: Sequence[tuple[Student, str, bool]], path: Path) -> Path:
    """Write what Canvas hands out as all submissions: a file each, named by person; late ones are marked, no more."""
    with zipfile.ZipFile(path, "w") as archive:
        for student, code, late in handed:
            squeezed = f"{student.family}{student.given}".lower()
            mark = "_LATE" if late else ""
            archive.writestr(f"{squeezed}{mark}_{student.canvas}_{500_000 + student.place}_mybot.py", code)
    return path


def moodle_zip(handed: Sequence[tuple[Student, str]], path: Path) -> Path:
    """Write what Moodle hands out: a folder each, stamped with the time of the download."""
    with zipfile.ZipFile(path, "w") as archive:
        for student, code in handed:
            archive.writestr(f"{student.full}_{student.moodle}_assignsubmission_file/mybot.py", code)
    return path


@dataclass
class Course:
    """A course in a folder. Its methods are the steps of a term; `lines` are its summary."""

    folder: Path
    people: list[Student]
    database: str | None = None
    lines: list[str] = field(default_factory=list)
    commands: int = 0
    first: float = 0.0
    second: float = 0.0

    def arena(self, *words: object, code: int = 0) -> Ran:
        """Call a command in this process."""
        self.commands += 1
        with chdir(self.folder):
            found = CliRunner().invoke(cli, [str(word) for word in words], prog_name="arena", env={"COLUMNS": "200"})
        assert found.exit_code == code, (words, found.output, found.exception)
        return Ran(found.exit_code, found.stdout, found.stderr)

    def ladder(self, command: str, *words: object, code: int = 0, of: str = "spring") -> Ran:
        """Call a command of the ladder."""
        return self.arena("ladder", *command.split(), of, *words, code=code)

    def told(self, command: str, *words: object, code: int = 0, of: str = "spring") -> Any:
        """Return what a command of the ladder tells as JSON."""
        return json.loads(self.ladder(command, *words, "--json", code=code, of=of).out)

    def serve(self, *words: object) -> None:
        """Let a runner serve until it ends."""
        with ending_as_before():
            self.ladder("run", "--jobs", 2, *words)

    def write(self, name: str, text: str) -> str:
        """Write a file into the folder; return its name."""
        (self.folder / name).write_text(text)
        return name

    def login(self, student: Student) -> str:
        """Return the person's login in the ladder: who has none in Canvas has the number."""
        return student.login or student.number

    def code(self, student: Student, wave: int) -> str:
        """Return a bot of the person's."""
        return f"{GOOD[(student.place + wave) % len(GOOD)]}\n# {student.place} {wave}\n"

    # --- the term

    def begin(self) -> None:
        """Make the ladder, with two deadlines that are over, and import the class from Canvas, then from Moodle."""
        now = time.time()
        self.first, self.second = now - 10 * DAY_S, now - 3 * DAY_S
        self.arena(
            "ladder", "init", "spring", "--sandbox", "process", "--seats", 2, "--match-games", 2,
            "--reference", "sample:random_bot", *(("--database", self.database) if self.database else ()),
        )  # fmt: skip
        path = self.folder / "spring" / "ladder.toml"
        text = path.read_text()
        for name, value in TERM.items():
            text, changed = re.subn(rf"^{name} = \S+", f"{name} = {value}", text, flags=re.MULTILINE)
            assert changed == 1, name
        path.write_text(text + SETTINGS.format(first=when(self.first), second=when(self.second)))
        people = self.people
        taken = self.told("owners import", self.write("canvas.csv", canvas_export(people)))
        assert (taken["added"], taken["changed"]) == (len(people), 0), taken
        again = self.told("owners import", self.write("moodle.csv", moodle_export(people)))
        assert again["added"] == 0, again
        odd = moodle_worksheet(people).splitlines()
        odd.append(f"Participant 8000,Who Knows,{people[0].number},{people[1].email},No submission,,100.00,Yes,-,-,")
        self.ladder("owners import", self.write("worksheet.csv", "\n".join(odd)), code=2)
        part = self.told("owners import", "worksheet.csv", "--partial")
        assert len(part["left_out"]) == 1, part
        rows = [row for row in self.told("owners list")["rows"] if not row["staff"]]
        assert len(rows) == len(people), len(rows)
        self.lines.append(
            f"{len(rows)} people from Canvas, Moodle and a worksheet, {len(part['left_out'])} row left out"
        )

    def teams_and_twins(self) -> None:
        """Two teams of two; a person who was added by hand once more is merged."""
        one, two, three, four, five = (self.login(student) for student in self.people[5:10])
        self.ladder("teams join", "Red", one, two, "--since", when(self.first - DAY_S), "--why", "as they asked")
        self.ladder("teams join", "Blue", three, four, "--why", "as they asked")
        self.ladder("owners add", "twin", "--name", "Entered Twice")
        self.ladder("owners merge", "twin", five, "--why", "the same person")
        assert "twin" not in {row["login"] for row in self.told("owners list")["rows"]}

    def hand_in_on_canvas(self) -> None:
        """All but two hand in for the first deadline; three are late, which Canvas marks without a time."""
        late = {11: 5, 13: 26, 15: 24 * 4}  # hours
        handed = [
            (student, BROKEN if student.place == 2 else self.code(student, 1), student.place in late)
            for student in self.people[2:]
            if student.place not in (6, 8)  # whose team mates hand in
        ]
        canvas_zip(handed, self.folder / "first.zip")
        before = sum(os.times()[:4])
        found = self.told("submit", "--from", "first.zip", "--deadline", "first", code=1)
        took = sum(os.times()[:4]) - before
        rows = {row["login"]: row for row in found["rows"]}
        refused = {login for login, row in rows.items() if row["taken"] is None}
        assert refused == {self.login(self.people[place]) for place in late}, refused
        assert len(found["missing"]) >= 2, found["missing"]
        for place, hours in late.items():
            path = self.write("mybot.py", self.code(self.people[place], 1))
            login = self.login(self.people[place])
            label = f"late{place}"
            self.ladder("submit", path, "--owner", login, "--name", label, "--at", when(self.first + 3600 * hours))
        self.lines.append(f"{len(rows) - len(refused)} submissions from Canvas in {took:.1f} CPU-s, 3 more by hand")

    def hand_in_on_moodle(self) -> None:
        """Half of them hand in for the second deadline, with the times that Moodle knows; two are late."""
        handed = [(student, self.code(student, 2)) for student in self.people[2::2] if student.place not in (6, 8)]
        moodle_zip(handed, self.folder / "second.zip")
        came = {who.place: self.second + (30 * 3600 if who.place in (14, 16) else -3600) for who, _ in handed}
        times = self.write("times.csv", moodle_worksheet(self.people, came))
        found = self.told("submit", "--from", "second.zip", "--times", times)
        assert all(row["taken"] for row in found["rows"]), found
        again = self.told("submit", "--from", "second.zip", "--times", times)
        assert all(row["taken"]["again"] for row in again["rows"]), again
        self.lines.append(f"{len(found['rows'])} submissions from Moodle, and nothing new at the second time")

    def more_time(self) -> None:
        """One person was ill; one is suspended; one leaves."""
        ill, bad, gone = (self.login(self.people[place]) for place in (11, 20, 21))
        self.ladder("extend", ill, "first", "--days", 2, "--why", "ill, says the doctor")
        self.ladder("suspend", bad, "--why", "a bot of somebody else's")
        self.ladder("owners leave", gone, "--why", "left the university")

    def graded(self, name: str, deadline: str, *words: object) -> dict[str, Any]:
        """Hand grades out; return them by login."""
        self.ladder("grades", "--deadline", deadline, "--release", name, *words)
        return {grade["owner"]["login"]: grade for grade in self.told("grades", "--release", name)["grades"]}

    def releases(self) -> None:
        """Hand out the first deadline's grades, a regrade after a void and more time, and the second's."""
        first = self.graded("first", "first")
        suspended, gone = self.login(self.people[20]), self.login(self.people[21])
        assert gone not in first
        assert first[suspended]["points"] == 0
        assert "suspended" in first[suspended]["reason"]
        by_place = {student.place: first.get(self.login(student)) for student in self.people}
        assert by_place[2]["points"] == 0
        assert "examination" in by_place[2]["reason"]
        assert by_place[13]["late_days_spent"] == 2, by_place[13]
        assert by_place[11]["penalty"] == 0
        assert "ill" in by_place[11]["reason"]
        assert by_place[15]["penalty"] > 0, by_place[15]
        red = [first[self.login(self.people[place])] for place in (5, 6)]
        assert len({grade["version"] for grade in red}) == 1, "one of the team handed in"
        kept = self.ladder("grades", "--release", "first").out
        self.serve("--matches", 6)
        match = next(row["id"] for row in self.told("matches")["rows"] if row["rates"])
        self.ladder("void", match, "--why", "the machine was overloaded")
        self.ladder("extend", self.login(self.people[15]), "first", "--days", 5, "--why", "a funeral")
        second = self.graded("first-again", "first", "--why", "a regrade after a complaint")
        assert second[self.login(self.people[15])]["penalty"] == 0
        told = self.ladder("grades", "--release", "first-again", "--changes").out
        assert self.login(self.people[15]) in told, told
        self.graded("second", "second")
        assert self.ladder("grades", "--release", "first").out == kept, "what was handed out changed"
        for name in ("first", "first-again", "second"):
            again = self.ladder("grades", "--release", name, "--again")
            assert "the same" in again.err + again.out, again
        self.ladder("backup", "spring.tar")
        self.arena("ladder", "restore", "spring.tar", "elsewhere")
        assert self.ladder("grades", "--release", "first", of="elsewhere").out == kept
        self.ladder("grades", "--release", "first-again", "--again", of="elsewhere")
        self.lines.append("three releases, made again from the ladder and from its backup: the same to the digit")

    def hand_back(self) -> None:
        """Write the forms of both platforms: with their ids, as they came."""
        canvas = list(
            csv.DictReader(io.StringIO(self.ladder("grades", "--release", "first", "--format", "canvas").out))
        )
        ids = {row["ID"] for row in canvas if row["ID"]}
        assert ids == {who.canvas for who in self.people if who.place != 21}, ids
        text = self.ladder("grades", "--release", "first", "--format", "moodle-worksheet").out
        sheet = list(csv.DictReader(io.StringIO(text)))
        assert {f"Participant {who.moodle}" for who in self.people if who.place != 21} == {
            row["Identifier"] for row in sheet
        }
        assert all(row["Feedback comments"] for row in sheet)
        mail = self.told("mail", "--out", "letters")
        letters = {path.stem: path.read_text() for path in (self.folder / "letters").glob("*.eml")}
        assert len(letters) == len(self.people) - 1, mail
        assert "suspended" in letters[self.login(self.people[20])]
        self.lines.append(f"{len(ids)} grades with the ids of both platforms, {len(letters)} letters")

    def look_alike(self) -> None:
        """Two hand in the same program of their own, one with other names: staff sees it."""
        names = {"turn": "my_turn", "coins": "gold", "richest": "wealthy", "others": "rivals", "best": "chosen"}
        copied = re.sub(r"\b(" + "|".join(names) + r")\b", lambda name: names[name[0]], OWN)
        for place, code in ((17, OWN), (19, copied)):
            login = self.login(self.people[place])
            self.ladder("submit", self.write("own.py", code), "--owner", login, "--name", f"own{place}")
        self.serve("--until", "examined")
        pairs = self.told("similar")["pairs"]
        assert [(pair["one"]["version"], pair["other"]["version"]) for pair in pairs] == [("own17@1", "own19@1")], pairs
        self.lines.append(f"two bots of {len(self.people)} people's are alike, and told to staff")

    def end(self) -> None:
        """Close the season, and begin another with the same people."""
        self.ladder("season close", "--why", "the term is over")
        path = self.write("late.py", self.code(self.people[4], 9))
        self.ladder("submit", path, "--owner", self.login(self.people[4]), code=2)
        self.arena("ladder", "season", "next", "spring", "autumn")
        rows = [row for row in self.told("owners list", of="autumn")["rows"] if not row["staff"]]
        assert self.login(self.people[21]) not in {row["login"] for row in rows}
        self.lines.append(f"the season is closed; another begins with {len(rows)} people")


def play_course(folder: Path, count: int, database: str | None = None) -> Course:
    """Play a course of so many people in a folder; `database` is a URL elsewhere.

    Raises AssertionError where something isn't as it must be.
    """
    course = Course(folder, students(count), database)
    course.begin()
    course.teams_and_twins()
    course.hand_in_on_canvas()
    course.hand_in_on_moodle()
    course.more_time()
    course.serve("--until", "examined")
    course.serve("--matches", count)
    course.releases()
    course.hand_back()
    course.look_alike()
    course.end()
    return course


def main(words: Sequence[str] | None = None) -> None:
    """Play a course, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--keep", type=Path, help="copy the ladder to this folder")
    chosen = parser.parse_args(words)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        course = play_course(Path(folder), chosen.people)
        if chosen.keep is not None:
            shutil.copytree(Path(folder) / "spring", chosen.keep)
    print(*course.lines, sep="\n")
    print(f"{course.commands} commands in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
