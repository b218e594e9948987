"""Play one match: a table of bots, one process each, for a given number of games.

`play_match` sends requests, times and judges replies, and applies the moves, in its caller's thread, until the match
is complete. It takes a `MatchSpec`, returns a `MatchResult`, and writes no file. A process lives for the whole match;
after a forfeit it is stopped, and restarted for the next game. All randomness comes from the match's key.

The fault table has a row for each kind of misbehaviour of a bot. An ArenaError ends the match as a failed attempt: the
machine can't start a process, the sandbox breaks, or the host stalls.

An observer is notified of requests, events, and the end of each game. Its data must not reach a bot."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

from arena.coup import (
    FORFEIT,
    Board,
    Forfeit,
    KeyedRng,
    Move,
    MoveOrForfeit,
    State,
    Talk,
    View,
    apply_moves,
    deal_game,
    first_seat,
    format_move,
    list_legal_moves,
    view_from_seat,
)
from arena.referee import wire
from arena.referee.budget import bank_ms, make_request_budget, new_player_budget
from arena.referee.faults import FAULTS, ArenaError, Consequence, Fault, FaultSample
from arena.referee.game_record import GameRecord, default_move
from arena.referee.game_recorder import GameRecorder
from arena.referee.log_markers import game_marker, turn_marker
from arena.referee.match_spec import MatchObserver, MatchResult, MatchSpec, hello
from arena.referee.move_payloads import LegalMoves, make_legal_moves
from arena.referee.process.clock import RunQueueClock
from arena.referee.process.judge import FaultVerdict, SubstitutedMove, exit_fault, judge_reply
from arena.referee.process.seat import MalformedLine, ProcessExited, Reply, ReplyReceived, Seat, TimedOut
from arena.referee.process.seat_poller import Ask, SeatPoller
from arena.referee.record import Record
from arena.referee.settings import MatchSettings, Timing
from arena.referee.table_talk import SayError, read_say
from arena.sandbox import Box, ProgramError, SandboxError
from protocol import Greeting, encode, escape_bytes

_GOT_SHOWN = 1000  # bytes of a faulty line in the record


Launch = Callable[[int], Box]


def play_match(
    spec: MatchSpec,
    launch: Launch,
    clock: Callable[[], float] = time.monotonic,
    waited_ns: Callable[[], int] | None = None,
    observer: MatchObserver | None = None,
) -> MatchResult:
    """Play all games of a match. `launch(i)` starts bot i of the spec, under the limits of its settings.

    `clock` returns seconds; `waited_ns` returns this thread's total wait for a core, None for the kernel's value.
    `observer` is notified, and can end the match after any game. Raises ArenaError, after ending all processes, if this
    machine failed; ValueError if only some of the bots may ponder.
    """
    match = _Match(spec, launch, clock, waited_ns, observer)
    try:
        with closing(match):
            return match.play()
    except SandboxError as problem:
        failure = ArenaError(str(problem))
        failure.__cause__ = problem  # mypyc forgets `from`, and the cause shows whether a disk is full
        raise failure from problem


class _Player:
    """A bot of the match: its process, and its budget in the present game. Only the match writes it."""

    __slots__ = (
        "absent",
        "allowed",
        "bot",
        "budget",
        "drained",
        "forfeits",
        "processes",
        "refused",
        "seat",
        "sent",
        "timing",
        "warned",
    )

    def __init__(self, bot: int, settings: MatchSettings, timing: Timing) -> None:
        self.bot = bot
        self.timing = timing
        self.allowed = make_request_budget(timing, settings.limits)
        self.budget = new_player_budget(settings.lives, timing)
        self.seat: Seat | None = None
        self.absent = ProcessExited("start_failed")  # the reply while it has no process
        self.processes = 0  # number of processes that were started, or couldn't be
        self.forfeits = 0  # number of games that it has forfeited
        self.drained = False  # whether a timeout has emptied its bank, for the rest of the match
        self.warned = 0  # number of unsolicited lines that were reported to the bot
        self.sent = b""  # the last hello or request
        self.refused: bytes | None = None  # the line that came instead of its hello


class _Match:
    """A match while it is played: its processes, and the parts of its result. For parameters see `play_match`."""

    def __init__(
        self,
        spec: MatchSpec,
        launch: Launch,
        clock: Callable[[], float],
        waited_ns: Callable[[], int] | None,
        observer: MatchObserver | None,
    ) -> None:
        self.spec = spec
        self.settings = settings = spec.settings
        if any(timing.ponder != settings.timing.ponder for timing in spec.timings):
            raise ValueError("all bots of a match may ponder, or none: freezing follows the match settings")
        self.launch = launch
        self.clock = clock
        self.waits = RunQueueClock()
        self.observer = observer
        self.players = [_Player(bot, settings, spec.timing(bot)) for bot in range(spec.seats)]
        charges_own = any(player.timing.own for player in self.players)
        self.poller = SeatPoller(
            clock, charges_own, settings.timing.ponder, settings.limits.cores, waited_ns or self.waits
        )
        self.logs: list[tuple[int, int, bytes]] = []
        self.fault_samples: dict[tuple[int, str], FaultSample] = {}
        self.times: list[list[int]] = [[] for _ in spec.bots]
        self.peaks: list[int | None] = [None] * spec.seats
        self.last_winner: int | None = None  # a bot; None at first and after a draw
        self.requests = 0
        self.startup_s = 0.0

    def play(self) -> MatchResult:
        """Play the match and end all processes; return its result."""
        games = tuple(self.play_games())
        self.poller.finish(wire.MATCH_OVER)
        for player in self.players:
            self.end_process(player)
        return MatchResult(
            record=Record(self.spec.header, games),
            logs=tuple(self.logs),
            fault_samples=tuple(self.fault_samples.values()),
            times=tuple(map(tuple, self.times)),
            peaks=tuple(self.peaks),
            requests=self.requests,
            startup_s=self.startup_s,
        )

    def play_games(self) -> Iterator[GameRecord]:
        """Play all games, or until the observer ends the match."""
        for number in range(len(self.spec.seatings)):
            game = self.play_game(number)
            yield game
            if self.observer is not None and not self.observer.game_over(game):
                return

    def close(self) -> None:
        with closing(self.waits):
            self.poller.close()

    # -- processes

    def start_processes(self) -> None:
        """Start and greet all bots without a process at once, except those that have forfeited the match.

        A bot that fails has no process afterwards. Raises SandboxError if this machine fails.
        """
        absent_players = [
            player for player in self.players if player.seat is None and player.forfeits < self.settings.forfeits
        ]
        if not absent_players:
            return
        started_at = self.clock()
        self.poller.freeze_idle()  # the running bots, since starting the others takes long
        for player in absent_players:
            self.start_process(player)
        self.greet([(player, player.seat) for player in absent_players if player.seat is not None])
        self.startup_s += self.clock() - started_at

    def greet(self, starts: list[tuple[_Player, Seat]]) -> None:
        """Send the hello to bots that were just started; end the process of each that doesn't answer it validly."""
        for player, _ in starts:
            player.sent = hello(self.spec, player.bot)
        if self.observer is not None:
            self.observer.asked([player.bot for player, _ in starts])
        asks = [(seat, 0, player.sent, player.timing.start_ms / 1000) for player, seat in starts]
        for (player, _), reply in zip(starts, self.poller.exchange(asks), strict=True):
            problem = self.hello_problem(player, reply)
            if problem is not None:
                player.refused = reply.line if isinstance(reply, MalformedLine) else None
                self.end_process(player)
                player.absent = ProcessExited("start_failed", detail=problem, hello=reply)

    def start_process(self, player: _Player) -> None:
        """Start a bot's process and poll its seat. If the program can't be started, the bot's seat stays None."""
        player.processes += 1
        try:
            seat = Seat(self.launch(player.bot), self.settings.flood_bytes)
        except ProgramError as problem:
            player.absent = ProcessExited("start_failed", detail=str(problem))
            return
        player.seat = seat
        self.poller.add(seat, player.timing.own)

    def hello_problem(self, player: _Player, reply: Reply) -> str | None:
        """Return why a reply to the hello isn't valid, None if it is."""
        if isinstance(reply, ReplyReceived):  # with a greeting: nothing else answers the hello
            return None
        if isinstance(reply, MalformedLine):
            shown = escape_bytes(reply.line, wire.MAX_ECHO_BYTES)
            return f"its first line was no hello: {reply.problem.message}: {shown}"
        if isinstance(reply, TimedOut):
            return f"no hello within {player.timing.start_ms} ms"
        fault_code, detail = exit_fault(reply.code, reply.ended, self.settings.limits)
        return detail or FAULTS[fault_code].message

    def keep_sample(
        self, player: _Player, fault: FaultVerdict, game: int | None = None, step: int | None = None
    ) -> None:
        """Keep a sample of a fault, if it is the first of its bot with this code."""
        code, _, got, facts = fault
        if (player.bot, code) not in self.fault_samples:
            sent = player.sent.removesuffix(b"\n")
            self.fault_samples[player.bot, code] = FaultSample(player.bot, code, game, step, sent, got, facts)

    def end_process(self, player: _Player) -> None:
        """End a bot's process, if it has one, and keep its log and its peak of memory."""
        seat = player.seat
        if seat is not None:
            player.seat = None
            peaks = (self.peaks[player.bot], seat.box.peak_bytes())
            self.peaks[player.bot] = max(filter(None, peaks), default=None)
            self.poller.remove(seat)
            self.logs.append((player.bot, player.processes, seat.capture.render()))

    # -- one game

    def play_game(self, number: int) -> GameRecord:
        """Play the match's game with this index, after starting missing processes; return its record."""
        spec = self.spec
        seating = spec.seatings[number]
        chance = KeyedRng(spec.key, number)
        starter = first_seat(seating, self.last_winner)
        state = deal_game(self.settings.rules, spec.seats, chance, starter)
        self.start_processes()
        record = _Game(self, GameRecorder(number, seating, starter), chance).play(state)
        self.last_winner = None if record.winner is None else seating[record.winner]
        return record


class _Game:
    """A game while it is played, between the match's processes and the recorder."""

    def __init__(self, match: _Match, recorder: GameRecorder, chance: KeyedRng) -> None:
        self.match = match
        self.recorder = recorder
        self.chance = chance
        self.players = [match.players[bot] for bot in recorder.seating]
        self.talk = match.settings.rules.talk is not Talk.OFF
        self.bad_says: dict[int, Fault] = {}  # bot -> its first invalid say, with the count of all
        self.moment: int  # number of the game's events, without statements

    def play(self, state: State) -> GameRecord:
        """Play the game from this state to its end; return its record. Raises SandboxError if this machine fails."""
        observer, recorder = self.match.observer, self.recorder
        self.send_starts(state)
        if observer is not None:
            observer.moved(recorder.game, state, 0, ())
        while state.board.phase.asked:
            answers = self.collect_answers(state)
            next_state, events = apply_moves(state, answers, self.chance)
            if self.talk:
                events = (*recorder.list_new_statements(), *events)
            first_number = recorder.feed.count
            recorder.add_step(state, answers, next_state, events)
            if observer is not None:
                observer.moved(recorder.game, next_state, first_number, events)
            state = next_state
        self.send_results(state.board)
        return self.recorder.make_record(state)

    def send_starts(self, state: State) -> None:
        """Give every bot a new budget, and send the start of the game to those that have a process."""
        spec, number = self.match.spec, self.recorder.game
        handles_by_bot = spec.handles
        handles = [handles_by_bot[player.bot] for player in self.players]
        for seat, player in enumerate(self.players):
            player.budget = new_player_budget(self.match.settings.lives, player.timing, player.drained)
            if player.seat is not None:
                player.seat.mark(game_marker(number))
                player.seat.send(
                    wire.encode_game_start(
                        view_from_seat(state, seat), number, spec.game_seed(player.bot, number), handles
                    )
                )

    def send_results(self, board: Board) -> None:
        """Send the end of the game to the bots that have a process, and record the faults that cost nothing."""
        for seat, player in enumerate(self.players):
            if player.seat is not None:
                player.seat.send(wire.encode_game_over(self.recorder.game, board, self.recorder.feed.take(seat)))
                self.record_strays(player, player.seat)
        self.recorder.faults += self.bad_says.values()

    def collect_answers(self, state: State) -> list[MoveOrForfeit]:
        """Ask the seats of the present phase at once; return their moves in the phase's order.

        A seat whose bot has no process is sent nothing, and forfeits.
        """
        board = state.board
        self.moment = state.events
        requests = wire.PhaseRequests(board, self.recorder.game)
        marker = turn_marker(board.turn)
        decisions = []
        asks = []
        for table_seat in board.phase.asked:
            player = self.players[table_seat]
            view = view_from_seat(state, table_seat)
            legal = make_legal_moves(list_legal_moves(view))
            decisions.append((player, view, legal))
            if player.seat is not None:
                asks.append(self.prepare_request(player, player.seat, requests, marker, view, legal))
        observer = self.match.observer
        if observer is not None:
            observer.asked([player.bot for player, _, _ in decisions])
        replies = iter(self.match.poller.exchange(asks))
        if observer is not None:
            observer.answered()
        self.match.requests += len(asks)
        moves = []
        for player, view, legal in decisions:
            reply = self.make_absent_reply(player) if player.seat is None else next(replies)
            moves.append(self.record_reply(reply, player, view, legal))
        return moves

    def prepare_request(
        self, player: _Player, seat: Seat, requests: wire.PhaseRequests, marker: str, view: View, legal: LegalMoves
    ) -> Ask:
        """Return the request to a bot, with its new events; warn it of unsolicited lines before, and mark its log."""
        if seat.stray_count > player.warned and seat.gone_code is None:
            self.warn(player, seat)
        bank_s = player.budget.bank_s
        number = seat.number + 1
        feed, limit_ms = self.recorder.feed, player.timing.limit_ms
        certain, events = feed.known(view), feed.take(view.seat)
        seat.set_marker(marker)
        player.sent = line = requests.line(view, certain, number, events, legal, limit_ms, bank_ms(bank_s))
        return (seat, number, line, player.allowed.free_s + bank_s)

    def make_absent_reply(self, player: _Player) -> ProcessExited:
        """Return the reply that stands for a bot without a process."""
        return ProcessExited("retired") if player.forfeits >= self.match.settings.forfeits else player.absent

    def record_reply(self, reply: Reply, player: _Player, view: View, legal: LegalMoves) -> MoveOrForfeit:
        """Judge and record a reply, with its time and its fault, if any; return the move or forfeit of its seat."""
        recorder = self.recorder
        choice, fault, player.budget = judge_reply(reply, len(legal.moves), legal.find, player.budget, player.allowed)
        own_us = round(reply.own_s * 1_000_000)
        recorder.times.append(own_us)
        if fault is None:
            assert type(choice) is int
            self.match.times[player.bot].append(own_us)
            if self.talk and isinstance(reply, ReplyReceived):
                self.record_statements(reply, player, view)
            recorder.moves.append(legal.words[choice])
            return legal.moves[choice]
        if not isinstance(reply, ProcessExited):
            self.match.times[player.bot].append(own_us)
        player.drained = player.drained or fault.code == "timeout"
        if choice is SubstitutedMove.DEFAULT:
            return self.play_default(player, view, fault)
        return self.forfeit(player, fault)

    def record_statements(self, reply: ReplyReceived, player: _Player, view: View) -> None:
        """Record the statements of a seat with a legal move. Invalid ones are dropped, without another penalty."""
        recorder = self.recorder
        assert not isinstance(reply.message, Greeting)
        try:
            statements = read_say(reply.message.say, view.board, view.seat)
        except SayError as problem:
            self.record_bad_say(FaultVerdict("bad_say", str(problem), reply.line), player)
        else:
            recorder.statements += [(len(recorder.moves), statement) for statement in statements]

    def record_bad_say(self, fault: FaultVerdict, player: _Player) -> None:
        """Count an invalid say of a bot, of which the first one is recorded at the end of the game; send the error."""
        recorded = self.bad_says.get(player.bot)
        if recorded is None:
            got = None if fault.line is None else escape_bytes(fault.line, _GOT_SHOWN)
            self.bad_says[player.bot] = Fault(player.bot, fault.code, got=got, detail=fault.detail)
        else:
            self.bad_says[player.bot] = replace(recorded, count=recorded.count + 1)
        self.match.keep_sample(player, fault, self.recorder.game, len(self.recorder.moves))
        self.send_fault(player, fault, None)

    def play_default(self, player: _Player, view: View, fault: FaultVerdict) -> Move:
        """Return the default move for a bot, record the fault, and send it the error."""
        move = default_move(view, self.moment, self.chance)
        self.record_fault(player, fault, format_move(move))
        self.recorder.moves.append(format_move(move))
        self.send_fault(player, fault, move)
        return move

    def send_fault(self, player: _Player, fault: FaultVerdict, used: Move | None) -> None:
        """Send a bot the fault of its reply; `used` is the move that was played instead, if any."""
        assert player.seat is not None
        number, lives = player.seat.number, player.budget.lives
        player.seat.send(wire.encode_error(number, fault.code, fault.detail, fault.line, used, lives))

    def forfeit(self, player: _Player, fault: FaultVerdict) -> Forfeit:
        """Record that a bot forfeits the game, and end its process, if it has one. Return FORFEIT."""
        takes_last_life = FAULTS[fault.code].consequence is not Consequence.FORFEIT
        if takes_last_life:
            self.record_fault(player, fault, None)
        if player.seat is not None:
            self.match.poller.freeze_idle()  # the others, since ending a process may take long
            self.record_strays(player, player.seat)
            self.match.end_process(player)
        cause = FaultVerdict("out_of_lives", None, None) if takes_last_life else fault
        self.record_fault(player, cause, format_move(FORFEIT))
        self.recorder.moves.append(format_move(FORFEIT))
        player.forfeits += 1
        return FORFEIT

    def record_fault(self, player: _Player, fault: FaultVerdict, used: str | None) -> None:
        """Record a fault at the present decision; `used` is the move that was played instead."""
        got = None if fault.line is None else escape_bytes(fault.line, _GOT_SHOWN)
        step = len(self.recorder.moves)
        self.recorder.faults.append(Fault(player.bot, fault.code, step, got, used, fault.detail))
        if fault.code == "start_failed":
            self.match.keep_sample(player, fault._replace(line=player.refused))
        else:
            self.match.keep_sample(player, fault, self.recorder.game, step)

    def warn(self, player: _Player, seat: Seat) -> None:
        """Warn a bot, at most once a request, that unsolicited lines were dropped."""
        player.warned = seat.stray_count
        rule = FAULTS["stray_line"]
        seat.send(
            encode(
                {
                    "type": "error",
                    "id": None,
                    "code": rule.code,
                    "message": f"{rule.message} was dropped; {rule.help}",
                    "got": escape_bytes(seat.last_stray, wire.MAX_ECHO_BYTES),
                    "used": None,
                    "lives": player.budget.lives,
                }
            )
        )

    def record_strays(self, player: _Player, seat: Seat) -> None:
        """Record how many unsolicited lines of a bot were dropped."""
        count, example = seat.take_strays()
        player.warned = 0
        if count:
            self.match.keep_sample(player, FaultVerdict("stray_line", None, example), self.recorder.game)
            self.recorder.faults.append(
                Fault(player.bot, "stray_line", got=escape_bytes(example, _GOT_SHOWN), count=count)
            )
