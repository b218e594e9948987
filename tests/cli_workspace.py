"""A workspace for tests of the command: a folder with bots, a folder for temporary files, and processes."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from arena.checks import CHECK_KEY
from arena.cli import cli
from arena.coup import derive_key
from tests.command import LIMIT_S, Command

ROOT = Path(__file__).parents[1]
SETTLE_S = 60  # for the kernel to end killed processes

# The bot_seed of the preflight, by which a bot that is to be faulty only in the run itself recognizes it.
LOOK_SEED = derive_key(CHECK_KEY, "bot|0").hex()[:32]

# Its moves depend on its seed and on nothing else.
BOT = f"""#!{sys.executable} -SI
import json, sys, zlib

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        seed = message["bot_seed"]
        print('{{"type":"hello"}}', flush=True)
    elif message["type"] == "request":
        choice = zlib.crc32(f"{{seed}} {{message['id']}}".encode()) % len(message["legal"])
        print(json.dumps({{"id": message["id"], "choice": choice}}), flush=True)
"""


# The same, which starts in half the time: only checks need json.
QUICK_BOT = f"""#!{sys.executable} -SI
import sys, zlib

for line in sys.stdin:
    if line.startswith('{{"type":"hello"'):
        seed = line.partition('"bot_seed":"')[2].partition('"')[0]
        print('{{"type":"hello"}}', flush=True)
        continue
    if line.startswith('{{"type":"request"'):
        number = line.partition('"id":')[2].partition(",")[0]
        moves = line.partition('"legal":[')[2].partition('],"clock"')[0].count("{{")
    elif line.startswith('{{"type":'):
        continue
    else:
        import json

        message = json.loads(line)
        if message["type"] != "request":
            continue
        number, moves = message["id"], len(message["legal"])
    choice = zlib.crc32(f"{{seed}} {{number}}".encode()) % moves
    print(f'{{{{"id":{{number}},"choice":{{choice}}}}}}', flush=True)
"""


ANSWER = "print(json.dumps({'id': m['id'], 'choice': 0}), flush=True)"
ILLEGAL = ANSWER.replace("0", "999")


def bot_text(*request: str, line: str = "pass") -> str:
    """Return a bot that greets and runs these lines for each request `m` of the run; `n` counts them from 1.

    It takes the first move in the preflight. line: runs for each message.
    """
    separator = "\n        "
    return f"""#!{sys.executable} -uSI
import json, os, sys, time
n, looked_at = 0, False
for line in sys.stdin:
    m = json.loads(line)
    {line}
    if m["type"] == "hello":
        looked_at = m["bot_seed"] == "{LOOK_SEED}"
        print('{{"type":"hello"}}', flush=True)
    elif m["type"] == "request" and looked_at:
        {ANSWER}
    elif m["type"] == "request":
        n += 1
        {separator.join(request)}
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def messages(self) -> list[str]:
        """Return the lines of an error message, without the notes before it."""
        lines = self.err.splitlines()
        start = max(number for number, line in enumerate(lines) if line.startswith(("arena: ", "Error: ")))
        return lines[start:]


def in_process(arguments: Sequence[object]) -> list[str]:
    """Return the command's words; a run has plain processes and one worker, the fastest, unless they name others."""
    words = [str(argument) for argument in arguments]
    if words[:1] not in (["run"], ["compare"]) or {"--help", "--json-schema"} & set(words):
        return words
    if not {"--sandbox", "--resume"} & set(words):
        words += ["--sandbox", "process"]
    if "--jobs" not in words:
        words += ["--jobs", "1"]  # starting a second worker takes longer than it saves in a small run
    return words


# Ctrl-C may come while a file is opened or a program started, which then only the collector closes, or in a hook of
# logging at a fork.
HALF_OPEN = re.compile(
    r"^Exception ignored in: (?:<_io\..*\n(?:Traceback .*\n(?:  .*\n)+)?ResourceWarning: unclosed .*\n"
    r"|<function Popen\.__del__ .*\nTraceback .*\n(?:  .*\n)+ResourceWarning: subprocess .* is still running\n"
    r"|<function _releaseLock .*\nTraceback .*\n(?:  .*\n)+KeyboardInterrupt.*\n)",
    re.M,
)


class Place:
    """A user's folder; `tmp` is where the command and the bots put temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "user"
        self.tmp = folder / "tmp"
        self.folder.mkdir()
        self.tmp.mkdir()
        self.started: list[subprocess.Popen[str]] = []

    def bot(self, name: str, text: str = QUICK_BOT) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def bots(self, count: int = 2) -> list[str]:
        return [self.bot(f"{letter}.py").name for letter in "abcdefghij"[:count]]

    def start(self, *arguments: object, file_bytes: int | None = None, **environment: str) -> "subprocess.Popen[str]":
        """Start the command in the folder; no file may grow beyond `file_bytes`.

        -P: like the installed command, it imports from no folder but its own.
        """
        process = Command(
            in_process(arguments),
            self.environment(environment),
            file_bytes,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: object, file_bytes: int | None = None, **environment: str) -> Ran:
        """Run the command to its end; it must not print a traceback."""
        return self.end(self.start(*arguments, file_bytes=file_bytes, **environment))

    def end(self, process: "subprocess.Popen[str]") -> Ran:
        out, err = process.communicate(timeout=LIMIT_S)
        if process.returncode == 130:
            err = HALF_OPEN.sub("", err)
        ours = [line for line in err.splitlines() if not line.startswith("  | ")]  # the others are a bot's stderr
        assert not any("Traceback" in line for line in ours), err
        return Ran(process.returncode, out, err)

    def call(self, *arguments: object) -> Ran:
        """Run the command in this process, which is faster; for uses that are refused before a bot is started."""
        before = signal.getsignal(signal.SIGTERM)
        try:
            with contextlib.chdir(self.folder):
                result = CliRunner().invoke(cli, in_process(arguments), prog_name="arena")
        finally:
            signal.signal(signal.SIGTERM, before)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.tmp), "COLUMNS": "80", **(more or {})}

    def twin(self, run: str, name: str) -> None:
        """Make the folder of a run with another's key and no matches: --resume plays the same games.

        Stretching a --seed, which gives two runs one key, too, takes 1.4 s.
        """
        for folder in ("", "logs", "records"):
            (self.folder / name / folder).mkdir(mode=0o700)
        shutil.copy2(self.folder / run / "run.json", self.folder / name)

    def wait(
        self, what: Callable[[], Any], limit_s: float = LIMIT_S, process: "subprocess.Popen[str] | None" = None
    ) -> Any:
        """Wait for a function to return a true value, and return it; fail as soon as the process in question ends."""
        deadline = time.monotonic() + limit_s
        began = time.monotonic()
        while not (found := what()):
            took = time.monotonic() - began
            ended = process is not None and process.poll() is not None
            if ended and not (found := what()):
                assert process is not None
                raise AssertionError(f"the command has ended: {process.communicate(timeout=limit_s)}")
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(max(0.01, 9 * took))  # checks that query a database leave the cores to the awaited processes
            began = time.monotonic()
        return found

    def processes(self) -> list[str]:
        """Return all that run with this place's TMPDIR or HOME: commands, workers, bots and bots' children."""
        found = []
        mark = str(self.tmp).encode()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes():
                    found.append(f"{path.name} {(path / 'cmdline').read_bytes().rstrip(bytes(1))!r}")
            except OSError:  # it has just ended, or is another user's
                continue
        return found

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=LIMIT_S)

    def require_nothing_left(self) -> None:
        """Check that no process and no temporary file is left, after a moment for the dead to be reaped."""
        if sys.platform == "linux":
            self.wait(lambda: not self.processes(), SETTLE_S)
        left = [str(path) for path in self.tmp.rglob("*") if not _is_write_test(path)]
        assert left == [], left  # this module is imported before pytest could show values


def _is_write_test(path: Path) -> bool:
    """Return whether Python's tempfile made it to test a folder; a kill can leave it there."""
    return len(path.name) == 8 and path.is_file() and path.read_bytes() in (b"", b"blat")
