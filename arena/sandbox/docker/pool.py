"""Containers that wait for a program, started ahead of the match that will use them.

Must not know programs. Containers of one recipe are interchangeable until they get a program. The pool keeps as many as
it was asked for, of the kinds that were used last; a thread starts them when nobody has asked for one for a moment, so
as not to compete with the start of a match. Each is handed out once.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace

from arena.sandbox.box import SandboxError
from arena.sandbox.docker.container import Container, Recipe
from arena.sandbox.linux import Cgroup, hierarchy

QUIET_S = 0.3  # without a start before containers are started ahead: the boxes of one match start at once


class Kept:
    """A container that waits for its program, in a control group where there are any."""

    def __init__(self, container: Container, grouped: bool) -> None:
        """Take the container over. Raises SandboxError; then it is removed."""
        self.container = container
        self.group: Cgroup | None = None
        groups = hierarchy() if grouped else None
        if groups is None:
            return
        try:
            limits = container.recipe.limits
            self.group = groups.make(replace(limits, processes=limits.processes + 1))
            self.group.add(container.root_pid)  # too: a program may bring it to run code of its own
            self.group.add(container.pid)
            self.group.seal()
        except (OSError, SandboxError) as problem:
            self.remove()
            raise SandboxError(f"a container's process can't be put into a cgroup: {problem}") from problem

    @property
    def lives(self) -> bool:
        """Whether it still waits: its engine wasn't lost, and nobody has killed it."""
        return self.container.outages == self.container.engine.outages and not self.container.dead()

    def remove(self) -> None:
        """End and remove it."""
        self.container.remove()
        if self.group is not None:
            self.group.remove()


class Pool:
    """Containers started ahead, of the kinds that were used last."""

    def __init__(self, make: Callable[[Recipe], Kept], size: int) -> None:
        self._make = make
        self._size = size
        self._used: deque[Recipe] = deque(maxlen=size)
        self._kept: list[Kept] = []
        self._asked = 0.0
        self._closed = False
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def take(self, recipe: Recipe) -> Kept | None:
        """Return a container of this recipe that lives, None if none is ready; more will be started later."""
        if self._size == 0:
            return None
        with self._change:
            self._used.append(recipe)
            self._asked = time.monotonic()
            if self._thread is None and not self._closed:
                # Lives until `close`; a container's processes are the daemon's children, so they don't die with it.
                self._thread = threading.Thread(target=self._fill, name="docker ahead", daemon=True)
                self._thread.start()
            self._change.notify_all()
            fitting = [kept for kept in self._kept if kept.container.recipe == recipe]
            for kept in fitting:
                self._kept.remove(kept)
                if kept.lives:
                    return kept
                kept.remove()
        return None

    @property
    def waiting(self) -> int:
        """How many wait."""
        with self._change:
            return len(self._kept)

    def _next(self) -> Recipe | None:
        wanted = Counter(self._used)
        wanted.subtract(Counter(kept.container.recipe for kept in self._kept))
        return next((recipe for recipe, lacking in wanted.items() if lacking > 0), None)

    def _fill(self) -> None:
        while True:
            with self._change:
                while not self._closed:
                    quiet = self._asked + QUIET_S - time.monotonic()
                    recipe = self._next()
                    if recipe is not None and quiet <= 0:
                        break
                    self._change.wait(None if recipe is None else max(quiet, 0.001))
                if self._closed:
                    return
                self._make_room()
            assert recipe is not None
            try:
                kept = self._make(recipe)
            except SandboxError:  # the next start tries again, and reports it
                with self._change:
                    self._used.clear()
                continue
            with self._change:
                if not self._closed:
                    self._kept.append(kept)
                    self._change.notify_all()
                    continue
            kept.remove()

    def _make_room(self) -> None:
        """Remove what isn't wanted any more; called with the lock held."""
        wanted = Counter(self._used)
        for kept in list(self._kept):
            if wanted[kept.container.recipe] > 0:
                wanted[kept.container.recipe] -= 1
            else:
                self._kept.remove(kept)
                kept.remove()

    def close(self) -> None:
        """Remove all, and end the thread."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join()  # at most one container's start, whose calls have time-outs
        for kept in self._kept:
            kept.remove()
        self._kept.clear()
