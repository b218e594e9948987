"""A program in namespaces of its own, made by bubblewrap: for untrusted code. Linux only.

Must not know what the bytes mean. In its box a program sees /usr and its interpreter read-only, a copy of its own files
at /bot, an empty /tmp of limited size, its own processes, no network, and the system calls that `seccomp` leaves. Files
of /proc that tell what others do are hidden, or covered by empty or fixed ones.

Theory of operation. `start` prepares a stage (stage.py), which holds what the box shows (options.py), and spawns bwrap
(keeper.py). The options go through a descriptor and the environment is empty, since both are seen in the box as those
of process 1. bwrap makes the namespaces, tells the number of their first process, makes the mounts, and waits for the
end of the filter of system calls. Meanwhile that process is moved into the control group from outside, and as root all
of its /proc but processes is hidden, which bwrap can't do. Then the filter ends, and bwrap executes the program:

    referee -- bwrap, outside of the namespaces and of the group: reports the exit code on a pipe closed to the program
                 -- process 1 of the namespaces: reaps; when it dies, all of them die
                      -- the program

Root never runs bwrap as root, whose sysctls would stay writable: each box has a user id of its own on this machine
(arena/sandbox/linux/uids.py). An ordinary user's boxes run as that user.

When bwrap ends, its last children are killed with it. Two ends are never the program's fault: bwrap itself was killed,
or the kernel killed because the whole machine lacked memory.

Without control groups RLIMIT_NPROC bounds the processes, and RLIMIT_DATA the memory of each, roughly.

Known limits:

- The parent-death signal follows the THREAD that called `start`: start boxes from a thread that lives as long as they.
- What another thread forks while a box starts has copies of its pipes until it ends or executes a program: until then
  `start` may wait, and the program may not see the end of its input.
- bwrap reports death by signal N as exit code 128 + N, so a program that exits with such a code is taken for killed.
- /tmp has no limit of files, but memory's.
- An ordinary user's boxes share what the kernel counts per user (pages of pipes), and see in mountinfo where their
  stage lies.
"""

import contextlib
import errno
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from arena.sandbox import bundle
from arena.sandbox.box import CLOSE_MS, Exit, Program, ProgramError, SandboxError
from arena.sandbox.bubblewrap import options, toolchain
from arena.sandbox.bubblewrap.command import check, check_format, command_inside
from arena.sandbox.bubblewrap.held import HeldPipes
from arena.sandbox.bubblewrap.keeper import Keeper, keep
from arena.sandbox.bubblewrap.stage import FolderStage, MountStage
from arena.sandbox.cause import caused
from arena.sandbox.child import THEIR_ERRNOS, ChildBox, ChildSandbox
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Call, Cgroup, Watch, launch, tasks, uids
from arena.sandbox.wait import reap_late

INIT = 1  # bwrap's own process in the namespaces, which the limit of processes must leave room for
KEEPERS = 4  # what RLIMIT_NPROC counts besides: bwrap twice, and its helpers while it starts
LOCKED_BYTES = 64 * 1024  # Linux's old default: locked memory can't be swapped out
SIGNALLED = 128  # added by bwrap, as by a shell, to the number of the signal that ended the program


class BubblewrapSandbox(ChildSandbox):
    """Start programs in bubblewrap; an ordinary user's boxes have folders below `scratch`. See `ChildSandbox`."""

    name = "bubblewrap"

    @property
    def tells_waits(self) -> bool:
        """Whether the kernel tells it."""
        return tasks.told()

    @property
    def note(self) -> str:
        """One line: what it blocks, and how limits are held."""
        limits = self._limits_told + ("; only for your own bots" if self._groups is None else "")
        return f"bubblewrap: no network, other processes, files of the host or dangerous system calls; {limits}"

    @property
    def unenforced(self) -> frozenset[str]:
        """Cores, which only control groups share out."""
        return frozenset({"cores"} if self._groups is None else ())

    def start(self, program: Program, limits: Limits) -> "BubblewrapBox":
        """Start the program; see `Sandbox.start`."""
        if not program.argv:
            raise ProgramError("the command is empty")
        with contextlib.ExitStack() as undo:
            return self._start(program, limits, undo)

    def _start(self, program: Program, limits: Limits, undo: contextlib.ExitStack) -> "BubblewrapBox":
        try:
            launch.become_subreaper(os.getpid())  # to reap process 1 of a box whose bwrap is gone
            reap_late()
            check(program)
            command = command_inside(program)
            trees = toolchain.shown(command, Path(bundle.INSIDE))
            slot = uids.take() if os.geteuid() == 0 else None
            if slot is not None:
                undo.callback(slot.release)
            stage = FolderStage(self._scratch) if slot is None else MountStage(slot.uid, trees, limits.memory_mb)
            undo.callback(stage.remove)
            options.furnish(stage.path, limits)
            (stage.path / "bot").mkdir()
            bundle.copy_files(program, stage.path / "bot", limits.memory_mb)
            present = check_format(program, stage.path / "bot")
            group = None if self._groups is None else self._groups.make(_with_init(limits))
            if group is not None:
                undo.callback(group.remove)
            words = [*options.view(stage, trees, limits), *options.environment(trees, limits)]
            words += ["--chdir", bundle.cwd_inside(program)]
            argv = [command, *bundle.argv_inside(program)[1:]]
            forks = limits.processes + KEEPERS if group is None else None  # a slot's user runs bwrap too
            calls = stage.calls() + _limited(limits, group is None, None if slot is None else forks)
            keeper = keep(words, argv, calls)
            undo.callback(keeper.end_unstarted)
            stage.settle()
            keeper.confine(group, forks if slot is None else None)
            if stage.hides:
                keeper.await_ready()
                stage.hide(keeper.init)
            keeper.release()
            keeper.await_exec(command, present)
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise ProgramError(f"{program.argv[0]}: {THEIR_ERRNOS[errno.E2BIG]}") from error
            raise SandboxError(f"can't make a box: {error.strerror or error}") from error
        except ValueError as error:  # a NUL byte or a lone surrogate in argv, cwd or env
            raise ProgramError(f"{program.argv[0]!r}: {error}") from error
        undo.pop_all()
        return BubblewrapBox(keeper, stage, slot, group, limits)


class BubblewrapBox(ChildBox):
    """One program in its namespaces; see `Box`. `pid` is the program's on this machine."""

    def __init__(
        self,
        keeper: Keeper,
        stage: FolderStage | MountStage,
        slot: uids.Slot | None,
        group: Cgroup | None,
        limits: Limits,
    ) -> None:
        watch = Watch(lambda: [keeper.init]) if group is None else None
        super().__init__(keeper.popen, limits, group, watch)
        self.pid = keeper.program
        self._keeper = keeper
        self._stage = stage
        self._slot = slot
        self._exit: Exit | None = None
        program = keeper.program
        self._pipes = None if program is None else HeldPipes(self.stdin, self.stdout, program, self._programs)

    def exit(self) -> Exit | None:
        """Tell how the program ended, or None; see `Box.exit`.

        Ends a program that used up its CPU time. Raises SandboxError when bwrap was killed or the
        machine ran out of memory.
        """
        if self._exit is None and self._closed:
            return Exit(None, None)  # the kernel didn't end it in time
        if self._exit is None:
            try:
                found = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # reaped by `close`, or by somebody's os.wait(): how it ended is lost
                return Exit(None, None)
            if found is None:
                self._end_excess()
                if self._pipes is not None and self.stdin >= 0:
                    self._pipes.look()
                return None
            self._exit = self._judge(self._keeper.exit_code(), found.si_code == os.CLD_EXITED)
        return self._exit

    def close(self) -> Exit:
        """Kill, reap, close, remove; see `Box.close`."""
        if not self._closed:
            deadline = time.monotonic() + CLOSE_MS / 1000
            with contextlib.suppress(SandboxError):  # `exit` tells its callers; here the box ends anyway
                self.exit()
            self._closed = True
            self._kill_all()
            if self._keeper.wait_dead(self._slot, deadline) and self._exit is None:
                self._exit = Exit(None, signal.SIGKILL, self._excess)
            self._close_pipes()
            self._keeper.close()
            if self._group is not None:
                self._group.remove(max(0.0, deadline - time.monotonic()))
            self._stage.remove()
        return self._exit or Exit(None, None)

    def _programs(self) -> list[int]:
        """Return the live processes of the program: all but the box's first."""
        return [pid for pid in Watch(lambda: [self._keeper.init]).pids() if pid != self._keeper.init]

    def _kill_all(self) -> None:
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.kill()
        self._keeper.kill()

    def _judge(self, code: int | None, keeper_exited: bool) -> Exit:
        """Return how it ended, by the exit code that bwrap reported, if any, and which limit did it."""
        counted = self._counted(well=code == 0 or self._excess is not None)
        if code is None:  # process 1 was killed, and with it all others
            if self._excess is None and "memory_mb" not in dict(counted) and not keeper_exited:
                raise SandboxError("bwrap was killed by somebody on this machine")
            code = SIGNALLED + signal.SIGKILL
        signalled = SIGNALLED < code < SIGNALLED + signal.NSIG
        ended = Exit(None, code - SIGNALLED) if signalled else Exit(code, None)
        return caused(ended, counted, self._excess, self._used_up(margin_s=1.0))


def _limited(limits: Limits, rough: bool, forks: int | None) -> list[Call]:
    """Return the calls that limit bwrap itself: from outside, root without CAP_SYS_RESOURCE can't."""
    wanted = {**launch.rlimits(limits, rough, forks), "memlock": (LOCKED_BYTES, LOCKED_BYTES), "msgqueue": (0, 0)}
    return launch.set_rlimits(wanted)


def _with_init(limits: Limits) -> Limits:
    return replace(limits, processes=limits.processes + INIT)
