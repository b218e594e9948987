"""Check several bots at the same time, in threads.

Each thread checks one bot at a time, and starts the bot's boxes, which must not outlive it."""

import os
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from queue import SimpleQueue

from arena.checks.bot_check import BotCheck
from arena.checks.check_settings import CheckSettings
from arena.checks.check_step import CheckStep
from arena.checks.host_check import Severity


class _StoppedError(Exception):
    """The checks were cancelled."""


@contextmanager
def open_check_threads(settings: CheckSettings, count: int) -> Iterator[tuple[ThreadPoolExecutor, CheckSettings]]:
    """Open `count` threads; yield them with the settings that they share.

    An error in the context ends the running checks: the clock of these settings raises _StoppedError in their threads.
    """
    is_stopped = threading.Event()

    def clock() -> float:
        if is_stopped.is_set():
            raise _StoppedError
        return time.monotonic()

    with ThreadPoolExecutor(count, "check") as threads:
        try:
            yield threads, replace(settings, clock=clock, lock=threading.Lock())
        except BaseException:
            is_stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def check_all(arguments: Sequence[str], settings: CheckSettings) -> Generator[tuple[int, CheckStep], None, None]:
    """Check the bots of command-line arguments in parallel; yield (index of the argument, step) in order of arguments.

    Builds come first, one after another, in the caller's thread. Each step is yielded as soon as all earlier ones are.
    Steps with the severity NOW have no number. Raises SandboxError or OSError if this machine fails. Closing the
    iterator ends all processes.
    """
    max_parallel = max(2, os.cpu_count() or 1)  # with more than one a core, response times would suffer
    with open_check_threads(settings, max(1, min(len(arguments), max_parallel))) as (threads, shared):
        folders = [settings.scratch / f"check-{index}" for index in range(len(arguments))]
        checks = [BotCheck(replace(shared, scratch=folder)) for folder in folders]
        queues = [SimpleQueue[CheckStep | None]() for _ in arguments]  # of steps that wait for those of earlier bots
        numbers = [count(1) for _ in arguments]

        def numbered(index: int, step: CheckStep) -> tuple[int, CheckStep]:
            if step.severity is not Severity.NOW:
                step = replace(step, number=next(numbers[index]))
            return index, step

        for index, argument in enumerate(arguments):
            for step in checks[index].steps_before_run(argument):
                if index == 0:
                    yield numbered(index, step)
                else:
                    queues[index].put(step)
        _mark_shared_folders(checks)
        runs = [threads.submit(_run_check, check, queue) for check, queue in zip(checks, queues, strict=True)]
        for index, (queue, run) in enumerate(zip(queues, runs, strict=True)):
            while (next_step := queue.get()) is not None:
                yield numbered(index, next_step)
            run.result()


def _mark_shared_folders(checks: Sequence[BotCheck]) -> None:
    """Mark the checks of bots that work in the same folder as another bot that is checked."""
    bots_by_folder = Counter(check.bot.cwd for check in checks if check.can_run)
    for check in checks:
        check.shares_folder = check.can_run and bots_by_folder[check.bot.cwd] > 1


def _run_check(check: BotCheck, queue: SimpleQueue[CheckStep | None]) -> None:
    """Put the steps of a check into a queue and, also after an error, None."""
    try:
        for step in check.steps_of_run():
            queue.put(step)
    finally:
        queue.put(None)
