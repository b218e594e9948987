"""`arena connect`: a program of this machine at a table of a real server."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from websockets.sync.server import serve

from arena.connect import LocalProgram, MatchReporter, SeatAddress, connect_program
from arena.referee import verify_record
from tests.command import Command
from tests.tables.table_server import WAIT_S, TableServer, person, play, serve_tables

BOT = """
import json, sys
print("the program speaks", file=sys.stderr)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "bot.py").write_text(BOT, "utf-8")
    (tmp_path / "token").write_text("secret1\n", "utf-8")
    (tmp_path / "token").chmod(0o600)
    return tmp_path


def begun(
    files: Path, url: str, *words: str, program: str = "bot.py", environment: Mapping[str, str] | None = None
) -> Command:
    line = ["connect", url, "--token-file", "token", *words, "--", sys.executable, program]
    return Command(line, {**os.environ, **(environment or {})}, cwd=files, stdout=-1, stderr=-1)


def wait_for_end(command: Command) -> tuple[int, str, str]:
    out, err = command.communicate(timeout=WAIT_S)
    assert "Traceback" not in err, err
    return command.returncode, out, err


def read_until(command: Command, what: str) -> str:
    said = ""
    assert command.stderr is not None
    for line in command.stderr:
        said += line
        if what in line:
            return said
    raise AssertionError(said)


def faults(there: TableServer, match: int = 0) -> list[str]:
    return [fault.code for game in there.records[match].games for fault in game.faults]


def test_the_games_of_all_matches_count_but_not_of_a_repeated_hello() -> None:
    """A void match ends without a line, and a program that is away may miss a match's first or last ones."""
    reporter = MatchReporter()
    hello = {"type": "hello", "match": {"games": 2, "seats": 2, "your_handle": "A"}, "ruleset": {"name": "coup"}}
    hello["limits"] = {"limit_ms": 500, "bank_ms": 0}
    ends = {"type": "game_over", "winner": 0}

    def count(seed: str, *numbers: int, over: bool = True) -> str:
        """Count a match of these games, each in a new process; return the last text."""
        texts = [""]
        for number in numbers:
            start = {"type": "game_start", "game": number, "seat": 0, "players": ["A", "B"]}
            lines = ({**hello, "bot_seed": seed}, start, {**ends, "game": number})
            for message in (*lines, *[{"type": "match_over"}] * (over and number == 1)):
                texts += reporter.count_line(json.dumps(message))
        return texts[-1]

    assert count("1", 0, 1) == "match over: 2 of 2 games won, 0 faults"
    assert count("2", 0, over=False) == "game 1 of 2: you won"
    assert count("3", 1) == "match over: 4 of 6 games won, 2 not played to the end, 0 faults"
    assert count("4", 0, 1) == "match over: 6 of 8 games won, 2 not played to the end, 0 faults"


def test_a_program_plays_a_match_as_a_local_bot_does(files: Path) -> None:
    with serve_tables("bot", "program", games=2) as there:
        code, out, err = wait_for_end(begun(files, f"{there.url}/program"))
        delay = there.table.slots[1].delay_ms
    assert code == 0, err
    assert re.fullmatch(r"[012] of 2 games won, 0 faults\n", out)
    assert "the program speaks" in err
    for said in (
        "match: coup, 2 seats, you are ",
        "game 1 of 2 begins",
        "game 2 of 2: ",
        "the table is closed",
        "round-trip",
    ):
        assert said in err
    assert isinstance(delay, int)
    assert faults(there) == []
    verify_record(there.records[0])


def test_a_challenge_asks_the_server_for_a_seat(files: Path) -> None:
    with serve_tables("bot", "program") as there:
        url = there.url.replace("ws", "http")
        code, _, err = wait_for_end(begun(files, url, "--challenge", "bot0", "--games", "1", "--name", "home"))
    assert code == 0, err
    assert f"table: {url}/tables/here" in err


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("sys.exit(3)", "the program can't play: the program ended with exit code 3 before its first line"),
        ("print('x' * 70000)", "a line of more than 65536 bytes"),
        (
            '\nprint(\'{"type":"hello"}\', flush=True); sys.stdin.readline(); sys.stdin.readline(); sys.exit(4)',
            "exit code 4",
        ),
    ],
)
def test_a_crash_is_reported_and_the_match_continues(files: Path, program: str, said: str) -> None:
    (files / "bad.py").write_text(f"import sys; {program}\n", "utf-8")
    with serve_tables("bot", "program", games=2) as there:
        code, _, err = wait_for_end(begun(files, f"{there.url}/program", program="bad.py"))
        there.end()
    assert code == 1
    assert said in err, err
    assert {"exited", "start_failed"} & set(faults(there))
    verify_record(there.records[0])


def test_a_program_that_floods_is_killed() -> None:
    async def flood() -> tuple[int, str]:
        output: asyncio.Queue[tuple[LocalProgram, bytes | None]] = asyncio.Queue()
        program = await LocalProgram.start([sys.executable, "-c", "while True: print('x' * 1000)"], output)
        lines = 0
        while (await output.get())[1] is not None:
            lines += 1
        return lines, program.reason

    assert asyncio.run(flood()) == (100, "the program wrote 100 unsolicited lines")


@pytest.mark.parametrize(
    ("url", "token", "code", "said"),
    [
        ("nonsense", "secret1", 2, "isn't a server's address"),
        ("http://127.0.0.1:65536/program", "secret1", 2, "its host or its port isn't allowed"),
        ("http://a..b/program", "secret1", 2, "its host or its port isn't allowed"),
        ("HTTP://127.0.0.1:9/program", "secret1", 1, "doesn't answer"),
        ("http://127.0.0.1:9/program", "secret1", 1, "doesn't answer"),
        ("{url}/nothing", "secret1", 1, "or URL isn't the address of a seat; to open a table, add --challenge"),
        ("{url}/program", "wrong", 1, "the table rejected the token"),
        ("{url}/program", "withdrawn", 1, "this token was withdrawn"),
        ("{url}/program", "two words", 2, "doesn't contain a token"),
    ],
)
def test_errors_have_one_line(files: Path, url: str, token: str, code: int, said: str) -> None:
    (files / "token").write_text(token, "utf-8")
    with serve_tables("bot", "program") as there:
        left, _, err = wait_for_end(begun(files, url.format(url=there.url)))
    assert said in err, err
    assert left == code


def test_a_program_that_is_not_there_is_refused_before_anything_is_asked(files: Path) -> None:
    command = Command(
        ["connect", "http://127.0.0.1:9", "--token-file", "token", "--", "./nothing"], cwd=files, stderr=-1
    )
    _, err = command.communicate(timeout=WAIT_S)
    assert command.returncode == 2
    assert "./nothing can't be started" in err


def test_a_child_in_a_session_of_its_own_does_not_keep_it_from_ending(files: Path) -> None:
    """The child floods the program's output, and holds it open after the program's end."""
    child = "subprocess.Popen(['sh', '-c', 'while :; do echo; done'], start_new_session=True, stderr=-3)"
    end = f'    elif message["type"] == "match_over":\n        {child}\n        time.sleep({WAIT_S})\n'
    (files / "parent.py").write_text(BOT.replace("import json,", "import json, subprocess, time,") + end, "utf-8")
    with serve_tables("bot", "program") as there:
        code, _, err = wait_for_end(begun(files, f"{there.url}/program", program="parent.py"))
    assert code == 0, err


def test_ctrl_c_leaves_the_table(files: Path) -> None:
    with serve_tables("bot", "program", "program", games=4) as there:
        command = begun(files, f"{there.url}/program")
        read_until(command, "round-trip")
        command.send_signal(signal.SIGINT)
        assert wait_for_end(command)[0] == 130
        (files / "token").write_text("secret2", "utf-8")
        other = begun(files, f"{there.url}/program")
        read_until(other, "round-trip")
        again = (files / "token").write_text("secret1", "utf-8")
        assert again
        command = begun(files, f"{there.url}/program")
        read_until(command, "begins")
        command.send_signal(signal.SIGINT)
        assert wait_for_end(command)[0] == 130
        assert wait_for_end(other)[0] == 1  # it hasn't played all games
    assert len(there.records[0].games) < 4


def test_a_cut_socket_is_reopened_without_effect_on_the_program(files: Path) -> None:
    """It is cut several times in a game: no line is lost and none arrives twice."""
    with serve_tables("person", "program", games=1) as there:
        command = begun(files, f"{there.url}/program")
        read_until(command, "round-trip")
        with person(there, 0) as socket:
            read_until(command, "game 1 of 1 begins")
            for _ in range(3):
                there.cut()
                read_until(command, "connected again after")
            assert play(socket)["table"]["state"] == "over"
        there.on(lambda: there.table.dismiss("enough"))
        code, _, err = wait_for_end(command)
    assert code == 0, err
    assert faults(there) == []


def test_an_error_of_a_socket_that_had_worked_is_a_lost_connection(files: Path) -> None:
    texts: list[str] = []

    def say(text: str) -> None:
        texts.append(text)
        if text.startswith("game 1 of 2: "):
            raise ConnectionResetError

    with serve_tables("bot", "program", games=2) as there:
        seat = SeatAddress(f"{there.url.replace('http', 'ws')}/program", "secret1", None, "the server")
        results = asyncio.run(connect_program(seat, [sys.executable, str(files / "bot.py")], say))
    assert (results.games, results.total_games) == (2, 2)
    assert any(text.startswith("the connection was lost") for text in texts)
    assert not any("doesn't answer" in text for text in texts)


def test_a_restarted_program_stays_in_the_match_when_the_socket_is_cut(files: Path) -> None:
    """Lines to the previous process don't count."""
    once = (
        "elif message['type'] == 'request' and not died.exists():\n        died.touch()\n        sys.exit(4)\n    elif"
    )
    begins = "import pathlib\ndied = pathlib.Path('died')"
    (files / "dies.py").write_text(begins + BOT.replace("elif", once, 1), "utf-8")
    with serve_tables("person", "program", games=2) as there:
        command = begun(files, f"{there.url}/program", program="dies.py")
        with person(there, 0) as socket:
            play(socket, ends=("between",))
            socket.send('{"go_on":true}')
            read_until(command, "game 2 of 2 begins")
            there.cut()
            read_until(command, "connected again after")
            assert play(socket)["table"]["state"] == "over"
        there.on(lambda: there.table.dismiss("enough"))
        wait_for_end(command)
    assert faults(there) == ["exited"]


def test_an_unreachable_server_is_given_up(files: Path) -> None:
    with serve_tables("bot", "program", "person") as there:
        command = begun(files, f"{there.url}/program", "--reconnect-timeout", "1")
        read_until(command, "round-trip")
        there.away = True
        there.cut()
        said = read_until(command, "the seat is kept and its clock runs")
        code, _, err = wait_for_end(command)
    assert code == 1
    assert "gave up after" in said + err


def test_the_client_of_the_document_plays_a_match(files: Path) -> None:
    with serve_tables("bot", "program", games=2) as there:
        client_file = Path(__file__).parents[2] / "docs/howto/bots/websocket_client.py"
        words = [sys.executable, client_file, f"{there.url}/program", "secret1"]
        with subprocess.Popen(words, cwd=files) as client:
            while there.slots[1].lines.count < 5:
                client.poll()
            there.cut()
            assert client.wait(WAIT_S) == 0
        there.end()
    assert len(there.records[0].games) == 2
    assert faults(there) == []


def test_a_server_that_plays_no_tables_is_given_up_as_one_that_is_away(files: Path) -> None:
    with serve(lambda socket: socket.close(1013, "the table server doesn't answer"), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.socket.getsockname()[1]}/program"
        code, _, err = wait_for_end(begun(files, url, "--reconnect-timeout", "1"))
        server.shutdown()
    assert code == 1
    assert "doesn't serve tables at the moment; gave up after" in err
    assert "connected again" not in err


def test_a_table_that_its_program_never_reached_is_closed(files: Path) -> None:
    for away in (True, False):
        with serve_tables("bot", "program") as there:
            there.away = away
            url = there.url.replace("ws", "http")
            code, _, err = wait_for_end(begun(files, url, "--challenge", "bot0", "--games", "1"))
            assert (code, there.closed) == (int(away), away), err
            assert ("table here is closed" in err) is away, err


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
def test_this_machine_is_reached_without_the_proxy_of_the_environment(files: Path, proxy: str) -> None:
    environment = {f"{scheme}_proxy": proxy for scheme in ("http", "https", "all", "ws", "socks")}
    with serve_tables("bot", "program") as there:
        code, _, err = wait_for_end(begun(files, f"{there.url}/program", environment=environment))
    assert code == 0, err


def make_hello(games: object, limit_ms: int) -> str:
    match, limits = {"games": games, "seats": 2, "your_handle": "A"}, {"limit_ms": limit_ms, "bank_ms": 0}
    hello = {"type": "hello", "match": match, "limits": limits, "ruleset": {"name": "coup"}, "bot_seed": "a"}
    return json.dumps(hello, separators=(",", ":"))


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        "{}",
        "null",
        '{"type":"hello","match":[]}',
        "[" * 100_000,
        make_hello("many", 500),
        make_hello(12, 10**400),
    ],
)
def test_a_server_that_does_not_speak_the_protocol_is_reported(files: Path, line: str) -> None:
    with serve(lambda socket: socket.send(line), "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        code, _, err = wait_for_end(begun(files, f"{url}/program"))
        server.shutdown()
    assert (code, err.splitlines()[-1]) == (1, f"arena: {url} sent a line that isn't part of the protocol")
