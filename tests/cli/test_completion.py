"""What a shell completes, in a real bash and by click's protocol for others."""

import os
import shutil
import subprocess
import sys

import pytest

from arena.bots import sample_names
from arena.coup import PRESETS
from tests.command import ROOT
from tests.place import Place

# bash's own function completes the line that is given; COMP_WORDS are cut as readline cuts them.
BASH = """
eval "$(_ARENA_COMPLETE=bash_source arena)"
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ printf '%s:' compopt "$1"; echo "$2"; }}
_arena_completion arena
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(place: Place, *words: str) -> list[str]:
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


pytestmark = pytest.mark.needs("bash", None if shutil.which("bash") else "it isn't installed")


def test_commands_and_options_complete(place: Place) -> None:
    """Those of a command, too, that is imported to be asked."""
    assert completed(place, "re") == ["replay", "review"]
    assert completed(place, "ladder", "sta") == ["standings"]
    assert completed(place, "run", "--bank") == ["--bank-ms"]


def test_samples_complete_though_bash_cuts_their_names_at_the_colon(place: Place) -> None:
    """bash has `sample:` already, and wants what comes behind."""
    place.bot("sand.py")
    assert completed(place, "run", "sa") == [*sample_names(), "sand.py"]
    names = [name.removeprefix("sample:") for name in sample_names()]
    assert completed(place, "run", "sample", ":") == names
    assert completed(place, "run", "mine", "=", "sample", ":", "hon") == [name for name in names if name[:3] == "hon"]
    assert completed(place, "check", "sample", ":", "turtle", "sample", ":", "bl") == ["bluffer"]


def test_files_complete_by_the_shell_itself(place: Place) -> None:
    """It knows how: quotes, ~, and what is hidden."""
    assert completed(place, "run", "my") == ["compopt:-o:default"]
    assert completed(place, "run", "--rules", "rules/my") == ["compopt:-o:default"]


def test_rules_complete_with_presets_and_rulesets(place: Place) -> None:
    """And the sheet's name, and where `=` stands before them."""
    (place.folder / "coup-of-ours.toml").write_text("")
    (place.folder / "coup.txt").write_text("")
    wanted = [*(name for name in PRESETS if name.startswith("cou")), "coup-of-ours.toml"]
    assert completed(place, "run", "--rules", "cou") == wanted
    assert completed(place, "play", "--rules", "=", "cou") == wanted
    assert completed(place, "rules", "cou") == wanted


def test_the_bots_of_a_run_complete(place: Place) -> None:
    """Those that its folder has; none, and no error, where it is no run's."""
    for bot in ("ann", "anton", "bob"):
        place.bot(f"{bot}.py")
    run = ("--games", 3, "--match-games", 3, "--sandbox", "process", "--jobs", 1, "--out", "out")
    assert place.run("run", "ann.py", "anton.py", "bob.py", *run).code == 0
    assert completed(place, "replay", "out", "--lost", "an") == ["ann", "anton"]
    assert completed(place, "stats", "out", "--bot", "b") == ["bob"]
    assert completed(place, "stats", "nowhere", "--bot", "b") == []


def test_zsh_and_fish_get_whole_words(place: Place) -> None:
    """They don't cut at a colon. Source: click's protocol."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COMP_WORDS": "arena run sample:hon"}
    for shell, typed in (("zsh_complete", "2"), ("fish_complete", "sample:hon")):
        answer = subprocess.run(
            [sys.executable, "-P", "-m", "arena.cli"],
            env={**environment, "_ARENA_COMPLETE": shell, "COMP_CWORD": typed},
            cwd=place.folder, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert "sample:honest" in answer.stdout


def test_the_help_of_a_run_has_groups(place: Place) -> None:
    """Each option stands once, and only --help in none of them."""
    text = place.call("run", "--help").out
    titles = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Games:", "Sandbox:", "Limits:", "Clock:", "Output:", "Options:"]
    assert text.partition("Options:\n")[2].split() == ["-h,", "--help", "Show", "this", "message", "and", "exit."]
