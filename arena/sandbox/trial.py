"""A trial: whether a sandbox works on this machine, shown by a box that sees its own files.

Must not know which sandbox it is.
"""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from arena.sandbox.box import Exit, Program, Sandbox, SandboxError
from arena.sandbox.limits import Limits
from arena.sandbox.trees import scratch_folder

TRIAL_S = 10.0  # for a program that ends at once: twenty times what it takes
LOOK_S = 0.001  # between two looks whether it has ended


def trial(make: Callable[[Path], Sandbox]) -> None:
    """Make a sandbox, with its files below the folder, and run a program in it. Raises ProgramError, SandboxError."""
    with scratch_folder() as scratch:
        files = scratch / "program"
        files.mkdir()
        (files / "seen").touch()
        with (
            closing(make(scratch / "boxes")) as sandbox,
            closing(sandbox.start(Program(("test", "-e", "/bot/seen"), files), Limits())) as box,
        ):
            deadline = time.monotonic() + TRIAL_S
            while (ended := box.exit()) is None and time.monotonic() < deadline:
                time.sleep(LOOK_S)
    if ended != Exit(0, None):
        raise SandboxError(f"a trial box {'runs on' if ended is None else ended.describe(Limits())}")
