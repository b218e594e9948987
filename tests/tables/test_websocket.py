"""Tests of a table's sockets on a real server: programs by a plain client, people, spectators, and intruders."""

import asyncio
import json
import socket as sockets
from contextlib import suppress
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import State
from websockets.sync.client import ClientConnection, connect
from websockets.uri import parse_uri

from arena import tables
from arena.referee import verify_record
from tests.tables.table_server import WAIT_S, TableServer, asks, frames, person, serve_tables


def program(there: TableServer, number: int = 1, after: int | None = None) -> ClientConnection:
    headers = {"Authorization": f"Bearer secret{number}"}
    path = "/program" if after is None else f"/program?after={after}"
    return connect(f"{there.url}{path}", additional_headers=headers)


def answer_of(line: str) -> str | None:
    """Return a program's answer to a line: the first legal move."""
    message = json.loads(line)
    if message["type"] == "hello":
        return '{"type":"hello"}'
    return json.dumps({"id": message["id"], "choice": 0}) if message["type"] == "request" else None


def faults(there: TableServer) -> list[str]:
    return [fault.code for game in there.records[0].games for fault in game.faults]


def wait_for_arrival(socket: ClientConnection) -> None:
    """Wait until the server has received everything, or has closed the socket."""
    pong = socket.ping()
    while not pong.wait(0.05) and socket.state is State.OPEN:
        pass


def closed(socket: ClientConnection) -> int | None:
    """Return the code with which the server closes a socket, after the lines before it."""
    with suppress(ConnectionClosed):
        while True:
            socket.recv(WAIT_S)
    return socket.close_code


@pytest.mark.parametrize("repeats", [False, True])
def test_a_plain_client_misses_no_line_though_it_is_disconnected_after_each(repeats: bool) -> None:
    """It sends the number of received lines, and gets each line once.

    One that can't know whether its hello or its answer had arrived sends it again, which counts once.
    """
    lines: list[Any] = []
    said = None
    with serve_tables("bot", "program", games=2) as there:
        while not lines or lines[-1]["type"] != "match_over":
            with program(there, after=len(lines) or None) as socket:
                with suppress(ConnectionClosed):  # the match may be over
                    if said and repeats:
                        socket.send(said)
                        wait_for_arrival(socket)
                line = str(socket.recv(WAIT_S))
                lines.append(json.loads(line))
                said = answer_of(line)
                if said:
                    socket.send(said)
                    wait_for_arrival(socket)
                with suppress(OSError):  # the table may have closed it just now
                    socket.socket.shutdown(sockets.SHUT_RDWR)
    assert faults(there) == []
    assert [line["type"] for line in lines].count("hello") == 1
    requests = [line["id"] for line in lines if line["type"] == "request"]
    assert requests == list(range(1, len(requests) + 1))
    verify_record(there.records[0])


def test_a_program_that_ends_forfeits_its_game_and_gets_another_hello() -> None:
    with serve_tables("bot", "program", games=2) as there:
        with program(there) as socket:
            socket.send(str(answer_of(str(socket.recv(WAIT_S)))))
            while json.loads(socket.recv(WAIT_S))["type"] != "request":
                pass
            socket.close(4010)
        types: list[str] = []
        with program(there) as socket:
            while not types or types[-1] != "match_over":
                line = str(socket.recv(WAIT_S))
                types.append(json.loads(line)["type"])
                reply = answer_of(line)
                if reply:
                    socket.send(reply)
    assert types[0] == "hello"
    assert [fault.code for fault in there.records[0].games[0].faults] == ["exited"]
    assert there.records[0].games[1].faults == ()


def test_a_program_that_leaves_is_not_awaited_and_cannot_return() -> None:
    """A close with 1000 leaves the table; an invalid `after` is closed at once."""
    with serve_tables("bot", "program", games=2) as there:
        with program(there) as socket:
            socket.recv(WAIT_S)
        there.end()
        with program(there, after=1000) as socket:
            assert closed(socket) == tables.OVER
    assert len(there.records[0].games) == 1


def test_a_program_has_left_though_a_line_to_it_failed_before_its_close_was_read() -> None:
    socket, table = Mock(WebSocket), Mock(tables.LiveTable, take_lines=Mock(return_value=["{}"]))
    table.attach.return_value.wait_for_update = partial(asyncio.sleep, 60)
    socket.send_text.side_effect = WebSocketDisconnect(1006)

    async def leave() -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return {"type": "websocket.disconnect", "code": tables.OVER}

    socket.receive = leave
    asyncio.run(tables.serve_program(tables.WebChannel(socket), table, "secret", None))
    assert table.detach.call_args.kwargs == {"has_left": True}


def test_a_long_reason_fits_into_a_close_frame() -> None:
    socket = Mock(WebSocket)
    asyncio.run(tables.WebChannel(socket).close(4003, "you are suspended: " + "ä" * 200))
    code, reason = socket.close.await_args.args
    Frame(Opcode.CLOSE, Close(code, reason).serialize()).check()
    assert reason == "you are suspended: " + "ä" * 52


def test_garbage_and_floods_are_ordinary_faults() -> None:
    with serve_tables("bot", "program", games=1) as there, program(there) as socket:
        socket.recv(WAIT_S)
        socket.send('{"type":"hello"}')
        for line in ("garbage", "\x00", "[" * 5000):
            while json.loads(socket.recv(WAIT_S))["type"] != "request":
                pass
            socket.send(line)
        while json.loads(socket.recv(WAIT_S))["type"] != "match_over":
            pass
    assert faults(there)[-1] == "out_of_lives"
    assert len(faults(there)) == 4


def test_two_clients_on_one_seat_are_one_and_the_newest_has_it() -> None:
    with serve_tables("bot", "program", "person") as there, program(there) as first, program(there):
        assert closed(first) == tables.SUPERSEDED
    with serve_tables("bot", "person", "person") as there, person(there, 1) as first, person(there, 1) as second:
        assert closed(first) == tables.SUPERSEDED
        assert frames(second, lambda frame: frame["table"])["table"]["state"] == "open"


def test_a_wrong_secret_and_a_secret_of_another_kind_open_nothing() -> None:
    with serve_tables("bot", "person", "program") as there:
        for connect_as, number in ((person, 7), (person, 2), (program, 7), (program, 1)):
            with connect_as(there, number) as socket:
                assert closed(socket) == tables.UNKNOWN
        assert not there.table.watched


def test_a_client_that_sends_too_much_is_disconnected() -> None:
    with serve_tables("bot", "person", "person") as there, person(there, 1) as first:
        for said, times in (("x" * 5000, 1), ("{}", 400)):
            with person(there, 2) as second:
                with suppress(ConnectionClosed):
                    for _ in range(times):
                        second.send(said)
                assert closed(second) == tables.FLOOD
        with person(there, 2) as second:
            assert frames(second, lambda frame: frame["game"])
            assert frames(first, lambda frame: frame["game"])


def test_bytes_garbage_and_moves_for_another_seat_are_ignored() -> None:
    with serve_tables("person", "person") as there, person(there, 0) as first, person(there, 1) as second:
        asked = None
        for socket in (first, second):
            frames(socket, lambda frame: frame["game"])
        while asked is None:  # a game is shown before its first question
            asked = next((socket for socket in (first, second) if asks(frames_now(there, socket is second))), None)
        other = second if asked is first else first
        number = asks(frames_now(there, asked is second))["id"]
        for said in (
            b"\xff\x00",
            "[" * 3000,
            "null",
            '{"answer":{"id":1e400,"choice":0}}',
            json.dumps({"answer": {"id": number, "choice": 0}}),  # the other's
            json.dumps({"answer": {"id": number, "choice": 0, "seat": 0}, "place": 0}),
        ):
            other.send(said)
        other.send('{"hint":true}')
        frames(other, lambda frame: "hint" in frame)  # all before it has been taken
        assert asks(frames_now(there, asked is second))["id"] == number
        asked.send('{"leave":true}')
        frames(other, lambda frame: frame.get("table", {}).get("state") == "over")
    assert faults(there) == ["exited"]


def frames_now(there: TableServer, second: bool) -> Any:
    """Return the frame that a slot is shown at this moment."""
    return there.on(lambda: there.table.frame(there.table.slots[int(second)].guest))  # type: ignore[arg-type]


def raw(there: TableServer, path: str) -> tuple[sockets.socket, ClientProtocol]:
    protocol = ClientProtocol(parse_uri(f"{there.url}{path}"))
    line = sockets.socket()
    line.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    line.settimeout(WAIT_S)
    line.connect(("127.0.0.1", int(there.url.rsplit(":", 1)[1])))
    protocol.send_request(protocol.connect())
    line.sendall(b"".join(protocol.data_to_send()))
    return line, protocol


def test_an_idle_socket_is_pinged() -> None:
    """Otherwise proxies close it."""
    with serve_tables("bot", "person", "person", ping_s=0.2) as there:
        line, protocol = raw(there, "/socket?secret=secret1")
        with line:
            while not any(getattr(each, "opcode", None) is Opcode.PING for each in protocol.events_received()):
                protocol.receive_data(line.recv(4096))


def test_a_repeated_request_has_the_remaining_time() -> None:
    """Earlier lines, and a request sent at once, are unchanged."""
    now = [0.0]
    lines = tables.OutboundBuffer(clock=lambda: now[0])
    request = '{"type":"request","id":1,"clock":{"limit_ms":5000,"bank_ms":60000}}'
    for line in ('{"type":"hello"}', request):
        lines.add(line)
    assert lines.list_from(0) == ['{"type":"hello"}', request]
    for now[0], limit_ms, bank_ms in ((3.0, 2_000, 60_000), (12.0, 0, 53_000), (90.0, 0, 0)):
        assert json.loads(lines.list_from(1)[0])["clock"] == {"limit_ms": limit_ms, "bank_ms": bank_ms}


INVALID_FIRST_LINES = (
    b"",
    b"\n",
    b"[1]\n",
    b"null\n",
    b"\xff\n",
    b"[" * 100_000 + b"\n",
    b'{"secret":"right"}\n',
    b'{"secret":"wrong","table":1}\n',
    b'{"secret":["right"],"table":1}\n',
    b'{"secret":"right","table":1e400}\n',
    b'{"secret":"right","table":"1"}\n',
    b'{"secret":"right","table":1,"program":"yes"}\n',
    b'{"secret":"right","table":1',
    b"GET / HTTP/1.1\r\n\r\n",
)


def test_the_local_port_closes_with_one_line_what_begins_with_no_valid_message() -> None:
    said: list[str] = []
    raised: list[Any] = []
    codes: list[int] = []

    async def come(channel: tables.StreamChannel, hello: tables.RelayHello) -> None:
        with pytest.raises(tables.ChannelClosed) as closed:
            await channel.receive()
        codes.append(closed.value.code)

    async def send(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        writer.write_eof()
        answer = b""
        with suppress(ConnectionError):  # the port was closed before all of a long line was read
            answer = await reader.read()
        writer.close()
        return answer

    async def whole() -> None:
        nonlocal port
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: raised.append(context))
        async with await tables.listen_for_relays("right", come, said.append) as server:
            port = server.sockets[0].getsockname()[1]
            for line in INVALID_FIRST_LINES:
                assert await send(line) == b"!1008 invalid first line\n", line[:50]
            await send(b"x" * 300_000)  # its answer may be lost
            assert len(said) == len(INVALID_FIRST_LINES) + 1
            for end in (b"!1001\n", b"!\n", b"!x\n", b"!" + b"9" * 5000 + b"\n", b"!-1\n", b"{", b"\xff" * 300_000):
                await send(b'{"secret":"right","table":1}\n' + end)

    port = 0
    asyncio.run(whole())
    assert codes == [1001] + [1006] * 6
    assert raised == []
    assert len(set(said)) == 1


@pytest.mark.parametrize("answer", [b"", b"!\n", b"!x y\n", b"!99999 y\n", b"\xff\n", b"!4001 \xff\n"])
def test_a_browser_is_told_to_reconnect_when_another_process_has_the_table_servers_port(answer: bytes) -> None:
    async def whole() -> tuple[int, str]:
        async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(answer)
            writer.close()

        channel = Mock(tables.Channel, receive=partial(asyncio.sleep, 60))
        async with await asyncio.start_server(stream, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await tables.relay_frames(channel, port, tables.RelayHello(secret="right", table=1))
        (closed,) = channel.close.await_args_list
        return closed.args

    code, reason = asyncio.run(whole())
    assert (code, reason) == ((4001, "\ufffd") if b"4001" in answer else (1013, "the table server doesn't answer"))
