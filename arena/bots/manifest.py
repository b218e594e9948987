"""bot.toml: what a folder says of its bot.

    name = "my bot"                     # optional; else the folder's name
    run = ["python3", "bot.py"]         # what starts it, in this folder
    build = "make -j2"                  # optional; run once before the first match
    kit = "python"                      # optional; the kit that the arena adds where its file isn't in the folder

A command is a list of strings, or one string that is split into words as a shell would. No shell is started: quotes
work; `&&`, `|` and `>` are refused with a hint. A program without `/` is looked up on PATH, any other in the folder.

Reads and checks the file; must not know how a bot is named, found, hashed or started.
"""

import os
import shlex
import shutil
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from arena.bots.errors import BotError, allow, shown
from arena.bots.toml_file import read_toml
from arena.sandbox import Programs

MANIFEST = "bot.toml"

# Language -> the file of its kit, in protocol/kits and beside a bot.
KITS = {
    "python": "coup_kit.py",
    "javascript": "coup_kit.js",
    "java": "CoupKit.java",
    "cpp": "coup_kit.hpp",
    "rust": "coup_kit.rs",
    "go": "coup_kit.go",
}

_SHELL_WORDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"})

_FIELDS = {
    "name": "a string",
    "run": 'a command: a list of strings (["python3", "bot.py"]) or one string ("python3 bot.py")',
    "build": 'a command: a list of strings (["make", "-j2"]) or one string ("make -j2")',
    "kit": f"one of {', '.join(KITS)}",
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked bot.toml: the bot's name, the commands that run and build it, its kit's language."""

    name: str | None
    run: tuple[str, ...]
    build: tuple[str, ...] | None
    kit: str | None


def read(file: Path, where: Path) -> Manifest:
    """Return what the file says. `where` is its name in messages. Raises BotError, and OSError if it can't be read."""
    try:
        data = read_toml(file, 'run = "python3 bot.py"')
    except ValueError as problem:
        raise BotError(f"{shown(where)}: {problem}") from None
    return _check_fields(data, where)


def _check_fields(data: dict[str, object], where: Path) -> Manifest:
    """Check the fields of a bot.toml. Raises BotError at the first that is wrong."""
    # Here, not above: pydantic takes longer to import than `arena --help` may take to answer.
    from pydantic import BaseModel, ConfigDict, ValidationError

    class Fields(BaseModel):
        model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

        name: str | None = None
        run: list[str] | str
        build: list[str] | str | None = None
        kit: str | None = None

    try:
        fields = Fields.model_validate(data)
    except ValidationError as error:
        # An unknown field first: it may be the missing one, misspelt.
        problem = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        field = shown(str(problem["loc"][0]))
        if problem["type"] == "extra_forbidden":
            meant = get_close_matches(field, _FIELDS, n=1)
            hint = f"; did you mean {meant[0]}?" if meant else "."
            message = f'unknown field "{field}"{hint}\nThe fields are {", ".join(_FIELDS)}.'
        elif problem["type"] == "missing":
            message = f'the field "{field}" is missing.\nIt is {_FIELDS[field]}.'
        else:
            message = f'the field "{field}" has the wrong type.\nIt is {_FIELDS[field]}.'
        raise BotError(f"{shown(where)}: {message}") from None
    built = None if fields.build is None else _command(fields.build, "build", where)
    if fields.kit is not None and fields.kit not in KITS:
        meant = get_close_matches(fields.kit, KITS, n=1)
        hint = f"; did you mean {meant[0]}?" if meant else "."
        raise BotError(f'{shown(where)}: there is no kit "{shown(fields.kit)}"{hint}\nIt is {_FIELDS["kit"]}.')
    return Manifest(fields.name, _command(fields.run, "run", where), built, fields.kit)


_LONGEST, _LONGEST_PATH = 255, 1024  # of a name and of a path: file systems raise errors for longer ones


def _command(value: list[str] | str, field: str, where: Path) -> tuple[str, ...]:
    words = value
    if isinstance(words, str):
        try:
            words = shlex.split(words)
        except ValueError as error:
            raise BotError(
                f"{shown(where)}: {field} can't be split into words: {error}.\nIt is {_FIELDS[field]}."
            ) from None
        shell = next((word for word in words if word in _SHELL_WORDS or (word.endswith(";") and word != ";")), None)
        if shell is not None:
            raise BotError(
                f'{shown(where)}: {field} has "{shown(shell)}", but no shell reads it.\n'
                f'For a shell, write {field} = ["sh", "-c", "..."]'
            )
    if not words or not words[0]:
        raise BotError(f"{shown(where)}: {field} is empty.\nIt is {_FIELDS[field]}.")
    if any("\0" in word for word in words):
        raise BotError(f"{shown(where)}: {field} contains a NUL character.\nRemove it.")
    if len(words[0]) > _LONGEST_PATH or any(len(os.fsencode(part)) > _LONGEST for part in words[0].split("/")):
        raise BotError(f"{shown(where)}: {field} starts a program whose name is too long.\nIt is {_FIELDS[field]}.")
    return tuple(words)


IN_BOXES = (
    "A box has the programs below /usr, and no toolchain of a home folder (rustup, Go, nvm, sdkman): install it below "
    "/usr, as apt does, or submit the program built, without a build. arena doctor lists the languages."
)


def no_program(where: Path, field: str, word: str, folder: Path, programs: Programs) -> str:
    """Return what is said of a command whose program can't be run, in two lines.

    where: the bot.toml. field: the one that holds the command. word: the program as it stands there. programs: what
    was to run it. No command is advised for what lies outside of the bot's folder.
    """
    start = f'{shown(where)}: {field} starts "{shown(word)}", which '
    path = Path(os.path.normpath(Path(folder, word)))
    own = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    if "/" in word:
        if not path.is_file():
            return f"{start}isn't a file in {shown(where.parent)}.\nCorrect the path, or add the build that makes it."
        return f"{start}isn't executable.\n{allow('+x', where.parent / word) if own else 'Name a program that is.'}"
    if own and path.is_file():
        return f"{start}isn't on PATH.\nFor the file in the bot's folder write \"./{shown(word)}\""
    if programs.path is None:
        return f"{start}isn't on PATH.\nInstall it, or write the program's path."
    here = shutil.which(word)
    why = "isn't in the sandbox" if here is None else f"the sandbox doesn't have; yours is {shown(here)}"
    return f"{start}{why}.\n{IN_BOXES}"
