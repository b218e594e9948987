"""A container over the daemon's attach stream: for an engine that shares no kernel with this process.

Must not know matches. Named pipes don't reach a Docker Desktop or a remote DOCKER_HOST, and neither do folders. So the
program's files go into a volume, through a container that never runs, and its lines through the daemon: a message costs
about 0.13 ms more than over pipes, and the daemon is in the path of all of it.

Theory of operation. The box has plain pipes on this side, and two threads between them and the stream: one takes the
stream's frames (8 bytes: which output, 0, 0, 0, length; then the bytes) apart, the other sends what is written. The
stream is attached before the container starts, so no frame is swallowed by the client's HTTP reader (docker-py #2466).
It is shut down before anything is removed: an engine whose client neither reads nor closes can't remove a flooding
container (measured: over 60 s).

What is lost against pipes: neither CPU time nor freezing; a program that closes its output but lives isn't noticed.
"""

import contextlib
import io
import os
import socket
import struct
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from arena.sandbox.box import CLOSE_MS, Box, Exit, Program, SandboxError
from arena.sandbox.bundle import INSIDE, copy_files
from arena.sandbox.cause import caused
from arena.sandbox.docker.container import START_S
from arena.sandbox.docker.engine import OWNER, Engine
from arena.sandbox.docker.recipe import Recipe, config, create
from arena.sandbox.docker.script import exit_of, refused, start_script
from arena.sandbox.linux import owner_anywhere
from arena.sandbox.trees import remove_tree

FRAME = struct.Struct(">BxxxL")  # Docker Engine API, ContainerAttach, "Stream format"
READ_BYTES = 65536  # what a pipe holds

SHIM = """
trap '' HUP INT QUIT TERM
( trap - HUP INT QUIT TERM
  exec 3>&1
{start}
)
exit $?
"""


class AttachBox(Box):
    """One program in a container behind an attach stream; see `Box`."""

    def __init__(self, engine: Engine, recipe: Recipe, program: Program, words: Sequence[str], scratch: Path) -> None:
        """Start it. Raises ProgramError or SandboxError; then nothing is left."""
        self.pid: int | None = None
        self.stdin = self.stdout = self.stderr = -1
        self._engine = engine
        self._outages = engine.events.outages
        self._image = recipe.image
        self._id = ""
        self._volume = ""
        self._socket: socket.socket | None = None
        self._exit: Exit | None = None
        self._ended = threading.Event()
        self._broken: SandboxError | None = None
        self._first = threading.Event()  # the shell's word has come, or the stream has ended
        self._word = b""
        self._closed = False
        self._close_lock = threading.Lock()
        script = start_script(program, words, recipe.limits)
        try:
            self._volume = self._carry(recipe, program, scratch)
            mount = {"Type": "volume", "Source": self._volume, "Target": INSIDE, "ReadOnly": True}
            body = config(engine, recipe, ["/bin/sh", "-c", SHIM.format(start=script)], [mount])
            body |= {"OpenStdin": True, "StdinOnce": True, "AttachStdin": True}
            body |= {"AttachStdout": True, "AttachStderr": True}
            self._id = create(engine, body)
            self._attach()
            engine.call(engine.api.start, self._id)
            self._await_go(program, words)
        except BaseException:
            self.close()
            raise

    def _carry(self, recipe: Recipe, program: Program, scratch: Path) -> str:
        """Put the program's files into a new volume and return its name."""
        api, call = self._engine.api, self._engine.call
        tar = io.BytesIO()
        try:
            scratch.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="bundle-", dir=scratch))
        except OSError as problem:
            raise SandboxError(f"can't copy a program's files to {scratch}: {problem.strerror}") from problem
        try:
            copy_files(program, folder)
            with tarfile.open(fileobj=tar, mode="w") as archive:
                archive.add(folder, ".", filter=_entry)
        finally:
            remove_tree(folder)
        name = str(call(api.create_volume, labels={OWNER: owner_anywhere()})["Name"])
        self._volume = name
        mount = {"Type": "volume", "Source": name, "Target": INSIDE}
        body = {
            "Image": recipe.image,
            "Cmd": ["true"],
            "Labels": {OWNER: owner_anywhere()},
            "HostConfig": {"Mounts": [mount]},
        }
        carrier = create(self._engine, body)
        try:
            call(api.put_archive, carrier, INSIDE, tar.getvalue())
        finally:
            self._engine.remove_now(carrier)
        return name

    def _attach(self) -> None:
        api = self._engine.api
        raw = self._engine.call(
            api.attach_socket, self._id, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1, "logs": 0}
        )
        self._raw = raw
        self._socket = getattr(raw, "_sock", raw)
        self._socket.settimeout(None)
        inside, self.stdin = os.pipe2(os.O_CLOEXEC)
        self.stdout, out = os.pipe2(os.O_CLOEXEC)
        self.stderr, err = os.pipe2(os.O_CLOEXEC)
        for end in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(end, False)
        for body, arguments in ((self._send, (inside,)), (self._receive, (out, err))):
            threading.Thread(target=body, args=arguments, name="docker attach", daemon=True).start()

    def _await_go(self, program: Program, words: Sequence[str]) -> None:
        if not self._first.wait(START_S):
            raise SandboxError(f"a container of {self._image} said nothing for {START_S:g} s")
        if theirs := refused(self._word.decode("ascii", "replace"), program, words, self._image):
            raise theirs
        if self._word != b"go":
            self._check()
            raise SandboxError(f"a container of {self._image} can't start a program: it told {self._word!r}")

    # -- the two threads

    def _send(self, inside: int) -> None:
        assert self._socket is not None
        with contextlib.suppress(OSError):  # the container has ended, or the box was closed
            while data := os.read(inside, READ_BYTES):
                self._socket.sendall(data)
            self._socket.shutdown(socket.SHUT_WR)
        os.close(inside)

    def _receive(self, out: int, err: int) -> None:
        assert self._socket is not None
        with contextlib.suppress(OSError):
            self._take_frames(self._socket, {1: out, 2: err})
        self._first.set()
        try:
            answer = self._engine.call(self._engine.api.wait, self._id, timeout=START_S)
            oom = self._id in self._engine.events.oom
            if not self._closed:
                oom |= bool(self._engine.call(self._engine.api.inspect_container, self._id)["State"]["OOMKilled"])
            self._exit = caused(exit_of(int(answer["StatusCode"])), (("memory_mb", 1),) if oom else ())
        except SandboxError as problem:
            self._broken = problem
        finally:
            self._ended.set()
            os.close(out)
            os.close(err)

    def _take_frames(self, stream: socket.socket, outputs: dict[int, int]) -> None:
        while head := _exactly(stream, FRAME.size):
            kind, length = FRAME.unpack(head)
            while length > 0:
                data = stream.recv(min(length, READ_BYTES))
                if not data:
                    return
                length -= len(data)
                if kind == 1 and not self._first.is_set():
                    data = self._take_word(data)
                if kind in outputs:
                    _write_all(outputs[kind], data)

    def _take_word(self, data: bytes) -> bytes:
        """Keep the shell's own first line, and return what comes after it."""
        self._word += data
        word, newline, rest = self._word.partition(b"\n")
        if newline:
            self._word = word
            self._first.set()
        return rest

    # -- Box

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken
        if self._engine.events.outages != self._outages:
            raise SandboxError("the Docker engine was lost during a match")
        if self._id in self._engine.events.killed:
            raise SandboxError("somebody else ended a container through the Docker engine")

    def exit(self) -> Exit | None:
        """Tell how the program ended, or None."""
        if not self._closed:
            self._check()
        return self._exit

    def cpu_ns(self) -> int | None:
        """Tell nothing: the container is on another machine."""
        self._check()
        return None

    def freeze(self) -> None:
        """Do nothing: the engine's own pause takes 20 ms."""
        self._check()

    def thaw(self) -> None:
        """Do nothing."""
        self._check()

    def close_stdin(self) -> None:
        """Close the end that is written to."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> Exit:
        """Kill, close, have the rest removed; see `Box.close`."""
        with self._close_lock:
            if self._closed:
                return self._exit or Exit(None, None)
            own_end = self._exit
            self._closed = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self.close_stdin()
        for end in (self.stdout, self.stderr):
            if end >= 0:
                os.close(end)
        self.stdout = self.stderr = -1
        started = time.monotonic()
        self._engine.remove(self._id, None, self._volume or None)
        if self._socket is not None:
            self._ended.wait(CLOSE_MS / 1000 - (time.monotonic() - started))
            self._raw.close()
            self._socket.close()
        self._exit = own_end or self._exit or Exit(None, None)
        return self._exit


def _entry(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Give an entry of the archive to root, as the box's copy is; leave out a link that the engine would refuse."""
    if entry.issym() and os.path.normpath(f"{os.path.dirname(entry.name)}/{entry.linkname}").split("/")[0] == "..":
        return None  # it leads out of /bot
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def _exactly(stream: socket.socket, size: int) -> bytes:
    """Read so many bytes; b"" at the end."""
    data = b""
    while len(data) < size:
        piece = stream.recv(size - len(data))
        if not piece:
            return b""
        data += piece
    return data


def _write_all(end: int, data: bytes) -> None:
    """Write to a blocking pipe; what nobody reads is dropped."""
    view = memoryview(data)
    with contextlib.suppress(BrokenPipeError):
        while view:
            view = view[os.write(end, view) :]
