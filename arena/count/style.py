"""A bot's style in a match, small enough to be kept of each: numbers of `arena stats`, as counts and cases.

`public` follows from what anybody sees at the table. `hidden` takes cards that nobody may have seen, or what a seat
wanted to do and what didn't count: it is for the bot's owner.
"""

import json
from collections.abc import Mapping

from arena.count.fold import ALL, BotCounts, Fold
from arena.referee import Record

# Section -> the names in it that are kept, None for all.
_Sections = Mapping[str, tuple[str, ...] | None]
_PUBLIC: _Sections = {"actions": None, "called": (ALL,), "table": None}
_HIDDEN: _Sections = {"bluffs": (ALL,), "caught": (ALL,), "challenges": ("made", "right"), "blocks": ("bluffed",)}


def styles(record: Record) -> tuple[tuple[str, str], ...]:
    """Return (bot, its style as JSON) of each bot of a match: `{"public": {"table right": [3, 4], ...}, ...}`.

    `turns` are those of all games, of so many games. Raises RecordError where the engine doesn't play it so.
    """
    fold = Fold()
    fold.add(record)
    turns = [sum(number * games for number, games in fold.turns.items()), fold.games]

    def told(counted: BotCounts) -> str:
        public = {"turns": turns} | _numbers(counted, _PUBLIC)
        return json.dumps({"public": public, "hidden": _numbers(counted, _HIDDEN)}, separators=(",", ":"))

    return tuple((name, told(counted)) for name, counted in fold.bots.items())


def _numbers(counted: BotCounts, sections: _Sections) -> dict[str, list[int]]:
    return {
        f"{section} {what}": [int(tally.count), tally.of]
        for (section, what), tally in sorted(counted.tallies.items())
        if section in sections and tally.of and what in (sections[section] or (what,))
    }
