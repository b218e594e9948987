"""What a package is expected to have: a licence, types, one version, and completion for shells.

What the wheel holds, and that it works where it is installed, is tried by .ci/wheel. Source: pyproject.toml.
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


def test_the_version_is_said_once_and_not_behind_the_changelog() -> None:
    """pyproject reads it from arena/__init__.py; the changelog has the newest release at its top, after "Next"."""
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"] == {"path": "arena/__init__.py"}
    released = re.findall(r"^## (\d+\.\d+\.\d+)\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert released == sorted(released, key=numbers, reverse=True)
    assert numbers(arena.__version__) >= numbers(released[0])


def test_the_command_says_its_version_and_the_protocols(place: Place) -> None:
    """A bot's author has to know both."""
    ran = place.call("--version")
    assert (ran.code, ran.out) == (0, f"arena {arena.__version__}, protocol {protocol.PROTOCOL}\n")


def test_every_package_is_typed() -> None:
    """The marker of PEP 561."""
    assert PACKAGES == ["arena", "ladder", "protocol"]
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


def test_the_licence_is_there_and_is_the_one_that_is_named() -> None:
    """SPDX: MIT."""
    assert PROJECT["project"]["license"] == "MIT"
    for name in PROJECT["project"]["license-files"]:
        assert (ROOT / name).read_text("utf-8").startswith("MIT License\n")


@pytest.mark.parametrize(
    ("words", "found"),
    [("arena ver", "verify"), ("arena run --match-g", "--match-games"), ("arena sandbox im", "image")],
)
def test_a_shell_that_asks_for_completions_gets_them(place: Place, words: str, found: str) -> None:
    """As bash asks, by what `_ARENA_COMPLETE=bash_source arena` told it."""
    asked = {"_ARENA_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ran = place.run(**asked)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [f"plain,{found}"]


def test_bash_is_told_how_to_ask(place: Place) -> None:
    """The script that `eval` reads from ~/.bashrc."""
    ran = place.run(_ARENA_COMPLETE="bash_source")
    assert ran.code == 0, ran.err
    assert "_ARENA_COMPLETE=bash_complete" in ran.out
