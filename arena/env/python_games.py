"""Play the games of a batch on the engine in Python: every ruleset, any number of seats, bots as opponents.

The methods, and what they write, are those of `Games` in c/module.c, which has the comments."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.coup import draw_number
from arena.env import native_games
from arena.env.encoder import observation_fields
from arena.env.game import EnvironmentGames, Opponent
from arena.local import name_bots, require_factories

_LEARNER = -1  # else the number of an opponent


class PythonGames:
    """Games that share `first`'s rules and caches. Raises ValueError for a bot that is an object."""

    def __init__(self, first: EnvironmentGames, games: int, opponents: Sequence[Any], facts: bool) -> None:
        self._games = [copy.copy(first) for _ in range(games)]
        self._opponents = ["sample:honest" if opponent == "honest" else opponent for opponent in opponents]
        bots = {
            str(at): bot
            for at, bot in enumerate(self._opponents)
            if bot != "random" and not native_games.is_policy(bot)
        }
        require_factories(name_bots(bots), "for several games,")
        self._bots: dict[tuple[int, int, int], Opponent] = {}  # by row, seat and opponent, once it is asked
        self._who = [[_LEARNER] * first.seats for _ in range(games)]
        self._dice, self._seat, self._decided = [0] * games, [0] * games, [False] * games
        fields = observation_fields(first.seats).items()
        unwanted = (
            [] if facts else [place for name, (place, _) in fields if name.endswith(("known", "lacks", "in_deck"))]
        )
        self._unwanted = np.r_[tuple(unwanted)] if unwanted else None

    def seed(self, row: int, key: bytes) -> None:
        self._games[row].set_key(key)

    def deal(self, arrays: Any) -> None:
        for row in range(len(self._games)):
            self._deal(row)
            self._settle(row, arrays)

    def step(self, rows: NDArray[np.int64], actions: NDArray[np.int64], arrays: Any) -> int:
        games, seats = self._games, self._seat
        chosen = [*zip(rows.tolist(), actions.tolist(), strict=True)]
        for at, (row, action) in enumerate(chosen):
            if action not in games[row].legal_actions(seats[row]).by_action:
                return at
        for row, action in chosen:
            games[row].answer(seats[row], action)
            self._settle(row, arrays)
        return -1

    def _deal(self, row: int) -> None:
        game, who = self._games[row], self._who[row]
        game.reset(None)
        key, number = game.course.key, game.course.number
        self._dice[row], self._decided[row] = draw_number(key, f"dice|{number}|0") >> 192, False
        for seat in range(game.seats if self._opponents else 0):
            is_learner = seat == (row + number) % game.seats
            who[seat] = _LEARNER if is_learner else self._roll(row, len(self._opponents))

    def _roll(self, row: int, below: int) -> int:
        """Return a number below a bound, by SplitMix64."""
        mask = 2**64 - 1
        z = self._dice[row] = (self._dice[row] + 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return ((z ^ z >> 31) >> 32) * below >> 32

    def _settle(self, row: int, arrays: Any) -> None:
        """Play a game until its learner or a policy must choose, and write that request into the arrays.

        Other opponents answer here. A game that has ended, or in which the learner is out, is finished and dealt again.
        """
        game = self._games[row]
        while True:
            who = self._who[row]
            own = who.index(_LEARNER) if self._opponents else self._seat[row]
            if not game.asked or (self._opponents and not game.state.board.influence[own]):
                if self._decided[row]:
                    self._finish(row, own, arrays)
                self._deal(row)
                continue
            seat = game.asked[len(game.answers)]
            opponent = None if who[seat] == _LEARNER else self._opponents[who[seat]]
            if opponent is not None and not native_games.is_policy(opponent):
                game.answer(seat, self._choose(row, seat, opponent))
                continue
            self._seat[row] = arrays.seats[row] = seat
            self._decided[row] |= opponent is None
            arrays.who[row] = who[seat] + 1
            self._observe(game, seat, arrays.observations[row], arrays.masks[row])
            return

    def _choose(self, row: int, seat: int, opponent: Any) -> int:
        game = self._games[row]
        if opponent == "random":
            legal = sorted(game.legal_actions(seat).by_action)
            return legal[self._roll(row, len(legal))]
        place = row, seat, self._who[row][seat]
        if place not in self._bots:
            self._bots[place] = Opponent(game, seat, opponent)
        return self._bots[place].action()

    def _observe(self, game: EnvironmentGames, seat: int, numbers: Any, mask: Any = None) -> None:
        observed = game.observe(seat)
        numbers[:] = observed["observation"]
        if self._unwanted is not None:
            numbers[self._unwanted] = 0
        if mask is not None:
            mask[:] = observed["action_mask"]

    def _finish(self, row: int, seat: int, arrays: Any) -> None:
        game, over = self._games[row], self._games[row].over
        self._observe(game, seat, arrays.final_observations[row])
        arrays.truncated[row] = over is not None and game.is_draw and seat in over.survivors
        arrays.terminated[row] = not arrays.truncated[row]
        if over is not None:
            arrays.rewards[row], arrays.has_returns[row] = game.reward(seat), True
            arrays.returns[row] = [game.reward(each) for each in range(game.seats)]
