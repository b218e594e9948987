"""Tables for people, without a server: who may open one and sit down, what is kept, for how long, and in a copy."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ladder import views
from ladder.access import PUBLIC, STAFF, Viewer
from ladder.service import (
    Ladder,
    LadderError,
    Wanted,
    backup,
    check_up,
    close_evening,
    disable_bot,
    known_rules,
    new_secret,
    open_evening,
    open_ladder,
    player_of,
    prune_now,
    restore,
    seat_of,
    seat_of_program,
    set_frozen,
    set_gone,
    set_suspended,
    sit,
    why_not_playable,
)
from ladder.store.database import (
    claim_evening,
    end_evening,
    evening_matches_of,
    find_evening,
    get_evening_record,
    join,
    keep_evening_match,
    set_playing,
)
from tests.ladder.service.ladders import ladder_in
from tests.place import Place

ADA, BOB = Viewer("ada"), Viewer("bob")


@pytest.fixture
def ladder(place: Place) -> Iterator[Ladder]:
    with closing(open_ladder(ladder_in(place, fit=True))) as made:
        yield made


def opened(ladder: Ladder, **wanted: object) -> tuple[int, dict[int, str]]:
    table = open_evening(ladder, Wanted(bots=("one",), me=True, **wanted), "ada")  # type: ignore[arg-type]  # by name
    return table.evening.id, table.secrets


def test_who_looks_after_a_ladder_is_told_of_tables_and_of_who_sits_there(ladder: Ladder) -> None:
    """And where no process plays them, what begins one."""

    def told() -> tuple[str, str]:
        finding = next(finding for finding in check_up(ladder.path) if finding.what == "tables")
        return finding.text, finding.mend

    assert told()[0] == "none is open"
    opened(ladder, people=1)
    text, mend = told()
    assert text == "1 open, at 0 of them a match; people who have sat down: 1; no process plays them"
    assert mend.startswith("arena ladder tables ")
    id, _ = opened(ladder)
    ladder.database.write(lambda connection: set_playing(connection, id, True, 3.0))
    ladder.database.write(lambda connection: join(connection, 20, 3.0, port=1, secret="x"))
    assert told() == ("2 open, at 1 of them a match; people who have sat down: 2", "")


def keep(ladder: Ladder, id: int, number: int, games: int, ended: bool, at: float | None = None) -> None:
    """Keep a record, which says how many games it has."""
    now = ladder.clock() if at is None else at
    ladder.database.write(
        lambda connection: keep_evening_match(connection, id, number, f"{games} games", games, ended, now)
    )


def record(ladder: Ladder, id: int, number: int) -> str | None:
    return ladder.database.look(lambda connection: get_evening_record(connection, id, number))


def test_a_record_grows_is_never_cut_and_is_read_once_its_match_has_ended(ladder: Ladder) -> None:
    """What is written twice, or late, changes nothing."""
    id, _ = opened(ladder)
    for games, ended in ((1, False), (2, False), (1, False), (2, False)):
        keep(ladder, id, 0, games, ended)
        assert record(ladder, id, 0) is None
    keep(ladder, id, 0, 2, True)
    assert record(ladder, id, 0) == "2 games"
    keep(ladder, id, 0, 1, True)
    assert record(ladder, id, 0) == "2 games"
    keep(ladder, id, 1, 1, False)
    ladder.database.write(lambda connection: end_evening(connection, id, "it ended", ladder.clock()))
    assert record(ladder, id, 1) == "1 games"
    keep(ladder, id, 2, 1, False)  # on its way while the table ended
    assert record(ladder, id, 2) == "1 games"


def test_an_evening_ends_once_and_is_played_by_one(ladder: Ladder) -> None:
    id, _ = opened(ladder)

    def write(act: Callable[..., object], *words: object) -> object:
        return ladder.database.write(lambda connection: act(connection, id, *words))

    assert write(claim_evening, "first") is not None
    assert write(claim_evening, "second") is None
    write(set_playing, True, 1.0)
    assert close_evening(ladder, id, ADA)
    assert not close_evening(ladder, id, STAFF)
    write(set_playing, False, 2.0)
    assert write(claim_evening, "first") is None
    with ladder.reading(STAFF) as reader:
        page = views.table_page(reader, id)
        assert page is not None
        assert (page.line.state, page.line.why) == ("ended", "closed by who opened it")
        told = [line for line in views.event_list(reader, 0, 1000).rows if line.what == "table"]
    assert [line.table for line in told] == [id] * 3  # it was opened, played, and ended


def test_who_opened_a_table_alone_is_told_which_bots_sit_there_until_a_match_has_ended(ladder: Ladder) -> None:
    """The staff is told no more than others: of them one may sit there, or look over a shoulder."""
    id, _ = opened(ladder)

    def bots() -> list[str | None]:
        labels = []
        for viewer in (ADA, BOB, STAFF, Viewer("staff", staff=True), PUBLIC):
            with ladder.reading(viewer) as reader:
                page = views.table_page(reader, id)
                assert page is not None
                labels.append(page.line.places[0].bot)
        return labels

    assert bots() == ["one@1", None, None, None, None]
    keep(ladder, id, 0, 1, True)
    assert bots() == ["one@1"] * 5


def test_records_are_kept_as_long_as_others_and_that_they_were_played_stays(ladder: Ladder) -> None:
    id, _ = opened(ladder)
    day = 86_400.0
    keep(ladder, id, 0, 1, True, ladder.clock() - 401 * day)
    keep(ladder, id, 1, 1, True, ladder.clock() - 399 * day)
    prune_now(ladder)
    assert (record(ladder, id, 0), record(ladder, id, 1)) == (None, "1 games")
    with ladder.reading(STAFF) as reader:
        replay = views.table_replay(reader, id, 0)
        assert replay is not None
        assert replay.why == "not kept"
        assert [match.kept for match in evening_matches_of(reader.connection, id)] == [False, True]


def test_a_table_of_a_copy_has_ended(ladder: Ladder, tmp_path: Path) -> None:
    """Who plays it plays for the ladder that was copied."""
    id, _ = opened(ladder)

    def act(connection: object) -> None:
        runner = join(connection, 1, 1.0, port=1, secret="x")  # type: ignore[arg-type]  # a connection
        claim_evening(connection, id, runner)  # type: ignore[arg-type]  # a connection

    ladder.database.write(act)
    keep(ladder, id, 0, 1, False)
    backup(ladder, tmp_path / "copy.tar")
    with closing(restore(tmp_path / "copy.tar", tmp_path / "copy")) as copy:
        evening = copy.database.look(lambda connection: find_evening(connection, id))
        assert evening is not None
        assert evening.why == "the ladder was restored from a copy"
        assert player_of(copy, evening) is None
        assert record(copy, id, 0) == "1 games"


def test_guests_sit_down_where_the_ladder_says_so(ladder: Ladder) -> None:
    id, secrets = opened(ladder, people=1)
    with pytest.raises(LadderError, match="Sign in first"):
        sit(ladder, id, secrets[2], None, "Gus")
    toml = ladder.path / "ladder.toml"
    toml.write_text(toml.read_text().replace("guests = false", "guests = true"))
    for name in ("", "\x1b[31mred", "a" * 200, "../x"):
        with pytest.raises(LadderError, match="another name"):
            sit(ladder, id, secrets[2], None, name)
    own = sit(ladder, id, secrets[2], None, "Gus")
    seat = seat_of(ladder, id, Viewer(), own)
    assert seat is not None
    assert seat.place == 2
    assert seat.evening.places[2].name == "Gus (guest)"
    assert own not in str(seat.evening)


def test_a_place_is_its_persons_alone(ladder: Ladder) -> None:
    """By the account, not by the link; a reading token plays nothing."""
    id, secrets = opened(ladder, people=1, program="mine")
    assert sit(ladder, id, secrets[3], "bob") is None
    assert sit(ladder, id, secrets[3], "bob") is None  # the second call of one whose answer was lost
    places = [seat_of(ladder, id, viewer, secrets[3]) for viewer in (ADA, BOB, STAFF, Viewer("bob", changes=False))]
    assert [seat.place if seat else "none" for seat in places] == [1, 3, None, None]
    programs = [seat_of_program(ladder, id, viewer, "x") for viewer in (ADA, BOB, Viewer("ada", changes=False))]
    assert [seat.place if seat else "none" for seat in programs] == [2, "none", "none"]
    with pytest.raises(LadderError, match="nobody's to give away"):
        new_secret(ladder, id, 3, ADA)


def test_no_match_begins_while_somebody_may_not_play(ladder: Ladder) -> None:
    id, secrets = opened(ladder, people=1)
    sit(ladder, id, secrets[2], "bob")

    def why() -> str | None:
        def look(connection: object) -> str | None:
            evening = find_evening(connection, id)  # type: ignore[arg-type]  # a connection
            assert evening is not None
            return why_not_playable(connection, evening)  # type: ignore[arg-type]  # a connection

        return ladder.database.look(look)

    assert why() is None
    set_frozen(ladder, True, "staff", "a trial")
    assert why() == "the ladder is frozen"
    set_frozen(ladder, False, "staff", "a trial")
    for login in ("ada", "bob"):
        set_suspended(ladder, login, True, "staff", "a trial")
        assert "suspended" in str(why())
        set_suspended(ladder, login, False, "staff", "a trial")
        set_gone(ladder, login, True, "staff", "a trial")
        assert "left the course" in str(why())
        set_gone(ladder, login, False, "staff", "a trial")
    disable_bot(ladder, "one", "staff", "a trial")
    assert "one of its bots" in str(why())


def test_what_may_not_be_opened_is_refused_with_a_reason(ladder: Ladder) -> None:
    """No bots alone, no unknown rules, no bot of who is suspended, not too many, none while frozen."""
    set_suspended(ladder, "bob", True, "staff", "he cheated")
    for wanted, told in (
        (Wanted(bots=("one", "two")), "nobody would sit there but bots"),
        (Wanted(bots=("one",), me=True, rules="chess"), "no rules"),
        (Wanted(bots=("none",), me=True), "no bot"),
        (Wanted(bots=("bob",), me=True), "fit to play"),
        (Wanted(me=True), "2"),
    ):
        with pytest.raises(LadderError, match=told):
            open_evening(ladder, wanted, "ada")
    set_frozen(ladder, True, "staff", "an evening")
    with pytest.raises(LadderError, match="frozen"):
        opened(ladder)
    set_frozen(ladder, False, "staff", "it is over")
    mine = [opened(ladder)[0] for _ in range(2)]
    with pytest.raises(LadderError, match="2 tables open"):
        opened(ladder)
    with pytest.raises(LadderError):
        close_evening(ladder, mine[0], BOB)
    assert close_evening(ladder, mine[0], ADA)
    opened(ladder)


def test_rules_are_the_ladders_own_or_a_preset(ladder: Ladder) -> None:
    assert known_rules(ladder, None) == ladder.play.terms.rules
    assert known_rules(ladder, "treason-site").name == "treason-site"
    with pytest.raises(LadderError, match="There are"):
        known_rules(ladder, "chess")
