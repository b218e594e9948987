"""A ladder as one file, and back: a tar of ladder.toml, the database as SQLite, and the digests of both.

    ladder.toml    as it is in the folder
    ladder.db      the database at one moment, wherever it is kept
    SHA256SUMS     last, so that a file that was cut off has none; `sha256sum -c` reads it, too

Nobody has to stop for it. A restored ladder has the same key, so its matches have the same deals. What was being played
when the copy was made is played again.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ladder.service.ladder import Ladder, open_ladder, resolve_url
from ladder.service.settings import FILE, LadderError, with_database
from ladder.store.database import Database, copy_from, copy_to, end_runners, prepare

_DATABASE, _SUMS = "ladder.db", "SHA256SUMS"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Backup:
    """A file that holds a ladder, and its size."""

    file: str
    bytes: int


def backup(ladder: Ladder, file: Path) -> int:
    """Write the ladder to a new file; return its size in bytes. Raises LadderError, DatabaseError, OSError.

    While it is made, the disk needs room for the database twice.
    """
    if os.path.lexists(file):
        raise LadderError(f"{file} is there already, and is not overwritten.\nName another file.")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as beside:
        copy, made = Path(beside, _DATABASE), Path(beside, "tar")
        copy_to(ladder.database, copy)
        sums = Path(beside, _SUMS)
        named = {FILE: ladder.path / FILE, _DATABASE: copy}
        sums.write_text("".join(f"{_digest(path)}  {name}\n" for name, path in named.items()), encoding="ascii")
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
            with tarfile.open(fileobj=out, mode="w") as tar:
                for name, path in {**named, _SUMS: sums}.items():
                    _add(tar, name, path)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        try:
            os.link(made, file)  # unlike a rename, it never takes the place of a file that came meanwhile
        except FileExistsError:
            raise LadderError(f"{file} is there already, and is not overwritten.\nName another file.") from None
    _sync_folder(file.parent)
    return size


def restore(file: Path, folder: Path, url: str | None = None) -> Ladder:
    """Make a ladder of a backup: in a new folder, and in an empty database if a URL is given.

    Raises LadderError, also if the file was cut off or changed; DatabaseError, OSError.
    """
    if os.path.lexists(folder / FILE) or os.path.lexists(folder / _DATABASE):
        raise LadderError(f"{folder} holds a ladder already, and is not overwritten.\nName a new folder.")
    was_there = folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".restore.", dir=folder) as beside:
            _unpack(file, Path(beside))
            with closing(Database(f"sqlite:///{Path(beside, _DATABASE).absolute()}")) as copy:
                prepare(copy)  # it may be an older arena's
                copy.write(lambda connection: end_runners(connection, time.time()))
            if url is None:
                url = f"sqlite:///{_DATABASE}"
                Path(beside, _DATABASE).replace(folder / _DATABASE)
            else:
                with closing(Database(resolve_url(url, folder))) as target:
                    copy_from(Path(beside, _DATABASE).absolute(), target)
            settings = with_database(Path(beside, FILE).read_text(encoding="utf-8"), url)
            (folder / FILE).write_text(settings, encoding="utf-8")  # last: without it the folder is no ladder
            (folder / FILE).chmod(0o600)
    except BaseException:
        with suppress(OSError):
            (folder / _DATABASE).unlink(missing_ok=True)
            if not was_there:
                shutil.rmtree(folder, ignore_errors=True)
        raise
    folder.chmod(0o700)
    return open_ladder(folder)


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    member = tarfile.TarInfo(name)
    member.mode = 0o600
    with path.open("rb") as data:
        member.size = os.fstat(data.fileno()).st_size
        member.mtime = int(os.fstat(data.fileno()).st_mtime)
        tar.addfile(member, data)


def _unpack(file: Path, folder: Path) -> None:
    """Write the files of a backup to a folder. Raises LadderError where they aren't what was backed up."""
    broken = LadderError(f"{file} is no whole backup: it was cut off, or changed.\nTake another one.")
    try:
        with tarfile.open(file, "r:") as tar:
            for name in (FILE, _DATABASE, _SUMS):
                data = tar.extractfile(name)
                if data is None:
                    raise broken
                with data, open(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                    shutil.copyfileobj(data, out, _CHUNK)
                    out.flush()
                    os.fsync(out.fileno())
    except (tarfile.TarError, KeyError, EOFError):
        raise broken from None
    sums = (folder / _SUMS).read_text(encoding="ascii", errors="replace")
    if sums != "".join(f"{_digest(folder / name)}  {name}\n" for name in (FILE, _DATABASE)):
        raise broken


def _digest(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
