"""Serve the WebSockets of tables: each is authorized, then relayed to the process that plays the table.

Authorization is repeated after events of the ladder and periodically: a suspended user, or one whose token is revoked,
is disconnected within seconds.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from arena.tables import UNKNOWN, UNREACHABLE, RelayHello, WebChannel, relay_frames
from ladder.permissions import Viewer
from ladder.store import CLOSED, DatabaseError, RunnerRecord
from ladder.tables import TableAccess, find_program_access, find_table_access, find_table_server
from ladder.web import request_context
from ladder.web.change_stream import CHANGE_POLL_S, get_change_poller
from ladder.web.tables import may_watch

sockets_router = APIRouter(route_class=request_context.AuthorizedRoute)

WATCH = 1012  # close code: the page connects again, as a spectator
WITHDRAWN = 4003  # close code: the session, link or token was revoked
TOO_MANY_TABS = "Too many tabs are open. Close some of them."
MAX_UNCHECKED_POLLS = 10  # after which a socket is authorized again even without events


@sockets_router.websocket("/tables/{id}/socket")
async def person(socket: WebSocket, id: request_context.RowId) -> None:
    """Serve the socket of a player's or a spectator's page."""
    await _serve_socket(socket, id, is_program=False)


@sockets_router.websocket("/tables/{id}/program")
async def program(
    socket: WebSocket, id: request_context.RowId, after: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None
) -> None:
    """Exchange a program's lines, one per frame. `after`: how many it has received, None for a new process."""
    await _serve_socket(socket, id, is_program=True, after=after)


async def _serve_socket(socket: WebSocket, id: int, *, is_program: bool, after: int | None = None) -> None:
    """Find the viewer's slot, and relay the socket to the table's server; deny it with the status of a page.

    after: as in `program`.
    """
    state: request_context.AppState = socket.app.state.shared
    try:
        access = await run_in_threadpool(_get_access, socket, id, is_program)
        runner = await run_in_threadpool(find_table_server, state.ladder, access.session)
        viewer = await run_in_threadpool(_find_viewer, socket)
    except request_context.HTTPError as error:
        await socket.send_denial_response(JSONResponse({"error": error.message}, error.status))
        return
    except DatabaseError:
        await socket.send_denial_response(JSONResponse({"error": "the database doesn't answer"}, 503))
        return
    person = viewer.login
    if person is None and access.slot is not None:
        person = f"{id}/{access.slot}"
    with request_context.hold_connection(state, socket, person) as is_allowed:
        if is_allowed:
            hello = _make_hello(access, runner, None if viewer.token else viewer.login, is_program, after)
            await _relay_socket(socket, access, None if runner is None else runner.port, hello)
        else:
            await socket.send_denial_response(JSONResponse({"error": TOO_MANY_TABS}, 429))


def _make_hello(
    access: TableAccess, runner: RunnerRecord | None, login: str | None, is_program: bool, after: int | None
) -> RelayHello:
    """Return the first message to a table's server, with a socket's slot and user. runner: None without one."""
    return RelayHello(
        secret="" if runner is None else runner.secret or "",
        table=access.session.id,
        place=access.slot,
        name=next((slot.name for slot in access.session.slots if slot.number == access.slot), None),
        login=login,
        program=is_program,
        after=after,
    )


async def _relay_socket(socket: WebSocket, access: TableAccess, port: int | None, hello: RelayHello) -> None:
    """Relay frames between a browser or program and the table's server until either ends or access is revoked.

    port: of the table's server, None if none is alive. Then, and if the table has ended, the socket is closed.
    """
    channel = WebChannel(socket)
    await channel.open()
    if access.session.status == CLOSED:
        await channel.close(UNKNOWN, f"this table has ended: {access.session.end_reason}")
        return
    if port is None:
        await channel.close(UNREACHABLE, "the table server doesn't answer")
        return
    relaying = asyncio.create_task(relay_frames(channel, port, hello))
    revocation = asyncio.create_task(_wait_until_revoked(socket, access, hello.program))
    try:
        await asyncio.wait([relaying, revocation], return_when=asyncio.FIRST_COMPLETED)
        if not relaying.done():
            await channel.close(*revocation.result())
    finally:
        relaying.cancel()
        revocation.cancel()
        await asyncio.gather(relaying, revocation, return_exceptions=True)


async def _wait_until_revoked(socket: WebSocket, access: TableAccess, is_program: bool) -> tuple[int, str]:
    """Wait until a socket's access to its slot is revoked; return the close code and the reason.

    Access is checked after events of the ladder, and after MAX_UNCHECKED_POLLS polls without one.
    """
    with get_change_poller(socket.app) as poller:
        checked_change, unchecked_polls = poller.change, 0
        while True:
            await asyncio.sleep(CHANGE_POLL_S)
            unchecked_polls += 1
            if poller.change == checked_change and unchecked_polls < MAX_UNCHECKED_POLLS:
                continue
            checked_change, unchecked_polls = poller.change, 0
            try:
                current = await run_in_threadpool(_get_access, socket, access.session.id, is_program)
            except request_context.HTTPError as error:
                return WITHDRAWN, error.message.splitlines()[0]
            except DatabaseError:  # unknown for now: the match continues
                continue
            if current.slot != access.slot and current.session.status != CLOSED:
                if access.slot is None:
                    return WITHDRAWN, "you joined the table in another tab"
                return WATCH, "your seat was given up"


def _get_access(socket: WebSocket, id: int, is_program: bool) -> TableAccess:
    """Return the access of a socket to a table.

    Raises HTTPError if it has none, DatabaseError if the database can't be used.
    """
    return _get_program_access(socket, id) if is_program else _get_viewer_access(socket, id)


def _get_program_access(socket: WebSocket, id: int) -> TableAccess:
    """Return the access of a program to a table by its token. Raises HTTPError without a valid one."""
    state: request_context.AppState = socket.app.state.shared
    token = request_context.find_bearer_token(socket)
    access = None if token is None else find_program_access(state.ladder, id, _find_viewer(socket), token)
    if access is None:
        raise request_context.HTTPError(401, "Send the token of a remote bot: Authorization: Bearer TOKEN")
    return access


def _get_viewer_access(socket: WebSocket, id: int) -> TableAccess:
    """Return the access of a browser to a table, as a player or spectator. Raises HTTPError if it has none."""
    state: request_context.AppState = socket.app.state.shared
    request = request_context.authorize_websocket(socket)
    access = find_table_access(state.ladder, id, request.viewer, socket.cookies.get(state.guest_cookie(id)))
    if access is None:
        raise request_context.HTTPError(404, "This table doesn't exist.")
    if not may_watch(request, access):
        reason = "You have no access to this table. Ask the user that opened it for an invitation link."
        status = 403 if request.viewer.login else 401
        raise request_context.HTTPError(status, request.rejection_reason or reason)
    return access


def _find_viewer(socket: WebSocket) -> Viewer:
    """Return the viewer of a socket, the public if its token is that of a slot.

    Raises HTTPError if the socket comes from another site, or the viewer may not open it.
    """
    try:
        return request_context.authorize_websocket(socket).viewer
    except request_context.HTTPError as error:
        if error.status != 401:
            raise
        return Viewer()
