"""`arena watch`: games of bots in lines."""

import ctypes
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from arena.referee import read_record, verify_record
from tests.cli.screen import Screen
from tests.cli_workspace import ANSWER, ILLEGAL, Place, bot_text
from tests.command import completed

SAMPLES = Path(__file__).parents[2] / "sample_bots"
COMMAND = ["watch", "--sandbox", "process", "--out", "game"]
TGKILL = 234  # the system call that gives a signal to one thread, on x86_64
BOTS = [str(SAMPLES / "honest.py"), str(SAMPLES / "bluffer.py")]


def run_watch(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return completed([*COMMAND, *more], cwd=folder)


def test_a_pipe_gets_the_whole_game_at_once_in_lines(tmp_path: Path) -> None:
    done = run_watch(tmp_path, *BOTS, "--games", "2")
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("saved in game; show again: arena replay game\n"), (
        "no word of logs: no bot was at fault"
    )
    again = completed(["replay", "game"], cwd=tmp_path)
    assert done.stdout == again.stdout
    assert done.stdout.count("\nhonest wins ") + done.stdout.count("\nbluffer wins ") == 2
    record = read_record((tmp_path / "game" / "records" / "000000.jsonl").read_text(encoding="utf-8"))
    verify_record(record)
    assert len(record.games) == 2


def test_a_bot_that_fails_is_shown_with_its_fault(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(bot_text(ILLEGAL))
    done = run_watch(tmp_path, str(bad), BOTS[0])
    assert done.returncode == 0, done.stderr
    output = [line.strip() for line in done.stdout.splitlines() if "! bad: " in line]
    default = "! bad: illegal_move (the move is not in the list of legal moves); played instead: "
    assert output[0].partition(default)[2] in ("take income", "pass")
    assert "bad forfeits" in done.stdout
    assert done.stderr.endswith("again: arena replay game; what bots wrote to standard error: game/logs/\n")
    assert (tmp_path / "game" / "logs").is_dir()
    assert not any(line.endswith("#") or "forfeit" in line for line in output), "the line of a turn shows no forfeit"


@pytest.mark.needs("x86_64", None if os.uname().machine == "x86_64" else "the call's number is that machine's")
@pytest.mark.parametrize("thread", [0, -1], ids=["its first thread", "another thread"])
def test_a_closed_terminal_ends_watch_and_leaves_nothing(place: Place, thread: int) -> None:
    sign = place.folder / "started"
    silent = place.bot("silent.py", f"import sys\nopen({str(sign)!r}, 'w').close()\nsys.stdin.read()\n")
    process = place.start(*COMMAND[:3], silent, place.bot("other.py"), "--start-ms", 600_000)
    place.wait(sign.exists, process=process)
    given = sorted(int(path.name) for path in Path(f"/proc/{process.pid}/task").iterdir())[thread]
    assert ctypes.CDLL(None).syscall(TGKILL, process.pid, given, signal.SIGHUP) == 0
    assert place.end(process).code == 130
    place.require_nothing_left()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--seat", "4"], "--seat 4: the seats are 0 to 3, or a bot's name"),
        (["sample:unknown", "sample:honest"], "isn't a sample bot"),
        (["--debug", "unknown"], "--debug unknown: the bots at the table are "),
        (["--debug", "honest", "--sandbox", "docker"], "omit --sandbox docker"),
    ],
)
def test_wrong_options_of_watch_are_refused(place: Place, more: list[str], said: str) -> None:
    ran = place.call(*COMMAND, *more)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not (place.folder / "game").exists()


def test_nothing_is_played_without_a_folder_for_the_record(place: Place) -> None:
    ran = place.call("watch", "--sandbox", "process", "sample:turtle", "sample:honest", "--out", "/proc/none/game")
    assert (ran.code, ran.out) == (2, "")
    assert ran.messages[-1].startswith("arena: /proc/none/game can't be created: No such file")
    assert "playing" not in ran.err


def test_a_bot_under_a_debugger_has_no_clock_and_writes_its_process_id_to_a_file(tmp_path: Path) -> None:
    bot = tmp_path / "slow.py"
    bot.write_text(bot_text("if n == 1: print('at', os.getpid(), file=sys.stderr); time.sleep(0.2)", ANSWER))
    done = run_watch(
        tmp_path, str(bot), BOTS[0], "--debug", "slow", "--limit-ms", "50", "--bank-ms", "0", "--cpu-s", "1"
    )
    assert done.returncode == 0, done.stderr
    assert "; pdb needs a terminal for it\n" in done.stderr
    said = Path(done.stderr.partition("slow writes its standard error to ")[2].partition(";")[0])
    named, at = said.read_text().splitlines()
    said.unlink()
    assert named == f"arena: slow is process {at.split()[1]}", "the process id is the bot's own"
    record = read_record((tmp_path / "game" / "records" / "000000.jsonl").read_text(encoding="utf-8"))
    verify_record(record)
    assert [timing.timed for timing in record.header.timings] == [False, True]
    assert not record.games[0].faults


def test_pdb_has_the_terminal_while_the_match_waits(tmp_path: Path) -> None:
    """A preflight would stop in the debugger, too."""
    line = 'import pdb, sys; pdb.Pdb(stdin=open("/dev/stderr"), stdout=sys.stderr).set_trace()'
    assert line in (SAMPLES.parent / "docs/howto/bots/debug-a-decision.md").read_text(encoding="utf-8")
    bot = tmp_path / "slow.py"
    bot.write_text(bot_text(f"if n == 1: {line}", ANSWER))
    screen = Screen([*COMMAND, str(bot), BOTS[0], "--debug", "slow", "--speed", "0.05"], cwd=tmp_path)
    try:
        assert "arena: slow is process " in screen.until(r"\(Pdb\) ")
        screen.type("p 'request', m['id']\n")
        screen.until(r"\('request', 1\)")
        screen.type("c\n")
        assert re.search(r"\n +1  .*\n +2  ", screen.until("saved in game"), re.DOTALL)
        assert screen.process.wait(60) == 0
    finally:
        screen.close()
