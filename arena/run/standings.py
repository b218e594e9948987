"""Compute the standings of a run from its results: ranks, faults, head-to-head results and wins by seat."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from arena import rating
from arena.rating import Strength
from arena.referee import GameResult, count_committed

WIN_PARTS = 2520  # units of a win, divisible by all numbers up to 10: a draw's shares are whole numbers
MIN_MATCHES = 10  # for a pair's win rate: with fewer, it depends more on the other bots at their tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Strength):
    """One bot's row in the standings of a run or a ladder.

    `position` counts the rows from 1; `rank_range` is the range of plausible ranks. `faults` excludes
    CONSEQUENTIAL_FAULTS.
    """

    position: int
    bot: str
    faults: int
    forfeits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding(Standing):
    """One bot's row in the standings of a run. A draw counts as a fraction of `wins`. faults_by_code: all faults."""

    wins: float
    faults_by_code: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """The results of one bot against another, in the games that both played. A draw among k counts 1/k."""

    wins: float
    losses: float
    games: int
    matches: int

    @property
    def win_rate(self) -> float | None:
        """Return wins / (wins + losses); None if both are 0 or there are fewer than MIN_MATCHES matches."""
        either = self.wins + self.losses
        return self.wins / either if either and self.matches >= MIN_MATCHES else None


@dataclass(frozen=True, slots=True)
class RunStandings:
    """The standings. `rows`: best first. `head_to_head[a][b]`: results of a against b. `seats`: wins of each seat."""

    rows: tuple[RunStanding, ...]
    head_to_head: Mapping[str, Mapping[str, HeadToHead]]
    seats: tuple[float, ...]
    games: int
    matches: int
    draws: int


class StandingsCounter:
    """A counter of results, match by match in any order, that doesn't keep the games. Add each match only once."""

    def __init__(self, bots: Sequence[str]) -> None:
        self._bots = list(bots)
        self._index = {bot: number for number, bot in enumerate(bots)}
        self._games = [0] * len(bots)
        self._wins = [0] * len(bots)  # in units of 1/WIN_PARTS, like all wins here
        self._faults: list[Counter[str]] = [Counter() for _ in bots]
        self._forfeits = [0] * len(bots)
        self._wins_over: Counter[tuple[int, int]] = Counter()
        self._shared_games: Counter[tuple[int, int]] = Counter()
        self._shared_matches: Counter[tuple[int, int]] = Counter()
        self._seats: list[int] = []
        self._matches = self._played = self._draws = 0
        self._rows = array("q")  # match, bot, wins, games: for each bot of each match

    def add(self, games: Sequence[GameResult]) -> None:
        """Add the games of a match, at least one."""
        table = sorted(self._index[bot] for bot in games[0].seats)
        wins = dict.fromkeys(table, 0)
        for game in games:
            self._add_game(game, wins)
        for bot in table:
            self._games[bot] += len(games)
            self._wins[bot] += wins[bot]
            self._rows.extend((games[0].match, bot, wins[bot], len(games)))
            for other in table:
                if other != bot:
                    self._wins_over[bot, other] += wins[bot]
                    self._shared_games[bot, other] += len(games)
                    self._shared_matches[bot, other] += 1
        self._matches += 1
        self._played += len(games)

    def _add_game(self, game: GameResult, wins: dict[int, int]) -> None:
        """Add a game to the counts. `wins`: by bot, in parts of a win, which stay whole numbers for a draw's shares."""
        seats = game.seats
        self._seats += [0] * (len(seats) - len(self._seats))
        for seat in game.survivors:
            part = WIN_PARTS // len(game.survivors)
            wins[self._index[seats[seat]]] += part
            self._seats[seat] += part
        self._draws += game.winner is None
        for seat, code, count in game.faults:
            self._faults[self._index[seats[seat]]][code] += count
        for seat in game.forfeits:
            self._forfeits[self._index[seats[seat]]] += 1

    def win_rates(self) -> list[tuple[str, int, float]]:
        """Return (bot, games, win rate) of every bot, best first."""
        rows = [
            (bot, games, wins / WIN_PARTS / max(1, games))
            for bot, games, wins in zip(self._bots, self._games, self._wins, strict=True)
        ]
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    def standings(self) -> RunStandings:
        """Return the standings of all added matches, in descending order of rating, then by name."""
        bots = self._bots
        strengths = rating.fit_rows(self._rows, WIN_PARTS, len(bots))
        order = sorted(range(len(bots)), key=lambda bot: (-strengths[bot].rating.value, bots[bot]))
        return RunStandings(
            rows=tuple(self._standing(place, bot, strengths[bot]) for place, bot in enumerate(order, start=1)),
            head_to_head={bot: self._opponents(number) for number, bot in enumerate(bots)},
            seats=tuple(wins / WIN_PARTS for wins in self._seats),
            games=self._played,
            matches=self._matches,
            draws=self._draws,
        )

    def _standing(self, place: int, bot: int, strength: Strength) -> RunStanding:
        codes = dict(sorted(self._faults[bot].items()))
        return RunStanding(
            **{field.name: getattr(strength, field.name) for field in fields(strength)},
            position=place,
            bot=self._bots[bot],
            faults=count_committed(codes.items()),
            forfeits=self._forfeits[bot],
            wins=self._wins[bot] / WIN_PARTS,
            faults_by_code=codes,
        )

    def _opponents(self, bot: int) -> dict[str, HeadToHead]:
        return {
            name: HeadToHead(
                self._wins_over[bot, other] / WIN_PARTS,
                self._wins_over[other, bot] / WIN_PARTS,
                self._shared_games[bot, other],
                self._shared_matches[bot, other],
            )
            for other, name in enumerate(self._bots)
            if self._shared_games[bot, other]
        }
