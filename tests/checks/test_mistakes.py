"""Help by cause: each row of the table names its mistake and a fix.

Source: the docstring of arena/checks/mistakes.py.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena.checks import MISTAKES, Diagnosis, FaultContext, diagnose_fault
from arena.referee import FAULTS, Facts
from tests.cases import each

REQUEST = b'{"type":"request","id":41,"kind":"turn","legal":[{"type":"action"},{"type":"action"}]}'
HELLO = b'{"type":"hello","protocol":1}'


def line(text: bytes, code: str = "bad_json", sent: bytes = REQUEST) -> FaultContext:
    return FaultContext(code, sent=sent, received=text)


def end_with(stderr: str, sandbox: str = "bubblewrap", alone: bool = False, code: str = "exited") -> FaultContext:
    text = f"--- game 3 ---\n{stderr}\n--- turn 12 ---\n".encode(errors="surrogateescape")
    return FaultContext(
        code,
        "exited with code 1",
        stderr=text,
        sandbox=sandbox,
        argv=("/usr/bin/python3", "b"),
        is_single_file=alone,
        facts=Facts(exit_code=1),
    )


def time_out(facts: Facts, argv: tuple[str, ...] = (), code: str = "timeout") -> FaultContext:
    return FaultContext(code, "what was seen", argv=argv, facts=facts)


def crash(number: int) -> FaultContext:
    return FaultContext("exited", "killed by signal", facts=Facts(signal=number))


HIDING = frozenset({"bot.py", "json.py", "random.py"})
TRACEBACK = 'Traceback (most recent call last):\n  File "/bot/b.py", line 7, in <module>\n    main()\n'
NO_MODULE = f"{TRACEBACK}ModuleNotFoundError: No module named 'torch'"
NO_FILE = f"{TRACEBACK}FileNotFoundError: [Errno 2] No such file or directory: 'weights.bin'"
STARTED = (
    f'{TRACEBACK}  File "/usr/lib/python3.11/subprocess.py", line 1917, in _execute_child\n'
    "FileNotFoundError: [Errno 2] No such file or directory: 'cargo'"
)
BOXES_LANGUAGES = "no toolchains in home folders"
READS_ALL = FaultContext("timeout", source=b"for x in sys.stdin.readlines():")
CR_LF = replace(end_with("b.sh: 5: Syntax error"), argv=("/bin/sh", "b.sh"), source=b"#!/bin/sh\r\nx\r\n")
OWN = FaultContext("start_failed", "no such file", argv=("./b.py",), files=frozenset({"b.py"}))
HIDDEN = replace(end_with("ImportError: cannot import name 'Random' from 'random' (/bot/random.py)"), files=HIDING)

SEEN: list[tuple[FaultContext, str, str]] = [
    # Observations that differ from the example of their row: each with words of the cause and of the fix.
    (line(b'\xef\xbb\xbf{"type":"hello"}', "start_failed", HELLO), "byte order mark", "utf-8-sig"),
    (line(b'{"id":41,"choice":0,"say":"\xf6"}', "bad_utf8"), "the line isn't UTF-8", 'encoding="utf-8"'),
    (line('{"id":41,"choice":0}'.encode("utf-16-le")), "the line isn't UTF-8", 'encoding="utf-8"'),
    (replace(line(b"> bot@1.0.0 start"), argv=("/usr/bin/npm", "start")), "npm prints lines of its own", "without npm"),
    (line(b'{"id":41,"keep":[0,1],"p":0,50}'), "has a decimal comma", "with a point"),
    (line(b"b'{\"id\": 41}'"), "isn't valid JSON: b'", "json.dumps"),
    (line(b'Name: {"type":"hello"}', "start_failed", HELLO), 'before the reply: "Name:"', "without a prompt"),
    (line(b'move?\x1b[2J {"id":41,"choice":0}'), r"move?\x1b[2J", "on a line of its own"),
    (
        replace(line(b"MegaBot 3000 ready", "start_failed", HELLO), source=b"import json, sys\n"),
        "MegaBot 3000 ready",
        "debug output: print(..., file=sys.stderr)",
    ),
    (line(b"thinking\x1b[31m ...", "stray_line"), r"thinking\x1b[31m ...", "debug output: print(..., file=sys.stderr)"),
    (line(b'{"choice":0}', "bad_reply"), "the reply has no id, the request had 41", '"id":41'),
    (line(b'{"id":0,"choice":0}', "wrong_id"), "the id 0, the request had 41", "copy the id"),
    (
        FaultContext("timeout", sent=REQUEST, facts=Facts(9, 0, stale=40)),
        "the id 40, the request had 41",
        "copy the id",
    ),
    (line(b'{"id":41,"choice":true}', "bad_reply"), "an integer: true", '"choice":0'),
    (
        line(b'{"id":41,"choice":-1}', "illegal_move"),
        "choice -1 isn't an index",
        "a search that finds nothing gives -1",
    ),
    (line(b'{"id":41,"choice":0.5}', "bad_reply"), "an integer: 0.5", "round it"),
    (
        line(b'{"id":44,"choice":0}', "wrong_id", REQUEST.replace(b"41", b"300")),
        "the id 44, which is 300 cut to 8 bits",
        "copy the id",
    ),
    (end_with("panic: runtime error: index out of range [-1]"), "range [-1]", "last index of an empty list"),
    (
        end_with("ReferenceError: require is not defined in ES module scope"),
        "require is not",
        "rename the file to .cjs",
    ),
    (end_with(f"{TRACEBACK}KeyError: 'target'"), "KeyError: 'target'", "only coup, assassinate, steal"),
    (end_with(f"{TRACEBACK}ValueError: too many values to unpack (expected 2)"), "to unpack", "another length here"),
    (time_out(Facts(unflushed=True), ("perl", "b.pl")), "doesn't flush", "$| = 1;"),
    (end_with("Use of an undefined value in x at ./b.pl line 3."), "at ./b.pl line 3", "fix the error"),
    (end_with(f"{TRACEBACK}RuntimeError: can't start new thread"), "can't start new thread", "hello.limits.processes"),
    (
        FaultContext("timeout", stderr=b"OpenBLAS: pthread_create failed for 7 of 8"),
        "couldn't start a thread",
        "OPENBLAS_NUM",
    ),
    (READS_ALL, "all of its input before it answers", "for line in sys.stdin"),
    (
        time_out(Facts(unflushed=True), ("/usr/bin/java", "Bot"), "start_failed"),
        "doesn't flush its output, or waits for more input",
        "System.out.flush()",
    ),
    (time_out(Facts(unflushed=True), ("/bot/b.py",)), "doesn't flush", "print(..., flush=True)"),
    (HIDDEN, "random.py hides Python's module random", "rename the file"),
    (replace(CR_LF, source=b"set -e\r\n"), "CR LF", "LF line ends"),
    (replace(OWN, source=b"#!/usr/bin/python3\r\n"), "CR LF", "LF line ends"),
    (replace(OWN, source=b"\xef\xbb\xbf#!/usr/bin/python3\n"), "byte order mark", "(BOM)"),
    (end_with("/usr/bin/env: \u2018python3\r\u2019: No such file or directory"), "CR LF", "LF line ends"),
    (replace(OWN, source=b"#!/bin/x\r\n", stderr=b"ValueError: y"), "an error: ValueError: y", "fix the error"),
    (end_with("SyntaxError: source code cannot contain null bytes"), "another encoding", "as UTF-8"),
    (end_with("RuntimeError: Bad magic number in .pyc file"), "for another version", "put the source"),
    (
        end_with("./b: libc.so.6: version `GLIBC_2.39' not found (required by ./b)"),
        "another version or system",
        "source",
    ),
    (end_with("go: RLock /tmp/build/go.mod: function not implemented"), "uses Go modules", "GO111MODULE=off"),
    (end_with("b.cpp:1:10: fatal error: coup_kit.hpp: No such file or directory"), "has no kit", "the bot's language"),
    (
        end_with("b.sh: 1: set: Illegal option -o pipefail"),
        "written for bash, but runs in sh",
        "#!/bin/bash the first line",
    ),
    (
        replace(
            end_with("python3: can't open file '/bot/b.py': [Errno 2] No such"),
            argv=("python3", "b.py"),
            files=frozenset({"../b.py"}),
        ),
        "b.py, which the run command names",
        "correct run",
    ),
    (
        replace(end_with("Error: Cannot find module '/bot/dist/bot.js'"), argv=("node", "dist/bot.js")),
        "bot.js, which the run command names",
        "add the build",
    ),
    (
        replace(end_with("Error: Could not find or load main class Main"), argv=("java", "Main")),
        "Main, which the run command names",
        "correct run",
    ),
    (
        replace(end_with(f"{TRACEBACK}ModuleNotFoundError: No module named 'src.brain'"), files=frozenset({"src"})),
        "in the program's folder only: src",
        "-m src.main",
    ),
    (
        replace(end_with("b.sh: 1: \ufeff#!/bin/sh: not found"), argv=("/bin/sh",), source=b"\xef\xbb\xbf#!/bin/sh\nx"),
        "byte order mark",
        "(BOM)",
    ),
    (end_with(NO_MODULE.replace("torch", "coup_kit")), "has no kit", 'kit = "python"'),
    (end_with("Error: Cannot find module './coup_kit.js'\nRequire", "process"), "has no kit", "bot.toml"),
    (
        end_with(NO_MODULE.replace("torch", "brain"), alone=True),
        "the module brain isn't in the box",
        "a bot.toml, and name the folder",
    ),
    (end_with(NO_MODULE, "process"), "the module torch isn't there", "check the spelling; if it is right, put it into"),
    (end_with("Error: Cannot find module 'lodash'\nRequire stack:"), "the module lodash isn't", "bot's folder"),
    (end_with(STARTED), "the program cargo isn't in the box", BOXES_LANGUAGES),
    (end_with("/usr/bin/env: \u2018ruby\u2019: No such file or directory"), "ruby isn't in the box", BOXES_LANGUAGES),
    (end_with("make: cc: No such file or directory"), "cc isn't in the box", BOXES_LANGUAGES),
    (end_with("Error: spawn stockfish ENOENT", "docker"), "stockfish isn't in the box", "--docker-image"),
    (end_with(STARTED, "process"), "cargo isn't there", "install it"),
    (end_with(f"{TRACEBACK}PermissionError: [Errno 13] Permission denied: '/x'"), "to write /x", "TMPDIR"),
    (end_with("Error: EROFS: read-only file system, open '/bot/log.txt'"), "to write /bot/log.txt", "TMPDIR"),
    (end_with(NO_FILE, alone=True), "weights.bin isn't in the box", "bot.toml"),
    (end_with(NO_FILE), "weights.bin isn't in the box", "put it into the bot's folder"),
    (end_with("Error: ENOENT: no such file or directory, open 'a b.json'"), "a b.json isn't in", "bot's folder"),
    (end_with("weights.bin: No such file or directory"), "weights.bin isn't in", "bot's folder"),
    (end_with("panic: open weights.bin: no such file or directory"), "weights.bin isn't in", "bot's folder"),
    (
        end_with("python3: can't open file '/bot/bto.py': [Errno 2] No such file"),
        "/bot/bto.py isn't in",
        "bot's folder",
    ),
    (end_with(NO_FILE, "process"), "weights.bin isn't there", "bot's folder"),
    (end_with("npm error code EAI_AGAIN\nnpm error log: x"), "installs packages", "into the bot's folder"),
    (end_with("OSError: [Errno 97] Address family not supported by protocol"), "use the network", "boxes have none"),
    (end_with("Could not resolve host: index.crates.io"), "use the network", "boxes have none"),
    (end_with("SyntaxError: Unexpected end of JSON input\n    at JSON.parse"), "an empty text", "end the loop"),
    (replace(crash(6), stderr=b"terminate called after throwing"), "terminate called after", "fix the error"),
    (crash(6), "the bot crashed", "-fsanitize=address"),
    (end_with(f"{TRACEBACK}KeyError: 'duke'"), "ended with an error: KeyError: 'duke'", "read it with .get()"),
    (end_with(f"{TRACEBACK}my.Oops: no \x1b[2J"), r"my.Oops: no \x1b[2J", "fix the error"),
    (end_with(f"{TRACEBACK}ValueError: a\n\nDuring handling ...\n\n{TRACEBACK}TypeError: b"), "TypeError: b", "fix"),
    (
        end_with("/bot/b.js:3\n  x.y\n    ^\n\nTypeError: x is undefined\n    at b.js:3\n\nNode.js v18"),
        "x is undefined",
        "",
    ),
    (end_with('Exception in thread "main" java.lang.NullPointerException\n\tat Bot.main'), "NullPointerException", ""),
    (end_with("thread 'main' panicked at src/main.rs:2:5:\nboom"), "panicked at src/main.rs", "fix"),
    (end_with(f"{TRACEBACK}KeyError: 'duke'", code="start_failed"), "KeyError: 'duke'", "fix"),
    (
        end_with(f"{TRACEBACK}ImportError: attempted relative import with no known parent package"),
        "in the program's folder only: ImportError",
        "without a dot",
    ),
    (end_with("  type Move = int\nSyntaxError: invalid syntax"), "SyntaxError: invalid syntax", "newer version"),
    (end_with("fatal error: all goroutines are asleep - deadlock!"), "goroutines are asleep", "fix the error"),
    (time_out(Facts(300), ("b.js",), "start_failed"), "what was seen", "process.stdout"),
    (
        end_with(f"{TRACEBACK}AttributeError: 'NoneType' object has no attribute 'seat'"),
        "'seat', in b.py, line 7: main()",
        "test that the value is there",
    ),
    (
        end_with("thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds: the len is 2"),
        "main.rs",
        "beyond the end of a list or array",
    ),
    (
        replace(crash(11), sent=REQUEST, source=b'find("tax"); game.find("action")'),
        'find("tax") returned nothing',
        'only these moves are legal: {"type": "action"}',
    ),
    (
        FaultContext("exited", facts=Facts(exit_code=0), argv=("python3",), source=b"class A:\n    '\\d'\n"),
        "it defines functions or classes, but calls none",
        "at the end of the file",
    ),
    (
        FaultContext("exited", "exited with code 3", facts=Facts(exit_code=3), source=b"x\nif y:\n    os._exit(3)"),
        "in line 3: os._exit(3): exited with code 3",
        "don't end it there",
    ),
    (
        replace(time_out(Facts(500, 3)), source=b"try {\n} catch (Exception e) {\n}"),
        "hides its errors: line 2: } catch",
        "print the error there",
    ),
]


def test_each_mistake_is_the_first_that_its_example_shows() -> None:
    first = [next(number for number, row in enumerate(MISTAKES) if row.sign(mistake.example)) for mistake in MISTAKES]
    assert first == list(range(len(MISTAKES)))
    assert all(text.isprintable() for mistake in MISTAKES for text in diagnose_fault(mistake.example))


@each(("seen", "what", "do"), SEEN, ids=[f"{what}, {do}" for _, what, do in SEEN])
def test_a_mistake_is_named_with_a_fix(seen: FaultContext, what: str, do: str) -> None:
    found = diagnose_fault(seen)
    assert what in found.message
    assert do in found.advice
    assert (found.message + found.advice).isprintable()


def test_a_move_of_the_request_before_is_named() -> None:
    seen = line(b'{"id":41,"move":{"lose":"duke"}}', "illegal_move")
    assert "fits the request before" not in diagnose_fault(seen).message
    before = b'{"id":40,"legal":[{"lose":"duke"},{"lose":"captain"}]}'
    assert "fits the request before" in diagnose_fault(replace(seen, earlier_request=before)).message


@pytest.mark.parametrize("size", [512, 1024, 4096])
def test_the_first_request_that_fills_a_buffer_is_named(size: int) -> None:
    """Without evidence of a cut, a wrong id in a long request has another cause."""
    sent = REQUEST.replace(b'"kind"', b'"events":[' + b"1," * (size // 2) + b'1],"kind"')
    kinds = frozenset({"turn", "lose"})
    seen = replace(line(b'{"id":0,"choice":0}', "wrong_id", sent), kinds=kinds, longest_request=size - 100)
    assert f"cut after {size - 1:,} bytes" in diagnose_fault(seen).message
    assert "cut after" not in diagnose_fault(replace(seen, longest_request=size + 1)).message
    assert "cut after" not in diagnose_fault(replace(seen, received=b"thinking", code="bad_json")).message
    thrown = replace(seen, code="exited", received=None, facts=Facts(signal=6))
    assert "cut after" in diagnose_fault(thrown).message
    assert "cut after" not in diagnose_fault(replace(thrown, stderr=b"terminate called after throwing")).message


@pytest.mark.parametrize("code", sorted(FAULTS))
def test_an_unknown_cause_has_the_help_of_its_fault(code: str) -> None:
    assert diagnose_fault(FaultContext(code)) == Diagnosis(FAULTS[code].message, FAULTS[code].help)


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        (
            FaultContext("bad_reply", "move must be an object", REQUEST, b'{"id":41,"move":"tax"}'),
            "move must be an object",
        ),
        (
            FaultContext("exited", "exited with code 3", facts=Facts(exit_code=3)),
            "the process has ended: exited with code 3",
        ),
        (FaultContext("exited", "exited with code 0"), "the process has ended: exited with code 0"),
        (FaultContext("timeout", "the bot doesn't flush"), f"{FAULTS['timeout'].message}: the bot doesn't flush"),
        (
            FaultContext("timeout", "in 9 ms it computed for 9 ms"),
            f"{FAULTS['timeout'].message}: in 9 ms it computed for 9 ms",
        ),
        (
            FaultContext("start_failed", "no hello within 3 ms"),
            f"{FAULTS['start_failed'].message}: no hello within 3 ms",
        ),
        (FaultContext("exited", "no \x1b[2J"), r"the process has ended: no \x1b[2J"),
        (FaultContext("out_of_memory", "out of memory: 256 MB"), "out of memory: 256 MB"),
        (line(b'{"id":41,"choice":0}', "illegal_move"), FAULTS["illegal_move"].message),
        (line(b'{"id":41,"move":{}}', "illegal_move"), FAULTS["illegal_move"].message),
        (line(b"", "stray_line"), FAULTS["stray_line"].message),
        (FaultContext("timeout", stderr=NO_MODULE.encode()), FAULTS["timeout"].message),
        (
            FaultContext("timeout", "in 9 ms it computed for 5 ms", facts=Facts(9, 5)),
            f"{FAULTS['timeout'].message}: in 9 ms it computed for 5 ms",
        ),
        (FaultContext("timeout", sent=REQUEST, received=b'{"id":41}'), FAULTS["timeout"].message),
    ],
)
def test_an_unclear_end_is_described_without_a_cause(seen: FaultContext, what: str) -> None:
    """A running bot may have logged anything; no cause is guessed from its output."""
    assert diagnose_fault(seen) == Diagnosis(what, FAULTS[seen.code].help)


def test_no_output_of_a_bot_is_part_of_a_command() -> None:
    """A bot could make its author run any command."""
    evil = "x; rm -rf ~"
    for seen in (
        end_with(f"{TRACEBACK}ModuleNotFoundError: No module named '{evil}'"),
        end_with(f"sh: 1: {evil}: not found"),
        end_with(f"{TRACEBACK}PermissionError: [Errno 13] Permission denied: '{evil}'"),
    ):
        assert "rm" not in diagnose_fault(seen).advice


def test_long_output_is_searched_in_linear_time() -> None:
    for words in ("subprocess.py", ": a", "open ", "Error.", "a.", "Traceback (most recent call last):\n  x\n", "sh"):
        diagnose_fault(end_with(words * 10_000))
    diagnose_fault(replace(end_with("x"), argv=("a b",) * 10_000, files=frozenset(map(str, range(2000)))))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("import no_such_torch", "the module no_such_torch isn't there"),
        ("open('weights.bin')", "the file weights.bin isn't there"),
        ("import subprocess; subprocess.run(['no-such-cargo'])", "the program no-such-cargo isn't there"),
        ("print(", "SyntaxError"),
        ("class Oops(BaseException): pass\nraise Oops('x')", "Oops: x"),
    ],
)
def test_errors_of_this_python_are_recognized(tmp_path: Path, text: str, what: str) -> None:
    """The texts above are of one version; this Python's may differ."""
    bot = tmp_path / "b.py"
    bot.write_text(text)
    ran = subprocess.run([sys.executable, "-P", bot], cwd=tmp_path, capture_output=True, timeout=60)
    assert what in diagnose_fault(FaultContext("exited", stderr=ran.stderr, argv=(sys.executable,))).message
