"""Make the frames of a table: each contains the whole state that a browser shows.

A frame is {"table": ..., "game": ...}: the table with its places, and the game as the viewer may know it, or None.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from arena.play.player_view import GameView
from arena.referee import MatchSettings
from protocol.event_text import YOU

# The fields of a table that offers its viewer nothing but to play.
_PLAIN_TABLE = {
    "clock": None,
    "program_clock": None,
    "why": None,
    "again": True,
    "missed": 0,
    "spare": 1,
    "skip": False,
    "opener": None,
    "manages": False,
    "bots": None,
    "expandable": False,
    "start": None,
}


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A place of a table as a viewer sees it. handle: "" before a match; name: None while it is hidden.

    number: the slot's, None during a match; kind: bot, person or program; free: no person has it; here: its player is
    connected; you: it is the viewer's; won: games; again: the player wants the next game; delay_ms: of a program.
    """

    handle: str
    name: str | None
    kind: str
    you: bool
    won: float
    number: int | None = None
    free: bool = False
    here: bool = True
    again: bool = False
    delay_ms: int | None = None


def make_frame(
    settings: MatchSettings, games: int, places: Iterable[TablePlace], view: GameView | None, table: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a frame. games: of a match. view: None without a game.

    table: the fields that depend on the table; those that it lacks are as in _PLAIN_TABLE.
    """
    return {
        "table": {
            "rules": settings.rules.name,
            "games": games,
            "talk": str(settings.rules.talk),
            "open_names": settings.open_names,
            **_PLAIN_TABLE,
            **table,
            "places": sorted(map(asdict, places), key=lambda place: str(place["handle"])),
        },
        "game": None if view is None else {**asdict(replace(view, events=())), "events": list(view.events)},
    }


def label_handles(names: Mapping[str, str | None]) -> dict[str, str]:
    """Return the names to show by handle, from those of all players, None for a name that isn't shown.

    Equal names, "you", and names that end with another player's handle get their own handle too, so that no two look
    alike. A name that is the player's own handle stays as it is, unless it is "you" or would look like another label.
    """
    shown = {handle: name for handle, name in names.items() if name is not None}
    counts = Counter(map(str.casefold, shown.values())) | Counter({YOU: 2})
    endings = {handle: f" {handle}".casefold() for handle in names}
    long_labels = {f"{name} {handle}".casefold() for handle, name in shown.items()}
    labels = {}
    for handle, name in shown.items():
        others = tuple(ending for other, ending in endings.items() if other != handle)
        is_clear = counts[name.casefold()] == 1 and not f" {name}".casefold().endswith(others)
        is_handle = name == handle and name.casefold() not in (YOU, *long_labels)
        labels[handle] = name if is_clear or is_handle else f"{name} {handle}"
    return labels


class FrameSerializer:
    """Serialize the frames for one viewer: each has only the events that the frames before didn't have."""

    def __init__(self) -> None:
        self._game_key: object = None  # the match and the game of the last frame
        self._event_count = 0  # of this game

    def serialize(self, frame: Mapping[str, Any]) -> str:
        """Return a frame as JSON. The open request has its remaining seconds in place of the time at which it ends."""
        game = frame["game"]
        if game is not None:
            key = (frame["table"]["match"], game["number"])
            first_event = self._event_count if key == self._game_key else 0
            self._game_key, self._event_count = key, len(game["events"])
            game = {**game, "events": game["events"][first_event:]}
            if game["ask"] is not None:
                game["ask"] = _with_seconds_left(game["ask"])
        return json.dumps({**frame, "game": game}, separators=(",", ":"))


def _with_seconds_left(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return an open request with `clock_s`, None without a clock, in place of `ends_at`."""
    fields = dict(request)
    ends_at = fields.pop("ends_at")
    return {**fields, "clock_s": None if ends_at is None else max(0.0, ends_at - time.monotonic())}
