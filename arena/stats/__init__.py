"""What bots do: their statistics over many records, as one object; and how two bots differ.

Must not know terminals or files. What is counted, `arena.count` counts.
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
from arena.stats.plots import page
