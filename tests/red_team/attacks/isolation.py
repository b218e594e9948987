"""Attempts to see, reach or change the outside: rows 46 to 65, 67 and 68."""

# mypy: disable-error-code="import-not-found, no-any-return"
# (A box holds this folder alone, so its files import each other by their bare names.)

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import mmap
import os
import platform
import pwd
import signal
import socket
import stat
import struct
import tempfile
import termios
import time
from collections.abc import Iterator

import calls
from calls import Check, Outcome, Targets

SECRET = "RED_TEAM_SECRET"  # the variable that the referee and the victim carry
HIGH_BIT = 1 << 32  # the kernel reads 32 bits of a socket's family; a filter that reads 64 sees another number
WALK_S = 4.0  # for a walk through a tree of control files
ASKS_LATER = {"/proc/sys/kernel/ns_last_pid"}  # anybody may open it; writing needs a capability
NAMESPACES = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "time": 0x00000080,
}
FAMILIES = {
    "inet": (2, socket.SOCK_STREAM),
    "inet6": (10, socket.SOCK_DGRAM),
    "netlink": (16, socket.SOCK_RAW),
    "packet": (17, socket.SOCK_RAW),
    "tipc": (30, socket.SOCK_SEQPACKET),
    "bluetooth": (31, socket.SOCK_RAW),
    "alg": (38, socket.SOCK_SEQPACKET),
    "vsock": (40, socket.SOCK_STREAM),
}
PTRACE_SEIZE = 0x4206  # <linux/ptrace.h>: attaches without stopping
KEYCTL_GET_KEYRING_ID = 0  # <linux/keyctl.h>
KEY_SPEC_USER_KEYRING = -4
KEY_SPEC_SESSION_KEYRING = -3
FAN_REPORT_FID = 0x200  # <linux/fanotify.h>: an unprivileged listener must set it
UFFD_USER_MODE_ONLY = 1
CLONE_NEWUSER = NAMESPACES["user"]
PAGE = 4096
HARMLESS = signal.SIGURG  # ignored by default: an ordinary user's plain process can send it to the referee


def checks(targets: Targets) -> Iterator[tuple[str, Check]]:
    for who in ("referee", "victim"):
        target = targets[who]
        for name in ("mem", "environ", "maps", "fd"):
            yield f"46.{who}-{name}", reads_process(target, name)
        yield f"48.{who}-ptrace", on(target, ptrace)
        yield f"48.{who}-read-memory", on(target, read_memory)
        yield f"48.{who}-take-descriptor", on(target, take_descriptor)
        yield f"48.{who}-signal", on(target, lambda pid: os.kill(pid, HARMLESS))
        yield f"48.{who}-signal-by-handle", on(target, signal_by_handle)
    yield "47.environment", lambda: secret_in("environ", SECRET)
    yield "47.command-line", lambda: secret_in("cmdline", targets["scratch"])
    yield "48.control", control_memory
    yield from _network(targets)
    yield from _kernel()
    yield from _namespaces()
    yield from _files(targets)


def _network(targets: Targets) -> Iterator[tuple[str, Check]]:
    yield "51.abstract-socket", lambda: connect(socket.AF_UNIX, "\0" + targets["abstract"])
    yield "52.tcp-loopback", lambda: connect(socket.AF_INET, ("127.0.0.1", targets["tcp"]))
    yield "52.udp-loopback", lambda: send_udp(("127.0.0.1", targets["udp"]))
    yield "52.metadata", lambda: connect(socket.AF_INET, ("169.254.169.254", 80))
    yield "52.socket-file", lambda: connect(socket.AF_UNIX, targets["path"])
    yield "53.name-server", lambda: send_udp(("9.9.9.9", 53))
    yield "53.resolve", resolve
    for name, (family, kind) in FAMILIES.items():
        yield f"54.{name}", makes_socket(family, kind)
        yield f"54.{name}-high-bit", makes_socket(family | HIGH_BIT, kind)
    yield "54.control", lambda: socket.socketpair()[0].close()
    yield "65.docker-socket", lambda: docker_socket(targets)


def _kernel() -> Iterator[tuple[str, Check]]:
    yield "56.add-key", lambda: add_key(KEY_SPEC_USER_KEYRING)
    yield "56.add-key-session", lambda: add_key(KEY_SPEC_SESSION_KEYRING)
    yield "56.request-key", request_key
    yield "56.keyctl", lambda: try_call("keyctl", KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1)
    yield "57.io-uring", lambda: try_call("io_uring_setup", 4, ctypes.create_string_buffer(120))
    yield "60.bpf", bpf
    yield "60.perf", perf
    yield "60.userfaultfd", lambda: try_call("userfaultfd", UFFD_USER_MODE_ONLY)
    yield "60.kexec", lambda: try_call("kexec_load", 0, 0, None, 0)
    yield "60.init-module", lambda: try_call("init_module", None, 0, b"")
    yield "60.finit-module", lambda: try_call("finit_module", -1, b"", 0)
    yield "60.fanotify", lambda: try_call("fanotify_init", FAN_REPORT_FID, 0)
    yield "60.quotactl", lambda: try_call("quotactl", 0x80000100, b"/dev/vda", 0, None)
    yield "60.swapon", lambda: try_call("swapon", b"/dev/zram0", 0)
    yield "60.syslog", lambda: try_call("syslog", 3, ctypes.create_string_buffer(64), 64)
    yield "60.kernel-log", lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    yield "60.open-by-handle", open_by_handle
    yield "115.pseudo-terminal", terminal
    yield "111.affinity", lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))
    yield "61.i386", i386
    yield "61.x32", x32


def _namespaces() -> Iterator[tuple[str, Check]]:
    for name, flag in NAMESPACES.items():
        yield f"58.unshare-{name}", unshares(flag)
    yield "58.clone-user", clone_user
    yield "58.clone-user-high-bit", lambda: clone_user(HIGH_BIT)
    yield "58.clone3-user", clone3_user
    yield "58.mount", lambda: calls.libc_mount("none", tempfile.gettempdir(), "tmpfs")
    yield "58.mount-in-user-namespace", mount_in_user_namespace
    yield "58.fsopen", lambda: try_call("fsopen", b"tmpfs", 0)
    yield "58.open-tree", lambda: try_call("open_tree", -100, b"/", 1)  # OPEN_TREE_CLONE
    yield "58.umount", lambda: try_call("umount2", b"/proc", 0)
    yield "58.pivot-root", lambda: try_call("pivot_root", b"/", b"/")
    yield "58.chroot", lambda: os.chroot("/")
    yield "58.setns", enter_first_process
    yield "59.gain-by-exec", gain_by_exec
    yield "59.no-new-privileges", no_new_privileges
    yield "59.capabilities", capabilities
    yield "62.terminal", lambda: os.close(os.open("/dev/tty", os.O_RDWR))
    yield "62.push-input", push_input
    yield "62.session", session


def _files(targets: Targets) -> Iterator[tuple[str, Check]]:
    yield "63.core-pattern", lambda: calls.write_open("/proc/sys/kernel/core_pattern")
    yield "63.modprobe", lambda: calls.write_open("/proc/sys/kernel/modprobe")
    yield "63.sysrq", lambda: calls.write_open("/proc/sysrq-trigger")
    yield "63.all-of-proc-sys", lambda: any_writable("/proc/sys")
    yield "63.all-of-sys", lambda: any_writable("/sys")
    yield "63.control", control_writable
    yield "64.cgroup-files", lambda: any_writable("/sys/fs/cgroup")
    yield "64.cgroup-folder", cgroup_folder
    yield "65.own-interpreter", lambda: calls.write_open("/proc/self/exe")
    yield "65.first-program", lambda: calls.write_open("/proc/1/exe")
    yield "65.disk", lambda: os.close(os.open(disk(), os.O_RDONLY))
    yield "65.memory-device", lambda: os.close(os.open("/dev/mem", os.O_RDONLY))
    yield "67.referees-file", lambda: reads(targets["secret_file"])
    yield "67.referees-folder", lambda: lists(os.path.dirname(targets["secret_file"]))
    yield "67.through-the-root-of-a-process", on(targets["victim"], lambda pid: lists(f"/proc/{pid}/root"))
    yield "67.homes", lambda: homes(targets)
    yield "67.shadow", lambda: reads("/etc/shadow")
    yield "68.host-name", lambda: same(platform.node(), targets["host_name"])
    yield "68.machine-id", lambda: same(first_line("/etc/machine-id"), targets["machine_id"])
    yield "68.user-name", lambda: same(user_name(), targets["user_name"])
    yield "68.boot-id", lambda: same(first_line("/proc/sys/kernel/random/boot_id"), targets["boot_id"])


# --- other processes --------------------------------------------------------------------------------------------------


def on(target: dict[str, int], attack: object) -> Check:
    """Make a check that attacks a process, if its pid names it here."""

    def check() -> Outcome:
        if calls.start_time(target["pid"]) not in (None, target["started"]):
            return calls.ABSENT  # another process of this namespace
        return attack(target["pid"])  # type: ignore[operator]

    return check


def reads_process(target: dict[str, int], name: str) -> Check:
    """Make a check that opens a file of a process: mem for writing, others for reading."""

    def check(pid: int) -> None:
        path = f"/proc/{pid}/{name}"
        if name == "fd":
            os.listdir(path)
            os.readlink(f"{path}/0")
        elif name == "mem":
            os.close(os.open(path, os.O_RDWR))
        else:
            with open(path, "rb", buffering=0) as file:
                file.read(64)

    return on(target, check)


def ptrace(pid: int) -> None:
    """Seize a process until this process ends, without stopping it."""
    calls.call("ptrace", PTRACE_SEIZE, pid, 0, 0)


def read_memory(pid: int) -> None:
    """Read another process's memory; the kernel checks the permission before the address."""
    buffer = ctypes.create_string_buffer(8)
    local = struct.pack("PN", ctypes.addressof(buffer), 8)
    remote = struct.pack("PN", PAGE, 8)
    try:
        calls.call("process_vm_readv", pid, local, 1, remote, 1, 0)
    except OSError as problem:
        if problem.errno != calls.errno.EFAULT:  # EFAULT: allowed, but the address isn't mapped
            raise


def control_memory() -> None:
    try:
        read_memory(os.getpid())
    except PermissionError:
        return


def take_descriptor(pid: int) -> None:
    handle = calls.call("pidfd_open", pid, 0)
    os.close(calls.call("pidfd_getfd", handle, 0, 0))


def signal_by_handle(pid: int) -> None:
    handle = calls.call("pidfd_open", pid, 0)
    calls.call("pidfd_send_signal", handle, HARMLESS, None, 0)


def secret_in(name: str, secret: str) -> str:
    """Look for a text in a /proc file of every other session's processes."""
    mine, seen = os.getsid(0), 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                text = file.read()
            seen += 1
            if secret.encode() in text and os.getsid(int(pid)) != mine:
                return f"{calls.OPEN} {name} of {pid}"
        except OSError:
            continue
    return calls.ABSENT if seen else "EACCES"


# --- network ----------------------------------------------------------------------------------------------------------


def connect(family: int, address: object) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as stream:
        stream.settimeout(0.5)
        try:
            stream.connect(address)  # type: ignore[arg-type]
        except socket.timeout as problem:  # noqa: UP041 - not the builtin before Python 3.10
            raise OSError(calls.errno.ETIMEDOUT, "no answer") from problem


def send_udp(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.sendto(b"\0", address)


def resolve() -> str:
    try:
        socket.getaddrinfo("example.com", 80)
    except socket.gaierror:
        return "NO-ANSWER"
    return calls.OPEN


def makes_socket(family: int, kind: int) -> Check:
    """Make a check that makes a socket by the bare system call."""
    return lambda: os.close(calls.call("socket", family, kind, 0))


def docker_socket(targets: Targets) -> str:
    return calls.first_open(
        (path, lambda path=path: connect(socket.AF_UNIX, path))
        for path in ("/var/run/docker.sock", "/run/docker.sock", *targets["docker"])
    )


# --- kernel interfaces ------------------------------------------------------------------------------------------------


def try_call(name: str, *arguments: object) -> None:
    """Make a system call and close its descriptor; a refused argument means that the call is allowed."""
    try:
        result = calls.call(name, *arguments)
    except OSError as problem:
        if problem.errno in (calls.errno.EINVAL, calls.errno.EFAULT, calls.errno.EBADF):
            return
        raise
    if name not in ("keyctl", "syslog") and result > 2:
        os.close(result)


def add_key(ring: int) -> None:
    key = calls.call("add_key", b"user", b"red-team", b"x", 1, ring)
    calls.call("keyctl", 9, key, ring, 0, 0)  # KEYCTL_UNLINK


def request_key() -> None:
    """Ask for a missing key; ENOKEY shows that the keyring was reached."""
    try:
        calls.call("request_key", b"user", b"red-team-none", None, 0)
    except OSError as problem:
        if problem.errno != calls.errno.ENOKEY:
            raise


def bpf() -> None:
    """Make a map, which is forbidden if anything of bpf is."""
    attributes = struct.pack("IIIIII", 2, 4, 8, 1, 0, 0) + bytes(104)  # BPF_MAP_TYPE_ARRAY
    os.close(calls.call("bpf", 0, attributes, len(attributes)))


def perf() -> None:
    """Count this process's faults in user mode, which is forbidden if anything of perf is."""
    attributes = struct.pack("IIQ", 1, 112, 2) + bytes(24) + struct.pack("Q", 0b1100000) + bytes(64)
    os.close(calls.call("perf_event_open", attributes, 0, -1, -1, 0))


def open_by_handle() -> None:
    handle = struct.pack("Ii", 128, 0) + bytes(128)
    buffer, mount = ctypes.create_string_buffer(handle, len(handle)), ctypes.c_int()
    calls.call("name_to_handle_at", -100, b"/usr", buffer, ctypes.byref(mount), 0)
    root = os.open("/usr", os.O_RDONLY)
    os.close(calls.call("open_by_handle_at", root, buffer, os.O_RDONLY))


def i386() -> Outcome:
    """Ask for the pid by the 32-bit system calls, which have their own table."""
    if platform.machine() != "x86_64":
        return calls.ABSENT
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20 (getpid); int 0x80; ret
    memory = mmap.mmap(-1, PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    got = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    return None if got == os.getpid() else "ENOSYS"


def x32() -> Outcome:
    if platform.machine() != "x86_64":
        return calls.ABSENT
    got = int(calls.libc.syscall(ctypes.c_long(0x40000000 | 39)))
    return None if got == os.getpid() else calls.errno.errorcode[ctypes.get_errno()]


# --- namespaces -------------------------------------------------------------------------------------------------------


def unshares(flag: int) -> Check:
    return lambda: try_call("unshare", flag)


def clone_user(more: int = 0) -> None:
    arguments = (CLONE_NEWUSER | more | signal.SIGCHLD, 0, 0, 0, 0)
    pid = calls.call("clone", *arguments)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def clone3_user() -> None:
    """Start such a child by clone3, whose flags no filter sees."""
    arguments = struct.pack("8Q", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    pid = calls.call("clone3", arguments, len(arguments))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def mount_in_user_namespace() -> None:
    """Become root of a new user namespace and mount there, as kernel exploits often begin."""
    calls.call("unshare", CLONE_NEWUSER | NAMESPACES["mount"])
    calls.libc_mount("none", tempfile.gettempdir(), "tmpfs")


def enter_first_process() -> str:
    def enter(kind: str) -> Check:
        def check() -> None:
            descriptor = os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)
            try:
                calls.call("setns", descriptor, 0)
            finally:
                os.close(descriptor)

        return check

    return calls.first_open((kind, enter(kind)) for kind in ("user", "mnt", "net", "ipc", "uts", "pid", "cgroup"))


def gain_by_exec() -> str:
    """Run every setuid program, and look for a change of user."""
    for folder in ("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"):
        for path in _setuid_programs(folder):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.dup2(writing, 1)
                os.dup2(writing, 2)
                os.execv(path, [path, "--help"])
            effective = _effective_user(child)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)
            if effective is not None and effective != os.geteuid():
                return f"{calls.OPEN} {path}"
    return calls.ABSENT


def _setuid_programs(folder: str) -> Iterator[str]:
    if os.path.isdir(folder):
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False) and entry.stat().st_mode & stat.S_ISUID:
                    yield entry.path


def _effective_user(pid: int) -> int | None:
    end = time.monotonic() + 0.05
    found = None
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                found = next(int(line.split()[2]) for line in file if line.startswith("Uid:"))
        except (OSError, StopIteration):
            break
        if found != os.geteuid():
            break
    return found


def _status(field: str) -> str:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next(line.split()[1] for line in file if line.startswith(field + ":"))


def no_new_privileges() -> str:
    return calls.ABSENT if _status("NoNewPrivs") == "1" else calls.OPEN


def capabilities() -> str:
    held = {name: _status(name) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")}
    return f"{calls.OPEN} {held}" if any(int(value, 16) for value in held.values()) else calls.ABSENT


def push_input() -> None:
    for end in range(3):
        if os.isatty(end):
            fcntl.ioctl(end, termios.TIOCSTI, b"\n")
            return
    fcntl.ioctl(0, termios.TIOCSTI, b"\n")


def session() -> str:
    with open("/proc/self/stat", "rb") as file:
        terminal = int(file.read().rpartition(b")")[2].split()[4])
    return calls.OPEN if terminal else calls.ABSENT


# --- files ------------------------------------------------------------------------------------------------------------


def any_writable(root: str) -> str:
    """Try to open each file of a tree for writing; return OPEN and the first path that works."""
    end = time.monotonic() + WALK_S
    words = set()
    if not os.path.isdir(root):
        return "ENOENT"
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if path in ASKS_LATER:
                continue
            word = calls.word_of(lambda path=path: calls.write_open(path))
            if word == calls.OPEN:
                return f"{calls.OPEN} {path}"
            words.add(word)
        if time.monotonic() > end:
            break
    return " ".join(sorted(words - {"EINVAL", "EIO", "ENOENT", "ENXIO"})) or calls.ABSENT


def control_writable() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "file"), "w", encoding="ascii"):
            pass
        if not any_writable(folder).startswith(calls.OPEN):
            raise OSError(calls.errno.EACCES, "not found")


def cgroup_folder() -> str:
    roots = [folder for folder, _, _ in list(os.walk("/sys/fs/cgroup"))[:100]]

    def make(folder: str) -> Check:
        def check() -> None:
            path = os.path.join(folder, "red-team")
            os.mkdir(path)
            os.rmdir(path)

        return check

    return calls.first_open((folder, make(folder)) for folder in roots)


def terminal() -> None:
    for end in os.openpty():
        os.close(end)


def disk() -> str:
    """Return the first disk's device path, or a likely one."""
    names = ("vda", "sda", "nvme0n1", "xvda", "loop0")
    return next((f"/dev/{name}" for name in names if os.path.exists(f"/dev/{name}")), "/dev/vda")


def reads(path: str) -> None:
    with open(path, "rb", buffering=0) as file:
        file.read(64)


def lists(path: str) -> Outcome:
    """List a folder; an empty one counts as absent."""
    return None if os.listdir(path) else calls.ABSENT


def homes(targets: Targets) -> str:
    """Look into everybody's home for more than the interpreter that the box shows."""
    shown = [str(path) for path in targets["interpreters"]]
    places = ["/root", *(os.path.join("/home", name) for name in _names("/home"))]
    return calls.first_open((path, lambda path=path: _strange(path, shown)) for path in places)


def _strange(folder: str, shown: list[str]) -> Outcome:
    """Return None (OPEN) if a folder holds more than the shown paths and their parents."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if path in shown:
            continue
        if not any(prefix.startswith(path + "/") for prefix in shown) or _strange(path, shown) is None:
            return None
    return calls.ABSENT


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def first_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline().strip()


def user_name() -> str:
    """Return this user's name, "" if it has none."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def same(here: str, digest: str) -> str:
    """Compare a text with the host's, known by its digest so that it stays secret."""
    return calls.OPEN if here and hashlib.sha256(here.encode()).hexdigest() == digest else "DIFFERENT"
