"""Tests of grades: points for baselines, with values and reasons."""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import astuple
from pathlib import Path

import pytest
from sqlalchemy import Connection

from arena.referee import GameResult, PlayedMatch
from ladder import grading, store
from ladder.activation import disable_bot
from ladder.bots import submit_bot
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.settings import LadderError, read_settings
from ladder.standings import rebuild_standings
from ladder.standings.computation import Standings
from ladder.users import join_teams, set_suspended, set_withdrawn
from tests.cli_workspace import BOT
from tests.ladder.classes import (
    Clock,
    add_settings,
    configure,
    copy_ladder,
    deadline,
    hand_in,
    make_ladder,
    replace_setting,
)
from tests.ladder.term import Term
from tests.ladder.version_refs import version_ids_by_ref

BASELINES = """
[[baselines]]
name = "beats one"
points = 40
beats = "one"

[[baselines]]
name = "plays"
points = 30
min_games = 80
max_fault_percent = 2.5

[[baselines]]
name = "wins"
points = 30
min_win_rate_percent = 60
"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a ladder of two references, four owners, and ada's and bob's bots."""
    folder = tmp_path_factory.mktemp("grades") / "spring"
    with closing(make_ladder(folder, owners="ada bob cleo dan")) as made:
        hand_in(made, "ada", "a")
        hand_in(made, "bob", "b")
        add_settings(made, BASELINES)
    return folder


@pytest.fixture
def ladder(begun: Path, tmp_path: Path) -> Iterator[Ladder]:
    with closing(copy_ladder(begun, tmp_path / "spring")) as made:
        yield made


def play(ladder: Ladder, one: str, other: str, wins: Sequence[int], faulty: int = 0, at: float = 3.0) -> None:
    """Store rated matches of two games of two versions: the first wins some of each, and is faulty in some games."""

    def act(connection: Connection) -> None:
        refs = (one, other)
        table = list(version_ids_by_ref(connection, refs).values())
        left = faulty
        for id, won in zip(store.queue_matches(connection, store.RATED, [table] * len(wins), 2.0), wins, strict=True):
            results = []
            for game in range(2):
                winner = 0 if game < won else 1
                faults = ((0, "bad_json", 3), (0, "timeout", 1)) if left > 0 else ()
                left -= 1
                results.append(
                    GameResult(id, game, refs, winner, "last_standing", (winner,), ((1 - winner, 9),), 9, (), faults)
                )
            store.save_match(connection, PlayedMatch(id, "record\n", tuple(results)), at)

    ladder.database.write(act)


def grade_of(ladder: Ladder, login: str, deadline: str | None = None) -> grading.Grade:
    return next(each for each in grading.get_grades(ladder, "t", deadline=deadline).grades if each.user.login == login)


def test_a_bot_beats_another_where_the_lower_end_of_the_difference_is_above_zero(ladder: Ladder) -> None:
    """More wins alone aren't enough: equal bots pass in one case of forty."""
    assert grade_of(ladder, "ada").games == 0
    for name in ("a@1", "b@1", "two@1"):
        play(ladder, name, "one@1", [2, 1, 2, 2, 1, 2, 2, 2] * 2 if name == "a@1" else [2, 0, 1, 1, 0, 2, 1, 2] * 2)
    beats = grade_of(ladder, "ada").baselines[0]
    assert (beats.passed, beats.points) == (True, 40)
    assert beats.value > beats.low > 0
    close = grade_of(ladder, "bob").baselines[0]
    assert close.value > 0 > close.low
    estimate = grade_of(ladder, "bob").win_rate_adjusted
    digits = [*((rate, 8) for rate in astuple(estimate)), *((rate, 6) for rate in (close.value, close.low, close.high))]
    assert [round(rate, places) for rate, places in digits] == [rate for rate, _ in digits]  # alike on all processors
    assert (close.passed, close.points) == (False, 0)
    assert "ahead of one@1" in close.explanation


def test_a_user_cannot_beat_their_own_bot_or_one_that_does_not_play(ladder: Ladder) -> None:
    replace_setting(ladder, 'beats = "one"', 'beats = "a"')
    assert grade_of(ladder, "ada").baselines[0].explanation == "this bot is a itself"
    disable_bot(ladder, "a", "t", "copied")
    assert grade_of(ladder, "bob").baselines[0].explanation == "a doesn't play"


def test_without_a_deadline_no_version_is_late(ladder: Ladder) -> None:
    configure(ladder, penalty_percent_per_day=10)
    play(ladder, "a@1", "one@1", [1] * 40)
    grade = grade_of(ladder, "ada")
    assert (grade.late_hours, grade.late_days_spent, grade.late_penalty) == (None, 0, 0)


def test_a_version_without_games_inherits_no_points(ladder: Ladder) -> None:
    """The fit links a version to its predecessor, a grade doesn't."""
    for name in ("a@1", "b@1", "two@1"):
        play(ladder, name, "one@1", [2, 2, 2, 2, 1, 2, 2, 2] * 2 if name == "a@1" else [2, 0, 1, 1, 0, 2, 1, 2] * 2)
    assert grade_of(ladder, "ada").baselines[0].passed
    hand_in(ladder, "ada", "a", code=f"{BOT}# the second\n")
    assert [mark.passed for mark in grade_of(ladder, "ada").baselines] == [False, False, False]


def test_with_few_games_only_baselines_on_games_pass(ladder: Ladder) -> None:
    play(ladder, "a@1", "one@1", [2, 2])
    beats, plays, wins = grade_of(ladder, "ada").baselines
    assert [mark.passed for mark in (beats, plays, wins)] == [False, False, False]
    assert beats.explanation == "too few games for an interval"
    assert plays.explanation == "4 of 80 required games, 0.0 % with a fault"


@pytest.mark.parametrize(("matches", "faulty", "passed"), [(40, 1, True), (40, 2, False), (39, 0, False)])
def test_a_game_with_several_faults_counts_once(ladder: Ladder, matches: int, faulty: int, passed: bool) -> None:
    """2 games of 80 are 2.5 %, which isn't below 2.5 %; 1 game is."""
    play(ladder, "a@1", "one@1", [1] * matches, faulty)
    plays = grade_of(ladder, "ada").baselines[1]
    assert plays.passed is passed
    assert plays.explanation.startswith(f"{2 * matches} of 80 required games, ")  # also where it is more
    assert plays.value == pytest.approx(100 * faulty / (2 * matches))
    assert plays.low <= plays.value <= plays.high


def test_a_win_rate_is_compared_to_its_threshold_and_close_ones_are_reported(ladder: Ladder) -> None:
    """Staff see which users more games might help or hurt."""
    for name in ("a@1", "b@1", "two@1"):
        play(ladder, name, "one@1", [2, 1, 2, 1, 1, 2, 1, 1] * 2 if name == "a@1" else [2, 0, 1, 1, 0, 1, 1, 2] * 2)
    ada, bob = grade_of(ladder, "ada"), grade_of(ladder, "bob")
    for wins, passed in ((ada.baselines[2], True), (bob.baselines[2], False)):
        assert wins.threshold == 60
        assert wins.low < 60 < wins.high
        assert wins.passed is (wins.value >= 60) is passed
        assert wins.inconclusive
        assert wins.explanation.startswith(f"win rate {wins.value:.1f} % ({wins.low:.1f} to {wins.high:.1f})")
    assert "inconclusive" in ada.reason
    old, found = "60", ada.baselines[2]
    for threshold, *outcome in (
        (found.low, True, False), (found.low + 1e-6, True, True), (found.value, True, True),
        (found.value + 0.01, False, True), (found.high, False, True), (found.high + 1e-6, False, False),
    ):  # fmt: skip
        replace_setting(ladder, f"min_win_rate_percent = {old}", f"min_win_rate_percent = {threshold}")
        wins, old = grade_of(ladder, "ada").baselines[2], str(threshold)
        assert [wins.passed, wins.inconclusive] == outcome


def test_an_owner_without_a_version_has_a_grade_with_a_reason(ladder: Ladder) -> None:
    add_settings(ladder, deadline("first", 1_003_600))
    hand_in(ladder, "cleo", "c", at=1_003_600, reason="run: it \x1b[31mhangs")
    hand_in(ladder, "dan", "d", at=1_009_000)
    disable_bot(ladder, "b", "teacher", "copied from a")
    ladder.clock = Clock(1_020_000)
    reasons = {each.user.login: each.reason for each in grading.get_grades(ladder, "t", deadline="first").grades}
    assert reasons["cleo"] == "c@1 didn't pass its check: run: it \\x1b[31mhangs"
    assert reasons["dan"] == "no version was submitted in time: d@1 was late"
    assert reasons["bob"] == "b is disabled: copied from a"
    grades = grading.get_grades(ladder, "t", deadline="first").grades
    assert {(each.points, each.games) for each in grades} == {(0.0, 0)}
    with closing(make_ladder(ladder.path.parent / "other", owners="eve")) as empty:
        with pytest.raises(LadderError, match="no baselines are configured"):
            grading.get_grades(empty, "t")
        add_settings(empty, BASELINES)
        assert [each.reason for each in grading.get_grades(empty, "t").grades] == ["no version was submitted"]
        submit_bot(empty, ladder.path / "c.py", "eve", name="e")
        assert [each.reason for each in grading.get_grades(empty, "t").grades] == ["e@1 is queued for its check"]
        hand_in(empty, "eve", "e")
        [bot] = (bot for bot in empty.database.read_with_retry(store.all_bots) if bot.name == "e")
        out = (bot.id, "auto_disable", "ladder", "it forfeits", 1e6)
        empty.database.write(lambda connection: store.deactivate_bot(connection, *out))
        assert [each.reason for each in grading.get_grades(empty, "t").grades] == ["e@2 doesn't play"]


def test_an_owner_sees_only_their_grade(ladder: Ladder) -> None:
    """The public sees none, staff all. References and staff have none."""
    for viewer, logins in (
        (Viewer("ada"), ["ada"]),
        (PUBLIC_VIEWER, []),
        (STAFF_VIEWER, ["ada", "bob", "cleo", "dan"]),
    ):
        assert [grade.user.login for grade in grading.get_grades(ladder, "t", viewer=viewer).grades] == logins


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('[[baselines]]\nname = "x"\npoints = 1\n', "beats: a baseline needs exactly one of"),
        ('[[baselines]]\nname = "x"\npoints = 1\nmin_games = 2\nmin_win_rate_percent = 3\n', "beats: a baseline needs"),
        (
            '[[baselines]]\nname = "x"\npoints = 1\nmin_win_rate_percent = 3\nmax_fault_percent = 1\n',
            "max_fault_percent: it requires a number of games",
        ),
        ('[[baselines]]\nname = "x"\npoints = -1\nmin_games = 2\n', "greater than or equal to 0"),
        ('[[baselines]]\nname = "x"\npoints = nan\nmin_games = 2\n', "finite number"),
        ('[[baselines]]\nname = "wins"\npoints = 1\nmin_games = 2\n', 'two baselines are called "wins"'),
        ('[[baselines]]\nname = "x\\u001b"\npoints = 1\nmin_games = 2\n', "printable"),
    ],
)
def test_invalid_baselines_are_refused(ladder: Ladder, text: str, output: str) -> None:
    add_settings(ladder, text)
    with pytest.raises(LadderError, match=output) as refused:
        read_settings(ladder.path)
    assert len(str(refused.value).splitlines()) == 2


def test_grades_with_a_baseline_of_an_unknown_bot_are_refused(ladder: Ladder) -> None:
    add_settings(ladder, '[[baselines]]\nname = "x"\npoints = 1\nbeats = "onne"\n')
    with pytest.raises(LadderError, match="The reference bots are one, two"):
        grading.get_grades(ladder, "t")


def test_a_finals_grades_are_of_its_matches_only(ladder: Ladder) -> None:
    play(ladder, "a@1", "one@1", [1] * 40, faulty=5)
    for name, faults in (("semi", ((0, "bad_json", 1),)), ("last", ())):
        grading.create_final(ladder, name, None, games=20, actor="teacher")
        store_final(ladder, name, faults)
    ladder.clock = Clock(2e6)
    semi, last = (grading.get_grades(ladder, "t", final=name).grades[0] for name in ("semi", "last"))
    assert (semi.games, last.games) == (20, 20)
    assert semi.baselines[1].value > 0
    assert last.baselines[1].value == 0


def test_a_suspended_teammates_version_counts_for_no_member_of_the_team(ladder: Ladder) -> None:
    """It played in the final before. A suspended user has no grade for the version of a teammate, either."""
    join_teams(ladder, {"ada": "Red", "cleo": "Red"}, "t", "they asked")
    grading.create_final(ladder, "last", None, games=20, actor="t")
    store_final(ladder, "last", ())
    ladder.clock = Clock(2e6)

    def versions() -> list[str | None]:
        grades = {each.user.login: each.version for each in grading.get_grades(ladder, "t", final="last").grades}
        return [grades[login] for login in ("ada", "cleo")]

    assert versions() == ["a@1", "a@1"]
    set_suspended(ladder, "ada", True, "t", "a doubt")
    assert versions() == [None, None]
    set_suspended(ladder, "ada", False, "t", "none")
    set_suspended(ladder, "cleo", True, "t", "a doubt")
    assert versions() == ["a@1", None]
    set_suspended(ladder, "cleo", False, "t", "none")
    set_suspended(ladder, "ada", True, "t", "copied")
    set_withdrawn(ladder, "ada", True, "t", "left")
    grades = grading.get_grades(ladder, "t", final="last").grades
    assert {each.user.login: each.version for each in grades}["cleo"] is None


def store_final(
    ladder: Ladder, name: str, faults: tuple[tuple[int, str, int], ...], is_first_best: bool = False
) -> None:
    """Store all matches of a final: the first seat of each game wins, with these faults.

    is_first_best: the first bot by name has it; otherwise the seats rotate.
    """

    def act(connection: Connection) -> None:
        final = store.find_final(connection, name)
        for match in store.list_final_matches(connection, final.id):
            refs = tuple(
                store.get_version_by_id(connection, version).version_ref
                for version in store.versions_in_match(connection, match.id)
            )
            results = tuple(
                GameResult(match.id, game, seats, 0, "last_standing", (0,), ((1, 9),), 9, (), faults)
                for game, seats in enumerate((tuple(sorted(refs)),) * 2 if is_first_best else (refs, refs[::-1]))
            )
            store.save_match(connection, PlayedMatch(match.id, "record\n", results), 3.0)

    ladder.database.write(act)


def test_negative_numbers_stay_numbers(ladder: Ladder) -> None:
    for name in ("a@1", "b@1", "two@1"):
        play(ladder, name, "one@1", [0, 1] * 8 if name == "a@1" else [2, 1] * 8)
    head, *lines = csv.reader(io.StringIO(grading.format_gradebook(grading.get_grades(ladder, "t"), "plain")))
    ada = dict(zip(head, lines[0], strict=True))
    assert float(ada["beats one: value"]) < 0
    assert ada["beats one: passed"] == "no"
    assert float(ada["points"]) == 0
    assert {len(line) for line in lines} == {len(head)}


def test_the_command_prints_all_grades_or_one_owners(ladder: Ladder) -> None:
    play(ladder, "a@1", "one@1", [1] * 40)
    term = Term(ladder.path)
    head, *lines = csv.reader(io.StringIO(term.arena("grades show").out))
    assert (head[0], [line[0] for line in lines]) == ("login", ["ada", "bob", "cleo", "dan"])
    output = term.arena("grades show", "--owner", "ada").out
    assert "30 of 100 points" in output
    assert "not passed" in output
    assert term.arena("grades show", "--owner", "cleo").out.count("no version was submitted") == 1
    assert term.arena("grades show", "--deadline", "x", code=2).messages
    assert term.json("grades show")["max_points"] == 100


def test_of_several_bots_the_one_with_most_points_counts(ladder: Ladder) -> None:
    """It need not be the one with the best win rate."""
    configure(ladder, max_bots_per_user=2)
    hand_in(ladder, "ada", "better", code=f"{BOT}# better\n")
    play(ladder, "a@1", "two@1", [1, 0, 1, 1] * 10)  # 80 games: the points of "plays"
    play(ladder, "better@1", "one@1", [1] * 20)
    play(ladder, "two@1", "one@1", [1] * 20)
    found = grade_of(ladder, "ada")
    assert (found.version, found.points) == ("a@1", 30)
    rebuild_standings(ladder)
    shares = Standings.from_json(ladder.database.read_with_retry(store.find_latest_snapshot) or "").win_rates
    assert shares["a"] < shares["better"]
