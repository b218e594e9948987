"""Plan a ladder's rounds: assign the active versions to tables, and balance which of them meet.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import mul

from arena.schedule import Shuffle, assign_tables, forbid_same_owner, swap_to_balance

NEW_GAMES = 100  # after which a new version with a predecessor has an error of .23 in log-strength (simulated)
PLACED_GAMES = 1000  # after which a reference bot's win rate has an interval of about 3 points to each side
SLOW_TIME_SHARE = 0.5  # the part of a request's time limit above which a version is slow
RECENT_MATCHES = 4  # rated matches that decide whether a version is slow: few, so that a change shows soon
_WEIGHT_STEPS = 16  # resolution of weights: slow versions have a little more than half as many games as others
_MAX_SWAP_SLOTS = 160  # larger fields are balanced in parts, since the time grows with the square of the slots


@dataclass(frozen=True, slots=True)
class Entrant:
    """An active version that can play in a round."""

    version: int
    owner: int
    """The number of the user or team that it belongs to. Versions with the same owner never meet."""
    games: int
    """Its rated games, including games of earlier rounds that are scheduled and not played yet."""
    reference: bool = False
    """Whether it anchors the rating scale. Reference bots may meet each other, even with the same owner."""
    slow: bool = False
    """Whether it plays only every second round."""


def mean_response_us(spent: Iterable[tuple[int, int]]) -> float:
    """Return a version's mean own time for a request, in microseconds, as the mean of its recent matches' means.

    `spent`: (microseconds used, number of requests) for each of the RECENT_MATCHES newest matches.
    """
    means = [took_us / requests for took_us, requests in spent if requests]
    return sum(means) / len(means) if means else 0.0


def is_slow(spent: Iterable[tuple[int, int]], limit_ms: int) -> bool:
    """Return whether `mean_response_us(spent)` exceeds SLOW_TIME_SHARE of the ladder's time limit for a request."""
    return mean_response_us(spent) > SLOW_TIME_SHARE * 1000 * limit_ms


def plan_next_round(
    field: Sequence[Entrant], seats: int, met: Mapping[int, Mapping[int, int]], shuffle: Shuffle, number: int
) -> tuple[tuple[int, ...], ...]:
    """Return the versions at each table of a ladder's next round; empty if `no_round_reason` gives a reason.

    `met[a][b]`, equal to `met[b][a]`: the number of matches of versions a and b; missing entries are 0, and versions
    outside the field are ignored. `number`: the round's number; the same number and field, in any order, always give
    the same tables. Slow versions play in even rounds, and in odd ones if the others can't play a round without them.
    """
    quick_entrants = [entrant for entrant in field if not entrant.slow]
    skips_slow = number % 2 == 1 and no_round_reason(quick_entrants, seats) is None
    entrants = quick_entrants if skips_slow else list(field)
    if no_round_reason(entrants, seats) is not None:
        return ()
    entrants.sort(key=lambda entrant: (entrant.games, entrant.version))
    owners = _number_owners(entrants)
    slots = _fill_slots(entrants, owners, seats)
    order = [slots[slot] for slot in shuffle(range(len(slots)), f"round/{number}")]
    tables = assign_tables(order, owners, seats)
    groups = -(-len(slots) // _MAX_SWAP_SLOTS)
    balanced = (_balance_tables(tables[group::groups], entrants, owners, met) for group in range(groups))
    return tuple(chain.from_iterable(balanced))


def no_round_reason(field: Sequence[Entrant], seats: int) -> str | None:
    """Return the reason, as text for an organiser, for which this field plays no round; None if it can play."""
    references = sum(entrant.reference for entrant in field)
    owners = len({entrant.owner for entrant in field if not entrant.reference})
    missing = seats - owners - references
    if missing > 0:
        return (
            f"{_count_with_noun(owners, 'owner')} with an active bot and "
            f"{_count_with_noun(references, 'reference bot')} for tables of {seats}: two bots of one owner or team "
            f"never meet, so {missing} more {'is' if missing == 1 else 'are'} needed"
        )
    if owners or any(entrant.games < PLACED_GAMES for entrant in field):
        return None
    return f"only reference bots are active, and each has {PLACED_GAMES} games or more"


def _number_owners(field: Sequence[Entrant]) -> list[int]:
    """Return a number for each entrant; entrants with the same number must not meet."""
    numbers: dict[tuple[bool, int], int] = {}
    for entrant in field:
        numbers.setdefault(_owner_key(entrant), len(numbers))
    return [numbers[_owner_key(entrant)] for entrant in field]


def _owner_key(entrant: Entrant) -> tuple[bool, int]:
    return entrant.reference, entrant.version if entrant.reference else entrant.owner


def _fill_slots(field: Sequence[Entrant], owners: Sequence[int], seats: int) -> list[int]:
    """Return an index into `field` for each slot of the round's tables; the module's docstring has the rules.

    All tables are full, and no owner gets more slots than there are tables. field: sorted by games, and without a
    `no_round_reason`. owners: as of `_number_owners`.
    """
    references = [bot for bot, entrant in enumerate(field) if entrant.reference]
    new = [bot for bot, entrant in enumerate(field) if entrant.games < NEW_GAMES and not entrant.reference]
    old_count = len(field) - len(references) - len(new)
    slots = _Slots(owners)
    tables = max(-(-len(field) // seats), *slots.by_owner.values())
    slots.add(new, len(field) + old_count, tables)
    tables = max(tables, -(-len(slots.bots) // seats))
    slots.add(references, tables * seats, tables)
    while len(slots.bots) < tables * seats:
        times = Counter(slots.bots)
        allowed = [bot for bot in range(len(field)) if slots.by_owner[owners[bot]] < tables]
        min_times = min(times[bot] for bot in allowed)
        slots.add([bot for bot in allowed if times[bot] == min_times], tables * seats, tables)
    return slots.bots


class _Slots:
    """The slots of a round, at first one for each bot. bots: an index for each slot. by_owner: numbers of slots."""

    def __init__(self, owners: Sequence[int]) -> None:
        self._owners = owners
        self.bots = list(range(len(owners)))
        self.by_owner = Counter(owners)

    def add(self, bots: Iterable[int], max_slots: int, max_per_owner: int) -> None:
        """Give each of these bots, in order, one more slot, unless this exceeds a limit."""
        for bot in bots:
            owner = self._owners[bot]
            if len(self.bots) < max_slots and self.by_owner[owner] < max_per_owner:
                self.bots.append(bot)
                self.by_owner[owner] += 1


def _balance_tables(
    tables: Sequence[Sequence[int]],
    field: Sequence[Entrant],
    owners: Sequence[int],
    met: Mapping[int, Mapping[int, int]],
) -> Iterator[tuple[int, ...]]:
    """Yield the versions at each of these tables, after bots have swapped places to balance how often pairs meet.

    tables: of indices into `field`. owners: as of `_number_owners`. met: as of `plan_next_round`.
    """
    bots = sorted(set(chain.from_iterable(tables)))
    numbers = {bot: number for number, bot in enumerate(bots)}
    meetings = _weigh_meetings([field[bot] for bot in bots], met)
    forbid_same_owner(meetings, [owners[bot] for bot in bots])
    numbered_tables = [[numbers[bot] for bot in table] for table in tables]
    swap_to_balance(numbered_tables, 0, meetings)
    for numbered_table in numbered_tables:
        yield tuple(field[bots[number]].version for number in numbered_table)


def _weigh_meetings(field: Sequence[Entrant], met: Mapping[int, Mapping[int, int]]) -> list[list[int]]:
    """Return the meeting counts of all pairs, weighted so that meetings count for more if versions have few games.

    A row and a column for each entrant, in the order of `field`. met: version -> opponent's version -> meetings.
    """
    max_games = max(entrant.games for entrant in field)
    weights = [(_WEIGHT_STEPS * max_games // max(1, entrant.games)) ** 2 for entrant in field]
    # Equal weights share a list, and a row is multiplied without a loop in Python: fields have a thousand versions.
    pair_weights = {weight: [weight + opponent_weight for opponent_weight in weights] for weight in set(weights)}
    versions = [entrant.version for entrant in field]
    return [
        list(map(mul, map(met.get(version, {}).get, versions, repeat(0)), pair_weights[weight]))
        for version, weight in zip(versions, weights, strict=True)
    ]


def _count_with_noun(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
