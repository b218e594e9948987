"""A visitor plays in a real browser, offline after the first visit, and a bot can't leave its worker."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.chromium import WAIT_MS, Reader
from tests.playground.conftest import Served

pytestmark = pytest.mark.long

# At once in Playwright's own call, `new Function` works against the policy; in a script of the page it must not.
EVALUATE = """() => new Promise((resolve) => setTimeout(() => {
    try { resolve(new Function("return 'allowed'")()); } catch (error) { resolve(error.name); }
}))"""
TABLE = """'{"rules": "coup", "bots": ["bluffer"], "games": 1}'"""
REACH = """async ([url, port]) => {
    const socket = () => new Promise((resolve, reject) => {
        const made = new WebSocket(`ws://127.0.0.1:${port}/`);
        Object.assign(made, {onopen: resolve, onclose: reject});
    });
    const attempts = {
        fetch: () => fetch(url),
        module: () => import(`${url}main.js`),
        script: () => importScripts(`${url}main.js`),
        socket,
        database: () => new Promise((resolve, reject) => {
            Object.assign(indexedDB.open("any"), {onsuccess: resolve, onerror: reject});
        }),
        storage: () => localStorage.length,
        files: () => caches.open("playground"),
        page: () => document.title,
    };
    const reached = [];
    for (const [name, attempt] of Object.entries(attempts)) {
        try { await attempt(); reached.push(name); } catch {}
    }
    return reached;
}"""
BOT = """
import socket, urllib.request
import js, pyodide_js
from coup_kit import Bot, run

def fetch():
    urllib.request.urlopen("http://127.0.0.1:PORT/", timeout=1)

def connect():
    with socket.create_connection(("127.0.0.1", PORT), 1) as line:
        line.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")

def read_page():
    js.document.title

def read_storage():
    js.localStorage.length

def evaluate():
    pyodide_js.constructor.constructor("return 1")()

for attempt in (fetch, connect, read_page, read_storage, evaluate):
    try:
        attempt()
        print(attempt.__name__, "succeeded")
    except Exception as problem:
        print(attempt.__name__, "failed")

class MyBot(Bot):
    def turn(self, game):
        return game.find("income")

run(MyBot())
"""


def test_a_visitor_plays_a_whole_game_offline_with_a_phone_and_goes_on_to_write_a_bot(
    browser: Reader, served_playground: Served, axe: Callable[..., list[str]]
) -> None:
    context = browser.browser.new_context(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    context.set_default_timeout(3 * WAIT_MS)
    first = context.new_page()
    await_move(first, served_playground.url)
    first.evaluate("navigator.serviceWorker.ready.then(() => {})")
    first.evaluate(
        "Object.assign(localStorage, {'coup-pace': 'instant', 'playground-table': TABLE})".replace("TABLE", TABLE)
    )
    assert len([path for path in served_playground.requested if path.endswith(".wasm")]) == 1
    served_playground.stop()
    first.close()
    page = context.new_page()
    page.add_init_script("addEventListener('message', ({data}) => data.ready && (window.made = data.snapshot))")
    table = await_move(page, served_playground.url)
    assert page.evaluate("made === null")  # Python started from the snapshot that the first visit made
    assert axe(page) == axe(table) == []
    table.locator(".question").click()  # the keys are the table's
    for number in range(300):
        table.locator(".moves:not(.early) .move, dialog[open] .move").first.wait_for()
        if table.locator(".places li").count():
            break
        if number == 3:
            assert axe(table) == []
        page.keyboard.press("1")
        if table.locator("dialog[open]").count():
            table.locator("dialog[open] .move").last.click()
    assert table.locator(".places li").count() == 2
    assert axe(page) == axe(table) == []
    table.get_by_role("link", name="replay").press("Enter")
    page.locator("#viewing iframe").content_frame.locator(".stage").first.wait_for()
    page.get_by_role("button", name="Close the replay").press("Enter")
    table.get_by_role("link", name="Write a bot").press("Enter")
    page.locator("#editor .ace_line").first.wait_for()
    table.get_by_role("button", name="Play again").wait_for(state="hidden")
    context.close()


def test_a_bot_reaches_no_page_no_storage_and_no_network(browser: Reader, served_playground: Served) -> None:
    page = browser.browser.new_page()
    page.set_default_timeout(3 * WAIT_MS)
    await_move(page, served_playground.url)
    port = int(served_playground.url.split(":")[2].strip("/"))
    (worker,) = page.workers
    assert [place.evaluate(EVALUATE) for place in (*page.frames, worker)] == ["EvalError"] * (len(page.frames) + 1)
    assert worker.evaluate(REACH, [served_playground.url, port]) == []
    assert set(page.evaluate(REACH, [served_playground.url, port])) >= {"fetch", "module", "storage", "page"}
    page.locator("#tab-write").click()
    page.locator("#editor .ace_line").first.wait_for()
    text = BOT.replace("PORT", str(port))
    page.evaluate("text => window.ace.edit(document.getElementById('editor')).setValue(text, -1)", text)
    served_playground.requested.clear()
    page.locator("#run").click()
    printed = page.locator("details", has_text="read_page").locator("pre")
    printed.wait_for(state="attached")
    names = ("fetch", "connect", "read_page", "read_storage", "evaluate")
    assert printed.text_content().split("\n")[:5] == [f"{name} failed" for name in names]
    assert served_playground.requested == []
    page.context.close()


def await_move(page: Any, url: str) -> Any:
    """Open the page, wait until the visitor is asked for a move, and return the table's frame."""
    page.goto(url)
    page.frame_locator("#table").locator(".moves button.move").first.wait_for()
    return next(frame for frame in page.frames if "/table." in frame.url)
