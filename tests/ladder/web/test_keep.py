"""Tests of an owner's actions on a bot's page: challenges, the choice of a version, its files and changes."""

import asyncio
import io
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi import HTTPException, Response
from sqlalchemy import Connection

from ladder.bots import submit_bot
from ladder.store import deactivate_bot, find_bot
from tests.cli_workspace import QUICK_BOT
from tests.ladder.term import LATE, Term, write
from tests.ladder.web.visitors import Pages


@pytest.fixture
def web(web: Pages, own: Term, tmp_path: Path) -> Pages:
    """Give a ladder whose bot `late` has a second version, which plays."""
    submit_bot(web.ladder, write(tmp_path / "late.py", f"{QUICK_BOT}# newer\n"), "ada", name="late")
    own.run()
    return web


def playing(web: Pages, name: str = "late") -> list[int]:
    versions = web.visitor("staff").get(f"/api/bots/{name}").json()["versions"]
    return [version["number"] for version in versions if version["is_active"]]


def test_a_form_that_is_sent_twice_takes_effect_once(web: Pages) -> None:
    """Both responses are the first one, so a secret shown once is seen; another user's form is separate."""
    ada, bob = web.visitor("ada"), web.visitor("bob")
    forms = {
        "/bots/late/challenges": {"opponents": "late@1"},
        "/tables": {"rules": "coup", "bots": "late"},
        "/account/tokens": {"scope": "read", "days": "1"},
    }
    for path, form in forms.items():
        first, second = (ada.post(path, data=form) for _ in range(2))
        assert first.status_code in (200, 303), first.text
        assert (first.text, first.headers.get("location")) == (second.text, second.headers.get("location")), path
    assert ada.post("/account/tokens", data={"scope": "read", "days": "2"}).text != first.text
    assert bob.post("/account/tokens", data=form).text != first.text


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock that a test moves on."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


def test_a_form_that_is_sent_again_takes_effect_once_after_a_failure_a_lost_browser_or_a_long_time(web: Pages) -> None:
    """The end of the first one's time isn't taken for the end of the second one's."""
    deduplicate = sys.modules[type(web.client.app.state.shared).__module__]._deduplicate  # type: ignore[attr-defined]
    request = SimpleNamespace(state=SimpleNamespace(responses={}), session="s", target="/tables")
    sent, has_begun = 0, asyncio.Event()

    async def answer(may_end: asyncio.Event) -> Response:
        nonlocal sent
        sent += 1
        if sent == 1:
            raise HTTPException(400)
        has_begun.set()
        await may_end.wait()
        return Response(str(sent))

    async def send_four(loop: SkippingLoop) -> list[bytes]:
        may_end = asyncio.Event()
        with pytest.raises(HTTPException):
            await deduplicate(request, b"", answer(may_end))
        loop.skipped_s = 5
        lost = asyncio.create_task(deduplicate(request, b"", answer(may_end)))
        await has_begun.wait()
        lost.cancel()
        loop.call_later(10.5, may_end.set)
        loop.skipped_s = 16
        await may_end.wait()
        third = await deduplicate(request, b"", answer(may_end))
        loop.skipped_s = 21
        return [third.body, (await deduplicate(request, b"", answer(may_end))).body]

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, SkippingLoop)
        assert runner.run(send_four(loop)) == [b"2", b"2"]


def test_only_an_owner_activates_an_earlier_version(web: Pages, own: Term) -> None:
    assert playing(web) == [2]
    refused = web.visitor("bob").post("/bots/late/active-version", data={"version": "1"})
    assert (refused.status_code, playing(web)) == (400, [2])
    ada = web.visitor("ada")
    assert 'value="1">version 1' in ada.get("/bots/late").text
    assert 'value="1">version 1' not in web.visitor("bob").get("/bots/late").text
    assert ada.post("/bots/late/active-version", data={"version": "1"}).status_code == 303
    assert playing(web) == [1]
    assert own.json("bot", "late")["audit_log"][-1]["actor"] == "ada"
    assert ada.post("/bots/late/active-version", data={"version": "1"}).status_code == 409
    assert ada.post("/bots/late/active-version", data={"version": "3"}).status_code == 400
    assert "failed its check" in web.visitor("bob").post("/bots/broken/active-version", data={"version": "1"}).text


def test_an_owner_cannot_activate_what_was_disabled(web: Pages, own: Term) -> None:
    """If staff disabled the bot, no version; if the ladder did, only another version."""

    def auto_disable(connection: Connection) -> None:
        bot = find_bot(connection, "late")
        deactivate_bot(connection, bot.id, "auto_disable", "ladder", "it forfeited", 5.0)

    def choose(version: int) -> tuple[int, str]:
        answered = ada.post("/bots/late/active-version", data={"version": version})
        return answered.status_code, answered.text

    ada = web.visitor("ada")
    web.ladder.database.write(auto_disable)
    assert playing(web) == []
    assert "auto-disabled: it forfeited" in ada.get("/bots/late").text
    assert [choose(version)[0] for version in (2, 1, 2)] == [400, 303, 400]
    own.arena("activate", "late", 2, "--reason", "it may")
    assert [choose(version)[0] for version in (1, 2)] == [303, 303]
    own.arena("disable", "late", "--reason", "it is copied")
    for version in (1, 2):
        status, text = choose(version)
        assert (status, "disabled: it is copied" in text) == (400, True)
    own.arena("activate", "late", 1, "--reason", "this one isn't")
    assert choose(2)[0] == 400
    assert playing(web) == [1]


def test_an_owner_reads_the_submitted_files(web: Pages) -> None:
    got = web.visitor("ada").get("/bots/late/1/files.tar")
    with tarfile.open(fileobj=io.BytesIO(got.content)) as entries:
        [entry] = entries.getmembers()
        held = entries.extractfile(entry)
        assert held.read().decode() == LATE
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''late-1.tar"
    assert got.headers["content-type"] == "application/x-tar"
    assert web.visitor("staff").get("/bots/late/1/files.tar").status_code == 200
    for kind, path in (("bob", "late/1"), ("ada", "broken/1"), ("ada", "late/3"), ("ada", "x/1")):
        refused = web.visitor(kind).get(f"/bots/{path}/files.tar")
        assert (refused.status_code, "rubbish" in refused.text) == (404, False), (kind, path)
