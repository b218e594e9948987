"""Run a ladder's runner that stops itself (SIGSTOP) after its first match, and prints its work once it continues.

usage: python -m tests.ladder.sleeper LADDER SILENT_S
"""

import os
import signal
import sys
from contextlib import closing
from pathlib import Path

from arena.run import open_executor
from ladder.ladder import open_ladder
from ladder.runner import LadderRunner
from ladder.runner_events import MatchFinished


def main(folder: Path, silent_s: float) -> None:
    with closing(open_ladder(folder)) as ladder, open_executor(ladder.play.sandbox, 2) as pool:
        service = LadderRunner(ladder, pool, silent_s=silent_s)
        signal.signal(signal.SIGTERM, lambda *_: service.stop())
        slept = False
        for event in service.events():
            if isinstance(event, MatchFinished):
                print(event.id, "new" if event.new else "late", flush=True)
                if not slept:
                    slept = True
                    os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
