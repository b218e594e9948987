"""A course from the first setting to the last grade, by people in browsers: no step after `serve` needs a shell.

`pytest -s` prints the seconds and clicks of each step. A click on a link, a button or a fold counts as one; so does an
address that is opened. A field counts once."""

import csv
import io
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.chromium import WAIT_MS, Reader
from tests.cli_workspace import QUICK_BOT, Place
from tests.ladder.web.ladder_server import serve_ladder

GAMES = ("--seats", 2, "--match-games", 2, "--sandbox", "process", "--limit-ms", 500, "--bank-ms", 1000)
SLOW_BOT = QUICK_BOT.replace("import sys, zlib\n", "import sys, time, zlib\n").replace(
    "        number = line", "        time.sleep(0.06)\n        number = line", 1
)
BROKEN_BOT = QUICK_BOT.replace('{{"id":{number},"choice":{choice}}}', '{{"id":{number},"choice":99}}')
STUDENTS = 90
ROSTER_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


@dataclass
class Step:
    """What a step of the course took. wait_s: of its seconds, those in which only the ladder worked."""

    name: str
    seconds: float = 0.0
    wait_s: float = 0.0
    clicks: int = 0
    fields: int = 0


@dataclass
class Trial:
    """The people of a course, spread over its servers, and what their steps took."""

    browser: Any
    urls: list[str]
    secret: str  # of the first sign-in link of staff
    steps: list[Step] = field(default_factory=list)
    people: "dict[str, Person]" = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def person(self, name: str) -> "Person":
        if name not in self.people:
            context = self.browser.new_context(locale="en-GB", timezone_id="Europe/Berlin")
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            page.on("pageerror", lambda error: self.wrong.append(f"{name}: {error}"))
            self.people[name] = Person(self, page, self.urls[len(self.people) % len(self.urls)])
        return self.people[name]

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.steps.append(Step(name))
        began = time.monotonic()
        yield
        self.steps[-1].seconds = time.monotonic() - began

    def table(self) -> str:
        lines = [f"{'step':<44}{'seconds':>9}{'waiting':>9}{'clicks':>8}{'fields':>8}"]
        total = Step("total", *(sum(getattr(step, each) for step in self.steps) for each in ("seconds", "wait_s")))
        total.clicks, total.fields = sum(s.clicks for s in self.steps), sum(s.fields for s in self.steps)
        for step in (*self.steps, total):
            lines.append(f"{step.name:<44}{step.seconds:9.1f}{step.wait_s:9.1f}{step.clicks:8}{step.fields:8}")
        return "\n".join(lines)


@dataclass
class Person:
    """Somebody's browser, whose clicks and fields count for the step in progress."""

    trial: Trial
    page: Any
    url: str

    def open(self, path: str) -> None:
        self.trial.steps[-1].clicks += 1
        response = self.page.goto(path if path.startswith("http") else self.url + path)
        assert response is None or response.status < 400, (path, response.status, self.text())

    def click(self, role: str, name: str | re.Pattern[str], within: Any = None, exact: bool = False) -> None:
        self.trial.steps[-1].clicks += 1
        (within or self.page.locator("body")).get_by_role(role, name=name, exact=exact).first.click()

    def fold(self, name: str, within: Any = None) -> Any:
        """Open what is folded under a summary, and return it."""
        folds = (within or self.page.locator("main")).locator("details")
        box = folds.filter(has=self.page.locator(":scope > summary", has_text=re.compile(name))).first
        if box.get_attribute("open") is None:
            self.trial.steps[-1].clicks += 1
            box.locator("summary").first.click()
        return box

    def send(self, name: str, within: Any = None) -> None:
        """Press a button that sends a form, and wait for the next page."""
        with self.page.expect_event("load"):
            self.click("button", name, within, exact=True)

    def fill(self, label: str, value: str, within: Any = None, exact: bool = False) -> None:
        self.trial.steps[-1].fields += 1
        (within or self.page.locator("body")).get_by_label(label, exact=exact).first.fill(value)

    def choose(self, label: str, value: Any, within: Any = None) -> None:
        self.trial.steps[-1].fields += 1
        (within or self.page.locator("body")).get_by_label(label).first.select_option(value)

    def attach(self, label: str, file: Any) -> None:
        self.trial.steps[-1].fields += 1
        self.page.get_by_label(label, exact=True).first.set_input_files(file)

    def text(self) -> str:
        return str(self.page.locator("main").first.inner_text())

    def link(self) -> str:
        """Return the path of a link that the page shows to be copied."""
        return "/" + str(self.page.locator("main code").first.inner_text()).split("/", 3)[3]

    def wait(self, done: Callable[[], bool], limit_s: float = 120) -> None:
        """Look at the page again until something is so."""
        began = time.monotonic()
        while not done():
            assert time.monotonic() - began < limit_s, self.text()
            time.sleep(0.3)
            self.page.reload()
        self.trial.steps[-1].wait_s += time.monotonic() - began

    def download(self, link: str) -> str:
        with self.page.expect_download() as got:
            self.click("link", link, exact=True)
        return Path(got.value.path()).read_text()

    def sign_in(self, link: str) -> None:
        self.open(link)
        self.send("Sign in", self.page.locator("main"))

    def submit(self, file: Path, name: str = "") -> None:
        """Send a bot from the page Submit, and wait for its check."""
        self.click("link", "Submit", self.page.get_by_role("navigation"), exact=True)
        self.attach("Program or archive (zip, tar)", file)
        if name:
            self.fill("Name of the bot", name)
        self.send("Submit")
        self.wait(lambda: not re.search(r"queued for its check|check is running", self.text()))

    def change_setting(self, table: str, values: dict[str, str], add: bool = False) -> None:
        """Fill in a form of the page Set up, of an open or a new item, and save it."""
        box = self.fold(f"^{table}")
        box = self.fold("^Add one", box) if add else box
        for label, value in values.items():
            self.fill(label, value, box)
        self.send("Save", box)


@pytest.fixture(params=["sqlite", "postgresql"])
def trial(request: pytest.FixtureRequest, browser: Reader, place: Place) -> Iterator[Trial]:
    """Give a course without people: on SQLite with one server, on PostgreSQL with two."""
    words, servers = (), 1
    if request.param == "postgresql":
        words, servers = ("--database", request.getfixturevalue("postgres_url")), 2
    references = ("--reference", "sample:random_bot", "--reference", "sample:honest")
    assert place.run("ladder", "init", "spring", *GAMES, *references, *words).code == 0
    secret = place.run("ladder", "access", "add", "spring", "staff", "--json").json["secret"]
    with ExitStack() as stack:
        each = [stack.enter_context(serve_ladder(place, place.folder / "spring", "--jobs", 1)) for _ in range(servers)]
        made = Trial(browser.browser, [server.url for server in each], secret)
        yield made
        for person in made.people.values():
            person.page.context.close()
    print(f"\n{request.param}\n{made.table()}")


def make_roster() -> bytes:
    """Return a class as Canvas exports it."""
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(ROSTER_COLUMNS)
    rows.writerow(("    Points Possible", "", "", "", ""))
    for number in range(STUDENTS):
        login = f"s{number:02}"
        rows.writerow((f"Student, {login.upper()}", 5000 + number, f"n{number:04}", login, "AB"[number % 2]))
    return out.getvalue().encode()


def test_a_course_runs_without_a_shell(trial: Trial, place: Place) -> None:
    staff, codes = trial.person("staff"), dict[str, str]()
    bot = {name: place.bot(f"{name}.py", f"{QUICK_BOT}# {name}\n") for name in ("good", "better", "again", "team")}
    bot |= {"slow": place.bot("slow.py", SLOW_BOT), "broken": place.bot("broken.py", BROKEN_BOT)}

    with trial.step("staff: sign in"):
        staff.sign_in(f"/sign-in?link={trial.secret}")
    with trial.step("staff: title, deadline, points, lateness"):
        staff.click("link", "Admin", exact=True)
        staff.click("link", "Set up", exact=True)
        staff.change_setting("Course", {"Title": "Game AI"})
        zone = {"Time zone": "Europe/Berlin"}
        staff.change_setting("Deadlines", {"Its name": "frist", "Its end": local(timedelta(days=7)), **zone}, add=True)
        staff.change_setting(
            "Baselines", {"Its name": "plays", "Points": "60", "Least number of rated games": "4"}, add=True
        )
        staff.change_setting(
            "Baselines", {"Its name": "wins", "Points": "40", "Least adjusted win rate": "40"}, add=True
        )
        staff.change_setting("Lateness", {"Days after the grace": "2", "Percent of the points": "10"})
    with trial.step("staff: quotas, teams by invitation, Canvas title"):
        staff.change_setting("Quotas", {"Members of a team": "3", "Submissions": "20"})
        box = staff.fold("^Grades")
        staff.fill("Title of the column", "Final Score", box)
        staff.click("button", "Save", box)
        box.get_by_role("alert").get_by_text("Canvas ignores").wait_for()
        assert staff.page.get_by_label("Title of the column").input_value() == "Final Score"
        staff.fill("Title of the column", "Coup (1234)", box)
        staff.send("Save", box)
        assert "Game AI" in staff.page.title()
    with trial.step("staff: rename a deadline"):
        box = staff.fold("^Deadlines")
        box = staff.fold("^frist", box)
        staff.fill("Its name", "first", box)
        staff.send("Save", box)
    with trial.step(f"staff: import {STUDENTS} people"):
        staff.click("link", "Users", exact=True)
        staff.fold("Import a roster")
        staff.attach("Roster", {"name": "canvas.csv", "mimeType": "text/csv", "buffer": make_roster()})
        staff.send("Preview")
        assert f"{STUDENTS} users will be added" in staff.text()
        staff.send("Import")
        assert f"{STUDENTS} users added" in staff.text()
        staff.click("link", "Continue")
    with trial.step("staff: print sign-in cards"):
        box = staff.fold("Create sign-in links")
        staff.send("Cards to print", box)
        cards = staff.page.locator(".card").all_inner_texts()
        assert len(cards) == STUDENTS
        for card in cards:
            login, code = re.search(r"\b(s\d\d)\b", card), re.search(r"\b[A-Z0-9]+(-[A-Z0-9]+)+\b", card)
            assert login is not None
            assert code is not None, card
            codes[login[0]] = code[0]
    with trial.step("staff: make an invitation link"):
        staff.click("link", "Admin", exact=True)
        staff.click("link", "Users", exact=True)
        box = staff.fold("Create an invitation link")
        staff.send("Create invitation link", box)
        invitation = staff.link()

    for login in ("zoe", "yan"):
        with trial.step(f"{login}: join by the link"):
            person = trial.person(login)
            person.open(invitation)
            person.fill("Name", login.capitalize(), exact=True)
            person.fill("Login", login)
            person.send("Sign up")
    for login in ("s00", "s01", "s02", "s03", "s04", "s05", "s06"):
        with trial.step(f"{login}: sign in with the code of a card"):
            person = trial.person(login)
            person.open("/sign-in")
            person.fill("Link or code", codes[login])
            person.send("Sign in")
    with trial.step("s00: set a password"):
        person = trial.person("s00")
        person.fold("Set a password")
        person.fill("New password", "four words in a row")
        person.send("Set the password")

    with trial.step("s00: submit a good bot"):
        trial.person("s00").submit(bot["good"], "ada")
        assert "passed" in trial.person("s00").text()
    with trial.step("s00: improve it"):
        trial.person("s00").submit(bot["better"])
    with trial.step("s01: submit a broken bot"):
        person = trial.person("s01")
        person.submit(bot["broken"], "bob")
        assert "rejected" in person.text()
        assert "Advice" in person.text()
    with trial.step("s02: submit a slow bot"):
        trial.person("s02").submit(bot["slow"], "slow")
    with trial.step("s03: submit, improve, go back to version 1"):
        person = trial.person("s03")
        person.submit(bot["again"], "cyd")
        person.submit(bot["better"])
        person.choose("Let another version play", "1")
        person.send("Activate")
    with trial.step("s04, s05: form a team"):
        person = trial.person("s04")
        person.click("link", "s04", exact=True)
        person.fill("Name of the team", "Red")
        person.send("Form a team")
        person.send("Invite to the team")
        link = person.link()
        mate = trial.person("s05")
        mate.open(link)
        mate.send("Join")
        assert "Red" in mate.text()
    with trial.step("s05: submit for the team"):
        trial.person("s05").submit(bot["team"], "red")
    with trial.step("zoe: submit for the lecturer to see"):
        trial.person("zoe").submit(bot["again"], "zoe")

    with trial.step("staff: withdraw a dropout"):
        find(staff, "s06")
        box = staff.fold("Withdraw user")
        staff.fill("Reason", "left the course", box)
        staff.send("Withdraw user", box)
    with trial.step("staff: extend a deadline"):
        find(staff, "s01")
        box = staff.fold("Extend a deadline")
        staff.fill("Until", local(timedelta(days=9)), box)
        staff.fill("Reason", "ill", box)
        staff.send("Extend", box)
        assert "extended: ill" in staff.text()
    with trial.step("staff: submit for a student"):
        staff.click("link", "Submit", staff.page.get_by_role("navigation"), exact=True)
        staff.fill("Owner", "s07")
        staff.attach("Program or archive (zip, tar)", bot["good"])
        staff.fill("Name of the bot", "dee")
        staff.send("Submit")
        staff.wait(lambda: not re.search(r"queued for its check|check is running", staff.text()))

    with trial.step("the bots play"):
        person = trial.person("s00")
        person.open("/bots/ada")
        person.wait(lambda: games_of(person) >= 6)
    with trial.step("staff: move the deadline to the next minute"):
        staff.click("link", "Admin", exact=True)
        staff.click("link", "Set up", exact=True)
        box = staff.fold("^Deadlines")
        box = staff.fold("^first", box)
        staff.fill("Its end", local(timedelta(minutes=1)), box)
        staff.send("Save", box)
        began = time.monotonic()
        time.sleep(61 - datetime.now(UTC).second)
        trial.steps[-1].wait_s = time.monotonic() - began
    with trial.step("staff: create a final"):
        staff.click("link", "Finals", exact=True)
        staff.click("link", "Create a final")
        assert "extension" in staff.text()
        staff.fill("Games of each version", "8")
        staff.send("Preview")
        staff.send("Create the final")
        staff.wait(lambda: "All matches are played" in staff.text(), 300)
    with trial.step("staff: reveal it"):
        box = staff.fold("Reveal results")
        staff.send("Reveal results", box)
        assert staff.page.get_by_role("list").filter(has_text=re.compile("♛")).count() == 1

    with trial.step("staff: preview grades, files for Canvas and Moodle"):
        staff.click("link", "Admin", exact=True)
        staff.click("link", "Grades", exact=True)
        staff.click("link", "final first")
        canvas = list(csv.DictReader(io.StringIO(staff.download("Canvas gradebook"))))
        moodle = list(csv.DictReader(io.StringIO(staff.download("Moodle"))))
        check_gradebooks(canvas, moodle)
    with trial.step("staff: release"):
        box = staff.fold("^Release")
        staff.fill("Name", "first", box)
        staff.send("Release", box)
    with trial.step("s00: see the grade"):
        person = trial.person("s00")
        person.click("link", "My bots", exact=True)
        person.click("link", "See my grade")
        assert "Released" in person.text()
    with trial.step("staff: change the points, regrade"):
        staff.click("link", "Set up", exact=True)
        box = staff.fold("^Baselines")
        box = staff.fold("^plays", box)
        staff.fill("Points", "70", box)
        staff.send("Save", box)
        staff.click("link", "Grades", exact=True)
        staff.click("link", "final first")
        box = staff.fold("^Release")
        staff.fill("Name", "second", box)
        staff.fill("Reason", "plays is worth more", box)
        staff.send("Release", box)
        assert re.search(r"Changes since release first.*\n?.*s00: \d+ → \d+ points", staff.text(), re.S)
    with trial.step("staff: erase a student"):
        find(staff, "s03")
        box = staff.fold("Erase personal data")
        staff.fill("Type s03", "s03", box)
        staff.fill("Reason", "asked for it", box)
        staff.send("Erase personal data", box)
        assert "s03" not in staff.page.get_by_role("heading", level=1).inner_text()
    assert trial.wrong == []


def local(ahead: timedelta) -> str:
    """Return a time of Berlin as a field takes it, in whole minutes."""
    return (datetime.now(ZoneInfo("Europe/Berlin")) + ahead).strftime("%Y-%m-%dT%H:%M")


def find(staff: Person, login: str) -> None:
    """Open the page of a user by a search."""
    staff.click("link", "Admin", exact=True)
    staff.click("link", "Users", exact=True)
    staff.fill("Search", login)
    staff.send("Search")
    staff.click("link", login, exact=True)


def games_of(person: Person) -> int:
    found = re.search(r"Games\s+(\d+)", person.text())
    return int(found[1]) if found else 0


def check_gradebooks(canvas: list[dict[str, str]], moodle: list[dict[str, str]]) -> None:
    """The columns are those by which the platforms find people and the assignment."""
    assert list(canvas[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Coup (1234)"]
    assert canvas[0]["Student"].strip() == "Points Possible"
    assert canvas[0]["Coup (1234)"] == "100"
    by_login = {row["SIS Login ID"]: row for row in canvas[1:]}
    assert by_login["s00"]["ID"] == "5000"
    assert float(by_login["s00"]["Coup (1234)"]) >= 60
    assert "s06" not in by_login
    assert len(moodle) == len(by_login)
    assert list(moodle[0]) == ["Username", "Coup (1234)", "Coup (1234) (Feedback)"]
