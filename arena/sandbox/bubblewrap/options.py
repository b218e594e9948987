"""What a box shows, as bwrap's options: folders, devices, /proc without what tells of others, and the environment.

Must not know how bwrap is started. Options are made anew for each box from words that are found once. Linux only.
"""

import functools
import os
from pathlib import Path

from arena.sandbox import bundle
from arena.sandbox.bubblewrap import covers, toolchain
from arena.sandbox.bubblewrap.stage import FolderStage, MountStage
from arena.sandbox.limits import Limits
from arena.sandbox.linux import launch

NOBODY = "65534"  # the user and group that a program sees itself as
SHM_BYTES = 1024 * 1024  # POSIX semaphores and a ring buffer; multiprocessing needs a few pages

# "random" is the same as "urandom" since Linux 5.6, and a link costs less than a mount.
DEVICE_LINKS = {"random": "urandom", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}


def furnish(folder: Path, limits: Limits) -> None:
    """Write the small files that a box needs, and an empty file and folder to cover others with."""
    os.mkdir(f"{folder}/empty")
    for name, text in _files(limits.memory_mb).items():
        descriptor = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.write(descriptor, text)
        os.close(descriptor)


@functools.cache
def _files(memory_mb: int) -> dict[str, bytes]:
    """Return the files by name. Those of /proc are plausible and never change: a runtime sizes itself by them."""
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
def _covers(hidden: bool) -> tuple[tuple[str, str], ...]:
    """Return (name in /proc, name on the stage) of all that must be covered there.

    Where the stage hides the others, only the names that a fixed file stands for.
    """
    files = _files(0)
    names = ((name, folder) for name, folder in covers.covered().items() if name in files or not hidden)
    return tuple((name, name if name in files else "empty" if folder else "none") for name, folder in names)


def view(stage: FolderStage | MountStage, trees: list[Path], limits: Limits) -> list[str]:
    """Return bwrap's options but for the environment, the working folder and descriptors."""
    words = ["--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL", "--hostname", "bot", "--uid", NOBODY, "--gid", NOBODY]
    words += ["--perms", "1777", "--size", str(limits.tmp_mb * 1024 * 1024), "--tmpfs", "/tmp"]
    words += _top_level()
    for tree, source in (("/usr", "/usr"), *((str(tree), stage.tree(tree)) for tree in trees)):
        words += ["--ro-bind", source, tree]
        for folder, instead in toolchain.packages(Path(tree)):
            there = f"{stage.seen}/empty" if instead is None else f"{source}/{instead.relative_to(tree)}"
            words += ["--ro-bind", there, str(folder)]
    for path in toolchain.etc():
        words += ["--ro-bind", str(path), str(path)]
    for name in ("passwd", "group"):
        words += ["--ro-bind", f"{stage.seen}/{name}", f"/etc/{name}"]
    words += ["--ro-bind", f"{stage.seen}/bot", bundle.INSIDE, "--proc", "/proc"]
    for name, cover in _covers(stage.hides):
        words += ["--ro-bind", f"{stage.seen}/{cover}", f"/proc/{name}"]
    # Process 1 has the program's user: through its mem file the program could forge its exit code, or outlive us.
    words += ["--ro-bind", f"{stage.seen}/empty", "/proc/1"]
    words += ["--size", "65536", "--tmpfs", "/dev"]  # by hand: bwrap's --dev has terminals, which bots share by number
    for name in toolchain.DEVICES:
        words += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name, target in DEVICE_LINKS.items():
        words += ["--symlink", target, f"/dev/{name}"]
    words += ["--perms", "1777", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/"]


@functools.cache
def _top_level() -> tuple[str, ...]:
    """Return the options that make /lib, /bin and their like the same links or folders as here."""
    words: list[str] = []
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(name):
            words += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            words += ["--ro-bind", name, name]
    return tuple(words)


def environment(trees: list[Path], limits: Limits) -> list[str]:
    """Return the options that set the environment."""
    variables = launch.environment(toolchain.search_path(trees), "/tmp")
    if toolchain.has_java():
        # The filter refuses sysinfo(2), which sizes the heap, and flock(2), whose failure the JVM reports on stdout.
        variables["JDK_JAVA_OPTIONS"] = f"-XX:MaxRAM={limits.memory_mb}m -XX:-UsePerfData"
    words = ["--clearenv"]
    for name, value in variables.items():
        words += ["--setenv", name, value]
    return words
