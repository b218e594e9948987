"""What the attack programs share: raw system calls, the report of outcomes, and the refusal to run with privileges.

A check is a function that attempts an attack. It returns a word, or None if the attack worked, or raises OSError. The
outcome is OPEN (the attack worked), the errno's name, the signal that killed the check, or the returned word. Each
check runs in a child process, so a killed one spoils no other.

Needs Python 3.9 and its standard library; imports nothing of the arena, since a box holds only this folder.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Union

OPEN = "OPEN"
ABSENT = "ABSENT"  # no target: the process, file or device can't be seen
REFUSED = 77  # the exit code of a program that refuses to attack with privileges
CAP_SYS_ADMIN = 21  # <linux/capability.h>
CHECK_S = 10.0  # for one check; a slower one is killed and reported as SLOW
WHOLE_IDS = 4294967295  # what the initial user namespace maps

Outcome = Union[str, None]  # noqa: UP007 - Python 3.9; None says OPEN
Check = Callable[[], Outcome]
Targets = dict[str, Any]

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

# System calls by machine: <asm/unistd_64.h>, <asm-generic/unistd.h>. From 424 on all machines share the numbers.
_X86_64 = {
    "add_key": 248,
    "adjtimex": 159,
    "bpf": 321,
    "chroot": 161,
    "clock_settime": 227,
    "clone": 56,
    "fanotify_init": 300,
    "finit_module": 313,
    "init_module": 175,
    "kcmp": 312,
    "kexec_load": 246,
    "keyctl": 250,
    "mount": 165,
    "mq_open": 240,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "perf_event_open": 298,
    "pivot_root": 155,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "ptrace": 101,
    "quotactl": 179,
    "request_key": 249,
    "setns": 308,
    "settimeofday": 164,
    "socket": 41,
    "swapon": 167,
    "syslog": 103,
    "umount2": 166,
    "unshare": 272,
    "userfaultfd": 323,
    "ustat": 136,
}
_AARCH64 = {
    "add_key": 217,
    "adjtimex": 171,
    "bpf": 280,
    "chroot": 51,
    "clock_settime": 112,
    "clone": 220,
    "fanotify_init": 262,
    "finit_module": 273,
    "init_module": 105,
    "kcmp": 272,
    "kexec_load": 104,
    "keyctl": 219,
    "mount": 40,
    "mq_open": 180,
    "name_to_handle_at": 264,
    "open_by_handle_at": 265,
    "perf_event_open": 241,
    "pivot_root": 41,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "ptrace": 117,
    "quotactl": 60,
    "request_key": 218,
    "setns": 268,
    "settimeofday": 170,
    "socket": 198,
    "swapon": 224,
    "syslog": 116,
    "umount2": 39,
    "unshare": 97,
    "userfaultfd": 282,
}
_ANYWHERE = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "open_tree": 428,
    "fsopen": 430,
    "pidfd_open": 434,
    "clone3": 435,
    "pidfd_getfd": 438,
}
NUMBERS = {**(_X86_64 if platform.machine() == "x86_64" else _AARCH64), **_ANYWHERE}


def call(name: str, *arguments: object) -> int:
    """Make a system call; integers are passed as 64 bits. Raises OSError."""
    passed = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = int(libc.syscall(ctypes.c_long(NUMBERS[name]), *passed))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return result


def checked(result: int) -> int:
    """Return the result of a C library function; raises OSError if it is -1."""
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def refuse_privileges() -> None:
    """Exit with REFUSED if this process could hurt the host, or if /proc doesn't show it."""
    why = _privilege()
    if why is not None:
        print(f"red team: refused: {why}", file=sys.stderr, flush=True)
        sys.exit(REFUSED)


def _privilege() -> str | None:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
        with open("/proc/self/uid_map", encoding="ascii") as file:
            mapped = [tuple(map(int, line.split())) for line in file]
        effective = int(lines["CapEff"], 16)
    except (OSError, KeyError, ValueError) as problem:
        return f"can't tell what this process may do: {problem}"
    if effective >> CAP_SYS_ADMIN & 1:
        return "this process has CAP_SYS_ADMIN"
    if 0 in (os.getuid(), os.geteuid()) and mapped == [(0, 0, WHOLE_IDS)]:
        return "this process is root of the host"
    return None


def say(check: str, outcome: str) -> None:
    """Report one outcome as a line of JSON, in a single write."""
    os.write(1, (json.dumps({"check": check, "outcome": outcome}) + "\n").encode())


def word_of(check: Check) -> str:
    """Run a check here; return its outcome."""
    try:
        return check() or OPEN
    except OSError as problem:
        return errno.errorcode.get(problem.errno or 0, f"errno {problem.errno}: {problem}")
    except MemoryError:
        return "ENOMEM"


def attempt(name: str, check: Check) -> None:
    """Run a check in a child process and report it."""
    say(name, outcome_of(check))


def outcome_of(check: Check) -> str:
    """Run a check in a child process; return its outcome, or the signal that killed it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(check, writing)
    os.close(writing)
    data = b""
    deadline = time.monotonic() + CHECK_S
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    slow = False
    while True:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            slow = True
            os.kill(child, signal.SIGKILL)
            break
        piece = os.read(reading, 4096)
        if not piece:
            break
        data += piece
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    if slow:
        return "SLOW"
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return data.decode(errors="replace") or f"exit {os.WEXITSTATUS(status)}"


def _in_child(check: Check, writing: int) -> NoReturn:
    code = 1
    try:
        word = word_of(check)
        os.write(writing, word.encode())
        code = 0
    except Exception as problem:
        os.write(writing, f"broken: {type(problem).__name__}: {problem}".encode())
    finally:
        os._exit(code)


def libc_mount(source: str, target: str, kind: str) -> None:
    checked(libc.mount(source.encode(), target.encode(), kind.encode(), 0, None))


def write_open(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK))


def first_open(checks: Iterable[tuple[str, Check]]) -> str:
    """Try several ways; return OPEN and the first that works, else all distinct outcomes."""
    words = []
    for name, check in checks:
        word = word_of(check)
        if word == OPEN:
            return f"{OPEN} {name}"
        words.append(word)
    return " ".join(sorted(set(words))) or ABSENT


def start_time(pid: int) -> int | None:
    """Return a process's start time in the kernel's ticks, None if it can't be seen."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def is_target(target: dict[str, int]) -> bool:
    """Return whether the target's pid names it here: pid namespaces reuse numbers."""
    return start_time(target["pid"]) == target["started"]
