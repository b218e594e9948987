"""Who sits where in the games of a match."""

from ladder.schedule.tables import Shuffle


def seatings(seats: int, games: int, shuffle: Shuffle) -> tuple[tuple[int, ...], ...]:
    """Seat a table for each game of a match: entry s of a game is the index, into the table's bots, of seat s's bot.

    Every `seats` games take a random cyclic order and play each of its rotations once. So each bot sits in each seat
    equally often, and between blocks the neighbours change. The rotations come in random order too: in steps of one, a
    bot's seat would be bound to the time in the match, and seat and learning could not be told apart.
    Raises ValueError when `games` is no positive multiple of `seats`.
    """
    check_match_games(seats, games)
    table = range(seats)
    rows: list[tuple[int, ...]] = []
    for block in range(games // seats):
        order = shuffle(table, f"seats/{block}/order")
        for turn in shuffle(table, f"seats/{block}/rotations"):
            rows.append(order[turn:] + order[:turn])
    return tuple(rows)


def check_match_games(seats: int, match_games: int) -> None:
    """Raise ValueError for a number of games in which not every bot can sit in every seat equally often."""
    if match_games < 1 or match_games % seats:
        raise ValueError(
            f"{match_games} games a match at {seats} seats: a positive multiple of {seats} is needed, "
            "so that every bot sits in every seat equally often"
        )
