"""Tests of the standings from synthetic results, and of the names of owners, which only staff see."""

import csv
import io
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from arena.referee import GameResult, PlayedMatch
from ladder import store
from ladder.ladder import Ladder, create_ladder
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.standings import StandingsUpdater, rebuild_standings, view_standings_page
from ladder.standings.computation import CollusionSuspects, Standings
from ladder.users import erase_user, merge_users
from tests.ladder.classes import configure, look
from tests.ladder.store.databases import add_bot
from tests.ladder.term import PLAY, Term
from tests.ladder.version_refs import version_ids_by_ref

BOARDS = (store.METADATA.tables["standings_snapshots"].c.sequence, store.METADATA.tables["standings_snapshots"].c.data)
DAY_S = 86_400
GAMES = 6


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder of four bots, a to d, whose clock is at noon."""
    with closing(create_ladder(tmp_path / "spring", PLAY, None)) as made:
        made.clock = lambda: 20_000.5 * DAY_S
        for name in "abcd":
            add_bot(made.database, name, f"owner-of-{name}")
        yield made


def play(ladder: Ladder, *met: tuple[str, int]) -> None:
    """Finish matches: ("ab", 4) is one in which a wins 4 of GAMES games against b."""

    def act(connection: Connection) -> None:
        ids = version_ids_by_ref(connection, sorted({f"{name}@1" for pair, _ in met for name in pair}))
        tables = [[ids[f"{name}@1"] for name in pair] for pair, _ in met]
        for match, (pair, wins) in zip(store.queue_matches(connection, "rated", tables, 3.0), met, strict=True):
            version_refs = (f"{pair[0]}@1", f"{pair[1]}@1")
            results = tuple(
                GameResult(match, game, version_refs, seat, "last_standing", (seat,), ((1 - seat, 5),), 5, (), ())
                for game, seat in ((game, int(game >= wins)) for game in range(GAMES))
            )
            store.save_match(connection, PlayedMatch(match, f"{match}\n", results), ladder.clock())

    ladder.database.write(act)


def play_all_pairs(ladder: Ladder, times: int, wins: dict[str, int], bots: str = "abcd") -> None:
    """Let each pair meet this often; a wins this many games of a pair "ab", 3 by default."""
    play(ladder, *((f"{x}{y}", wins.get(f"{x}{y}", 3)) for _ in range(times) for x, y in combinations(bots, 2)))


def update_standings(ladder: Ladder) -> StandingsUpdater:
    updater = StandingsUpdater(ladder)
    updater.update()
    return updater


def test_a_ladder_is_decided_when_its_leader_surely_is_as_good_as_the_best(ladder: Ladder) -> None:
    """The criterion is 2 points of win rate with 98 %."""
    best = dict.fromkeys(("ab", "ac", "ad"), 6)
    play_all_pairs(ladder, 1, best)
    assert not update_standings(ladder).decided
    play_all_pairs(ladder, 20, best)
    updater = update_standings(ladder)
    assert updater.decided
    assert updater.standings.verdict.leader == "a@1"
    words = "a@1 leads: with 98 % certainty, no other version wins over 2 points more."
    assert words in Term(ladder.path).arena("standings").out


def test_findings_are_computed_again_only_after_enough_games(ladder: Ladder) -> None:
    """In a large field that takes seconds, so it isn't done at each update."""
    play_all_pairs(ladder, 6, {})
    updater = update_standings(ladder)
    first = updater.standings.collusion
    assert first.games == 36 * GAMES
    play(ladder, ("ab", 3))
    updater.update()
    assert updater.standings.collusion is first
    play(ladder, ("cd", 3))
    updater.update()
    assert updater.standings.collusion.games == 38 * GAMES
    assert Standings.from_json(ladder.database.read_with_retry(store.find_latest_snapshot) or "") == updater.standings


def test_standings_show_changes_of_win_rates_since_yesterday_and_last_week(ladder: Ladder) -> None:
    shares = []
    for days, wins in ((0, 6), (6, 2), (7, 1)):
        ladder.clock = lambda days=days: (20_000.5 + days) * DAY_S
        play_all_pairs(ladder, 6, {"ab": wins})
        standings = update_standings(ladder).standings
        shares.append({row.bot: row.win_rate_adjusted.value for row in standings.items if row.win_rate_adjusted})
    moved = Standings.from_json(text_of(ladder))
    term = Term(ladder.path)
    output = {row["bot"]: row["trend"] for row in term.json("standings", "--at", "2024-10-11")["items"]}
    assert moved.created_at == (20_000.5 + 7) * DAY_S
    assert output["a"]["change_1d"] == pytest.approx(shares[2]["a"] - shares[1]["a"])
    assert output["a"]["change_7d"] == pytest.approx(shares[2]["a"] - shares[0]["a"])
    assert output["a"]["change_7d"] < output["a"]["change_1d"] < 0
    old = term.json("standings", "--at", "2024-10-04")
    assert {row["bot"]: row["win_rate_adjusted"]["value"] for row in old["items"]} == pytest.approx(shares[0])
    assert {row["trend"]["change_1d"] for row in old["items"]} == {None}
    assert "no matches were rated by that day" in term.arena("standings", "--at", "2024-10-03").err


def test_old_standings_snapshots_stay_the_same(ladder: Ladder) -> None:
    """Their rows are then numbers, one row for each version, without JSON."""
    play_all_pairs(ladder, 6, {"ab": 6})
    update_standings(ladder)
    term = Term(ladder.path)
    new = term.json("standings", "--at", "2024-10-04", "--show-logins")
    assert new["items"][0]["win_rate_adjusted"]["low"] is not None
    ladder.clock = lambda: 20_001.5 * DAY_S
    play_all_pairs(ladder, 6, {"ab": 1})
    update_standings(ladder)
    old = term.json("standings", "--at", "2024-10-04", "--show-logins")
    assert old == {**new, "revision": old["revision"]}
    kept = ladder.database.read_with_retry(lambda connection: [row[1] for row in connection.execute(select(*BOARDS))])
    assert [len(Standings.from_json(text).items) for text in kept] == [0, 4]


def text_of(ladder: Ladder) -> str:
    return ladder.database.read_with_retry(store.find_latest_snapshot) or ""


def test_only_staff_can_filter_by_section(ladder: Ladder) -> None:
    play_all_pairs(ladder, 2, {})
    update_standings(ladder)
    people = [store.User(f"owner-of-{name}", name, f"pseudonym of owner-of-{name}", section="A") for name in "bd"]
    ladder.database.write(lambda connection: store.save_users(connection, people, 3.0))
    for viewer, bots, sections in (
        (STAFF_VIEWER, "bd", ("A",)),
        (Viewer("owner-of-b"), "abcd", None),
        (PUBLIC_VIEWER, "abcd", None),
    ):
        page = look(ladder, viewer, view_standings_page, section="A")
        assert sorted(row.bot for row in page.standings.items) == list(bots)
        assert (page.total, page.sections) == (len(bots), sections)


def test_pseudonymous_standings_have_several_sortable_columns(ladder: Ladder) -> None:
    """Requested: a pseudonymous table with several sortable columns (Gradescope). It fits in 80 columns."""
    play_all_pairs(ladder, 6, {"ab": 6, "ac": 6, "ad": 6})
    play(ladder, ("bc", 6))
    update_standings(ladder)
    term = Term(ladder.path)
    for sort in ("rank", "win_rate", "games", "faults", "name", "age", "trend"):
        assert sorted(row["bot"] for row in term.json("standings", "--sort", sort)["items"]) == list("abcd")
    assert [row["bot"] for row in term.json("standings", "--sort", "name")["items"]] == list("abcd")
    assert {row["bot"] for row in term.json("standings", "--sort", "games")["items"][:2]} == {"b", "c"}
    output = term.arena("standings").out
    assert max(map(len, output.splitlines())) <= 100
    for text in (output, term.arena("standings", "--json").out, term.arena("standings", "--csv").out):
        assert "pseudonym of owner-of-a" in text
        assert "owner-of-a" not in text.replace("pseudonym of owner-of-a", "")
    rows = csv.DictReader(io.StringIO(term.arena("standings", "--csv", "--show-logins").out))
    assert next(rows)["owner"] == "owner-of-a"


def test_a_rebuild_finds_a_wrong_count_of_forfeits(ladder: Ladder) -> None:
    play_all_pairs(ladder, 1, {})
    (updater := StandingsUpdater(ladder)).update()
    assert updater.standings is not None
    rows = tuple(replace(row, forfeits=7 * (row.bot == "b")) for row in updater.standings.items)
    wrong = update(BOARDS[1].table).values(data=replace(updater.standings, items=rows).to_json())
    ladder.database.write(lambda connection: connection.execute(wrong))
    rebuilt = rebuild_standings(ladder)
    assert (rebuilt.same, [change.version for change in rebuilt.changes]) == (False, ["b@1"])


def test_collusion_is_reported_only_to_staff(ladder: Ladder) -> None:
    play_all_pairs(ladder, 6, {})
    found: Any = update_standings(ladder).standings
    pair = CollusionSuspects(("owner-of-a", "owner-of-b"), True, 120, 20, (10.0, 60.0), (30.0, 30.5), 0.0004)
    output = replace(found, collusion=replace(found.collusion, suspects=(pair,))).to_json()
    ladder.database.write(lambda connection: store.save_snapshot(connection, "2999-01-01", 5.0, 10**6, output))
    term = Term(ladder.path)
    words = "suspected collusion: owner-of-a favours owner-of-b; in 120 games together they won 10 (30.0 expected) and"
    assert words in term.arena("standings", "--show-logins").out
    assert term.json("standings", "--show-logins")["collusion"]["suspects"] == [
        {**asdict(pair), "owners": list(pair.owners), "wins": [10.0, 60.0], "expected": [30.0, 30.5]}
    ]
    assert term.json("standings")["collusion"]["suspects"] is None
    assert "favours" not in term.arena("standings").out


def test_collusion_is_found_from_results_alone(ladder: Ladder) -> None:
    """d gives all wins to c, which is no better against any other bot. The login of an erased suspect doesn't stay."""
    for name in "efgh":
        add_bot(ladder.database, name, f"owner-of-{name}")
    draw = random.Random(2)
    for _ in range(20):
        wins = {f"{x}{y}": draw.choice([2, 3, 4]) for x, y in combinations("abcdefgh", 2)}
        play_all_pairs(ladder, 1, wins | {"cd": 6}, "abcdefgh")
    updater = update_standings(ladder)
    assert [(each.owners, each.one_way) for each in updater.standings.collusion.suspects] == [
        (("owner-of-d", "owner-of-c"), True)
    ]
    login = erase_user(ladder, "owner-of-d", "staff", "asked")
    play(ladder, ("ab", 3))
    updater.update()
    assert [each.owners for each in updater.standings.collusion.suspects] == [(login, "owner-of-c")]


def test_a_merged_users_bot_gets_its_new_owner_without_another_match(ladder: Ladder) -> None:
    configure(ladder, max_bots_per_user=2)
    play_all_pairs(ladder, 1, {})
    updater = update_standings(ladder)
    merge_users(ladder, "owner-of-b", "owner-of-a", "staff", "one person")
    updater.update()
    assert {row.bot: row.owner for row in updater.standings.items}["b"] == "owner-of-a"
