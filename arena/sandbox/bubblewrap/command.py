"""Build a box's command line: the program's command, and bwrap's options for what the box shows. Linux only.

The command is checked first: bwrap would report a wrong one as its own failure, or pass it to a shell. The options
describe folders, devices, the environment and a masked /proc. This module must not know how bwrap is started.

A name of /proc is visible only if it is in VISIBLE, so names of newer kernels are masked. VISIBLE contains only names
that no bot can change and that are the same in every box. Masked are names that change with time or with other
processes, that differ between boxes, or that concern only the host. Links need no mask, and neither do names that only
root reads, since no box's program is root. tests/sandbox/linux/left_open.py lists the files of single processes.

The table applies to an ordinary user's boxes. For root's boxes the kernel, if it can, hides all names except processes
(rootfs.py); then only the names with a fixed text are masked."""

import contextlib
import errno
import functools
import os
import shutil
from pathlib import Path

from arena.limits import Limits
from arena.sandbox import program_files
from arena.sandbox.box import Program, ProgramError
from arena.sandbox.bubblewrap import rootfs
from arena.sandbox.bubblewrap.rootfs import CopiedRootfs, MountedRootfs
from arena.sandbox.child_process import PROGRAM_ERRNOS, exec_error
from arena.sandbox.linux import launch
from arena.sandbox.scratch import make_readable_folder

MAX_ARGUMENTS = 8000  # bwrap accepts 9,000, and its options need some hundreds


def command_inside(program: Program) -> str:
    """Return the command for the box: a path, or a name that the box's PATH has.

    A name that is only on this process's PATH (nvm's node) becomes a path.
    """
    command = program_files.argv_inside(program)[0]
    if "/" in command or shutil.which(command, path=rootfs.search_path(list(rootfs.python_prefixes()))):
        return command
    return shutil.which(command) or command


def require_few_arguments(program: Program) -> None:
    """Raise ProgramError for too many arguments."""
    if len(program.argv) > MAX_ARGUMENTS:
        raise ProgramError(f"{program.shown}: {PROGRAM_ERRNOS[errno.E2BIG]}")


def check_format(program: Program, copy: Path) -> bool:
    """Return whether the command is a readable file of the program, reached without links.

    copy: of the program's files. Raises ProgramError if it has an x bit, and begins neither with #! nor as an ELF file.
    """
    command = program_files.argv_inside(program)[0]
    if not command.startswith(program_files.BOX_FOLDER + "/"):
        return False
    with contextlib.suppress(OSError):
        path = copy
        for name in Path(command).relative_to(program_files.BOX_FOLDER).parts:
            path /= name
            if name == ".." or path.is_symlink():  # may lead to any file of this machine, even a pipe
                return False
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o111 and file.read(2) not in (b"#!", b"\x7fE"):
                raise ProgramError(f"{program.shown}: {exec_error(path)}")
            return True
    return False


# (reason, names of /proc)
VISIBLE: tuple[tuple[str, str], ...] = (
    ("fixed when the kernel was built", "version config.gz execdomains"),
    (
        "what drivers registered: it moves when a module is loaded, which no bot can cause without sockets, devices "
        "and mounts",
        "filesystems devices misc consoles tty dma ioports",
    ),
    ("disks and their sizes: no bot can add one", "partitions"),
    ("only root gets to read it, though its mode says otherwise", "mtrr"),
    ("its own ipc namespace", "sysvipc"),
)

MASKED: tuple[tuple[str, str], ...] = (
    (
        "moves with load and time, and a runtime wants it: a fixed text in its place",
        "meminfo stat loadavg uptime cpuinfo",
    ),
    ("CPU time, tasks and interrupts of the whole host", "interrupts softirqs schedstat latency_stats pressure irq"),
    ("its memory", "vmstat zoneinfo buddyinfo swaps iomem"),
    ("its disks and file systems", "diskstats mdstat fs locks"),
    ("its control groups, of which each box has one", "cgroups"),
    ("counts of users, which move with sockets, mounts and containers", "crypto modules kallsyms"),
    ("keys and their numbers, by user", "keys key-users"),
    ("settings of the host, and counters: of files, inodes, random bytes, the last process", "sys"),
    ("state of devices, which moves when they work", "acpi asound bus driver scsi"),
    ("locks of the kernel, where it counts them", "lockdep lockdep_chains lockdep_stats lock_stat"),
    ("the kernel's command line, perhaps with a secret", "cmdline bootconfig"),
)


def visible_names() -> frozenset[str]:
    """Return the names of /proc that stay visible."""
    return frozenset(name for _, names in VISIBLE for name in names.split())


def masked_names(proc: Path = Path("/proc")) -> dict[str, bool]:
    """Return the names of /proc that must be masked -> whether each is a folder; sorted."""
    is_folder_by_name = {}
    with os.scandir(proc) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.name.isdigit() or entry.name in visible_names():
                continue
            if entry.stat().st_mode & 0o004:
                is_folder_by_name[entry.name] = entry.is_dir()
    return dict(sorted(is_folder_by_name.items()))


NOBODY = "65534"  # user and group of a program, as it sees them
SHM_BYTES = 1024 * 1024  # POSIX semaphores and a ring buffer; multiprocessing needs a few pages

# "random" is the same as "urandom" since Linux 5.6, and a link costs less than a mount.
DEVICE_LINKS = {"random": "urandom", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}


def write_box_files(folder: Path, limits: Limits) -> None:
    """Write the small files that a box needs, and the empty file and folder that mask others, into `folder`."""
    make_readable_folder(folder / "empty")
    for name, text in _list_box_files(limits.memory_mb).items():
        with open(f"{folder}/{name}", "wb") as file:
            os.fchmod(file.fileno(), 0o644)  # whatever the umask is
            file.write(text)


@functools.cache
def _list_box_files(memory_mb: int) -> dict[str, bytes]:
    """Return name -> content. The files of /proc are plausible and never change: runtimes size themselves by them."""
    kb, cpus = memory_mb * 1024, os.cpu_count() or 1
    memory = {"MemTotal": kb, "MemFree": kb, "MemAvailable": kb, "Buffers": 0, "Cached": 0, "SwapTotal": 0}
    memory |= {"SwapFree": 0, "Shmem": 0, "Slab": 0, "SReclaimable": 0}
    times = " 0" * 10
    lines = [f"cpu {times}", *(f"cpu{number}{times}" for number in range(cpus)), "intr 0", "ctxt 0", "btime 0"]
    texts = {
        "none": "",
        "passwd": f"nobody:x:{NOBODY}:{NOBODY}:nobody:/tmp:/bin/sh\n",
        "group": f"nogroup:x:{NOBODY}:\n",
        "meminfo": "".join(f"{key + ':':<16}{value:>8} kB\n" for key, value in memory.items()),
        "stat": "\n".join([*lines, "processes 1", "procs_running 1", "procs_blocked 0", ""]),
        "loadavg": "0.00 0.00 0.00 1/1 1\n",
        "uptime": "1000.00 1000.00\n",
        "cpuinfo": Path("/proc/cpuinfo").read_text(),  # read once: the live file shows the clock frequency
    }
    return {name: text.encode() for name, text in texts.items()}


@functools.cache
def _masks(hidden: bool) -> tuple[tuple[str, str], ...]:
    """Return (name in /proc, name in the box's root) of each mask.

    hidden: the kernel hides all other names, so only the names with a fixed file are masked.
    """
    files = _list_box_files(0)
    covers = {name: "empty" if is_folder else "none" for name, is_folder in masked_names().items()}
    covers |= {name: name for name in covers if name in files}
    return tuple((name, cover) for name, cover in covers.items() if name in files or not hidden)


def mount_options(root: CopiedRootfs | MountedRootfs, trees: list[Path], limits: Limits) -> list[str]:
    """Return bwrap's options except those of the environment, the working folder and descriptors."""
    options = ["--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session"]
    options += ["--cap-drop", "ALL", "--hostname", "bot", "--uid", NOBODY, "--gid", NOBODY]
    options += ["--perms", "1777", "--size", str(limits.tmp_mb * 1024 * 1024), "--tmpfs", "/tmp"]
    options += _top_level_options()
    for tree, source in (("/usr", "/usr"), *((str(tree), root.tree(tree)) for tree in trees)):
        options += ["--ro-bind", source, tree]
        for folder, replacement in rootfs.packages(Path(tree)):
            cover = f"{root.seen}/empty" if replacement is None else f"{source}/{replacement.relative_to(tree)}"
            options += ["--ro-bind", cover, str(folder)]
    for path in rootfs.etc():
        options += ["--ro-bind", str(path), str(path)]
    for name in ("passwd", "group"):
        options += ["--ro-bind", f"{root.seen}/{name}", f"/etc/{name}"]
    options += ["--ro-bind", f"{root.seen}/bot", program_files.BOX_FOLDER, "--proc", "/proc"]
    for name, cover in _masks(root.hides):
        options += ["--ro-bind", f"{root.seen}/{cover}", f"/proc/{name}"]
    # Process 1 has the program's user id: through its mem file the program could forge its exit code, or survive.
    options += ["--ro-bind", f"{root.seen}/empty", "/proc/1"]
    return [*options, *_device_options(), "--remount-ro", "/dev", "--remount-ro", "/"]


@functools.cache
def _device_options() -> tuple[str, ...]:
    """Return the options that make /dev."""
    # Made here: bwrap's --dev has terminals, whose numbers bots share.
    options = ["--size", "65536", "--tmpfs", "/dev"]
    for name in rootfs.DEVICES:
        options += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name, target in DEVICE_LINKS.items():
        options += ["--symlink", target, f"/dev/{name}"]
    return (*options, "--perms", "1777", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm")


@functools.cache
def _top_level_options() -> tuple[str, ...]:
    """Return the options that make /bin, /sbin and /lib* the same links or folders as on this machine."""
    options: list[str] = []
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(name):
            options += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            options += ["--ro-bind", name, name]
    return tuple(options)


def environment(trees: list[Path], limits: Limits) -> list[str]:
    """Return bwrap's options that set the program's environment."""
    variables = launch.environment(rootfs.search_path(trees), "/tmp")
    if rootfs.has_java():
        # The filter refuses sysinfo(2), which sizes the heap, and flock(2), whose failure the JVM reports on stdout.
        variables["JDK_JAVA_OPTIONS"] = f"-XX:MaxRAM={limits.memory_mb}m -XX:-UsePerfData"
    options = ["--clearenv"]
    for name, value in variables.items():
        options += ["--setenv", name, value]
    return options
