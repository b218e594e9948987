"""Tests of `arena play --browser`: the page in a real browser, and access to it."""

import re
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import websockets.sync.client
from websockets.exceptions import InvalidStatus

from arena.referee import read_record, verify_record
from tests.chromium import Reader
from tests.command import Command
from tests.tables.test_page import played


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Give a function that starts the command and returns the address that it prints."""
    running: list[Command] = []

    def begin(*words: str) -> str:
        command = Command(
            ["play", "--browser", "--sandbox", "process", "--pace", "instant", "--out", "game", *words],
            cwd=tmp_path,
            stdout=-1,
            stderr=-1,
        )
        running.append(command)
        for line in command.stderr:
            found = re.search(r"http://\S+?(?=;)", line)
            if found:
                return found[0]
        raise AssertionError("it ended without an address")

    yield begin
    for command in running:
        command.terminate()
        _, said = command.communicate(timeout=60)
        assert "Traceback" not in said, said


@pytest.fixture
def window(start: Callable[..., str], browser: Reader) -> Iterator[Callable[..., Any]]:
    """Give a function that opens an address; its pages close before their server, and must report no error."""

    def begin(url: str, **options: Any) -> Any:
        page = browser.context(**options).new_page()
        page.on("console", lambda message: browser.wrong.append(message.text))
        page.on("pageerror", lambda error: browser.wrong.append(str(error)))
        page.goto(url)
        page.get_by_role("link", name="Play now").click()
        return page

    yield begin
    browser.close()
    browser.check()


def test_a_game_by_keys_its_replay_and_a_rematch_on_a_phone(
    start: Callable[..., str], window: Callable[..., Any], axe: Callable[..., list[str]], tmp_path: Path
) -> None:
    """axe finds nothing, nothing is wider than the screen, and dark mode differs only in colours."""
    page = window(start("--seed", "3"), color_scheme="light", viewport={"width": 390, "height": 844})
    page.locator(".moves .move").first.wait_for()
    assert axe(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe(page, runOnly=["color-contrast"]) == []
    assert page.locator(".tip").inner_text() != ""
    page.keyboard.press("r")
    assert "assassin" in page.get_by_role("dialog").inner_text()
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    page.get_by_role("dialog", name="Odds").wait_for()
    page.keyboard.press("Escape")
    played(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert axe(page) == []
    page.get_by_role("link", name="See all cards and the best moments").click()
    page.get_by_text("Turn", exact=False).first.wait_for()
    page.go_back()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("link", name="Review my game").click()
    page.get_by_role("heading", name="What you could do better").wait_for()
    own = page.locator(".seat", has_text="you").bounding_box()
    bars = page.locator(".controls").bounding_box()
    assert own["y"] + own["height"] <= bars["y"]
    page.set_viewport_size({"width": 390, "height": 844})
    page.go_back()
    page.get_by_role("button", name="Play again").click()
    page.locator(".moves .first").wait_for(state="detached")
    page.locator(".moves .move").first.wait_for()
    verify_record(read_record((tmp_path / "game" / "records" / "000000.jsonl").read_text("utf-8")))


def test_the_replay_waits_for_the_end_of_the_match(start: Callable[..., str], window: Callable[..., Any]) -> None:
    """The names behind the letters are revealed after the match, not between its games."""
    page = window(start("--games", "2", "--seats", "2"))
    address = page.url.replace("/table", "/replay")
    played(page)
    assert page.get_by_role("button", name="Next game").count() == 1
    assert page.request.get(address).status == 404
    page.locator(".moves:not(.early)").wait_for()
    page.keyboard.press("Enter")
    page.locator(".moves .first").wait_for(state="detached")
    played(page)
    assert page.get_by_role("button", name="Play again").count() == 1
    assert page.request.get(address).status == 200


def test_a_reload_keeps_the_seat_and_another_tab_gets_it(start: Callable[..., str], window: Callable[..., Any]) -> None:
    """The first tab shows this, and can take the seat back."""
    url = start()
    first = window(url)
    first.locator(".moves .move").first.wait_for()
    question = first.locator(".question").inner_text()
    first.reload()
    first.locator(".moves .move").first.wait_for()
    assert first.locator(".question").inner_text() == question
    second = first.context.new_page()
    second.goto(first.url)
    second.locator(".moves .move").first.wait_for()
    first.get_by_text("open in another tab").wait_for()
    first.get_by_role("button", name="Play here").click()
    second.get_by_text("open in another tab").wait_for()


def test_the_address_works_once_in_one_browser_and_for_no_other_site(start: Callable[..., str]) -> None:
    url = start()
    base = url.split("/?")[0]

    def got(path: str, **headers: str) -> int:
        try:
            with urlopen(Request(base + path, headers=headers), timeout=60) as answer:  # it is http
                return int(answer.status)
        except HTTPError as refused:
            with refused:
                return refused.code

    host, path = url.removeprefix("http://").split("/", 1)
    assert got("/") == 403
    assert got("/?token=wrong") == 403
    assert got("/", Host="evil.example") == 400
    assert got("/table") == 403
    assert got("/replay") == 404
    socket = base.replace("http", "ws") + "/socket"
    for origin in (None, "http://evil.example", base):  # no browser has the cookie yet
        with pytest.raises(InvalidStatus, match="403"):
            websockets.sync.client.connect(socket, origin=origin)  # type: ignore[arg-type]
    statuses = []  # a used token is refused
    for _ in range(2):
        connection = HTTPConnection(host, timeout=60)
        connection.request("GET", "/" + path)
        statuses.append(connection.getresponse().status)
        connection.close()
    assert statuses == [303, 403]
