"""Run programs in hardened Docker containers, with named pipes that bypass the daemon.

container.py starts one container; engine.py calls the daemon and watches its events. This module must not know the
protocol.

A container's processes are moved into a control group of this process. The group measures CPU time, freezes, and shows
which limit ended the program, as in a bubblewrap box. So the engine must run on this machine with its processes
visible, and this process must be able to make groups; otherwise Docker boxes are unavailable.

The shell that is process 1 reports the program's exit code. If process 1 ends without a report, the box asks the
engine. It raises SandboxError if the engine doesn't answer, was lost meanwhile, no longer knows the container or ended
it for another client; a program can't cause any of these. In all other cases the program ended by itself."""

import contextlib
import functools
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from arena.limits import Limits
from arena.sandbox.backends import Backend
from arena.sandbox.box import CLOSE_MS, Box, Exit, Program, ProgramError, Sandbox, SandboxError, with_cause
from arena.sandbox.cgroup_box import CgroupBox
from arena.sandbox.docker.command import LANGUAGES, command_inside, language
from arena.sandbox.docker.container import FORGED, Container, missing_image_problem, parse_exit
from arena.sandbox.docker.engine import get_engine
from arena.sandbox.docker.limits import ContainerConfig
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy, host_problem_of, run_self_test
from arena.sandbox.linux import Cgroup, cgroup, processes
from arena.sandbox.program_files import Programs

DYING_S = 0.5  # for process 1 to die after it closed `status`: it waits for all other processes, perhaps of ten bots
SETTLE_S = 0.1  # a container's "kill" may come after its "die"
EVENTS_S = 2.0  # for the engine's events of a container that died: they come within 0.1 s


class DockerSandbox(Sandbox):
    """The sandbox of Docker containers, with folders below `scratch`, which is created if missing."""

    name = "docker"
    can_freeze = True

    def __init__(self, scratch: Path, runtime: str | None = None, image: str | None = None) -> None:
        """Connect to the engine and watch its events.

        runtime: such as runsc, None for the engine's default. image: for all programs, None for the image of each
        program's language. Raises HostProblemError, with the command that fixes it, if no box can start.
        """
        groups = cgroup.hierarchy()
        if groups is None:
            raise HostProblemError(cgroup.cgroup_problem() or HostProblem("this machine has no control groups"))
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
            f"docker: one container{runtime} per bot, without network or capabilities; only /tmp is writable; "
            "limits by control groups"
        )

    @property
    def reports_wait_time(self) -> bool:
        """Return whether the kernel reports the waiting time of tasks."""
        return processes.has_schedstat()

    def start(self, program: Program, limits: Limits) -> Box:
        """Start a program in a new container with a control group of its own. Raises ProgramError, SandboxError."""
        if not program.argv:
            raise ProgramError("the command is empty")
        argv = command_inside(program)
        wrapped = command_inside(replace(program, argv=program.wrapped_command)) if program.wrapped_command else argv
        config = ContainerConfig(self._image or f"coup-arena/{language(wrapped)}", limits, self._runtime)
        group = self._groups.make(replace(limits, processes=limits.processes + 1))  # process 1 is ours
        try:
            container = Container(self._engine, config, program, argv, self._scratch, group)
        except BaseException:
            group.remove()
            raise
        return DockerBox(container, group)

    def close(self) -> None:
        """Stop watching events. Removals of containers continue; the end of this process waits for them."""
        if not self._closed:
            self._closed = True
            self._engine.events.unwatch()


class DockerBox(CgroupBox):
    """One program in a container, over named pipes; see `Box`."""

    _group: Cgroup  # never None

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
            self._check_engine()
            has_ended, code = self._container.poll_end()
            if has_ended:
                self._exit = self._judge_end(code)
            else:
                self._end_excess()
        return self._exit

    def _judge_end(self, code: int | None) -> Exit:
        """Return how the program ended. code: as of `Container.poll_end`.

        Raises SandboxError if the machine ran out of memory, and as `_ask_engine` does.
        """
        if self._group.host_oom():
            raise SandboxError("the machine ran out of memory, and its kernel killed a bot")
        if code == FORGED:
            return Exit(None, None)
        if code is None:
            # If this box killed a program that used up its CPU time, process 1 died with it: the engine isn't asked.
            return self._ask_engine() if self._excess is None else Exit(None, signal.SIGKILL, self._excess)
        return with_cause(parse_exit(code), self._group.counted(), self._excess)

    def _ask_engine(self) -> Exit:
        """Ask the engine how a container ended without a report. Raises SandboxError if the program didn't cause it."""
        if not self._container.wait_dead(DYING_S):
            return Exit(None, None)  # the program has closed `status` in process 1, or filled it
        deadline = time.monotonic() + EVENTS_S
        while self._container.id not in self._engine.events.died and time.monotonic() < deadline:
            self._check_engine()
            time.sleep(SETTLE_S / 10)
        time.sleep(SETTLE_S)
        self._check_engine()
        state = self._engine.call(self._engine.api.inspect_container, self._container.id)["State"]
        return with_cause(parse_exit(int(state["ExitCode"])), self._group.counted())

    def _check_engine(self) -> None:
        """Raise SandboxError if the engine was lost, or has ended the container for another client."""
        if self._engine.events.outages != self._container.outages:
            raise SandboxError("the Docker engine was lost during a match")
        if self._container.id in self._engine.events.killed:
            raise SandboxError("another client of the Docker engine ended a container")

    def close_stdin(self) -> None:
        """Close the program's standard input."""
        self._container.close_stdin()
        self.stdin = -1

    def close(self) -> Exit:
        """Kill the container, close the pipes, and queue the removal; see `Box.close`."""
        if not self._closed:
            deadline = time.monotonic() + CLOSE_MS / 1000
            if self._exit is None:
                has_ended, code = self._container.poll_end()
                if has_ended and code is not None:
                    with contextlib.suppress(SandboxError):
                        self._exit = self._judge_end(code)
            self._closed = True
            self._kill_all()
            if self._container.wait_dead(deadline - time.monotonic()):
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
    """Return why Docker boxes can't run, with the command that fixes it, or None: a test box ran."""
    if sys.platform != "linux":
        return HostProblem("Docker boxes need a Docker engine on the same Linux machine", Remedy.A_LINUX)
    try:
        test_image = image or _find_any_image()
        run_self_test(lambda scratch: DockerSandbox(scratch, runtime, test_image))
    except (SandboxError, ProgramError, OSError) as problem:
        return host_problem_of(problem, Remedy.ASK_DOCKER)
    return None


def _find_any_image() -> str:
    """Return any of our images that the engine has. Raises HostProblemError if it has none."""
    engine = get_engine()
    tags = {tag for image in engine.call(engine.api.images) for tag in image.get("RepoTags") or ()}
    for name in LANGUAGES:
        if f"coup-arena/{name}:latest" in tags:
            return f"coup-arena/{name}"
    raise HostProblemError(missing_image_problem("coup-arena/python"))


def cleanup_stale() -> int:
    """Remove the containers of dead processes of this host; return how many. This never raises."""
    removed = 0
    with contextlib.suppress(SandboxError):
        removed = get_engine().cleanup_stale()
    cgroup.cleanup_stale()  # their processes were in control groups of the dead processes
    return removed


BACKEND = Backend(
    make=lambda choice, scratch: DockerSandbox(scratch, choice.runtime, choice.image),
    find_problem=lambda choice: unavailable_reason(choice.runtime, choice.image),
    cleanup_stale=cleanup_stale,
    programs=lambda: Programs("python3", image=True),
    supported_options=("runtime", "image"),
)
