"""Play a match in this process: the referee's loop without pipes, clocks and faults.

Seats of one window are asked in turn and can't see each other's answers: the game continues when all have answered. A
bot is any object with `reply(message: dict) -> dict | None`, as the kit's `Bot`; sample bots are available by name,
such as `sample:honest`. Replies must follow the protocol, but a mistake raises an exception instead of costing a
life."""

import json
import sys
from collections.abc import Callable, Collection, Container, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain, count
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from arena.coup import (
    FORFEIT,
    PRESETS,
    Board,
    Event,
    Exiled,
    Forfeit,
    KeyedRng,
    MoveOrForfeit,
    Over,
    Ruleset,
    State,
    StatementMade,
    Talk,
    apply_moves,
    deal_game,
    first_seat,
    format_move,
    list_legal_moves,
    view_from_seat,
)
from arena.referee import (
    Fault,
    GameRecord,
    GameRecorder,
    LegalMoves,
    MatchObserver,
    MatchSpec,
    Record,
    SayError,
    hello,
    make_legal_moves,
    messages,
    read_say,
)
from arena.samples import sample_file
from protocol import Malformed, parse_hello, parse_reply
from protocol.kits import coup_env, coup_kit


def sample(name: str) -> type[coup_kit.Bot]:
    """Return the class of the sample bot `name`, such as "sample:honest".

    Raises ValueError for an unknown sample, and for one that isn't written in Python with the kit.
    """
    path = sample_file(name)
    if path is not None and path.is_dir():
        path /= "bot.py"
    if path is None or path.suffix != ".py" or not path.is_file() or b"from coup_kit" not in path.read_bytes():
        raise ValueError(f"{name!r} isn't a sample bot that plays in this process, such as sample:honest")
    title = "sample_bot_" + name.removeprefix("sample:").removesuffix(".py")  # a folder's file is always bot.py
    values = vars(_import_module(title, path)).values()
    classes = [value for value in values if isinstance(value, type) and value.__module__ == title]
    return next(value for value in classes if issubclass(value, coup_kit.Bot))


def _import_module(title: str, path: Path) -> ModuleType:
    """Return the module of a file under this title; a file is imported once, with the arena's kits."""
    if title not in sys.modules:
        spec = spec_from_file_location(title, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        with _import_arena_kits():
            spec.loader.exec_module(module)
        sys.modules[title] = module
    return sys.modules[title]


@contextmanager
def _import_arena_kits() -> Iterator[None]:
    """Make `import coup_kit` and `import coup_env` import the arena's kits in the context."""
    kits = {"coup_kit": coup_kit, "coup_env": coup_env}
    own_modules = {name: sys.modules[name] for name in kits if name in sys.modules}
    sys.modules.update(kits)
    try:
        yield
    finally:
        for name in kits:
            del sys.modules[name]
        sys.modules.update(own_modules)


Message = dict[str, Any]


class ReplyingBot(Protocol):
    """A bot: an object that receives messages and returns its replies."""

    def reply(self, message: Message, /) -> Message | None:
        """Process a message of the protocol; return the reply, None if the message needs none."""


BotFactory = Callable[[], ReplyingBot]
# A bot as an argument: an object, a class or function that makes a bot for each match, or "sample:honest".
BotArgument = ReplyingBot | BotFactory | str


class JobError(Exception):
    """A process ended before its matches, or a bot raised an exception that can't be pickled."""


class WrongReplyError(Exception):
    """A bot gave an invalid reply. The message contains the bot, the request and the reply."""


def name_bots(bots: Sequence[BotArgument] | Mapping[str, BotArgument]) -> dict[str, ReplyingBot | BotFactory]:
    """Return the bots by name: the key of the mapping, or the class name, with a number if it is taken.

    Raises TypeError for one that is no bot, ValueError for an unknown sample, or an object with two names.
    """
    if isinstance(bots, str):
        raise TypeError(f"pass a list of bots: [{bots!r}]")
    if isinstance(bots, Mapping):
        bots_by_name = {name: _resolve_sample(bot) for name, bot in bots.items()}
    else:
        bots_by_name = {}
        for bot in map(_resolve_sample, bots):
            bots_by_name[_unused_name(_default_name(bot), bots_by_name)] = bot
    _require_bots(bots_by_name)
    return bots_by_name


def _require_bots(bots_by_name: Mapping[str, object]) -> None:
    """Raise TypeError for a value that is no bot, ValueError for an object that has two names."""
    for name, bot in bots_by_name.items():
        if not callable(getattr(bot, "reply", None)) and not callable(bot):
            raise TypeError(f"{name!r} isn't a bot: pass a class, or an object, with the method reply(message)")
    objects = [bot for bot in bots_by_name.values() if not _is_factory(bot)]
    if len({id(bot) for bot in objects}) < len(objects):
        raise ValueError("one object can't play in two seats: pass its class, or an object for each seat")


def _unused_name(name: str, used_names: Container[str]) -> str:
    """Return the name, with the first number from 2 on that makes it unused if it is used."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(candidate for candidate in names if candidate not in used_names)


def require_factories(bots_by_name: Mapping[str, ReplyingBot | BotFactory], use: str) -> None:
    """Raise ValueError for a bot that is an object, as it keeps its memory between matches.

    use: where it can't be used, for the message, such as "in a sweep".
    """
    for name, bot in bots_by_name.items():
        if not _is_factory(bot):
            raise ValueError(f"{name!r} is an object, which remembers all matches: {use} pass its class")


def find_ruleset(rules: str | Ruleset) -> Ruleset:
    """Return the ruleset, or the one with this preset's name or in this file.

    Raises RulesetError if the preset is unknown or the file is invalid.
    """
    if isinstance(rules, Ruleset):
        return rules
    if rules in PRESETS:
        return PRESETS[rules]
    from arena.run import load_ruleset  # imports much more than a match needs

    return load_ruleset(rules)


def _resolve_sample(bot: BotArgument) -> ReplyingBot | BotFactory:
    """Return the class of a sample bot; any other bot as it is. Raises TypeError for another text, and as `sample`."""
    if not isinstance(bot, str):
        return bot
    if not bot.startswith("sample:"):
        raise TypeError(f"{bot!r} isn't a bot: pass a class, an object with reply(message), or sample:honest")
    return sample(bot)


def _is_factory(bot: object) -> bool:
    """Return whether this is a class or function that makes a bot, not a bot itself."""
    return isinstance(bot, type) or not hasattr(bot, "reply")


def _default_name(bot: ReplyingBot | BotFactory) -> str:
    named = bot if hasattr(bot, "__name__") else type(bot)
    return str(getattr(named, "__name__", "bot"))


class LocalPlayer:
    """One bot in one match. `number`: the id of its last request. Raises TypeError if `bot` makes no bot."""

    __slots__ = ("_reply", "name", "number", "statements")

    def __init__(self, name: str, bot: ReplyingBot | BotFactory) -> None:
        self.name = name
        player: Any = bot() if _is_factory(bot) else bot  # type: ignore[operator]
        if not callable(getattr(player, "reply", None)):
            raise TypeError(f"{name!r} created a {type(player).__name__}, which has no method reply(message)")
        self._reply = player.reply
        self.number = 0
        self.statements: tuple[StatementMade, ...] = ()  # with the last choice, if talk is read

    def greet(self, message: Message) -> None:
        """Send the bot the match header. Raises WrongReplyError unless it replies with a hello."""
        greeting = self._send_to_bot(message)
        if not isinstance(greeting, dict) or isinstance(parse_hello(greeting), Malformed):
            raise WrongReplyError(
                f'bot {self.name!r} replied {greeting!r} to the hello: reply with {{"type": "hello"}}'
            )

    def send(self, message: Message) -> None:
        """Send the bot a message that needs no reply. Raises WrongReplyError for a reply, and the bot's exceptions."""
        answer = self._send_to_bot(message)
        if answer is not None:
            raise WrongReplyError(
                f"bot {self.name!r} replied {answer!r} to {message['type']}, which isn't a request: return None"
            )

    def choice(self, message: Message, legal: LegalMoves, board: Board | None = None) -> int:
        """Send the request with the id `number`, which the caller has set; return an index into the legal moves.

        board: the public state, to read the reply's statements, which are then in `statements`; None to ignore them.
        Raises WrongReplyError for an invalid reply, and the bot's own exceptions.
        """
        return self.read_choice(self._send_to_bot(message), message, legal, board)

    def read_choice(self, reply: Any, message: Message, legal: LegalMoves, board: Board | None = None) -> int:
        """Return the index of the move in a bot's reply to a request; arguments and exceptions as for `choice`."""
        answer = parse_reply(reply) if isinstance(reply, dict) else None
        if answer is None:
            raise self._reply_error(message, reply, "a reply must be a dict with id, and choice or move")
        if isinstance(answer, Malformed):
            raise self._reply_error(message, reply, answer.message)
        if answer.id != self.number:
            raise self._reply_error(message, reply, f"the request's id is {self.number}")
        index = legal.find(answer.move) if answer.move is not None else answer.choice
        if index is None or not 0 <= index < len(legal.moves):
            raise self._reply_error(message, reply, "the move is not in the list of legal moves")
        if board is not None:
            try:
                self.statements = read_say(answer.say, board, message["you"]["seat"])
            except SayError as problem:
                raise self._reply_error(message, reply, str(problem)) from None
        return index

    def _send_to_bot(self, message: Message) -> Any:
        try:
            return self._reply(message)
        except Exception as problem:
            problem.add_note(f"This came from the bot {self.name!r}, {_describe_message(message)}.")
            raise

    def _reply_error(self, message: Message, reply: Any, reason: str) -> WrongReplyError:
        return WrongReplyError(f"bot {self.name!r} replied {reply!r} {_describe_message(message)}: {reason}")


def _describe_message(message: Message) -> str:
    """Describe the message at which an error occurred, which the bot may have modified."""
    if message.get("type") != "request":
        return f"at {message.get('type')!r}"
    state = message.get("state")
    turn = state.get("turn") if isinstance(state, dict) else None
    return (
        f"at the request {message.get('kind')!r} (id {message.get('id')!r}, game {message.get('game')!r}, "
        f"turn {turn!r}) with legal {message.get('legal')!r}"
    )


def play_match(spec: MatchSpec, players: Sequence[LocalPlayer], keep_moves: bool) -> Record:
    """Play all games of a match. Without `keep_moves` the record has no moves, so it can't be replayed.

    Raises WrongReplyError for an invalid reply, and the bots' own exceptions.
    """
    match = _run_match(spec, players, GameRecorder if keep_moves else _ResultRecorder, (), MatchObserver())
    try:
        next(match)
    except StopIteration as end:
        record: Record = end.value
        return record
    raise AssertionError("no bot's reply is awaited")


def run_match(
    spec: MatchSpec,
    players: Sequence[LocalPlayer],
    *,
    waits_for: Collection[int] = (),
    watch: MatchObserver | None = None,
) -> Generator[int, Message | None, Record]:
    """Play all games of a match, and return its record, with the moves.

    A bot whose index is in `waits_for` receives each request as a message that needs no reply; then its index is
    yielded, and its reply must be sent: None forfeits the game. `watch` is notified of steps. Raises like `play_match`.
    """
    return _run_match(spec, players, GameRecorder, waits_for, watch or MatchObserver())


def _run_match(
    spec: MatchSpec,
    players: Sequence[LocalPlayer],
    recorder_class: "type[GameRecorder | _ResultRecorder]",
    waits_for: Collection[int],
    watch: MatchObserver,
) -> Generator[int, Message | None, Record]:
    """Play all games of a match; see `run_match`. Only GameRecorder records forfeits."""
    for number, player in enumerate(players):
        player.greet(json.loads(hello(spec, number)))
    last_winner: int | None = None
    games = []
    for number, seating in enumerate(spec.seatings):
        recorder = recorder_class(number, seating, first_seat(seating, last_winner))
        seat_players = [players[bot] for bot in seating]
        record = yield from _Game(spec, recorder, seat_players, waits_for, watch).play()
        last_winner = None if record.winner is None else seating[record.winner]
        games.append(record)
    for player in players:
        player.send({"type": "match_over"})
    return Record(spec.header, tuple(games))


class _ResultRecorder:
    """A recorder in place of GameRecorder that keeps only the result of a game without forfeits."""

    def __init__(self, game: int, seating: tuple[int, ...], starter: int) -> None:
        self.game = game
        self.seating = seating
        self.starter = starter
        self._eliminated: list[tuple[int, int]] = []
        self._event_count = 0

    def add_step(
        self, state: State, answers: Sequence[MoveOrForfeit], next_state: State, events: Sequence[Event]
    ) -> None:
        """Count a step's events, and keep the eliminations; the arguments are those of `GameRecorder.add_step`."""
        self._eliminated += [(event.seat, state.board.turn) for event in events if isinstance(event, Exiled)]
        self._event_count += len(events)

    def make_record(self, state: State) -> GameRecord:
        """Return the record of the game, which has ended in `state`, without what isn't kept."""
        over = state.board.phase
        assert isinstance(over, Over)
        return GameRecord(
            self.game,
            self.seating,
            eliminated=tuple(self._eliminated),
            winner=over.winner,
            reason=over.ending.value,
            survivors=over.survivors,
            starter=self.starter,
            turns=state.board.turn,
            events=self._event_count,
        )


class _Game:
    """One game: its players by seat, the messages to them, and its record. For parameters see `run_match`."""

    def __init__(
        self,
        spec: MatchSpec,
        recorder: GameRecorder | _ResultRecorder,
        players: Sequence[LocalPlayer],
        waits_for: Collection[int],
        watch: MatchObserver,
    ) -> None:
        self.spec = spec
        self.recorder = recorder
        self.move_recorder = recorder if isinstance(recorder, GameRecorder) else None  # None: moves aren't kept
        self.players = players
        self.waits_for, self.watch = waits_for, watch
        self.handles = [spec.handles[bot] for bot in recorder.seating]
        self.times = [spec.timing(bot) for bot in recorder.seating]
        self.feed = messages.MessageCursor(spec.seats)
        self.has_talk = spec.settings.rules.talk is not Talk.OFF
        self.statements: list[StatementMade] = []  # with the current answers

    def play(self) -> Generator[int, Message | None, GameRecord]:
        """Play a game to its end, and return its record. Yields and is sent what `ask_seat` is."""
        recorder = self.recorder
        chance = KeyedRng(self.spec.key, recorder.game)
        state = deal_game(self.spec.settings.rules, self.spec.seats, chance, recorder.starter)
        self.send_starts(state)
        self.watch.moved(recorder.game, state, 0, ())
        while state.board.phase.asked:
            self.statements = []
            answers: list[MoveOrForfeit] = []
            for seat in state.board.phase.asked:
                answers.append((yield from self.ask_seat(state, seat)))
            next_state, events = apply_moves(state, answers, chance)
            if self.has_talk:
                events = (*sorted(self.statements, key=lambda statement: statement.seat), *events)
            first_event = self.feed.count
            self.feed.add(events)
            self.watch.moved(recorder.game, next_state, first_event, events)
            recorder.add_step(state, answers, next_state, events)
            state = next_state
        for seat, player in enumerate(self.players):
            player.send(messages.make_game_over(recorder.game, state.board, self.feed.take(seat)))
        return recorder.make_record(state)

    def send_starts(self, state: State) -> None:
        """Send all players the game's start."""
        game = self.recorder.game
        for seat, (bot, player) in enumerate(zip(self.recorder.seating, self.players, strict=True)):
            seed = self.spec.game_seed(bot, game)
            player.send(messages.make_game_start(view_from_seat(state, seat), game, seed, self.handles))

    def ask_seat(self, state: State, seat: int) -> Generator[int, Message | None, MoveOrForfeit]:
        """Ask a seat of the current phase, and return its move; record it if moves are kept.

        If its bot is in `waits_for`, yield the bot's index; its reply must be sent, None to forfeit the game.
        """
        player, times = self.players[seat], self.times[seat]
        view = view_from_seat(state, seat)
        legal = make_legal_moves(list_legal_moves(view))
        player.number += 1
        knowledge, events = self.feed.known(view), self.feed.take(seat)
        message = messages.make_request(
            view, knowledge, self.recorder.game, player.number, events, legal, times.limit_ms, times.bank_ms
        )
        board = state.board if self.has_talk else None
        bot = self.recorder.seating[seat]
        if bot in self.waits_for:
            player.send(message)
            reply = yield bot
            if reply is None:
                return self.forfeit(bot)
            choice = player.read_choice(reply, message, legal, board)
        else:
            choice = player.choice(message, legal, board)
        self.statements += player.statements
        if self.move_recorder is not None:
            _record_move(self.move_recorder, legal.words[choice], player.statements)
        return legal.moves[choice]

    def forfeit(self, bot: int) -> Forfeit:
        """Record that a bot forfeits the game."""
        recorder = self.move_recorder
        assert recorder is not None
        word = format_move(FORFEIT)
        recorder.faults.append(Fault(bot, "closed", len(recorder.moves), used=word))
        _record_move(recorder, word, ())
        return FORFEIT


def _record_move(recorder: GameRecorder, word: str, statements: Sequence[StatementMade]) -> None:
    """Record a move in its notation, with the statements of the same reply. There is no clock, so it took 0 us."""
    recorder.statements += [(len(recorder.moves), statement) for statement in statements]
    recorder.moves.append(word)
    recorder.times.append(0)
