"""Attempts on memory and files: rows 28, 33, 34, 36, 37, 38, 40, 43, 44, 99, 102. Bulky checks come last."""

# mypy: disable-error-code="import-not-found, no-any-return"
# (A box holds this folder alone, so its files import each other by their bare names.)

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import secrets
import signal
import stat
import tempfile
from collections.abc import Iterator

import calls
from calls import Check, Targets

MB = 1024 * 1024
RESERVED = 64 * 1024 * MB  # more address space than a likely host has memory
TOO_MUCH_MB = 24  # in the temporary folder: one and a half times Limits.tmp_mb
TOO_MANY_FILES = 4096  # a quarter of 16 MB in pages of one kB each; no bot needs as many
ELSEWHERE_MB = 2  # allowed in all other writable places together
PIPES_MB = 300  # above the default memory limit
MAP_HUGETLB = 0x40000  # <asm-generic/mman-common.h>
MAP_NORESERVE = 0x4000
F_SETPIPE_SZ = 1031  # <linux/fcntl.h>
BOT = os.path.dirname(os.path.abspath(__file__))


def checks(targets: Targets) -> Iterator[tuple[str, Check]]:
    yield "28.write-to-a-disk", write_to_a_disk
    yield "33.reserve-64-gb", reserve
    yield "38.sparse-file", lambda: grow(1024 * 1024 * MB)
    yield "38.control", lambda: grow(MB)
    yield "40.own-folder", lambda: make(BOT)
    yield "40.own-program", lambda: calls.write_open(os.path.abspath(__file__))
    yield "43.next-to-the-pipes", next_to_the_pipes
    yield "43.device", device
    yield "44.lock-memory", lock_memory
    yield "44.huge-pages", huge_pages
    yield "99.odd-modes", odd_modes
    yield "102.changed-since", lambda: changed_since(targets)
    yield "34.other-places", fill_elsewhere
    yield "34.pipes", fill_pipes
    yield "37.files", many_files
    yield "36.bytes", fill


def write_to_a_disk() -> str:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        mounts = [line.split() for line in file]
    memory = ("tmpfs", "ramfs", "devtmpfs", "mqueue", "proc", "sysfs", "devpts", "cgroup", "cgroup2")
    places = []
    for words in mounts:
        if words[words.index("-") + 1] not in memory:
            for name in ("", "tmp", "var/tmp", "run/lock"):
                place = os.path.join(words[4], name)
                with contextlib.suppress(OSError):
                    if os.stat(place).st_dev == os.stat(words[4]).st_dev:
                        places.append(place)
    return calls.first_open((place, lambda place=place: make(place)) for place in places)


def make(folder: str) -> None:
    """Make a file of 4 kB in a folder, and remove it."""
    path = os.path.join(folder, f"red-team-{secrets.token_hex(4)}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, bytes(4096))
    finally:
        os.close(descriptor)
        os.unlink(path)


def reserve() -> None:
    """Reserve address space without using it, as node and the JVM do."""
    mmap.mmap(-1, RESERVED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE, prot=0).close()


def grow(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryFile() as file:
        os.ftruncate(file.fileno(), size)


def next_to_the_pipes() -> str:
    """Make a file next to the named pipes that are this process's input and output."""
    places = [os.readlink(f"/proc/self/fd/{end}") for end in range(3)]
    named = {os.path.dirname(place) for place in places if place.startswith("/") and not place.startswith("/dev/")}
    return calls.first_open((place, lambda place=place: make(place)) for place in sorted(named))


def device() -> None:
    path = os.path.join(tempfile.gettempdir(), "red-team-device")
    try:
        os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(8, 0))
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def lock_memory() -> None:
    with mmap.mmap(-1, 64 * MB) as memory:
        view = (ctypes.c_char * len(memory)).from_buffer(memory)
        try:
            calls.checked(calls.libc.mlock(ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(64 * MB)))
        finally:
            del view


def huge_pages() -> None:
    """Take pages out of the machine's pool of large ones."""
    mmap.mmap(-1, 2 * MB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB).close()


def odd_modes() -> str:
    """Look for setuid, writable and special files of the submission in this folder."""
    odd = []
    for folder, _, names in os.walk(BOT):
        for name in [*names, "."]:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if stat.S_ISLNK(mode):
                continue
            if mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH) or not (
                stat.S_ISREG(mode) or stat.S_ISDIR(mode)
            ):
                odd.append(name)
    return f"{calls.OPEN} {' '.join(sorted(odd))}" if odd else calls.ABSENT


def changed_since(targets: Targets) -> str:
    """Look for a change that was made outside after the start."""
    path = os.path.join(BOT, targets["changed"]["name"])
    with open(path, encoding="utf-8") as file:
        return calls.OPEN if file.read() == targets["changed"]["text"] else "UNCHANGED"


def fill_elsewhere() -> str:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        places = {line.split()[4] for line in file} | {"/", "/dev", "/dev/shm", "/run", "/var/tmp", "/var", "/etc"}
    own = os.path.realpath(tempfile.gettempdir())
    total, words = 0, set()
    for place in sorted(places):
        if place.startswith((own, "/proc", "/sys")) or not os.path.isdir(place):
            continue
        path = os.path.join(place, "red-team-fill")
        try:
            written = fill_file(path, (ELSEWHERE_MB + 1) * MB)
        except OSError as problem:
            words.add(calls.errno.errorcode[problem.errno or 0])
            continue
        total += written
        with contextlib.suppress(OSError):
            os.unlink(path)
    if total > ELSEWHERE_MB * MB:
        return f"{calls.OPEN} {total // MB} MB"
    return "BOUNDED" if total else " ".join(sorted(words))


def fill_file(path: str, most: int) -> int:
    """Write a file until refused or long enough; return its size in bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    written = 0
    with contextlib.suppress(OSError):
        while written < most:
            written += os.write(descriptor, bytes(64 * 1024))
    os.close(descriptor)
    return written


def fill_pipes() -> str:
    """Keep memory in as many and as large pipes as allowed."""
    held = 0
    ends = []
    with contextlib.suppress(OSError):
        while held < PIPES_MB * MB:
            ends.append(os.pipe())
            with contextlib.suppress(OSError):
                fcntl.fcntl(ends[-1][1], F_SETPIPE_SZ, MB)
            os.set_blocking(ends[-1][1], False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    held += os.write(ends[-1][1], bytes(64 * 1024))
    return f"{calls.OPEN} {held // MB} MB" if held >= PIPES_MB * MB else "BOUNDED"


def many_files() -> str:
    folder = tempfile.mkdtemp()
    made = 0
    try:
        while made < TOO_MANY_FILES:
            os.close(os.open(f"{folder}/{made}", os.O_WRONLY | os.O_CREAT))
            made += 1
    except OSError as problem:
        return calls.errno.errorcode[problem.errno or 0]
    finally:
        for number in range(made):
            os.unlink(f"{folder}/{number}")
        os.rmdir(folder)
    return f"{calls.OPEN} {made} files"


def fill() -> str:
    """Fill the temporary folder with files below the limit of file size."""
    folder = tempfile.mkdtemp()
    taken = 0
    for number in range(TOO_MUCH_MB // 4):
        taken += fill_file(f"{folder}/{number}", 4 * MB)
    for number in range(TOO_MUCH_MB // 4):
        with contextlib.suppress(OSError):
            os.unlink(f"{folder}/{number}")
    os.rmdir(folder)
    return f"{calls.OPEN} {taken // MB} MB" if taken >= TOO_MUCH_MB * MB else "ENOSPC"
