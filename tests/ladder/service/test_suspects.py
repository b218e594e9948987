"""Who is suspected of having killed workers, what a lost runner costs, and how soon an attempt follows another."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from ladder.results import GameResult
from ladder.service import Benched, Suspected, after_death
from ladder.store import PlayedMatch
from ladder.store.database import (
    LOSSES,
    RATED,
    TABLES,
    TRIAL,
    add_version,
    all_results,
    claim,
    claim_exam,
    deaths_of,
    fail,
    find_bot,
    find_version,
    get_record,
    join,
    keep_match,
    leave,
    on_trial,
    put_matches,
    release_exam,
)
from tests.ladder.store.databases import ladder

NOW = 1000.0


@pytest.fixture(params=["sqlite", "postgresql"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    """Give a ladder's database in one long transaction: the bots a, b, c and d have the versions 1 to 4."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else f"sqlite:///{tmp_path}/l.db"
    with closing(ladder(url)) as database, database.engine.connect() as made, made.begin():
        yield made


class Hall:
    """Where matches are begun and their workers die."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.runner = join(connection, 1, NOW)

    def attempt(self, match: int, died: bool = True) -> list[object]:
        """Begin a match, and let the attempt fail; return what follows."""
        matches = TABLES.tables["matches"]
        held = matches.update().where(matches.c.id == match, matches.c.state == "queued")
        assert self.connection.execute(held.values(state="leased", runner=self.runner)).rowcount == 1
        given_up = fail(self.connection, match, self.runner, "it ended with -9", NOW, died=died)
        assert given_up is not None
        return list(after_death(self.connection, match, given_up, NOW)) if died else []

    def deaths(self, *table: int, count: int = 1) -> list[object]:
        """Queue a match, and let its workers die; return what follows."""
        [match] = put_matches(self.connection, RATED, [table], NOW)
        return [news for _ in range(count) for news in self.attempt(match)]

    def trial(self, version: int) -> int:
        """Return the newest trial of a version."""
        matches, seats = TABLES.tables["matches"], TABLES.tables["match_bots"]
        query = select(matches.c.id).join(seats).where(matches.c.kind == TRIAL, seats.c.version == version)
        return int(self.connection.scalars(query.order_by(matches.c.id)).all()[-1])


@pytest.fixture
def hall(connection: Connection) -> Hall:
    return Hall(connection)


def test_who_kills_alone_is_benched_and_who_sat_by_is_not(connection: Connection, hall: Hall) -> None:
    """All of a table are suspected alike; the trial tells them apart, and comes before rated matches."""
    hall.deaths(3, 4)
    assert hall.deaths(1, 2, count=3) == [Suspected("a@1", 3), Suspected("b@1", 3)]
    assert on_trial(connection) == {1, 2}
    runner = join(connection, 1, NOW)
    assert claim(connection, runner, [], NOW).id == hall.trial(1)
    leave(connection, runner)
    assert [hall.attempt(hall.trial(1)) for _ in range(3)] == [
        [], [], [Benched("a@1", "its worker died whenever it played against itself")],
    ]  # fmt: skip
    assert find_bot(connection, "a").active is None
    assert find_bot(connection, "b").active == 2
    assert on_trial(connection) == {2}
    assert deaths_of(connection) == {1: 6, 3: 1, 4: 1}, "what is known to be another's is no charge"


def test_deaths_of_several_matches_add_up_and_count_anew_after_a_trial(connection: Connection, hall: Hall) -> None:
    """One whose workers die in one match after the other is tried, though no match is given up."""
    assert hall.deaths(1, 2) == hall.deaths(1, 3) == []
    assert hall.deaths(1, 4) == [Suspected("a@1", 3)]
    assert hall.deaths(1, 2) == hall.deaths(1, 3) == []
    assert hall.deaths(1, 4) == [Suspected("a@1", 3)]
    assert deaths_of(connection) == {1: 6, 2: 2, 3: 2, 4: 2}


def test_a_trial_that_a_machine_failed_convicts_nobody(connection: Connection, hall: Hall) -> None:
    """Nor do the deaths in it: a machine may run out of memory just then."""
    hall.deaths(1, 2, count=3)
    for died in (True, True, False):
        assert hall.attempt(hall.trial(1), died) == []
    assert find_bot(connection, "a").active == 1


def test_a_reference_is_never_benched(connection: Connection, hall: Hall) -> None:
    """It is the staff's own."""
    bots = TABLES.tables["bots"]
    connection.execute(bots.update().where(bots.c.id == 1).values(reference=True))
    hall.deaths(1, 2, count=3)
    assert [hall.attempt(hall.trial(1)) for _ in range(3)] == [[], [], []]
    assert find_bot(connection, "a").active == 1


def test_lost_runners_spend_no_attempt_ten_times(connection: Connection) -> None:
    """Neither of a match nor of an examination; one that leaves as it was asked to isn't lost."""
    [match] = put_matches(connection, RATED, [(1, 2)], NOW)
    version = add_version(connection, 1, "0" * 64, "a.py", NOW)
    for number in range(LOSSES + 3):
        runner = join(connection, 1, NOW)
        assert claim(connection, runner, [], NOW).id == match
        assert claim_exam(connection, runner, [], NOW).id == version
        leave(connection, runner, NOW if number > 2 else None)
    assert claim(connection, join(connection, 1, NOW), [], NOW) is None
    given_up = find_version(connection, version)
    assert (given_up.state, given_up.attempts, given_up.unexamined) == ("unfit", 0, True)
    assert given_up.reason == "it could not be examined: each runner that began it was lost"


@pytest.mark.parametrize(("later", "begins"), [(29.0, False), (30.0, True), (-3600.0, True)])
def test_attempts_are_spaced(connection: Connection, later: float, begins: bool) -> None:
    """What failed may be coming back; a clock that was set back keeps nothing waiting."""
    [match] = put_matches(connection, RATED, [(1, 2)], NOW)
    version = add_version(connection, 1, "0" * 64, "a.py", NOW)
    runner = join(connection, 1, NOW)
    claim(connection, runner, [], NOW)
    claim_exam(connection, runner, [], NOW)
    fail(connection, match, runner, "no room", NOW)
    release_exam(connection, version, runner, "no room", NOW)
    assert (claim(connection, runner, [], NOW + later) is not None) == begins
    assert (claim_exam(connection, runner, [], NOW + later) is not None) == begins


def test_what_is_played_in_a_trial_is_no_result(connection: Connection, hall: Hall) -> None:
    """It ends, and who was tried plays on, with no game more than before."""
    hall.deaths(1, 2, count=3)
    trial = hall.trial(1)
    games = (GameResult(trial, 0, ("a@1", "a@1 (2)"), 0, "last_standing", (0,), ((1, 9),), 9, (), ()),)
    assert keep_match(connection, PlayedMatch(trial, "a record", games), NOW)
    assert not keep_match(connection, PlayedMatch(trial, "a record", games), NOW)
    assert on_trial(connection) == {2}
    assert get_record(connection, trial) is None
    assert list(all_results(connection)) == []
    assert find_bot(connection, "a").active == 1
