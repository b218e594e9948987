"""Tests of programs that try to void a match they lose, stop the referee, outlive it, or harm others.

Each began as an attack that worked. A match is void only by signs that none of its bots can cause. "Row N" is that of
tests/red_team/catalog.py.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.sandbox import Program, ProgramError, SandboxError, become_subreaper, remove_tree
from arena.sandbox.bubblewrap import BubblewrapSandbox, get_bwrap_path
from arena.sandbox.linux import Cgroup, ProcessMonitor, cgroup, user_ids
from tests.sandbox.talk import WAIT_S, family_of, python, running, until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture
def sandbox(tmp_path: Path) -> BubblewrapSandbox:
    return BubblewrapSandbox(tmp_path / "scratch")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "a bot"
    folder.mkdir()
    return folder


# --- voiding a match --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two  spaces", "a\ttab", "a\nline", "not\udcff utf-8"])
def test_a_name_that_garbles_bwraps_message_voids_nothing(sandbox: BubblewrapSandbox, files: Path, name: str) -> None:
    """Whatever its name, the program is at fault, and the message is a line that can be written into a record."""
    (files / name).write_text("#!/no/such/interpreter\n")
    (files / name).chmod(0o755)
    with pytest.raises(ProgramError, match="the interpreter of its #! line, or its loader, is missing") as problem:
        sandbox.start(Program((str(files / name),), files), Limits())
    assert "\n" not in str(problem.value)
    assert json.dumps(str(problem.value), ensure_ascii=False).encode()


def test_what_bwrap_refuses_voids_nothing(sandbox: BubblewrapSandbox, files: Path) -> None:
    """The program is at fault: bwrap accepts 9,000 arguments, chdir(2) only folders.

    A bot.toml of 64 KB has 30,000 words.
    """
    (files / "link").symlink_to("/nowhere")
    cases = [
        Program(("true", *["x"] * 9000), files),
        Program(("true",), files / "link", files=files),
        Program(("true",), files / "gone", files=files),
    ]
    for program in cases:
        with pytest.raises(ProgramError):
            sandbox.start(program, Limits())


FEW = """
import os, resource, sys
from pathlib import Path
from arena.sandbox import Program
from arena.sandbox.program_files import copy_files
highest = max(map(int, os.listdir("/proc/self/fd")))
resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
copy_files(Program(("true",), Path(sys.argv[1])), Path(sys.argv[2]), 64)
"""


def test_a_deep_tree_of_files_takes_no_descriptors(files: Path, tmp_path: Path) -> None:
    """A copy that fails for lack of a descriptor would void the match.

    It runs in another process: the limit would affect this one's other threads too.
    """
    deep = os.open(files, os.O_RDONLY)
    for _ in range(300):
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deep))
        os.mkdir("d", dir_fd=deep)
        deeper = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = deeper
    os.close(deep)
    target = tmp_path / "copy"
    target.mkdir()
    try:
        ran = subprocess.run(
            [sys.executable, "-c", FEW, str(files), str(target)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert sum(len(names) for _, _, names in os.walk(target)) == 300
    finally:
        remove_tree(target)


def test_swapped_out_memory_counts_against_the_own_limit(tmp_path: Path) -> None:
    """cgroup-v1/memory.rst: a group that exceeds the limit of memory and swap together has its own program killed.

    Where a machine swaps, that isn't the machine's kill, which would void the match.
    """
    unified, memory = tmp_path / "unified", tmp_path / "memory"
    kernel = {"cgroup.freeze": "0\n", "cgroup.kill": ""}
    for folder, made in (
        (unified, {"cpu.stat": "usage_usec 1\n", "cgroup.events": "populated 0\n", "cgroup.procs": ""} | kernel),
        (memory, {"cgroup.procs": "", "memory.oom_control": "oom_kill 1\n", "memory.limit_in_bytes": "64000000\n"}),
    ):
        folder.mkdir()
        for name, text in made.items():
            (folder / name).write_text(text)
    (memory / "memory.max_usage_in_bytes").write_text("40000000\n")
    (memory / "memory.memsw.max_usage_in_bytes").write_text("40000000\n")
    group = Cgroup("arena.0.0.0.0", unified, {"memory": memory})
    try:
        assert group.host_oom()
        (memory / "memory.memsw.max_usage_in_bytes").write_text("64000000\n")
        assert not group.host_oom()
        assert group.counted() == (("memory_mb", 1),)
    finally:
        group.seal()


def test_a_lost_group_is_the_machines_fault(needs: Callable[[str, str | None], None]) -> None:
    """Contract of Box: damage by another process on this machine is a SandboxError, without a traceback."""
    needs("cgroup", cgroup.cgroup_problem())
    found = cgroup.hierarchy()
    assert found is not None
    group = found.make(Limits())
    (found.unified / group.name).rmdir()
    for call in (group.cpu_ns, group.freeze):
        with pytest.raises(SandboxError, match="cgroup has disappeared"):
            call()
    group.remove()


# --- stopping the referee ---------------------------------------------------------------------------------------------


def test_a_link_to_a_pipe_of_the_machine_is_never_opened(
    sandbox: BubblewrapSandbox, files: Path, tmp_path: Path
) -> None:
    """Row 43: the referee once read the program's first two bytes, of a pipe too, and waited for them forever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    pipe.chmod(0o755)
    (files / "program").symlink_to(pipe)
    (files / "folder").symlink_to(tmp_path)
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(end, b"xx")
        for command in ("program", "folder/pipe", "../pipe"):
            with pytest.raises(ProgramError, match="no such file"):
                sandbox.start(Program((f"{files}/{command}",), files), Limits())
        assert os.read(end, 10) == b"xx"
    finally:
        os.close(end)


FORKED_NS = 500_000_000  # hundreds of children


def test_a_watch_forgets_the_dead_but_not_their_time() -> None:
    """A program that forks all the time would fill the referee's memory, and make each sum longer."""
    parent = subprocess.Popen(
        [sys.executable, "-c", "import os\nwhile True:\n    if os.fork() == 0: os._exit(0)\n    os.wait()"]
    )
    try:
        watch = ProcessMonitor(lambda: [parent.pid])
        before = seen = 0
        end = time.monotonic() + WAIT_S
        while before < FORKED_NS and time.monotonic() < end:
            now = watch.cpu_ns()
            assert now >= before
            before = now
            seen = max(seen, len(watch._readings))
        assert 1 <= seen <= 3
        assert before >= FORKED_NS
    finally:
        parent.kill()
        parent.wait()


# --- outliving it, and taking from others -----------------------------------------------------------------------------


def test_control_c_at_the_referees_terminal_does_not_reach_bwrap(sandbox: BubblewrapSandbox, files: Path) -> None:
    """A bwrap killed by it would look like a broken machine while the run finishes its matches."""
    with running(sandbox, python("import time; time.sleep(60)", files)) as box:
        assert {os.getsid(pid) for pid in family_of(box)}.isdisjoint({os.getsid(0)})
        first = next(pid for pid in family_of(box) if pid != box.pid)
        assert os.getsid(int(Path(f"/proc/{first}/stat").read_text().rpartition(") ")[2].split()[1])) != os.getsid(0)


@pytest.mark.needs("root", None if os.geteuid() == 0 else "only root gives boxes users of their own")
def test_the_rest_of_a_killed_start_ends_and_never_shares_a_user(tmp_path: Path) -> None:
    """bwrap's first process waits forever if bwrap dies before releasing it; it counts against its user ID."""
    become_subreaper(os.getpid())
    slot = user_ids.take_user_id()  # so that no other box takes it meanwhile
    output, output_end = os.pipe()
    held_end, held = os.pipe()
    command = [
        get_bwrap_path(),
        "--unshare-all",
        "--ro-bind",
        "/",
        "/",
        "--info-fd",
        str(output_end),
        "--block-fd",
        str(held_end),
    ]
    try:
        keeper = subprocess.Popen(
            [*command, "sleep", "60"], user=slot.uid, group=slot.uid, extra_groups=[], pass_fds=(output_end, held_end)
        )
        os.close(output_end)
        said = b""
        while b"}" not in said:
            piece = os.read(output, 4096)
            assert piece, "bwrap didn't start"
            said += piece
        first = json.loads(said)["child-pid"]
        keeper.kill()
        keeper.wait()
        taken = []
        lock_file = tmp_path / "uids"
        while not taken or taken[-1].uid < slot.uid:
            taken.append(user_ids.take_user_id(lock_file))
        assert slot.uid not in [each.uid for each in taken]
        until(lambda: os.waitpid(first, os.WNOHANG)[0] == first, "it lives on")
        for each in taken:
            each.release()
    finally:
        slot.release()
        for end in (output, held_end, held):
            os.close(end)
