"""All bots of a run are looked at before anything is played: each starts, says hello, and plays the first moves."""

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from arena.bots import Bot
from arena.examine import Exam, Level, Patience, Step, quick_look, side_by_side
from arena.run.config import RunConfig
from arena.sandbox import Sandbox

_AT_ONCE = 16  # boxes of one user, as many as a sandbox's own counters allow for
_LONGEST_S = 12.0  # that an answer is waited for; a bot that may take longer is let go on
_SHORT_S = 2.0  # a limit below it may be missed because so many start at once
_WAKE_S = 0.5  # in which Ctrl-C is heard at the latest


@dataclass(frozen=True, slots=True)
class Unfit:
    """A bot that can't play: the step of its examination that failed."""

    bot: Bot
    step: Step


def look_at_all(config: RunConfig, sandbox: Sandbox, scratch: Path, mute: Callable[[Bot], None]) -> list[Unfit]:
    """Look at all bots of a run, and return those that can't play, in their order.

    `mute` is called, from any thread, for a bot that says nothing for two seconds after its hello. A bot has the times
    of a match, and two seconds at least for a request, since the others compute at the same time. Raises SandboxError
    or OSError if this machine failed.
    """
    timing = config.terms.timing
    allowed_s = max(_SHORT_S, (timing.limit_ms + timing.bank_ms) / 1000)
    exam = Exam(
        sandbox=sandbox,
        choice=config.sandbox,
        scratch=scratch,
        terms=config.terms,
        rules=(config.terms.rules,),
        seats=config.seats,
        hello_s=timing.start_ms / 1000,
        patience=Patience(min(allowed_s, _LONGEST_S), 0.0),
        silence_fails=allowed_s <= _LONGEST_S,
    )
    with side_by_side(exam, min(_AT_ONCE, len(config.bots))) as (threads, shared):
        looks = [threads.submit(quick_look, bot, shared, partial(mute, bot)) for bot in config.bots]
        waiting = set(looks)
        while waiting:  # a signal that another thread was given is seen once this one wakes
            done, waiting = wait(waiting, _WAKE_S, FIRST_EXCEPTION)
            for look in done:
                look.result()
        steps = [look.result() for look in looks]
    failed = [Unfit(bot, step) for bot, step in zip(config.bots, steps, strict=True) if step.level is Level.FAIL]
    if exam.hello_s < _SHORT_S and len(config.bots) > (os.cpu_count() or 1):
        failed = [again for each in failed if (again := _alone(each, exam)) is not None]
    return failed


def _alone(unfit: Unfit, exam: Exam) -> Unfit | None:
    """Look once more at a bot, while no other runs."""
    step = quick_look(unfit.bot, exam, lambda: None)
    return Unfit(unfit.bot, step) if step.level is Level.FAIL else None
