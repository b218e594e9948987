"""Read models: what results say about the bots. Each is a fold over results, which are never changed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from ladder.rating import Estimate, Outcome, rating
from ladder.results import GameResult

__all__ = ["MIN_MATCHES", "RATED_BY", "Board", "Duel", "Standing", "Tally", "board"]

RATED_BY = ("trueskill", "win_share")
"""The ratings of a board, by name. The first of them orders the standings.

With equal numbers of games TrueSkill orders like the win share, and it allows for who sat at whose table.
"""

MIN_MATCHES = 10  # of a pair: with fewer, a duel says more of its few tables than of the bots


@dataclass(frozen=True, slots=True)
class Standing:
    """One bot's row. `wins` counts a draw as the bot's share of it. `ratings`: an estimate by each name asked for."""

    rank: int
    bot: str
    games: int
    matches: int
    wins: float
    ratings: Mapping[str, Estimate]
    faults: Mapping[str, int]
    forfeits: int


@dataclass(frozen=True, slots=True)
class Duel:
    """How often one bot won a game, and how often another, where both sat at the table."""

    wins: float
    losses: float
    games: int
    matches: int

    @property
    def share(self) -> float | None:
        """Return the share of the games that either won; None where their matches are too few to mean anything."""
        either = self.wins + self.losses
        return self.wins / either if either and self.matches >= MIN_MATCHES else None


@dataclass(frozen=True, slots=True)
class Board:
    """The standings, best first; who beats whom: `duels[a][b]` is a against b; and the wins of each seat."""

    standings: tuple[Standing, ...]
    duels: Mapping[str, Mapping[str, Duel]]
    seats: tuple[float, ...]
    games: int
    matches: int
    draws: int


class Tally:
    """Counts results as they come, in any order."""

    def __init__(self, bots: Sequence[str]) -> None:
        self.games: Counter[str] = Counter()
        self.wins: dict[str, Fraction] = dict.fromkeys(bots, Fraction(0))
        self.matches: dict[str, set[int]] = {bot: set() for bot in bots}
        self.faults: dict[str, Counter[str]] = {bot: Counter() for bot in bots}
        self.forfeits: Counter[str] = Counter()
        self.wins_over: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        self.met: Counter[tuple[str, str]] = Counter()
        self.met_in: dict[tuple[str, str], set[int]] = defaultdict(set)
        self.seats: defaultdict[int, Fraction] = defaultdict(Fraction)

    def add(self, result: GameResult) -> None:
        """Count a game. The caller counts each game once."""
        seats = result.seats
        for bot in seats:
            self.games[bot] += 1
            self.matches[bot].add(result.match)
        for pair in permutations(seats, 2):
            self.met[pair] += 1
            self.met_in[pair].add(result.match)
        for seat in result.survivors:
            bot, share = seats[seat], Fraction(1, len(result.survivors))
            self.wins[bot] += share
            self.seats[seat] += share
            for other in seats:
                if other != bot:
                    self.wins_over[bot, other] += share
        for seat, code, count in result.faults:
            self.faults[seats[seat]][code] += count
        for seat in result.forfeits:
            self.forfeits[seats[seat]] += 1

    def shares(self) -> list[tuple[str, int, float]]:
        """Return (bot, games, win share) of every bot, best first."""
        rows = [(bot, self.games[bot], float(wins / max(1, self.games[bot]))) for bot, wins in self.wins.items()]
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    def standing(self, rank: int, bot: str, ratings: Mapping[str, Estimate]) -> Standing:
        """Return a bot's row."""
        return Standing(
            rank=rank,
            bot=bot,
            games=self.games[bot],
            matches=len(self.matches[bot]),
            wins=float(self.wins[bot]),
            ratings=ratings,
            faults=dict(sorted(self.faults[bot].items())),
            forfeits=self.forfeits[bot],
        )

    def duels(self, bot: str) -> dict[str, Duel]:
        """Return a bot's duels with all whom it met."""
        return {
            other: Duel(
                float(self.wins_over[bot, other]),
                float(self.wins_over[other, bot]),
                self.met[bot, other],
                len(self.met_in[bot, other]),
            )
            for other in self.wins
            if self.met[bot, other]
        }


def board(bots: Sequence[str], results: Iterable[GameResult], rated_by: Sequence[str] = RATED_BY) -> Board:
    """Return the board of all results, whatever their order. Of a game that comes twice the first counts.

    A bot without a game has a newcomer's ratings. Bots of one rating stand by name.
    """
    played: dict[tuple[int, int], GameResult] = {}
    for result in results:
        played.setdefault((result.match, result.game), result)
    games = [played[place] for place in sorted(played)]
    tally = Tally(bots)
    for game in games:
        tally.add(game)
    ratings = _ratings(bots, games, rated_by)
    order = sorted(bots, key=lambda bot: (-ratings[bot][rated_by[0]].value, bot))
    return Board(
        standings=tuple(tally.standing(rank, bot, ratings[bot]) for rank, bot in enumerate(order, start=1)),
        duels={bot: tally.duels(bot) for bot in bots},
        seats=tuple(float(tally.seats[seat]) for seat in range(max((len(game.seats) for game in games), default=0))),
        games=len(games),
        matches=len({game.match for game in games}),
        draws=sum(game.winner is None for game in games),
    )


def _ratings(
    bots: Sequence[str], games: Sequence[GameResult], rated_by: Sequence[str]
) -> dict[str, dict[str, Estimate]]:
    """Return each bot's estimate by each rating."""
    index = {bot: number for number, bot in enumerate(bots)}
    outcomes = [_outcome(game, index) for game in games]
    estimates = {name: rating(name)(outcomes, len(bots)) for name in rated_by}
    return {bot: {name: found[number] for name, found in estimates.items()} for bot, number in index.items()}


def _outcome(game: GameResult, index: Mapping[str, int]) -> Outcome:
    bots = [index[bot] for bot in game.seats]
    winners = tuple(bots[seat] for seat in game.survivors)
    return Outcome(game.match, winners, tuple(bot for bot in bots if bot not in winners))
