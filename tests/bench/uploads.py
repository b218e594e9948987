"""Measure how long a ladder takes to check the uploads before a deadline, while it also plays rated matches.

A tenth of the uploads thinks for 100 ms a request, a tenth fails its check, and the others are samples with a kit.
"""

import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from sqlalchemy import func, select

from arena.coup import PRESETS
from arena.referee import MatchSettings
from arena.samples import sample_file
from arena.sandbox import SandboxChoice
from ladder.bots import submit_bot, submit_reference
from ladder.ladder import LadderFormat, create_ladder
from ladder.store import METADATA, User, save_users

UPLOADS = 150
CORES = 2
SAMPLES = ("honest.py", "counter.py", "opportunist.py", "honest.js", "challenger.py", "turtle.py", "bluffer.py", "cpp")
THINKS = """import sys, time
for line in sys.stdin:
    if '"type":"hello"' in line: print('{"type":"hello"}', flush=True)
    if '"type":"request"' in line:
        time.sleep(0.1)
        print('{"id":%s,"choice":0}' % line.partition('"id":')[2].partition(",")[0], flush=True)
"""


def minutes(uploads: int = UPLOADS) -> float:
    """Return the minutes from the start of a runner with two workers until all uploads are checked."""
    with tempfile.TemporaryDirectory() as folder:
        spring = Path(folder, "spring")
        play = LadderFormat(MatchSettings(rules=PRESETS["coup"]), SandboxChoice("process"), seats=4, match_games=12)
        with closing(create_ladder(spring, play, None)) as ladder:
            for name in ("honest", "counter", "bluffer", "turtle"):
                submit_reference(ladder, f"sample:{name}")
            people = [User(f"u{number}", f"u{number}", f"p{number}") for number in range(uploads)]
            ladder.database.write(lambda connection: save_users(connection, people, 1.0))
            for number in range(uploads):
                submit_bot(ladder, _upload(Path(folder), number), f"u{number}", f"bot{number}")
            versions = METADATA.tables["versions"]
            waiting = select(func.count()).where(versions.c.status.in_(("queued", "checking")))
            began = time.monotonic()
            command = [sys.executable, "-m", "arena.cli", "ladder", "run", str(spring), "--jobs", str(CORES)]
            runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                while runner.poll() is None and ladder.database.read_with_retry(
                    lambda connection: connection.scalar(waiting) or 0
                ):
                    time.sleep(1)
                assert runner.poll() is None, "the runner has ended"
                return (time.monotonic() - began) / 60
            finally:
                runner.terminate()
                runner.wait()


def _upload(folder: Path, number: int) -> Path:
    """Return the path of an upload; each has other bytes."""
    if number % 10 < 2:
        bot = folder / f"bot{number}.py"
        bot.write_text(f"{THINKS if number % 10 else 'print(1)'}# {number}\n")
        return bot
    sample = sample_file(f"sample:{SAMPLES[number % len(SAMPLES)]}")
    assert sample is not None
    return sample
