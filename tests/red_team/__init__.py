"""Attack this host's boxes on purpose, and report the results.

Uses the sandboxes and the referee from outside, as a hostile bot does. `catalog` has one row for each attack, with
the outcome expected in each tier; `suite` runs and judges rows; `channels` tries whether two colluding bots can
communicate. A box shows the programs in attacks/ as /bot.

`make attack` runs it on this host (__main__.py), and the tests in this folder run it row by row.
"""

from tests.red_team import stage, suite
from tests.red_team.catalog import ROWS, TIERS, Channel, CoveredBy, Kind, Match, NotTestable, Probes, Row, Together
from tests.red_team.channels import CHANNELS, ChannelResult, share_of_errors, try_channels
from tests.red_team.stage import ATTACKS, PYTHON, Stage, Talk, survivors
from tests.red_team.suite import (
    HONEST,
    SCENES,
    Result,
    attack,
    expected_results,
    failures,
    judge_channel,
    judge_probes,
    not_run,
    play,
    probe,
    table,
)

__all__ = [
    "ATTACKS",
    "CHANNELS",
    "HONEST",
    "PYTHON",
    "ROWS",
    "SCENES",
    "TIERS",
    "Channel",
    "ChannelResult",
    "CoveredBy",
    "Kind",
    "Match",
    "NotTestable",
    "Probes",
    "Result",
    "Row",
    "Stage",
    "Talk",
    "Together",
    "attack",
    "expected_results",
    "failures",
    "judge_channel",
    "judge_probes",
    "not_run",
    "play",
    "probe",
    "share_of_errors",
    "stage",
    "suite",
    "survivors",
    "table",
    "try_channels",
]
