"""What the Docker engine says of our containers while a match is played: who was killed from outside, who died, and
whether the engine itself was lost.

Must not know what a container is for. A thread reads the engine's events while somebody watches. No program in a
container can cause what it reports, so a box takes from it alone that it was broken from outside. An engine that hangs
sends nothing and does nothing: a match goes on without it.
"""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from arena.sandbox.box import SandboxError
from arena.sandbox.docker.client import connect, in_one_line

ANSWER_S = 8.0  # for the engine to open the stream
AGAIN_S = 1.0  # before a lost event stream is opened again
BY_OTHERS = ("kill", "stop", "pause", "destroy")  # events of a container that somebody else ends


class Events:
    """Follow the containers with one label; safe to use from several threads.

    outages: how often the engine was lost, by the end of its event stream. killed: containers that somebody ended
    through the engine, other than those that `leaves` was told. died: containers whose process 1 has ended.
    """

    def __init__(self, label: str) -> None:
        self.outages = 0
        self.killed: set[str] = set()
        self.died: set[str] = set()
        self._label = label
        self._leaving: set[str] = set()
        self._lock = threading.Lock()
        self._watchers = 0
        self._stop = threading.Event()
        self._stream: _Stream | None = None

    def watch(self) -> None:
        """Begin to watch; return when the event stream is open. Raises SandboxError."""
        with self._lock:
            if self._watchers == 0:
                self._stream = _Stream(self._label)
                self._stop = threading.Event()
                threading.Thread(target=self._follow, args=(self._stop,), name="docker events", daemon=True).start()
            self._watchers += 1

    def unwatch(self) -> None:
        """End one `watch`; the last one ends the threads."""
        with self._lock:
            self._watchers -= 1
            if self._watchers == 0:
                self._stop.set()
                if self._stream is not None:
                    self._stream.close()

    def leaves(self, container: str) -> None:
        """Say that we end a container: what happens to it from now on is our doing."""
        if self._watchers:
            self._leaving.add(container)

    def forget(self, container: str) -> None:
        """Drop what is known of a container that is gone."""
        self.killed.discard(container)
        self.died.discard(container)

    def _follow(self, stop: threading.Event) -> None:
        while not stop.is_set():
            stream = self._stream
            if stream is not None:
                for event in stream:
                    self._take(event)
                stream.close()
            if stop.is_set():
                return
            self.outages += 1
            stop.wait(AGAIN_S)
            with self._lock:
                if not stop.is_set():
                    self._stream = None
                    with contextlib.suppress(SandboxError):
                        self._stream = _Stream(self._label)

    def _take(self, event: dict[str, Any]) -> None:
        action, container = event.get("Action", ""), event.get("Actor", {}).get("ID", "")
        if container in self._leaving:
            if action == "destroy":
                self._leaving.discard(container)
        elif action in BY_OTHERS:
            self.killed.add(container)
        elif action == "die":
            self.died.add(container)


class _Stream:
    """The events of containers with a label, over a connection of its own, until the engine ends it or `close`."""

    def __init__(self, label: str) -> None:
        """Open it. Raises SandboxError, also if the engine doesn't answer in time.

        docker-py asks for events without a time-out, so a thread asks. It stays while the engine hangs.
        """
        self._client = connect(ANSWER_S)
        asked: Future[Any] = Future()
        threading.Thread(target=self._open, args=(label, asked), name="docker events opened", daemon=True).start()
        try:
            self._events = asked.result(ANSWER_S)
        except Exception as problem:  # as above
            asked.add_done_callback(_close_late)
            self._client.close()
            why = "it doesn't answer (time-out)" if isinstance(problem, TimeoutError) else in_one_line(problem)
            raise SandboxError(f"the Docker engine: {why}") from problem

    def _open(self, label: str, asked: Future[Any]) -> None:
        try:
            asked.set_result(self._client.events(decode=True, filters={"type": ["container"], "label": [label]}))
        except Exception as problem:
            asked.set_exception(problem)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield events until the stream ends, for whatever reason."""
        with contextlib.suppress(Exception):  # docker-py passes on some of what a connection's end raises
            yield from self._events

    def close(self) -> None:
        """End it from any thread: its reader gets no more. Idempotent."""
        with contextlib.suppress(Exception):  # over ssh docker-py ends no single stream, but closes the connection
            self._events.close()
        self._client.close()


def _close_late(asked: Future[Any]) -> None:
    """Close a stream that was opened after its time."""
    if asked.exception() is None:
        with contextlib.suppress(Exception):  # as in `close`
            asked.result().close()
