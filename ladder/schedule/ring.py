"""All bots in a line whose neighbours are new, turn after turn."""

from collections.abc import Sequence


def zigzag(order: Sequence[int], turn: int) -> tuple[int, ...]:
    """Line up all bots: the last of `order`, then the others, which stand in a ring, in a zigzag across it.

    The ring is turned by `turn` places. Closed to a circle, with an odd number of bots the first half of the turns has
    each pair as neighbours once. With an even number each turn has two of the ways in which all bots can be paired, of
    as many as there are turns: the first turn the ways 0 and 1, the next one 2 and 3, and so on around.
    """
    ring = len(order) - 1
    across = [turn + step * side for step in range(1, len(order) // 2 + 1) for side in (1, -1)]
    return (order[-1], *(order[place % ring] for place in [turn, *across][:ring]))
