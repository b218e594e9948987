"""Tests of the copy of a program's own files: its entries, its size, and its modes."""

import errno
import os
import resource
import stat
from pathlib import Path

import pytest

from arena.sandbox import EXCLUDED_NAMES, Program, ProgramError, SandboxError, copy_files, is_disk_full

BLOCK = 4096  # what a file system takes at least for an entry
MB = 1 << 20
BLOCKS = MB // BLOCK


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    folder.mkdir()
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def entry(files: Path, kind: str) -> int:
    """Make one entry of a kind, and return its blocks: one for the entry, and those of a file's content."""
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
def test_every_entry_is_counted_up_to_the_exact_limit(files: Path, copy: Path, kind: str) -> None:
    """Otherwise any number of empty files and links would fill the machine's memory."""
    for number in range(BLOCKS - entry(files, kind)):
        (files / f"link {number}").symlink_to("nowhere")
    copy_files(Program(("true",), files), copy, 1)
    os.chmod(copy, 0o700)
    again = copy / "again"
    again.mkdir()
    (files / "one more").symlink_to("nowhere")
    with pytest.raises(ProgramError, match="larger than 1 MB, its limit of memory, or too many"):
        copy_files(Program(("true",), files), again, 1)
    assert os.listdir(again) == [], "nothing is copied of files that are too much"


def test_entries_in_folders_are_counted_together(files: Path, copy: Path) -> None:
    for folder in range(BLOCKS // 8):
        (files / str(folder)).mkdir()
        for link in range(7):
            (files / str(folder) / str(link)).symlink_to("nowhere")
    copy_files(Program(("true",), files), copy, 1)
    assert sum(len(names) for _, _, names in os.walk(copy)) == BLOCKS // 8 * 7
    (files / "0" / "one more").symlink_to("nowhere")
    again = files.with_name("again")
    again.mkdir()
    with pytest.raises(ProgramError, match="or too many"):
        copy_files(Program(("true",), files), again, 1)


def test_a_sparse_file_counts_with_its_full_size(files: Path, copy: Path) -> None:
    with (files / "sparse").open("wb") as file:
        file.truncate(500 * MB)
    with pytest.raises(ProgramError, match="larger than 256 MB"):
        copy_files(Program(("true",), files), copy, 256)
    assert os.listdir(copy) == []


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
def test_no_more_of_a_file_is_copied_than_was_counted(copy: Path) -> None:
    """A file of /proc has a size of 0, and content."""
    with pytest.raises(ProgramError, match="more bytes than its"):
        copy_files(Program(("true",), Path("/proc/self"), files=Path("/proc/self/maps")), copy, 1)


def test_bytecode_is_added_to_folders_that_were_copied(files: Path, copy: Path) -> None:
    """It isn't added below links or new folders, or in place of a file, and is read-only."""
    (files / "sub").mkdir()
    (files / "link").symlink_to("sub")
    (files / "file").write_text("own")
    names = ["__pycache__/a.pyc", "sub/__pycache__/b.pyc", "link/__pycache__/c.pyc", "new/__pycache__/d.pyc"]
    bytecode = tuple((name, b"code") for name in [*names, "file/__pycache__/e.pyc"])
    copy_files(Program(("true",), files, bytecode=bytecode), copy, 1)
    added = {str(path.relative_to(copy)): path.read_bytes() for path in copy.rglob("*.pyc")}
    assert added == dict.fromkeys(names[:2], b"code")
    for path in copy.rglob("*"):
        assert path.is_symlink() or not path.stat().st_mode & 0o222


def test_bytecode_that_does_not_fit_is_left_out(files: Path, copy: Path) -> None:
    """All of it is omitted: a bot whose own files just fit still plays."""
    for number in range(BLOCKS - 4):
        (files / f"link {number}").symlink_to("nowhere")
    one, two = copy / "one", copy / "two"
    for folder, names in ((one, ["a"]), (two, ["a", "b"])):
        folder.mkdir()
        bytecode = tuple((f"__pycache__/{name}.pyc", b"code") for name in names)
        copy_files(Program(("true",), files, bytecode=bytecode), folder, 1)
    assert (one / "__pycache__" / "a.pyc").read_bytes() == b"code"
    assert len(os.listdir(two)) == BLOCKS - 4


def test_files_without_a_digest_are_not_copied(files: Path, copy: Path) -> None:
    """Otherwise changed bytecode would play, unnoticed by --resume."""
    (files / "sub").mkdir()
    for folder in (files, files / "sub"):
        for name in EXCLUDED_NAMES:
            (folder / name).mkdir()
            (folder / name / "x").touch()
        (folder / "bot.py").touch()
    copy_files(Program(("true",), files), copy, 1)
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*")) == ["bot.py", "sub", "sub/bot.py"]


def test_a_pipe_in_the_files_stays_out(files: Path, copy: Path) -> None:
    os.mkfifo(files / "pipe")
    (files / "bot.py").write_text("pass")
    copy_files(Program(("true",), files), copy, 1)
    assert os.listdir(copy) == ["bot.py"]


def test_a_program_that_is_a_pipe_is_an_empty_file(tmp_path: Path, copy: Path) -> None:
    """Nothing is read from it, even if its content waits; no writer is awaited."""
    pipe = tmp_path / "bot"
    os.mkfifo(pipe)
    copy_files(Program(("true",), tmp_path, files=pipe), copy, 1)
    assert (copy / "bot").read_bytes() == b""
    os.chmod(copy, 0o700)
    again = copy / "again"
    again.mkdir()
    end = os.open(pipe, os.O_RDWR)
    try:
        os.write(end, b"foreign")
        copy_files(Program(("true",), tmp_path, files=pipe), again, 1)
    finally:
        os.close(end)
    assert (again / "bot").read_bytes() == b""


def test_modes_and_links_of_the_copy(files: Path, copy: Path) -> None:
    """Folders and programs are 0555, other files 0444; a link keeps its target."""
    (files / "sub").mkdir(mode=0o700)
    for name, mode in (("data", 0o600), ("user", 0o700), ("group", 0o610), ("others", 0o601)):
        (files / "sub" / name).write_text(name)
        (files / "sub" / name).chmod(mode)
    (files / "link").symlink_to("/etc/passwd")
    copy_files(Program(("true",), files), copy, 1)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (copy / "sub").iterdir()}
    assert modes == {"data": 0o444, "user": 0o555, "group": 0o555, "others": 0o555}
    assert stat.S_IMODE(copy.stat().st_mode) == stat.S_IMODE((copy / "sub").stat().st_mode) == 0o555
    assert os.readlink(copy / "link") == "/etc/passwd"


def test_a_path_that_is_too_long_in_the_copy_is_named_without_the_copy(tmp_path: Path) -> None:
    files, copy = tmp_path / "f", tmp_path / ("c" * 200)
    deep = files
    while len(str(deep)) < 3880:
        deep /= "d" * 100
    deep.mkdir(parents=True)
    copy.mkdir()
    with pytest.raises(ProgramError, match=r"its files can't be read: d.*File name too long") as caught:
        copy_files(Program(("x",), files), copy, 1)
    assert str(tmp_path) not in str(caught.value)
    assert ".." not in str(caught.value)


def test_a_disk_that_is_full_at_a_link_is_no_fault_of_the_program(
    files: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of symlink(2) names the link's text first."""

    def fail(text: str, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", text, None, str(target))

    (files / "link").symlink_to("nowhere")
    monkeypatch.setattr(os, "symlink", fail)
    with pytest.raises(SandboxError, match="No space left") as caught:
        copy_files(Program(("true",), files), copy, 1)
    assert is_disk_full(caught.value, copy)


def test_a_lack_of_descriptors_is_no_fault_of_the_program(files: Path, copy: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(SandboxError, match="Too many open files"):
            copy_files(Program(("true",), files), copy, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
