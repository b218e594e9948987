"""The page of a table with several people, in real browsers: the lobby, away and back, leaving, a rematch."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.chromium import WAIT_MS, Reader
from tests.ladder.tables.table_server import TableServer, serve_tables

HOSTILE = '<img src=x onerror="alert(1)">\u202e"'


@pytest.fixture
def window(browser: Reader) -> Iterator[Callable[..., Any]]:
    """Give a function that opens a person's page; what goes wrong in it fails the test."""
    contexts = []

    def begin(there: TableServer, secret: str | None, **options: Any) -> Any:
        contexts.append(browser.browser.new_context(**options))
        contexts[-1].set_default_timeout(WAIT_MS)
        page = contexts[-1].new_page()
        page.on("console", lambda message: browser.wrong.append(message.text))
        page.on("pageerror", lambda error: browser.wrong.append(str(error)))
        page.goto(there.url.replace("ws", "http") + ("/" if secret is None else f"/?secret={secret}"))
        return page

    yield begin
    for context in contexts:
        context.close()
    browser.check()


def played(*pages: Any) -> None:
    """Have people play by the first key until a game is over for all."""
    for _ in range(20_000):
        for page in pages:
            if page.locator(".moves button.move").count() and not page.locator(".moves .first").count():
                page.keyboard.press("1")
                if page.locator("dialog[open]").count():
                    page.locator("dialog[open] .move").last.click()
            page.wait_for_timeout(5)
        if all(page.locator(".moves .first").count() for page in pages):
            return
    raise AssertionError("the game has no end")


def test_two_people_meet_in_the_lobby_play_and_play_again(
    window: Callable[..., Any], axe: Callable[[Any], list[str]]
) -> None:
    """A phone and a desktop: who is awaited, who is away, and a rematch that both want."""
    with serve_tables("person", "bot", "person") as there:
        there.places[2].name = HOSTILE
        first = window(there, "secret0", viewport={"width": 390, "height": 844}, has_touch=True)
        first.get_by_text("Waiting for").wait_for()
        assert axe(first) == []
        assert first.locator(".lobby").inner_text().count("60 s a move") == 1
        looker = window(there, None)
        looker.get_by_text("Waiting for").wait_for()
        second = window(there, "secret2", viewport={"width": 1280, "height": 800})
        first.locator(".felt").wait_for()
        assert "onerror" in first.locator(".people").inner_text()
        assert first.locator("img").count() == 0
        names = first.locator(".people").inner_text()
        assert "a bot" in names
        assert "bot1" not in names
        second.goto("about:blank")
        first.locator(".people .gone").wait_for()
        second.go_back()
        first.locator(".people .gone").wait_for(state="detached")
        played(first, second)
        assert "bot1" in first.locator(".people").inner_text()
        assert first.evaluate("document.documentElement.scrollWidth") <= 390
        first.get_by_role("button", name="Play again").click()
        first.locator(".moves").get_by_text("Waiting for").wait_for()
        second.get_by_text("wants to play again").wait_for()
        second.get_by_role("button", name="Play again").click()
        first.locator(".moves .first").wait_for(state="detached")

        first.get_by_role("button", name="Leave").click()
        first.get_by_role("dialog").get_by_role("button", name="Leave").click()
        played(second)
        there.on(lambda: (there.table.end("the server is restarted"), there.table.dismiss("closed")))
        for page in (first, second, looker):
            page.get_by_text("This table is closed").wait_for()


def test_a_move_that_was_made_while_the_socket_was_down_can_be_made_again(window: Callable[..., Any]) -> None:
    """It went nowhere: the question is open on the page as it is at the table."""
    with serve_tables("person", "bot") as there:
        page = window(there, "secret0")
        page.locator(".moves button.move").first.wait_for()
        question = page.locator(".question").inner_text()
        page.evaluate(
            """() => new MutationObserver(() => {
                if (document.querySelector(".banner").textContent.includes("lost"))
                    document.dispatchEvent(new KeyboardEvent("keydown", {key: "1"}));
            }).observe(document.querySelector(".banner"), {childList: true, subtree: true, characterData: true})"""
        )
        there.cut_people()
        page.get_by_text("The others decide.").wait_for()
        page.locator(".moves button.move").first.wait_for()
        assert page.locator(".question").inner_text() == question


def test_nothing_stands_beyond_the_edge_with_ten_at_the_table(window: Callable[..., Any]) -> None:
    with serve_tables("person", *["bot"] * 9, rules="reformation-inquisitor") as there:
        page = window(there, "secret0")
        page.locator(".felt").wait_for()
        for width in (390, 768, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
