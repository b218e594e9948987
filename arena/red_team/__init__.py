"""Attack the boxes of this host, on purpose, and say what came of it.

Knows the sandboxes and the referee from outside, as a hostile bot meets them. `catalog` has one row for each attack of
the attack list, with what is expected of each tier; `suite` runs rows and judges; `channels` measures how much two
colluding bots can tell each other. The programs themselves are in attacks/, which a box shows to them as /bot.

It ships with the arena, since `arena doctor --attack` runs it on hosts that have no source tree.
"""

from arena.red_team.catalog import ROWS, TIERS, Row
from arena.red_team.channels import CHANNELS, Measured, measure
from arena.red_team.suite import Result, attack, expected_results, failures, table

__all__ = [
    "CHANNELS",
    "ROWS",
    "TIERS",
    "Measured",
    "Result",
    "Row",
    "attack",
    "expected_results",
    "failures",
    "measure",
    "table",
]
