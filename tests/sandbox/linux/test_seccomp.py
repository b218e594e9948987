"""Tests that the BPF program, run by a small interpreter, and the Docker profile implement the same policy.

Sources: rows 54 to 62 of tests/red_team/catalog.py; the kernel's seccomp_filter.rst. bubblewrap/test_box.py tests the
filter in the real kernel.
"""

import ctypes
import ctypes.util
import errno
import itertools
import json
import random
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox import linux
from tests.cases import each
from tests.sandbox.linux.left_open import COMMANDS, LEFT_OPEN, NEWER, NEWER_COMMANDS, NEWER_OPTIONS, OPTIONS, REQUESTS

Arguments = tuple[int, ...]
Needs = Callable[[str, str | None], None]
NONE: Arguments = (0,) * 6
HIGH = 1 << 32  # the lowest bit that the kernel drops from an int argument
X86_64_HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
GENERIC_HEADER = Path("/usr/include/asm-generic/unistd.h")
HEADERS = Path("/usr/include")
I386 = 0x40000003  # AUDIT_ARCH_I386
ACCEPTED_BY_ALL = {"x86_64": (0, 1, 3, 11, 59, 60, 231), "aarch64": (63, 64, 57, 215, 221, 93, 94)}  # read, write, ...


def run(program: bytes, arch: int, number: int, arguments: Arguments = NONE) -> int:
    """Interpret a classic BPF program over struct seccomp_data and return its verdict."""
    data = struct.pack("<IIQ6Q", number, arch, 0, *arguments)
    steps = list(struct.iter_unpack("=HBBI", program))
    at = accumulator = 0
    while True:
        code, if_true, if_false, constant = steps[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, constant)
            case 0x54:
                accumulator &= constant
            case 0x15:
                at += if_true if accumulator == constant else if_false
            case 0x35:
                at += if_true if accumulator >= constant else if_false
            case 0x06:
                return int(constant)
            case _:
                raise AssertionError(f"instruction {code:#x}")


def docker(profile: dict[str, Any], name: str, arguments: Arguments) -> int:
    """Return the verdict of a Docker profile for a call, as runc and libseccomp read it: any entry that fits."""
    for entry in profile["syscalls"]:
        if name in entry["names"] and all(fits(test, arguments) for test in entry.get("args", [])):
            assert entry["action"] == "SCMP_ACT_ERRNO"
            return linux.ERRNO | int(entry["errnoRet"])
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    return linux.ALLOW


def fits(test: dict[str, Any], arguments: Arguments) -> bool:
    assert test["op"] == "SCMP_CMP_MASKED_EQ"
    return bool(arguments[test["index"]] & test["value"] == test["valueTwo"])


def at(index: int, value: int) -> Arguments:
    return tuple(value if place == index else 0 for place in range(6))


def refused(name: str, index: int, value: int, arch: str = "x86_64") -> int | None:
    """Return the error number a call gets, None if it is allowed."""
    (number,) = {rule.number(arch) for rule in linux.RULES if rule.name == name}
    assert number is not None
    verdict = run(linux.seccomp.bpf(arch), linux.ARCHES[arch], number, at(index, value))
    return None if verdict == linux.ALLOW else verdict & 0xFFFF


@pytest.mark.parametrize("arch", linux.ARCHES)
@each("rule", [rule for rule in linux.RULES if not rule.tests])
def test_a_blocked_call_fails_whatever_its_arguments(rule: linux.Rule, arch: str) -> None:
    """It fails with the rule's own error number, on both architectures."""
    number = rule.number(arch)
    if number is None:
        assert arch == "aarch64"
        return
    for arguments in (NONE, (2**64 - 1,) * 6):
        assert run(linux.seccomp.bpf(arch), linux.ARCHES[arch], number, arguments) == linux.ERRNO | rule.errno


@pytest.mark.parametrize("arch", linux.ARCHES)
@each("rule", [rule for rule in linux.RULES if rule.tests])
def test_an_argument_is_judged_by_its_low_half(rule: linux.Rule, arch: str) -> None:
    """A rule on AF_VSOCK | 1 << 32 once passed a 64-bit comparison of isolate."""
    number = rule.number(arch)
    assert number is not None
    for test in rule.tests:
        for value in (test.value, 0, 1, 2, 5, 16, 40, 0x5412, 1024, 0x80, 0xFFFFFFFF):
            holds = any((value & t.mask == t.value) == t.equal for t in rule.tests if t.argument == test.argument)
            for high in (0, HIGH, 0xFFFFFFFF << 32):
                verdict = run(linux.seccomp.bpf(arch), linux.ARCHES[arch], number, at(test.argument, value | high))
                assert verdict == (linux.ERRNO | rule.errno if holds else linux.ALLOW)


@pytest.mark.parametrize("arch", linux.ARCHES)
def test_both_outputs_agree(arch: str) -> None:
    """One table of rules feeds both; thousands of calls, most near the tests' own values."""
    profile = json.loads(linux.seccomp.docker_profile())
    program = linux.seccomp.bpf(arch)
    rng = random.Random(arch)
    names = {rule.number(arch): rule.name for rule in linux.RULES if rule.number(arch) is not None}
    seen = set()
    for number in (*names, *ACCEPTED_BY_ALL[arch], *range(500, 520)):
        name = names.get(number, "another")
        assert number is not None
        for arguments in itertools.chain(near_the_tests(name, rng), (NONE,)):
            verdict = run(program, linux.ARCHES[arch], number, arguments)
            assert verdict == docker(profile, name, arguments), (name, arguments)
            seen.add(verdict)
    assert {
        linux.ALLOW,
        linux.ERRNO | errno.EPERM,
        linux.ERRNO | errno.ENOSYS,
        linux.ERRNO | errno.EAFNOSUPPORT,
    } <= seen


def near_the_tests(name: str, rng: random.Random) -> Iterator[Arguments]:
    tests = [test for rule in linux.RULES if rule.name == name for test in rule.tests]
    for _ in range(200 if tests else 3):
        arguments = [rng.getrandbits(64) for _ in range(6)]
        for test in tests:
            arguments[test.argument] = rng.choice(
                (test.value, rng.choice(tests).value ^ 1 << rng.randrange(32), rng.getrandbits(64), rng.randrange(64))
            ) | rng.choice((0, HIGH, rng.getrandbits(32) << 32))
        yield tuple(arguments)


def test_the_profile_writes_out_not_equal_bit_by_bit() -> None:
    """libseccomp has no masked "not equal": of all families below 256, and of high bits, only AF_UNIX passes."""
    profile = json.loads(linux.seccomp.docker_profile())
    allowed = [family for family in range(256) if docker(profile, "socket", at(0, family)) == linux.ALLOW]
    assert allowed == [1]
    assert [bit for bit in range(32) if docker(profile, "socket", at(0, 1 | 1 << bit)) == linux.ALLOW] == [0]
    assert docker(profile, "socket", at(0, 1 | HIGH)) == linux.ALLOW  # which the kernel takes for AF_UNIX


def test_the_filter_fits_a_page() -> None:
    """A box's keeper writes it at once into a pipe of one page, and sees by the free space how far bwrap is."""
    assert all(len(linux.seccomp.bpf(arch)) <= 4096 for arch in linux.ARCHES)


def test_foreign_abis_are_killed() -> None:
    """Attack list, row 61: i386's int 0x80 and x32 have other numbers for the same calls."""
    for arch, other in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
        for number in (0, 41, 250):
            assert run(linux.seccomp.bpf(arch), linux.ARCHES[other], number) == linux.KILL
            assert run(linux.seccomp.bpf(arch), I386, number) == linux.KILL
    for number in (0, 41, 512, 547):
        assert run(linux.seccomp.bpf("x86_64"), linux.ARCHES["x86_64"], linux.seccomp.X32_BIT | number) == linux.KILL


def test_named_attacks_get_the_outcome_of_the_attack_list() -> None:
    """Rows 54 to 62, and the calls that must keep working."""
    families = {"AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17, "AF_ALG": 38, "AF_VSOCK": 40}
    for family in families.values():
        assert refused("socket", 0, family) == errno.EAFNOSUPPORT
    assert refused("socket", 0, 1) is None
    assert refused("socketpair", 0, 1) is None
    thread, namespaces = 0x003D0F00, (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
    assert refused("clone", 0, thread) is None  # what pthread_create of glibc and musl passes
    assert refused("clone", 0, 0x4111) is None  # vfork
    for flag in namespaces:
        assert refused("clone", 0, flag | 17) == errno.EPERM
    for request in (0x5412, 0x541C, 0x5423, 0xC020660B, 0x8912, 0xB707):
        # TIOCSTI, TIOCLINUX, TIOCSETD, FS_IOC_FIEMAP, SIOCGIFCONF, NS_GET_MNTNS_ID
        assert refused("ioctl", 1, request) == errno.EOPNOTSUPP
    assert refused("ioctl", 1, 0x5401) is None  # TCGETS: isatty
    assert refused("ioctl", 1, 0x541B) is None  # FIONREAD
    for command in (5, 6, 7, 36, 37, 38, 1036, 1040):  # F_GETLK, ..., F_OFD_GETLK, ..., F_SET_RW_HINT, F_SETDELEG
        assert refused("fcntl", 1, command) == errno.ENOSYS
    for option in (57, 71, 76, 77):  # SO_COOKIE, SO_NETNS_COOKIE, SO_PASSPIDFD, SO_PEERPIDFD
        assert refused("getsockopt", 2, option) == errno.ENOPROTOOPT
    for option in (26, 50, 51, 52, 76):  # SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _REUSEPORT_EBPF, SO_PASSPIDFD
        assert refused("setsockopt", 2, option) == errno.ENOPROTOOPT
    for option in (3, 4, 7, 8, 16, 17):  # SO_TYPE, SO_ERROR, SO_SNDBUF, SO_RCVBUF, SO_PASSCRED, SO_PEERCRED
        assert refused("getsockopt", 2, option) is None
        assert refused("setsockopt", 2, option) is None
    for command in (0, 1, 2, 3, 4, 1030):  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
        assert refused("fcntl", 1, command) is None
    assert refused("preadv2", 5, 0) is None
    assert refused("madvise", 2, 4) is None  # MADV_DONTNEED: every allocator's


@pytest.mark.parametrize("arch", linux.ARCHES)
def test_ordinary_calls_pass(arch: str) -> None:
    for number in ACCEPTED_BY_ALL[arch]:
        assert run(linux.seccomp.bpf(arch), linux.ARCHES[arch], number, (2**64 - 1,) * 6) == linux.ALLOW


@pytest.mark.parametrize("arch", linux.ARCHES)
def test_the_kernel_accepts_the_program(arch: str) -> None:
    """seccomp_filter.rst: at most 4,096 instructions, every jump forward and inside, the last one returns."""
    steps = list(struct.iter_unpack("=HBBI", linux.seccomp.bpf(arch)))
    assert len(steps) <= 4096
    for place, (code, if_true, if_false, constant) in enumerate(steps):
        if code in (0x15, 0x35):
            assert max(if_true, if_false) + place + 1 < len(steps)
        if code == 0x20:
            assert constant % 4 == 0
            assert constant <= 60
    assert steps[-1] == (0x06, 0, 0, linux.ALLOW)


@pytest.mark.parametrize(("arch", "header"), [("x86_64", X86_64_HEADER), ("aarch64", GENERIC_HEADER)])
def test_numbers_are_those_of_the_kernels_headers(arch: str, header: Path, needs: Needs) -> None:
    """<asm/unistd_64.h> for x86_64, <asm-generic/unistd.h> for aarch64; calls newer than the header are missing."""
    needs("headers", None if header.exists() else f"{header} is missing: apt install linux-libc-dev")
    text = header.read_text()
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    known.pop("syscalls", None)  # how many there are
    checked = 0
    for rule in linux.RULES:
        if rule.name in known:
            assert rule.number(arch) == known[rule.name], rule.name
            checked += 1
        else:
            number = rule.number(arch)
            assert number is None or number > max(known.values()), rule.name
    assert checked > 60


def test_numbers_are_those_of_libseccomp(needs: Needs) -> None:
    """It is an independent table of both architectures, where the library is installed."""
    path = ctypes.util.find_library("seccomp")
    needs("libseccomp", None if path else "the library is missing: apt install libseccomp2")
    resolve = ctypes.CDLL(path).seccomp_syscall_resolve_name_arch
    resolve.argtypes, resolve.restype = [ctypes.c_uint32, ctypes.c_char_p], ctypes.c_int
    checked = 0
    for rule, (arch, token) in itertools.product(linux.RULES, linux.ARCHES.items()):
        found = resolve(token, rule.name.encode())
        if found != -1:  # -1: newer than the library; below it: not on this architecture
            assert rule.number(arch) == (found if found >= 0 else None), (rule.name, arch)
            checked += 1
    assert checked > 120


def test_an_unknown_machine_has_no_filter() -> None:
    with pytest.raises(KeyError):
        linux.seccomp.bpf("riscv64")


def test_each_allowed_call_has_a_reason(needs: Needs) -> None:
    """A deny list contains known ideas only; so the allowed calls are a table too, and a new call fails here."""
    needs("headers", None if X86_64_HEADER.exists() else f"{X86_64_HEADER} is missing: apt install linux-libc-dev")
    found = re.findall(r"#define __NR_(\w+)\s+(\d+)", X86_64_HEADER.read_text())
    calls = {**{name: int(number) for name, number in found}, **NEWER}
    refused_always = {rule.name for rule in linux.RULES if not rule.tests}
    listed = [name for _, names in LEFT_OPEN for name in names.split()]
    assert [name for name in calls if name not in refused_always and name not in listed] == []
    assert [name for name in listed if name in refused_always or name not in calls] == []
    assert len(listed) == len(set(listed))
    assert {rule.name for rule in linux.RULES if rule.tests} <= set(listed)


def require_judged(found: dict[str, int], table: tuple[tuple[str, str], ...], refuse: Callable[[int], bool]) -> None:
    """Assert that each name of the headers is refused, by its number, or in the table, which has no other."""
    patterns = [pattern for _, names in table for pattern in names.split()]
    passed = [name for name, number in found.items() if not refuse(number)]
    assert [name for name in passed if sum(fnmatchcase(name, pattern) for pattern in patterns) != 1] == []
    assert [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in passed)] == []


def definitions_in(names: Sequence[str], pattern: str) -> dict[str, int]:
    """Return the names and numbers that headers define; the rest of a line is a comment."""
    text = "".join((HEADERS / name).read_text() for name in names)
    text = text.replace("F_LINUX_SPECIFIC_BASE", "1024")
    found = re.findall(rf"^#\s*define\s+({pattern})\s+(\(?[0-9a-fA-Fx+ ]+\)?)(?:\s*/\*.*)?$", text, re.MULTILINE)
    return {name: sum(int(part, 0) for part in value.strip("() ").split("+")) for name, value in found}


def requests() -> dict[str, int]:
    """Return the requests of the kernel's headers, by their names: type and number, without direction and size."""
    found = definitions_in(
        ("asm-generic/ioctls.h", "asm-generic/sockios.h", "linux/sockios.h"), r"(?:TC|TIOC|FIO|SIOC)\w+"
    )
    found = {name: number for name, number in found.items() if not name.startswith(("TIOCPKT_", "TIOCSER_"))}
    for header in (HEADERS / "asm-generic/ioctls.h", *HEADERS.glob("linux/*.h")):
        text = header.read_text(errors="replace")
        for name, kind, number in re.findall(r"define\s+(\w+)\s+_IO[WR]*\(\s*('.'|\w+)\s*,\s*('.'|\w+)\s*[,)]", text):
            values = [value_of(word, text) for word in (kind, number)]
            if None not in values:
                found[name] = values[0] << 8 | values[1]  # type: ignore[operator]
    return found


def value_of(word: str, text: str) -> int | None:
    """Return the number of a name in a header, None if it isn't in the same file."""
    if word[0] == "'":
        return ord(word[1])
    if word[0].isdigit():
        return int(word, 0)
    output = re.search(rf"define\s+{word}\s+\(?('.'|\d\w*)", text)
    return output and value_of(output[1], "")


def test_each_allowed_option_command_and_request_has_a_reason(needs: Needs) -> None:
    needs("headers", None if GENERIC_HEADER.exists() else f"{GENERIC_HEADER} is missing: apt install linux-libc-dev")
    options = {**definitions_in(["asm-generic/socket.h"], r"S(?:O|CM)_\w+"), **NEWER_OPTIONS}
    require_judged(
        options, OPTIONS, lambda number: bool(refused("getsockopt", 2, number) or refused("setsockopt", 2, number))
    )
    commands = definitions_in(["asm-generic/fcntl.h", "linux/fcntl.h"], r"F_(?!SEAL_|OWNER_|\w*LCK\b|LINUX)\w+")
    require_judged({**commands, **NEWER_COMMANDS}, COMMANDS, lambda number: refused("fcntl", 1, number) is not None)
    found = requests()
    assert {number >> 8 for number in found.values() if refused("ioctl", 1, number) is None} == {ord("T")}
    require_judged(found, REQUESTS, lambda number: refused("ioctl", 1, number) is not None)
    assert (len(options) > 70, len(commands) > 30, len(found) > 1000) == (True, True, True)


def test_reasons_name_the_open_channels_of_the_security_model() -> None:
    """The rates of all channels are documented; pipe-pages are open to users only."""
    named = {
        name.strip()
        for reason, _ in LEFT_OPEN
        if reason.startswith("OPEN ")
        for name in reason.removeprefix("OPEN ").partition(":")[0].split(",")
    }
    page = Path(__file__).parents[3].joinpath("docs/explanation/security-model.md").read_text(encoding="utf-8")
    assert named - {"pipe-pages"} == set(re.findall(r"^\| `([a-z-]+)`: ", page, re.MULTILINE))
