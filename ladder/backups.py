"""Back up and restore a ladder.

A backup is a tar of ladder.toml, ladder.db (SQLite, at one moment), the published files of finals (final-NAME.txt) and
SHA256SUMS. The digests come last, so they are absent from a truncated file; `sha256sum -c` reads them. No process has
to stop. A restored ladder has the same key and deals; matches that were in progress are played again.
"""

import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ladder import store
from ladder.ladder import Ladder, lock_new_folder, open_ladder, resolve_database_url
from ladder.settings import SETTINGS_FILE, LadderError, with_database

_DATABASE, _SUMS = "ladder.db", "SHA256SUMS"
_COMMITMENT = re.compile(r"final-[A-Za-z0-9_-]+\.txt")  # the name of a file that a final published
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class BackupFile:
    """The path of a backup, and its size in bytes."""

    file: str
    bytes: int


def write_backup(database: store.Database, folder: Path, file: Path) -> int:
    """Write a backup of a ladder's folder and its database, of any revision, to a new file; return its size in bytes.

    Meanwhile the disk holds two copies of the database. Raises LadderError if the file exists, DatabaseError if the
    database can't be read, OSError if a file can't be read or written.
    """
    file_exists = LadderError(f"{file} exists, and isn't overwritten.\nName another file.")
    if os.path.lexists(file):
        raise file_exists
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as scratch:
        archive = Path(scratch, "tar")
        size = _write_archive(database, folder, archive)
        try:
            os.link(archive, file)  # unlike a rename, it never takes the place of a file that came meanwhile
        except FileExistsError:
            raise file_exists from None
    _sync_folder(file.parent)
    return size


def _write_archive(database: store.Database, folder: Path, archive: Path) -> int:
    """Write a ladder's files and their digests to a new tar; return its size in bytes.

    First they are copied into the folder of the tar: a file that changes meanwhile would differ from its digest.
    """
    store.clone_to_file(database, archive.with_name(_DATABASE))
    copied_files = [folder / SETTINGS_FILE, *_list_commitments(folder)]
    for path in copied_files:
        shutil.copy2(path, archive.with_name(path.name))
    settings, *commitments = (path.name for path in copied_files)
    names = (settings, _DATABASE, *commitments)
    sums = "".join(f"{_digest_file(archive.with_name(name))}  {name}\n" for name in names)
    archive.with_name(_SUMS).write_text(sums, encoding="ascii")
    return _write_tar(archive, {name: archive.with_name(name) for name in (*names, _SUMS)})


def _list_commitments(folder: Path) -> list[Path]:
    """Return the files that finals have published in a folder, by name; other files there belong to people."""
    return sorted(path for path in folder.glob("final-*") if _COMMITMENT.fullmatch(path.name))


def restore_backup(file: Path, folder: Path, url: str | None = None) -> Ladder:
    """Restore a backup into a new folder and, if a URL is given, an empty database; return the open ladder.

    An error removes the restored files, unless the complete ladder can't be opened, as with an invalid ladder.toml.
    Raises LadderError for this, for a folder with a ladder, or for another file than a complete, unchanged backup.
    Raises DatabaseError if the database isn't empty or can't be used, OSError if a file can't be read or written.
    """
    was_there = folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_new_folder(folder):
        if any(os.path.lexists(folder / name) for name in (SETTINGS_FILE, _DATABASE)) or _list_commitments(folder):
            raise LadderError(f"{folder} contains files of a ladder, and isn't overwritten.\nName a new folder.")
        has_files = any(folder.iterdir())
        try:
            with tempfile.TemporaryDirectory(prefix=".restore.", dir=folder) as scratch:
                _move_into_place(Path(scratch), _unpack(file, Path(scratch)), folder, url)
        except BaseException:
            with suppress(OSError):
                for path in (folder / _DATABASE, *_list_commitments(folder)):
                    path.unlink(missing_ok=True)
                if not was_there:
                    shutil.rmtree(folder, ignore_errors=True)
            raise
        if not has_files:
            folder.chmod(0o700)
    return open_ladder(folder)


def _move_into_place(unpacked: Path, commitments: list[str], folder: Path, url: str | None) -> None:
    """Upgrade an unpacked database and end its runners; move the files to a ladder's folder, or the data to `url`.

    Raises DatabaseError if a database can't be read or written or isn't empty, OSError if a file can't be moved.
    """
    database, settings = unpacked / _DATABASE, unpacked / SETTINGS_FILE
    with closing(store.Database(f"sqlite:///{database.absolute()}")) as copy:
        store.upgrade_schema(copy)  # it may be an older arena's
        copy.write(lambda connection: store.end_runners(connection, time.time()))
    text = with_database(settings.read_text(encoding="utf-8-sig"), url or f"sqlite:///{_DATABASE}")
    settings.write_text(text, encoding="utf-8")
    if url is None:
        database.replace(folder / _DATABASE)
    else:
        with closing(store.Database(resolve_database_url(url, folder))) as target:
            store.clone_from_file(database.absolute(), target)
    for name in commitments:
        (unpacked / name).replace(folder / name)
    settings.replace(folder / SETTINGS_FILE)  # last: without it the folder is no ladder


def _write_tar(archive: Path, files: dict[str, Path]) -> int:
    """Write files, by their names in the tar, to a new tar that only its owner can read; sync it, return its bytes."""
    with open(os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for name, path in files.items():
                _add_member(tar, name, path)
        stream.flush()
        os.fsync(stream.fileno())
        return stream.tell()


def _add_member(tar: tarfile.TarFile, name: str, path: Path) -> None:
    member = tarfile.TarInfo(name)
    member.mode = 0o600
    with path.open("rb") as data:
        member.size = os.fstat(data.fileno()).st_size
        member.mtime = int(os.fstat(data.fileno()).st_mtime)
        tar.addfile(member, data)


def _unpack(file: Path, folder: Path) -> list[str]:
    """Write the files of a backup to a folder; return the names of the published ones.

    Raises LadderError if the file is no backup or its digests differ.
    """
    invalid = LadderError(f"{file} isn't a valid backup: it is truncated or was modified.\nRestore another backup.")
    try:
        with tarfile.open(file, "r:") as tar:
            commitments = list(filter(_COMMITMENT.fullmatch, tar.getnames()))
            names = (SETTINGS_FILE, _DATABASE, *commitments)
            for name in (*names, _SUMS):
                _extract_member(tar, name, folder)
    except (tarfile.TarError, KeyError, EOFError):
        raise invalid from None
    sums = (folder / _SUMS).read_text(encoding="ascii", errors="replace").splitlines()
    # Backups of 1.0 list other files named final-*, too, which aren't restored.
    if [line for line in sums if line[66:] in names] != [f"{_digest_file(folder / name)}  {name}" for name in names]:
        raise invalid
    return commitments


def _extract_member(tar: tarfile.TarFile, name: str, folder: Path) -> None:
    """Write a file of a tar to a folder, and sync it. Raises KeyError if the tar has no file of this name."""
    data = tar.extractfile(name)
    if data is None:
        raise KeyError(name)
    with data, open(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        shutil.copyfileobj(data, file, _CHUNK)
        file.flush()
        os.fsync(file.fileno())


def _digest_file(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
