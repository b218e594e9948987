"""What others need to know of the bubblewrap sandbox."""

import os
import sys

from arena.sandbox.backend import Backend
from arena.sandbox.bubblewrap.box import BubblewrapSandbox
from arena.sandbox.bubblewrap.trial import why_not
from arena.sandbox.linux import cgroup
from arena.sandbox.programs import Programs


def _programs() -> Programs:
    """Search what a box's PATH shows first (toolchain.py), then the user's PATH: a box shows a program named by it."""
    shown = (f"{sys.prefix}/bin", f"{sys.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin")
    return Programs(path=os.pathsep.join([*shown, os.environ.get("PATH", os.defpath)]))


BACKEND = Backend(
    make=lambda choice, scratch: BubblewrapSandbox(scratch),
    why_not=lambda choice: why_not(),
    sweep=cgroup.sweep,
    programs=_programs,
)
