"""What versions do: sums of what was counted in each of their matches."""

import json
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from ladder.store.database.queue import RATED
from ladder.store.database.tables import match_bots, matches

NEWEST = 50  # matches of which a style is: some thousand decisions; each more is a row to be looked up


@dataclass(frozen=True, slots=True)
class Style:
    """What a version did in so many matches. Numbers are counts and cases, by name; the worker says which are public.

    public: what anybody sees at the table. hidden: what takes cards that nobody may have seen.
    """

    matches: int = 0
    public: dict[str, tuple[int, int]] = field(default_factory=dict)
    hidden: dict[str, tuple[int, int]] = field(default_factory=dict)


def style_of(connection: Connection, version: int) -> Style:
    """Return what a version did in the newest of its rated matches; those whose numbers are gone aren't counted."""
    query = (
        select(match_bots.c.style)
        .join(matches, matches.c.id == match_bots.c.match)
        .where(match_bots.c.version == version, matches.c.rates, matches.c.kind == RATED)
        .order_by(match_bots.c.match.desc())
        .limit(NEWEST)
    )
    tallies = [json.loads(text) for text in connection.scalars(query) if text is not None]

    def summed(part: str) -> dict[str, tuple[int, int]]:
        counts, cases = Counter[str](), Counter[str]()
        for style in tallies:
            for name, (count, of) in style[part].items():
                counts[name] += count
                cases[name] += of
        return {name: (counts[name], cases[name]) for name in sorted(cases)}

    return Style(len(tallies), summed("public"), summed("hidden"))
