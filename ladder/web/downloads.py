"""Serve downloads for bot authors: documents, the arena as a wheel, and a starter bot for each language.

The wheel is made from the running files, installed or from a checkout. So it has the ladder's own version, and needs
neither a network nor build tools."""

import base64
import hashlib
import io
import os
import subprocess
import zipfile
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from arena.bots import new_bot, sample_folder
from arena.sandbox import scratch_folder

SHIPPED_PACKAGES = ("arena", "ladder", "protocol")
_ALONE = ("README.md", "CHANGELOG.md", "SECURITY.md")
_NOT, _NOT_TYPES = {"__pycache__", "build"}, {".so", ".exe"}  # what builds make: the wheel is for any machine
_METADATA = {"METADATA", "entry_points.txt", "LICENSE"}
_WHEEL = b"Wheel-Version: 1.0\nGenerator: coup-arena\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_THEN = (1980, 1, 1, 0, 0, 0)  # of each file, so that the same files make the same bytes


@cache
def _tracked() -> frozenset[Path] | None:
    """Return the files that git tracks in a checkout; None where there is no checkout, or git doesn't say."""
    base = _home("arena").parent
    if not (base / ".git").exists():
        return None
    try:
        listed = subprocess.run(["git", "-C", base, "ls-files", "-z"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return frozenset(base / os.fsdecode(name) for name in listed.split(b"\0") if name)


def _files_in(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their paths in it: no links, no hidden ones, nothing that was made there.

    Of a checkout these are the files that git tracks, since others may be anybody's.
    """
    tracked = _tracked()
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        made = _NOT & set(name.parts) or name.suffix in _NOT_TYPES or any(part.startswith(".") for part in name.parts)
        inside = tracked is None or path in tracked or not path.is_relative_to(_home("arena").parent)
        if path.is_file() and not path.is_symlink() and not made and inside:
            found[name.as_posix()] = path
    return found


def _home(package: str) -> Path:
    return Path(str(files(package)))


@cache
def list_document_files() -> dict[str, Path]:
    """Return the documents and the files that they lead to, by their paths in the repository."""
    installed = _home("arena") / "documents"
    base = installed if installed.is_dir() else installed.parents[1]
    found = {name: base / name for name in _ALONE}
    for name, folder in (("docs", base / "docs"), ("protocol", _home("protocol")), ("sample_bots", sample_folder())):
        found |= {f"{name}/{path}": file for path, file in _files_in(folder).items()}
    return found


@cache
def wheel_name() -> str | None:
    """Return the name of the arena's wheel, None where the arena runs without being installed."""
    try:
        return f"coup_arena-{distribution('coup-arena').version}-py3-none-any.whl"
    except PackageNotFoundError:
        return None


@cache
def build_wheel() -> bytes:
    """Return the arena's wheel: its packages, its documents and sample bots within, and its metadata."""
    paths = {f"{name}/{path}": file for name in SHIPPED_PACKAGES for path, file in _files_in(_home(name)).items()}
    for name, file in list_document_files().items():
        if not name.startswith("protocol/"):
            paths[f"arena/{name}" if name.startswith("sample_bots/") else f"arena/documents/{name}"] = file
    contents = {name: (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for name, path in paths.items()}
    about = ""
    for each in distribution("coup-arena").files or ():
        if each.parts[0].endswith(".dist-info") and each.name in _METADATA:
            about = each.parts[0]
            contents[str(each)] = (each.read_binary(), False)
    contents[f"{about}/WHEEL"] = (_WHEEL, False)
    rows = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, (data, _) in sorted(contents.items())]
    contents[f"{about}/RECORD"] = ("".join([*rows, f"{about}/RECORD,,\n"]).encode(), False)
    return _zipped(contents)


@cache
def build_starter_zip(language: str) -> bytes:
    """Return a zip with the folder that `arena new mybot` makes for a language."""
    with scratch_folder() as folder:
        made = new_bot(folder / "mybot", language).folder
        return _zipped({f"mybot/{name}": (path.read_bytes(), False) for name, path in _files_in(made).items()})


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zipped(contents: Mapping[str, tuple[bytes, bool]]) -> bytes:
    """Return a zip of files: name -> contents, whether it is a program."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, program) in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, _THEN)
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return whole.getvalue()
