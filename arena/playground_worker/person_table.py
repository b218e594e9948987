"""Play a person against sample bots, in the browser's worker. All calls take and return JSON texts.

open_table({"rules": "coup", "bots": ["honest", "counter"], "pace": "normal", "seed": 1}) opens a table, begins its
first match, of one game, and returns a list of frames as a server sends them, to be shown in order. Only `bots` is
required: names of sample bots or of GRADED, and `mybot` for the program that is the setting `source`. A `seed`
determines all cards.

answer({"answer": {"id": 1, "choice": 0}}) takes a message of the table's page, and returns the list of frames that
follow; {"hint": true} returns [{"hint": ...}]. The other messages are "pace", "leave" and "rematch".

Both call `beat` with None when the program is asked, with each line that it reaches, and with 0 at its answer.

replay() returns {"page": HTML} of the newest match, null before its end, and review() the same with a review of the
person's moves. Frames then link to "#replay" and "#write".
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from arena.coup import PRESETS, Event, State, derive_key
from arena.local import LocalPlayer, make_match_spec, name_bots, run_match, sample
from arena.play import PACES, FrameSerializer, MomentMaker, PlayerView, TablePlace, label_handles, make_frame
from arena.playground_worker.trial import BOT_NAME, Beat, Guard, Message, Program, TooLongError, describe_problem
from arena.referee import UNTIMED_MS, MatchObserver, MatchSettings, Record, Timing, game_results
from arena.replay import make_replay_object, replay_page
from arena.review import review_person
from protocol.kits.coup_kit import Bot

# The part of moves that `sample:learner` chooses as these opponents: each wins about 60 % against the one before.
GRADED = {"novice": 0.55, "regular": 0.7, "expert": 0.85}
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
    return _tables[0].handle_request(json.loads(message))


def replay() -> str:
    """Return the replay of the newest match as JSON, {"page": HTML}; null before its end. Call `open_table` first."""
    return _make_page(lambda record: None)


def review() -> str:
    """Return `replay` with a review of the person's moves, which takes some seconds."""
    return _make_page(lambda record: review_person(record, record.header.bots.index(_PERSON)))


def _make_page(review: Callable[[Record], dict[str, Any] | None]) -> str:
    """Return the replay as `replay` does. review: returns a record's review, None for a replay without one."""
    record = _tables[0].record
    page = record and replay_page([make_replay_object(record)], "Your match", review=review(record))
    return json.dumps(page and {"page": page})


def find_opponent(name: str) -> Any:
    """Return an opponent by name, as an argument of `arena.local`."""
    learner: Any = sample("sample:learner") if name in GRADED else None
    return partial(learner, GRADED[name]) if learner else f"sample:{name}"


class _OwnBot:
    """The person's program at a table, under a guard: its few answers may take the time that tracing costs."""

    def __init__(self, source: str, table: "PersonTable") -> None:
        self._program, self._table = Program(source), table
        self._bot: Bot | None = None

    def reply(self, message: Message) -> Message | None:
        """Return the program's reply; the program starts at the first message. Raises TooLongError, what it raises."""
        self._table.beat(None)
        with Guard(self._table.beat):
            self._bot = self._bot or self._program.start_bot()
            reply = self._bot.reply(message)
        self._table.beat(0)
        return reply


class PersonTable(MatchObserver):
    """A table of one person and bots. State: playing, over, void (a bot failed)."""

    beat: Beat  # of the call that is carried out
    record: Record | None  # of the newest match; None before its end

    def __init__(
        self, bots: Sequence[str], rules: str = "coup", pace: str = "normal", seed: int | None = None, source: str = ""
    ) -> None:
        counts = [bots[: index + 1].count(bot) for index, bot in enumerate(bots)]
        names = [bot if count == 1 else f"{bot}-{count}" for bot, count in zip(bots, counts, strict=True)]
        players = [(lambda: _OwnBot(source, self)) if bot == BOT_NAME else find_opponent(bot) for bot in bots]
        self._bots = name_bots(dict(zip(names, players, strict=True)))
        self._names = (*names, _PERSON)
        self._settings = MatchSettings(rules=PRESETS[rules])
        if problem := self._settings.rules.problem(len(self._names)):
            raise ValueError(problem)
        self._pace = pace
        self._key = os.urandom(32) if seed is None else derive_key(b"arena.playground", f"seed|{seed}")
        self._matches = 0
        self._serializer = FrameSerializer()
        self._frames: list[str] = []  # that the page hasn't received

    def begin_match(self) -> str:
        """Begin the next match, of one game; return its first frames."""
        key = derive_key(self._key, f"match|{self._matches}")
        seats, person = len(self._names), len(self._bots)
        spec = make_match_spec(self._matches, key, self._names, seats, self._settings)
        timings = (*[self._settings.timing] * person, Timing(limit_ms=UNTIMED_MS, bank_ms=0))
        self._spec = replace(spec, seatings=spec.seatings[:1], timings=timings)
        self._matches += 1
        self._state = "playing"
        self._reason: str | None = None
        self.record = None
        self._moments = MomentMaker(self._spec, (person,), (person,))
        self._view = PlayerView(self._list_labels())
        players = [LocalPlayer(name, bot) for name, bot in self._bots.items()]
        players.append(LocalPlayer(_PERSON, SimpleNamespace(reply=self._view.receive)))
        self._match = run_match(self._spec, players, waits_for=(person,), watch=self)
        return self._play_on(None)

    def handle_request(self, message: dict[str, Any]) -> str:
        """Carry out a message of the page if it is possible now; return a list of frames, or of a hint."""
        match message:
            case {"answer": dict(page_answer)} if (answer := self._view.read_answer(page_answer)) is not None:
                return self._play_on(answer)
            case {"hint": True} if self._view.make_game_view() is not None:
                return json.dumps([{"hint": self._view.hint()}])
            case {"pace": str(pace)} if pace in PACES:
                self._pace = pace
                return self._take_frames()
            case {"leave": True} if self._state == "playing":
                return self._play_on(None)
            case {"rematch": True} if self._state != "playing":
                return self.begin_match()
        return "[]"

    def _play_on(self, reply: dict[str, Any] | None) -> str:
        """Play until the person is asked or the game has ended; return the frames.

        reply: None starts the match; later it forfeits the game.
        """
        self._view.request = {}
        try:
            self._match.send(reply)
        except StopIteration as end:
            self.record = end.value
            self._end("over")
        except (Exception, SystemExit, TooLongError) as error:
            problem = describe_problem(error)
            place = f"{BOT_NAME}, line {problem['line']}: " if problem["line"] else ""
            self._end("void", place + problem["message"])
        return self._take_frames()

    def _end(self, state: str, reason: str | None = None) -> None:
        """End the match, which reveals all names. reason: why it is void, None if it is over."""
        self._state, self._reason = state, reason
        self._view.labels = self._list_labels()

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """Show the person a step; each game begins with a frame without events, as pages show later ones in turn."""
        moments, _ = self._moments.make(game, state, first, events, PACES[self._pace])
        self._view.receive(moments[len(self._bots)])
        if not first and not events:
            self._add_frame()

    def _shows_name(self, bot: int) -> bool:
        return bot == len(self._bots) or self._state != "playing"

    def _list_labels(self) -> dict[str, str]:
        """Return the visible names by handle."""
        names = (name if self._shows_name(bot) else None for bot, name in enumerate(self._names))
        return label_handles(dict(zip(self._spec.handles, names, strict=True)))

    def _add_frame(self) -> None:
        """Add the table's present state to the frames that the page will fetch."""
        games = game_results(self.record) if self.record else ()
        shares = {name: game.worth(seat) for game in games for seat, name in enumerate(game.seats)}
        places = [
            TablePlace(
                handle=handle,
                name=name if name != _PERSON and self._shows_name(bot) else None,
                kind="person" if name == _PERSON else "bot",
                you=name == _PERSON,
                won=shares.get(name, 0.0),
            )
            for bot, (handle, name) in enumerate(zip(self._spec.handles, self._names, strict=True))
        ]
        table = {
            "id": "here",
            "state": self._state,
            "match": self._matches,
            "pace": self._pace,
            "why": self._reason,
            "replay": "#replay" if self.record else None,
            "write": "#write",
        }
        frame = make_frame(self._settings, 1, places, self._view.make_game_view(), table)
        self._frames.append(self._serializer.serialize(frame))

    def _take_frames(self) -> str:
        """Return the frames that the page hasn't received, with one of the present state, as a list in JSON."""
        self._add_frame()
        frames, self._frames = self._frames, []
        return f"[{','.join(frames)}]"
