"""Tests that run every attack of the list in every tier of this host. Source: tests/red_team/catalog.py.

The probes of a tier run in one box, the bots in a match each; IDs are "ROW-TIER-PROGRAM".
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.sandbox import SandboxError
from tests.red_team import stage, suite
from tests.red_team.catalog import ROWS, TIERS, Kind, Match, Probes, Row, Together
from tests.red_team.stage import ATTACKS, PYTHON, Stage, Talk, survivors
from tests.red_team.suite import HONEST, Result, failures, judge_probes, not_run, play, probe, table

Needs = Callable[[str, str | None], None]
StageOf = Callable[[str], Stage]

pytestmark = pytest.mark.boxes  # the process tier is the control of the others


def name_of(kind: Kind) -> str:
    return kind.attack if isinstance(kind, Match) else kind.scene if isinstance(kind, Together) else "probes"


def cases(*kinds: type) -> list[object]:
    return [
        pytest.param(tier, row, kind, id=f"{row.number}-{tier}-{name_of(kind)}")
        for tier in TIERS
        for row in ROWS.values()
        for kind in row.kinds
        if isinstance(kind, kinds)
    ]


@pytest.fixture(scope="module")
def outcomes_of(stage_of: StageOf) -> Callable[[str], dict[str, str]]:
    """Give `outcomes_of(tier)`: the outcomes of all checks in one box of the tier."""
    known: dict[str, dict[str, str]] = {}

    def get(tier: str) -> dict[str, str]:
        stage = stage_of(tier)
        if tier not in known:
            known[tier] = probe(stage)
        return known[tier]

    return get


@pytest.fixture(scope="module")
def warm(stage_of: StageOf) -> Callable[[str], Stage]:
    """Give `warm(tier)`: a stage after an honest match, so that resources made once exist."""
    done: set[str] = set()

    def get(tier: str) -> Stage:
        stage = stage_of(tier)
        if tier not in done:
            result = play(HONEST, Match("honest"), stage)
            assert result.ok, result
            done.add(tier)
        return stage

    return get


@pytest.mark.parametrize(("tier", "row", "kind"), cases(Probes))
def test_a_probe_fails_in_a_box_and_works_without_isolation(
    outcomes_of: Callable[[str], dict[str, str]], on_ci: bool, tier: str, row: Row, kind: Probes
) -> None:
    result = judge_probes(row, kind, tier, outcomes_of(tier), on_ci=on_ci)
    assert result.ok, result.detail


@pytest.mark.parametrize(("tier", "row", "kind"), cases(Match))
def test_a_hostile_bot_is_charged_and_its_opponent_is_unharmed(
    warm: Callable[[str], Stage], needs: Needs, tier: str, row: Row, kind: Match
) -> None:
    """No process, group, mount, descriptor, container or folder is left."""
    stage = warm(tier)
    why = not_run(kind, stage)
    needs("cgroup" if kind.bounded else "root", why)
    result = play(row, kind, stage)
    assert result.ok, result


@pytest.mark.parametrize(("tier", "row", "kind"), cases(Together))
def test_a_scene_of_several_boxes(warm: Callable[[str], Stage], tier: str, row: Row, kind: Together) -> None:
    result = suite.scene(row, kind, warm(tier))
    assert result.ok, result


# --- the suite itself -------------------------------------------------------------------------------------------------


@pytest.mark.needs("root", None if os.getuid() == 0 else "an ordinary user has no privileges to refuse")
@pytest.mark.parametrize("program", ["probes.py", "bot.py", "persist.py", "channel.py"])
def test_a_program_refuses_to_attack_as_root(program: str) -> None:
    done = subprocess.run(
        [PYTHON, str(ATTACKS / program), "isolation", "token"],
        input=b"{}\n",
        capture_output=True,
        timeout=60,
        env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 77
    assert b"refused" in done.stderr
    assert done.stdout == b""


@pytest.mark.needs("root", None if os.getuid() == 0 else "an ordinary user has no privileges to refuse")
def test_a_program_refuses_root_without_capabilities_too() -> None:
    """Root's files are root's, whatever its capabilities."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"]
    done = subprocess.run(
        [*drop, PYTHON, str(ATTACKS / "persist.py"), "token"], input=b"leave\n", capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (77, b"")


@pytest.mark.needs("root", None if os.getuid() == 0 else "an ordinary user has no privileges to refuse")
def test_a_box_whose_programs_have_privileges_is_a_failure_and_no_attack(stage_of: StageOf, scratch: Path) -> None:
    """As root's plain process the probes refuse to run, and that is reported."""
    with Stage("process", scratch) as stage:
        stage.prefix = ()
        with pytest.raises(SandboxError, match="refused"):
            probe(stage)


def test_an_inherited_descriptor_is_found(stage_of: StageOf) -> None:
    """This proves that the check of row 49 can fail."""
    stage = stage_of("process")
    reading, writing = os.pipe()
    try:
        argv = stage.program("probes.py").argv
        done = subprocess.run(
            [*argv, "isolation"],
            input=json.dumps(stage.targets).encode() + b"\n",
            capture_output=True,
            pass_fds=[reading],
            timeout=60,
        )
    finally:
        os.close(reading)
        os.close(writing)
    first = json.loads(done.stdout.splitlines()[0])
    assert first == {"check": "49.descriptors", "outcome": f"OPEN {reading}"}


def test_a_survivor_is_found(stage_of: StageOf) -> None:
    """This proves that CLEAN can fail: a living process is found by its token."""
    stage = stage_of("process")
    with Talk(stage.start("persist.py", "a-token-of-this-test")) as talk:
        talk.send("find")
        talk.line()
        assert survivors("a-token-of-this-test") == [f"process {talk.box.pid}"]


ROW_46 = ROWS[46]


@pytest.mark.parametrize(
    ("tier", "outcomes", "ok"),
    [
        ("docker", {"46.victim-mem": "ENOENT", "46.victim-fd": "EACCES"}, True),
        ("docker", {"46.victim-mem": "OPEN"}, False),
        ("docker", {"46.victim-mem": "EINVAL"}, False),
        ("docker", {"46.victim-mem": "SLOW"}, False),
        ("docker", {"46.victim-mem": "broken: KeyError"}, False),
        ("docker", {"46.victim-mem": "ENOENT", "46.control": "EPERM"}, False),
        ("docker", {}, False),
        ("process", {"46.victim-mem": "OPEN"}, True),
        ("process", {"46.victim-mem": "EACCES"}, False),
        ("process", {"46.referee-mem": "EACCES"}, False),
    ],
)
def test_an_outcome_that_is_not_expected_is_a_failure(tier: str, outcomes: dict[str, str], ok: bool) -> None:
    (kind,) = ROW_46.kinds
    assert isinstance(kind, Probes)
    assert judge_probes(ROW_46, kind, tier, outcomes).ok is ok


@pytest.mark.parametrize("number", [57, 58, 61])
def test_a_control_that_works_nowhere_is_a_failure_where_ci_requires_it(number: int) -> None:
    """Other hosts may block it in the process tier too."""
    (kind,) = ROWS[number].kinds
    assert isinstance(kind, Probes)
    names = {57: ["57.io-uring"], 58: ["58.unshare-user", "58.unshare-net"], 61: ["61.i386", "61.x32"]}[number]
    blocked = dict.fromkeys(names, "EPERM" if number != 61 else "ENOSYS")
    assert judge_probes(ROWS[number], kind, "process", blocked).ok
    assert not judge_probes(ROWS[number], kind, "process", blocked, on_ci=True).ok
    works = judge_probes(ROWS[number], kind, "process", {**blocked, names[0]: "OPEN"}, on_ci=True)
    assert (works.ok, works.works) == (True, (names[0],))


def test_a_block_without_a_control_is_marked() -> None:
    """A program that works nowhere on this host proves nothing by being blocked in a box."""
    (kind,) = ROWS[61].kinds
    assert isinstance(kind, Probes)
    blocked = {"61.i386": "SIGSYS", "61.x32": "ENOSYS"}
    none = judge_probes(ROWS[61], kind, "docker", blocked)
    assert none.seen == "no control (blocked: ENOSYS SIGSYS)"
    assert none.unproven == ("61.i386", "61.x32")
    some = judge_probes(ROWS[61], kind, "docker", blocked, {"61.i386"})
    assert (some.seen, some.unproven) == ("blocked: ENOSYS SIGSYS", ("61.x32",))
    assert "no control: nothing on this host shows that these can work" in table([none])
    assert "61.x32" in table([some])


@pytest.mark.needs("root", None if os.getuid() == 0 else "it makes a folder for another user")
def test_a_folder_of_another_user_or_a_link_is_never_removed(tmp_path: Path) -> None:
    """/var/tmp is shared: similar names may belong to other users."""
    link = stage.PUBLIC / f"{stage.REACHABLE}link-of-{os.getpid()}"
    theirs = stage.PUBLIC / f"{stage.REACHABLE}theirs-of-{os.getpid()}"
    kept = tmp_path / "kept"
    kept.write_text("")
    link.symlink_to(tmp_path)
    theirs.mkdir()
    try:
        os.chown(theirs, stage.USER, stage.USER)
        stage.remove_dead_folders()
        assert kept.exists()
        assert link.is_symlink()
        assert theirs.is_dir()
    finally:
        link.unlink()
        theirs.rmdir()


def test_the_table_marks_and_counts_unexpected_results() -> None:
    """`make attack` prints it and derives its exit code from it."""
    good = Result(46, "reads the referee", "docker", "blocked", "blocked: ENOENT", True)
    bad = Result(46, "reads the referee", "bubblewrap", "blocked", "OPEN", False, "46.victim-mem: OPEN")
    text = table([good, bad])
    assert "! OPEN" in text
    assert "46.victim-mem: OPEN" in text
    assert "2 attacks, 1 not as expected" in text
    assert failures([good, bad]) == 1


def test_attack_yields_a_result_for_each_program_of_the_chosen_rows(stage_of: StageOf, scratch: Path) -> None:
    stage_of("process")
    results = list(suite.attack(["process"], scratch, rows=[10, 46]))
    assert [result.row for result in results] == [0, 46, 10]  # probes share a box, which comes first

    assert failures(results) == 0, results
    assert not scratch.exists() or list(scratch.iterdir()) == []
