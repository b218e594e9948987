"""The program that `arena doctor --probe` runs in each box: it looks around, and says what it could reach.

usage: looks.py around    reads a JSON object of targets, and prints a JSON object for each look
       looks.py memory    takes twice the memory that it is told, in MB, and prints "reached" if it got it
       looks.py processes starts as many processes as it is told, and ten more

It attempts what a hostile program would begin with, and harms nothing if it succeeds. The attacks themselves are in the
project's tests. Needs Python 3.9 alone: a box holds only this file.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

Targets = dict[str, Any]

DEVICES = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "core"}
DEVICES |= {"shm", "pts", "ptmx", "mqueue", "console", "tty"}
ELSEWHERE = ("/", "/usr", "/etc", "/bot", "/dev", "/var/tmp", "/home", "/root", "/run", "/sys/fs/cgroup", "/proc/1")
CLONE_NEWUSER = 0x10000000
CALLS = {"io_uring_setup": 425, "fsopen": 430, "pidfd_getfd": 438, "memfd_secret": 447}  # the same on all machines
libc = ctypes.CDLL(None, use_errno=True)


def files(targets: Targets) -> str | None:
    """Read a file that everybody on the host may read, and the passwords."""
    return ", ".join(name for name in (targets["secret"], "/etc/shadow") if _opens(name, os.O_RDONLY))


def processes(targets: Targets) -> str | None:
    """See the process that started the box, and into it."""
    if not _is_starter(targets):
        return None
    inside = [name for name in ("environ", "mem") if _opens(f"/proc/{targets['pid']}/{name}", os.O_RDONLY)]
    return " with its ".join([f"process {targets['pid']}", *inside])


def signals(targets: Targets) -> str | None:
    """Send it a signal; number 0 only asks whether one may."""
    if not _is_starter(targets):
        return None
    os.kill(targets["pid"], 0)
    return f"process {targets['pid']}"


def network(targets: Targets) -> str | None:
    """Reach a service of the host, and a way out of it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        tcp.settimeout(2)
        if tcp.connect_ex(("127.0.0.1", targets["port"])) == 0:
            return "a service of this host"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect(("192.0.2.1", 9))  # sends nothing, but needs a route
    return "a route to the world"


def sockets(targets: Targets) -> str | None:
    """Reach a socket that has no file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix:
        unix.connect("\0" + targets["abstract"])
    return "an abstract socket"


def writes(targets: Targets) -> str | None:
    """Make files where they would outlive the box, or be seen by others; open a setting of the kernel."""
    found = [folder for folder in ELSEWHERE if _makes(folder)]
    return " ".join(found + [name for name in ("/proc/sys/kernel/core_pattern",) if _opens(name)])


def devices(targets: Targets) -> str | None:
    """Find a device that a program that reads and writes lines has no use for."""
    names = sorted(set(os.listdir("/dev")) - DEVICES)
    return " ".join(name for name in names if not os.path.isdir(f"/dev/{name}") and _opens(f"/dev/{name}"))


def privileges(targets: Targets) -> str | None:
    """Have capabilities, or a way to new ones."""
    with open("/proc/self/status") as file:
        status = {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    found = ["capabilities"] * (int(status["CapEff"], 16) != 0)
    found += ["a way to new ones"] * (status.get("NoNewPrivs") != "1")
    return ", ".join(found) or None


def namespaces(targets: Targets) -> str | None:
    """Make a namespace of users, in which it would be root."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if libc.unshare(CLONE_NEWUSER) == 0 else 1)
    return "a namespace of its own" if os.waitpid(pid, 0)[1] == 0 else None


def kernel(targets: Targets) -> str | None:
    """Ask the kernel what only exploits ask: it refuses before it looks at the arguments."""
    refused = {errno.EPERM, errno.ENOSYS, errno.EACCES}
    return ", ".join(name for name, number in CALLS.items() if _errno_of(number) not in refused) or None


def space(targets: Targets) -> str | None:
    """Fill /tmp beyond its limit."""
    most = targets["tmp_mb"] + 8
    with tempfile.TemporaryFile() as file:
        for _ in range(most):
            file.write(bytes(1 << 20))
            file.flush()
    return f"{most} MB"


# Each returns what it reached, None for nothing, or raises OSError.
LOOKS: dict[str, Callable[[Targets], str | None]] = {
    "files of the host": files,
    "processes of others": processes,
    "signals to others": signals,
    "the network": network,
    "sockets of the host": sockets,
    "writing elsewhere": writes,
    "devices": devices,
    "privileges": privileges,
    "new namespaces": namespaces,
    "the kernel's back doors": kernel,
    "more of /tmp": space,
}


def _opens(path: str, flags: int = os.O_WRONLY) -> bool:
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _makes(folder: str) -> bool:
    path = f"{folder}/coup-arena-probe-{os.getpid()}"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(path)
    except OSError:
        return False
    return True


def _is_starter(targets: Targets) -> bool:
    """Tell whether the number of the box's starter means that process here too."""
    try:
        with open(f"/proc/{targets['pid']}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[19]) == int(targets["started"])
    except OSError:
        return False


def _errno_of(number: int) -> int:
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), -1, -1, -1, -1, -1, -1)
    return ctypes.get_errno()


def around() -> Iterator[dict[str, Any]]:
    """Yield what each look reached, "" for nothing, and what refused it."""
    targets = json.loads(sys.stdin.readline())
    for name, look in LOOKS.items():
        try:
            yield {"look": name, "reached": look(targets) or "", "refused": ""}
        except OSError as problem:
            yield {"look": name, "reached": "", "refused": errno.errorcode.get(problem.errno or 0, "")}


def main() -> None:
    """Look as the command line says."""
    if sys.argv[1] == "around":
        for seen in around():
            print(json.dumps(seen), flush=True)
        return
    number = int(sys.stdin.readline())
    if sys.argv[1] == "memory":
        kept = [b"x" * (1 << 20) for _ in range(2 * number)]
        print(f"reached {len(kept)} MB", flush=True)
        return
    for _ in range(number + 10):
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
    print(f"reached {number + 10} processes", flush=True)


if __name__ == "__main__":
    main()
