"""Measure how long a ladder takes to check the uploads before a deadline, and how fast its pages answer meanwhile.

It also plays rated matches. A tenth of the uploads thinks for 100 ms a request, a tenth fails its check, and the others
are samples with a kit.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
from sqlalchemy import func, select

from arena.coup import PRESETS
from arena.referee import MatchSettings
from arena.samples import sample_file
from arena.sandbox import SandboxChoice
from ladder.bots import submit_bot, submit_reference
from ladder.ladder import Ladder, LadderFormat, create_ladder
from ladder.store import METADATA, User, save_users
from ladder.users import issue_secret

UPLOADS = 150
CORES = 2
READS = 300
RUSH_S = 600
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
    with _new_ladder(uploads) as ladder:
        for number in range(uploads):
            submit_bot(ladder, _upload(ladder.path.parent, number), f"u{number}", name=f"bot{number}")
        versions = METADATA.tables["versions"]
        waiting = select(func.count()).where(versions.c.status.in_(("queued", "checking")))
        began = time.monotonic()
        command = [sys.executable, "-m", "arena.cli", "ladder", "run", str(ladder.path), "--jobs", str(CORES)]
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


def slowest_answer_s(uploads: int = UPLOADS, reads: int = READS, rush_s: float = RUSH_S) -> float:
    """Return the longest time until an answer, in seconds, while each user uploads twice and others read standings.

    Pages and two workers share the machine. Raises AssertionError if an upload or an answer is lost.
    """
    with _new_ladder(uploads) as ladder:
        toml = ladder.path / "ladder.toml"
        toml.write_text(toml.read_text().replace("public = false", "public = true"))
        secrets = [issue_secret(ladder, f"u{number}", "token", "bench", "submit").secret for number in range(uploads)]
        bots = [_upload(ladder.path.parent, number) for number in range(uploads)]
        bots = [bot if bot.is_file() else bots[2] for bot in bots]  # a folder has several files
        command = [sys.executable, "-m", "arena.cli", "ladder", "serve", str(ladder.path), "--port", "0"]
        server = subprocess.Popen([*command, "--jobs", str(CORES)], stderr=subprocess.PIPE, text=True)
        try:
            found = re.search(r"http://\S+", server.stderr.readline())
            assert found, server.stderr.read()
            client = httpx2.Client(base_url=found[0], timeout=60, limits=httpx2.Limits(max_keepalive_connections=0))
            count = 2 * uploads + reads
            began = time.monotonic()

            def answer(place: int) -> float:
                turn = place * 7919 % count  # reads and uploads take turns
                time.sleep(max(0.0, began + rush_s * turn / count - time.monotonic()))
                sent = time.monotonic()
                if place >= 2 * uploads:
                    response = client.get("/standings")
                else:
                    number, again = place % uploads, place // uploads
                    files = {"files": (bots[number].name, bots[number].read_bytes() + b"\n" * again)}
                    headers = {"Authorization": f"Bearer {secrets[number]}"}
                    response = client.post(
                        "/api/submissions", data={"name": f"bot{number}"}, files=files, headers=headers
                    )
                assert response.is_success, response.text
                return time.monotonic() - sent

            with ThreadPoolExecutor(count) as pool:
                slowest = max(pool.map(answer, range(count)))
            versions = select(func.count()).select_from(METADATA.tables["versions"])
            stored = ladder.database.read_with_retry(lambda connection: connection.scalar(versions))
            assert stored == 2 * uploads + 4, stored
            return slowest
        finally:
            server.terminate()
            server.communicate()


@contextmanager
def _new_ladder(uploads: int) -> Iterator[Ladder]:
    """Yield a ladder of four samples and of the users u0, u1 ..., who have no bots."""
    with tempfile.TemporaryDirectory() as folder:
        play = LadderFormat(MatchSettings(rules=PRESETS["coup"]), SandboxChoice("process"), seats=4, match_games=12)
        with closing(create_ladder(Path(folder, "spring"), play, None)) as ladder:
            for name in ("honest", "counter", "bluffer", "turtle"):
                submit_reference(ladder, f"sample:{name}")
            people = [User(f"u{number}", f"u{number}", f"p{number}") for number in range(uploads)]
            ladder.database.write(lambda connection: save_users(connection, people, 1.0))
            yield ladder


def _upload(folder: Path, number: int) -> Path:
    """Return the path of an upload; each has other bytes."""
    if number % 10 < 2:
        bot = folder / f"bot{number}.py"
        bot.write_text(f"{THINKS if number % 10 else 'print(1)'}# {number}\n")
        return bot
    sample = sample_file(f"sample:{SAMPLES[number % len(SAMPLES)]}")
    assert sample is not None
    return sample
