"""Measure what grows with a ladder's versions: `python -m tests.bench.scale BOTS [ROUNDS]`.

It prints CPU seconds and memory. Each version has about ROUNDS made-up matches, by default 4. A line is printed when it
is known, so that a run may be ended early.
"""

import random
import resource
import sys
import tempfile
from pathlib import Path

from ladder.round_queue import RoundQueue
from ladder.standings import StandingsUpdater
from tests.bench import web
from tests.bench.ladder import fill, measure_cpu, new_ladder, real_record, save_one_by_one


def main(bots: int, rounds: int = 4) -> None:
    draw, text = random.Random(1), real_record()

    def print_time(name: str, seconds: float) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{bots:,} {name}: {seconds:.3f} CPU s, peak {peak:.0f} MiB", flush=True)

    with tempfile.TemporaryDirectory() as folder, new_ladder(Path(folder) / "spring", bots) as ladder:
        save_one_by_one(ladder, draw, bots, 10, text)
        fill(ladder, draw, bots, rounds * bots // 4 - 10, text, has_records=False)
        _, saved = measure_cpu(lambda: save_one_by_one(ladder, draw, bots, 50, text))
        print_time("queue and save a match", saved / 50)
        standings = StandingsUpdater(ladder)
        print_time("first standings", measure_cpu(standings.update)[1])
        save_one_by_one(ladder, draw, bots, 50, text)
        print_time("standings 50 matches later", measure_cpu(standings.update)[1])
        web.TIMES = 1
        for path in ("/", "/standings", "/bots", "/bots/bot7"):
            web.PATHS = (path,)
            print_time(path, web.measure(ladder)[0].drawn)
        scheduler = RoundQueue(ladder)
        for name in ("first round", "next round"):
            print_time(name, measure_cpu(lambda: ladder.database.write(scheduler.queue_next))[1])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
