"""The sockets of tables: who may have one, and what is carried between it and the process that plays the table.

What let somebody in is looked at again when something has happened in the ladder, and now and then without that: who
was suspended, or whose token was withdrawn, is cut off within seconds.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from ladder.access import Viewer
from ladder.service import Seat, player_of, seat_of, seat_of_program
from ladder.store.database import OVER, DatabaseError, Runner
from ladder.tables import AWAY, UNKNOWN, WebChannel, carry
from ladder.web.changes import LOOK_S, watch_of
from ladder.web.visit import Door, Id, RefusedError, bearer, gate_socket, place_for

router = APIRouter()

WITHDRAWN = 4003  # a close code: what let in lets nobody in any more
TOO_MANY = "You have too many open: close some of your tabs."
MOST_REASON = 100  # characters; a frame that closes has room for 123 bytes
LOOKS = 10  # at the ladder, after which a socket is looked at again though nothing happened


@router.websocket("/tables/{id}/socket")
async def person(socket: WebSocket, id: Id) -> None:
    """Carry what a person at a table, or one who looks on, sees and does."""
    await _carry(socket, id, False)


@router.websocket("/tables/{id}/program")
async def program(socket: WebSocket, id: Id, after: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None) -> None:
    """Carry a program's lines, a line a frame; `after`: how many it has had, None of one that begins anew."""
    await _carry(socket, id, True, after)


async def _carry(socket: WebSocket, id: int, is_program: bool, after: int | None = None) -> None:
    door: Door = socket.app.state.door
    try:
        seat = await run_in_threadpool(_seat, socket, id, is_program)
        runner = await run_in_threadpool(player_of, door.ladder, seat.evening)
        viewer = await run_in_threadpool(_account, socket)
    except RefusedError as problem:
        await socket.send_denial_response(JSONResponse({"error": problem.what}, problem.status))
        return
    except DatabaseError:
        await socket.send_denial_response(JSONResponse({"error": "the database is away"}, 503))
        return
    person = viewer.login or (None if seat.place is None else f"{id}/{seat.place}")
    with place_for(door, socket, person) as held:
        if held:
            await _carry_held(socket, seat, runner, is_program, after)
        else:
            await socket.send_denial_response(JSONResponse({"error": TOO_MANY}, 429))


async def _carry_held(
    socket: WebSocket, seat: Seat, runner: Runner | None, is_program: bool, after: int | None
) -> None:
    channel = WebChannel(socket)
    await channel.open()
    if seat.evening.state == OVER:
        await channel.close(UNKNOWN, f"this table has ended: {seat.evening.why}"[:MOST_REASON])
    elif runner is None or runner.port is None:
        await channel.close(AWAY, "the table is away")
    else:
        name = None if seat.place is None else seat.evening.places[seat.place].name
        hello = {
            "secret": runner.secret, "table": seat.evening.id, "place": seat.place, "name": name, "program": is_program,
            "after": after,
        }  # fmt: skip
        carrying = asyncio.create_task(carry(channel, runner.port, hello))
        holding = asyncio.create_task(_withdrawn(socket, seat, is_program))
        try:
            await asyncio.wait([carrying, holding], return_when=asyncio.FIRST_COMPLETED)
            if not carrying.done():
                await channel.close(WITHDRAWN, holding.result())
        finally:
            carrying.cancel()
            holding.cancel()
            await asyncio.gather(carrying, holding, return_exceptions=True)


async def _withdrawn(socket: WebSocket, seat: Seat, is_program: bool) -> str:
    """Wait until what let a socket in does so no longer; return why."""
    with watch_of(socket.app) as watch:
        seen, looks = watch.change, 0
        while True:
            await asyncio.sleep(LOOK_S)
            looks += 1
            if watch.change == seen and looks < LOOKS:
                continue
            seen, looks = watch.change, 0
            try:
                now = await run_in_threadpool(_seat, socket, seat.evening.id, is_program)
            except RefusedError as problem:
                return problem.what.splitlines()[0]
            except DatabaseError:  # nobody can say now: play goes on
                continue
            if now.place != seat.place and now.evening.state != OVER:
                return "you have sat down in another tab" if seat.place is None else "this place is another's now"


def _seat(socket: WebSocket, id: int, is_program: bool) -> Seat:
    """Return what who asks for a socket is at a table. Raises RefusedError, DatabaseError."""
    door: Door = socket.app.state.door
    token = bearer(socket)
    if is_program:
        seat = None if token is None else seat_of_program(door.ladder, id, _account(socket), token)
        if seat is None:
            raise RefusedError(401, "Show the token of a program's place: Authorization: Bearer TOKEN")
        return seat
    visit = gate_socket(socket)
    seat = seat_of(door.ladder, id, visit.viewer, socket.cookies.get(door.guest_cookie(id)))
    if seat is None:
        raise RefusedError(404, "There is no such table.")
    if seat.place is None and not (visit.reads and seat.evening.watch):
        raise RefusedError(403 if visit.viewer.login else 401, visit.why or "There is no place for you here.")
    return seat


def _account(socket: WebSocket) -> Viewer:
    """Return as whom a socket comes; a token of a place is nobody's."""
    try:
        return gate_socket(socket).viewer
    except RefusedError as problem:
        if problem.status != 401:
            raise
        return Viewer()
