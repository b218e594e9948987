"""Tests of the bubblewrap sandbox: a program's view, its limits, its leftovers, and whose fault a failure is.

"Row N" is that of tests/red_team/catalog.py. tests/sandbox/test_contract.py tests what all sandboxes have in common.
"""

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.limits import Limits
from arena.sandbox import Exit, Program, ProgramError, SandboxError
from arena.sandbox.bubblewrap import BubblewrapSandbox, rootfs
from arena.sandbox.bubblewrap import command as covers
from arena.sandbox.linux import cgroup, seccomp, user_ids
from tests.sandbox.talk import WAIT_S, dead, exit_of, kill, python, read_line, read_to_end, running, until

ROOT = Path(__file__).parents[3]
USER = 61500  # an ordinary user that nothing else runs as

Needs = Callable[[str, str | None], None]

pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture
def sandbox(tmp_path: Path) -> BubblewrapSandbox:
    return BubblewrapSandbox(tmp_path / "scratch")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "a bot"
    folder.mkdir()
    return folder


def require_free(wanted: set[int], lock_file: Path) -> None:
    """Wait until no box holds these user IDs; boxes of other runs may take them meanwhile."""
    left = set(wanted)

    def free() -> bool:
        left.difference_update(free_uids(max(wanted), lock_file))
        return not left

    until(free, "a user id is still held")


def free_uids(highest: int, lock_file: Path) -> set[int]:
    """Return the free user IDs up to this one; some may be other runs'. Takes no more: others need them."""
    slots: list[user_ids.UserIdLease] = []
    with contextlib.suppress(BlockingIOError), contextlib.ExitStack() as stack:
        while not slots or slots[-1].uid < highest:
            slots.append(user_ids.take_user_id(lock_file))
            stack.callback(slots[-1].release)
    return {slot.uid for slot in slots if slot.uid <= highest}


def output(sandbox: BubblewrapSandbox, code: str, files: Path, limits: Limits | None = None) -> Any:
    """Run Python that prints one line of JSON, and return it."""
    with running(sandbox, python("import json, os, sys\n" + code, files), limits) as box:
        said, wrong = read_to_end(box.stdout), read_to_end(box.stderr)
        assert said, wrong.decode()
        return json.loads(said)


# --- what a program sees ----------------------------------------------------------------------------------------------

SPY = """
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
def text(path):
    with open(path) as file:
        return file.read()
print(json.dumps({
    "fds": [fd for fd in range(1024) if is_open(fd)],
    "env": dict(os.environ), "cwd": os.getcwd(), "ids": [*os.getresuid(), *os.getresgid(), *os.getgroups()],
    "pid": os.getpid(), "sid": os.getsid(0), "host": os.uname().nodename, "init": os.listdir("/proc/1"),
    "mounts": text("/proc/self/mountinfo"), "status": text("/proc/self/status"),
    "top": sorted(os.listdir("/")), "etc": sorted(os.listdir("/etc")), "dev": sorted(os.listdir("/dev")),
    "bot": sorted(os.listdir("/bot")), "pids": [name for name in os.listdir("/proc") if name.isdigit()],
}))
"""


def test_the_environment_is_what_the_sandbox_sets(
    sandbox: BubblewrapSandbox, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap 2: nothing of the referee's is inherited, and process 1's has nothing else. (bwrap itself sets PWD.)"""
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    (files / "bot.py").write_text("import json, os, sys\n" + SPY)
    with running(sandbox, Program((sys.executable, str(files / "bot.py")), files)) as box:
        report = json.loads(read_line(box.stdout))
    assert report["env"].pop("PATH").endswith(":/usr/local/bin:/usr/bin:/bin")
    java = report["env"].pop("JDK_JAVA_OPTIONS", None)
    assert java == ("-XX:MaxRAM=256m -XX:-UsePerfData" if shutil.which("java") else None)
    assert report["env"] == {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "PWD": "/bot",
    }
    assert report["init"] == []


@pytest.mark.parametrize("mask", [0o000, 0o027, 0o077])
def test_boxes_are_the_same_under_any_umask(sandbox: BubblewrapSandbox, files: Path, mask: int) -> None:
    """An organiser's umask neither keeps a box from its files nor reaches the program."""
    (files / "inner").mkdir()
    (files / "inner/data").write_text("here")
    code = "import os\nprint(open('/bot/inner/data').read(), oct(os.umask(0)), oct(os.stat('/bot/inner').st_mode))"
    before = os.umask(mask)
    try:
        with running(sandbox, python(code, files)) as box:
            assert read_to_end(box.stdout) == b"here 0o22 0o40555\n"
    finally:
        os.umask(before)


def test_nothing_of_the_host_is_in_sight(sandbox: BubblewrapSandbox, files: Path) -> None:
    """Rows 46, 67, 68: fixed names and numbers, own processes, none of the host's paths."""
    (files / "bot.py").write_text("")
    report = output(sandbox, SPY, files)
    assert report["ids"] == [65534] * 6
    assert report["host"] == "bot"
    assert report["cwd"] == "/bot"
    assert sorted(map(int, report["pids"])) == [1, report["pid"]]
    assert report["bot"] == ["bot.py"]
    trees = {tree.parts[1] for tree in rootfs.python_prefixes()}
    assert (
        set(report["top"])
        <= {"bin", "bot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "tmp", "usr"} | trees
    )
    assert {name for name in report["etc"] if not name.startswith("java")} <= {
        "alternatives",
        "group",
        "ld.so.cache",
        "passwd",
    }
    assert report["dev"] == ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"]
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"):
        assert line in report["status"]
    if os.geteuid() == 0:  # an ordinary user's stage has a path
        assert str(files.parent) not in report["mounts"]


@pytest.mark.needs("root", None if os.geteuid() == 0 else "an ordinary user's box runs as that user")
def test_root_gives_each_box_its_own_unprivileged_user(sandbox: BubblewrapSandbox, files: Path) -> None:
    """Trap 1: bwrap run as root leaves root's sysctls writable."""
    program = python("import time; time.sleep(60)", files)
    with running(sandbox, program) as one, running(sandbox, program) as two:
        owners = {os.stat(f"/proc/{box.pid}").st_uid for box in (one, two)}
        assert len(owners) == 2
        assert all(user_ids.FIRST_UID <= uid <= user_ids.LAST_UID for uid in owners)


def test_tmp_and_shm_are_bounded(sandbox: BubblewrapSandbox, files: Path) -> None:
    """To 3 MB and 1 MB. Rows 34 and 40 of the red team: nothing else can be written."""
    code = """
def attempt(path):
    try:
        with open(path, "wb") as file:
            written = 0
            while written < 64_000_000:
                written += file.write(b"x" * 65536)
                file.flush()
        return "unbounded"
    except OSError as error:
        return [error.errno, os.path.getsize(path)]
print(json.dumps([attempt("/tmp/x"), attempt("/dev/shm/x")]))
"""
    tmp, shm = output(sandbox, code, files, Limits(tmp_mb=3))
    assert (tmp[0], shm[0]) == (errno.ENOSPC, errno.ENOSPC)
    assert 2_500_000 < tmp[1] <= 3 * 1024 * 1024
    assert shm[1] <= 1024 * 1024


def test_proc_does_not_reveal_the_machines_activity(sandbox: BubblewrapSandbox, files: Path) -> None:
    """Row 30: load, memory, interrupts, locks are fixed, empty or missing, including files of future kernels.

    Only the fixed texts and what the table lists don't change. Each box has a separate "mounts".
    """
    here = [name for name in os.listdir("/proc") if not name.isdigit() and name not in ("self", "thread-self", "net")]
    code = f"""
def text(name):
    try:
        with open("/proc/" + name, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError as error:
        return ""
found = {{}}
for name in {{*{here}, *os.listdir("/proc")}} - {{"self", "thread-self", "net"}}:
    if not name.isdigit():
        found[name] = os.listdir("/proc/" + name) if os.path.isdir("/proc/" + name) else text(name)
print(json.dumps({{name: value for name, value in found.items() if value}}))
"""
    found = output(sandbox, code, files, Limits(memory_mb=100))
    fixed = {"cpuinfo", "loadavg", "meminfo", "stat", "uptime"}
    if os.geteuid() == 0:  # the kernel hides all others
        assert found.keys() == fixed
    else:
        assert fixed <= found.keys() <= fixed | {"mounts"} | covers.visible_names()
    assert found["loadavg"] == "0.00 0.00 0.00 1/1 1\n"
    assert found["meminfo"].split()[:6] == ["MemTotal:", "102400", "kB", "MemFree:", "102400", "kB"]


@pytest.mark.needs("root", None if os.geteuid() == 0 else "only root's boxes have it")
def test_the_machines_own_proc_stays_complete(sandbox: BubblewrapSandbox, files: Path) -> None:
    """Each box's /proc is reduced from outside: only that one, and permanently for its programs."""
    own = ["/proc/meminfo", "/proc/sys/kernel/osrelease", "/proc/vmstat"]
    code = f"print(json.dumps([os.path.exists(path) for path in {own}]))"
    assert output(sandbox, code, files) == [True, False, False]
    assert all(map(os.path.exists, own))


# What Docker leaves to root of a container, and CAP_SYS_ADMIN, without which there are no boxes.
CONTAINED = (
    "chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,"
    "audit_write,setfcap,sys_admin"
)

# Prints what each name of /proc holds, and all below it, but for those that lead to a process's own.
LOOK = """
import json, os
def text(path):
    try:
        with open(path, "rb") as file:
            return file.read().hex()
    except OSError:
        return ""
found = {}
for name in sorted(os.listdir("/proc")):
    path = "/proc/" + name
    if not name.isdigit() and not os.path.islink(path):
        below = [os.path.join(where, each) for where, _, names in os.walk(path) for each in sorted(names)]
        found[name] = "".join(map(text, [path, *below]))
print(json.dumps(found))
"""

# Prints the names of /proc that a box shows something of.
CONTAINER = """
import json, os, sys
from pathlib import Path
from arena.sandbox import Program
from arena.sandbox.bubblewrap import BubblewrapSandbox
from tests.sandbox.talk import read_to_end, running
here = Path(sys.argv[1])
(here / "bot").mkdir()
program = Program(("python3", "-c", sys.argv[2]), here / "bot")
with running(BubblewrapSandbox(here / "scratch"), program) as box:
    print(json.dumps([name for name, text in json.loads(read_to_end(box.stdout)).items() if text]))
"""


@pytest.mark.needs("root", None if os.geteuid() == 0 else "it is about root's boxes")
@pytest.mark.parametrize("without", [None, "sys_chroot"])
def test_a_container_with_few_capabilities_has_boxes_too(tmp_path: Path, without: str | None) -> None:
    """They can't hide files of /proc, so it is covered as in an ordinary user's."""
    left = [f"+{name}" for name in CONTAINED.split(",") if name != without]
    done = subprocess.run(
        ["setpriv", f"--bounding-set=-all,{','.join(left)}", sys.executable, "-c", CONTAINER, str(tmp_path), LOOK],
        cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert "version" in done.stdout
    assert set(json.loads(done.stdout)) <= {"cpuinfo", "loadavg", "meminfo", "stat", "uptime"} | covers.visible_names()


# --- system calls -----------------------------------------------------------------------------------------------------


def test_the_real_kernel_refuses_what_the_table_names(sandbox: BubblewrapSandbox, files: Path) -> None:
    """Rows 54 to 60: each rule's call, with a high bit in the argument that is tested, fails with the rule's error."""
    arch = os.uname().machine
    calls: dict[str, tuple[int, list[int], int]] = {}
    for rule in seccomp.RULES:
        number = rule.number(arch)
        if number is not None:
            arguments = [0] * 6
            if rule.tests:
                test = rule.tests[0]
                arguments[test.argument] = (test.value if test.equal else 40) | 1 << 32
            calls[rule.name] = (number, arguments, rule.errno)
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = {{}}
for name, (number, arguments, _) in {calls!r}.items():
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, arguments))
    found[name] = ctypes.get_errno() if result == -1 else 0
print(json.dumps(found))
"""
    assert output(sandbox, code, files) == {name: error for name, (_, _, error) in calls.items()}


# --- programs that must run -------------------------------------------------------------------------------------------

PYTHON = """
import asyncio, multiprocessing, subprocess, sys, tempfile, threading
def work(number, end):
    end.send(number * 2)
async def main():
    process = await asyncio.create_subprocess_exec("/bin/echo", "hi", stdout=subprocess.PIPE)
    return (await process.communicate())[0]
if __name__ == "__main__":
    ends = multiprocessing.Pipe()
    process = multiprocessing.Process(target=work, args=(2, ends[1]))
    process.start(); assert ends[0].recv() == 4; process.join()
    assert asyncio.run(main()) == b"hi\\n"
    thread = threading.Thread(target=tempfile.TemporaryFile)
    thread.start(); thread.join()
    print("fine")
"""
C = '#include <stdio.h>\\nint main(void) { puts("fine"); return 0; }'
JAVA = 'public class Bot { public static void main(String[] a) { System.out.println("fine"); } }'
LANGUAGES = {
    "python": ("python3", "bot.py", PYTHON),
    "shebang": ("/bot/bot.py", "bot.py", "#!/usr/bin/env python3" + PYTHON),
    "node": ("node", "bot.js", "new (require('worker_threads').Worker)('console.log(\"fine\")', {eval: true})"),
    "perl": ("perl", "bot.pl", 'fork or print("fine\\n") and exit; wait'),
    "gcc": ("sh", "bot.sh", f"printf '%s' '{C}' | sed 's/\\\\n/\\n/' > /tmp/a.c && gcc -o /tmp/a /tmp/a.c && /tmp/a"),
    "java": ("java", "Bot.java", JAVA),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_run(sandbox: BubblewrapSandbox, files: Path, language: str, needs: Needs) -> None:
    command, name, source = LANGUAGES[language]
    tool = {"shebang": "python3", "python": "python3"}.get(language, language)
    needs(tool, None if shutil.which(tool) else f"{tool} is missing")
    (files / name).write_text(source)
    (files / name).chmod(0o755)
    argv = (str(files / name),) if language == "shebang" else (command, str(files / name))
    with running(sandbox, Program(argv, files), Limits(memory_mb=512)) as box:
        ended = exit_of(box)
        assert (read_to_end(box.stdout), ended) == (b"fine\n", Exit(0, None)), read_to_end(box.stderr).decode()


IMPORTS = """
import importlib.util
print(json.dumps([name for name in ("json", "numpy", "click", "pip", "mine") if importlib.util.find_spec(name)]))
"""
NUMPY = "import numpy\nprint(json.dumps(numpy.arange(4).sum().item()))"


def test_python_bots_have_the_standard_library_and_their_folder(
    sandbox: BubblewrapSandbox, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arena's own packages are in the same venv, and no bot may rely on them."""
    monkeypatch.setattr(rootfs, "BOT_PACKAGES", "no-such-folder")
    (files / "mine").mkdir()
    (files / "mine" / "__init__.py").touch()
    code = f"import json, sys\nsys.path.insert(0, '/bot')\n{IMPORTS}"
    (files / "bot.py").write_text(code)
    for command in (sys.executable, "python3", os.path.realpath(sys.executable)):
        with running(sandbox, Program((command, str(files / "bot.py")), files)) as box:
            said, wrong = read_to_end(box.stdout), read_to_end(box.stderr)
            assert said, wrong.decode()
            assert json.loads(said) == ["json", "mine"], command


def test_packages_of_a_python_in_usr_are_covered_too(
    sandbox: BubblewrapSandbox, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is so if the arena is installed into the Python of /usr/local."""
    covered = [(Path("/usr/share"), None)]
    monkeypatch.setattr(rootfs, "packages", lambda tree: covered if tree == Path("/usr") else [])
    code = "import os; print([len(os.listdir(f)) > 0 for f in ('/usr/share', '/usr/lib')])"
    with running(sandbox, python(code, files)) as box:
        assert read_to_end(box.stdout) == b"[False, True]\n"


def test_the_organiser_adds_packages_for_all(
    sandbox: BubblewrapSandbox, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `pip install --target .venv/bot-packages numpy`; here the venv's own numpy replaces it."""
    own = Path(sys.prefix, "lib", f"python3.{sys.version_info.minor}", "site-packages")
    monkeypatch.setattr(rootfs, "BOT_PACKAGES", str(own.relative_to(sys.prefix)))
    assert output(sandbox, NUMPY, files, Limits(processes=64)) == 6


# --- limits -----------------------------------------------------------------------------------------------------------

HOG = "x = []\nwhile True: x.append(bytearray(b'1') * 1_000_000)"
BOMB = "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(60)"


def test_unenforced_limits_are_reported(tmp_path: Path) -> None:
    ungrouped = BubblewrapSandbox(tmp_path, None)
    assert ungrouped.note.endswith("; approximate limits; none of cores; only for your own bots")
    assert ungrouped.unenforced_limits == {"cores"}


def test_reserved_memory_is_not_used_memory(tmp_path: Path, files: Path, needs: Needs) -> None:
    """Row 33: a group doesn't count untouched memory."""
    needs("cgroup", cgroup.cgroup_problem())
    sandbox = BubblewrapSandbox(tmp_path / "scratch")
    code = "import mmap; page = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | 0x4000); print(json.dumps(1))"
    assert output(sandbox, code, files, Limits(memory_mb=64)) == 1


# --- the end ----------------------------------------------------------------------------------------------------------


def test_a_killed_bwrap_is_the_machines_fault(sandbox: BubblewrapSandbox, files: Path) -> None:
    """A match is void only by signs that no bot can cause: bwrap is out of their reach."""
    with running(sandbox, python("import time; time.sleep(60)", files)) as box:
        assert box.pid is not None
        keeper = parent_of(parent_of(box.pid))
        os.kill(keeper, signal.SIGKILL)
        with pytest.raises(SandboxError, match="bwrap was killed"):
            exit_of(box)
        kill(box)
        pid = box.pid
        until(lambda: dead(pid), "the program outlived its box")


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


# --- bad starts -------------------------------------------------------------------------------------------------------


def test_files_that_are_missing_are_the_programs_fault(sandbox: BubblewrapSandbox, files: Path) -> None:
    with pytest.raises(ProgramError, match="its files can't be read"):
        sandbox.start(Program(("true",), files, files=files / "gone"), Limits())


def test_a_missing_bwrap_is_the_machines_fault(
    sandbox: BubblewrapSandbox, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(files))
    with pytest.raises(SandboxError, match="bubblewrap is missing"):
        sandbox.start(Program(("/bin/true",), files), Limits())


def test_a_programs_output_is_not_mistaken_for_bwraps(sandbox: BubblewrapSandbox, files: Path) -> None:
    """A bot that prints bwrap's own complaint and exits as bwrap would has exited with code 1, no more."""
    code = "import sys; sys.stderr.write('bwrap: execvp x: No such file or directory'); sys.exit(1)"
    with running(sandbox, python(code, files)) as box:
        assert exit_of(box) == Exit(1, None)


# --- an ordinary user -------------------------------------------------------------------------------------------------

AS_USER = """
import json, os, sys, time
from pathlib import Path
from arena.limits import Limits
from arena.sandbox import Program, ProgramError
from arena.sandbox.bubblewrap import BubblewrapSandbox, unavailable_reason
here = Path(sys.argv[1])
(here / "bot").mkdir()
sandbox = BubblewrapSandbox(here / "scratch", None)
def run(code, limits):
    box = sandbox.start(Program(("python3", "-c", code), here / "bot"), limits)
    deadline = time.monotonic() + 60
    while box.exit() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    ended = box.close()
    return [ended.code, ended.signal, ended.limit]
def look():
    box = sandbox.start(Program(("python3", "-c", sys.argv[4]), here / "bot"), Limits())
    os.set_blocking(box.stdout, True)
    with open(box.stdout, closefd=False) as said:
        found = json.loads(said.readline())
    box.close()
    return found
try:
    sandbox.start(Program(("gone",), here / "bot"), Limits())
except ProgramError as error:
    missing = str(error)
proc = look()
print(json.dumps({
    "unavailable_reason": unavailable_reason(),
    "fine": run("import os; assert os.getuid() == 65534", Limits()),
    "memory": run(sys.argv[2], Limits(memory_mb=64)),
    "forks": run(sys.argv[3], Limits(processes=20)),
    "missing": missing,
    "shown": [name for name in proc if proc[name]],
    "same": look() == proc,
    "left": os.listdir(here / "scratch"),
}))
"""


@pytest.mark.needs("root", None if os.geteuid() == 0 else "all the other tests run as an ordinary user here")
def test_an_ordinary_user_without_control_groups_has_boxes_too(tmp_path: Path, needs: Needs) -> None:
    """Research section 7, case 4: rlimits; no root is needed.

    Row 119: the open parts of /proc are the same in a box before others filled memory and forked, and in one after.
    """
    become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    probe = ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    able = [
        path
        for path in (sys.executable, "/usr/bin/python3")
        if subprocess.run([*become, path, *probe], capture_output=True).returncode == 0
    ]
    needs("a Python that an ordinary user reaches", None if able else "apt install python3")
    home = Path("/tmp") / f"arena-test-{os.getpid()}"
    home.mkdir()
    os.chown(home, USER, USER)
    try:
        done = subprocess.run(
            [*become, able[0], "-B", "-c", AS_USER, str(home), HOG, BOMB, LOOK],
            cwd=ROOT,
            capture_output=True,
            timeout=6 * WAIT_S,  # five programs
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        report = json.loads(done.stdout)
        assert set(report.pop("shown")) <= {"cpuinfo", "loadavg", "meminfo", "stat", "uptime"} | covers.visible_names()
        assert report == {
            "unavailable_reason": None,
            "fine": [0, None, None],
            "memory": [1, None, None],
            "forks": [1, None, None],
            "missing": "gone: no such file",
            "same": True,
            "left": [],
        }
    finally:
        shutil.rmtree(home)


# --- user ids and interpreters ----------------------------------------------------------------------------------------


def take_all(lock_file: Path, slots: list[user_ids.UserIdLease]) -> None:
    """Take user IDs until none is left; raises BlockingIOError then."""
    while True:
        slots.append(user_ids.take_user_id(lock_file))


# Takes the free user ids up to a certain one, and holds them.
HOLDER = """
import sys
from pathlib import Path
from arena.sandbox.linux import user_ids
slots = [user_ids.take_user_id(Path(sys.argv[1]))]
while slots[-1].uid < int(sys.argv[2]):
    slots.append(user_ids.take_user_id(Path(sys.argv[1])))
print(slots[-1].uid, flush=True)
sys.stdin.read()
"""


def test_a_user_id_is_held_once_and_freed(tmp_path: Path) -> None:
    """Trap 1: one for each live box of the machine; the kernel frees it when its holder is killed."""
    lock_file = tmp_path / "uids"
    slots: list[user_ids.UserIdLease] = []
    with pytest.raises(BlockingIOError, match="already use all user ids"):
        take_all(lock_file, slots)
    numbers = {slot.uid for slot in slots}
    assert len(numbers) == len(slots) > 100  # all but those of processes: boxes of other runs, which come and go
    assert user_ids.FIRST_UID <= min(numbers) < max(numbers) <= user_ids.LAST_UID
    assert free_uids(user_ids.LAST_UID, lock_file).isdisjoint(numbers)
    slot = slots.pop(-7)  # of those that other runs reach last
    slot.release()
    slot.release()
    require_free({slot.uid}, lock_file)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock_file), str(slot.uid)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert int(read_line(other.stdout.fileno())) == slot.uid
        assert free_uids(user_ids.LAST_UID, lock_file).isdisjoint(numbers)
        other.kill()
    require_free({slot.uid}, lock_file)
    for each in slots:
        each.release()


def test_only_a_real_prefix_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder above bin/ may be a home, or the root folder: /bin/sh must not show it.

    Row 67: any path may be named, another bot's program too, so a lone file must be on PATH.
    """
    home, jdk = tmp_path / "home", tmp_path / "jdk"
    for prefix in (home, jdk):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "tool").touch()
    (jdk / "lib").mkdir()
    (jdk / "lib" / "jvm.cfg").touch()
    own = tmp_path / "bot"
    usual = rootfs.exposed_paths("python3", own)
    assert rootfs.exposed_paths("/bin/sh", own) == usual
    assert rootfs.exposed_paths(str(own / "bot.py"), own) == usual
    assert rootfs.exposed_paths(str(home / "bin/tool"), own) == usual
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert set(rootfs.exposed_paths(str(home / "bin/tool"), own)) == {*usual, home / "bin/tool"}
    assert set(rootfs.exposed_paths(str(jdk / "bin/tool"), own)) == {*usual, jdk}
    assert not any(Path.home().is_relative_to(tree) for tree in usual)


def test_a_python_that_was_installed_with_umask_077_is_named(tmp_path: Path) -> None:
    """Root's boxes are other users: the error of bwrap alone says that no reason is known."""
    venv = tmp_path / "venv"
    (venv / "lib").mkdir(parents=True)
    for folder in (venv, venv / "lib"):
        folder.chmod(0o700)
        assert rootfs.unreadable_prefixes([venv]) == [venv]
        folder.chmod(0o755)
    assert rootfs.unreadable_prefixes([venv]) == []
