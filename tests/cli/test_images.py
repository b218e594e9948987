"""`arena sandbox image`: images are built and listed; each failure is one clear message.

Each language has one Dockerfile in arena/sandbox/docker/images.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from arena.cli import cli
from arena.sandbox.docker import LANGUAGES, get_engine, image

ROOT = Path(__file__).parents[2]


def arena_sandbox(*arguments: str) -> Result:
    result = CliRunner().invoke(cli.commands["sandbox"].load(), arguments, prog_name="arena sandbox")  # type: ignore[attr-defined]
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_every_language_has_a_dockerfile_that_fetches_only_what_its_base_lacks() -> None:
    """Tests reach no registry, so a complete base must need no network."""
    assert {path.name for path in image.FOLDER.iterdir()} == {f"{language}.Dockerfile" for language in LANGUAGES}
    for language in LANGUAGES:
        lines = (image.FOLDER / f"{language}.Dockerfile").read_text().splitlines()
        assert "FROM ${BASE}" in lines
        assert "USER 65534:65534" in lines
        (run,) = (line for line in lines if line.startswith("RUN"))
        assert run.startswith("RUN command -v")


@pytest.mark.usefixtures("docker")
def test_list_shows_each_language_and_how_to_get_missing_ones() -> None:
    result = arena_sandbox("image", "list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["language", "image", "id", "size", "built"]
    assert [line.split()[0] for line in lines[1:]] == list(LANGUAGES)
    missing = [found.language for found in image.list_images() if found.id is None]
    assert [line.split()[0] for line in lines[1:] if "missing" in line] == missing
    assert (result.stderr == "") == (not missing)
    if missing:
        assert result.stderr.endswith(f"arena sandbox image build {' '.join(missing)}\n")


@pytest.mark.usefixtures("docker")
def test_build_makes_an_image_from_a_local_base(needs: Callable[[str, str | None], None]) -> None:
    here = get_engine().call(get_engine().api.images, "coup-arena/base")
    needs("docker", None if here else "no coup-arena/base to build on, as .ci/docker-engine makes it")
    result = arena_sandbox("image", "build", "python", "--base", "coup-arena/base")
    assert result.exit_code == 0, result.stderr
    (built,) = (found for found in image.list_images() if found.language == "python")
    assert built.id is not None
    assert result.stdout == f"coup-arena/python {built.id.removeprefix('sha256:')[:12]}\n"


@pytest.mark.usefixtures("docker")
def test_a_base_that_cannot_be_fetched_is_one_message_with_a_fix() -> None:
    result = arena_sandbox("image", "build", "java", "--base", "no-such-base-image:1")
    assert result.exit_code == 1
    problem = result.stderr.splitlines()[-1]
    assert problem.startswith("arena: building coup-arena/java: its base no-such-base-image:1 can't be downloaded")
    assert "--base IMAGE" in problem


def test_an_unknown_language_is_refused_with_a_list() -> None:
    result = arena_sandbox("image", "build", "cobol")
    assert result.exit_code == 2
    assert ", ".join(f"'{language}'" for language in LANGUAGES) in result.stderr


@pytest.mark.parametrize("command", ["build", "list"])
def test_without_an_engine_a_command_prints_how_to_get_one(command: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", "from arena.cli import cli; cli()", "sandbox", "image", command],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DOCKER_HOST": f"unix://{tmp_path}/nothing"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"arena: no Docker engine answers at DOCKER_HOST=unix://{tmp_path}/nothing (no answer)")
    assert "run `unset DOCKER_HOST`" in line
