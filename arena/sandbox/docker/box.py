"""Programs in hardened Docker containers, with named pipes past the daemon and the next match's started ahead.

Must not know the protocol. `container.py` says how one container comes up, `engine.py` how the daemon is
asked and watched, `attach.py` what serves where daemon and referee don't share a kernel; which of the two ways works is
found by trying it with a real container, once a process.

Theory of operation. Containers of equal image and limits are interchangeable until they get a program; `pool.py` starts
the next match's ahead. As root (or with a delegated
cgroup), a container's processes are moved into a group of ours: CPU time, freezing, and what limits did
come from there, as in a bubblewrap box. Else CPU time is read from the processes' clocks.

Whose fault an end is. The shell that is process 1 tells the program's exit code: the program's own end. If process 1
went without a word, the engine is asked: SandboxError if it doesn't answer, was lost meanwhile, knows the container no
more or has ended it for somebody else; a program can cause none of these. Otherwise it is the program's end.
"""

import contextlib
import functools
import os
import re
import signal
import stat
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.sandbox.box import CLOSE_MS, Box, Counted, Exit, Program, ProgramError, Sandbox, SandboxError
from arena.sandbox.bundle import INSIDE, argv_inside, own_files
from arena.sandbox.cause import caused
from arena.sandbox.docker.attach import AttachBox
from arena.sandbox.docker.container import LIE, Container, Recipe, exit_of, missing
from arena.sandbox.docker.engine import Engine, engine
from arena.sandbox.docker.pool import Kept, Pool
from arena.sandbox.limits import Limits
from arena.sandbox.linux import Cgroup, Watch, hierarchy
from arena.sandbox.trouble import Remedy, Trouble, TroubleError, trouble_of

LANGUAGES = ("python", "node", "native", "java")  # each has an image, arena/sandbox/docker/images/LANGUAGE.Dockerfile
TRIAL_S = 10.0  # for a container that is to prove that pipes work: twenty times what it takes
VERDICT_S = 2.0  # for the engine's events of a container that died: they come within 0.1 s
DYING_S = 0.5  # for process 1 to be dead after it closed `told`: it waits for all others; ten bots can do this at once
SETTLE_S = 0.1  # a container's "kill" may come after its "die"
SHEBANG_BYTES = 256  # what Linux reads of a first line


class DockerSandbox(Sandbox):
    """Start programs in containers, with folders below `scratch`, which is made when missing."""

    name = "docker"

    def __init__(
        self,
        scratch: Path,
        runtime: str | None = None,
        image: str | None = None,
        ahead: int = 0,
        attach: bool | None = None,
    ) -> None:
        """Connect, and try with a container what works here.

        runtime: such as runsc, None for the engine's default. image: for all programs, None for the one that fits each.
        ahead: containers kept started. attach: whether lines go through the daemon, None to find out. Raises
        SandboxError in one line, with the command that mends it.
        """
        self._scratch = scratch.absolute()
        self._runtime = runtime
        self._image = image
        self._engine = engine()
        _check_runtime(self._engine, runtime)
        if attach:
            self._abilities = Abilities(pipes=False, groups=False, clocks=False, why="asked for")
        else:
            self._abilities = abilities(os.getpid(), self._engine, runtime, image or _some_image(self._engine))
        if attach is False and not self._abilities.pipes:
            raise SandboxError(f"named pipes into a container don't work here: {self._abilities.why}")
        self._engine.watch()
        self._closed = False
        self._pool = Pool(self._keep, ahead)

    @property
    def note(self) -> str:
        """Say what it is and what it blocks."""
        runtime = f" under {self._runtime}" if self._runtime else ""
        text = (
            f"docker: a container{runtime} for each bot, without network, capabilities or writable files but /tmp; "
            f"{limits_told(self._engine.info, self._controllers)}"
        )
        if not self._abilities.pipes:
            text += f"; lines go through the daemon, which is slower ({self._abilities.why})"
        return text

    @property
    def unenforced(self) -> frozenset[str]:
        """The limits that the engine leaves out, and that no group of ours holds."""
        return unenforced(self._engine.info, self._controllers)

    @property
    def _controllers(self) -> frozenset[str]:
        return controllers(self._abilities)

    @property
    def accounts_cpu(self) -> bool:
        """Whether CPU time is known."""
        return self._abilities.groups or self._abilities.clocks

    @property
    def freezes(self) -> bool:
        """Whether programs can be frozen."""
        return "freeze" in self._controllers

    def start(self, program: Program, limits: Limits) -> Box:
        """Start the program; see `Sandbox.start`."""
        if not program.argv:
            raise ProgramError("the command is empty")
        words = command_inside(program)
        recipe = Recipe(self._image or f"coup-arena/{language(words)}", limits, self._runtime)
        if not self._abilities.pipes:
            return AttachBox(self._engine, recipe, program, words, self._scratch)
        kept = self._pool.take(recipe) or self._keep(recipe)
        try:
            kept.container.release(program, words)
        except BaseException:
            kept.remove()
            raise
        return DockerBox(self._engine, kept)

    @property
    def waiting(self) -> int:
        """How many containers are started and wait for a program."""
        return self._pool.waiting

    def _keep(self, recipe: Recipe) -> Kept:
        return Kept(Container(self._engine, recipe, self._scratch), self._abilities.groups)

    def close(self) -> None:
        """Remove the containers started ahead, and wait, not for long, for all that are being removed."""
        if not self._closed:
            self._closed = True
            self._pool.close()
            self._engine.drain()
            self._engine.unwatch()


class DockerBox(Box):
    """One program in a container, over named pipes; see `Box`."""

    def __init__(self, engine: Engine, kept: Kept) -> None:
        container = kept.container
        self.pid: int | None = container.pid if container.pid > 0 else None
        self.stdin = container.stdin
        self.stdout = container.stdout
        self.stderr = container.stderr
        self._engine = engine
        self._outages = container.outages
        self._container = container
        self._id = container.id
        self._group = kept.group
        self._watch = Watch(lambda: [container.root_pid], container.recipe.limits) if container.pid > 0 else None
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
            # What we ended for its CPU time, with process 1, needs no question.
            return self._asked() if self._limit is None else Exit(None, signal.SIGKILL, self._limit)
        return caused(exit_of(code), self._counted(self._id in self._engine.oom), self._limit)

    def _asked(self) -> Exit:
        """Find out how a container came to its end without a word. Raises SandboxError if it wasn't the program."""
        if self._container.root_pid > 0 and not self._container.dead(DYING_S):
            return Exit(None, None)  # the program has closed `told` in process 1, or filled it
        end = time.monotonic() + VERDICT_S
        while self._id not in self._engine.died and time.monotonic() < end:
            self._check()
            time.sleep(SETTLE_S / 10)
        time.sleep(SETTLE_S)
        self._check()
        state = self._engine.call(self._engine.api.inspect_container, self._id)["State"]
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
        if self._engine.outages != self._outages:
            raise SandboxError("the Docker engine was lost in mid match")
        if self._id in self._engine.killed:
            raise SandboxError("somebody else ended a container through the Docker engine")

    def cpu_ns(self) -> int | None:
        """Return the CPU time used, in ns."""
        if not self._closed:
            self._check()
            if self._group is not None:
                return self._group.cpu_ns()
            if self._watch is not None:
                return self._watch.cpu_ns()
        return None

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
            self._exit = self._exit or Exit(None, 9)
        if self._group is not None:
            self._group.remove(max(0.0, deadline - time.monotonic()))


# --- what a command is in a container ---------------------------------------------------------------------------------


def command_inside(program: Program) -> tuple[str, ...]:
    """Return the command as it is written in a container: programs of this machine are looked up by name there.

    A program of the bot's own that begins with #! is spelled out, since the interpreter's path is this machine's.
    """
    words = list(argv_inside(program))
    own = _own_file(program, words[0])
    line = None if own is None or _leads_out(own, program) else _first_line(own)
    if line is not None:
        words = [*os.fsdecode(line).split(None, 1), *words]
    if os.path.isabs(words[0]) and not words[0].startswith(f"{INSIDE}/"):
        words[0] = os.path.basename(words[0])
    if re.fullmatch(r"python[0-9.]*", words[0]):
        words[0] = "python3"
    elif words[0] == "nodejs":
        words[0] = "node"
    return tuple(words)


def language(words: Sequence[str]) -> str:
    """Return which of our images runs a command: by its interpreter, behind env too."""
    for word in words:
        for part in word.split():
            name = os.path.basename(part)
            if name == "env" or part.startswith("-") or "=" in part:
                continue
            if re.fullmatch(r"(python|pypy)[0-9.]*", name):
                return "python"
            return name if name in ("node", "java") else "native"
    return "native"


def _own_file(program: Program, word: str) -> Path | None:
    """Return the file of the bot's own that a command begins with, as it is on this machine; None if it isn't one."""
    files = own_files(program)
    if word.startswith(f"{INSIDE}/"):
        return files / word.removeprefix(f"{INSIDE}/") if files.is_dir() else files
    return program.cwd / word if "/" in word and not os.path.isabs(word) else None


def _leads_out(path: Path, program: Program) -> bool:
    """Tell whether links or .. lead from a program's own files to others of this machine."""
    try:
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(own_files(program)))
    except ValueError:  # a name that no file can have
        return True


def _first_line(path: Path) -> bytes | None:
    """Return what stands behind #! in a file, None if nothing does."""
    try:
        # Neither a pipe nor a link in a bot's folder is followed: this may be a privileged user.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):  # or a name that no file can have
        return None
    try:
        head = os.read(file, SHEBANG_BYTES) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    except OSError:
        return None
    finally:
        os.close(file)
    return (head[2:].split(b"\n", 1)[0].strip() or None) if head.startswith(b"#!") else None


# --- what works here --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Abilities:
    """What was found by trying: named pipes, control groups of ours, the processes' clocks; `why` not the first."""

    pipes: bool
    groups: bool
    clocks: bool
    why: str = ""


@functools.cache
def abilities(pid: int, engine: Engine, runtime: str | None, image: str) -> Abilities:
    """Find what works with this engine. Raises SandboxError. `pid` is this process's: a fork inherits the cache."""
    import tempfile

    with engine.watched(), tempfile.TemporaryDirectory(prefix="arena-trial-") as folder:
        scratch = Path(folder)
        bot = scratch / "program"
        bot.mkdir()
        (bot / "seen").touch()
        program = Program(("test", "-e", "/bot/seen"), bot)
        recipe = Recipe(image, replace(Limits(), cores=float(engine.info.get("NCPU") or 1)), runtime)
        try:
            found = _try_pipes(engine, recipe, program, scratch)
        except SandboxError as problem:
            box = AttachBox(engine, recipe, program, program.argv, scratch)
            box.close()
            found = Abilities(pipes=False, groups=False, clocks=False, why=str(problem))
        finally:
            engine.drain()
        return found


def _try_pipes(engine: Engine, recipe: Recipe, program: Program, scratch: Path) -> Abilities:
    container = Container(engine, recipe, scratch, TRIAL_S)
    group = None
    try:
        clocks = container.pid > 0 and Watch(lambda: [container.pid], recipe.limits).cpu_ns() > 0
        group = _try_group(container)
        container.release(program, program.argv)
        end = time.monotonic() + TRIAL_S
        while not (ended := container.ended())[0]:
            if time.monotonic() > end:
                raise SandboxError("a trial program doesn't end")
            time.sleep(0.001)
        if ended[1] != 0:
            raise SandboxError("files of this machine don't reach a container")
        return Abilities(True, group is not None, clocks)
    finally:
        container.remove()
        if group is not None:
            group.remove()


def _try_group(container: Container) -> Cgroup | None:
    groups = hierarchy() if container.pid > 0 else None
    if groups is None:
        return None
    try:
        group = groups.make(container.recipe.limits)
    except SandboxError:
        return None
    try:
        group.add(container.pid)
    except OSError:
        group.remove()
        return None
    return group


# What `docker info` calls it (the first of the names that is there) -> the field of Limits.
ENFORCED_BY = {"MemoryLimit": "memory_mb", "PidsLimit": "processes", "CpuCfsQuota CPUCfsQuota": "cores"}
HELD_BY = {"memory_mb": "memory", "processes": "pids", "cores": "cpu"}  # field -> controller of a group of ours
WORDS = {"memory_mb": "memory", "processes": "processes", "cores": "cores"}


def controllers(found: Abilities) -> frozenset[str]:
    """Return what the groups of ours that containers are moved into can do, as `Hierarchy.controllers` has it."""
    groups = hierarchy() if found.groups else None
    return frozenset() if groups is None else groups.controllers


def unenforced(info: dict[str, Any], held: frozenset[str]) -> frozenset[str]:
    """Return the fields of Limits that nothing enforces: an engine drops them from a container with a mere warning.

    info: the engine's, in which what is missing counts as not there. held: the controllers of groups of ours.
    """
    return frozenset(
        field
        for names, field in ENFORCED_BY.items()
        if not any(info.get(name) for name in names.split()) and HELD_BY[field] not in held
    )


def swap_escapes(info: dict[str, Any]) -> bool:
    """Tell whether a container may swap out as much again as it may have in memory."""
    return not info.get("SwapLimit")


def limits_told(info: dict[str, Any], held: frozenset[str]) -> str:
    """Say in a few words which limits hold."""
    none = [word for field, word in WORDS.items() if field in unenforced(info, held)]
    if none:
        return f"NO LIMIT here of {', '.join(none)}"
    return "limits by the kernel" + (", but of memory without swap" if swap_escapes(info) else "")


def what_works(runtime: str | None = None, image: str | None = None) -> tuple[Engine, Abilities]:
    """Return the engine and what was found by trying it, which happens once a process. Raises SandboxError."""
    here = engine()
    return here, abilities(os.getpid(), here, runtime, image or _some_image(here))


def why_not(runtime: str | None = None, image: str | None = None) -> Trouble | None:
    """Return None if a container could be started, else why not, and the command that mends it."""
    try:
        here = engine()
        here.call(here.api.ping)
        _check_runtime(here, runtime)
        what_works(runtime, image)
    except (SandboxError, ProgramError) as problem:
        return trouble_of(problem, Remedy.ASK_DOCKER)
    return None


def sweep() -> int:
    """Remove what dead processes of this host left with the engine; return how many containers. Never raises."""
    with contextlib.suppress(SandboxError):
        return engine().sweep()
    return 0


def _check_runtime(engine: Engine, runtime: str | None) -> None:
    known = engine.call(engine.api.info).get("Runtimes") or {}
    if runtime is not None and runtime not in known:
        text = f"the Docker engine knows no runtime {runtime} (it has {', '.join(runtimes(known))})"
        raise TroubleError(Trouble(text, Remedy.INSTALL_RUNSC if runtime == "runsc" else Remedy.NAME_RUNTIME))


def runtimes(known: Iterable[str]) -> list[str]:
    """Return the runtimes that a user may name, sorted: those with a dot are the engine's own shims."""
    return sorted(name for name in known if "." not in name)


def _some_image(engine: Engine) -> str:
    tags = {tag for image in engine.call(engine.api.images) for tag in image.get("RepoTags") or ()}
    for name in LANGUAGES:
        if f"coup-arena/{name}:latest" in tags:
            return f"coup-arena/{name}"
    raise TroubleError(missing("coup-arena/python"))
