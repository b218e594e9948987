"""The user's own program as a plain process: lines go in and come out, its standard error is the terminal's."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from protocol import LINE_LIMIT

_MOST_LINES = 100  # for one that it was sent; the referee drops 20 and calls more a fault
_LEAVE_S = 1.0  # after its input was closed


class Program:
    """A process that runs. What it writes goes to `said`, with None at its end; `why` then says how that was."""

    def __init__(self, process: asyncio.subprocess.Process, said: "Said") -> None:
        self.why = ""
        self._said = said
        self.spoke = False
        self._process = process
        self._unasked = 0  # lines since the last one that it was sent
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], said: "Said") -> "Program":
        """Start it, out of reach of the terminal's Ctrl-C. Raises OSError."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, limit=LINE_LIMIT, start_new_session=True
        )
        return cls(process, said)

    async def send(self, line: str) -> None:
        """Give it a line; nothing if it reads no more."""
        assert self._process.stdin is not None
        self._unasked = 0
        with suppress(ConnectionError):
            self._process.stdin.write(line.encode() + b"\n")
            await self._process.stdin.drain()

    async def end(self) -> None:
        """Close its input, and end it if it doesn't end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LEAVE_S)
        self.kill()
        await self._process.wait()
        self._reading.cancel()

    def kill(self) -> None:
        """End it and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self.spoke = True
                self._unasked += 1
                if self._unasked > _MOST_LINES:
                    self.why = f"it wrote {_MOST_LINES} lines that nobody asked for"
                    break
                self._said.put_nowait((self, line))
        except ValueError:
            self.why = f"it wrote a line of more than {LINE_LIMIT} bytes"
        if self.why:
            self.kill()
        code = await self._process.wait()
        ended = f"it ended with exit code {code}" if code >= 0 else f"it ended by signal {-code}"
        self.why = self.why or ended
        self._said.put_nowait((self, None))


Said = asyncio.Queue[tuple[Program, bytes | None]]
