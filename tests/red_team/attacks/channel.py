"""Be one of two colluding bots: change something that the other may see, or look at it.

usage: channel.py TOKEN       both bots know the token, as two bots of one author would

Commands on standard input, one JSON object a line, each answered by one:

    {"do":"open","channel":NAME}   {}                   begin; {"error":ERRNO} if the channel is refused
    {"do":"set","bit":0 or 1}      {}                   the sender's side
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
import json
import mmap
import os
import socket
import struct
import sys
import tempfile
import time
import zlib

import calls
import persist

TOKEN = sys.argv[1] if len(sys.argv) > 1 else "none"
NUMBER = zlib.crc32(TOKEN.encode())
BOT = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.realpath("/usr/bin/env")  # all boxes of a machine or an image see this file
MB = 1024 * 1024
F_SETPIPE_SZ = 1031
IN_OPEN = 0x20
RWF_NOWAIT = 8


class Channel:
    """Both sides of a channel; `begin` and `end` are called on both."""

    def begin(self) -> None:
        """Prepare."""

    def end(self) -> None:
        self.put(0)

    def put(self, bit: int) -> None:
        """Send a bit."""

    def get(self) -> float:
        return 0.0


class File(Channel):
    """A file in a folder."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, f"red-team-{TOKEN}")

    def put(self, bit: int) -> None:
        if bit:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666))
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def get(self) -> float:
        return float(os.path.exists(self.path))


class KernelMark(Channel):
    """A mark of persist.py in the kernel."""

    def __init__(self, name: str) -> None:
        self.leave, self.find, self.take = persist.kernel_marks(TOKEN)[name]

    def put(self, bit: int) -> None:
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
        if isinstance(self.address, str) and self.address.startswith("/"):
            with contextlib.suppress(OSError):
                os.unlink(self.address)

    def get(self) -> float:
        """Try to connect; UDP's second datagram shows a refusal."""
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
        self.file = os.open(SHARED, os.O_RDONLY)

    def put(self, bit: int) -> None:
        fcntl.flock(self.file, (fcntl.LOCK_EX if bit else fcntl.LOCK_UN) | fcntl.LOCK_NB)

    def get(self) -> float:
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 1.0
        fcntl.flock(self.file, fcntl.LOCK_UN)
        return 0.0

    def end(self) -> None:
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
    """A write lease, which only a file's owner gets, and only if no other process has the file open."""

    path = os.path.join(BOT, "player.py")

    def __init__(self) -> None:
        self.open: list[int] = []

    def put(self, bit: int) -> None:
        while self.open:
            os.close(self.open.pop())
        if bit:
            self.open.append(os.open(self.path, os.O_RDONLY))

    def get(self) -> float:
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
        self.watcher = calls.checked(calls.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        calls.checked(calls.libc.inotify_add_watch(self.watcher, SHARED.encode(), IN_OPEN))

    def put(self, bit: int) -> None:
        if bit:
            os.close(os.open(SHARED, os.O_RDONLY))

    def get(self) -> float:
        with contextlib.suppress(BlockingIOError):
            return float(len(os.read(self.watcher, 65536)) // 16)
        return 0.0

    def end(self) -> None:
        os.close(self.watcher)


class ProcessNumbers(Channel):
    """The number that the next process gets."""

    def __init__(self) -> None:
        self.children: list[int] = []

    def put(self, bit: int) -> None:
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

    def get(self) -> float:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return float(child)


class SystemInfo(Channel):
    """The machine's free memory by a system call."""

    held: mmap.mmap | None = None

    def put(self, bit: int) -> None:
        if self.held is not None:
            self.held.close()
            self.held = None
        if bit:
            self.held = mmap.mmap(-1, 48 * MB)
            for offset in range(0, len(self.held), mmap.PAGESIZE):
                self.held[offset] = 1

    def get(self) -> float:
        buffer = ctypes.create_string_buffer(128)
        calls.checked(calls.libc.sysinfo(buffer))
        return float(struct.unpack_from("10L", buffer)[5])


class FreeSpace(Channel):
    """The free space of a file system that both see."""

    path = os.path.join(tempfile.gettempdir(), f"space-{TOKEN}-{os.getpid()}")

    def put(self, bit: int) -> None:
        """Fill some, and for 0 free it again.

        Both take as long: where others write, the free space shows how much time has passed.
        """
        with open(self.path, "wb") as file:
            file.write(bytes(2 * MB))
        if not bit:
            os.unlink(self.path)

    def get(self) -> float:
        places = ("/", "/usr", BOT, tempfile.gettempdir(), "/dev/shm", "/dev")
        found = [os.statvfs(place) for place in places if os.path.exists(place)]
        return float(sum(place.f_bfree * place.f_frsize for place in found))


class SocketNumbers(Channel):
    """The next socket's number: the machine has one counter, of which each core takes 4,096 at a time."""

    def put(self, bit: int) -> None:
        self.use(8400 * bit)

    def use(self, count: int) -> int:
        """Make this many sockets; return the number of the last."""
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
        self.file = os.open(quiet_files()[0], os.O_RDONLY)
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_RANDOM)

    def put(self, bit: int) -> None:
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        if bit:
            os.pread(self.file, self.size, 0)

    def get(self) -> float:
        try:
            return float(os.preadv(self.file, [bytearray(16)], 0, RWF_NOWAIT) > 0)
        except BlockingIOError:
            return 0.0

    def end(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class PageCacheTiming(PageCache):
    """The same by the time of a read."""

    def get(self) -> float:
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


class OthersFreeSpace(Channel):
    """The free space of a file system that only the other sees: ustat(2) asks by number."""

    def __init__(self) -> None:
        self.path = os.path.join(tempfile.gettempdir(), f"space-{TOKEN}")
        self.before: dict[int, int] = {}

    def put(self, bit: int) -> None:
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
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def channels() -> dict[str, Channel]:
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
        "process-numbers": ProcessNumbers(),
        "sysinfo": SystemInfo(),
        "free-space": FreeSpace(),
        "socket-numbers": SocketNumbers(),
        "pipe-pages": PipePages(),
        "page-cache": PageCache(),
        "page-cache-timing": PageCacheTiming(),
        "handle-numbers": HandleNumbers(),
        "others-free-space": OthersFreeSpace(),
    }


def main() -> None:
    calls.refuse_privileges()
    known = channels()
    channel: Channel = Channel()
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, object] = {}
        try:
            if command["do"] == "open":
                channel = known[command["channel"]]
                channel.begin()
            elif command["do"] == "set":
                channel.put(command["bit"])
            elif command["do"] == "read":
                answer["value"] = channel.get()
            else:
                channel.end()
        except OSError as problem:
            answer["error"] = errno.errorcode.get(problem.errno or 0, str(problem))
        except IndexError:
            answer["error"] = "HIDDEN"  # there is no file of the wanted size
        os.write(1, (json.dumps(answer) + "\n").encode())


if __name__ == "__main__":
    main()
