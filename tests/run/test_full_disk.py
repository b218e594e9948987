"""Tests of a full disk below the temporary files of a run: one message, and the way to continue.

tests/cli/test_boxes.py tests full disks at the start, and below the results.
Other failures with the same errno still void their match.
"""

import errno
import os
import pickle
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.run import OutOfSpaceError
from arena.sandbox import SANDBOX_NAMES, SandboxError, is_disk_full, no_space_message, unavailable_reason
from tests.cli_workspace import Place
from tests.disk import fill_until_it_ends

Needs = Callable[[str, str | None], None]

ENDLESS = ("--games", 100_000, "--match-games", 2, "--jobs", 2)


@pytest.mark.parametrize("name", SANDBOX_NAMES)
def test_a_disk_that_runs_full_ends_the_run_with_one_message(
    place: Place, needs: Needs, small_disk: Path, name: str
) -> None:
    """It names the disk and a remedy, doesn't blame the results, and reports no match as void."""
    needs(name, unavailable_reason(name))
    process = place.start("run", *place.bots(2), *ENDLESS, "--sandbox", name, "--out", "out", TMPDIR=str(small_disk))
    records = place.folder / "out" / "records"
    place.wait((records / "000001.jsonl").exists, process=process)
    filler = small_disk / "filler"
    fill_until_it_ends(filler, process)
    ran = place.end(process)
    assert ran.code == 1
    assert ran.messages[0] == f"arena: no space for temporary files in {small_disk}: free some, or set TMPDIR"
    assert "arena run --resume out" in ran.messages[1]
    assert len(ran.messages) == 2
    assert ran.err.count(str(small_disk)) == 1
    assert "results can't be written" not in ran.err
    assert "void" not in ran.err
    assert "games of coup at 2 seats" in ran.out, "the standings so far"
    kept = len(list(records.glob("*.jsonl")))
    assert kept > 0

    assert [path.name for path in small_disk.iterdir()] == ["filler"], "the run's own files are gone"
    for path in filler.iterdir():
        path.unlink()
    process = place.start("run", "--resume", "out", TMPDIR=str(small_disk))
    place.wait(lambda: len(list(records.glob("*.jsonl"))) > kept, process=process)
    process.send_signal(signal.SIGTERM)
    assert place.end(process).code == 130
    place.wait(lambda: not place.processes())


def error_with_cause(cause: OSError) -> SandboxError:
    try:
        try:
            raise cause
        except OSError as problem:
            raise SandboxError("can't") from problem
    except SandboxError as problem:
        return problem


def test_a_full_table_of_the_kernel_is_no_full_disk(tmp_path: Path) -> None:
    """Limits of control groups and mounts raise ENOSPC too, with their own message."""
    scratch = tmp_path / "scratch"
    assert is_disk_full(error_with_cause(OSError(errno.ENOSPC, "full", str(scratch / "box-1"))), scratch)
    assert is_disk_full(error_with_cause(OSError(errno.EDQUOT, "full", os.fsencode(scratch / "box-1"))), scratch)
    assert is_disk_full(OSError(errno.ENOSPC, "full"), scratch), "write(2) names no file"
    assert is_disk_full(OSError(errno.ENOSPC, "full", 5), scratch), "a descriptor"
    assert not is_disk_full(error_with_cause(OSError(errno.ENOSPC, "full", "/sys/fs/cgroup/arena.1")), scratch)
    assert not is_disk_full(error_with_cause(OSError(errno.EMFILE, "too many", str(scratch / "box-1"))), scratch)
    assert not is_disk_full(SandboxError("bwrap is missing"), scratch)
    link = tmp_path / "link"
    scratch.mkdir()
    link.symlink_to(scratch)
    assert is_disk_full(error_with_cause(OSError(errno.ENOSPC, "full", str(scratch / "docker-1"))), link)


def test_a_full_disk_in_a_worker_is_reported_unchanged(tmp_path: Path) -> None:
    """Exceptions are pickled on their way."""
    problem = OutOfSpaceError(no_space_message(tmp_path))
    assert str(pickle.loads(pickle.dumps(problem))) == str(problem)
