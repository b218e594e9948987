"""Create a hardened container with its image, command and limits, connect named pipes to it, and remove it.

A container's folder on the host has two parts, mounted read-only: io/ (0711) with the pipes and the start script, and
bot/ with a copy of the program's files. Other users can only write to the output and status pipes (0602), and only
read `in` (0604).

Process 1 is a shell that keeps the status pipe open and starts a second shell. The second shell opens out and err,
reports "ready" and blocks on opening `in`. The referee moves both shells into a control group, then opens `in`. The
second shell runs the start script (working folder, environment, a search for the program), reports "go" and becomes
the program. Process 1 then reports the exit code and ends, and with it everything that the program left running. The
referee opens its reading ends before the start, and the writing end once there is a reader, so there is never a false
end of file.

A program can write to the status pipe and replace the code of process 1, so it can lie about its own end. It can't make
the container look killed from outside, which would void a match. This module must not know matches, nor what a program
means."""

import contextlib
import errno
import os
import shlex
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena.limits import Limits
from arena.sandbox.box import Exit, Program, ProgramError, SandboxError
from arena.sandbox.child_process import wait_readable
from arena.sandbox.docker.engine import FOLDER_LABEL, FOLDER_PREFIX, Engine
from arena.sandbox.docker.limits import ContainerConfig, container_body
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy
from arena.sandbox.linux import Cgroup, list_children
from arena.sandbox.program_files import BOX_FOLDER, copy_files, cwd_inside
from arena.sandbox.scratch import remove_tree


def create(engine: Engine, body: dict[str, Any]) -> str:
    """Create a container and return its id. Raises SandboxError, for a missing image with the command that fixes it."""
    try:
        return str(engine.call(engine.api.create_container_from_config, body)["Id"])
    except SandboxError as problem:
        if getattr(problem.__cause__, "status_code", None) == 404 and "image" in str(problem).lower():
            raise HostProblemError(missing_image_problem(body["Image"])) from problem
        raise


def missing_image_problem(image: str) -> HostProblem:
    """Return the problem of a missing image, with the command that pulls or builds it."""
    language = image.removeprefix("coup-arena/")
    remedy = Remedy.PULL_IMAGE if language == image else Remedy.BUILD_IMAGE
    return HostProblem(f"the image {image} doesn't exist", remedy, (language,))


SCRIPT_BYTES = 100_000  # Linux accepts no argument of more than 131,072
JAVA_OPTIONS = "JDK_JAVA_OPTIONS"  # read by the java launcher since JDK 9
SIGNALLED = 128  # a shell adds this to the number of the signal that ended a program
LAST_SIGNAL = 64  # SIGRTMAX


def start_script(program: Program, argv: Sequence[str], limits: Limits) -> str:
    """Return the shell script that becomes the program; `argv` is its command in the container.

    Raises ProgramError for a command or folder that a script can't contain: NUL, lone surrogates, too many bytes.
    """
    lines = [f"cd {shlex.quote(cwd_inside(program))} 2>/dev/null || {{ echo cwd >&3; exit 127; }}"]
    lines.append("unset HOSTNAME PWD OLDPWD")  # the engine's and the shell's
    if argv[0] == "java":
        lines.append(f"export {JAVA_OPTIONS}=-XX:MaxRAM={limits.memory_mb}m")
    quoted_command = shlex.quote(argv[0])
    lines.append(f"command -v {quoted_command} >/dev/null 2>&1 || {{ echo missing >&3; exit 127; }}")
    lines.append("echo go >&3")
    lines.append(f"exec {' '.join(map(shlex.quote, argv))} 3>&-")
    script = "\n".join(lines) + "\n"
    _require_scriptable(script, argv[0])
    return script


def _require_scriptable(script: str, command: str) -> None:
    """Raise ProgramError for a start script that a shell can't read. command: the first word of the program's."""
    if "\0" in script:
        raise ProgramError(f"{command!r}: its command or folder holds a NUL byte")
    try:
        size = len(os.fsencode(script))
    except UnicodeEncodeError as problem:  # half of a surrogate pair, as JSON can write it
        raise ProgramError(f"{command!r}: its command or folder is no text") from problem
    if size > SCRIPT_BYTES:
        raise ProgramError(f"{command!r:.80}: its command is over {SCRIPT_BYTES} bytes long")


def find_start_problem(word: str, command: str, image: str) -> ProgramError | None:
    """Return the program's error that `word`, a report of the start script, stands for; None for another report."""
    if word == "missing":
        return ProgramError(f"{command}: no such program in the image {image}")
    if word == "cwd":
        return ProgramError("its working folder can't be entered")
    return None


def parse_exit(code: int) -> Exit:
    """Return how a program ended, from the exit code of its shell."""
    number = code - SIGNALLED
    return Exit(None, number) if 0 < number <= LAST_SIGNAL else Exit(code, None)


IO = "/io"  # where the pipes are in a container
START_S = 20.0  # for each report of a new container: it takes 0.1 s, on a loaded machine 1 s
POLL_S = 0.0002  # between two tries to open a pipe whose reader is about to come
STATUS_BYTES = 4096  # of the shells' output; only a program writes more
FORGED = -1  # in place of an exit code: the program wrote to `status` itself

# The program is not process 1, because the kernel ignores default signals for process 1. Process 1 ignores the signals
# that a shell would catch; the second shell resets them. Process 1 has no output to the daemon, for a program to flood.
SHIM = f"""
trap '' HUP INT QUIT TERM
exec 3>{IO}/status >/dev/null 2>&1
( trap - HUP INT QUIT TERM
  exec >{IO}/out 2>{IO}/err
  echo ready >&3
  exec <{IO}/in
  . {IO}/start )
echo $? >&3
"""


class Container:
    """A running container and the referee's ends of its pipes; `remove` kills the container and closes the pipes."""

    def __init__(
        self,
        engine: Engine,
        config: ContainerConfig,
        program: Program,
        argv: Sequence[str],
        scratch: Path,
        group: Cgroup,
    ) -> None:
        """Create and start the container, move it into the control group, and start the program.

        argv: the program's command in the container. Raises ProgramError or SandboxError; then only the group
        remains.
        """
        self.engine = engine
        self.config = config
        self.id = ""
        self.root_pid = -1  # host's number of the container's process 1
        self.pid = -1  # host's number of the process that becomes the program
        self.stdin = self.stdout = self.stderr = self.status = self.pidfd = -1
        self.outages = engine.events.outages
        self._program = program
        self._argv = argv
        self._unread_status = b""  # output of the shells that `_read_word` hasn't returned yet
        self._removed = False
        script = start_script(program, argv, config.limits)
        self.folder = _new_folder(scratch)
        try:
            self._prepare_folder(script)
            self._start_container()
            self._join_group(group)
            self._start_program()
        except BaseException:
            self.remove()
            raise

    def _prepare_folder(self, script: str) -> None:
        """Create the pipes and the start script, open the reading ends, and copy the program's files."""
        io, bot = self.folder / "io", self.folder / "bot"
        try:
            bot.mkdir()
            io.mkdir()
            for name, mode in (("in", 0o604), ("out", 0o602), ("err", 0o602), ("status", 0o602)):
                os.mkfifo(io / name)
                os.chmod(io / name, mode)  # whatever the umask is
            (io / "start").write_bytes(os.fsencode(script))
            os.chmod(io / "start", 0o444)
            os.chmod(io, 0o711)
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            self.stdout = os.open(io / "out", flags)  # `remove` closes those that are open, if one can't be opened
            self.stderr = os.open(io / "err", flags)
            self.status = os.open(io / "status", flags)
        except OSError as problem:
            raise SandboxError(f"can't make a container's pipes in {self.folder}: {problem.strerror}") from problem
        copy_files(self._program, bot, self.config.limits.memory_mb)

    def _start_container(self) -> None:
        """Start the container, and wait until its second shell reports "ready"."""
        mounts = [_bind(self.folder / "io", IO), _bind(self.folder / "bot", BOX_FOLDER)]
        body = container_body(self.engine, self.config, ["/bin/sh", "-c", SHIM], mounts)
        body["Labels"][FOLDER_LABEL] = str(self.folder)
        self.id = create(self.engine, body)
        self.engine.call(self.engine.api.start, self.id)
        self.root_pid = int(self.engine.call(self.engine.api.inspect_container, self.id)["State"]["Pid"])
        self.pidfd = self._open_pidfd(self.root_pid)
        word = self._read_word()
        if word != "ready":
            raise SandboxError(f"a container of {self.config.image} didn't start: it wrote {word!r}")
        children = list_children(self.root_pid)
        if not children:
            raise SandboxError(f"a container of {self.config.image} ended while starting")
        self.pid = children[0]

    def _open_pidfd(self, pid: int) -> int:
        """Return a pidfd for the container's process 1. Raises HostProblemError if it isn't visible on this host."""
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            with contextlib.suppress(OSError):  # the process has ended
                if self.id.encode() in Path(f"/proc/{pid}/cgroup").read_bytes():
                    return handle
            os.close(handle)
        text = "the processes of this Docker engine's containers aren't visible here (Docker Desktop, another host)"
        raise HostProblemError(HostProblem(text, Remedy.ENGINE_HERE))

    def _join_group(self, group: Cgroup) -> None:
        """Move both shells into the group: process 1 too, because a program may make it run the program's code."""
        try:
            group.add(self.root_pid)
            group.add(self.pid)
        except OSError as problem:
            raise SandboxError(f"can't move a container's process into a cgroup: {problem}") from problem
        group.seal()

    def _start_program(self) -> None:
        """Open the program's standard input, and wait until the second shell becomes the program."""
        self.stdin = self._open_in()
        word = self._read_word()
        if problem := find_start_problem(word, self._argv[0], self.config.image):
            raise problem
        if word != "go":
            raise SandboxError(f"a container of {self.config.image} can't start a program: it wrote {word!r}")

    def _open_in(self) -> int:
        """Return the writing end of the program's standard input. Raises SandboxError if no reader comes in time."""
        deadline = time.monotonic() + START_S
        while True:
            try:
                return os.open(self.folder / "io" / "in", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as problem:
                if problem.errno != errno.ENXIO or time.monotonic() > deadline:
                    raise SandboxError(f"a container doesn't open its pipes: {problem.strerror}") from problem
                time.sleep(POLL_S)

    def _read_word(self) -> str:
        """Wait for the next line of the status pipe and return it; "" at end of file.

        Raises SandboxError if none comes in time.
        """
        deadline = time.monotonic() + START_S
        while b"\n" not in self._unread_status:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not wait_readable(self.status, left_s):
                raise SandboxError(f"a container of {self.config.image} didn't respond for {START_S:g} s")
            if not self._read_status():
                return ""
        word, _, self._unread_status = self._unread_status.partition(b"\n")
        return word.decode("ascii", "replace")

    def _read_status(self) -> bool:
        """Append available output of the status pipe to `_unread_status`; return False at end of file."""
        try:
            data = os.read(self.status, STATUS_BYTES)
        except BlockingIOError:
            return True
        self._unread_status = (self._unread_status + data)[:STATUS_BYTES]
        return bool(data)

    def poll_end(self) -> tuple[bool, int | None]:
        """Return whether the program has ended, and its exit code: None without a report, FORGED for other text."""
        if self.status < 0:
            return True, None
        is_open = self._read_status()
        word, newline, _ = self._unread_status.partition(b"\n")
        if newline:
            return True, int(word) if word.isdigit() and int(word) < 256 else FORGED
        return not is_open or len(self._unread_status) == STATUS_BYTES, None

    def wait_dead(self, timeout_s: float = 0.0) -> bool:
        """Wait until process 1 is dead, for at most `timeout_s`; return whether it is dead."""
        return wait_readable(self.pidfd, timeout_s)

    def close_stdin(self) -> None:
        """Close the program's standard input. Idempotent."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def remove(self) -> None:
        """Kill the container, queue its removal, and close all descriptors. Idempotent."""
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
        for descriptor in (self.stdout, self.stderr, self.status, self.pidfd):
            if descriptor >= 0:
                os.close(descriptor)
        self.stdout = self.stderr = self.status = self.pidfd = -1


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
