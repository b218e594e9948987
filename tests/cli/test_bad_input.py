"""Wrong use and wrong files cause a message of one or two lines with a fix, never a traceback.

Exit code 2 before a game was played, 1 while playing. `Place.run` and `Place.call` themselves refuse tracebacks.
Source: the README.
"""

import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from arena.cli import cli
from arena.referee import read_record, write_record
from tests.cases import each
from tests.cli_workspace import Place
from tests.command import completed

PLAIN = ("--sandbox", "process", "--jobs", "1")
TINY = ("--games", 4, "--match-games", 2)


def refused(ran: Any, *words: str) -> None:
    """Check for exit code 2, nothing on stdout, and one or two lines with these words."""
    assert ran.code == 2, ran.err
    assert ran.out == ""
    assert len(ran.messages) <= 2, ran.err
    for word in words:
        assert word in "\n".join(ran.messages), ran.err


# --- bots -------------------------------------------------------------------------------------------------------------


def test_nothing_is_built_for_an_impossible_run(place: Place) -> None:
    """Numbers and the folder are checked first: a build may take minutes."""
    place.bot("folder/bot.toml", 'run = "sh -c true"\nbuild = ["sh", "-c", "touch built"]\n')
    (place.folder / "out").mkdir()
    (place.folder / "circle").symlink_to("circle")
    refused(place.call("run", *place.bots(2), "--out", "circle/out"), "circle/out")
    refused(place.call("run", *place.bots(1), "folder", "--seats", 5), "5 seats for 2 bots")
    refused(place.call("run", *place.bots(1), "folder", "--out", "out"), "out exists")
    assert not (place.folder / "folder" / "built").exists()


@pytest.mark.needs("ordinary user", "root may read everything" if os.geteuid() == 0 else None)
def test_a_file_name_that_acts_on_a_terminal_is_escaped(place: Place) -> None:
    place.bot("folder/bot.toml", 'run = "sh x"\n')
    place.bot("folder/\x1b[2J").chmod(0)
    ran = place.call("run", *place.bots(1), "folder")
    refused(ran, r"folder/\x1b[2J can't be read")


# --- numbers and names ------------------------------------------------------------------------------------------------

USES: dict[str, tuple[tuple[object, ...], tuple[str, ...]]] = {
    "one bot": (("a.py",), ("at least 2 bots, not 1", "arena run mybot.py sample:honest")),
    "more seats than bots": (("a.py", "b.py", "--seats", 3), ("3 seats for 2 bots",)),
    "match games that are no multiple of the seats": (
        ("a.py", "b.py", "--match-games", 5),
        ("5 games a match at 2 seats", "a positive multiple of 2 is needed"),
    ),
    "an image without docker": (("a.py", "b.py", "--docker-image", "x"), ("--docker-image is for --sandbox docker",)),
    "two forms of the answer": (("a.py", "b.py", "--json", "--csv"), ("choose one of", "--json and --csv")),
}


@pytest.mark.parametrize(("arguments", "words"), USES.values(), ids=USES.keys())
def test_wrong_use_is_refused_with_the_allowed_values(
    place: Place, arguments: tuple[object, ...], words: tuple[str, ...]
) -> None:
    place.bots(2)
    refused(place.call("run", *arguments, "--out", "out"), *words)
    assert not (place.folder / "out").exists()


def test_nan_and_odd_digits_are_in_no_range(place: Place) -> None:
    for words in (("compare", "--min-effect", "nan"), ("run", "--cores", "1_0"), ("watch", "--games", "\uff11")):
        ran = place.call(*words)
        assert (ran.code, f"'{words[1]}': '{words[2]}' is not a number" in ran.err) == (2, True), ran.err


# --- the folder -------------------------------------------------------------------------------------------------------


def test_an_existing_folder_is_never_written_to(place: Place, finished_run_copy: Path) -> None:
    place.bots(2)
    (place.folder / "empty").mkdir()
    (place.folder / "link").symlink_to("nowhere")
    for name in ("empty", "a.py", "link", "."):
        refused(place.call("run", "a.py", "b.py", *TINY, "--out", name), f"{name} exists; name another --out")
    assert list((place.folder / "empty").iterdir()) == []
    before = tree(finished_run_copy)
    refused(place.call("run", "a.py", "b.py", *TINY, "--out", "out"), "or continue with --resume out")
    assert tree(finished_run_copy) == before


def tree(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_that_cannot_be_made_is_named(place: Place) -> None:
    refused(place.run("run", *place.bots(2), *TINY, "--out", "a.py/deep/out"), "name another --out")
    place.require_nothing_left()


def test_a_full_disk_ends_the_run_and_keeps_complete_matches(place: Place) -> None:
    """A limit on the size of files stands for the full disk: the records stay below it, the list of results doesn't."""
    limit = 4096
    arguments = [*place.bots(2), "--games", "40", "--match-games", "2", "--out", "out"]
    ran = place.run("run", *arguments, file_bytes=limit)
    assert ran.code == 1
    assert "the results can't be written: " in ran.messages[0]
    assert "arena run --resume out" in ran.messages[1]
    assert "games of coup at 2 seats" in ran.out, "the standings so far"
    kept = sorted((place.folder / "out" / "records").iterdir())
    assert 0 < len(kept) < 20
    assert all(path.suffix == ".jsonl" for path in kept), "half a record is never left under a record's name"
    place.require_nothing_left()
    before = {path: path.read_bytes() for path in kept}
    place.twin("out", "whole")
    for name in ("out", "whole"):
        assert place.run("run", "--resume", name).code == 0
    assert {path: path.read_bytes() for path in kept} == before
    found, whole = (place.folder / name / "results.jsonl" for name in ("out", "whole"))
    assert found.stat().st_size > limit
    assert found.read_bytes() == whole.read_bytes()


@pytest.mark.needs("/dev/full", None if Path("/dev/full").exists() else "the system has no such file")
def test_a_full_stdout_is_reported_and_the_results_are_kept(place: Place) -> None:
    place.bots(2)
    with Path("/dev/full").open("w") as full:
        command = ["run", "a.py", "b.py", *map(str, TINY), "--out", "out", *PLAIN]
        process = completed(command, cwd=place.folder, env=place.environment(), stdout=full)
    assert process.returncode == 1
    assert "Traceback" not in process.stderr
    output = process.stderr.splitlines()[-1]
    assert output == "arena: standard output can't be written: No space left on device; the results are in out"
    assert len((place.folder / "out" / "results.jsonl").read_text().splitlines()) == 4
    for command in ("stats", "replay"):
        page = place.call(command, "out", "--html", "/dev/full")
        assert (page.code, page.err) == (1, "arena: /dev/full: No space left on device; name another file\n")
    study = place.call("study", "report", "out")
    refused(study, "this is a folder of arena run, not of arena study run: resume it with arena run --resume")
    for words in (["--help"], ["run", "--help"], ["--version"]):
        with Path("/dev/full").open("w") as full:
            process = completed(words, cwd=place.folder, env=place.environment(), stdout=full)
        assert (process.returncode, process.stderr) == (1, "arena: No space left on device\n")


def test_a_closed_stdout_ends_the_run_without_a_message(place: Place) -> None:
    place.bots(2)
    reading, writing = os.pipe()
    os.close(reading)
    command = ["run", "a.py", "b.py", *map(str, TINY), "--out", "out", *PLAIN]
    process = completed(command, cwd=place.folder, env=place.environment(), stdout=writing)
    os.close(writing)
    assert process.returncode == 0
    assert [line.split(":")[0] for line in process.stderr.splitlines()[-2:]] == ["sandbox", "clock"]
    assert len((place.folder / "out" / "results.jsonl").read_text().splitlines()) == 4


# --- resume -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished_run(places: Callable[[], Place]) -> Path:
    place = places()
    assert place.run("run", *place.bots(2), *TINY, "--out", "out").code == 0
    return Path(place.folder) / "out"


@pytest.fixture
def finished_run_copy(place: Place, finished_run: Path) -> Path:
    return Path(shutil.copytree(finished_run, place.folder / "out"))


PATHS = [
    "run gone a.py",
    "check gone --sandbox process",
    "play gone",
    "exploit gone",
    "compare gone a.py --against a.py",
    "run --resume gone",
    "stats gone",
    "replay gone",
    "review gone --bot a",
    "feed gone --seat A",
    "verify gone",
    "submit https://localhost a.py --token-file gone",
    "ladder run ladder --tls-ca gone",
    "ladder submit ladder --from gone",
]


@each("words", PATHS)
def test_a_missing_path_is_one_sentence_and_a_remedy(words: str, place: Place) -> None:
    place.bots(1)
    ran = place.call(*words.split())
    assert re.search(r"\bgone doesn't exist\.\n\W*[A-Z].+\.$", ran.out + ran.err, re.M), ran.out + ran.err


def test_resume_refuses_options_that_would_change_the_run(place: Place, finished_run_copy: Path) -> None:
    for extra, named in (
        (("a.py",), "BOT"),
        (("--games", 600), "--games"),
        (("--seed", 4, "--strict"), "--seed, --strict"),
        (("--match-games", 2), "--match-games"),
        (("--out", "x"), "--out"),
    ):
        refused(
            place.call("run", "--resume", "out", *extra), f"omit {named} (allowed: --jobs, --budget, --json and --csv)"
        )
    refused(place.call("study", "run", "my.toml", "--resume", "out"), "omit FILE (allowed: --jobs and --budget)")


def test_a_run_with_a_changed_bot_is_not_resumed(place: Place, finished_run: Path, finished_run_copy: Path) -> None:
    bot = finished_run.with_name("b.py")
    text = bot.read_text()
    bot.write_text(text + "\n")
    refused(place.call("run", "--resume", "out"), '"b" has changed since the run began', "Start a new run")
    bot.write_text(text)
    assert place.run("run", "--resume", "out").code == 0


def test_a_file_is_no_folder_of_a_run(place: Place) -> None:
    place.bots(1)
    refused(place.call("run", "--resume", "a.py"), "a.py isn't the folder of a run", "name another folder")


def test_a_bot_that_changes_while_it_plays_ends_the_run(place: Place) -> None:
    one, two = place.bots(2)
    process = place.start("run", one, two, "--games", 10_000, "--match-games", 2, "--out", "out", *PLAIN)
    place.wait((place.folder / "out" / "records" / "000000.jsonl").exists, process=process)
    (place.folder / two).write_text((place.folder / two).read_text() + "\n# better\n")
    ran = place.end(process)
    assert (ran.code, "games of coup at 2 seats" in ran.out) == (1, True), ran.err
    assert ran.messages[0].startswith('arena: "b" has changed since the run began')
    place.require_nothing_left()


CONFIGS: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    "is of another version": (
        lambda config: json.dumps({**config, "run": 4}),
        "version 4, but this arena reads version 8",
    ),
    "has a seed that is no number": (lambda config: json.dumps({**config, "seed": [1]}), "was changed"),
    "has rules of another arena": (
        lambda config: json.dumps({**config, "terms": {**config["terms"], "rules": {"castle": 9}}}),
        "was changed",
    ),
}


@pytest.mark.parametrize(("change", "words"), CONFIGS.values(), ids=CONFIGS.keys())
def test_a_run_json_that_was_changed_is_refused(
    place: Place, finished_run_copy: Path, change: Callable[[dict[str, Any]], str], words: str
) -> None:
    config = finished_run_copy / "run.json"
    config.write_text(change(json.loads(config.read_text())))
    refused(place.call("run", "--resume", "out"), words)


def test_a_run_that_others_could_have_changed_is_not_resumed(place: Place, finished_run_copy: Path) -> None:
    """run.json names the programs that start as the user."""
    for changed in (finished_run_copy, finished_run_copy / "run.json"):
        mode = stat.S_IMODE(changed.stat().st_mode)
        for others in (0o020, 0o002):
            changed.chmod(mode | others)
            refused(place.call("run", "--resume", "out"), f"others may write to {changed.relative_to(place.folder)}")
        changed.chmod(mode)
    if os.geteuid() == 0:
        for changed in (finished_run_copy, finished_run_copy / "run.json"):
            os.chown(changed, 4321, -1)
            refused(place.call("run", "--resume", "out"), f"{changed.relative_to(place.folder)} belongs to user 4321")
            os.chown(changed, 0, -1)
    elsewhere = (finished_run_copy / "run.json").rename(place.folder / "theirs")
    (finished_run_copy / "run.json").symlink_to(elsewhere)
    refused(place.call("run", "--resume", "out"), "out/run.json is a link")


def test_a_command_that_is_not_the_bots_own_is_not_started(place: Place, finished_run_copy: Path) -> None:
    ran = place.run("run", "--resume", "out")
    assert ran.code == 0
    assert re.search(r"^a: .+/a\.py$", ran.err, re.MULTILINE)
    config = finished_run_copy / "run.json"
    asked = json.loads(config.read_text())
    asked["bots"][0]["argv"] = ["/bin/sh", "-c", "touch /tmp/\x1b[2J"]
    config.write_text(json.dumps(asked))
    refused(place.call("run", "--resume", "out"), '"a" has changed: the run starts it', "Start a new run: ")


def test_a_record_of_other_bots_is_named_and_its_match_can_be_played_again(
    place: Place, finished_run_copy: Path
) -> None:
    before = (finished_run_copy / "results.jsonl").read_bytes()
    record = finished_run_copy / "records" / "000000.jsonl"
    played = read_record(record.read_text())
    bots = tuple(bot.replace("b", "other") for bot in played.header.bots)
    record.write_text(write_record(replace(played, header=replace(played.header, bots=bots))))
    refused(place.run("run", "--resume", "out"), "match 0 has the bot 'other', but the run hasn't: remove its record")
    record.unlink()
    assert place.run("run", "--resume", "out").code == 0
    assert (finished_run_copy / "results.jsonl").read_bytes() == before


def test_a_run_that_is_being_played_is_not_resumed(place: Place) -> None:
    """Two processes in one folder would count matches twice and remove each other's files."""
    process = place.start("run", *place.bots(2), "--games", 10_000, "--match-games", 2, "--out", "out")
    place.wait((place.folder / "out" / "records" / "000000.jsonl").exists, process=process)
    refused(place.call("run", "--resume", "out"), "out is in use by another arena process", "wait until it ends")
    process.send_signal(signal.SIGTERM)
    assert place.end(process).code == 130
    place.require_nothing_left()


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_wants_a_run_or_a_record(place: Place, finished_run_copy: Path) -> None:
    (place.folder / "empty").mkdir()
    (place.folder / "binary").write_bytes(b"\xff\xfe\n")
    refused(place.call("verify", "empty"), "empty contains no records.\nName a run's folder or a record file.")
    refused(place.call("verify", "binary"), "binary isn't a valid record: it isn't text")
    refused(place.call("verify"), "Missing argument")
    refused(place.call("verify", "out/run.json"), "out/run.json: ")


@each("command", [("run", *TINY), ("watch", "--sandbox", "process"), ("check", "--quick", "--sandbox", "process")])
def test_without_any_temporary_folder_a_command_is_refused_in_one_line(place: Place, command: tuple[str, ...]) -> None:
    """Python accepts only a folder in which it can write a file."""
    ran = place.run(*command, *place.bots(2), file_bytes=0)
    assert ran.code == (1 if command[0] == "check" else 2)
    (line,) = ran.messages
    assert line.startswith("arena: No usable temporary directory found in ")


@each("command", [("replay",), ("stats",), ("verify",), ("watch", "--out"), ("play", "--out"), ("replay", "--html")])
def test_a_path_that_the_system_refuses_is_reported_in_one_line(
    place: Place, finished_run_copy: Path, command: tuple[str, ...]
) -> None:
    """A name that is too long stands for another user's folder, which root may read."""
    ran = place.call(*command, "n" * 300, *(["out"] if "--html" in command else []))
    assert (ran.code, ran.out) == (1 if "--html" in command else 2, "")
    assert "nnn: File name too long" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_ctrl_c_while_modules_are_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-c", "import arena.cli"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"},
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


@each(
    "problem, output",
    [
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "arena: /x: Permission denied\n"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), ""),
    ],
)
def test_an_unexpected_error_does_not_exit_with_2(problem: OSError, output: str) -> None:
    """Exit code 2 keeps systemd from restarting a ladder's runner (docs/coup-ladder.service)."""

    @click.command()
    def breaks() -> None:
        raise problem

    commands = type(cli)(name="arena")
    commands.add_command(breaks)
    done = CliRunner().invoke(commands, ["breaks"])
    assert (done.exit_code, done.stderr) == (1, output)
    assert (done.exception is problem) == (output == "")
