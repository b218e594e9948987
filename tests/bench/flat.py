"""Whether the referee's memory stays flat over many games."""

import gc
import json
import sys
import tempfile
from pathlib import Path

from arena.referee import play_match
from arena.sandbox import Box, Limits, ProcessSandbox
from tests.bench.figures import spec
from tests.bench.pipes import c_bot


def memory_mb(games: int) -> tuple[float, float, int]:
    """Play matches of 100 two-seat games with C bots; return resident MB after a tenth, at the end, and the games."""
    played = 0
    early = 0.0
    with tempfile.TemporaryDirectory() as folder:
        program = c_bot(Path(folder))
        sandbox = ProcessSandbox(Path(folder))

        def launch(bot: int) -> Box:
            return sandbox.start(program, Limits())

        while played < games:
            play_match(spec(2, 100), launch)
            played += 100
            if not early and played >= games // 10:
                early = _resident_mb()
    return early, _resident_mb(), played


def _resident_mb() -> float:
    gc.collect()
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    print(json.dumps(memory_mb(int(sys.argv[1]))))
