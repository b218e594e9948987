"""Which versions a round is of: those that take far longer than others have a tenth of the time, and no more."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, update

from ladder.service import Ladder, Rounds
from ladder.store.database import TABLES
from tests.ladder.service.classes import hand_in, school

match_bots, matches = (TABLES.tables[name] for name in ("match_bots", "matches"))
QUICK_US, SLOW_US = 100_000, 2_500_000


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    owners = [f"owner{number}" for number in range(12)]
    with closing(school(tmp_path, " ".join(owners))) as made:
        for owner in owners:
            hand_in(made, owner, f"bot-{owner}")
        yield made


def play(ladder: Ladder, rounds: Rounds, slow: set[int], count: int) -> list[set[int]]:
    """Queue rounds, and say that they were played; return of which versions each was."""

    def act(connection: Connection) -> set[int]:
        rounds.queue(connection)
        table = select(matches.c.id).where(matches.c.state == "queued").order_by(matches.c.id)
        ended = connection.scalar(select(func.max(matches.c.ended))) or 0
        played: set[int] = set()
        for number, match in enumerate(connection.scalars(table).all(), ended + 1):
            seated = connection.scalars(select(match_bots.c.version).where(match_bots.c.match == match)).all()
            played.update(seated)
            values = {"state": "ended", "cause": "played", "rates": True, "ended": number, "ended_at": 1.0}
            connection.execute(update(matches).where(matches.c.id == match).values(**values))
            for version in seated:
                mine = (match_bots.c.match == match) & (match_bots.c.version == version)
                took = SLOW_US if version in slow else QUICK_US
                connection.execute(update(match_bots).where(mine).values(games=1, time_us=took))
        return played

    return [ladder.database.write(act) for _ in range(count)]


def versions(ladder: Ladder) -> list[int]:
    table = TABLES.tables["versions"]
    return ladder.database.look(lambda connection: list(connection.scalars(select(table.c.id).order_by(table.c.id))))


def test_matches_with_versions_that_hang_take_a_tenth_of_the_time(ladder: Ladder) -> None:
    slow = set(versions(ladder)[-2:])
    played = play(ladder, Rounds(ladder), slow, 200)
    costly = [bool(slow & field) for field in played]
    with ladder.database.read() as connection:
        seats = connection.execute(select(match_bots.c.match, match_bots.c.version, match_bots.c.time_us)).all()
    took, with_slow = Counter[int](), set()
    for match, version, time_us in seats:
        took[match] += time_us
        with_slow |= {match} if version in slow else set()
    share = sum(took[match] for match in with_slow) / sum(took.values())
    one_round = 2 * (SLOW_US + QUICK_US) / sum(took.values())
    assert share <= 0.1 + one_round
    assert sum(costly) >= 3, "they play on, as often as a tenth of the time allows"
    assert all(len(field) >= 12 for field in played), "no round leaves out another"


def test_who_begins_to_hang_is_known_by_the_first_match(ladder: Ladder) -> None:
    """Whatever it took before: a mean of hundreds of matches told it after as many that hung."""
    rounds, slow = Rounds(ladder), set(versions(ladder)[-2:])
    play(ladder, rounds, set(), 60)
    played = play(ladder, rounds, slow, 60)
    assert sum(bool(slow & field) for field in played) <= 7
    assert slow & played[0]


def test_a_runner_that_starts_knows_who_is_slow(ladder: Ladder) -> None:
    slow = set(versions(ladder)[-2:])
    play(ladder, Rounds(ladder), slow, 5)
    assert not slow & play(ladder, Rounds(ladder), slow, 1)[0]


def test_where_none_is_slow_or_most_are_nobody_is_left_out(ladder: Ladder) -> None:
    everybody = set(versions(ladder))
    rounds = Rounds(ladder)
    assert all(field == everybody for field in play(ladder, rounds, set(), 5))
    assert all(field == everybody for field in play(ladder, rounds, set(versions(ladder)[2:]), 5))


def test_a_runner_that_goes_on_queues_what_a_new_one_would(ladder: Ladder) -> None:
    """Each match is counted once, however often a runner has looked."""
    old = Rounds(ladder)
    play(ladder, old, set(), 7)

    def tables(rounds: Rounds) -> list[int]:
        with ladder.database.engine.connect() as connection, connection.begin() as both:
            before = connection.scalar(select(func.max(matches.c.id)))
            rounds.queue(connection)
            seats = select(match_bots.c.version).where(match_bots.c.match > before)
            found = list(connection.scalars(seats.order_by(match_bots.c.match, match_bots.c.place)))
            both.rollback()
        return found

    met = [(rounds._met, rounds._played) for rounds in (old, Rounds(ladder)) if tables(rounds)]
    assert met[0] == met[1]
    assert tables(old) == tables(Rounds(ladder)) != []
