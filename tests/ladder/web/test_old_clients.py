"""The requests of `arena submit` and `arena connect` of release 1.0, sent again to the server of today.

Each is written as those clients send it, and each field that they read is named here: none of it changes in 1.x.
"""

import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse

from arena.tables import UNKNOWN, UNREACHABLE
from tests.cases import each
from tests.cli_workspace import QUICK_BOT
from tests.ladder.term import Term
from tests.ladder.web.visitors import pages

BOUNDARY = "0123456789abcdef0123456789abcdef"
# The client of 1.0 fails if the response has another field.
SUBMITTED = {"version_ref", "name", "number", "duplicate", "late_for", "remaining", "disabled_reason"}
STEP = {"check", "severity", "message", "fix_command", "advice", "number", "sent", "received", "stderr", "timings"}


@pytest.fixture
def client(own: Term) -> Iterator[TestClient]:
    with pages(own) as web:
        yield web.visitor("token")


def submit(client: TestClient, mark: str, name: str = "") -> "tuple[int, dict[str, object]]":
    """Send what _upload_with_retries of 1.0 does: gzipped archives and files have a name, and no media type."""
    part = f"--{BOUNDARY}\r\nContent-Disposition: form-data; ".encode()
    body = part + f'name="name"\r\n\r\n{name}\r\n'.encode() + part + b'name="files"; filename="mine.py"\r\n\r\n'
    body += f"{QUICK_BOT}# {mark}\n".encode() + f"\r\n--{BOUNDARY}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Content-Length": str(len(body))}
    answered = client.post("/api/submissions", content=body, headers=headers)
    return answered.status_code, answered.json()


def test_a_bot_is_submitted_and_its_checks_are_followed(client: TestClient) -> None:
    limit = client.get("/api/submit")
    assert (limit.status_code, type(limit.json()["max_upload_mb"])) == (200, int)
    status, sent = submit(client, "new", "late")
    assert (status, set(sent)) == (201, SUBMITTED)
    assert (sent["version_ref"], sent["name"], sent["number"], sent["duplicate"]) == ("late@2", "late", 2, False)
    assert (sent["late_for"], sent["disabled_reason"], type(sent["remaining"])) == (None, None, int)
    assert submit(client, "new", "late")[1]["duplicate"] is True
    state = client.get("/api/bots/late/2").json()
    [version] = [each for each in state["versions"] if each["number"] == 2]
    assert (version["status"], version["reason"], state["checks"]["steps"]) == ("queued", None, [])
    checked = client.get("/api/bots/late/1").json()
    assert [each["status"] for each in checked["versions"] if each["number"] == 1] == ["accepted"]
    steps = checked["checks"]["steps"]
    assert {step["severity"] for step in steps} <= {"ok", "note", "warn", "fail", "now"}
    assert [STEP - set(step) for step in steps] == [set()] * len(steps)


@each("path, status", [("/api/submit", 401), ("/api/bots/nobody-s/1", 404)])
def test_a_refusal_has_its_reason_in_error(client: TestClient, path: str, status: int) -> None:
    if status == 401:
        client = TestClient(client.app, base_url=client.base_url, headers={"Authorization": "Bearer wrong"})
    refused = client.get(path)
    assert (refused.status_code, type(refused.json()["error"])) == (status, str)


def test_a_table_is_opened_for_a_program_which_connects(client: TestClient) -> None:
    """The frames are the protocol's lines, which have promises of their own."""
    body = json.dumps({"bots": ["one"], "program": "mine", "rules": "coup", "games": 3})
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    opened = client.post("/api/tables", content=body, headers=headers)
    assert opened.status_code == 201, opened.text
    table = opened.json()
    assert (type(table["page"]), type(table["program"])) == (str, str)
    for after in ("", "?after=0"):
        try:
            with client.websocket_connect(table["program"] + after) as socket:
                assert socket.receive()["code"] == UNREACHABLE == 1013, "no table server runs here"
        except WebSocketDenialResponse as refused:
            raise AssertionError(refused.status_code) from refused
    assert UNKNOWN == 4004
