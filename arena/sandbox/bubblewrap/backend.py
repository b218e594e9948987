"""What others need to know of the bubblewrap sandbox."""

import os
import subprocess
import sys
from collections.abc import Iterator

from arena.sandbox.backend import Backend
from arena.sandbox.bubblewrap.box import BubblewrapSandbox
from arena.sandbox.bubblewrap.trial import why_not
from arena.sandbox.finding import Finding, Level
from arena.sandbox.linux import cgroup
from arena.sandbox.programs import Programs
from arena.sandbox.trouble import Trouble

ASK_S = 10  # for bwrap to say its version


def _programs() -> Programs:
    """Search what a box's PATH shows first (toolchain.py), then the user's PATH: a box shows a program named by it."""
    shown = (f"{sys.prefix}/bin", f"{sys.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin")
    return Programs(sys.executable, os.pathsep.join([*shown, os.environ.get("PATH", os.defpath)]))


def _findings(trouble: Trouble | None) -> Iterator[Finding]:
    if trouble is not None:
        yield Finding("bubblewrap", Level.WARN, trouble)
        return
    version = _version()
    yield Finding.of("bubblewrap", Level.OK, f"works: a trial box ran{f' ({version})' if version else ''}")


def _version() -> str | None:
    """Return what bwrap says of its version, None if it isn't there, fails, or takes too long."""
    try:
        ran = subprocess.run(
            ("bwrap", "--version"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None


BACKEND = Backend(
    make=lambda choice, scratch: BubblewrapSandbox(scratch),
    why_not=lambda choice: why_not(),
    sweep=cgroup.sweep,
    programs=_programs,
    findings=_findings,
)
