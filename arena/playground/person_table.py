"""Play a person against sample bots, in the browser's worker. All calls take and return JSON texts.

open_table({"rules": "coup", "bots": ["honest", "counter"], "games": 1, "pace": "normal", "seed": 1}) opens a table,
begins its first match, and returns a list of frames as a server sends them, to be shown in order. Only `bots` is
required: names of sample bots, and `mybot` for the program that is the setting `source`. A `seed` determines all cards.

answer({"answer": {"id": 1, "choice": 0}}) takes a message of the table's page, and returns the list of frames that
follow; {"hint": true} returns [{"hint": ...}]. The other messages are "pace", "go_on", "leave" and "rematch".

Both call `beat` with None when the program is asked, with each line that it reaches, and with 0 at its answer.

replay() returns {"page": HTML} of the newest match, null before its end. Frames then link to "#replay" and "#write".
"""

import json
import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from arena.coup import PRESETS, Event, State, derive_key
from arena.local import LocalPlayer, name_bots, run_match
from arena.play import PACES, FrameSerializer, MomentMaker, PlayerView, TablePlace, label_handles, make_frame
from arena.playground.trial import BOT_NAME, TOO_LONG, Beat, Guard, Message, Program, TooLongError, describe_problem
from arena.referee import UNTIMED_MS, GameRecord, MatchObserver, MatchSettings, MatchSpec, Record, Timing
from arena.replay import make_replay_object, replay_page
from ladder.schedule import keyed_shuffle, seat_orders
from protocol.kits.coup_kit import Bot

_PERSON = "you"
_tables: list["PersonTable"] = []  # the open table


def open_table(settings: str, beat: Beat = lambda line: None) -> str:
    """Open a table in place of the one before. Raises ValueError for impossible settings."""
    _tables[:] = [PersonTable(**json.loads(settings))]
    _tables[0].beat = beat
    return _tables[0].begin_match()


def answer(message: str, beat: Beat = lambda line: None) -> str:
    """Carry out a message of the table's page if it is possible now."""
    _tables[0].beat = beat
    return _tables[0].take(json.loads(message))


def replay() -> str:
    """Return the replay page of the newest match."""
    page = _tables[0].make_replay()
    return json.dumps(page and {"page": page})


class _OwnBot:
    """The person's program at a table, under a guard: its few answers may take the time that tracing costs."""

    def __init__(self, source: str, table: "PersonTable") -> None:
        self._program, self._table = Program(source), table
        self._bot: Bot | None = None

    def reply(self, message: Message) -> Message | None:
        self._table.beat(None)
        with Guard(self._table.beat):
            self._bot = self._bot or self._program.start_bot()
            reply = self._bot.reply(message)
        self._table.beat(0)
        return reply


class PersonTable(MatchObserver):
    """A table of one person and bots. State: playing, between (two games), over, void (a bot failed)."""

    beat: Beat  # of the call that is carried out

    def __init__(
        self,
        bots: Sequence[str],
        rules: str = "coup",
        games: int = 1,
        pace: str = "normal",
        seed: int | None = None,
        source: str = "",
    ) -> None:
        counts = [bots[: place + 1].count(bot) for place, bot in enumerate(bots)]
        names = [bot if count == 1 else f"{bot}-{count}" for bot, count in zip(bots, counts, strict=True)]
        players = [(lambda: _OwnBot(source, self)) if bot == BOT_NAME else f"sample:{bot}" for bot in bots]
        self._bots = name_bots(dict(zip(names, players, strict=True)))
        self._names = (*names, _PERSON)
        self._settings = MatchSettings(rules=PRESETS[rules])
        if problem := self._settings.rules.problem(len(self._names)):
            raise ValueError(problem)
        self._games, self._pace = games, pace
        self._key = os.urandom(32) if seed is None else derive_key(b"arena.playground", f"seed|{seed}")
        self._matches = 0
        self._serializer = FrameSerializer()
        self._frames: list[str] = []  # that the page hasn't received

    def begin_match(self) -> str:
        """Begin the next match; return its first frames."""
        key = derive_key(self._key, f"match|{self._matches}")
        seats, person = len(self._names), len(self._bots)
        orders = seat_orders(seats, -(-self._games // seats) * seats, keyed_shuffle(key, "seats"))[: self._games]
        timings = (*[self._settings.timing] * person, Timing(limit_ms=UNTIMED_MS, bank_ms=0))
        self._spec = MatchSpec(self._matches, key, self._names, orders, self._settings, timings)
        self._matches += 1
        self._state, self._left = "playing", False
        self._reason: str | None = None
        self._won = [0.0] * seats
        self._record = Record(self._spec.header, ())
        self._moments = MomentMaker(self._spec, (person,), (person,))
        self._view = PlayerView(self._labels())
        players = [LocalPlayer(name, bot) for name, bot in self._bots.items()]
        players.append(LocalPlayer(_PERSON, SimpleNamespace(reply=self._view.take)))
        self._course = run_match(self._spec, players, waits_for=(person,), watch=self)
        return self._play_on(None)

    def take(self, message: dict[str, Any]) -> str:
        """Carry out a message of the page if it is possible now; return a list of frames, or of a hint."""
        match message:
            case {"answer": dict(given)} if (answer := self._view.read_answer(given)) is not None:
                return self._play_on(answer)
            case {"hint": True} if self._view.seen() is not None:
                return json.dumps([{"hint": self._view.hint()}])
            case {"pace": str(pace)} if pace in PACES:
                self._pace = pace
            case {"go_on": True} if self._state == "between":
                self._state = "playing"
                return self._play_on(None)
            case {"leave": True} if self._state in ("playing", "between"):
                self._left = True
                if self._view.request:
                    return self._play_on(None)
                self._end("over")
            case {"rematch": True} if self._state in ("over", "void"):
                return self.begin_match()
            case _:
                return "[]"
        return self._take_frames()

    def make_replay(self) -> str | None:
        """Return the replay page of the newest match; None unless it is over and a game of it is complete."""
        if self._state in ("playing", "between") or not self._record.games:
            return None
        return replay_page([make_replay_object(self._record)], "Your match")

    def _play_on(self, reply: dict[str, Any] | None) -> str:
        """Play until the person is asked or a game has ended; return the frames. Without a reply, it is forfeited."""
        self._view.request = {}
        try:
            while isinstance(ended := self._course.send(reply), GameRecord) and not self._take_game(ended):
                reply = None
        except StopIteration:
            self._end("over")
        except (Exception, SystemExit, TooLongError) as error:
            problem = describe_problem(error, TOO_LONG if isinstance(error, TooLongError) else None)
            line = f"{BOT_NAME}, line {problem['line']}: " if problem["line"] else ""
            self._end("void", line + problem["message"])
        return self._take_frames()

    def _take_game(self, game: GameRecord) -> bool:
        """Keep a complete game; return whether the person is to see its end before the match continues."""
        self._record = Record(self._spec.header, (*self._record.games, game))
        for seat in game.survivors:
            self._won[game.seating[seat]] += 1 / len(game.survivors)
        if self._left:
            self._end("over")
        elif len(self._record.games) < self._games:
            self._state = "between"
        return self._state != "playing"

    def _end(self, state: str, reason: str | None = None) -> None:
        self._course.close()
        self._state, self._reason = state, reason
        self._view.labels = self._labels()

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """Show the person a step; each game begins with a frame without events, as pages show later ones in turn."""
        moments, _ = self._moments.make(game, state, first, events, PACES[self._pace])
        self._view.take(moments[len(self._bots)])
        if not first and not events:
            self._add_frame()

    def _shows_name(self, bot: int) -> bool:
        return bot == len(self._bots) or self._state in ("over", "void")

    def _labels(self) -> dict[str, str]:
        named = zip(self._spec.handles, self._names, strict=True)
        return label_handles(pair for bot, pair in enumerate(named) if self._shows_name(bot))

    def _add_frame(self) -> None:
        places = [
            TablePlace(
                handle=handle,
                name=name if name != _PERSON and self._shows_name(bot) else None,
                kind="person" if name == _PERSON else "bot",
                you=name == _PERSON,
                won=self._won[bot],
            )
            for bot, (handle, name) in enumerate(zip(self._spec.handles, self._names, strict=True))
        ]
        table = {
            "id": "here",
            "state": self._state,
            "match": self._matches,
            "pace": self._pace,
            "why": self._reason,
            "replay": "#replay" if self._record.games and self._state in ("over", "void") else None,
            "write": "#write",
        }
        frame = make_frame(self._settings, self._games, places, self._view.seen(), table)
        self._frames.append(self._serializer.serialize(frame))

    def _take_frames(self) -> str:
        self._add_frame()
        frames, self._frames = self._frames, []
        return f"[{','.join(frames)}]"
