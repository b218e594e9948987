"""Tests that private values are in no view, export, metric or file, for each kind of viewer."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from ladder import users
from ladder.activation import disable_bot
from ladder.bot_pages import view_bot, view_build_log, view_logs
from ladder.challenges import queue_challenges
from ladder.dashboards import list_events
from ladder.exports import export_ladder
from ladder.grading import create_final, get_commitment_file, get_final_state, get_grades, list_finals
from ladder.ladder import Ladder
from ladder.match_pages import list_matches, set_void, view_match, view_match_replay, view_queue
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.runner import LadderRunner, RunnerMetrics
from ladder.standings import rebuild_standings, view_standings
from ladder.store import METADATA, find_final
from ladder.tables import OpenTableRequest, open_session
from ladder.web import make_app
from tests.ladder.classes import add_settings, configure, hand_in, look, make_ladder, serve, sign_in
from tests.ladder.pool import workers
from tests.ladder.web.visitors import paths

PEOPLE = {name: [f"zq{name}login", f"zq{name}@mail.example", f"Zq{name.title()} Person"] for name in ("ada", "bob")}
PEOPLE["cyd"] = ["zqcydlogin", "zqcyd@mail.example", "Zqcyd Person"]
LOGINS = {name: output[0] for name, output in PEOPLE.items()}


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ladder]:
    """Give a ladder of three users, two of whom have bots, with two of everything."""
    folder = tmp_path_factory.mktemp("zqpath") / "spring"
    with closing(make_ladder(folder, owners="eve")) as made:
        rows = "".join(f"{login},{mail},{name},A\n" for login, mail, name in PEOPLE.values())
        users.import_users(
            made, users.parse_roster(f"login,email,name,section\n{rows}".encode(), "roster.csv"), "staff", "a roster"
        )
        add_settings(made, '\n[[baselines]]\nname = "plays"\npoints = 30\nmin_games = 1\n')
        for name in ("ada", "bob"):
            hand_in(made, LOGINS[name], f"{name}bot")
            hand_in(made, LOGINS[name], f"{name}bot", reason="it is wrong")
            hand_in(made, LOGINS[name], f"{name}bot")
            queue_challenges(made, f"{name}bot", ["one"], LOGINS[name])
            users.issue_secret(made, LOGINS[name], "token", "prof")
            open_session(
                made, OpenTableRequest(bots=("one",), has_own_seat=True, program="mine", user_seats=1), LOGINS[name]
            )
        create_final(made, "first", None, games=2, actor="prof")
        serve(made)
        serve(made, 4)
        [last, *_] = look(made, STAFF_VIEWER, list_matches, kind="rated").items
        set_void(made, last.id, True, LOGINS["ada"], "wrong")
        disable_bot(made, "adabot", LOGINS["bob"], "copied")
        users.set_suspended(made, LOGINS["cyd"], True, "prof", "copied, too")
        create_final(made, "second", None, games=2, actor="prof")
        rebuild_standings(made)
        yield made


def keys(ladder: Ladder) -> list[str]:
    """Return the values that no viewer may read: the keys of ladder and finals, digests of credentials, the folder."""
    with ladder.database.read() as connection:
        finals = [find_final(connection, name) for name in ("first", "second")]
        digests = connection.scalars(
            METADATA.tables["credentials"].select().with_only_columns(METADATA.tables["credentials"].c.token_sha256)
        )
        return [*(each.key.hex() for each in finals if each), *digests, ladder.match_key(1).hex(), str(ladder.path)]


def output(ladder: Ladder, viewer: Viewer) -> Iterator[tuple[str, str]]:
    with ladder.reading(viewer) as context:
        found: dict[str, object] = {
            "standings": view_standings(context),
            "queue": view_queue(context, limit=1000),
            "finals": list_finals(context),
            "matches": list_matches(context, limit=1000),
            "events": list_events(context, limit=1000),
            "owners": users.list_users(context),
        }
        for name in ("adabot", "bobbot", "one"):
            found[name] = view_bot(context, name, max_matches=1000)
            found[f"{name}'s build"] = view_build_log(context, name)
        for line in list_matches(context, limit=1000).items:
            found[f"match {line.id}"] = view_match(context, line.id)
            found[f"match {line.id} again"] = view_match_replay(context, line.id)
            for name in ("adabot", "bobbot"):
                found[f"{name}'s log of {line.id}"] = view_logs(context, line, name)
    for name in ("first", "second"):
        found[f"final {name}"] = get_final_state(ladder, name, viewer)
    found["grades"] = get_grades(ladder, "prof", viewer=viewer)
    for what, value in found.items():
        yield what, TypeAdapter(type(value)).dump_json(value).decode()


@pytest.mark.parametrize("login", [None, LOGINS["ada"], LOGINS["cyd"]])
def test_no_viewer_reads_names_of_others_or_keys(ladder: Ladder, login: str | None) -> None:
    """Viewers are the public, a user with a bot, and one without."""
    others = [*keys(ladder), *(word for person in PEOPLE.values() if login not in person for word in person)]
    seen = 0
    for what, text in output(ladder, PUBLIC_VIEWER if login is None else Viewer(login)):
        assert json.loads(text) is not None or "build" in what or "log" in what
        assert not [word for word in others if word in text], f"{what} reveals {login}"
        seen += len(text)
    assert seen > 20_000


def test_staff_reads_names_and_no_key(ladder: Ladder) -> None:
    texts = dict(output(ladder, STAFF_VIEWER))
    for person in PEOPLE.values():
        assert all(word in texts["owners"] for word in person)
    hidden = keys(ladder)
    for what, text in texts.items():
        assert not [key for key in hidden if key in text], what


def test_published_files_contain_no_name_and_no_key(ladder: Ladder, tmp_path: Path) -> None:
    """They are an export without names, a final's commitment, and Prometheus metrics."""
    files = export_ladder(ladder, tmp_path / "out", names=False)
    assert {"audit_log.csv", "versions.csv", "matches.csv", "standings.csv"} <= {file.name for file in files}
    files += [get_commitment_file(ladder, "second")]
    texts = {file.name: file.read_text() for file in files}
    texts["metrics"] = generate_latest(RunnerMetrics(LadderRunner(ladder, workers(), matches=1)).registry).decode()
    hidden = [*keys(ladder), *(word for person in PEOPLE.values() for word in person)]
    for what, text in texts.items():
        assert not [word for word in hidden if word in text], what
    assert "void" in texts["audit_log.csv"]
    named = "".join(file.read_text() for file in export_ladder(ladder, tmp_path / "named", names=True))
    assert all(word in named for person in PEOPLE.values() for word in person)


@pytest.mark.parametrize("login", [None, LOGINS["ada"]])
def test_no_page_contains_names_of_others_or_keys(ladder: Ladder, login: str | None) -> None:
    """Every route that succeeds is tested, as a page and as JSON, with complete lists."""
    users.set_suspended(ladder, LOGINS["cyd"], False, "prof", "enough")
    others = [*keys(ladder), *(word for person in PEOPLE.values() if login not in person for word in person)]
    configure(ladder, public=True)
    with TestClient(make_app(ladder, "http://x"), base_url="http://x", follow_redirects=False) as client:
        if login is not None:
            client.cookies.set("session", sign_in(ladder, login).secret)
        seen = 0
        for path in paths(ladder, ["adabot", "bobbot", "one"], ["first", "second"]):
            for prefix in ("", "/api"):
                text = client.get(prefix + path).text
                assert not [word for word in others if word in text], f"{prefix}{path} reveals {login}"
                seen += len(text)
    assert seen > 100_000
