"""A command on a real pseudo-terminal, for tests that type and read the screen."""

import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
from pathlib import Path

from tests.command import Command


class Screen:
    def __init__(
        self, words: list[str], columns: int = 90, rows: int = 24, cwd: Path | None = None, **environment: str
    ) -> None:
        self.master, line = os.openpty()
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(line)
        # The size is the terminal's, not the one in the environment of the tests.
        outside = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = Command(
            words,
            stdin=line,
            stdout=line,
            stderr=line,
            cwd=cwd,
            env={**outside, "TERM": "xterm", **environment},
            text=False,
        )
        self.line = line
        self.text = ""

    def until(self, pattern: str) -> str:
        """Read until the output since the last call contains the pattern, and return that output."""
        end = time.monotonic() + 60
        self.text = ""
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    data = os.read(self.master, 65536)
                except OSError:
                    data = b""
                assert data, f"it ended without {pattern!r}: {self.text!r}"
                self.text += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode(errors="replace"))
        return self.text

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def hang_up(self) -> None:
        """Close the terminal, and send the process SIGHUP, as a shell would."""
        os.close(self.master)
        self.master = os.open(os.devnull, os.O_RDONLY)
        os.killpg(self.process.pid, signal.SIGHUP)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.line)
        os.close(self.master)
