"""Who sits where in the games of a match."""

from ladder.schedule.ring import zigzag
from ladder.schedule.tables import Shuffle

MOST_MATCH_GAMES = 10_000  # all seats of a match are drawn before its first game


def seatings(seats: int, games: int, shuffle: Shuffle) -> tuple[tuple[int, ...], ...]:
    """Seat a table for each game of a match: entry s of a game is the index, into the table's bots, of seat s's bot.

    Every `seats` games are a block: they take a cyclic order and play each of its rotations once. So each bot sits in
    each seat equally often. The rotations come in random order: in steps of one, a bot's seat would be bound to the
    time in the match, and seat and learning could not be told apart.

    The orders balance who sits next to whom. Each turn of a zigzag around a randomly seated ring is played clockwise,
    then counter-clockwise. In all blocks of a cycle each bot has each other one on its left equally often, and after
    any even number of blocks no two differ by more than one block; after an odd number in the middle of a cycle, with
    an even number of seats, two may differ by two.
    Raises ValueError when `games` is no positive multiple of `seats`.
    """
    check_match_games(seats, games)
    table = range(seats)
    cycle = (seats - 1) * (1 if seats % 2 else 2)  # blocks
    rows: list[tuple[int, ...]] = []
    for block in range(games // seats):
        ring = shuffle(table, f"seats/{block // cycle}/ring")
        turn, counter_clockwise = divmod(block % cycle, 2)
        order = zigzag(ring, turn)[:: -1 if counter_clockwise else 1]
        for rotation in shuffle(table, f"seats/{block}/rotations"):
            rows.append(order[rotation:] + order[:rotation])
    return tuple(rows)


def check_match_games(seats: int, match_games: int) -> None:
    """Raise ValueError for a number of games in which not every bot can sit in every seat equally often."""
    if match_games < 1 or match_games % seats:
        raise ValueError(
            f"{match_games} games a match at {seats} seats: a positive multiple of {seats} is needed, "
            "so that every bot sits in every seat equally often"
        )
    if match_games > MOST_MATCH_GAMES:
        raise ValueError(f"{match_games} games a match: at most {MOST_MATCH_GAMES} are allowed")
