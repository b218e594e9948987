"""Compile the engine and the referee with mypyc, and the games of arena.env.batch, which are in C.

It is a hook of hatch for a wheel, and `make compiled` for a clone.

HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 enables the hook, and the wheel is then for one Python and one platform. hatch-mypyc
can't be used: it knows one source folder. Files whose dataclasses travel between processes, or have bare class
variables, stay as they are. mypyc forgets the cause in `raise ... from`: match.py sets it.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
# What runs at every request or observation.
MODULES = [
    *(
        f"arena/coup/{name}.py"
        for name in ("deal", "engine", "keyed_rng", "knowledge", "legal_moves", "visibility", "worlds")
    ),
    "arena/env/encoder.py",
    *(
        f"arena/referee/{name}.py"
        for name in ("budget", "game_recorder", "log_markers", "messages", "move_payloads", "wire")
    ),
    *(f"arena/referee/process/{name}.py" for name in ("clock", "judge", "match", "seat", "seat_poller")),
    "protocol/framing.py",
    "protocol/kits/coup_env.py",
]
EXTENSION = "arena/env/c"  # the folder of the games in C
# The environment variables CC and CFLAGS choose the compiler and its options, as for every extension module.
_SETUP = f"""
from glob import glob
from setuptools import Extension, setup
options = ["-O3", "-fvisibility=hidden"]
extension = Extension("arena.env._games", sorted(glob("{EXTENSION}/*.c")), extra_compile_args=options)
setup(name="games", ext_modules=[extension])
"""


def compile_modules(target: Path) -> list[str]:
    """Compile a copy of the sources, and return the paths of the compiled modules within `target`.

    A module that can't be compiled ends the process with the compiler's message.
    """
    with TemporaryDirectory() as name:
        copy = Path(name)
        for package in ("arena", "ladder", "protocol"):
            shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        options = ["--follow-imports=silent", "--ignore-missing-imports", "--config-file="]
        command = [sys.executable, "-m", "mypyc", *options, *MODULES]
        for each in (command, [sys.executable, "-c", _SETUP, "-q", "build_ext", "--inplace"]):
            done = subprocess.run(each, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                sys.exit(
                    f"{done.stdout[-4000:]}\nTo compile the arena, install a C compiler and the headers of Python."
                )
            shutil.rmtree(copy / "build")
        paths = [str(path.relative_to(copy)) for path in sorted(copy.rglob("*.so"))]
        for path in paths:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(copy / path, target / path)
        return paths


class CustomBuildHook(BuildHookInterface[Any]):
    """Add the compiled modules to a wheel, or to the clone of an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            started_at = time.time()
            compile_modules(ROOT)
            stamp = ROOT / ".compiled"  # `arena` compares its time with the files in these folders
            stamp.write_text("\n".join(sorted({EXTENSION, *(str(Path(module).parent) for module in MODULES)})))
            os.utime(stamp, (started_at, started_at))
        else:
            target = Path(self.directory) / "compiled"
            build_data["force_include"].update({str(target / path): path for path in compile_modules(target)})
            build_data.update(pure_python=False, infer_tag=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(Path(self.directory) / "compiled", ignore_errors=True)
