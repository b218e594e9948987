"""A WebSocket between a table and a guest, who gets frames and sends what he does.

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
MOST_BYTES = 4_000  # of a frame that comes
_RATE = 40  # frames a second, on the average of the time since the last pause
_BURST = 200
_STALLED_S = 30.0  # for what is sent to leave this machine


async def sit(socket: WebSocket, table: Table, secret: str | None) -> None:
    """Carry what a guest sees and does until the socket closes."""
    await socket.accept()
    try:
        guest = table.join(secret)
    except KeyError:
        await socket.close(UNKNOWN, "no such place at this table")
        return
    tasks = [
        asyncio.create_task(_send(socket, table, guest)),
        asyncio.create_task(_receive(socket, table, guest)),
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


async def _send(socket: WebSocket, table: Table, guest: Guest) -> None:
    """Send what is new, until the guest is gone."""
    shown = ""
    while True:
        frame = json.dumps(table.frame(guest), separators=(",", ":"))
        if frame != shown:
            await asyncio.wait_for(socket.send_text(frame), _STALLED_S)
            shown = frame
        await guest.news()


async def _receive(socket: WebSocket, table: Table, guest: Guest) -> None:
    """Take what comes, until the socket closes."""
    allowance, then = float(_BURST), time.monotonic()
    while True:
        text = await socket.receive_text()
        now = time.monotonic()
        allowance, then = min(_BURST, allowance + (now - then) * _RATE) - 1, now
        if allowance < 0:
            await socket.close(FLOOD, "too much came at once")
            return
        with suppress(ValueError, RecursionError):
            message = json.loads(text)
            if isinstance(message, dict):
                answer = table.take(guest, message)
                if answer is not None:
                    await socket.send_text(json.dumps(answer))
