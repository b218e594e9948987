"""Make the examples of the table of mistakes: faults as they are seen."""

from typing import Any

from arena.checks.fault_context import FaultContext
from arena.referee import Facts

TRACE = "Traceback (most recent call last):"
REQUEST = b'{"type":"request","id":41,"kind":"lose","legal":[{"lose":"duke"},{"lose":"captain"}]}'
NO_HELLO = FaultContext("start_failed", "no hello within 10000 ms", facts=Facts(10000))
BINARY = FaultContext(
    "exited", sent=REQUEST, facts=Facts(signal=11), kinds=frozenset({"turn", "lose"}), longest_request=700
)


def reply_of(line: str, code: str = "bad_json") -> FaultContext:
    return FaultContext(code, sent=REQUEST, received=line.encode())


def end_with(*lines: str, argv: str = "python3 bot.py", files: str = "", source: bytes = b"") -> FaultContext:
    return FaultContext(
        "exited",
        "exited with code 1",
        stderr="\n".join(lines).encode(),
        sandbox="bubblewrap",
        argv=tuple(argv.split()),
        facts=Facts(exit_code=1),
        source=source,
        files=frozenset(files.split("|")),
    )


def silence(cpu_ms: int | None = None, id: int = 1, source: bytes = b"", **facts: Any) -> FaultContext:
    sent, own_ms = REQUEST.replace(b"41", b"%d" % id), None if cpu_ms is None else 10500
    detail = "no line within 10500 ms"
    return FaultContext("timeout", detail, sent, argv=("python3",), source=source, facts=Facts(own_ms, cpu_ms, **facts))
