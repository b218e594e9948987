"""Programs in hardened Docker containers, with named pipes past the daemon.

Must not know the protocol. `container.py` says how one container comes up, `engine.py` how the daemon is asked,
`events.py` how it is watched.

Theory of operation. A container's processes are moved into a control group of ours: CPU time, freezing, and what limits
did come from there, as in a bubblewrap box. So the engine must be one of this machine, with its processes in sight, and
this process must be able to make groups; where that isn't so, there are no Docker boxes.

Whose fault an end is. The shell that is process 1 tells the program's exit code: the program's own end. If process 1
went without a word, the engine is asked: SandboxError if it doesn't answer, was lost meanwhile, knows the container no
more or has ended it for somebody else; a program can cause none of these. Otherwise it is the program's end.
"""

import contextlib
import signal
import time
from dataclasses import replace
from pathlib import Path

from arena.sandbox.box import CLOSE_MS, Box, Exit, Program, ProgramError, Sandbox, SandboxError
from arena.sandbox.cause import caused
from arena.sandbox.docker.command import command_inside, language
from arena.sandbox.docker.container import LIE, Container
from arena.sandbox.docker.engine import engine
from arena.sandbox.docker.recipe import Recipe
from arena.sandbox.docker.script import exit_of
from arena.sandbox.grouped import GroupedBox
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Cgroup, cgroup, tasks
from arena.sandbox.trouble import Trouble, TroubleError

VERDICT_S = 2.0  # for the engine's events of a container that died: they come within 0.1 s
DYING_S = 0.5  # for process 1 to be dead after it closed `told`: it waits for all others; ten bots can do this at once
SETTLE_S = 0.1  # a container's "kill" may come after its "die"


class DockerSandbox(Sandbox):
    """Start programs in containers, with folders below `scratch`, which is made when missing."""

    name = "docker"
    freezes = True

    def __init__(self, scratch: Path, runtime: str | None = None, image: str | None = None) -> None:
        """Connect.

        runtime: such as runsc, None for the engine's default. image: for all programs, None for the one that fits each.
        Raises TroubleError, in one line with the command that mends it, where no box can be had.
        """
        groups = cgroup.hierarchy()
        if groups is None:
            raise TroubleError(cgroup.lacking() or Trouble("there are no control groups"))
        self._groups = groups
        self._scratch = scratch.absolute()
        self._runtime = runtime
        self._image = image
        self._engine = engine()
        self._engine.check_runtime(runtime)
        self._engine.events.watch()
        self._closed = False

    @property
    def note(self) -> str:
        """Say what it is and what it blocks."""
        runtime = f" under {self._runtime}" if self._runtime else ""
        return (
            f"docker: a container{runtime} for each bot, without network, capabilities or writable files but /tmp; "
            "limits by control groups"
        )

    @property
    def tells_waits(self) -> bool:
        """Whether the kernel tells it."""
        return tasks.told()

    def start(self, program: Program, limits: Limits) -> Box:
        """Start the program; see `Sandbox.start`."""
        if not program.argv:
            raise ProgramError("the command is empty")
        words = command_inside(program)
        wrapped = command_inside(replace(program, argv=program.wraps)) if program.wraps else words
        recipe = Recipe(self._image or f"coup-arena/{language(wrapped)}", limits, self._runtime)
        group = self._groups.make(replace(limits, processes=limits.processes + 1))  # process 1 is ours
        try:
            container = Container(self._engine, recipe, program, words, self._scratch, group)
        except BaseException:
            group.remove()
            raise
        return DockerBox(container, group)

    def close(self) -> None:
        """End the watch; what is being removed goes on being removed, and the end of this process waits for it."""
        if not self._closed:
            self._closed = True
            self._engine.events.unwatch()


class DockerBox(GroupedBox):
    """One program in a container, over named pipes; see `Box`."""

    _group: Cgroup  # it always has one

    def __init__(self, container: Container, group: Cgroup) -> None:
        super().__init__(container.recipe.limits, group)
        self.pid: int | None = container.pid
        self.stdin = container.stdin
        self.stdout = container.stdout
        self.stderr = container.stderr
        self._engine = container.engine
        self._container = container
        self._exit: Exit | None = None

    def exit(self) -> Exit | None:
        """Tell how the program ended, or None; asks the engine, for up to 2 s, only if the container was killed."""
        if self._exit is None and not self._closed:
            self._check()
            ended, code = self._container.ended()
            if ended:
                self._exit = self._ended(code)
            else:
                self._end_excess()
        return self._exit

    def _ended(self, code: int | None) -> Exit:
        if self._group.host_oom():
            raise SandboxError("the machine ran out of memory, and its kernel ended a bot")
        if code == LIE:
            return Exit(None, None)
        if code is None:
            # This box killed a program that used up its CPU time, and process 1 with it: no question is needed.
            return self._asked() if self._excess is None else Exit(None, signal.SIGKILL, self._excess)
        return caused(exit_of(code), self._group.counted(), self._excess)

    def _asked(self) -> Exit:
        """Find out how a container came to its end without a word. Raises SandboxError if it wasn't the program."""
        if not self._container.dead(DYING_S):
            return Exit(None, None)  # the program has closed `told` in process 1, or filled it
        end = time.monotonic() + VERDICT_S
        while self._container.id not in self._engine.events.died and time.monotonic() < end:
            self._check()
            time.sleep(SETTLE_S / 10)
        time.sleep(SETTLE_S)
        self._check()
        state = self._engine.call(self._engine.api.inspect_container, self._container.id)["State"]
        return caused(exit_of(int(state["ExitCode"])), self._group.counted())

    def _check(self) -> None:
        """Raise SandboxError if the engine was lost, or has ended the container for somebody else."""
        if self._engine.events.outages != self._container.outages:
            raise SandboxError("the Docker engine was lost during a match")
        if self._container.id in self._engine.events.killed:
            raise SandboxError("somebody else ended a container through the Docker engine")

    def close_stdin(self) -> None:
        """Close the end that is written to."""
        self._container.close_stdin()
        self.stdin = -1

    def close(self) -> Exit:
        """Kill, close, have the rest removed; see `Box.close`."""
        if not self._closed:
            deadline = time.monotonic() + CLOSE_MS / 1000
            if self._exit is None:
                ended, code = self._container.ended()
                if ended and code is not None:
                    with contextlib.suppress(SandboxError):
                        self._exit = self._ended(code)
            self._closed = True
            self._kill_all()
            if self._container.dead(deadline - time.monotonic()):
                self._exit = self._exit or Exit(None, signal.SIGKILL)
            self._container.remove()
            self._group.remove(max(0.0, deadline - time.monotonic()))
            self.stdin = self.stdout = self.stderr = -1
        return self._exit or Exit(None, None)

    def _kill_all(self) -> None:
        with contextlib.suppress(OSError):
            self._group.kill()
