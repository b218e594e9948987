"""Who plays whom in a ladder: one round after another, each dealt from those that are active then.

In a round every active version plays once, and then there are more places to fill:

1. New versions play a second time, until they have played NEW_GAMES games. There are never more such places than
   versions that are not new: where most are new, none is behind.
2. What is left at the last table goes to the reference bots, once each; then to those that play least this round, and
   among them to those that have played the fewest games.

So no version sits out a round. Versions that are neither new nor references play once, some of them twice, and those
that stay in the ladder from the same day on are never more than 2 matches apart. The exception is an owner with as many
bots as there are tables, or more. No two of them may meet: so each of them plays once, at a table of its own, and all
other places go to the others in turn.

But a slow version (`is_slow`) plays in every second round only, so that others wait less: it has at least half of the
matches that it would have otherwise. The time that the ladder allows decides, not how fast the others are.

Reference bots alone play until each is placed, and then no more until another bot plays: nobody waits for it.

Then bots change places, so that each meets all others about equally often. What counts is the part of its own matches:
so a meeting weighs by the square of how many times as many games the oldest version has played. By the bare count, two
new versions would hardly ever meet, since they are just those that the old ones have met least.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import mul

from ladder.schedule.tables import Shuffle, apart, change_places, deal

NEW_GAMES = 100  # after them a version that was linked to its predecessor is off by .23 in log-strength (simulated)
PLACED_GAMES = 1000  # of a reference bot: its share's interval is then about 3 points to each side
SLOW = 0.5  # of the time of a request: what a slow version takes on average, at least
LATELY = 4  # rated matches by which it is slow: it is known soon, and so is that it no longer is
_FINE = 16  # parts of one, by which weights differ: a slow version has a little more than half of others' games
_PART = 160  # places, among which bots change theirs: in larger fields the time would grow with the square of the bots


@dataclass(frozen=True, slots=True)
class Entrant:
    """An active version."""

    version: int
    owner: int
    """A number of whose it is: an owner's, or a team's. Two with the same one never meet."""
    games: int
    """How many rated games it has, with those that earlier rounds have scheduled and that aren't played yet."""
    reference: bool = False
    """Whether it is an anchor of the scale. Reference bots may meet each other, whoever owns them."""
    slow: bool = False
    """Whether it plays every second round only."""


def mean_answer_us(spent: Iterable[tuple[int, int]]) -> float:
    """Return the mean time of an answer over a version's last matches, which all weigh the same.

    `spent`: of each of the LATELY newest the microseconds of its own that it took, and for how many requests.
    """
    means = [took_us / requests for took_us, requests in spent if requests]
    return sum(means) / len(means) if means else 0.0


def is_slow(spent: Iterable[tuple[int, int]], limit_ms: int) -> bool:
    """Tell whether a version takes more than SLOW of the time that the ladder allows for a request."""
    return mean_answer_us(spent) > SLOW * 1000 * limit_ms


def next_round(
    field: Sequence[Entrant], seats: int, met: Mapping[int, Mapping[int, int]], shuffle: Shuffle, number: int
) -> tuple[tuple[int, ...], ...]:
    """Return the versions at the tables of a ladder's next round; nothing where `why_no_round` says why.

    `met`: how many matches each version has had with each other one, at met[a][b] and at met[b][a] alike; what isn't
    there is none, and versions that aren't active don't matter. `number`: the round's own. With the same one, the same
    field, in any order, gives the same tables; another one gives others. Slow versions play in rounds of even numbers,
    and where the others play no round.
    """
    quick = [entrant for entrant in field if not entrant.slow]
    if number % 2 and why_no_round(quick, seats) is None:
        field = quick
    if why_no_round(field, seats) is not None:
        return ()
    field = sorted(field, key=lambda entrant: (entrant.games, entrant.version))
    owners = _owners(field)
    places = _places(field, owners, seats)
    order = [places[place] for place in shuffle(range(len(places)), f"round/{number}")]
    tables = deal(order, owners, seats)
    parts = -(-len(places) // _PART)
    return tuple(table for part in range(parts) for table in _balanced_seats(tables[part::parts], field, owners, met))


def why_no_round(field: Sequence[Entrant], seats: int) -> str | None:
    """Return why these play no round, in words for an organiser, or None where they do."""
    references = sum(entrant.reference for entrant in field)
    owners = len({entrant.owner for entrant in field if not entrant.reference})
    missing = seats - owners - references
    if missing <= 0:
        placed = not owners and all(entrant.games >= PLACED_GAMES for entrant in field)
        return f"only reference bots play, and each has {PLACED_GAMES} games or more" if placed else None
    return (
        f"{_number(owners, 'owner')} with an active bot and {_number(references, 'reference bot')} "
        f"for tables of {seats}: two bots of one owner or team never meet, "
        f"so {missing} more {'is' if missing == 1 else 'are'} needed"
    )


def _owners(field: Sequence[Entrant]) -> list[int]:
    """Return a number for each entrant, by which those are known that may not meet."""
    numbers: dict[tuple[bool, int], int] = {}
    for entrant in field:
        numbers.setdefault(_owner(entrant), len(numbers))
    return [numbers[_owner(entrant)] for entrant in field]


def _owner(entrant: Entrant) -> tuple[bool, int]:
    return entrant.reference, entrant.version if entrant.reference else entrant.owner


def _places(field: Sequence[Entrant], owners: Sequence[int], seats: int) -> list[int]:
    """Return who plays, as often as each does: enough for full tables, and no owner more often than there are tables.

    `field` is sorted by games.
    """
    everyone = range(len(field))
    new = [bot for bot in everyone if field[bot].games < NEW_GAMES and not field[bot].reference]
    old = sum(not entrant.reference for entrant in field) - len(new)
    places = list(everyone)
    of_owner = Counter(owners)
    tables = max(-(-len(field) // seats), *of_owner.values())

    def add(bots: Sequence[int], most: int) -> None:
        for bot in bots:
            if len(places) < most and of_owner[owners[bot]] < tables:
                places.append(bot)
                of_owner[owners[bot]] += 1

    add(new, len(places) + old)
    tables = max(tables, -(-len(places) // seats))
    add([bot for bot in everyone if field[bot].reference], tables * seats)
    while len(places) < tables * seats:
        times = Counter(places)
        least = min(times[bot] for bot in everyone if of_owner[owners[bot]] < tables)
        add([bot for bot in everyone if times[bot] == least], tables * seats)
    return places


def _balanced_seats(
    tables: Sequence[Sequence[int]],
    field: Sequence[Entrant],
    owners: Sequence[int],
    met: Mapping[int, Mapping[int, int]],
) -> Iterator[tuple[int, ...]]:
    """Yield the versions at some tables, after their bots have changed places."""
    bots = sorted({bot for table in tables for bot in table})
    numbers = {bot: number for number, bot in enumerate(bots)}
    counted = _meeting_counts([field[bot] for bot in bots], met)
    apart(counted, [owners[bot] for bot in bots])
    numbered = [[numbers[bot] for bot in table] for table in tables]
    change_places(numbered, 0, counted)
    for table in numbered:
        yield tuple(field[bots[number]].version for number in table)


def _meeting_counts(field: Sequence[Entrant], met: Mapping[int, Mapping[int, int]]) -> list[list[int]]:
    """Return how often each has met each other one, by what that weighs in the matches of the two."""
    most = max(entrant.games for entrant in field)
    weights = [(_FINE * most // max(1, entrant.games)) ** 2 for entrant in field]
    both = {weight: [weight + other for other in weights] for weight in set(weights)}
    versions = [entrant.version for entrant in field]
    return [
        list(map(mul, map(met.get(version, {}).get, versions, repeat(0)), both[weight]))
        for version, weight in zip(versions, weights, strict=True)
    ]


def _number(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
