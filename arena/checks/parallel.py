"""Check several bots at the same time, in threads.

Each thread checks one bot at a time. It starts that bot's boxes and lives as long as they do."""

import os
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from queue import SimpleQueue

from arena.checks.bot_check import BotCheck, CheckSettings, CheckStep


class _StoppedError(Exception):
    """A check is cancelled: its result isn't needed any more."""


@contextmanager
def open_check_threads(exam: CheckSettings, most: int) -> Iterator[tuple[ThreadPoolExecutor, CheckSettings]]:
    """Yield at most `jobs` threads, and the settings that they share. An error ends the checks that still run."""
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


def check_all(arguments: Sequence[str], exam: CheckSettings) -> Generator[tuple[int, CheckStep], None, None]:
    """Check what a user calls bots, side by side, and yield (place among them, step) in their order.

    Builds come first, one after another, in the caller's thread. A step is yielded as soon as those before it are.
    Raises SandboxError or OSError if this machine fails. All processes are ended when the iterator is.
    """
    with open_check_threads(exam, max(1, min(len(arguments), _at_once()))) as (threads, shared):
        numbers = [count(1) for _ in arguments]
        alone = [BotCheck(replace(shared, scratch=exam.scratch / f"check-{place}")) for place in range(len(numbers))]
        held: list[list[CheckStep]] = []
        for place, argument in enumerate(arguments):
            held.append([])
            for step in alone[place].steps_before_run(argument):
                if place == 0:
                    yield place, replace(step, number=next(numbers[place]))
                else:
                    held[place].append(step)
        for each in alone:
            each.shares = any(
                other is not each and other.fit and other.bot.cwd == each.bot.cwd for other in alone if each.fit
            )
        queues = [SimpleQueue[CheckStep | None]() for _ in arguments]
        ended = [threads.submit(_run, each, queue) for each, queue in zip(alone, queues, strict=True)]
        for place, queue in enumerate(queues):
            for step in held[place]:
                yield place, replace(step, number=next(numbers[place]))
            while (item := queue.get()) is not None:
                yield place, replace(item, number=next(numbers[place]))
            ended[place].result()


def _at_once() -> int:
    """Return how many checks run at a time: more than the cores would disturb one another's times."""
    return max(2, os.cpu_count() or 1)


def _run(examination: BotCheck, queue: SimpleQueue[CheckStep | None]) -> None:
    """Put the steps of a check into a queue, and at last None, whatever happens."""
    try:
        for step in examination.steps_of_run():
            queue.put(step)
    finally:
        queue.put(None)
