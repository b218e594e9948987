"""Threads that examine side by side, each with its own bot: a thread starts its bot's box, and lives as long as it."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from arena.examine.exam import Exam


class _StoppedError(Exception):
    """End an examination, since nobody waits for it any more."""


@contextmanager
def side_by_side(exam: Exam, most: int) -> Iterator[tuple[ThreadPoolExecutor, Exam]]:
    """Give at most so many threads, and the exam that they share. An error ends the examinations that still run."""
    stopped = threading.Event()

    def clock() -> float:
        if stopped.is_set():
            raise _StoppedError
        return time.monotonic()

    with ThreadPoolExecutor(most, "examine") as threads:
        try:
            yield threads, replace(exam, clock=clock, lock=threading.Lock())
        except BaseException:
            stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise
