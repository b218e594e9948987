"""Read and check bot.toml, the manifest of a bot's folder, and detect the bot's language.

    name = "my bot"                     # optional; else the folder's name
    run = ["python3", "bot.py"]         # the command that starts it, in this folder
    build = "make -j2"                  # optional; run once before the first match
    kit = "python"                      # optional; the kit that the arena adds if the folder lacks its file

A command is a list of strings, or one string that is split into words as a shell does. No shell is started: quotes
work; `&&`, `|` and `>` are rejected with a hint. A program without `/` is looked up on PATH, any other in the folder.
An error in a TOML file is two lines, the second an example. The language, for display, follows from the kit, the
commands and the file extensions. This module must not know how a bot is named, found, hashed or started."""

import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from arena.bots.bot import Bot, BotError, permission_advice
from arena.bots.languages import BY_MARK, KITS, LANGUAGES
from arena.escaping import escape_control
from arena.sandbox import Programs

_MAX_TOML_BYTES = 65_536  # a larger file isn't written by hand
_MAX_KEY_DOTS = 100  # in a line: tomllib's time grows with the square of a key's parts, up to 68 s


def read_toml(file: Path, example: str) -> dict[str, object]:
    """Return the content of a TOML file.

    example: a valid line, for the error message. Raises ValueError with two lines, problem and fix; OSError if the file
    can't be read.
    """
    with file.open("rb") as stream:
        data = stream.read(_MAX_TOML_BYTES + 1)
    if len(data) > _MAX_TOML_BYTES:
        raise ValueError(f"larger than {_MAX_TOML_BYTES} bytes.\nWrite a few lines such as {example}")
    if any(line.count(b".") > _MAX_KEY_DOTS for line in data.split(b"\n")):
        raise ValueError(f"a line has more than {_MAX_KEY_DOTS} dots.\nExample of a line: {example}")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # -sig: Windows editors write a byte order mark
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(f"not UTF-8 (line {line}).\nSave the file as UTF-8.") from None
    except tomllib.TOMLDecodeError as problem:
        reason = escape_control(str(problem))
    except ValueError:  # Python reads no number of more than 4,300 digits
        reason = "a number has too many digits"
    except RecursionError:
        reason = "nested too deeply"
    hint = "; write paths with /" if b"\\" in data else ""
    raise ValueError(f"not valid TOML: {reason}.\nExample of a line: {example}{hint}")


MANIFEST = "bot.toml"

_SHELL_WORDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"})

_FIELDS = {
    "name": "a string",
    "run": 'a command: a list of strings (["python3", "bot.py"]) or one string ("python3 bot.py")',
    "build": 'a command: a list of strings (["make", "-j2"]) or one string ("make -j2")',
    "kit": f"one of {', '.join(KITS)}",
    "model": "the table of a language model, in place of run; see docs/reference/models.md",
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a valid bot.toml: name, run and build commands, the kit's language; run is () for a model."""

    name: str | None
    run: tuple[str, ...]
    build: tuple[str, ...] | None
    kit: str | None


def read_manifest(file: Path, named_file: Path) -> Manifest:
    """Return the content of a bot.toml. `named_file`: its path in messages.

    Raises BotError if it is invalid, OSError if it can't be read.
    """
    try:
        return _parse_manifest(read_toml(file, 'run = "python3 bot.py"'))
    except ValueError as problem:
        raise BotError(f"{escape_control(named_file)}: {problem}") from None


def _parse_manifest(data: dict[str, object]) -> Manifest:
    """Return the fields of a bot.toml. Raises ValueError with two lines, problem and fix, at the first wrong field."""
    # Here, not above: pydantic takes longer to import than `arena --help` may take to answer.
    from pydantic import BaseModel, ConfigDict, ValidationError

    class Fields(BaseModel):
        model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

        name: str | None = None
        run: list[str] | str | None = None
        build: list[str] | str | None = None
        kit: str | None = None
        model: dict[str, object] | None = None

    try:
        fields = Fields.model_validate(data)
    except ValidationError as error:
        raise _wrong_field_error(error.errors()) from None
    if fields.model is not None:
        if fields.run is not None or fields.build is not None or fields.kit is not None:
            raise ValueError("a model has no run, build or kit.\nRemove them, or [model].")
        return Manifest(fields.name, (), None, None)
    if fields.run is None:
        raise ValueError(f'the field "run" is missing.\nSet run to {_FIELDS["run"]}.')
    build = None if fields.build is None else _parse_command(fields.build, "build")
    if fields.kit is not None and fields.kit not in KITS:
        problem = f'unknown kit "{escape_control(fields.kit)}"{_suggestion(fields.kit, KITS)}'
        raise ValueError(f"{problem}\nSet kit to {_FIELDS['kit']}.")
    return Manifest(fields.name, _parse_command(fields.run, "run"), build, fields.kit)


def _wrong_field_error(problems: Sequence[Any]) -> ValueError:
    """Return the error, with two lines, of one field, if possible an unknown one: it may be the missing one, misspelt.

    problems: as of pydantic's `ValidationError.errors`.
    """
    wrong = min(problems, key=lambda problem: bool(problem["type"] != "extra_forbidden"))
    field = escape_control(str(wrong["loc"][0]))
    if wrong["type"] == "extra_forbidden":
        problem = f'unknown field "{field}"{_suggestion(field, _FIELDS)}'
        return ValueError(f"{problem}\nThe fields are {', '.join(_FIELDS)}.")
    return ValueError(f'the field "{field}" has the wrong type.\nSet {field} to {_FIELDS[field]}.')


def _suggestion(word: str, known_words: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word, with the most similar known one."""
    similar_words = get_close_matches(word, known_words, n=1)
    return f"; did you mean {similar_words[0]}?" if similar_words else "."


_MAX_NAME_BYTES, _MAX_PATH_BYTES = 255, 1024  # the limits of file systems


def _parse_command(value: list[str] | str, field: str) -> tuple[str, ...]:
    """Return the words of a command. field: the manifest's field, for messages.

    Raises ValueError for an empty command, too long a name, and what only a shell understands.
    """
    words = _split_command(value, field) if isinstance(value, str) else value
    if not words or not words[0]:
        raise ValueError(f"{field} is empty.\nSet {field} to {_FIELDS[field]}.")
    if any("\0" in word for word in words):
        raise ValueError(f"{field} contains a NUL character.\nRemove it.")
    if len(words[0]) > _MAX_PATH_BYTES or any(len(os.fsencode(part)) > _MAX_NAME_BYTES for part in words[0].split("/")):
        raise ValueError(f"{field} starts a program with too long a name.\nSet {field} to {_FIELDS[field]}.")
    return tuple(words)


def _split_command(text: str, field: str) -> list[str]:
    """Split a text into words as a shell. Raises ValueError for a path with \\, open quotes, and words like `&&`."""
    if re.search(r"\w\\+\w", text):  # a shell would drop the \
        raise ValueError(f"{field} has a path with \\.\nWrite paths with /.")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{field} can't be parsed: {error}.\nSet {field} to {_FIELDS[field]}.") from None
    shell_word = next((word for word in words if word in _SHELL_WORDS or word.endswith(";")), None)
    if shell_word is not None:
        problem = f'{field} contains "{escape_control(shell_word)}", but runs without a shell.'
        raise ValueError(f'{problem}\nTo use a shell, write {field} = ["sh", "-c", "..."]')
    return words


IN_BOXES = (
    "A box contains the programs in /usr, but no toolchains in home folders (rustup, Go, nvm, sdkman). Install "
    "the toolchain in /usr, as apt does, or submit the built program without a build. arena doctor lists the languages."
)


_NO_LINK = 'Put the program itself into the folder; of a virtual environment, run = ["python3", "bot.py"] without it.'


def no_program(named_file: Path, field: str, word: str, folder: Path, programs: Programs) -> str:
    """Return the message, two lines, for a command whose program can't be run.

    named_file: the bot.toml. field: the command's field. word: the program as written there. folder: the bot's.
    programs: the available ones. The message advises no chmod for files outside of the bot's folder.
    """
    if "/" in word:
        clause, fix = _explain_path(named_file.parent, word, folder)
    else:
        clause, fix = _explain_name(field, word, folder, programs)
    return f'{escape_control(named_file)}: {field} starts "{escape_control(word)}", which {clause}.\n{fix}'


def _explain_path(named_folder: Path, word: str, folder: Path) -> tuple[str, str]:
    """Return why no program can be run by this path, as the end of a sentence, and the fix."""
    path = Path(os.path.normpath(Path(folder, word)))
    if path.is_symlink() and not path.exists():
        return f"is a link to a file that isn't there: {escape_control(os.readlink(path))}", _NO_LINK
    if not path.is_file():
        fix = "Correct the path, or add the build command that creates it."
        return f"isn't a file in {escape_control(named_folder)}", fix
    is_own = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    return "isn't executable", permission_advice("+x", named_folder / word) if is_own else "Name an executable program."


def _explain_name(field: str, word: str, folder: Path, programs: Programs) -> tuple[str, str]:
    """Return why no program can be run by this name, as the end of a sentence, and the fix."""
    file = Path(os.path.realpath(folder / word))
    if file.is_file() and file.is_relative_to(os.path.realpath(folder)):
        return "isn't on PATH", f'To run the file in the bot\'s folder, write "./{escape_control(word)}"'
    if word.removesuffix(".exe") in ("py", "python"):
        return "isn't there", f'Write {field} = "python3 ..."'
    if programs.path is None:
        return "isn't on PATH", "Install it, or write the program's path."
    host_path = shutil.which(word)
    if host_path is None:
        return "isn't in the sandbox", IN_BOXES
    return f"the sandbox lacks; yours is {escape_control(host_path)}", IN_BOXES


_VERSION = "-.0123456789"  # of a program, at the end of its name: python3.12, g++-13


def language_of(bot: Bot) -> str | None:
    """Return the displayed name of a bot's language, None if unknown. Raises OSError if its folder can't be read.

    The kit and the program that starts the bot come first, then its build and files. What may only help counts last: a
    shell, and Python in the build and the files of a bot with a build.
    """
    names = sorted(os.listdir(bot.path)) if bot.path.is_dir() else [bot.path.name]
    kits = [*([] if bot.kit is None else [bot.kit]), *(kit for kit, file in KITS.items() if file in names)]
    start_languages = _languages_of_marks([*kits, *_program_marks(bot.argv)])
    endings = (os.path.splitext(name)[1] for name in names)
    build_languages = _languages_of_marks([*_program_marks(bot.build or ()), *endings])
    build_helpers = ("shell",) if bot.build is None else ("shell", "Python")
    candidates = [language for language in start_languages if language != "shell"]
    candidates += (language for language in build_languages if language not in build_helpers)
    candidates += (*start_languages, *build_languages)
    return candidates[0] if candidates else None


def _languages_of_marks(marks: Iterable[str]) -> list[str]:
    return [LANGUAGES[BY_MARK[mark]].name for mark in marks if mark in BY_MARK]


def _program_marks(command: Sequence[str]) -> list[str]:
    """Return the marks of a command's program: its name without a version, and its extension."""
    words = [os.path.basename(word) for word in command]
    if words[:1] == ["env"]:
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return [mark for word in words[:1] for mark in (word.rstrip(_VERSION), os.path.splitext(word)[1])]
