"""What a bot does, counted from records, and shares with their intervals.

Must not know terminals, files or pydantic, since each worker of a ladder loads it. A fold over `arena.tell.moments`:
it holds numbers, never a record.
"""

from arena.count.fold import ALL, LOSSES, BotCounts, Fold
from arena.count.style import styles
from arena.count.tally import LEVEL, Both, Interval, Tally, difference, quantile
