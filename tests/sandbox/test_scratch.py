"""Tests of the arena's own folders: their mode, their removal, and that of a dead owner's."""

import errno
import os
import resource
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from arena.sandbox import lock_folder, remove_dead_scratch, remove_tree, scratch_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder for temporary files one of this test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_scratch_folder_is_private(temporary: Path) -> None:
    """It has bots' private folders, copies and logs: no other user may read, write or enter it, for any umask."""
    before = os.umask(0)
    try:
        with scratch_folder() as scratch:
            assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
            assert scratch.parent == temporary
    finally:
        os.umask(before)
    assert list(temporary.iterdir()) == []


def test_folders_that_cannot_be_locked_are_removed(temporary: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))  # no descriptor is left
    try:
        with pytest.raises(OSError, match="can be locked"), scratch_folder():
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert list(temporary.iterdir()) == []


def test_a_scratch_folder_in_use_is_locked_and_a_dead_ones_is_removed(temporary: Path) -> None:
    """A folder without a lock is left of a killed arena."""
    dead = temporary / "arena-run-dead"
    (dead / "box" / "home").mkdir(parents=True)
    with scratch_folder() as scratch:
        assert lock_folder(scratch) is None
        remove_dead_scratch()
        assert list(temporary.iterdir()) == [scratch]


def test_a_tree_is_removed_where_a_full_disk_has_no_room_for_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "run" / "deep").mkdir(parents=True)
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1 + sys.getrecursionlimit()):
        os.mkdir("bottomless", dir_fd=folder)
        folder, above = os.open("bottomless", os.O_RDONLY, dir_fd=folder), folder
        os.close(above)
    os.close(folder)
    with monkeypatch.context() as full_disk:
        full_disk.setattr("tempfile.mkdtemp", fail)
        remove_tree(tmp_path / "run")
        remove_tree(tmp_path / "bottomless")  # too deep to be removed, it raises nothing
    assert not (tmp_path / "run").exists()
    remove_tree(tmp_path / "bottomless")
    assert not (tmp_path / "bottomless").exists()


def test_links_in_a_scratch_folder_are_removed_without_their_targets(tmp_path: Path) -> None:
    """They are at its top and below, and lead to files, to folders, and to nothing."""
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "bot.py").write_text("print()\n")
    (home / "bot.py").chmod(0o644)
    with scratch_folder() as scratch:
        (scratch / "deep").mkdir()
        for folder in (scratch, scratch / "deep"):
            (folder / "file").symlink_to(home / "bot.py")
            (folder / "folder").symlink_to(home)
            (folder / "nothing").symlink_to(home / "nothing")
        remove_tree(scratch / "folder")
        assert not (scratch / "folder").is_symlink()
    assert not scratch.exists()
    assert (home / "bot.py").read_text() == "print()\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (home / "bot.py", home)] == [0o644, 0o755]
