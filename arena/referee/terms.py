"""The clocks of a match: what a bot may use for each request, for each game, and to start.

Two modes. By wall time there is one budget. By CPU time there are two: the bot is charged the CPU time of its process
and all its descendants, and, WALL_FACTOR times as large, the wall time. Both are consumed by what they measure;
whichever runs out first is a timeout. So a loaded host fails nobody, and sleeping isn't free.
"""

from dataclasses import dataclass

WALL_FACTOR = 5  # 20 ms of CPU took 80 ms, 110 at worst, with 4 burning processes per core here


@dataclass(frozen=True, slots=True)
class Timing:
    """Free time a request, bank a game, time to start, in ms; of CPU time if `cpu`, else of wall time.

    `ponder`: bots may compute while it isn't their turn. Otherwise they are frozen while others think, and
    where the sandbox can't do that, what they burn is charged to their next request (wall time can't tell).
    """

    limit_ms: int = 500
    bank_ms: int = 10_000
    start_ms: int = 10_000
    cpu: bool = False
    ponder: bool = False

    @property
    def factor(self) -> int:
        """Return how many times as large the wall budgets are."""
        return WALL_FACTOR if self.cpu else 1
