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

Names: `name=` is what the user demands, so two equal ones are an error. A name from a file, a folder or a bot.toml
gives way: to `name=`, then to the first that bears it. The others become `honest-2`, `honest-3`, each with a note for
the user.

Digest: SHA-256 of a bare file's bytes (what `sha256sum` prints); of a folder, over every file in it: path, x bit,
content. A symbolic link counts as its text and, if it leads to a file, that file's content; linked folders aren't
entered. Dependencies inside the folder (node_modules, .venv) count, as they are what plays; `_UNHASHED` lists what
does not. So a bot must not write into its folder. A build does, hence the digest that counts is taken after all
builds. To resume, compare the digests that `load` returns with those recorded: if equal, what the build made is still
there, and building again could only change it.
"""

import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from arena.manifest import MANIFEST, BotError, read, shown

__all__ = [
    "Bot",
    "BotError",
    "Programs",
    "build",
    "build_all",
    "build_program",
    "changed",
    "check_unchanged",
    "digested",
    "load",
    "missing_after_build",
    "tail",
]

NAME_CHARACTERS = 40  # a column of the standings on an 80-column terminal still has room for numbers
MAX_FILES = 10_000  # hashed in about a second; more is a folder given by mistake
MAX_BYTES = 1 << 30  # likewise: about a second of SHA-256
_SHEBANG_BYTES = 4_096  # Linux reads 256, macOS 512
_TAIL_LINES = 12  # of a failed build's output: enough for a compiler's last message
_TAIL_BYTES = 8_192  # read back to find those lines
_LINE_CHARACTERS = 200  # of each of those lines

# What running or looking at a bot writes by itself: bytecode, Finder's notes; and what version control keeps.
_UNHASHED = frozenset({"__pycache__", ".git", ".hg", ".svn", ".DS_Store"})

# Ending -> program on PATH, and what to install when it is missing. `.py` is the arena's own interpreter.
_RUNNERS = {".js": ("node", "Node.js"), ".sh": ("sh", "a POSIX shell")}


@dataclass(frozen=True, slots=True)
class Programs:
    """Say which programs bots are run by: those of the user, or those that a sandbox shows.

    python runs a bare `.py` file. path is searched for names, None: PATH; with it, what `env` would start is looked up
    here too, since a sandbox has a PATH of its own. image: they are a container image's, so that nothing can be looked
    up here and names stay as they are written.
    """

    python: str = sys.executable
    path: str | None = None
    image: bool = False

    def named(self, program: str) -> str | None:
        """Return the absolute program of this name, None if there is none."""
        if self.image:
            return program
        found = shutil.which(program, path=self.path)
        # Not resolved: a venv's python is a link.
        return None if found is None else os.path.abspath(found)

    def find(self, word: str, folder: Path) -> str | None:
        """Return the absolute program that a command's first word means in that folder, None if it can't be run."""
        if "/" not in word:
            return self.named(word)
        path = os.path.join(folder, word)
        if self.image and not Path(os.path.normpath(path)).is_relative_to(folder):
            return word
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else None


@dataclass(frozen=True, slots=True)
class Bot:
    """Hold what it takes to start one bot.

    name: unique among the bots of a run. path: absolute, the file or the folder. argv: the program is absolute, other
    words are as the author wrote them, relative to cwd. build: argv as written, None if there is nothing to build.
    digest: 64 hex digits.
    """

    name: str
    path: Path
    argv: tuple[str, ...]
    cwd: Path
    build: tuple[str, ...] | None
    digest: str


def load(arguments: Sequence[str], programs: Programs | None = None) -> tuple[list[Bot], list[str]]:
    """Read the bots of a command line, without building or starting them.

    programs: what runs them, None for the user's own. Returns the bots in the order given, and notes for stderr, a
    line each. Raises BotError at the first bot that can't play.
    """
    bots: list[Bot] = []
    wishes: list[_Wish] = []
    notes: list[str] = []
    for argument in arguments:
        name, path = _split(argument)
        with _reading(path):
            bot = _bot(path, programs or Programs())
            if bot.path.is_file() and (bot.path.parent / MANIFEST).is_file():
                notes.append(f"{shown(path)} runs by itself; to run it by its {MANIFEST}, give the folder")
        try:
            wishes.append(_Wish(_checked_name(bot.name if name is None else name), name is not None, shown(path)))
        except ValueError as error:
            raise BotError(f"{shown(path)}: {error}.\nName it on the command line: name={shown(path)}") from None
        bots.append(bot)
    names = _shared_out(wishes)
    for wish, got in zip(wishes, names, strict=True):
        if got != wish.name:
            notes.append(f'"{wish.name}" is taken, so {wish.shown} plays as "{got}"')
    return [replace(bot, name=name) for bot, name in zip(bots, names, strict=True)], notes


def changed(bot: Bot) -> bool:
    """Tell whether the bot's files differ from its digest; files that are gone or can't be read do."""
    try:
        return _digest(bot.path) != bot.digest
    except (OSError, BotError):
        return True


def check_unchanged(bots: Sequence[Bot]) -> None:
    """Raise BotError, naming the bot, if the files of one differ from its digest."""
    for bot in bots:
        if changed(bot):
            raise BotError(
                f'"{bot.name}" has changed since the run began: {shown(bot.path)}\n'
                "Start a new run. If the bot wrote there: its folder must stay as it is, its files belong in $TMPDIR."
            )


def build_all(bots: Sequence[Bot], timeout_s: float) -> list[Bot]:
    """Build what has a build command, and return the same bots with the digests that count for the run.

    A folder that plays under several names is built once. timeout_s: for each build. Digests are taken after the last
    build, as one bot's folder may lie in another's. Raises BotError.
    """
    built: set[Path] = set()
    for bot in bots:
        if bot.path not in built:
            built.add(bot.path)
            _run_build(bot, timeout_s)
    if all(bot.build is None for bot in bots):
        return list(bots)
    return [digested(bot) for bot in bots]


def build(bot: Bot, timeout_s: float) -> Bot:
    """Build one bot, if it has a build command; return it with the digest of the built folder. Raises BotError."""
    return build_all([bot], timeout_s)[0]


# --- the command line -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wish:
    """Hold the name a bot would like; demanded: the user gave it with `name=`; shown: the path as the user wrote it."""

    name: str
    demanded: bool
    shown: str


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


def _checked_name(name: str) -> str:
    """Return the name in NFC (macOS hands out decomposed file names). Raises ValueError saying what is wrong with it.

    `isprintable` refuses control characters (so ANSI sequences), bidi and zero-width marks, surrogates, odd spaces.
    """
    name = unicodedata.normalize("NFC", name)
    if not name.strip():
        raise ValueError("its name is empty")
    if not name.isprintable():
        raise ValueError(f'its name "{shown(name)}" has characters that can\'t be printed')
    if name != name.strip():
        raise ValueError(f'its name "{name}" begins or ends with a space')
    if "/" in name or name in {".", ".."}:
        raise ValueError(f'its name "{name}" looks like a path')
    if len(name) > NAME_CHARACTERS:
        raise ValueError(f'its name "{name}" is longer than {NAME_CHARACTERS} characters')
    return name


def _shared_out(wishes: Sequence[_Wish]) -> list[str]:
    """Give each bot a name of its own: demanded names first, then whoever comes first, then numbers from 2."""
    taken: dict[str, str] = {}
    names: list[str | None] = [None] * len(wishes)
    for demanded in (True, False):
        for seat, wish in enumerate(wishes):
            if wish.demanded != demanded:
                continue
            if wish.name not in taken:
                taken[wish.name] = wish.shown
                names[seat] = wish.name
            elif demanded:
                raise BotError(
                    f'Two bots are to be named "{wish.name}": {taken[wish.name]} and {wish.shown}.\n'
                    "Give each a name of its own, or leave one name away."
                )
    return [name or _numbered(wish, taken) for name, wish in zip(names, wishes, strict=True)]


def _numbered(wish: _Wish, taken: dict[str, str]) -> str:
    number = 2
    while True:
        ending = f"-{number}"
        name = wish.name[: NAME_CHARACTERS - len(ending)].rstrip() + ending
        if name not in taken:
            taken[name] = wish.shown
            return name
        number += 1


# --- files and folders ------------------------------------------------------------------------------------------------


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into BotError."""
    try:
        yield
    except FileNotFoundError as error:
        raise BotError(
            f"{shown(path)} changed while it was read: {shown(error.filename)} is gone.\nTry again."
        ) from None
    except PermissionError as error:
        raise BotError(
            f"{shown(error.filename)} can't be read: {error.strerror}.\nAllow it: chmod -R u+rX {shown(path)}"
        ) from None
    except OSError as error:
        raise BotError(f"{shown(path)} can't be read: {error.strerror} ({shown(error.filename or path)}).") from None


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
    digest = _digest(path)
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
    digest = _digest(folder)  # first, so that a change while the rest is read counts as one
    manifest = read(file, where)
    name = folder.name
    if manifest.name is not None:
        try:
            name = _checked_name(manifest.name)
        except ValueError as error:
            raise BotError(f'{shown(where)}: {error}.\nChange the line name = "..."') from None
    program = programs.find(manifest.run[0], folder)
    if program is None:
        if manifest.build is None or "/" not in manifest.run[0]:
            raise BotError(_no_program(str(where), "run", manifest.run[0], folder))
        program = os.path.join(folder, manifest.run[0])  # to be built
    return Bot(name, folder, (program, *manifest.run[1:]), folder, manifest.build, digest)


def _no_program(where: str, field: str, word: str, folder: Path) -> str:
    start = f'{shown(where)}: {field} starts "{shown(word)}", which '
    if "/" in word:
        path = Path(folder, word)
        if path.is_file():
            return f"{start}isn't executable.\nAllow it: chmod +x {shown(path)}"
        return f"{start}isn't a file in {shown(folder)}.\nCorrect the path, or add the build that makes it."
    if Path(folder, word).is_file():
        return f"{start}isn't on PATH.\nFor the file in the bot's folder write \"./{shown(word)}\""
    return f"{start}isn't on PATH.\nInstall it, or write the program's path."


# --- digests ----------------------------------------------------------------------------------------------------------


def _digest(path: Path) -> str:
    """Return the digest that the module's docstring defines. Raises OSError; BotError if there is too much to hash."""
    if not path.is_dir():
        return _content(path, _Budget(path))
    budget = _Budget(path)
    whole = hashlib.sha256()
    for name in sorted(_files(path), key=os.fsencode):
        # No path and no link contains NUL, and digests have one length: different folders never make the same bytes.
        parts = [_kind_and_content(path / name, budget), os.fsencode(name)]
        whole.update(b"\0".join(parts) + b"\0")
    return whole.hexdigest()


def _files(folder: Path) -> list[str]:
    """List everything in the folder but folders, by path relative to it."""

    def give_up(error: OSError) -> None:
        raise error

    found: list[str] = []
    for where, folders, names in os.walk(folder, onerror=give_up):
        folders[:] = [name for name in folders if name not in _UNHASHED]
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        relative = os.path.relpath(where, folder)
        found += [os.path.normpath(os.path.join(relative, name)) for name in links + names if name not in _UNHASHED]
        if len(found) > MAX_FILES:
            raise _too_large(folder, f"more than {MAX_FILES} files")
    return found


def _kind_and_content(path: Path, budget: "_Budget") -> bytes:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        content = _content(path, budget) if path.is_file() else ""
        return b"link\0" + os.fsencode(os.readlink(path)) + b"\0" + content.encode()
    if not stat.S_ISREG(mode):
        return b"special\0"  # never opened: a pipe would wait for its other end
    return (b"program\0" if mode & 0o111 else b"file\0") + _content(path, budget).encode()


class _Budget:
    """Count the bytes hashed for one bot, against MAX_BYTES."""

    def __init__(self, bot: Path) -> None:
        self._bot = bot
        self._left = MAX_BYTES

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _too_large(self._bot, f"more than {MAX_BYTES >> 30} GiB")


def _content(path: Path, budget: _Budget) -> str:
    with path.open("rb") as file:
        budget.spend(os.fstat(file.fileno()).st_size)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _too_large(bot: Path, what: str) -> BotError:
    return BotError(
        f"{shown(bot)} holds {what}, too much for a bot.\nMove data and environments that it doesn't need out of it."
    )


# --- building ---------------------------------------------------------------------------------------------------------


def _run_build(bot: Bot, timeout_s: float) -> None:
    if bot.build is None:
        return
    command = build_program(bot, Programs())
    by_hand = f"\nTry it by hand in {shown(bot.cwd)}: {shown(shlex.join(bot.build))}"
    # A file takes any output from any number of processes; a pipe would have to be drained until the last one leaves.
    with tempfile.TemporaryFile() as output:
        try:
            code = _run(command, bot.cwd, output, timeout_s)
        except subprocess.TimeoutExpired:
            raise BotError(
                f'"{bot.name}": the build took longer than {timeout_s:g} s.{by_hand}{tail(output)}'
            ) from None
        except OSError as error:
            raise BotError(f'"{bot.name}": the build can\'t be started: {error.strerror}.{by_hand}') from None
        if code != 0:
            how = f"failed with exit code {code}" if code > 0 else f"was ended by signal {-code}"
            raise BotError(f'"{bot.name}": the build {how}.{by_hand}{tail(output)}')
    missing_after_build(bot)


def build_program(bot: Bot, programs: Programs) -> list[str]:
    """Return the bot's build command, its program absolute. Raises BotError if it can't be run."""
    assert bot.build is not None
    program = programs.find(bot.build[0], bot.cwd)
    if program is None:
        raise BotError(_no_program(shown(bot.cwd / MANIFEST), "build", bot.build[0], bot.cwd))
    return [program, *bot.build[1:]]


def missing_after_build(bot: Bot) -> None:
    """Raise BotError if the build didn't make the program that is to run."""
    own = Path(bot.argv[0]).is_relative_to(bot.cwd)
    if own and not (os.path.isfile(bot.argv[0]) and os.access(bot.argv[0], os.X_OK)):
        raise BotError(
            f'"{bot.name}": the build made no executable {shown(bot.argv[0])}.\n'
            f"Correct run or build in {shown(bot.cwd / MANIFEST)}"
        )


def digested(bot: Bot) -> Bot:
    """Return the bot with the digest of its files as they are now. Raises BotError."""
    with _reading(bot.path):
        return replace(bot, digest=_digest(bot.path))


def _run(argv: list[str], cwd: Path, output: IO[bytes], timeout_s: float) -> int:
    """Run a command to its end and return its exit code, negative for a signal. Raises TimeoutExpired, OSError.

    The environment is the user's: compilers and package managers need it (caches, proxies), and a build can read the
    user's files anyway. Whatever it left running is killed, so that nothing changes the folder after it was hashed.
    """
    process = subprocess.Popen(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        return process.wait(timeout_s)
    finally:
        with suppress(ProcessLookupError, PermissionError):  # macOS: not permitted, if only the dead are in the group
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def tail(output: IO[bytes]) -> str:
    """Return the last lines of a build's output, each on a line of its own below a message."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _TAIL_BYTES))
    lines = output.read(_TAIL_BYTES).decode(errors="replace").split("\n")
    told = [shown(line.rstrip().expandtabs())[:_LINE_CHARACTERS] for line in lines if line.strip()]
    return "".join(f"\n  {line}" for line in told[-_TAIL_LINES:])
