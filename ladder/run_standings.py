"""Compute the standings of a run from its results: ranks, faults, head-to-head results and wins by seat.

A read model: results never change, and the standings are an aggregation of them."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from ladder.rating import Strength, fit_rows
from ladder.results import GameResult, count_committed

WIN_PARTS = 2520  # parts of a win: a draw among any number up to 10 gives each a whole number of them
MIN_MATCHES = 10  # of a pair: with fewer, a win rate says more of its few tables than of the bots


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Strength):
    """One bot's row, in the table of a run and in that of a ladder. `position` counts the rows; `ranks` are what is
    known.

    faults: how many are the bot's, without those that follow from others.
    """

    position: int
    bot: str
    faults: int
    forfeits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding(Standing):
    """One bot's row in the table of a run. `wins` counts a draw as the bot's share of it; codes: all faults by code."""

    wins: float
    faults_by_code: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """How often one bot won a game, and how often another, where both sat at the table."""

    wins: float
    losses: float
    games: int
    matches: int

    @property
    def win_rate(self) -> float | None:
        """Return the share of the games that either won; None where their matches are too few to mean anything."""
        either = self.wins + self.losses
        return self.wins / either if either and self.matches >= MIN_MATCHES else None


@dataclass(frozen=True, slots=True)
class RunStandings:
    """The standings, best first; `head_to_head[a][b]`: results of a against b; seats: the wins of each."""

    standings: tuple[RunStanding, ...]
    head_to_head: Mapping[str, Mapping[str, HeadToHead]]
    seats: tuple[float, ...]
    games: int
    matches: int
    draws: int


class StandingsCounter:
    """Counts matches as they come, in any order, and forgets their games. The caller counts each match once."""

    def __init__(self, bots: Sequence[str]) -> None:
        self._bots = list(bots)
        self._index = {bot: number for number, bot in enumerate(bots)}
        self._games = [0] * len(bots)
        self._wins = [0] * len(bots)  # in parts of a win, as all wins here
        self._faults: list[Counter[str]] = [Counter() for _ in bots]
        self._forfeits = [0] * len(bots)
        self._wins_over: Counter[tuple[int, int]] = Counter()
        self._met: Counter[tuple[int, int]] = Counter()
        self._met_in: Counter[tuple[int, int]] = Counter()  # matches
        self._seats: list[int] = []
        self._matches = self._played = self._draws = 0
        self._rows = array("q")  # match, bot, wins, games: of each bot of each match

    def add(self, games: Sequence[GameResult]) -> None:
        """Count a match: its games, at least one."""
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
                    self._met[bot, other] += len(games)
                    self._met_in[bot, other] += 1
        self._matches += 1
        self._played += len(games)

    def _add_game(self, game: GameResult, wins: dict[int, int]) -> None:
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

    def board(self) -> RunStandings:
        """Return the board of what was counted.

        The standings are in order of rating, and in order of name where ratings are the same.
        """
        bots = self._bots
        strengths = fit_rows(self._rows, WIN_PARTS, len(bots))
        order = sorted(range(len(bots)), key=lambda bot: (-strengths[bot].rating.value, bots[bot]))
        return RunStandings(
            standings=tuple(self._standing(place, bot, strengths[bot]) for place, bot in enumerate(order, start=1)),
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
                self._met[bot, other],
                self._met_in[bot, other],
            )
            for other, name in enumerate(self._bots)
            if self._met[bot, other]
        }


def compute_run_standings(bots: Sequence[str], results: Iterable[GameResult]) -> RunStandings:
    """Return the board of all results, whatever their order. Of a game that comes twice the first counts."""
    matches: dict[int, dict[int, GameResult]] = {}
    for result in results:
        matches.setdefault(result.match, {}).setdefault(result.game, result)
    tally = StandingsCounter(bots)
    for games in matches.values():
        tally.add(list(games.values()))
    return tally.board()
