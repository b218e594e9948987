"""Tests of which versions play in a round: all, and every second time without slow ones."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, update

from ladder.bot_pages import BotPage, view_bot
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER
from ladder.round_queue import RoundQueue
from ladder.store import METADATA, get_version_by_id
from tests.ladder.classes import hand_in, make_ladder

match_players, matches = (METADATA.tables[name] for name in ("match_players", "matches"))
REQUESTS = 600  # of a version in a match
QUICK_US, SLOW_US = 100 * REQUESTS, 400_000 * REQUESTS


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    owners = [f"owner{number}" for number in range(12)]
    with closing(make_ladder(tmp_path, " ".join(owners))) as made:
        for owner in owners:
            hand_in(made, owner, f"bot-{owner}")
        yield made


def page_of(ladder: Ladder, ids: set[int]) -> BotPage:
    """Return the public page of the bot of one of these versions."""
    with ladder.reading(PUBLIC_VIEWER) as context:
        return view_bot(context, get_version_by_id(context.connection, min(ids)).name)


def play_rounds(
    ladder: Ladder, rounds: RoundQueue, slow: set[int], count: int, took_us: int = SLOW_US
) -> list[set[int]]:
    """Queue rounds, mark them as played, and return the versions of each."""

    def act(connection: Connection) -> set[int]:
        rounds.queue_next(connection)
        table = select(matches.c.id).where(matches.c.status == "queued").order_by(matches.c.id)
        ended = connection.scalar(select(func.max(matches.c.end_sequence))) or 0
        played: set[int] = set()
        for number, match in enumerate(connection.scalars(table).all(), ended + 1):
            seated = connection.scalars(select(match_players.c.version).where(match_players.c.match == match)).all()
            played.update(seated)
            values = {"status": "ended", "outcome": "played", "is_rated": True, "end_sequence": number, "ended_at": 1.0}
            connection.execute(update(matches).where(matches.c.id == match).values(**values))
            for version in seated:
                mine = (match_players.c.match == match) & (match_players.c.version == version)
                took = took_us if version in slow else QUICK_US
                values = {"games": 1, "think_time_us": took, "requests": REQUESTS}
                connection.execute(update(match_players).where(mine).values(**values))
        return played

    return [ladder.database.write(act) for _ in range(count)]


def versions(ladder: Ladder) -> list[int]:
    ids = METADATA.tables["versions"].c.id
    return ladder.database.read_with_retry(lambda connection: connection.scalars(select(ids).order_by(ids)).all())


def test_a_bot_at_4_ms_of_500_plays_as_often_as_bots_that_answer_at_once(ladder: Ladder) -> None:
    """It takes forty times as long as the others, but the ladder allows it."""
    thinks = set(versions(ladder)[-1:])
    played = play_rounds(ladder, RoundQueue(ladder), thinks, 30, took_us=4_000 * REQUESTS)
    assert all(thinks <= field for field in played)
    assert page_of(ladder, thinks).throttle_reason is None


def test_a_slow_version_plays_every_second_round_and_its_page_shows_it(ladder: Ladder) -> None:
    slow = set(versions(ladder)[-2:])
    played = play_rounds(ladder, RoundQueue(ladder), slow, 40)
    assert [bool(slow & field) for field in played] == [True, *[True, False] * 19, True]
    assert all(len(field) >= 12 for field in played), "no round leaves out another"
    page = page_of(ladder, slow)
    assert page.throttle_reason == (
        "the bot plays only in every second round, because it is slow: it took 400 ms a move on average in its last 4 "
        "rated matches, more than 50% of the time per move (500 ms)"
    )
    assert page_of(ladder, set(versions(ladder)[:1])).throttle_reason is None


def test_a_version_that_begins_to_hang_is_slow_after_its_first_match(ladder: Ladder) -> None:
    """A mean over hundreds of matches would show it only after hundreds more."""
    rounds, slow = RoundQueue(ladder), set(versions(ladder)[-2:])
    play_rounds(ladder, rounds, set(), 6)
    played = play_rounds(ladder, rounds, slow, 3, took_us=2_000_000 * REQUESTS)
    assert [bool(slow & field) for field in played] == [True, True, False]


def test_a_new_runner_knows_the_slow_versions(ladder: Ladder) -> None:
    slow = set(versions(ladder)[-2:])
    play_rounds(ladder, RoundQueue(ladder), slow, 4)
    assert not slow & play_rounds(ladder, RoundQueue(ladder), slow, 1)[0]


def test_a_running_runner_queues_the_rounds_of_a_new_one(ladder: Ladder) -> None:
    old = RoundQueue(ladder)
    play_rounds(ladder, old, set(), 7)

    def tables(rounds: RoundQueue) -> list[int]:
        with ladder.database.engine.connect() as connection, connection.begin() as both:
            before = connection.scalar(select(func.max(matches.c.id)))
            rounds.queue_next(connection)
            seats = select(match_players.c.version).where(match_players.c.match > before)
            found = list(connection.scalars(seats.order_by(match_players.c.match, match_players.c.slot)))
            both.rollback()
        return found

    met = [(rounds._met, rounds._played) for rounds in (old, RoundQueue(ladder)) if tables(rounds)]
    assert met[0] == met[1]
    assert tables(old) == tables(RoundQueue(ladder)) != []
