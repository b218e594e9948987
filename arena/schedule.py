"""Plan all tables and seat orders of a run before its first game. Bots are indices 0..n-1.

The plan is cut from concatenated permutations of all bots. A round is the smallest number of permutations that
divides evenly into tables. After every round all bots have played equally many matches; at any time the numbers differ
by one at most.

- Tables of more than two: each permutation starts at random, then bots swap tables for balance.
- Tables of two: a round robin by the circle method: all pairs meet once before any meets again. If bots of one owner
  must not meet, tables of two are filled like larger ones.

Every draw has its own label, and no permutation depends on a later one. A longer plan therefore begins with the
tables of a shorter one, and a run can be continued."""

import hmac
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, permutations, product
from math import gcd

Shuffle = Callable[[Sequence[int], str], tuple[int, ...]]
"""Maps items and a label to the items in random order; the same items and label always give the same order."""

_NEVER = 1 << 60  # the meeting count of bots that must not meet: larger than any real one
_MAX_SWAPS = 1600  # tried swaps for each permutation: they take 2 ms, and more hardly help with up to 60 bots
_MIN_PASSES = 5  # over all slots, in larger fields: more would gain little
_MAX_PASSES = 4  # times the number of slots, in small fields: they are balanced by then


def assign_tables(
    order: Sequence[int], owners: Sequence[int], seats: int, seated: Sequence[int] = ()
) -> list[list[int]]:
    """Assign bots in the given order to tables, no two of one owner to the same one; the last one may stay unfilled.

    `order`: bots, each possibly several times. `owners`: the owner of each bot. `seated`: bots that already sit at the
    first table. If a bot's owner is at a table already, the bot waits for a later one. An owner with as many remaining
    bots as there are remaining tables goes first, or the last table would get two of its bots.

    No owner may have more bots in `order` than there are tables.
    """
    waiting = list(order)
    bots_left = Counter(owners[bot] for bot in waiting)  # by owner
    crowded_owners = [owner for owner, bots in bots_left.items() if bots > 1]
    max_bots = max(bots_left.values(), default=0)
    tables: list[list[int]] = []
    table = list(seated)
    while waiting:
        tables_left = (len(table) + len(waiting)) // seats  # that can still be filled, including this one
        urgency = {}
        if tables_left <= max_bots:
            urgency = {owner: bots_left[owner] for owner in crowded_owners if bots_left[owner] >= tables_left}
        queue = sorted(waiting, key=lambda bot: -urgency.get(owners[bot], 0)) if urgency else waiting
        chosen = _choose_bots(queue, owners, table, seats)
        for bot in chosen:
            waiting.remove(bot)
            bots_left[owners[bot]] -= 1
        tables.append(table + chosen)
        table = []
    return tables


def _choose_bots(queue: Sequence[int], owners: Sequence[int], table: Sequence[int], seats: int) -> list[int]:
    """Return the first bots of a queue that fill a table, of owners that aren't at the table yet."""
    owners_at_table = {owners[bot] for bot in table}
    chosen: list[int] = []
    for bot in queue:
        if len(table) + len(chosen) == seats:
            break
        if owners[bot] not in owners_at_table:
            owners_at_table.add(owners[bot])
            chosen.append(bot)
    return chosen


def forbid_same_owner(meetings: list[list[int]], owners: Sequence[int]) -> None:
    """Set the meeting counts of bots of one owner so high that `swap_to_balance` never puts them at one table."""
    bots_by_owner: dict[int, list[int]] = {}
    for bot, owner in enumerate(owners):
        bots_by_owner.setdefault(owner, []).append(bot)
    for bots in bots_by_owner.values():
        for bot, other_bot in product(bots, repeat=2):
            meetings[bot][other_bot] = _NEVER


def swap_to_balance(tables: list[list[int]], fixed_slots: int, meetings: list[list[int]]) -> None:
    """Swap bots between tables, in place, unless their new tables have met more often than the old ones.

    The first `fixed_slots` slots stay as they are. `meetings[a][b]`: how often a and b have met; pairs that must not
    meet are marked by `forbid_same_owner`.
    """
    slots = [(table, seat) for table in tables for seat in range(len(table))][fixed_slots:]
    size = len(slots)
    for turn in range(min(max(_MIN_PASSES, _MAX_SWAPS // size), _MAX_PASSES * size)):
        step = 1 + turn % (size - 1)
        for (table, seat), (other_table, other_seat) in zip(slots, slots[step:] + slots[:step], strict=True):
            bot, other_bot = table[seat], other_table[other_seat]
            counts, other_counts = meetings[bot], meetings[other_bot]
            # By how much a swap increases the meetings at both tables.
            increase = counts[bot] + other_counts[other_bot] - 2 * counts[other_bot]
            for neighbour in table:
                increase += other_counts[neighbour] - counts[neighbour]
            for neighbour in other_table:
                increase += counts[neighbour] - other_counts[neighbour]
            if increase <= 0:  # a swap without a gain may enable a later one
                table[seat], other_table[other_seat] = other_bot, bot


def keyed_shuffle(key: bytes, purpose: str) -> Shuffle:
    """Return a shuffle for the schedule, which sorts items by their HMACs with the key, the purpose and a label."""

    def shuffle(items: Sequence[int], label: str) -> tuple[int, ...]:
        return tuple(sorted(items, key=lambda item: hmac.digest(key, f"{purpose}|{label}|{item}".encode(), "sha256")))

    return shuffle


def rotate_circle(order: Sequence[int], turn: int) -> tuple[int, ...]:
    """Return all bots in one line: the last of `order`, then the others, in a zigzag across a ring of them.

    The ring is rotated by `turn` positions. Consider the line closed to a circle. With an odd number of bots, the first
    half of the turns has each pair as neighbours once. With an even number, each turn contains two complete pairings of
    the bots, out of as many as there are turns: turn 0 the pairings 0 and 1, turn 1 the pairings 2 and 3, and so on.
    """
    ring = len(order) - 1
    zigzag = [turn, *(turn + step * side for step in range(1, len(order) // 2 + 1) for side in (1, -1))]
    return (order[-1], *(order[position % ring] for position in zigzag[:ring]))


MAX_MATCH_GAMES = 10_000  # limits memory: all seat orders of a match are drawn before its first game


def seat_orders(seats: int, games: int, shuffle: Shuffle) -> tuple[tuple[int, ...], ...]:
    """Return the seat order of each game of a match: entry s is the index, into the table's bots, of the bot in seat s.

    Every `seats` games are a block: a cyclic order, each of whose rotations is played once. So each bot sits in each
    seat equally often. The rotations are in random order, so that effects of seat and of learning can be told apart.

    The orders balance which bots sit next to each other. Each turn of a zigzag around a randomly seated ring is played
    clockwise, then counter-clockwise. Over all blocks of a cycle each bot has each other bot on its left equally often.
    After any even number of blocks these counts differ by one block at most; after an odd number in the middle of a
    cycle, with an even number of seats, by two.
    Raises ValueError if `games` isn't a positive multiple of `seats` or is more than MAX_MATCH_GAMES.
    """
    require_even_match_games(seats, games)
    table = range(seats)
    cycle_blocks = (seats - 1) * (1 if seats % 2 else 2)
    orders: list[tuple[int, ...]] = []
    for block in range(games // seats):
        ring = shuffle(table, f"seats/{block // cycle_blocks}/ring")
        turn, is_counter_clockwise = divmod(block % cycle_blocks, 2)
        order = rotate_circle(ring, turn)[:: -1 if is_counter_clockwise else 1]
        for rotation in shuffle(table, f"seats/{block}/rotations"):
            orders.append(order[rotation:] + order[:rotation])
    return tuple(orders)


def draw_seat_orders(key: bytes, seats: int, games: int) -> tuple[tuple[int, ...], ...]:
    """Return the `seat_orders` of a match, shuffled by the match's key. Raises ValueError like it."""
    return seat_orders(seats, games, keyed_shuffle(key, "seats"))


def require_even_match_games(seats: int, match_games: int) -> None:
    """Raise ValueError unless every bot can sit in every seat equally often, in MAX_MATCH_GAMES games at most."""
    if match_games < 1 or match_games % seats:
        raise ValueError(
            f"{match_games} games a match at {seats} seats: a positive multiple of {seats} is needed, "
            "so that every bot sits in every seat equally often"
        )
    if match_games > MAX_MATCH_GAMES:
        raise ValueError(f"{match_games} games a match: at most {MAX_MATCH_GAMES} are allowed")


MIN_SEATS = 2  # the smallest table in the rule documents
MAX_SEATS = 10  # the largest table in the rule documents
MAX_GAMES = 1_000_000  # of a plan: it takes about 15 s of CPU and 100 MB, even for an untrusted run file


@dataclass(frozen=True, slots=True)
class PlannedMatch:
    """The bots of one match, in arbitrary order; `draw_seat_orders` gives the seats in each of its games.

    match: the position in the plan, from 0.
    bots: distinct bot indices, one for each seat.
    """

    match: int
    bots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """All matches of a run, in the order of play."""

    rounds: int
    matches_per_round: int
    match_games: int
    tables: tuple[PlannedMatch, ...]

    @property
    def matches(self) -> int:
        return len(self.tables)

    @property
    def games(self) -> int:
        """Return the number of games of all matches."""
        return self.matches * self.match_games


def plan_matches(
    bots: int, seats: int, games: int, match_games: int, shuffle: Shuffle, owners: Sequence[int] | None = None
) -> MatchPlan:
    """Plan matches so that every bot plays equally many.

    `games` is the minimum in total; it is rounded up to whole rounds, in each of which every bot plays seats /
    gcd(bots, seats) matches of `match_games` games. `owners`: a number for each bot; bots with the same owner never
    meet. None: every bot may meet every other. Raises ValueError, whose message names the allowed values, if these
    counts make no plan possible.
    """
    _require_valid_counts(bots, seats, games, match_games)
    if owners is not None:
        _require_separable_owners(bots, seats, owners)
    matches_per_round = bots // gcd(bots, seats)
    rounds = -(-games // (matches_per_round * match_games))
    if seats == MIN_SEATS and owners is None:
        endless_tables = _generate_round_robin(bots, shuffle)
    else:
        endless_tables = _generate_balanced(bots, seats, range(bots) if owners is None else owners, shuffle)
    tables = enumerate(islice(endless_tables, rounds * matches_per_round))
    planned = tuple(PlannedMatch(match, table) for match, table in tables)
    return MatchPlan(rounds, matches_per_round, match_games, planned)


def _generate_round_robin(bots: int, shuffle: Shuffle) -> Iterator[tuple[int, ...]]:
    """Yield tables of two without end, each pair once before any pair again.

    Each turn of a ring lines up all bots with new neighbours. With an even number of bots, every other pair of
    neighbours is a table. With an odd number, all pairs of neighbours and the two ends are tables: every second pair
    of the line, written twice in a row.
    """
    ring, is_odd = bots - 1, bots % 2
    for cycle in count():
        order = shuffle(range(bots), f"cycle/{cycle}")
        for turn in range(ring // 2 if is_odd else ring):
            circle = rotate_circle(order, turn) * (2 if is_odd else 1)
            yield from zip(circle[::2], circle[1::2], strict=True)


def _generate_balanced(bots: int, seats: int, owners: Sequence[int], shuffle: Shuffle) -> Iterator[tuple[int, ...]]:
    """Yield tables without end. All pairs of bots meet about equally often, except that bots of one owner never do."""
    meetings = [[0] * bots for _ in range(bots)]
    forbid_same_owner(meetings, owners)
    unfilled_table: list[int] = []  # the last one of the previous permutation
    for number in count():
        tables = assign_tables(shuffle(range(bots), f"permutation/{number}"), owners, seats, unfilled_table)
        swap_to_balance(tables, len(unfilled_table), meetings)
        unfilled_table = tables.pop() if len(tables[-1]) < seats else []
        for table in tables:
            for bot, other_bot in permutations(table, 2):
                meetings[bot][other_bot] += 1
            yield tuple(table)


def _require_valid_counts(bots: int, seats: int, games: int, match_games: int) -> None:
    """Raise ValueError, with the allowed numbers, unless a plan can have these."""
    if bots < MIN_SEATS:
        raise ValueError(f"{bots} bots: at least {MIN_SEATS} are needed")
    if not MIN_SEATS <= seats <= MAX_SEATS:
        raise ValueError(f"{seats} seats: from {MIN_SEATS} to {MAX_SEATS} are allowed")
    if seats > bots:
        raise ValueError(f"{seats} seats for {bots} bots: at most as many seats as bots are allowed")
    require_allowed_games(games)
    require_even_match_games(seats, match_games)


def require_allowed_games(games: int) -> None:
    """Raise ValueError unless the number of games is from 1 to MAX_GAMES."""
    if games < 1:
        raise ValueError(f"{games} games: at least 1 is needed")
    if games > MAX_GAMES:
        raise ValueError(f"{games} games: at most {MAX_GAMES} are allowed")


def _require_separable_owners(bots: int, seats: int, owners: Sequence[int]) -> None:
    """Raise ValueError unless each bot has an owner, and each owner few enough bots that no two have to meet."""
    if len(owners) != bots:
        raise ValueError(f"{len(owners)} owners for {bots} bots: one for each bot is needed")
    max_bots = max(Counter(owners).values())
    if max_bots * seats > bots:
        raise ValueError(
            f"{max_bots} of {bots} bots have one owner: at {seats} seats at most {bots // seats} may, "
            "since all play equally often and two bots of one owner never meet"
        )
