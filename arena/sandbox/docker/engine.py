"""The Docker engine as the boxes need it: calls that end, what it says happened, and an owner for all that is made.

Must not know what a container is for. `engine()` gives one connection a process; every call has a time-out and raises
SandboxError in one line. Two threads run while somebody `watches`: one reads the engine's events (who was killed
through its API, who ran out of memory), the other asks every few seconds whether it is there. Neither can be moved by
what a program in a container does, so a box takes from them alone that it was broken from outside:

    outages     counts how often the engine was lost: an event stream that ended, a question without an answer
    killed      containers that somebody ended through the engine, other than `remove`
    oom         containers in which the kernel killed a process for want of memory

What was made is labelled with its owner (host, boot, pid namespace, process, start time); `sweep` removes what belongs
to a dead process of this host. `remove` puts a container on a queue, which a third thread works off.
"""

import contextlib
import json
import os
import platform
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.sandbox.box import SandboxError
from arena.sandbox.trees import remove_tree
from arena.sandbox.trouble import Remedy, Trouble, TroubleError

OWNER = "coup-arena.owner"  # label of all that is ours
FOLDER = "coup-arena.folder"  # label: the container's folder on its owner's host
FOLDER_PREFIX = "docker-"  # of such a folder's name

API_S = 20.0  # a call's time-out: the slowest, a start at a load of 10, takes 3 s; a match is to be void within 30
SOCKET = "/var/run/docker.sock"  # where docker-py asks if DOCKER_HOST is unset
HELLO_S = 5.0  # for an engine to say its version, which takes 1 ms: who asks whether one is there waits no longer
PING_S = 5.0  # between two questions
ANSWER_S = 8.0  # for an answer to one: with PING_S a hanging engine is known after 13 s
POOLS = 4  # open idle sockets: docker-py keeps one for each address, and every container has its own addresses
REMOVED_S = 15.0  # how long `drain` waits: removing takes 0.1 s, on a loaded machine 1 s


class Engine:
    """One connection to a Docker engine of version 20.10 or newer; safe to use from several threads."""

    def __init__(self) -> None:
        """Connect as DOCKER_HOST and the like say. Raises TroubleError with the command that mends it."""
        self.outages = 0
        self.killed: set[str] = set()
        self.oom: set[str] = set()
        self.died: set[str] = set()
        self._leaving: set[str] = set()  # those that `remove` ends: what happens to them is no news
        self.api = _connect(API_S)
        self.info: dict[str, Any] = self.call(self.api.info)
        self._lock = threading.Lock()
        self._watchers = 0
        self._stop = threading.Event()
        self._stream: Any = None
        self._rubbish: queue.Queue[tuple[str, Path | None, str | None]] = queue.Queue()
        self._remover: threading.Thread | None = None

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call the client, and raise what goes wrong as SandboxError in one line."""
        try:
            return function(*arguments, **named)
        except Exception as problem:  # requests', urllib3's and docker's errors have no common root but this
            raise SandboxError(f"the Docker engine: {told(problem)}") from problem

    @property
    def shifts_ids(self) -> bool:
        """Whether user ids of its containers are others outside (rootless, userns-remap); only 65,536 exist then."""
        return any("rootless" in option or "userns" in option for option in self.info.get("SecurityOptions") or ())

    # -- what happens to containers

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the engine meanwhile."""
        self.watch()
        try:
            yield
        finally:
            self.unwatch()

    def watch(self) -> None:
        """Begin to watch; returns when the event stream is open. Raises SandboxError."""
        with self._lock:
            self._watchers += 1
            if self._watchers > 1:
                return
            try:
                stream = self._open_stream()
            except BaseException:
                self._watchers = 0
                raise
            self._stop = threading.Event()
            for body, name in ((self._read_events, "events"), (self._ask, "ping")):
                arguments = (self._stop, stream) if name == "events" else (self._stop,)
                threading.Thread(target=body, args=arguments, name=f"docker {name}", daemon=True).start()

    def unwatch(self) -> None:
        """End one `watch`; the last ends the threads."""
        with self._lock:
            self._watchers -= 1
            if self._watchers == 0:
                self._stop.set()
                _shut(self._stream)

    def _open_stream(self) -> Any:
        client = _connect(API_S)
        try:
            self._stream = self.call(
                client._get,
                client._url("/events"),
                params={"filters": json.dumps({"type": ["container"], "label": [OWNER]})},
                stream=True,
                timeout=(ANSWER_S, None),
            )
        except SandboxError:
            client.close()
            raise
        self._stream.arena_client = client  # lives as long
        return self._stream

    def _read_events(self, stop: threading.Event, stream: Any) -> None:
        while not stop.is_set():
            if stream is not None:
                with contextlib.suppress(Exception):  # whatever ends the stream, it has ended
                    self._follow(stream)
                _shut(stream)
            if stop.is_set():
                return
            self.outages += 1
            stop.wait(1.0)
            with self._lock:
                stream = None
                if not stop.is_set():
                    with contextlib.suppress(SandboxError):
                        stream = self._open_stream()

    def _follow(self, stream: Any) -> None:
        for line in stream.iter_lines(chunk_size=1):
            event = json.loads(line)
            action, container = event.get("Action", ""), event.get("Actor", {}).get("ID", "")
            if container in self._leaving:
                if action == "destroy":
                    self._leaving.discard(container)
            elif action in ("kill", "stop", "pause", "destroy"):
                self.killed.add(container)
            elif action == "oom":
                self.oom.add(container)
            elif action == "die":
                self.died.add(container)

    def _ask(self, stop: threading.Event) -> None:
        client = None
        while not stop.wait(PING_S):
            try:
                client = client or _connect(ANSWER_S)
                client.ping()
            except Exception:  # of whatever kind: it didn't answer
                self.outages += 1
                if client is not None:
                    client.close()
                client = None
        if client is not None:
            client.close()

    # -- the end of containers

    def remove(self, container: str, folder: Path | None, volume: str | None = None) -> None:
        """Kill and remove a container, its volume and its folder, soon."""
        self._rubbish.put((container, folder, volume))
        with self._lock:
            if self._remover is None or not self._remover.is_alive():
                self._remover = threading.Thread(target=self._collect, name="docker remove", daemon=True)
                self._remover.start()

    def drain(self, timeout_s: float = REMOVED_S) -> bool:
        """Wait until all that `remove` was given is gone; tell whether it is."""
        end = time.monotonic() + timeout_s
        with self._rubbish.all_tasks_done:
            while self._rubbish.unfinished_tasks:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self._rubbish.all_tasks_done.wait(left)
        return True

    def _collect(self) -> None:
        while True:
            try:
                container, folder, volume = self._rubbish.get(timeout=1.0)
            except queue.Empty:
                with self._lock:
                    if self._rubbish.empty():
                        self._remover = None
                        return
                continue
            try:
                with contextlib.suppress(SandboxError):  # what stays is labelled, and found by the next sweep
                    self.remove_now(container, volume)
                if folder is not None:
                    remove_tree(folder)
            finally:
                self._rubbish.task_done()

    def remove_now(self, container: str, volume: str | None = None) -> None:
        """Kill and remove a container and its volume. Raises SandboxError."""
        if self._watchers:
            self._leaving.add(container)
        if container:
            self._gone_is_fine(self.api.remove_container, container, force=True, v=True)
        if volume is not None:
            self._gone_is_fine(self.api.remove_volume, volume, force=True)
        for known in (self.killed, self.oom, self.died):
            known.discard(container)

    def _gone_is_fine(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        try:
            self.call(function, *arguments, **named)
        except SandboxError as problem:
            status = getattr(problem.__cause__, "status_code", None)
            if status not in (404, 409):  # gone, or being removed by somebody else
                raise

    def sweep(self) -> int:
        """Remove the containers, volumes and folders of dead processes of this host; return how many containers."""
        swept = 0
        found = self.call(self.api.containers, all=True, filters={"label": [OWNER]})
        for container in found:
            labels = container.get("Labels") or {}
            if not alive(labels.get(OWNER, "")):
                self.remove_now(container["Id"])
                folder = Path(labels.get(FOLDER, ""))
                if folder.is_absolute() and folder.name.startswith(FOLDER_PREFIX):
                    remove_tree(folder)
                swept += 1
        volumes = self.call(self.api.volumes, filters={"label": [OWNER]})
        for volume in volumes.get("Volumes") or ():
            if not alive((volume.get("Labels") or {}).get(OWNER, "")):
                self._gone_is_fine(self.api.remove_volume, volume["Name"], force=True)
        return swept


_engines: dict[tuple[int, str], Engine] = {}
_engines_lock = threading.Lock()


def engine() -> Engine:
    """Return this process's connection to the engine that the environment names. Raises SandboxError."""
    key = (os.getpid(), os.environ.get("DOCKER_HOST", ""))  # a fork must not share its parent's sockets
    with _engines_lock:
        if key not in _engines:
            _engines[key] = Engine()
        return _engines[key]


def _connect(timeout_s: float) -> Any:
    try:
        import docker
    except ImportError as problem:
        raise TroubleError(Trouble("Python's docker package is missing", Remedy.INSTALL_CLIENT)) from problem
    try:
        settings = docker.utils.kwargs_from_env()
        address = docker.utils.parse_host(settings.get("base_url"))
    except Exception as problem:  # docker's own, a ValueError for a port, files of TLS that aren't there
        raise TroubleError(no_address(problem, situation())) from problem
    try:
        _knock(address, min(HELLO_S, timeout_s))
        client = docker.APIClient(version="auto", timeout=min(HELLO_S, timeout_s), **settings)
        client.timeout = timeout_s
        if client.base_url == "http+docker://localhost":
            client.close()
            client.mount("http+docker://", docker.transport.UnixHTTPAdapter(address, timeout_s, POOLS))
        return client
    except Exception as problem:  # docker wraps what it meets into DockerException, but not all of it
        raise TroubleError(unreachable(problem, situation())) from problem


def _knock(where: str, timeout_s: float) -> None:
    """Raise OSError if nobody listens at a unix socket; the client would leave its own socket open."""
    import socket

    if where.startswith("http+unix://"):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(timeout_s)
            door.connect(where.removeprefix("http+unix://"))


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides how a missing engine is had: `host` is DOCKER_HOST ("" where unset), `tls` whether TLS is asked for.

    installed: whether this machine has an engine's program. systemd: whether services are systemd's. system: as
    sys.platform. group: the name of the group that may use the socket, None where it can't be told.
    """

    host: str = ""
    tls: bool = False
    installed: bool = False
    systemd: bool = True
    system: str = "linux"
    group: str | None = "docker"


def situation() -> Situation:
    """Look at the environment and at this machine."""
    host = os.environ.get("DOCKER_HOST", "")
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # dockerd is where an ordinary user's PATH doesn't lead
    program = "/Applications/Docker.app" if sys.platform == "darwin" else shutil.which("dockerd", path=path)
    return Situation(
        host,
        any(os.environ.get(name) for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")),
        program is not None and os.path.exists(program),
        os.path.isdir("/run/systemd/system"),
        sys.platform,
        _group(host.removeprefix("unix://") or SOCKET),
    )


def _group(path: str) -> str | None:
    import grp

    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except (OSError, KeyError, ValueError):
        return None


def no_address(problem: BaseException, here: Situation) -> Trouble:
    """Say that the settings name no engine at all."""
    if not here.host and here.tls:
        return Trouble(f"DOCKER_TLS_VERIFY or DOCKER_CERT_PATH is set, but {told(problem)}", Remedy.UNSET_TLS)
    text = f"DOCKER_HOST={here.host} names no Docker engine ({told(problem)})"
    return Trouble(text, Remedy.UNSET_HOST, more=f"or set it to one's address, such as unix://{SOCKET}")


def unreachable(problem: BaseException, here: Situation) -> Trouble:
    """Say why nothing answers, and what most likely mends it: nothing on this machine where DOCKER_HOST is wrong."""
    text = str(problem)
    denied = "Permission denied" in text
    absent = "No such file" in text or "Connection refused" in text
    if "paramiko" in text:
        text = f"DOCKER_HOST={here.host} needs the paramiko package, which is missing"
        return Trouble(text, Remedy.INSTALL_SSH_CLIENT)
    if denied and (not here.host or here.group == "docker"):  # else it may be a user's own engine
        return Trouble(f"no permission for the Docker engine at {here.host or SOCKET}", Remedy.JOIN_DOCKER)
    if here.host:
        why = "no permission" if denied else "nobody answers there" if absent else told(problem)
        return Trouble(f"DOCKER_HOST={here.host} leads to no Docker engine ({why})", Remedy.UNSET_HOST)
    if absent and not here.installed:
        remedy = Remedy.INSTALL_DOCKER_MAC if here.system == "darwin" else Remedy.INSTALL_DOCKER
        return Trouble(f"Docker isn't installed, and no engine is at {SOCKET}", remedy)
    if absent:
        return Trouble(f"Docker is installed, but no engine runs at {SOCKET}", _service(here, Remedy.START_DOCKER))
    return Trouble(
        f"the Docker engine at {SOCKET} can't be reached ({told(problem)})", _service(here, Remedy.RESTART_DOCKER)
    )


def _service(here: Situation, remedy: Remedy) -> Remedy:
    """Return what starts an engine, or restarts it, where that isn't systemd's to do."""
    if here.system == "darwin":
        return Remedy.START_DOCKER_MAC
    if not here.systemd:
        return Remedy.START_DOCKER_NO_SYSTEMD if remedy is Remedy.START_DOCKER else Remedy.RESTART_DOCKER_NO_SYSTEMD
    return remedy


def told(problem: BaseException) -> str:
    """Return what an error of the client says, in one line of bounded length."""
    text = str(getattr(problem, "explanation", None) or problem) or type(problem).__name__
    if "timed out" in text:
        text = "it doesn't answer (time-out)"
    return " ".join(text.split())[:300]


def _shut(stream: Any) -> None:
    """End a streaming answer from any thread: close alone would wait for its reader."""
    import socket

    if stream is None:
        return
    with contextlib.suppress(Exception):
        raw = stream.raw._fp.fp.raw
        (raw if hasattr(raw, "shutdown") else raw._sock).shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(Exception):
        stream.close()
    with contextlib.suppress(Exception):
        stream.arena_client.close()


# --- owners -----------------------------------------------------------------------------------------------------------


def owner() -> str:
    """Name this process so that others can tell whether it lives."""
    return "/".join((platform.node(), _boot(), _namespace(), str(os.getpid()), _started(os.getpid())))


def alive(name: str) -> bool:
    """Tell whether an owner lives, or can't be judged from here: another host, or another pid namespace."""
    parts = name.split("/")
    if len(parts) != 5 or parts[0] != platform.node():
        return True
    if parts[1] != _boot():
        return False
    return parts[2] != _namespace() or not parts[3].isdigit() or _started(int(parts[3])) == parts[4]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "-"


def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "-"


def _started(pid: int) -> str:
    """Return when a process started, in ticks after boot; "" if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
