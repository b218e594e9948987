"""Measure the players of a study: the rows of its games, measures by deal, and differences."""

from arena.study_measures.measures import (
    COMPARED_MEASURES,
    MEASURES,
    PAIR_VARIANCE,
    Cases,
    Difference,
    Key,
    Measure,
    Measured,
    compare_all,
    correct_by_holm,
    measure_all,
    pair_keys,
    paired_rates,
    smallest_difference,
)
from arena.study_measures.tables import (
    CallRow,
    Challenge,
    Claim,
    Decision,
    GameTables,
    Line,
    Reaction,
    Row,
    Statement,
    list_calls,
    read_game,
)
