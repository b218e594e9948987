"""The starters' own tests, by the command in their READMEs. Compilers take most of the time."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.kits.table import Kit, each_kit


@each_kit
def test_a_starters_own_test_passes_by_the_command_in_its_readme(kit: Kit, tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    shutil.copytree(kit.starter, folder, ignore=shutil.ignore_patterns("build", "__pycache__"))
    shutil.copy(kit.file, folder)
    block = re.search(r"```sh\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert block is not None
    *_, command = block[1].splitlines()
    ran = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
