"""Schedule a ladder's rounds: assign the active versions to tables, and balance which of them meet.

In a round every active version plays once. Remaining slots are filled in order:

1. New versions play twice until they have NEW_GAMES games; such slots never outnumber the versions that aren't new.
2. The last table gets the reference bots, once each; then the versions with the fewest games in this round, then
   overall.

Versions that are neither new nor references stay within 2 matches of each other. The exception is an owner with at
least as many bots as there are tables: these play once each. A slow version (`is_slow`, by the ladder's time limits)
plays every second round. Reference bots alone play until each is rated, then wait for another bot.

Then bots swap tables until all pairs meet about equally often, relative to each bot's own number of matches; this
halves the error of a win rate. Two bots of one owner never share a table."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import mul

Shuffle = Callable[[Sequence[int], str], tuple[int, ...]]
"""Items and a label to the items in random order; the same items and label always give the same order."""

_NEVER = 1 << 60  # more often than bots can meet
_MAX_SWAPS = 1600  # to change places, in a permutation: 2 ms; 60 bots gain little by more
_MIN_PASSES = 5  # over all places, in fields so large that the tries are too few: nearly all that can be gained
_MAX_PASSES = 4  # for each place, in small fields: they are balanced by then


def assign_tables(
    order: Sequence[int], owners: Sequence[int], seats: int, begun: Sequence[int] = ()
) -> list[list[int]]:
    """Deal bots in their order to tables, no two of one owner to the same; the last table may stay unfilled.

    `order`: bots, of which each may come several times. `owners`: of each bot. `begun`: those who sit at the first
    table already. A bot waits for a later table while one of its owner sits at this one. An owner with as many bots
    left as there are tables left comes first, or two of them would be left for the last.

    There must be a way: no owner comes more often than there are tables.
    """
    waiting = list(order)
    left = Counter(owners[bot] for bot in waiting)
    crowded = [owner for owner, bots in left.items() if bots > 1]
    tables: list[list[int]] = []
    table = list(begun)
    while waiting:
        full = (len(table) + len(waiting)) // seats  # tables that can still be filled, this one included
        urgent = {owner: left[owner] for owner in crowded if left[owner] >= full}
        line = sorted(waiting, key=lambda bot: -urgent.get(owners[bot], 0)) if urgent else waiting
        at_table = {owners[bot] for bot in table}
        chosen: list[int] = []
        for bot in line:
            if len(table) + len(chosen) == seats:
                break
            if owners[bot] not in at_table:
                at_table.add(owners[bot])
                chosen.append(bot)
        for bot in chosen:
            waiting.remove(bot)
            left[owners[bot]] -= 1
        tables.append(table + chosen)
        table = []
    return tables


def forbid_same_owner(met: list[list[int]], owners: Sequence[int]) -> None:
    """Count bots of one owner as if they had met so often that no change of places brings them together."""
    of: dict[int, list[int]] = {}
    for bot, owner in enumerate(owners):
        of.setdefault(owner, []).append(bot)
    for bots in of.values():
        for one in bots:
            for other in bots:
                met[one][other] = _NEVER


def swap_to_balance(tables: list[list[int]], fixed: int, met: list[list[int]]) -> None:
    """Let bots of different tables change places where those who then sit together have met no more often.

    The first `fixed` places stay as they are. `met`: how often each bot has met each other one before, with those that
    `apart` keeps apart.
    """
    places = [(table, place) for table in tables for place in range(len(table))][fixed:]
    size = len(places)
    for turn in range(min(max(_MIN_PASSES, _MAX_SWAPS // size), _MAX_PASSES * size)):
        step = 1 + turn % (size - 1)
        for (one, here), (other, there) in zip(places, places[step:] + places[:step], strict=True):
            a, b = one[here], other[there]
            met_a, met_b = met[a], met[b]
            more = met_a[a] + met_b[b] - 2 * met_a[b]  # how much more often the bots of both tables would have met
            for bot in one:
                more += met_b[bot] - met_a[bot]
            for bot in other:
                more += met_a[bot] - met_b[bot]
            if more <= 0:  # what is no gain now may open the way to one
                one[here], other[there] = b, a


NEW_GAMES = 100  # after them a version that was linked to its predecessor is off by .23 in log-strength (simulated)
PLACED_GAMES = 1000  # of a reference bot: its share's interval is then about 3 points to each side
SLOW_TIME_SHARE = 0.5  # of the time of a request: what a slow version takes on average, at least
RECENT_MATCHES = 4  # rated matches by which it is slow: it is known soon, and so is that it no longer is
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
    """Whether it is an anchor of the scale. Reference bots may meet each other, also those of one owner."""
    slow: bool = False
    """Whether it plays every second round only."""


def mean_response_us(spent: Iterable[tuple[int, int]]) -> float:
    """Return the mean time of an answer over a version's last matches, which all weigh the same.

    `spent`: of each of the RECENT_MATCHES newest the microseconds of its own that it took, and for how many requests.
    """
    means = [took_us / requests for took_us, requests in spent if requests]
    return sum(means) / len(means) if means else 0.0


def is_slow(spent: Iterable[tuple[int, int]], limit_ms: int) -> bool:
    """Return whether a version takes more than SLOW_TIME_SHARE of the time that the ladder allows for a request."""
    return mean_response_us(spent) > SLOW_TIME_SHARE * 1000 * limit_ms


def plan_next_round(
    field: Sequence[Entrant], seats: int, met: Mapping[int, Mapping[int, int]], shuffle: Shuffle, number: int
) -> tuple[tuple[int, ...], ...]:
    """Return the versions at the tables of a ladder's next round; none where `no_round_reason` says why.

    `met`: how many matches each version has had with each other one, at met[a][b] and at met[b][a] alike; what isn't
    there is 0, and versions that aren't active don't matter. `number`: the round's own. With the same one, the same
    field, in any order, gives the same tables; another one gives others. Slow versions play in rounds of even numbers,
    and where the others play no round.
    """
    quick = [entrant for entrant in field if not entrant.slow]
    if number % 2 and no_round_reason(quick, seats) is None:
        field = quick
    if no_round_reason(field, seats) is not None:
        return ()
    field = sorted(field, key=lambda entrant: (entrant.games, entrant.version))
    owners = _owners(field)
    places = _places(field, owners, seats)
    order = [places[place] for place in shuffle(range(len(places)), f"round/{number}")]
    tables = assign_tables(order, owners, seats)
    parts = -(-len(places) // _PART)
    return tuple(table for part in range(parts) for table in _balanced_seats(tables[part::parts], field, owners, met))


def no_round_reason(field: Sequence[Entrant], seats: int) -> str | None:
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
    forbid_same_owner(counted, [owners[bot] for bot in bots])
    numbered = [[numbers[bot] for bot in table] for table in tables]
    swap_to_balance(numbered, 0, counted)
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
