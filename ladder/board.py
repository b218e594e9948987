"""Read models: what the results of a run say about its bots. A fold over results, which are never changed.

A result is a line of results.jsonl: a dict with match, game, seats (a bot's name for each seat), winner (a seat or
None), survivors, eliminated, forfeits, faults, turns.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ladder.rating import MatchShare, Outcome, Rating, Share, fold, win_share

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """One bot's row. `wins` counts a draw as the bot's share of it; the interval is None below 10 matches."""

    rank: int
    bot: str
    games: int
    matches: int
    wins: float
    win_share: float
    low: float | None
    high: float | None
    mu: float
    sigma: float
    faults: Mapping[str, int]
    forfeits: int


@dataclass(frozen=True, slots=True)
class Duel:
    """How often one bot won a game, and how often another, where both sat at the table."""

    wins: float
    losses: float
    games: int


@dataclass(frozen=True, slots=True)
class Board:
    """The standings, best first, and who beats whom: `duels[a][b]` is a against b."""

    standings: tuple[Standing, ...]
    duels: Mapping[str, Mapping[str, Duel]]
    games: int
    matches: int
    draws: int


class Tally:
    """Takes results in as they come, in any order, and folds them into a board.

    Standings are sorted by rating (mu): with equal numbers of games it orders like the win share, and it allows for who
    sat at whose table. Bots without a game have the rating of a newcomer.
    """

    def __init__(self, bots: Sequence[str]) -> None:
        self._bots = tuple(bots)
        self._shares: dict[str, dict[int, list[Fraction]]] = {bot: defaultdict(list) for bot in bots}
        self._faults: dict[str, Counter[str]] = {bot: Counter() for bot in bots}
        self._forfeits: Counter[str] = Counter()
        self._outcomes: dict[tuple[int, int], Outcome] = {}
        self._wins: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        self._met: Counter[tuple[str, str]] = Counter()
        self._draws = 0

    @property
    def games(self) -> int:
        """Return the number of games so far."""
        return len(self._outcomes)

    def add(self, result: Result) -> None:
        """Count a game; once: a game that was counted already changes nothing."""
        place = (result["match"], result["game"])
        if place in self._outcomes:
            return
        seats = result["seats"]
        winners = [seats[seat] for seat in result["survivors"]]
        self._outcomes[place] = Outcome(
            tuple(self._bots.index(bot) for bot in winners),
            tuple(self._bots.index(bot) for bot in seats if bot not in winners),
        )
        self._draws += result["winner"] is None
        for bot in seats:
            share = Fraction(1, len(winners)) if bot in winners else Fraction(0)
            self._shares[bot][result["match"]].append(share)
            for other in seats:
                if other != bot:
                    self._wins[bot, other] += share
                    self._met[bot, other] += 1
        for seat, code, count in result["faults"]:
            self._faults[seats[seat]][code] += count
        for seat in result["forfeits"]:
            self._forfeits[seats[seat]] += 1

    def board(self) -> Board:
        """Return the standings so far; ratings are folded in match order, whatever order the results came in."""
        ratings = fold((self._outcomes[place] for place in sorted(self._outcomes)), len(self._bots))
        rows = [self._standing(bot, rating) for bot, rating in zip(self._bots, ratings, strict=True)]
        rows.sort(key=lambda row: (-row.mu, row.bot))
        return Board(
            standings=tuple(replace(row, rank=rank) for rank, row in enumerate(rows, start=1)),
            duels={a: {b: self._duel(a, b) for b in self._bots if self._met[a, b]} for a in self._bots},
            games=self.games,
            matches=len({match for match, _ in self._outcomes}),
            draws=self._draws,
        )

    def _duel(self, bot: str, other: str) -> Duel:
        return Duel(float(self._wins[bot, other]), float(self._wins[other, bot]), self._met[bot, other])

    def shares(self) -> list[tuple[str, int, float]]:
        """Return (bot, games, win share) of every bot, best first: what can be shown while games are played."""
        rows = []
        for bot in self._bots:
            games = [share for shares in self._shares[bot].values() for share in shares]
            rows.append((bot, len(games), float(sum(games, Fraction(0)) / len(games)) if games else 0.0))
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    def _standing(self, bot: str, rating: Rating) -> Standing:
        played = [MatchShare(sum(shares, Fraction(0)), len(shares)) for shares in self._shares[bot].values()]
        share = win_share(played) if played else Share(0.0, None, None)
        return Standing(
            rank=0,
            bot=bot,
            games=sum(match.games for match in played),
            matches=len(played),
            wins=float(sum((Fraction(match.wins) for match in played), Fraction(0))),
            win_share=share.value,
            low=share.low,
            high=share.high,
            mu=rating.mu,
            sigma=rating.sigma,
            faults=dict(sorted(self._faults[bot].items())),
            forfeits=self._forfeits[bot],
        )
