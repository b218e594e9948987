"""Count what bots do from records, and estimate rates with their intervals.

Must not know terminals, files or pydantic, since each worker of a ladder loads it. A fold over `arena.replay.steps`:
it holds numbers, never a record.
"""

from arena.stats.counting import ALL, LOSSES, BotCounts, StatsAccumulator, count_play_styles
from arena.stats.proportion import LEVEL, Interval, JointCounts, Proportion, proportion_difference, student_t_quantile
