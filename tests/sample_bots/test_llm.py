"""Tests of the language model's bot, against an endpoint that answers well, badly, late and not at all."""

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from arena.referee import read_record, statement_payload
from tests.cli_workspace import Place
from tests.command import completed

BOT = Path(__file__).parents[2] / "sample_bots" / "llm"
KEY = "sk-zqsecretzq"

Says = Callable[[BaseHTTPRequestHandler, str], None]


def output(handler: BaseHTTPRequestHandler, text: str, status: int = 200) -> None:
    body = json.dumps({"choices": [{"message": {"content": text}}], "usage": {"total_tokens": 7}}).encode()
    raw(handler, body, status)


def raw(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def endpoint(says: Says) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the address of an endpoint, and the requests that it got."""
    asked: list[dict[str, Any]] = []
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({**body, "authorization": self.headers["Authorization"]})
            says(self, body["messages"][-1]["content"])

        def do_GET(self) -> None:
            asked.append({"authorization": f"{self.headers['Authorization']} after a redirect"})
            output(self, '{"choice": 1}')

        def log_message(self, *given: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.ended = ended  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions", asked
    finally:
        ended.set()
        server.shutdown()
        server.server_close()


def never(handler: BaseHTTPRequestHandler, prompt: str) -> None:
    handler.server.ended.wait(60)  # type: ignore[attr-defined]


def refused(handler: BaseHTTPRequestHandler, prompt: str) -> None:
    raw(handler, b"no", 401)


def elsewhere(handler: BaseHTTPRequestHandler, prompt: str) -> None:
    handler.send_response(302)
    handler.send_header("Location", "/elsewhere")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def drip_header(handler: BaseHTTPRequestHandler, prompt: str) -> None:
    """Send a header's bytes, each in time for a socket timeout, until the client closes."""
    handler.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
    with suppress(OSError):
        while not handler.server.ended.wait(0.05):  # type: ignore[attr-defined]
            handler.wfile.write(b"x")


def said_back(handler: BaseHTTPRequestHandler, prompt: str) -> None:
    output(handler, '{"choice": 1} ' + handler.headers["Authorization"])


SAYS: dict[str, tuple[Says, int | None]] = {  # and which move counts; None: a quiet one, for no answer can be read
    "an object": (lambda handler, prompt: output(handler, '{"choice": 1}'), 1),
    "an object in a fence": (lambda handler, prompt: output(handler, 'I think.\n```json\n{"choice": 1}\n```'), 1),
    "a sentence": (lambda handler, prompt: output(handler, "Of 3 moves, my choice is 1."), 1),
    "no number": (lambda handler, prompt: output(handler, "I pass."), None),
    "no such move": (lambda handler, prompt: output(handler, '{"choice": 99}'), None),
    "a fraction": (lambda handler, prompt: output(handler, '{"choice": 1.5}'), None),
    "the key": (said_back, 1),
    "elsewhere": (elsewhere, None),
    "drops": (drip_header, None),
    "a negative one": (lambda handler, prompt: output(handler, "-1"), None),
    "a list": (lambda handler, prompt: raw(handler, b"[]"), None),
    "garbage": (lambda handler, prompt: raw(handler, b"\xff\x00<html>"), None),
    "deep": (lambda handler, prompt: raw(handler, b"[" * 100_000), None),
    "too much": (lambda handler, prompt: raw(handler, b" " * (2 << 20)), None),
    "refused": (refused, None),
    "never": (never, None),
}


def played(folder: Path, url: str, *more: str, **environment: str) -> list[dict[str, Any]]:
    """Play two games against a sample; return the bot's log."""
    log = folder / "llm.jsonl"
    names = {
        "COUP_LLM_URL": url,
        "COUP_LLM_MODEL": "fake",
        "COUP_LLM_KEY": KEY,
        "COUP_LLM_LOG": str(log),
        **environment,
    }
    words = [
        "run",
        str(BOT),
        "sample:turtle",
        "--sandbox",
        "process",
        "--games",
        "2",
        "--match-games",
        "2",
        "--out",
        "r",
    ]
    passed = [word for name in names for word in ("--pass-env", name)]
    done = completed([*words, *passed, "--seed", "1", *more], cwd=folder, env={**os.environ, **names})
    assert done.returncode == 0, done.stderr
    record = read_record((folder / "r" / "records" / "000000.jsonl").read_text("utf-8"))
    assert [fault for game in record.games for fault in game.faults] == []
    kept = (
        b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
        + (done.stdout + done.stderr).encode()
    )
    assert KEY.encode() not in kept
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def test_a_legal_move_is_played_in_time_for_any_response(tmp_path: Path) -> None:
    """The log shows the response; the key is only in the request."""
    turns = itertools.cycle(SAYS.values())
    with endpoint(lambda handler, prompt: next(turns)[0](handler, prompt)) as (url, asked):
        log = played(tmp_path, url, COUP_LLM_SECONDS="0.4", COUP_LLM_CALLS="18")
    assert max(line["seconds"] for line in log) < 0.7
    assert {each["authorization"] for each in asked} == {f"Bearer {KEY}"}
    assert asked[0]["model"] == "fake"
    assert "Duke: tax" in asked[0]["messages"][0]["content"]
    assert '0: {"action": "income"}' in "".join(each["messages"][1]["content"] for each in asked)
    heard = [line for line in log if line["heard"] != {"problem": "the budget is used up"}]
    assert len(SAYS) < len(heard) == len(asked) < len(log)
    for line, (name, (_, counts)) in zip(heard, itertools.cycle(SAYS.items()), strict=False):
        assert line["choice"] == counts, name


SPOKEN: list[tuple[str, list[dict[str, Any]]]] = [  # what the endpoint answers, and what of it is said
    ('{"choice": 0, "say": [{"says": "hold", "role": "duke"}]}', [{"says": "hold", "role": "duke"}]),
    ('Hm. {"choice": 0, "say": [{"says": "spare", "target": 0}, {"says": "spare", "target": 1}]}', [{"says": "spare"}]),
    ('{"choice": 0, "say": [{"says": "text", "text": "Peace,\\n\\u202efriends"}]}', [{"text": "Peace, friends"}]),
    ('{"choice": 0, "say": [{"says": "text", "text": "' + 300 * "x" + '"}]}', [{"text": 200 * "x"}]),
    ('{"choice": 0, "say": [{"says": "text", "text": "It is ' + KEY[:5] + "\\u200b" + KEY[5:] + '"}]}', []),
    ('{"choice": 0, "say": "hello"}', []),
    ('{"choice": 0, "say": [7, {"says": "doubt", "role": "jester", "target": []}, {"says": null}]}', []),
    ('{"choice": 0, "say": [' + ",".join(9 * ['{"says": "lack", "role": "duke"}']) + "]}", 4 * [{"says": "lack"}]),
]


def test_valid_statements_of_the_model_are_sent(tmp_path: Path) -> None:
    """Invalid ones are dropped, so that none is a fault; the key is never sent, however it is disguised."""
    answers = itertools.cycle(SPOKEN)
    with endpoint(lambda handler, prompt: output(handler, next(answers)[0])) as (url, asked):
        more = ["--rules", "open-table", "--limit-ms", "9000"]
        played(tmp_path, url, *more, COUP_LLM_CALLS=str(len(SPOKEN)))
    record = read_record((tmp_path / "r" / "records" / "000000.jsonl").read_text("utf-8"))
    wanted = [statement for _, said in SPOKEN for statement in said]
    said = [statement_payload(statement) for game in record.games for _, statement in game.statements]
    assert [{name: statement[name] for name in want} for want, statement in zip(wanted, said, strict=True)] == wanted
    assert all("You may make statements" in each["messages"][1]["content"] for each in asked)
    assert any("says: I hold the duke" in each["messages"][1]["content"] for each in asked)
    with endpoint(lambda handler, prompt: output(handler, SPOKEN[0][0])) as (url, asked):
        (tmp_path / "silent").mkdir()
        played(tmp_path / "silent", url, COUP_LLM_CALLS="3")
    assert not any("You may make statements" in each["messages"][1]["content"] for each in asked)


def test_a_busy_endpoint_is_asked_twice(tmp_path: Path) -> None:
    """A decision must not use up the calls of the match."""
    statuses = iter([503, 200, 429, 500])
    with endpoint(lambda handler, prompt: output(handler, '{"choice": 0}', next(statuses))) as (url, asked):
        log = played(tmp_path, url, "--limit-ms", "9000", COUP_LLM_CALLS="4")
    assert [line["choice"] for line in log[:2]] == [0, None]
    assert [line["calls_left"] for line in log[:2]] == [2, 0]
    assert log[0]["heard"]["usage"] == {"total_tokens": 7}
    assert log[1]["heard"] == {"problem": "HTTP 500"}
    assert asked[0]["messages"] == asked[1]["messages"]


def test_the_clock_limits_a_decision_for_any_setting(tmp_path: Path) -> None:
    with endpoint(never) as (url, _):
        log = played(tmp_path, url, "--limit-ms", "600", "--bank-ms", "800", COUP_LLM_SECONDS="inf", COUP_LLM_CALLS="2")
    assert log[0]["heard"] == {"problem": "TimeoutError"}


def test_without_an_endpoint_or_with_an_invalid_number_it_plays_quiet_moves(tmp_path: Path) -> None:
    assert played(tmp_path, "", COUP_LLM_CALLS="many") == []
    said = b"".join(file.read_bytes() for file in (tmp_path / "r" / "logs").rglob("*") if file.is_file())
    assert b"COUP_LLM_URL isn't set" in said
    assert b"COUP_LLM_CALLS isn't a number" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sandbox", "process", "--pass-env", "COUP_NO_SUCH"], "COUP_NO_SUCH: the variable isn't set"),
        (["--sandbox", "bubblewrap", "--pass-env", "PATH"], "--pass-env is for --sandbox process"),
    ],
)
def test_variables_are_passed_only_to_plain_processes(place: Place, words: list[str], says: str) -> None:
    done = place.call("run", "sample:turtle", "sample:honest", *words)
    assert done.code == 2
    assert says in done.err


def test_a_resumed_run_needs_its_variables(place: Place) -> None:
    """Their values aren't stored, so they must be set again."""
    played(place.folder, "")
    done = place.call("run", "--resume", "r")
    assert done.code == 2
    assert "--pass-env COUP_LLM_URL: the variable isn't set" in done.err
