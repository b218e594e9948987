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
        decided = self.wins + self.losses
        return self.wins / decided if decided and self.matches >= MIN_MATCHES else None


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
        self._matches = self._total_games = self._draws = 0
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
            for opponent in table:
                if opponent != bot:
                    self._wins_over[bot, opponent] += wins[bot]
                    self._shared_games[bot, opponent] += len(games)
                    self._shared_matches[bot, opponent] += 1
        self._matches += 1
        self._total_games += len(games)

    def _add_game(self, game: GameResult, wins: dict[int, int]) -> None:
        """Add a game to the counts, and its wins to `wins`: by bot, in units of 1/WIN_PARTS."""
        bots = [self._index[bot] for bot in game.seats]
        self._seats += [0] * (len(bots) - len(self._seats))
        for seat in game.survivors:
            share = WIN_PARTS // len(game.survivors)
            wins[bots[seat]] += share
            self._seats[seat] += share
        self._draws += game.winner is None
        for seat, code, count in game.faults:
            self._faults[bots[seat]][code] += count
        for seat in game.forfeits:
            self._forfeits[bots[seat]] += 1

    def win_rates(self) -> list[tuple[str, int, float]]:
        """Return (bot, games, win rate) of every bot, best first."""
        rows = [
            (bot, games, wins / WIN_PARTS / max(1, games))
            for bot, games, wins in zip(self._bots, self._games, self._wins, strict=True)
        ]
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    def standings(self) -> RunStandings:
        """Return the standings of all added matches, in descending order of rating, then by name."""
        names = self._bots
        strengths = rating.fit_rows(self._rows, WIN_PARTS, len(names))
        order = sorted(range(len(names)), key=lambda bot: (-strengths[bot].rating.value, names[bot]))
        return RunStandings(
            rows=tuple(
                self._make_standing(position, bot, strengths[bot]) for position, bot in enumerate(order, start=1)
            ),
            head_to_head={name: self._list_head_to_head(bot) for bot, name in enumerate(names)},
            seats=tuple(wins / WIN_PARTS for wins in self._seats),
            games=self._total_games,
            matches=self._matches,
            draws=self._draws,
        )

    def _make_standing(self, position: int, bot: int, strength: Strength) -> RunStanding:
        faults_by_code = dict(sorted(self._faults[bot].items()))
        return RunStanding(
            **{field.name: getattr(strength, field.name) for field in fields(strength)},
            position=position,
            bot=self._bots[bot],
            faults=count_committed(faults_by_code.items()),
            forfeits=self._forfeits[bot],
            wins=self._wins[bot] / WIN_PARTS,
            faults_by_code=faults_by_code,
        )

    def _list_head_to_head(self, bot: int) -> dict[str, HeadToHead]:
        """Return a bot's results against each bot that it has met, by name."""
        return {
            name: HeadToHead(
                self._wins_over[bot, opponent] / WIN_PARTS,
                self._wins_over[opponent, bot] / WIN_PARTS,
                self._shared_games[bot, opponent],
                self._shared_matches[bot, opponent],
            )
            for opponent, name in enumerate(self._bots)
            if self._shared_games[bot, opponent]
        }
