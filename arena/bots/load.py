"""What the user calls a bot -> how to build it, how to start it, and what its files were.

Must not know: sandboxes, the protocol, matches. It hands out argv and a working folder; others start them.

BOT on the command line is `path` or `name=path`. The path is one of:

* a folder with `bot.toml`, or that bot.toml itself:
      name = "my bot"                     # optional; else the folder's name
      run = ["python3", "bot.py"]         # what starts it, in this folder
      build = "make -j2"                  # optional; run once before the first match
  A command is a list of strings, or one string that is split into words as a shell would. No shell is started: quotes
  work, `&&`, `|` and `>` are refused with a hint. A program without `/` is looked up on PATH, any other in the folder.
  Where a sandbox shows the bot other programs than the user's, `Programs` says where they are looked up.
* a file, run by its `#!` line, else by its ending (`.py`: the arena's own interpreter, `.js`: node, `.sh`: sh), else,
  if it is executable, by itself. The `#!` line comes first even for `.py`: `#!/usr/bin/env python3` is the python3 on
  PATH, which may not be the arena's. The file needs no x bit for it, and all words of the line count (as on macOS;
  Linux itself would join all but the first).

An argument that exists as a path is a path, even with `=` in it; a part before `=` that contains `/` is never a name.
"""

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.bots.bot import Bot, Programs
from arena.bots.digest import digest_of
from arena.bots.errors import BotError, reading, shown
from arena.bots.manifest import MANIFEST, read
from arena.bots.names import Wish, checked_name, shared_out

_SHEBANG_BYTES = 4_096  # Linux reads 256, macOS 512

# Ending -> program on PATH, and what to install when it is missing. `.py` is the arena's own interpreter.
_RUNNERS = {".js": ("node", "Node.js"), ".sh": ("sh", "a POSIX shell")}


# --- files and folders ------------------------------------------------------------------------------------------------


def _bot(given: Path, programs: Programs) -> Bot:
    """Read one bot; its name is not yet checked."""
    path = _absolute(given)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise BotError(f"{shown(given)} does not exist.\nA bot is a file, or a folder with {MANIFEST}.") from None
    if path.name == MANIFEST and stat.S_ISREG(mode):
        return _from_folder(path.parent, given.parent, programs)
    if stat.S_ISDIR(mode):
        return _from_folder(path, given, programs)
    if not stat.S_ISREG(mode):
        raise BotError(f"{shown(given)} is neither a file nor a folder.\nA bot is a file, or a folder with {MANIFEST}.")
    digest = digest_of(path)
    return Bot(path.stem, path, _file_argv(path, given, programs), path.parent, None, digest)


def _absolute(path: Path) -> Path:
    """Resolve all but the last part: a link `latest.py -> v3.py` plays as "latest"."""
    if path.name in {"", ".."}:
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent), path.name)  # Path.resolve raises RuntimeError on a loop of links


def _file_argv(path: Path, given: Path, programs: Programs) -> tuple[str, ...]:
    with path.open("rb") as file:
        first_line = file.read(_SHEBANG_BYTES).split(b"\n", 1)[0]
    ending = path.suffix.lower()
    if first_line.startswith(b"#!"):
        return (*_shebang(os.fsdecode(first_line[2:]), path, given, programs), str(path))
    if ending == ".py":
        return (programs.python, str(path))
    if ending in _RUNNERS:
        program, product = _RUNNERS[ending]
        found = programs.named(program)
        if found is None:
            raise BotError(f'{shown(given)} is run by "{program}", which isn\'t on PATH.\nInstall {product}.')
        return (found, str(path))
    if os.access(path, os.X_OK):
        return (str(path),)
    raise BotError(
        f"{shown(given)} can't be run: no #! line, no ending .py, .js or .sh, not executable.\n"
        f"Add a #! line, or chmod +x {shown(given)}, or put it into a folder with {MANIFEST}."
    )


def _shebang(line: str, path: Path, given: Path, programs: Programs) -> list[str]:
    """Return the words of a `#!` line, its program absolute.

    Raises BotError if that program is missing, or the one that env would start.
    """
    words = line.split()  # takes the \r of a file from Windows away, too
    if not words or "\0" in line:
        raise BotError(
            f"{shown(given)} begins with #! but names no program there.\nWrite for example #!/usr/bin/env python3"
        )
    program, *rest = words
    found = programs.find(program, path.parent)
    needed = program
    if found is not None and Path(program).name == "env":
        if rest and rest[0].startswith("-S"):
            # env splits the text after -S by its own quoting rules, so it gets it in one piece, as from Linux.
            rest = [line.split(maxsplit=1)[1].strip()]
        started = _started_by_env(rest)
        absolute = None if started is None else programs.find(started, path.parent)
        if started is not None and absolute is None:
            found, needed = None, started
        elif absolute is not None and programs.path is not None and rest[0] == started:
            found, rest = absolute, rest[1:]
    if found is None:
        where = "doesn't exist or isn't executable" if "/" in needed else "isn't on PATH"
        raise BotError(
            f'{shown(given)} is run by "{shown(needed)}" (its #! line), which {where}.\n'
            "Install it, or change that line."
        )
    return [found, *rest]


def _started_by_env(rest: Sequence[str]) -> str | None:
    """Return the program that `env REST` starts, None where its options would have to be understood."""
    words = list(rest)
    if words and words[0].startswith("-S"):
        words = words[0][2:].split()
    while words and "=" in words[0]:
        words.pop(0)
    return words[0] if words and words[0][0] not in "-'\"$" else None


# --- bot.toml ---------------------------------------------------------------------------------------------------------


def _from_folder(folder: Path, given: Path, programs: Programs) -> Bot:
    where = given / MANIFEST
    file = folder / MANIFEST
    if not file.is_file():
        raise BotError(
            f"{shown(given)} is a folder without {MANIFEST}.\n"
            f'Give a file in it, or add a {MANIFEST} with a line like run = "python3 bot.py"'
        )
    digest = digest_of(folder)  # first, so that a change while the rest is read counts as one
    manifest = read(file, where)
    name = folder.name
    if manifest.name is not None:
        try:
            name = checked_name(manifest.name)
        except ValueError as error:
            raise BotError(f'{shown(where)}: {error}.\nChange the line name = "..."') from None
    program = programs.find(manifest.run[0], folder)
    if program is None:
        if manifest.build is None or "/" not in manifest.run[0]:
            raise BotError(no_program(str(where), "run", manifest.run[0], folder))
        program = os.path.join(folder, manifest.run[0])  # to be built
    return Bot(name, folder, (program, *manifest.run[1:]), folder, manifest.build, digest)


def no_program(where: str, field: str, word: str, folder: Path) -> str:
    start = f'{shown(where)}: {field} starts "{shown(word)}", which '
    if "/" in word:
        path = Path(folder, word)
        if path.is_file():
            return f"{start}isn't executable.\nAllow it: chmod +x {shown(path)}"
        return f"{start}isn't a file in {shown(folder)}.\nCorrect the path, or add the build that makes it."
    if Path(folder, word).is_file():
        return f"{start}isn't on PATH.\nFor the file in the bot's folder write \"./{shown(word)}\""
    return f"{start}isn't on PATH.\nInstall it, or write the program's path."


def build_program(bot: Bot, programs: Programs) -> list[str]:
    """Return the bot's build command, its program absolute. Raises BotError if it can't be run."""
    assert bot.build is not None
    program = programs.find(bot.build[0], bot.cwd)
    if program is None:
        raise BotError(no_program(shown(bot.cwd / MANIFEST), "build", bot.build[0], bot.cwd))
    return [program, *bot.build[1:]]


def missing_after_build(bot: Bot) -> None:
    """Raise BotError if the build didn't make the program that is to run."""
    own = Path(bot.argv[0]).is_relative_to(bot.cwd)
    if own and not (os.path.isfile(bot.argv[0]) and os.access(bot.argv[0], os.X_OK)):
        raise BotError(
            f'"{bot.name}": the build made no executable {shown(bot.argv[0])}.\n'
            f"Correct run or build in {shown(bot.cwd / MANIFEST)}"
        )


def load(arguments: Sequence[str], programs: Programs | None = None) -> tuple[list[Bot], list[str]]:
    """Read the bots of a command line, without building or starting them.

    programs: what runs them, None for the user's own. Returns the bots in the order given, and notes for stderr, a
    line each. Raises BotError at the first bot that can't play.
    """
    bots: list[Bot] = []
    wishes: list[Wish] = []
    notes: list[str] = []
    for argument in arguments:
        name, path = _split(argument)
        with reading(path):
            bot = _bot(path, programs or Programs())
            if bot.path.is_file() and (bot.path.parent / MANIFEST).is_file():
                notes.append(f"{shown(path)} runs by itself; to run it by its {MANIFEST}, give the folder")
        try:
            wishes.append(Wish(checked_name(bot.name if name is None else name), name is not None, shown(path)))
        except ValueError as error:
            raise BotError(f"{shown(path)}: {error}.\nName it on the command line: name={shown(path)}") from None
        bots.append(bot)
    names = shared_out(wishes)
    for wish, got in zip(wishes, names, strict=True):
        if got != wish.name:
            notes.append(f'"{wish.name}" is taken, so {wish.shown} plays as "{got}"')
    return [replace(bot, name=name) for bot, name in zip(bots, names, strict=True)], notes


def _split(argument: str) -> tuple[str | None, Path]:
    """Split `name=path`; the name is None when the argument is a path."""
    name, equals, rest = argument.partition("=")
    if not equals or "/" in name or os.path.lexists(argument):
        name, rest = "", argument
    elif not name:
        raise BotError(f'"{shown(argument)}" has an empty name before the "=".\nWrite name=path, or the path alone.')
    if not rest:
        raise BotError(f'"{shown(argument)}" names no file or folder.\nA bot is a path, or name=path.')
    # Shells leave the ~ in name=~/bot.py alone.
    return (name, Path(os.path.expanduser(rest))) if name else (None, Path(rest))
