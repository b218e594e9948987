"""The package has a licence, types, and one version.

.ci/wheel tests the content of the wheel, and that it works where it is installed. Source: pyproject.toml.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import arena
import protocol
from tests.cli_workspace import Place

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
PACKAGES = [folder for folder in FOLDERS if (ROOT / folder / "__init__.py").is_file()]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def test_the_version_has_one_place_and_is_the_newest_in_the_changelog() -> None:
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "arena/__init__.py"}
    released = re.findall(r"^## (\d+\.\d+\.\d+)\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert released == sorted(released, key=numbers, reverse=True)
    assert arena.__version__ == released[0]
    pages = [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    named = re.findall(r"coup_arena-[\d.]+\d", "".join(pages))
    assert set(named) == {f"coup_arena-{arena.__version__}"}


def test_the_command_prints_its_version_and_the_protocols(place: Place) -> None:
    kind = "compiled" if arena.is_compiled() else "pure Python"
    ran = place.call("--version")
    assert (ran.code, ran.out) == (0, f"arena {arena.__version__}, protocol {protocol.PROTOCOL}, {kind}\n")


def test_the_advice_on_an_extra_names_the_installed_wheel(tmp_path: Path) -> None:
    wheel = "coup_arena-1.0.0-cp311-cp311-linux_x86_64.whl"
    info = tmp_path / "coup_arena-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coup-arena\nVersion: 1.0.0\n")
    (info / "direct_url.json").write_text(f'{{"url": "file:///home/a/{wheel}"}}')
    command = [sys.executable, "-c", "import arena; print(arena.with_extra('web'))"]
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert f"pip install '{wheel}[web]'" in ran.stdout


def test_compiled_modules_are_stale_once_a_source_in_their_folders_is_newer_or_a_folder_is_gone(tmp_path: Path) -> None:
    for name in ("arena/__init__.py", "arena/coup/engine.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / ".compiled").write_text("arena/coup")

    def stale(compiled_at: float) -> bool:
        os.utime(tmp_path / ".compiled", (compiled_at, compiled_at))
        code = "import arena; print(arena.is_compiled_stale())"
        return subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True) == "True\n"

    changed_at = (tmp_path / "arena/coup/engine.py").stat().st_mtime
    assert stale(changed_at - 1)
    (tmp_path / "arena/coup/.#engine.py").symlink_to("ada@host.4321")  # Emacs, while the file is edited
    assert not stale(changed_at + 1)
    (tmp_path / ".compiled").write_text("arena/coup\narena/renamed")
    assert stale(changed_at + 1)


def test_every_package_is_typed() -> None:
    assert PACKAGES == ["arena", "ladder", "protocol"]
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


def test_the_licence_is_the_one_that_pyproject_names() -> None:
    assert PROJECT["project"]["license"] == "MIT"
    assert PROJECT["project"]["license-files"][0] == "LICENSE"  # the others are of what isn't ours
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License\n")
