"""`intake` in processes of their own, with limits: what a stranger's archive makes its reader do ends with its reader.

A helper process is started once and forks for each archive, so each has limits of its own and costs no interpreter's
start. It reads JSON: what is to be read, and the limits. For each it prints a line of JSON, which is the bundle or what
was raised, and then the bundle's archive.
"""

import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from arena.bots.archive import ArchiveError, unpack
from arena.bots.errors import BotError, shown
from arena.bots.intake import MOST_UPLOAD, Bundle, intake
from arena.bots.zip_file import tar_of_zip
from arena.sandbox import scratch_folder

CPU_S = 20  # the largest archive of small files takes 2
WALL_S = 120.0
MEMORY = 768 << 20  # bytes of address space; 16 MB that become 64 take 300
MOST_COLLECTED = 256 << 20  # bytes of a zip of many people's files
_OPEN_FILES = 64
_FILE = 128 << 20  # bytes
_MOST_FILES = 20_000  # of many people

Wanted = tuple[Path, str | None]  # what `intake` is given


def intake_apart(
    path: Path,
    name: str | None = None,
    most_upload: int = MOST_UPLOAD,
    cpu_s: int = CPU_S,
    wall_s: float = WALL_S,
    memory: int = MEMORY,
) -> Bundle:
    """Do what `intake` does, and refuse what takes more than the limits. Raises BotError, OSError."""
    with closing(intake_each([(path, name)], most_upload, cpu_s, wall_s, memory)) as found:
        bundle = next(found)
    if isinstance(bundle, BotError):
        raise bundle
    return bundle


def intake_each(
    wanted: Sequence[Wanted],
    most_upload: int = MOST_UPLOAD,
    cpu_s: int = CPU_S,
    wall_s: float = WALL_S,
    memory: int = MEMORY,
) -> Generator[Bundle | BotError, None, None]:
    """Yield for each path and name what `intake_apart` returns or raises, in order. Raises OSError. Close it."""
    jobs = [(str(path), name or "", most_upload) for path, name in wanted]
    for (path, name), (answer, archive) in zip(wanted, _apart("take", jobs, cpu_s, wall_s, memory), strict=True):
        called = shown(os.path.basename(os.path.abspath(path)) if name is None else name)
        yield _refusal(called, answer) or Bundle(archive, **answer)


def unzip_apart(path: Path, folder: Path) -> None:
    """Unpack a zip of many people's files into an empty folder, as safely. Raises BotError, OSError."""
    with closing(_apart("unzip", [(str(path), str(folder))], 3 * CPU_S, WALL_S, 2 * MEMORY)) as found:
        answer, _ = next(found)
    if problem := _refusal(shown(path.name), answer):
        raise problem


def _apart(
    what: str, jobs: Sequence[Sequence[object]], cpu_s: int, wall_s: float, memory: int
) -> Generator[tuple[dict[str, Any], bytes], None, None]:
    """Yield what came of each job: what `main` told, and the bytes behind it."""
    search = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    words = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
    limits = {"cpu_s": cpu_s, "wall_s": wall_s, "memory": memory}
    with scratch_folder() as scratch, tempfile.TemporaryFile() as asked:  # scratch: a reader that is killed leaves it
        asked.write(json.dumps({"what": what, "jobs": jobs, "limits": limits}).encode())
        asked.seek(0)
        where = {**os.environ, "PYTHONPATH": search, "TMPDIR": str(scratch)}
        with subprocess.Popen(words, stdin=asked, stdout=subprocess.PIPE, env=where, start_new_session=True) as helper:
            assert helper.stdout is not None
            try:
                for _ in jobs:
                    answer = json.loads(helper.stdout.readline() or '{"failed": "its helper process has ended"}')
                    yield answer, helper.stdout.read(answer.pop("bytes", 0))
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(helper.pid, signal.SIGKILL)  # with a reader that is at work


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
    """Be the helper process: fork for each job, and print what comes of it."""
    asked = json.load(sys.stdin)
    limits = asked["limits"]
    for job in asked["jobs"]:
        with tempfile.TemporaryFile() as out:
            reader = os.fork()
            if not reader:
                _read(asked["what"], job, limits, out)
            _, status = os.waitpid(reader, 0)
            if status:
                out.seek(0)
                out.truncate()
                late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
                over = f"to read it takes more than {limits['cpu_s']} s or {limits['memory'] >> 20} MB"
                out.write(json.dumps({"slow": limits["wall_s"]} if late else {"failed": over}).encode() + b"\n")
            out.seek(0)
            try:
                while piece := out.read(1 << 20):
                    sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
            except BrokenPipeError:  # who asked was killed
                os._exit(1)


def _read(what: str, job: Sequence[Any], limits: dict[str, Any], out: IO[bytes]) -> None:
    """Be the reader of one archive, with limits, and end."""
    for kind, most in (
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, 2 * MOST_COLLECTED + 2_048 * _MOST_FILES if what == "unzip" else _FILE),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        with suppress(ValueError, OSError):  # such as macOS, for address space
            resource.setrlimit(kind, (most, most))
    signal.setitimer(signal.ITIMER_REAL, limits["wall_s"])  # whose signal ends it
    code, archive = 1, b""
    answer: dict[str, Any] = {}
    try:
        answer, archive = _outcome(what, job)
        code = 0
    except MemoryError:
        pass
    finally:
        with suppress(MemoryError):
            out.write(json.dumps(answer).encode() + b"\n" + archive)
            out.flush()
        os._exit(code)


def _outcome(what: str, job: Sequence[Any]) -> tuple[dict[str, Any], bytes]:
    """Return what comes of a job, and the bytes that belong to it. Raises MemoryError."""
    try:
        return _unzip(*job) if what == "unzip" else _take(*job)
    except MemoryError:
        raise
    except BotError as problem:
        return {"refused": str(problem)}, b""
    except OSError as problem:
        return {"errno": problem.errno, "strerror": problem.strerror, "filename": problem.filename}, b""
    except Exception as problem:
        return {"failed": f"the arena can't read it ({problem!r})"}, b""


def _take(path: str, name: str, most_upload: int) -> tuple[dict[str, Any], bytes]:
    bundle = intake(Path(path), name or None, most_upload)
    answer = {"digest": bundle.digest, "name": bundle.name, "file": bundle.file, "bytes": len(bundle.archive)}
    return answer, bundle.archive


def _unzip(path: str, folder: str) -> tuple[dict[str, Any], bytes]:
    try:
        with open(path, "rb") as file, tempfile.TemporaryFile() as tar:
            if os.fstat(file.fileno()).st_size > MOST_COLLECTED:
                raise ArchiveError(f"it has more than {MOST_COLLECTED >> 20} MB")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.fstat(file.fileno()).st_size else b""
            tar_of_zip(data, tar, 2 * MOST_COLLECTED, _MOST_FILES)  # type: ignore[arg-type]  # read like bytes
            tar.seek(0)
            unpack(tar, Path(folder), 2 * MOST_COLLECTED, _MOST_FILES)
    except ArchiveError as problem:
        what = str(problem).partition("\n")[0]
        name = shown(os.path.basename(path))
        raise BotError(f"{name} can't be taken: {what}.\nUnpack it, and name the folder.") from None
    return {}, b""
