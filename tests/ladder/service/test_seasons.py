"""Seasons: a ladder is closed and takes nothing in, and the next one begins with the same people."""

import hashlib
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, update
from starlette.testclient import TestClient

from ladder.access import Viewer
from ladder.service import (
    Ladder,
    LadderError,
    Person,
    Wanted,
    ask_to_join,
    challenge,
    choose_version,
    hold_final,
    issue,
    merge_people,
    next_season,
    open_evening,
    open_ladder,
    parse_roster,
    set_closed,
    set_frozen,
    set_password,
    set_suspended,
    sign_in_by_password,
    submit,
    submit_reference,
    take_in_people,
    viewer_of,
)
from ladder.store.database import (
    TABLES,
    active_versions,
    all_bots,
    all_owners,
    find_owner,
    find_version,
    get_file,
    versions_of,
)
from ladder.web import make_app
from tests.each import each
from tests.ladder.service.classes import hand_in, school, serve
from tests.ladder.service.term import Term, write
from tests.place import QUICK_BOT

WORDS = "a horse in a boat"
TOML = """
[[deadlines]]
name = "first"
at = 2026-12-01T23:59:00+01:00

[[baselines]]
name = "x"
points = 1
games = 9
"""


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder of ada and bob, with a bot each, and of eve, whom the staff suspended, and gus, who left."""
    with closing(school(tmp_path / "spring", "ada bob eve gus")) as made:
        for name in ("ada", "ada", "bob"):
            hand_in(made, name, name)
        set_suspended(made, "eve", True, "staff", "copied")
        owners = TABLES.tables["owners"]
        made.database.write(
            lambda connection: connection.execute(update(owners).where(owners.c.login == "gus").values(gone=True))
        )
        toml = made.path / "ladder.toml"
        toml.write_text(toml.read_text() + TOML)
        yield made


# What a closed ladder doesn't take in: the final first, which waits for no examination then.
ASKS: dict[str, Callable[[Ladder], object]] = {
    "final": lambda ladder: hold_final(ladder, "last", None, 2, "staff"),
    "submit": lambda ladder: submit(ladder, ladder.path / "ada.py", "ada", "ada"),
    "reference": lambda ladder: submit_reference(ladder, f"three={ladder.path}/bob.py"),
    "challenge": lambda ladder: challenge(ladder, "ada", ["bob"], "ada"),
    "table": lambda ladder: open_evening(ladder, Wanted(bots=("one",), me=True), "ada"),
    "choose": lambda ladder: choose_version(ladder, "ada", 1, "ada"),
    "join": lambda ladder: ask_to_join(ladder, "cyd", "Cyd", ""),
}


@each("what", ASKS)
def test_a_closed_ladder_takes_nothing_in_and_a_reopened_one_does(ladder: Ladder, what: str) -> None:
    (ladder.path / "ada.py").write_text((ladder.path / "ada.py").read_text() + "# new\n")
    assert set_closed(ladder, True, "staff", "the term is over")
    assert not set_closed(ladder, True, "staff", "again")
    with pytest.raises(LadderError, match=r"closed on 1970-01-12: the term is over"):
        ASKS[what](ladder)
    assert what != "final" or not (ladder.path / "final-last.txt").exists()
    assert set_closed(ladder, False, "staff", "not yet")
    ASKS[what](ladder)


def kinds(ladder: Ladder) -> dict[str, set[str | None]]:
    """Return what became of the matches of each kind."""
    matches = TABLES.tables["matches"]
    found: dict[str, set[str | None]] = {}
    for kind, cause in ladder.database.look(
        lambda connection: connection.execute(select(matches.c.kind, matches.c.cause)).all()
    ):
        found.setdefault(kind, set()).add(cause)
    return found


def test_a_runner_of_a_closed_ladder_begins_nothing_but_the_final_that_was_held(ladder: Ladder) -> None:
    """And goes on where it was, once it is reopened."""
    challenge(ladder, "ada", ["bob"], "ada")
    hold_final(ladder, "last", None, 2, "staff")
    set_closed(ladder, True, "staff", "over")
    serve(ladder)
    assert kinds(ladder) == {"challenge": {"cancelled"}, "final": {"played"}}
    set_closed(ladder, False, "staff", "not yet")
    serve(ladder, 1)
    assert "played" in kinds(ladder)["rated"]


def test_what_is_examined_after_the_end_does_not_play(ladder: Ladder, tmp_path: Path) -> None:
    """The table of a closed season stays as it was."""
    before = {version.label for version in ladder.database.look(active_versions)}
    (tmp_path / "new.py").write_text(f"{QUICK_BOT}# new\n")
    waits = submit(ladder, tmp_path / "new.py", "ada", "ada")
    set_closed(ladder, True, "staff", "over")
    serve(ladder)
    assert ladder.database.look(lambda connection: find_version(connection, waits.version)).state == "fit"
    assert {version.label for version in ladder.database.look(active_versions)} == before


def test_a_freeze_and_a_closing_do_not_undo_each_other(ladder: Ladder) -> None:
    set_frozen(ladder, True, "staff", "exams")
    set_closed(ladder, True, "staff", "over")
    assert set_frozen(ladder, False, "staff", "exams are over")
    with pytest.raises(LadderError):
        challenge(ladder, "ada", ["bob"], "ada")
    assert not set_frozen(ladder, False, "staff", "again")


def people(ladder: Ladder) -> list[Any]:
    owners = ladder.database.look(all_owners)
    return [replace(owner, id=0) for owner in owners if not owner.suspended and not owner.gone]


def digest(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.suffix in (".db", ".toml")
    }


def test_the_next_season_has_the_same_people_who_sign_in_as_before(ladder: Ladder, tmp_path: Path) -> None:
    """With their pseudonyms and teams; who is suspended or left stays behind; the old ladder stays as it was."""
    session = issue(ladder, "ada", "session", "staff").secret
    set_password(ladder, Viewer("ada"), WORDS)
    teams, members = TABLES.tables["teams"], TABLES.tables["team_members"]

    def team_up(connection: Connection) -> None:
        ids = {owner.login: owner.id for owner in all_owners(connection)}
        connection.execute(insert(teams).values(id=7, name="Owls", at=1.0))
        for login, until in (("ada", 2.0), ("ada", None), ("bob", None), ("eve", None)):
            connection.execute(insert(members).values(team=7, owner=ids[login], since=1.0, until=until))

    ladder.database.write(team_up)
    before = digest(ladder.path)
    made = next_season(ladder, tmp_path / "autumn", "staff")
    assert (made.people, made.bots, made.left_out) == (2, 2, ("eve",))
    assert digest(ladder.path) == before
    with closing(open_ladder(tmp_path / "autumn")) as new:
        new.clock = ladder.clock
        assert people(new) == people(ladder)
        assert (new.play, new.commitment) == (ladder.play, made.commitment)
        assert new.commitment != ladder.commitment
        assert viewer_of(new, sign_in_by_password(new, "ada", WORDS).secret, "session").login == "ada"
        with pytest.raises(Exception, match="not known"):
            viewer_of(new, session, "session")
        assert new.settings.deadlines == ()
        assert new.settings.baselines == ladder.settings.baselines
        rows = select(teams.c.name, TABLES.tables["owners"].c.login).select_from(
            members.join(teams).join(TABLES.tables["owners"])
        )
        assert sorted(new.database.look(lambda connection: connection.execute(rows).all())) == [
            ("Owls", "ada"),
            ("Owls", "bob"),
        ]
        serve(new)  # the reference bots' files came along
        take_in_people(new, [Person(1, "cyd")], "staff", "one person")
        assert len({owner.pseudonym for owner in new.database.look(all_owners)}) == 4
    with pytest.raises(LadderError, match="is a ladder already"):
        next_season(ladder, tmp_path / "autumn", "staff")
    with pytest.raises(LadderError, match="is a ladder already"):
        next_season(ladder, ladder.path, "staff")


def test_the_login_of_who_became_another_leads_on_in_the_next_season(ladder: Ladder, tmp_path: Path) -> None:
    """Also in a roster, by the email of old; of who stays behind, nobody comes."""
    for login, into in (("ada2", "ada"), ("eve2", "eve")):
        take_in_people(ladder, [Person(1, login, email=f"{login}@x.edu")], "staff", "one person")
        set_suspended(ladder, login, login == "eve2", "staff", "as eve")
        merge_people(ladder, login, into, "staff", "one person")
    assert next_season(ladder, tmp_path / "autumn", "staff").people == 2
    with closing(open_ladder(tmp_path / "autumn")) as new, new.database.read() as there:
        led = find_owner(there, "ada2")
        assert led is not None
        assert led.login == "ada"
        assert find_owner(there, "eve2") is None
        roster = parse_roster(b"email\nada2@x.edu\n", "roster.csv")
        assert take_in_people(new, roster, "staff", "roster.csv").added == 0


def test_bots_that_play_come_along_where_the_staff_says_so(ladder: Ladder, tmp_path: Path) -> None:
    """As versions to be examined, with the files that were submitted."""
    next_season(ladder, tmp_path / "autumn", "staff", bring_bots=True)
    with closing(open_ladder(tmp_path / "autumn")) as new, new.database.read() as there, ladder.database.read() as here:
        assert [version.name for version in active_versions(here)] == ["one", "two", "ada", "bob"]
        for old in active_versions(here):
            [version] = [each for bot in all_bots(there) for each in versions_of(there, bot.id) if bot.name == old.name]
            assert (version.name, version.login, version.number, version.state) == (old.name, old.login, 1, "queued")
            assert get_file(there, version.digest, version.file) == get_file(here, old.digest, old.file)


def test_the_next_season_of_a_file_is_kept_in_postgresql(ladder: Ladder, tmp_path: Path, postgres_url: str) -> None:
    next_season(ladder, tmp_path / "autumn", "staff", postgres_url)
    with closing(open_ladder(tmp_path / "autumn")) as new:
        assert new.database.sqlite is None
        assert people(new) == people(ladder)
        hand_in(new, "ada", "ada")


def test_deadlines_become_comments_and_nothing_else_does(ladder: Ladder, tmp_path: Path) -> None:
    toml = ladder.path / "ladder.toml"
    told = toml.read_text()
    more = '\n[[ deadlines ]] # one\nname = "b"\nat = 2026-12-01T00:00:00Z'
    toml.write_text(told.replace("\n[[deadlines]]", f"{more}\n[[deadlines]]"))
    next_season(ladder, tmp_path / "autumn", "staff")
    new = (tmp_path / "autumn" / "ladder.toml").read_text()
    before, after = tomllib.loads(toml.read_text()), tomllib.loads(new)
    assert len(before.pop("deadlines")) == 2
    assert (after, after["baselines"]) == (before, [{"name": "x", "points": 1, "games": 9}])
    assert [line.removeprefix("# ") for line in new.splitlines() if "2026" in line] == [
        line.removeprefix("# ") for line in toml.read_text().splitlines() if "2026" in line
    ]
    toml.write_text(f'deadlines = [{{name = "a", at = 2026-12-01T00:00:00Z}}]\n{told.replace(TOML, "")}')
    with pytest.raises(LadderError, match="can't be told apart"):
        next_season(ladder, tmp_path / "winter", "staff")
    assert not (tmp_path / "winter").exists()


def test_every_page_of_a_closed_ladder_says_so_and_the_front_has_the_whole_table(own: Term) -> None:
    with (
        closing(open_ladder(own.path)) as ladder,
        TestClient(make_app(ladder, "http://x", public=True), base_url="http://x") as client,
    ):
        assert "Take part" in client.get("/").text
        set_closed(ladder, True, "staff", "over")
        for path in ("/", "/standings", "/bots", "/bots/late", "/matches", "/queue", "/finals", "/tables"):
            assert "This season was closed on" in client.get(path).text, path
        front = client.get("/").text
        assert "The final table" in front
        assert "Take part" not in front
        assert client.get("/api").json()["closed"] == ladder.database.look(
            lambda connection: connection.execute(
                select(TABLES.tables["acts"].c.at).order_by(TABLES.tables["acts"].c.id.desc())
            ).scalar()
        )
        set_closed(ladder, False, "staff", "not yet")
        assert "This season was closed" not in client.get("/standings").text


def test_staff_closes_and_reopens_by_command(own: Term) -> None:
    own.arena("season close", "--why", "over")
    assert "already" in own.arena("season close", "--why", "over").err
    bot = write(own.path.parent / "late.py", QUICK_BOT)
    assert "closed on" in own.arena("submit", bot, "--owner", "ada", code=2).err
    assert own.json("season close", "--undo", "--why", "not yet") == {"changed": True}
    made = own.json("season next", own.path.parent / "autumn")
    assert (made["people"], made["left_out"]) == (3, [])
