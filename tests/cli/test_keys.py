"""Keys by name from a real pseudo-terminal, and the terminal as it was afterwards."""

import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from arena.cli.keys import keys

ECHO = 3  # the place of the local flags in what tcgetattr returns

READER = """
import sys
from arena.cli.keys import keys
try:
    with keys() as read:
        print("ready", flush=True)
        while (key := read(120)) not in ("q", None):
            print(key, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


class Terminal:
    """A pseudo-terminal: `keyboard` is the person's end, `line` the program's."""

    def __init__(self) -> None:
        self.keyboard, self.line = os.openpty()

    def type(self, typed: bytes) -> None:
        os.write(self.keyboard, typed)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.line)[ECHO] & termios.ECHO)

    def close(self) -> None:
        os.close(self.keyboard)
        os.close(self.line)


class Reader:
    """A process that prints the keys which it reads from a terminal that is its own."""

    def __init__(self, terminal: Terminal) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", READER], stdin=terminal.line, stdout=subprocess.PIPE, process_group=0
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.expect(b"ready")

    def expect(self, line: bytes) -> None:
        while (got := self.output.readline().strip()) != line:
            assert got, f"it ended without {line!r}"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.output.close()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with closing(Terminal()) as made:
        yield made


@pytest.fixture
def reader(terminal: Terminal) -> Iterator[Reader]:
    with closing(Reader(terminal)) as made:
        yield made


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        (b"q", ["q"]),
        (b"Q7?", ["Q", "7", "?"]),
        (b" \r\n\t\x7f", ["space", "enter", "enter", "tab", "backspace"]),
        (b"\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        (b"\x1bOC\x1b[H\x1b[4~\x1b[5~", ["right", "home", "end", "page up"]),
        (b"\x1b[1;5C", ["right"]),
        (b"\x1b[99~n", ["n"]),
        (b"\x1b", ["escape"]),
        ("é".encode(), ["é"]),
        (b"\xff\x01n", ["n"]),
        (b"\x04", ["eof"]),
    ],
)
def test_each_key_has_its_name(terminal: Terminal, typed: bytes, names: list[str]) -> None:
    with keys(terminal.line) as read:
        assert read is not None
        terminal.type(typed)
        assert [read(1) for _ in names] == names
        assert read(0) is None


def test_an_arrow_key_that_comes_in_two_pieces_is_one_key(terminal: Terminal) -> None:
    with keys(terminal.line) as read:
        assert read is not None
        terminal.type(b"\x1b")
        terminal.type(b"[C")
        assert read(1) == "right"


def test_keys_are_not_shown_and_the_terminal_is_set_back_after_an_error(terminal: Terminal) -> None:
    with suppress(ZeroDivisionError), keys(terminal.line):
        assert not terminal.echoes()
        raise ZeroDivisionError
    assert terminal.echoes()


def test_where_input_is_no_terminal_there_are_no_keys() -> None:
    with open(os.devnull) as nothing, keys(nothing.fileno()) as read:
        assert read is None


def test_a_new_size_is_told_at_once(terminal: Terminal) -> None:
    with keys(terminal.line) as read:
        assert read is not None
        os.kill(os.getpid(), signal.SIGWINCH)
        assert read(1) == "resize"
        assert read(0) is None


def test_who_forgets_what_was_typed_forgets_that_the_screen_had_to_be_drawn(terminal: Terminal) -> None:
    """A question that was shown after Ctrl-Z isn't shown once more."""
    with keys(terminal.line) as read:
        assert read is not None
        os.kill(os.getpid(), signal.SIGCONT)
        read.forget()
        assert read(0) is None


def test_signals_are_handled_as_before_afterwards(terminal: Terminal) -> None:
    numbers = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = [signal.getsignal(number) for number in numbers]
    with keys(terminal.line):
        assert [signal.getsignal(number) for number in numbers] != before
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_signal_that_does_not_end_the_wait_is_seen(terminal: Terminal) -> None:
    """One that comes just before the wait for keys doesn't end it, nor does one that another thread gets."""

    def interrupt() -> None:
        time.sleep(0.05)
        signal.pthread_kill(threading.get_ident(), signal.SIGHUP)

    with keys(terminal.line) as read:
        assert read is not None
        other = threading.Thread(target=interrupt)
        began = time.monotonic()
        other.start()
        with pytest.raises(KeyboardInterrupt):
            read(120)
        assert time.monotonic() - began < 60
        other.join()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_command_that_is_ended_sets_its_terminal_back(terminal: Terminal, reader: Reader, number: int) -> None:
    reader.process.send_signal(number)
    reader.expect(b"interrupted")
    assert reader.process.wait(60) == 0
    assert terminal.echoes()


def test_ctrl_z_gives_the_terminal_back_until_the_command_goes_on(terminal: Terminal, reader: Reader) -> None:
    reader.process.send_signal(signal.SIGTSTP)  # what the terminal does at Ctrl-Z
    _, status = os.waitpid(reader.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert terminal.echoes()
    reader.process.send_signal(signal.SIGCONT)
    reader.expect(b"resize")
    assert not terminal.echoes()
    terminal.type(b"n")
    reader.expect(b"n")


def test_a_terminal_that_is_closed_is_the_end_of_input() -> None:
    with closing(Terminal()) as terminal, keys(terminal.line) as read:
        assert read is not None
        os.close(terminal.keyboard)
        terminal.keyboard = os.dup(terminal.line)
        assert read(1) == "eof"


def test_a_read_without_a_key_ends_in_time(terminal: Terminal) -> None:
    with keys(terminal.line) as read:
        assert read is not None
        began = time.monotonic()
        assert read(0.01) is None
        assert time.monotonic() - began < 60
        assert select.select([terminal.line], [], [], 0)[0] == []
