"""Archives from strangers. Source: research/sandbox.md, attack list 42, 43, 95 to 99, and the module's docstring.

The archives are made by hand or by Python's tarfile, which writes what GNU tar writes; what unpacks them is ours.
"""

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.bots import ArchiveError, unpack

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


def unpacked(data: bytes, folder: Path, most_bytes: int = MOST, most_files: int = 100) -> Path:
    target = folder / "target"
    target.mkdir()
    unpack(io.BytesIO(data), target, most_bytes, most_files)
    return target


FILE, FOLDER, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.skipif(shutil.which("tar") is None, reason="needs tar")
def test_what_tar_writes_comes_back_the_same(tmp_path: Path) -> None:
    """Files, programs, folders, links, hard links (cargo makes them), and names over 100 bytes, as tar -cf - writes."""
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


def test_modes_are_made_harmless(tmp_path: Path) -> None:
    """Set-user-id, world-writable: 99 of the list."""
    target = unpacked(archive(("a", FILE, b"x"), ("d", FOLDER, "")), tmp_path)
    assert (target / "a").stat().st_mode & 0o7777 == 0o755
    assert (target / "d").stat().st_mode & 0o7022 == 0


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a name that goes up": (archive(("../evil", FILE, b"x")), "leaves its folder"),
    "a name that goes up in the middle": (archive(("a/../../evil", FILE, b"x")), "leaves its folder"),
    "an absolute name": (archive(("/evil", FILE, b"x")), "leaves its folder"),
    "a file through a link": (archive(("d", LINK, "."), ("d/evil", FILE, b"x")), "in it twice"),
    "a file over a link": (archive(("d", LINK, "evil"), ("d", FILE, b"x")), "in it twice"),
    "two links of one name": (archive(("d", LINK, "a"), ("d", LINK, "b")), "in it twice"),
    "a link through a link": (archive(("d", LINK, "."), ("d/e", LINK, "x")), "in it twice"),
    "an absolute link": (archive(("d", LINK, "/etc/shadow")), "out of its folder"),
    "a link that goes up": (archive(("a/d", LINK, "../../evil")), "out of its folder"),
    "a link that goes down and up": (archive(("a", LINK, "."), ("b", LINK, "a/../evil")), "out of its folder"),
    "a hard link out": (archive(("d", HARD, "../evil")), "leaves its folder"),
    "an absolute hard link": (archive(("d", HARD, "/etc/shadow")), "leaves its folder"),
    "a hard link to a link": (archive(("a", LINK, "b"), ("d", HARD, "a")), "no file in it"),
    "a hard link to a folder": (archive(("a", FOLDER, ""), ("d", HARD, "a")), "no file in it"),
    "a device": (archive(("d", tarfile.CHRTYPE, "")), "is a device"),
    "a pipe": (archive(("d", tarfile.FIFOTYPE, "")), "is a named pipe"),
    "a sparse file": (archive(("d", tarfile.GNUTYPE_SPARSE, "")), "of an unknown kind"),
    "the same file twice": (archive(("a", FILE, b"x"), ("a", FILE, b"y")), "in it twice"),
    "a file as a folder": (archive(("a", FILE, b"x"), ("a/b", FILE, b"y")), "in it twice"),
    "a very deep name": (archive(("d/" * 150 + "x", FILE, b"x")), "too long or too deep"),
    "a name that no file system takes": (archive(("n" * 300, FILE, b"x")), "too long or too deep"),
    "too much": (archive(("a", FILE, bytes(MOST)), ("b", FILE, b"x")), "more than 1 MB"),
    "too many files": (archive(*((str(n), FILE, b"") for n in range(101))), "more than 100 files"),
    "a name of a megabyte": (archive(("n" * 9_000, FILE, b"x")), "a name is too long"),
    "nothing": (b"", "cut off"),
    "half a file": (archive(("a", FILE, bytes(5000)))[:3000], "cut off"),
    "no end": (archive(("a", FILE, b"x"))[:1024], "cut off"),
    "no archive": (b"#!/bin/sh\n" * 100, "damaged"),
    "a size below nothing": (
        archive(("a", FILE, b"x")).replace(b"00000000001\0", b"-0000000001\0", 1),
        "damaged",
    ),
}


@pytest.mark.parametrize(("data", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_archive_is_refused_and_writes_nothing_outside(tmp_path: Path, data: bytes, words: str) -> None:
    """Whatever happens, only the target folder is written to."""
    with pytest.raises(ArchiveError, match=words):
        unpacked(data, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def stays(target: Path) -> bool:
    """Tell whether every link resolves within the folder."""
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
def test_links_that_are_taken_stay_in_the_folder(tmp_path: Path, make: Callable[[], bytes]) -> None:
    """First up, then down: no chain of such links leaves."""
    assert stays(unpacked(make(), tmp_path))
