"""Connect a program on this machine to a table: relay lines between its pipes and the table's WebSocket.

The program is a plain process, and its standard error goes to the terminal. A hello starts a program and stops the
previous one, as the referee does. A new socket reports how many lines arrived since a program began to play here, so
no line is lost or duplicated. The last lines of the program are also sent again unless a newer line has arrived; the
table drops duplicates."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from protocol import LINE_LIMIT

_MAX_LINES = 100  # in answer to one line; the referee ignores 20 and treats more as a fault
_LEAVE_S = 1.0  # for the program to end after its input was closed
_POLL_S = 0.01


class LocalProgram:
    """A running program. Its lines are put into `output`, and None at its end. reason: how it ended, "" before.

    has_spoken: whether it has written a line.
    """

    def __init__(self, process: asyncio.subprocess.Process, output: "ProgramOutput") -> None:
        self.reason = ""
        self.has_spoken = False
        self._output = output
        self._process = process
        self._unsolicited = 0  # lines since the program last received one
        self._reading = asyncio.create_task(self._forward_output())

    @classmethod
    async def start(cls, command: Sequence[str], output: "ProgramOutput") -> "LocalProgram":
        """Start the program in its own session, so that Ctrl-C doesn't reach it.

        Raises OSError if the program can't be started.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, limit=LINE_LIMIT, start_new_session=True
        )
        return cls(process, output)

    async def send(self, line: str) -> None:
        """Send the program a line; do nothing if it has closed its input."""
        assert self._process.stdin is not None
        self._unsolicited = 0
        with suppress(ConnectionError):
            self._process.stdin.write(line.encode() + b"\n")
            await self._process.stdin.drain()

    async def end(self) -> None:
        """Close the program's input, and kill it if it doesn't end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LEAVE_S)  # for its child processes, too
        self.kill()
        await self._wait()
        self._reading.cancel()

    async def _wait(self) -> int:
        """Wait for the program's end, close its pipes, which processes of other sessions may hold; return its code."""
        while (code := self._process.returncode) is None:  # asyncio's `wait` would also wait for the pipes
            await asyncio.sleep(_POLL_S)
        self._process._transport.close()  # type: ignore[attr-defined]  # asyncio has no public way
        return code

    def kill(self) -> None:
        """Kill the program and its child processes."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _forward_output(self) -> None:
        """Put the program's lines into the queue until it ends, then None; set `reason`.

        A program that writes more than _MAX_LINES without a line to it, or too long a line, is killed.
        """
        assert self._process.stdout is not None
        offence = ""
        try:
            while line := await self._process.stdout.readline():
                self.has_spoken = True
                self._unsolicited += 1
                if self._unsolicited > _MAX_LINES:
                    offence = f"the program wrote {_MAX_LINES} unsolicited lines"
                    break
                self._output.put_nowait((self, line))
        except ValueError:
            offence = f"the program wrote a line of more than {LINE_LIMIT} bytes"
        if offence:
            self.kill()
        code = await self._wait()
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        self.reason = offence or f"the program ended {how}"
        self._output.put_nowait((self, None))


class MatchReporter:
    """The results of a table's matches so far: finished `games`, games `won` (a draw counts 1/k), number of faults.

    total_games: of all matches that have begun. lost: how often the program ended before its match. away_s: the
    maximum time for a move; a program that is away for longer has forfeited the game.
    """

    def __init__(self) -> None:
        self.games = 0
        self.won = 0.0
        self.faults = 0
        self.lost = 0
        self.away_s = 0.0
        self.total_games = 0
        self._match_games = 0  # of the present match
        self._bot_seed = ""  # of the present match
        self._seat = 0
        self._players: list[str] = []

    def count_line(self, line: str) -> Iterator[str]:
        """Count what a line to the program reports; yield texts to print.

        Raises ArithmeticError, AttributeError, LookupError, RecursionError, TypeError or ValueError for a line that
        isn't of the protocol.
        """
        message: dict[str, Any] = json.loads(line)
        match message["type"]:
            case "hello":
                yield self._read_hello(message)
            case "game_start":
                self._seat, self._players = message["seat"], message["players"]
                yield f"game {message['game'] + 1} of {self._match_games} begins"
            case "error":
                self.faults += 1
                substitute = f"; played instead: {json.dumps(message['used'])}" if message["used"] else ""
                yield f"fault {message['code']}: {message['message']}{substitute}; lives left: {message['lives']}"
            case "game_over":
                yield f"game {message['game'] + 1} of {self._match_games}: {self._count_game(message)}"
            case "match_over":
                yield f"match over: {self.summary}"

    @property
    def summary(self) -> str:
        """The results as text."""
        missing_games = self.total_games - self.games
        note = f", {missing_games} not played to the end" if missing_games > 0 else ""
        return f"{self.won:g} of {self.total_games} games won{note}, {self.faults} faults"

    def _read_hello(self, message: dict[str, Any]) -> str:
        """Store the match's number of games and its time limits; return the match in words.

        A program that is started again during a match gets another hello, with the same seed.
        """
        match, limits = message["match"], message["limits"]
        self._match_games = int(match["games"])
        if message["bot_seed"] != self._bot_seed:
            self.total_games += self._match_games
        self._bot_seed = message["bot_seed"]
        self.away_s = (limits["limit_ms"] + limits["bank_ms"]) / 1000
        clock = f"{limits['limit_ms'] / 1000:g} s per move, then {limits['bank_ms'] / 1000:g} s per game"
        rules = message["ruleset"]["name"]
        return f"match: {rules}, {match['seats']} seats, you are {match['your_handle']}; {clock}"

    def _count_game(self, message: dict[str, Any]) -> str:
        """Count a game that has ended, and return its result in words. A draw counts as a share of a win."""
        self.games += 1
        winner = message["winner"]
        if winner == self._seat:
            self.won += 1
            return "you won"
        if winner is not None:
            return f"{self._players[winner]} won"
        survivors = message.get("survivors", [])
        if self._seat in survivors:
            self.won += 1 / len(survivors)
        return "a draw"


ProgramOutput = asyncio.Queue[tuple[LocalProgram, bytes | None]]

_OVER = 1000  # close code of both sides, see docs/howto/bots/connect-a-remote-bot.md
_ENDS = {
    1008: "the table closed the connection",
    4001: "another client used the same token and took over the seat",
    4004: "the table rejected the token",
    4011: "the match is void",
}
_IDLE = 1013  # close code of the server: it plays no tables at present
_RECONNECT = 4010  # close code of this client: another socket follows
_RETRY_PAUSES_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_PING_INTERVAL_S = 20.0
_DELAY_CHANGE_MS = 20  # smaller changes of the delay aren't reported to the table
_MIN_RECONNECT_S = 5.0  # even if the program's clock is shorter
_TYPE_CHARS = 40  # at a line's start, which contain its type


class ConnectError(Exception):
    """The program can't continue; the message is one line. `usage`: whether the arguments were wrong."""

    def __init__(self, text: str, *, usage: bool = False) -> None:
        super().__init__(text)
        self.usage = usage


class _TableClosedError(Exception):
    """The table has closed after its last match."""


class _NoRedirectConnection(connect):
    """A connection that follows no redirects, so that no other server gets the token."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@dataclass(frozen=True, slots=True)
class SeatAddress:
    """The WebSocket address of a seat, the address of an HTTP proxy to it, if any, and the server's name in messages.

    on_unreached: called if no socket to the seat was ever open.
    """

    url: str
    token: str
    proxy: str | None
    called: str
    on_unreached: Callable[[], object] | None = None


async def connect_program(
    seat: SeatAddress, command: Sequence[str], say: Callable[[str], None], reconnect_timeout_s: float | None = None
) -> MatchReporter:
    """Relay a program's lines until the table closes; return the results.

    `say` is called with a text for each event. `reconnect_timeout_s`: how long to try to reconnect; None for as long
    as the program's clock runs. Raises ConnectError if the table refuses the client or can't be reached, or the program
    can't be started or ends before its first line.
    """
    connected = _ConnectedProgram(seat, command, say, reconnect_timeout_s)
    try:
        await connected.run()
    finally:
        if connected.program is not None:
            await connected.program.end()
        if not connected.was_open and seat.on_unreached is not None:
            seat.on_unreached()
    return connected.reporter


class _ConnectedProgram:
    """A program and its socket, which is opened again when it is lost."""

    def __init__(
        self, seat: SeatAddress, command: Sequence[str], say: Callable[[str], None], reconnect_timeout_s: float | None
    ) -> None:
        self.reporter = MatchReporter()
        self.program: LocalProgram | None = None
        self._seat, self._command, self._reconnect_timeout_s = seat, command, reconnect_timeout_s
        self._say = say
        self.was_open = False  # whether a socket was ever open
        self._is_fresh = True  # whether no program here has begun to play
        self._count = 0  # lines received since a program began to play
        self._output: ProgramOutput = asyncio.Queue()
        self._reply = b""  # the program's last line since the last received line
        self._is_playing = False
        self._delay_ms: int | None = None
        self._lost_at: float | None = None  # when the last useful socket was lost, by the monotonic clock; else None
        self._tries = 0  # to open another one since then
        self._is_idle = False  # whether the server closed the last socket with _IDLE

    async def run(self) -> None:
        """Keep a socket open, again when it was lost, until the table closes. Raises like `connect_program`."""
        while True:
            try:
                problem = await self._relay_until_lost()
            except _TableClosedError:
                return
            if problem is not None:
                self._note_loss(problem)
                await asyncio.sleep(_RETRY_PAUSES_S[min(self._tries, len(_RETRY_PAUSES_S) - 1)])
                self._tries += 1

    async def _relay_until_lost(self) -> str | None:
        """Open a socket, and relay until it is lost; return why it was lost, None if the program has ended.

        Raises _TableClosedError after the last match, ConnectError like `connect_program`.
        """
        problem, is_open = None, False
        if self._is_fresh:
            self._count = 0
        try:
            async with self._make_socket() as socket:
                if self._lost_at is not None and not self._is_idle:
                    self._say(f"connected again after {time.monotonic() - self._lost_at:.1f} s")
                self._is_fresh, self.was_open, is_open = False, True, True
                await self._relay(socket)
        except ConnectionClosed as end:
            self._require_open_table(end)
            self._is_idle = end.rcvd is not None and end.rcvd.code == _IDLE
            if self._is_idle:  # the socket was of no use: the first one is still lost
                return "the server doesn't serve tables at the moment"
            problem = "the connection was lost"
        except (OSError, InvalidHandshake, InvalidURI) as error:
            if not is_open:
                return self._explain_failed_opening(error)
            self._is_idle, problem = False, "the connection was lost"
        self._tries, self._lost_at = 0, None
        return problem

    def _explain_failed_opening(self, error: Exception) -> str:
        """Return why a socket couldn't be opened. Raises ConnectError for a refusal, or if none was ever open."""
        if isinstance(error, InvalidURI):
            raise ConnectError(f"{self._seat.url} isn't a table's address: use https://", usage=True) from None
        problem = f"{self._seat.called} doesn't answer: {str(error) or type(error).__name__}"
        is_refusal = False
        if isinstance(error, InvalidStatus):
            problem, is_refusal = _refusal_text(error), error.response.status_code < 500
        if is_refusal or not self.was_open:
            raise ConnectError(problem) from None
        return problem

    def _note_loss(self, problem: str) -> None:
        """Report a lost socket once, and note when it was lost. Raises ConnectError if that is too long ago."""
        now, timeout_s = time.monotonic(), self._reconnect_timeout_s
        if timeout_s is None:
            timeout_s = max(_MIN_RECONNECT_S, self.reporter.away_s)
        if self._lost_at is None:
            self._say(f"{problem}; the seat is kept and its clock runs; trying again for {timeout_s:.0f} s")
            self._lost_at = now
        elif now - self._lost_at > timeout_s:
            raise ConnectError(f"{problem}; gave up after {now - self._lost_at:.0f} s")

    def _make_socket(self) -> connect:
        """Return a connection that isn't open yet; a program that plays continues after the lines that it received."""
        return _NoRedirectConnection(
            self._seat.url if self._is_fresh else f"{self._seat.url}?after={self._count}",
            additional_headers={"Authorization": f"Bearer {self._seat.token}"},
            proxy=self._seat.proxy,
            max_size=1 << 20,  # of a received line
            open_timeout=15.0,
            close_timeout=2.0,
            ping_interval=_PING_INTERVAL_S,
            ping_timeout=_PING_INTERVAL_S,
        )

    def _require_open_table(self, end: ConnectionClosed) -> None:
        """Raise _TableClosedError after the last match, which is reported, ConnectError if the seat is lost."""
        code, reason = (end.rcvd.code, end.rcvd.reason) if end.rcvd is not None else (None, "")
        if code == _OVER:
            self._say(f"the table is closed: {reason or 'no more matches'}")
            raise _TableClosedError
        if code in _ENDS:
            raise ConnectError(f"{_ENDS[code]}{f': {reason}' if reason else ''}") from None

    async def _relay(self, socket: ClientConnection) -> None:
        """Relay in both directions until the program ends. Raises ConnectionClosed when the socket does.

        Raises ConnectError if the program can't play, or the table sends a line that isn't of the protocol.
        """
        if self._reply:
            await socket.send(self._reply.decode("utf-8", "replace"))
        delay_task = asyncio.create_task(self._measure_delay(socket))
        directions = [
            asyncio.create_task(self._relay_to_program(socket)),
            asyncio.create_task(self._relay_to_table(socket)),
        ]
        try:
            ended_directions, _ = await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
            for direction in ended_directions:
                await direction
        except (ConnectError, asyncio.CancelledError):
            await socket.close(_OVER, "it leaves")
            raise
        finally:
            for task in (delay_task, *directions):
                task.cancel()
            await asyncio.gather(delay_task, *directions, return_exceptions=True)
        await socket.close(_RECONNECT, "the program has ended")

    async def _relay_to_program(self, socket: ClientConnection) -> None:
        """Relay received lines to the program, start it at a hello, and end it after the match.

        Raises ConnectionClosed when the socket is lost, ConnectError for a line that isn't of the protocol, or if the
        program can't be started.
        """
        while True:
            frame = await socket.recv()
            line = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
            self._count += 1
            self._reply = b""
            try:
                texts = tuple(self.reporter.count_line(line))
            except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
                raise ConnectError(f"{self._seat.called} sent a line that isn't part of the protocol") from None
            for text in texts:
                self._say(text)
            if '"type":"hello"' in line[:_TYPE_CHARS]:
                await self._start_program()
            if self.program is not None:
                await self.program.send(line)
            if '"type":"match_over"' in line[:_TYPE_CHARS] and self.program is not None:
                self._is_playing = False
                await self.program.end()
                self.program = None

    async def _start_program(self) -> None:
        """Start the program in place of the previous one. Raises ConnectError if it can't be started."""
        if self.program is not None:
            await self.program.end()
        try:
            self.program = await LocalProgram.start(self._command, self._output)
        except OSError as problem:
            raise ConnectError(f"{self._command[0]} can't be started: {problem.strerror}", usage=True) from None
        self._is_playing = True

    async def _relay_to_table(self, socket: ClientConnection) -> None:
        """Relay lines of the program to the table, until it ends during a match.

        Raises ConnectionClosed when the socket is lost, ConnectError if the program ends before its first line.
        """
        while True:
            program, line = await self._output.get()
            if program is not self.program:
                continue
            if line is not None:
                self._reply = line.rstrip(b"\n")
                await socket.send(self._reply.decode("utf-8", "replace"))
            elif self._is_playing:
                self.program, self._is_fresh, self._reply = None, True, b""
                self.reporter.lost += 1
                if not program.has_spoken:
                    raise ConnectError(f"the program can't play: {program.reason} before its first line")
                self._say(f"{program.reason}; this game is lost, and the next game restarts the program")
                return

    async def _measure_delay(self, socket: ClientConnection) -> None:
        """Measure the round-trip delay regularly, and send it to the table."""
        with suppress(ConnectionClosed):
            while True:
                delay_ms = round(1000 * await (await socket.ping()))
                if self._delay_ms is None:
                    self._say(f"connected; round-trip time {delay_ms} ms")
                if self._delay_ms is None or abs(delay_ms - self._delay_ms) > _DELAY_CHANGE_MS:
                    self._delay_ms = delay_ms
                await socket.send(f'{{"type":"delay","ms":{self._delay_ms}}}')
                await asyncio.sleep(_PING_INTERVAL_S)


def _refusal_text(refusal: InvalidStatus) -> str:
    """Return the error of a server that refused the WebSocket, as text."""
    status, body = refusal.response.status_code, refusal.response.body or b""
    with suppress(ValueError, KeyError, TypeError):
        return str(json.loads(body)["error"])
    if status in (401, 403):
        return "the server rejected the token, or URL isn't the address of a seat; to open a table, add --challenge"
    return "the server doesn't have this table" if status == 404 else f"the server answered with status {status}"
