"""A match: one table of bots, one process each, a number of games. The loop: ask, time, judge, apply.

`play_match` runs in its caller's thread until the match is complete and returns everything that is worth keeping; it
writes no file. Processes live for the whole match; one whose bot forfeits is ended at once and started anew for the
next game. All chance comes from the match's key. Whatever a bot does ends in a row of the fault table; an ArenaError (a
process that this machine can't start, a sandbox that breaks, a host that stands still) ends the match itself, which is
then void.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from arena.coup import (
    FORFEIT,
    Answer,
    Chance,
    Exiled,
    Forfeited,
    Over,
    State,
    View,
    apply,
    deal,
    default,
    derived,
    draw,
    legal,
    notation,
    permuted,
    view,
)
from arena.referee import wire
from arena.referee.faults import FAULTS, ArenaError, Consequence, Fault, ending
from arena.referee.record import GameRecord, Header, write
from arena.referee.seat import Seat
from arena.referee.table import Table
from arena.referee.terms import WALL_FACTOR, Terms
from arena.sandbox import Box, Exit, ProgramError, SandboxError
from protocol import LINE_LIMIT, Malformed, encode, framing, show

_GOT_SHOWN = 1000  # bytes of a faulty line that are kept in the record
_ECHO_SHOWN = 200  # bytes of it that are sent back to the bot
_CPU_OUT = "the CPU time ran out"
_WALL_OUT = f"the wall time, {WALL_FACTOR} times the CPU time, ran out"


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """What a match is made of. `seatings` has one entry a game: the bot (index into `bots`) of each seat."""

    match: int
    key: bytes
    bots: tuple[str, ...]
    seatings: tuple[tuple[int, ...], ...]
    terms: Terms = field(default_factory=Terms)

    @property
    def seats(self) -> int:
        """Return the number of seats of the table."""
        return len(self.bots)

    @property
    def handles(self) -> tuple[str, ...]:
        """Return the name under which each bot plays: its own, or a letter drawn for this match."""
        if self.terms.open_names:
            return self.bots
        letters = "ABCDEFGHIJ"[: self.seats]
        return tuple(permuted(letters, draw(self.key, "handles")))

    def bot_seed(self, bot: int) -> str:
        """Return the seed that a bot is given for its own randomness: 32 hexadecimal digits of a stream of its own."""
        return derived(self.key, f"bot|{bot}").hex()[:32]


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A complete match: the record's text, and the standard error of each process as (bot, number, bytes)."""

    match: int
    record: str
    logs: tuple[tuple[int, int, bytes], ...]
    requests: int
    startup_s: float


@dataclass(frozen=True, slots=True)
class Greeted:
    """How a bot's first start went: why it failed (None: it didn't), and its standard error."""

    problem: str | None
    stderr: bytes


Launch = Callable[[int], Box]


def play_match(spec: MatchSpec, launch: Launch, clock: Callable[[], float] = time.monotonic) -> MatchResult:
    """Play all games of a match. `launch(i)` starts bot i of the spec, under the terms' limits.

    Raises ArenaError, after ending all processes, if this machine failed.
    """
    match = _Match(spec, launch, clock)
    try:
        return match.play()
    except SandboxError as problem:
        raise ArenaError(str(problem)) from problem
    finally:
        match.table.close()


def greet(spec: MatchSpec, bot: int, launch: Launch, clock: Callable[[], float] = time.monotonic) -> Greeted:
    """Start one bot of the spec, exchange hellos, and end it. Raises ArenaError if this machine failed."""
    match = _Match(spec, launch, clock)
    match.players = [match.players[bot]]
    try:
        match.start_processes()
        match.table.finish(wire.MATCH_OVER)
        player = match.players[0]
        match.end_process(player)
        stderr = match.logs[0][2] if match.logs else b""
        return Greeted(player.failed[1] if player.failed else None, stderr)
    except SandboxError as problem:
        raise ArenaError(str(problem)) from problem
    finally:
        match.table.close()


def hello(spec: MatchSpec, bot: int) -> bytes:
    """Return the line that greets a bot."""
    return encode(
        {
            "type": "hello",
            "protocol": framing.PROTOCOL,
            "ruleset": wire.ruleset_payload(spec.terms.rules, spec.seats),
            "limits": {
                "limit_ms": spec.terms.timing.limit_ms,
                "bank_ms": spec.terms.timing.bank_ms,
                "start_ms": spec.terms.timing.start_ms,
                "line_bytes": LINE_LIMIT,
                "flood_bytes": spec.terms.flood_bytes,  # of the limits below, in the place that it had in 0.1.0
                "lives": spec.terms.lives,
                "forfeits": spec.terms.forfeits,
                "clock": "cpu" if spec.terms.timing.cpu else "wall",
                "ponder": spec.terms.timing.ponder,
                **spec.terms.limits.on_wire(),
            },
            "match": {
                "games": len(spec.seatings),
                "seats": spec.seats,
                "your_handle": spec.handles[bot],
                "handles": sorted(spec.handles),
            },
            "bot_seed": spec.bot_seed(bot),
        }
    )


def _ms(seconds: float) -> int:
    """Return whole milliseconds, rounded down but for what floats lose: 1.001 s are 1001 ms."""
    return int(seconds * 1000 + 1e-6)


class _Player:
    """One bot of the table over the whole match: its process, and its account in the present game."""

    __slots__ = ("bot", "cpu_bank", "failed", "forfeits", "lives", "processes", "seat", "wall_bank", "warned")

    def __init__(self, bot: int) -> None:
        self.bot = bot
        self.seat: Seat | None = None
        self.failed: tuple[str, str | None] | None = None  # why there is no process: a fault's code and its detail
        self.processes = 0
        self.forfeits = 0
        self.lives = 0
        self.wall_bank = 0.0  # seconds
        self.cpu_bank = math.inf  # seconds; without end where CPU time isn't charged
        self.warned = 0  # stray lines that the bot has been told of


class _Match:
    def __init__(self, spec: MatchSpec, launch: Launch, clock: Callable[[], float]) -> None:
        self.spec = spec
        self.launch = launch
        self.clock = clock
        self.table = Table(clock, spec.terms.timing.cpu, spec.terms.timing.ponder, spec.terms.limits.cores)
        self.players = [_Player(bot) for bot in range(spec.seats)]
        self.logs: list[tuple[int, int, bytes]] = []
        timing = spec.terms.timing
        self.wall_limit = timing.limit_ms / 1000 * timing.factor
        self.cpu_limit = timing.limit_ms / 1000 if timing.cpu else math.inf
        self.last_winner: int | None = None  # a bot; None at first and after a draw
        self.requests = 0
        self.startup = 0.0

    def play(self) -> MatchResult:
        spec = self.spec
        games = [self.game(number) for number in range(len(spec.seatings))]
        self.table.finish(wire.MATCH_OVER)
        for player in self.players:
            self.end_process(player)
        header = Header(spec.match, spec.key, spec.bots, spec.handles, spec.terms)
        text = write(header, games)
        return MatchResult(spec.match, text, tuple(self.logs), self.requests, self.startup)

    # -- processes

    def start_processes(self) -> None:
        """Start and greet every bot that has no process, all at once."""
        absent = [p for p in self.players if p.seat is None and p.forfeits < self.spec.terms.forfeits]
        if not absent:
            return
        began = self.clock()
        self.table.freeze_idle()  # those that live on: starting the others takes long
        greeted = []
        for player in absent:
            player.failed = None
            player.processes += 1
            player.warned = 0
            try:
                player.seat = Seat(self.launch(player.bot), self.spec.terms.flood_bytes)
            except ProgramError as problem:
                player.failed = ("start_failed", str(problem))
                continue
            self.table.add(player.seat)
            greeted.append((player, player.seat))
        timing = self.spec.terms.timing
        seconds = timing.start_ms / 1000
        wall, cpu = seconds * timing.factor, seconds if timing.cpu else math.inf
        self.table.exchange([(seat, hello(self.spec, player.bot), wall, cpu) for player, seat in greeted])
        for player, seat in greeted:
            if isinstance(seat.answer, framing.Greeting):
                continue
            if isinstance(seat.answer, Malformed):
                why = f"its first line was no hello: {seat.answer.message}: {show(seat.raw, _ECHO_SHOWN)}"
            elif seat.gone is None:
                allowed = f"{timing.start_ms} ms of CPU time" if seat.spent else f"{timing.start_ms * timing.factor} ms"
                why = f"no hello within {allowed}"
            else:
                code, detail = self.ending(seat)
                why = detail or FAULTS[code].message
            self.end_process(player)
            player.failed = ("start_failed", why)
        self.startup += self.clock() - began

    def end_process(self, player: _Player) -> Exit | None:
        seat = player.seat
        if seat is None:
            return None
        player.seat = None
        ended = self.table.remove(seat)
        self.logs.append((player.bot, player.processes, seat.capture.render()))
        return ended

    def ending(self, seat: Seat) -> tuple[str, str | None]:
        """Return the fault's code of a seat that is gone, and its detail."""
        code, ended = self.table.why_gone(seat)
        return ending(code, ended, self.spec.terms.limits)

    # -- one game

    def game(self, number: int) -> GameRecord:
        spec = self.spec
        seating = spec.seatings[number]
        chance = Chance(spec.key, number)
        starter = seating.index(self.last_winner) if self.last_winner is not None else 0
        state = deal(spec.terms.rules, spec.seats, chance, starter)
        record = GameRecord(number, seating, starter=starter)
        self.start_processes()
        players = [self.players[bot] for bot in seating]
        handles = [spec.handles[bot] for bot in seating]
        for seat, player in enumerate(players):
            player.lives = spec.terms.lives
            player.wall_bank = spec.terms.timing.bank_ms / 1000 * spec.terms.timing.factor
            player.cpu_bank = spec.terms.timing.bank_ms / 1000 if spec.terms.timing.cpu else math.inf
            if player.seat is not None:
                player.seat.capture.mark(f"--- game {number} ---")
                player.seat.send(wire.game_start(view(state, seat), number, handles))
        feed = wire.Feed(spec.seats)
        while state.board.phase.asked:
            answers = self.answers(state, players, feed, chance, record)
            before = state.board.turn
            state, events = apply(state, answers, chance)
            feed.add(events)
            for event in events:
                if isinstance(event, Exiled | Forfeited):
                    record.eliminated.append((event.seat, before))
        over = state.board.phase
        assert isinstance(over, Over)
        self.last_winner = None if over.winner is None else seating[over.winner]
        record.end(over, state.board.turn, feed.digest(), feed.count)
        for seat, player in enumerate(players):
            if player.seat is not None:
                player.seat.send(wire.game_over(number, over, feed.take(seat)))
                self.report_strays(player, player.seat, record)
        return record

    def answers(
        self, state: State, players: list[_Player], feed: wire.Feed, chance: Chance, record: GameRecord
    ) -> list[Answer]:
        """Ask all seats of the present phase at once; return their answers in the phase's order."""
        board = state.board
        question = wire.Question(board, record.game)
        asked = []
        asks = []
        timing = self.spec.terms.timing
        limit_ms, wall_limit_ms = timing.limit_ms, timing.limit_ms * timing.factor
        for number in board.phase.asked:
            player = players[number]
            sight = view(state, number)
            menu = wire.menu(legal(sight))
            seat = player.seat
            asked.append((player, sight, menu))
            if seat is not None:
                seat.answer = None  # that of an earlier line, should this one not even be sent
            if seat is not None and seat.gone is None:
                if seat.stray_count > player.warned:
                    self.warn(player, seat)
                seat.number += 1
                wall_bank_ms = _ms(player.wall_bank)
                bank_ms = _ms(player.cpu_bank) if timing.cpu else wall_bank_ms
                line = question.line(
                    sight, seat.number, feed.take(number), menu, limit_ms, bank_ms, wall_limit_ms, wall_bank_ms
                )
                asks.append((seat, line, self.wall_limit + player.wall_bank, self.cpu_limit + player.cpu_bank))
        self.table.exchange(asks)
        self.requests += len(asks)
        return [self.judge(player, sight, menu, feed, chance, record) for player, sight, menu in asked]

    def judge(
        self, player: _Player, sight: View, menu: wire.Menu, feed: wire.Feed, chance: Chance, record: GameRecord
    ) -> Answer:
        """Return the answer that counts for a seat, and book what was wrong with the one that came."""
        seat = player.seat
        if seat is None or (seat.gone is not None and seat.answer is None):
            # One that answered and left counts as gone when it is next asked: which came first is no matter of luck.
            return self.forfeit(player, record)
        reply = seat.answer
        code, detail = "illegal_move", None
        if reply is None:
            # Out of time: the bank is empty for the rest of the game (DESIGN 3), and one late answer is free.
            code = "timeout"
            if self.spec.terms.timing.cpu:
                detail = _CPU_OUT if seat.spent else _WALL_OUT
            self.book(record, seat, (seat.answered_at if seat.spent else seat.deadline) - seat.asked_at)
            player.wall_bank = 0.0
            player.cpu_bank = 0.0 if self.spec.terms.timing.cpu else math.inf
        else:
            elapsed = seat.answered_at - seat.asked_at
            self.book(record, seat, elapsed)
            if elapsed > self.wall_limit:
                player.wall_bank = max(0.0, player.wall_bank - (elapsed - self.wall_limit))
            used = seat.cpu_used / 1e9
            if used > self.cpu_limit:
                player.cpu_bank = max(0.0, player.cpu_bank - (used - self.cpu_limit))
            if isinstance(reply, Malformed):
                code, detail = reply.code, reply.message
            elif isinstance(reply, framing.Answer):
                index = menu.find(reply.move) if reply.move is not None else reply.choice
                if index is not None and 0 <= index < len(menu.moves):
                    record.words.append(menu.words[index])
                    return menu.moves[index]
                if reply.move is None:
                    detail = f"choice {show(str(reply.choice).encode(), 20)} is not one of 0 to {len(menu.moves) - 1}"
        return self.fault(player, seat, sight, code, detail, feed, chance, record)

    def book(self, record: GameRecord, seat: Seat | None, seconds: float) -> None:
        """Note what an answer took; no seat: none was asked."""
        record.times.append(round(seconds * 1_000_000))
        if self.spec.terms.timing.cpu:
            record.cpu.append(0 if seat is None else round(seat.cpu_used / 1000))

    def fault(
        self,
        player: _Player,
        seat: Seat,
        sight: View,
        code: str,
        detail: str | None,
        feed: wire.Feed,
        chance: Chance,
        record: GameRecord,
    ) -> Answer:
        """Take a life; return the default move, or a forfeit if it was the last one."""
        player.lives -= 1
        step = len(record.words)
        got = show(seat.raw, _GOT_SHOWN) if code != "timeout" else None
        if player.lives <= 0:
            record.faults.append(Fault(player.bot, code, step, got, None, detail))
            seat.gone = "out_of_lives"
            return self.forfeit(player, record, timed=True)
        # The stream's label is the game's moment: a fault of one bot never shifts another draw.
        move = default(sight, lambda below: chance.number(f"default {sight.seat}", feed.count, below))
        word = notation(move)
        record.faults.append(Fault(player.bot, code, step, got, word, detail))
        record.words.append(word)
        message = FAULTS[code].message if detail is None else f"{FAULTS[code].message}: {detail}"
        seat.send(
            encode(
                {
                    "type": "error",
                    "id": seat.number,
                    "code": code,
                    "message": f"{message}; {FAULTS[code].help}",
                    "got": None if code == "timeout" else show(seat.raw, _ECHO_SHOWN),
                    "used": wire.move_payload(move),
                    "lives": player.lives,
                }
            )
        )
        return move

    def forfeit(self, player: _Player, record: GameRecord, timed: bool = False) -> Answer:
        """Take a bot out of the game: its process ends, a new one is started for the next game."""
        step = len(record.words)
        detail = None
        if player.seat is not None:
            code, detail = self.ending(player.seat)
            self.report_strays(player, player.seat, record)
            self.end_process(player)
        elif player.forfeits >= self.spec.terms.forfeits:
            code = "retired"
        else:
            code, detail = player.failed or ("start_failed", None)
        assert FAULTS[code].consequence is Consequence.FORFEIT
        record.faults.append(Fault(player.bot, code, step, None, notation(FORFEIT), detail))
        record.words.append(notation(FORFEIT))
        if not timed:
            self.book(record, None, 0.0)
        player.forfeits += 1
        return FORFEIT

    def warn(self, player: _Player, seat: Seat) -> None:
        """Tell a bot, once a request at most, that lines of it were dropped."""
        player.warned = seat.stray_count
        rule = FAULTS["stray_line"]
        seat.send(
            encode(
                {
                    "type": "error",
                    "id": None,
                    "code": rule.code,
                    "message": f"{rule.message} was dropped; {rule.help}",
                    "got": show(seat.strays[-1], _ECHO_SHOWN) if seat.strays else None,
                    "used": None,
                    "lives": player.lives,
                }
            )
        )

    def report_strays(self, player: _Player, seat: Seat, record: GameRecord) -> None:
        if seat.stray_count:
            example = show(seat.strays[0], _GOT_SHOWN) if seat.strays else None
            record.faults.append(Fault(player.bot, "stray_line", None, example, None, None, seat.stray_count))
            seat.stray_count = player.warned = 0
            seat.strays.clear()
