"""Where a sandbox finds interpreters. Source: the docstring of arena/sandbox/programs.py."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pythons_that_are_one_have_one_path() -> None:
    """So `arena run --resume` goes on with what `python -m arena.cli run` began: a bare file's command is the same."""
    folder = Path(sys.executable).parent
    names = [path for path in folder.glob("python*") if path.name[6:].strip("0123456789.") == ""]
    pythons = [path for path in names if os.path.samefile(path, sys.executable)]
    assert len(pythons) > 1, "this Python has one name alone"
    script = "from arena.sandbox import Programs; print(Programs().python)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    paths = {subprocess.check_output([path, "-c", script], env=environment, timeout=60) for path in pythons}
    assert len(paths) == 1
