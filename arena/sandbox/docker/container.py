r"""A hardened container and the named pipes into it, from its start until it is removed.

Must not know a program's meaning, nor matches. `box.py` hands containers out as boxes.

Theory of operation. A container's folder on the host has two parts that are mounted read-only:

    io/   (0711)  out, err, told: pipes that others may only write to (0602); in: one they may only read (0604);
                  start: the script that becomes the program
    bot/          the program's files, a copy

Process 1 is a shell that keeps `told` open, starts a second shell and reports how that one ended:

    second shell: opens out and err, tells "ready", opens in: blocks, since nobody has it open for writing
    referee:      (ready) moves both shells into a control group, then opens in: releases the second one
    second shell: runs start: working folder, environment, looks for the program, tells "go", and becomes the program
    first shell:  tells the exit code when the program is over, and ends; all that the program left running ends with it

The referee opens its reading ends before the container starts, and the writing end when a reader is there. So there is
never a false end of file, and nobody but the program holds the other ends. The daemon carries no byte.

What the program can do to this: it may write to `told` (through /proc/1/fd) and so lie about its own end. It may even
replace the code of process 1 (through /proc/1/mem, where Yama doesn't forbid it), which is therefore in the program's
control group. It can't make the container look killed from outside, which is what voids a match.
"""

import contextlib
import errno
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena.sandbox.box import Program, SandboxError
from arena.sandbox.bundle import INSIDE, copy_files
from arena.sandbox.docker.engine import FOLDER, FOLDER_PREFIX, Engine
from arena.sandbox.docker.recipe import Recipe, config, create
from arena.sandbox.docker.script import refused, start_script
from arena.sandbox.linux import Cgroup, children
from arena.sandbox.trees import remove_tree
from arena.sandbox.trouble import Remedy, Trouble, TroubleError
from arena.sandbox.wait import readable

IO = "/io"  # where the pipes are in a container
START_S = 20.0  # for a started container's first word, and for the program's: 0.1 s, on a loaded machine 1 s
POLL_S = 0.0002  # between two tries to open a pipe whose reader is about to come
TOLD_BYTES = 4096  # of what the shells tell; more is the program's own doing
LIE = -1  # no exit code: the program wrote to `told` itself

# The program is not process 1, whose default signals the kernel ignores. Process 1 ignores the signals that a shell
# would catch; they are put back for the program. Process 1 keeps no way to the daemon, which a program could flood.
SHIM = f"""
trap '' HUP INT QUIT TERM
exec 3>{IO}/told >/dev/null 2>&1
( trap - HUP INT QUIT TERM
  exec >{IO}/out 2>{IO}/err
  echo ready >&3
  exec <{IO}/in
  . {IO}/start )
echo $? >&3
"""


class Container:
    """One container with pipes, which belong to it; `remove` ends everything."""

    def __init__(
        self,
        engine: Engine,
        recipe: Recipe,
        program: Program,
        words: Sequence[str],
        scratch: Path,
        group: Cgroup,
    ) -> None:
        """Create and start it, and let it become the program, in a control group.

        words: the program's command as it is in the container. Raises ProgramError or SandboxError; then nothing is
        left but the group.
        """
        self.engine = engine
        self.recipe = recipe
        self.id = ""
        self.root_pid = -1  # process 1, as the host numbers it
        self.pid = -1  # the process that becomes the program
        self.stdin = self.stdout = self.stderr = self.told = self.pidfd = -1
        self.outages = engine.events.outages
        self._program = program
        self._words = words
        self._heard = b""  # of what the shells told, the part that nobody has taken yet
        self._removed = False
        script = start_script(program, words, recipe.limits)
        self.folder = _new_folder(scratch)
        try:
            self._furnish(script)
            self._start()
            self._join(group)
            self._release()
        except BaseException:
            self.remove()
            raise

    def _furnish(self, script: str) -> None:
        """Make the pipes, and copy what the program needs."""
        io, bot = self.folder / "io", self.folder / "bot"
        try:
            bot.mkdir()
            io.mkdir()
            for name, mode in (("in", 0o604), ("out", 0o602), ("err", 0o602), ("told", 0o602)):
                os.mkfifo(io / name)
                os.chmod(io / name, mode)  # whatever the umask is
            (io / "start").write_bytes(os.fsencode(script))
            os.chmod(io / "start", 0o444)
            os.chmod(io, 0o711)
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            self.stdout, self.stderr, self.told = (os.open(io / name, flags) for name in ("out", "err", "told"))
        except OSError as problem:
            raise SandboxError(f"can't make a container's pipes in {self.folder}: {problem.strerror}") from problem
        copy_files(self._program, bot, self.recipe.limits.memory_mb)

    def _start(self) -> None:
        """Start it, up to "ready"."""
        mounts = [_bind(self.folder / "io", IO), _bind(self.folder / "bot", INSIDE)]
        body = config(self.engine, self.recipe, ["/bin/sh", "-c", SHIM], mounts)
        body["Labels"][FOLDER] = str(self.folder)
        self.id = create(self.engine, body)
        self.engine.call(self.engine.api.start, self.id)
        self.root_pid = int(self.engine.call(self.engine.api.inspect_container, self.id)["State"]["Pid"])
        self.pidfd = self._seen(self.root_pid)
        word = self._next_word()
        if word != "ready":
            raise SandboxError(f"a container of {self.recipe.image} didn't come up: it told {word!r}")
        found = children(self.root_pid)
        if not found:
            raise SandboxError(f"a container of {self.recipe.image} ended as it came up")
        self.pid = found[0]

    def _seen(self, pid: int) -> int:
        """Return a handle of its process 1. Raises TroubleError where that isn't a process that is seen from here."""
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            if self.id in Path(f"/proc/{pid}/cgroup").read_text():
                return handle
            os.close(handle)
        text = "the processes of this Docker engine's containers aren't seen from here (Docker Desktop, another host)"
        raise TroubleError(Trouble(text, Remedy.ENGINE_HERE))

    def _join(self, group: Cgroup) -> None:
        """Move its processes into the group: both, since a program may bring process 1 to run code of its own."""
        try:
            group.add(self.root_pid)
            group.add(self.pid)
        except OSError as problem:
            raise SandboxError(f"a container's process can't be put into a cgroup: {problem}") from problem
        group.seal()

    def _release(self) -> None:
        """Let it become the program."""
        self.stdin = self._open_in()
        word = self._next_word()
        if theirs := refused(word, self._program, self._words, self.recipe.image):
            raise theirs
        if word != "go":
            raise SandboxError(f"a container of {self.recipe.image} can't start a program: it told {word!r}")

    def _open_in(self) -> int:
        end = time.monotonic() + START_S
        while True:
            try:
                return os.open(self.folder / "io" / "in", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as problem:
                if problem.errno != errno.ENXIO or time.monotonic() > end:
                    raise SandboxError(f"a container doesn't open its pipes: {problem.strerror}") from problem
                time.sleep(POLL_S)

    def _next_word(self) -> str:
        """Wait for the next line that the shells tell; "" at their end."""
        end = time.monotonic() + START_S
        while b"\n" not in self._heard:
            left = end - time.monotonic()
            if left <= 0 or not readable(self.told, left):
                raise SandboxError(f"a container of {self.recipe.image} said nothing for {START_S:g} s")
            if not self._read_told():
                return ""
        word, _, self._heard = self._heard.partition(b"\n")
        return word.decode("ascii", "replace")

    def _read_told(self) -> bool:
        """Take what the shells have told since; False at their end."""
        try:
            data = os.read(self.told, TOLD_BYTES)
        except BlockingIOError:
            return True
        self._heard = (self._heard + data)[:TOLD_BYTES]
        return bool(data)

    def ended(self) -> tuple[bool, int | None]:
        """Tell whether its program has ended, and the code that the shell told: None for none, LIE for another word."""
        if self.told < 0:
            return True, None
        more = self._read_told()
        word, newline, _ = self._heard.partition(b"\n")
        if newline:
            return True, int(word) if word.isdigit() and int(word) < 256 else LIE
        return not more or len(self._heard) == TOLD_BYTES, None

    def dead(self, timeout_s: float = 0.0) -> bool:
        """Wait so long for process 1 to be dead, and tell whether it is."""
        return readable(self.pidfd, timeout_s)

    def close_stdin(self) -> None:
        """Close the end that is written to. Idempotent."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def remove(self) -> None:
        """Kill it, have it removed soon, and close all descriptors. Idempotent."""
        if self.pidfd >= 0:
            with contextlib.suppress(OSError):  # it is dead
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        if not self._removed:
            self._removed = True
            if self.id:
                self.engine.remove(self.id, self.folder)
            else:
                remove_tree(self.folder)
        self.close_stdin()
        for end in (self.stdout, self.stderr, self.told, self.pidfd):
            if end >= 0:
                os.close(end)
        self.stdout = self.stderr = self.told = self.pidfd = -1


def _new_folder(scratch: Path) -> Path:
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=scratch.resolve()))
    except OSError as problem:
        raise SandboxError(f"can't prepare a container's folder in {scratch}: {problem.strerror}") from problem


def _bind(source: Path, target: str) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": target,
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rprivate"},
    }
