"""Tests of finding interpreters. Source: the docstring of arena/sandbox/program_files.py."""

import os
import select
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.sandbox import Program, SandboxChoice, make_sandbox

ROOT = Path(__file__).parents[2]


def test_the_same_python_has_one_path() -> None:
    """`arena run --resume` thus continues a run of `python -m arena.cli run`: a bare file's command is the same."""
    folder = Path(sys.executable).parent
    names = [path for path in folder.glob("python*") if path.name[6:].strip("0123456789.") == ""]
    pythons = [path for path in names if os.path.samefile(path, sys.executable)]
    assert len(pythons) > 1, "this Python has one name alone"
    script = "from arena.sandbox import Programs; print(Programs().python)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    paths = {subprocess.check_output([path, "-c", script], env=environment, timeout=60) for path in pythons}
    assert len(paths) == 1


@pytest.mark.parametrize(
    ("known", "started"), [("exec echo", "real"), ("exit 1; echo", "shim"), (r"printf '\377'; exit 1; echo", "shim")]
)
def test_a_bot_is_started_without_the_shim_of_pyenv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: str, started: str
) -> None:
    """The shim takes 0.1 s a start. Its target is looked up once; where pyenv can't name it, the shim runs."""
    for folder, name, script in (
        ("shims", "python9", "echo shim"),
        ("real", "python9", "echo real"),
        ("bin", "pyenv", f'[ "$1 $2 $PYENV_ROOT" = "which python9 {tmp_path}" ] && {known} {tmp_path}/real/python9'),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "scratch").mkdir()
    with closing(make_sandbox(SandboxChoice("process"), tmp_path / "scratch")) as sandbox:
        program = Program((str(tmp_path / "shims" / "python9"),), tmp_path)
        with closing(sandbox.start(program, Limits())) as box:
            select.select([box.stdout], [], [], 10)
            assert os.read(box.stdout, 100) == started.encode() + b"\n"
