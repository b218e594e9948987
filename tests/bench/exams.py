"""Sixty submissions at once, examined by two workers of this machine, in the strongest sandbox that works here."""

import io
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from arena.bots import PortableBot, intake, load, pack, portable
from arena.referee import Terms
from arena.sandbox import Choice, programs_of, strongest
from ladder.pool import Workers
from ladder.work import ExamJob, examine_version

SEATS = 4


@dataclass(frozen=True)
class Examinations:
    """What was measured: all, and one of them. `passed` counts the versions that may play."""

    sandbox: str
    seconds: float
    median_s: float
    most_s: float
    passed: int


def measured(count: int, folder: Path, workers: int) -> Examinations:
    """Examine so many submissions, of the sample bots in turns."""
    choice = Choice(strongest()[0])
    bots = sorted(path for path in folder.iterdir() if path.suffix in (".py", ".js"))
    references = tuple(_reference(path, choice) for path in bots[: SEATS - 1])
    jobs = []
    for number in range(count):
        taken = intake(bots[number % len(bots)])
        name = f"{taken.name}@{number}"
        key = number.to_bytes(32, "big")
        jobs.append(
            ExamJob(name, taken.archive, taken.digest, taken.file, Terms(), choice, SEATS, SEATS, references, key)
        )
    began = time.monotonic()
    with Workers(workers) as executor:
        found = [future.result() for future in [executor.submit(examine_version, job) for job in jobs]]
    seconds = [each.seconds for each in found]
    return Examinations(
        choice.name, time.monotonic() - began, median(seconds), max(seconds), sum(each.passed for each in found)
    )


def _reference(path: Path, choice: Choice) -> tuple[PortableBot, bytes]:
    programs = programs_of(choice.name)
    (bot,), _ = load([str(path)], programs)
    archive = io.BytesIO()
    pack(bot.path, archive)
    return portable(replace(bot, name=f"{bot.name}@reference"), programs), archive.getvalue()
