"""The command `arena`. The composition root: imports everything, is imported by nobody, and alone prints and exits.

Exit codes: 0 ok, 1 failed while playing or verifying, 2 wrong use or input, 130 interrupted. Data goes to stdout,
progress and notes to stderr. The packages are imported inside the commands, so that `arena --help` answers at once.
"""

from arena.cli.main import cli, main

__all__ = ["cli", "main", "report", "sheet"]
