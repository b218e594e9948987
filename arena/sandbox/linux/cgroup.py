"""Control groups: where this process may make them, and under which limits.

Linux only; must not know what a program is nor how it is isolated. `hierarchy()` finds out once what this process may
do; `Hierarchy.make` makes the group of one box (group.py).

Theory of operation. A box is one directory in the v2 tree (CPU time, freezing, killing: they need no controller), and
one more in each v1 hierarchy that holds a controller which the v2 tree doesn't:

    v2 alone      one directory; the controllers are switched on for its siblings, and since v2 keeps processes out of
                  a group that has such children, this process first moves, with all in its group, to a leaf beside them
    hybrid, root  memory, pids and cpu are v1: directories below this process's own there, and one in the bare v2 tree
    else          no groups; `lacking` says why, and the command that mends it

Groups hold all limits, freeze and kill (Linux 5.14), or there are none: a box with half of them would be one more kind.

Root uses the top of the v2 tree. v1's freezer isn't used: a process that it has frozen
can't be killed.

A group's name, "arena.OWNER.RANDOM", tells which process made it (owner.py), so that `sweep` knows the groups of the
dead. A live process tries again at its next `make` to remove a group that the kernel was slow to empty.
"""

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

from arena.sandbox.box import SandboxError
from arena.sandbox.limits import Limits
from arena.sandbox.linux.group import Cgroup, kill_members, remove, retry_removals, write
from arena.sandbox.linux.owner import alive, owner_here
from arena.sandbox.trouble import Remedy, Trouble

LEAF = "arena.self"  # for this process and its neighbours while their group has children with controllers
NAME = re.compile(r"arena\.(\d+\.\d+\.\d+)\.[0-9a-f]+")  # the middle is its owner
PERIOD_US = 100_000  # the kernel's default for cpu quotas; a shorter one throttles more often for the same share
SWEEP_S = 2.0  # for all groups together: a group that the kernel keeps must not keep a run from starting
MOVE_PASSES = 10  # a moved process may have forked just before; ten such generations are an attack
CONTROLLERS = ("memory", "pids", "cpu")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where this process is: its own directory in each mounted tree.

    `v2` and `v2_top` are None where no v2 tree is mounted; `v1` maps those of CONTROLLERS that are v1 to the process's
    own directory, `tops` is the mount point of every tree.
    """

    v2: Path | None
    v2_top: Path | None
    v1: dict[str, Path]
    tops: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Make groups below `unified`, the v2 directory, and below those of `others`, which maps v1 controllers.

    `controllers` says which of CONTROLLERS its groups have; `tops` are all mounted trees.
    """

    unified: Path
    others: dict[str, Path]
    controllers: frozenset[str]
    tops: tuple[Path, ...]

    def describe(self) -> str:
        """Say in one line what it is and what it can do."""
        kind = "cgroups v1 beside a v2 tree" if self.others else "cgroups v2"
        return f"{kind}: {', '.join(name for name in CONTROLLERS if name in self.controllers) or 'CPU time alone'}"

    def lacking(self) -> Trouble | None:
        """Return None where its groups hold all limits, else what is lacking, and the command that mends it."""
        missing = [name for name in CONTROLLERS if name not in self.controllers]
        if not missing:
            return None
        text = f"{self.describe()}, without {', '.join(missing)}"
        if os.geteuid() == 0 or self.others:
            return Trouble(text, Remedy.ACCOUNT_MEMORY if "memory" in missing else None)
        return Trouble(text, Remedy.DELEGATE_ALL)

    def make(self, limits: Limits) -> Cgroup:
        """Make an empty group under these limits. Raises SandboxError; then nothing is left."""
        retry_removals()
        name = _new_name()
        unified = self.unified / name
        others = {controller: base / name for controller, base in self.others.items()}
        folders = (unified, *dict.fromkeys(others.values()))
        try:
            for folder in folders:
                with contextlib.suppress(FileExistsError):  # two v1 controllers may be mounted together
                    folder.mkdir()
            for controller in self.controllers:
                _limit(controller, others.get(controller), unified, limits)
            return Cgroup(name, unified, others)
        except OSError as error:
            for folder in folders:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise SandboxError(f"can't make a cgroup: {error.strerror or error}") from error

    def sweep(self) -> int:
        """End and remove the groups of dead processes of this pid namespace; return how many."""
        dead: dict[str, list[Path]] = {}
        for top in self.tops:
            for folder in _groups(top):
                if _maker_is_dead(folder.name):
                    dead.setdefault(folder.name, []).append(folder)
        for folders in dead.values():
            for folder in folders:
                kill_members(folder)
        deadline = time.monotonic() + SWEEP_S
        return sum(remove(tuple(folders), deadline) for folders in dead.values())


@functools.cache
def hierarchy() -> Hierarchy | None:
    """Return what this process can make groups in that hold all limits, None where it can't. Never raises.

    Found once, by making a group. On a v2 host this moves the process, so call it before starting others.
    """
    return _found()[0]


def lacking() -> Trouble | None:
    """Return None where groups can be made, else what is lacking, and the command that mends it."""
    return _found()[1]


def sweep() -> int:
    """End and remove the groups of dead referees; return how many. Call it at the start of a run."""
    groups = hierarchy()
    return 0 if groups is None else groups.sweep()


@functools.cache
def _found() -> tuple[Hierarchy | None, Trouble | None]:
    return detect()


def detect(proc: Path = Path("/proc")) -> tuple[Hierarchy | None, Trouble | None]:
    """Find a hierarchy and try it by making a group; return it, or None and why not. Never raises.

    `proc` holds self/mountinfo and self/cgroup.
    """
    if sys.platform != "linux":
        return None, Trouble("control groups are Linux's")
    try:
        layout = read_layout(proc)
        if layout.v2 is None or layout.v2_top is None:
            return None, Trouble("no cgroup v2 tree is mounted", Remedy.MOUNT_V2)
        found = prepare(layout)
        found.make(Limits()).remove()
    except (OSError, SandboxError) as error:
        return None, _explain(error)
    lacking = found.lacking()
    return (found, None) if lacking is None else (None, lacking)


def read_layout(proc: Path = Path("/proc")) -> Layout:
    """Read where the trees are mounted, and where in them this process is. Raises OSError."""
    own = {}  # controller, or "" for v2 -> path from the tree's root
    for line in (proc / "self" / "cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    v2 = v2_top = None
    v1: dict[str, Path] = {}
    tops: dict[Path, None] = {}
    for line in (proc / "self" / "mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        root, top = (_plain(word) for word in fields.split(" ")[3:5])
        if kind == "cgroup2" and "" in own and v2_top is None:
            v2_top = Path(top)
            v2 = _below(v2_top, root, own[""])
            tops[v2_top] = None
        elif kind == "cgroup":
            for name in sorted(set(options.split(",")) & set(CONTROLLERS) & set(own)):
                v1.setdefault(name, _below(Path(top), root, own[name]))
                tops[Path(top)] = None
    return Layout(v2, v2_top, v1, tuple(tops))


def prepare(layout: Layout) -> Hierarchy:
    """Choose the directories that groups are made in, and switch the v2 controllers on there. Raises OSError."""
    assert layout.v2 is not None
    assert layout.v2_top is not None
    base = layout.v2.parent if layout.v2.name == LEAF else layout.v2
    known = (base / "cgroup.controllers").read_text().split()
    if set(known) & set(CONTROLLERS):
        if os.geteuid() == 0 and base == layout.v2:
            base = layout.v2_top
        _enable(base)
    on = (base / "cgroup.subtree_control").read_text().split()
    others = {name: path for name, path in layout.v1.items() if name not in on and os.access(path, os.W_OK)}
    able = frozenset(name for name in CONTROLLERS if name in on or name in others)
    return Hierarchy(base, others, able, layout.tops)


def _enable(base: Path) -> None:
    """Switch the available controllers on for the children of `base`, whose processes move to a leaf."""
    wanted = set((base / "cgroup.controllers").read_text().split()) & set(CONTROLLERS)
    missing = sorted(wanted - set((base / "cgroup.subtree_control").read_text().split()))
    if not missing:
        return
    if (base / "cgroup.type").exists():  # the top of the whole tree has none, and may hold processes
        _move_to_leaf(base)
    for name in missing:  # one by one: the kernel may refuse one (cpu, with real-time processes)
        with contextlib.suppress(OSError):
            write(base / "cgroup.subtree_control", f"+{name}")


def _move_to_leaf(base: Path) -> None:
    leaf = base / LEAF
    leaf.mkdir(exist_ok=True)
    for _ in range(MOVE_PASSES):
        pids = (base / "cgroup.procs").read_text().split()
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                write(leaf / "cgroup.procs", pid)


def _explain(error: Exception) -> Trouble:
    cause = error.__cause__ if isinstance(error, SandboxError) else error
    number = cause.errno if isinstance(cause, OSError) else None
    if number == errno.EROFS:
        return Trouble("the cgroup tree is read-only, as in a container", Remedy.WRITABLE_GROUPS)
    if isinstance(cause, OSError) and str(cause.filename).endswith(("cgroup.freeze", "cgroup.kill")):
        return Trouble("control groups need Linux 5.14 or newer")
    if number in (errno.EACCES, errno.EPERM):
        return Trouble("this process may not make cgroups", Remedy.DELEGATE)
    return Trouble(str(error), Remedy.DELEGATE)


# --- limits -----------------------------------------------------------------------------------------------------------


def settings(controller: str, v1: bool, limits: Limits, cores: int) -> list[tuple[str, str, bool]]:
    """Return what to write to a group's files, in this order: name, value, whether the file may be missing.

    `cores` is how many the machine has. Source: the kernel's cgroup-v2.rst and cgroup-v1/memory.rst.
    """
    if controller == "pids":
        return [("pids.max", str(limits.processes), False)]
    if controller == "memory":
        size = str(limits.memory_mb * 1024 * 1024)
        if v1:
            return [
                ("memory.limit_in_bytes", size, False),
                ("memory.memsw.limit_in_bytes", size, True),  # missing where the kernel doesn't account swap
                ("memory.swappiness", "0", True),
            ]
        return [("memory.max", size, False), ("memory.swap.max", "0", True), ("memory.oom.group", "1", True)]
    if limits.cores >= cores:
        return []
    quota = str(max(1000, round(limits.cores * PERIOD_US)))  # the kernel refuses less than 1 ms
    if v1:
        return [("cpu.cfs_period_us", str(PERIOD_US), False), ("cpu.cfs_quota_us", quota, False)]
    return [("cpu.max", f"{quota} {PERIOD_US}", False)]


def _limit(controller: str, v1_folder: Path | None, unified: Path, limits: Limits) -> None:
    folder = unified if v1_folder is None else v1_folder
    for name, value, optional in settings(controller, v1_folder is not None, limits, os.cpu_count() or 1):
        try:
            write(folder / name, value)
        except FileNotFoundError:
            if not optional:
                raise


# --- paths ------------------------------------------------------------------------------------------------------------


def _plain(word: str) -> str:
    r"""Undo the octal escapes of mountinfo: \040 is a space."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def _below(top: Path, root: str, own: str) -> Path:
    """Return a tree's path below a mount that shows the tree from `root` on."""
    if root != "/":
        inside = own == root or own.startswith(root + "/")
        own = own[len(root) :] if inside else "/"  # in a container whose own group is what is mounted
    return top / own.strip("/") if own.strip("/") else top


# --- whose group ------------------------------------------------------------------------------------------------------


def _new_name() -> str:
    """Return a name for a group that this process makes."""
    return f"arena.{owner_here()}.{secrets.token_hex(6)}"


def _maker_is_dead(name: str) -> bool:
    """Tell whether a group's maker is dead; False for foreign names."""
    found = NAME.fullmatch(name)
    return found is not None and not alive(found[1])


def _groups(top: Path) -> Iterator[Path]:
    """Yield the directories of boxes, anywhere in a tree."""
    for folder, names, _ in os.walk(top):
        ours = [name for name in names if NAME.fullmatch(name)]
        yield from (Path(folder, name) for name in ours)
        names[:] = [name for name in names if name not in ours]
