"""Tests of control groups: their limits and counts, and that none outlives its box or its referee.

Rows are those of the attack list, tests/red_team/catalog.py. Files and their meaning: the kernel's cgroup-v2.rst and
cgroup-v1/memory.rst. The tests run against the groups of this host. A host may have a v2 tree and no v2 controllers:
there the same code makes groups that can only count, freeze and kill, and plain files replace what the host lacks.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.sandbox.linux import Cgroup, Hierarchy, Layout, cgroup
from tests.sandbox.talk import WAIT_S, until

ROOT = Path(__file__).parents[3]

SLEEPER = "import time; time.sleep(60)"


@pytest.fixture
def groups(needs: Callable[[str, str | None], None]) -> Hierarchy:
    needs("cgroup", cgroup.cgroup_problem())
    found = cgroup.hierarchy()
    assert found is not None
    return found


@pytest.fixture
def group(groups: Hierarchy) -> Iterator[Cgroup]:
    made = groups.make(Limits(memory_mb=64, processes=9))
    yield made
    made.remove()


def directories(groups: Hierarchy, name: str) -> list[Path]:
    """Return the group's directories in all trees. Walks: others make and remove groups."""
    return [Path(folder, name) for top in groups.tops for folder, names, _ in os.walk(top) if name in names]


def require_gone(groups: Hierarchy, name: str) -> None:
    """Wait until a removed group's directories are gone: late ones are removed at the next `make`."""

    def gone() -> bool:
        groups.make(Limits()).remove()
        return not directories(groups, name)

    until(gone, f"{name} is left")


def start(group: Cgroup, code: str) -> "subprocess.Popen[bytes]":
    """Start a Python program that is in the group before it runs."""

    def join() -> None:
        for end in group.joins:
            os.write(end, b"0")

    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=join, bufsize=0
    )


def end(program: "subprocess.Popen[bytes]") -> int:
    code = program.wait(WAIT_S)
    for pipe in (program.stdin, program.stdout):
        if pipe is not None:
            pipe.close()
    return code


# --- one group --------------------------------------------------------------------------------------------------------


def test_a_group_has_the_limits_it_was_made_with(groups: Hierarchy) -> None:
    """Read back from the kernel: memory without swap, processes, cores."""
    made = groups.make(Limits(memory_mb=64, processes=9, cores=0.5))
    try:
        found = {}
        for folder in directories(groups, made.name):
            for path in folder.iterdir():
                if path.name in READ_BACK:
                    found[path.name] = path.read_text().strip()
        assert found in (
            {"memory.max": str(64 << 20), "memory.swap.max": "0", "pids.max": "9", "cpu.max": "50000 100000"},
            {"memory.max": str(64 << 20), "pids.max": "9", "cpu.max": "50000 100000"},
            {
                "memory.limit_in_bytes": str(64 << 20),
                "memory.memsw.limit_in_bytes": str(64 << 20),
                "pids.max": "9",
                "cpu.cfs_quota_us": "50000",
                "cpu.cfs_period_us": "100000",
            },
            {
                "memory.limit_in_bytes": str(64 << 20),
                "pids.max": "9",
                "cpu.cfs_quota_us": "50000",
                "cpu.cfs_period_us": "100000",
            },
        )
    finally:
        made.remove()


READ_BACK = {"memory.max", "memory.swap.max", "pids.max", "cpu.max"}
READ_BACK |= {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "cpu.cfs_quota_us", "cpu.cfs_period_us"}


def test_a_process_can_be_added_from_outside_and_is_known_when_dead(group: Cgroup) -> None:
    """A starter may know nothing of groups; the dead keep their group until they are reaped."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        assert not group.has(program.pid)
        group.add(program.pid)
        assert group.has(program.pid)
        group.seal()
        with pytest.raises(OSError, match="Bad file descriptor"):
            group.add(program.pid)
        program.kill()
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        assert group.has(program.pid)
        assert not group.populated()


def test_nothing_is_counted_of_a_modest_program(group: Cgroup) -> None:
    """Otherwise every crash would be reported to its author as a limit's."""
    assert end(start(group, "x = bytearray(10_000_000)")) == 0
    assert group.counted() == ()
    assert not group.host_oom()


def test_a_kill_for_a_limit_above_the_group_is_the_hosts(groups: Hierarchy) -> None:
    """A parent group's lack of memory looks to a box like the machine's: its own limit was never hit."""
    parent = groups.make(Limits(memory_mb=32))
    others = {name: path / parent.name for name, path in groups.v1_folders.items()}
    inner = Hierarchy(groups.unified / parent.name, others, groups.controllers, groups.tops)
    if not groups.v1_folders:
        cgroup.prepare(Layout(inner.unified / cgroup.LEAF, inner.unified, {}, groups.tops))
    child = inner.make(Limits(memory_mb=64))
    try:
        assert end(start(child, "x = bytearray(50_000_000)")) == -signal.SIGKILL
        assert child.host_oom()
        assert child.counted() == ()
    finally:
        child.remove()
        parent.remove()
    require_gone(groups, parent.name)


# --- the end of groups ------------------------------------------------------------------------------------------------


def test_removing_a_group_leaves_no_directory_and_no_process(groups: Hierarchy) -> None:
    """It is full of frozen processes, and contains other groups."""
    made = groups.make(Limits())
    assert len(directories(groups, made.name)) == 1 + len(set(groups.v1_folders.values()))
    (groups.unified / made.name / "inner" / "most").mkdir(parents=True)
    programs = [start(made, SLEEPER) for _ in range(3)]
    (groups.unified / made.name / "inner" / "most" / "cgroup.procs").write_text(str(programs[0].pid))
    made.freeze()
    made.remove()
    made.remove()
    assert [end(program) for program in programs] == [-signal.SIGKILL] * 3
    require_gone(groups, made.name)


SCARCE = """
import contextlib, os, resource
from arena.limits import Limits
from arena.sandbox import SandboxError
from arena.sandbox.linux import cgroup
groups = cgroup.hierarchy()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
lowest_free = os.dup(0)
os.close(lowest_free)
before = len(os.listdir("/dev/fd"))
for spare in range(9):
    made = None
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + spare, hard))
    with contextlib.suppress(SandboxError):
        made = groups.make(Limits())
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    left = [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if f"arena.{os.getpid()}." in name]
    print(spare, made is not None, len(set(left)))
    if made is not None:
        made.remove()
    assert len(os.listdir("/dev/fd")) == before
"""


def test_a_group_that_cannot_be_made_leaves_nothing(groups: Hierarchy) -> None:
    """Descriptors run out at each of its files, in a process without another thread that opens or closes one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", SCARCE], capture_output=True, text=True, env=environment, timeout=WAIT_S
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    needed = 4 + 1 + len(set(groups.v1_folders.values()))
    expected = [f"{spare} {spare >= needed} {int(spare >= needed)}" for spare in range(9)]
    assert ran.stdout.splitlines() == expected


def test_a_group_of_a_living_maker_or_of_another_pid_namespace_is_kept(groups: Hierarchy, group: Cgroup) -> None:
    """A maker's number has no meaning elsewhere: a live referee in a container may have an unused one."""
    foreign = groups.unified / f"arena.{os.getpid()}.1.1.abcdef"  # a namespace of that number doesn't exist
    foreign.mkdir()
    try:
        groups.cleanup_stale()
        assert foreign.exists()
        assert len(directories(groups, group.name)) == 1 + len(set(groups.v1_folders.values()))
    finally:
        foreign.rmdir()
    impostor = groups.unified / f"arena.{os.getpid()}.1.{os.stat('/proc/self/ns/pid').st_ino}.abcdef"
    impostor.mkdir()  # the number is in use, by a process that started at another time
    groups.cleanup_stale()
    assert not impostor.exists()


# --- finding out what this host has -----------------------------------------------------------------------------------


def fake_proc(tmp_path: Path, own: str, mounts: str) -> Path:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(own)
    (tmp_path / "proc" / "self" / "mountinfo").write_bytes(os.fsencode(mounts))
    return tmp_path / "proc"


def test_the_group_of_a_process_is_read_from_proc(tmp_path: Path) -> None:
    """Hybrid with controllers mounted together; a container whose root is its own group; a v2 host."""
    proc = fake_proc(
        tmp_path,
        "4:memory:/user/7\n3:cpu,cpuacct:/docker/x/inner\n2:pids:/elsewhere\n1:name=systemd:/s\n0::/user/7\n",
        "30 20 0:26 / /cg/mem\\040ory rw shared:1 - cgroup cgroup rw,memory\n"
        "31 20 0:27 /docker/x /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 20 0:28 /docker/x /cg/pids rw - cgroup cgroup rw,pids\n"
        "33 20 0:29 / /cg/unified rw - cgroup2 cgroup2 rw\n"
        "34 20 0:30 / /tmp rw - tmpfs tmpfs rw\n"
        "35 20 0:31 / /media/Donn\udce9es rw - vfat /dev/sdb1 rw\n",  # a byte that isn't UTF-8
    )
    layout = cgroup.read_layout(proc)
    assert layout.v2 == Path("/cg/unified/user/7")
    assert layout.v2_top == Path("/cg/unified")
    assert layout.v1 == {"memory": Path("/cg/mem ory/user/7"), "cpu": Path("/cg/cpu/inner"), "pids": Path("/cg/pids")}
    assert set(layout.tops) == {Path("/cg/mem ory"), Path("/cg/cpu"), Path("/cg/pids"), Path("/cg/unified")}


def plain_tree(tmp_path: Path) -> Path:
    """Make a folder that replaces a v2 group with a leaf in it, in which this process is."""
    base = tmp_path / "scope"
    (base / cgroup.LEAF).mkdir(parents=True)
    for name, text in (
        ("cgroup.controllers", "cpu io memory pids\n"),
        ("cgroup.subtree_control", ""),
        ("cgroup.procs", f"{os.getpid()}\n"),
        ("cgroup.type", "domain\n"),
        ("cgroup.freeze", "0\n"),
        (f"{cgroup.LEAF}/cgroup.procs", ""),
    ):
        (base / name).write_text(text)
    return base


def test_in_a_delegated_v2_group_the_process_moves_to_a_leaf_and_controllers_are_switched_on(tmp_path: Path) -> None:
    base = plain_tree(tmp_path)
    cgroup.prepare(Layout(base / cgroup.LEAF, tmp_path, {}, (tmp_path,)))
    assert (base / cgroup.LEAF / "cgroup.procs").read_text() == str(os.getpid())
    assert (base / "cgroup.subtree_control").read_text().startswith("+pids")


def test_a_second_process_in_the_leaf_finds_the_group_prepared(tmp_path: Path) -> None:
    """A worker starts in the leaf of the process that forked it."""
    base = plain_tree(tmp_path)
    (base / "cgroup.subtree_control").write_text("cpu memory pids\n")
    found = cgroup.prepare(Layout(base / cgroup.LEAF, tmp_path, {"memory": tmp_path}, (tmp_path,)))
    assert found.unified == base
    assert found.v1_folders == {}  # the v2 tree has them
    assert found.controllers == {"cpu", "memory", "pids"}
    assert (base / cgroup.LEAF / "cgroup.procs").read_text() == ""
    assert found.describe() == "cgroups v2: memory, pids, cpu"


def test_a_missing_controller_is_reported(tmp_path: Path) -> None:
    base = plain_tree(tmp_path)
    for name in ("cgroup.controllers", "cgroup.subtree_control"):
        (base / name).write_text("memory pids\n")
    found = cgroup.prepare(Layout(base / cgroup.LEAF, tmp_path, {}, (tmp_path,)))
    assert "cgroups v2: memory, pids, without cpu" in str(found.missing_reason())


def test_settings_of_v2_groups() -> None:
    """Source: the kernel's cgroup-v2.rst; not all hosts can run them."""
    limits = Limits(memory_mb=64, processes=9, cores=0.5)
    assert [cgroup.list_limit_files(name, False, limits, 4) for name in ("memory", "pids", "cpu")] == [
        [("memory.max", "67108864", False), ("memory.swap.max", "0", True), ("memory.oom.group", "1", True)],
        [("pids.max", "9", False)],
        [("cpu.max", "50000 100000", False)],
    ]
    assert cgroup.list_limit_files("cpu", False, Limits(cores=4), 4) == []


def test_a_host_without_groups_gets_the_remedy(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, "0::/\n", f"30 20 0:26 / {tmp_path}/none rw - cgroup2 cgroup2 rw\n")
    for folder in (proc, tmp_path / "no-proc"):
        found, why = cgroup.detect(folder)
        assert found is None
        assert why is not None
        assert "systemd-run --user --scope -p Delegate=yes" in str(why)


@pytest.mark.needs("root", None if os.geteuid() == 0 else "only root can give a subtree away")
def test_an_unprivileged_user_makes_groups_in_a_delegated_subtree(groups: Hierarchy) -> None:
    """As systemd delegates it; here in the v2 tree, with what needs no controller."""
    base = groups.unified / f"arena.{os.getpid()}.test-delegation"
    base.mkdir()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, as_user(base).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as report:
        said = report.read()
    os.waitpid(child, 0)
    until(lambda: (base / "cgroup.procs").read_text() == "", "the child is still there")

    def removed() -> bool:
        for group in (*base.glob("*/"), base):  # groups that the child couldn't remove in time
            with contextlib.suppress(OSError):
                group.rmdir()
        return not base.exists()

    until(removed, "a group is left")
    assert said == "ok"


def as_user(base: Path) -> str:
    """Drop to a user that owns `base` and run through a group's life; "ok" or the failure."""
    try:
        for path in (base, base / "cgroup.procs", base / "cgroup.subtree_control", base / "cgroup.threads"):
            os.chown(path, 61001, 61001)
        (base / "cgroup.procs").write_text("0")
        os.setgroups([])
        os.setresgid(61001, 61001, 61001)
        os.setresuid(61001, 61001, 61001)
        found = cgroup.prepare(Layout(base, base.parent, {}, (base,)))
        made = found.make(Limits())
        with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as program:
            made.add(program.pid)
            until(lambda: made.cpu_ns() > 0, "nothing is counted")
            made.freeze()
            made.remove()
            code = program.wait(WAIT_S)
        left = [path for path in base.iterdir() if path.is_dir()]
        return "ok" if (code, left) == (-signal.SIGKILL, []) else f"{code} {left}"
    except (OSError, AssertionError) as error:
        return repr(error)


ALL = frozenset({"memory", "pids", "cpu"})


@pytest.mark.parametrize("missing", [None, *sorted(ALL)])
def test_groups_without_a_limit_are_unavailable(tmp_path: Path, missing: str | None) -> None:
    """A box with half of the limits would be another kind."""
    problem = cgroup.Hierarchy(tmp_path, {}, ALL - {missing}, ()).missing_reason()
    assert (problem is None) == (missing is None)
    assert problem is None or f"without {missing}" in problem.message


def test_a_group_that_another_process_removed_is_empty(group: Cgroup) -> None:
    """Otherwise the close of its box would fail, and leave the program and its pipes."""
    for folder in group._folders:
        os.rmdir(folder)
    assert not group.populated()
