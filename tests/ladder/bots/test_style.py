"""Tests of play style, which is counted when a match is played and visible by the access table."""

from collections.abc import Iterator
from contextlib import closing
from statistics import fmean

import pytest

from arena.referee import read_record
from arena.stats import StatsAccumulator as Records
from arena.stats.report import make_stats_report
from ladder.bot_pages import BotStyle, view_bot
from ladder.ladder import Ladder, prune_expired
from ladder.match_pages import list_matches, set_void
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.standings import rebuild_standings, view_standings
from ladder.standings.computation import Standings
from ladder.store import find_latest_snapshot, find_record
from tests.ladder.classes import Clock, hand_in, look, make_ladder, serve


@pytest.fixture
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ladder]:
    """Give a ladder in which ada's and bob's bots played some rated matches."""
    with closing(make_ladder(tmp_path_factory.mktemp("style") / "spring")) as made:
        for login in ("ada", "bob"):
            hand_in(made, login, f"{login}bot")
        serve(made, 6)
        rebuild_standings(made)
        yield made


def style(ladder: Ladder, name: str, viewer: Viewer) -> BotStyle | None:
    bot = look(ladder, viewer, view_bot, name)
    return bot.play_style


def test_a_bots_page_agrees_with_arena_stats(ladder: Ladder) -> None:
    """The field's mean is over the bots that play. Void and pruned matches aren't counted."""
    with ladder.reading(STAFF_VIEWER) as context:
        ids = [line.id for line in list_matches(context, kind="rated", limit=99).items]
        texts = [find_record(context.connection, id) for id in ids]
        board = Standings.from_json(find_latest_snapshot(context.connection) or "")
    fold = Records()
    for text in texts:
        fold.add(read_record(text or ""))
    profiles = {profile.bot.partition("@")[0]: profile for profile in make_stats_report(fold, [], []).bots}
    shares = []
    for name, profile in profiles.items():
        found = style(ladder, name, STAFF_VIEWER)
        assert found.matches == profile.matches
        for number in (*found.public, *found.hidden):
            if number.name == "turns":
                continue
            section, _, what = number.name.partition(" ")
            rate = getattr(profile, section)[what]
            assert (number.count, number.total) == (rate.count, rate.total), number.name
        turns = next(number for number in found.public if number.name == "turns")
        assert turns.total == profile.games
        shares.append(next(number.count / number.total for number in found.hidden if number.name == "bluffs all"))
    assert board.play_style.bots == len(profiles) == 4
    assert board.play_style.hidden["bluffs all"] == pytest.approx(fmean(shares))
    before = style(ladder, "adabot", STAFF_VIEWER)
    with ladder.reading(STAFF_VIEWER) as context:
        mine = [line.id for line in list_matches(context, kind="rated", limit=99).items
                if any(seat.version_ref == "adabot@1" for seat in line.players)]  # fmt: skip
    set_void(ladder, mine[0], True, "prof", "wrong")
    after = style(ladder, "adabot", STAFF_VIEWER)
    assert (None if after is None else after.matches) == (before.matches - 1 or None)
    ladder.clock = Clock(1e6 + 86_400 * 4000)
    assert prune_expired(ladder).records == len(texts) > 0
    assert style(ladder, "bobbot", STAFF_VIEWER) is None


def test_hidden_play_style_is_visible_to_the_owner_and_its_mean_to_staff(ladder: Ladder) -> None:
    for viewer, hidden, mean in (
        (PUBLIC_VIEWER, False, False),
        (Viewer("ada"), True, False),
        (Viewer("bob"), False, False),
        (STAFF_VIEWER, True, True),
    ):
        found = style(ladder, "adabot", viewer)
        names = {number.name for number in found.public}
        assert {"turns", "visible_at_table challenged", "actions tax"} <= names
        assert {name.partition(" ")[0] for name in names} == {"turns", "actions", "challenged", "visible_at_table"}
        assert all(number.field_mean is not None for number in found.public)
        assert (found.hidden is not None) is hidden
        for number in found.hidden or ():
            assert (number.field_mean is not None) is mean
        table = look(ladder, viewer, view_standings)
        assert table.play_style.public
        assert (table.play_style.hidden is not None) is mean
