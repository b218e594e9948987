"""Loading the bots of `arena run BOT...`. Source: its help, and the docstring of arena/bots/bot_loader.py."""

import hashlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena.bots import Bot, BotError, build_all, is_changed, load_bots, require_unchanged, require_unchanged_commands
from arena.sandbox import Programs

RUN = 'run = ["sh", "bot.sh"]\n'
LIMIT_S = 60  # for every process that a test starts


def write(path: Path, text: str | bytes = "", executable: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if executable:
        path.chmod(0o755)
    return path


def folder(path: Path, manifest: str = RUN) -> Path:
    write(path / "bot.toml", manifest)
    write(path / "bot.sh", "echo ready\n")
    return path


def one(argument: Path | str) -> Bot:
    loaded, _ = load_bots([str(argument)])
    assert len(loaded) == 1
    return loaded[0]


def refusal(*arguments: Path | str) -> str:
    with pytest.raises(BotError) as caught:
        load_bots([str(argument) for argument in arguments])
    message = str(caught.value)
    assert message.count("\n") <= 1, "an error is two lines at most"
    assert all(line.isprintable() for line in message.split("\n")), "nothing in it may act on a terminal"
    return message


# --- how a bot is started ---------------------------------------------------------------------------------------------

PRINTS = "print('ready')\n"
KINDS: dict[str, Callable[[Path], Path]] = {
    "a Python file": lambda at: write(at / "a.py", PRINTS),
    "a shell file": lambda at: write(at / "a.sh", "echo ready\n"),
    "a #! line": lambda at: write(at / "a", f"#!{sys.executable}\n{PRINTS}"),
    "a #! line through env": lambda at: write(at / "a", "#!/usr/bin/env sh\necho ready\n"),
    "a #! line through env with an assignment": lambda at: write(at / "a", "#!/usr/bin/env A=ready sh\necho $A\n"),
    "a #! line with env -S": lambda at: write(at / "a", "#!/usr/bin/env -S sh -e\necho ready\n"),
    "a #! line from Windows": lambda at: write(at / "a", "#!/bin/sh\r\necho ready\n"),
    "a #! line with a program on PATH": lambda at: write(at / "a", "#! sh\necho ready\n"),
    "an executable": lambda at: write(at / "a", "#!/bin/sh\necho ready\n", executable=True),
    "a name with spaces and a dash": lambda at: write(at / "-a b.sh", "echo ready\n"),
    "a folder": lambda at: folder(at / "a"),
    "the bot.toml of a folder": lambda at: folder(at / "a") / "bot.toml",
    "a folder whose run is one string": lambda at: folder(at / "a", "run = \"sh -c 'echo ready'\""),
    "a folder with a program of its own": lambda at: (
        write(folder(at / "a", 'run = "./go"') / "go", "#!/bin/sh\necho ready\n", executable=True).parent
    ),
    "a bot.toml with a byte order mark": lambda at: folder(at / "a", "\ufeff" + RUN),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_every_kind_of_bot_starts_in_its_folder(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    bot = one(make(tmp_path))
    done = subprocess.run(bot.argv, cwd=bot.cwd, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert done.stdout == "ready\n"
    assert os.path.isabs(bot.argv[0])
    assert bot.cwd == (bot.path if bot.path.is_dir() else bot.path.parent)
    assert bot.path.is_absolute()
    assert bot.build is None


def test_a_python_file_is_run_by_the_arenas_interpreter(tmp_path: Path) -> None:
    file = write(tmp_path / "mybot.py")
    loaded, notes = load_bots([str(file)], Programs("/the/arenas/python"))
    assert loaded[0].argv == ("/the/arenas/python", str(file.resolve()))
    assert notes == []


def test_a_shebang_line_comes_before_the_ending(tmp_path: Path) -> None:
    """The order is: bot.toml's run, else `#!`, else the ending, else an executable."""
    file = write(tmp_path / "mybot.py", "#!/bin/sh\n")
    assert one(file).argv == ("/bin/sh", str(file.resolve()))


def test_a_javascript_file_is_run_by_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "mybot.js")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    message = refusal(file)
    assert '"node"' in message
    assert "Install Node.js" in message
    node = write(tmp_path / "bin/node", "", executable=True)
    assert one(file).argv == (str(node), str(file.resolve()))


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "sub/x.py")
    folder(tmp_path / "mybot")
    monkeypatch.chdir(tmp_path / "sub")
    assert one("x.py").path == (tmp_path / "sub/x.py").resolve()
    assert one("../mybot/").name == "mybot"
    monkeypatch.chdir(tmp_path / "mybot")
    for argument in (".", "bot.toml", "../mybot/../mybot"):
        assert (one(argument).name, one(argument).path) == ("mybot", (tmp_path / "mybot").resolve()), argument


def test_a_file_in_a_folder_with_a_bot_toml_runs_by_itself_with_a_note(tmp_path: Path) -> None:
    loaded, notes = load_bots([str(folder(tmp_path / "mybot") / "bot.sh")])
    assert loaded[0].name == "bot"
    assert len(notes) == 1
    assert "name the folder" in notes[0]


SAMPLES = Path(__file__).parents[2] / "sample_bots"


@pytest.mark.parametrize("file", sorted(path.name for path in SAMPLES.iterdir() if path.is_file()))
def test_a_sample_bot_has_the_name_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.chdir(tmp_path)
    programs = Programs(image=True)  # there may be no node
    for name in {file, file.removesuffix(".py")}:
        loaded, notes = load_bots([f"sample:{name}"], programs)
        assert (loaded[0].path, loaded[0].name, notes) == (SAMPLES / file, Path(file).stem, [])
        assert load_bots([f"mine=sample:{name}"], programs)[0][0] == replace(loaded[0], name="mine")


def test_a_sample_folder_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded, notes = load_bots(["sample:python"], Programs(image=True))
    assert (loaded[0].path, loaded[0].cwd, loaded[0].name, notes) == (*[SAMPLES / "python"] * 2, "python", [])
    assert refusal("sample:__pycache__").startswith("sample:__pycache__ isn't a sample bot.")


def test_an_unknown_sample_bot_is_refused_with_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("sample:hones", "sample:", "sample:../sample_bots/honest.py", "x=sample:no"):
        message = refusal(name)
        assert "isn't a sample bot" in message
        assert "sample:honest, " in message
        assert "sample:honest.js, " in message
        assert "sample:python" in message
    write(tmp_path / "sample:hones", "#!/bin/sh\n")
    assert one("sample:hones").path == tmp_path / "sample:hones"


# --- what can't play --------------------------------------------------------------------------------------------------

BAD_FILES: dict[str, tuple[str, str, list[str]]] = {
    "nothing to run it by": ("mybot.rb", "puts 1", ["mybot.rb", "chmod +x", "bot.toml"]),
    "#! without a program": ("mybot", "#!\n", ["doesn't name a program"]),
    "#! with a NUL": ("mybot.py", "#!/bin/sh\0\n", ["doesn't name a program"]),
    "#! with a missing program": (
        "mybot",
        "#!/no/such/ruby -w\n",
        ['"/no/such/ruby"', "doesn't exist", "Install the program"],
    ),
    "env with a missing program": ("mybot.py", "#!/usr/bin/env no-such-ruby\n", ['"no-such-ruby"', "PATH"]),
    "#! with an escape sequence": ("mybot", "#!/no/\x1b[2Jsuch\n", ["\\x1b[2Jsuch"]),
    "a byte order mark before #!": ("mybot", "\ufeff#!/bin/sh\n", ["no #! line"]),
    "a notebook": ("bot.ipynb", "{}", ["isn't a program", "nbconvert"]),
}


@pytest.mark.parametrize(("name", "text", "shown"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_cannot_run_is_refused_with_the_reason_and_a_fix(
    tmp_path: Path, name: str, text: str, shown: list[str]
) -> None:
    message = refusal(write(tmp_path / name, text))
    assert [part for part in shown if part not in message] == []


BAD_MANIFESTS: dict[str, tuple[str | bytes, list[str]]] = {
    "a misspelt run": ('rum = ["sh", "bot.sh"]\n', ['unknown field "rum"; did you mean run?', "name, run, build"]),
    "no run": ('name = "x"\n', ['"run" is missing', "list of strings"]),
    "a number as name": ("name = 7\n" + RUN, ['"name"', "wrong type", "a string"]),
    "a truth value as build": ("build = true\n" + RUN, ['"build"', "wrong type", "make"]),
    "an empty list": ("run = []\n", ["run is empty"]),
    "an empty build": ('build = ""\n' + RUN, ["build is empty"]),
    "a NUL": ('run = ["sh", "\\u0000"]\n', ["NUL"]),
    "an open quote": ('run = "sh -c \'x"\n', ["run can't be parsed", "quotation"]),
    "two commands": ('build = "make a && make b"\n' + RUN, ['"&&"', 'build = ["sh", "-c", "..."]']),
    "not TOML": ('name = "x"\nrun =\n', ["not valid TOML", "line 2"]),
    "too deep": ("run = " + "[" * 50_000, ["not valid TOML"]),
    "not UTF-8": (b'name = "x"\nrun = "\xff"\n', ["not UTF-8", "line 2"]),
    "a number of 5,000 digits": (f"run = {'9' * 5000}", ["not valid TOML", "a number has too many digits"]),
    "a key of many parts, which tomllib reads for a minute": (f"{'a.' * 32_000}a = 1\n", ["more than 100 dots"]),
    "too long a program": (f'run = "{"x" * 300}"\n', ["too long a name"]),
    "too long": ("#" * 65_537, ["larger than 65536 bytes"]),
    "a program that isn't on PATH": ('run = "no-such-ruby bot.rb"\n', ['"no-such-ruby"', "PATH", "Install it"]),
    "a file of the folder without ./": ('run = "bot.sh"\n', ['write "./bot.sh"']),
    "a file that isn't executable": ('run = "./bot.sh"\n', ["isn't executable", "chmod +x"]),
    "a file that isn't there": ('run = "./go"\n', ["isn't a file", "build"]),
    "a path of Windows": ("run = 'python3 src\\\\main.py'\n", ["run has a path with", "Write paths with /"]),
    "the launcher of Windows": ('run = "py main.py"\n', ['starts "py"', "python3"]),
    "a bad name": ('name = "a/b"\n' + RUN, ['"a/b"', 'contains "/"', "Change the line"]),
}


@pytest.mark.parametrize(("manifest", "shown"), BAD_MANIFESTS.values(), ids=BAD_MANIFESTS.keys())
def test_a_wrong_bot_toml_is_refused_with_the_reason(tmp_path: Path, manifest: str | bytes, shown: list[str]) -> None:
    write(folder(tmp_path / "mybot") / "bot.toml", manifest)
    message = refusal(tmp_path / "mybot")
    assert "bot.toml" in message
    assert [part for part in shown if part not in message] == []


@pytest.mark.parametrize("run", ["/etc/passwd", "../../secret", "./link", "./-x\x1b[2J", "./in/../../secret"])
def test_no_command_is_advised_for_files_outside_the_bots_folder(tmp_path: Path, run: str) -> None:
    """An untrusted bot.toml could make its reader run chmod on any file; a link can point anywhere."""
    bot = folder(tmp_path / "mybot", f"run = [{json.dumps(run)}]\n")
    secret = write(tmp_path / "secret")
    (bot / "link").symlink_to(secret)
    write(bot / "-x\x1b[2J")
    (bot / "in").mkdir()
    message = refusal(bot)
    assert "which isn't executable" in message or "isn't a file" in message
    assert "chmod" not in message


def test_an_advised_command_is_quoted_for_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(write(tmp_path / "my $(touch x) bot"))
    assert f"chmod +x '{tmp_path}/my $(touch x) bot'" in message
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "-R")
    assert "chmod +x ./-R" in refusal("-R")


def test_a_program_on_the_users_path_alone_is_reported_as_missing_in_the_sandbox(tmp_path: Path) -> None:
    bot = folder(tmp_path / "mybot", 'run = ["sh", "bot.sh"]\n')
    boxed = Programs(path=str(tmp_path / "nowhere"))
    with pytest.raises(BotError, match=r"the sandbox lacks; yours is /.*/sh\.\n.*arena doctor"):
        load_bots([str(bot)], boxed)
    write(bot / "bot.toml", 'run = ["no-such-cargo", "run"]\n')
    with pytest.raises(BotError, match=r"isn't in the sandbox\.\n.*arena doctor"):
        load_bots([str(bot)], boxed)


def test_a_path_that_is_no_bot_is_refused(tmp_path: Path) -> None:
    assert "doesn't exist" in refusal(tmp_path / "mybto.py")
    for name, shown in (("a\0.py", "a\\x00.py"), ("a\0b/c.py", "a\\x00b/c.py")):  # from the file of a study
        assert f"{shown} doesn't exist" in refusal(tmp_path / name)
    assert "doesn't exist" in refusal(write(tmp_path / "a.py") / "b.py")
    write(tmp_path / "mybot.txt")
    assert "Did you mean" not in refusal(tmp_path / "mybto.py")
    write(tmp_path / "mybot.py")
    assert f"Did you mean {tmp_path}/mybot.py?" in refusal(tmp_path / "mybto.py")
    assert "Did you mean sample:honest?" in refusal("sample:honst")
    assert "without bot.toml" in refusal(tmp_path)
    hidden = write(tmp_path / "hidden" / "bot.toml.txt", 'run = "python3 bot.py"\n').parent
    assert "Rename bot.toml.txt in it to bot.toml" in refusal(hidden)
    assert "Rename" not in refusal(write(tmp_path / "other" / "lost.html", "bot.toml").parent)
    nested = folder(tmp_path / "outer" / "mybot", 'run = "python3 bot.py"\n').parent
    assert f"Name the folder in it that has a bot.toml: {nested}/mybot" in refusal(nested)
    (tmp_path / "gone.py").symlink_to("nowhere")
    assert "doesn't exist" in refusal(tmp_path / "gone.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    assert "can't be read" in refusal(tmp_path / "loop.py")
    assert "can't be read" in refusal(tmp_path / "loop.py/x/y")
    os.mkfifo(tmp_path / "pipe.py")
    assert "isn't a file" in refusal(tmp_path / "pipe.py")


@pytest.mark.needs("linux", None if sys.platform == "linux" or os.geteuid() else "root may read everything")
@pytest.mark.usefixtures("modes_count")
def test_an_unreadable_bot_is_refused_with_a_fix(tmp_path: Path) -> None:
    write(tmp_path / "mybot.py").chmod(0o111)
    assert "chmod" in refusal(tmp_path / "mybot.py")


# --- names ------------------------------------------------------------------------------------------------------------


def played(arguments: list[str]) -> tuple[list[str], list[str]]:
    loaded, notes = load_bots(arguments)
    return [bot.name for bot in loaded], notes


def test_a_bot_is_named_by_its_file_its_folder_its_bot_toml_or_the_user(tmp_path: Path) -> None:
    file = write(tmp_path / "my.bot.py")
    plain, named = folder(tmp_path / "v1.2"), folder(tmp_path / "x", 'name = "Grand Duke"\n' + RUN)
    (tmp_path / "latest.py").symlink_to("my.bot.py")
    names, notes = played([str(file), str(plain), str(named), f"Élan 9={named}", str(tmp_path / "latest.py")])
    assert names == ["my.bot", "v1.2", "Grand Duke", "Élan 9", "latest"]
    assert notes == []


# The arguments' names, all for one file, and the names in the run.
SHARED: dict[str, tuple[list[str], list[str]]] = {
    "repeats count from 2": (["a", "a", "a"], ["a", "a-2", "a-3"]),
    "a demanded name is kept": (["a", "a=b"], ["a-2", "a"]),
    "a file's own name is kept": (["a", "a", "a-2"], ["a", "a-3", "a-2"]),
    "a demanded number is kept": (["a", "a", "a-2=b"], ["a", "a-3", "a-2"]),
    "capitals make another name": (["a", "A=a"], ["a", "A"]),
    "a long name is cut for its number": (["x" * 40, "x" * 40], ["x" * 40, "x" * 38 + "-2"]),
}


@pytest.mark.parametrize(("arguments", "names"), SHARED.values(), ids=SHARED.keys())
def test_names_are_unique(tmp_path: Path, arguments: list[str], names: list[str]) -> None:
    """Names that the user gave come first, then earlier bots; others get a number."""
    given = []
    for argument in arguments:
        demanded, equals, stem = argument.rpartition("=")
        given.append(demanded + equals + str(write(tmp_path / f"{stem}.py")))
    got, notes = played(given)
    assert got == names
    assert len(notes) == sum(
        argument.partition("=")[0] != name for argument, name in zip(arguments, names, strict=True)
    )


def test_two_equal_names_given_by_the_user_are_refused(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.py"), write(tmp_path / "b.py")
    message = refusal(f"x={a}", f"x={b}")
    assert '"x"' in message
    assert "a.py" in message
    assert "b.py" in message
    assert "Two bots" in refusal(f"\u00e9={a}", f"e\u0301={b}")


BAD_NAMES = {
    "control character": "a\x07b",
    "ANSI sequence": "\x1b[31mred",
    "line feed": "a\nb",
    "right-to-left override": "a\u202eb",
    "zero-width space": "a\u200bb",
    "undecodable byte": "a\udcffb",
    "too long": "x" * 41,
    "space before": " a",
    "the folder above": "..",
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_a_name_that_would_harm_a_terminal_or_a_table_is_refused(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "a.py")
    assert "its name" in refusal(f"{name}={file}")


def test_a_file_with_an_invalid_name_needs_another(tmp_path: Path) -> None:
    file = write(tmp_path / ("x" * 41 + ".py"))
    assert "NAME=" in refusal(file)
    assert one(f"short={file}").name == "short"


def test_an_equals_sign_belongs_to_a_path_that_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument that exists is a path; a name has no slash."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a=b.py")
    write(tmp_path / "c.py")
    write(tmp_path / "d=e/f.py")
    assert one("a=b.py").name == "a=b"
    assert one("x=a=b.py").name == "x"
    assert one("a=c.py").name == "a"
    assert one("./d=e/f.py").name == "f"
    assert "d=e/g.py doesn't exist" in refusal("./d=e/g.py")
    assert 'has no name before the "="' in refusal("=c.py")
    assert 'has no path after the "="' in refusal("x=")
    assert 'has no path after the "="' in refusal("")


def test_a_tilde_after_the_name_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shells expand ~/bot.py, but not name=~/bot.py."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert one(f"x=~/{write(tmp_path / 'a.py').name}").path == (tmp_path / "a.py").resolve()


# --- digests ----------------------------------------------------------------------------------------------------------


def test_the_digest_of_a_file_is_that_of_sha256sum(tmp_path: Path) -> None:
    bot = one(write(tmp_path / "a.py", "x = 1\n"))
    write(tmp_path / "b.py")
    assert bot.digest == hashlib.sha256(b"x = 1\n").hexdigest()
    assert not is_changed(bot)


def relink(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


FEW_FILES = 40

CHANGES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "a file's content": (lambda at: write(at / "bot.sh", "echo other\n"), True),
    "a new file": (lambda at: write(at / "new"), True),
    "an x bit": (lambda at: (at / "bot.sh").chmod(0o755), True),
    "a link instead of a file": (lambda at: relink(at / "sub/data", "../../outside"), True),
    "the bot is gone": (lambda at: at.rename(at.parent / "elsewhere"), True),
    "too many files": (lambda at: [write(at / str(n)) for n in range(FEW_FILES)], True),
    "nothing": (lambda at: None, False),
    "a new time": (lambda at: os.utime(at / "bot.sh", (1, 1)), False),
    "a read bit": (lambda at: (at / "bot.sh").chmod(0o600), False),
    "an empty folder": (lambda at: (at / "empty").mkdir(), False),
    "bytecode": (lambda at: write(at / "sub/__pycache__/x.pyc"), False),
    "a commit": (lambda at: write(at / ".git/HEAD"), False),
    "what Finder leaves": (lambda at: write(at / "sub/.DS_Store"), False),
    "the content of a linked file elsewhere": (lambda at: write(at.parent / "outside", "other"), False),
    "a file in a linked folder": (lambda at: write(at.parent / "lib/new"), False),
}


@pytest.fixture
def lower_file_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.bots.digest.MAX_FILES", FEW_FILES)


@pytest.mark.usefixtures("lower_file_limit")
@pytest.mark.parametrize(("change", "counts"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_in_a_bots_folder_is_noticed(tmp_path: Path, change: Callable[[Path], object], counts: bool) -> None:
    at = folder(tmp_path / "mybot")
    write(at / "sub/data", "1")
    write(tmp_path / "outside", "same")
    write(tmp_path / "lib/old")
    (at / "link").symlink_to("../outside")
    (at / "lib").symlink_to("../lib")
    (at / "dangling").symlink_to("nowhere")
    os.mkfifo(at / "pipe")
    bot = one(at)
    change(at)
    assert is_changed(bot) is counts
    if counts:
        with pytest.raises(BotError, match='"mybot" has changed'):
            require_unchanged([bot])
    else:
        require_unchanged([bot])


def test_the_digest_of_a_folder_is_the_documented_one(tmp_path: Path) -> None:
    """The order is that of the paths' bytes, on any file system. Source: arena/bots/digest.py."""
    at = tmp_path / "mybot"
    odd, wide = os.fsdecode(b"\xff"), "\uff5e"  # as text the first comes first, as bytes the second
    names = ["z", "sub/b", "sub/a", "bot.toml", odd, wide]
    for name in names:
        write(at / name, RUN if name == "bot.toml" else os.fsencode(name))
    (at / "sub/a").chmod(0o700)
    (at / "link").symlink_to("z")
    (at / "folder").symlink_to("sub")

    def of(name: str) -> bytes:
        return hashlib.sha256((at / name).read_bytes()).hexdigest().encode()

    entries = [
        (b"file", of("bot.toml"), b"bot.toml"),
        (b"link", b"sub", b"folder"),
        (b"link", b"z", b"link"),
        (b"program", of("sub/a"), b"sub/a"),
        (b"file", of("sub/b"), b"sub/b"),
        (b"file", of("z"), b"z"),
        (b"file", of(wide), os.fsencode(wide)),
        (b"file", of(odd), os.fsencode(odd)),
    ]
    whole = b"".join(b"\0".join(entry) + b"\0" for entry in entries)
    assert one(at).digest == hashlib.sha256(whole).hexdigest()


@pytest.mark.usefixtures("lower_file_limit")
def test_a_folder_with_too_many_files_is_refused(tmp_path: Path) -> None:
    at = folder(tmp_path / "mybot")
    for number in range(FEW_FILES - 2):
        (at / str(number)).touch()
    assert one(at).name == "mybot", "bot.toml and bot.sh count, and the bound may be met"
    (at / "one more").touch()
    assert f"more than {FEW_FILES} files" in refusal(at)


def test_a_link_to_an_endless_file_costs_no_time(tmp_path: Path) -> None:
    """/proc/self/pagemap has 256 GB and the size 0; the target of a link isn't part of the bot."""
    at = folder(tmp_path / "mybot")
    (at / "data").symlink_to("/proc/self/pagemap")
    bot = one(at)
    assert not is_changed(bot)
    relink(at / "data", "/proc/self/maps")
    assert is_changed(bot)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_file_with_more_bytes_than_its_size_is_refused(tmp_path: Path) -> None:
    """A bare file that is a link is followed; without a limit a file of /proc is read for minutes."""
    (tmp_path / "bot.py").symlink_to("/proc/self/pagemap")
    assert "more bytes than its reported size" in refusal(tmp_path / "bot.py")


def test_the_bytes_of_all_files_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1 << 20
    monkeypatch.setattr("arena.bots.digest.MAX_BYTES", most)
    at = folder(tmp_path / "mybot")
    left = most - sum(path.stat().st_size for path in at.iterdir())
    with (at / "large").open("wb") as file:
        file.truncate(left)
    assert one(at).name == "mybot"
    write(at / "a byte", "x")
    assert "more than" in refusal(at)


# --- builds -----------------------------------------------------------------------------------------------------------

BUILT = 'run = "./go"\nbuild = ["sh", "build.sh"]\n'
MAKES_GO = "printf '#!/bin/sh\\necho ready\\n' >go\nchmod +x go\n"


def to_build(at: Path, script: str) -> Bot:
    write(folder(at, BUILT) / "build.sh", script)
    return one(at)


def build(bot: Bot, timeout_s: float = LIMIT_S) -> Bot:
    return build_all([bot], bot.cwd.parent / "logs", timeout_s)[0]


def test_the_digest_is_taken_after_the_build(tmp_path: Path) -> None:
    before = to_build(tmp_path / "mybot", MAKES_GO)
    after = build(before)
    assert is_changed(before)
    assert not is_changed(after)
    assert after == replace(before, digest=after.digest)
    assert subprocess.check_output(after.argv, cwd=after.cwd, timeout=LIMIT_S) == b"ready\n"
    assert one(tmp_path / "mybot") == after


def test_a_bot_without_a_build_is_not_hashed_again(tmp_path: Path) -> None:
    bot = one(write(tmp_path / "a.py"))
    write(tmp_path / "a.py", "x = 1\n")
    assert build(bot) == bot


BAD_BUILDS: dict[str, tuple[str, list[str]]] = {
    "it fails": ("echo begun\necho 'line 3: no such card' >&2\nexit 3\n", ["exit code 3", "  line 3: no such card"]),
    "it is killed": ("kill -9 $$\n", ["signal 9"]),
    "it makes nothing": ("true\n", ["created no executable", "go"]),
    "it makes a file that isn't executable": ("echo >go\n", ["created no executable"]),
    "it prints escape sequences": ("printf 'a\\033[2Jb\\n'\nexit 1\n", ["  a\\x1b[2Jb"]),
    "it prints bytes that aren't text": ("printf '\\377\\n'\nexit 1\n", ["  \ufffd"]),
    "it waits for input": ("read line || exit 4\n", ["exit code 4"]),
}


@pytest.mark.parametrize(("script", "shown"), BAD_BUILDS.values(), ids=BAD_BUILDS.keys())
def test_a_failed_build_names_the_bot_and_shows_its_last_lines(tmp_path: Path, script: str, shown: list[str]) -> None:
    bot = to_build(tmp_path / "mybot", script)
    with pytest.raises(BotError) as caught:
        build(bot)
    message = str(caught.value)
    assert [part for part in ['"mybot"', *shown] if part not in message] == []
    assert all(line.isprintable() for line in message.split("\n"))


def test_a_missing_compiler_is_reported_at_the_build(tmp_path: Path) -> None:
    """A resume of a built bot needs no compiler."""
    bot = one(folder(tmp_path / "mybot", 'build = "no-such-make"\n' + RUN))
    with pytest.raises(BotError, match='build starts "no-such-make", which isn\'t on PATH'):
        build(bot)


BACKGROUND = "exec 3>pipe\nsleep 600 &\necho begun >&3\n"  # the sleeper, too, has the pipe open for as long as it lives


def read_until_all_writers_end(reader: int) -> bytes:
    text = b""
    while True:
        assert select.select([reader], [], [], LIMIT_S)[0], "a process is still there"
        chunk = os.read(reader, 4096)
        if not chunk:
            return text
        text += chunk


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "mybot").mkdir()
    os.mkfifo(tmp_path / "mybot/pipe")
    reader = os.open(tmp_path / "mybot/pipe", os.O_RDONLY | os.O_NONBLOCK)
    yield reader
    os.close(reader)


def test_a_build_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path, pipe: int) -> None:
    bot = to_build(tmp_path / "mybot", BACKGROUND + "echo waiting\nwait\n")
    for limit_s in (2, 20):  # on a busy machine it may take more than two seconds to begin
        with pytest.raises(BotError, match=f'"mybot": the build took longer than {limit_s} s') as shown:
            build(bot, limit_s)
        if "\n  waiting" in str(shown.value):
            break
    assert "\n  waiting" in str(shown.value)
    assert set(read_until_all_writers_end(pipe).splitlines()) == {b"begun"}


def test_a_build_leaves_no_process_behind(tmp_path: Path, pipe: int) -> None:
    """Such a process could change the folder after it was hashed."""
    build(to_build(tmp_path / "mybot", MAKES_GO + BACKGROUND))
    assert read_until_all_writers_end(pipe) == b"begun\n"


# --- the command of a resumed run ----------------------------------------------------------------------------


@pytest.fixture
def two_pythons(tmp_path: Path) -> tuple[Path, Path]:
    old, new = tmp_path / "old", tmp_path / "new"
    for place in (old, new):
        write(place / "python3", "#!/bin/sh\n", executable=True)
    return old, new


def test_a_program_that_path_now_finds_elsewhere_is_reported_with_both_places(
    tmp_path: Path, two_pythons: tuple[Path, Path]
) -> None:
    old, new = two_pythons
    bots, _ = load_bots([str(folder(tmp_path / "b", 'run = ["python3", "bot.sh"]\n'))], Programs(path=str(old)))
    require_unchanged_commands(bots, Programs(path=f"{old}:{new}"))
    with pytest.raises(BotError) as refused:
        require_unchanged_commands(bots, Programs(path=f"{new}:{old}"))
    assert str(refused.value) == (
        f'"b" is run by python3, which is now {new}/python3, '
        f"but was {old}/python3 when the run began (run.json).\n"
        f"Put {old} first in PATH, or start a new run."
    )


def test_a_change_of_path_is_advised_only_where_it_helps(tmp_path: Path, two_pythons: tuple[Path, Path]) -> None:
    old, new = two_pythons
    named, _ = load_bots([str(folder(tmp_path / "named", f'run = ["{new}/python3", "bot.sh"]\n'))])
    found, _ = load_bots([str(folder(tmp_path / "found", 'run = ["python3", "bot.sh"]\n'))], Programs(path=str(new)))
    for bot, program, rest in ((named[0], old, "bot.sh"), (found[0], tmp_path, "bot.sh"), (found[0], old, "-c")):
        changed_list = [replace(bot, argv=(f"{program}/python3", rest))]
        with pytest.raises(BotError, match="has changed") as refused:
            require_unchanged_commands(changed_list, Programs(path=str(new)))
        assert "PATH" not in str(refused.value)
