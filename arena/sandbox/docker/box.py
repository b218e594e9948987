"""Run programs in hardened Docker containers, with named pipes that bypass the daemon.

container.py starts one container; engine.py calls the daemon and watches its events. Must not know the protocol.

A container's processes are moved into a control group of this process. The group provides CPU time, freezing and the
cause of a limit, as in a bubblewrap box. So the engine must run on this machine with its processes visible, and this
process must be able to make groups; otherwise Docker boxes are unavailable.

The shell that is process 1 reports the program's exit code: the program's own end. If process 1 ends without a
report, the engine is asked. It is a SandboxError if the engine doesn't answer, was lost meanwhile, no longer knows
the container or ended it for another client; a program can't cause any of these. Otherwise it is the program's own
end."""

import contextlib
import functools
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from arena.sandbox.backends import Backend
from arena.sandbox.box import CLOSE_MS, Box, Exit, Program, ProgramError, Sandbox, SandboxError, with_cause
from arena.sandbox.cgroup_box import CgroupBox
from arena.sandbox.docker.container import (
    LANGUAGES,
    LIE,
    Container,
    ContainerConfig,
    command_inside,
    language,
    missing_image_problem,
    parse_exit,
)
from arena.sandbox.docker.engine import get_engine
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy, host_problem_of, run_self_test
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Cgroup, cgroup, processes
from arena.sandbox.program_files import Programs

VERDICT_S = 2.0  # for the engine's events of a container that died: they come within 0.1 s
DYING_S = 0.5  # for process 1 to be dead after it closed `status`: it waits for all others, perhaps of ten bots at once
SETTLE_S = 0.1  # a container's "kill" may come after its "die"


class DockerSandbox(Sandbox):
    """Start programs in containers, with folders below `scratch`, which is made when missing."""

    name = "docker"
    can_freeze = True

    def __init__(self, scratch: Path, runtime: str | None = None, image: str | None = None) -> None:
        """Connect.

        runtime: such as runsc, None for the engine's default. image: for all programs, None for the one that fits each.
        Raises HostProblemError, in one line with the command that fixes it, if no box can start.
        """
        groups = cgroup.hierarchy()
        if groups is None:
            raise HostProblemError(cgroup.cgroup_problem() or HostProblem("there are no control groups"))
        self._groups = groups
        self._scratch = scratch.absolute()
        self._runtime = runtime
        self._image = image
        self._engine = get_engine()
        self._engine.check_runtime(runtime)
        self._engine.events.watch()
        self._closed = False

    @property
    def note(self) -> str:
        """Describe the sandbox and what it blocks."""
        runtime = f" under {self._runtime}" if self._runtime else ""
        return (
            f"docker: a container{runtime} for each bot, without network, capabilities or writable files but /tmp; "
            "limits by control groups"
        )

    @property
    def reports_wait_time(self) -> bool:
        """Whether the kernel reports it."""
        return processes.has_schedstat()

    def start(self, program: Program, limits: Limits) -> Box:
        """Start the program; see `Sandbox.start`."""
        if not program.argv:
            raise ProgramError("the command is empty")
        words = command_inside(program)
        wrapped = command_inside(replace(program, argv=program.wrapped_command)) if program.wrapped_command else words
        config = ContainerConfig(self._image or f"coup-arena/{language(wrapped)}", limits, self._runtime)
        group = self._groups.make(replace(limits, processes=limits.processes + 1))  # process 1 is ours
        try:
            container = Container(self._engine, config, program, words, self._scratch, group)
        except BaseException:
            group.remove()
            raise
        return DockerBox(container, group)

    def close(self) -> None:
        """End the watch; removals continue, and the end of this process waits for them."""
        if not self._closed:
            self._closed = True
            self._engine.events.unwatch()


class DockerBox(CgroupBox):
    """One program in a container, over named pipes; see `Box`."""

    _group: Cgroup  # it always has one

    def __init__(self, container: Container, group: Cgroup) -> None:
        super().__init__(container.config.limits, group)
        self.pid: int | None = container.pid
        self.stdin = container.stdin
        self.stdout = container.stdout
        self.stderr = container.stderr
        self._engine = container.engine
        self._container = container
        self._exit: Exit | None = None

    def exit(self) -> Exit | None:
        """Return how the program ended, or None; asks the engine, for up to 2 s, only if the container was killed."""
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
        return with_cause(parse_exit(code), self._group.counted(), self._excess)

    def _asked(self) -> Exit:
        """Find out how a container came to its end without a word. Raises SandboxError if it wasn't the program."""
        if not self._container.dead(DYING_S):
            return Exit(None, None)  # the program has closed `status` in process 1, or filled it
        end = time.monotonic() + VERDICT_S
        while self._container.id not in self._engine.events.died and time.monotonic() < end:
            self._check()
            time.sleep(SETTLE_S / 10)
        time.sleep(SETTLE_S)
        self._check()
        state = self._engine.call(self._engine.api.inspect_container, self._container.id)["State"]
        return with_cause(parse_exit(int(state["ExitCode"])), self._group.counted())

    def _check(self) -> None:
        """Raise SandboxError if the engine was lost, or has ended the container for another client."""
        if self._engine.events.outages != self._container.outages:
            raise SandboxError("the Docker engine was lost during a match")
        if self._container.id in self._engine.events.killed:
            raise SandboxError("another client of the Docker engine ended a container")

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


@functools.cache
def unavailable_reason(runtime: str | None = None, image: str | None = None) -> HostProblem | None:
    """Return None because a test box ran, else why not, and the command that fixes it."""
    if sys.platform != "linux":
        return HostProblem("Docker's boxes need an engine that runs on the same Linux", Remedy.A_LINUX)
    try:
        tried = image or _some_image()
        run_self_test(lambda scratch: DockerSandbox(scratch, runtime, tried))
    except (SandboxError, ProgramError, OSError) as problem:
        return host_problem_of(problem, Remedy.ASK_DOCKER)
    return None


def _some_image() -> str:
    """Return one of our images that the engine has, any."""
    here = get_engine()
    tags = {tag for image in here.call(here.api.images) for tag in image.get("RepoTags") or ()}
    for name in LANGUAGES:
        if f"coup-arena/{name}:latest" in tags:
            return f"coup-arena/{name}"
    raise HostProblemError(missing_image_problem("coup-arena/python"))


def cleanup_stale() -> int:
    """Remove what dead processes of this host left with the engine; return how many containers. Never raises."""
    swept = 0
    with contextlib.suppress(SandboxError):
        swept = get_engine().sweep()
    cgroup.cleanup_stale()  # a container's processes are in groups of ours, too
    return swept


BACKEND = Backend(
    make=lambda choice, scratch: DockerSandbox(scratch, choice.runtime, choice.image),
    find_problem=lambda choice: unavailable_reason(choice.runtime, choice.image),
    cleanup_stale=cleanup_stale,
    programs=lambda: Programs("python3", image=True),
    supported_options=("runtime", "image"),
)
