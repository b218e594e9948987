"""A bot of `arena.local` in an agent's seat: it hears what its seat may know, and its move becomes an action."""

import json
from typing import Any

from arena.coup import derived, view
from arena.env.actions import WAIT
from arena.env.game import Course, Game
from arena.local import Given, Player, entrants
from arena.referee import MatchSpec, Terms, hello, menus, messages


class Rival:
    """The actions of one agent, chosen by a bot: `game.rival("player_1", "sample:honest")`.

    All games of a seed are one match: with the next seed a class makes a new bot. It hears of a game's end when it is
    first asked in the next one.
    """

    def __init__(self, game: Game, seat: int, bot: Given) -> None:
        self._game = game
        self._seat = seat
        ((self._name, self._bot),) = entrants({f"player_{seat}": bot}).items()
        self._course: Course | None = None
        self._state: object = None  # at which the bot was asked last, and what it did there
        self._action = WAIT

    def action(self) -> int:
        """Return the bot's action: `wait` if its seat isn't asked now. Raises what `arena.local` raises."""
        game = self._game
        if self._seat not in game.asked:
            return WAIT
        if self._state is not game.state:  # a bot is asked once
            self._action = self._asked()
            self._state = game.state
        return self._action

    def _asked(self) -> int:
        game, seat, player = self._game, self._seat, self._followed(self._game.course)
        menu, times = game.menu(seat), self._spec.timing(seat)
        player.number += 1
        sight, number = view(game.state, seat), game.course.number
        legal, events, known = menus.menu(menu.moves), self._events(game.course), self._feed.known(sight)
        message = messages.request(sight, known, number, player.number, events, legal, times.limit_ms, times.bank_ms)
        return [*menu.by_action][player.choice(message, legal)]

    def _followed(self, course: Course) -> Player:
        """Return the player, who knows that this game has begun."""
        past = self._course
        if past is course:
            return self._player
        if past is not None and past.end is not None:
            self._player.tell(messages.game_over(past.number, past.end, self._events(past)))
        if past is None or past.key is not course.key:
            self._begin_match(course.key)
        self._course, self._sent, self._feed = course, 0, messages.Feed(self._game.seats)
        sight, seed = view(course.start, self._seat), self._spec.game_seed(self._seat, course.number)
        self._player.tell(messages.game_start(sight, course.number, seed, self._spec.handles))
        return self._player

    def _begin_match(self, key: bytes) -> None:
        game = self._game
        agents = tuple(f"player_{seat}" for seat in range(game.seats))
        seatings = (tuple(range(game.seats)),)
        self._spec = MatchSpec(0, derived(key, "rivals"), agents, seatings, Terms(rules=game.rules))
        self._player = Player(self._name, self._bot)
        self._player.greet(json.loads(hello(self._spec, self._seat)))

    def _events(self, course: Course) -> list[dict[str, Any]]:
        """Return the events that the bot hasn't been told, as its seat sees them."""
        self._feed.add(course.events[self._sent :])
        self._sent = len(course.events)
        return self._feed.take(self._seat)
