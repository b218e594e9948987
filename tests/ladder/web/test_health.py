"""Tests of the pages' probes, and of what is logged and counted of requests."""

import importlib
import logging
import re

import pytest
from prometheus_client import generate_latest
from sqlalchemy import text

from ladder.store import end_runner, register_runner
from tests.ladder.web.visitors import Pages


def break_database(web: Pages) -> None:
    """Make reads of versions fail."""
    web.ladder.database.write(lambda connection: connection.execute(text("ALTER TABLE versions RENAME TO gone")))


def test_probes_need_no_sign_in_and_name_what_is_missing(web: Pages) -> None:
    """A server whose database fails still answers /healthz: restarting it wouldn't help."""
    visitor = web.visitor("anonymous")
    parts = {"ready": True, "database": "ok", "runner": "none", "table_server": "none"}
    assert visitor.get("/readyz").json() == parts
    assert visitor.get("/readyz?require=runner").status_code == 503
    assert visitor.get("/readyz?require=nonsense").status_code == 400
    runner = web.ladder.database.write(lambda connection: register_runner(connection, 1, 0.0))
    wait_for(web, "runner", "ok")
    assert visitor.get("/readyz?require=runner").status_code == 200
    assert visitor.get("/readyz?require=runner&require=table_server").status_code == 503
    web.ladder.database.write(lambda connection: end_runner(connection, runner))
    break_database(web)
    wait_for(web, "database", "unreachable")
    assert visitor.get("/readyz").status_code == 503
    assert (visitor.get("/healthz").status_code, visitor.get("/healthz").text) == (200, "ok\n")


def wait_for(web: Pages, part: str, value: str) -> None:
    """Wait for a reading; one is used for half a second."""
    while web.client.get("/readyz").json()[part] != value:
        pass


def test_a_failed_request_is_logged_with_its_id_and_no_secrets(web: Pages, caplog: pytest.LogCaptureFixture) -> None:
    visitor = web.visitor("ada")
    assert visitor.get("/bots/late").status_code == 200
    caplog.clear()  # on a busy machine the first request is slow
    break_database(web)
    failed = visitor.get("/bots/late?link=a-secret")
    assert failed.status_code == 503
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    logged = r"GET /bots/\{name\}: 503 after \d\.\d s: the database can't be used: .*versions.*"
    assert re.fullmatch(logged, record.getMessage())
    assert vars(record)["ids"] == {"request": failed.headers["x-request-id"]}


def test_an_internal_error_shows_the_id_that_is_logged(web: Pages, caplog: pytest.LogCaptureFixture) -> None:
    web.ladder.play = None  # type: ignore[assignment]  # a defect
    failed = web.visitor("ada").get("/bots/late")
    id = failed.headers["x-request-id"]
    assert (failed.status_code, id in failed.text, "content-security-policy" in failed.headers) == (500, True, True)
    [record] = [record for record in caplog.records if record.name == "ladder.web.health"]
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith("GET /bots/{name}: 500 after ")
    assert vars(record)["ids"] == {"request": id}


def test_requests_are_counted_but_not_probes(web: Pages) -> None:
    for path in ("/healthz", "/readyz?require=runner", "/start", "/start", "/nowhere"):
        web.visitor("anonymous").get(path)
    lines = generate_latest(web.client.app.state.shared.metrics.registry).decode().splitlines()  # type: ignore[attr-defined]
    shown = {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}
    counted = [shown[f'coup_pages_requests_total{{status="{kind}xx"}}'] for kind in "2345"]
    assert (counted, shown["coup_pages_response_seconds_count"]) == ([2, 0, 1, 0], 3)
    assert (shown["coup_database_up"], shown['coup_versions{state="accepted"}'] > 0) == (1, True)


def test_an_outage_that_two_threads_notice_is_logged_once(capfd: pytest.CaptureFixture[str]) -> None:
    """A request may find it, and the thread that watches the database; drivers repeat an error as a warning."""
    root = logging.getLogger()
    before = root.handlers, root.level
    try:
        journal = importlib.import_module("ladder.cli.common").Journal()
        for problem in ("no answer", "no answer; waiting up to 10 s", None, None, "no answer"):
            journal.log_database_state(problem)
        logging.getLogger("psycopg").warning("error ignored")
    finally:
        root.handlers, root.level = before
    logged = [line.split(maxsplit=1)[1] for line in capfd.readouterr().err.splitlines()]
    assert logged == ["warning no answer", "info the database is reachable again", "warning no answer"]
