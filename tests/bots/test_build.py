"""Builds of compiled bots: their results, their limits in a sandbox, and their error messages.

Source: the docstring of arena/bots/build.py.
"""

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from arena import sandbox
from arena.bots import Bot, BotError, BuildError, BuildLogExcerpt, build_all, build_in_box, load_bots
from arena.checks import check_host
from arena.limits import Limits
from tests.cli_workspace import Place
from tests.disk import small_disk

Needs = Callable[[str, str | None], None]

LIMIT_S = 60.0
ROOT = Path(__file__).parents[2]


class Builder:
    def __init__(self, folder: Path, choice: sandbox.SandboxChoice) -> None:
        self.folder = folder
        self.choice = choice
        self.sandbox: sandbox.Sandbox = sandbox.make_sandbox(choice, folder / "scratch")
        self.logs = folder / "logs"

    def bot(self, script: str, run: str = "./bot", name: str = "b") -> Bot:
        home = self.folder / name
        home.mkdir()
        (home / "build.sh").write_text(script)
        (home / "bot.toml").write_text(f'run = "{run}"\nbuild = ["sh", "build.sh"]\n')
        return load_bots([str(home)], sandbox.programs_of(self.choice.name))[0][0]

    def build(self, *bots: Bot, timeout_s: float = LIMIT_S) -> list[Bot]:
        where = self.folder / "built"
        return build_in_box(bots, self.sandbox, sandbox.programs_of(self.choice.name), where, self.logs, timeout_s)

    def refusal(self, script: str, timeout_s: float = LIMIT_S) -> str:
        with pytest.raises(BotError) as refused:
            self.build(self.bot(script), timeout_s=timeout_s)
        assert list((self.folder / "built").iterdir()) == [], "nothing half-built is left"
        return str(refused.value)


@pytest.fixture(params=sandbox.ISOLATING_SANDBOXES)
def builder(request: pytest.FixtureRequest, tmp_path: Path, needs: Needs) -> Iterator[Builder]:
    needs(request.param, sandbox.unavailable_reason(request.param))
    made = Builder(tmp_path, sandbox.SandboxChoice(request.param))
    yield made
    made.sandbox.close()


@pytest.fixture
def bubblewrap_builder(tmp_path: Path, bubblewrap: None) -> Iterator[Builder]:
    made = Builder(tmp_path, sandbox.SandboxChoice("bubblewrap"))
    yield made
    made.sandbox.close()


GOOD = (
    "mkdir sub && echo one > sub/file && printf '#!/bin/sh\\necho hi\\n' > bot && chmod +x bot && echo 'all well' >&2"
)


def test_a_noexec_file_system_is_a_host_problem(
    tmp_path: Path, needs: Needs, bubblewrap: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A box runs a copy; a plain process can't be started, and `arena doctor` reports it."""
    with small_disk(tmp_path / "disk", needs, "noexec") as disk:
        builder = Builder(disk, sandbox.SandboxChoice("bubblewrap"))
        [built] = builder.build(builder.bot(GOOD))
        assert load_bots([str(built.path)])[0][0].name == "00-b", "it isn't asked to be made executable"
        program = sandbox.Program(built.argv, built.cwd, files=built.path)
        box = builder.sandbox.start(program, Limits())
        assert sandbox.wait_readable(box.stdout, LIMIT_S)
        assert os.read(box.stdout, 9) == b"hi\n"
        box.close()
        builder.sandbox.close()
        plain = sandbox.make_sandbox(sandbox.SandboxChoice("process"), disk / "plain")
        with pytest.raises(sandbox.SandboxError, match="mounted noexec"):
            plain.start(program, Limits())
        plain.close()
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        [output] = [
            finding
            for finding in check_host(dict.fromkeys(("process", *sandbox.ISOLATING_SANDBOXES)), tmp_path)
            if finding.check == "disk"
        ]
        assert "mounted noexec" in output.message


def test_a_toolchain_outside_of_the_box_is_reported_with_a_fix(bubblewrap_builder: Builder) -> None:
    """Boxes don't show home folders, where toolchains may be."""
    output = bubblewrap_builder.refusal("no-such-cargo build")
    assert "not found" in output
    assert "no toolchains in home folders (rustup, Go, nvm, sdkman). Install the toolchain in /usr" in output


def test_a_build_makes_a_complete_folder_and_leaves_the_source_unchanged(builder: Builder) -> None:
    bot = builder.bot(GOOD)
    before = sorted(path.name for path in bot.path.iterdir())
    built = builder.build(bot)[0]
    assert sorted(path.name for path in bot.path.iterdir()) == before
    assert built.path == built.cwd == builder.folder / "built" / "00-b"
    assert built.argv == (str(built.path / "bot"),)
    assert os.access(built.path / "bot", os.X_OK)
    assert (built.path / "sub" / "file").read_text() == "one\n"
    assert built.digest != bot.digest
    assert load_bots([str(built.path)])[0][0].digest == built.digest
    assert (builder.logs / "build-00-b.log").read_text() == "all well\n"


def test_a_build_may_leave_files_that_its_owner_cannot_read(bubblewrap_builder: Builder) -> None:
    """Package managers do; the modes are the box's own, and the packed files get others."""
    hidden = "mkdir -p deps/a; echo x > deps/a/file; chmod 000 deps/a/file deps/a; chmod 600 deps"
    built = bubblewrap_builder.build(bubblewrap_builder.bot(f"{GOOD}; {hidden}"))[0]
    assert (built.path / "deps/a/file").read_text() == "x\n"
    assert os.access(built.path / "bot", os.X_OK)


def test_a_build_may_edit_its_copy_of_the_files(builder: Builder) -> None:
    bot = builder.bot(f"echo two >> list; echo '# edited' >> build.sh; rm old/gone; {GOOD}")
    (bot.path / "list").write_text("one\n")
    (bot.path / "old").mkdir()
    (bot.path / "old" / "gone").touch()
    (bot.path / "list").chmod(0o444)
    built = builder.build(bot)[0]
    assert (built.path / "list").read_text() == "one\ntwo\n"
    assert (built.path / "build.sh").read_text().endswith("# edited\n")
    assert not (built.path / "old" / "gone").exists()
    assert (bot.path / "list").read_text() == "one\n"
    assert built.digest == load_bots([str(built.path)], sandbox.programs_of(builder.choice.name))[0][0].digest


def test_a_folder_with_two_names_is_built_once(bubblewrap_builder: Builder) -> None:
    bot = bubblewrap_builder.bot(f"echo built >&2; {GOOD}")
    plain = Path(bubblewrap_builder.folder, "plain.py")
    plain.write_text("")
    other = load_bots([str(plain)])[0][0]
    one, two, same = bubblewrap_builder.build(bot, replace(bot, name="other"), other)
    assert one.path == two.path
    assert (one.name, two.name) == ("b", "other")
    assert same == other
    assert len(list(bubblewrap_builder.logs.iterdir())) == 1


# The first error is in the middle, after warnings and before consequences.
LONG = (
    "seq 1 500; echo 'bot.c:1: error: no such type' >&2; echo '   here'; seq 501 100000; echo 'make: gave up'; exit 3"
)
SHOWN = ["[...]", "bot.c:1: error: no such type", "   here", *map(str, range(501, 509)), "[...]", "99998", "99999"]
SHOWN += ["100000", "make: gave up"]
PRINTED = [*map(str, range(1, 501)), *SHOWN[1:3], *map(str, range(501, 100_001)), "make: gave up"]


def test_a_failed_build_shows_the_first_error_and_the_end_and_keeps_the_whole_log(builder: Builder) -> None:
    output = builder.refusal(LONG).splitlines()
    assert output[0] == '"b": the build failed: exited with code 3.'
    assert output[1] == f"Full log: {builder.logs / 'build-00-b.log'}"
    assert output[2:] == [f"  {line}" for line in SHOWN]
    assert (builder.logs / "build-00-b.log").read_text().splitlines() == PRINTED


def test_a_build_that_fails_as_the_user_is_reported_in_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "build.sh").write_text(LONG)
    (tmp_path / "b" / "bot.toml").write_text('run = "./bot"\nbuild = ["sh", "build.sh"]\n')
    with pytest.raises(BuildError) as refused:
        build_all(load_bots([str(tmp_path / "b")])[0], tmp_path / "logs", LIMIT_S)
    output = str(refused.value).splitlines()
    assert output[0] == '"b": the build failed with exit code 3.'
    assert output[1] == "Run the command in the bot's folder: sh build.sh"
    assert output[2] == f"Full log: {tmp_path / 'logs' / 'build-00-b.log'}"
    assert output[3:] == [f"  {line}" for line in SHOWN]
    assert (tmp_path / "logs" / "build-00-b.log").read_text().splitlines() == PRINTED


@pytest.mark.parametrize("words", [["yes"], ["head", "-c", "20000000", "/dev/zero"]], ids=["endless", "short"])
def test_a_build_with_too_much_output_fails_and_its_log_is_cut(tmp_path: Path, words: list[str]) -> None:
    """A build as the user has no other limit of its output."""
    (tmp_path / "bot.toml").write_text(f'run = "true"\nbuild = {json.dumps(words)}\n')
    with pytest.raises(BuildError, match="printed more than 16 MB"):
        build_all(load_bots([str(tmp_path)])[0], tmp_path / "logs", LIMIT_S)
    assert [log.stat().st_size for log in (tmp_path / "logs").iterdir()] == [16 << 20]


def test_bots_with_similar_names_have_separate_logs(tmp_path: Path) -> None:
    bots = []
    for name in ("a b", "a_b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot.toml").write_text(f'run = "true"\nbuild = ["echo", "{name}"]\n')
        bots.append(replace(load_bots([f"x={tmp_path / name}"])[0][0], name=name))
    build_all(bots, tmp_path / "logs", LIMIT_S)
    assert sorted(log.read_text() for log in (tmp_path / "logs").iterdir()) == ["a b\n", "a_b\n"]


def test_a_build_that_fails_on_a_full_disk_names_the_disk(tmp_path: Path, needs: Needs) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "bot.toml").write_text('run = "true"\nbuild = "echo hi"\n')
    with small_disk(tmp_path / "disk", needs) as disk:
        (disk / "logs").mkdir()
        with suppress(OSError), (disk / "filler").open("wb", 0) as file:
            while True:
                file.write(bytes(1 << 12))
        with pytest.raises(OSError, match=r"No space left .*/disk/logs"):
            build_all(load_bots([str(tmp_path / "b")])[0], disk / "logs", LIMIT_S)


FIRST_ERRORS: dict[str, tuple[str, ...]] = {
    "rustc": ("warning: unused variable: `a`", "error[E0425]: cannot find value `b` in this scope"),
    "javac": ("Note: none", "MyBot.java:5: error: class, interface, enum, or record expected"),
    "gcc": ("gcc -O2 -Wno-error -o error.o error.c", "bot.c: In function 'main':", "bot.c:2:1: error: unknown type"),
    "gcc, in colours": ("bot.c: In function", "bot.c:2:1: \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[Kunknown type"),
    "gcc, with a sanitizer": ("gcc -fsanitize=undefined -Wl,--no-undefined -c f.c", "f.c:2:1: error: unknown type"),
    "ld": ("cc -o bot bot.o", "bot.o: undefined reference to `missing'", "collect2: error: ld returned 1 exit status"),
    "make": ("cc -c x.c", "make: cc: No such file or directory", "make: *** [Makefile:2: bot] Error 127"),
    "go": ("# bot", "./bot.go:3:5: undefined: missing"),
    "sh": ("echo begin", "sh: 1: rustc: not found"),
}


def excerpt_of(folder: Path, printed: str, command: str = "cat said") -> BuildLogExcerpt:
    """Return what is shown of a build that prints a text, or what a command prints, and fails."""
    (folder / "said").write_text(printed)
    (folder / "bot.toml").write_text(f'run = "./bot"\nbuild = ["sh", "-c", "{command}; exit 1"]\n')
    with pytest.raises(BuildError) as refused:
        build_all(load_bots([str(folder)])[0], folder / "logs", LIMIT_S)
    return refused.value.excerpt


@pytest.mark.parametrize("printed", FIRST_ERRORS.values(), ids=FIRST_ERRORS.keys())
def test_the_first_error_of_a_compiler_is_shown_first(tmp_path: Path, printed: tuple[str, ...]) -> None:
    excerpt = excerpt_of(tmp_path, "\n".join([*printed, *["more"] * 40]))
    last = -2 if printed[-1].startswith(("collect2:", "make:")) else -1
    assert excerpt.lines[:2] == (b"[...]", printed[last].encode())
    assert excerpt.partial


def test_omitted_lines_are_counted_without_blank_ones(tmp_path: Path) -> None:
    said = {
        "error: no\n\n\n" + "more\n" * 13: False,
        "begin\nerror: no\n" + "more\n" * 13: True,
        "error: no\n" + "more\n" * 14: True,
        "x" * 3000: True,
    }
    for text, partial in said.items():
        assert excerpt_of(tmp_path, text).partial is partial


def test_a_long_log_is_searched_up_to_a_bound(tmp_path: Path) -> None:
    shown = [b"%d" % number for number in (*range(1, 11), *range(299_997, 300_001))]
    assert list(excerpt_of(tmp_path, "", "seq 1 300000").lines) == [*shown[:10], b"[...]", *shown[10:]]


def test_the_end_of_a_log_at_the_bound_is_shown_once(tmp_path: Path) -> None:
    excerpt = excerpt_of(tmp_path, "x\n" * ((1 << 19) - 6) + "error: no\n0\n1\n2")
    assert list(excerpt.lines) == [b"[...]", b"error: no", b"0", b"1", b"2"]


def test_a_build_without_a_program_is_refused_with_its_path(bubblewrap_builder: Builder) -> None:
    with pytest.raises(BotError, match=r"the build created no executable bot"):
        bubblewrap_builder.build(bubblewrap_builder.bot("touch other"))


def test_a_build_has_a_time_limit(builder: Builder) -> None:
    began = time.monotonic()
    assert "the build took longer than 1 s" in builder.refusal("(setsid sleep 600 &) ; sleep 600", timeout_s=1)
    assert time.monotonic() - began < LIMIT_S


HOSTILE: dict[str, tuple[str, str]] = {
    "prints without end": ("yes", "printed more than 16 MB"),
    "prints an archive without end": ("exec yes > /proc/$PPID/fd/1", ""),
    "fills its memory": ("tail /dev/zero", "1024 MB"),
    "goes up in its archive": ("mkdir x; touch evil; tar -cPf /proc/$PPID/fd/1 ../build/../evil; kill -9 $PPID", ""),
    "makes a link out": ("ln -s /etc/passwd bot", "outside of its folder"),
    "makes a link up": ("ln -s ../../../etc bot", "outside of its folder"),
    "makes a pipe": ("mkfifo pipe", "a named pipe"),
    "makes more files than can play": ("mkdir d; cd d; seq 1 10500 | xargs touch; cd ..; " + GOOD, "10000 files"),
}


@pytest.mark.parametrize(("script", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_build_costs_only_its_own_bot(bubblewrap_builder: Builder, script: str, words: str) -> None:
    with pytest.raises(BotError) as refused:
        bubblewrap_builder.build(bubblewrap_builder.bot(script))
    assert words in str(refused.value)
    assert not (bubblewrap_builder.folder / "evil").exists()
    assert {path.name for path in bubblewrap_builder.folder.iterdir()} <= {"b", "built", "logs", "scratch"}
    if (bubblewrap_builder.folder / "scratch").exists():
        assert list((bubblewrap_builder.folder / "scratch").iterdir()) == []


# Scripts that succeed if they are blocked.
BLOCKED = (
    "test ! -e {secret}",
    "! touch /bot/evil 2>/dev/null",
    "! touch /usr/bin/evil 2>/dev/null",
    "! python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'",
    "test $(ls /proc | grep -c '^[0-9]') -lt 10",
    "test $(id -u) -ne 0",
)


def test_a_build_cannot_reach_what_a_bot_cannot(bubblewrap_builder: Builder) -> None:
    """It has this machine's files, its source, the system, a network, processes or root as little as a bot does."""
    secret = bubblewrap_builder.folder / "secret"
    secret.write_text("the other bots' code")
    attempts = "; ".join(f"{{ {script}; }} || exit {number}" for number, script in enumerate(BLOCKED, start=11))
    with socket.create_server(("127.0.0.1", 0)) as server:
        attempts = attempts.replace("{secret}", str(secret)).replace("{port}", str(server.getsockname()[1]))
        built = bubblewrap_builder.build(bubblewrap_builder.bot(f"{attempts}; {GOOD}"))[0]
    assert (built.path / "bot").exists()


def test_a_fork_bomb_in_a_build_is_stopped(bubblewrap_builder: Builder) -> None:
    output = bubblewrap_builder.refusal("b() { b | b & }; b; sleep 600", timeout_s=5)
    assert "the build " in output


# --- as a user runs it ------------------------------------------------------------------------------------------------


@pytest.fixture
def c_bot(place: Place, needs: Needs) -> Path:
    needs("gcc", None if shutil.which("gcc", path="/usr/bin") else "it isn't in /usr/bin: apt install gcc libc6-dev")
    place.bot("cbot/bot.c", (ROOT / "tests" / "bench" / "bot.c").read_text())
    return Path(place.bot("cbot/bot.toml", 'run = "./bot"\nbuild = "gcc -O1 -o bot bot.c"\n')).parent


def test_a_bot_in_c_is_built_in_the_box_and_plays(place: Place, c_bot: Path, bubblewrap: None) -> None:
    flags = ("--games", 4, "--match-games", 2, "--jobs", 1, "--sandbox", "bubblewrap", "--out", "out")
    ran = place.run("run", "cbot", *place.bots(1), *flags)
    assert ran.code == 0, ran.err
    out = place.folder / "out"
    assert sorted(path.name for path in out.iterdir()) == ["bots", "logs", "records", "results.jsonl", "run.json"]
    assert (out / "logs" / "build-00-cbot.log").exists()
    config = json.loads((out / "run.json").read_text())
    assert config["bots"][0]["path"] == str(out / "bots" / "00-cbot")
    assert sorted(path.name for path in c_bot.iterdir()) == ["bot.c", "bot.toml"]
    assert not (place.folder / "out.building").exists()
    before = (out / "results.jsonl").read_bytes()
    (out / "records" / "000001.jsonl").unlink()
    (c_bot / "bot.c").write_text("#error changed since\n")
    again = place.run("run", "--resume", "out", "--json")
    assert again.code == 0, again.err
    assert (out / "results.jsonl").read_bytes() == before
    assert {count for row in again.json["standings"] for count in row["faults_by_code"].values()} == {0}
    place.require_nothing_left()


def test_a_folder_of_the_user_is_never_replaced_by_a_build(place: Place, c_bot: Path, bubblewrap: None) -> None:
    place.bot("out.building/thesis.txt", "precious")
    ran = place.run("run", "cbot", *place.bots(1), "--sandbox", "bubblewrap", "--out", "out")
    assert ran.code == 2
    assert "out.building exists already; remove it, or name another --out" in ran.messages[0]
    assert (place.folder / "out.building" / "thesis.txt").read_text() == "precious"
