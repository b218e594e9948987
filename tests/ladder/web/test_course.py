"""A course from the first setting to the last grade, by people in browsers: no step after `serve` needs a shell.

`pytest -s` prints the seconds and clicks of each step. A click on a link, a button or a fold counts as one; so does an
address that is opened. A field counts once."""

import csv
import io
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.chromium import Reader
from tests.cli_workspace import QUICK_BOT, Place
from tests.ladder.ladders import freeze
from tests.ladder.web.ladder_server import serve_ladder

GAMES = ("--seats", 2, "--match-games", 2, "--sandbox", "process", "--limit-ms", 2000, "--bank-ms", 4000)
GAMES += ("--reference", "sample:random_bot", "--reference", "sample:honest")
BROKEN_BOT = QUICK_BOT.replace('{{"id":{number},"choice":{choice}}}', '{{"id":{number},"choice":99}}')
STUDENTS = 20


@dataclass
class Step:
    """What a step of the course took. wait_s: of its seconds, those in which only the ladder worked."""

    seconds: float = 0.0
    wait_s: float = 0.0
    clicks: int = 0
    fields: int = 0


@dataclass
class Trial:
    """The people of a course, spread over its servers, and what their steps took."""

    browser: Reader
    urls: list[str]
    secret: str  # of the first sign-in link of staff
    steps: dict[str, Step] = field(default_factory=dict)
    people: "dict[str, Person]" = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    now: Step = field(default_factory=Step)

    def person(self, name: str) -> "Person":
        if name not in self.people:
            page = self.browser.context(locale="en-GB", timezone_id="Europe/Berlin").new_page()
            page.on("pageerror", lambda error: self.wrong.append(f"{name}: {error}"))
            self.people[name] = Person(self, page, self.urls[len(self.people) % len(self.urls)])
        return self.people[name]

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.now = self.steps[name] = Step()
        began = time.monotonic()
        yield
        self.now.seconds = time.monotonic() - began

    def table(self) -> str:
        rows = {name: astuple(step) for name, step in self.steps.items()}
        rows["total"] = tuple(map(sum, zip(*rows.values(), strict=True)))
        lines = [f"{name:<50}{row[0]:9.1f}{row[1]:9.1f}{row[2]:8}{row[3]:8}" for name, row in rows.items()]
        return "\n".join([f"{'step':<50}{'seconds':>9}{'waiting':>9}{'clicks':>8}{'fields':>8}", *lines])


@dataclass
class Person:
    """A person's browser, whose clicks and fields count for the step in progress."""

    trial: Trial
    page: Any
    url: str

    def open(self, path: str) -> None:
        self.trial.now.clicks += 1
        response = self.page.goto(self.url + path)
        assert response is None or response.status < 400, (path, response.status, self.text())

    def click(self, role: str, name: str | re.Pattern[str], within: Any = None, exact: bool = False) -> None:
        self.trial.now.clicks += 1
        (within or self.page.locator("body")).get_by_role(role, name=name, exact=exact).first.click()
        self.page.wait_for_load_state()

    def fold(self, name: str, within: Any = None) -> Any:
        """Open what is folded under a summary, and return it."""
        folds = (within or self.page.locator("main")).locator("details")
        box = folds.filter(has=self.page.locator(":scope > summary", has_text=re.compile(name))).first
        if box.get_attribute("open") is None:
            self.trial.now.clicks += 1
            box.locator("summary").first.click()
        return box

    def send(self, name: str, within: Any = None) -> None:
        """Press a button that sends a form, and wait for the next page."""
        with self.page.expect_event("load"):
            self.click("button", name, within, exact=True)

    def fill(self, label: str, value: str, within: Any = None, exact: bool = False) -> None:
        self.trial.now.fields += 1
        (within or self.page.locator("body")).get_by_label(label, exact=exact).first.fill(value)

    def attach(self, label: str, file: Any) -> None:
        self.trial.now.fields += 1
        self.page.get_by_label(label, exact=True).first.set_input_files(file)

    def text(self) -> str:
        return str(self.page.locator("main").first.inner_text())

    def link(self) -> str:
        """Return the path of a link that the page shows to be copied."""
        return "/" + str(self.page.locator("main code").first.inner_text()).split("/", 3)[3]

    def wait(self, done: Callable[[], bool], limit_s: float = 120, reload: bool = True) -> None:
        """Look at the page again, or at what else changes, until something is so."""
        began = time.monotonic()
        while not done():
            assert time.monotonic() - began < limit_s, self.text()
            time.sleep(2)  # to load a page costs time of the awaited processes
            if reload:
                self.page.reload()
        self.trial.now.wait_s += time.monotonic() - began

    def download(self, link: str) -> str:
        with self.page.expect_download() as got:
            self.click("link", link, exact=True)
        return Path(got.value.path()).read_text()

    def admin(self, tab: str) -> None:
        self.click("link", "Admin", exact=True)
        self.click("link", tab, exact=True)

    def find(self, login: str) -> None:
        """Open the page of a user by a search."""
        self.admin("Users")
        self.fill("Search", login)
        self.send("Search")
        self.click("link", login, exact=True)

    def decide(self, action: str, **fields: str) -> None:
        """Fill in the form under an action of staff, and press the button of the same name."""
        box = self.fold(f"^{action}")
        for label, value in fields.items():
            self.fill(label.replace("_", " "), value, box)
        self.send(action, box)

    def freeze(self, action: str, **fields: str) -> None:
        self.click("link", "Admin", exact=True)
        self.decide(action, **fields)

    def submit(self, file: Path, name: str = "", owner: str = "") -> None:
        """Send a bot from the page Submit, and wait for its check."""
        self.open("/submit")
        self.attach("Program or archive (zip, tar)", file)
        for label, value in (("Name of the bot", name), ("Owner", owner)):
            if value:
                self.fill(label, value)
        self.send("Submit")
        self.wait(lambda: not re.search(r"queued for its check|check is running", self.text()))

    def change_setting(self, table: str, values: dict[str, str], item: str | None = None) -> None:
        """Fill in a form of the page Set up, or one of an item of a list there, and save it."""
        box = self.fold(f"^{table}")
        box = box if item is None else self.fold(f"^{item}", box)
        for label, value in values.items():
            self.fill(label, value, box)
        self.send("Save", box)


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.soak), "postgresql"])
def trial(request: pytest.FixtureRequest, browser: Reader, place: Place) -> Iterator[Trial]:
    """Give a course without people: on SQLite with one server, on PostgreSQL with two."""
    has_two = request.param == "postgresql"
    words = ("--database", request.getfixturevalue("postgres_url")) if has_two else ()
    assert place.run("ladder", "init", "spring", *GAMES, *words).code == 0
    freeze(place.folder / "spring")
    secret = place.run("ladder", "access", "add", "spring", "staff", "--json").json["secret"]
    with ExitStack() as stack:
        serve = (serve_ladder(place, place.folder / "spring", "--jobs", 1, "--no-tables") for _ in range(1 + has_two))
        made = Trial(browser, [stack.enter_context(each).url for each in serve], secret)
        yield made
    print(f"\n{request.param}\n{made.table()}")


def make_roster() -> bytes:
    """Return a class as Canvas exports it."""
    rows = [f'"Student, S{n:02}",{5000 + n},n{n:04},s{n:02},{"AB"[n % 2]}' for n in range(STUDENTS)]
    return "\n".join(["Student,ID,SIS User ID,SIS Login ID,Section", "    Points Possible,,,,", *rows]).encode()


def test_a_course_runs_without_a_shell(trial: Trial, place: Place) -> None:
    staff = trial.person("staff")
    bot = {name: place.bot(f"{name}.py", f"{QUICK_BOT}# {name}\n") for name in ("good", "better", "team")}
    bot |= {"broken": place.bot("broken.py", BROKEN_BOT)}
    with trial.step("staff: sign in"):
        staff.open(f"/sign-in?link={trial.secret}")
        staff.send("Sign in", staff.page.locator("main"))
    with trial.step("staff: title, deadline, points, lateness"):
        staff.admin("Set up")
        staff.change_setting("Course", {"Title": "Game AI"})
        staff.change_setting("Deadlines", {"Its name": "frist", "Due at": local(timedelta(days=7))}, "Add one")
        for name, points, what, least in (("plays", "60", "number of", "4"), ("wins", "40", "adjusted", "40")):
            staff.change_setting("Baselines", {"Its name": name, "Points": points, f"Least {what}": least}, "Add one")
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
        staff.change_setting("Deadlines", {"Its name": "first"}, "frist")
    with trial.step(f"staff: import {STUDENTS} people"):
        staff.click("link", "Users", exact=True)
        staff.fold("Import a roster")
        staff.attach("Roster", {"name": "canvas.csv", "mimeType": "text/csv", "buffer": make_roster()})
        staff.send("Preview")
        assert f"{STUDENTS} users will be added" in staff.text()
        staff.send("Import")
        assert f"{STUDENTS} users added" in staff.text()
    with trial.step("staff: print sign-in cards"):
        staff.send("Cards to print", staff.fold("Create sign-in links"))
        cards = staff.page.locator(".card").all_inner_texts()
        assert len(cards) == STUDENTS
        codes = {re.findall(r"\bs\d\d\b", card)[0]: re.findall(r"[A-Z0-9]+(?:-[A-Z0-9]+)+", card)[0] for card in cards}
    with trial.step("staff: make an invitation link"):
        staff.admin("Users")
        staff.send("Create invitation link", staff.fold("Create an invitation link"))
        invitation = staff.link()
    with trial.step("zoe: join by the link"):
        person = trial.person("zoe")
        person.open(invitation)
        person.fill("Name", "Zoe", exact=True)
        person.fill("Login", "zoe")
        person.send("Sign up")
        person.page.goto("about:blank")
    with trial.step("4 students: sign in with the code of a card"):
        for login in ("s00", "s01", "s04", "s05"):
            person = trial.person(login)
            person.open("/sign-in")
            person.fill("Link or code", codes[login])
            person.send("Sign in")
            person.page.goto("about:blank")  # else the matches on all home pages play
    with trial.step("s00: set a password"):
        (person := trial.person("s00")).open("/")
        person.fold("Set a password")
        person.fill("New password", "four words in a row")
        person.send("Set the password")
    with trial.step("s00: submit a good bot, improve it, go back and forth"):
        person.submit(bot["good"], "ada")
        assert "passed" in person.text()
        person.submit(bot["better"])
        for version in "12":
            person.page.get_by_label("Let another version play").select_option(version)
            person.send("Activate")
    with trial.step("s01: submit a broken bot"):
        person = trial.person("s01")
        person.submit(bot["broken"], "bob")
        assert re.search(r"rejected.*Advice", person.text(), re.S)
    with trial.step("s04, s05: form a team"):
        person = trial.person("s04")
        person.open("/account")
        person.fill("Name of the team", "Red")
        person.send("Form a team")
        person.send("Invite to the team")
        mate = trial.person("s05")
        mate.open(person.link())
        mate.send("Join")
    with trial.step("s05: submit for the team"):
        mate.submit(bot["team"], "red")
    with trial.step("staff: withdraw a dropout"):
        staff.find("s06")
        staff.decide("Withdraw user", Reason="left the course")
    with trial.step("staff: extend a deadline"):
        staff.find("s01")
        staff.decide("Extend", Until=local(timedelta(days=9)), Reason="ill")
        assert "extended: ill" in staff.text()
    with trial.step("staff: submit for a student"):
        staff.submit(bot["good"], "dee", "s07")
    with trial.step("the bots play"):  # before and after it, they would take the time of the pages
        staff.freeze("Unfreeze", Reason="all are there")
        person = trial.person("s00")
        person.open("/bots/ada")
        person.wait(lambda: int((re.findall(r"Games\s+(\d+)", person.text()) or [0])[0]) >= 2)
        staff.freeze("Freeze", Reason="the deadline is near")
    with trial.step("staff: move the deadline to the next minute"):
        staff.admin("Set up")
        staff.change_setting("Deadlines", {"Due at": local(-timedelta(days=1))}, "first")
        assert "The deadline first ended in the past" in staff.text()
        assert re.search("first, s00: ada@2 → ada@1 with a late penalty of [12]0 %", staff.text())
        staff.send("Back to the form")
        minute = time.time() // 60
        staff.change_setting("Deadlines", {"Due at": local(timedelta(minutes=1))}, "first")
        if "ended in the past" in staff.text():  # the minute was over
            staff.send("Confirm")
        staff.wait(lambda: time.time() // 60 > minute + 0.5, reload=False)
    with trial.step("staff: create a final"):
        staff.click("link", "Finals", exact=True)
        staff.click("link", "Create a final")
        assert "extension" in staff.text()
        staff.fill("Games of each version", "4")
        staff.send("Preview")
        staff.send("Create the final")
    with trial.step("staff: wait for its end, reveal it"):
        while "♛" not in staff.text():  # after a tie, extra matches are played first
            staff.wait(lambda: "All matches are played" in staff.text(), 300)
            staff.decide("Reveal results")
    with trial.step("staff: preview grades, files for Canvas and Moodle"):
        staff.admin("Grades")
        staff.click("link", "final first")
        files = [staff.download(name) for name in ("Canvas gradebook", "Moodle")]
        check_gradebooks(*(list(csv.DictReader(io.StringIO(file))) for file in files))
    with trial.step("staff: release"):
        box = staff.fold("^Release")
        assert f"The final didn't wait for {STUDENTS - 4} of {STUDENTS} users" in staff.text()
        staff.send("Release", box)
        assert "Nothing has changed yet" in staff.text()
        assert f"the final didn't wait for {STUDENTS - 4} users" in staff.text()
        staff.send("Confirm")
    with trial.step("s00: see the grade"):
        person.click("link", "My bots", exact=True)
        person.click("link", "See my grade")
        assert "Released" in person.text()
    with trial.step("staff: change the points, regrade"):
        staff.click("link", "Set up", exact=True)
        staff.change_setting("Baselines", {"Points": "70"}, "plays")
        assert "Grades of all users" in staff.text()
        staff.send("Confirm")
        staff.click("link", "Grades", exact=True)
        staff.click("link", "final first")
        staff.decide("Release", Reason="plays is worth more")
        assert re.search(r"Since first: .*plays.*s00: \d+ → \d+", staff.text(), re.S)
        staff.send("Confirm")
        assert "first-2" in staff.text()
        assert re.search(r"Changes since release first.*\n?.*s00: \d+ → \d+ points", staff.text(), re.S)
    with trial.step("staff: erase a student"):
        staff.find("s07")
        staff.decide("Erase personal data", Type_s07="s07", Reason="asked for it")
        assert "s07" not in staff.page.get_by_role("heading", level=1).inner_text()
    assert trial.wrong == []


def local(ahead: timedelta) -> str:
    """Return a time of Berlin as a field takes it, in whole minutes."""
    return (datetime.now(ZoneInfo("Europe/Berlin")) + ahead).strftime("%Y-%m-%dT%H:%M")


def check_gradebooks(canvas: list[dict[str, str]], moodle: list[dict[str, str]]) -> None:
    """The columns are those by which the platforms find people and the assignment."""
    assert list(canvas[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Coup (1234)"]
    assert (canvas[0]["Student"].strip(), canvas[0]["Coup (1234)"]) == ("Points Possible", "100")
    by_login = {row["SIS Login ID"]: row for row in canvas[1:]}
    assert (by_login["s00"]["ID"], "s06" in by_login) == ("5000", False)
    assert float(by_login["s00"]["Coup (1234)"]) >= 60
    assert len(moodle) == len(by_login)
    assert list(moodle[0]) == ["Username", "Coup", "Coup (Feedback)"]
