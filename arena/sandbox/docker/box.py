"""Programs in hardened Docker containers, with named pipes past the daemon.

Must not know the protocol. `container.py` says how one container comes up, `engine.py` how the daemon is asked,
`events.py` how it is watched. `abilities.py` finds out what works by trying a real container, once a process. An engine
that shares no kernel with this process (Docker Desktop, another host) can't have the pipes, and so isn't used.

Theory of operation. As root (or with a delegated cgroup) a container's processes are moved into a group of ours: CPU
time, freezing, and what limits did come from there, as in a bubblewrap box. Otherwise CPU time is read from the
processes' clocks.

Whose fault an end is. The shell that is process 1 tells the program's exit code: the program's own end. If process 1
went without a word, the engine is asked: SandboxError if it doesn't answer, was lost meanwhile, knows the container no
more or has ended it for somebody else; a program can cause none of these. Otherwise it is the program's end.
"""

import contextlib
import signal
import time
from dataclasses import replace
from pathlib import Path

from arena.sandbox.box import CLOSE_MS, Box, Counted, Exit, Program, ProgramError, Sandbox, SandboxError, Spent
from arena.sandbox.cause import caused
from arena.sandbox.docker.abilities import check_runtime, limits_told, unenforced, what_works
from arena.sandbox.docker.command import command_inside, language
from arena.sandbox.docker.container import LIE, Container
from arena.sandbox.docker.engine import Engine, engine
from arena.sandbox.docker.recipe import Recipe
from arena.sandbox.docker.script import exit_of
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Cgroup, Watch, tasks

VERDICT_S = 2.0  # for the engine's events of a container that died: they come within 0.1 s
DYING_S = 0.5  # for process 1 to be dead after it closed `told`: it waits for all others; ten bots can do this at once
SETTLE_S = 0.1  # a container's "kill" may come after its "die"


class DockerSandbox(Sandbox):
    """Start programs in containers, with folders below `scratch`, which is made when missing."""

    name = "docker"

    def __init__(
        self, scratch: Path, runtime: str | None = None, image: str | None = None, groups: bool = True
    ) -> None:
        """Connect, and try with a container what works here.

        runtime: such as runsc, None for the engine's default. image: for all programs, None for the one that fits each.
        groups: whether to use control groups of ours, where they work. Raises SandboxError in one line, with the
        command that mends it.
        """
        self._scratch = scratch.absolute()
        self._runtime = runtime
        self._image = image
        self._engine = engine()
        check_runtime(self._engine, runtime)
        _, found = what_works(runtime, image)
        self._abilities = replace(found, groups=found.groups and groups)
        self._engine.events.watch()
        self._closed = False

    @property
    def note(self) -> str:
        """Say what it is and what it blocks."""
        runtime = f" under {self._runtime}" if self._runtime else ""
        return (
            f"docker: a container{runtime} for each bot, without network, capabilities or writable files but /tmp; "
            f"{limits_told(self._engine.info, self._abilities.controllers)}"
        )

    @property
    def unenforced(self) -> frozenset[str]:
        """The limits that the engine leaves out, and that no group of ours holds."""
        return unenforced(self._engine.info, self._abilities.controllers)

    @property
    def tells_waits(self) -> bool:
        """Whether the tasks of containers can be seen here."""
        return tasks.told() and (self._abilities.groups or self._abilities.clocks)

    @property
    def freezes(self) -> bool:
        """Whether programs can be frozen."""
        return "freeze" in self._abilities.controllers

    def start(self, program: Program, limits: Limits) -> Box:
        """Start the program; see `Sandbox.start`."""
        if not program.argv:
            raise ProgramError("the command is empty")
        words = command_inside(program)
        recipe = Recipe(self._image or f"coup-arena/{language(words)}", limits, self._runtime)
        container = Container(self._engine, recipe, program, words, self._scratch)
        group = None
        try:
            if self._abilities.groups:
                group = container.into_group()
            container.release()
        except BaseException:
            container.remove()
            if group is not None:
                group.remove()
            raise
        return DockerBox(self._engine, container, group)

    def close(self) -> None:
        """End the watch; what is being removed goes on being removed, and the end of this process waits for it."""
        if not self._closed:
            self._closed = True
            self._engine.events.unwatch()


class DockerBox(Box):
    """One program in a container, over named pipes; see `Box`."""

    def __init__(self, engine: Engine, container: Container, group: Cgroup | None) -> None:
        self.pid: int | None = container.pid if container.pid > 0 else None
        self.stdin = container.stdin
        self.stdout = container.stdout
        self.stderr = container.stderr
        self._engine = engine
        self._container = container
        self._group = group
        watch = Watch(lambda: [container.root_pid], container.recipe.limits) if container.pid > 0 else None
        self._counter = group or watch
        self._cpu_ns = container.recipe.limits.cpu_s * 1_000_000_000
        self._limit: str | None = None
        self._exit: Exit | None = None
        self._closed = False

    def exit(self) -> Exit | None:
        """Tell how the program ended, or None; asks the engine, for up to 2 s, only if the container was killed."""
        if self._exit is None and not self._closed:
            self._check()
            ended, code = self._container.ended()
            if ended:
                self._exit = self._ended(code)
            elif self._group is not None and self._group.cpu_ns() >= self._cpu_ns:
                self._limit = "cpu_s"
                self._group.kill()
        return self._exit

    def _ended(self, code: int | None) -> Exit:
        if self._group is not None and self._group.host_oom():
            raise SandboxError("the machine ran out of memory, and its kernel ended a bot")
        if code == LIE:
            return Exit(None, None)
        if code is None:
            # This box killed a program that used up its CPU time, and process 1 with it: no question is needed.
            return self._asked() if self._limit is None else Exit(None, signal.SIGKILL, self._limit)
        return caused(exit_of(code), self._counted(self._container.id in self._engine.events.oom), self._limit)

    def _asked(self) -> Exit:
        """Find out how a container came to its end without a word. Raises SandboxError if it wasn't the program."""
        if self._container.root_pid > 0 and not self._container.dead(DYING_S):
            return Exit(None, None)  # the program has closed `told` in process 1, or filled it
        end = time.monotonic() + VERDICT_S
        while self._container.id not in self._engine.events.died and time.monotonic() < end:
            self._check()
            time.sleep(SETTLE_S / 10)
        time.sleep(SETTLE_S)
        self._check()
        state = self._engine.call(self._engine.api.inspect_container, self._container.id)["State"]
        if state.get("Running"):
            return Exit(None, None)  # process 1 lives: the program has taken its place on `told`
        return caused(exit_of(int(state["ExitCode"])), self._counted(bool(state.get("OOMKilled"))))

    def _counted(self, oom: bool) -> Counted:
        """Return what the group has counted; without one, what the engine tells: that memory cost a process."""
        if self._group is not None:
            return self._group.counted()
        return (("memory_mb", 1),) if oom else ()

    def _check(self) -> None:
        """Raise SandboxError if the engine was lost, or has ended the container for somebody else."""
        if self._engine.events.outages != self._container.outages:
            raise SandboxError("the Docker engine was lost during a match")
        if self._container.id in self._engine.events.killed:
            raise SandboxError("somebody else ended a container through the Docker engine")

    def cpu_ns(self) -> int | None:
        """Return the CPU time used, in ns."""
        if self._closed or self._counter is None:
            return None
        self._check()
        return self._counter.cpu_ns()

    def peak_bytes(self) -> int | None:
        """Return the most memory that the control group has had at a time."""
        return None if self._closed or self._group is None else self._group.peak_bytes()

    def spent(self) -> dict[int, Spent] | None:
        """Return what each task has spent; see `Box.spent`."""
        return None if self._closed or self._counter is None else tasks.spent(self._counter.tasks())

    def ready(self) -> bool:
        """Tell whether a task is on a core, or waits for one."""
        return not self._closed and self._counter is not None and tasks.ready(self._counter.tasks())

    def freeze(self) -> None:
        """Stop the program and its descendants."""
        if not self._closed:
            self._check()
            if self._group is not None:
                self._group.freeze()

    def thaw(self) -> None:
        """Let them go on."""
        if not self._closed:
            self._check()
            if self._group is not None:
                self._group.thaw()

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
            self._kill(deadline)
            self._container.remove()
            self.stdin = self.stdout = self.stderr = -1
        return self._exit or Exit(None, None)

    def _kill(self, deadline: float) -> None:
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.kill()
        self._container.end()
        if self._container.dead(deadline - time.monotonic()):
            self._exit = self._exit or Exit(None, signal.SIGKILL)
        if self._group is not None:
            self._group.remove(max(0.0, deadline - time.monotonic()))
