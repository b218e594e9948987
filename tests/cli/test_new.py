"""The command `arena new`. Source: its help, and arena/bots/scaffold.py."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.bots import LANGUAGES
from arena.cli import cli
from tests.cli_workspace import Place

Needs = Callable[[str, str | None], None]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_a_new_bot_passes_its_check(place: Place, needs: Needs, language: str) -> None:
    for program in LANGUAGES[language].needs:
        needs(program, None if shutil.which(program) else "it isn't installed")
    made = place.call("new", "mybot", "--lang", language)
    assert (made.code, made.err) == (0, "")
    assert (place.folder / "mybot" / LANGUAGES[language].starter).is_file()
    checked = place.run("check", "mybot", "--quick", "--rules", "coup", "--sandbox", "process")
    assert checked.code == 0, checked.out + checked.err
    assert "mybot can play" in checked.out


def test_a_bot_whose_language_is_missing_is_not_called_playable(place: Place) -> None:
    (place.folder / "empty").mkdir()
    made = place.run("new", "mybot", "--lang", "go", PATH=str(place.folder / "empty"))
    assert made.out.startswith("mybot is created, and needs go.")
    assert "this machine has no go" in made.err


def test_the_next_three_commands_are_printed_with_existing_options(place: Place) -> None:
    made = place.call("new", "my bots/the first")
    commands = re.findall(r"^  arena (\w+) (.*)$", made.out, re.MULTILINE)
    assert [words for words, _ in commands] == ["check", "run", "replay"]
    assert commands[0][1] == "'my bots/the first'"
    for words, rest in commands:
        known = {flag for option in cli.commands[words].load().params for flag in option.opts}  # type: ignore[attr-defined]
        assert set(re.findall(r"--[a-z-]+", rest)) <= known
    readme = (place.folder / "my bots/the first/README.md").read_text()
    assert len(readme.splitlines()) <= 12


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("taken", "taken exists and isn't empty"),
        ("a.file", "a.file exists and isn't a folder"),
        ("a.link/", "a.link is a link"),
        ("to.nothing", "to.nothing is a link"),
        (".", "its name is empty"),
        ("+++", "has no letter"),
        (".hidden", 'begins with "."'),
        ("x" * 41, "longer than 40 characters"),
    ],
)
def test_an_invalid_name_is_refused_with_the_reason(place: Place, name: str, why: str) -> None:
    place.bot("taken/bot.py")
    place.bot("a.file")
    (place.folder / "empty").mkdir()
    (place.folder / "a.link").symlink_to("empty")
    (place.folder / "to.nothing").symlink_to("nothing")
    before = sorted(place.folder.rglob("*"))
    ran = place.call("new", name)
    assert (ran.code, ran.out) == (2, "")
    assert why in " ".join(ran.messages)
    assert sorted(place.folder.rglob("*")) == before


def test_an_empty_folder_and_a_slash_at_the_end_are_accepted(place: Place) -> None:
    (place.folder / "mine").mkdir()
    assert place.call("new", "mine/").code == 0
    names = {path.name for path in sample("python")} - {"__pycache__"}
    assert {path.name for path in (place.folder / "mine").iterdir()} == names | {"coup_kit.py"}
    assert [path.name for path in place.folder.iterdir()] == ["mine"]


def test_the_folder_has_the_kits_types(place: Place) -> None:
    assert place.call("new", "mine", "--lang", "javascript").code == 0
    names = {path.name for path in sample("javascript")} | {"coup_kit.js", "coup_kit.d.ts"}
    assert {path.name for path in (place.folder / "mine").iterdir()} == names


def sample(language: str) -> list[Path]:
    return list((Path(__file__).parents[2] / "sample_bots" / language).iterdir())


def test_a_folder_that_cannot_be_made_is_a_failure_in_one_line(place: Place) -> None:
    place.bot("file")
    ran = place.call("new", "file/mybot")
    assert (ran.code, len(ran.messages)) == (1, 1)


def test_a_bot_is_played_from_within_its_folder(place: Place) -> None:
    place.bot("mybot/bot.py")
    place.bot("mybot/bot.toml", 'run = "python3 bot.py"\n')
    other = place.bot("other.py")
    place.folder /= "mybot"
    ran = place.run("run", ".", other, "--games", 2, "--match-games", 2)
    assert ran.code == 0, ran.err
    for command in ("run", "watch"):
        refused = place.call(command, ".", other, "--sandbox", "process", "--out", "mine")
        assert (refused.code, refused.messages) == (
            2,
            ["arena: mine is in the folder of mybot; name an --out outside of it"],
        )
    assert sorted(path.name for path in place.folder.iterdir()) == ["arena-runs", "bot.py", "bot.toml"]
