"""A new process: a program in a session of its own, with three pipes, after calls that only the process can make.

Must not know what the calls are for, nor what the program is. Where it can, the calls are made by a tiny executable
(arena/sandbox/linux/step.py), so that subprocess may use vfork. Elsewhere (macOS, other processors, a Linux that
executes no file in memory) Python makes them between fork and exec, which takes longer, and can deadlock in a process
that has other threads.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from arena.sandbox.box import SandboxError
from arena.sandbox.linux import Call, step

_ABSENT = (errno.ENOENT, errno.ENOTDIR)  # the next folder of PATH may have it
_PASSING = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)  # says nothing about the next time


def spawn(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    calls: Sequence[Call],
    *,
    passed: Sequence[int] = (),
    lent: Sequence[int] = (),
    by_step: bool | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program, and return when it runs.

    It gets the `passed` descriptors under their numbers; the calls alone may use those `lent`. `by_step` says who makes
    the calls; None: a step if that works here. Raises OSError, whose `filename` is `cwd` if that was it; ValueError for
    a NUL byte; SandboxError for a call that failed. Then nothing is left behind.
    """
    with contextlib.ExitStack() as closing, contextlib.ExitStack() as undo:
        reader, report = os.pipe()
        closing.callback(os.close, reader)
        with contextlib.ExitStack() as theirs:
            theirs.callback(os.close, report)
            if step_works() if by_step is None else by_step:
                file = os.memfd_create("step")
                theirs.callback(os.close, file)
                calls = [
                    Call("report", "fcntl", (report, fcntl.F_SETFD, fcntl.FD_CLOEXEC)),
                    *calls,
                    *(Call("close", "close", (descriptor,)) for descriptor in (*lent, file)),
                ]
                os.write(file, step.executable(calls, _paths(argv[0], env), report))
                popen = _popen(argv, cwd, env, passed=(*passed, *lent, file, report), file=file)
            else:
                popen = _popen(argv, cwd, env, passed=passed, entry=_entry(calls, report))
            undo.callback(_end, popen)
        said = b""
        while piece := os.read(reader, 65536):
            said += piece
        failure = _failure(argv, env, calls, list(step.REPORT.iter_unpack(said)))
        if failure is not None:
            raise failure
        undo.pop_all()
        return popen


@functools.cache
def step_works() -> bool:
    """Tell whether this machine executes a step, by trying one. Raises OSError where it lacks something just now."""
    if sys.platform != "linux" or platform.machine() != step.MACHINE or sys.maxsize < 2**32:
        return False
    try:
        with open(os.memfd_create("step"), "wb", 0) as file:
            file.write(step.executable([Call("leave", "exit_group", (0,))], [], 0))
            with _popen(["step"], "/", {}, passed=(file.fileno(),), file=file.fileno()) as popen:
                return popen.wait() == 0
    except OSError as error:
        if error.errno in _PASSING:
            raise
        return False


def _popen(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    *,
    passed: Sequence[int],
    file: int | None = None,
    entry: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        executable=None if file is None else f"/proc/self/fd/{file}",
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        pass_fds=passed,
        start_new_session=True,
        preexec_fn=entry,
    )


def _paths(name: str, env: Mapping[str, str]) -> list[bytes]:
    """Return what the name of a program may mean, as subprocess does."""
    if os.path.dirname(name):
        return [os.fsencode(name)]
    return [os.fsencode(os.path.join(folder, name)) for folder in os.get_exec_path(env)]


def _entry(calls: Sequence[Call], report: int) -> Callable[[], None]:
    """Return what makes the calls in the child; it is prepared before the fork, and only makes them."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = []
    for place, call in enumerate(calls):
        function = getattr(libc, call.name, None)
        if function is None:  # it is newer than this libc, and has the same number on all processors
            function = functools.partial(libc.syscall, step.NUMBERS[call.name])
        made.append((functools.partial(function, *call.arguments), call.expected, place))

    def enter() -> None:
        for function, expected, place in made:
            result = function()
            if expected is None and result < 0:
                os.write(report, step.REPORT.pack(place, ctypes.get_errno()))
            if (expected is None and result < 0) or (expected is not None and result != expected):
                os._exit(step.FAILED)

    return enter


def _end(popen: subprocess.Popen[bytes]) -> None:
    """End a process that nobody will get, and close its pipes."""
    popen.kill()
    popen.wait()
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            pipe.close()


def _failure(
    argv: Sequence[str], env: Mapping[str, str], calls: Sequence[Call], failed: list[tuple[int, int]]
) -> OSError | SandboxError | None:
    """Return what went wrong, None if the program runs: some folders of PATH may not have had it."""
    if not failed:
        return None
    place, number = failed[0]
    if place < len(calls):
        return SandboxError(f"can't prepare the process of {argv[0]}: {calls[place].what}: {os.strerror(number)}")
    if len(failed) < len(_paths(argv[0], env)):
        return None
    numbers = [number for _, number in failed]
    number = next((number for number in numbers if number not in _ABSENT), numbers[-1])
    return OSError(number, os.strerror(number), argv[0])
