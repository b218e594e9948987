"""What bots do, counted when a match is played: as `arena stats` counts it, and told to whom it may be."""

from collections.abc import Iterator
from contextlib import closing
from statistics import fmean

import pytest

from arena.count import Fold as Records
from arena.referee import read
from arena.stats import answer
from ladder import views
from ladder.access import PUBLIC, STAFF, Viewer
from ladder.service import Ladder, prune_now, rerate, set_void
from ladder.standings import Standings
from ladder.store.database import get_record, last_board
from tests.ladder.service.classes import Clock, hand_in, school, serve


@pytest.fixture
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ladder]:
    """Give a ladder in which ada's and bob's bots played some rated matches."""
    with closing(school(tmp_path_factory.mktemp("style") / "spring")) as made:
        for login in ("ada", "bob"):
            hand_in(made, login, f"{login}bot")
        serve(made, 6)
        rerate(made)
        yield made


def style(ladder: Ladder, name: str, viewer: Viewer) -> views.BotStyle | None:
    with ladder.reading(viewer) as reader:
        bot = views.bot(reader, name)
    assert bot is not None
    return bot.style


def test_a_bots_page_says_what_arena_stats_counts_in_the_same_records(ladder: Ladder) -> None:
    """And of the field the mean of the bots that play. A match that is void isn't counted, nor one that was pruned."""
    with ladder.reading(STAFF) as reader:
        ids = [line.id for line in views.match_list(reader, kind="rated", limit=99).rows]
        texts = [get_record(reader.connection, id) for id in ids]
        board = Standings.from_json(last_board(reader.connection) or "")
    fold = Records()
    for text in texts:
        fold.add(read(text or ""))
    profiles = {profile.bot.partition("@")[0]: profile for profile in answer(fold, [], []).bots}
    shares = []
    for name, profile in profiles.items():
        told = style(ladder, name, STAFF)
        assert told is not None
        assert told.hidden is not None
        assert told.matches == profile.matches
        for number in (*told.public, *told.hidden):
            if number.name == "turns":
                continue
            section, _, what = number.name.partition(" ")
            rate = getattr(profile, section)[what]
            assert (number.count, number.of) == (rate.count, rate.of), number.name
        turns = next(number for number in told.public if number.name == "turns")
        assert turns.of == profile.games
        shares.append(next(number.count / number.of for number in told.hidden if number.name == "bluffs all"))
    assert board.style is not None
    assert board.style.hidden is not None
    assert board.style.bots == len(profiles) == 4
    assert board.style.hidden["bluffs all"] == pytest.approx(fmean(shares))
    before = style(ladder, "adabot", STAFF)
    assert before is not None
    with ladder.reading(STAFF) as reader:
        mine = [line.id for line in views.match_list(reader, kind="rated", limit=99).rows
                if any(seat.label == "adabot@1" for seat in line.seats)]  # fmt: skip
    set_void(ladder, mine[0], True, "prof", "wrong")
    after = style(ladder, "adabot", STAFF)
    assert (None if after is None else after.matches) == (before.matches - 1 or None)
    ladder.clock = Clock(1e6 + 86_400 * 4000)
    assert prune_now(ladder).records == len(texts) > 0
    assert style(ladder, "bobbot", STAFF) is None


def test_what_nobody_saw_is_told_to_the_owner_and_its_mean_to_staff_alone(ladder: Ladder) -> None:
    """By the table of `access`: in a bot's page, and in the table's JSON."""
    for viewer, hidden, mean in (
        (PUBLIC, False, False),
        (Viewer("ada"), True, False),
        (Viewer("bob"), False, False),
        (STAFF, True, True),
    ):
        told = style(ladder, "adabot", viewer)
        assert told is not None
        names = {number.name for number in told.public}
        assert {"turns", "table challenged", "actions tax"} <= names
        assert {name.partition(" ")[0] for name in names} == {"turns", "actions", "called", "table"}
        assert all(number.field is not None for number in told.public)
        assert (told.hidden is not None) is hidden
        for number in told.hidden or ():
            assert (number.field is not None) is mean
        with ladder.reading(viewer) as reader:
            table = views.standings(reader)
        assert table.style is not None
        assert table.style.public
        assert (table.style.hidden is not None) is mean
