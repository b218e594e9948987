"""Between a web server and the process that plays tables: a stream on this machine for each socket of a browser.

Both ways a frame is a line. The first one of a stream says what for it is, and shows the process's secret. A line
that begins with "!" is the end: a close code, and to the browser a reason. Frames are JSON or a protocol's lines, and
never begin so.
"""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from ladder.tables.socket import MOST_BYTES, Channel, Gone

HOST = "127.0.0.1"
AWAY = 1013  # the process that plays the table is away: come again
_FIRST_S = 5.0
_MOST_SHOWN = 1 << 20  # bytes of a frame to a browser; one is some 10,000
_AHEAD = 1 << 16  # bytes on the way to a browser that takes nothing
_STALLED_S = 30.0

Hello = dict[str, Any]


class StreamChannel:
    """The side of the process that plays: a channel whose other end is a web server's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(_AHEAD)

    async def send(self, text: str) -> None:
        """Send a frame."""
        try:
            self._writer.write(text.encode("utf-8", "replace") + b"\n")
            await self._writer.drain()
        except OSError as end:
            raise Gone from end

    async def receive(self) -> str:
        """Wait for a frame."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError) as end:
            raise Gone from end
        if not line.endswith(b"\n"):
            raise Gone
        if line.startswith(b"!"):
            raise Gone(int(line[1:]))
        return line[:-1].decode("utf-8", "replace")

    async def close(self, code: int, reason: str) -> None:
        """Have the web server close the browser's socket."""
        with suppress(OSError):
            self._writer.write(f"!{code} {reason}\n".encode())
            self._writer.close()


async def listen(secret: str, come: Callable[[StreamChannel, Hello], Awaitable[None]]) -> asyncio.Server:
    """Listen on a free port of this machine; `come` has each stream that shows the secret, and what it is for."""

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, ValueError, TimeoutError, RecursionError):
                hello = json.loads(await asyncio.wait_for(reader.readline(), _FIRST_S))
                if hmac.compare_digest(str(hello.pop("secret")).encode(), secret.encode()):
                    await come(StreamChannel(reader, writer), hello)
        finally:
            writer.close()

    return await asyncio.start_server(stream, HOST, 0, limit=2 * MOST_BYTES, backlog=512)


async def carry(channel: Channel, port: int, hello: Hello) -> None:
    """Carry frames between a browser's socket and the process at a port, until either side ends."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port, limit=_MOST_SHOWN)
    except OSError:
        await channel.close(AWAY, "the table is away")
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
    with suppress(Gone, OSError, ValueError, TimeoutError):
        while (line := await reader.readline()).endswith(b"\n") and not line.startswith(b"!"):
            await asyncio.wait_for(channel.send(line[:-1].decode()), _STALLED_S)
    code, _, reason = line[1:].decode().strip().partition(" ")
    if line.startswith(b"!"):
        await channel.close(int(code), reason)
    else:
        await channel.close(AWAY, "the table is away")


async def _in(channel: Channel, writer: asyncio.StreamWriter, hello: Hello) -> None:
    """Carry what is done; say by which code the browser's socket was closed."""
    with suppress(OSError):
        writer.write(json.dumps(hello).encode() + b"\n")
        try:
            while True:
                text = (await channel.receive()).strip().replace("\n", " ")
                if not text.startswith("!"):
                    writer.write(text.encode("utf-8", "replace") + b"\n")
                    await writer.drain()
        except Gone as end:
            writer.write(f"!{end.code}\n".encode())
            await writer.drain()
