"""Archives, untrusted ones and of bots' own files. Source: the docstring of arena/bots/archive.py.

Python's tarfile, which writes what GNU tar writes, makes most of the archives; `edited` damages them.
"""

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.bots import ArchiveError, load_bots, pack, unpack

MOST = 1 << 20


def archive(*entries: tuple[str, bytes, str | bytes]) -> bytes:
    """Return an archive of (name, tarfile's kind, content or link)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as out:
        for name, kind, rest in entries:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.mode = 0o7777
            if isinstance(rest, bytes):
                entry.size = len(rest)
                out.addfile(entry, io.BytesIO(rest))
            else:
                entry.linkname = rest
                out.addfile(entry)
    return made.getvalue()


def edited(data: bytes, at: int, field: bytes, header: int = 0) -> bytes:
    """Return an archive with bytes of one header changed, and its checksum corrected."""
    block = bytearray(data[header : header + tarfile.BLOCKSIZE])
    block[at : at + len(field)] = field
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return data[:header] + bytes(block) + data[header + tarfile.BLOCKSIZE :]


def unpacked(data: bytes, folder: Path, max_bytes: int = MOST, max_files: int = 100, links_out: bool = False) -> Path:
    target = folder / "target"
    target.mkdir()
    unpack(io.BytesIO(data), target, max_bytes, max_files, links_out=links_out)
    return target


SIZE = 124  # where a header's size begins: 12 bytes
FILE, FOLDER, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.needs("tar", None if shutil.which("tar") else "it isn't installed")
def test_a_packed_tree_is_unpacked_the_same(tmp_path: Path) -> None:
    source = tmp_path / "source"
    deep = source / ("x" * 120) / ("y" * 120)
    deep.mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "bot").write_bytes(b"\x7fELF" * 1000)
    (source / "bot").chmod(0o755)
    os.link(source / "bot", source / "same")
    (deep / ("z" * 200)).write_text("deep")
    (deep / "up").symlink_to("../../bot")
    (source / "long").symlink_to(deep.relative_to(source))
    (source / os.fsdecode(b"odd \xff\n name")).write_text("odd")
    made = subprocess.run(["tar", "-C", source, "-cf", "-", "."], stdout=subprocess.PIPE, check=True, timeout=60)
    target = unpacked(made.stdout, tmp_path)
    assert subprocess.run(["diff", "-r", "--no-dereference", source, target], check=False, timeout=60).returncode == 0
    assert os.access(target / "bot", os.X_OK)
    assert (target / "bot").samefile(target / "same")


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a name that goes up": (archive(("../evil", FILE, b"x")), "points outside of its folder"),
    "a name that goes up in the middle": (archive(("a/../../evil", FILE, b"x")), "points outside of its folder"),
    "an absolute name": (archive(("/evil", FILE, b"x")), "points outside of its folder"),
    "a file through a link": (archive(("d", LINK, "."), ("d/evil", FILE, b"x")), "in the archive twice"),
    "a file over a link": (archive(("d", LINK, "evil"), ("d", FILE, b"x")), "in the archive twice"),
    "two links of one name": (archive(("d", LINK, "a"), ("d", LINK, "b")), "in the archive twice"),
    "a link through a link": (archive(("d", LINK, "."), ("d/e", LINK, "x")), "in the archive twice"),
    "an absolute link": (archive(("d", LINK, "/etc/shadow")), "outside of its folder"),
    "a link that goes up": (archive(("a/d", LINK, "../../evil")), "outside of its folder"),
    "a link that goes down and up": (archive(("a", LINK, "."), ("b", LINK, "a/../evil")), "outside of its folder"),
    "a hard link out": (archive(("d", HARD, "../evil")), "points outside of its folder"),
    "an absolute hard link": (archive(("d", HARD, "/etc/shadow")), "points outside of its folder"),
    "a hard link to a link": (archive(("a", LINK, "b"), ("d", HARD, "a")), "isn't a file in it"),
    "a hard link to a folder": (archive(("a", FOLDER, ""), ("d", HARD, "a")), "isn't a file in it"),
    "a device": (archive(("d", tarfile.CHRTYPE, "")), "is a device"),
    "a pipe": (archive(("d", tarfile.FIFOTYPE, "")), "is a named pipe"),
    "a sparse file": (archive(("d", tarfile.GNUTYPE_SPARSE, "")), "of an unknown type"),
    "the same file twice": (archive(("a", FILE, b"x"), ("a", FILE, b"y")), "in the archive twice"),
    "a file as a folder": (archive(("a", FILE, b"x"), ("a/b", FILE, b"y")), "a is in the archive twice, with"),
    "a very deep name": (archive(("d/" * 150 + "x", FILE, b"x")), "too long or too deep"),
    "a name that no file system takes": (archive(("n" * 300, FILE, b"x")), "too long or too deep"),
    "too much": (archive(("a", FILE, bytes(MOST)), ("b", FILE, b"x")), "more than 1 MB"),
    "too many files": (archive(*((str(n), FILE, b"") for n in range(101))), "more than 100 files"),
    "a name of a megabyte": (archive(("n" * 9_000, FILE, b"x")), "a name is too long"),
    "nothing": (b"", "truncated"),
    "half a file": (archive(("a", FILE, bytes(5000)))[:3000], "truncated"),
    "no end": (archive(("a", FILE, b"x"))[:1024], "truncated"),
    "not an archive": (b"#!/bin/sh\n" * 100, "damaged"),
    "a size below nothing": (archive(("a", FILE, b"x")).replace(b"00000000001\0", b"-0000000001\0", 1), "damaged"),
    "a size below nothing with a right checksum": (
        edited(archive(("a", FILE, b"x")), SIZE, b"-0000001000\0"),
        "damaged",
    ),
    "a binary size below nothing": (edited(archive(("a", FILE, b"x")), SIZE, b"\xff" * 11 + b"\0"), "damaged"),
    "a size that no disk has": (edited(archive(("a", FILE, b"x")), SIZE, b"\x80" + b"\xff" * 11), "more than 1 MB"),
    "a long name below nothing": (edited(archive(("n" * 200, FILE, b"")), SIZE, b"\xff" * 11 + b"\0"), "damaged"),
    "a second header that is damaged": (
        archive(("a", FILE, b""), ("b", FILE, b"")).replace(b"b\0", b"c\0", 1),
        "damaged",
    ),
    "a file that ends in its last block": (archive(("a", FILE, bytes(600)))[: 512 + 600], "truncated"),
    "a long name without an end": (archive(("n" * 200, FILE, b""))[:1024] * 2000, "too long or too deep"),
    "a header of pax": (
        edited(archive(("a", tarfile.XHDTYPE, b"12 path=evil\n")), SIZE, b"00000000015\0"),
        "of an unknown type",
    ),
}


@pytest.mark.parametrize(("data", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_archive_is_refused_and_writes_nothing_outside(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(ArchiveError, match=words):
        unpacked(data, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def links_stay_in(target: Path) -> bool:
    return all(Path(os.path.realpath(path)).is_relative_to(target) for path in target.rglob("*") if path.is_symlink())


LINKS: dict[str, Callable[[], bytes]] = {
    "a chain": lambda: archive(
        ("a/b/c/f", FILE, b"x"), ("s", LINK, "a/b"), ("a/t", LINK, "../s"), ("u", LINK, "a/t/c")
    ),
    "to nowhere": lambda: archive(("s", LINK, "gone")),
    "to itself": lambda: archive(("s", LINK, "s")),
    "to the folder itself": lambda: archive(("d/s", LINK, "..")),
}


@pytest.mark.parametrize("make", LINKS.values(), ids=LINKS.keys())
def test_accepted_links_stay_in_the_folder(tmp_path: Path, make: Callable[[], bytes]) -> None:
    assert links_stay_in(unpacked(make(), tmp_path))


def test_links_are_made_after_all_files(tmp_path: Path) -> None:
    """A file can't be written through a link, whatever the order in the archive."""
    target = unpacked(archive(("l", LINK, "a"), ("h", HARD, "a"), ("a", FILE, b"x")), tmp_path)
    assert (target / "h").samefile(target / "a")
    assert os.readlink(target / "l") == "a"


def test_unpacked_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        target = unpacked(archive(("d/e/a", FILE, b"x"), ("f", FOLDER, "")), tmp_path)
    finally:
        os.umask(before)
    modes = {path.relative_to(target).as_posix(): path.stat().st_mode & 0o7777 for path in target.rglob("*")}
    assert modes == {"d": 0o755, "d/e": 0o755, "d/e/a": 0o755, "f": 0o755}


EXACT: dict[str, Callable[[int], bytes]] = {
    "a megabyte": lambda more: archive(("a", FILE, bytes(MOST + more))),
    "a megabyte in two files": lambda more: archive(("a", FILE, bytes(MOST - 1)), ("b", FILE, bytes(1 + more))),
    "a hundred entries": lambda more: archive(*((str(n), FOLDER, "") for n in range(100 + more))),
    "a hundred levels": lambda more: archive(("d/" * (99 + more) + "x", FILE, b"")),
    "a name of 255 bytes": lambda more: archive(("n" * (255 + more), FILE, b"")),
    "a name of 255 bytes, not letters": lambda more: archive(("\u00e9" * 127 + "n" * (1 + more), FILE, b"")),
    "a path of 2,048 bytes": lambda more: archive((("n" * 127 + "/") * 15 + "n" * (128 + more), FILE, b"")),
    "a link to a path of 2,048 bytes": lambda more: archive(("l", LINK, ("n" * 127 + "/") * 15 + "n" * (128 + more))),
    "a link up to the folder": lambda more: archive(("a/b/l", LINK, "../" * (2 + more))),
}


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT.keys())
def test_each_bound_is_inclusive(tmp_path: Path, make: Callable[[int], bytes]) -> None:
    unpacked(make(0), tmp_path)
    shutil.rmtree(tmp_path / "target")
    with pytest.raises(ArchiveError):
        unpacked(make(1), tmp_path)


# --- a bot's own files ------------------------------------------------------------------------------------------------


def bot_folder(at: Path) -> Path:
    """Make a folder with everything that a digest distinguishes, and what it leaves out."""
    (at / "sub").mkdir(parents=True)
    (at / "bot.toml").write_text('run = ["sh", "bot.sh"]\n')
    (at / "bot.sh").write_text("echo ready\n")
    (at / "sub" / "tool").write_text("#!/bin/sh\n")
    (at / "sub" / "tool").chmod(0o700)
    (at / "sub" / os.fsdecode(b"odd \xff\n name")).write_text("odd")
    (at / ("n" * 150)).write_text("a long name")
    (at / "link").symlink_to("sub/tool")
    (at / "folder").symlink_to("sub")
    (at / "gone").symlink_to("nowhere")
    (at / "__pycache__").mkdir()
    (at / "__pycache__" / "x.pyc").write_text("bytecode")
    os.mkfifo(at / "pipe")
    return at


def packed(path: Path) -> bytes:
    archive = io.BytesIO()
    pack(path, archive)
    return archive.getvalue()


def digest(path: Path) -> str:
    return load_bots([str(path)])[0][0].digest


def test_a_packed_folder_keeps_its_digest(tmp_path: Path) -> None:
    at = bot_folder(tmp_path / "bot")
    out = unpacked(packed(at), tmp_path)
    assert digest(out) == digest(at)
    assert {path.name for path in at.rglob("*")} - {path.name for path in out.rglob("*")} == {
        "__pycache__",
        "x.pyc",
        "pipe",
    }


def test_a_packed_file_keeps_its_name_and_its_digest(tmp_path: Path) -> None:
    (tmp_path / "v3.py").write_text("x = 1\n")
    (tmp_path / "latest.py").symlink_to("v3.py")
    out = unpacked(packed(tmp_path / "latest.py"), tmp_path)
    assert [path.name for path in out.iterdir()] == ["latest.py"]
    assert not (out / "latest.py").is_symlink()
    assert digest(out / "latest.py") == digest(tmp_path / "latest.py")


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    """Times, owners and the order of the file system don't matter; entries have the order of the digest."""
    one, two = bot_folder(tmp_path / "a"), tmp_path / "b"
    two.mkdir()
    unpack(io.BytesIO(packed(one)), two, MOST, 100)
    os.utime(two / "bot.sh", (1, 1))
    assert packed(one) == packed(two)
    with tarfile.open(fileobj=io.BytesIO(packed(one))) as entries:
        names = entries.getnames()
    assert names == sorted(names, key=os.fsencode)


def test_only_own_archives_may_hold_links_out_of_the_folder(tmp_path: Path) -> None:
    """A bot's virtual environment has a link to the user's Python."""
    at = bot_folder(tmp_path / "bot")
    (at / "python").symlink_to("/bin/sh")
    with pytest.raises(ArchiveError, match="outside of its folder"):
        unpacked(packed(at), tmp_path)
    (tmp_path / "ours").mkdir()
    assert digest(unpacked(packed(at), tmp_path / "ours", links_out=True)) == digest(at)
