"""Define the limits and the isolation of a container: the body of the engine's call that creates it."""

import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arena.limits import Limits
from arena.sandbox.docker.engine import OWNER_LABEL, Engine
from arena.sandbox.linux import docker_profile, global_identity, launch

# Files of /proc that change with the activity of other processes: covert channels between containers. Files that
# python, node or java need (cpuinfo, version, filesystems, the process's own) stay visible.
COVERT = (
    *("buddyinfo", "cgroups", "cmdline", "config.gz", "consoles", "crypto", "diskstats", "interrupts", "kallsyms"),
    *("key-users", "loadavg", "locks", "mdstat"),
    *("meminfo", "modules", "pagetypeinfo", "partitions", "pressure", "schedstat", "slabinfo", "softirqs", "stat"),
    *("swaps", "sys/fs", "sys/kernel/pty", "sys/kernel/random", "timer_list", "uptime", "vmallocinfo", "vmstat"),
    *("zoneinfo", "fs", "irq", "bus", "driver"),
)
# A list given to the engine replaces its default (moby/oci/defaults.go), so the first two lines repeat the default.
# /sys is added because it counts disks and memory; JVMs find a limit there, so `start_script` passes JAVA_OPTIONS.
MASKED = (
    *("/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/sys"),
    *(f"/proc/{name}" for name in COVERT),
)
READ_ONLY = ("/proc/sys", "/proc/sysrq-trigger")  # from the engine's default list; its other entries are masked above
INODE_KB = 16  # of /tmp for each file in it: 1,024 for the default, far more than a bot needs
SHM_MB = 1  # for /dev/shm, where Python's semaphores are; large files belong in /tmp
MEMLOCK_KB = 64  # what Linux allowed a user for decades; locked memory can't be reclaimed
MESSAGES_KB = 64  # POSIX message queues: kernel memory
FIRST_UID = 1_900_000_000  # systemd's table of ids leaves this range unused, so no user of the machine has such an id
UIDS = 100_000_000  # chosen at random, so that two containers share no limit that the kernel counts per user
NOBODY = 65534  # the user if the engine shifts ids: higher ids don't exist then
PATH = "/usr/local/bin:/usr/bin:/bin"
HOME = "/tmp"


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    """The image, limits and runtime of a container; containers with equal configs are interchangeable."""

    image: str
    limits: Limits
    runtime: str | None = None


def container_body(
    engine: Engine, config: ContainerConfig, command: Sequence[str], mounts: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the body of the call that creates a hardened container (Docker Engine API 1.41, ContainerCreate)."""
    uid = NOBODY if engine.shifts_ids else FIRST_UID + secrets.randbelow(UIDS)
    return {
        "Image": config.image,
        "Entrypoint": [],
        "Cmd": list(command),
        "Hostname": "bot",
        "User": f"{uid}:{uid}",
        "WorkingDir": HOME,
        "Env": [f"{name}={value}" for name, value in launch.environment(PATH, HOME).items()],
        "Labels": {OWNER_LABEL: global_identity()},
        "NetworkDisabled": True,
        "HostConfig": {
            **_isolation(),
            **_make_limits(config.limits, int(engine.info.get("NCPU") or 1)),
            **({} if config.runtime is None else {"Runtime": config.runtime}),
            "LogConfig": {"Type": "none"},
            "Mounts": mounts,
            "Init": False,
            "AutoRemove": False,  # the box first asks the engine how the container ended
        },
    }


def _isolation() -> dict[str, Any]:
    return {
        "NetworkMode": "none",
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={docker_profile()}"],
        "MaskedPaths": list(MASKED),
        "ReadonlyPaths": list(READ_ONLY),
    }


def _make_limits(limits: Limits, cores: int) -> dict[str, Any]:
    """Return the limits as fields of the engine's HostConfig. cores: of this machine."""
    memory_bytes = limits.memory_mb * 1024 * 1024
    tmp_options = (
        f"rw,nosuid,nodev,exec,mode=1777,size={limits.tmp_mb}m,nr_inodes={max(64, limits.tmp_mb * 1024 // INODE_KB)}"
    )
    return {
        "PidsLimit": limits.processes + 1,  # process 1 is ours
        "Memory": memory_bytes,
        "MemorySwap": memory_bytes,
        "NanoCpus": 0 if limits.cores >= cores else int(limits.cores * 1e9),
        "CpusetCpus": _bound_cores(cores),
        "OomScoreAdj": 500,  # when memory runs out, the kernel kills a bot, not the referee
        "Tmpfs": {
            "/tmp": tmp_options,
            "/dev/shm": f"rw,nosuid,nodev,noexec,mode=1777,size={SHM_MB}m,nr_inodes=64",
            "/dev/pts": "ro,nosuid,nodev,noexec,mode=0555,size=4k,nr_inodes=2",  # no terminals: no limit counts them
        },
        "Ulimits": [{"Name": name, "Soft": soft, "Hard": hard} for name, (soft, hard) in _ulimits(limits).items()],
    }


def _ulimits(limits: Limits) -> dict[str, tuple[int, int]]:
    memlock, messages = MEMLOCK_KB * 1024, MESSAGES_KB * 1024
    return {**launch.rlimits(limits), "memlock": (memlock, memlock), "msgqueue": (messages, messages)}


def _bound_cores(cores: int) -> str:
    """Return the cores that this process is bound to, as "0,2"; "" if it may use all cores.

    A run binds its workers, because a round trip to a bot on another core takes 70 us instead of 10 (measured).
    """
    bound = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
    return ",".join(map(str, bound)) if bound and len(bound) < cores and bound[-1] < cores else ""
