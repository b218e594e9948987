"""Finals: frozen versions, deals by a key that is committed to before and revealed after, which anyone can verify."""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from arena.referee import read, write
from ladder.access import PUBLIC, Viewer
from ladder.proof import ProofError, place_key, tables_of, verify_proof
from ladder.service import (
    Behind,
    Ladder,
    LadderError,
    Service,
    activate_version,
    commitment_file,
    disable_bot,
    final_proof,
    grades,
    hold_again,
    hold_final,
    replay,
    reveal,
    see_final,
    set_frozen,
    set_void,
    submit,
)
from ladder.store.database import (
    FINAL,
    TABLES,
    Final,
    acts_of,
    claim,
    fail,
    find_bot,
    find_final,
    join,
    leave,
    matches_of_final,
    rest,
    table_of,
)
from tests.ladder.service.classes import Clock, deadline, hand_in, school, serve, settle
from tests.ladder.service.invariants import problems
from tests.ladder.service.pool import workers
from tests.place import BOT, Place

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
share_percent = 50

[[baselines]]
name = "beats one"
points = 20
beats = "one"
"""


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder of two references, and of ada's and bob's bots."""
    with closing(school(tmp_path / "spring")) as made:
        hand_in(made, "ada", "a")
        hand_in(made, "bob", "b")
        yield made


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ladder]:
    """Give a ladder whose final `last` was played; don't change it but by finals."""
    with closing(school(tmp_path_factory.mktemp("ladder") / "spring")) as made:
        hand_in(made, "ada", "a")
        hand_in(made, "bob", "b")
        settle(made, BASELINES)
        hold_final(made, "last", None, 20, "teacher")
        set_frozen(made, True, "teacher", "the final")
        serve(made)
        reveal(made, "last", "teacher")
        yield made


def stored(ladder: Ladder, name: str) -> Final:
    final = ladder.database.look(lambda connection: find_final(connection, name))
    assert final is not None
    return final


def test_the_key_is_committed_to_before_and_revealed_after(ladder: Ladder) -> None:
    """Nothing that is published before a match is played tells it."""
    state = hold_final(ladder, "last", None, 4, "teacher")
    published = commitment_file(ladder, "last").read_text()
    final = stored(ladder, "last")
    assert state.key is None
    assert hashlib.sha256(final.key).hexdigest() == state.commitment
    assert state.commitment in published
    assert all(label in published for label in ("a@1", "b@1", "one@1", "two@1"))
    assert final.key.hex() not in published
    with pytest.raises(LadderError, match="matches of the final last are missing"):
        reveal(ladder, "last", "teacher")
    with pytest.raises(LadderError, match="are missing"):
        list(final_proof(ladder, "last"))
    assert not stored(ladder, "last").revealed
    serve(ladder)
    for viewer in (PUBLIC, Viewer("ada")):
        state = see_final(ladder, "last", viewer)
        assert (state.missing, state.key, state.table) == (0, None, None)
        with pytest.raises(LadderError, match="isn't revealed yet"):
            reveal(ladder, "last", "ada", viewer)
    reveal(ladder, "last", "teacher")
    state = see_final(ladder, "last")
    assert state.key == final.key.hex()
    assert (state.played, state.missing, state.lost) == (state.matches, 0, ())
    assert state.table is not None
    assert state.table.matches == state.matches
    assert see_final(ladder, "last", PUBLIC).key == state.key
    reveal(ladder, "last", "other")
    with ladder.database.read() as connection:
        assert [(act.what, act.who) for act in acts_of(connection, what=("final", "reveal"))] == [
            ("final", "teacher"),
            ("reveal", "teacher"),
        ]


def test_a_final_is_played_while_the_ladder_is_frozen(held: Ladder) -> None:
    """And each version has as many games as were asked for."""
    _, measured = reveal(held, "last", "teacher")
    assert {row.bot: row.games for row in measured.table.rows} == {"a": 20, "b": 20, "one": 20, "two": 20}


def test_a_second_final_gives_the_same_grades_from_the_same_key(held: Ladder) -> None:
    """Bots that depend on nothing but their seed and their view do the same."""
    state = hold_again(held, "last", "teacher")
    assert state.name == "last-2"
    with pytest.raises(LadderError, match="last-2 are missing"):
        grades(held, "teacher", final="last-2")
    serve(held)
    first, second = (grades(held, "teacher", final=name) for name in ("last", "last-2"))
    assert first.grades == second.grades
    assert {grade.owner.login: grade.games for grade in first.grades} == {"ada": 20, "bob": 20}
    [repeated] = see_final(held, "last-2").repeats
    assert (repeated.name, repeated.games, repeated.otherwise) == ("last", 40, 0)
    assert verify_proof(final_proof(held, "last-2")).games == 40
    assert hold_again(held, "last", "teacher").name == "last-3"


def test_a_final_that_has_not_ended_is_not_held_again(ladder: Ladder) -> None:
    """Its key is still secret."""
    hold_final(ladder, "last", None, 4, "teacher")
    with pytest.raises(LadderError, match="hasn't ended"):
        hold_again(ladder, "last", "teacher")


@pytest.mark.parametrize(
    ("name", "games", "told"),
    [("last", 4, "already"), ("../last", 4, "can't be called"), ("x" * 41, 4, "can't be called"), ("", 4, "be called")],
)
def test_a_final_that_cannot_be_is_refused(held: Ladder, name: str, games: int, told: str) -> None:
    """In two lines."""
    with pytest.raises(LadderError, match=told) as refused:
        hold_final(held, name, None, games, "teacher")
    assert len(str(refused.value).splitlines()) == 2


def test_too_few_versions_for_a_table_are_refused(tmp_path: Path) -> None:
    """And nothing is queued or published."""
    with closing(school(tmp_path / "spring", references="one")) as ladder:
        with pytest.raises(LadderError, match="can't play a final"):
            hold_final(ladder, "last", None, 4, "teacher")
        assert not commitment_file(ladder, "last").exists()
        with pytest.raises(LadderError, match='no final "last"'):
            see_final(ladder, "last")


def test_a_deadlines_final_has_the_newest_fit_version_of_each_bot_by_its_close(ladder: Ladder) -> None:
    """Grace counts; what came later doesn't, nor what failed; a benched bot is there, a disabled one isn't."""
    settle(ladder, deadline("first", 1_000_500, grace_minutes=10))
    hand_in(ladder, "ada", "a", at=1_001_100)  # the very end of the grace
    hand_in(ladder, "ada", "a", at=1_001_100, reason="run: it hangs")
    hand_in(ladder, "ada", "a", at=1_001_101)
    ladder.clock = Clock(1_001_030)
    with pytest.raises(LadderError, match="closes in 2 minutes"):
        hold_final(ladder, "last", "first", 4, "teacher")
    ladder.clock = Clock(1_002_000)
    activate_version(ladder, "a", 1, "teacher", "why not")
    with ladder.database.read() as connection:
        bot = find_bot(connection, "b")
    assert bot is not None
    ladder.database.write(lambda connection: rest(connection, bot.id, "bench", "ladder", "it forfeits", 1_002_000))
    assert hold_final(ladder, "one", "first", 4, "teacher").versions == ("a@2", "b@1", "one@1", "two@1")
    activate_version(ladder, "b", 1, "teacher", "once more")
    disable_bot(ladder, "b", "teacher", "it is copied")
    assert hold_final(ladder, "two", "first", 4, "teacher").versions == ("a@2", "one@1", "two@1")
    assert hold_final(ladder, "three", None, 4, "teacher").versions == ("a@1", "one@1", "two@1")


def test_a_final_waits_for_versions_that_came_in_time(ladder: Ladder) -> None:
    """Their examination may let them in."""
    settle(ladder, deadline("first", 1_000_500))
    path = ladder.path / "a.py"
    path.write_text(path.read_text() + "# changed\n")
    submit(ladder, path, "ada", "a")
    ladder.clock = Clock(1_000_600)
    with pytest.raises(LadderError, match=r"1 versions wait for their examination \(a@2\)"):
        hold_final(ladder, "last", "first", 4, "teacher")


def test_a_version_that_is_benched_plays_its_final_to_the_end(ladder: Ladder) -> None:
    """A bench is for rated matches; a final without some of its matches would be worth nothing."""
    settings = ladder.path / "ladder.toml"
    settings.write_text(settings.read_text().replace("matches = 5 ", "matches = 1 "))
    sign = commitment_file(ladder, "last")  # published when the final is held
    hand_in(ladder, "ada", "a", code=QUITTER.replace("SIGN", repr(str(sign))))
    for event in Service(ladder, workers(), matches=2).events():
        if not isinstance(event, Behind) and not sign.exists():
            hold_final(ladder, "last", None, 4, "teacher")
    with ladder.database.read() as connection:
        assert "bench" in [act.what for act in acts_of(connection)]
    state = see_final(ladder, "last")
    assert (state.missing, state.lost) == (state.matches, ())


def test_a_match_that_was_given_up_is_played_again_with_its_deals_before_the_key_is_public(ladder: Ladder) -> None:
    """Two of three were void, and the final closed without a word."""
    hold_final(ladder, "last", None, 4, "teacher")
    final = stored(ladder, "last")

    def give_up(connection: Connection) -> tuple[int, int]:
        runner = join(connection, 1, 0.0)
        for hour in itertools.count(1):
            match = claim(connection, runner, [], 3600.0 * hour, (FINAL,))
            assert match is not None
            if fail(connection, match.id, runner, "no room", 3600.0 * hour):
                break
        leave(connection, runner)
        return match.id, hour

    given_up, _ = ladder.database.write(give_up)
    serve(ladder)
    with pytest.raises(LadderError, match=f"1 of the matches of the final last were given up, such as {given_up}"):
        reveal(ladder, "last", "teacher")
    assert not stored(ladder, "last").revealed
    assert replay(ladder, "last", "teacher").missing == 1
    assert "plays again, 1 of its" in ladder.database.look(acts_of)[-1].why
    assert ladder.database.write(give_up) == (given_up, 3), "its attempts count anew"
    replay(ladder, "last", "teacher")
    serve(ladder)
    reveal(ladder, "last", "teacher")
    assert see_final(ladder, "last").lost == ()
    verify_proof(final_proof(ladder, "last"))
    assert stored(ladder, "last").key == final.key
    with pytest.raises(LadderError, match="is public"):
        replay(ladder, "last", "teacher")
    wrong = ladder.database.look(lambda connection: list(problems(connection)))
    assert [what for what in wrong if "match" in what] == []


def test_a_final_is_revealed_without_what_was_given_up_where_staff_says_so(ladder: Ladder) -> None:
    """And its table says what is missing."""
    hold_final(ladder, "last", None, 4, "teacher")
    matches = TABLES.tables["matches"]
    ended = {"state": "ended", "cause": "given_up", "reason": "no room", "ended_at": 1.0}
    ladder.database.write(lambda connection: connection.execute(update(matches).values(ended)))
    with pytest.raises(LadderError, match="--as-is"):
        reveal(ladder, "last", "teacher")
    reveal(ladder, "last", "teacher", as_is=True)
    assert stored(ladder, "last").revealed
    assert len(see_final(ladder, "last").lost) > 0


def test_a_void_match_counts_in_no_grade(tmp_path: Path) -> None:
    """Its results stay, and can be verified."""
    with closing(school(tmp_path / "spring")) as ladder:
        hand_in(ladder, "ada", "a")
        hold_final(ladder, "last", None, 4, "teacher")
        serve(ladder)
        before = reveal(ladder, "last", "teacher")[1].table.matches
        with ladder.database.read() as connection:
            final = find_final(connection, "last")
            assert final is not None
            match = matches_of_final(connection, final.id)[0].id
        set_void(ladder, match, True, "teacher", "a power cut")
        assert reveal(ladder, "last", "teacher")[1].table.matches == before - 1
        assert verify_proof(final_proof(ladder, "last")).without == 0


def test_bots_of_one_owner_never_meet_in_a_final_and_references_may(tmp_path: Path) -> None:
    """As in the ladder."""
    with closing(school(tmp_path / "spring", owners="ada bob cleo", references="one two")) as ladder:
        settings = ladder.path / "ladder.toml"
        settings.write_text(settings.read_text().replace("bots_per_owner = 1", "bots_per_owner = 2"))
        own = {hand_in(ladder, "ada", name) for name in ("a", "aa")}
        hand_in(ladder, "bob", "b")
        state = hold_final(ladder, "last", None, 60, "teacher")
        final = stored(ladder, "last")
        with ladder.database.read() as connection:
            tables = [frozenset(table_of(connection, match.id)) for match in matches_of_final(connection, final.id)]
        labels = dict(zip(final.versions, state.versions, strict=True))
        met = {frozenset(labels[version] for version in table) for table in tables}
        assert own not in tables
        assert frozenset({"one@1", "two@1"}) in met


# --- anyone can verify it ---------------------------------------------------------------------------------------------

Change = Callable[[list[dict[str, Any]]], object]


def swapped_records(lines: list[dict[str, Any]]) -> None:
    lines[1]["record"], lines[2]["record"] = lines[2]["record"], lines[1]["record"]


def other_key(lines: list[dict[str, Any]]) -> None:
    lines[0]["key"] = "00" * 32


def other_key_and_commitment(lines: list[dict[str, Any]]) -> None:
    lines[0].update(key="00" * 32, commitment=hashlib.sha256(bytes(32)).hexdigest())


def other_entrant(lines: list[dict[str, Any]]) -> None:
    lines[0]["entrants"][0]["label"] = "cuckoo@1"


def other_rules(lines: list[dict[str, Any]]) -> None:
    lines[0]["terms"]["lives"] += 1


def other_winner(lines: list[dict[str, Any]]) -> None:
    """Write a record whose checksum fits: only the replay tells."""
    record = read(lines[1]["record"])
    first, *others = record.games
    first = replace(first, survivors=tuple(1 - seat for seat in first.survivors))
    lines[1]["record"] = write(replace(record, games=(first, *others)))


CHANGES: list[tuple[Change, str]] = [
    (other_key, "the key isn't the one that was committed to"),
    # Another key may seat the first table alike.
    (other_key_and_commitment, "but the key seats|has other key than the final's key gives"),
    (other_entrant, "but the key seats"),
    (other_rules, "other terms"),
    (swapped_records, "other key"),
    (other_winner, "the record at place 0"),
    (lambda lines: lines.pop(), "it ends before place"),
    (lambda lines: lines.append(lines[-1]), "more matches than"),
    (lambda lines: lines[3].update(place=7), "place 2 of the plan can't be read"),
    (lambda lines: lines[1].update(record=lines[1]["record"][:-9]), "the record at place 0"),
    (lambda lines: lines[0].pop("seats"), "no whole proof"),
    (lambda lines: lines[0].update(final=9), "no whole proof"),
    (lambda lines: lines[0].update(seats=11), "no plan has these entrants"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES)
def test_a_proof_that_was_changed_is_found_out(held: Ladder, change: Change, told: str) -> None:
    """Whatever it is that was changed."""
    lines = [json.loads(line) for line in final_proof(held, "last")]
    assert verify_proof(map(json.dumps, lines)).games == 40
    change(lines)
    with pytest.raises(ProofError, match=told):
        verify_proof(map(json.dumps, lines))


def test_a_proof_without_records_verifies_who_played(held: Ladder) -> None:
    """Records aren't kept for ever."""
    lines = [json.loads(line) for line in final_proof(held, "last")]
    for line in lines[1:]:
        line["record"] = None
    found = verify_proof(map(json.dumps, lines))
    assert (found.matches, found.games, found.without) == (20, 0, 20)


@pytest.mark.parametrize("change", [other_key_and_commitment, other_entrant, other_rules])
def test_what_is_published_before_a_final_fixes_all_of_it(held: Ladder, change: Change) -> None:
    """A proof with a key of one's own, other versions or other terms says something else."""
    before = commitment_file(held, "last").read_text()
    lines = [json.loads(line) for line in final_proof(held, "last")]
    assert verify_proof(map(json.dumps, lines)).published == before
    change(lines)
    with pytest.raises(ProofError):
        verify_proof(map(json.dumps, lines))
    assert verify_proof(map(json.dumps, own_proof(lines[0]))).published != before


def own_proof(header: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a proof that fits a header, without records."""
    owners = [each["owner"] for each in header["entrants"]]
    key = bytes.fromhex(header["key"])
    tables = tables_of(key, owners, header["seats"], header["games"], header["match_games"])
    labels = [each["label"] for each in header["entrants"]]
    return [header] + [
        {"place": place, "match": place, "bots": [labels[bot] for bot in table], "cause": "played", "record": None}
        for place, table in enumerate(tables)
    ]


def test_what_the_key_decides_never_changes() -> None:
    """Finals of earlier terms can be verified by later arenas."""
    assert tables_of(bytes(32), [0, 0, 1, 2, 3], 2, 3, 2)[:4] == [(0, 3), (2, 4), (1, 3), (1, 2)]
    assert place_key(bytes(32), 7).hex() == "3f52f928cee33c0d67a8e3ddfd72a0ad28f06d71c973d35d803b7866d93e8413"


def test_the_commands_hold_a_final_show_it_and_verify_it(place: Place) -> None:
    """From the commitment to the proof."""
    with closing(school(place.folder / "spring")) as ladder:
        hand_in(ladder, "ada", "a")
    begun = place.call("ladder", "final", "spring", "last", "--games", "4", "--by", "teacher")
    assert "SHA-256" in begun.err
    assert "are missing" in place.call("ladder", "final", "spring", "last").err
    assert place.call("ladder", "final", "spring", "last", "--json").json["key"] is None
    assert place.call("ladder", "final", "spring", "last", "--export", "proof.jsonl").code == 2
    assert list(place.folder.glob("*proof*")) == []
    assert place.run("ladder", "run", "spring", "--until", "examined", "--jobs", "1").code == 0
    told = place.call("ladder", "final", "spring", "last")
    assert "The key: " in told.out
    assert "a@1" in told.out
    assert '"ada"' not in place.call("ladder", "final", "spring", "last", "--json").out
    assert '"ada"' in place.call("ladder", "final", "spring", "last", "--json", "--names").out
    shown = place.call("ladder", "final", "spring", "last", "--json").json
    assert hashlib.sha256(bytes.fromhex(shown["key"])).hexdigest() == shown["commitment"]
    assert "last" in place.call("ladder", "final", "spring").out
    place.call("ladder", "final", "spring", "last", "--export", "proof.jsonl")
    verified = place.call("verify", "proof.jsonl")
    assert verified.code == 0
    assert f"the key's SHA-256 is {shown['commitment']}: compare it" in verified.out
    published = place.folder / "spring" / "final-last.txt"
    assert "key, versions and terms are those of" in place.call("verify", "proof.jsonl", "--published", published).out
    published.write_text(published.read_text().replace(shown["commitment"], "0" * 64))
    assert "another key" in place.call("verify", "proof.jsonl", "--published", published).err
    text = (place.folder / "proof.jsonl").read_text().replace(shown["key"], "00" * 32, 1)
    (place.folder / "proof.jsonl").write_text(text)
    assert place.call("verify", "proof.jsonl").code == 1
    assert place.call("ladder", "final", "spring", "last", "--games", "4").code == 2
    assert place.call("ladder", "final", "spring", "nope").code == 2
    assert place.call("ladder", "final", "spring", "--games", "4").code == 2
