"""Tests of table sessions without a server: permissions, seats, stored records, retention, and copies."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from arena.bots import BotCache
from arena.sandbox import InProcessSandbox
from arena.tables import SlotChange
from ladder import store, table_pages, tables
from ladder.activation import disable_bot
from ladder.backups import restore_backup, write_backup
from ladder.checkup import check_ladder
from ladder.dashboards import list_events
from ladder.ladder import Ladder, open_ladder, prune_expired, set_frozen
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.prepared_bots import PreparedBots, TableSandboxes
from ladder.settings import LadderError
from ladder.users import set_suspended, set_withdrawn
from tests.cli_workspace import Place
from tests.ladder.classes import configure, look
from tests.ladder.ladders import ladder_in

ADA, BOB = Viewer("ada"), Viewer("bob")


@pytest.fixture
def ladder(place: Place) -> Iterator[Ladder]:
    with closing(open_ladder(ladder_in(place, fit=True))) as made:
        yield made


def opened(ladder: Ladder, **wanted: object) -> tuple[int, dict[int, str]]:
    table = tables.open_session(ladder, tables.OpenTableRequest(bots=("one",), has_own_seat=True, **wanted), "ada")  # type: ignore[arg-type]  # by name
    return table.session.id, table.secrets


def get(ladder: Ladder, id: int) -> store.TableSession:
    return ladder.database.read_with_retry(lambda connection: store.find_session(connection, id))


def test_doctor_reports_tables_and_their_players(ladder: Ladder) -> None:
    """Without a table server it names the command that starts one."""

    def output() -> tuple[str, str]:
        finding = next(finding for finding in check_ladder(ladder.path) if finding.check == "tables")
        return finding.message, finding.fix_command

    assert output()[0] == "none is open"
    opened(ladder, user_seats=1)
    text, command = output()
    assert text == "1 open, 0 of them in a match; players: 1; no table server is running"
    assert command.startswith("arena ladder serve-tables ")
    id, _ = opened(ladder)
    ladder.database.write(lambda connection: store.set_session_playing(connection, id, True, 3.0))
    ladder.database.write(lambda connection: store.register_runner(connection, 20, 3.0, port=1, secret="x"))
    assert output() == ("2 open, 1 of them in a match; players: 2", "")


def store_record(ladder: Ladder, id: int, number: int, games: int, ended: bool, at: float | None = None) -> None:
    now = ladder.clock() if at is None else at
    ladder.database.write(
        lambda connection: store.save_session_match(
            connection, id, number, f"{games} games", games=games, is_complete=ended, timestamp=now
        )
    )


def record(ladder: Ladder, id: int, number: int) -> str | None:
    return ladder.database.read_with_retry(lambda connection: store.find_session_record(connection, id, number))


def test_a_record_only_grows_and_is_readable_after_its_match(ladder: Ladder) -> None:
    id, _ = opened(ladder)
    for games, ended in ((1, False), (2, False), (1, False), (2, False)):
        store_record(ladder, id, 0, games, ended)
        assert record(ladder, id, 0) is None
    store_record(ladder, id, 0, 2, True)
    assert record(ladder, id, 0) == "2 games"
    store_record(ladder, id, 0, 1, True)
    assert record(ladder, id, 0) == "2 games"
    store_record(ladder, id, 1, 1, False)
    ladder.database.write(lambda connection: store.end_session(connection, id, "it ended", ladder.clock()))
    assert record(ladder, id, 1) == "1 games"
    store_record(ladder, id, 2, 1, False)  # on its way while the table ended
    assert record(ladder, id, 2) == "1 games"


def test_no_bot_is_drawn_where_none_may_play(ladder: Ladder, tmp_path: Path) -> None:
    for name in ("one", "two", "ada", "bob"):
        disable_bot(ladder, name, "staff", "a pause")
    id = tables.open_session(ladder, tables.OpenTableRequest(has_own_seat=True, user_seats=1), "ada").session.id
    bots = PreparedBots(ladder, BotCache(tmp_path), tmp_path)
    boxes = TableSandboxes({}, InProcessSandbox({}), ExitStack())
    with pytest.raises(LadderError, match="no bots"):
        bots.apply_change(get(ladder, id), boxes, SlotChange(remove=(1,), draw=1, start=True))


def test_a_session_ends_once_and_is_played_by_one(ladder: Ladder) -> None:
    id, _ = opened(ladder)

    def write(act: Callable[..., object], *words: object) -> object:
        return ladder.database.write(lambda connection: act(connection, id, *words))

    assert write(store.claim_session, "first") is not None
    assert write(store.claim_session, "second") is None
    write(store.set_session_playing, True, 1.0)
    assert tables.close_session(ladder, id, ADA)
    assert not tables.close_session(ladder, id, STAFF_VIEWER)
    write(store.set_session_playing, False, 2.0)
    assert write(store.claim_session, "first") is None
    with ladder.reading(STAFF_VIEWER) as context:
        page = table_pages.view_table(context, id)
        assert (page.table.status, page.table.end_reason) == ("ended", "closed by its opener")
        output = [line for line in list_events(context, 0, 1000).items if line.type == "table_changed"]
    assert [line.table for line in output] == [id] * 3  # it was opened, played, and ended


def test_only_the_creator_of_a_table_sees_its_bots_until_a_match_has_ended(ladder: Ladder) -> None:
    """Staff see no more than others: one of them may play there."""
    id, _ = opened(ladder)

    def bots() -> list[str | None]:
        version_refs = []
        for viewer in (ADA, BOB, STAFF_VIEWER, Viewer("staff", staff=True), PUBLIC_VIEWER):
            with ladder.reading(viewer) as context:
                page = table_pages.view_table(context, id)
                version_refs.append(page.table.slots[0].bot)
        return version_refs

    assert bots() == ["one@1", None, None, None, None]
    store_record(ladder, id, 0, 1, True)
    assert bots() == ["one@1"] * 5


def test_records_of_tables_expire_and_their_matches_stay(ladder: Ladder) -> None:
    id, _ = opened(ladder)
    day = 86_400.0
    store_record(ladder, id, 0, 1, True, ladder.clock() - 401 * day)
    store_record(ladder, id, 1, 1, True, ladder.clock() - 399 * day)
    prune_expired(ladder)
    assert (record(ladder, id, 0), record(ladder, id, 1)) == (None, "1 games")
    with ladder.reading(STAFF_VIEWER) as context:
        replay = table_pages.view_table_replay(context, id, 0)
        assert replay.unavailable_reason == "not kept"
        assert [match.has_record for match in store.list_session_matches(context.connection, id)] == [False, True]


def test_a_table_of_a_copy_has_ended(ladder: Ladder, tmp_path: Path) -> None:
    id, _ = opened(ladder)

    runner = ladder.database.write(lambda connection: store.register_runner(connection, 1, 1.0, port=1, secret="x"))
    ladder.database.write(lambda connection: store.claim_session(connection, id, runner))
    store_record(ladder, id, 0, 1, False)
    write_backup(ladder.database, ladder.path, tmp_path / "copy.tar")
    with closing(restore_backup(tmp_path / "copy.tar", tmp_path / "copy")) as copy:
        session = copy.database.read_with_retry(lambda connection: store.find_session(connection, id))
        assert session.end_reason == "the ladder was restored from a copy"
        assert tables.find_table_server(copy, session) is None
        assert record(copy, id, 0) == "1 games"


def test_guests_play_where_the_ladder_allows_them(ladder: Ladder) -> None:
    """Whether a guest's name is a login isn't shown."""
    id, _ = opened(ladder, user_seats=3)
    code = ladder.invitation_code(id)
    with pytest.raises(LadderError, match="Sign in first"):
        tables.join_table(ladder, id, code, None, "Gus")
    configure(ladder, allow_guests=True)
    for name in ("", "\x1b[31mred", "a" * 200, "../x", "PSEUDONYM OF BOB", "Pseudonym of Bob"):
        with pytest.raises(LadderError, match="another name"):
            tables.join_table(ladder, id, code, None, name)
    own = tables.join_table(ladder, id, code, None, "Gus")
    seat = tables.find_table_access(ladder, id, Viewer(), own)
    assert seat.slot == 2
    assert seat.session.slots[2].name == "Gus (guest)"
    assert own not in str(seat.session)
    for name in ("bob", "no login"):
        assert tables.join_table(ladder, id, code, None, name)
    id, _ = opened(ladder, user_seats=2)
    assert tables.join_table(ladder, id, ladder.invitation_code(id), None, "No login")
    with pytest.raises(LadderError, match="another name"):
        tables.join_table(ladder, id, ladder.invitation_code(id), None, "no  Login")


def test_a_remote_bot_has_no_pseudonym_of_another_user(ladder: Ladder) -> None:
    with pytest.raises(LadderError, match="another name"):
        opened(ladder, program="pseudonym-of bob")
    assert opened(ladder, program="pseudonym of ada")


def test_a_slot_belongs_to_one_account(ladder: Ladder) -> None:
    """The link doesn't own it; a reading token can't play."""
    id, secrets = opened(ladder, user_seats=1, program="mine", program_seats=1)
    code = ladder.invitation_code(id)
    assert tables.join_table(ladder, id, code, "bob") is None
    assert tables.join_table(ladder, id, code, "bob") is None  # the second call of one whose answer was lost
    viewers = (ADA, BOB, STAFF_VIEWER, Viewer("bob", can_write=False))
    places = [tables.find_table_access(ladder, id, viewer, code) for viewer in viewers]
    assert [seat.slot if seat else "none" for seat in places] == [1, 3, None, None]
    viewers = (ADA, BOB, Viewer("ada", can_write=False))
    programs = [tables.find_program_access(ladder, id, viewer, "x") for viewer in viewers]
    assert [seat.slot if seat else "none" for seat in programs] == [2, "none", "none"]
    with pytest.raises(LadderError, match="has no token"):
        tables.renew_program_token(ladder, id, 3, ADA)
    old: Any = tables.find_program_access(ladder, id, BOB, secrets[4])
    assert old.slot == 4
    with pytest.raises(LadderError, match="didn't open"):
        tables.renew_program_token(ladder, id, 4, BOB)
    new = tables.find_program_access(ladder, id, BOB, tables.renew_program_token(ladder, id, 4, ADA))
    assert new == replace(old, session=get(ladder, id))
    assert tables.find_program_access(ladder, id, BOB, secrets[4]) is None


def test_no_match_starts_while_a_player_may_not_play(ladder: Ladder) -> None:
    id, _ = opened(ladder, user_seats=1, is_public=True)
    tables.join_table(ladder, id, "", "bob")

    def why() -> str | None:
        return ladder.database.read_with_retry(
            lambda connection: tables.unplayable_reason(connection, store.find_session(connection, id))
        )

    assert why() is None
    set_frozen(ladder, True, "staff", "a trial")
    assert why() == "the ladder is frozen"
    set_frozen(ladder, False, "staff", "a trial")
    for login in ("ada", "bob"):
        set_suspended(ladder, login, True, "staff", "a trial")
        assert "suspended" in str(why())
        set_suspended(ladder, login, False, "staff", "a trial")
        set_withdrawn(ladder, login, True, "staff", "a trial")
        assert "left the course" in str(why())
        set_withdrawn(ladder, login, False, "staff", "a trial")
    disable_bot(ladder, "one", "staff", "a trial")
    assert "one of its bots" in str(why())


def test_a_table_that_is_not_allowed_is_refused_with_a_reason(ladder: Ladder) -> None:
    set_suspended(ladder, "bob", True, "staff", "cheated")
    for wanted, output in (
        (tables.OpenTableRequest(bots=("one", "two")), "the table would have only bots"),
        (tables.OpenTableRequest(bots=("one",), has_own_seat=True, rules="chess"), "the preset"),
        (tables.OpenTableRequest(bots=("none",), has_own_seat=True), "no bot"),
        (tables.OpenTableRequest(bots=("bob",), has_own_seat=True), "accepted"),
        (tables.OpenTableRequest(has_own_seat=True), "2"),
    ):
        with pytest.raises(LadderError, match=output):
            tables.open_session(ladder, wanted, "ada")
    set_frozen(ladder, True, "staff", "a table session")
    with pytest.raises(LadderError, match="frozen"):
        opened(ladder)
    set_frozen(ladder, False, "staff", "it is over")
    mine = [opened(ladder)[0] for _ in range(2)]
    with pytest.raises(LadderError, match="2 open tables"):
        opened(ladder)
    with pytest.raises(LadderError):
        tables.close_session(ladder, mine[0], BOB)
    assert tables.close_session(ladder, mine[0], ADA)
    opened(ladder)


def test_the_opener_replaces_the_invitation_link(ladder: Ladder) -> None:
    id, _ = opened(ladder, user_seats=2)
    other, _ = opened(ladder, user_seats=2)
    old = ladder.invitation_code(id)
    assert tables.join_table(ladder, id, old, "bob") is None
    with pytest.raises(LadderError, match="didn't open table"):
        tables.renew_invitation(ladder, id, BOB)
    tables.renew_invitation(ladder, id, ADA)
    new = ladder.invitation_code(id, get(ladder, id).renewals)
    assert [tables.is_invited(ladder, id, code) for code in (old, new)] == [False, True]
    assert tables.is_invited(ladder, other, ladder.invitation_code(other))
    with pytest.raises(LadderError, match="invitation link"):
        tables.join_table(ladder, id, old, "staff")
    assert "bob" in {slot.login for slot in get(ladder, id).slots}
    assert tables.join_table(ladder, id, new, "staff") is None
    tables.close_session(ladder, id, ADA)
    with pytest.raises(LadderError, match="has ended"):
        tables.renew_invitation(ladder, id, ADA)


def test_each_match_remembers_its_players(ladder: Ladder) -> None:
    """Storing a match twice counts it once, and a player who comes later doesn't see the cards of an earlier match."""
    id, _ = opened(ladder, user_seats=1, is_public=True)

    def save(number: int, games: int, won: float) -> None:
        players = [(0, games - won), (1, won), (2, 0.0)]
        ladder.database.write(
            lambda connection: store.save_session_match(
                connection, id, number, "", games=games, is_complete=True, timestamp=1.0, players=players
            )
        )

    def players(number: int) -> list[str | None]:
        rows = ladder.database.read_with_retry(lambda connection: store.find_match_players(connection, id, number))
        return [login for _, login in rows]

    save(0, 1, 0.5)
    tables.join_table(ladder, id, "", "bob")
    for number, games, won in ((0, 1, 1.0), (1, 1, 1.0), (1, 2, 2.0)):
        save(number, games, won)
    assert [players(number) for number in (0, 1, 2)] == [["staff", "ada", None], ["staff", "ada", "bob"], []]
    with ladder.database.engine.connect() as connection:
        rows = connection.execute(text("select games, won from session_players")).all()
    assert sorted(rows) == [(1, 0.0), (1, 0.5), (1, 0.5), (2, 0.0), (2, 0.0), (2, 2.0)]


def test_one_link_leads_to_the_free_places_of_a_table(ladder: Ladder) -> None:
    """The opener needs none, and another table's link doesn't fit."""
    id, _ = opened(ladder, user_seats=1)
    other, _ = opened(ladder, user_seats=1)
    assert ladder.invitation_code(id) == ladder.invitation_code(id)
    for code in ("", "\u00e9", ladder.invitation_code(other)):
        with pytest.raises(LadderError, match="invitation link"):
            tables.join_table(ladder, id, code, "bob")
    tables.change_slots(ladder, id, free=[1])
    assert tables.join_table(ladder, id, "", "ada") is None
    assert tables.join_table(ladder, id, ladder.invitation_code(id), "bob") is None
    with pytest.raises(LadderError, match="no seat is free"):
        tables.join_table(ladder, id, ladder.invitation_code(id), "one")


def test_slots_change_between_matches(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number is never used again."""
    id, _ = opened(ladder, user_seats=1, is_public=True)

    def slots() -> list[tuple[int, str, str | None]]:
        return [(slot.number, slot.kind, slot.version_ref or slot.name) for slot in get(ladder, id).slots]

    tables.join_table(ladder, id, "", "bob")
    tables.change_slots(ladder, id, bots=["two"], places=["person", "program"], remove=[0])
    ada, bob = (1, "person", "pseudonym of ada"), (2, "person", "pseudonym of bob")
    assert slots() == [ada, bob, (3, "bot", "two@1"), (4, "person", None), (5, "program", "program 1")]
    tables.change_slots(ladder, id, bots=["one"], remove=[5, 4], free=[2])
    assert slots() == [ada, (2, "person", None), (3, "bot", "two@1"), (6, "bot", "one@1")]
    write = ladder.database.write

    def twice(act: Callable[..., store.TableSession]) -> store.TableSession:
        return write(lambda connection: (act(connection), act(connection))[1])

    monkeypatch.setattr(ladder.database, "write", twice)
    tables.change_slots(ladder, id, bots=["two"])  # called again, since the answer to its commit was lost
    assert [kind for _, kind, _ in slots()].count("bot") == 3
    monkeypatch.undo()
    with pytest.raises(LadderError, match="full"):
        tables.change_slots(ladder, id, bots=["one"] * 7)
    assert tables.change_slots(ladder, id, rules="inquisitor").rules == "inquisitor"
    for rules, reason in (("duel", "full"), ("bridge", "doesn't exist")):
        with pytest.raises(LadderError, match=reason):
            tables.change_slots(ladder, id, rules=rules)
    assert "two@1" in [bot.name for bot in tables.list_table_bots(ladder)]
    disable_bot(ladder, "two", "staff", "a trial")
    assert "two@1" not in [bot.name for bot in tables.list_table_bots(ladder)]
    with pytest.raises(LadderError):
        tables.change_slots(ladder, id, bots=["two"])


def test_quick_play_takes_the_oldest_free_place_or_opens_a_table(ladder: Ladder) -> None:
    opened(ladder, user_seats=1)
    id, _ = tables.quick_play(ladder, "bob")
    assert [slot.kind for slot in get(ladder, id).slots] == ["bot"] * 3 + ["person"]
    id, _ = opened(ladder, user_seats=1, is_public=True)
    assert tables.quick_play(ladder, "bob") == (id, None)
    with pytest.raises(LadderError, match="no guests"):
        tables.quick_play(ladder, None, "Gus")


def test_quick_play_tries_the_next_table_if_a_guest_is_faster(ladder: Ladder, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(ladder, allow_guests=True)
    (lost, _), (free, _) = (opened(ladder, user_seats=1, is_public=True) for _ in range(2))
    both = [get(ladder, lost), get(ladder, free)]
    assert tables.quick_play(ladder, None, "Gus")[0] == lost
    monkeypatch.setattr("ladder.tables._list_joinable_tables", lambda *_: both)  # as found before
    assert tables.quick_play(ladder, None, "Zoe")[0] == free


def test_a_guest_opens_a_table_with_bots_or_for_people_with_a_name(ladder: Ladder) -> None:
    configure(ladder, allow_guests=True, max_total=4)
    with pytest.raises(LadderError, match="has this name"):
        tables.quick_play(ladder, None, "pseudonym of ada")
    for invites, kinds in ((False, ["bot"] * 3 + ["person"]), (True, ["person"] * 4)):
        id, secret = tables.quick_play(ladder, None, "Gus", invites)
        table = get(ladder, id)
        assert [slot.kind for slot in table.slots] == kinds
        access = tables.find_table_access(ladder, id, PUBLIC_VIEWER, secret)
        assert table.slots[access.slot or 0].name == "Gus (guest)"
        assert tables.name_inviter(table) == "Gus (guest)"
        assert table.move_time_s == (60 if invites else None)
    with pytest.raises(LadderError, match="guests have opened 2 tables"):
        tables.quick_play(ladder, None, "Zoe")


def test_users_with_an_open_page_are_online_for_two_minutes(ladder: Ladder) -> None:
    def online() -> tuple[str, ...]:
        return look(ladder, PUBLIC_VIEWER, table_pages.list_tables).online

    assert online() == ()
    tables.record_presence(ladder, ["bob", "3/1"])
    assert online() == ("pseudonym of bob",)
    now = ladder.clock()
    ladder.clock = lambda: now + 121
    assert online() == ()
