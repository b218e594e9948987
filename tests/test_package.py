"""The package has a licence, types, one version, and completion for shells.

.ci/wheel tests the content of the wheel, and that it works where it is installed. Source: pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

import pytest

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
    assert numbers(arena.__version__) >= numbers(released[0])


def test_the_command_prints_its_version_and_the_protocols(place: Place) -> None:
    ran = place.call("--version")
    assert (ran.code, ran.out) == (0, f"arena {arena.__version__}, protocol {protocol.PROTOCOL}\n")


def test_every_package_is_typed() -> None:
    assert PACKAGES == ["arena", "ladder", "protocol"]
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


def test_the_licence_is_the_one_that_pyproject_names() -> None:
    assert PROJECT["project"]["license"] == "MIT"
    for name in PROJECT["project"]["license-files"]:
        assert (ROOT / name).read_text("utf-8").startswith("MIT License\n")


@pytest.mark.parametrize(
    ("words", "found"),
    [("arena ver", "verify"), ("arena run --match-g", "--match-games"), ("arena sandbox im", "image")],
)
def test_a_shell_that_asks_for_completions_gets_them(place: Place, words: str, found: str) -> None:
    asked = {"_ARENA_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ran = place.run(**asked)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [f"plain,{found}"]


def test_the_completion_script_for_bash_is_printed(place: Place) -> None:
    ran = place.run(_ARENA_COMPLETE="bash_source")
    assert ran.code == 0, ran.err
    assert "_ARENA_COMPLETE=bash_complete" in ran.out
