"""Be one of two colluding bots: change something that the other may see, or look at it.

usage: channel.py TOKEN       both bots know the token, as two bots of one author would

Commands on standard input, one JSON object a line, each answered by one:

    {"do":"open","channel":NAME}   {}                   begin; {"error":ERRNO} if the channel is refused
    {"do":"set","bit":0 or 1}      {}                   the sender's side; work goes on until the next command;
                                                        for answer-time the microseconds to wait
    {"do":"read"}                  {"value":NUMBER}     the receiver's side
    {"do":"shut"}                  {}                   end
"""

# mypy: disable-error-code="import-not-found, no-any-return"
# (A box holds this folder alone, so its files import each other by their bare names.)

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import itertools
import json
import mmap
import os
import select
import socket
import struct
import sys
import tempfile
import threading
import time
import zlib

import calls
import persist

TOKEN = sys.argv[1] if len(sys.argv) > 1 else "none"
NUMBER = zlib.crc32(TOKEN.encode())
BOT = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.realpath("/usr/bin/env")  # all boxes of a machine or an image see this file
WINDOW_S = 0.008  # for a receiver's measurement of speed
MB = 1024 * 1024
COPIED = 16 * MB  # more than a core's own cache
SPUN_S = 0.001  # the end of a delay, because sleepers wake late
F_SETPIPE_SZ = 1031
IN_OPEN = 0x20
RWF_NOWAIT = 8
FUTEX_WAIT, FUTEX_WAKE = 0, 1  # of files, not of the process alone
WORDS = 40  # a thread each, of the 64 that a bot may have
PAGES = 200  # of a file each
NAMES = 200
NUMBERS_APART = 3  # used up for each unit of a symbol: somebody else may use one
EVENTS = 200  # of the 256 files that it may have open


class Channel:
    """Both sides of a channel; `begin` and `end` are called on both."""

    works = False  # whether the sender works as long as the bit is 1

    def begin(self) -> None:
        """Prepare."""

    def end(self) -> None:
        """Clean up."""
        self.put(0)

    def put(self, bit: int) -> None:
        """Send a bit."""

    def work(self) -> None:
        """Do a piece of work."""

    def get(self) -> float:
        """Look."""
        return 0.0


class File(Channel):
    """A file in a folder."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, f"red-team-{TOKEN}")

    def put(self, bit: int) -> None:
        """Make or remove it."""
        if bit:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666))
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def get(self) -> float:
        """Look for it."""
        return float(os.path.exists(self.path))


class KernelMark(Channel):
    """A mark of persist.py in the kernel."""

    def __init__(self, name: str) -> None:
        self.leave, self.find, self.take = persist.kernel_marks(TOKEN)[name]

    def put(self, bit: int) -> None:
        """Leave or remove it."""
        if bit:
            self.leave()
        else:
            with contextlib.suppress(OSError):
                self.take()

    def get(self) -> float:
        """Look for it. Raises OSError if the call is forbidden."""
        try:
            self.find()
        except OSError as problem:
            if problem.errno in (errno.EPERM, errno.ENOSYS):
                raise
            return 0.0
        return 1.0


class Listener(Channel):
    """A socket at an agreed address."""

    def __init__(self, family: int, kind: int, address: object) -> None:
        self.family, self.kind, self.address = family, kind, address
        self.socket: socket.socket | None = None

    def put(self, bit: int) -> None:
        """Listen, or not."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None
            self.unlink()
        if bit:
            self.socket = socket.socket(self.family, self.kind)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.unlink()
            self.socket.bind(self.address)  # type: ignore[arg-type]
            if self.kind == socket.SOCK_STREAM:
                self.socket.listen(64)

    def unlink(self) -> None:
        """Remove the socket's file, if any."""
        if isinstance(self.address, str) and self.address.startswith("/"):
            with contextlib.suppress(OSError):
                os.unlink(self.address)

    def get(self) -> float:
        """Try to connect; UDP's second datagram tells of a refusal."""
        with socket.socket(self.family, self.kind) as caller:
            caller.settimeout(0.2)
            try:
                caller.connect(self.address)  # type: ignore[arg-type]
                if self.kind == socket.SOCK_DGRAM:
                    caller.send(b"x")
                    caller.send(b"x")
            except (ConnectionRefusedError, FileNotFoundError):
                return 0.0
            return 1.0


class Flock(Channel):
    """A lock on a file that both can read."""

    def begin(self) -> None:
        """Open it."""
        self.file = os.open(SHARED, os.O_RDONLY)

    def put(self, bit: int) -> None:
        """Lock or unlock it."""
        fcntl.flock(self.file, (fcntl.LOCK_EX if bit else fcntl.LOCK_UN) | fcntl.LOCK_NB)

    def get(self) -> float:
        """Try to lock it."""
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 1.0
        fcntl.flock(self.file, fcntl.LOCK_UN)
        return 0.0

    def end(self) -> None:
        """Close it, which unlocks it."""
        os.close(self.file)


class RecordLock(Flock):
    """A POSIX lock on such a file."""

    def put(self, bit: int) -> None:
        """Take or release a read lock at an agreed offset."""
        kind = fcntl.F_RDLCK if bit else fcntl.F_UNLCK
        fcntl.fcntl(self.file, fcntl.F_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, NUMBER, 1, 0))

    def get(self) -> float:
        """Ask who is in the way of a write lock."""
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, NUMBER, 1, 0)
        answer = fcntl.fcntl(self.file, fcntl.F_GETLK, asked)
        return float(struct.unpack("hhqqi4x", answer)[0] != fcntl.F_UNLCK)


class Lease(Channel):
    """A write lease, which only a file's owner gets, and only if nobody else has the file open."""

    path = os.path.join(BOT, "player.py")

    def __init__(self) -> None:
        self.open: list[int] = []

    def put(self, bit: int) -> None:
        """Open or close it."""
        while self.open:
            os.close(self.open.pop())
        if bit:
            self.open.append(os.open(self.path, os.O_RDONLY))

    def get(self) -> float:
        """Try to get the lease."""
        file = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            return 1.0
        finally:
            os.close(file)
        return 0.0


class Watch(Channel):
    """A watch on a file that both can read."""

    def __init__(self) -> None:
        self.watcher = -1

    def begin(self) -> None:
        """Watch it."""
        self.watcher = calls.checked(calls.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        calls.checked(calls.libc.inotify_add_watch(self.watcher, SHARED.encode(), IN_OPEN))

    def put(self, bit: int) -> None:
        """Open it, or don't."""
        if bit:
            os.close(os.open(SHARED, os.O_RDONLY))

    def get(self) -> float:
        """Count its events."""
        with contextlib.suppress(BlockingIOError):
            return float(len(os.read(self.watcher, 65536)) // 16)
        return 0.0

    def end(self) -> None:
        """Stop watching."""
        os.close(self.watcher)


class Counter(Channel):
    """A number that the kernel shows of the machine."""

    def __init__(self, path: str) -> None:
        self.path = path

    def get(self) -> float:
        """Read it."""
        with open(self.path, encoding="ascii", errors="replace") as file:
            return self.number(file.read())

    def number(self, text: str) -> float:
        """Find it in the text."""
        return float(text.split()[0])


class Locks(Counter):
    """The list of all locks, by its length."""

    def __init__(self) -> None:
        super().__init__("/proc/locks")
        self.files: list[int] = []

    def put(self, bit: int) -> None:
        """Lock files of its own, or none."""
        while self.files:
            os.close(self.files.pop())
        for _ in range(8 * bit):
            descriptor, path = tempfile.mkstemp()
            os.unlink(path)
            self.files.append(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)

    def number(self, text: str) -> float:
        """Count them."""
        return float(text.count("\n"))


class Threads(Counter):
    """The machine's threads: how many live (/proc/loadavg), or ever began (/proc/stat)."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.children: list[int] = []

    def put(self, bit: int) -> None:
        """Start or end children."""
        while self.children:
            child = self.children.pop()
            os.kill(child, 9)
            os.waitpid(child, 0)
        for _ in range(8 * bit):
            child = os.fork()
            if child == 0:
                time.sleep(30)
                os._exit(0)
            self.children.append(child)

    def number(self, text: str) -> float:
        """Find the number of threads, or of forks."""
        if "loadavg" in self.path:
            return float(text.split()[3].partition("/")[2])
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith("processes ")))


class ProcessNumbers(Threads):
    """The number that the next process gets."""

    def __init__(self) -> None:
        super().__init__("")

    def get(self) -> float:
        """Start a child, return its number."""
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return float(child)


class Memory(Counter):
    """The machine's free memory."""

    held: mmap.mmap | None = None

    def put(self, bit: int) -> None:
        """Use memory, or not."""
        if self.held is not None:
            self.held.close()
            self.held = None
        if bit:
            self.held = mmap.mmap(-1, 48 * MB)
            for offset in range(0, len(self.held), mmap.PAGESIZE):
                self.held[offset] = 1

    def number(self, text: str) -> float:
        """Find it in /proc/meminfo, or in /proc/vmstat."""
        name = "MemFree" if "MemFree" in text else "nr_free_pages"
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith(name)))


class SystemInfo(Memory):
    """The free memory by a system call."""

    def get(self) -> float:
        """Ask for it."""
        buffer = ctypes.create_string_buffer(128)
        calls.checked(calls.libc.sysinfo(buffer))
        return float(struct.unpack_from("10L", buffer)[5])


class FreeSpace(Channel):
    """The free space of a file system that both see."""

    path = os.path.join(tempfile.gettempdir(), f"space-{TOKEN}-{os.getpid()}")

    def put(self, bit: int) -> None:
        """Fill some, and for 0 free it again.

        Both take as long: where others write, the free space tells how much time has passed.
        """
        with open(self.path, "wb") as file:
            file.write(bytes(2 * MB))
        if not bit:
            os.unlink(self.path)

    def get(self) -> float:
        """Add up all file systems."""
        places = ("/", "/usr", BOT, tempfile.gettempdir(), "/dev/shm", "/dev")
        found = [os.statvfs(place) for place in places if os.path.exists(place)]
        return float(sum(place.f_bfree * place.f_frsize for place in found))


class OpenFiles(Counter):
    """The number of open files of the machine."""

    def __init__(self) -> None:
        super().__init__("/proc/sys/fs/file-nr")
        self.files: list[int] = []

    def put(self, bit: int) -> None:
        """Have files open, or not."""
        while self.files:
            os.close(self.files.pop())
        for _ in range(150 * bit):
            self.files.append(os.open(SHARED, os.O_RDONLY))


class Dentries(Counter):
    """The number of names that the kernel remembers."""

    def __init__(self) -> None:
        super().__init__("/proc/sys/fs/dentry-state")
        self.round = 0

    def put(self, bit: int) -> None:
        """Look up names for the first time."""
        self.round += 1
        for number in range(1000 * bit):
            os.path.exists(f"/usr/red-team-{os.getpid()}-{self.round}-{number}")


class Lookups(Channel):
    """Which names somebody has looked up: the kernel keeps it of each file system, also where there is no such file."""

    def begin(self) -> None:
        """Agree on names."""
        self.round = 0

    def names(self) -> list[str]:
        """Return the names of a step; none of them is a file."""
        return [f"/usr/.{TOKEN}-{self.round}-{place}" for place in range(NAMES)]

    def put(self, bit: int) -> None:
        """Look up a name for each bit."""
        names = self.names()
        self.round += 1
        for place in bits_of(bit):
            os.access(names[place], os.F_OK)

    def get(self) -> float:
        """Look up all; see which took less time."""
        times = []
        for name in self.names():
            began = time.perf_counter_ns()
            os.access(name, os.F_OK)
            times.append(time.perf_counter_ns() - began)
        self.round += 1
        limit = parted(times)
        return sum((took < limit) << place for place, took in enumerate(times))

    def end(self) -> None:
        """Leave them."""


def parted(numbers: list[int]) -> float:
    """Return the limit that parts numbers best into two classes (Otsu). Very large ones count as large."""
    most = 4 * sorted(numbers)[len(numbers) // 2]
    ordered = sorted(min(number, most) for number in numbers)
    total, low = sum(ordered), 0
    best, limit = -1.0, 0.0
    for count, (number, following) in enumerate(itertools.pairwise(ordered), 1):
        low += number
        rest = len(ordered) - count
        apart = count * rest * ((total - low) / rest - low / count) ** 2
        if apart > best:
            best, limit = apart, (number + following) / 2
    return limit


class InodeNumbers(Channel):
    """The next pipe's number: the machine has one counter, of which each core takes 1,024 at a time."""

    def begin(self) -> None:
        """Know no number."""
        self.last = 0

    def put(self, bit: int) -> None:
        """Use up numbers."""
        for _ in range(NUMBERS_APART * bit):
            self.number()

    def number(self) -> int:
        """Make a pipe; return its number."""
        ends = os.pipe()
        found = os.fstat(ends[0]).st_ino
        os.close(ends[0])
        os.close(ends[1])
        return found

    def get(self) -> float:
        """See how many were used up since the last time."""
        number = self.number()
        used = (number - self.last - 1) % 1024
        self.last = number
        return min(round(used / NUMBERS_APART), 15)

    def end(self) -> None:
        """Leave nothing."""


class MemoryFileNumbers(InodeNumbers):
    """The next memfd's number, which comes from such a counter, too."""

    def number(self) -> int:
        """Make a file in memory; return its number."""
        file = os.memfd_create("red-team")
        try:
            return os.fstat(file).st_ino
        finally:
            os.close(file)


class SocketNumbers(Channel):
    """The next socket's number: the machine has one counter, of which each core takes 4,096 at a time."""

    def put(self, bit: int) -> None:
        """Use up numbers."""
        self.use(8400 * bit)

    def use(self, count: int) -> int:
        """Make so many sockets; return the number of the last."""
        number = 0
        for _ in range(count):
            with socket.socket(socket.AF_UNIX) as end:
                number = int.from_bytes(end.getsockopt(socket.SOL_SOCKET, 57, 8), sys.byteorder)  # SO_COOKIE
        return number

    def get(self) -> float:
        """Use up the core's 4,096; return the next."""
        return float(self.use(4200))


class PipePages(Channel):
    """The sum of all pipes of a user, which boxes of one user share."""

    def __init__(self) -> None:
        self.ends: list[int] = []

    def put(self, bit: int) -> None:
        """Use it up, or not."""
        while self.ends:
            os.close(self.ends.pop())
        if bit:
            self.grow()

    def grow(self) -> int:
        """Make large pipes up to the limit; return how many."""
        for made in range(90):
            ends = os.pipe()
            self.ends += ends
            try:
                fcntl.fcntl(ends[0], F_SETPIPE_SZ, MB)
            except PermissionError:
                return made
        return 90

    def get(self) -> float:
        """Count what is left."""
        found = self.grow()
        self.put(0)
        return float(found)


def quiet_files() -> list[str]:
    """Return files that hardly anybody reads, in the same order for both."""
    found = []
    for folder in ("/usr/share", "/usr/lib"):
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                with contextlib.suppress(OSError):
                    status = os.lstat(path)
                    if 30_000 <= status.st_size < 3_000_000 and not os.path.islink(path):
                        found.append((zlib.crc32(path.encode()), path))
            if len(found) > 4000:
                break
    return [path for _, path in sorted(found)]


class PageCache(Channel):
    """Whether a file is in memory: any reader may load it or throw it out."""

    size = 64 * 1024
    file = -1

    def begin(self) -> None:
        """Open the file."""
        self.file = os.open(quiet_files()[0], os.O_RDONLY)
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_RANDOM)

    def put(self, bit: int) -> None:
        """Load or throw it out."""
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        if bit:
            os.pread(self.file, self.size, 0)

    def get(self) -> float:
        """Ask for a page without loading it."""
        try:
            return float(os.preadv(self.file, [bytearray(16)], 0, RWF_NOWAIT) > 0)
        except BlockingIOError:
            return 0.0

    def end(self) -> None:
        """Close it."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class PageCacheOnce(Channel):
    """The same where nothing can be thrown out: each bit is a file, loaded or not since the machine's start.

    The suite first throws these files out, as if the machine had just started.
    """

    def begin(self) -> None:
        """Agree on the files."""
        self.files = quiet_files()
        self.used = 0

    def put(self, bit: int) -> None:
        """Read the next file, or don't."""
        if bit:
            self.read()
        self.used += 1

    def read(self) -> None:
        """Read one page of it."""
        descriptor = os.open(self.files[self.used % len(self.files)], os.O_RDONLY)
        try:
            os.pread(descriptor, 4096, 8192)
        finally:
            os.close(descriptor)

    def get(self) -> float:
        """Measure how long that takes."""
        began = time.perf_counter()
        self.read()
        took = time.perf_counter() - began
        self.used += 1
        return -took

    def end(self) -> None:
        """Clean up."""


class PageCacheTiming(PageCache):
    """The same by the time of a read."""

    def get(self) -> float:
        """Measure how long a read takes."""
        began = time.perf_counter()
        os.pread(self.file, self.size, 0)
        took = time.perf_counter() - began
        return -took


class HandleNumbers(ProcessNumbers):
    """The next pidfd's number: the machine has one counter for all namespaces."""

    def get(self) -> float:
        """Start a child; return its pidfd's number."""
        child = os.fork()
        if child == 0:
            time.sleep(1)
            os._exit(0)
        handle = calls.call("pidfd_open", child, 0)
        number = os.fstat(handle).st_ino
        os.close(handle)
        os.kill(child, 9)
        os.waitpid(child, 0)
        return float(number)


class SharedFutex(Channel):
    """Who waits for the words of a file: the kernel knows such a futex by its file, not by its process."""

    def __init__(self) -> None:
        self.woken: dict[int, threading.Event] = {}

    def begin(self) -> None:
        """Map the file; have small threads."""
        with open(SHARED, "rb") as file:
            self.address = calls.mapped(file.fileno(), mmap.PAGESIZE)
            self.words = struct.unpack(f"{mmap.PAGESIZE // 4}I", file.read(mmap.PAGESIZE))
        threading.stack_size(65536)

    def leave(self, word: int) -> None:
        """Leave a thread that waits for a word."""
        self.woken[word] = threading.Event()
        threading.Thread(target=self.sleep, args=(word, self.woken[word]), daemon=True).start()

    def sleep(self, word: int, woken: threading.Event) -> None:
        """Wait until somebody wakes us."""
        calls.call("futex", self.address + 4 * word, FUTEX_WAIT, self.words[word], None)
        woken.set()

    def put(self, bit: int) -> None:
        """Leave one that waits for each bit; wake the others."""
        self.get()
        for word in bits_of(bit):
            self.leave(word)
        time.sleep(0.001)

    def get(self) -> float:
        """Wake all; the kernel tells how many they were."""
        found = 0
        for word in range(WORDS):
            found |= (calls.call("futex", self.address + 4 * word, FUTEX_WAKE, 100) > 0) << word
        return found


class EndOfThread(SharedFutex):
    """Who was woken that waits for such words: the kernel wakes for a thread that ends, and asks no filter."""

    def put(self, bit: int) -> None:
        """End a thread that left the word's address with the kernel, for each bit."""
        for word in bits_of(bit):
            address = self.address + 4 * word
            threading.Thread(target=calls.call, args=("set_tid_address", address), daemon=True).start()
        time.sleep(0.001)

    def get(self) -> float:
        """Look which of our threads were woken; leave others in their place."""
        time.sleep(0.001)
        found = 0
        for word in range(WORDS):
            if word not in self.woken or self.woken[word].is_set():
                self.leave(word)
                found |= 1 << word
        time.sleep(0.001)
        return found

    def end(self) -> None:
        """Leave them: they end with the box."""


class EventNumbers(Channel):
    """Which numbers are free for new eventfds, which /proc tells: the machine numbers them, lowest first."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self.known: list[int] = []

    def put(self, bit: int) -> None:
        """Hold as many as there are bits, but for those that are 1."""
        self.drop()
        if bit:
            self.numbers()
            for place in bits_of(bit):
                os.close(self.held[place])
            self.held = [event for place, event in enumerate(self.held) if not bit >> place & 1]

    def drop(self) -> None:
        """Hold none."""
        while self.held:
            os.close(self.held.pop())

    def numbers(self) -> list[int]:
        """Make many; return their numbers."""
        self.held = [calls.checked(calls.libc.eventfd(0, 0)) for _ in range(EVENTS)]
        found = []
        for event in self.held:
            with open(f"/proc/self/fdinfo/{event}", encoding="ascii") as file:
                found += [int(line.split()[1]) for line in file if line.startswith("eventfd-id")]
        return found

    def get(self) -> float:
        """Make as many, and look which numbers they get; the first time, all that are free."""
        found = self.numbers()
        self.drop()
        self.known = self.known or found
        return sum((number in found) << place for place, number in enumerate(self.known))


class MappedPages(Channel):
    """Which pages of files others have mapped, too: the kernel tells by /proc/self/pagemap."""

    def begin(self) -> None:
        """Open the files."""
        self.files = [os.open(path, os.O_RDONLY) for path in quiet_files()[:PAGES]]
        self.held: list[int] = []

    def put(self, bit: int) -> None:
        """Map a page for each bit."""
        self.drop()
        for place in bits_of(bit):
            self.map(self.files[place])

    def map(self, file: int) -> int:
        """Map a file's first page, and read it; return the address."""
        address = calls.mapped(file, mmap.PAGESIZE)
        ctypes.string_at(address, 1)
        self.held.append(address)
        return address

    def drop(self) -> None:
        """Map none."""
        while self.held:
            calls.libc.munmap(ctypes.c_void_p(self.held.pop()), ctypes.c_size_t(mmap.PAGESIZE))

    def get(self) -> float:
        """Map all; see which aren't ours alone."""
        found = 0
        with open("/proc/self/pagemap", "rb", buffering=0) as pages:
            for place, file in enumerate(self.files):
                pages.seek(self.map(file) // mmap.PAGESIZE * 8)
                entry = struct.unpack("Q", pages.read(8))[0]
                found |= (not entry >> 56 & 1) << place
        self.drop()
        return found

    def end(self) -> None:
        """Close the files."""
        self.drop()
        while self.files:
            os.close(self.files.pop())


class OthersFreeSpace(Channel):
    """The free space of a file system that only the other sees: ustat(2) asks by number."""

    def __init__(self) -> None:
        self.path = os.path.join(tempfile.gettempdir(), f"space-{TOKEN}")
        self.before: dict[int, int] = {}

    def put(self, bit: int) -> None:
        """Fill or free some."""
        with open(self.path, "wb") as file:
            file.write(bytes(2 * MB * bit))

    def get(self) -> float:
        """Add up what is free in all file systems without a disk."""
        free = 0
        for number in range(1, 512):
            buffer = ctypes.create_string_buffer(64)
            try:
                calls.call("ustat", (number & 0xFF) | (number >> 8 << 20), buffer)
            except OSError as problem:
                if problem.errno == errno.EINVAL:
                    continue
                raise
            free += struct.unpack_from("i", buffer)[0]
        return float(free)

    def end(self) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


class SessionNumbers(InodeNumbers):
    """The number of a new session's group of the scheduler, which /proc tells."""

    def put(self, bit: int) -> None:
        """Make some."""
        for _ in range(bit):
            child = os.fork()
            if child == 0:
                os.setsid()
                os._exit(0)
            os.waitpid(child, 0)

    def number(self) -> int:
        """Make one in a child; return its number."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            with open("/proc/self/autogroup", "rb") as file:
                os.write(writing, file.read())
            os._exit(0)
        os.close(writing)
        said = os.read(reading, 100)
        os.close(reading)
        os.waitpid(child, 0)
        return int(said.split()[0].rpartition(b"-")[2])

    def get(self) -> float:
        """See how many were made since the last time."""
        number = self.number()
        made = number - self.last - 1
        self.last = number
        return min(max(made, 0), 7)


def bits_of(number: int) -> list[int]:
    """Return the places of the bits that are 1."""
    return [place for place in range(number.bit_length()) if number >> place & 1]


def take_core(core: int) -> None:
    """Go to a core; where that is refused, the kernel chooses."""
    with contextlib.suppress(PermissionError):
        os.sched_setaffinity(0, {core})


class Contention(Channel):
    """How fast two compute on one core."""

    works = True

    def begin(self) -> None:
        """Go to the agreed core."""
        take_core(max(os.sched_getaffinity(0)))

    def work(self) -> None:
        """Compute."""
        sum(range(2000))

    def get(self) -> float:
        """Count rounds in `WINDOW_S`."""
        end = time.perf_counter() + WINDOW_S
        done = 0
        while time.perf_counter() < end:
            done += 1
        return float(-done)

    def end(self) -> None:
        """Keep the affinity: it ends with the box."""


class Bandwidth(Channel):
    """How fast two copy memory, each on its own core."""

    works = True

    def __init__(self) -> None:
        self.a, self.b = bytearray(COPIED), bytearray(COPIED)

    def put(self, bit: int) -> None:
        """Take one core: the receiver takes the other."""
        take_core(min(os.sched_getaffinity(0)))

    def work(self) -> None:
        """Copy."""
        self.a[:] = self.b

    def get(self) -> float:
        """Measure a copy."""
        take_core(max(os.sched_getaffinity(0)))
        began = time.perf_counter()
        self.a[:] = self.b
        return time.perf_counter() - began

    def end(self) -> None:
        """Clean up."""


class AnswerTime(Channel):
    """The time to answer: the other sees the time from its answer to its next request."""

    answered = 0.0

    def put(self, bit: int) -> None:
        """Answer late by that many microseconds: asleep, at the end busy."""
        until = time.perf_counter() + bit / 1e6
        time.sleep(max(0.0, bit / 1e6 - SPUN_S))
        while time.perf_counter() < until:
            pass

    def get(self) -> float:
        """Look how long it took."""
        took = time.perf_counter() - self.answered
        self.answered = time.perf_counter()
        return took


class Idle(Counter):
    """The time that the machine was idle, or overloaded."""

    works = True

    def __init__(self, path: str, word: int) -> None:
        super().__init__(path)
        self.word = word

    def work(self) -> None:
        """Compute."""
        sum(range(2000))

    def get(self) -> float:
        """Return its growth during a sleep, negated."""
        before = super().get()
        time.sleep(0.03)  # the numbers are hundredths of a second
        return before - super().get()

    def number(self, text: str) -> float:
        """Find it."""
        return float(text.split()[self.word].rpartition("=")[2])


def channels() -> dict[str, Channel]:
    """Make all of them."""
    tmp = tempfile.gettempdir()
    address = ("127.0.0.1", 20_000 + NUMBER % 10_000)
    stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
    return {
        "tmp-file": File(tmp),
        "dev-shm-file": File("/dev/shm"),
        "sysv-shm": KernelMark("shared memory"),
        "sysv-messages": KernelMark("message queue"),
        "posix-queue": KernelMark("posix queue"),
        "keyring": KernelMark("key"),
        "abstract-socket": Listener(socket.AF_UNIX, stream, f"\0red-team-{TOKEN}"),
        "socket-file": Listener(socket.AF_UNIX, stream, os.path.join(tmp, f"socket-{TOKEN}")),
        "tcp-port": Listener(socket.AF_INET, stream, address),
        "udp-port": Listener(socket.AF_INET, datagram, address),
        "flock": Flock(),
        "record-lock": RecordLock(),
        "lease": Lease(),
        "watch": Watch(),
        "proc-locks": Locks(),
        "load-average": Threads("/proc/loadavg"),
        "proc-stat": Threads("/proc/stat"),
        "process-numbers": ProcessNumbers(),
        "meminfo": Memory("/proc/meminfo"),
        "vmstat": Memory("/proc/vmstat"),
        "sysinfo": SystemInfo(""),
        "free-space": FreeSpace(),
        "open-files": OpenFiles(),
        "dentries": Dentries(),
        "look-ups": Lookups(),
        "inode-numbers": InodeNumbers(),
        "memfd-numbers": MemoryFileNumbers(),
        "socket-numbers": SocketNumbers(),
        "pipe-pages": PipePages(),
        "page-cache": PageCache(),
        "page-cache-timing": PageCacheTiming(),
        "page-cache-once": PageCacheOnce(),
        "handle-numbers": HandleNumbers(),
        "shared-futex": SharedFutex(),
        "end-of-thread": EndOfThread(),
        "eventfd-numbers": EventNumbers(),
        "mapped-pages": MappedPages(),
        "others-free-space": OthersFreeSpace(),
        "session-numbers": SessionNumbers(),
        "uptime": Idle("/proc/uptime", 1),
        "pressure": Idle("/proc/pressure/cpu", 4),
        "cpu-contention": Contention(),
        "answer-time": AnswerTime(),
        "memory-bandwidth": Bandwidth(),
    }


def main() -> None:
    """Answer commands until the input ends."""
    calls.refuse_privileges()
    known = channels()
    channel: Channel = Channel()
    working = False
    poll = select.poll()
    poll.register(0, select.POLLIN)
    while True:
        while working and not poll.poll(0):
            channel.work()
        line = _line()
        if not line:
            return
        command = json.loads(line)
        answer: dict[str, object] = {}
        try:
            if command["do"] == "open":
                channel, working = known[command["channel"]], False
                channel.begin()
                if isinstance(channel, PageCacheOnce):
                    answer["files"] = channel.files[:600]
            elif command["do"] == "set":
                channel.put(command["bit"])
                working = channel.works and bool(command["bit"])
            elif command["do"] == "read":
                answer["value"] = channel.get()
            else:
                working = False
                channel.end()
        except OSError as problem:
            answer["error"] = errno.errorcode.get(problem.errno or 0, str(problem))
        except (StopIteration, IndexError, ValueError, TypeError):
            answer["error"] = "HIDDEN"  # the file exists but holds no number
        os.write(1, (json.dumps(answer) + "\n").encode())


def _line() -> bytes:
    """Read one command, and no further: `poll` must see the next."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            return b""
        line += piece
    return line


if __name__ == "__main__":
    main()
