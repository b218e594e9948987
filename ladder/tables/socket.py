"""A WebSocket between a table and a guest: frames to a page, lines to a program.

What comes is a stranger's: what isn't understood is dropped, and who sends more than any person could is cut off.
"""

import asyncio
import json
import time
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from ladder.tables.table import Guest, Table, Taken

TAKEN = 4001  # close codes: another tab has the seat; the table doesn't know the secret; too much came
UNKNOWN = 4004
FLOOD = 1008
MOST_BYTES = 70_000  # of a frame: a line and its end
_RATE = 40  # frames a second, on the average of the time since the last pause
_BURST = 200
_STALLED_S = 30.0  # for what is sent to leave this machine


async def sit(socket: WebSocket, table: Table, secret: str | None, since: int | None = None) -> None:
    """Carry what a guest sees and does until the socket closes. since: carry a program's lines, from that one on."""
    await socket.accept()
    try:
        guest = table.join(secret)
    except KeyError:
        await socket.close(UNKNOWN, "no such place at this table")
        return
    tasks = [
        asyncio.create_task(_send(socket, table, guest, since)),
        asyncio.create_task(_receive(socket, table, guest, since is not None)),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            problem = task.exception()
            if isinstance(problem, Taken):
                await socket.close(TAKEN, "this seat is open elsewhere")
            elif problem is not None and not isinstance(problem, (WebSocketDisconnect, TimeoutError)):
                raise problem
    finally:
        table.part(guest)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(socket: WebSocket, table: Table, guest: Guest, since: int | None) -> None:
    """Send what is new, until the guest is gone."""
    shown = ""
    while True:
        if since is None:
            frame = json.dumps(table.frame(guest), separators=(",", ":"))
            if frame != shown:
                await asyncio.wait_for(socket.send_text(frame), _STALLED_S)
                shown = frame
        elif guest.place is not None:
            lines = table.places[guest.place].lines
            since = min(since, len(lines))  # a new match begins
            for line in lines[since:]:
                await asyncio.wait_for(socket.send_text(line.decode()), _STALLED_S)
                since += 1
        await guest.news()


async def _receive(socket: WebSocket, table: Table, guest: Guest, lines: bool) -> None:
    """Take what comes, until the socket closes."""
    allowance, then = float(_BURST), time.monotonic()
    while True:
        text = await socket.receive_text()
        now = time.monotonic()
        allowance, then = min(_BURST, allowance + (now - then) * _RATE) - 1, now
        if allowance < 0:
            await socket.close(FLOOD, "too much came at once")
            return
        if lines:
            table.take_line(guest, text.rstrip("\n").encode() + b"\n")
            continue
        with suppress(ValueError, RecursionError):
            message = json.loads(text)
            if isinstance(message, dict):
                answer = table.take(guest, message)
                if answer is not None:
                    await socket.send_text(json.dumps(answer))
