"""The Docker engine as the boxes need it: calls that end, removal in the background, and a sweep of what the dead left.

Must not know what a container is for. `engine()` gives one connection a process. Every call has a time-out and raises
SandboxError in one line. All that is made carries a label with its owner (arena/sandbox/linux/owner.py), and `sweep`
removes what belongs to a dead process of this host. `remove` hands a container to a thread, which removes one after the
other, since a box must be closed sooner than an engine removes a container. `events` tells what the engine says.
"""

import atexit
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arena.sandbox.box import SandboxError
from arena.sandbox.docker.client import connect, in_one_line
from arena.sandbox.docker.events import Events
from arena.sandbox.linux import alive
from arena.sandbox.trees import remove_tree
from arena.sandbox.trouble import Remedy, Trouble, TroubleError

OWNER = "coup-arena.owner"  # label of all that is ours
FOLDER = "coup-arena.folder"  # label: the container's folder on its owner's host
FOLDER_PREFIX = "docker-"  # of such a folder's name

API_S = 20.0  # a call's time-out: the slowest, a start at a load of 10, takes 3 s; a match is to be void within 30
REMOVED_S = 15.0  # how long `drain` waits: removing takes 0.1 s, on a loaded machine 1 s
GONE = (404, 409)  # the engine's answers for what is gone, and for what somebody else is removing


class Engine:
    """One connection to a Docker engine of version 20.10 or newer; safe to use from several threads."""

    def __init__(self) -> None:
        """Connect as DOCKER_HOST and the like say. Raises TroubleError with the command that mends it."""
        self.api = connect(API_S)
        self.info: dict[str, Any] = self.call(self.api.info)
        self.events = Events(OWNER)
        self._to_remove: queue.Queue[tuple[str, Path]] = queue.Queue()
        threading.Thread(target=self._remove_all, name="docker remove", daemon=True).start()

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call the client, and raise what goes wrong as SandboxError in one line."""
        try:
            return function(*arguments, **named)
        except Exception as problem:  # requests', urllib3's and docker's errors have no common root but this
            raise SandboxError(f"the Docker engine: {in_one_line(problem)}") from problem

    @property
    def shifts_ids(self) -> bool:
        """Whether user ids of its containers are others outside (rootless, userns-remap); only 65,536 exist then."""
        return any("rootless" in option or "userns" in option for option in self.info.get("SecurityOptions") or ())

    def check_runtime(self, runtime: str | None) -> None:
        """Raise TroubleError if the engine doesn't know a runtime."""
        known = self.info.get("Runtimes") or {}
        if runtime is not None and runtime not in known:
            names = ", ".join(sorted(name for name in known if "." not in name))  # those with a dot are its own shims
            raise TroubleError(
                Trouble(f"the Docker engine knows no runtime {runtime} (it has {names})", Remedy.NAME_RUNTIME)
            )

    def remove(self, container: str, folder: Path) -> None:
        """Kill and remove a container and its folder, soon."""
        self._to_remove.put((container, folder))

    def drain(self, timeout_s: float = REMOVED_S) -> bool:
        """Wait until all that `remove` was given is gone; tell whether it is."""
        end = time.monotonic() + timeout_s
        with self._to_remove.all_tasks_done:
            while self._to_remove.unfinished_tasks:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self._to_remove.all_tasks_done.wait(left)
        return True

    def _remove_all(self) -> None:
        while True:
            container, folder = self._to_remove.get()
            try:
                with contextlib.suppress(SandboxError):  # what stays is labelled, and found by the next sweep
                    self.remove_now(container)
                remove_tree(folder)
            finally:
                self._to_remove.task_done()

    def remove_now(self, container: str) -> None:
        """Kill and remove a container. Raises SandboxError."""
        self.events.leaves(container)
        try:
            self.call(self.api.remove_container, container, force=True, v=True)
        except SandboxError as problem:
            if getattr(problem.__cause__, "status_code", None) not in GONE:
                raise
        self.events.forget(container)

    def sweep(self) -> int:
        """Remove the containers and folders of dead processes of this host; return how many containers."""
        ours = {"label": [OWNER]}
        containers = [one for one in self.call(self.api.containers, all=True, filters=ours) if _is_left(one)]
        for container in containers:
            self.remove_now(container["Id"])
            folder = Path(container["Labels"].get(FOLDER, ""))
            if folder.is_absolute() and folder.name.startswith(FOLDER_PREFIX):
                remove_tree(folder)
        return len(containers)


def _is_left(container: dict[str, Any]) -> bool:
    """Tell whether the owner of a container is dead."""
    return not alive((container.get("Labels") or {}).get(OWNER, ""))


_engines: dict[tuple[int, str], Engine] = {}
_engines_lock = threading.Lock()


def engine() -> Engine:
    """Return this process's connection to the engine that the environment names. Raises SandboxError."""
    key = (os.getpid(), os.environ.get("DOCKER_HOST", ""))  # a fork must not share its parent's sockets
    with _engines_lock:
        if key not in _engines:
            _engines[key] = Engine()
            atexit.register(_engines[key].drain)
        return _engines[key]
