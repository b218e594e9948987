"""Check a bot at a scripted table over the real pipes, and the host with its boxes; advise how to fix what fails.

Prints nothing and must not know click: `arena check` prints a check's steps, `arena run` looks at each bot
before it plays, `arena doctor` prints what the host has. `diagnosis` finds the mistake behind a fault from its traces.
"""

from arena.checks.bot_check import (
    BUILD_S,
    CHECK_KEY,
    HELLO_S,
    BotCheck,
    CheckReport,
    CheckResult,
    CheckSettings,
    CheckStep,
    CheckStepView,
    check_bot,
    smoke_test,
)
from arena.checks.diagnosis import DIAGNOSIS_RULES, Diagnosis, FaultContext, diagnose_fault
from arena.checks.host import Finding, HostReport, Severity, check_host, check_languages, try_sandboxes
from arena.checks.parallel import check_all, open_check_threads
from arena.checks.scripted_table import Timeouts, request_kinds
