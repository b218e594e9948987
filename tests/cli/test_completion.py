"""Shell completion, in a real bash and by click's protocol for others."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from arena.bots import KITS, MODEL, load_bots
from arena.cli import cli
from arena.coup import PRESETS
from arena.run import RunConfig, RunFolder, record_results
from arena.samples import sample_names
from tests.cli_workspace import Place
from tests.command import ROOT

# bash's own function completes the line that is given; COMP_WORDS are cut as readline cuts them.
BASH = """
eval "$(_ARENA_COMPLETE=bash_source arena)"
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ printf '%s:' compopt "$1"; echo "$2"; }}
_arena_completion arena
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete_in_bash(place: Place, *words: str) -> list[str]:
    """Return what bash would offer for a line, of which the last word is being typed."""
    folder = place.folder / "bin"
    folder.mkdir(exist_ok=True)
    command = folder / "arena"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m arena.cli "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    script = BASH.format(words=" ".join(f"'{word}'" for word in ("arena", *words)))
    bash = subprocess.run(
        ["bash", "-c", script],
        env=environment,
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert bash.stderr == ""
    return [word for word in bash.stdout.split("\n") if word]


def complete_by_click(place: Place, *words: str) -> list[str]:
    """Return click's completions of a line, whatever the shell is; the last word is being typed."""
    with contextlib.chdir(place.folder):
        return [item.value for item in ShellComplete(cli, {}, "arena", "").get_completions([*words[:-1]], words[-1])]


@pytest.mark.needs("bash", None if shutil.which("bash") else "it isn't installed")
def test_samples_complete_though_bash_cuts_their_names_at_the_colon(place: Place) -> None:
    """bash has `sample:` already, and expects the rest. Files complete by the shell itself."""
    place.bot("sand.py")
    assert complete_in_bash(place, "run", "sa") == [*sample_names(), "sand.py"]
    names = [name.removeprefix("sample:") for name in sample_names()]
    assert complete_in_bash(place, "run", "mine", "=", "sample", ":", "hon") == [
        name for name in names if name[:3] == "hon"
    ]
    assert complete_in_bash(place, "check", "sample", ":", "turtle", "sample", ":", "bl") == ["bluffer"]
    assert complete_in_bash(place, "run", "--rules", "rules/my") == ["compopt:-o:default"]


def test_commands_and_options_complete(place: Place) -> None:
    assert complete_by_click(place, "re") == ["replay", "review"]
    assert complete_by_click(place, "ladder", "sta") == ["standings"]
    assert complete_by_click(place, "run", "--bank") == ["--bank-ms"]
    assert complete_by_click(place, "new", "x", "--lang", "") == [*KITS, MODEL]


def test_rules_complete_with_presets_and_rulesets(place: Place) -> None:
    (place.folder / "coup-of-ours.toml").write_text("")
    (place.folder / "coup.txt").write_text("")
    wanted = [*(name for name in PRESETS if name.startswith("cou")), "coup-of-ours.toml"]
    assert complete_by_click(place, "run", "--rules", "cou") == wanted
    assert complete_by_click(place, "rules", "cou") == wanted


def test_the_bots_of_a_run_complete(place: Place) -> None:
    bots, _ = load_bots([f"{name}={place.bot('bot.py')}" for name in ("ann", "anton", "bob")])
    folder = RunFolder(place.folder / "out", record_results)
    folder.create(RunConfig(tuple(bots), seats=3, games=3, match_games=3, key=bytes(32)).to_json())
    assert complete_by_click(place, "replay", "out", "--lost-by", "an") == ["ann", "anton"]
    assert complete_by_click(place, "stats", "out", "--bot", "b") == ["bob"]
    assert complete_by_click(place, "stats", "nowhere", "--bot", "b") == []


def test_zsh_and_fish_get_whole_words(place: Place) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COMP_WORDS": "arena run sample:hon"}
    for shell, typed in (("zsh_complete", "2"), ("fish_complete", "sample:hon")):
        answer = subprocess.run(
            [sys.executable, "-P", "-m", "arena.cli"],
            env={**environment, "_ARENA_COMPLETE": shell, "COMP_CWORD": typed},
            cwd=place.folder, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert "sample:honest" in answer.stdout
