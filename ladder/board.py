"""Read models: what results say about the bots. Each is a fold over results, which are never changed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from ladder.rating import Outcome, Strength, fit
from ladder.results import GameResult

__all__ = ["MIN_MATCHES", "Board", "Duel", "Standing", "Tally", "board"]

MIN_MATCHES = 10  # of a pair: with fewer, a duel says more of its few tables than of the bots


@dataclass(frozen=True, slots=True)
class Standing:
    """One bot's row. `place` counts the rows; the ranks that the games allow are in `strength`.

    `wins` counts a draw as the bot's share of it.
    """

    place: int
    bot: str
    strength: Strength
    wins: float
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

    def standing(self, place: int, bot: str, strength: Strength) -> Standing:
        """Return a bot's row."""
        faults = dict(sorted(self.faults[bot].items()))
        return Standing(place, bot, strength, float(self.wins[bot]), faults, self.forfeits[bot])

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


def board(bots: Sequence[str], results: Iterable[GameResult]) -> Board:
    """Return the board of all results, whatever their order. Of a game that comes twice the first counts.

    The standings are in order of rating, and in order of name where ratings are the same.
    """
    played: dict[tuple[int, int], GameResult] = {}
    for result in results:
        played.setdefault((result.match, result.game), result)
    games = [played[place] for place in sorted(played)]
    tally = Tally(bots)
    for game in games:
        tally.add(game)
    index = {bot: number for number, bot in enumerate(bots)}
    strengths = dict(zip(bots, fit([_outcome(game, index) for game in games], len(bots)), strict=True))
    order = sorted(bots, key=lambda bot: (-strengths[bot].rating.value, bot))
    return Board(
        standings=tuple(tally.standing(place, bot, strengths[bot]) for place, bot in enumerate(order, start=1)),
        duels={bot: tally.duels(bot) for bot in bots},
        seats=tuple(float(tally.seats[seat]) for seat in range(max((len(game.seats) for game in games), default=0))),
        games=len(games),
        matches=len({game.match for game in games}),
        draws=sum(game.winner is None for game in games),
    )


def _outcome(game: GameResult, index: Mapping[str, int]) -> Outcome:
    bots = [index[bot] for bot in game.seats]
    winners = tuple(bots[seat] for seat in game.survivors)
    return Outcome(game.match, winners, tuple(bot for bot in bots if bot not in winners))
