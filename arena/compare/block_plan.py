"""Plan the matches of a comparison: blocks of two halves, with the same opponents, played by OLD and by NEW.

A block is one match played twice, with OLD and with NEW in the same slot and with the same key. So cards, seats,
handles and the opponents' dice are the same. A game of one half and the same game of the other half are a pair. Match
2b is OLD's half of block b, match 2b + 1 NEW's. Pure."""

from itertools import chain, count, islice

from arena import schedule
from arena.formatting import format_count

OLD, NEW = 0, 1  # their indices among the bots; the opponents follow
NAMES = ("OLD", "NEW")


def match_of(block: int, half: int) -> int:
    """Return the match number of a block's half, OLD or NEW."""
    return 2 * block + half


def block_of(match: int) -> int:
    """Return the block that a match belongs to."""
    return match // 2


def plan_blocks(
    opponents: int, seats: int, pairs: int, match_games: int, shuffle: schedule.Shuffle
) -> schedule.MatchPlan:
    """Plan both halves of all blocks for at least this many pairs. Opponents' numbers of blocks differ by one at most.

    opponents: their number. match_games: the games in a match, a half of a block. shuffle: draws the orders. Raises
    ValueError, with the allowed values, if no plan is possible.
    """
    needed = seats - 1
    if opponents < needed:
        raise ValueError(f"{seats} seats, but {format_count(opponents, 'opponent')}: {needed} are needed")
    schedule.require_allowed_games(2 * pairs)
    schedule.require_even_match_games(seats, match_games)
    blocks = -(-pairs // match_games)
    halves = (
        schedule.PlannedMatch(match_of(block, half), (half, *(2 + bot for bot in bots)))
        for block, bots in enumerate(_draw_opponents(opponents, needed, blocks, shuffle))
        for half in (OLD, NEW)
    )
    return schedule.MatchPlan(blocks, 2, match_games, tuple(halves))


def _draw_opponents(opponents: int, needed: int, blocks: int, shuffle: schedule.Shuffle) -> list[tuple[int, ...]]:
    """Return the indices, from 0, of the `needed` opponents of each block."""
    if needed == 1:
        bots = chain.from_iterable(shuffle(range(opponents), str(number)) for number in count())
        return [(bot,) for bot in islice(bots, blocks)]
    tables = schedule.plan_matches(opponents, needed, blocks * needed, needed, shuffle).tables
    return [table.bots for table in tables[:blocks]]
