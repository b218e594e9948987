"""Diagnose a fault: find the probable mistake by the table DIAGNOSIS_RULES, and advise the bot's author.

The first rule whose sign matches is used; without a match, the description in FAULTS is. Signs are searched in the
facts of the fault, in the bot's line and in the last lines of standard error. The last two are untrusted: quotes of
them are escaped, no command that they name is recommended, and each is searched once, line by line, without regular
expressions."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from arena.bots import IN_BOXES
from arena.referee import FAULTS, Facts, list_own_lines
from arena.sandbox import ISOLATING_SANDBOXES, programs_of
from protocol import Malformed, decode, escape_bytes

_MAX_LINES = 60  # at the end of standard error
_MAX_LINE = 400  # characters of each
# Shares of CPU time in own time: a bot above was computing, a bot below was idle. A busy machine lowers the share.
_BUSY, _IDLE = 0.6, 0.1
_LAUNCHERS = ("npm", "yarn", "pnpm", "make", "mvn", "gradle", "gradlew")  # programs that print what they start
_NO_FACTS = Facts()


class Diagnosis(NamedTuple):
    """The problem and the fix, one line each."""

    message: str
    advice: str


@dataclass(frozen=True)
class FaultContext:
    """The data about a fault. `sent` and `received`: raw lines; `stderr`: the end of standard error.

    sandbox: name of the bot's sandbox. argv: the bot's command. is_single_file: whether the bot is a bare file. source:
    of the bot's program, b"" if it isn't readable text. siblings: names in the bot's folder.
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
    siblings: frozenset[str] = frozenset()

    @property
    def boxed(self) -> bool:
        """Whether the bot plays in an isolating sandbox."""
        return self.sandbox in ISOLATING_SANDBOXES

    @property
    def ended(self) -> bool:
        """Whether the process has ended or never greeted, so that its last output may contain the reason."""
        return self.received is None and self.code in ("exited", "closed", "start_failed")

    @property
    def reply(self) -> dict[str, Any]:
        """The received JSON object; {} without one."""
        return _parse_object(self.received or b"")

    @property
    def line(self) -> str:
        """The received line as text, with undecodable bytes escaped."""
        return (self.received or b"").decode(errors="backslashreplace").strip()

    @cached_property
    def stderr_lines(self) -> list[str]:
        """The bot's last lines of standard error, escaped, without lines that the arena added."""
        return [escape_bytes(line, _MAX_LINE) for line in list_own_lines(self.stderr)[-_MAX_LINES:]]

    def placeholders(self) -> dict[str, str]:
        """Return the values of the placeholders that any rule may use."""
        return {
            "asked": _quotation(_parse_object(self.sent).get("id", "ID")),
            "detail": _quotation(self.detail or ""),
            "line": _quotation(self.line),
            "how": _flush_advice(self.argv),
            "where": "in the box" if self.boxed else "there",
            "bring": "put it into a folder with the bot and a bot.toml, and name the folder"
            if self.boxed and self.is_single_file
            else "put it into the bot's folder",
        }


Sign = Callable[[FaultContext], object]


class DiagnosisRule(NamedTuple):
    """A rule. `sign`: returns a true value if the rule matches; it replaces {name} in the other fields."""

    sign: Sign
    message: str
    advice: str


def diagnose_fault(seen: FaultContext) -> Diagnosis:
    """Return the problem and the fix, by the first rule that matches."""
    for rule in DIAGNOSIS_RULES:
        if name := rule.sign(seen):
            words = {"name": _quotation(name), **seen.placeholders()}
            if "{program}" in rule.advice:
                words["program"] = _program_help(seen)
            return Diagnosis(rule.message.format(**words), rule.advice.format(**words))
    fault = FAULTS[seen.code]
    detail = escape_bytes((seen.detail or "").encode(errors="backslashreplace"), _MAX_LINE)
    if not detail:
        return Diagnosis(fault.message, fault.help)
    malformed = seen.received is not None and seen.code in ("bad_reply", "start_failed")
    return Diagnosis(detail if fault.limit or malformed else f"{fault.message}: {detail}", fault.help)


def _quotation(text: object) -> str:
    return escape_bytes(str(text).encode(errors="backslashreplace"), 120)  # characters of a name or an exception


def _parse_object(line: bytes) -> dict[str, Any]:
    decoded = decode(line)
    return {} if isinstance(decoded, Malformed) else decoded


# ---------------------------------------------------------------- signs in the received line


def _malformed_code(seen: FaultContext) -> str:
    decoded = decode(seen.received) if seen.received is not None and seen.code != "line_too_long" else {}
    return decoded.code if isinstance(decoded, Malformed) else ""


def _is_no_json(seen: FaultContext) -> bool:
    return _malformed_code(seen) in ("bad_json", "bad_number")


def _text_before_reply(seen: FaultContext) -> object:
    """Return text before the reply on its line, from input("...") or a print without a newline."""
    text, brace, rest = seen.line.partition("{")
    return _is_no_json(seen) and _parse_object(f"{brace}{rest}".encode()) and text.strip()


def _wrong_id(seen: FaultContext) -> object:
    if seen.code not in ("bad_reply", "wrong_id", "stray_line", "timeout"):
        return None
    id, asked = seen.reply.get("id"), _parse_object(seen.sent).get("id")
    wrong = seen.reply and asked is not None and (type(id) is not int or id != asked)
    return json.dumps(id) if wrong else seen.facts.stale is not None and str(seen.facts.stale)


def _odd_choice(seen: FaultContext) -> object:
    choice = seen.reply.get("choice", 0)
    return seen.code == "bad_reply" and "move" not in seen.reply and type(choice) is not int and json.dumps(choice)


def _out_of_range_choice(seen: FaultContext) -> object:
    choice, legal = seen.reply.get("choice"), _parse_object(seen.sent).get("legal")
    if seen.code != "illegal_move" or type(choice) is not int or not isinstance(legal, list):
        return False
    return not 0 <= choice < len(legal) and f"{choice} isn't an index into legal (0 to {len(legal) - 1})"


# ---------------------------------------------------------------- signs on standard error, and in the exit


def _stderr_has(patterns: str, when: Callable[[FaultContext], object] = lambda seen: seen.ended) -> Sign:
    """Return a sign that searches standard error, last line first, for one of the patterns. `*` matches the name."""
    parts = [pattern.partition("*") for pattern in patterns.split(" | ")]

    def sign(seen: FaultContext) -> object:
        lines = reversed(seen.stderr_lines) if when(seen) else ()
        return next((name for line in lines for part in parts if (name := _match_line(line, *part))), "")

    return sign


def _match_line(line: str, before: str, star: str, after: str) -> str:
    _, found, rest = line.partition(before) if before else ("", "*", line)
    name, end, _ = rest.partition(after) if after else (rest, "*", "")
    if not found or not end:
        return ""
    return name.rpartition(": ")[2].strip("'\"\u2018\u2019 ") if star else line.strip()


def _is_silent(seen: FaultContext) -> object:
    return seen.ended or (seen.received is None and seen.code == "timeout")


def _program_help(seen: FaultContext) -> str:
    if not seen.boxed:
        return "install it"
    if programs_of(seen.sandbox).image:
        return "use an image that contains it (--docker-image)"
    return IN_BOXES


def _shadowed_module(seen: FaultContext) -> object:
    name = _stderr_has("module '*' has no attribute | partially initialized module '*' | ' from '*'")(seen)
    return f"{name}.py" in seen.siblings and name


def _own_program(seen: FaultContext) -> object:
    name = os.path.basename(str(_stderr_has("open file '*' | find module '*' | main class *")(seen)))
    return name in map(os.path.basename, seen.argv[1:]) and name


def _own_module(seen: FaultContext) -> object:
    name = str(_stderr_has("module named '*'")(seen)).partition(".")[0]
    return name if {name, f"{name}.py"} & seen.siblings else _stderr_has("attempted relative import")(seen)


def _has_windows_marks(seen: FaultContext) -> object:
    program, first = os.path.basename("".join(seen.argv[:1])), seen.source.partition(b"\n")[0]
    shell = seen.ended and program.endswith(("sh", "env"))
    by_first_line = seen.ended and program in seen.siblings and not _last_error(seen)
    crlf = (shell and b"\r\n" in seen.source) or (by_first_line and first.startswith(b"#!") and first.endswith(b"\r"))
    marked = (shell or by_first_line) and first.startswith(b"\xef\xbb\xbf#!")
    missing = seen.ended and str(_missing_program(seen)).endswith("\\r")
    return crlf or marked or missing or _stderr_has("Non-UTF-8 code | null bytes")(seen)


def _missing_program(seen: FaultContext) -> object:
    python = "FileNotFoundError: [Errno 2] No such file or directory: '*'"
    patterns = "*: not found | *: command not found | env: *: No such file | make: *: No such file | spawn * ENOENT"
    by_python = any("subprocess.py" in line for line in seen.stderr_lines)
    return (by_python and _stderr_has(python)(seen)) or _stderr_has(patterns)(seen)


_ERRORS = ("Exception in thread ", "thread '", "panic: ", "terminate called ", "Uncaught ", "fatal error: ")


def _last_error(seen: FaultContext) -> str:
    """Return the line of the last exception: after a Python traceback, or with the usual start of other languages."""
    found, within = "", False
    for line in seen.stderr_lines if seen.ended else ():
        if line.startswith("Traceback (most recent call last):"):
            within = True
        elif within and line and not line.startswith((" ", "\t")):
            found, within = line, False
        elif line.startswith(_ERRORS) or line.partition(":")[0].endswith(("Error", "Exception")):
            found = line
        elif line.startswith("coup_kit: ") and " failed " in line:
            found = found or line
    return found


def _cpu_share(seen: FaultContext) -> float:
    """Return the share of CPU time in own time at a timeout; a value between _IDLE and _BUSY if unknown."""
    own_ms, cpu_ms, *_ = seen.facts
    return _BUSY - 0.1 if seen.code != "timeout" or own_ms is None or cpu_ms is None else cpu_ms / max(1, own_ms)


_READS_ALL = (b"stdin.read()", b"stdin.readlines()", b"json.load(sys.stdin)", b"readFileSync(0", b"stdin.read_to_")


def _reads_all(seen: FaultContext) -> object:
    silent = seen.code in ("start_failed", "timeout") and (seen.received is None or seen.facts.unflushed)
    return silent and any(words in seen.source for words in _READS_ALL)


def _flush_advice(argv: tuple[str, ...]) -> str:
    program = " ".join(argv[:2])
    if "python" in program or ".py" in program:
        return "print(..., flush=True)"
    if "node" in program or ".js" in program:
        return 'process.stdout.write(line + "\\n")'
    return "fflush(stdout) in C, std::flush in C++, flush() in Java and Rust, flush=True in Python"


# ---------------------------------------------------------------- the table

_LOOP = "read a line, answer it, and read the next: for line in sys.stdin"

_ROWS: tuple[tuple[Sign, str, str], ...] = (
    # sign, message, advice
    (
        lambda seen: seen.facts.unended and not seen.line.startswith("{"),
        "the bot printed a prompt, or other text that isn't a reply: {line}",
        "write nothing but replies to standard output: input() without a prompt",
    ),
    (lambda seen: seen.facts.unended, "the reply lacks its newline", 'end each reply with "\\n", and flush it'),
    (
        lambda seen: _malformed_code(seen) == "bad_utf8" or seen.line.startswith("\ufeff") or "\0" in seen.line,
        "the line isn't UTF-8, or begins with a byte order mark: {line}",
        'write UTF-8 without one: sys.stdout.reconfigure(encoding="utf-8"), not "utf-8-sig"; new UTF8Encoding(false)',
    ),
    (
        lambda seen: _is_no_json(seen) and (name := os.path.basename("".join(seen.argv[:1]))) in _LAUNCHERS and name,
        "{name} prints lines of its own to standard output",
        'start the bot\'s program itself, without {name}: run = "node bot.js"',
    ),
    (
        lambda seen: _is_no_json(seen) and seen.line.startswith(("{", "b'", 'b"')),
        "the line isn't valid JSON: {line}",
        "write each reply on one line with your language's JSON library: json.dumps(...), JSON.stringify(...)",
    ),
    (
        _text_before_reply,
        'the line has text before the reply: "{name}"',
        "write each reply on a line of its own: input() without a prompt; print debug output to standard error",
    ),
    (
        lambda seen: _is_no_json(seen) and seen.line,
        "the line is text, not a reply: {line}",
        "print only replies to standard output; print debug output to standard error",
    ),
    (
        _wrong_id,
        "the reply has the id {name}, the request had {asked}",
        'reply to hello and to requests only, and copy the id of the request as a number: "id":{asked}',
    ),
    (_odd_choice, "the choice isn't an integer: {name}", 'send an index into legal, an integer from 0: "choice":0'),
    (_out_of_range_choice, "the choice {name}", "send an index into legal, counted from 0"),
    (
        _stderr_has("start new thread | native thread | pthread_create | Resource temporarily unavailable", _is_silent),
        "the bot couldn't start a thread or a process: {name}",
        "start at most hello.limits.processes; numeric libraries start one for each core of the machine: set "
        "OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1 before they are imported",
    ),
    (_reads_all, "the bot reads all of its input before it answers", _LOOP),
    (
        lambda seen: seen.facts.unflushed,
        "the bot doesn't flush its output, or waits for more input: its reply came when its input ended",
        "flush after each line: {how}; answer a line before you read the next",
    ),
    (
        lambda seen: seen.facts.late,
        "{detail}",
        "end each search by the request's clock; load data before the first request",
    ),
    (
        lambda seen: _cpu_share(seen) >= _BUSY,
        "no reply came in time: {detail}",
        "the bot computed most of the time: look for an endless loop, and end each search by the request's clock",
    ),
    (
        lambda seen: _cpu_share(seen) <= _IDLE,
        "no reply came in time: {detail}",
        "flush each reply: {how}; or the bot sleeps, waits for something else, or catches an exception without a reply",
    ),
    (_shadowed_module, "the bot's file {name}.py hides Python's module {name}", "rename the file"),
    (
        _stderr_has("No module named pip | 'pip', 'install' | pip install | npm ERR! | npm error | will be installed"),
        "the bot installs packages when it starts",
        "install them beforehand into the bot's folder: pip install --target FOLDER PACKAGE, npm install",
    ),
    (
        lambda seen: seen.ended and any(word.endswith("npx") for word in seen.argv),
        "npx needs the network, which no box has",
        "run npm install in the bot's folder beforehand, and start the program's file with node",
    ),
    (
        lambda seen: bool(seen.ended) and any("os.environ" in line for line in seen.stderr_lines) and _last_error(seen),
        "an environment variable isn't set: {name}",
        "bots don't get your environment: write the value into a file in the bot's folder, or use a default",
    ),
    (
        _stderr_has("coroutine '*' was never awaited"),
        "the coroutine {name} was never awaited",
        "call it with await, and the outermost one with asyncio.run(main()); the kit's methods have no async",
    ),
    (
        _stderr_has("Bad magic number | UnsupportedClassVersion | `GLIBC | ELF header | Exec format"),
        "the program was built for another version or system: {name}",
        "put the source and a build command into the folder, or build for this version: javac --release 17",
    ),
    (
        _stderr_has("go.mod file not found | go: RLock "),
        "the build uses Go modules",
        'build without modules, because a box can\'t lock files: build = "env GO111MODULE=off go build -o bot ."',
    ),
    (
        _has_windows_marks,
        "the program has CR LF line ends, a byte order mark or another encoding than UTF-8",
        "save the file as UTF-8 without a byte order mark (BOM) and with LF line ends",
    ),
    (
        _stderr_has("named 'coup_kit | module './coup_kit | coup_kit.hpp: No | module `coup_kit` | class CoupKit"),
        "the bot's folder has no kit",
        "add kit = \"python\" (or the bot's language) to bot.toml to use the arena's kit, or copy the kit there",
    ),
    (
        _stderr_has("No module named 'arena' | No module named 'ladder' | No module named 'protocol'"),
        "bots can't import the arena's own modules",
        "use the kit in a bot: from coup_kit import Bot, run; arena.local is for your own programs",
    ),
    (
        _stderr_has("named 'torch | named 'tensorflow | named 'jax", lambda seen: seen.boxed and seen.ended),
        "no box has torch, tensorflow or jax, and they are too large for a bot's folder",
        "train on your machine, put the weights into the bot's folder, and use numpy; see docs/reference/sandbox.md",
    ),
    (
        _own_program,
        "{name}, which the run command names, isn't {where}",
        'correct run in bot.toml: capitals count, and paths have "/"; or add the build command that creates the file',
    ),
    (
        _own_module,
        "Python looks for modules in the program's folder only: {name}",
        'import a module of that folder without a dot; run a program in a subfolder with "python3 -m src.main"',
    ),
    (
        _stderr_has("module named '*' | find module '*' | ClassNotFoundException: * | shared libraries: *:"),
        "the module {name} isn't {where}",
        "check the spelling; if it is right, {bring} (pip install --target FOLDER, npm install), or ask the organiser",
    ),
    (
        _stderr_has("o space left on device", _is_silent),
        "the bot's folder for temporary files is full",
        "write less below TMPDIR, and delete old files; hello.limits.tmp_mb is the folder's size",
    ),
    (
        _stderr_has('[[: not found | Bad substitution | Illegal option | source: not found | "(" unexpected'),
        "the script is written for bash, but runs in sh: {name}",
        'start it with bash: "bash bot.sh"',
    ),
    (_missing_program, "the program {name} isn't {where}", "{program}"),
    (
        _stderr_has("only file system: '*' | denied: '*' | file system, open '*' | *: Read-only file system"),
        "the bot has no permission to write {name}",
        "write below the folder in the environment variable TMPDIR; the bot's own folder is read-only",
    ),
    (
        _stderr_has("such file or directory: '*' | directory, open '*' | open file '*' | open *: no such | *: No such"),
        "the file {name} isn't {where}",
        "{bring}, and open it by a path relative to the program's folder: Path(__file__).parent in Python",
    ),
    (
        _stderr_has(
            "etwork is unre | ame resol | service not kn | ENETUNREACH | EAI_AGAIN | ot resolve | family not | dial tcp"
        ),
        "the bot tried to use the network: {name}",
        "play and build without the network: boxes have none; put packages into the bot's folder beforehand",
    ),
    (
        _stderr_has("JSONDecodeError: Expecting value: line 1 column 1 (char 0) | Unexpected end of JSON input"),
        "the bot parsed an empty text as JSON",
        "readline() returns an empty text when the input ends: end the loop then, or use for line in sys.stdin",
    ),
    (
        lambda seen: seen.ended and seen.facts.signal in (4, 6, 7, 8, 11) and "terminate" not in _last_error(seen),
        "the bot crashed: {detail}",
        "to find out where, build it with -g -fsanitize=address,undefined; never build with -march=native",
    ),
    (
        lambda seen: (name := _last_error(seen)).startswith("SyntaxError: ") and name,
        "the bot ended with an error: {name}",
        "fix the line that standard error shows; if it is right, it needs a newer version, or a compiler (TypeScript)",
    ),
    (_last_error, "the bot ended with an error: {name}", "fix the error; standard error shows where it is"),
    (
        lambda seen: seen.ended and seen.facts.exit_code and seen.stderr_lines,
        "the process has ended: {detail}",
        "fix the error on standard error; if there is none, read until standard input ends",
    ),
    (
        lambda seen: seen.ended and seen.facts.exit_code == 0 and _parse_object(seen.sent).get("game"),
        "the program ended before its input",
        "play until standard input ends: a match has many games, and one process plays them all",
    ),
    (
        lambda seen: seen.ended and seen.facts.exit_code == 0,
        "the program ended by itself, without an error",
        f"start the bot at the end of the file: run(MyBot()) with the kit, or main(); {_LOOP}",
    ),
    (
        lambda seen: seen.code == "start_failed" and seen.received is None and seen.facts.own_ms is not None,
        "{detail}",
        "flush the reply to the hello: {how}; answer it before any long work",
    ),
)
DIAGNOSIS_RULES = tuple(DiagnosisRule(*row) for row in _ROWS)
"""All rules; the first whose sign matches is used."""
