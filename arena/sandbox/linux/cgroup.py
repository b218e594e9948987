"""Make control groups, one per box: set its limits, count its usage, and freeze, kill and remove it. Linux only.

A box is one directory in the v2 tree, where CPU time, freezing and killing need no controller. It has one more in
each v1 hierarchy with a controller that the v2 tree lacks. `hierarchy` detects once which layout applies:

    v2 alone      one directory, with the controllers enabled for its siblings. v2 allows no processes in a group with
                  such children, so this process and all others of its group first move to a sibling leaf
    hybrid, root  memory, pids and cpu are v1: directories below this process's own, and one in the bare v2 tree
    else          no groups; `cgroup_problem` gives the reason and the command that fixes it

Groups are used only if they support all limits, freeze and kill (Linux 5.14). Root uses the top of the v2 tree. v1's
freezer isn't used, because a process that it has frozen can't be killed. A group's name, "arena.OWNER.RANDOM", contains
the process that made it (processes.py), so `cleanup_stale` finds the groups of dead ones. A group that the kernel
empties slowly is removed later. This module must not know what a program is nor how it is isolated."""

import contextlib
import errno
import functools
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from arena.limits import Limits
from arena.sandbox.box import CLOSE_MS, Counted, SandboxError
from arena.sandbox.host_problems import HostProblem, Remedy
from arena.sandbox.linux.processes import is_alive, local_identity

POLL_S = 0.0005  # between two checks; a killed group is empty after 0.7 ms on an idle machine
HIT_BYTES = 1 << 20  # the limit was hit if less was left: an allocation that fails asks for at most some pages

_unremoved: list[tuple[Path, ...]] = []  # groups of this process that couldn't be removed when their box closed


class Cgroup:
    """The control group of a box. `joins` are open descriptors of its cgroup.procs files, until `seal` or `remove`."""

    def __init__(self, name: str, unified: Path, v1_folders: dict[str, Path]) -> None:
        """Open the files of existing directories: in the v2 tree, and by v1 controller. Raises OSError."""
        self.name = name
        self.joins: tuple[int, ...] = ()
        self._unified = unified
        self._folders = (unified, *dict.fromkeys(v1_folders.values()))
        self._memory = v1_folders.get("memory", unified)
        self._pids = v1_folders.get("pids", unified)
        self._has_v1_memory = "memory" in v1_folders
        self._frozen = False
        self._descriptors: list[int] = []
        self._cpu = self._freeze = self._kill = self._events = -1
        try:
            self._cpu = self._open("cpu.stat", os.O_RDONLY)
            self._events = self._open("cgroup.events", os.O_RDONLY)
            self._freeze = self._open("cgroup.freeze", os.O_WRONLY)
            self._kill = self._open("cgroup.kill", os.O_WRONLY)
            for folder in self._folders:
                self.joins += (os.open(f"{folder}/cgroup.procs", os.O_RDWR | os.O_CLOEXEC),)
        except OSError:
            self._close()
            raise

    def add(self, pid: int) -> None:
        """Move a process, with its threads, into the group. Raises OSError, after `seal` always."""
        for descriptor in self.joins or (-1,):
            os.write(descriptor, b"%d" % pid)

    def seal(self) -> None:
        """Close `joins`, so that no process can be added. Idempotent."""
        descriptors, self.joins = self.joins, ()
        for descriptor in descriptors:
            os.close(descriptor)

    def cpu_ns(self) -> int:
        """Return the CPU time of all present and past processes of the group, in ns, in steps of 1,000; it never falls.

        Raises SandboxError if another process removed the group; so do `freeze` and `thaw`.
        """
        try:
            line = os.pread(self._cpu, 64, 0)  # usage_usec 1234\nuser_usec ...; see cgroup-v2.rst
        except OSError as error:
            raise SandboxError(f"a box's cgroup has disappeared: {error.strerror}") from error
        return int(line[11 : line.index(b"\n")]) * 1000

    def peak_bytes(self) -> int | None:
        """Return the peak of memory of the group, in bytes; None if the kernel doesn't record it."""
        file = "memory.max_usage_in_bytes" if self._has_v1_memory else "memory.peak"  # the latter since Linux 5.19
        return _number(self._memory / file) or None

    def tasks(self) -> list[int]:
        """Return the ids of all tasks of the group."""
        try:
            return [int(word) for word in (self._unified / "cgroup.threads").read_bytes().split()]
        except OSError:
            return []

    def freeze(self) -> None:
        """Freeze all processes of the group; takes effect shortly after return. Idempotent."""
        if not self._frozen:
            self._set_frozen(True)

    def thaw(self) -> None:
        """Thaw all processes of the group. Idempotent."""
        if self._frozen:
            self._set_frozen(False)

    def kill(self) -> None:
        """Send SIGKILL to all processes of the group, frozen ones too."""
        os.pwrite(self._kill, b"1", 0)

    def populated(self) -> bool:
        """Return whether a process lives in the group; zombies don't count. A removed group has none."""
        try:
            return self._events >= 0 and b"populated 1" in os.pread(self._events, 64, 0)
        except OSError:  # another process removed it
            return False

    def has(self, pid: int) -> bool:
        """Return whether a process, alive or unreaped, is in the group (or was when it died)."""
        try:
            return f"/{self.name}".encode() in Path(f"/proc/{pid}/cgroup").read_bytes()
        except OSError:
            return False

    def counted(self) -> Counted:
        """Return how many processes were killed at the group's memory limit, and how many forks were refused."""
        kills, hits = self._read_memory_events()
        refused_forks = _counter(self._pids / "pids.events", b"max")
        counts = (("memory_mb", kills if hits else 0), ("processes", refused_forks))
        return tuple((field, count) for field, count in counts if count)

    def host_oom(self) -> bool:
        """Return whether a process was killed because the machine, or a parent group, ran out of memory."""
        kills, hits = self._read_memory_events()
        return kills > 0 and hits == 0

    def remove(self, timeout_s: float = CLOSE_MS / 1000) -> None:
        """Kill all processes, wait for their end, remove the directories, close the files. This never raises.

        A second call does nothing. `retry_removals`, or else `cleanup_stale`, removes directories that the kernel
        empties after the time-out.
        """
        if not self._descriptors:
            return
        with contextlib.suppress(OSError):
            self.kill()
        self._close()
        if not remove(self._folders, time.monotonic() + timeout_s):
            _unremoved.append(self._folders)

    def _read_memory_events(self) -> tuple[int, int]:
        """Return (processes killed for lack of memory, hits of the group's own limit; v1: 0 or 1)."""
        folder = self._memory
        if self._has_v1_memory:
            kills = _counter(folder / "memory.oom_control", b"oom_kill")
            # memory.failcnt stays 0 on Linux 6.18, so the peak shows whether the limit was hit. memsw's peak also
            # counts swapped memory, and has the same limit.
            limit_bytes = _number(folder / "memory.limit_in_bytes")
            peak_bytes = max(_number(folder / f"{kind}.max_usage_in_bytes") for kind in ("memory", "memory.memsw"))
            return kills, int(peak_bytes > limit_bytes - HIT_BYTES)
        events = folder / "memory.events"
        return _counter(events, b"oom_kill"), _counter(events, b"oom")

    def _set_frozen(self, frozen: bool) -> None:
        try:
            os.pwrite(self._freeze, b"%d" % frozen, 0)
        except OSError as error:
            raise SandboxError(f"a box's cgroup has disappeared: {error.strerror}") from error
        self._frozen = frozen

    def _open(self, name: str, flags: int) -> int:
        descriptor = os.open(f"{self._unified}/{name}", flags | os.O_CLOEXEC)
        self._descriptors.append(descriptor)
        return descriptor

    def _close(self) -> None:
        self.seal()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        self._cpu = self._freeze = self._kill = self._events = -1
        self._frozen = False


def retry_removals() -> None:
    """Remove groups that couldn't be removed in time when their boxes closed."""
    _unremoved[:] = [folders for folders in _unremoved if not remove(folders, 0.0)]


# --- files ------------------------------------------------------------------------------------------------------------


def write(path: Path | str, text: str) -> None:
    """Write to a file of the kernel. Raises OSError if the file doesn't exist or the kernel refuses."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)  # without O_CREAT, since only the kernel creates them
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _counter(path: Path, key: bytes) -> int:
    """Return the number after `key` in a file of "word number" lines; 0 without one."""
    with contextlib.suppress(OSError):
        for line in path.read_bytes().splitlines():
            word, _, number = line.partition(b" ")
            if word == key:
                return int(number)
    return 0


def _number(path: Path) -> int:
    try:
        return int(path.read_bytes())
    except OSError:
        return 0


# --- the end of groups ------------------------------------------------------------------------------------------------


def kill_members(folder: Path) -> None:
    """Kill all processes in a directory of the v2 tree and in its subdirectories. This never raises.

    This doesn't wait for their end, and does nothing where the file cgroup.kill is missing. A directory of a v1 tree
    has the same processes as the v2 directory with its name.
    """
    with contextlib.suppress(OSError):
        write(folder / "cgroup.kill", "1")


def remove(folders: tuple[Path, ...], deadline: float) -> bool:
    """Kill the processes of directories, and remove these trees; return whether all are removed by the deadline."""
    remaining = list(folders)
    while True:
        remaining = [folder for folder in remaining if not _remove_one(folder)]
        if not remaining:
            return True
        if time.monotonic() >= deadline:
            return False
        for folder in remaining:
            kill_members(folder)
        time.sleep(POLL_S)


def _remove_one(folder: Path) -> bool:
    """Remove a directory and its subdirectories (a program may have made some); return whether it is removed."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)
        return True
    for inner, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(inner)
    return not folder.exists()


LEAF = "arena.self"  # for this process and its neighbours while their group has children with controllers
NAME = re.compile(r"arena\.(\d+\.\d+\.\d+)\.[0-9a-f]+")  # group 1 is the owner's identity
PERIOD_US = 100_000  # the kernel's default for cpu quotas; a shorter one throttles more often for the same share
SWEEP_S = 2.0  # for all groups together: a group that the kernel doesn't empty must not block the start of a run
CONTROLLERS = ("memory", "pids", "cpu")


@dataclass(frozen=True, slots=True)
class Layout:
    """This process's directory in each mounted tree.

    `v2` is its directory in the v2 tree and `v2_top` that tree's mount point, None if no v2 tree is mounted. `v1` maps
    those of CONTROLLERS that are v1 to its directory; `tops` are the mount points of all trees.
    """

    v2: Path | None
    v2_top: Path | None
    v1: dict[str, Path]
    tops: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The directories below which groups are made: `unified` in the v2 tree, and `v1_folders` by v1 controller.

    `controllers` are those of CONTROLLERS that its groups have; `tops` are the mount points of all trees.
    """

    unified: Path
    v1_folders: dict[str, Path]
    controllers: frozenset[str]
    tops: tuple[Path, ...]

    def describe(self) -> str:
        """Return a description of the trees and the controllers, in one line."""
        kind = "cgroups v1 and a v2 tree" if self.v1_folders else "cgroups v2"
        return f"{kind}: {', '.join(name for name in CONTROLLERS if name in self.controllers) or 'only CPU time'}"

    def missing_reason(self) -> HostProblem | None:
        """Return the problem of missing controllers, with a command if one fixes it; None if none is missing."""
        missing = [name for name in CONTROLLERS if name not in self.controllers]
        if not missing:
            return None
        text = f"{self.describe()}, without {', '.join(missing)}"
        if os.geteuid() == 0 or self.v1_folders:
            return HostProblem(text, Remedy.ACCOUNT_MEMORY if "memory" in missing else None)
        return HostProblem(text, Remedy.DELEGATE_ALL)

    def make(self, limits: Limits) -> Cgroup:
        """Make an empty group with these limits.

        Raises SandboxError if the kernel refuses; then nothing is left behind.
        """
        retry_removals()
        name = f"arena.{local_identity()}.{secrets.token_hex(6)}"
        unified = self.unified / name
        v1_folders = {controller: base / name for controller, base in self.v1_folders.items()}
        folders = (unified, *dict.fromkeys(v1_folders.values()))
        try:
            for folder in folders:
                with contextlib.suppress(FileExistsError):  # two v1 controllers may be mounted together
                    os.mkdir(folder)
            for controller in self.controllers:
                _write_limits(controller, v1_folders.get(controller), unified, limits)
            return Cgroup(name, unified, v1_folders)
        except OSError as error:
            for folder in folders:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise SandboxError(f"can't make a cgroup: {error.strerror or error}") from error

    def cleanup_stale(self) -> int:
        """Kill and remove the groups of dead processes of this pid namespace; return how many."""
        stale_groups: dict[str, list[Path]] = {}
        for top in self.tops:
            for folder in _groups(top):
                if _is_owner_dead(folder.name):
                    stale_groups.setdefault(folder.name, []).append(folder)
        for folders in stale_groups.values():
            for folder in folders:
                kill_members(folder)
        deadline = time.monotonic() + SWEEP_S
        return sum(remove(tuple(folders), deadline) for folders in stale_groups.values())


@functools.cache
def hierarchy() -> Hierarchy | None:
    """Return where this process can make groups with all limits, None if it can't. This never raises.

    The first call makes a group to find out. On a v2 host it also moves this process, so call it before others start.
    """
    return _detect_once()[0]


def cgroup_problem() -> HostProblem | None:
    """Return why no groups can be made, with the command that fixes it; None if `hierarchy` is available."""
    return _detect_once()[1]


def cleanup_stale() -> int:
    """Kill and remove the groups of dead referees; return how many. Call it at the start of a run."""
    found = hierarchy()
    return 0 if found is None else found.cleanup_stale()


@functools.cache
def _detect_once() -> tuple[Hierarchy | None, HostProblem | None]:
    return detect()


def detect(proc: Path = Path("/proc")) -> tuple[Hierarchy | None, HostProblem | None]:
    """Find a hierarchy and test it by making a group; return (hierarchy, None) or (None, problem). This never raises.

    As `prepare` does, this may move this process. `proc` contains self/mountinfo and self/cgroup.
    """
    if sys.platform != "linux":
        return None, HostProblem("control groups need Linux")
    try:
        layout = read_layout(proc)
        if layout.v2 is None or layout.v2_top is None:
            return None, HostProblem("no cgroup v2 tree is mounted", Remedy.MOUNT_V2)
        found = prepare(layout)
        found.make(Limits()).remove()
    except (OSError, SandboxError) as error:
        return None, _detection_problem(error)
    problem = found.missing_reason()
    return (found, None) if problem is None else (None, problem)


def read_layout(proc: Path = Path("/proc")) -> Layout:
    """Read where the trees are mounted, and this process's directory in each. Raises OSError if /proc can't be read."""
    own_paths: dict[str, str] = {}  # controller, or "" for v2 -> path from the tree's root
    for line in os.fsdecode((proc / "self" / "cgroup").read_bytes()).split("\n")[:-1]:
        _, names, path = line.split(":", 2)
        own_paths.update(dict.fromkeys(names.split(","), path))
    v2 = v2_top = None
    v1: dict[str, Path] = {}
    tops: dict[Path, None] = {}
    for kind, options, root, top in _list_mounts(proc):
        if kind == "cgroup2" and "" in own_paths and v2_top is None:
            v2_top = top
            v2 = _below(top, root, own_paths[""])
            tops[top] = None
        elif kind == "cgroup":
            for name in sorted({*options.split(",")} & {*CONTROLLERS} & own_paths.keys()):
                v1.setdefault(name, _below(top, root, own_paths[name]))
                tops[top] = None
    return Layout(v2, v2_top, v1, tuple(tops))


def _list_mounts(proc: Path) -> Iterator[tuple[str, str, str, Path]]:
    """Yield (kind, options, root within the file system, mount point) of each mount that this process sees."""
    for line in os.fsdecode((proc / "self" / "mountinfo").read_bytes()).split("\n")[:-1]:
        fields, _, mount = line.partition(" - ")
        kind, _, options = mount.split(" ", 2)
        root, top = (_unescape(word) for word in fields.split(" ")[3:5])
        yield kind, options, root, Path(top)


def prepare(layout: Layout) -> Hierarchy:
    """Choose the directories below which groups are made, and enable the v2 controllers there.

    `layout` must have a v2 tree. This may move this process, and all others of its directory, into a leaf. Raises
    OSError if a file of a group can't be read or written.
    """
    assert layout.v2 is not None
    assert layout.v2_top is not None
    base = layout.v2.parent if layout.v2.name == LEAF else layout.v2
    controllers = (base / "cgroup.controllers").read_text().split()
    if set(controllers) & set(CONTROLLERS):
        if os.geteuid() == 0 and base == layout.v2:
            base = layout.v2_top
        _enable(base)
    enabled = (base / "cgroup.subtree_control").read_text().split()
    v1_folders = {name: path for name, path in layout.v1.items() if name not in enabled and os.access(path, os.W_OK)}
    usable = frozenset(name for name in CONTROLLERS if name in enabled or name in v1_folders)
    return Hierarchy(base, v1_folders, usable, layout.tops)


def _enable(base: Path) -> None:
    """Enable the available controllers for the children of `base`; the processes of `base` move to a leaf."""
    available = set((base / "cgroup.controllers").read_text().split()) & set(CONTROLLERS)
    missing = sorted(available - set((base / "cgroup.subtree_control").read_text().split()))
    if not missing:
        return
    if (base / "cgroup.type").exists():  # the top of the whole tree has none, and may hold processes
        _move_to_leaf(base)
    for name in missing:  # one by one: the kernel may refuse one (cpu, with real-time processes)
        with contextlib.suppress(OSError):
            write(base / "cgroup.subtree_control", f"+{name}")


def _move_to_leaf(base: Path) -> None:
    """Move all processes of `base` into its leaf. Raises OSError if the kernel refuses."""
    leaf = base / LEAF
    leaf.mkdir(exist_ok=True)
    for _ in range(10):  # a moved process may have forked just before; ten such generations are an attack
        pids = (base / "cgroup.procs").read_text().split()
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                write(leaf / "cgroup.procs", pid)


def _detection_problem(error: Exception) -> HostProblem:
    """Return the problem that an error of `detect` stands for, with the most likely fix."""
    cause = error.__cause__ if isinstance(error, SandboxError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    if number == errno.EROFS:
        return HostProblem("the cgroup tree is read-only, as in a container", Remedy.WRITABLE_GROUPS)
    if isinstance(cause, OSError) and str(cause.filename).endswith(("cgroup.freeze", "cgroup.kill")):
        return HostProblem("control groups need Linux 5.14 or newer")
    if number in (errno.EACCES, errno.EPERM):
        return HostProblem("this process has no permission to create cgroups", Remedy.DELEGATE)
    return HostProblem(str(error), Remedy.DELEGATE)


# --- limits -----------------------------------------------------------------------------------------------------------


def list_limit_files(controller: str, is_v1: bool, limits: Limits, cores: int) -> list[tuple[str, str, bool]]:
    """Return the files to write in a group, in this order, as (name, value, whether the file may be missing).

    controller: "pids", "memory" or "cpu". is_v1: whether the group is in a v1 tree. cores: how many the machine has;
    for "cpu" the list is empty if the limit isn't below this number. Source: the kernel's cgroup-v2.rst and
    cgroup-v1/memory.rst.
    """
    if controller == "pids":
        return [("pids.max", str(limits.processes), False)]
    if controller == "memory":
        memory_bytes = str(limits.memory_mb * 1024 * 1024)
        if is_v1:
            return [
                ("memory.limit_in_bytes", memory_bytes, False),
                ("memory.memsw.limit_in_bytes", memory_bytes, True),  # missing where the kernel doesn't account swap
                ("memory.swappiness", "0", True),
            ]
        return [("memory.max", memory_bytes, False), ("memory.swap.max", "0", True), ("memory.oom.group", "1", True)]
    if limits.cores >= cores:
        return []
    quota = str(max(1000, round(limits.cores * PERIOD_US)))  # the kernel refuses less than 1 ms
    if is_v1:
        return [("cpu.cfs_period_us", str(PERIOD_US), False), ("cpu.cfs_quota_us", quota, False)]
    return [("cpu.max", f"{quota} {PERIOD_US}", False)]


def _write_limits(controller: str, v1_folder: Path | None, unified: Path, limits: Limits) -> None:
    """Write a controller's limits to a new group. v1_folder: its directory, None for the one in the v2 tree."""
    folder = unified if v1_folder is None else v1_folder
    for name, value, may_be_missing in list_limit_files(controller, v1_folder is not None, limits, os.cpu_count() or 1):
        try:
            write(f"{folder}/{name}", value)
        except FileNotFoundError:
            if not may_be_missing:
                raise


# --- paths ------------------------------------------------------------------------------------------------------------


def _unescape(word: str) -> str:
    r"""Undo the octal escapes of mountinfo: \040 is a space."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def _below(top: Path, root: str, tree_path: str) -> Path:
    """Return the directory of a tree's path. `top`: the mount point of the tree's part from its path `root` on."""
    relative = tree_path
    if root != "/":
        is_mounted = tree_path == root or tree_path.startswith(root + "/")
        relative = tree_path[len(root) :] if is_mounted else "/"  # in a container that mounts only its own group
    return top / relative.strip("/")


# --- owners of groups -------------------------------------------------------------------------------------------------


def _is_owner_dead(name: str) -> bool:
    """Return whether the process that made a group is dead; False for a name that isn't ours."""
    match = NAME.fullmatch(name)
    return match is not None and not is_alive(match[1])


def _groups(top: Path) -> Iterator[Path]:
    """Yield the directories of all groups in a tree, without those inside of a group."""
    for folder, names, _ in os.walk(top):
        groups = [name for name in names if NAME.fullmatch(name)]
        yield from (Path(folder, name) for name in groups)
        names[:] = [name for name in names if name not in groups]
