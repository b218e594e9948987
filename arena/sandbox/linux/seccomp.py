"""Define the system calls that a program may not make: one table, as a BPF program and as a Docker profile.

This module must not know which code installs the filter. The policy is a deny-list: languages need too many different
calls for a small project to maintain an allow-list, and the namespaces, not this filter, isolate files, processes and
network. The filter closes paths that the namespaces leave open:

    the kernel's surface    io_uring, bpf, userfaultfd, perf, keys, mounts, new namespaces, foreign ABIs: where exploits
                            begin, and useless to a program that reads and writes lines
    the network             all sockets except AF_UNIX; also those outside network namespaces (AF_VSOCK)
    activity of others      leases, watches and locks on shared files; the state of the page cache; sysinfo(2), which
                            shows the machine's load and free memory. They fail with ENOSYS, as on a kernel without
                            them

Arguments are always compared in their low 32 bits, under a mask: the kernel truncates int arguments, so a program that
sets a high bit would pass a comparison of 64 bits.

`bpf` writes the filter without libseccomp, which isn't always installed; so the tests evaluate the filter that runs.
Order: architecture, x32, then one block per call that ends in a verdict, so that no jump is longer than its block.
Since Linux 5.11 the kernel caches which calls are always allowed, so only calls with checked arguments take longer, by
about 0.2 us.

Locks can harm processes outside of boxes. A reader may lock a file of the host and block its owner: scripts lock
themselves (flock(1)), rpm locks its files below /usr. And no limit counts the memory of record locks (CVE-2022-0480):
on Linux 6.18, 240,000 took 45 MB and 0.6 s of processor time.

Left open, because closing them breaks languages: the speed of reading a shared file (is it cached?), processor time,
shared futexes, and, without root, per-user counters such as that of pipe pages. Channels between two conspiring bots
are left open, too, if they carry less than the channels that can't be closed. tests/sandbox/linux/left_open.py gives
the reason for each call, socket option, and command of fcntl and ioctl that isn't in the table.
"""

import errno
import functools
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass

ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_*, <linux/audit.h>
DOCKER_ARCHES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
X32_BIT = 0x40000000  # <asm/unistd.h>: the third ABI of x86, with numbers of its own under the same architecture
WORD = 0xFFFFFFFF

KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000  # SECCOMP_RET_*, <linux/seccomp.h>


@dataclass(frozen=True, slots=True)
class Compare:
    """A test that (argument & mask) == value, or != value if `equal` is false. `argument` counts from 0."""

    argument: int
    mask: int
    value: int
    equal: bool = True

    def __post_init__(self) -> None:
        assert 0 <= self.argument < 6
        assert 0 < self.mask <= WORD
        assert self.value & ~self.mask == 0


@dataclass(frozen=True, slots=True)
class Rule:
    """A system call that fails with `errno` if any of the tests is true, or always without tests.

    `x86_64` and `aarch64` are its numbers in <asm/unistd_64.h> and <asm-generic/unistd.h>, None if one lacks the call.
    """

    name: str
    x86_64: int | None
    aarch64: int | None
    errno: int
    tests: tuple[Compare, ...] = ()

    def number(self, arch: str) -> int | None:
        """Return the call's number on "x86_64" or "aarch64", None if the architecture lacks the call."""
        return self.x86_64 if arch == "x86_64" else self.aarch64


def _is(argument: int, *values: int) -> tuple[Compare, ...]:
    return tuple(Compare(argument, WORD, value) for value in values)


def _any_bit(argument: int, *bits: int) -> tuple[Compare, ...]:
    return tuple(Compare(argument, bit, bit) for bit in bits)


AF_UNIX = 1
_OTHER_FAMILY = (Compare(0, WORD, AF_UNIX, equal=False),)
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, <linux/sched.h>; clone can't make a time namespace
# and CLONE_PIDFD, for the reason of pidfd_open
_CLONE = _any_bit(0, 0x1000, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
# F_GETLK, F_SETLK, F_SETLKW, F_OFD_*, F_SETLEASE, F_GETLEASE, F_NOTIFY, F_GET_RW_HINT and F_SET_RW_HINT (which before
# Linux 6.9 any user could set on a file), F_GETDELEG, F_SETDELEG, <linux/fcntl.h>
_LOCKS = _is(1, 5, 6, 7, 36, 37, 38, 1024, 1025, 1026, 1035, 1036, 1039, 1040)
# All types except 'T' (terminals, pipes, sockets): others describe file systems, or load modules for interfaces and
# bridges. Of 'T', the requests that type into our parent's terminal (TIOCSTI, TIOCLINUX), and TIOCSETD, which loads a
# module
_CONTROLS = (Compare(1, 0xFF00, 0x5400, equal=False), *_is(1, 0x5412, 0x541C, 0x5423))
# MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB: pages reserved for others, which memory limits don't count
_HUGE_MAP, _HUGE_FILE, _HUGE_SEGMENT = _any_bit(3, 0x40000), _any_bit(1, 0x4), _any_bit(2, 0x800)
# SO_COOKIE, SO_NETNS_COOKIE, SO_PASSPIDFD, SO_PEERPIDFD, <asm-generic/socket.h>: the machine numbers these for all
_NUMBERED = _is(2, 57, 71, 76, 77)
# SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF and _REUSEPORT_EBPF: programs, for whose code the machine has one limit; and
# SO_PASSPIDFD, whose messages would bring pidfds
_PROGRAMS = _is(2, 26, 50, 51, 52, 76)
_CACHE_FLAGS = _any_bit(5, 0x08, 0x80)  # RWF_NOWAIT asks whether a page is cached, RWF_DONTCACHE throws it out

RULES = (
    # --- memory that outlives a box, or belongs to the user and not to the namespace
    Rule("add_key", 248, 217, errno.EPERM),
    Rule("request_key", 249, 218, errno.EPERM),
    Rule("keyctl", 250, 219, errno.EPERM),
    # --- sockets
    Rule("socket", 41, 198, errno.EAFNOSUPPORT, _OTHER_FAMILY),
    Rule("socketpair", 53, 199, errno.EAFNOSUPPORT, _OTHER_FAMILY),
    Rule("getsockopt", 55, 209, errno.ENOPROTOOPT, _NUMBERED),
    Rule("setsockopt", 54, 208, errno.ENOPROTOOPT, _PROGRAMS),
    # --- a second way to all other calls
    Rule("io_uring_setup", 425, 425, errno.ENOSYS),
    Rule("io_uring_enter", 426, 426, errno.ENOSYS),
    Rule("io_uring_register", 427, 427, errno.ENOSYS),
    Rule("io_setup", 206, 0, errno.ENOSYS),  # one limit for the contexts of the whole machine
    # --- namespaces; clone3 hides its flags in memory, and a C library falls back to clone
    Rule("clone", 56, 220, errno.EPERM, _CLONE),
    Rule("clone3", 435, 435, errno.ENOSYS),
    Rule("unshare", 272, 97, errno.EPERM),
    Rule("setns", 308, 268, errno.EPERM),
    # --- mounts
    Rule("mount", 165, 40, errno.EPERM),
    Rule("umount2", 166, 39, errno.EPERM),
    Rule("pivot_root", 155, 41, errno.EPERM),
    Rule("chroot", 161, 51, errno.EPERM),
    Rule("open_tree", 428, 428, errno.EPERM),
    Rule("open_tree_attr", 467, 467, errno.EPERM),
    Rule("move_mount", 429, 429, errno.EPERM),
    Rule("fsopen", 430, 430, errno.EPERM),
    Rule("fsconfig", 431, 431, errno.EPERM),
    Rule("fsmount", 432, 432, errno.EPERM),
    Rule("fspick", 433, 433, errno.EPERM),
    Rule("mount_setattr", 442, 442, errno.EPERM),
    Rule("statmount", 457, 457, errno.ENOSYS),  # shows mounts and namespaces
    Rule("listmount", 458, 458, errno.ENOSYS),
    Rule("listns", 470, 470, errno.ENOSYS),
    Rule("name_to_handle_at", 303, 264, errno.EPERM),
    Rule("open_by_handle_at", 304, 265, errno.EPERM),
    # --- other processes
    Rule("ptrace", 101, 117, errno.EPERM),
    Rule("process_vm_readv", 310, 270, errno.EPERM),
    Rule("process_vm_writev", 311, 271, errno.EPERM),
    Rule("process_madvise", 440, 440, errno.EPERM),
    Rule("pidfd_getfd", 438, 438, errno.EPERM),
    Rule("pidfd_open", 434, 434, errno.ENOSYS),  # its descriptors' inode numbers are a channel between bots
    Rule("kcmp", 312, 272, errno.EPERM),
    Rule("mbind", 237, 235, errno.EPERM),
    Rule("set_mempolicy", 238, 237, errno.EPERM),
    Rule("set_mempolicy_home_node", 450, 450, errno.EPERM),
    Rule("get_mempolicy", 239, 236, errno.EPERM),
    Rule("move_pages", 279, 239, errno.EPERM),
    Rule("migrate_pages", 256, 238, errno.EPERM),
    # --- where kernel exploits begin
    Rule("bpf", 321, 280, errno.EPERM),
    Rule("userfaultfd", 323, 282, errno.EPERM),
    Rule("perf_event_open", 298, 241, errno.EPERM),
    Rule("vmsplice", 278, 75, errno.EPERM),
    Rule("memfd_secret", 447, 447, errno.ENOSYS),  # memory that neither the limits nor the kernel can take back
    Rule("personality", 135, 92, errno.EPERM),
    Rule("modify_ldt", 154, None, errno.EPERM),
    Rule("lookup_dcookie", 212, 18, errno.EPERM),
    Rule("ioctl", 16, 29, errno.EOPNOTSUPP, _CONTROLS),
    # --- the machine
    Rule("mmap", 9, 222, errno.ENOMEM, _HUGE_MAP),
    Rule("memfd_create", 319, 279, errno.ENOMEM, _HUGE_FILE),
    Rule("shmget", 29, 194, errno.ENOMEM, _HUGE_SEGMENT),
    Rule("prctl", 157, 167, errno.EINVAL, _is(0, 62)),  # PR_SCHED_CORE: programs on the core's other thread
    Rule("kexec_load", 246, 104, errno.EPERM),
    Rule("kexec_file_load", 320, 294, errno.EPERM),
    Rule("init_module", 175, 105, errno.EPERM),
    Rule("finit_module", 313, 273, errno.EPERM),
    Rule("delete_module", 176, 106, errno.EPERM),
    Rule("fanotify_init", 300, 262, errno.EPERM),
    Rule("fanotify_mark", 301, 263, errno.EPERM),
    Rule("quotactl", 179, 60, errno.EPERM),
    Rule("quotactl_fd", 443, 443, errno.EPERM),
    Rule("swapon", 167, 224, errno.EPERM),
    Rule("swapoff", 168, 225, errno.EPERM),
    Rule("reboot", 169, 142, errno.EPERM),
    Rule("syslog", 103, 116, errno.EPERM),
    Rule("acct", 163, 89, errno.EPERM),
    Rule("settimeofday", 164, 170, errno.EPERM),
    Rule("clock_settime", 227, 112, errno.EPERM),
    Rule("adjtimex", 159, 171, errno.EPERM),
    Rule("clock_adjtime", 305, 266, errno.EPERM),
    Rule("sync", 162, 81, errno.EPERM),  # writes all unwritten data of the machine
    Rule("syncfs", 306, 267, errno.EPERM),
    Rule("sched_setaffinity", 203, 122, errno.EPERM),  # a bot stays on the cores of its worker
    # --- channels between boxes that see the same files below /usr
    Rule("futex_waitv", 449, 449, errno.ENOSYS),  # waits for 128 futexes at once, also in files; no language needs it
    Rule("fcntl", 72, 25, errno.ENOSYS, _LOCKS),
    Rule("flock", 73, 32, errno.ENOSYS),
    Rule("ustat", 136, None, errno.ENOSYS),  # the free blocks and files of any mounted file system: another's /tmp
    Rule("inotify_init", 253, None, errno.ENOSYS),
    Rule("inotify_init1", 294, 26, errno.ENOSYS),
    Rule("inotify_add_watch", 254, 27, errno.ENOSYS),
    Rule("fadvise64", 221, 223, errno.ENOSYS),  # POSIX_FADV_DONTNEED empties the cache for all
    Rule("cachestat", 451, 451, errno.ENOSYS),
    Rule("mincore", 27, 232, errno.ENOSYS),
    Rule("madvise", 28, 233, errno.EINVAL, _is(2, 21)),  # MADV_PAGEOUT, as fadvise64
    Rule("preadv2", 327, 286, errno.EOPNOTSUPP, _CACHE_FLAGS),
    # --- the load of the machine; /proc's files on it are hidden by the boxes
    Rule("sysinfo", 99, 179, errno.ENOSYS),
)


# --- BPF --------------------------------------------------------------------------------------------------------------

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # <linux/bpf_common.h>, 32 bits, constant
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_Step = tuple[int, int, int, int]  # struct sock_filter: code, jump if true, jump if false, constant


@functools.cache
def bpf(arch: str) -> bytes:
    """Return the filter for "x86_64" or "aarch64" as an array of struct sock_filter. Raises KeyError for others."""
    steps: list[_Step] = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, ARCHES[arch]), (_RETURN, 0, 0, KILL)]
    steps.append((_LOAD, 0, 0, _NUMBER))
    if arch == "x86_64":
        steps += [(_AT_LEAST, 0, 1, X32_BIT), (_RETURN, 0, 0, KILL)]
    for rule in RULES:
        number = rule.number(arch)
        if number is not None:
            block = list(_block(rule))
            steps += [(_EQUAL, 0, len(block), number), *block]
    steps.append((_RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _block(rule: Rule) -> Iterator[_Step]:
    refuse = (_RETURN, 0, 0, ERRNO | rule.errno)
    for test in rule.tests:
        yield (_LOAD, 0, 0, _ARGUMENTS + 8 * test.argument)  # both architectures put the low half first
        yield (_AND, 0, 0, test.mask)
        yield (_EQUAL, 0, 1, test.value) if test.equal else (_EQUAL, 1, 0, test.value)
        yield refuse
    yield (_RETURN, 0, 0, ALLOW) if rule.tests else refuse


# --- Docker -----------------------------------------------------------------------------------------------------------


def docker_profile() -> str:
    """Return the same policy as the JSON text of a Docker seccomp profile.

    libseccomp kills calls of an architecture that isn't listed, such as x32. It has no masked "not equal", so that
    becomes one rule per bit. runc omits names that the engine's libseccomp doesn't know yet.
    """
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ALLOW",
            "archMap": [{"architecture": name, "subArchitectures": []} for name in DOCKER_ARCHES.values()],
            "syscalls": [entry for rule in RULES for entry in _entries(rule)],
        },
        indent=1,
    )


def _entries(rule: Rule) -> Iterator[dict[str, object]]:
    refuse = {"names": [rule.name], "action": "SCMP_ACT_ERRNO", "errnoRet": rule.errno}
    if not rule.tests:
        yield refuse
    for test in rule.tests:
        for mask, value in _equalities(test):
            argument = {"index": test.argument, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
            yield {**refuse, "args": [argument]}


def _equalities(test: Compare) -> Iterator[tuple[int, int]]:
    """Yield pairs (mask, value): the test is true if and only if (argument & mask) == value for one of them."""
    if test.equal:
        yield test.mask, test.value
        return
    for bit in (1 << place for place in range(32)):
        if test.mask & bit:
            yield bit, ~test.value & bit
