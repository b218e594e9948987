"""Define the data about a fault, of which signs of mistakes are functions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from arena.referee import Facts, list_own_lines
from arena.sandbox import ISOLATING_SANDBOXES
from protocol import Malformed, decode, escape_bytes

_MAX_LINES = 60  # at the end of standard error
MAX_LINE = 400  # characters of each
_NO_FACTS = Facts()


@dataclass(frozen=True)
class FaultContext:
    """The data about a fault. `sent` and `received`: raw lines; `stderr`: the end of standard error.

    sandbox: name of the bot's sandbox. argv: the bot's command. is_single_file: whether the bot is a bare file. source:
    of the bot's program, b"" if it isn't readable text. files: paths in the bot's folder, and names in the folder above
    it with "../" before them. earlier_request: the one before, raw. longest_request: the bytes of the longest request
    that was answered. kinds: the kinds of answered requests. stderr_bytes: of standard error for each request.
    growth: (resource, text, whether its limit is near) of what grew from request to request. altered: what the check
    has changed about the lines. paused_s: how long the bot was left alone before the request.
    """

    code: str
    detail: str | None = None
    sent: bytes = b""
    received: bytes | None = None
    stderr: bytes = b""
    sandbox: str = "process"
    argv: tuple[str, ...] = ()
    is_single_file: bool = False
    facts: Facts = _NO_FACTS
    source: bytes = b""
    files: frozenset[str] = frozenset()
    earlier_request: bytes = b""
    longest_request: int = 0
    kinds: frozenset[str] = frozenset()
    stderr_bytes: int = 0
    growth: tuple[tuple[str, str, bool], ...] = ()
    altered: str = ""
    paused_s: float = 0.0

    @property
    def is_boxed(self) -> bool:
        """Return whether the bot plays in an isolating sandbox."""
        return self.sandbox in ISOLATING_SANDBOXES

    @property
    def has_ended(self) -> bool:
        """Return whether the process has ended or never greeted, so that its last output may contain the reason."""
        return self.received is None and self.code in ("exited", "closed", "start_failed")

    @property
    def request(self) -> dict[str, Any]:
        """The sent JSON object, of a request or another line; {} without one."""
        return parse_object(self.sent)

    @property
    def has_answered(self) -> bool:
        """Return whether the process has answered a request, so that it flushes its replies."""
        number = self.request.get("id")
        return type(number) is int and number > 1

    @property
    def reply(self) -> dict[str, Any]:
        """The received JSON object; {} without one."""
        return parse_object(self.received or b"")

    @property
    def line(self) -> str:
        """The received line as text, with undecodable bytes escaped."""
        return (self.received or b"").decode(errors="backslashreplace").strip()

    @cached_property
    def stderr_lines(self) -> list[str]:
        """The bot's last lines of standard error, escaped, without lines that the arena added."""
        return [escape_bytes(line, MAX_LINE) for line in list_own_lines(self.stderr)[-_MAX_LINES:]]


Sign = Callable[[FaultContext], object]


def quotation(text: object) -> str:
    """Return an untrusted text, escaped, as a message quotes it."""
    return escape_bytes(str(text).encode(errors="backslashreplace"), 120)  # characters of a name or an exception


def parse_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; {} for any other line."""
    decoded = decode(line)
    return {} if isinstance(decoded, Malformed) else decoded
