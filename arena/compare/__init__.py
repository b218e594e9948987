"""Two versions of a bot beside each other: pairs of games that differ in nothing but the version, until it is clear.

`arena compare` without the command line. A comparison is a run (`arena.run`) of blocks; its evidence holds however
often one looks. Must not know click, and prints nothing.
"""

from arena.compare.comparison import Comparison, Pair
from arena.compare.config import NAMES, NEW, OLD, CompareConfig, Version
from arena.compare.differing import Difference, Differences, differences
from arena.compare.evidence import DOUBT, Evidence, Summary
