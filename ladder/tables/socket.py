"""A socket between a table and who is at it: a guest gets frames and sends what he does, a program's lines pass.

What comes is a stranger's: what isn't understood is dropped, and who sends more than any person could is cut off.
"""

import asyncio
import json
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect

from ladder.tables.place import Carrier, Closed, Guest, Taken
from ladder.tables.table import Table

# Close codes, ours and the client's.
OVER = 1000  # ours: the match is over, or the table closed; a program's: it leaves the table
FLOOD = 1008  # too much came
LOST = 1006  # what a socket tells that was cut
TAKEN = 4001  # another tab, or another client, has the seat
VOID = 4011  # the match came to no end
UNKNOWN = 4004  # the table doesn't know the secret

PING_S = 20.0  # a proxy cuts sockets that are idle for a minute
MOST_BYTES = 70_000  # of a frame that comes: a line of the protocol, and room for escapes
_MOST_SAID = 4_000  # characters of a frame that comes from a person
_MOST_WHY = 30  # characters of a reason: a close frame has room for 123 bytes
_RATE = 40  # frames a second, on the average of the time since the last pause
_BURST = 200
_STALLED_S = 30.0  # for what is sent to leave this machine


class Gone(Exception):  # noqa: N818  # no error: the other side went away
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
            raise Gone(end.code) from end
        except RuntimeError as end:  # it was closed meanwhile
            raise Gone from end

    async def receive(self) -> str:
        """Wait for a frame; one of bytes is read as text."""
        try:
            message = await self._socket.receive()
        except RuntimeError as end:
            raise Gone from end
        if message["type"] == "websocket.disconnect":
            raise Gone(message.get("code") or LOST)
        text = message.get("text")
        return text if text is not None else bytes(message.get("bytes") or b"").decode("utf-8", "replace")

    async def close(self, code: int, reason: str) -> None:
        """Close the socket."""
        with suppress(RuntimeError, WebSocketDisconnect):
            await self._socket.close(code, reason)


async def sit(channel: Channel, table: Table, secret: str | None) -> None:
    """Carry what a guest sees and does until the socket closes; without a secret he looks on."""
    try:
        guest = table.join(secret)
    except KeyError:
        await channel.close(UNKNOWN, "no such place at this table")
        return
    try:
        await _both(channel, _show(channel, table, guest), _hear(channel, table, guest))
    finally:
        table.part(guest)


async def attach(channel: Channel, table: Table, secret: str, after: int | None) -> None:
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
                case Gone():
                    code = problem.code
                case Taken():
                    await channel.close(TAKEN, "this seat is open elsewhere")
                case Closed():
                    await channel.close(VOID if problem.void else OVER, str(problem)[:_MOST_WHY])
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


async def _show(channel: Channel, table: Table, guest: Guest) -> None:
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


async def _hear(channel: Channel, table: Table, guest: Guest) -> None:
    """Take what comes, until the socket closes."""
    allowance, then = float(_BURST), time.monotonic()
    while True:
        text = await channel.receive()
        now = time.monotonic()
        allowance, then = min(_BURST, allowance + (now - then) * _RATE) - 1, now
        if allowance < 0 or len(text) > _MOST_SAID:
            await channel.close(FLOOD, "too much came at once")
            return
        with suppress(ValueError, RecursionError):
            message = json.loads(text)
            if isinstance(message, dict):
                answer = table.take(guest, message)
                if answer is not None:
                    await channel.send(json.dumps(answer))


# --- a program's


async def _carry(channel: Channel, table: Table, carrier: Carrier) -> None:
    """Send each line once, until the seat is taken or the table has no more."""
    while True:
        for line in table.lines(carrier):
            await asyncio.wait_for(channel.send(line), _STALLED_S)
        await carrier.news()


async def _pass_on(channel: Channel, table: Table, carrier: Carrier) -> None:
    """Pass on what comes, whatever it is: the referee judges it."""
    while True:
        table.say(carrier, await channel.receive())
