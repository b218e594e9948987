"""The copy of a program's own files: what comes along, how much of it, and with which modes."""

import os
import stat
from pathlib import Path

import pytest

from arena.sandbox import Program, ProgramError, copy_files

BLOCK = 4096  # what a file system takes at least for an entry


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Give an empty folder for the copy."""
    folder = tmp_path / "copy"
    folder.mkdir()
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Give an empty folder for the program's files."""
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def entry(files: Path, kind: str) -> int:
    """Make one entry of a kind, and return the blocks that it counts for: one as an entry, and what a file holds."""
    if kind == "folder":
        (files / "one").mkdir()
        return 1
    if kind == "link":
        (files / "one").symlink_to("nowhere")
        return 1
    if kind == "pipe":
        os.mkfifo(files / "one")
        return 1
    (files / "one").write_bytes(bytes(int(kind)))
    return 2 + int(kind) // BLOCK


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "0", "4095", "4096", "10000"])
def test_every_entry_is_counted_and_the_bound_may_be_met_exactly(files: Path, copy: Path, kind: str) -> None:
    """Else empty files and links without number would fill the machine's memory."""
    most = entry(files, kind) * BLOCK
    copy_files(Program(("true",), files), copy, most)
    os.chmod(copy, 0o700)
    again = copy / "again"
    again.mkdir()
    with pytest.raises(ProgramError, match="larger than"):
        copy_files(Program(("true",), files), again, most - 1)


def test_entries_in_folders_are_counted_together(files: Path, copy: Path) -> None:
    """Ten folders of ten links are 110 entries."""
    for folder in range(10):
        (files / str(folder)).mkdir()
        for link in range(10):
            (files / str(folder) / str(link)).symlink_to("nowhere")
    with pytest.raises(ProgramError, match="or too many"):
        copy_files(Program(("true",), files), copy, 110 * BLOCK - 1)
    os.chmod(copy, 0o700)
    again = copy / "again"
    again.mkdir()
    copy_files(Program(("true",), files), again, 110 * BLOCK)
    assert sum(len(names) for _, _, names in os.walk(again)) == 100


def test_a_pipe_in_the_files_stays_out(files: Path, copy: Path) -> None:
    """It is neither file, folder nor link."""
    os.mkfifo(files / "pipe")
    (files / "bot.py").write_text("pass")
    copy_files(Program(("true",), files), copy)
    assert os.listdir(copy) == ["bot.py"]


def test_a_program_that_is_a_pipe_is_an_empty_file(tmp_path: Path, copy: Path) -> None:
    """Nothing is read of it, not even what waits in it; nor is its writer waited for."""
    pipe = tmp_path / "bot"
    os.mkfifo(pipe)
    copy_files(Program(("true",), tmp_path, files=pipe), copy)
    assert (copy / "bot").read_bytes() == b""
    os.chmod(copy, 0o700)
    again = copy / "again"
    again.mkdir()
    end = os.open(pipe, os.O_RDWR)
    try:
        os.write(end, b"somebody's")
        copy_files(Program(("true",), tmp_path, files=pipe), again)
    finally:
        os.close(end)
    assert (again / "bot").read_bytes() == b""


def test_modes_and_links_of_the_copy(files: Path, copy: Path) -> None:
    """Folders and programs are 0555, whoever may execute them, other files 0444; a link keeps its text."""
    (files / "sub").mkdir(mode=0o700)
    for name, mode in (("data", 0o600), ("user", 0o700), ("group", 0o610), ("others", 0o601)):
        (files / "sub" / name).write_text(name)
        (files / "sub" / name).chmod(mode)
    (files / "link").symlink_to("/etc/passwd")
    copy_files(Program(("true",), files), copy)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (copy / "sub").iterdir()}
    assert modes == {"data": 0o444, "user": 0o555, "group": 0o555, "others": 0o555}
    assert stat.S_IMODE(copy.stat().st_mode) == stat.S_IMODE((copy / "sub").stat().st_mode) == 0o555
    assert os.readlink(copy / "link") == "/etc/passwd"
