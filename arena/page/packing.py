"""Matches as a page carries them: the same values in a third of the room. `static/packed.js` unpacks them.

Two thirds of the events are the same as another, so each different one stands once. A step is an array. Of standard
error there is as much as a page has room for.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ROOM = 3000  # bytes of standard error for each game, on the average: in 24 games all that is kept of one bot


def pack(matches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return {"events", "matches"}: a step is [turn, kind, given, its events], and the rest if there is any."""
    places: dict[str, int] = {}

    def place(event: Mapping[str, Any]) -> int:
        text = json.dumps({name: value for name, value in event.items() if name != "n"})  # the place in the game
        return places.setdefault(text, len(places))

    def step(step: Mapping[str, Any]) -> list[Any]:
        short = [step["turn"], step["kind"], step["given"], [place(event) for event in step["events"]]]
        rest = {name: value for name, value in step.items() if name not in ("turn", "kind", "given", "events")}
        return [*short, rest] if rest else short

    def game(game: Mapping[str, Any], most: int) -> dict[str, Any]:
        written = [{**entry, "text": _cut(entry["text"], most)} for entry in game["stderr"]]
        return {**game, "steps": [step(each) for each in game["steps"]], "stderr": written}

    short = [
        {**match, "games": [game(each, most) for each in match["games"]]}
        for match in matches
        for most in [_most(match["games"])]
    ]
    return {"events": [json.loads(text) for text in places], "matches": short}


def _most(games: Sequence[Mapping[str, Any]]) -> int:
    """Return how many characters of each text of standard error a match's games have room for."""
    texts = [entry["text"] for game in games for entry in game["stderr"]]
    most = max(map(len, texts), default=0)
    while most > 200 and _size(_cut(text, most) for text in texts) > ROOM * len(games):
        most //= 2
    return most


def _size(texts: Iterable[str]) -> int:
    return sum(len(json.dumps(text)) for text in texts)


def _cut(text: str, most: int) -> str:
    """Return the beginning and the end of a text that is too long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
