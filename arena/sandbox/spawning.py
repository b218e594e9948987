"""A new process: a program in a session of its own, with three pipes, after calls that only the process can make.

Must not know what the calls are for, nor what the program is. Python makes the calls between fork and exec, which can
deadlock in a process with other threads: a lock that one of them holds stays locked in the child. So all is prepared
before the fork, and what is left are calls of libc, which take no lock of Python's or of a library's. subprocess sees
to the rest: no garbage is collected meanwhile, and the child gets new locks of the interpreter and of imports.
"""

import ctypes
import functools
import os
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence

from arena.sandbox.box import SandboxError
from arena.sandbox.linux import Call

FAILED = 255  # the exit code of a process that became no program
_REPORT = struct.Struct("<ii")  # the place of the call that failed, and errno


def spawn(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    calls: Sequence[Call],
    passed: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a program, and return when it runs.

    It gets the `passed` descriptors under their numbers; the calls may use all. Raises OSError, whose `filename` is
    `cwd` if that was it; ValueError for a NUL byte; SandboxError for a call that failed. Then nothing is left behind.
    """
    reader, report = os.pipe()
    try:
        try:
            popen = subprocess.Popen(
                argv,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=env,
                pass_fds=passed,
                start_new_session=True,
                preexec_fn=_entry(calls, report),
            )
        finally:
            os.close(report)
        failed = os.read(reader, _REPORT.size)
    finally:
        os.close(reader)
    if failed:
        place, number = _REPORT.unpack(failed)
        _end(popen)
        raise SandboxError(f"can't prepare the process of {argv[0]}: {calls[place].what}: {os.strerror(number)}")
    return popen


def _entry(calls: Sequence[Call], report: int) -> Callable[[], None]:
    """Return what makes the calls in the child; it is prepared before the fork, and only makes them."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = [
        (functools.partial(getattr(libc, call.name), *call.arguments), call.expected, place)
        for place, call in enumerate(calls)
    ]

    def enter() -> None:
        for function, expected, place in made:
            result = function()
            if expected is None and result < 0:
                os.write(report, _REPORT.pack(place, ctypes.get_errno()))
            if (expected is None and result < 0) or (expected is not None and result != expected):
                os._exit(FAILED)

    return enter


def _end(popen: subprocess.Popen[bytes]) -> None:
    """End a process that nobody will get, and close its pipes."""
    popen.kill()
    popen.wait()
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()
