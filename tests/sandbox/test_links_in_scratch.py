"""What is removed with a scratch folder are the links in it, never what they lead to."""

import stat
from pathlib import Path

import pytest

from arena.sandbox import remove_tree, scratch_folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Give a folder of the user's, with a file in it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "bot.py").write_text("print()\n")
    (folder / "bot.py").chmod(0o644)
    folder.chmod(0o755)
    return folder


def require_unharmed(mine: Path) -> None:
    assert (mine / "bot.py").read_text() == "print()\n"
    assert stat.S_IMODE((mine / "bot.py").stat().st_mode) == 0o644
    assert stat.S_IMODE(mine.stat().st_mode) == 0o755


def test_links_in_a_scratch_folder_go_with_it_and_lead_nowhere(mine: Path) -> None:
    """At its top and below, to files and to folders, and to nothing."""
    with scratch_folder() as scratch:
        (scratch / "deep").mkdir()
        for folder in (scratch, scratch / "deep"):
            (folder / "file").symlink_to(mine / "bot.py")
            (folder / "folder").symlink_to(mine)
            (folder / "nothing").symlink_to(mine / "nothing")
        (scratch / "plain").write_text("x")
    assert not scratch.exists()
    require_unharmed(mine)


def test_a_link_that_is_to_be_removed_is_not_followed(mine: Path, tmp_path: Path) -> None:
    """remove_tree of the link itself."""
    for name, target in (("file", mine / "bot.py"), ("folder", mine)):
        link = tmp_path / name
        link.symlink_to(target)
        remove_tree(link)
        assert not link.is_symlink()
    require_unharmed(mine)
