"""`arena play`: through pipes, and on a pseudo-terminal."""

import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.referee import Record, read_record, verify_record
from tests.cli.screen import Screen
from tests.cli_workspace import ANSWER, ILLEGAL, Place, bot_text
from tests.command import Command, completed
from tests.disk import fill
from tests.sandbox.talk import until

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_bots"
COMMAND = ["play", "--sandbox", "process", "--out", "game"]
PROMPT = r"\n\r?> $"


def load_record(folder: Path) -> Record:
    found = read_record((folder / "game" / "records" / "000000.jsonl").read_text(encoding="utf-8"))
    verify_record(found)
    return found


def play_piped(folder: Path, typed: str, *more: str) -> subprocess.CompletedProcess[str]:
    return completed([*COMMAND, *more], typed, cwd=folder)


class Piped(Command):
    """A command on pipes; `said` is its output as far as it was read."""

    def __init__(self, words: list[str], folder: Path) -> None:
        super().__init__(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, text=False
        )
        self.said = b""

    def type(self, keys: bytes) -> None:
        assert self.stdin is not None
        self.stdin.write(keys)
        self.stdin.flush()

    def until(self, pattern: bytes) -> None:
        assert self.stdout is not None
        while not re.search(pattern, self.said, re.DOTALL):
            got = os.read(self.stdout.fileno(), 65536)
            assert got, self.said
            self.said += got

    def rest(self) -> tuple[bytes, bytes]:
        """Return what is left of its output, and its standard error."""
        assert self.stdout is not None
        assert self.stderr is not None
        return self.stdout.read(), self.stderr.read()


def require_no_process(folder: Path) -> None:
    """Wait until the kernel has ended all processes that were killed."""
    until(lambda: not find_processes(folder), f"{find_processes(folder)} are left")


def find_processes(folder: Path) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (
                str(folder) in os.readlink(process / "cwd")
                or str(folder).encode() in (process / "cmdline").read_bytes()
            ):
                found.append(process.name)
        except OSError:
            continue
    return found


# --- through pipes ----------------------------------------------------------------------------------------------------


def test_a_scripted_person_plays_a_whole_match(tmp_path: Path) -> None:
    rng = random.Random(1)
    typed = "\n".join(
        rng.choice(["1", "1", "", "p", "2", "3", "5", "h", "l", "?", "t", "nonsense"]) for _ in range(3000)
    )
    done = play_piped(tmp_path, f"{typed}\n", "--games", "2", "--name", "Ann")
    assert "at the table: sample:opportunist, sample:honest, sample:bluffer" in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout
    assert re.search(r"You are [A-D], in seat [0-3] of 4", done.stdout)
    found = load_record(tmp_path)
    assert found.header.bots == ("opportunist", "honest", "bluffer", "Ann")
    assert re.search(r"[A-D] was \w+; [A-D] was \w+; [A-D] was \w+\n", done.stdout)
    assert re.search(r"opportunist won \d, honest won \d, bluffer won \d, Ann won \d", done.stdout)


def test_changing_ones_own_side_is_choosing_oneself(tmp_path: Path) -> None:
    done = play_piped(tmp_path, "1\nv\n1\n\n" * 5, "--rules", "reformation", "--seats", "3", "--seed", "1")
    assert re.search(r"\n 1 +yourself\n 2 ", done.stdout)
    assert "nobody" not in done.stdout


def test_the_end_of_input_leaves_and_keeps_the_games(tmp_path: Path) -> None:
    done = play_piped(tmp_path, "1\n", str(SAMPLES / "honest.py"), str(SAMPLES / "turtle.py"))
    assert done.returncode == 0, done.stderr
    assert "You leave" in done.stdout
    (game,) = load_record(tmp_path).games
    assert [(fault.bot, fault.code) for fault in game.faults] == [(2, "exited")]
    assert done.stdout.endswith("saved in game; all cards: arena replay game\n"), "no bot was at fault"


def test_lines_fit_forty_columns_and_ascii(tmp_path: Path) -> None:
    """A pipe has no width, so a test below tries the terminal's; this one tries the characters."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = completed([*COMMAND, str(SAMPLES / "bluffer.py")], "1\n" * 40, cwd=tmp_path, env=environment)
    assert done.stdout.isascii()
    assert "\\x" not in done.stdout


def test_rules_for_two_need_no_option_for_seats(tmp_path: Path) -> None:
    shown = play_piped(tmp_path, "1\n" * 40, "--rules", "duel").stdout
    assert " of 2. " in shown
    assert " out " not in shown.partition("Which card")[0], "before the draft both are in the game, without cards"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--name", "a/b"], 'contains "/"'),
        (["--seats", "2", "a.py", "b.py"], "--seats 2 is too few for 2 bots and you"),
        (["--rules", "duel", "--seats", "3"], "to two players"),
        (["nothing.py"], "nothing.py"),
        (["--name", "honest", "sample:honest"], "a bot has the name 'honest'"),
        (["You=sample:honest"], 'a bot has the name "you", which means you on the screen: name it with NAME=PATH'),
        (["--out", "."], "exists; name another --out"),
    ],
)
def test_impossible_options_are_refused(place: Place, more: list[str], said: str) -> None:
    ran = place.call(*COMMAND, *more)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not list(place.folder.iterdir())


def test_a_fault_of_a_bot_is_explained_after_the_game(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(bot_text(ILLEGAL))
    done = play_piped(tmp_path, "1\n" * 60, str(bad))
    said = " ".join(done.stdout.split())
    over = re.search("(You win!|[AB] wins\\.)", said)
    assert over is not None
    faults = "! [AB]: illegal_move .[0-9]+ times.: the move is not in the list of legal moves; send one element of"
    assert re.search(faults, said[over.end() :])
    assert "!" not in said[: over.start()]
    assert "999" not in done.stdout
    load_record(tmp_path)


def test_sigterm_leaves_no_process_no_build_and_a_complete_record(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "bot.py").write_text((ROOT / "tests" / "plain" / "honest.py").read_text())
    (tmp_path / "good" / "bot.toml").write_text('run = "python3 bot.py"\nbuild = "echo hi"\n')
    with Piped([*COMMAND, "good"], tmp_path) as process:
        process.until(rb"\n> \Z")
        assert list(tmp_path.glob("*.building")), "it is built here"
        process.terminate()
        assert b"saved in game" in process.rest()[0]
    assert process.returncode == 130
    assert len(load_record(tmp_path).games) == 1
    require_no_process(tmp_path)
    assert list(tmp_path.glob("*.building")) == []


def test_a_kill_loses_no_game_that_has_ended(tmp_path: Path) -> None:
    with Piped([*COMMAND, "--seats", "2", "--games", "2"], tmp_path) as process:
        process.type(b"1\n" * 500)
        process.until(b"the next game; q: leave")
        process.kill()
    assert len(load_record(tmp_path).games) == 1


def test_a_full_disk_does_not_end_the_match(tmp_path: Path, small_disk: Path) -> None:
    with Piped([*COMMAND[:-1], str(small_disk / "game"), "--seats", "2", "--games", "2"], tmp_path) as process:
        process.until(rb"\n> \Z")
        fill(small_disk / "filler")
        for typed, expected in ((b"1\n" * 500, b"the next game; q: leave"), (b"\n1\n", b"Game 2 of 2")):
            process.type(typed)
            process.until(expected)
        shutil.rmtree(small_disk / "filler")
        assert process.stdin is not None
        process.stdin.close()
        assert b"can't be written now" in process.rest()[1]
    assert process.returncode == 0
    shutil.copytree(small_disk / "game", tmp_path / "game")
    assert len(load_record(tmp_path).games) == 2


def test_the_third_ctrl_c_leaves_a_hanging_bot_and_keeps_the_earlier_games(tmp_path: Path) -> None:
    """The second one prints which bot the command waits for. The bot's process ends with the command."""
    hangs = tmp_path / "hangs.py"
    hangs.write_text(bot_text(ANSWER, line="while m.get('game') == 1: time.sleep(1)"))
    with Piped([*COMMAND, str(hangs), "--games", "2", "--limit-ms", "60000"], tmp_path) as process:
        process.type(b"1\n\n" * 500)
        for expected in (b"Game 2 of 2.*waiting for", b"You leave", b"Ctrl-C again leaves immediately"):
            process.until(expected)
            process.send_signal(signal.SIGINT)
        rest, errors = process.rest()
        assert b"Traceback" not in errors
    assert process.returncode == 130
    assert re.search(rb"The game isn't saved\.\n... waiting for [AB]; Ctrl-C again", process.said)
    assert b"saved in game" in rest
    assert len(load_record(tmp_path).games) == 1
    require_no_process(tmp_path)


def test_one_opponent_under_a_debugger_writes_to_a_file_while_the_table_is_shown(tmp_path: Path) -> None:
    done = play_piped(tmp_path, "q\ny\n", str(SAMPLES / "honest.py"), "--debug", "honest")
    assert "Traceback" not in done.stderr
    said = Path(done.stderr.partition("honest writes its standard error to ")[2].partition(";")[0])
    assert "; pdb needs --browser\n" in done.stderr
    assert said.read_text().startswith("arena: honest is process ")
    said.unlink()
    assert [timing.timed for timing in load_record(tmp_path).header.timings] == [False, False]


def test_a_player_makes_a_statement_where_the_rules_have_talk(tmp_path: Path) -> None:
    """It is typed in the line of the "/" or in the next one; an empty line withdraws it."""
    typed = "/ nonsense\n/\n\n/\nPeace, friend?\n1\n/ hold duke\n1\n"
    done = play_piped(tmp_path, typed, str(SAMPLES / "honest.py"), "--rules", "open-table")
    assert "/ say something" in done.stdout
    assert done.stdout.count("You say nothing.") == 1
    assert done.stdout.count("All players hear it with your move.") == 3
    assert "You say: “Peace, friend?”" in done.stdout
    assert re.search("say: I hold the duke", done.stdout)


# --- on a terminal ----------------------------------------------------------------------------------------------------


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    made = Screen([*COMMAND, str(SAMPLES / "honest.py"), str(SAMPLES / "turtle.py")], 24, cwd=tmp_path)
    yield made
    made.close()


def test_lines_are_typed_and_fit_a_narrow_terminal(screen: Screen, tmp_path: Path) -> None:
    screen.until(PROMPT)
    for typed, said in (
        ("h", "Probability that each player holds a role"),
        ("l", ""),
        ("?", "You have no time limit"),
        ("x 1", "x[?] Type 1 to"),
    ):
        screen.type(f"{typed}\n")
        drawn = screen.until(PROMPT)
        assert re.search(said, " ".join(drawn.split()))
        assert max(len(line.rstrip("\r")) for line in drawn.split("\n")) <= 24
    screen.type("1\n")
    assert re.search("(take income|pass)\r\n", screen.until(PROMPT))
    screen.type("q y\n")
    assert "saved" in screen.until("replay")
    assert screen.process.wait(60) == 0
    assert len(load_record(tmp_path).games) == 1


def test_ctrl_c_at_the_question_for_a_target_leaves_a_complete_record(screen: Screen, tmp_path: Path) -> None:
    asked = screen.until(PROMPT)
    while "Your turn" not in asked:
        screen.type("1\n")
        asked = screen.until(PROMPT)
    screen.type("s\n")
    screen.until(r"player\? > $")
    os.killpg(screen.process.pid, signal.SIGINT)
    screen.until("saved")
    assert screen.process.wait(60) == 130
    assert len(load_record(tmp_path).games) == 1
    require_no_process(tmp_path)


def test_a_closed_terminal_leaves_no_process_and_a_complete_record(screen: Screen, tmp_path: Path) -> None:
    screen.until(PROMPT)
    screen.hang_up()
    screen.process.wait(60)
    assert len(load_record(tmp_path).games) == 1
    require_no_process(tmp_path)
