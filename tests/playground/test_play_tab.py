"""A visitor plays in a real browser, offline after the first visit."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.chromium import Reader
from tests.playground.conftest import Served

pytestmark = pytest.mark.long

TABLE = """'{"rules": "coup", "bots": ["bluffer"]}'"""


def test_a_visitor_plays_a_whole_game_offline_with_a_phone_and_goes_on_to_write_a_bot(
    browser: Reader, served_playground: Served, accessible: Callable[..., None]
) -> None:
    context = browser.context(viewport={"width": 390, "height": 844})
    first = context.new_page()
    held: list[Any] = []
    first.route("**/*.wasm", lambda route: held.append(route))
    first.goto(served_playground.url)
    accessible(first)
    first.get_by_role("button", name="Play now").click()
    first.locator(".wait p").wait_for()
    accessible(first)
    for route in held:
        route.continue_()
    accessible(first, await_move(first))
    first.get_by_role("button", name="New table").click()
    accessible(first)
    first.evaluate("navigator.serviceWorker.ready.then(() => {})")
    first.evaluate("Object.assign(localStorage, {'coup-pace': 'instant', 'coup-table': TABLE})".replace("TABLE", TABLE))
    assert len([path for path in served_playground.requested if path.endswith(".wasm")]) == 1
    served_playground.stop()
    first.close()
    page = context.new_page()
    page.add_init_script("addEventListener('message', ({data}) => data.ready && (window.made = data.snapshot))")
    page.goto(served_playground.url)
    table = await_move(page)
    assert page.evaluate("made === null")  # Python started from the snapshot that the first visit made
    moves = table.locator(".moves:not(.early) .move:enabled, dialog[open] .move:enabled")
    for _ in range(100):
        moves.first.wait_for()
        if table.locator(".places li").count():
            break
        if table.locator("dialog[open]").count():
            moves.last.click()
        else:
            page.keyboard.press((moves.first.text_content() or "")[0])  # its key is shown first
        page.wait_for_timeout(350)  # a key is ignored at first: it may have been for the question before
    assert table.locator(".places li").count() == 2
    accessible(page, table)
    table.get_by_role("link", name="See all cards").press("Enter")
    replay = page.locator("#viewing iframe").content_frame
    assert replay.get_by_label("whose cards are shown").input_value() == ""  # all cards
    accessible(page)
    page.get_by_role("button", name="Close the replay").press("Enter")
    table.get_by_role("link", name="Review my game").press("Enter")
    replay.get_by_role("heading", name="What you could do better").wait_for()
    page.get_by_role("button", name="Close the replay").press("Enter")
    table.get_by_role("link", name="Write a bot").press("Enter")
    page.locator("#editor .ace_line").first.wait_for()
    table.get_by_role("button", name="Play again").wait_for(state="hidden")


def test_a_table_opens_after_stop_and_an_endless_loop_of_the_own_bot_inside_c_ends_the_match(
    browser: Reader, served_playground: Served
) -> None:
    source = "from coup_kit import Bot, run\nclass B(Bot):\n    def game_start(self, game):\n        {}\nrun(B())\n"
    store = "source => localStorage.setItem('coup-program', source)"
    context = browser.context()
    page = context.new_page()
    page.goto(f"{served_playground.url}#write")
    page.get_by_label("Opponent 1").select_option("strategist")  # which is slow
    page.get_by_role("button", name="Play 200 games").click()
    page.get_by_text(re.compile("^[1-9].* of 200 games")).wait_for()
    page.get_by_role("tab", name="Play").click()
    page.get_by_role("button", name="Play now").click()
    page.get_by_text("The cards are dealt.").wait_for()  # once Python has time
    page.get_by_role("tab", name="Write a bot").click()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("tab", name="Play").click()
    await_move(page)
    page.evaluate(f"localStorage.setItem('coup-table', {TABLE.replace('bluffer', 'mybot')})")
    page.evaluate(store, source.format("sum(iter(int, 1))"))
    page.reload()
    page.get_by_role("button", name="Play now").click()
    page.get_by_text("The match failed: mybot, line 4 or one next to it, gave no answer").wait_for()
    page.evaluate(store, source.format("pass"))
    page.get_by_role("button", name="Play again").click()
    await_move(page)


def await_move(page: Any) -> Any:
    """Begin to play if that is still a choice, wait until a move is asked, and return the table's frame."""
    if page.locator("#welcome").is_visible():
        page.get_by_role("button", name="Play now").click()
    page.frame_locator("#table").locator(".moves button.move").first.wait_for()
    return next(frame for frame in page.frames if "/table." in frame.url)
