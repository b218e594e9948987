"""Who plays whom, and in which seats. Pure: bots are indices 0..n-1, and randomness is a shuffle handed in.

A round is the smallest number of random permutations of all bots, laid end to end, that cuts evenly into tables. So
after every round all bots have played the same number of matches, and a match's opponents do not depend on ratings:
tables that follow the ratings converge to a wrong order where strength is not transitive (simulated: Kendall tau .73
against .91 after 4,000 games), random partition does not.

Where a table holds the end of one permutation and the start of the next, a bot could meet itself. The next permutation
is then drawn uniformly from those whose start avoids that end, so that nothing else about it is constrained.

Every draw has a label of its own made of round and position. A longer plan therefore begins with the tables of a
shorter one, and a run can be continued.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

__all__ = ["Plan", "Shuffle", "Table", "plan", "seatings"]

Shuffle = Callable[[Sequence[int], str], tuple[int, ...]]
"""Items and a label to the items in random order; the same items and label always give the same order."""

MIN_SEATS = 2  # the smallest table that the rule documents know
MAX_SEATS = 10  # the largest table that the rule documents know


@dataclass(frozen=True, slots=True)
class Table:
    """The bots of one match, in no meaningful order; `seatings` says who sits where in each of its games."""

    match: int
    """Counts from 0 over the whole plan."""
    bots: tuple[int, ...]
    """Distinct bot indices, as many as there are seats."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All matches of a run, in the order of play."""

    rounds: int
    matches_per_round: int
    match_games: int
    tables: tuple[Table, ...]

    @property
    def matches(self) -> int:
        """Count the matches of all rounds."""
        return len(self.tables)

    @property
    def games(self) -> int:
        """Count the games of all matches."""
        return self.matches * self.match_games

    @property
    def matches_per_bot(self) -> int:
        """Count the matches each bot plays; the same for all bots."""
        places = sum(len(table.bots) for table in self.tables)
        bots = len({bot for table in self.tables for bot in table.bots})
        return places // bots


def plan(bots: int, seats: int, games: int, match_games: int, shuffle: Shuffle) -> Plan:
    """Deal the bots to tables so that every bot plays equally many matches.

    `games` is the least number of games in total; it is rounded up to whole rounds, in each of which every bot plays
    seats / gcd(bots, seats) matches of `match_games` games.
    Raises ValueError, with what is allowed, for counts that make no plan.
    """
    _check(bots, seats, games, match_games)
    permutations = seats // gcd(bots, seats)
    matches_per_round = bots // gcd(bots, seats)
    rounds = -(-games // (matches_per_round * match_games))
    tables = [
        Table(number * matches_per_round + place, table)
        for number in range(rounds)
        for place, table in enumerate(_round(bots, seats, permutations, number, shuffle))
    ]
    return Plan(rounds, matches_per_round, match_games, tuple(tables))


def seatings(seats: int, games: int, shuffle: Shuffle) -> tuple[tuple[int, ...], ...]:
    """Seat a table for each game of a match: entry s of a game is the index, into the table's bots, of seat s's bot.

    Every `seats` games take a random cyclic order and play each of its rotations once. So each bot sits in each seat
    equally often, and between blocks the neighbours change. The rotations come in random order too: in steps of one, a
    bot's seat would be bound to the time in the match, and seat and learning could not be told apart.
    Raises ValueError when `games` is no positive multiple of `seats`.
    """
    _check_match_games(seats, games)
    table = range(seats)
    rows: list[tuple[int, ...]] = []
    for block in range(games // seats):
        order = shuffle(table, f"seats/{block}/order")
        for turn in shuffle(table, f"seats/{block}/rotations"):
            rows.append(order[turn:] + order[:turn])
    return tuple(rows)


def _round(bots: int, seats: int, permutations: int, number: int, shuffle: Shuffle) -> list[tuple[int, ...]]:
    """One round's tables, in the order in which they are cut."""
    everyone = range(bots)
    line: list[int] = []
    for position in range(permutations):
        label = f"round/{number}/{position}"
        tail = line[len(line) - len(line) % seats :]
        if not tail:
            line += shuffle(everyone, label)
            continue
        # Two draws, not one permutation with the tail's bots moved back: that would leave those bots too early.
        head = shuffle([bot for bot in everyone if bot not in tail], f"{label}/head")[: seats - len(tail)]
        line += head
        line += shuffle([bot for bot in everyone if bot not in head], label)
    return [tuple(line[start : start + seats]) for start in range(0, len(line), seats)]


def _check(bots: int, seats: int, games: int, match_games: int) -> None:
    if bots < MIN_SEATS:
        raise ValueError(f"{bots} bots: at least {MIN_SEATS} are needed")
    if not MIN_SEATS <= seats <= MAX_SEATS:
        raise ValueError(f"{seats} seats: from {MIN_SEATS} to {MAX_SEATS} are allowed")
    if seats > bots:
        raise ValueError(f"{seats} seats for {bots} bots: at most as many seats as bots are allowed")
    if games < 1:
        raise ValueError(f"{games} games: at least 1 is needed")
    _check_match_games(seats, match_games)


def _check_match_games(seats: int, match_games: int) -> None:
    if match_games < 1 or match_games % seats:
        raise ValueError(
            f"{match_games} games a match at {seats} seats: a positive multiple of {seats} is needed, "
            "so that every bot sits in every seat equally often"
        )
