r"""A hardened container and the named pipes into it, from before it knows its program until it is removed.

Must not know a program's meaning, nor matches. `docker.py` hands containers out as boxes.

Theory of operation. A container is generic until `release`: all with one `Recipe` are alike, so they can be started
ahead. Its folder on the host has two parts that are mounted read-only:

    io/   (0711)  out, err, told: pipes that others may only write to (0602); in: one they may only read (0604);
                  start: a script that `release` writes
    bot/          the program's files, copied by `release`

Process 1 is a shell that keeps `told` open, starts a second shell and reports how that one ended:

    second shell: opens out and err, tells "ready", opens in: blocks, since nobody has it open for writing
    referee:      (ready) moves that process into a control group; copies files, writes start, opens in: releases it
    second shell: runs start: working folder, environment, looks for the program, tells "go", and becomes the program
    first shell:  tells the exit code when it is over, and ends; with it all that the program left running

The referee opens its reading ends before the container starts and the writing end when a reader is there, so there is
never a false end of file, and no end is held by anybody but the program. The daemon carries no byte.

What the program can do to this: it may write to `told` (through /proc/1/fd) and so lie about its own end. It may even
replace the code of process 1 (through /proc/1/mem, where Yama doesn't forbid it), which is therefore in the program's
control group. It can't make the container look killed from outside, which is what voids a match.
"""

import errno
import json
import os
import secrets
import select
import shlex
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from arena.sandbox.box import Exit, Program, ProgramError, SandboxError
from arena.sandbox.bundle import INSIDE, copy_files, cwd_inside
from arena.sandbox.docker.engine import FOLDER, FOLDER_PREFIX, OWNER, Engine, alive, owner
from arena.sandbox.limits import Limits
from arena.sandbox.trees import remove_tree
from arena.sandbox.trouble import Remedy, Trouble, TroubleError

IO = "/io"  # where the pipes are in a container
START_S = 20.0  # for a started container's first word, and for the program's: 0.1 s, on a loaded machine 1 s
POLL_S = 0.0002  # between two tries to open a pipe whose reader is about to come
SCRIPT_BYTES = 100_000  # of a start script: attach hands it over as one word, for which Linux has 131,072
ASK_S = 1.0  # for the engine's answer to what the dead left, in all: it takes 5 ms, and no run waits for one that hangs
TOLD_BYTES = 4096  # of what the shells tell; more is the program's own doing

# No program is process 1, whose default signals the kernel ignores. The signals that a shell would catch are ignored in
# process 1 and put back for the program. Process 1 keeps no way to the daemon, which a program could flood by it.
SHIM = f"""
trap '' HUP INT QUIT TERM
exec 3>{IO}/told >/dev/null 2>&1
( trap - HUP INT QUIT TERM
  exec >{IO}/out 2>{IO}/err
  echo ready >&3
  exec <{IO}/in
  . {IO}/start )
echo $? >&3
"""

# Files of the whole machine that change with what others do: covert channels between containers. What python, node or
# java can't do without (cpuinfo, version, filesystems, the process's own) stays.
COVERT = (
    *("buddyinfo", "cgroups", "cmdline", "config.gz", "consoles", "crypto", "diskstats", "interrupts", "kallsyms"),
    *("key-users", "loadavg", "locks", "mdstat"),
    *("meminfo", "modules", "pagetypeinfo", "partitions", "pressure", "schedstat", "slabinfo", "softirqs", "stat"),
    *("swaps", "sys/fs", "sys/kernel/pty", "sys/kernel/random", "timer_list", "uptime", "vmallocinfo", "vmstat"),
    *("zoneinfo", "fs", "irq", "bus", "driver"),
)
# The engine's own list, which naming one replaces (moby/oci/defaults.go), and all of /sys: disks and memory are counted
# in it. A JVM looks there for its memory limit, hence JAVA_OPTIONS.
MASKED = (
    *("/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/sys"),
    *(f"/proc/{name}" for name in COVERT),
)
JAVA_OPTIONS = "JDK_JAVA_OPTIONS"  # read by the java launcher since JDK 9
READ_ONLY = ("/proc/sys", "/proc/sysrq-trigger")  # likewise; the rest of its list is masked here

INODE_KB = 16  # of /tmp for each file in it: 1,024 for the default, far more than a bot needs
SHM_MB = 1  # for /dev/shm, where Python's semaphores are; what is large belongs into /tmp
MEMLOCK_KB = 64  # what a user had for decades; locked memory can't be reclaimed
MESSAGES_KB = 64  # POSIX message queues: kernel memory
FIRST_UID = 1_900_000_000  # systemd's table of ids leaves this range unused, so no user of the machine is met
UIDS = 100_000_000  # at random, so that two containers share neither inotify's nor the pipes' per-user limits
NOBODY = 65534  # where ids are shifted, higher ones don't exist


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a container is made from; containers of equal recipes are interchangeable."""

    image: str
    limits: Limits
    runtime: str | None = None


def config(engine: Engine, recipe: Recipe, command: Sequence[str], mounts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the body of the call that creates a hardened container (Docker Engine API 1.41, ContainerCreate)."""
    from arena.sandbox.linux import docker_profile

    limits = recipe.limits
    memory = limits.memory_mb * 1024 * 1024
    cores = int(engine.info.get("NCPU") or 1)
    uid = NOBODY if engine.shifts_ids else FIRST_UID + secrets.randbelow(UIDS)
    tmp = f"rw,nosuid,nodev,exec,mode=1777,size={limits.tmp_mb}m,nr_inodes={max(64, limits.tmp_mb * 1024 // INODE_KB)}"
    host: dict[str, Any] = {
        "NetworkMode": "none",
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={docker_profile()}"],
        "MaskedPaths": list(MASKED),
        "ReadonlyPaths": list(READ_ONLY),
        "PidsLimit": limits.processes + 1,  # process 1 is ours
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": 0 if limits.cores >= cores else int(limits.cores * 1e9),
        "CpusetCpus": _our_cores(cores),
        "OomScoreAdj": 500,  # the machine's last resort takes a bot, not the referee
        "Tmpfs": {"/tmp": tmp, "/dev/shm": f"rw,nosuid,nodev,noexec,mode=1777,size={SHM_MB}m,nr_inodes=64"},
        "Ulimits": [
            {"Name": name, "Soft": soft, "Hard": hard}
            for name, soft, hard in (
                ("core", 0, 0),
                ("nofile", limits.open_files, limits.open_files),
                ("fsize", limits.file_size_mb * 1024 * 1024, limits.file_size_mb * 1024 * 1024),
                ("cpu", limits.cpu_s, limits.cpu_s + 1),  # SIGXCPU first, so that the reason is known
                ("memlock", MEMLOCK_KB * 1024, MEMLOCK_KB * 1024),
                ("msgqueue", MESSAGES_KB * 1024, MESSAGES_KB * 1024),
            )
        ],
        "LogConfig": {"Type": "none"},
        "Mounts": mounts,
        "Init": False,
        "AutoRemove": False,  # how it ended is asked first
    }
    if recipe.runtime is not None:
        host["Runtime"] = recipe.runtime
    return {
        "Image": recipe.image,
        "Entrypoint": [],
        "Cmd": list(command),
        "Hostname": "bot",
        "User": f"{uid}:{uid}",
        "WorkingDir": "/tmp",
        "Env": [f"{name}={value}" for name, value in ENVIRONMENT.items()],
        "Labels": {OWNER: owner()},
        "NetworkDisabled": True,
        "HostConfig": host,
    }


def _our_cores(cores: int) -> str:
    """Return the cores that this process is bound to, as a box that is our child inherits them; "" where to none.

    A worker of a run is bound to its share: a bot on another core costs 70 us a round trip instead of 10 (measured).
    """
    ours = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
    return ",".join(map(str, ours)) if ours and len(ours) < cores and ours[-1] < cores else ""


ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
PRIVATE = ("HOME", "TMPDIR")  # a program's own wishes don't replace these


def create(engine: Engine, body: dict[str, Any]) -> str:
    """Create a container and return its id. Raises SandboxError, for an image that isn't there with the way to it."""
    try:
        return str(engine.call(engine.api.create_container_from_config, body)["Id"])
    except SandboxError as problem:
        if getattr(problem.__cause__, "status_code", None) == 404 and "image" in str(problem).lower():
            raise TroubleError(missing(body["Image"])) from problem
        raise


def missing(image: str) -> Trouble:
    """Say that there is no such image, and how to get it."""
    language = image.removeprefix("coup-arena/")
    remedy = Remedy.PULL_IMAGE if language == image else Remedy.BUILD_IMAGE
    return Trouble(f"there is no image {image}", remedy, (language,))


def start_script(program: Program, words: Sequence[str], limits: Limits) -> str:
    """Return the shell script that becomes the program; `words` is its command as it is in the container.

    Raises ProgramError for what a shell can't be told.
    """
    lines = [f"cd {shlex.quote(cwd_inside(program))} 2>/dev/null || {{ echo cwd >&3; exit 127; }}"]
    lines.append("unset HOSTNAME PWD OLDPWD")  # the engine's and the shell's
    if words[0] == "java":
        lines.append(f"export {JAVA_OPTIONS}=-XX:MaxRAM={limits.memory_mb}m")
    for name, value in program.env:
        if not name.isidentifier() or not name.isascii():
            raise ProgramError(f"{name!r} can't be the name of an environment variable in a container")
        if name not in PRIVATE:
            # `command`: a shell that gives the name a meaning of its own (OPTIND) may refuse a value, and would end.
            lines.append(
                f"command export {name}={shlex.quote(value)} 2>/dev/null || {{ echo env {name} >&3; exit 127; }}"
            )
    first = shlex.quote(words[0])
    lines.append(f"command -v {first} >/dev/null 2>&1 || {{ echo missing >&3; exit 127; }}")
    lines.append("echo go >&3")
    lines.append(f"exec {' '.join(map(shlex.quote, words))} 3>&-")
    script = "\n".join(lines) + "\n"
    if "\0" in script:
        raise ProgramError(f"{words[0]!r}: its command, folder or environment holds a NUL byte")
    try:
        size = len(os.fsencode(script))
    except UnicodeEncodeError as problem:  # half of a surrogate pair, as JSON can write it
        raise ProgramError(f"{words[0]!r}: its command, folder or environment is no text") from problem
    if size > SCRIPT_BYTES:
        raise ProgramError(f"{words[0]!r:.80}: its command and environment are over {SCRIPT_BYTES} bytes long")
    return script


def refused(word: str, program: Program, words: Sequence[str], image: str) -> ProgramError | None:
    """Return what a start script's word before its end says of the program, None if it says nothing."""
    if word == "missing":
        return ProgramError(f"{words[0]}: no such program in the image {image}")
    if word == "cwd":
        return ProgramError(f"{program.cwd}: can't be the working folder")
    if word.startswith("env "):
        return ProgramError(f"the environment variable {word[4:]} can't have its value in a container")
    return None


def exit_of(code: int) -> Exit:
    """Return how a program ended from its shell's code: 128 and more is a signal, as all shells have it."""
    number = code - 128
    return Exit(None, number) if 0 < number <= LAST_SIGNAL else Exit(code, None)


LIE = -1  # no exit code: the program wrote to `told` itself
LAST_SIGNAL = 64  # SIGRTMAX


class Container:
    """One container with pipes. The descriptors are its own until `give_pipes`; `remove` ends everything."""

    def __init__(self, engine: Engine, recipe: Recipe, scratch: Path, patience_s: float = START_S) -> None:
        """Create and start it, up to "ready". Raises SandboxError; then nothing is left."""
        self.engine = engine
        self.recipe = recipe
        self.id = ""
        self.root_pid = -1  # process 1, as the host numbers it
        self.pid = -1  # the one that becomes the program
        self.stdin = self.stdout = self.stderr = self.told = self.pidfd = -1
        self.outages = engine.outages
        self._words = b""
        self._ended = False
        self.folder = self._make_folder(scratch)
        try:
            self._start(patience_s)
        except BaseException:
            self.remove()
            raise

    def _make_folder(self, scratch: Path) -> Path:
        try:
            scratch.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=scratch.resolve()))
        except OSError as problem:
            raise SandboxError(f"can't prepare a container's folder in {scratch}: {problem.strerror}") from problem
        return folder

    def _start(self, patience_s: float) -> None:
        io, bot = self.folder / "io", self.folder / "bot"
        try:
            bot.mkdir()
            io.mkdir()
            for name, mode in (("in", 0o604), ("out", 0o602), ("err", 0o602), ("told", 0o602)):
                os.mkfifo(io / name)
                os.chmod(io / name, mode)  # whatever the umask
            os.chmod(bot, 0o755)
            os.chmod(io, 0o711)
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            self.stdout, self.stderr, self.told = (os.open(io / name, flags) for name in ("out", "err", "told"))
        except OSError as problem:
            raise SandboxError(f"can't make a container's pipes in {self.folder}: {problem.strerror}") from problem
        mounts = [_bind(io, IO), _bind(bot, INSIDE)]
        body = config(self.engine, self.recipe, ["/bin/sh", "-c", SHIM], mounts)
        body["Labels"][FOLDER] = str(self.folder)
        self.id = create(self.engine, body)
        self.engine.call(self.engine.api.start, self.id)
        word = self._word(patience_s)
        if word != "ready":
            raise SandboxError(f"a container of {self.recipe.image} didn't come up: it told {word!r}")
        self._find_processes()

    def _find_processes(self) -> None:
        """Find its processes among this machine's; they stay unknown where it has another kernel or pid namespace."""
        root = int(self.engine.call(self.engine.api.inspect_container, self.id)["State"]["Pid"])
        try:
            self.pidfd = os.pidfd_open(root)
            if self.id not in Path(f"/proc/{root}/cgroup").read_text():
                raise ProcessLookupError
            self.pid = int(Path(f"/proc/{root}/task/{root}/children").read_text().split()[0])
            self.root_pid = root
        except (OSError, ValueError, IndexError):
            if self.pidfd >= 0:
                os.close(self.pidfd)
            self.pidfd = self.pid = self.root_pid = -1

    def release(self, program: Program, words: Sequence[str]) -> None:
        """Give it its files and let it become the program. Raises ProgramError or SandboxError."""
        script = start_script(program, words, self.recipe.limits)
        copy_files(program, self.folder / "bot")
        start = self.folder / "io" / "start"
        try:
            start.write_bytes(os.fsencode(script))
            os.chmod(start, 0o444)
        except OSError as problem:
            raise SandboxError(f"can't write a container's {start}: {problem.strerror}") from problem
        self.stdin = self._open_in()
        word = self._word(START_S)
        if theirs := refused(word, program, words, self.recipe.image):
            raise theirs
        if word != "go":
            raise SandboxError(f"a container of {self.recipe.image} can't start a program: it told {word!r}")

    def _open_in(self) -> int:
        end = time.monotonic() + START_S
        while True:
            try:
                return os.open(self.folder / "io" / "in", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as problem:
                if problem.errno != errno.ENXIO or time.monotonic() > end:
                    raise SandboxError(f"a container doesn't open its pipes: {problem.strerror}") from problem
                time.sleep(POLL_S)

    def _word(self, timeout_s: float) -> str:
        """Wait for the next line that the shells tell; "" at their end."""
        end = time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(self.told, select.POLLIN)
        while b"\n" not in self._words:
            left = end - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise SandboxError(f"a container of {self.recipe.image} said nothing for {timeout_s:g} s")
            if not self._read_told():
                return ""
        word, _, self._words = self._words.partition(b"\n")
        return word.decode("ascii", "replace")

    def _read_told(self) -> bool:
        try:
            data = os.read(self.told, TOLD_BYTES)
        except BlockingIOError:
            return True
        self._words = (self._words + data)[:TOLD_BYTES]
        return bool(data)

    def ended(self) -> tuple[bool, int | None]:
        """Tell whether its program has ended, and the code that the shell told: None for none, LIE for another word."""
        if self.told < 0:
            return True, None
        alive = self._read_told()
        word, newline, _ = self._words.partition(b"\n")
        if newline:
            return True, int(word) if word.isdigit() and int(word) < 256 else LIE
        return not alive or len(self._words) == TOLD_BYTES, None

    def dead(self, timeout_s: float = 0.0) -> bool:
        """Tell whether process 1 is dead, after waiting for it so long; False where it isn't known."""
        if self.pidfd < 0:
            return False
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(max(0.0, timeout_s) * 1000))

    def kill(self) -> bool:
        """Kill process 1 and so all others; False where this user can't."""
        if self.pidfd < 0:
            return False
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return True

    def close_stdin(self) -> None:
        """Close the end that is written to. Idempotent."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def end(self) -> None:
        """Kill it, by the engine where this user can't, and have it removed soon. Idempotent."""
        self.kill()
        if not self._ended:
            self._ended = True
            if self.id:
                self.engine.remove(self.id, self.folder)
            else:
                remove_tree(self.folder)

    def remove(self) -> None:
        """End it, and close all descriptors. Idempotent."""
        self.end()
        self.close_stdin()
        for end in (self.stdout, self.stderr, self.told, self.pidfd):
            if end >= 0:
                os.close(end)
        self.stdout = self.stderr = self.told = self.pidfd = -1


def _bind(source: Path, target: str) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": target,
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rprivate"},
    }


# --- what the dead left -----------------------------------------------------------------------------------------------


def left_behind(path: str, timeout_s: float = ASK_S) -> bool:
    """Tell whether the engine at a unix socket holds a container or volume of a dead process of ours. Never raises.

    For those who don't want Docker: it asks by hand, so that where nothing was left the docker package isn't imported.
    False too where nobody listens, where we may not ask, and where no answer comes within `timeout_s` in all.
    """
    end = time.monotonic() + timeout_s
    try:
        return any(not alive(name) for name in _owners(path, end))
    except (OSError, ValueError, LookupError, TypeError):  # too late, too, or not an engine's answer
        return False


def _owners(path: str, end: float) -> Iterator[str]:
    labelled = quote(json.dumps({"label": [OWNER]}))
    found = _ask(path, f"/containers/json?all=1&filters={labelled}", end)
    found += _ask(path, f"/volumes?filters={labelled}", end)["Volumes"] or []
    for one in found:
        yield one["Labels"][OWNER]


def _ask(path: str, question: str, end: float) -> Any:
    """Return the engine's answer. Raises OSError, and ValueError for what is no answer. HTTP 1.0 ends by closing."""
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(max(0.001, end - time.monotonic()))
        door.connect(path)
        door.sendall(f"GET {question} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
        answer = b""
        while piece := door.recv(1 << 16):
            answer += piece
            door.settimeout(max(0.001, end - time.monotonic()))
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.split(b" ", 2)[1:2] != [b"200"]:
        raise ValueError(head)
    return json.loads(body)
