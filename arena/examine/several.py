"""The examination of several bots at once."""

import os
from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import count
from queue import SimpleQueue

from arena.examine.beside import side_by_side
from arena.examine.exam import Exam, Examination
from arena.examine.step import Step


def examine_all(arguments: Sequence[str], exam: Exam) -> Generator[tuple[int, Step], None, None]:
    """Examine what a user calls bots, side by side, and yield (place among them, step) in their order.

    Builds come first, one after another, in the caller's thread. A step is yielded as soon as those before it are.
    Raises SandboxError or OSError if this machine fails. All processes are ended when the iterator is.
    """
    with side_by_side(exam, max(1, min(len(arguments), _at_once()))) as (threads, shared):
        numbers = [count(1) for _ in arguments]
        alone = [Examination(replace(shared, scratch=exam.scratch / f"check-{place}")) for place in range(len(numbers))]
        held: list[list[Step]] = []
        for place, argument in enumerate(arguments):
            held.append([])
            for step in alone[place].before(argument):
                if place == 0:
                    yield place, replace(step, number=next(numbers[place]))
                else:
                    held[place].append(step)
        for each in alone:
            each.shares = any(
                other is not each and other.fit and other.bot.cwd == each.bot.cwd for other in alone if each.fit
            )
        queues = [SimpleQueue[Step | None]() for _ in arguments]
        ended = [threads.submit(_run, each, queue) for each, queue in zip(alone, queues, strict=True)]
        for place, queue in enumerate(queues):
            for step in held[place]:
                yield place, replace(step, number=next(numbers[place]))
            while (item := queue.get()) is not None:
                yield place, replace(item, number=next(numbers[place]))
            ended[place].result()


def _at_once() -> int:
    """Return how many examinations run at a time: more than the cores would disturb one another's times."""
    return max(2, os.cpu_count() or 1)


def _run(examination: Examination, queue: SimpleQueue[Step | None]) -> None:
    """Put the steps of an examination into a queue, and at last None, whatever happens."""
    try:
        for step in examination.running():
            queue.put(step)
    finally:
        queue.put(None)
