"""Tests that each sandbox is one row, with its own programs and options."""

from pathlib import Path

from arena.sandbox import SANDBOX_NAMES, SandboxChoice, get_backend, programs_of, sandboxes_with_option


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
