"""Tests that each sandbox is one row, with its own programs and options."""

from pathlib import Path

import pytest

from arena.sandbox import (
    ISOLATING_SANDBOXES,
    SANDBOX_NAMES,
    HostProblem,
    HostProblemError,
    SandboxChoice,
    find_strongest,
    get_backend,
    programs_of,
    sandboxes_with_option,
)


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


def test_auto_gives_up_isolation_only_for_a_known_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nothing on the host explains stops the run: it may be the arena's own."""
    problems = {name: HostProblem("it isn't installed") for name in ISOLATING_SANDBOXES}
    monkeypatch.setattr("arena.sandbox.backends.unavailable_reason", problems.__getitem__)
    assert find_strongest() == ("process", problems)
    for name in ISOLATING_SANDBOXES:
        monkeypatch.setitem(problems, name, HostProblem("who knows", known=False))
        with pytest.raises(HostProblemError, match=f"{name} fails for no known reason: who knows"):
            find_strongest()
        monkeypatch.setitem(problems, name, HostProblem("it isn't installed"))
