"""Copy a bot's files from a git revision or an archive to a folder of this machine.

A copy's name identifies its source, which never changes, so an existing copy is reused."""

import hashlib
import io
import os
import subprocess
import tempfile
from pathlib import Path

from arena.bots.archive import ArchiveError, unpack
from arena.bots.bot import BotError, escape_control
from arena.bots.digest import MAX_BYTES, MAX_FILES
from arena.sandbox import remove_tree


def extract_bot(archive: bytes, title: str, folder: Path) -> Path:
    """Return the folder `title` below `folder`, with the files of an archive that `pack` or git made.

    Raises ArchiveError for an invalid archive, OSError.
    """
    copy = folder / title
    if copy.is_dir():
        return copy
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="new-", dir=folder))
    try:
        unpack(io.BytesIO(archive), scratch, MAX_BYTES, MAX_FILES, links_out=True)
        try:
            scratch.rename(copy)
        except OSError:
            if not copy.is_dir():  # else another process has just made it
                raise
    finally:
        remove_tree(scratch)
    return copy


def check_out_revision(path: Path, revision: str, folder: Path) -> tuple[Path, str]:
    """Return (copy of a bot's file or folder at a git revision, full commit hash); copies are below `folder`.

    Raises BotError.
    """
    label = f"{escape_control(path)}@{escape_control(revision)}"
    there = Path(os.path.abspath(path))
    near = next(above for above in (there, *there.parents) if above.is_dir())
    top = _git_text(
        near, f"{label}: {escape_control(near)} is in no git repository", "rev-parse", "--show-toplevel"
    ).strip()
    missing = f"{label}: the repository has no revision {escape_control(revision)}; see git log"
    commit = _git_text(near, missing, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
    inside = os.path.relpath(os.path.realpath(there), os.path.realpath(top))
    inside = "" if inside == "." else inside
    gone = (
        f"{label}: {escape_control(inside)} isn't among the files of {commit[:12]}; only what is committed can be "
        "compared"
    )
    kind = _git_text(Path(top), gone, "cat-file", "-t", f"{commit}:{inside}").strip()
    above, name = (inside, None) if kind == "tree" else os.path.split(inside)
    title = f"{commit}-{hashlib.sha256(above.encode()).hexdigest()[:16]}"
    archive = _run_git(Path(top), gone, "archive", "--format=tar", f"{commit}:{above}")
    try:
        copy = extract_bot(archive, title, folder)
    except ArchiveError as problem:
        raise BotError(f"{label}: {problem}.\nPut its files into a folder, and name that.") from None
    return (copy if name is None else copy / name), commit


def _git_text(where: Path, problem: str, *words: str) -> str:
    return _run_git(where, problem, *words).decode(errors="surrogateescape")


def _run_git(where: Path, problem: str, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(where), *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise BotError(f"{problem}: there is no git on this machine.\nInstall git, or name a folder.") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise BotError(f"{problem}.\n{escape_control(lines[-1]) if lines else 'git says nothing more.'}")
    return done.stdout
