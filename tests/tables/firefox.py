"""Play a game at the page of a table in Firefox, over WebDriver BiDi, and compare its end with the record.

python -m tests.tables.firefox [PRESET] needs `apt install firefox-esr`. `make test` doesn't run it.
"""

import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from arena.referee import replay_game
from tests.tables.table_server import serve_tables

WAIT_S = 60.0  # only a failure takes this long
SIZES = ((390, 844), (1280, 800))

# What the page waits for: "move", "sure", "end", or nothing yet.
STATE = """() => {
    if (document.querySelector("dialog[open]")) return "sure";
    if (document.querySelector(".moves .first")) return "end";
    return document.querySelector(".moves:not(.early) button.move") ? "move" : "";
}"""
SEATS = """() => JSON.stringify([...document.querySelectorAll(".seats .seat")].map((seat) => [
    Number(seat.querySelector(".count").textContent),
    [...seat.querySelectorAll(".card.lost .role-name")].map((role) => role.textContent.toLowerCase()).sort(),
]))"""


class FirefoxPage:
    """A page of Firefox. `errors` are those that its scripts have logged."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._ids = socket, itertools.count(1)
        self.errors: list[str] = []
        self.version = self.call("session.new", capabilities={})["capabilities"]["browserVersion"]
        self.call("session.subscribe", events=["log.entryAdded"])
        self._context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol and return its result."""
        id = next(self._ids)
        self._socket.send(json.dumps({"id": id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(WAIT_S))
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.errors.append(str(message["params"]["text"]))
            if message.get("id") == id:
                assert message["type"] == "success", message
                return message["result"]

    def open(self, url: str, width: int, height: int) -> None:
        self.call("browsingContext.setViewport", context=self._context, viewport={"width": width, "height": height})
        self.call("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def run(self, function: str) -> Any:
        """Call a function in the page and return its result, a string or a number."""
        target = {"context": self._context}
        answer = self.call("script.callFunction", functionDeclaration=function, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key as a person does."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self.call("input.performActions", context=self._context, actions=[source])


@contextmanager
def firefox() -> Iterator[FirefoxPage]:
    """Start a browser with a new profile, yield a page of it, and close it at the end."""
    with tempfile.TemporaryDirectory() as profile:
        words = ["firefox-esr", "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as browser:
            try:
                assert browser.stderr is not None
                found = (re.search(r"BiDi listening on (ws://\S+)", line) for line in browser.stderr)
                address = next(each[1] for each in found if each)
                with connect(f"{address}/session", max_size=None) as socket:
                    yield FirefoxPage(socket)
            finally:
                browser.terminate()


def play(page: FirefoxPage) -> None:
    """Play by pressing the first offered key until the game is over."""
    while (state := page.run(STATE)) != "end":
        if state == "move":
            page.press("1")
        elif state == "sure":
            page.run("() => [...document.querySelectorAll('dialog[open] .move')].at(-1).click()")


def main(rules: str) -> None:
    with firefox() as page:
        for width, height in SIZES:
            with serve_tables("person", *["bot"] * (1 if rules == "duel" else 3), rules=rules) as there:
                page.open(there.url.replace("ws", "http") + "/?secret=secret0", width, height)
                play(page)
                there.end()
                shown = sorted(json.loads(page.run(SEATS)))
                assert page.run("() => document.documentElement.scrollWidth") <= width
            record = there.records[0]
            board = list(replay_game(record.header, record.games[0]))[-1].after.board
            rows = zip(board.coins, board.revealed, strict=True)
            assert shown == sorted([coins, sorted(role.value for role in cards)] for coins, cards in rows), shown
            assert page.errors == []
            print(f"Firefox {page.version}, {width} px: {record.games[0].turns} turns of {rules} end as in the record")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["coup"])
