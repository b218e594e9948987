"""Tests that each sandbox is one row, and no other module depends on a sandbox's name."""

import ast
from pathlib import Path

import pytest

from arena.sandbox import (
    ISOLATING_SANDBOXES,
    SANDBOX_NAMES,
    Backend,
    SandboxChoice,
    get_backend,
    programs_of,
    sandboxes_with_option,
)
from tests.cases import each

ROOT = Path(__file__).parents[2]
ELSEWHERE = sorted((ROOT / "arena").rglob("*.py"))


@pytest.mark.parametrize("name", SANDBOX_NAMES)
def test_every_sandbox_has_a_row(name: str) -> None:
    """It is a module arena.sandbox.NAME, and makes a sandbox with that name."""
    row = get_backend(name)
    assert isinstance(row, Backend)
    assert set(row.supported_options) <= {field for field in SandboxChoice.__dataclass_fields__ if field != "name"}
    assert SandboxChoice(name).isolates == (name in ISOLATING_SANDBOXES)


def test_each_row_makes_its_sandbox(tmp_path: Path) -> None:
    for name in SANDBOX_NAMES:
        if get_backend(name).find_problem(SandboxChoice(name)) is None:
            made = get_backend(name).make(SandboxChoice(name), tmp_path / name)
            assert made.name == name
            made.close()


def test_a_box_with_an_image_uses_no_interpreter_of_this_machine() -> None:
    """The others run a bare .py file with the arena's own interpreter."""
    assert [name for name in SANDBOX_NAMES if programs_of(name).image] == ["docker"]
    assert programs_of("bubblewrap").path is not None
    assert programs_of("process").path is None


def test_options_of_other_sandboxes_are_refused() -> None:
    assert sandboxes_with_option("runtime") == sandboxes_with_option("image") == ("docker",)


@each("path", ELSEWHERE)
def test_no_file_compares_with_a_sandboxs_name(path: Path) -> None:
    """Differences between sandboxes are fields of their rows, so that a new one is a package and a line."""
    compared = [
        constant.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare | ast.MatchValue)
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant)
    ]
    allowed = ["docker"] if path.name == "situation.py" else []  # there it is a group of the system's
    assert [word for word in compared if word in SANDBOX_NAMES] == allowed
