"""The first and the last of a long byte stream, in bounded memory.

Must not know what the bytes mean. Of a bot's standard error the beginning and the end are worth keeping: how it
started, and what it said last. The middle is dropped and counted. Marks ("--- game 3 ---") are ordinary bytes of the
stream, so a match of any length costs the same. A moment ("--- turn 14 ---") is a mark that waits for what it marks: it
is written before the next bytes, if any come.
"""

import os

READ_BYTES = 65536  # what a pipe holds
KEPT_BYTES = 32 * 1024  # at each end: several hundred lines, and 64 KiB a bot is nothing to keep a match


class Capture:
    """Keep the first and last `kept` bytes of what is fed."""

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self.total = 0  # bytes fed, marks included
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()  # up to twice `kept`, so that dropping is rare
        self._line_open = False  # the stream's last byte isn't a newline
        self.moment = ""  # a mark that waits: it is written as a line of its own before the next bytes
        self.heard = False  # something was read

    def feed(self, data: bytes) -> None:
        """Append bytes; amortised cost is their number."""
        if not data:
            return
        if self.moment:
            self.mark(self.moment)
        self.total += len(data)
        self._line_open = not data.endswith(b"\n")
        room = self._kept - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._kept :]
        if len(self._tail) > 2 * self._kept:
            del self._tail[: -self._kept]

    def read_from(self, descriptor: int) -> bool:
        """Read once from a non-blocking descriptor; False at the end of what it gives."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.heard = self.heard or bool(data)
        self.feed(data)
        return bool(data)

    def mark(self, text: str) -> None:
        """Append the text as a line of its own; an unfinished line before it is ended."""
        self.moment = ""  # what waits belongs before the mark, where nothing was written
        self.feed(b"\n" * self._line_open + text.encode(errors="replace") + b"\n")

    def render(self) -> bytes:
        """Give head, a line that counts what is left out (if anything is), and tail."""
        tail = self._last()
        left_out = self.total - len(self._head) - len(tail)
        if not left_out:
            return bytes(self._head) + tail
        gap = b"" if self._head.endswith(b"\n") else b"\n"
        return bytes(self._head) + gap + b"[... %d bytes left out ...]\n" % left_out + tail

    def _last(self) -> bytes:
        return bytes(self._tail[-self._kept :])
