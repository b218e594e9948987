"""Store copies of bots on this machine: of the bots of runs, of a git revision's files, of an archive's.

`BotCache` names bots by the digest of their files, so that workers need no paths of other machines:

    <digest>.<name>    a link to the files of a local bot, which plays from there
    <digest>           a folder from an archive
    <digest>-<hash>    a folder with only the bare file of an archive, made executable. The hash is of the file's name,
                       because the digest of a bare file covers only its bytes

    new-..., gone-...  a copy that is being made or removed

A link's name contains the bot's name, because two bots of a run may have equal files next to different ones.

A copy has a shared lock while it is held, and `trim` removes only copies that it can lock exclusively. The folder's
mtime is when it was last held. A copy of a git revision or an archive has a name that identifies its source, which
never changes, so an existing copy is reused.
"""

import fcntl
import hashlib
import io
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from arena.bots.archive import ArchiveError, unpack
from arena.bots.bot import Bot, BotError
from arena.bots.digest import MAX_BYTES, MAX_FILES, digest_of
from arena.bots.portable_bot import MissingProgramError, PortableBot
from arena.escaping import escape_control
from arena.sandbox import lock_folder, remove_tree

_UNFINISHED = ("new-", "gone-")  # beginnings of names of folders
_STALE_S = 3_600  # older ones were left by killed processes: a copy takes seconds


class BotCache:
    """A cache of bots in a folder of this machine, which several processes may use at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def link(self, bot: Bot) -> None:
        """Add a bot by a link to its files, without a copy. Raises OSError if the link exists or can't be written."""
        os.symlink(bot.path, self._link_path(bot.digest, bot.name))

    def add(self, bot: PortableBot, archive: IO[bytes]) -> None:
        """Add a bot from the archive of its files that `pack` made.

        Raises MissingProgramError if the files have another digest, ArchiveError for an invalid archive, OSError if
        this machine can't write the files.
        """
        with _open_new_copy(self._copy_path(bot)) as scratch:
            unpack(archive, scratch, MAX_BYTES, MAX_FILES, links_out=True)
            path = _bot_path(bot, scratch)
            content = digest_of(path, frozenset()) if path.exists() else f"no file {bot.file}"
            if content != bot.digest:
                raise MissingProgramError(f'the archive of the bot "{bot.name}" contains {content}, not {bot.digest}')
            if bot.file is not None:
                path.chmod(0o755)

    def locate(self, bot: PortableBot) -> Path:
        """Return the path of a bot's file or folder. Raises MissingProgramError, with the digest, if it isn't here."""
        link = self._link_path(bot.digest, bot.name)
        if link.is_symlink():
            return Path(os.readlink(link))
        files = _bot_path(bot, self._copy_path(bot))
        if files.exists():
            return files
        raise _missing_error(bot)

    @contextmanager
    def hold(self, bot: PortableBot) -> Iterator[None]:
        """Keep a bot's files from being removed in the context. Raises MissingProgramError if they aren't here.

        A linked bot stays where it is, so nothing is locked for it.
        """
        self.locate(bot)
        if self._link_path(bot.digest, bot.name).is_symlink():
            yield
            return
        copy = self._copy_path(bot)
        try:
            descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise _missing_error(bot) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if not _is_same_file(copy, descriptor):  # another process removed the copy before it was locked
                raise _missing_error(bot)
            os.utime(descriptor)
            yield
        finally:
            os.close(descriptor)

    def trim(self, max_bytes: int) -> None:
        """Remove the least recently held copies until the rest has at most `max_bytes`.

        Copies that are held stay, and so do folders that another process is making or removing.
        """
        self._remove_stale_folders()
        copies = sorted(self._list_copies())
        total_bytes = sum(size for _, _, size in copies)
        for _, path, size in copies:
            if total_bytes <= max_bytes:
                return
            lock = lock_folder(path)
            if lock is not None:
                with suppress(OSError):
                    grave = path.rename(Path(tempfile.mkdtemp(prefix="gone-", dir=self._folder)) / path.name)
                    remove_tree(grave.parent)
                    total_bytes -= size
                os.close(lock)

    def _remove_stale_folders(self) -> None:
        """Remove the folders that killed processes were making or removing."""
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process has just removed it
                is_unfinished = path.name.startswith(_UNFINISHED) and not path.is_symlink()
                if is_unfinished and time.time() - path.stat().st_mtime > _STALE_S:
                    remove_tree(path)

    def _list_copies(self) -> list[tuple[int, Path, int]]:
        """Return (time in ns when it was last held, path, bytes) of each copy, but for those that are being made."""
        copies = []
        for path in self._folder.iterdir():
            if path.is_symlink() or path.name.startswith(_UNFINISHED):
                continue
            with suppress(OSError):  # another process has just removed it
                held_ns = path.stat().st_mtime_ns
                files = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
                copies.append((held_ns, path, sum(os.lstat(file).st_size for file in files)))
        return copies

    def _copy_path(self, bot: PortableBot) -> Path:
        return self._folder / copy_name(bot.digest, bot.file)

    def _link_path(self, digest: str, name: str) -> Path:
        return self._folder / f"{digest}.{name}"


@contextmanager
def _open_new_copy(copy: Path) -> Iterator[Path]:
    """Yield a new folder, which becomes `copy` at the end unless another process has made `copy` by then."""
    scratch = Path(tempfile.mkdtemp(prefix="new-", dir=copy.parent))
    try:
        yield scratch
        try:
            scratch.rename(copy)
        except OSError:
            if not copy.is_dir():
                raise
    finally:
        remove_tree(scratch)


def _bot_path(bot: PortableBot, folder: Path) -> Path:
    return folder if bot.file is None else folder / bot.file


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _missing_error(bot: PortableBot) -> MissingProgramError:
    return MissingProgramError(f"the bot \"{bot.name}\" isn't in this machine's cache: {bot.digest}")


def copy_name(digest: str, file: str | None) -> str:
    """Return the name of a copy's folder. file: the name of a bare file, which may be too long to be a part of it."""
    return digest if file is None else f"{digest}-{_short_hash(file)}"


def _short_hash(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def extract_bot(archive: bytes, title: str, folder: Path) -> Path:
    """Return the folder `title` below `folder`, with the files of an archive that `pack` or git made.

    Raises ArchiveError for an invalid archive, OSError if this machine can't write the files.
    """
    copy = folder / title
    if not copy.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _open_new_copy(copy) as scratch:
            unpack(io.BytesIO(archive), scratch, MAX_BYTES, MAX_FILES, links_out=True)
    return copy


def check_out_revision(path: Path, revision: str, folder: Path) -> tuple[Path, str]:
    """Return (copy of a bot's file or folder at a git revision, full commit hash); copies are below `folder`.

    Raises BotError if the path is in no git repository, or the revision or the files in it don't exist or aren't
    accepted.
    """
    label = f"{escape_control(path)}@{escape_control(revision)}"
    top, inner_path = _find_in_repository(Path(os.path.abspath(path)), label)
    no_revision = f"{label}: the repository has no revision {escape_control(revision)}; see git log"
    commit = _read_git(top, no_revision, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    no_file = (
        f"{label}: {escape_control(inner_path)} isn't in commit {commit[:12]}; only committed files can be compared"
    )
    kind = _read_git(top, no_file, "cat-file", "-t", f"{commit}:{inner_path}")
    inner_folder, name = (inner_path, None) if kind == "tree" else os.path.split(inner_path)
    title = f"{commit}-{_short_hash(inner_folder)}"
    archive = _run_git(top, no_file, "archive", "--format=tar", f"{commit}:{inner_folder}")
    try:
        copy = extract_bot(archive, title, folder)
    except ArchiveError as problem:
        raise BotError(f"{label}: {problem}.\nCopy the bot's files into a folder, and name the folder.") from None
    return (copy if name is None else copy / name), commit


def _find_in_repository(path: Path, label: str) -> tuple[Path, str]:
    """Return (the top folder of a path's git repository, the path in it: "" for the top). label: for messages.

    Raises BotError if the path is in no repository.
    """
    work_folder = next(folder for folder in (path, *path.parents) if folder.is_dir())
    no_repository = f"{label}: {escape_control(work_folder)} isn't in a git repository"
    top = Path(_read_git(work_folder, no_repository, "rev-parse", "--show-toplevel"))
    inner_path = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
    return top, "" if inner_path == "." else inner_path


def _read_git(folder: Path, problem: str, *words: str) -> str:
    """Return the line that git prints, without its end. Raises the errors of `_run_git`."""
    return os.fsdecode(_run_git(folder, problem, *words)).removesuffix("\n")


def _run_git(folder: Path, problem: str, *words: str) -> bytes:
    """Return what a command of git prints, run in a folder. Raises BotError with `problem` if it fails."""
    try:
        process = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise BotError(f"{problem}: git isn't installed.\nInstall git, or name a folder.") from None
    if process.returncode:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        raise BotError(f"{problem}.\n{escape_control(lines[-1]) if lines else 'git printed no details.'}")
    return process.stdout
