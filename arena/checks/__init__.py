"""Check bots at a scripted table over real pipes, check the host and its sandboxes, and advise how to fix problems.

This package is used by `arena check`, by the test start of `arena run`, and by `arena doctor`. `mistakes` finds the
mistake behind a fault. This package prints nothing and must not know click.
"""

from arena.checks.bot_check import BotCheck, smoke_test
from arena.checks.bot_connection import BotConnection, ConnectionBrokenError
from arena.checks.check_settings import BUILD_S, ENDURANCE_S, HELLO_S, PAUSE_S, CheckSettings
from arena.checks.check_step import CheckReport, CheckResult, CheckStep, CheckStepView
from arena.checks.check_threads import check_all, open_check_threads
from arena.checks.endurance import Endurance
from arena.checks.fault_context import FaultContext
from arena.checks.fault_report import FaultReport, make_fault_report
from arena.checks.host_check import Finding, HostReport, Severity, check_host, try_sandboxes
from arena.checks.mistakes import MISTAKES, Diagnosis, diagnose_fault
from arena.checks.process_findings import ProcessFindings
from arena.checks.request_features import explain_illegal_move, list_features
from arena.checks.request_kinds import request_kinds
from arena.checks.scripted_table import CHECK_KEY, Timeouts
