"""Connect clients to a table by WebSockets, directly or through a relay between web server and table server.

Clients receive frames and send moves; a program's lines pass through. All input is untrusted: unknown input is
dropped, and a client that sends more than a person could is disconnected.

The relay is a local stream for each browser socket. A frame is a line, in both directions. The first line states the
purpose and proves the process's secret. A line that begins with "!" ends the stream: a close code, and for the
browser a reason. Frames are JSON or protocol lines and never begin so."""

import asyncio
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol

from pydantic import BaseModel
from starlette.websockets import WebSocket, WebSocketDisconnect

from arena.play import FrameSerializer
from arena.tables.chat import TableChat
from arena.tables.slots import ProgramConnection, RateLimit, Superseded, TableClient, TableClosed
from arena.tables.table import LiveTable

# Close codes.
OVER = 1000  # from the server: the match is over, or the table closed; from a program: it leaves the table
FLOOD = 1008  # the client sent too much, or read too slowly
LOST = 1006  # the connection was lost
SUPERSEDED = 4001  # another tab, or another client, has the seat
VOID = 4011  # the match ended without a result
UNKNOWN = 4004  # the table doesn't know the secret

PING_S = 20.0  # a proxy cuts sockets that are idle for a minute
MAX_FRAME_BYTES = 70_000  # of a received frame: a line of the protocol, and space for escapes
_MAX_FRAME_CHARS = 4_000  # of a received frame of a browser
_MAX_REASON_BYTES = 123  # of a close frame
_MAX_FRAMES_PER_S = 40  # average, beyond a burst of _MAX_BURST_FRAMES
_MAX_BURST_FRAMES = 200
_SEND_TIMEOUT_S = 30.0  # for a frame to leave this machine


class ChannelClosed(Exception):  # noqa: N818  # not an error
    """The other side closed the socket. code: the close code of the WebSocket."""

    def __init__(self, code: int = LOST) -> None:
        super().__init__(code)
        self.code = code


class Channel(Protocol):
    """An open socket for text frames. Only `receive` reports that the other side closed it, because it has the code."""

    async def send(self, text: str) -> None:
        """Send a frame; return when the transport accepts more. Do nothing if the socket is closed."""

    async def receive(self) -> str:
        """Wait for a frame, and return it. Raises ChannelClosed if the connection ends first."""

    async def close(self, code: int, reason: str) -> None:
        """Close the socket, if it is open."""


class WebChannel:
    """A Channel over a WebSocket of this process's web server. Call `open` first."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def open(self) -> None:
        await self._socket.accept()

    async def send(self, text: str) -> None:
        with suppress(RuntimeError, WebSocketDisconnect):
            await self._socket.send_text(text)

    async def receive(self) -> str:
        """Wait for a frame, and return it; a binary frame is decoded as UTF-8."""
        try:
            message = await self._socket.receive()
        except RuntimeError as end:
            raise ChannelClosed from end
        if message["type"] == "websocket.disconnect":
            raise ChannelClosed(message.get("code") or LOST)
        text = message.get("text")
        return text if text is not None else bytes(message.get("bytes") or b"").decode("utf-8", "replace")

    async def close(self, code: int, reason: str) -> None:
        """Close the socket, with as much of the reason as a close frame has space for."""
        fitting_reason = reason.encode("utf-8", "replace")[:_MAX_REASON_BYTES].decode("utf-8", "ignore")
        with suppress(RuntimeError, WebSocketDisconnect):
            await self._socket.close(code, fitting_reason)


async def serve_client(
    channel: Channel, table: LiveTable, secret: str | None, login: str | None = None, *, manages: bool = False
) -> None:
    """Send frames to a browser and receive its requests until the socket closes; without a secret, to a spectator.

    login: of the user whose browser it is. manages: whether the user opened the table.
    """
    try:
        client = table.join(secret, login, manages=manages)
    except KeyError:
        await channel.close(UNKNOWN, "you have no access to this table")
        return
    try:
        directions = [_send_frames(channel, table, client), _receive_requests(channel, table, client)]
        if table.chat is not None:
            directions.append(_send_chat(channel, table.chat, client))
        await _run_until_one_ends(channel, *directions)
    finally:
        table.remove_client(client)


async def serve_program(channel: Channel, table: LiveTable, secret: str, after: int | None) -> None:
    """Exchange a program's lines until the socket closes, one line per frame. `after`: see LiveTable.attach."""
    try:
        connection = table.attach(secret, after)
    except KeyError:
        await channel.close(UNKNOWN, "you have no access to this table")
        return
    code = LOST
    try:
        directions = _send_lines(channel, table, connection), _receive_lines(channel, table, connection)
        code = await _run_until_one_ends(channel, *directions)
    finally:
        table.detach(connection, has_left=code == OVER)


async def _run_until_one_ends(channel: Channel, *directions: Coroutine[Any, Any, None]) -> int:
    """Run all directions until one ends, cancel the others, and close the socket if the table ended it.

    Return the code with which the client closed the socket; LOST if it didn't. Raises what a direction raises, except
    for what ends a connection.
    """
    tasks = [asyncio.create_task(direction) for direction in directions]
    code = LOST
    try:
        done_tasks, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for problem in [task.exception() for task in done_tasks]:
            match problem:
                case ChannelClosed():
                    code = problem.code
                case Superseded():
                    await channel.close(SUPERSEDED, "this seat is open in another tab or program")
                case TableClosed():
                    await channel.close(VOID if problem.void else OVER, str(problem))
                case TimeoutError():
                    await channel.close(FLOOD, "the connection is too slow")
                case BaseException():
                    raise problem
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return code


# --- browsers


async def _send_frames(channel: Channel, table: LiveTable, client: TableClient) -> None:
    """Send each changed frame, with the new events. Raises Superseded, TableClosed, TimeoutError."""
    shown: dict[str, Any] = {}
    serializer = FrameSerializer()
    while True:
        frame = table.frame(client)
        if frame != shown:
            async with asyncio.timeout(_SEND_TIMEOUT_S):
                await channel.send(serializer.serialize(frame))
            shown = frame
        await client.wait_for_update()


async def _send_chat(channel: Channel, chat: TableChat, client: TableClient) -> None:
    """Send lines of chat as they come. Raises TimeoutError if the client takes a line too slowly."""
    async for message in chat.follow(client, client.slot, client.login):
        async with asyncio.timeout(_SEND_TIMEOUT_S):
            await channel.send(json.dumps(message))


async def _receive_requests(channel: Channel, table: LiveTable, client: TableClient) -> None:
    """Receive a browser's requests until the socket closes; close it if they come too fast or are too long."""
    frames = RateLimit(_MAX_BURST_FRAMES, _MAX_FRAMES_PER_S, time.monotonic)
    while True:
        text = await channel.receive()
        if not frames.count_use() or len(text) > _MAX_FRAME_CHARS:
            await channel.close(FLOOD, "too many messages at once")
            return
        message = _parse_request(text)
        reply = None if message is None else table.handle_request(client, message)
        if reply is not None:
            await channel.send(json.dumps(reply))


def _parse_request(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a browser's frame, None for anything else."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


# --- programs


async def _send_lines(channel: Channel, table: LiveTable, connection: ProgramConnection) -> None:
    """Send each line once. Raises Superseded, TableClosed, TimeoutError."""
    while True:
        for line in table.take_lines(connection):
            async with asyncio.timeout(_SEND_TIMEOUT_S):
                await channel.send(line)
        await connection.wait_for_update()


async def _receive_lines(channel: Channel, table: LiveTable, connection: ProgramConnection) -> None:
    """Pass on each received line unchecked: the referee checks it. Raises ChannelClosed."""
    while True:
        table.receive_line(connection, await channel.receive())


HOST = "127.0.0.1"
UNREACHABLE = 1013  # the process that plays the table can't be reached: try again
_HELLO_TIMEOUT_S = 5.0
_MAX_SHOWN_BYTES = 1 << 20  # of a frame to a browser; usual are 10,000
_MAX_BUFFERED_BYTES = 1 << 16  # to a browser that reads too slowly
_RELAY_SEND_TIMEOUT_S = 30.0


class RelayHello(BaseModel, strict=True):
    """The first line of a relay: a client's slot, None for a spectator, the name of its player, and the user's login.

    `after`: see LiveTable.attach, for a program.
    """

    secret: str
    table: int
    place: int | None = None
    name: str | None = None
    login: str | None = None
    program: bool = False
    after: int | None = None


def _parse_close(line: bytes) -> tuple[int, str] | None:
    """Return the close code and the reason of a stream's last line, None if it is invalid."""
    match = re.fullmatch(rb"!([14]\d{3})(?: (.*))?\n", line)
    return None if match is None else (int(match[1]), (match[2] or b"").decode("utf-8", "replace"))


class StreamChannel:
    """The table server's end of a relay: a channel over a local stream from a web server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(_MAX_BUFFERED_BYTES)

    async def send(self, text: str) -> None:
        with suppress(OSError):
            self._writer.write(text.encode("utf-8", "replace") + b"\n")
            await self._writer.drain()

    async def receive(self) -> str:
        try:
            line = await self._reader.readline()
        except (OSError, ValueError) as end:
            raise ChannelClosed from end
        if not line.endswith(b"\n"):
            raise ChannelClosed
        if line.startswith(b"!"):
            raise ChannelClosed((_parse_close(line) or (LOST, ""))[0])
        return line[:-1].decode("utf-8", "replace")

    async def close(self, code: int, reason: str) -> None:
        """Request that the web server closes the browser's socket, and close the stream."""
        with suppress(OSError):
            self._writer.write(f"!{code} {reason}\n".encode("utf-8", "replace"))
            self._writer.close()


async def listen_for_relays(
    secret: str, serve: Callable[[StreamChannel, RelayHello], Awaitable[None]], say: Callable[[str], object]
) -> asyncio.Server:
    """Listen on a free local port; `serve` gets each stream whose first line has the secret. Raises OSError.

    `say` logs a line about each other stream, which is closed.
    """

    async def serve_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one relay, if its first line is valid."""
        channel = StreamChannel(reader, writer)
        try:
            hello = await _read_hello(reader, secret)
        except (OSError, ValueError, TimeoutError):
            await channel.close(FLOOD, "invalid first line")
            say("a connection to the table server's local port was closed: its first line isn't valid")
            return
        try:
            await serve(channel, hello)
        finally:
            writer.close()

    return await asyncio.start_server(serve_stream, HOST, 0, limit=2 * MAX_FRAME_BYTES, backlog=512)


async def _read_hello(reader: asyncio.StreamReader, secret: str) -> RelayHello:
    """Return the first line of a relay. Raises OSError, ValueError for a wrong line or secret, TimeoutError."""
    hello = RelayHello.model_validate_json(await asyncio.wait_for(reader.readline(), _HELLO_TIMEOUT_S))
    if not hmac.compare_digest(hello.secret.encode(), secret.encode()):
        raise ValueError("wrong secret")
    return hello


async def relay_frames(channel: Channel, port: int, hello: RelayHello) -> None:
    """Relay frames between a browser's socket and the table server at a local port, until either side closes."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port, limit=_MAX_SHOWN_BYTES)
    except OSError:
        await channel.close(UNREACHABLE, "the table server doesn't answer")
        return
    relays = (_relay_to_browser(channel, reader), _relay_from_browser(channel, writer, hello))
    tasks = [asyncio.create_task(relay) for relay in relays]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()


async def _relay_to_browser(channel: Channel, reader: asyncio.StreamReader) -> None:
    """Relay frames to the browser; at the end close its socket with the table server's code, else UNREACHABLE."""
    line = b""
    with suppress(OSError, ValueError, TimeoutError):
        while True:
            line = await reader.readline()
            if line.startswith(b"!") or not line.endswith(b"\n"):
                break
            async with asyncio.timeout(_RELAY_SEND_TIMEOUT_S):
                await channel.send(line[:-1].decode())
    await channel.close(*(_parse_close(line) or (UNREACHABLE, "the table server doesn't answer")))


async def _relay_from_browser(channel: Channel, writer: asyncio.StreamWriter, hello: RelayHello) -> None:
    """Send the hello, then the browser's frames as lines, and at the end the close code of its socket.

    A frame that begins with "!" is dropped: only this process may end the stream.
    """
    with suppress(OSError):
        writer.write(hello.model_dump_json().encode() + b"\n")
        try:
            while True:
                line = (await channel.receive()).strip().replace("\n", " ")
                if not line.startswith("!"):
                    writer.write(line.encode("utf-8", "replace") + b"\n")
                    await writer.drain()
        except ChannelClosed as end:
            writer.write(f"!{end.code}\n".encode())
            await writer.drain()
