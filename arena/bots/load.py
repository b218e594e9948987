"""What the user calls a bot -> a value that says how it is built, how it is started, and what its files were.

Must not know sandboxes, the protocol or matches. Nothing is built or started here.

An argument is `BOT` or `name=BOT`. BOT is one of:

* a folder with a bot.toml, or that bot.toml itself: see manifest.py;
* a file: see bare_file.py;
* `sample:NAME`: a sample bot, wherever the arena is installed. NAME is the file's, and may lack its `.py`, or the
  folder's.

An argument that exists as a path is a path, even with `=` or `:` in it. A part before `=` that contains `/` is never a
name.
"""

import os
import shlex
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.bots.bare_file import command
from arena.bots.bot import Bot
from arena.bots.digest import digest_of
from arena.bots.errors import BotError, reading, shown
from arena.bots.kit import bare_file_in, kit_of_file
from arena.bots.manifest import MANIFEST, no_program, read
from arena.bots.names import Wish, assign_names, normal_name
from arena.sandbox import Programs

_SAMPLE = "sample:"


# --- the command line -------------------------------------------------------------------------------------------------


def load(
    arguments: Sequence[str], programs: Programs | None = None, root: Path = Path()
) -> tuple[list[Bot], list[str]]:
    """Read the bots of a command line, without building or starting them.

    programs: what runs them, None for the user's own. root: where relative paths count from; no message says where that
    is. Returns the bots in the order given, and notes for stderr, a
    line each. Raises BotError at the first bot that can't play.
    """
    bots: list[Bot] = []
    wishes: list[Wish] = []
    notes: list[str] = []
    for argument in arguments:
        name, path = _split(argument)
        with reading(path):
            there = path if os.path.lexists(root / path) else sample_file(str(path)) or path
            bot = _bot(there, programs or Programs(), root)
            if bot.path.is_file() and (bot.path.parent / MANIFEST).is_file():
                notes.append(f"{shown(path)} runs by itself; to run it by its {MANIFEST}, give the folder")
        try:
            wishes.append(Wish(normal_name(bot.name if name is None else name), name is not None, shown(path)))
        except ValueError as error:
            raise BotError(f"{shown(path)}: {error}.\nName it on the command line: name={shown(path)}") from None
        bots.append(bot)
    names = assign_names(wishes)
    for wish, got in zip(wishes, names, strict=True):
        if got != wish.name:
            notes.append(f'"{wish.name}" is taken, so {wish.shown} plays as "{got}"')
    return [replace(bot, name=name) for bot, name in zip(bots, names, strict=True)], notes


def check_commands(bots: Sequence[Bot], programs: Programs) -> None:
    """Raise BotError, naming the bot, if one would be started by another command than its files say.

    So a list of bots that somebody changed starts nothing but them.
    """
    for bot in bots:
        with reading(bot.path):
            bare = bare_file_in(bot.path)
            own = _bot(bare or bot.path, programs)
            own = own if bare is None else replace(own, path=bot.path)
        if (_plain(own.argv), own.cwd, own.path) != (_plain(bot.argv), bot.cwd, bot.path):
            if _moved(bot, own, programs):
                raise BotError(
                    f'"{bot.name}": its files say {shown(os.path.basename(own.argv[0]))}, which is now '
                    f"{shown(own.argv[0])}, and was {shown(bot.argv[0])} when the run began (run.json).\n"
                    f"Put {shown(os.path.dirname(bot.argv[0]))} first in PATH, or start a new run."
                )
            raise BotError(
                f'"{bot.name}" would be started by: {shown(shlex.join(bot.argv))}\n'
                f"Its files say: {shown(shlex.join(own.argv))}; start a new run."
            )


def _moved(bot: Bot, own: Bot, programs: Programs) -> bool:
    """Tell whether a bot's files mean the same command as before once its program's folder is first in PATH."""
    path = os.environ.get("PATH", os.defpath) if programs.path is None else programs.path
    first = replace(programs, path=os.pathsep.join([os.path.dirname(bot.argv[0]), path]))
    with reading(bot.path):
        before = replace(_bot(bare_file_in(bot.path) or bot.path, first), path=bot.path)
    return own.argv[1:] == bot.argv[1:] and (before.argv, before.cwd, before.path) == (bot.argv, bot.cwd, bot.path)


def _plain(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with one spelling of its program: FOLDER/./bot is FOLDER/bot, as a build is moved."""
    return os.path.normpath(argv[0]), *argv[1:]


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


# --- sample bots ------------------------------------------------------------------------------------------------------


def sample_file(given: str) -> Path | None:
    """Return the file or folder of `sample:NAME`, None for what isn't so called. Raises BotError for no such sample."""
    if not given.startswith(_SAMPLE):
        return None
    name = given.removeprefix(_SAMPLE)
    samples = _samples()
    sample = samples.get(name) or samples.get(f"{name}.py")
    if sample is None:
        raise BotError(f"{shown(given)} is no sample bot.\nThere are {', '.join(sample_names())}.")
    return sample


def sample_names() -> list[str]:
    """Return how each sample bot is named: `sample:honest`."""
    return [_SAMPLE + name.removesuffix(".py") for name in _samples()]


def _samples() -> dict[str, Path]:
    """Return the sample bots: the names of their files and folders, and where they are."""
    paths = sorted(sample_folder().iterdir())
    return {path.name: path for path in paths if path.is_file() or (path / MANIFEST).is_file()}


def sample_folder() -> Path:
    """Return where the sample bots are, in a repository or where the arena is installed."""
    installed = Path(__file__).parents[1] / "sample_bots"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "sample_bots"


# --- files and folders ------------------------------------------------------------------------------------------------


def _bot(given: Path, programs: Programs, root: Path = Path()) -> Bot:
    """Read one bot; its name is not yet checked."""
    path = _absolute(root / given)
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
    return Bot(path.stem, path, command(path, given, programs), path.parent, None, digest, kit_of_file(path))


def _absolute(path: Path) -> Path:
    """Resolve all but the last part: a link `latest.py -> v3.py` plays as "latest"."""
    if path.name in {"", ".."}:
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent), path.name)  # Path.resolve raises RuntimeError on a loop of links


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
            name = normal_name(manifest.name)
        except ValueError as error:
            raise BotError(f'{shown(where)}: {error}.\nChange the line name = "..."') from None
    program = programs.find(manifest.run[0], folder)
    if program is None:
        if manifest.build is None or "/" not in manifest.run[0]:
            raise BotError(no_program(where, "run", manifest.run[0], folder, programs))
        program = os.path.join(folder, manifest.run[0])  # the build makes it
    return Bot(name, folder, (program, *manifest.run[1:]), folder, manifest.build, digest, manifest.kit)
