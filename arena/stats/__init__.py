"""What a bot does: its statistics over many records, as one object; and how two bots differ.

Must not know terminals or files. A fold over `arena.tell.moments`: it holds numbers, never a record.
"""

from arena.stats.answer import (
    ONE_MATCH,
    SECTIONS,
    Answer,
    Compared,
    Difference,
    Profile,
    Rate,
    Records,
    Took,
    Turns,
    answer,
    rate_of,
    rates_of,
    to_csv,
)
from arena.stats.compare import with_comparison
from arena.stats.fold import ALL, Fold
from arena.stats.plots import page
from arena.stats.tally import Both, Tally, difference, quantile
