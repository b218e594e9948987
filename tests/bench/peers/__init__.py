"""Imitations of other programs that play bots, to be measured in the same run, with the same bots.

They do what such programs do for a move, and nothing else: no logs, no results, no isolation. Their lines are shorter
than the arena's. A long run minus a short one, which starts as many bots, excludes the starts.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.sandbox import Program

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """CPU microseconds a request of the peer itself and of its bots, without starts, and the bytes of a request."""

    own: float
    bots: float
    line_bytes: float
    requests: int


def first_bot() -> Program:
    return Program((sys.executable, str(HERE / "first.py")), HERE)


def chess_runner(bot: Program, folder: Path, requests: int) -> Peer:
    """Play two C bots by the imitation of a chess runner. Raises CalledProcessError without a C compiler."""
    runner = folder / "runner"
    subprocess.run(["cc", "-O2", "-o", str(runner), str(HERE / "runner.c")], check=True)
    return _played([str(runner), bot.argv[0]], requests, [], {})


def poker_program(bot: Program, seats: int, hands: int, environment: dict[str, str]) -> Peer:
    return _played([sys.executable, str(HERE / "poker.py"), str(seats)], hands, bot.argv, environment)


def _played(argv: Sequence[str], length: int, more: Sequence[str], environment: dict[str, str]) -> Peer:
    long, short = (_counted([*argv, str(each), *more], environment) for each in (length, 1))
    requests, own, bots, sent = (much - little for much, little in zip(long, short, strict=True))
    return Peer(own / requests, bots / requests, sent / requests, requests)


def _counted(argv: list[str], environment: dict[str, str]) -> list[int]:
    done = subprocess.run(argv, check=True, capture_output=True, text=True, env=environment)
    return list(map(int, done.stdout.split()))
