"""Resolve a bot argument to a bot: its name, command, files and kit.

An argument is `BOT` or `name=BOT`. An existing path is a path even with `=` or `:` in it; a part before `=` that
contains `/` is never a name. BOT is one of:

* a folder with a bot.toml, or the bot.toml itself (manifest.py);
* a file, run by its `#!` line with all words of it, else by its ending, else by itself if it is executable;
* `sample:NAME`: an installed sample bot, by the name of its file or folder; the ending `.py` is optional.

Names: two equal `name=` are an error. Any other name that is taken by a `name=`, or by an earlier bot, gets a number
(`honest-2`), with a note.

Kits: bot.toml names a kit (`kit = "python"`), or a bare file imports it. The arena's kit is added in a copy of the
bot's files if they lack it, so digest and archive cover it; the author's folder stays unchanged. As a plain process, a
Python bot starts from that copy, in which the kit is compiled once. This module must not know sandboxes, the protocol
or matches, and it builds and starts no bot."""

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
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count, pairwise
from pathlib import Path
from threading import Lock

from arena.bots.archive import pack, unpack
from arena.bots.bot import Bot, BotError, os_errors_as_bot_errors, permission_advice, relocate_bot
from arena.bots.digest import MAX_BYTES, MAX_FILES, digest_of, files_of
from arena.bots.languages import COMPILED, KITS, LANGUAGES, RUNNERS
from arena.bots.manifest import MANIFEST, no_program, read_manifest
from arena.escaping import escape_control
from arena.samples import sample_file
from arena.sandbox import Programs


def single_file_command(path: Path, named_path: Path, programs: Programs) -> tuple[str, ...]:
    """Return the argv that runs a file; the program is absolute.

    path: absolute. named_path: as in messages. Raises BotError if the file can't be run, OSError if it can't be read.
    """
    with path.open("rb") as file:
        first_line = file.read(_MAX_SHEBANG_BYTES).split(b"\n", 1)[0]
    ending = path.suffix.lower()
    if first_line.startswith(b"#!"):
        return (*_resolve_shebang(os.fsdecode(first_line[2:]), path, named_path, programs), str(path))
    if ending in (".ipynb", ".zip"):
        help = "Unpack an archive, or export a notebook with jupyter nbconvert --to script, and name the result."
        raise BotError(f"{escape_control(named_path)} isn't a program.\n{help}")
    if ending == ".py":
        return (programs.python, str(path))
    if ending in RUNNERS:
        program, product = RUNNERS[ending]
        program_path = programs.named(program)
        if program_path is None:
            problem = f'{escape_control(named_path)} is run by "{program}", which isn\'t on PATH.'
            raise BotError(f"{problem}\nInstall {product}.")
        return (program_path, str(path))
    if os.access(path, os.X_OK):
        return (str(path),)
    raise _no_program_error(ending, named_path)


def _no_program_error(ending: str, named_path: Path) -> BotError:
    """Return the error for a file that nothing runs. ending: of its name, in lower case."""
    if ending in COMPILED:
        return BotError(
            f"{escape_control(named_path)} is source code, which must be built.\n"
            f"Make a folder with its build: arena new NAME --lang {COMPILED[ending]}"
        )
    return BotError(
        f"{escape_control(named_path)} has no #! line or known extension (.py, .js, .sh) and isn't executable.\n"
        f"Add a #! line, or a folder with {MANIFEST}. For a program: {permission_advice('+x', named_path)}"
    )


def _resolve_shebang(line: str, path: Path, named_path: Path, programs: Programs) -> list[str]:
    """Return the command of a `#!` line, its program absolute. line: after `#!`. path, named_path: of the file.

    With a sandbox's own PATH, the command starts what env would start, unless env has options. Raises BotError if the
    line's program, or the one that env would start, is missing.
    """
    words = line.split()  # drops the \r of a file from Windows, too
    if not words or "\0" in line:
        raise BotError(
            f"{escape_control(named_path)} begins with #! but doesn't name a program.\n"
            "Write for example #!/usr/bin/env python3"
        )
    program, *arguments = words
    program_path = _require_program(program, path, named_path, programs)
    if Path(program).name != "env":
        return [program_path, *arguments]
    if arguments and arguments[0].startswith("-S"):
        # env splits the text after -S by its own quoting rules, so it gets the text as one word, as from Linux.
        arguments = [line.split(maxsplit=1)[1].strip()]
    env_program = _program_of_env(arguments)
    if env_program is None:
        return [program_path, *arguments]
    env_program_path = _require_program(env_program, path, named_path, programs)
    skips_env = programs.path is not None and arguments[0] == env_program
    return [env_program_path, *arguments[1:]] if skips_env else [program_path, *arguments]


def _require_program(program: str, path: Path, named_path: Path, programs: Programs) -> str:
    """Return the absolute path of a program that a file's `#!` line names. Raises BotError if it is missing."""
    program_path = programs.find(program, path.parent)
    if program_path is not None:
        return program_path
    problem = "doesn't exist or isn't executable" if "/" in program else "isn't on PATH"
    raise BotError(
        f'{escape_control(named_path)} is run by "{escape_control(program)}" (its #! line), which {problem}.\n'
        "Install the program, or change the #! line."
    )


def _program_of_env(arguments: Sequence[str]) -> str | None:
    """Return the program that `env ARGUMENTS` starts; None if that depends on options of env."""
    words = list(arguments)
    if words and words[0].startswith("-S"):
        words = words[0][2:].split()
    while words and "=" in words[0]:
        words.pop(0)
    return words[0] if words and words[0][0] not in "-'\"$" else None


_MAX_SHEBANG_BYTES = 4_096  # more than Linux (256) and macOS (512) read
MAX_NAME_CHARACTERS = 40  # leaves space for numbers in the standings on an 80-column terminal


# --- the command line -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NameRequest:
    """A bot's preferred name. is_required: the user gave it with `name=`; path: as the user wrote it, escaped."""

    name: str
    is_required: bool
    path: str


def normal_name(name: str) -> str:
    """Return the name in NFC (macOS returns decomposed file names). Raises ValueError with the problem.

    `isprintable` rejects control characters (and so ANSI sequences), bidi and zero-width marks, surrogates, odd spaces.
    """
    name = unicodedata.normalize("NFC", name)
    if not name.strip():
        raise ValueError("its name is empty")
    if not name.isprintable():
        raise ValueError(f'its name "{escape_control(name)}" contains characters that can\'t be printed')
    if name != name.strip():
        raise ValueError(f'its name "{name}" begins or ends with a space')
    if "/" in name:
        raise ValueError(f'its name "{name}" contains "/"')
    if name in {".", ".."}:
        raise ValueError(f'its name "{name}" looks like a path')
    if len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f'its name "{name}" is longer than {MAX_NAME_CHARACTERS} characters')
    return name


def assign_names(requests: Sequence[NameRequest]) -> list[str]:
    """Return a unique name for each bot, in order: required names first, then the others, numbered from 2 if taken.

    Raises BotError if two required names are equal.
    """
    owners: dict[str, NameRequest] = {}  # by name
    for request in sorted(requests, key=lambda request: not request.is_required):
        owner = owners.setdefault(request.name, request)
        if request.is_required and owner is not request:
            raise BotError(
                f'Two bots have the name "{request.name}": {owner.path} and {request.path}.\n'
                "Give each bot a different name, or omit one name."
            )
    names: list[str] = []
    for request in requests:
        name = request.name if owners[request.name] is request else _numbered_name(request.name, owners)
        owners[name] = request
        names.append(name)
    return names


def _numbered_name(name: str, used_names: Container[str]) -> str:
    """Return the name, shortened if necessary, with the first number from 2 on that makes it unused."""
    endings = (f"-{number}" for number in count(2))
    names = (name[: MAX_NAME_CHARACTERS - len(ending)].rstrip() + ending for ending in endings)
    return next(name for name in names if name not in used_names)


_IMPORTS = {  # by language of a kit
    key: re.compile(language.imports) for key, language in LANGUAGES.items() if language.imports
}
_IMPORTS_ENCODER = re.compile(rb"^(?:import|from)[ \t]{1,99}coup_env\b", re.MULTILINE)
_MAX_SOURCE_BYTES = 1 << 20  # of a file that is parsed or searched
_VERSION = re.compile(rb"\bkit version (\d+)")
_HEAD_BYTES = 4_096  # of a kit, which contain its version


def kit_file(language: str) -> Path:
    """Return the path of the arena's kit for a language of KITS."""
    return Path(__file__).parents[2] / "protocol" / "kits" / KITS[language]


def kit_files(language: str) -> list[Path]:
    """Return the files of a kit for a new bot: the kit and, for JavaScript, its types."""
    kit = kit_file(language)
    return [kit, kit.with_name("coup_kit.d.ts")] if language == "javascript" else [kit]


def kit_of_file(path: Path) -> str | None:
    """Return the language of the kit that a bare file imports, None without one."""
    with path.open("rb") as file:
        lines = file.read(_MAX_SOURCE_BYTES).splitlines()
    return next((language for language, pattern in _IMPORTS.items() if any(map(pattern.match, lines))), None)


def is_older(bot: Bot) -> bool:
    """Return whether the kit in a bot's folder is older than the arena's."""
    if bot.kit is None or not (bot.cwd / KITS[bot.kit]).is_file():
        return False
    return _kit_version(bot.cwd / KITS[bot.kit]) < _kit_version(kit_file(bot.kit))


def _kit_version(kit: Path) -> int:
    """Return the version that the file of a kit states; 1 without one."""
    with kit.open("rb") as file:
        match = _VERSION.search(file.read(_HEAD_BYTES))
    return 1 if match is None else int(match[1])


def is_missing_kit(bot: Bot, is_boxed: bool) -> bool:
    """Return whether a bot needs a kit that isn't next to it; in a box a bare file has no other files next to it."""
    return bot.kit is not None and not ((bot.path if is_boxed else bot.cwd) / KITS[bot.kit]).is_file()


def copy_with_kit(bot: Bot, is_boxed: bool, folder: Path) -> Bot:
    """Return a copy, with its kit and in the new folder `folder`, of a bot that lacks its kit; else the bot itself.

    The copy of a folder in Python that imports `coup_env` gets that, too. is_boxed: whether the bot plays in a box; if
    not, its Python kit is compiled. Raises BotError if files aren't accepted, OSError if they can't be copied.
    """
    if bot.kit is None or not is_missing_kit(bot, is_boxed):
        return bot
    kit = KITS[bot.kit]
    own_kit = bot.cwd / kit
    if os.path.lexists(own_kit) and not own_kit.is_file():
        raise BotError(f"{kit} in the bot's folder isn't a file.\nRemove it: the arena adds its own kit.")
    folder.mkdir(parents=True)
    with tempfile.TemporaryFile(dir=folder.parent) as archive:
        pack(bot.path, archive)
        archive.seek(0)
        unpack(archive, folder, MAX_BYTES, MAX_FILES, links_out=True)
    shutil.copyfile(own_kit if own_kit.is_file() else kit_file(bot.kit), folder / kit)
    if bot.kit == "python" and bot.path.is_dir() and _is_missing_encoder(folder):
        shutil.copyfile(kit_file("python").with_name(_ENCODER), folder / _ENCODER)
    if bot.kit == "python" and not is_boxed:
        py_compile.compile(str(folder / kit), doraise=True)  # the arena's kit, because the bot has none
    copy = relocate_bot(replace(bot, path=bot.cwd), bot.cwd, folder)
    return replace(copy, digest=digest_of(folder))


_ENCODER = "coup_env.py"


def _is_missing_encoder(folder: Path) -> bool:
    """Return whether a module in a bot's folder imports `coup_env`, which isn't there."""
    if os.path.lexists(folder / _ENCODER):
        return False
    files = [file for file in folder.glob("*.py") if file.is_file() and not file.is_symlink()]
    return any(_IMPORTS_ENCODER.search(file.read_bytes()) for file in files if file.stat().st_size < _MAX_SOURCE_BYTES)


def bare_file_in(folder: Path) -> Path | None:
    """Return the bare file in a copy that `copy_with_kit` made of it; None for any other folder."""
    if not folder.is_dir() or (folder / MANIFEST).exists():
        return None
    names = files_of(folder)
    own_names = [name for name in names if name not in KITS.values()]
    return folder / own_names[0] if len(own_names) == 1 and len(names) == 2 else None


NO_MODELS = (
    "{} is a language model, which needs a key and a network.\n"
    "Only arena run, arena play, arena watch and arena check play it."
)


def load_bots(
    arguments: Sequence[str], programs: Programs | None = None, root: Path = Path(), *, models: bool = False
) -> tuple[list[Bot], list[str]]:
    """Return the bots of a command line's arguments, in their order, and notes for stderr, one line each.

    No bot is built or started. programs: those that run bots, None for the user's own. root: the folder of relative
    paths, which messages omit. models: whether language models may play. Raises BotError at the first bot that can't.
    """
    bots: list[Bot] = []
    requests: list[NameRequest] = []
    notes: list[str] = []
    for argument in arguments:
        name, path = _split_argument(argument)
        with os_errors_as_bot_errors(path):
            found_path = path if os.path.lexists(root / path) else find_sample(str(path)) or path
            bot = _resolve_bot(found_path, programs or Programs(), root)
            if bot.is_model and not models:
                raise BotError(NO_MODELS.format(escape_control(path)))
            if bot.path.is_file() and (bot.path.parent / MANIFEST).is_file():
                notes.append(f"{escape_control(path)} runs without its {MANIFEST}; to use it, name the folder")
        bots.append(bot)
        requests.append(_request_name(bot, name, path))
    names = assign_names(requests)
    for request, name in zip(requests, names, strict=True):
        if name != request.name:
            notes.append(f'the name "{request.name}" is taken, so {request.path} plays as "{name}"')
    return [replace(bot, name=name) for bot, name in zip(bots, names, strict=True)], notes


def _request_name(bot: Bot, name: str | None, path: Path) -> NameRequest:
    """Return the request for a bot's name: `name` of the command line, or its own. Raises BotError for a bad one."""
    try:
        normal = normal_name(bot.name if name is None else name)
    except ValueError as error:
        raise BotError(
            f"{escape_control(path)}: {error}.\nName the bot on the command line: NAME={escape_control(path)}"
        ) from None
    return NameRequest(normal, name is not None, escape_control(path))


def require_unchanged_commands(bots: Sequence[Bot], programs: Programs) -> None:
    """Raise BotError, which names the bot, if a bot's command differs from the one that its files define.

    So a manipulated run.json can't start other programs.
    """
    for bot in bots:
        with os_errors_as_bot_errors(bot.path):
            bare_file = bare_file_in(bot.path)
            current = _resolve_bot(bare_file or bot.path, programs)
            if bare_file is not None:
                current = replace(current, path=bot.path)
        if _start_of(current) != _start_of(bot):
            raise _command_change_error(bot, current, programs)


def _command_change_error(bot: Bot, current: Bot, programs: Programs) -> BotError:
    """Return the error of a changed command. bot: as the run stored it. current: as its files define it now."""
    if _is_path_change(bot, current, programs):
        return BotError(
            f'"{bot.name}" is run by {escape_control(os.path.basename(current.argv[0]))}, which is now '
            f"{escape_control(current.argv[0])}, but was {escape_control(bot.argv[0])} when the run began "
            "(run.json).\n"
            f"Put {escape_control(os.path.dirname(bot.argv[0]))} first in PATH, or start a new run."
        )
    return BotError(
        f'"{bot.name}" has changed: the run starts it by {escape_control(shlex.join(bot.argv))}\n'
        f"Start a new run: its command is now {escape_control(shlex.join(current.argv))}"
    )


def _start_of(bot: Bot) -> tuple[tuple[str, ...], Path, Path]:
    """Return what starts a bot: (command, working folder, path)."""
    return _normalised_command(bot.argv), bot.cwd, bot.path


def _is_path_change(bot: Bot, current: Bot, programs: Programs) -> bool:
    """Return whether a bot's files define its old command if the folder of its old program is first in PATH."""
    path = os.environ.get("PATH", os.defpath) if programs.path is None else programs.path
    old_programs = replace(programs, path=os.pathsep.join([os.path.dirname(bot.argv[0]), path]))
    with os_errors_as_bot_errors(bot.path):
        old = replace(_resolve_bot(bare_file_in(bot.path) or bot.path, old_programs), path=bot.path)
    return current.argv[1:] == bot.argv[1:] and (old.argv, old.cwd, old.path) == (bot.argv, bot.cwd, bot.path)


def _normalised_command(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command with a normalised program path: FOLDER/./bot becomes FOLDER/bot."""
    return tuple(map(os.path.normpath, argv[:1])) + argv[1:]


def _split_argument(argument: str) -> tuple[str | None, Path]:
    """Split `name=path`; the name is None when the argument is a path. Raises BotError if one of them is empty."""
    name, equals, path = argument.partition("=")
    if argument and (not equals or "/" in name or os.path.lexists(argument)):
        return None, Path(argument)
    if equals and not name:
        raise BotError(f'"{escape_control(argument)}" has no name before the "=".\nWrite NAME=PATH, or PATH alone.')
    if not path:
        raise BotError(f'"{escape_control(argument)}" has no path after the "=".\nA bot is PATH or NAME=PATH.')
    return name, Path(os.path.expanduser(path))  # shells leave the ~ in name=~/bot.py alone


def find_sample(argument: str) -> Path | None:
    """Return the path of `sample:NAME`; None for any other argument. Raises BotError for an unknown sample."""
    try:
        return sample_file(argument)
    except ValueError as problem:
        raise BotError(str(problem)) from None


# --- files and folders ------------------------------------------------------------------------------------------------

_MAX_MANIFEST_BYTES = 1 << 16


def _resolve_bot(named_path: Path, programs: Programs, root: Path = Path()) -> Bot:
    """Resolve one bot; its name isn't checked yet.

    named_path: as the user named it, relative to `root`. Raises BotError if it can't play, OSError if its files can't
    be read.
    """
    path = root / named_path
    try:
        path = _absolute_path(path)
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a ValueError of a NUL, which TOML may contain
        raise missing_bot_error(named_path, path) from None
    if path.name == MANIFEST and stat.S_ISREG(mode):
        return _resolve_folder(path.parent, named_path.parent, programs)
    if stat.S_ISDIR(mode):
        return _resolve_folder(path, named_path, programs)
    if not stat.S_ISREG(mode):
        raise BotError(
            f"{escape_control(named_path)} isn't a file or a folder.\nA bot is a file, or a folder with {MANIFEST}."
        )
    digest = digest_of(path)
    argv = single_file_command(path, named_path, programs)
    return Bot(path.stem, path, argv, path.parent, None, digest, kit_of_file(path))


def _absolute_path(path: Path) -> Path:
    """Resolve links in all but the last part: a link `latest.py -> v3.py` plays as "latest"."""
    if path.name in {"", ".."}:
        return Path(os.path.realpath(path))
    return Path(os.path.realpath(path.parent), path.name)  # Path.resolve raises RuntimeError on a loop of links


def missing_bot_error(named_path: Path, path: Path) -> BotError:
    """Return the error for a bot, named as `named_path`, whose `path` doesn't exist."""
    similar_names = get_close_matches(path.name, _list_names(path.parent))
    bots = (name for name in similar_names if _is_bot_like(path.with_name(name), path.suffix))
    similar_name = next(bots, None)
    question = f"Did you mean {escape_control(named_path.with_name(similar_name))}? " if similar_name else ""
    return BotError(
        f"{escape_control(named_path)} doesn't exist.\n{question}A bot is a file, or a folder with {MANIFEST}."
    )


def _is_bot_like(path: Path, suffix: str) -> bool:
    """Return whether a path is a folder with a manifest, or a file of the kind that `suffix` names."""
    return os.path.isfile(path / MANIFEST) or (os.path.isfile(path) and path.suffix == suffix)


def _is_manifest_like(path: Path) -> bool:
    """Return whether a small file has a line that sets `run`."""
    try:
        text = path.read_bytes() if os.path.isfile(path) and path.stat().st_size < _MAX_MANIFEST_BYTES else b""
    except OSError:
        return False
    return any(line.partition(b"=")[0].strip() == b"run" and b"=" in line for line in text.splitlines())


def _manifest_advice(folder: Path, named_folder: Path) -> str:
    """Return what to do about a folder without a manifest, by what the folder contains."""
    names = sorted(os.listdir(folder))
    advice = f'name a file in it, or add a {MANIFEST} with a line like run = "python3 bot.py"'
    for name in names:
        if _is_bot_like(folder / name, MANIFEST):
            return f"Name the folder in it that has a {MANIFEST}: {escape_control(named_folder / name)}"
    for name in names:
        if _is_manifest_like(folder / name):
            return f"Rename {escape_control(name)} in it to {MANIFEST}, or {advice}"
    return advice[0].upper() + advice[1:]


def _resolve_folder(folder: Path, named_folder: Path, programs: Programs) -> Bot:
    """Return the bot of a folder with a manifest. named_folder: as the user named it, for messages.

    Its program may be missing if the manifest has a build, which makes it. Raises BotError, OSError.
    """
    file, named_file = folder / MANIFEST, named_folder / MANIFEST
    if not file.is_file():
        problem = f"{escape_control(named_folder)} is a folder without {MANIFEST}."
        raise BotError(f"{problem}\n{_manifest_advice(folder, named_folder)}")
    digest = digest_of(folder)  # before the rest, so that a change meanwhile is noticed later
    manifest = read_manifest(file, named_file)
    try:
        name = folder.name if manifest.name is None else normal_name(manifest.name)
    except ValueError as error:
        raise BotError(f'{escape_control(named_file)}: {error}.\nChange the line name = "..."') from None
    if not manifest.run:
        return Bot(name, folder, (), folder, None, digest)
    program, *arguments = manifest.run
    program_path = programs.find(program, folder)
    if program_path is None:
        if manifest.build is None or "/" not in program:
            raise BotError(no_program(named_file, "run", program, folder, programs))
        program_path = os.path.join(folder, program)  # the build makes it
    return Bot(name, folder, (program_path, *arguments), folder, manifest.build, digest, manifest.kit)


_KITS = {"coup_kit", "coup_env"}  # the arena adds missing kits
_WARNINGS_LOCK = Lock()  # warning filters are global


def foreign_imports(bot: Bot) -> tuple[str, ...]:
    """Return the sorted names of modules that a bot imports from outside of its folder and the standard library.

    This reads the Python files in the bot's command and, recursively, its own files that they import. Only top-level
    imports count: those in a `try` or a function may be optional. Unreadable files and folders are skipped.
    """
    unread_files = _list_started_files(bot)
    folders = _list_module_folders(bot, unread_files)
    own_names = {name.split(".")[0] for folder in folders for name in _list_names(folder)}
    foreign_names: set[str] = set()
    read_files: set[Path] = set()
    while unread_files:
        file = unread_files.pop()
        if file in read_files:
            continue
        read_files.add(file)
        for base, name in _list_imports(file):
            module = name.split(".")[0]
            if base is None and module not in own_names and module not in _KITS:
                foreign_names.add(module)
            for folder in folders if base is None else [base]:
                unread_files += _list_module_files(folder, name, is_relative=base is not None)
    return tuple(sorted(foreign_names - sys.stdlib_module_names))


def _list_names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):  # of a link to another user's folder, which belongs to no digest; of a NUL
        return []


def _list_module_folders(bot: Bot, files: Sequence[Path]) -> set[Path]:
    """Return the folders in which a bot may find its own modules. files: those that its command may start."""
    if not bot.path.is_dir():
        return set()  # a bare file has no own files next to it
    # A bot may add them to sys.path. Unlike Path.is_dir, os.path.isdir is false for a link that may not be followed.
    subfolders = (entry for entry in bot.path.iterdir() if os.path.isdir(entry))
    return {bot.path, *subfolders, *(file.parent for file in files if os.path.isfile(file))}


def _list_started_files(bot: Bot) -> list[Path]:
    """Return the Python files that a bot's command may start, whether they exist or not."""
    modules = [word.replace(".", "/") for option, word in pairwise(bot.argv) if option == "-m"]
    words = [*bot.argv, *(module + ending for module in modules for ending in (".py", "/__main__.py"))]
    return [bot.cwd / word for word in words if word.endswith(".py")]


def _list_module_files(folder: Path, name: str, *, is_relative: bool) -> list[Path]:
    """Return the files that an import may load from a folder: the named module, its member, and their packages."""
    parts = [part for part in name.split(".") if part]
    stems = [folder.joinpath(*parts[:end]) for end in range(len(parts) + 1)]
    modules = [stem.with_name(f"{stem.name}.py") for stem in stems[1:]]
    packages = [stem / "__init__.py" for stem in (stems if is_relative else stems[1:])]
    return modules + packages


def _list_imports(file: Path) -> Iterator[tuple[Path | None, str]]:
    """Yield (folder of a relative import or None, name) for each top-level import; a name may be a module's member.

    A file that can't be read or parsed has none.
    """
    try:
        if not file.is_file() or file.stat().st_size > _MAX_SOURCE_BYTES:  # reading a pipe waits for a writer
            return
        source = file.read_bytes()
    except OSError:
        return
    for statement in parse_statements(source):
        if isinstance(statement, ast.Import):
            yield from ((None, alias.name) for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            base = file.parents[statement.level - 1] if 0 < statement.level <= len(file.parents) else None
            yield from ((base, f"{statement.module or ''}.{alias.name}".strip(".*")) for alias in statement.names)


def parse_statements(source: bytes) -> list[ast.stmt]:
    """Return the statements of a Python program, [] if it can't be parsed; Python prints no warning of it."""
    try:
        with _WARNINGS_LOCK, warnings.catch_warnings(action="ignore"):
            return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
