"""Single keys from a terminal, by name: "right", "space", "q".

While keys are read the terminal hands over each key at once and doesn't show it. It is set back whatever happens: on
the way out, when the command is interrupted, terminated or hung up, and while it is stopped by Ctrl-Z. Ctrl-C, SIGTERM
and SIGHUP raise KeyboardInterrupt.

    with keys() as read:
        if read is None: ...     # standard input is no terminal
        key = read(0.5)          # a name, or None when half a second has passed

A key that has a character is that character ("q", "Q", "7"); the others are in NAMED and SEQUENCES. "resize" says that
the screen must be drawn again: its size is another, or the command was stopped and goes on. "eof" is Ctrl-D, or the
terminal was closed.
"""

import codecs
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

NAMED = {" ": "space", "\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace", "\x04": "eof"}
SEQUENCES = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "H": "home",
    "F": "end",
    "1~": "home",
    "7~": "home",
    "4~": "end",
    "8~": "end",
    "3~": "delete",
    "5~": "page up",
    "6~": "page down",
}

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_ESCAPE_S = 0.05  # how long the rest of an arrow key may take, over a slow line, until Esc is Esc


class Keys:
    """Reads keys from one terminal; `keys` makes it."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._typed = ""
        self._known: deque[str] = deque()
        self._redraw = False
        self._signalled, self._signal = os.pipe()
        os.set_blocking(self._signalled, False)
        os.set_blocking(self._signal, False)
        self._before = termios.tcgetattr(terminal)

    def __call__(self, timeout_s: float | None = None) -> str | None:
        """Return the next key, None when `timeout_s` has passed without one."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._known:
            if self._redraw:
                self._redraw = False
                return "resize"
            left = None if end is None else max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self._terminal, self._signalled], [], [], left)
            if self._signalled in ready:
                with suppress(BlockingIOError):
                    os.read(self._signalled, 4096)
            elif ready:
                self._take()
            elif not self._redraw:
                return None
        return self._known.popleft()

    def forget(self) -> None:
        """Forget what was typed and not read yet, and that the screen must be drawn again: that was done just now."""
        self._known.clear()
        self._redraw = False
        with suppress(termios.error):
            termios.tcflush(self._terminal, termios.TCIFLUSH)

    def grab(self) -> None:
        """Have each key at once and unseen."""
        with suppress(termios.error):  # the terminal was closed
            tty.setcbreak(self._terminal, termios.TCSADRAIN)

    def restore(self) -> None:
        """Set the terminal back as it was."""
        with suppress(termios.error):
            termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)

    def redraw(self) -> None:
        """Have the next read return "resize"."""
        self._redraw = True

    def wake(self) -> int:
        """Have every signal end a wait for keys, even one just before it; return the descriptor that was set before.

        The wait itself is not enough: a signal after Python's last look for one, or in another thread, doesn't end it.
        """
        return signal.set_wakeup_fd(self._signal, warn_on_full_buffer=False)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._signalled)
        os.close(self._signal)

    def _take(self) -> None:
        """Take in what was typed."""
        self._typed += self._read()
        if self._typed.endswith(("\x1b", "\x1b[", "\x1bO")) and self._more():
            self._typed += self._read()
        while self._typed:
            key, self._typed = _first(self._typed)
            if key:
                self._known.append(key)

    def _more(self) -> bool:
        return bool(select.select([self._terminal], [], [], _ESCAPE_S)[0])

    def _read(self) -> str:
        try:
            data = os.read(self._terminal, 1024)
        except OSError:  # EIO: the terminal was closed
            data = b""
        return self._decoder.decode(data) if data else "\x04"


@contextmanager
def keys(terminal: int | None = None) -> Iterator[Keys | None]:
    """Give what reads keys, None where standard input (or the descriptor `terminal`) is no terminal.

    Only in the main thread. One at a time.
    """
    terminal = _stdin() if terminal is None else terminal
    if terminal is None or not os.isatty(terminal) or threading.current_thread() is not threading.main_thread():
        yield None
        return
    read = Keys(terminal)

    def stop(number: int, frame: FrameType | None) -> None:
        read.restore()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # goes on from here after SIGCONT, or at once where no shell can stop it
        signal.signal(signal.SIGTSTP, stop)
        go_on(number, frame)  # SIGCONT's handler has done so, unless it wasn't stopped

    def go_on(number: int, frame: FrameType | None) -> None:
        read.grab()
        read.redraw()

    def resized(number: int, frame: FrameType | None) -> None:
        read.redraw()

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    wanted = {signal.SIGTSTP: stop, signal.SIGCONT: go_on, signal.SIGWINCH: resized}
    wanted |= dict.fromkeys(_ENDING[1:], end)
    before = {}
    held = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # the terminal is set back whole, and so are the signals
    woken = read.wake()
    try:
        for number, handler in wanted.items():
            before[number] = signal.signal(number, handler)
        read.grab()
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        yield read
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        read.restore()
        for number, earlier in before.items():
            signal.signal(number, earlier)
        signal.set_wakeup_fd(woken)
        read.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _stdin() -> int | None:
    """Return the descriptor of standard input, None if there is none."""
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or replaced by a test
        return None


def _first(typed: str) -> tuple[str, str]:
    """Return the first key of what was typed, "" for one that has no name, and the rest."""
    head, rest = typed[0], typed[1:]
    if head != "\x1b":
        named = NAMED.get(head, head)
        return (named if named.isprintable() else ""), rest
    if rest[:1] not in ("[", "O") or len(rest) < 2:
        return "escape", rest
    length = next((place for place, letter in enumerate(rest[1:], 1) if "@" <= letter <= "~"), len(rest) - 1)
    return SEQUENCES.get(rest[1 : length + 1].replace("1;5", "").replace("1;2", ""), ""), rest[length + 1 :]
