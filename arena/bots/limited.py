"""`intake` in a process of its own, with limits: what a stranger's archive makes its reader do ends with that process.

The process prints a line of JSON, which is the bundle or what was raised, and then the bundle's archive.
"""

import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from arena.bots.errors import BotError, shown
from arena.bots.intake import MOST_UPLOAD, Bundle, intake
from arena.sandbox import scratch_folder

CPU_S = 20  # the largest archive of small files takes 2
WALL_S = 120.0
MEMORY = 768 << 20  # bytes of address space; 16 MB that become 64 take 300
_OPEN_FILES = 64
_FILE = 128 << 20  # bytes


def intake_apart(
    path: Path,
    name: str | None = None,
    most_upload: int = MOST_UPLOAD,
    cpu_s: int = CPU_S,
    wall_s: float = WALL_S,
    memory: int = MEMORY,
) -> Bundle:
    """Do what `intake` does, and refuse what takes more than the limits. Raises BotError, OSError."""
    called = shown(os.path.basename(os.path.abspath(path)) if name is None else name)
    begin = f"from {__name__} import main; main()"
    words = [sys.executable, "-P", "-c", begin, path, name or "", most_upload, cpu_s, memory]
    search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    with scratch_folder() as scratch:  # of this process: one that is killed leaves what it wrote
        where = {**os.environ, "PYTHONPATH": search, "TMPDIR": str(scratch)}
        try:
            done = subprocess.run(
                [str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, timeout=wall_s, env=where
            )
        except subprocess.TimeoutExpired:
            raise BotError(
                f"{called} can't be taken: to read it takes more than {wall_s:g} s.\nPack it anew."
            ) from None
    head, _, archive = done.stdout.partition(b"\n")
    if done.returncode or not head:
        limits = f"{cpu_s} s or {memory >> 20} MB"
        last = (done.stderr.decode(errors="replace").splitlines() or [""])[-1]
        died = done.returncode < 0 or last.startswith("MemoryError")
        why = f"to read it takes more than {limits}" if died else f"the arena can't read it ({shown(last)})"
        raise BotError(f"{called} can't be taken: {why}.\nPack the bot's folder anew, as a zip or a tar.")
    told = json.loads(head)
    if "errno" in told:
        raise OSError(told["errno"], told["strerror"], told["filename"])
    if "refused" in told:
        raise BotError(told["refused"])
    return Bundle(archive, **told)


def main() -> None:
    """Be the process: PATH NAME MOST_UPLOAD CPU_S MEMORY."""
    path, name, most_upload, cpu_s, memory = sys.argv[1:]
    limits = {
        resource.RLIMIT_CPU: int(cpu_s),
        resource.RLIMIT_AS: int(memory),
        resource.RLIMIT_FSIZE: _FILE,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
    }
    for kind, most in limits.items():
        with suppress(ValueError, OSError):  # such as macOS, for address space
            resource.setrlimit(kind, (most, most))
    archive = b""
    told: dict[str, object]
    try:
        bundle = intake(Path(path), name or None, int(most_upload))
        told = {"digest": bundle.digest, "name": bundle.name, "file": bundle.file}
        archive = bundle.archive
    except BotError as problem:
        told = {"refused": str(problem)}
    except OSError as problem:
        told = {"errno": problem.errno, "strerror": problem.strerror, "filename": problem.filename}
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
    sys.stdout.buffer.write(archive)
