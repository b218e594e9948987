"""How a hardened container is made: its limits, what it sees of the machine, and the engine's call that creates it.

Must not know how a program gets into a container.
"""

import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arena.sandbox.box import SandboxError
from arena.sandbox.docker.engine import OWNER, Engine
from arena.sandbox.limits import Limits
from arena.sandbox.linux import docker_profile, launch, owner_anywhere
from arena.sandbox.trouble import Remedy, Trouble, TroubleError

# Files of /proc that change with what others on the machine do: covert channels between containers. Those that python,
# node or java can't do without (cpuinfo, version, filesystems, the process's own) stay.
COVERT = (
    *("buddyinfo", "cgroups", "cmdline", "config.gz", "consoles", "crypto", "diskstats", "interrupts", "kallsyms"),
    *("key-users", "loadavg", "locks", "mdstat"),
    *("meminfo", "modules", "pagetypeinfo", "partitions", "pressure", "schedstat", "slabinfo", "softirqs", "stat"),
    *("swaps", "sys/fs", "sys/kernel/pty", "sys/kernel/random", "timer_list", "uptime", "vmallocinfo", "vmstat"),
    *("zoneinfo", "fs", "irq", "bus", "driver"),
)
# A list given to the engine replaces its own (moby/oci/defaults.go), so the first two lines repeat that one. /sys is
# added, in which disks and memory are counted. A JVM looks for its memory limit there, hence JAVA_OPTIONS in script.py.
MASKED = (
    *("/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/sys"),
    *(f"/proc/{name}" for name in COVERT),
)
READ_ONLY = ("/proc/sys", "/proc/sysrq-trigger")  # of the engine's own list; its other entries are masked above

INODE_KB = 16  # of /tmp for each file in it: 1,024 for the default, far more than a bot needs
SHM_MB = 1  # for /dev/shm, where Python's semaphores are; what is large belongs in /tmp
MEMLOCK_KB = 64  # what Linux allowed a user for decades; locked memory can't be reclaimed
MESSAGES_KB = 64  # POSIX message queues: kernel memory
FIRST_UID = 1_900_000_000  # systemd's table of ids leaves this range unused, so no user of the machine is met
UIDS = 100_000_000  # chosen at random, so that two containers share no limit that the kernel counts per user
NOBODY = 65534  # the user where the engine shifts ids: higher ones don't exist there

PATH = "/usr/local/bin:/usr/bin:/bin"
HOME = "/tmp"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a container is made from; containers of equal recipes are interchangeable."""

    image: str
    limits: Limits
    runtime: str | None = None


def config(engine: Engine, recipe: Recipe, command: Sequence[str], mounts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the body of the call that creates a hardened container (Docker Engine API 1.41, ContainerCreate)."""
    uid = NOBODY if engine.shifts_ids else FIRST_UID + secrets.randbelow(UIDS)
    return {
        "Image": recipe.image,
        "Entrypoint": [],
        "Cmd": list(command),
        "Hostname": "bot",
        "User": f"{uid}:{uid}",
        "WorkingDir": HOME,
        "Env": [f"{name}={value}" for name, value in launch.environment(PATH, HOME).items()],
        "Labels": {OWNER: owner_anywhere()},
        "NetworkDisabled": True,
        "HostConfig": {
            **_isolation(),
            **_limits(recipe.limits, int(engine.info.get("NCPU") or 1)),
            **({} if recipe.runtime is None else {"Runtime": recipe.runtime}),
            "LogConfig": {"Type": "none"},
            "Mounts": mounts,
            "Init": False,
            "AutoRemove": False,  # the box asks first how it ended
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


def _limits(limits: Limits, cores: int) -> dict[str, Any]:
    memory = limits.memory_mb * 1024 * 1024
    tmp = f"rw,nosuid,nodev,exec,mode=1777,size={limits.tmp_mb}m,nr_inodes={max(64, limits.tmp_mb * 1024 // INODE_KB)}"
    return {
        "PidsLimit": limits.processes + 1,  # process 1 is ours
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": 0 if limits.cores >= cores else int(limits.cores * 1e9),
        "CpusetCpus": _our_cores(cores),
        "OomScoreAdj": 500,  # a machine without memory takes a bot, not the referee
        "Tmpfs": {
            "/tmp": tmp,
            "/dev/shm": f"rw,nosuid,nodev,noexec,mode=1777,size={SHM_MB}m,nr_inodes=64",
            "/dev/pts": "ro,nosuid,nodev,noexec,mode=0555,size=4k,nr_inodes=2",  # no terminals: no limit counts them
        },
        "Ulimits": [{"Name": name, "Soft": soft, "Hard": hard} for name, (soft, hard) in _ulimits(limits).items()],
    }


def _ulimits(limits: Limits) -> dict[str, tuple[int, int]]:
    memlock, messages = MEMLOCK_KB * 1024, MESSAGES_KB * 1024
    return {**launch.rlimits(limits), "memlock": (memlock, memlock), "msgqueue": (messages, messages)}


def _our_cores(cores: int) -> str:
    """Return the cores that this process is bound to, which a child would inherit; "" where it is bound to none.

    A run binds its workers: a round trip to a bot on another core costs 70 us instead of 10 (measured).
    """
    ours = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
    return ",".join(map(str, ours)) if ours and len(ours) < cores and ours[-1] < cores else ""


def create(engine: Engine, body: dict[str, Any]) -> str:
    """Create a container and return its id. Raises SandboxError, which says how to get an image that isn't there."""
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
