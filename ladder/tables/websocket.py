"""Connect clients to a table by WebSockets, directly or through a relay between web server and table server.

Clients receive frames and send moves; a program's lines pass through. All input is untrusted: unknown input is
dropped, and a client that sends more than a person could is disconnected.

The relay is a local stream for each browser socket. A frame is a line, in both directions. The first line states the
purpose and proves the process's secret. A line that begins with "!" ends the stream: a close code, and for the
browser a reason. Frames are JSON or protocol lines and never begin so."""

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from ladder.tables.table import LiveTable, ProgramConnection, Superseded, TableClient, TableClosed

# Close codes, ours and the client's.
OVER = 1000  # ours: the match is over, or the table closed; a program's: it leaves the table
FLOOD = 1008  # too much came
LOST = 1006  # the code of a socket that was cut
SUPERSEDED = 4001  # another tab, or another client, has the seat
VOID = 4011  # the match came to no end
UNKNOWN = 4004  # the table doesn't know the secret

PING_S = 20.0  # a proxy cuts sockets that are idle for a minute
MAX_FRAME_BYTES = 70_000  # of a frame that comes: a line of the protocol, and space for escapes
_MAX_FRAME_CHARS = 4_000  # characters of a frame that comes from a person
_MAX_REASON_CHARS = 30  # characters of a reason: a close frame has space for 123 bytes
_RATE = 40  # frames a second, on the average of the time since the last pause
_MAX_BURST_FRAMES = 200
_STALLED_S = 30.0  # for what is sent to leave this machine


class ChannelClosed(Exception):  # noqa: N818  # no error: the other side went away
    """The other side closed the socket, with a code."""

    def __init__(self, code: int = LOST) -> None:
        super().__init__(code)
        self.code = code


class Channel(Protocol):
    """A socket that is open: frames of text both ways. Each method raises Gone once the other side is gone."""

    async def send(self, text: str) -> None:
        """Send a frame; return when it has left."""

    async def receive(self) -> str:
        """Wait for a frame."""

    async def close(self, code: int, reason: str) -> None:
        """Close the socket; nothing if it is closed."""


class WebChannel:
    """A WebSocket of this process's web server, as a channel. `open` first."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def open(self) -> None:
        """Accept what the client asked for."""
        await self._socket.accept()

    async def send(self, text: str) -> None:
        """Send a frame."""
        try:
            await self._socket.send_text(text)
        except WebSocketDisconnect as end:
            raise ChannelClosed(end.code) from end
        except RuntimeError as end:  # it was closed meanwhile
            raise ChannelClosed from end

    async def receive(self) -> str:
        """Wait for a frame; one of bytes is read as text."""
        try:
            message = await self._socket.receive()
        except RuntimeError as end:
            raise ChannelClosed from end
        if message["type"] == "websocket.disconnect":
            raise ChannelClosed(message.get("code") or LOST)
        text = message.get("text")
        return text if text is not None else bytes(message.get("bytes") or b"").decode("utf-8", "replace")

    async def close(self, code: int, reason: str) -> None:
        """Close the socket."""
        with suppress(RuntimeError, WebSocketDisconnect):
            await self._socket.close(code, reason)


async def serve_client(channel: Channel, table: LiveTable, secret: str | None) -> None:
    """Exchange frames and actions with a browser until the socket closes; without a secret as a spectator."""
    try:
        guest = table.join(secret)
    except KeyError:
        await channel.close(UNKNOWN, "no such place at this table")
        return
    try:
        await _both(channel, _show(channel, table, guest), _hear(channel, table, guest))
    finally:
        table.part(guest)


async def serve_program(channel: Channel, table: LiveTable, secret: str, after: int | None) -> None:
    """Carry a program's lines until the socket closes: a frame is a line. `after`: see Table.attach."""
    try:
        carrier = table.attach(secret, after)
    except KeyError:
        await channel.close(UNKNOWN, "no such place at this table")
        return
    code = LOST
    try:
        code = await _both(channel, _carry(channel, table, carrier), _pass_on(channel, table, carrier))
    finally:
        table.detach(carrier, left=code == OVER)


async def _both(channel: Channel, *ways: Coroutine[Any, Any, None]) -> int:
    """Run both ways until one ends, end the other, and close the socket; return the code that the client gave."""
    tasks = [asyncio.create_task(way) for way in ways]
    code = LOST
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for problem in [task.exception() for task in done]:
            match problem:
                case ChannelClosed():
                    code = problem.code
                case Superseded():
                    await channel.close(SUPERSEDED, "this seat is open elsewhere")
                case TableClosed():
                    await channel.close(VOID if problem.void else OVER, str(problem)[:_MAX_REASON_CHARS])
                case TimeoutError():
                    await channel.close(FLOOD, "too little was taken")
                case BaseException():
                    raise problem
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return code


# --- a person's


async def _show(channel: Channel, table: LiveTable, guest: TableClient) -> None:
    """Send what is new, until the guest is gone."""
    shown: dict[str, Any] = {}
    while True:
        frame = table.frame(guest)
        if frame != shown:
            await asyncio.wait_for(channel.send(_counted_down(frame)), _STALLED_S)
            shown = frame
        await guest.news()


def _counted_down(frame: dict[str, Any]) -> str:
    """Return a frame as it is sent: the end of the request's time as what is left of it now."""
    game = frame["game"]
    if game is not None and game["ask"] is not None and game["ask"]["ends_at"] is not None:
        ask = dict(game["ask"])
        ask["clock_s"] = max(0.0, ask.pop("ends_at") - time.monotonic())
        frame = {**frame, "game": {**game, "ask": ask}}
    return json.dumps(frame, separators=(",", ":"))


async def _hear(channel: Channel, table: LiveTable, guest: TableClient) -> None:
    """Take what comes, until the socket closes."""
    allowance, then = float(_MAX_BURST_FRAMES), time.monotonic()
    while True:
        text = await channel.receive()
        now = time.monotonic()
        allowance, then = min(_MAX_BURST_FRAMES, allowance + (now - then) * _RATE) - 1, now
        if allowance < 0 or len(text) > _MAX_FRAME_CHARS:
            await channel.close(FLOOD, "too much came at once")
            return
        with suppress(ValueError, RecursionError):
            message = json.loads(text)
            if isinstance(message, dict):
                answer = table.take(guest, message)
                if answer is not None:
                    await channel.send(json.dumps(answer))


# --- a program's


async def _carry(channel: Channel, table: LiveTable, carrier: ProgramConnection) -> None:
    """Send each line once, until the seat is taken or the table has no more."""
    while True:
        for line in table.lines(carrier):
            await asyncio.wait_for(channel.send(line), _STALLED_S)
        await carrier.news()


async def _pass_on(channel: Channel, table: LiveTable, carrier: ProgramConnection) -> None:
    """Pass on what comes, whatever it is: the referee judges it."""
    while True:
        table.say(carrier, await channel.receive())


HOST = "127.0.0.1"
UNREACHABLE = 1013  # the process that plays the table is away: come again
_FIRST_S = 5.0
_MAX_SHOWN_BYTES = 1 << 20  # bytes of a frame to a browser; one is some 10,000
_MAX_BUFFERED_BYTES = 1 << 16  # bytes on the way to a browser that takes nothing
_RELAY_STALLED_S = 30.0

RelayHello = dict[str, Any]


class StreamChannel:
    """The side of the process that plays: a channel whose other end is a web server's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(_MAX_BUFFERED_BYTES)

    async def send(self, text: str) -> None:
        """Send a frame."""
        try:
            self._writer.write(text.encode("utf-8", "replace") + b"\n")
            await self._writer.drain()
        except OSError as end:
            raise ChannelClosed from end

    async def receive(self) -> str:
        """Wait for a frame."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError) as end:
            raise ChannelClosed from end
        if not line.endswith(b"\n"):
            raise ChannelClosed
        if line.startswith(b"!"):
            raise ChannelClosed(int(line[1:]))
        return line[:-1].decode("utf-8", "replace")

    async def close(self, code: int, reason: str) -> None:
        """Have the web server close the browser's socket."""
        with suppress(OSError):
            self._writer.write(f"!{code} {reason}\n".encode())
            self._writer.close()


async def listen_for_relays(
    secret: str, come: Callable[[StreamChannel, RelayHello], Awaitable[None]]
) -> asyncio.Server:
    """Listen on a free port of this machine; `come` has each stream that shows the secret, and what it is for."""

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, ValueError, TimeoutError, RecursionError):
                hello = json.loads(await asyncio.wait_for(reader.readline(), _FIRST_S))
                if hmac.compare_digest(str(hello.pop("secret")).encode(), secret.encode()):
                    await come(StreamChannel(reader, writer), hello)
        finally:
            writer.close()

    return await asyncio.start_server(stream, HOST, 0, limit=2 * MAX_FRAME_BYTES, backlog=512)


async def relay_frames(channel: Channel, port: int, hello: RelayHello) -> None:
    """Carry frames between a browser's socket and the process at a port, until either side ends."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port, limit=_MAX_SHOWN_BYTES)
    except OSError:
        await channel.close(UNREACHABLE, "the table is away")
        return
    ways = [asyncio.create_task(way) for way in (_out(channel, reader), _in(channel, writer, hello))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        writer.close()


async def _out(channel: Channel, reader: asyncio.StreamReader) -> None:
    """Carry what is shown; close the browser's socket as the other side says."""
    line = b""
    with suppress(ChannelClosed, OSError, ValueError, TimeoutError):
        while (line := await reader.readline()).endswith(b"\n") and not line.startswith(b"!"):
            await asyncio.wait_for(channel.send(line[:-1].decode()), _RELAY_STALLED_S)
    code, _, reason = line[1:].decode().strip().partition(" ")
    if line.startswith(b"!"):
        await channel.close(int(code), reason)
    else:
        await channel.close(UNREACHABLE, "the table is away")


async def _in(channel: Channel, writer: asyncio.StreamWriter, hello: RelayHello) -> None:
    """Carry what is done; say by which code the browser's socket was closed."""
    with suppress(OSError):
        writer.write(json.dumps(hello).encode() + b"\n")
        try:
            while True:
                text = (await channel.receive()).strip().replace("\n", " ")
                if not text.startswith("!"):
                    writer.write(text.encode("utf-8", "replace") + b"\n")
                    await writer.drain()
        except ChannelClosed as end:
            writer.write(f"!{end.code}\n".encode())
            await writer.drain()
