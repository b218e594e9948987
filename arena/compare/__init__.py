"""Compare two versions of a bot in pairs of games that differ in nothing but the version, until the result is clear.

The plan of the blocks and the test, which stays valid at every interim result. `arena.compare.comparison` and
`arena.compare.divergence` read the stored games of `arena compare`. This package must not know click, and prints
nothing.
"""

from arena.compare.block_plan import NAMES, NEW, OLD, block_of, match_of, plan_blocks
from arena.compare.evidence import (
    ABOUT_PAIRS,
    BIAS,
    MIN_BLOCKS,
    UNDECIDED_ADVICE,
    VALIDITY,
    Evidence,
    PairedResult,
    Verdict,
    describe_elo,
    describe_pairing_gain,
    pairs_needed,
)
