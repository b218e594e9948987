"""Tests of chat without a server: writers, moderation, retention, merged users and exports."""

import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ladder.chat import moderate_chat, view_chat, write_chat_line, write_lobby_line
from ladder.exports import export_ladder
from ladder.ladder import Ladder, open_ladder, prune_expired
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.settings import ChatMode, LadderError
from ladder.store import list_chat_messages
from ladder.tables import OpenTableRequest, join_table, open_session
from ladder.users import merge_users, set_suspended
from tests.cases import each
from tests.cli_workspace import Place
from tests.ladder.classes import configure, look
from tests.ladder.ladders import ladder_in


@pytest.fixture
def ladder(place: Place, url: str | None) -> Iterator[Ladder]:
    with closing(open_ladder(ladder_in(place, url, fit=True))) as made:
        configure(made, chat="always", allow_guests=True)
        yield made


def table(ladder: Ladder, chat: ChatMode = ChatMode.ALWAYS) -> int:
    """Open ada's table with the guest Gus in slot 2; return its id."""
    wanted = OpenTableRequest(bots=("one",), has_own_seat=True, user_seats=1, chat=chat)
    made = open_session(ladder, wanted, "ada")
    join_table(ladder, made.session.id, ladder.invitation_code(made.session.id), None, "Gus")
    return made.session.id


def write(ladder: Ladder, session: int, login: str | None, text: str, slot: int | None = None) -> int:
    def act(connection: Connection) -> int:
        return write_chat_line(ladder, connection, session, login=login, slot=slot, text=text, now=ladder.clock()).id

    return ladder.database.write(act)


def texts(ladder: Ladder, session: int | None = None) -> list[str]:
    def read(connection: Connection) -> list[str]:
        return [line.text for line in list_chat_messages(connection, session, 50, muted=False)]

    return ladder.database.read_with_retry(read)


def test_users_and_seated_guests_write_and_have_different_names(ladder: Ladder) -> None:
    id = table(ladder)
    write(ladder, id, "ada", "  hi \n there ")
    write(ladder, id, None, "\u202eevil\x07", slot=2)
    write(ladder, id, None, "without a session", slot=1)  # ada's
    with pytest.raises(LadderError, match="only users and players may write"):
        write(ladder, id, None, "I only watch")

    def read(connection: Connection) -> list[tuple[bool, str, str]]:
        found = list_chat_messages(connection, id, 50, muted=False)
        return [(line.user_id is None, line.name, line.text) for line in found]

    assert ladder.database.read_with_retry(read) == [
        (False, "pseudonym of ada", "without a session"),
        (True, "Gus (guest)", "\\u202eevil\\x07"),
        (False, "pseudonym of ada", "hi there"),
    ]
    assert texts(ladder) == []  # nothing of a table is in the lobby


def test_the_chat_of_a_table_is_read_by_staff_alone(ladder: Ladder) -> None:
    """Its players read it at the table."""
    id = table(ladder)
    write(ladder, id, "ada", "hello")
    assert [line.text for line in look(ladder, STAFF_VIEWER, view_chat, id).items] == ["hello"]
    assert look(ladder, Viewer("ada"), view_chat, id) is None
    assert look(ladder, STAFF_VIEWER, view_chat, id + 1) is None
    assert look(ladder, Viewer("ada"), view_chat).items == ()


@each("text", ["", " \n ", "x" * 301])
def test_a_line_has_1_to_300_characters(ladder: Ladder, text: str) -> None:
    write_lobby_line(ladder, "ada", "x" * 300)
    with pytest.raises(LadderError, match="1 to 300 characters"):
        write_lobby_line(ladder, "ada", text)


def test_the_ladder_and_the_opener_turn_the_chat_on(ladder: Ladder) -> None:
    quiet = table(ladder, ChatMode.OFF)
    with pytest.raises(LadderError, match="the chat is off"):
        write(ladder, quiet, "ada", "hello")
    talks = table(ladder)
    configure(ladder, chat="off")
    for attempt in (lambda: write(ladder, talks, "ada", "hello"), lambda: write_lobby_line(ladder, "ada", "hello")):
        with pytest.raises(LadderError, match="the chat is off"):
            attempt()


def test_an_opener_gets_at_most_what_the_ladder_allows(ladder: Ladder) -> None:
    configure(ladder, chat="between")
    assert open_session(
        ladder, OpenTableRequest(has_own_seat=True, bots=("one",), chat=ChatMode.ALWAYS), "ada"
    ).session.chat == ("between")


def test_staff_mutes_a_user_everywhere_and_a_guest_at_one_table(ladder: Ladder) -> None:
    id, other = table(ladder), table(ladder)
    lines = {"ada": write(ladder, id, "ada", "one"), None: write(ladder, id, None, "two", 2)}
    for line in lines.values():
        assert moderate_chat(ladder, line, "mute", "staff", "rude")
        assert not moderate_chat(ladder, line, "mute", "staff", "rude")
    for login, slot, where in (("ada", 1, id), ("ada", 1, other), (None, 2, id)):
        with pytest.raises(LadderError, match="staff muted you"):
            write(ladder, where, login, "three", slot)
    write(ladder, other, None, "another Gus", 2)
    ladder.clock = lambda base=ladder.clock: base() + 40 * 86_400
    prune_expired(ladder)
    with pytest.raises(LadderError, match="staff muted you"):
        write_lobby_line(ladder, "ada", "the lines expired, the mute didn't")
    assert moderate_chat(ladder, lines["ada"], "unmute", "staff", "apologised")
    write_lobby_line(ladder, "ada", "sorry")


def test_a_writer_has_20_lines_a_minute(ladder: Ladder) -> None:
    for number in range(20):
        write_lobby_line(ladder, "ada", str(number))
    with pytest.raises(LadderError, match="too many lines"):
        write_lobby_line(ladder, "ada", "21")
    write_lobby_line(ladder, "bob", "hello")
    ladder.clock = lambda base=ladder.clock: base() + 61
    write_lobby_line(ladder, "ada", "22")


def test_a_line_is_stored_once_if_the_answer_to_it_is_lost(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    write_once, times = ladder.database.write, itertools.count(ladder.clock())
    monkeypatch.setattr(ladder, "clock", lambda: next(times))
    monkeypatch.setattr(ladder.database, "write", lambda act: write_once(act) and write_once(act))
    lines = [str(number) for number in range(20)]  # the last one that is allowed, too
    for line in lines:
        write_lobby_line(ladder, "ada", line)
    assert sorted(texts(ladder)) == sorted(lines)


def test_a_deleted_or_expired_line_is_gone(ladder: Ladder) -> None:
    first = write_lobby_line(ladder, "ada", "spam").id
    assert moderate_chat(ladder, first, "delete_line", "staff", "spam")
    assert not moderate_chat(ladder, first, "delete_line", "staff", "spam")
    write_lobby_line(ladder, "ada", "old")
    assert texts(ladder) == ["old"]
    ladder.clock = lambda base=ladder.clock: base() + 31 * 86_400
    prune_expired(ladder)
    assert texts(ladder) == []
    with pytest.raises(LadderError, match=f"no line {first}"):
        moderate_chat(ladder, first, "mute", "staff", "spam")


def test_a_suspended_user_writes_nothing(ladder: Ladder) -> None:
    write_lobby_line(ladder, "ada", "hello")
    set_suspended(ladder, "ada", True, "staff", "cheats")
    with pytest.raises(LadderError, match="suspended"):
        write_lobby_line(ladder, "ada", "again")
    assert texts(ladder) == ["hello"]


def test_lines_follow_a_merged_user_and_are_exported_with_names_alone(ladder: Ladder, tmp_path: Path) -> None:
    write_lobby_line(ladder, "bob", "=1+1")
    merge_users(ladder, "bob", "ada", "staff", "same person")
    assert "chat.csv" not in {path.name for path in export_ladder(ladder, tmp_path / "public", names=False)}
    export_ladder(ladder, tmp_path / "named", names=True)
    row = (tmp_path / "named" / "chat.csv").read_text().splitlines()[1].split(",")
    assert row[1:5] == ["", "ada", row[3], "'=1+1"]
