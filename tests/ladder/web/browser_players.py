"""People who play at a served ladder's table in real browsers, and what each browser was sent and shows."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chromium import WAIT_MS

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
GAME = {"number", "turn", "seat", "actor", "deck", "reserve", "seats", "told", "ask", "end"}
TABLE = {
    *("id", "rules", "games", "clock", "program_clock", "talk", "open_names", "state", "why", "again", "places"),
    "replay",
}
STEPS = 8000  # of one who plays: only a failure takes so many
# What the page draws of others: each card that isn't face up must be a back.
OTHERS_OPEN = """() => [...document.querySelectorAll('.felt li.seat:not(.own) .cards .card')]
    .filter((card) => !card.classList.contains('lost') && !card.classList.contains('back')).length"""


@dataclass
class Player:
    """Somebody's browser at a table; `frames` is what its socket was sent, on whatever page."""

    name: str
    context: Any
    options: dict[str, Any]
    frames: list[dict[str, Any]] = field(default_factory=list)
    pressed: int = 0
    page: Any = None

    def open(self, address: str) -> None:
        """Open the table in a new tab."""
        self.page = self.context.new_page()
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._take))
        self.page.goto(address)

    def _take(self, text: str) -> None:
        frame = json.loads(text)
        if "table" in frame:
            demand_only_its_own(frame)
            self.frames.append(frame)

    @property
    def frame(self) -> dict[str, Any]:
        """Return what came last."""
        return self.frames[-1]

    @property
    def game(self) -> Any:
        """Return the game that is shown, None before the first."""
        return self.frame["game"]

    @property
    def ask(self) -> Any:
        """Return the open request, or None."""
        return (self.game or {}).get("ask")

    @property
    def state(self) -> str:
        """Return what the table does."""
        return str(self.frame["table"]["state"])

    def wait(self, holds: Callable[["Player"], object]) -> None:
        """Wait until something holds of what came."""
        for _ in range(WAIT_MS // 10):
            if self.frames and holds(self):
                return
            self.page.wait_for_timeout(10)
        raise AssertionError(f"{self.name} waits: {self.frames[-1:]}")

    def press(self, rng: random.Random, says: str = "") -> None:
        """Answer what is asked: by a key, or by a button, which a phone's user touches."""
        ask = self.ask
        assert ask is not None
        options = {str(option["number"]): option for option in ask["options"]}
        number = _chosen(rng, options)
        self.page.locator(".moves button.move", has_text=options[number]["text"][:12]).first.wait_for()
        if says:
            self.page.locator("input.words").fill(says)
            self.page.locator("h2.question").click()  # keys are words while one types
        by_key = not self.options.get("has_touch") and rng.random() < 0.5
        self._do(by_key, int(number) - 1, rng.choice((number, options[number]["letter"] or number)))
        if len(options[number]["choices"]) > 1:
            at = rng.randrange(len(options[number]["choices"]))
            self._do(by_key, at, str(at + 1))
        if options[number]["risk"]:
            self.page.locator("dialog[open] .move").last.click()
        self.pressed += 1
        self.wait(lambda seated: seated.ask is None or seated.ask["id"] != ask["id"])
        assert self.page.evaluate(OTHERS_OPEN) == 0

    def _do(self, by_key: bool, at: int, key: str) -> None:
        if by_key:
            self.page.keyboard.press(key)
        else:
            button = self.page.locator(".moves button.move").nth(at)
            (button.tap if self.options.get("has_touch") else button.click)()


def _chosen(rng: random.Random, options: dict[str, Any]) -> str:
    """Return a move's number: what ends a game comes first."""
    for number, option in options.items():
        if option["action"] in ("coup", "assassinate") and not option["bluff"]:
            return number
    doubts = [number for number, option in options.items() if "challenge" in option["text"].lower()]
    return rng.choice(doubts if doubts and rng.random() < 0.8 else list(options))


def demand_only_its_own(frame: dict[str, Any]) -> None:
    """Demand that a frame holds no field but the known ones, no other's card, nobody's answer, and no bot's name."""
    table, game = frame["table"], frame["game"]
    assert set(table) == TABLE
    over = table["state"] in ("over", "void")
    for row in table["places"]:
        assert row["kind"] == "person" or (row["name"] is not None) == over
        assert row["again"] is False or table["state"] in ("between", "over", "void")
        assert row["here"] or row["kind"] == "person"
    if game is None:
        return
    assert set(game) == GAME
    for number, seat in enumerate(game["seats"]):
        assert seat["own"] is (number == game["seat"])
        if not seat["own"]:
            assert not any(seat["cards"])
            assert seat["drawn"] == []


def _settle(people: Sequence[Player]) -> None:
    """Wait until nothing is on its way to anybody."""
    count = -1
    while count != (count := sum(len(person.frames) for person in people)):
        people[0].page.wait_for_timeout(80)


def play(people: Sequence[Player], done: Callable[[Player], object], says: Callable[[int], str], seed: str) -> int:
    """Have people answer, one after the other, until something holds for each; return how many answers told nobody.

    Who answers while another is asked the same must not be noticed by anybody: no frame comes to anyone else.
    """
    rng = random.Random(seed)
    unseen = 0
    for step in range(STEPS):
        if all(done(person) for person in people):
            return unseen
        asked = [person for person in people if person.ask is not None]
        if not asked:
            people[step % len(people)].page.wait_for_timeout(10)
            continue
        first = rng.choice(asked)
        together = len(asked) > 1 and step % 4 == 0
        if together:
            _settle(people)
        counts = [len(person.frames) for person in people]
        first.press(rng, says(step) if first.frame["table"]["talk"] != "off" else "")
        if together:
            first.page.wait_for_timeout(30)
            noticed = [len(person.frames) - count for person, count in zip(people, counts, strict=True)]
            others = [new for person, new in zip(people, noticed, strict=True) if person is not first]
            assert others == [0] * len(others), (first.name, noticed)
            unseen += 1
    raise AssertionError("the game has no end")
