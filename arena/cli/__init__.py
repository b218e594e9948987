"""Run the command `arena`: parse its options, call the packages, print results, and exit with a code.

This is the composition root: it may import every package, no package imports it, and no other package prints or exits.

Exit codes: 0 ok, 1 failed while playing or verifying, 2 wrong use or input, 130 interrupted. Data goes to stdout,
progress and notes to stderr. A command is imported when it is called, so that `arena --help` answers at once.
"""

import signal
import threading

# While modules are loaded, Ctrl-C ends the command at once, without a traceback.
_loading = (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
)
if _loading:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
from arena.cli.main import cli, main  # noqa: E402

if _loading:
    signal.signal(signal.SIGINT, signal.default_int_handler)

__all__ = ["cli", "main", "rules", "run_report"]
