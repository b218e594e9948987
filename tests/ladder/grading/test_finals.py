"""Tests of finals: frozen versions, and verifiable deals from a key with an earlier published commitment."""

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, case, update

from arena.coup import derive_key
from arena.run import VerificationReport, final_plan, verify_all
from ladder import grading, store
from ladder.activation import activate_version, disable_bot
from ladder.ladder import Ladder, set_frozen
from ladder.match_pages import set_void, view_match_replay
from ladder.permissions import PUBLIC_VIEWER, Viewer
from ladder.runner import LadderRunner
from ladder.runner_events import ClockBehind
from ladder.settings import LadderError
from ladder.users import join_teams, leave_teams, set_suspended
from tests.cli_workspace import BOT, Place, Ran
from tests.ladder.classes import Clock, add_settings, configure, deadline, hand_in, make_ladder, replace_setting, serve
from tests.ladder.grading.test_grades import store_final
from tests.ladder.invariants import problems
from tests.ladder.pool import workers

# Waits until there is a file, and leaves then.
QUITTER = BOT.replace('message["type"] == "request"', "leave()").replace(
    "for line in",
    """import os, time

def leave():
    while not os.path.exists(SIGN):
        time.sleep(0.01)
    sys.exit()

for line in""",
)
BASELINES = """
[[baselines]]
name = "share"
points = 10
min_win_rate_percent = 50

[[baselines]]
name = "beats one"
points = 20
beats = "one"
"""


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder of two references, and of ada's and bob's bots."""
    with closing(make_ladder(tmp_path / "spring")) as made:
        hand_in(made, "ada", "a")
        hand_in(made, "bob", "b")
        yield made


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ladder]:
    """Give a ladder whose final `last` was played; change it only by finals."""
    with closing(make_ladder(tmp_path_factory.mktemp("ladder") / "spring")) as made:
        hand_in(made, "ada", "a")
        hand_in(made, "bob", "b")
        add_settings(made, BASELINES)
        grading.create_final(made, "last", None, games=20, actor="teacher")
        set_frozen(made, True, "teacher", "the final")
        serve(made)
        grading.reveal_final_results(made, "last", "teacher")
        yield made


def stored(ladder: Ladder, name: str) -> store.Final:
    return ladder.database.read_with_retry(lambda connection: store.find_final(connection, name))


def test_the_key_is_committed_to_before_and_revealed_after(ladder: Ladder, tmp_path: Path) -> None:
    state = grading.create_final(ladder, "last", None, games=4, actor="teacher")
    published = grading.get_commitment_file(ladder, "last").read_text()
    final = stored(ladder, "last")
    assert state.key is None
    assert hashlib.sha256(final.key).hexdigest() == state.commitment
    assert state.commitment in published
    assert all(version_ref in published for version_ref in ("a@1", "b@1", "one@1", "two@1"))
    assert final.key.hex() not in published
    with pytest.raises(LadderError, match="the final last has 4 unfinished matches of 4"):
        grading.reveal_final_results(ladder, "last", "teacher")
    with pytest.raises(LadderError, match="isn't revealed yet"):
        grading.export_final(ladder, "last", tmp_path / "last")
    assert not (tmp_path / "last").exists()
    assert not stored(ladder, "last").revealed
    serve(ladder)
    for viewer in (PUBLIC_VIEWER, Viewer("ada")):
        state = grading.get_final_state(ladder, "last", viewer)
        assert (state.pending, state.key, state.standings) == (0, None, None)
        with pytest.raises(LadderError, match="isn't revealed yet"):
            grading.reveal_final_results(ladder, "last", "ada", viewer)
    grading.reveal_final_results(ladder, "last", "teacher")
    state = grading.get_final_state(ladder, "last")
    assert state.key == final.key.hex()
    assert (state.played, state.pending, state.abandoned) == (state.matches, 0, ())
    assert state.standings.matches == state.matches
    assert grading.get_final_state(ladder, "last", PUBLIC_VIEWER).key == state.key
    grading.reveal_final_results(ladder, "last", "other")
    with ladder.database.read() as connection:
        acts = store.list_audit_entries(connection, actions=("final", "reveal"))
    assert [(act.action, act.actor) for act in acts] == [("final", "teacher"), ("reveal", "teacher")]


def test_a_final_without_versions_is_refused(ladder: Ladder) -> None:
    for name in ("a", "b", "one", "two"):
        disable_bot(ladder, name, "teacher", "a pause")
    with pytest.raises(LadderError, match="no version counts"):
        grading.create_final(ladder, "last", None, games=4, actor="teacher")
    problem = grading.preview_final(ladder, "", 4).problem
    assert problem.startswith("no version counts")


def test_a_final_is_played_while_the_ladder_is_frozen(held: Ladder) -> None:
    _, measured = grading.reveal_final_results(held, "last", "teacher")
    assert {row.bot: row.games for row in measured.standings.items} == {"a": 20, "b": 20, "one": 20, "two": 20}


@pytest.mark.parametrize("name", ["last", "../last", "x" * 41, ""])
def test_an_impossible_final_is_refused(held: Ladder, name: str) -> None:
    with pytest.raises(LadderError, match="already" if name == "last" else "isn't a valid name") as refused:
        grading.create_final(held, name, None, games=4, actor="teacher")
    assert len(str(refused.value).splitlines()) == 2


def test_a_commitment_file_that_is_there_is_kept(ladder: Ladder) -> None:
    path = grading.get_commitment_file(ladder, "last")
    path.write_text("another one\n")
    with pytest.raises(LadderError, match=f"{path} exists, but the final wasn't created"):
        grading.create_final(ladder, "last", None, games=4, actor="teacher")
    assert path.read_text() == "another one\n"
    with ladder.database.read() as connection:
        assert store.find_final(connection, "last") is None


def test_baselines_that_a_final_cannot_meet_are_warned_of(ladder: Ladder) -> None:
    add_settings(
        ladder,
        '[[baselines]]\nname = "beats one"\npoints = 1\nbeats = "one"\n'
        '[[baselines]]\nname = "plays"\npoints = 1\nmin_games = 5\n',
    )
    assert grading.preview_final(ladder, "", 5).warnings == ()
    disable_bot(ladder, "one", "teacher", "a pause")
    assert grading.preview_final(ladder, "", 4).warnings == (
        "The baseline \"beats one\" can't be met: one doesn't play in this final.",
        'The baseline "plays" may not be met: it needs 5 games.',
    )


def test_too_few_versions_for_a_table_are_refused(tmp_path: Path) -> None:
    with closing(make_ladder(tmp_path / "spring", references="one")) as ladder:
        with pytest.raises(LadderError, match=r"^1 version can't play a final: .*\n.* never meet: one@1\.") as refused:
            grading.create_final(ladder, "last", None, games=4, actor="teacher")
        preview = grading.preview_final(ladder, "", 4)
        assert (preview.matches, preview.problem) == (0, str(refused.value))
        assert not grading.get_commitment_file(ladder, "last").exists()
        with pytest.raises(LadderError, match=r'no final "last"[.]\nIts finals: none'):
            grading.get_final_state(ladder, "last")


def test_a_final_leaves_out_the_newest_bots_of_a_team_that_has_too_many(tmp_path: Path) -> None:
    """Otherwise a team could prevent a final."""
    with closing(make_ladder(tmp_path / "spring", "ada bob cyd", references="one")) as ladder:
        for login, bot in (("ada", "a"), ("bob", "b"), ("cyd", "c")):
            hand_in(ladder, login, bot)
        join_teams(ladder, dict.fromkeys(("ada", "bob", "cyd"), "Red"), "teacher", "they asked")
        preview = grading.preview_final(ladder, "", 4)
        assert (preview.problem, preview.versions) == (None, ("a@1", "one@1"))
        assert preview.warnings == ("Bots of one owner or team never meet: left out: c@1, b@1.",)
        grading.create_final(ladder, "last", None, games=4, actor="teacher")
        with ladder.database.read() as connection:
            (entry,) = store.list_audit_entries(connection, actions=("final",))
            assert len(store.find_final(connection, "last").versions) == 2
        assert entry.reason.endswith("left out: c@1, b@1")
        serve(ladder)
        add_settings(ladder, '[[baselines]]\nname = "plays"\npoints = 30\nmin_games = 4\n')
        grading.reveal_final_results(ladder, "last", "t")
        leave_teams(ladder, ["bob"], "teacher", "on request")
        reasons = {row.user.login: row.reason for row in grading.get_grades(ladder, "t", final="last").grades}
        assert reasons["bob"] == "b@1 isn't among the versions of the final last"


def test_a_final_of_a_deadline_waits_until_it_has_closed(ladder: Ladder) -> None:
    """tests/ladder/test_deadlines.py shows which versions take part. Without a deadline those that play now do."""
    add_settings(ladder, deadline("first", 1_000_500, grace_minutes=10))
    hand_in(ladder, "ada", "a", at=1_001_100)  # the very end of the grace
    ladder.clock = Clock(1_001_030)
    with pytest.raises(LadderError, match="closes in 2 minutes"):
        grading.create_final(ladder, "last", "first", games=4, actor="teacher")
    ladder.clock = Clock(1_002_000)
    activate_version(ladder, "a", 1, actor="teacher", reason="why not")
    made = grading.create_final(ladder, "one", "first", games=4, actor="teacher")
    assert made.versions == ("a@2", "b@1", "one@1", "two@1")
    disable_bot(ladder, "b", "teacher", "it is copied")
    made = grading.create_final(ladder, "two", None, games=4, actor="teacher")
    assert made.versions == ("a@1", "one@1", "two@1")


def test_a_final_is_proposed_for_the_last_deadline_that_is_over_and_has_none(ladder: Ladder) -> None:
    ends = {"first": 2e6, "second": 3e6, "third": 4e6}
    add_settings(ladder, "".join(deadline(name, end) for name, end in ends.items()))
    for now, expected in ((1.5e6, "first"), (3e6, "first"), (3e6 + 1, "second"), (5e6, "third")):
        ladder.clock = Clock(now)
        assert grading.preview_final(ladder, None, 4).deadline == expected
    for name in ("third", "second", "first"):
        assert grading.preview_final(ladder, None, 4).deadline == name
        grading.create_final(ladder, name, name, games=4, actor="teacher")
    assert grading.preview_final(ladder, None, 4).deadline == ""


def test_a_version_that_is_auto_disabled_plays_its_final_to_the_end(ladder: Ladder) -> None:
    """A final without some of its matches would be worthless."""
    replace_setting(ladder, "matches = 5 ", "matches = 1 ")
    sign = grading.get_commitment_file(ladder, "last")  # published when the final is held
    hand_in(ladder, "ada", "a", code=QUITTER.replace("SIGN", repr(str(sign))))
    for event in LadderRunner(ladder, workers(), matches=2).events():
        if not isinstance(event, ClockBehind) and not sign.exists():
            grading.create_final(ladder, "last", None, games=4, actor="teacher")
    assert "auto_disable" in [act.action for act in ladder.database.read_with_retry(store.list_audit_entries)]
    state = grading.get_final_state(ladder, "last")
    assert (state.pending, state.abandoned) == (state.matches, ())


def test_an_abandoned_match_is_replayed_with_its_deals_before_the_key_is_public(ladder: Ladder) -> None:
    """Otherwise a final with two void matches of three closes silently."""
    grading.create_final(ladder, "last", None, games=4, actor="teacher")
    final = stored(ladder, "last")

    def give_up(connection: Connection) -> tuple[int, int]:
        runner = store.register_runner(connection, 1, 0.0)
        for hour in itertools.count(1):
            match = store.claim_match(connection, runner, [], 3600.0 * hour, (store.FINAL,))
            if store.record_failed_attempt(connection, match.id, runner, "no space", timestamp=3600.0 * hour):
                break
        store.end_runner(connection, runner)
        return match.id, hour

    abandoned, _ = ladder.database.write(give_up)
    serve(ladder)
    with pytest.raises(LadderError, match=f"abandoned in the final last: 1 match, such as {abandoned}"):
        grading.reveal_final_results(ladder, "last", "teacher")
    assert not stored(ladder, "last").revealed
    assert grading.retry_final(ladder, "last", "teacher").pending == 1
    assert "queued 1 abandoned match again" in ladder.database.read_with_retry(store.list_audit_entries)[-1].reason
    assert ladder.database.write(give_up) == (abandoned, 3), "its attempts start at 0"
    grading.retry_final(ladder, "last", "teacher")
    serve(ladder)
    grading.reveal_final_results(ladder, "last", "teacher")
    assert grading.get_final_state(ladder, "last").abandoned == ()
    assert stored(ladder, "last").key == final.key
    with pytest.raises(LadderError, match="is public"):
        grading.retry_final(ladder, "last", "teacher")
    wrong = ladder.database.read_with_retry(lambda connection: list(problems(connection)))
    assert [what for what in wrong if "match" in what] == []


def test_a_final_is_revealed_without_abandoned_matches_by_decision_of_staff(ladder: Ladder) -> None:
    grading.create_final(ladder, "last", None, games=4, actor="teacher")
    serve(ladder, 1)
    matches = store.METADATA.tables["matches"]
    ended = {"status": "ended", "outcome": "abandoned", "reason": "no space", "ended_at": 1.0}
    queued = matches.c.status == "queued"
    ladder.database.write(lambda connection: connection.execute(update(matches).where(queued).values(ended)))
    with pytest.raises(LadderError, match="--incomplete"):
        grading.reveal_final_results(ladder, "last", "teacher")
    grading.reveal_final_results(ladder, "last", "teacher", incomplete=True)
    assert stored(ladder, "last").revealed
    assert len(grading.get_final_state(ladder, "last").abandoned) > 0
    assert grading.export_final(ladder, "last", ladder.path / "out") == 1
    verified = verify_all(ladder.path / "out")
    assert verified.differences == ()
    assert str(verified.stopped).startswith("matches were abandoned, such as match 1: 1 of ")


def test_a_void_match_counts_in_no_grade(tmp_path: Path) -> None:
    """Once the result is public, no match of it becomes void."""
    with closing(make_ladder(tmp_path / "spring")) as ladder:
        hand_in(ladder, "ada", "a")
        hand_in(ladder, "bob", "b")
        grading.create_final(ladder, "last", None, games=4, actor="teacher", is_open=True)
        serve(ladder)
        with ladder.database.read() as connection:
            played = store.list_final_matches(connection, stored(ladder, "last").id)
        games = []
        for match in played[:2]:  # of one round, so of different bots
            set_void(ladder, match.id, True, "teacher", "a power cut")
            rows = grading.get_final_state(ladder, "last").standings.items
            games.append({row.bot: row.games for row in rows})
            set_void(ladder, match.id, False, "teacher", "it was none")
        assert games[0] != games[1]
        set_void(ladder, played[0].id, True, "teacher", "a power cut")
        assert grading.reveal_final_results(ladder, "last", "teacher")[1].standings.matches == len(played) - 1
        assert grading.get_final_state(ladder, "last").void == (played[0].id,)
        assert grading.export_final(ladder, "last", tmp_path / "out") == len(played)
        assert not set_void(ladder, played[0].id, True, "teacher", "a power cut")
        for match, void in ((0, False), (1, True)):
            with pytest.raises(LadderError, match="the result of the final last is public"):
                set_void(ladder, played[match].id, void, "teacher", "a power cut")


def test_a_suspended_user_is_neither_champion_nor_on_the_podium(tmp_path: Path) -> None:
    """One who is suspended after the reveal loses the title, which no other user gets."""
    with closing(make_ladder(tmp_path / "spring", "ada bob cleo", references="one")) as ladder:
        for login in ("ada", "bob", "cleo"):
            hand_in(ladder, login, f"bot-{login}")
        grading.create_final(ladder, "last", None, games=4, actor="teacher", is_open=True)
        serve(ladder, 1)
        played = [row.games > 0 for row in grading.get_final_state(ladder, "last").standings.items[:3]]
        assert played == sorted(played, reverse=True), "a bot without games isn't before one with games"
        serve(ladder)
        set_suspended(ladder, "cleo", True, "teacher", "copied")
        grading.reveal_final_results(ladder, "last", "teacher")
        first, second = (row.bot for row in grading.get_final_state(ladder, "last").podium)
        assert {first, second} == {"bot-ada", "bot-bob"}
        assert grading.get_final_state(ladder, "last").champion == f"{first}@1"
        set_suspended(ladder, first.removeprefix("bot-"), True, "teacher", "copied")
        state = grading.get_final_state(ladder, "last")
        assert ([row.bot for row in state.podium], state.champion) == ([second], None)


def test_a_tie_adds_rounds_that_follow_from_the_key_too(ladder: Ladder, tmp_path: Path) -> None:
    """With games this few, the first two are always tied."""
    planned = grading.create_final(ladder, "last", None, games=2, actor="teacher", extra_rounds=2).matches
    published = grading.get_commitment_file(ladder, "last").read_text()
    assert "adds rounds among the tied versions, at most 2" in published
    assert grading.get_final_state(ladder, "last").progress == "queued"
    ended = []  # (rounds, state, state in the list) whenever no match is queued
    with closing(LadderRunner(ladder, workers(), until="idle").events()) as events:
        for _ in events:
            state = grading.get_final_state(ladder, "last")
            with ladder.reading(PUBLIC_VIEWER) as context:
                [listed] = grading.list_final_states(ladder, context).items
            if state.pending:
                assert state.state != "complete"
                assert state.extra_rounds == 0 or state.progress.endswith(f"(round {state.extra_rounds} of at most 2)")
            elif (state.extra_rounds, state.progress, listed.progress) not in ended:
                ended.append((state.extra_rounds, state.progress, listed.progress))
                if state.extra_rounds == 0:
                    with pytest.raises(LadderError, match="unfinished"):
                        grading.reveal_final_results(ladder, "last", "teacher")
    words = ["deciding a tie (round 1 of at most 2)", "deciding a tie (round 2 of at most 2)", "complete"]
    assert ended == [(number, word, word) for number, word in enumerate(words)]
    tied = grading.get_final_state(ladder, "last")
    assert (planned, tied.matches, tied.extra_rounds, tied.pending) == (2, 4, 2, 0)
    final = stored(ladder, "last")
    assert [[tied.versions[bot] for bot in bots] for bots in final.extra_rounds] == [["a@1", "b@1"]] * 2
    grading.reveal_final_results(ladder, "last", "teacher")
    grading.export_final(ladder, "last", tmp_path / "last")
    verified = verify_all(tmp_path / "last")
    assert (verified.differences, verified.stopped) == ((), None)
    assert str(verified.note).startswith("final.json has 2 of at most 2 extra rounds")
    _another("final.json", lambda values: values.update(extra_rounds=[[0, 1], [0, 3]]))(tmp_path / "last")
    assert verify_all(tmp_path / "last").differences != ()


def test_a_tie_of_bots_that_never_meet_adds_a_round_with_others(ladder: Ladder) -> None:
    configure(ladder, max_bots_per_user=2)
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "teacher", "they asked")
    versions = grading.create_final(ladder, "last", None, games=2, actor="teacher", extra_rounds=1).versions
    serve(ladder)
    [bots] = stored(ladder, "last").extra_rounds
    assert {versions[bot] for bot in bots} > {"a@1", "b@1"}


def test_a_clear_winner_needs_no_extra_round(tmp_path: Path) -> None:
    with closing(make_ladder(tmp_path / "spring", "ada bob cleo dan")) as ladder:
        for login in ("ada", "bob", "cleo", "dan"):
            hand_in(ladder, login, login[0])
        grading.create_final(ladder, "last", None, games=60, actor="teacher", extra_rounds=1)
        store_final(ladder, "last", (), is_first_best=True)
        grading.reveal_final_results(ladder, "last", "teacher")
        for suspended, podium in ((False, "abc"), (True, "ab")):
            for login in ("cleo", "dan"):
                set_suspended(ladder, login, suspended, "teacher", "a doubt")
            state = grading.get_final_state(ladder, "last")
            assert ("".join(row.bot for row in state.podium), state.extra_rounds) == (podium, 0)
            assert len(state.decisive_matches) == 3


def test_the_end_of_a_final_is_estimated_at_its_own_pace(ladder: Ladder) -> None:
    for name, matches in (("first", 4), ("last", 3)):
        grading.create_final(ladder, name, None, games=4, actor="teacher")
        serve(ladder, matches)
    played = store.METADATA.tables["matches"]
    pace_s = case((played.c.final == stored(ladder, "last").id, 10), else_=1)
    apart = update(played).values(ended_at=1e6 + pace_s * played.c.end_sequence)
    ladder.database.write(lambda connection: connection.execute(apart))
    assert grading.get_final_state(ladder, "last").remaining_s is None  # no runner is active
    ladder.database.write(lambda connection: store.register_runner(connection, 1, 1e6))
    state = grading.get_final_state(ladder, "last", PUBLIC_VIEWER)
    assert state.remaining_s == 10 * state.pending > 0


@pytest.mark.parametrize("is_open", [True, False])
def test_only_an_open_final_shows_results_while_it_is_played(ladder: Ladder, is_open: bool) -> None:
    grading.create_final(ladder, "last", None, games=4, actor="teacher", is_open=is_open)
    serve(ladder, 2)
    state = grading.get_final_state(ladder, "last", PUBLIC_VIEWER)
    assert (state.key, state.podium, state.champion) == (None, (), None)
    assert (state.standings is not None, state.featured_match is not None) == (is_open, is_open)
    with ladder.reading(PUBLIC_VIEWER) as context:
        matches = store.list_final_matches(context.connection, stored(ladder, "last").id)
        shown = [match.id for match in matches if view_match_replay(context, match.id) is not None]
    assert (shown == [match.id for match in matches]) == is_open
    assert bool(shown) == is_open
    if state.standings is not None:
        serve(ladder, 1)
        later = grading.get_final_state(ladder, "last", PUBLIC_VIEWER)
        assert later.standings.matches > state.standings.matches, "the results of earlier matches are cached"


def test_reference_bots_have_no_rank(held: Ladder) -> None:
    state = grading.get_final_state(held, "last")
    rows = state.standings.items
    assert [(row.position, row.is_reference) for row in rows] == [(1, False), (2, False), (3, True), (4, True)]
    # By chance one of the two can be clearly better. A reference never takes a place from them.
    assert [row.rank_range for row in rows[:2]] in ([(1, 2), (1, 2)], [(1, 1), (2, 2)])
    assert [row.bot for row in state.podium] == [row.bot for row in rows[:2]]
    assert state.champion == f"{rows[0].bot}@1"


# --- anyone can verify it ---------------------------------------------------------------------------------------------


def test_the_key_that_was_committed_to_deals_and_seats_every_exported_match(held: Ladder, tmp_path: Path) -> None:
    final, folder = stored(held, "last"), tmp_path / "last"
    assert grading.export_final(held, "last", folder) == 20
    published = (folder / "published.txt").read_text()
    assert published == grading.get_commitment_file(held, "last").read_text()
    assert f"SHA-256 of the key: {hashlib.sha256(final.key).hexdigest()}" in published
    digests = [line.split()[1] for line in published.splitlines()[-4:]]
    assert digests == held.database.read_with_retry(
        lambda connection: [store.get_version_by_id(connection, version).digest for version in final.versions]
    )
    assert verify_all(folder) == VerificationReport(20, 40, 0, 20)
    with pytest.raises(LadderError, match="isn't empty"):
        grading.export_final(held, "last", folder)


def _another(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        values = json.loads((folder / name).read_text())
        change(values)
        (folder / name).write_text(json.dumps(values))

    return edit


FORGED_FINALS: dict[str, tuple[Callable[[Path], object], str]] = {
    "another match in the place of one": (
        lambda folder: shutil.copyfile(folder / "records" / "000002.jsonl", folder / "records" / "000003.jsonl"),
        "000003.jsonl: match is",
    ),
    "a match less": (
        lambda folder: (folder / "records" / "000003.jsonl").unlink(),
        "20 matches were played, but 19 are in the folder",
    ),
    "another key": (
        _another("final.json", lambda final: final.update(key="00" * 32)),
        "published.txt doesn't match the commitment",
    ),
    "another version's digest": (
        _another("final.json", lambda final: final["versions"][0].__setitem__(1, "00" * 32)),
        "published.txt doesn't match the commitment",
    ),
    "other terms": (
        _another("final.json", lambda final: final["terms"].update(lives=2)),
        "terms.lives is 3 in the record, but 2 in the plan",
    ),
    "the last matches less, and fewer ended": (
        lambda folder: (
            [(folder / "records" / f"{match:06d}.jsonl").unlink() for match in (18, 19)],
            _another("final.json", lambda final: final.update(ended=18))(folder),
        ),
        "2 of 20 planned matches are missing, such as match 18",
    ),
    "fewer results and no end": (
        lambda folder: (
            (folder / "results.jsonl").write_text(""),
            _another("final.json", lambda final: final.pop("ended"))(folder),
        ),
        "results.jsonl differs from the records",
    ),
    "nothing published": (lambda folder: (folder / "published.txt").unlink(), "doesn't match the commitment"),
}


@pytest.mark.parametrize(("forge", "words"), FORGED_FINALS.values(), ids=FORGED_FINALS.keys())
def test_differences_of_a_final_from_its_publication_are_reported(
    held: Ladder, tmp_path: Path, forge: Callable[[Path], object], words: str
) -> None:
    folder = tmp_path / "last"
    grading.export_final(held, "last", folder)
    forge(folder)
    assert words in "\n".join(verify_all(folder).differences)


def test_the_plan_of_a_key_never_changes() -> None:
    """Later arenas can verify finals of earlier terms."""
    tables = final_plan(bytes(32), (0, 0, 1, 2, 3), 2, 3, 2).tables
    assert [table.bots for table in tables[:4]] == [(0, 3), (2, 4), (1, 3), (1, 2)]
    assert derive_key(bytes(32), "match|7").hex() == "3f52f928cee33c0d67a8e3ddfd72a0ad28f06d71c973d35d803b7866d93e8413"


def test_a_final_by_commands_alone(place: Place) -> None:
    with closing(make_ladder(place.folder / "spring")) as ladder:
        hand_in(ladder, "ada", "a")

    def final(command: str, *words: str) -> Ran:
        return place.call("ladder", "final", command, "spring", "last", *words)

    begun = final("create", "--games", "4", "--by", "teacher")
    assert "SHA-256" in begun.err
    assert "queued" in final("show").err
    assert final("show", "--json").json["key"] is None
    assert final("export", "--out", "out").code == 2
    assert not (place.folder / "out").exists()
    assert place.run("ladder", "run", "spring", "--until", "idle", "--jobs", "1").code == 0
    output = final("reveal")
    assert "Key: " in output.out
    assert "a@1" in output.out
    assert '"ada"' not in final("show", "--json").out
    assert '"ada"' in final("show", "--json", "--show-logins").out
    shown = final("show", "--json").json
    assert hashlib.sha256(bytes.fromhex(shown["key"])).hexdigest() == shown["commitment"]
    assert "last" in place.call("ladder", "final", "list", "spring").out
    assert "verify it: arena verify out" in final("export", "--out", "out").err
    assert place.call("verify", "out").code == 0
    assert final("create", "--games", "4").code == 2
    assert place.call("ladder", "final", "show", "spring", "nope").code == 2
