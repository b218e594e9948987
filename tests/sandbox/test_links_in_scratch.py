"""Tests that removing a scratch folder removes the links in it, and never their targets."""

import stat
from pathlib import Path

import pytest

from arena.sandbox import remove_tree, scratch_folder


@pytest.fixture
def user_folder(tmp_path: Path) -> Path:
    """Give a folder of the user's, with a file in it."""
    folder = tmp_path / "user_folder"
    folder.mkdir()
    (folder / "bot.py").write_text("print()\n")
    (folder / "bot.py").chmod(0o644)
    folder.chmod(0o755)
    return folder


def require_unharmed(user_folder: Path) -> None:
    assert (user_folder / "bot.py").read_text() == "print()\n"
    assert stat.S_IMODE((user_folder / "bot.py").stat().st_mode) == 0o644
    assert stat.S_IMODE(user_folder.stat().st_mode) == 0o755


def test_links_in_a_scratch_folder_are_removed_without_their_targets(user_folder: Path) -> None:
    """They are at its top and below, and lead to files, to folders, and to nothing."""
    with scratch_folder() as scratch:
        (scratch / "deep").mkdir()
        for folder in (scratch, scratch / "deep"):
            (folder / "file").symlink_to(user_folder / "bot.py")
            (folder / "folder").symlink_to(user_folder)
            (folder / "nothing").symlink_to(user_folder / "nothing")
        (scratch / "plain").write_text("x")
    assert not scratch.exists()
    require_unharmed(user_folder)


def test_a_link_that_is_to_be_removed_is_not_followed(user_folder: Path, tmp_path: Path) -> None:
    for name, target in (("file", user_folder / "bot.py"), ("folder", user_folder)):
        link = tmp_path / name
        link.symlink_to(target)
        remove_tree(link)
        assert not link.is_symlink()
    require_unharmed(user_folder)
