"""The step before a program: system calls that only the new process itself can make, as a tiny executable.

Linux on x86_64 only; must not know what the calls are for. `executable` gives a file of some hundred bytes that makes
the calls, one after the other, and then becomes the program. It needs no library, so it adds a fifth to what vfork and
exec cost. Python's code between fork and exec would make them five times as dear: it needs a copy of all of Python.

Theory of operation. The kernel puts arguments and environment on the stack, and the step hands both on. It is
straight-line code: each call is the same instructions with other numbers.

    registers := the call's arguments and number; call; where it failed: report (its place, errno), and exit

The report is closed on exec, so who reads it sees end of file when the program runs. Each path that can't be executed
reports its errno; if all do, that is the end.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

MACHINE = "x86_64"
FAILED = 255  # the exit code of a process that became no program
REPORT = struct.Struct("<ii")  # the place of what failed, in the list of the calls and then the paths; errno

# <asm/unistd_64.h>
NUMBERS = {
    "write": 1,
    "close": 3,
    "fcntl": 72,
    "getppid": 110,
    "setgroups": 116,
    "setresuid": 117,
    "setresgid": 119,
    "prctl": 157,
    "setrlimit": 160,
    "mount": 165,
    "exit_group": 231,
    "unshare": 272,
    "setns": 308,
    "move_mount": 429,
}

_BASE = 0x400000  # where the file stands in memory
_HEADERS = struct.Struct("<16sHHIQQQIHHHHHH IIQQQQQQ")  # of ELF: of the file, and of its one segment

# The instructions; N is a number that follows. r12 and r13 hold the place of the arguments and of the environment, ebx
# the place of a call in the list. No call has more than five arguments: mov rdi, N; for rsi, rdx, r10, r8 likewise.
_ARGUMENT = tuple(bytes.fromhex(code) for code in ("48bf", "48be", "48ba", "49ba", "49b8"))
_BEGIN = bytes.fromhex("488b0c24 4c8d642408 4c8d6ccc10")  # mov rcx,[rsp]; lea r12,[rsp+8]; lea r13,[rsp+rcx*8+16]
_PLACE = b"\xbb"  # mov ebx, N
_NUMBER = b"\xb8"  # mov eax, N
_CALL = bytes.fromhex("0f05")  # syscall
_COMPARE = bytes.fromhex("483d")  # cmp rax, N
_QUIT_UNLESS_EQUAL = bytes.fromhex("0f85")  # jne N
_SKIP_IF_WELL = bytes.fromhex("4885c0 790a")  # test rax,rax; jns over the next two, which are 10 bytes
_RUN_REPORT, _JUMP = b"\xe8", b"\xe9"  # call N; jmp N
_EXECUTE = bytes.fromhex("4c89e6 4c89ea b83b000000 0f05")  # mov rsi,r12; mov rdx,r13; mov eax,execve; syscall
# neg eax; shl rax,32; or rax,rbx; push rax; mov rsi,rsp; mov edx,8; mov edi, N
_REPORT = bytes.fromhex("f7d8 48c1e020 4809d8 50 4889e6 ba08000000 bf")
_REPORTED = bytes.fromhex("b801000000 0f05 58 c3")  # mov eax,write; syscall; pop rax; ret
_QUIT = bytes.fromhex("bfff000000 b8e7000000 0f05")  # mov edi,FAILED; mov eax,exit_group; syscall


class Call(NamedTuple):
    """One call by its name in libc; `what` says in a few words what it does.

    The process ends if it returns an error, which is reported, or if something is `expected`, and it returns
    something else.
    """

    what: str
    name: str
    arguments: tuple[int | bytes, ...] = ()
    expected: int | None = None


def executable(calls: Sequence[Call], paths: Sequence[bytes], report: int) -> bytes:
    """Return an ELF file that makes the calls, and executes the first of the paths that can be; `report` is a pipe.

    Bytes among the arguments are handed over by their address. No path may hold a NUL byte.
    """
    routines = _REPORT + struct.pack("<i", report) + _REPORTED
    quit_at = len(routines)
    begin = quit_at + len(_QUIT)
    code = bytearray(routines + _QUIT + _BEGIN)
    data, holes = bytearray(), []  # where in the code the address of which data belongs

    def load(register: int, value: int | bytes) -> None:
        code.extend(_ARGUMENT[register])
        if isinstance(value, bytes):
            holes.append((len(code), len(data)))
            data.extend(value + b"\0")
        code.extend(struct.pack("<Q", 0 if isinstance(value, bytes) else value & 2**64 - 1))

    def jump(instruction: bytes, target: int) -> None:
        code.extend(instruction + struct.pack("<i", target - len(code) - len(instruction) - 4))

    for place, call in enumerate(calls):
        for register, value in enumerate(call.arguments):
            load(register, value)
        code += _PLACE + struct.pack("<i", place) + _NUMBER + struct.pack("<i", NUMBERS[call.name]) + _CALL
        if call.expected is None:
            code += _SKIP_IF_WELL
            jump(_RUN_REPORT, 0)
            jump(_JUMP, quit_at)
        else:
            code += _COMPARE + struct.pack("<i", call.expected)
            jump(_QUIT_UNLESS_EQUAL, quit_at)
    for place, path in enumerate(paths, len(calls)):
        load(0, path)
        code += _PLACE + struct.pack("<i", place) + _EXECUTE
        jump(_RUN_REPORT, 0)
    jump(_JUMP, quit_at)
    start = _BASE + _HEADERS.size
    for hole, offset in holes:
        struct.pack_into("<Q", code, hole, start + len(code) + offset)
    return _headers(start + begin, len(code) + len(data)) + code + data


def _headers(entry: int, size: int) -> bytes:
    """Return the headers of a file for x86_64 (62) whose one segment is all of it, to be read and executed (5)."""
    identity = b"\x7fELF" + bytes((2, 1, 1))  # 64 bits, little-endian, version 1
    file = (identity, 2, 62, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size += _HEADERS.size
    return _HEADERS.pack(*file, 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
