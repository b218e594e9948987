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
    """Games that share the rules and caches of `prototype`. opponents, facts: as of `batch`.

    Raises ValueError for a bot that is an object, TypeError for an opponent that is no bot.
    """

    def __init__(self, prototype: EnvironmentGames, games: int, opponents: Sequence[Any], facts: bool) -> None:
        self._games = [copy.copy(prototype) for _ in range(games)]
        self._opponents = ["sample:honest" if opponent == "honest" else opponent for opponent in opponents]
        bots = {
            str(number): bot
            for number, bot in enumerate(self._opponents)
            if bot != "random" and not native_games.is_policy(bot)
        }
        require_factories(name_bots(bots), "for several games,")
        self._bots: dict[tuple[int, int, int], Opponent] = {}  # by row, seat and opponent, once it is asked
        self._deciders = [[_LEARNER] * prototype.seats for _ in range(games)]  # by row and seat
        # By row: random numbers of the game, the seat at the present decision, whether the learner has decided.
        self._dice, self._seat, self._has_decided = [0] * games, [0] * games, [False] * games
        self._omitted_numbers = None if facts else _find_fact_numbers(prototype.seats)

    def seed(self, row: int, key: bytes) -> None:
        self._games[row].set_key(key)

    def deal(self, arrays: Any) -> None:
        for row in range(len(self._games)):
            self._deal(row)
            self._settle(row, arrays)

    def step(self, rows: NDArray[np.int64], actions: NDArray[np.int64], arrays: Any) -> int:
        """Play an action in each of these rows; return -1, or the index of an illegal one: then none is played."""
        games, seats = self._games, self._seat
        row_actions = [*zip(rows.tolist(), actions.tolist(), strict=True)]
        for index, (row, action) in enumerate(row_actions):
            if action not in games[row].legal_actions(seats[row]).by_action:
                return index
        for row, action in row_actions:
            games[row].answer(seats[row], action)
            self._settle(row, arrays)
        return -1

    def _deal(self, row: int) -> None:
        """Deal the next game of a row, and draw the opponent of each seat."""
        game, deciders = self._games[row], self._deciders[row]
        game.reset(None)
        key, number = game.course.key, game.course.number
        self._dice[row], self._has_decided[row] = draw_number(key, f"dice|{number}|0") >> 192, False
        for seat in range(game.seats if self._opponents else 0):
            is_learner = seat == (row + number) % game.seats
            deciders[seat] = _LEARNER if is_learner else self._roll(row, len(self._opponents))

    def _roll(self, row: int, below: int) -> int:
        """Return a number below a bound, by SplitMix64."""
        mask = 2**64 - 1
        z = self._dice[row] = (self._dice[row] + 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return ((z ^ z >> 31) >> 32) * below >> 32

    def _settle(self, row: int, arrays: Any) -> None:
        """Play a game until its learner or a policy must choose, and write that request into the arrays.

        Other opponents answer here. If the game has ended, or the learner is out, write its end and deal the next one.
        """
        game = self._games[row]
        while True:
            deciders = self._deciders[row]
            own_seat = deciders.index(_LEARNER) if self._opponents else self._seat[row]
            if not game.asked or (self._opponents and game.is_out(own_seat)):
                if self._has_decided[row]:
                    self._write_end(row, own_seat, arrays)
                self._deal(row)
                continue
            seat = game.asked[len(game.answers)]
            opponent = None if deciders[seat] == _LEARNER else self._opponents[deciders[seat]]
            if opponent is not None and not native_games.is_policy(opponent):
                game.answer(seat, self._choose(row, seat, opponent))
                continue
            self._seat[row] = arrays.seats[row] = seat
            self._has_decided[row] |= opponent is None
            arrays.deciders[row] = deciders[seat] + 1
            self._observe(game, seat, arrays.observations[row], arrays.masks[row])
            return

    def _choose(self, row: int, seat: int, opponent: Any) -> int:
        """Return the action of an opponent that isn't a policy: a random one, or a bot's. Raises like the bot."""
        game = self._games[row]
        if opponent == "random":
            legal = sorted(game.legal_actions(seat).by_action)
            return legal[self._roll(row, len(legal))]
        key = row, seat, self._deciders[row][seat]
        if key not in self._bots:
            self._bots[key] = Opponent(game, seat, opponent)
        return self._bots[key].action()

    def _observe(self, game: EnvironmentGames, seat: int, numbers: Any, mask: Any = None) -> None:
        """Write a seat's observation to `numbers` and, if it is given, its mask to `mask`."""
        observation = game.observe(seat)
        numbers[:] = observation["observation"]
        if self._omitted_numbers is not None:
            numbers[self._omitted_numbers] = 0
        if mask is not None:
            mask[:] = observation["action_mask"]

    def _write_end(self, row: int, seat: int, arrays: Any) -> None:
        """Write the end of a game for the learner, without returns if it is out before the game is over."""
        game = self._games[row]
        self._observe(game, seat, arrays.final_observations[row])
        arrays.truncated[row] = game.is_cut_off(seat)
        arrays.terminated[row] = not arrays.truncated[row]
        if game.over is not None:
            arrays.rewards[row], arrays.has_returns[row] = game.reward(seat), True
            arrays.returns[row] = [game.reward(other_seat) for other_seat in range(game.seats)]


def _find_fact_numbers(seats: int) -> NDArray[np.int64]:
    """Return the indices of the numbers of an observation that contain what is certain."""
    fields = observation_fields(seats).items()
    slices = [field for name, (field, _) in fields if name.endswith(("known", "lacks", "in_deck"))]
    return np.concatenate([np.arange(field.start, field.stop) for field in slices])
