"""Count the behaviour of bots from records, and estimate rates with confidence intervals.

This package must not know terminals, files or pydantic, since each worker of a ladder loads this package. Records are
counted one after the other: memory holds only the counts.
"""

from arena.stats.bot_counts import ALL, LOSSES, BotCounts, StatsAccumulator, count_play_styles
from arena.stats.proportion import (
    LEVEL,
    Interval,
    JointCounts,
    Proportion,
    paired_interval,
    paired_variance,
    proportion_difference,
    student_t_quantile,
)
