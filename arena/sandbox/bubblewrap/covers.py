"""Which names of /proc a box shows and which it covers, each with its reason. Linux only.

Shown may be what no bot can change and what is the same in every box. Covered is what moves with time or with what
others do, what differs between boxes, and what is the host's own affair. A name that isn't in OPEN is covered, so a
newer kernel's is. Links need no cover: they lead to a process's own files, or to what is covered or absent. Neither do
names that only root reads, since no box's program is root. The processes' own files are another table:
tests/sandbox/linux/left_open.py.

This is for an ordinary user's boxes. In root's the kernel hides all names but those of processes, where root may have
it do so (stage.py), and only what has a fixed text is covered.
"""

import os
from pathlib import Path

# (the reason, names)
OPEN: tuple[tuple[str, str], ...] = (
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

COVERED: tuple[tuple[str, str], ...] = (
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
    ("what the host's owner told the kernel, perhaps a secret", "cmdline bootconfig"),
)


def shown() -> frozenset[str]:
    """Return the names that stay open."""
    return frozenset(name for _, names in OPEN for name in names.split())


def covered(proc: Path = Path("/proc")) -> dict[str, bool]:
    """Return the names that must be covered, and whether each is a folder; in order."""
    found = {}
    with os.scandir(proc) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.name.isdigit() or entry.name in shown():
                continue
            if entry.stat().st_mode & 0o004:
                found[entry.name] = entry.is_dir()
    return dict(sorted(found.items()))
