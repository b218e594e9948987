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
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path

from arena.bots import new_bot
from arena.samples import sample_folder
from arena.sandbox import scratch_folder

SHIPPED_PACKAGES = ("arena", "ladder", "protocol")
_ROOT_DOCUMENTS = ("README.md", "CHANGELOG.md", "SECURITY.md")
_BUILD_FOLDERS = {"__pycache__", "build", "built"}
_BUILD_SUFFIXES = {".so", ".exe"}  # left out: build output is for one machine
_METADATA = {"METADATA", "entry_points.txt", "LICENSE"}
_WHEEL = b"Wheel-Version: 1.0\nGenerator: coup-arena\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # of each file, so that equal files give equal archives


@dataclass(frozen=True, slots=True)
class _ZippedFile:
    data: bytes
    is_executable: bool = False


@cache
def _list_tracked_files() -> frozenset[Path] | None:
    """Return the files that git tracks in this checkout; None outside of a checkout, or if git fails."""
    base = _package_folder("arena").parent
    if not (base / ".git").exists():
        return None
    try:
        listed = subprocess.run(["git", "-C", base, "ls-files", "-z"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return frozenset(base / os.fsdecode(name) for name in listed.split(b"\0") if name)


def _list_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their relative paths, without links, hidden files and build output.

    In a checkout only the files that git tracks are listed: others may be private.
    """
    tracked = _list_tracked_files()
    listed = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        is_build_output = _BUILD_FOLDERS & set(name.parts) or name.suffix in _BUILD_SUFFIXES
        is_public = tracked is None or path in tracked or not path.is_relative_to(_package_folder("arena").parent)
        if path.is_file() and not path.is_symlink() and is_public and not (is_build_output or is_hidden):
            listed[name.as_posix()] = path
    return listed


def _package_folder(package: str) -> Path:
    return Path(str(files(package)))


@cache
def list_document_files() -> dict[str, Path]:
    """Return the documents and the files that they may link to, by their paths in the repository."""
    installed = _package_folder("arena") / "documents"
    base = installed if installed.is_dir() else installed.parents[1]
    documents = {name: base / name for name in _ROOT_DOCUMENTS}
    folders = {"docs": base / "docs", "protocol": _package_folder("protocol"), "sample_bots": sample_folder()}
    for name, folder in folders.items():
        documents |= {f"{name}/{path}": file for path, file in _list_files(folder).items()}
    return documents


@cache
def wheel_name() -> str | None:
    """Return the file name of the arena's wheel, None if the arena isn't installed or lacks the list of its files."""
    try:
        arena = distribution("coup-arena")
    except PackageNotFoundError:
        return None
    return None if arena.files is None else f"coup_arena-{arena.version}-py3-none-any.whl"


@cache
def build_wheel() -> bytes:
    """Return the arena's wheel as bytes: its packages, documents, sample bots and metadata.

    Call it only if there is a `wheel_name`.
    """
    arena = distribution("coup-arena")
    assert arena.files is not None, "without them the wheel has no name"
    metadata_folder = f"coup_arena-{arena.version}.dist-info"
    contents = {name: _read_file(path) for name, path in _list_wheel_files().items()}
    for file in arena.files:
        if file.parts[0] == metadata_folder and file.name in _METADATA:
            contents[str(file)] = _ZippedFile(file.read_binary())
    contents[f"{metadata_folder}/WHEEL"] = _ZippedFile(_WHEEL)
    rows = [f"{name},sha256={_digest(file.data)},{len(file.data)}\n" for name, file in sorted(contents.items())]
    record = f"{metadata_folder}/RECORD"
    contents[record] = _ZippedFile("".join([*rows, f"{record},,\n"]).encode())
    return _make_zip(contents)


def _read_file(path: Path) -> _ZippedFile:
    return _ZippedFile(path.read_bytes(), is_executable=bool(path.stat().st_mode & 0o100))


def _list_wheel_files() -> dict[str, Path]:
    """Return the files of the packages, documents and sample bots, by their names in the wheel."""
    paths = {}
    for package in SHIPPED_PACKAGES:
        for name, path in _list_files(_package_folder(package)).items():
            paths[f"{package}/{name}"] = path
    for name, path in list_document_files().items():
        if name.startswith("sample_bots/"):
            paths[f"arena/{name}"] = path
        elif not name.startswith("protocol/"):
            paths[f"arena/documents/{name}"] = path
    return paths


@cache
def build_starter_zip(language: str) -> bytes:
    """Return a zip archive, as bytes, of the folder that `arena new mybot` makes for a language."""
    with scratch_folder() as folder:
        bot_folder = new_bot(folder / "mybot", language).folder
        files_by_name = _list_files(bot_folder)
        return _make_zip({f"mybot/{name}": _ZippedFile(path.read_bytes()) for name, path in files_by_name.items()})


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _make_zip(contents: Mapping[str, _ZippedFile]) -> bytes:
    """Return a zip archive, as bytes, of files by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, _FIXED_TIME)
            entry.external_attr = (0o100755 if file.is_executable else 0o100644) << 16
            archive.writestr(entry, file.data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
