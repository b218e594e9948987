"""A seat whose program is elsewhere: a box whose lines are handed on, and into which answers come from another thread.

A person is such a seat, and so is a program at home. The box passes on whatever comes, both ways, whenever it comes:
the referee judges it as it judges a bot's. Who leaves ends the box, as a bot does that exits.
"""

import socket
from collections.abc import Callable
from contextlib import suppress

from arena.sandbox import InsideBox, Peer

_READ_BYTES = 65536


class Far:
    """The far side of the pipes. `tell` is called with each line that the seat gets, in the box's own thread."""

    def __init__(self, tell: Callable[[bytes], None]) -> None:
        self._tell = tell
        self._answers, self._answer = socket.socketpair()
        self._answers.setblocking(False)
        self._answer.setblocking(False)
        self._ends = False

    def start(self) -> InsideBox:
        """Start the box; it is started anew where a bot's process would be: lines for the box before are lost."""
        with suppress(BlockingIOError):
            while self._answers.recv(_READ_BYTES):
                pass
        self._ends = False
        return InsideBox("far", self._script)

    def answer(self, line: bytes) -> None:
        """Send a line; nothing if the seat has left. Who sends faster than the referee reads, leaves."""
        try:
            sent = self._answer.send(line)
        except BrokenPipeError:
            return
        except BlockingIOError:
            sent = 0
        if sent < len(line):
            self.leave()

    def end(self) -> None:
        """Have this box end, as if the program had; the next one may be started."""
        self._ends = True
        self.answer(b"\n")  # wakes it

    def leave(self) -> None:
        """Have the box end once all lines are passed on. Calling it again completes an interrupted call."""
        self._answer.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Free what is held, after its boxes were closed."""
        self._answers.close()
        self._answer.close()

    def _script(self, peer: Peer) -> None:
        for line in peer.lines_beside(self._answers.fileno()):
            if line is not None:
                self._tell(line)
                continue
            answer = self._answers.recv(_READ_BYTES)
            if not answer or self._ends:
                return
            peer.send(answer)
