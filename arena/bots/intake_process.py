"""`intake` in a process of its own, with limits: what a stranger's archive makes its reader do ends with its reader.

The helper process reads JSON: what is to be read, and the limits. It prints a line of JSON, which is the bundle or what
was raised, and then the bundle's archive.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from arena.bots.errors import BotError, shown
from arena.bots.intake import MOST_UPLOAD, Bundle, intake
from arena.sandbox import scratch_folder

CPU_S = 20  # the largest archive of small files takes 2
WALL_S = 120.0
MEMORY = 768 << 20  # bytes of address space; 16 MB that become 64 take 300
_OPEN_FILES = 64
_FILE = 128 << 20  # bytes
_OVER = 3  # the exit code of a helper process that had too little memory


def intake_apart(
    path: Path,
    name: str | None = None,
    most_upload: int = MOST_UPLOAD,
    cpu_s: int = CPU_S,
    wall_s: float = WALL_S,
    memory: int = MEMORY,
) -> Bundle:
    """Do what `intake` does, and refuse what takes more than the limits. Raises BotError, OSError."""
    limits = {"cpu_s": cpu_s, "wall_s": wall_s, "memory": memory}
    answer, archive = _apart((str(path), name, most_upload), limits)
    problem = _refusal(shown(os.path.basename(os.path.abspath(path)) if name is None else name), answer)
    if problem is not None:
        raise problem
    return Bundle(archive, **answer)


def _apart(job: tuple[str, str | None, int], limits: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return what came of a job: what `main` told, and the bytes behind it."""
    search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    words = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
    with scratch_folder() as scratch:  # a helper that is killed leaves its files there
        where = {**os.environ, "PYTHONPATH": search, "TMPDIR": str(scratch)}
        asked = json.dumps({"job": job, "limits": limits}).encode()
        ran = subprocess.run(words, input=asked, stdout=subprocess.PIPE, env=where, start_new_session=True, check=False)
    if ran.returncode == -signal.SIGALRM:
        return {"slow": limits["wall_s"]}, b""
    if ran.returncode == _OVER or ran.returncode < 0:
        over = f"to read it takes more than {limits['cpu_s']} s or {limits['memory'] >> 20} MB"
        return {"failed": over}, b""
    answer, _, archive = ran.stdout.partition(b"\n")
    return json.loads(answer or '{"failed": "its helper process has ended"}'), archive


def _refusal(called: str, answer: dict[str, Any]) -> BotError | None:
    """Return why something was refused, None if it wasn't. Raises OSError for what this machine lacks."""
    if "errno" in answer:
        raise OSError(answer["errno"], answer["strerror"], answer["filename"])
    if "refused" in answer:
        return BotError(answer["refused"])
    if "slow" in answer:
        return BotError(f"{called} can't be taken: to read it takes more than {answer['slow']:g} s.\nPack it anew.")
    if "failed" in answer:
        return BotError(
            f"{called} can't be taken: {shown(answer['failed'])}.\nPack the bot's folder anew, as a zip or a tar."
        )
    return None


# --- in the helper process --------------------------------------------------------------------------------------------


def main() -> None:
    """Be the helper process: read one archive, with limits, and print what comes of it."""
    asked = json.load(sys.stdin)
    limits = asked["limits"]
    for kind, most in (
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, _FILE),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        with suppress(ValueError, OSError):  # such as macOS, for address space
            resource.setrlimit(kind, (most, most))
    signal.setitimer(signal.ITIMER_REAL, limits["wall_s"])  # whose signal ends it
    try:
        answer, archive = _outcome(*asked["job"])
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + archive)
        sys.stdout.buffer.flush()
        os._exit(0)
    except MemoryError:
        os._exit(_OVER)
    except BrokenPipeError:  # who asked was killed
        os._exit(1)


def _outcome(path: str, name: str | None, most_upload: int) -> tuple[dict[str, Any], bytes]:
    """Return what comes of a job, and the bundle's archive. Raises MemoryError."""
    try:
        bundle = intake(Path(path), name, most_upload)
    except MemoryError:
        raise
    except BotError as problem:
        return {"refused": str(problem)}, b""
    except OSError as problem:
        return {"errno": problem.errno, "strerror": problem.strerror, "filename": problem.filename}, b""
    except Exception as problem:
        return {"failed": f"the arena can't read it ({problem!r})"}, b""
    return {"digest": bundle.digest, "name": bundle.name, "file": bundle.file}, bundle.archive
