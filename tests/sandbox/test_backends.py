"""Tests that each sandbox is one row, with its own programs and options."""

from pathlib import Path

import pytest

from arena import sandbox


def test_each_row_makes_its_sandbox(tmp_path: Path) -> None:
    for name in sandbox.SANDBOX_NAMES:
        if sandbox.get_backend(name).find_problem(sandbox.SandboxChoice(name)) is None:
            made = sandbox.get_backend(name).make(sandbox.SandboxChoice(name), tmp_path / name)
            assert made.name == name
            made.close()


def test_a_box_with_an_image_uses_no_interpreter_of_this_machine() -> None:
    """The others run a bare .py file with the arena's own interpreter."""
    assert [name for name in sandbox.SANDBOX_NAMES if sandbox.programs_of(name).image] == ["docker"]
    assert sandbox.programs_of("bubblewrap").path is not None
    assert sandbox.programs_of("process").path is None


def test_options_of_other_sandboxes_are_refused() -> None:
    assert sandbox.sandboxes_with_option("runtime") == sandbox.sandboxes_with_option("image") == ("docker",)


def test_auto_gives_up_isolation_only_for_a_known_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nothing on the host explains stops the run: it may be the arena's own."""
    problems = {name: sandbox.HostProblem("it isn't installed") for name in sandbox.ISOLATING_SANDBOXES}
    monkeypatch.setattr("arena.sandbox.backends.unavailable_reason", problems.__getitem__)
    assert sandbox.find_strongest() == ("process", problems)
    for name in sandbox.ISOLATING_SANDBOXES:
        monkeypatch.setitem(problems, name, sandbox.HostProblem("who knows", known=False))
        with pytest.raises(sandbox.HostProblemError, match=f"{name} fails for no known reason: who knows"):
            sandbox.find_strongest()
        monkeypatch.setitem(problems, name, sandbox.HostProblem("it isn't installed"))
