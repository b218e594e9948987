"""Tests that erasing a user leaves nothing about the person, and that no column is forgotten."""

import zlib
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, LargeBinary, String

from arena.coup import PRESETS
from arena.referee import read_record, write_record
from ladder import users
from ladder.activation import activate_version, disable_bot
from ladder.bot_pages import view_bot
from ladder.bots import find_similar_versions, submit_bot
from ladder.grading import release_grades, reproduce_release
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.settings import LadderError
from ladder.store import METADATA, PERSONAL_COLUMNS, STAYING_COLUMNS, find_session_record, save_session_match
from ladder.tables import OpenTableRequest, close_session, open_session
from ladder.team_invitations import accept_invitation, form_team, invite_to_team
from tests.ladder.classes import Clock, add_settings, configure, deadline, extend, hand_in, look, make_ladder
from tests.replay.games import random_game

NAMES = ("zqada", "zqname", "zqmail", "zq77")


def test_each_column_of_text_is_personal_or_stays() -> None:
    columns = {
        f"{table.name}.{column.name}"
        for table in METADATA.sorted_tables
        for column in table.c
        if isinstance(column.type, String | LargeBinary)
    }
    assert columns == PERSONAL_COLUMNS.keys() | STAYING_COLUMNS, "list a new column of text in erasure.py"
    assert not PERSONAL_COLUMNS.keys() & STAYING_COLUMNS


def list_texts(ladder: Ladder) -> set[tuple[str, str]]:
    """Return all values of the database as texts, also those that are compressed, with their columns."""
    found = set()
    with ladder.database.read() as connection:
        for table in METADATA.sorted_tables:
            for row in connection.execute(table.select()).mappings():
                for column, cell in row.items():
                    text = str(cell)
                    with suppress(TypeError, zlib.error):
                        text = zlib.decompress(cell).decode(errors="replace")
                    found.add((f"{table.name}.{column}", text))
    return found


def list_personal_columns(ladder: Ladder) -> set[str]:
    return {column for column, text in list_texts(ladder) if any(name in text.lower() for name in NAMES)}


def test_erasing_leaves_no_name_login_or_reason_of_a_person(tmp_path: Path) -> None:
    roster = b"login,name,email,student_id,section\nzqada,Zqname Person,a@zqmail.example,zq77,zqada's\nbob,Bob,,,\n"
    with closing(make_ladder(tmp_path / "spring", "cyd")) as ladder:
        configure(ladder, max_team_members=4)
        add_settings(ladder, deadline("first", 2e6))
        add_settings(ladder, '\n[[baselines]]\nname = "plays"\npoints = 30\nmin_games = 1\n')
        ask = users.issue_secret(ladder, "staff", "join", "staff", "ask").secret
        users.create_account(ladder, ask, "zqada", "Zqname", "")
        users.refuse_applicant(ladder, "zqada", "staff", "not yet")
        users.import_users(ladder, users.parse_roster(roster, "r.csv"), "staff", "r.csv")
        users.create_account(
            ladder, users.issue_secret(ladder, "staff", "join", "staff", "join").secret, "erased-3", "Eve", ""
        )
        form_team(ladder, "zqada", "Red")
        accept_invitation(ladder, "bob", invite_to_team(ladder, "zqada").secret)
        hand_in(ladder, "cyd", "other")
        hand_in(ladder, "zqada", "bot", reason="zqname.py: no bot")
        hand_in(ladder, "zqada", "bot")
        extend(ladder, "zqada", days=7, reason="Zqname is ill")
        disable_bot(ladder, "bot", "prof", "Zqname copied it")
        table = open_session(ladder, OpenTableRequest(bots=("one", "one"), program="zqadas-bot"), "zqada").session
        record = random_game(PRESETS["coup"], 3, 1)
        record = replace(record, header=replace(record.header, bots=("one", "one", "zqadas-bot")))
        played = [(slot.number, 0.0) for slot in table.slots]

        def store(connection: Connection) -> None:
            save_session_match(
                connection, table.id, 0, write_record(record), games=1, is_complete=True, timestamp=1.0, players=played
            )

        ladder.database.write(store)
        ladder.clock = Clock(4e6)
        release_grades(ladder, "grades", "prof", None, deadline="first")
        for name, login in (("other.py", "cyd"), ("zqname.py", "zqada")):  # the same files under two names
            (tmp_path / name).write_text("print()\n")
            submit_bot(ladder, tmp_path / name, login, name="other" if login == "cyd" else "bot")
        before = list_personal_columns(ladder)
        assert {
            "audit_log.reason",
            "grade_releases.data",
            "versions.single_file_name",
            "archives.single_file_name",
        } < before
        assert {"session_slots.name", "session_matches.data", "versions.rejection_reason", "users.section"} < before
        with pytest.raises(LadderError, match="Nothing was erased"):
            users.erase_user(ladder, "zqada", "prof", "asked")
        close_session(ladder, table.id, Viewer("staff", staff=True))
        login = users.erase_user(ladder, "zqada", "prof", "asked")
        assert list_personal_columns(ladder) == set()
        assert reproduce_release(ladder, "grades").differences == ()
        assert login == "erased-3-"
        with ladder.database.read() as connection:
            text = find_session_record(connection, table.id, 0)
        assert read_record(text).games == record.games
        assert read_record(text).header.bots == ("one", "one", login)
        find_similar_versions(ladder)


def test_erasing_renames_only_the_remote_bot_in_a_record(tmp_path: Path) -> None:
    """Its name may be that of another bot, or another player's letter."""
    record = random_game(PRESETS["coup"], 3, 1)
    header = replace(record.header, bots=("one", "A", "A"))
    with closing(make_ladder(tmp_path / "spring", "ada")) as ladder:
        table = open_session(ladder, OpenTableRequest(bots=("one", "one"), program="A"), "ada").session
        text, played = write_record(replace(record, header=header)), [(slot.number, 0.0) for slot in table.slots]
        ladder.database.write(
            lambda store: save_session_match(
                store, table.id, 0, text, games=1, is_complete=True, timestamp=1.0, players=played
            )
        )
        close_session(ladder, table.id, Viewer("staff", staff=True))
        login = users.erase_user(ladder, "ada", "prof", "asked")
        with ladder.database.read() as connection:
            text = find_session_record(connection, table.id, 0) or ""
    assert read_record(text).header == replace(header, bots=("one", "A", login))


def test_no_version_of_an_erased_user_is_activated(tmp_path: Path) -> None:
    """Nor does staff's page offer it: the files are gone."""
    with closing(make_ladder(tmp_path / "spring", "ada")) as ladder:
        hand_in(ladder, "ada", "bot")
        users.erase_user(ladder, "ada", "prof", "asked")
        page = look(ladder, STAFF_VIEWER, view_bot, "bot")
        assert "bot:activate" not in page.permissions
        with pytest.raises(LadderError, match="were erased"):
            activate_version(ladder, "bot", 1, actor="prof", reason="by mistake")
