"""Help by cause: the mistake that a fault's traces show, and what its author should do. One table, CAUSES.

The first row whose sign is seen counts; where none is, the row of FAULTS helps. Signs are looked for in the fault's
facts, in the line that came, and in the last lines of standard error. The last two are a bot's, so what is quoted of
them is escaped, and no command that they name is advised. A fault's detail is told, and never read.
"""

import json
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from arena.examine.doctor import languages
from arena.referee import FAULTS, Facts, own_lines
from arena.sandbox import ISOLATING, programs_of
from protocol import Malformed, decode, show

_QUOTED = 120  # characters of a name or of an exception
_LINES = 60  # of standard error that are looked at, from the end
_LINE = 400  # characters of each
_NOTHING = Facts()


class Advice(NamedTuple):
    """What happened and what to do, a line each."""

    what: str
    do: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a fault. `sent` and `got` are lines as they crossed the pipe, `stderr` is the end of it.

    sandbox: the name of the one that the bot plays in. argv: the bot's command. alone: the bot is a bare file. source:
    of the bot's program, where it is a text that can be read. beside: names in the bot's folder.
    """

    code: str
    detail: str | None = None
    sent: bytes = b""
    got: bytes | None = None
    stderr: bytes = b""
    sandbox: str = "process"
    argv: tuple[str, ...] = ()
    alone: bool = False
    facts: Facts = _NOTHING
    source: bytes = b""
    beside: frozenset[str] = frozenset()

    @property
    def boxed(self) -> bool:
        """Whether the bot sees nothing of this machine but its own files."""
        return self.sandbox in ISOLATING

    @property
    def ended(self) -> bool:
        """Whether the process is gone or never greeted, so that its last words may tell why."""
        return self.got is None and self.code in ("exited", "closed", "start_failed")

    @property
    def reply(self) -> dict[str, Any] | None:
        """The object that came, None if none did."""
        decoded = None if self.got is None else decode(self.got)
        return None if decoded is None or isinstance(decoded, Malformed) else decoded

    @property
    def asked(self) -> dict[str, Any]:
        """The line that was sent last, as an object."""
        decoded = decode(self.sent)
        return {} if isinstance(decoded, Malformed) else decoded

    @property
    def line(self) -> str:
        """The line that came, as text; none of its characters is lost."""
        return (self.got or b"").decode(errors="backslashreplace").strip()

    @property
    def last_words(self) -> str:
        """The last lines of standard error, escaped; without those that the arena wrote."""
        return "\n".join(show(line, _LINE) for line in own_lines(self.stderr)[-_LINES:])


Words = dict[str, str]
Sign = Callable[[Evidence], Words | None]


@dataclass(frozen=True, slots=True)
class Cause:
    """One row. `sign` returns the words for the braces in `what` and `do`, None where the cause isn't seen."""

    name: str
    sign: Sign
    what: str
    do: str


def advice(seen: Evidence) -> Advice:
    """Return what happened and what to do about it."""
    for cause in CAUSES:
        words = cause.sign(seen)
        if words is not None:
            return Advice(cause.what.format(**words), cause.do.format(**words))
    rule = FAULTS[seen.code]
    detail = show((seen.detail or "").encode(errors="backslashreplace"), _LINE)
    if not detail:
        return Advice(rule.message, rule.help)
    return Advice(detail if rule.limit else f"{rule.message}: {detail}", rule.help)


# ---------------------------------------------------------------- signs in the line that came


def _quotation(text: object) -> str:
    return show(str(text).encode(errors="backslashreplace"), _QUOTED)


def _byte_order_mark(seen: Evidence) -> Words | None:
    return {} if seen.got is not None and seen.got.startswith(b"\xef\xbb\xbf") else None


def _nul(seen: Evidence) -> Words | None:
    return {} if seen.got is not None and b"\0" in seen.got else None


def _no_json(seen: Evidence) -> bool:
    if seen.got is None or seen.code == "line_too_long":
        return False
    decoded = decode(seen.got)
    return isinstance(decoded, Malformed) and decoded.code in ("bad_json", "bad_number")


def _notation(seen: Evidence) -> Words | None:
    """A dict as Python prints it."""
    if not _no_json(seen) or not seen.line.startswith("{"):
        return None
    outside = re.sub(r'"[^"]*"', "", seen.line)
    word = re.search(r"\b(?:True|False|None)\b", outside)
    if re.match(r"\{\s*'", outside):
        return {"word": "single quotes"}
    return None if word is None else {"word": word[0]}


def _last_comma(seen: Evidence) -> Words | None:
    return {} if _no_json(seen) and seen.line.startswith("{") and re.search(r",\s*[}\]]$", seen.line) else None


def _bare_keys(seen: Evidence) -> Words | None:
    return {} if _no_json(seen) and re.match(r"\{\s*[A-Za-z_]\w*\s*:", seen.line) else None


def _many_lines(seen: Evidence) -> Words | None:
    return {} if _no_json(seen) and seen.line in ("{", "[") else None


_DEBUGGER = r"(?:> \S+\(\d+\)|\(Pdb\)|--Return--|--Call--|debug> |< Debugger )"


def _debugger(seen: Evidence) -> Words | None:
    return {"line": _quotation(seen.line)} if _no_json(seen) and re.match(_DEBUGGER, seen.line) else None


def _prompt(seen: Evidence) -> Words | None:
    """Text before the reply on its line: what input("...") prints, or a print without an end of line."""
    if not _no_json(seen):
        return None
    text, brace, rest = seen.line.partition("{")
    reply = decode(f"{brace}{rest}".encode()) if text and brace else None
    return None if reply is None or isinstance(reply, Malformed) else {"text": _quotation(text.strip())}


def _list(seen: Evidence) -> Words | None:
    """A reply that is JSON, and no object: a bare number, a string, a list."""
    if seen.got is None or seen.code == "line_too_long" or seen.line.startswith("{"):
        return None
    try:
        json.loads(seen.line)
    except ValueError:
        return None
    return {"line": _quotation(seen.line), "asked": _request_name(seen)}


def _bytes(seen: Evidence) -> Words | None:
    return {} if _no_json(seen) and re.match(r"b['\"]", seen.line) else None


def _encoded_twice(seen: Evidence) -> Words | None:
    """A JSON text that is a string whose text is JSON."""
    try:
        inner = json.loads(json.loads(seen.line)) if seen.line.startswith('"') else None
    except ValueError:
        return None
    return {} if isinstance(inner, dict) else None


def _two_objects(seen: Evidence) -> Words | None:
    if not _no_json(seen) or not seen.line.startswith("{"):
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(seen.line)
    except ValueError:
        return None
    return {} if seen.line[end:].lstrip().startswith("{") else None


def _second_hello(seen: Evidence) -> Words | None:
    return {} if seen.code == "bad_reply" and (seen.reply or {}).get("type") == "hello" else None


def _text(seen: Evidence) -> Words | None:
    """A line that nobody meant as a message: a banner, a debug print."""
    return {"line": _quotation(seen.line)} if _no_json(seen) and not seen.line.startswith("{") and seen.line else None


def _no_hello(seen: Evidence) -> Words | None:
    reply = seen.reply
    ours = seen.code == "start_failed" and reply is not None and reply.get("type") != "hello"
    return {"line": _quotation(seen.line)} if ours else None


def _string_id(seen: Evidence) -> Words | None:
    id = (seen.reply or {}).get("id")
    return {"sent": _quotation(json.dumps(id)), "asked": _request_name(seen)} if isinstance(id, str) else None


def _no_id(seen: Evidence) -> Words | None:
    reply = seen.reply
    there = seen.code == "bad_reply" and reply is not None and "id" not in reply
    return {"asked": _request_name(seen)} if there else None


def _wrong_id(seen: Evidence) -> Words | None:
    if seen.code not in ("wrong_id", "stray_line", "timeout"):
        return None
    if seen.facts.stale is not None:
        return {"sent": str(seen.facts.stale), "asked": _request_name(seen)}
    id, asked = (seen.reply or {}).get("id"), seen.asked.get("id")
    if type(id) is not int or asked is None or id == asked:
        return None
    return {"sent": _quotation(id), "asked": _request_name(seen)}


def _twice(seen: Evidence) -> Words | None:
    id = (seen.reply or {}).get("id")
    again = seen.code == "stray_line" and type(id) is int and id == seen.asked.get("id")
    return {"sent": _quotation(id)} if again else None


def _request_name(seen: Evidence) -> str:
    return _quotation(seen.asked.get("id", "ID"))


def _odd_choice(seen: Evidence) -> Words | None:
    reply = seen.reply or {}
    odd = seen.code == "bad_reply" and "choice" in reply and "move" not in reply and type(reply.get("id")) is int
    return {"sent": _quotation(json.dumps(reply["choice"]))} if odd else None


def _odd_id(seen: Evidence) -> Words | None:
    reply = seen.reply or {}
    odd = seen.code == "bad_reply" and "id" in reply and type(reply["id"]) is not int
    return {"sent": _quotation(json.dumps(reply["id"])), "asked": _request_name(seen)} if odd else None


def _both(seen: Evidence) -> Words | None:
    reply = seen.reply or {}
    return {} if seen.code == "bad_reply" and "choice" in reply and "move" in reply else None


def _bare_move(seen: Evidence) -> Words | None:
    """A move whose fields stand beside the id instead of within `move`, or which is called otherwise."""
    reply, legal = seen.reply or {}, seen.asked.get("legal")
    if seen.code != "bad_reply" or "choice" in reply or type(reply.get("id")) is not int:
        return None
    fields = {field for move in legal if isinstance(move, dict) for field in move} if isinstance(legal, list) else set()
    named = next((name for name in reply if name in fields), None)
    if "move" in reply:
        named = "move" if not isinstance(reply["move"], dict) else None
    return None if named is None else {"name": _quotation(named), "asked": _request_name(seen)}


def _no_index(seen: Evidence) -> Words | None:
    choice = (seen.reply or {}).get("choice")
    legal = seen.asked.get("legal")
    if seen.code != "illegal_move" or type(choice) is not int or not isinstance(legal, list):
        return None
    if 0 <= choice < len(legal):
        return None
    return {"choice": _quotation(choice), "last": str(len(legal) - 1)}


# ---------------------------------------------------------------- signs on standard error, and in how it ended

# Texts, which are compiled where a bot has failed: all of them take as long as the rest of this module.
_MODULE = (
    r"(?:No module named|Cannot find (?:module|package)) '([^']+)'"
    r"|(?:ClassNotFoundException|NoClassDefFoundError): (\S+)"
    r"|error while loading shared libraries: ([^:\s]+)"
)
_KIT_MODULE = r"(?:No module named|Cannot find module) '(?:\./)?(coup_kit(?:\.js)?)'"
_PROGRAM = (
    r"(?m)"
    r"^(?:[\w./-]*(?:sh|env|make)): (?:\d+: |line \d+: )?(?:exec: )?[\u2018'\"]?([^\s:\u2018\u2019'\"]+)[\u2019'\"]?: "
    r"(?:command )?(?:not found|No such file or directory)"
)
_BY_PYTHON = r"(?m)^FileNotFoundError: \[Errno 2\] [^:\n]*: '([^']*)'"  # of subprocess
_BY_NODE = r"\bspawn (\S+) ENOENT"
_FILE = (
    r"(?m)\[Errno 2\] No such file or directory: b?'([^']*)'"
    r"|ENOENT: no such file or directory, \w+ '([^']*)'"
    r"|(?:open |^|: )((?!E[A-Z]+\b)[^\s:'\"]+)(?:: | \()(?i:no such file or directory)"
)
_WRITE = (
    r"(?m)(?:Read-only file system|Permission denied): b?'([^']*)'"
    r"|(?:EROFS|EACCES)[^,\n]*, \w+ '([^']*)'"
    r"|(?:open |^|: )((?!E[A-Z]+\b)[^\s:'\"]+)(?:: | \()(?i:read-only file system)"
)
_THREADS = (
    r"(can't start new thread|unable to create (?:new )?native thread|pthread_create failed|Cannot fork"
    r"|(?:fork|clone|thread|Thread)\b.*Resource temporarily unavailable|uv_thread_create)"
)
_HIDDEN = (
    r"(?:module '(\w+)' has no attribute|partially initialized module '(\w+)'"
    r"|cannot import name '\w+' from (?:partially initialized module )?'(\w+)')"
)
_INSTALLS = r"(No module named pip\b|'?pip3?'?,? '?install|pip3? install|npm (?:ERR!|error) network)"
_EMPTY_LINE = r"(JSONDecodeError: Expecting value: line 1 column 1 \(char 0\)|Unexpected end of JSON input)"
_ALL_AT_ONCE = r"(JSONDecodeError: Extra data: line 2 column 1)"
_READS_ALL = (
    rb"stdin\.(?:read|readlines)\(\)|json\.load\(sys\.stdin\)"
    rb"|readFileSync\((?:0|['\"]/dev/stdin)|stdin\.read_to_(?:string|end)"
)
_RUN = rb"(?m)^\s*(?:coup_kit\.)?run\("
_MAIN = rb"(?m)^def main\("
_CALLS_MAIN = rb"(?<!def )\bmain\("
_NETWORK = (
    r"(Network is unreachable|Temporary failure in name resolution|Name or service not known|EAI_AGAIN|ENETUNREACH)"
)
_TRACEBACK = r"(?m)^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)"
_EXCEPTION = (
    r"(?m)^(Exception in thread .*|thread '.*' .*panicked at .*|panic: .*|terminate called .*|.*Assertion .* failed.*"
    r"|(?:Uncaught )?(?:\w+\.)*\w*(?:Error|Exception)\b(?:[:\s].*)?)$"
)

_KIT = r"(?m)^coup_kit: (.* failed (?:at|in) .*|the bot crashed .*)$"  # a kit says at which request its bot failed


def _last(pattern: str, text: str) -> str | None:
    """Return what the last match of a pattern names."""
    last = None
    for match in re.finditer(pattern, text):
        last = next((group for group in match.groups() if group), "")
    return None if last is None else _quotation(last)


def _names(pattern: str, when: Callable[[Evidence], bool] = lambda seen: True) -> Sign:
    """Return a sign: the last words of a bot that is gone have the pattern."""

    def sign(seen: Evidence) -> Words | None:
        if not seen.ended or not when(seen):
            return None
        name = _last(pattern, seen.last_words)
        return None if name is None else {"name": name, "program": _program(seen)}

    return sign


def _program(seen: Evidence) -> str:
    return _quotation(Path(seen.argv[0]).name) if seen.argv else "its interpreter"


def _missing_program(seen: Evidence) -> Words | None:
    if not seen.ended:
        return None
    words = seen.last_words
    name = (_last(_BY_PYTHON, words) if "subprocess.py" in words else None) or _last(_BY_NODE, words)
    name = name or _last(_PROGRAM, words)
    if name is None:
        return None
    if not seen.boxed:
        return {"name": name, "where": "on this machine", "there": "install it"}
    if programs_of(seen.sandbox).image:
        return {"name": name, "where": "in the box", "there": "take an image that has it (--docker-image)"}
    there = f"arena doctor says of languages: {languages().text}"
    return {"name": name, "where": "in the box", "there": there}


def _exception(seen: Evidence) -> Words | None:
    if not seen.ended:
        return None
    name = _last(_TRACEBACK, seen.last_words) or _last(_EXCEPTION, seen.last_words) or _last(_KIT, seen.last_words)
    return None if name is None else {"name": name}


def _error_code(seen: Evidence) -> Words | None:
    failed = seen.ended and seen.facts.exit_code and seen.last_words
    return {"detail": _quotation(seen.detail)} if failed else None


_CRASHES = {
    signal.SIGSEGV: "it used memory that isn't its own: build it with -g -fsanitize=address to see where",
    signal.SIGBUS: "it used memory that isn't its own: build it with -g -fsanitize=address to see where",
    signal.SIGFPE: "it divided by zero, or the like: build it with -g -fsanitize=undefined to see where",
    signal.SIGILL: "it ran what is no instruction of this machine: build it here, without -march=native",
    signal.SIGABRT: "it gave up by itself: an assertion, an exception that nobody caught, or a damaged heap",
}


def _crash(seen: Evidence) -> Words | None:
    remedy = _CRASHES.get(signal.Signals(seen.facts.signal)) if seen.ended and seen.facts.signal else None
    return None if remedy is None else {"detail": _quotation(seen.detail), "remedy": remedy}


def _too_many(seen: Evidence) -> Words | None:
    """Threads that were refused; a library that gets none may wait for ever."""
    silent = seen.ended or (seen.got is None and seen.code == "timeout")
    name = _last(_THREADS, seen.last_words) if silent else None
    return None if name is None else {"name": name}


def _hides(seen: Evidence) -> Words | None:
    name = _last(_HIDDEN, seen.last_words) if seen.ended else None
    return {"name": name} if name is not None and f"{name}.py" in seen.beside else None


def _crlf(seen: Evidence) -> Words | None:
    shell = seen.argv[:1] and Path(seen.argv[0]).name in ("sh", "bash", "dash", "zsh", "ksh", "env")
    return {} if seen.ended and seen.source.startswith(b"#!") and b"\r\n" in seen.source and shell else None


def _no_run(seen: Evidence) -> Words | None:
    ended = seen.ended and seen.facts.exit_code == 0 and b"coup_kit" in seen.source and b"def " in seen.source
    return {} if ended and not re.search(_RUN, seen.source) else None


def _no_main(seen: Evidence) -> Words | None:
    ended = seen.ended and seen.facts.exit_code == 0 and re.search(_MAIN, seen.source)
    return {} if ended and not re.search(_CALLS_MAIN, seen.source) else None


def _on_stderr(seen: Evidence) -> Words | None:
    """The last line of standard error is a reply or a hello."""
    lines = own_lines(seen.stderr)[-1:]
    if seen.got is not None or seen.code not in ("start_failed", "timeout") or not lines:
        return None
    reply = decode(lines[0])
    good = not isinstance(reply, Malformed) and ("choice" in reply or "move" in reply or reply.get("type") == "hello")
    return {} if good else None


def _unended(seen: Evidence) -> Words | None:
    return {} if seen.facts.unended else None


def _reads_all(seen: Evidence) -> Words | None:
    silent = seen.code in ("start_failed", "timeout") and (seen.got is None or seen.facts.unflushed)
    match = re.search(_READS_ALL, seen.source) if silent else None
    return None if match is None else {"name": _quotation(match[0].decode(errors="replace"))}


def _silent_end(seen: Evidence) -> Words | None:
    return {} if seen.ended and seen.facts.exit_code == 0 else None


# What flushes each line, by the name of the program that runs a bot or by the ending of its file.
_FLUSH = {
    "python": "print(..., flush=True)",
    ".py": "print(..., flush=True)",
    "java": "System.out.flush()",
    "ruby": "$stdout.sync = true",
    "perl": "$| = 1;",
    "node": 'process.stdout.write(line + "\\n")',
    ".js": 'process.stdout.write(line + "\\n")',
    "php": "fflush(STDOUT)",
    "lua": "io.stdout:flush()",
}
_FLUSH_ANY = "fflush(stdout) in C, std::flush in C++, System.out.flush() in Java, flush=True in Python"


def _unflushed(seen: Evidence) -> Words | None:
    return {"how": _flush(seen.argv)} if seen.facts.unflushed else None


def _flush(argv: tuple[str, ...]) -> str:
    for word in argv[:2]:
        path = Path(word)
        name = path.name.rstrip("0123456789.")
        if name in _FLUSH or path.suffix in _FLUSH:
            return _FLUSH.get(name) or _FLUSH[path.suffix]
    return _FLUSH_ANY


_MOST, _NEARLY_NONE = 0.6, 0.1  # of its time; on a busy machine it waits for a core meanwhile


def _computed(share: Callable[[float], bool]) -> Sign:
    """Return a sign: the share of its time in which a bot computed that gave no answer."""

    def sign(seen: Evidence) -> Words | None:
        own_ms, cpu_ms, *_ = seen.facts
        if seen.code != "timeout" or own_ms is None or cpu_ms is None or not share(cpu_ms / max(1, own_ms)):
            return None
        return {"detail": _quotation(seen.detail), "how": _flush(seen.argv)}

    return sign


def _mute(seen: Evidence) -> Words | None:
    silent = seen.code == "start_failed" and seen.got is None and seen.facts.own_ms is not None
    return {"detail": seen.detail or "", "how": _flush(seen.argv)} if silent else None


# ---------------------------------------------------------------- the table

_DEBUG = "print nothing but replies to standard output; debug output goes to standard error"
_SPELT = "check how the name is spelt; if it is right, "
_ENCODER = "write JSON with your language's JSON library: json.dumps(...) in Python, JSON.stringify(...) in JavaScript"

CAUSES = (
    Cause(
        "byte order mark",
        _byte_order_mark,
        "the line begins with a byte order mark",
        'write UTF-8 without one: "utf-8" in Python instead of "utf-8-sig", new UTF8Encoding(false) in .NET',
    ),
    Cause("UTF-16", _nul, "the line has NUL bytes", "write UTF-8, not UTF-16, and no zero after the line"),
    Cause("Python's notation", _notation, "the line is no JSON but Python's notation ({word})", _ENCODER),
    Cause("keys without quotes", _bare_keys, "the line is no JSON: its keys have no quotes", _ENCODER),
    Cause("last comma", _last_comma, "the line is no JSON: a comma stands before the last bracket", _ENCODER),
    Cause(
        "several lines",
        _many_lines,
        "the line is the beginning of a JSON object that goes on over several lines",
        "write each reply on one line: without indent",
    ),
    Cause(
        "debugger",
        _debugger,
        "the line is a debugger's: {line}",
        "take breakpoint() out: a debugger would read and write the lines of the protocol",
    ),
    Cause(
        "text before the reply",
        _prompt,
        'text stands before the reply on its line: "{text}"',
        "write a reply alone on its line: input() without a prompt; debug output goes to standard error",
    ),
    Cause(
        "bytes",
        _bytes,
        "the line is no JSON but bytes as Python prints them",
        "print text: leave .encode() out, or write bytes to sys.stdout.buffer",
    ),
    Cause(
        "two objects",
        _two_objects,
        "several objects stand on one line",
        'answer each request once, and end each reply with "\\n"',
    ),
    Cause(
        "encoded twice",
        _encoded_twice,
        "the line is a JSON string that holds a reply: it was encoded twice",
        "call json.dumps(...), or JSON.stringify(...), once",
    ),
    Cause(
        "no object",
        _list,
        "the line is JSON, but no object: {line}",
        'reply with an object on one line: {{"id":{asked},"choice":0}}',
    ),
    Cause("debug print", _text, "the line is text, no reply: {line}", _DEBUG),
    Cause(
        "no hello",
        _no_hello,
        "the first line is no hello: {line}",
        'answer the hello line with {{"type":"hello"}}, before all else',
    ),
    Cause(
        "string id",
        _string_id,
        "the id is a string: {sent}",
        'send the id as the number that the request has: "id":{asked}',
    ),
    Cause(
        "second hello",
        _second_hello,
        "a second hello came where a reply was due",
        "say hello once, when the hello line comes",
    ),
    Cause("no id", _no_id, "the reply has no id", 'copy the id of the request: "id":{asked}'),
    Cause(
        "odd id",
        _odd_id,
        "the id is no integer: {sent}",
        'send the id as the number that the request has: "id":{asked}',
    ),
    Cause(
        "move and choice",
        _both,
        "the reply has both a move and a choice",
        "give one of them, and leave the other out, also where it would be null",
    ),
    Cause(
        "odd choice",
        _odd_choice,
        "the choice is no integer: {sent}",
        'send an index into legal, a whole number counted from 0: "choice":0',
    ),
    Cause(
        "move not in its place",
        _bare_move,
        "the reply has {name}, and no move that is an object",
        'put one of the objects in legal into move: {{"id":{asked},"move":{{...}}}}',
    ),
    Cause(
        "wrong id",
        _wrong_id,
        "the reply has the id {sent}, the request had {asked}",
        'copy the id of the request that you answer, message["id"]; don\'t count yourself',
    ),
    Cause(
        "second answer",
        _twice,
        "a second reply to the request {sent}",
        "answer each request once, and only lines whose type is request",
    ),
    Cause(
        "choice out of range",
        _no_index,
        "the choice {choice} is no index into legal, which goes from 0 to {last}",
        "send an index into legal, counted from 0",
    ),
    Cause(
        "too many threads",
        _too_many,
        "it was refused a thread or a process: {name}",
        "start no more than hello.limits.processes; numeric libraries start one for each core of the machine: set "
        "OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1 before they are imported",
    ),
    Cause(
        "reply on standard error",
        _on_stderr,
        "its answer went to standard error",
        "write replies to standard output; only debug output goes to standard error",
    ),
    Cause(
        "reads all input first",
        _reads_all,
        "it reads all of its input before it answers: {name}",
        "read a line, answer it, and read the next: for line in sys.stdin",
    ),
    Cause(
        "no end of line",
        _unended,
        "its answer has no end of line",
        'end each reply with "\\n", and flush it',
    ),
    Cause(
        "no flush",
        _unflushed,
        "it doesn't flush its output: its lines stay in a buffer of its own",
        "flush after each line: {how}",
    ),
    Cause(
        "endless loop",
        _computed(lambda share: share >= _MOST),
        "no reply came in time: {detail}",
        "it computed most of the time: look for an endless loop, and end each search by the request's clock",
    ),
    Cause(
        "sleep",
        _computed(lambda share: share <= _NEARLY_NONE),
        "no reply came in time: {detail}",
        "it sleeps, waits for something else than the line that it was sent, catches an exception and prints nothing, "
        "or doesn't flush its answer: {how}",
    ),
    Cause(
        "own file hides a module",
        _hides,
        "the bot's own file {name}.py hides Python's module {name}",
        "call the file otherwise",
    ),
    Cause(
        "installs packages",
        _names(_INSTALLS),
        "it installs packages when it is started",
        "put what it needs into the bot's folder before: pip install --target FOLDER PACKAGE; a box has no network",
    ),
    Cause(
        "CR LF",
        _crlf,
        "its lines end with CR LF, and the shell takes the CR for a part of each word",
        "save the file with LF alone at the ends of its lines",
    ),
    Cause(
        "kit not there",
        _names(_KIT_MODULE),
        "the kit {name} isn't beside the bot",
        "write kit = \"python\", or the bot's language, into bot.toml, and it plays with the arena's; or copy it there",
    ),
    Cause(
        "lone file",
        _names(_MODULE, lambda seen: seen.boxed and seen.alone),
        "the module {name} isn't in the box: a file is alone there",
        _SPELT + "give the bot's folder, with a bot.toml, and put the module into it",
    ),
    Cause(
        "module not in the box",
        _names(_MODULE, lambda seen: seen.boxed),
        "the module {name} isn't in the box",
        _SPELT + "put it into the bot's folder; Python has its standard library there, and what the organiser added",
    ),
    Cause(
        "module not installed",
        _names(_MODULE),
        "the module {name} isn't installed for {program}",
        _SPELT + "put it into the bot's folder, or run the bot by an interpreter that has it",
    ),
    Cause("program not there", _missing_program, "the program {name} isn't {where}", "{there}"),
    Cause(
        "write outside",
        _names(_WRITE),
        "it may not write {name}",
        "write below the folder that the environment variable TMPDIR names; the bot's own folder is read-only",
    ),
    Cause(
        "data file of a lone file",
        _names(_FILE, lambda seen: seen.boxed and seen.alone),
        "the file {name} isn't in the box: a file is alone there",
        "give the bot's folder, with a bot.toml, and put the file into it",
    ),
    Cause(
        "data file not in the box",
        _names(_FILE, lambda seen: seen.boxed),
        "the file {name} isn't in the box",
        "put it into the bot's folder, which is /bot there, and open it beside the program: Path(__file__).parent",
    ),
    Cause(
        "data file not there",
        _names(_FILE),
        "the file {name} isn't there",
        "put it into the bot's folder, in which the bot is started, and open it beside the program",
    ),
    Cause(
        "network",
        _names(_NETWORK),
        "it looked for the network: {name}",
        "play without: there is no network in a box",
    ),
    Cause(
        "input read as one",
        _names(_ALL_AT_ONCE),
        "it reads several lines as one JSON text",
        "read a line, answer it, and read the next: for line in sys.stdin",
    ),
    Cause(
        "empty line read",
        _names(_EMPTY_LINE),
        "it read an empty text as JSON",
        "at the end of its input readline() returns an empty text: end the loop there, or use for line in sys.stdin",
    ),
    Cause(
        "crash",
        _crash,
        "it crashed: {detail}",
        "{remedy}",
    ),
    Cause("exception", _exception, "it ended with an error: {name}", "mend that; standard error tells where"),
    Cause(
        "error in its own words",
        _error_code,
        "the process has ended: {detail}",
        "mend what standard error tells, or else read until standard input ends",
    ),
    Cause(
        "kit never run",
        _no_run,
        "the program ended by itself: nothing runs its bot",
        "end the file with run(MyBot()), by the name of its class",
    ),
    Cause(
        "main never called",
        _no_main,
        "the program ended by itself: nothing calls its main()",
        "end the file with a call of main()",
    ),
    Cause(
        "end without error",
        _silent_end,
        "the program ended by itself, without an error",
        "read line after line until standard input ends: for line in sys.stdin",
    ),
    Cause(
        "silence at start",
        _mute,
        "{detail}",
        "answer the hello line before any long work, and flush it: {how}",
    ),
)
"""The first row whose sign is seen counts."""
