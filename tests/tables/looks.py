"""Every question of every preset on the page of a table, with long names and many tags.

python -m tests.tables.looks OUT writes a contact sheet for each size of a window: look at it after a change of styles.
"""

import json
import random
import sys
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from arena.coup import ABOUT, PRESETS, make_rules_object, seat_counts
from arena.playground_worker.person_table import PersonTable
from arena.replay import table_page
from tests.chromium import Reader, chromium

SIZES = ((320, 640), (390, 844), (844, 390), (1280, 720))
NAMES = (
    "Magnanimous Woodpecker",
    "Green Elk",
    "Wintergreen Salamander",
    "Opportunist 2",
    "Ada",
    "Bob",
    "Eve",
    "Zoe",
    "Max",
)
GAMES = 12  # of each preset
CLAIMS = ("tax", "duke"), ("steal", "captain"), ("assassinate", "assassin"), ("exchange", "ambassador")
SHOW = "frame => window.postMessage(frame, '*')"  # without a socket the page takes its frames from its parent


class _NamedTable(PersonTable):
    def _labels(self) -> dict[str, str]:
        return dict(zip(sorted(self._spec.handles), NAMES, strict=False))


@cache
def questions(rules: str) -> dict[str, dict[str, Any]]:
    """Return, of each kind of request in some games with these rules, the frame with the longest request."""
    found: dict[str, dict[str, Any]] = {}
    dice = random.Random(rules)
    for seed in range(GAMES):
        seats = max(count for count in seat_counts(PRESETS[rules]) if count <= 6)
        bots = [("challenger", "bluffer", "honest")[seat % 3] for seat in range(seats - 1)]
        table = _NamedTable(bots, rules, "instant", seed)
        frames = json.loads(table.begin_match())
        events: list[Any] = []
        while True:
            for frame in frames:
                events = events + frame["game"]["events"] if frame["game"]["events"] else events
            game = frames[-1]["game"]
            if game["end"]:
                break
            ask = game["ask"]
            frame = {**frames[-1], "game": {**game, "events": events, "ask": {**ask, "clock_s": 59.0}}}
            if len(json.dumps(ask)) > len(json.dumps(found.get(ask["kind"], {"game": {"ask": 0}})["game"]["ask"])):
                found[ask["kind"]] = frame
            choice = dice.choice(dice.choice(ask["options"])["choices"])[0]
            frames = json.loads(table.handle_request({"answer": {"id": ask["id"], "choice": choice}}))
    return found


def tagged(frame: dict[str, Any], tags: int) -> dict[str, Any]:
    """Return the frame with claims of the player instead of the game's events."""
    game = frame["game"]
    acts = {"event": "action", "seat": game["seat"], "target": (game["seat"] + 1) % len(game["seats"])}
    said = [{**acts, "action": action, "claim": role} for action, role in CLAIMS[:tags]]
    events = [{**event, "n": n, "step": n, "turn": 1, "ms": 0} for n, event in enumerate(said)]
    return {**frame, "game": {**game, "events": events}}


def open_page(reader: Reader, folder: Path, rules: str) -> Any:
    path = folder / f"{rules}.html"
    offered = [{"name": name, "about": ABOUT[name], "max_seats": PRESETS[name].max_seats} for name in PRESETS]
    path.write_text(table_page("Coup", make_rules_object(PRESETS[rules]), None, rulesets=offered), "utf-8")
    page = reader.open(path)
    page.evaluate("localStorage.clear()")
    page.reload()
    return page


def show(page: Any, frame: dict[str, Any], number: int) -> None:
    """Show a frame as that of another match, so that its events are taken at once."""
    page.evaluate(SHOW, {**frame, "table": {**frame["table"], "match": number}})
    page.locator(".moves:not(.early) .move").first.wait_for(state="attached")


def lobby(frame: dict[str, Any]) -> dict[str, Any]:
    """Return the frame of a table before its match, whose opener can change its places."""
    bots = [{"name": name, "rank": [1, 3], "rating": [24.1, 22.9, 25.3]} for name in ("opportunist", *NAMES[:2])]
    rows = [{**place, "number": number} for number, place in enumerate(frame["table"]["places"])]
    people = [{**row, "name": bot["name"]} for row, bot in zip(rows, bots, strict=False)]
    start = {"empty": 1, "bots": True, "close": True}
    table = {"state": "open", "places": people, "manages": True, "expandable": True, "bots": bots, "start": start}
    return {"table": {**frame["table"], **table}, "game": None}


# Words of headings and buttons that are broken within, texts that overlap or are cut off, and tools in two rows.
WRONG = """() => {
    const texts = (element) => {
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        const found = [];
        while (walker.nextNode()) found.push(walker.currentNode);
        return found.filter((node) => !node.parentElement.closest(".unseen, .figure, svg"));
    };
    const boxes = (node, from, to) => {
        const range = document.createRange();
        range.setStart(node, from);
        range.setEnd(node, to);
        return [...range.getClientRects()].filter((box) => box.width > 0);
    };
    const wrong = [];
    for (const element of document.querySelectorAll("h1, h2, h3, button, .move, .people li, .sentence, .tag")) {
        if (!element.checkVisibility({ visibilityProperty: true })) continue;
        for (const node of texts(element)) {
            for (const { 0: word, index } of node.data.matchAll(/[^\\s-]+/g)) {
                const lines = new Set(boxes(node, index, index + word.length).map((box) => Math.round(box.top)));
                if (lines.size > 1) wrong.push(`broken: ${word}`);
            }
        }
    }
    for (const element of document.querySelectorAll("button, .move, .asked, .people li")) {
        if (!element.checkVisibility()) continue;
        const parts = texts(element).flatMap((node) => boxes(node, 0, node.length).map((box) => [node.data, box]));
        const beside = (one, other) => one.left > other.right - 1 || one.top > other.bottom - 4;
        parts.forEach(([text, box], place) => {
            const next = parts.slice(place + 1).find(([, other]) => !beside(box, other) && !beside(other, box));
            if (next) wrong.push(`overlap: ${text} / ${next[0]}`);
        });
    }
    const shown = [...document.querySelectorAll("header .tool, .self > *")].filter((each) => each.checkVisibility());
    const box = (element) => element.getBoundingClientRect();
    wrong.push(...shown.filter((each) => box(each).right > innerWidth).map((each) => `cut: ${each.textContent}`));
    const tops = shown.filter((each) => each.matches(".tool")).map((each) => box(each).top);
    if (new Set(tops).size > 1) wrong.push("two rows of tools");
    return wrong;
}"""


def pictures(reader: Reader, folder: Path, width: int, height: int) -> Iterator[tuple[str, bytes]]:
    number = 0
    for rules in PRESETS:
        page = open_page(reader, folder, rules)
        page.set_viewport_size({"width": width, "height": height})
        for kind, frame in questions(rules).items():
            number += 1
            show(page, tagged(frame, number % 5), number)
            yield f"{rules} {kind}", page.screenshot()


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with chromium() as reader:
        for width, height in SIZES:
            figures = "".join(
                f"<figure><img width={min(width, 640)} src='data:image/png;base64,{b64encode(image).decode()}'>"
                f"<figcaption>{title}</figcaption></figure>"
                for title, image in pictures(reader, out, width, height)
            )
            html = f"<body style='display:flex;flex-wrap:wrap'>{figures}"
            (out / f"{width}.html").write_text(html, "utf-8")
            sheet = reader.browser.new_page(viewport={"width": 1400, "height": 800})
            sheet.goto((out / f"{width}.html").as_uri())
            sheet.screenshot(path=out / f"{width}.png", full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
