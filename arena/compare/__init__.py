"""Compare two versions of a bot in pairs of games that differ in nothing but the version, until the result is clear.

`arena compare` without the command line. A comparison is a run (`arena.run`) of blocks; its evidence is valid at
every interim result. Must not know click, and prints nothing.
"""

from arena.compare.comparison import NAMES, NEW, OLD, CompareConfig, Comparison, GamePair, VersionArgument
from arena.compare.divergence import Divergence, Divergences, find_divergences
from arena.compare.evidence import DECISION_THRESHOLD, Evidence, Summary
