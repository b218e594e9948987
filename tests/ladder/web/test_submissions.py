"""Tests of submitting a bot from a page, and by a program, and of what is refused before it is read."""

import io
import time
import zipfile
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.cases import each
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import configure
from tests.ladder.ladders import owners
from tests.ladder.term import Term
from tests.ladder.web.visitors import Pages, stop_clock

TOML = 'name = "mine"\nrun = "./bot.py"\n'
Files = Sequence[tuple[str, str | bytes]]
DAY_S = 86_400.0


@pytest.fixture
def web(web: Pages) -> Pages:
    """Give the pages of a ladder that allows two bots for each user, and uploads of 1 MB."""
    configure(web.ladder, max_bots_per_user=2, max_upload_mb=1)
    owners(web.ladder, "cyd")
    late = web.visitor("ada").get("/api/bots/late/1").json()["versions"][0]
    midnight = (late["submitted_at"] // DAY_S + 1) * DAY_S
    web.ladder.clock = lambda: min(time.time(), midnight - 1)  # `left` is of the day on which `late` was submitted
    return web


def send(visitor: TestClient, files: Files, name: str = "", to: str = "/api/submissions") -> Any:
    return visitor.post(to, files=[("files", each) for each in files], data={"name": name})


def zipped(files: Files) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, data in files:
            archive.writestr(path, data)
    return made.getvalue()


FOLDER = [("mine/bot.toml", TOML), ("mine/bot.py", QUICK_BOT), ("mine/lib/table.py", "x = 1\n")]
SENT = {
    "a program": ([("mine.py", QUICK_BOT)], "mine"),
    "a folder": (FOLDER, "mine"),
    "several files": ([("bot.toml", TOML), ("bot.py", QUICK_BOT)], "mine"),
    "an archive": ([("x.zip", zipped(FOLDER))], "mine"),
    "another, empty field": ([("mine.py", QUICK_BOT), ("", "")], "mine"),
    "a folder of one program": ([("dir/deep/mine.py", QUICK_BOT)], "mine"),
}


@pytest.mark.parametrize("what", SENT)
def test_an_upload_becomes_a_version(web: Pages, what: str) -> None:
    files, name = SENT[what]
    visitor = web.visitor("cyd")  # without a bot, so that the files name it
    answered = send(visitor, files)
    assert answered.status_code == 201, answered.text
    assert answered.json() == {
        "version_ref": f"{name}@1", "name": name, "number": 1, "duplicate": False, "late_for": None, "remaining": 9,
        "disabled_reason": None,
    }  # fmt: skip
    assert send(visitor, files).json()["duplicate"]
    assert visitor.get(f"/api/bots/{name}/1").json()["versions"][0]["status"] == "queued"


REFUSED: dict[str, tuple[Files, str, int, str]] = {
    "no file": ([], "x", 400, "The form contains no file"),
    "a path that leaves": ([("../bot.py", "x"), ("b.py", "x")], "", 400, "outside of its folder"),
    "an absolute path": ([("/etc/cron.d/x", "x")], "", 400, "outside of its folder"),
    "a path that is too deep": ([("a/" * 60 + "x", "x")], "", 400, "too long"),
    "a name that is too long": ([("a" * 300, "x")], "", 400, "too long"),
    "a path that is too long": ([("/".join(["a" * 250] * 16) + "/" + "b" * 40, "x")], "", 400, "too long"),
    "one name twice": ([("a.py", "x"), ("a.py", "y")], "", 400, "occurs twice"),
    "a file that is a folder": ([("a", "x"), ("a/b", "y")], "", 400, "occurs twice"),
    "too much": ([("a.py", bytes(3 << 20))], "", 413, "larger than the allowed 1 MB"),
    "too many": ([(f"f/{number}", "x") for number in range(2001)], "", 413, "more than 2000 files"),
    "a wrong archive": ([("a.zip", "no archive")], "", 400, "isn't one"),
    "a PDF": ([("a.pdf", b"%PDF-1.7")], "", 400, "this is a PDF"),
    "another's name": ([("a.py", QUICK_BOT)], "broken", 400, "belongs to another user"),
}


@each("what", REFUSED)
def test_an_invalid_bot_is_refused_with_the_reason(web: Pages, what: str) -> None:
    files, name, status, words = REFUSED[what]
    if what == "too many":  # before the bytes are
        configure(web.ladder, max_upload_mb=16)
    for to in ("/api/submissions", "/submit"):
        answered = send(web.visitor("ada"), files, name, to)
        assert (answered.status_code, "--" in answered.text) == (status, False), answered.text
        assert words in (answered.json()["error"] if to.startswith("/api") else answered.text.replace("&#39;", "'"))


@each("data", [b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.py"\r\n\r\nx', b"none"])
def test_an_invalid_or_truncated_form_is_refused(web: Pages, data: bytes) -> None:
    form = "multipart/form-data"
    for kind in (f"{form}; boundary=x", f"{form}; boundary={'x' * 300}", form, "text/plain"):
        answered = web.visitor("ada").post("/api/submissions", content=data, headers={"Content-Type": kind})
        assert (answered.status_code, "The form contains no file" in answered.text) == (400, True)


def test_parts_without_a_file_are_counted_too(web: Pages) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answered = web.visitor("ada").post("/api/submissions", content=b"--x\r\n\r\n\r\n" * 2_100, headers=headers)
    assert (answered.status_code, "more than 2000 files" in answered.text) == (413, True)


def test_frequent_uploads_are_limited(web: Pages) -> None:
    stop_clock(web)
    visitor = web.visitor("ada")
    answers = [visitor.post("/api/submissions") for _ in range(40)]
    assert answers[0].status_code == 400
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


def test_only_its_owner_reads_the_log_of_a_build(web: Pages, own: Term) -> None:
    built = 'name = "built"\nbuild = "sh make"\nrun = "./bot.py"\n'
    files = [("bot.toml", built), ("make", "echo one; echo two"), ("bot.py", QUICK_BOT)]
    assert send(web.visitor("ada"), files, "built").status_code == 201
    own.run()
    output = web.visitor("ada").get("/bots/built/1/build-log")
    assert output.text.splitlines()[-2:] == ["one", "two"]
    assert output.headers["content-type"].startswith("text/plain")
    assert "/bots/built/1/build-log" in web.visitor("ada").get("/bots/built").text
    assert web.visitor("bob").get("/bots/built/1/build-log").status_code == 404


def test_staff_submits_for_a_user_with_a_time(web: Pages) -> None:
    """The staff member is recorded. A participant's form has neither owner nor time."""
    file = [("files", ("hers.py", QUICK_BOT))]
    words = {"owner": "ada", "at": "2001-09-09T01:46:40+00:00"}
    for login, at in (("staff", 1e9), ("bob", None)):
        answered = web.visitor(login).post("/api/submissions", files=file, data={**words, "name": f"by {login}"})
        assert answered.status_code == 201, answered.text
        found = web.visitor("staff").get(f"/api/bots/by {login}").json()
        assert found["owner"] == ("ada" if login == "staff" else "bob")
        [version] = found["versions"]
        assert version["received_at"] == (at or version["submitted_at"])
    assert "set by staff" in web.visitor("ada").get("/bots/by staff").text
    unnamed = web.visitor("staff").post("/api/submissions", files=file, data={"owner": "cyd"})
    assert unnamed.json()["name"] == "pseudonym-of-cyd", "names of files contain names of users"
    assert "Staff can't own bots" in send(web.visitor("staff"), [("a.py", QUICK_BOT)]).json()["error"]
    wrong = {**words, "at": "yesterday"}
    assert "isn't a valid time" in web.visitor("staff").post("/api/submissions", files=file, data=wrong).json()["error"]
