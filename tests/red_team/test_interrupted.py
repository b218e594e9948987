"""`make attack` on its way: its progress, and what stays of it when it is interrupted or killed.

The signals are real, and come once a first result is there.
"""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.sandbox import NAMES
from tests.red_team import ROWS, Result, expected_results, stage

Needs = Callable[[str, str | None], None]
ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0
SETTLE_S = 60.0  # for the kernel to end what it was told to end


class Attack:
    """The command, with a terminal as its stderr if `terminal`, in a session of its own."""

    def __init__(self, tmp: Path, *arguments: str, terminal: bool = True) -> None:
        self.tmp = tmp
        self.tmp.mkdir(exist_ok=True)
        self.terminal, their_end = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-W", "error", "-m", "tests.red_team", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp), "TERM": "xterm", "COLUMNS": "200"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=their_end,
            start_new_session=True,
        )
        os.close(their_end)
        self.told = ""

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until its stderr says something."""
        deadline = time.monotonic() + LIMIT_S
        while (found := re.search(pattern, self.told)) is None:
            assert self._hear(deadline - time.monotonic()), f"in vain: {self.told}"
        return found

    def _hear(self, seconds: float) -> bool:
        """Read more of its stderr; False at its end, or when the time is up."""
        if not select.select([self.terminal], [], [], max(0.0, seconds))[0]:
            return False
        try:
            data = os.read(self.terminal, 65536)
        except OSError:  # what a terminal says when its other side has ended
            return False
        self.told += data.decode(errors="replace")
        return data != b""

    def end(self) -> tuple[int, str]:
        """Wait for its end; return the exit code and its stdout."""
        deadline = time.monotonic() + LIMIT_S
        while self._hear(deadline - time.monotonic()):
            pass
        out, _ = self.process.communicate(timeout=LIMIT_S)
        assert "Traceback" not in self.told, self.told
        return self.process.returncode, out.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=LIMIT_S)
        os.close(self.terminal)

    def folders(self) -> list[Path]:
        """Return its folders that others may look into."""
        return list(stage.PUBLIC.glob(f"{stage.REACHABLE}{self.process.pid}-*"))

    def descendants(self) -> set[int]:
        """Return the processes that descend from it."""
        parents: dict[int, int] = {}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parents[int(path.name)] = int((path / "stat").read_bytes().rpartition(b")")[2].split()[1])
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found - {self.process.pid}

    def groups(self) -> list[Path]:
        """Return its control groups."""
        return [Path(top, n) for top, names, _ in os.walk("/sys/fs/cgroup") for n in names if self._own(n)]

    def _own(self, name: str) -> bool:
        return name.startswith(f"arena.{self.process.pid}.")


@pytest.fixture
def attack(tmp_path: Path) -> Iterator[Callable[..., Attack]]:
    """Give a maker of running commands, which are killed afterwards."""
    with contextlib.ExitStack() as closing:

        def start(*arguments: str, terminal: bool = True) -> Attack:
            made = Attack(tmp_path / "tmp", *arguments, terminal=terminal)
            closing.callback(made.close)
            return made

        yield start


def settle(what: Callable[[], object]) -> None:
    """Wait until nothing is left of something."""
    deadline = time.monotonic() + SETTLE_S
    while left := what():
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


@pytest.mark.parametrize("box", NAMES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_attack_prints_what_it_saw_exits_with_130_and_leaves_nothing(
    attack: Callable[..., Attack], needs: Needs, box: str, number: signal.Signals
) -> None:
    """Source: README, exit codes. The signal goes to all of its process group, as Ctrl-C does."""
    needs(box, stage.missing(box))
    running = attack("--box", box)
    running.wait_for(r"(?<!\d)1 of \d+ attacks, 0 not as expected; \w+: an honest match")
    assert running.folders()
    family = running.descendants()
    assert family
    os.killpg(running.process.pid, number)
    code, out = running.end()
    assert code == 130, running.told
    assert "an honest match" in out
    assert re.search(r"^\d+ attacks, 0 not as expected$", out, re.MULTILINE), out
    said = " ".join(running.told.split())
    assert said.endswith("interrupted: the others weren't made")
    assert running.folders() == []
    assert list(running.tmp.iterdir()) == []
    settle(lambda: {pid for pid in family if Path(f"/proc/{pid}").exists()})
    settle(running.groups)


def test_an_interrupted_attack_prints_json_too(attack: Callable[..., Attack], needs: Needs) -> None:
    """What is on stdout is whole, whenever it ends."""
    needs("process", stage.missing("process"))
    running = attack("--box", "process", "--json")
    running.wait_for(r"(?<!\d)2 of \d+ attacks")
    running.process.send_signal(signal.SIGINT)
    code, out = running.end()
    assert code == 130
    found = [Result(**result) for result in json.loads(out)]
    assert len(found) >= 2
    assert found[0].title == "an honest match (honest)"


def test_an_early_interruption_is_one_line(attack: Callable[..., Attack]) -> None:
    """Before the first result there is no table. The first attack takes 300 ms: a signal may come after it."""
    for _ in range(8):
        running = attack("--box", "process", terminal=False)
        running.wait_for("attacking process")
        running.process.send_signal(signal.SIGTERM)
        code, out = running.end()
        assert code == 130
        assert "\x1b" not in running.told + out
        assert "\r" not in running.told
        if not out:
            break
    assert out == ""
    assert running.told.splitlines()[-1] == "interrupted: before the first attack"


def test_the_next_start_removes_what_a_killed_attack_left_and_no_living_ones(
    attack: Callable[..., Attack], needs: Needs
) -> None:
    """A folder in /var/tmp is locked for as long as its arena lives; nobody else would ever remove it."""
    needs("process", stage.missing("process"))
    dead, living = attack("--box", "process"), attack("--box", "process")
    for running in (dead, living):
        running.wait_for(r"(?<!\d)1 of \d+ attacks")
    (left,) = dead.folders()
    dead.process.send_signal(signal.SIGKILL)
    dead.process.wait(LIMIT_S)
    assert left.exists()
    (theirs,) = living.folders()
    deadline = time.monotonic() + LIMIT_S
    while left.exists():  # a child that was just being started holds the lock until it becomes another program
        assert time.monotonic() < deadline, "it is still there"
        stage.remove_dead_folders()
        time.sleep(0.01)
    assert theirs.exists()


@pytest.mark.needs("root", None if os.getuid() == 0 else "it makes a folder for another user")
def test_a_folder_of_another_user_or_a_link_is_never_removed(tmp_path: Path) -> None:
    """/var/tmp is everybody's: names that begin like ours may be theirs."""
    link = stage.PUBLIC / f"{stage.REACHABLE}link-of-{os.getpid()}"
    theirs = stage.PUBLIC / f"{stage.REACHABLE}theirs-of-{os.getpid()}"
    kept = tmp_path / "kept"
    kept.write_text("")
    link.symlink_to(tmp_path)
    theirs.mkdir()
    try:
        os.chown(theirs, stage.USER, stage.USER)
        stage.remove_dead_folders()
        assert kept.exists()
        assert link.is_symlink()
        assert theirs.is_dir()
    finally:
        link.unlink()
        theirs.rmdir()


def test_the_number_of_results_to_come_is_known() -> None:
    """The progress says how many of how many: an honest match, and the programs of each row, in each box."""
    assert expected_results(["process", "docker"], [7]) == 4
    assert expected_results(["docker"], [1, 9, 18, 46, 55, 73]) == 1 + 1 + 2 + 1 + 1 + 4
    assert expected_results(["docker"], ROWS) == expected_results(["docker"])
