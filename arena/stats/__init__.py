"""What a bot does: its statistics over many records, as one object; and how two bots differ.

Must not know terminals. A fold over `arena.tell.moments`: it holds numbers, never a record.
"""

from arena.stats.answer import (
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
    rates_of,
    schema_text,
    to_csv,
    to_line,
)
from arena.stats.compare import with_comparison
from arena.stats.fold import ALL, Fold

__all__ = [
    "ALL",
    "SECTIONS",
    "Answer",
    "Compared",
    "Difference",
    "Fold",
    "Profile",
    "Rate",
    "Records",
    "Took",
    "Turns",
    "answer",
    "rates_of",
    "schema_text",
    "to_csv",
    "to_line",
    "with_comparison",
]
