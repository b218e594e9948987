"""Resolve a bot argument to a bot: its name, command, files and kit.

An argument is `BOT` or `name=BOT`. An existing path is a path even with `=` or `:` in it; a part before `=` that
contains `/` is never a name. BOT is one of:

* a folder with a bot.toml, or the bot.toml itself (manifest.py);
* a file, run by its `#!` line with all words of it, else by its ending, else by itself if it is executable;
* `sample:NAME`: an installed sample bot, by the name of its file or folder; the ending `.py` is optional.

Names: two equal `name=` are an error. Any other name yields to `name=`, then to the first bot that has it, and
becomes `honest-2` with a note.

Kits: bot.toml names a kit (`kit = "python"`), or a bare file imports it. The arena's kit is added in a copy of the
bot's files if they lack it, so digest and archive cover it; the author's folder stays unchanged. As a plain process,
a Python bot starts from that copy, in which the kit is compiled once. Must not know sandboxes, the protocol or
matches; builds and starts no bot."""

import ast
import os
import py_compile
import re
import shlex
import shutil
import stat
import sys
import tempfile
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from threading import Lock

from arena.bots.archive import pack, unpack
from arena.bots.bot import Bot, BotError, escape_control, os_errors_as_bot_errors, permission_advice, relocate_bot
from arena.bots.digest import MAX_BYTES, MAX_FILES, digest_of, files_of
from arena.bots.manifest import KITS, MANIFEST, no_program, read_manifest
from arena.sandbox import Programs

_SHEBANG_BYTES = 4_096  # Linux reads 256, macOS 512

# Ending -> program on PATH, and what to install when it is missing.
_SOURCES = {".cpp": "cpp", ".cc": "cpp", ".c": "cpp", ".rs": "rust", ".go": "go", ".java": "java", ".ts": "javascript"}
_RUNNERS = {".js": ("node", "Node.js"), ".sh": ("sh", "a POSIX shell")}


def single_file_command(path: Path, given: Path, programs: Programs) -> tuple[str, ...]:
    """Return the argv that runs a file, its program absolute.

    path: absolute. given: the path in messages. Raises BotError if nothing runs it; OSError if it can't be read.
    """
    with path.open("rb") as file:
        first_line = file.read(_SHEBANG_BYTES).split(b"\n", 1)[0]
    ending = path.suffix.lower()
    if first_line.startswith(b"#!"):
        return (*_shebang(os.fsdecode(first_line[2:]), path, given, programs), str(path))
    if ending == ".py":
        return (programs.python, str(path))
    if ending in _RUNNERS:
        program, product = _RUNNERS[ending]
        program_path = programs.named(program)
        if program_path is None:
            raise BotError(f'{escape_control(given)} is run by "{program}", which isn\'t on PATH.\nInstall {product}.')
        return (program_path, str(path))
    if os.access(path, os.X_OK):
        return (str(path),)
    if ending in _SOURCES:
        raise BotError(
            f"{escape_control(given)} is source text, which must be built.\nMake a folder with its build: arena new "
            "NAME "
            f"--lang {_SOURCES[ending]}"
        )
    raise BotError(
        f"{escape_control(given)} can't be run: no #! line, no ending .py, .js or .sh, not executable.\n"
        f"Add a #! line, or put it into a folder with {MANIFEST}. If it is a program: {permission_advice('+x', given)}"
    )


def _shebang(line: str, path: Path, given: Path, programs: Programs) -> list[str]:
    """Return the words of a `#!` line, its program absolute.

    Raises BotError if that program is missing, or the one that env would start.
    """
    words = line.split()  # drops the \r of a file from Windows, too
    if not words or "\0" in line:
        raise BotError(
            f"{escape_control(given)} begins with #! but names no program there.\nWrite for example #!/usr/bin/env "
            "python3"
        )
    program, *rest = words
    program_path = programs.find(program, path.parent)
    needed = program
    if program_path is not None and Path(program).name == "env":
        if rest and rest[0].startswith("-S"):
            # env splits the text after -S by its own quoting rules. So it gets the text in one piece, as from Linux.
            rest = [line.split(maxsplit=1)[1].strip()]
        started = _started_by_env(rest)
        absolute = None if started is None else programs.find(started, path.parent)
        if started is not None and absolute is None:
            program_path, needed = None, started
        elif absolute is not None and programs.path is not None and rest[0] == started:
            program_path, rest = absolute, rest[1:]
    if program_path is None:
        where = "doesn't exist or isn't executable" if "/" in needed else "isn't on PATH"
        raise BotError(
            f'{escape_control(given)} is run by "{escape_control(needed)}" (its #! line), which {where}.\n'
            "Install it, or change that line."
        )
    return [program_path, *rest]


def _started_by_env(rest: Sequence[str]) -> str | None:
    """Return the program that `env REST` starts, None where its options would have to be understood."""
    words = list(rest)
    if words and words[0].startswith("-S"):
        words = words[0][2:].split()
    while words and "=" in words[0]:
        words.pop(0)
    return words[0] if words and words[0][0] not in "-'\"$" else None


MAX_NAME_CHARACTERS = 40  # a column of the standings on an 80-column terminal still has space for numbers


# --- the command line -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NameRequest:
    """Hold the name a bot would like; demanded: the user gave it with `name=`; shown: the path as the user wrote it."""

    name: str
    required: bool
    shown: str


def normal_name(name: str) -> str:
    """Return the name in NFC (macOS returns decomposed file names). Raises ValueError saying what is wrong with it.

    `isprintable` refuses control characters (so ANSI sequences), bidi and zero-width marks, surrogates, odd spaces.
    """
    name = unicodedata.normalize("NFC", name)
    if not name.strip():
        raise ValueError("its name is empty")
    if not name.isprintable():
        raise ValueError(f'its name "{escape_control(name)}" has characters that can\'t be printed')
    if name != name.strip():
        raise ValueError(f'its name "{name}" begins or ends with a space')
    if "/" in name or name in {".", ".."}:
        raise ValueError(f'its name "{name}" looks like a path')
    if len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f'its name "{name}" is longer than {MAX_NAME_CHARACTERS} characters')
    return name


def assign_names(wishes: Sequence[NameRequest]) -> list[str]:
    """Give each bot a name of its own: required names first, then in order, then numbers from 2."""
    taken: dict[str, str] = {}
    names: list[str | None] = [None] * len(wishes)
    for demanded in (True, False):
        for seat, wish in enumerate(wishes):
            if wish.required != demanded:
                continue
            if wish.name not in taken:
                taken[wish.name] = wish.shown
                names[seat] = wish.name
            elif demanded:
                raise BotError(
                    f'Two bots are to be named "{wish.name}": {taken[wish.name]} and {wish.shown}.\n'
                    "Give each a name of its own, or leave one name away."
                )
    return [name or _with_number(wish, taken) for name, wish in zip(names, wishes, strict=True)]


def _with_number(wish: NameRequest, taken: dict[str, str]) -> str:
    number = 2
    while True:
        ending = f"-{number}"
        name = wish.name[: MAX_NAME_CHARACTERS - len(ending)].rstrip() + ending
        if name not in taken:
            taken[name] = wish.shown
            return name
        number += 1


# How a line of a bare file names the kit of its language: those of other languages are built, which takes a folder.
# All repeats are bounded: a submission is read outside of any sandbox.
_IMPORTS = {
    "python": re.compile(rb"[ \t]{0,99}(?:import|from)[ \t]{1,99}coup_kit\b"),
    "javascript": re.compile(rb".*?\b(?:require[ \t]{0,9}\(|from|import)[ \t]{0,9}[\"']\./coup_kit(?:\.js)?[\"']"),
}
_SEARCHED_BYTES = 1 << 20  # of a bare file
_VERSION = re.compile(rb"\bkit version (\d+)")
_HEAD_BYTES = 4_096  # of a kit, where its version stands


def kit_file(language: str) -> Path:
    """Return the arena's kit for a language of KITS."""
    return Path(__file__).parents[2] / "protocol" / "kits" / KITS[language]


def kit_files(language: str) -> list[Path]:
    """Return the files of a bot's own copy of a kit: the kit, and its types where it has some."""
    kit = kit_file(language)
    return [kit, kit.with_name("coup_kit.d.ts")] if language == "javascript" else [kit]


def kit_of_file(path: Path) -> str | None:
    """Return the language of the kit that a bare file imports, None for none."""
    with path.open("rb") as file:
        text = file.read(_SEARCHED_BYTES)
    return next(
        (language for language, imports in _IMPORTS.items() if any(map(imports.match, text.splitlines()))), None
    )


def is_older(bot: Bot) -> bool:
    """Return whether the kit that lies in a bot's folder is older than the arena's."""
    if bot.kit is None or not (bot.cwd / KITS[bot.kit]).is_file():
        return False
    return _version(bot.cwd / KITS[bot.kit]) < _version(kit_file(bot.kit))


def _version(kit: Path) -> int:
    with kit.open("rb") as file:
        match = _VERSION.search(file.read(_HEAD_BYTES))
    return 1 if match is None else int(match[1])


def is_missing_kit(bot: Bot, boxed: bool) -> bool:
    """Return whether a bot asks for a kit that it wouldn't find; a bare file is alone in a box."""
    return bot.kit is not None and not ((bot.path if boxed else bot.cwd) / KITS[bot.kit]).is_file()


def with_kit(bot: Bot, boxed: bool, place: Path) -> Bot:
    """Return a bot as it plays: one that lacks its kit from a copy at `place`, which isn't there yet; else as it is.

    boxed: whether it plays in a box. Raises OSError; BotError for files that can't be copied.
    """
    if bot.kit is None or not is_missing_kit(bot, boxed):
        return bot
    own, kit = bot.cwd / KITS[bot.kit], KITS[bot.kit]
    if os.path.lexists(own) and not own.is_file():
        raise BotError(f"{kit} in the bot's folder is no file.\nRemove it: the arena adds its own.")
    place.mkdir(parents=True)
    with tempfile.TemporaryFile(dir=place.parent) as archive:
        pack(bot.path, archive)
        archive.seek(0)
        unpack(archive, place, MAX_BYTES, MAX_FILES, links_out=True)
    shutil.copyfile(own if own.is_file() else kit_file(bot.kit), place / kit)
    if bot.kit == "python" and not boxed:
        py_compile.compile(str(place / kit), doraise=True)  # the arena's own: the bot has no copy
    copy = relocate_bot(replace(bot, path=bot.cwd), bot.cwd, place)
    return replace(copy, digest=digest_of(place))


def bare_file_in(folder: Path) -> Path | None:
    """Return the bare file in a copy that `completed` made of one, None in any other folder."""
    if not folder.is_dir() or (folder / MANIFEST).exists():
        return None
    names = files_of(folder)
    others = [name for name in names if name not in KITS.values()]
    return folder / others[0] if len(others) == 1 and len(names) == 2 else None


_SAMPLE = "sample:"


# --- the command line -------------------------------------------------------------------------------------------------


def load_bots(
    arguments: Sequence[str], programs: Programs | None = None, root: Path = Path()
) -> tuple[list[Bot], list[str]]:
    """Read the bots of a command line, without building or starting them.

    programs: what runs them, None for the user's own. root: where relative paths count from; no message says where that
    is. Returns the bots in the order given, and notes for stderr, a
    line each. Raises BotError at the first bot that can't play.
    """
    bots: list[Bot] = []
    wishes: list[NameRequest] = []
    notes: list[str] = []
    for argument in arguments:
        name, path = _split(argument)
        with os_errors_as_bot_errors(path):
            there = path if os.path.lexists(root / path) else sample_file(str(path)) or path
            bot = _bot(there, programs or Programs(), root)
            if bot.path.is_file() and (bot.path.parent / MANIFEST).is_file():
                notes.append(f"{escape_control(path)} runs by itself; to run it by its {MANIFEST}, give the folder")
        try:
            wishes.append(
                NameRequest(normal_name(bot.name if name is None else name), name is not None, escape_control(path))
            )
        except ValueError as error:
            raise BotError(
                f"{escape_control(path)}: {error}.\nName it on the command line: name={escape_control(path)}"
            ) from None
        bots.append(bot)
    names = assign_names(wishes)
    for wish, got in zip(wishes, names, strict=True):
        if got != wish.name:
            notes.append(f'"{wish.name}" is taken, so {wish.shown} plays as "{got}"')
    return [replace(bot, name=name) for bot, name in zip(bots, names, strict=True)], notes


def require_unchanged_commands(bots: Sequence[Bot], programs: Programs) -> None:
    """Raise BotError, naming the bot, if one would be started by another command than its files say.

    So a manipulated list of bots starts nothing but them.
    """
    for bot in bots:
        with os_errors_as_bot_errors(bot.path):
            bare = bare_file_in(bot.path)
            own = _bot(bare or bot.path, programs)
            own = own if bare is None else replace(own, path=bot.path)
        if (_plain(own.argv), own.cwd, own.path) != (_plain(bot.argv), bot.cwd, bot.path):
            if _moved(bot, own, programs):
                raise BotError(
                    f'"{bot.name}": its files say {escape_control(os.path.basename(own.argv[0]))}, which is now '
                    f"{escape_control(own.argv[0])}, and was {escape_control(bot.argv[0])} when the run began "
                    "(run.json).\n"
                    f"Put {escape_control(os.path.dirname(bot.argv[0]))} first in PATH, or start a new run."
                )
            raise BotError(
                f'"{bot.name}" would be started by: {escape_control(shlex.join(bot.argv))}\n'
                f"Its files say: {escape_control(shlex.join(own.argv))}; start a new run."
            )


def _moved(bot: Bot, own: Bot, programs: Programs) -> bool:
    """Return whether a bot's files mean the same command as before once its program's folder is first in PATH."""
    path = os.environ.get("PATH", os.defpath) if programs.path is None else programs.path
    first = replace(programs, path=os.pathsep.join([os.path.dirname(bot.argv[0]), path]))
    with os_errors_as_bot_errors(bot.path):
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
        raise BotError(
            f'"{escape_control(argument)}" has an empty name before the "=".\nWrite name=path, or the path alone.'
        )
    if not rest:
        raise BotError(f'"{escape_control(argument)}" names no file or folder.\nA bot is a path, or name=path.')
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
        raise BotError(f"{escape_control(given)} is no sample bot.\nThere are {', '.join(sample_names())}.")
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
        raise BotError(
            f"{escape_control(given)} does not exist.\nA bot is a file, or a folder with {MANIFEST}."
        ) from None
    if path.name == MANIFEST and stat.S_ISREG(mode):
        return _from_folder(path.parent, given.parent, programs)
    if stat.S_ISDIR(mode):
        return _from_folder(path, given, programs)
    if not stat.S_ISREG(mode):
        raise BotError(
            f"{escape_control(given)} is neither a file nor a folder.\nA bot is a file, or a folder with {MANIFEST}."
        )
    digest = digest_of(path)
    return Bot(
        path.stem, path, single_file_command(path, given, programs), path.parent, None, digest, kit_of_file(path)
    )


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
            f"{escape_control(given)} is a folder without {MANIFEST}.\n"
            f'Give a file in it, or add a {MANIFEST} with a line like run = "python3 bot.py"'
        )
    digest = digest_of(folder)  # first, so that a change while the rest is read counts as one
    manifest = read_manifest(file, where)
    name = folder.name
    if manifest.name is not None:
        try:
            name = normal_name(manifest.name)
        except ValueError as error:
            raise BotError(f'{escape_control(where)}: {error}.\nChange the line name = "..."') from None
    program = programs.find(manifest.run[0], folder)
    if program is None:
        if manifest.build is None or "/" not in manifest.run[0]:
            raise BotError(no_program(where, "run", manifest.run[0], folder, programs))
        program = os.path.join(folder, manifest.run[0])  # the build makes it
    return Bot(name, folder, (program, *manifest.run[1:]), folder, manifest.build, digest, manifest.kit)


_MAX_SOURCE_BYTES = 1 << 20  # of a file that is read
_KITS = {"coup_kit", "coup_env"}  # the arena adds a kit that isn't there
_QUIET = Lock()  # filters of warnings are the whole process's


def foreign_imports(bot: Bot) -> tuple[str, ...]:
    """Return their names, in order, from the bot's main file and what that imports of the bot's own files.

    The main file is what its command names. Only statements at the top of a file count: a bot may do without what
    a `try` or a function imports. A file that can't be read imports nothing.
    """
    modules = [word.replace(".", "/") for option, word in pairwise(bot.argv) if option == "-m"]
    words = [*bot.argv, *(module + end for module in modules for end in (".py", "/__main__.py"))]
    waiting = [bot.cwd / word for word in words if word.endswith(".py")]
    folders: set[Path] = set()  # of a bare file nothing next to it is its own
    if bot.path.is_dir():
        folders = {bot.path, *(entry for entry in bot.path.iterdir() if entry.is_dir())}  # a bot may add to sys.path
        folders |= {file.parent for file in waiting if file.is_file()}
    own = {entry.name.split(".")[0] for folder in folders for entry in folder.iterdir()}
    foreign: set[str] = set()
    read: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file in read:
            continue
        read.add(file)
        for base, name in _imports(file):
            top = name.split(".")[0]
            if base is None and top not in own and top not in _KITS:
                foreign.add(top)
            parts = [part for part in name.split(".") if part]
            for folder in folders if base is None else [base]:
                stems = [folder.joinpath(*parts[:end]) for end in range(len(parts) + 1)]
                waiting += [stem.with_name(f"{stem.name}.py") for stem in stems[1:]]
                waiting += [stem / "__init__.py" for stem in stems[base is None :]]
    return tuple(sorted(foreign - sys.stdlib_module_names))


def _imports(file: Path) -> Iterator[tuple[Path | None, str]]:
    """Yield the modules that a file imports at its top, also what may be one, with the folder of a relative import."""
    try:
        if file.stat().st_size > _MAX_SOURCE_BYTES:
            return
        with _QUIET, warnings.catch_warnings(action="ignore"):
            body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for part in body:
        if isinstance(part, ast.Import):
            yield from ((None, alias.name) for alias in part.names)
        elif isinstance(part, ast.ImportFrom):
            base = file.parents[part.level - 1] if 0 < part.level <= len(file.parents) else None
            yield from ((base, f"{part.module or ''}.{alias.name}".strip(".*")) for alias in part.names)
