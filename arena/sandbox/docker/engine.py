"""Call the Docker engine, watch its events, and remove the containers of dead processes.

`get_engine` returns one connection per process. Every call has a time-out and raises SandboxError with one line. If
no engine answers, the error contains the reason and the fix for this machine, chosen by a pure function. Each container
has a label with its owner (arena/sandbox/linux/processes.py), by which `cleanup_stale` finds those of dead processes. A
thread removes a closed box's container, because a box must close faster than an engine removes a container.

While a sandbox is open, a thread reads the engine's events: a kill by another client, a container's death, and the loss
of the engine. No program can cause the first or the last. If the engine hangs, matches continue. This module must not
know what a container is for."""

import atexit
import contextlib
import os
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.sandbox.box import SandboxError
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy
from arena.sandbox.linux import is_alive
from arena.sandbox.scratch import remove_tree

HELLO_S = 5.0  # for an engine to report its version, which takes 1 ms
SOCKET = "/var/run/docker.sock"  # where docker-py looks for an engine if DOCKER_HOST is unset
MAX_ERROR_CHARACTERS = 300  # of an error message


def connect(timeout_s: float) -> Any:
    """Return a client of the engine that DOCKER_HOST and related variables name; its calls time out after `timeout_s`.

    Raises HostProblemError, with the command that fixes it, if no engine answers.
    """
    import docker  # takes 0.2 s, so it is imported only for runs in Docker

    try:
        settings = docker.utils.kwargs_from_env()
        address = docker.utils.parse_host(settings.get("base_url"))
    except Exception as problem:  # docker's errors, a ValueError for a port, missing TLS files
        raise HostProblemError(no_address_problem(problem, os.environ.get("DOCKER_HOST", ""))) from problem
    try:
        if address.startswith("http+unix://"):
            os.stat(address.removeprefix("http+unix://"))  # else the client leaves a socket open, and Python warns
        client = docker.APIClient(version="auto", timeout=min(HELLO_S, timeout_s), **settings)
    except Exception as problem:  # docker wraps only some errors into DockerException
        raise HostProblemError(unreachable_problem(problem, find_situation())) from problem
    client.timeout = timeout_s
    return client


@dataclass(frozen=True, slots=True)
class DockerSituation:
    """DOCKER_HOST, "" if it is unset, and whether `dockerd` is installed on this machine."""

    host: str = ""
    installed: bool = False


def find_situation() -> DockerSituation:
    """Return DOCKER_HOST, and whether `dockerd` is on the path or in a system folder."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # an ordinary user's PATH lacks dockerd's folder
    return DockerSituation(os.environ.get("DOCKER_HOST", ""), shutil.which("dockerd", path=path) is not None)


def one_line_text(problem: BaseException) -> str:
    """Return the message of an error of docker-py in one line, at most MAX_ERROR_CHARACTERS long."""
    text = str(getattr(problem, "explanation", None) or problem) or type(problem).__name__
    if "timed out" in text:
        text = "no answer before the time limit"
    return " ".join(text.split())[:MAX_ERROR_CHARACTERS]


def no_address_problem(problem: BaseException, host: str) -> HostProblem:
    """Return the problem of DOCKER_HOST (`host`) or, if it is "", of the variables for TLS; problem: the error."""
    reason = one_line_text(problem)
    if not host:
        return HostProblem(f"DOCKER_TLS_VERIFY or DOCKER_CERT_PATH is set, but {reason}", Remedy.UNSET_TLS)
    return HostProblem(f"DOCKER_HOST={host} isn't a Docker engine's address ({reason})", Remedy.UNSET_HOST)


def unreachable_problem(problem: BaseException, situation: DockerSituation) -> HostProblem:
    """Return the problem of an engine that doesn't answer, with the most likely fix."""
    text = str(problem)
    is_absent = "No such file" in text or "Connection refused" in text
    if "Permission denied" in text:
        return HostProblem(f"no permission for the Docker engine at {situation.host or SOCKET}", Remedy.BE_ROOT)
    if situation.host:
        reason = "no answer" if is_absent else one_line_text(problem)
        return HostProblem(f"no Docker engine answers at DOCKER_HOST={situation.host} ({reason})", Remedy.UNSET_HOST)
    if is_absent and not situation.installed:
        return HostProblem(f"Docker isn't installed, and no engine runs at {SOCKET}", Remedy.INSTALL_DOCKER)
    if is_absent:
        return HostProblem(f"Docker is installed, but no engine runs at {SOCKET}", Remedy.START_DOCKER)
    return HostProblem(
        f"the Docker engine at {SOCKET} can't be reached ({one_line_text(problem)})", Remedy.RESTART_DOCKER
    )


ANSWER_S = 8.0  # for the engine to open the stream
REOPEN_S = 1.0  # before a lost stream is opened again
FOREIGN_KILL_ACTIONS = ("kill", "stop", "pause", "destroy")  # events of a container that another client ends


class ContainerEvents:
    """The events of containers with one label, as they come; safe to use from several threads.

    outages: how often the event stream ended, so that the engine was lost. killed: ids of containers that another
    client ended through the engine. died: ids of containers whose process 1 has ended.
    """

    def __init__(self, label: str) -> None:
        self.outages = 0
        self.killed: set[str] = set()
        self.died: set[str] = set()
        self._label = label
        self._removing: set[str] = set()
        self._lock = threading.Lock()
        self._watchers = 0
        self._stop = threading.Event()
        self._stream: _Stream | None = None

    def watch(self) -> None:
        """Open the event stream unless it is open, and read it in a thread.

        Raises SandboxError if the engine refuses or can't be reached.
        """
        with self._lock:
            if self._watchers == 0:
                self._stream = _Stream(self._label)
                self._stop = threading.Event()
                threading.Thread(target=self._read, args=(self._stop,), name="docker events", daemon=True).start()
            self._watchers += 1

    def unwatch(self) -> None:
        """End one `watch`; the end of the last `watch` ends the thread."""
        with self._lock:
            self._watchers -= 1
            if self._watchers == 0:
                self._stop.set()
                if self._stream is not None:
                    self._stream.close()

    def expect_removal(self, container: str) -> None:
        """Note that this process is removing a container: its further events aren't another client's."""
        if self._watchers:
            self._removing.add(container)

    def forget(self, container: str) -> None:
        """Drop the events of a removed container."""
        self.killed.discard(container)
        self.died.discard(container)

    def _read(self, stop: threading.Event) -> None:
        """Store the engine's events until the watch stops, in a thread of its own; open a lost stream again."""
        while not stop.is_set():
            stream = self._stream
            if stream is not None:
                for event in stream:
                    self._store_event(event)
                stream.close()
            if not stop.is_set():
                self.outages += 1
                stop.wait(REOPEN_S)
                self._reopen_stream(stop)

    def _reopen_stream(self, stop: threading.Event) -> None:
        """Try to open a lost stream again, unless the watch has stopped."""
        with self._lock:
            if not stop.is_set():
                self._stream = None
                with contextlib.suppress(SandboxError):
                    self._stream = _Stream(self._label)

    def _store_event(self, event: dict[str, Any]) -> None:
        """Store that a container died, or that another client ended it; other events are dropped."""
        action, container = event.get("Action", ""), event.get("Actor", {}).get("ID", "")
        if container in self._removing:
            if action == "destroy":
                self._removing.discard(container)
        elif action in FOREIGN_KILL_ACTIONS:
            self.killed.add(container)
        elif action == "die":
            self.died.add(container)


class _Stream:
    """An event stream of the containers with a label, over its own connection."""

    def __init__(self, label: str) -> None:
        """Open the stream. Raises SandboxError if the engine refuses or doesn't answer in time.

        docker-py requests events without a time-out, so a thread requests them, and lives while the engine hangs.
        """
        self._client = connect(ANSWER_S)
        opened: Future[Any] = Future()
        threading.Thread(target=self._open, args=(label, opened), name="docker events opened", daemon=True).start()
        try:
            self._events = opened.result(ANSWER_S)
        except Exception as problem:  # docker-py's errors have no common root
            opened.add_done_callback(_close_late)
            self._client.close()
            reason = "no answer before the time limit" if isinstance(problem, TimeoutError) else one_line_text(problem)
            raise SandboxError(f"the Docker engine: {reason}") from problem

    def _open(self, label: str, opened: Future[Any]) -> None:
        try:
            opened.set_result(self._client.events(decode=True, filters={"type": ["container"], "label": [label]}))
        except Exception as problem:
            opened.set_exception(problem)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield events until the stream ends, for any reason."""
        with contextlib.suppress(Exception):  # docker-py passes on some errors of a connection's end
            yield from self._events

    def close(self) -> None:
        """End the stream, from any thread. Idempotent."""
        with contextlib.suppress(Exception):  # over ssh docker-py ends no single stream, but closes the connection
            self._events.close()
        self._client.close()


def _close_late(opened: Future[Any]) -> None:
    """Close a stream that opened after the time-out."""
    if opened.exception() is None:
        with contextlib.suppress(Exception):  # as in `close`
            opened.result().close()


OWNER_LABEL = "coup-arena.owner"  # label of all our containers
FOLDER_LABEL = "coup-arena.folder"  # label: the container's folder on its owner's host
FOLDER_PREFIX = "docker-"  # of such a folder's name

API_S = 20.0  # a call's time-out: the slowest, a start at a load of 10, takes 3 s; a match must fail within 30 s
REMOVED_S = 15.0  # how long `drain` waits: removing takes 0.1 s, on a loaded machine 1 s
GONE = (404, 409)  # HTTP status: the container is gone; another client is removing it


class Engine:
    """One connection to a Docker engine of version 20.10 or newer; safe to use from several threads."""

    def __init__(self) -> None:
        """Connect by DOCKER_HOST and related variables. Raises HostProblemError with the command that fixes it."""
        self.api = connect(API_S)
        self.info: dict[str, Any] = self.call(self.api.info)
        self.events = ContainerEvents(OWNER_LABEL)
        self._to_remove: queue.Queue[tuple[str, Path]] = queue.Queue()
        threading.Thread(target=self._remove_queued, name="docker remove", daemon=True).start()

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a method of the client. Raises SandboxError, with one line, for any error."""
        try:
            return function(*arguments, **named)
        except Exception as problem:  # errors of requests, urllib3 and docker have no other common base
            raise SandboxError(f"the Docker engine: {one_line_text(problem)}") from problem

    @property
    def shifts_ids(self) -> bool:
        """Return whether the engine maps its containers' user ids (rootless, userns-remap); then only 65,536 exist."""
        return any("rootless" in option or "userns" in option for option in self.info.get("SecurityOptions") or ())

    def check_runtime(self, runtime: str | None) -> None:
        """Raise HostProblemError if the engine doesn't know a runtime."""
        runtimes = self.info.get("Runtimes") or {}
        if runtime is not None and runtime not in runtimes:
            names = ", ".join(sorted(name for name in runtimes if "." not in name))  # names with a dot are shims
            raise HostProblemError(
                HostProblem(f"the Docker engine has no runtime {runtime} (only {names})", Remedy.NAME_RUNTIME)
            )

    def remove(self, container: str, folder: Path) -> None:
        """Queue the removal of a container and its folder; a thread kills and removes them."""
        self._to_remove.put((container, folder))

    def drain(self) -> bool:
        """Wait until the queue of `remove` is empty, for at most REMOVED_S; return whether it is."""
        deadline = time.monotonic() + REMOVED_S
        with self._to_remove.all_tasks_done:
            while self._to_remove.unfinished_tasks:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
                self._to_remove.all_tasks_done.wait(left_s)
        return True

    def _remove_queued(self) -> None:
        while True:
            container, folder = self._to_remove.get()
            try:
                with contextlib.suppress(SandboxError):  # the next cleanup finds a remaining container by its label
                    self.remove_now(container)
                remove_tree(folder)
            finally:
                self._to_remove.task_done()

    def remove_now(self, container: str) -> None:
        """Kill and remove a container. Raises SandboxError if the engine refuses or can't be reached."""
        self.events.expect_removal(container)
        try:
            self.call(self.api.remove_container, container, force=True, v=True)
        except SandboxError as problem:
            if getattr(problem.__cause__, "status_code", None) not in GONE:
                raise
        self.events.forget(container)

    def cleanup_stale(self) -> int:
        """Remove the containers and folders of dead processes of this host; return the number of containers.

        A container that the engine refuses to remove stays. Raises SandboxError if the engine can't be reached.
        """
        count = 0
        for container in self.call(self.api.containers, all=True, filters={"label": [OWNER_LABEL]}):
            labels = container.get("Labels") or {}
            if is_alive(labels.get(OWNER_LABEL, "")):
                continue
            try:
                self.remove_now(container["Id"])
            except SandboxError as problem:
                if getattr(problem.__cause__, "status_code", None) is None:
                    raise
                continue
            folder = Path(labels.get(FOLDER_LABEL, ""))
            if folder.is_absolute() and folder.name.startswith(FOLDER_PREFIX):
                remove_tree(folder)
            count += 1
        return count


_engines: dict[tuple[int, str], Engine] = {}
_engines_lock = threading.Lock()


def get_engine() -> Engine:
    """Return this process's connection to the engine that the environment names.

    Raises SandboxError if that engine doesn't answer, or the environment names none.
    """
    key = (os.getpid(), os.environ.get("DOCKER_HOST", ""))  # a fork must not share its parent's sockets
    with _engines_lock:
        if key not in _engines:
            _engines[key] = Engine()
            atexit.register(_engines[key].drain)
        return _engines[key]
