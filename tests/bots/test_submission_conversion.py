"""Submissions of owners: files, folders, zips and tars, also hostile. Source: arena/bots/submission_conversion.py."""

import bz2
import errno
import gzip
import io
import lzma
import os
import random
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import tracemalloc
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from arena import bots
from tests.cases import each

RUN = b'run = "python3 bot.py"\n'
BOT = b"print('hello')\n"
GOOD = {"bot.toml": RUN, "bot.py": BOT}
FOLDER, LINK, HARD = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE

Row = tuple[str, bytes, bytes | str]  # a name, tarfile's kind, content or link


def zipped(
    files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, modes: dict[str, int] | None = None, system: int = 3
) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as out:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system = system
            entry.compress_type = method
            entry.external_attr = (modes or {}).get(name, 0o644 if system == 3 else 0) << 16
            out.writestr(entry, content)
    return made.getvalue()


def tarred(*rows: Row, format: int = tarfile.GNU_FORMAT, mode: int = 0o644) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=format) as out:
        for name, kind, rest in rows:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.mtime = kind, mode, 1.5  # a half: Python writes it as a pax header
            if isinstance(rest, bytes):
                entry.size = len(rest)
                out.addfile(entry, io.BytesIO(rest))
            else:
                entry.linkname = rest
                out.addfile(entry)
    return made.getvalue()


def files(names: dict[str, bytes]) -> list[Row]:
    return [(name, tarfile.REGTYPE, content) for name, content in names.items()]


def good_tar(*more: Row) -> bytes:
    return tarred(*files(GOOD), *more)


def submit(folder: Path, data: bytes, name: str = "upload") -> bots.BotArchive:
    path = folder / name
    path.write_bytes(data)
    return bots.read_submission(path)


@pytest.fixture(autouse=True)
def check_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "object":
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    yield
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "evil").exists()


def unpack(bundle: bots.BotArchive, folder: Path) -> dict[str, bytes]:
    cache = bots.BotCache(Path(tempfile.mkdtemp(dir=folder)))
    bot = bots.PortableBot("bot", bundle.digest, ("python3",), bundle.file)
    cache.add(bot, io.BytesIO(bundle.archive))
    place = cache.locate(bot)
    if bundle.file is not None:
        return {place.name: place.read_bytes()}
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


# --- what is taken ----------------------------------------------------------------------------------------------------


def test_a_bot_is_the_same_whichever_way_it_is_submitted(tmp_path: Path) -> None:
    folder = tmp_path / "mybot"
    (folder / "data").mkdir(parents=True)
    for name, content in {**GOOD, "data/book": b"\0" * 100_000}.items():
        (folder / name).write_bytes(content)
    found = {bots.read_submission(folder), bots.read_submission(folder / "bot.toml")}
    for kind in ("zip", "tar", "gztar", "bztar", "xztar"):
        for how in ({"root_dir": folder}, {"root_dir": tmp_path, "base_dir": "mybot"}):
            made = shutil.make_archive(str(tmp_path / "made" / "mybot"), kind, **how)
            found.add(bots.read_submission(Path(made)))
            os.rename(made, tmp_path / "made" / "mybot")
            found.add(bots.read_submission(tmp_path / "made" / "mybot"))
    (bundle,) = found
    assert (bundle.name, bundle.file) == ("mybot", None)
    assert unpack(bundle, tmp_path) == {**GOOD, "data/book": b"\0" * 100_000}


@pytest.mark.parametrize("name", [b"\x83\x5cX.txt", b"\xff.txt"], ids=["Shift JIS with 5C", "cp1251"])
def test_a_name_that_is_not_utf_8_is_named_as_such(tmp_path: Path, name: bytes) -> None:
    """Explorer writes the names of its country; what they mean isn't in the archive."""
    place = b"z" * len(name)
    data = zipped({**GOOD, place.decode(): b"x"}).replace(place, name)
    with pytest.raises(bots.BotError, match=r"isn't UTF-8\.\nRename the file with ASCII letters"):
        submit(tmp_path, data)


def test_names_that_differ_only_by_a_backslash_are_one_name_in_a_zip_of_windows(tmp_path: Path) -> None:
    data = zipped({**GOOD, "a/b": b"1", "a|b": b"2"}, system=0).replace(b"a|b", b"a\\b")
    with pytest.raises(bots.BotError, match=r"b is in the archive twice\.\n"):
        submit(tmp_path, data)


def test_a_zip_of_windows_may_have_backslashes_between_folders(tmp_path: Path) -> None:
    """Compress-Archive of PowerShell 5 writes them; paths out of the folder are refused."""
    slashes = zipped({**GOOD, "lib/": b"", "lib/util.py": b"1"}, system=0)
    taken = submit(tmp_path, slashes.replace(b"lib/", b"lib\\"))
    assert taken.digest == submit(tmp_path, slashes).digest
    with pytest.raises(bots.BotError, match="points outside of its folder"):
        submit(tmp_path, zipped({**GOOD, "..|evil": b"x"}, system=0).replace(b"..|evil", b"..\\evil"))


@pytest.mark.parametrize("name", ["zip", "tar"])
def test_an_archive_that_holds_one_program_is_that_program(tmp_path: Path, name: str) -> None:
    """Files that it doesn't name, such as a readme, and those of Finder, git, editors and Python are ignored."""
    ignored = {"desktop.ini": b"x", "d/Thumbs.db": b"x", "d/.gitignore": b"x", "d/.idea/x.xml": b"x"}
    ignored |= {"__MACOSX/._mine.py": b"x", "d/.DS_Store": b"x", "d/._mine.py": b"x", "d/__pycache__/mine.pyc": b"x"}
    ignored["d/README.md"] = b"# My bot"
    made = {"d/mine.py": BOT, **ignored}
    data = zipped(made) if name == "zip" else tarred(*files(made))
    bundle = submit(tmp_path, data, "week 3.zip")
    assert (bundle.name, bundle.file) == ("mine", "mine.py")
    assert bundle == submit(tmp_path, BOT, "mine.py")
    with tarfile.open(fileobj=io.BytesIO(bundle.archive)) as archive:
        assert [entry.mode for entry in archive] == [0o755], "it may be a program for this machine, from Windows"
    assert unpack(bundle, tmp_path) == {"mine.py": BOT}


def test_a_bots_name_is_its_manifests_then_its_folders_then_the_archives(tmp_path: Path) -> None:
    """Names are in NFC, since Macs decompose them."""
    assert submit(tmp_path, zipped({**GOOD, "bot.toml": b'name = "Ada 2"\n' + RUN}), "x.zip").name == "Ada 2"
    assert submit(tmp_path, zipped({f"top/{name}": content for name, content in GOOD.items()}), "x.zip").name == ("top")
    assert submit(tmp_path, zipped(GOOD), "x.tar.gz").name == "x"
    assert submit(tmp_path, BOT, unicodedata.normalize("NFD", "Zoë.py")).name == "Zoë"


def test_pax_headers_are_read(tmp_path: Path) -> None:
    long = "d/" + "é" * 100 + "/" + "x" * 90
    rows = [*files({**GOOD, long: b"1"}), ("link", LINK, long)]
    for format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        bundle = submit(tmp_path, tarred(*rows, format=format))
        assert unpack(bundle, tmp_path)[long] == b"1" == unpack(bundle, tmp_path)["link"]
    for_all = pax(b"16 comment=a1b2\n", tarfile.XGLTYPE)  # as git archive begins
    assert unpack(submit(tmp_path, for_all), tmp_path) == GOOD


def test_modes_become_harmless_and_programs_stay_programs(tmp_path: Path) -> None:
    """Archives of Windows have no modes: files that begin like a program are executable."""
    odd = {"bot.toml": 0o644, "bot.py": stat.S_IFREG | 0o6777, "data": stat.S_IFREG, "run": 0o100}
    made = {**GOOD, "data": b"#!no", "run": b"x"}
    rows = [(name, tarfile.REGTYPE, content) for name, content in made.items()]
    for data, programs in (
        (zipped(made, modes=odd), {"bot.py", "run"}),
        (zipped(made, system=0), {"data"}),
        (tarred(*rows, mode=0), set()),
        (tarred(*rows, mode=0o7777), set(made)),
    ):
        with tarfile.open(fileobj=io.BytesIO(submit(tmp_path, data).archive)) as archive:
            modes = {entry.name: entry.mode for entry in archive}
        assert modes == {name: 0o755 if name in programs else 0o644 for name in made}


def test_links_within_the_folder_are_kept_and_hard_links_become_files(tmp_path: Path) -> None:
    zip = zipped({**GOOD, "d/up": b"../bot.py"}, modes={"d/up": stat.S_IFLNK | 0o777})
    for data in (zip, good_tar(("d", FOLDER, ""), ("d/up", LINK, "../bot.py"))):
        assert unpack(submit(tmp_path, data), tmp_path) == {**GOOD, "d/up": BOT}
    assert unpack(submit(tmp_path, good_tar(("same", HARD, "bot.py"))), tmp_path) == {**GOOD, "same": BOT}


def test_an_archive_in_the_archive_is_a_file_like_any_other(tmp_path: Path) -> None:
    nested = zipped({"big": bytes(1 << 20)})
    assert unpack(submit(tmp_path, zipped({**GOOD, "data.zip": nested})), tmp_path)["data.zip"] == nested
    with pytest.raises(bots.BotError, match="is an archive, too"):
        submit(tmp_path, zipped({"r/r.zip": nested}))


def test_a_bots_folder_with_a_manifest_may_contain_what_documents_do(tmp_path: Path) -> None:
    assert unpack(submit(tmp_path, zipped({**GOOD, "mimetype": b"x"})), tmp_path)["mimetype"] == b"x"


@pytest.mark.parametrize("streams", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_streams_may_follow_one_another(tmp_path: Path, streams: Callable[[bytes], bytes]) -> None:
    data = good_tar()
    made = streams(data[:700]) + streams(data[700:]) + bytes(512)
    assert unpack(submit(tmp_path, made), tmp_path) == GOOD


# --- what is refused --------------------------------------------------------------------------------------------------


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) >= 1
    return data.replace(old, new)


def change_end(data: bytes, at: int, format: str, value: int) -> bytes:
    block = bytearray(data)
    struct.pack_into(format, block, len(data) - 22 + at, value)
    return bytes(block)


def change_rows(data: bytes, at: int, format: str, value: int, signature: bytes = b"PK\1\2") -> bytes:
    block, start = bytearray(data), -1
    while (start := data.find(signature, start + 1)) >= 0:
        struct.pack_into(format, block, start + at, value)
    return bytes(block)


def overlapping(entries: int) -> bytes:
    """Return a zip in which all entries are the same bytes: 1 MB each, from 1 KB."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = bytes(1 << 20)
    data = packed.compress(content) + packed.flush()
    fields = (20, 0, 8, 0, 0, zlib.crc32(content), len(data), len(content))
    local = b"PK\3\4" + struct.pack("<5H3L2H", *fields, 1, 0) + b"x" + data
    row = b"PK\1\2" + struct.pack("<6H3L5H2L", 20, *fields, 1, 0, 0, 0, 0, 0, 0) + b"x"
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, entries, entries, entries * len(row), len(local), 0)
    return local + row * entries + end


def far_entry(offset: int) -> bytes:
    """Return a zip whose entry begins at `offset`, by an extra field of zip64."""
    data = zipped({"bot.py": BOT})
    row, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    extra = struct.pack("<HHQ", 1, 8, offset)
    directory = bytearray(data[row:end] + extra)
    struct.pack_into("<H", directory, 30, len(extra))
    struct.pack_into("<L", directory, 42, 0xFFFFFFFF)
    return change_end(data[:row] + directory + data[end:], 12, "<L", len(directory))


def pax(record: bytes, kind: bytes = tarfile.XHDTYPE, then: bytes | None = None) -> bytes:
    return tarred(("header", kind, record))[: 512 * (1 + -(-len(record) // 512))] + (then or good_tar())


UP = "points outside of its folder"
ZIP, TAR = zipped(GOOD), good_tar()
REFUSED: dict[str, tuple[bytes, str]] = {
    # names
    "zip: up": (zipped({**GOOD, "../evil": b"x"}), UP),
    "zip: absolute": (zipped({**GOOD, "/evil": b"x"}), UP),
    "zip: backslashes": (changed(zipped({**GOOD, "..|evil": b"x"}), b"..|evil", b"..\\evil"), "backslash"),
    "zip: a drive": (zipped({**GOOD, "C:/evil": b"x"}), "a drive letter"),
    "zip: NUL": (changed(zipped({**GOOD, "a|evil": b"x"}), b"a|evil", b"a\0evil"), "NUL"),
    "zip: an escape": (zipped({**GOOD, "\x1b[2J": b"x"}), r"has unprintable"),
    "zip: bad UTF-8": (changed(zipped({**GOOD, "é": b"x"}), "é".encode(), b"\xff\xfe"), "a name is damaged"),
    "zip: twins but for a dot": (zipped({**GOOD, "bot.py.": b"x"}), "the same name on other systems"),
    "zip: twins but for a blank": (zipped({**GOOD, "d /a": b"x", "d/b": b"x"}), "the same name on other systems"),
    "zip: case twins": (zipped({**GOOD, "Bot.py": b"x"}), "the same name on other systems"),
    "zip: Unicode twins": (zipped({**GOOD, "\xe9": b"x", "e\u0301": b"x"}), "the same name on other systems"),
    "zip: two of one name": (zipped({**GOOD, "bot.pz": b"x"}).replace(b"bot.pz", b"bot.py"), "in the archive twice"),
    "zip: a file and a folder of one name": (zipped({**GOOD, "bot.py/x": b"x"}), "with different types"),
    "zip: too long a name": (zipped({**GOOD, "x" * 256: b"x"}), "too long or too deep"),
    "zip: too deep": (zipped({**GOOD, "d/" * 101 + "x": b"x"}), "too long or too deep"),
    "tar: up": (good_tar(("../evil", tarfile.REGTYPE, b"x")), UP),
    "tar: up, in a pax header": (pax(b"16 path=../evil\n"), UP),
    "tar: absolute": (good_tar(("/evil", tarfile.REGTYPE, b"x")), UP),
    "tar: a newline": (good_tar(("a\nb", tarfile.REGTYPE, b"x")), "has unprintable"),
    "tar: not UTF-8": (good_tar(("a\udcff", tarfile.REGTYPE, b"x")), "has unprintable"),
    # links and kinds
    "zip: a link out": (zipped({**GOOD, "l": b"../../etc"}, modes={"l": stat.S_IFLNK}), "outside of its folder"),
    "zip: a file through a link": (zipped({**GOOD, "l": b".", "l/x": b"x"}, modes={"l": stat.S_IFLNK}), "twice"),
    "zip: a link with NUL": (zipped({**GOOD, "l": b"a\0b"}, modes={"l": stat.S_IFLNK}), "outside of its folder"),
    "zip: a device": (zipped({**GOOD, "d": b""}, modes={"d": stat.S_IFCHR}), "isn't a file"),
    "tar: a link out": (good_tar(("l", LINK, "../evil")), "outside of its folder"),
    "tar: a link out, in a pax header": (pax(b"20 linkpath=../evil\n", then=tarred(("l", LINK, "x"))), "outside of"),
    "tar: a link out of the folder that has the bot": (
        tarred(*files({"b/bot.toml": RUN, "._x": b"x"}), ("b/l", LINK, "../._x")),
        "outside of its folder",
    ),
    "tar: a bot.toml that is a link out": (
        tarred(*files({"b/bot.py": BOT, "__MACOSX/x": RUN}), ("b/bot.toml", LINK, "../__MACOSX/x")),
        "outside of its folder",
    ),
    "tar: a hard link out": (good_tar(("l", HARD, "../evil")), UP),
    "tar: a hard link to what isn't there": (good_tar(("l", HARD, "etc")), "isn't a file in it"),
    "tar: a device": (good_tar(("null", tarfile.CHRTYPE, "")), "is a device"),
    "tar: a pipe": (good_tar(("fifo", tarfile.FIFOTYPE, "")), "a named pipe"),
    "tar: a sparse file": (pax(b"22 GNU.sparse.map=0,1\n"), "sparse"),
    "tar: a name for all entries": (pax(b"16 path=../evil\n", tarfile.XGLTYPE), UP),
    "tar: a record longer than its header": (pax(b"999 path=x\n"), "NUL|damaged"),
    "tar: a long header": (pax(b"70014 comment=" + bytes(69_999) + b"\n"), "a header is too long"),
    "a folder named bot.toml": (zipped({"bot.toml/x": b"x", "bot.py": BOT}), "bot.toml is a folder"),
    # size and count
    "zip: entries that claim to be huge": (change_rows(ZIP, 24, "<L", 0xFFFFFFF0), "more than 64 MB"),
    "zip: overlapping entries": (overlapping(1000), "overlap"),
    "zip: many entries": (zipped({str(number): b"" for number in range(2001)}, zipfile.ZIP_STORED), "2000 files"),
    "tar: many entries": (tarred(*((str(number), FOLDER, "") for number in range(2001))), "2000 files"),
    "too large an upload": (bytes([35]) * (bots.MAX_UPLOAD_BYTES + 1), "larger than 16 MB"),
    # damage
    "empty": (b"", r"the file is empty\.\nSubmit bot\.py"),
    "zip: empty": (zipped({}), "no file"),
    "zip: encrypted": (change_rows(change_rows(ZIP, 8, "<H", 1), 6, "<H", 1, b"PK\3\4"), "is encrypted"),
    "zip: an unknown method": (change_rows(change_rows(ZIP, 10, "<H", 99), 8, "<H", 99, b"PK\3\4"), "has an un"),
    "zip: another name before the entry": (ZIP.replace(b"bot.py", b"bot.px", 1), "damaged"),
    "zip: a wrong checksum": (change_rows(change_rows(ZIP, 16, "<L", 7), 14, "<L", 7, b"PK\3\4"), "damaged"),
    "zip: a damaged file": (changed(zipped(GOOD, zipfile.ZIP_STORED), b"hello", b"hullo"), "damaged"),
    "zip: cut off in the middle": (ZIP[: len(ZIP) // 2], "truncated"),
    "zip: something between entries": (changed(ZIP, b"PK\1\2", b"PK\1\2")[:-22] + ZIP[-22:-6] + b"\0" * 6, "overlap"),
    "zip: an entry beyond all memory": (far_entry(2**63), "overlap"),
    "zip: a directory of another size": (change_end(ZIP, 12, "<L", 7), "damaged"),
    "zip: zip64": (change_end(ZIP, 16, "<L", 0xFFFFFFFF), "damaged|overlap"),
    "tar: empty": (bytes(10_240), "no file"),
    "tar: without its end": (TAR[:2048], "truncated"),
    "tar: a damaged header": (TAR[:1024] + b"?" + TAR[1025:], "a header is damaged"),
    "tar: garbage behind it": (TAR + b"x", "there is data after the archive's end"),
    "gzip: cut off": (gzip.compress(TAR)[:-9], "truncated"),
    "xz: cut off": (lzma.compress(TAR)[:-9], "truncated"),
    "gzip: garbage behind it": (gzip.compress(TAR) + b"garbage", "compressed data is damaged"),
    "gzip: no archive in it": (gzip.compress(BOT), "not an archive"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + bytes(100), "7z"),
    # not a bot
    "a PDF": (b"%PDF-1.7\n" + bytes(100), r"this is a PDF\.\nSubmit bot\.py or the zip of your bot's folder"),
    "a Word file": (zipped({"[Content_Types].xml": b"x", "word/document.xml": b"x"}), "this is a Word file"),
    "an old Word file": (b"\xd0\xcf\x11\xe0" + bytes(100), "this is a Word file"),
    "a RAR": (b"Rar!\x1a\x07\1\0" + bytes(100), "RAR archives aren't supported"),
    "only a readme": (zipped({"bot/README.md": b"# My bot"}), r"README\.md isn't a program"),
    "a source": (zipped({"bot.cpp": b"int main() {}"}), "arena new NAME --lang cpp"),
    "a script in UTF-16": (zipped({"bot.py": "print()".encode("utf-16")}), "isn't text in UTF-8"),
    "a bot.toml that Windows' editor has named": (zipped({"a.py": BOT, "bot.toml.txt": RUN}), "bot.toml.txt but no"),
    "a bot.toml in capitals": (zipped({"a.py": BOT, "Bot.TOML": RUN}), "Bot.TOML but no"),
    "a program that reads a file": (zipped({"a.py": b"open('weights.txt')", "weights.txt": b"1"}), "no bot.toml"),
    "a folder without bot.toml": (zipped({"a.py": BOT, "b.py": BOT}), "no bot.toml"),
    "a manifest that is wrong": (zipped({"bot.toml": b"run = 3"}), "wrong type"),
    "a manifest that is a link to nothing": (
        tarred(("bot.toml", LINK, "x"), *files({"bot.py": BOT})),
        "bot.toml is a link whose target isn't a file in the archive",
    ),
    "a name that no bot may have": (zipped({**GOOD, "bot.toml": b'name = "a/b"\n' + RUN}), 'contains "/"'),
}


SOME = 4 << 20  # bytes that may be unpacked, where that is tried
BIG = SOME + (8 << 20)  # more than the limit of headers, too
BOMBS: dict[str, Callable[[], bytes]] = {
    "zip": lambda: zipped({**GOOD, "big": bytes(BIG)}),
    "gzip": lambda: gzip.compress(good_tar(("big", tarfile.REGTYPE, bytes(BIG)))),
    "gzip of zeros": lambda: gzip.compress(good_tar()[:-1024] + bytes(2 * BIG)),
    "xz": lambda: lzma.compress(good_tar(("big", tarfile.REGTYPE, bytes(BIG))), preset=0),
    "hard links": lambda: gzip.compress(
        good_tar(("x", tarfile.REGTYPE, bytes(1 << 20)), *((str(n), HARD, "x") for n in range(80)))
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_archive_of_large_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: str) -> None:
    monkeypatch.setattr(sys.modules["arena.bots.submission_conversion"], "MAX_UNPACKED_BYTES", SOME)
    data = BOMBS[bomb]()
    assert len(data) < bots.MAX_UPLOAD_BYTES
    with pytest.raises(bots.BotError, match="more than 4 MB"):
        submit(tmp_path, data)


@pytest.mark.parametrize("kind", ["pax headers", "entries"])
def test_the_headers_of_a_tar_are_bounded_together(tmp_path: Path, kind: str) -> None:
    """64 MB of meaningless headers compress to a small file, and took half a minute of CPU."""
    entry = tarfile.TarInfo("x")
    empty = entry.tobuf() * 9000
    entry.type, entry.size = tarfile.XHDTYPE, 1 << 16
    many = (entry.tobuf() + b"8 abc=1\n" * (1 << 13)) * 64 if kind == "pax headers" else empty
    with pytest.raises(bots.BotError, match=r"a header is too long|twice"):
        submit(tmp_path, gzip.compress(many + TAR))


def test_a_zip_that_lies_about_its_sizes_takes_no_memory(tmp_path: Path) -> None:
    much = 72 << 20  # many times the 16 MB of an upload
    lies = change_rows(change_rows(zipped({"big": bytes(much)}), 24, "<L", 10), 22, "<L", 10, b"PK\3\4")
    tracemalloc.start()
    try:
        with pytest.raises(bots.BotError, match="damaged"):
            submit(tmp_path, lies)
        assert tracemalloc.get_traced_memory()[1] < much / 4
    finally:
        tracemalloc.stop()


@each(("data", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_has_two_lines(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(bots.BotError, match=words) as refused:
        submit(tmp_path, data)
    what, do = str(refused.value).split("\n")
    assert what.isprintable()
    assert what[-1] == "."
    assert do


def test_a_folder_that_is_too_large_or_unreadable_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "bot"
    folder.mkdir()
    for name, content in GOOD.items():
        (folder / name).write_bytes(content)
    assert unpack(bots.read_submission(folder), tmp_path) == GOOD
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(bots.BotError, match="outside of its folder"):
        bots.read_submission(folder)
    (folder / "link").unlink()
    with (folder / "long").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(bots.BotError, match="more than 64 MB"):
        bots.read_submission(folder)
    (folder / "long").unlink()
    for number in range(2001):
        (folder / str(number)).touch()
    with pytest.raises(bots.BotError, match="2000 files"):
        bots.read_submission(folder)
    os.mkfifo(tmp_path / "fifo")
    for path, words in ((tmp_path / "fifo", "isn't a file"), (tmp_path / "gone", "is gone|doesn't exist")):
        with pytest.raises(bots.BotError, match=words):
            bots.read_submission(path)


def test_a_name_that_no_file_may_have_is_shown_in_one_line_without_control_characters(tmp_path: Path) -> None:
    for name, shown_name in (("a\x1b[2J\nb", "a\\x1b[2J\\nb"), ("\udcff.py", "\\udcff.py")):
        with pytest.raises(bots.BotError) as error:
            submit(tmp_path, BOT, name)
        assert str(error.value).endswith(f': invalid file name "{shown_name}".\nRename the file.')


def test_a_full_disk_is_not_the_bots_fault(tmp_path: Path) -> None:
    """A temporary file that can't be written is an OSError; a file that can't be read is the owner's error."""
    script = f"""
import resource, signal, tempfile
from pathlib import Path
from arena.bots import BotError, read_submission
tempfile.tempdir = {str(tmp_path / "tmp")!r}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    read_submission(Path({str(tmp_path / "bot")!r}))
except OSError as problem:
    print(problem.errno)
"""
    (tmp_path / "bot").mkdir()
    for name, content in {**GOOD, "data": bytes(5000)}.items():
        (tmp_path / "bot" / name).write_bytes(content)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{errno.EFBIG}\n", "")


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_folders_of_paths_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Without a limit 1,900 paths of a small archive made 186,000 folders, in minutes."""
    monkeypatch.setattr(sys.modules["arena.bots.submission_conversion"], "MAX_ARCHIVE_ENTRIES", 200)
    names = [f"{number}/" + "a/" * 98 for number in range(30)]
    made = zipped(dict.fromkeys(names, b"")) if form == "zip" else tarred(*((name, FOLDER, "") for name in names))
    with pytest.raises(bots.BotError, match="200 files and folders"):
        submit(tmp_path, made)


GOODS = [
    zipped(GOOD),
    zipped(GOOD, zipfile.ZIP_STORED),
    good_tar(),
    gzip.compress(good_tar()),
    bz2.compress(good_tar()),
]
GOODS += [lzma.compress(good_tar()), tarred(*files(GOOD), format=tarfile.PAX_FORMAT), BOT]


def damage_archive(draw: random.Random, good: Sequence[bytes]) -> bytes:
    data = bytearray(draw.choice(good))
    for _ in range(draw.choice((1, 1, 1, 4))):
        at = draw.randrange(len(data))
        match draw.randrange(6):
            case 0:
                data[at] ^= 1 << draw.randrange(8)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = data[: draw.randrange(len(data))]
            case 3:
                del data[at : at + draw.randrange(600)]
            case 4:
                data[at : at + 4] = draw.randbytes(4)
            case _:
                data += draw.choice(good)[at % 512 :]
        if not data:
            return b""
    return bytes(data)


@each("seed", range(2))
def test_a_damaged_archive_is_accepted_or_refused_in_two_lines(tmp_path: Path, seed: int) -> None:
    draw, said = random.Random(seed), []
    for _ in range(100):
        try:
            submit(tmp_path, damage_archive(draw, GOODS))
        except bots.BotError as problem:
            said.append(str(problem))
    assert {len(words.splitlines()) for words in said} == {2}
    assert 50 < len(said) < 100


def test_intake_in_a_process_gives_the_same(tmp_path: Path) -> None:
    for number, data in enumerate(GOODS[:3]):
        path = tmp_path / f"upload{number}"
        path.write_bytes(data)
        assert bots.read_submission_in_process(path) == bots.read_submission(path)
    (tmp_path / "empty").write_bytes(b"")
    for wrong in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(bots.BotError) as here:
            bots.read_submission(wrong)
        with pytest.raises(bots.BotError) as apart:
            bots.read_submission_in_process(wrong)
        assert str(here.value) == str(apart.value)


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"memory_bytes": 60 << 20}, "more than 20 s or 60 MB"), ({"wall_s": 0.01}, "more than 0.01 s")],
)
def test_a_submission_over_the_limits_of_the_reader_is_refused(
    tmp_path: Path, limits: dict[str, Any], words: str
) -> None:
    path = tmp_path / "bot.tar.xz"
    path.write_bytes(lzma.compress(good_tar(("zeros", tarfile.REGTYPE, bytes(60 << 20))), preset=0))
    with pytest.raises(bots.BotError, match=words):
        bots.read_submission_in_process(path, **limits)


def test_a_reader_that_is_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    path = tmp_path / "bot.tar.gz"
    path.write_bytes(gzip.compress(b"") * ((48 << 20) // 20))
    with pytest.raises(bots.BotError, match="more than 1 s or"):
        bots.read_submission_in_process(path, max_bytes=64 << 20, cpu_s=1)
