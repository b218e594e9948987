"""Folders of our own: who may look into one, and that a dead owner's are removed."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from arena.sandbox import lock_folder, remove_dead_scratch, scratch_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the folder for temporary files be one of this test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_scratch_folder_is_its_owners_alone(temporary: Path) -> None:
    """Bots' private folders, copies and logs lie in it: no other user may read, write or enter, whatever the umask."""
    before = os.umask(0)
    try:
        with scratch_folder() as scratch:
            assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
            assert scratch.parent == temporary
    finally:
        os.umask(before)
    assert list(temporary.iterdir()) == []


def test_a_scratch_folder_in_use_is_locked_and_a_dead_ones_is_removed(temporary: Path) -> None:
    """The lock is the owner's life: a folder that nobody locks is left of a killed arena."""
    dead = temporary / "arena-run-dead"
    (dead / "box" / "home").mkdir(parents=True)
    with scratch_folder() as scratch:
        assert lock_folder(scratch) is None
        remove_dead_scratch()
        assert list(temporary.iterdir()) == [scratch]
