"""Test that tsc finds no error in the scripts of the pages, by their JSDoc types."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path


def test_the_scripts_of_the_pages_have_no_error_of_types(needs: Callable[[str, str | None], None]) -> None:
    tsc = shutil.which("tsc")
    needs("tsc", None if tsc else "tsc isn't installed")
    command = [tsc or "", "-p", Path(__file__).with_name("jsconfig.json")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")
