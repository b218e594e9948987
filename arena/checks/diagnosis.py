"""Diagnose a fault by the table MISTAKES: what was seen, the cause, the remedy, and an example.

The first mistake whose sign is seen is used; without one, the description in FAULTS is. `fault_signs.py` has the signs.
`make docs` writes the table to docs/reference/mistakes.md."""

import os
from dataclasses import replace
from typing import Any, NamedTuple

from arena.checks import fault_signs as signs
from arena.checks.fault_signs import FaultContext, Sign, language_of, stderr_has
from arena.referee import FAULTS, Facts
from protocol import escape_bytes


class Diagnosis(NamedTuple):
    """The problem and the fix, one line each."""

    message: str
    advice: str


class Mistake(NamedTuple):
    """A mistake. `seen`: its sign; a true value replaces {name} in `cause` and `remedy`. `example`: shows the sign."""

    seen: Sign
    cause: str
    remedy: str
    example: FaultContext


def diagnose_fault(seen: FaultContext) -> Diagnosis:
    """Return the problem and the fix, by the first mistake that is seen."""
    for mistake in MISTAKES:
        if name := mistake.seen(seen):
            words = {
                "name": signs.quotation(name),
                "error": signs.quotation(signs.last_error(seen)),
                **seen.placeholders(),
            }
            if "{program}" in mistake.remedy:
                words["program"] = signs.program_help(seen)
            return Diagnosis(mistake.cause.format(**words), mistake.remedy.format(**words))
    fault = FAULTS[seen.code]
    detail = escape_bytes((seen.detail or "").encode(errors="backslashreplace"), signs.MAX_LINE)
    if not detail:
        return Diagnosis(fault.message, fault.help)
    malformed = seen.received is not None and seen.code in ("bad_reply", "start_failed")
    return Diagnosis(detail if fault.limit or malformed else f"{fault.message}: {detail}", fault.help)


# ---------------------------------------------------------------- examples of faults

_REQUEST = b'{"type":"request","id":41,"kind":"lose","legal":[{"lose":"duke"},{"lose":"captain"}]}'
_NO_HELLO = FaultContext("start_failed", "no hello within 10000 ms", facts=Facts(10000))
_BINARY = FaultContext("exited", sent=_REQUEST, facts=Facts(signal=11), kinds=frozenset({"turn", "lose"}), longest=700)


def _reply(line: str, code: str = "bad_json") -> FaultContext:
    return FaultContext(code, sent=_REQUEST, received=line.encode())


def _stderr(*lines: str, argv: str = "python3 bot.py", files: str = "", source: bytes = b"") -> FaultContext:
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


def _no_reply(cpu_ms: int | None = None, id: int = 1, source: bytes = b"", **facts: Any) -> FaultContext:
    sent, own_ms = _REQUEST.replace(b"41", b"%d" % id), None if cpu_ms is None else 10500
    detail = "no line within 10500 ms"
    return FaultContext("timeout", detail, sent, argv=("python3",), source=source, facts=Facts(own_ms, cpu_ms, **facts))


# ---------------------------------------------------------------- the table

_LOOP = "read a line, answer it, and read the next: {loop}"
_TRACE = "Traceback (most recent call last):"

_ROWS: tuple[tuple[Sign, str, str, FaultContext], ...] = (
    # seen, cause, remedy, example
    # ---- what grows, and what a reply doesn't have
    (
        signs.growth,
        "{detail}: {name}",
        "free what earlier requests needed: growing lists, open files, threads that never end, processes that "
        "are never waited for (pclose, wait)",
        FaultContext(
            "out_of_memory", "out of memory: 256 MB", growth=(("memory", "memory grew from 9 to 250 MB", True),)
        ),
    ),
    (
        lambda seen: seen.ended and "forks refused" in (seen.detail or ""),
        "the bot started too many processes or threads: {detail}",
        "wait for each process that the bot starts (pclose, wait), and end its threads: ended processes count, too",
        FaultContext("exited", "killed by signal 11 (SIGSEGV); forks refused at its limit of 64: 1"),
    ),
    (
        lambda seen: seen.stderr_bytes > 100_000 and seen.code == "timeout" and f"{seen.stderr_bytes / 1e6:.1f} MB",
        "no reply came in time: the bot wrote {name} to standard error for each request",
        "write less to standard error: the time that it takes counts as the bot's time",
        FaultContext("timeout", stderr_bytes=5_000_000),
    ),
    (
        lambda seen: seen.facts.unended and not seen.line.startswith("{"),
        "the bot printed a prompt, or other text that isn't a reply: {line}",
        "write nothing but replies to standard output, and no prompt; for debug output: {debug}",
        FaultContext("timeout", received=b"choice? ", facts=Facts(unended=True)),
    ),
    (
        lambda seen: seen.facts.unended,
        "the reply lacks its newline",
        'end each reply with "\\n", and flush it',
        FaultContext("timeout", received=b'{"id":41,"choice":0}', facts=Facts(500, 3, unended=True)),
    ),
    # ---- the received line
    (
        lambda seen: signs.malformed_code(seen) == "bad_utf8" or seen.line.startswith("\ufeff") or "\0" in seen.line,
        "the line isn't UTF-8, or begins with a byte order mark: {line}",
        'write UTF-8 without a mark: sys.stdout.reconfigure(encoding="utf-8") in Python, not "utf-8-sig"',
        _reply('\ufeff{"id":41,"choice":0}'),
    ),
    (
        signs.fixed_buffer,
        "the request is cut after {name} bytes: the bot reads it into a buffer of fixed size",
        "read whole lines of any length: requests and hellos have up to 64 KiB (getline in C, std::getline in C++)",
        replace(_BINARY, sent=_REQUEST.replace(b'"lose"', b'"lose","events":[' + b"1," * 500 + b"1]", 1)),
    ),
    (
        lambda seen: (
            signs.is_no_json(seen) and (name := os.path.basename("".join(seen.argv[:1]))) in signs.LAUNCHERS and name
        ),
        "{name} prints lines of its own to standard output",
        'start the bot\'s program itself, without {name}: run = "node bot.js"',
        replace(_reply("> bot@1.0.0 start"), argv=("npm", "start")),
    ),
    (
        signs.not_a_number,
        "the reply contains {name}, which isn't JSON: {line}",
        "leave that field out, or replace NaN and infinite numbers before you write the reply",
        _reply('{"id":41,"choice":0,"score":NaN}'),
    ),
    (
        lambda seen: signs.is_no_json(seen) and seen.line.startswith(("{", "b'", 'b"')),
        "the line isn't valid JSON: {line}",
        "write each reply on one line, and with {dumps}, not with your language's text of an object",
        _reply("{'id': 41, 'choice': 0}"),
    ),
    (
        signs.text_before_reply,
        'the line has text before the reply: "{name}"',
        "write each reply on a line of its own, without a prompt; for debug output: {debug}",
        _reply('move? {"id":41,"choice":0}'),
    ),
    (
        lambda seen: language_of(seen) == "python" and signs.library_line(seen),
        "a library that the bot imports prints to standard output: {line}",
        "redirect its output while you import it: with contextlib.redirect_stdout(sys.stderr): import ...",
        replace(
            _reply("pygame 2.5.2 (SDL 2.28.3, Python 3.11.2)", "start_failed"), source=b"import pygame\nfor line in x:"
        ),
    ),
    (
        lambda seen: signs.is_no_json(seen) and "[os,thread]" in seen.line,
        "Java couldn't start a thread, and writes that to standard output",
        "start at most hello.limits.processes threads: one executor for all requests, not one for each",
        _reply("[0.943s][warning][os,thread] Failed to start thread"),
    ),
    (
        lambda seen: signs.is_no_json(seen) and seen.line,
        "the line is text, not a reply: {line}",
        "print only replies to standard output, also in programs that the bot starts; for debug output: {debug}",
        _reply("thinking ..."),
    ),
    (
        lambda seen: seen.facts.behind,
        "the reply to a request came only after the next request",
        "answer each request as soon as you have read it, not the one before",
        _no_reply(behind=True),
    ),
    (
        signs.answers_request_before,
        "the reply fits the request before: {name}",
        "answer each request before you read the next, by its own kind and legal moves; copy the id of the request",
        _reply('{"id":40,"choice":0}', "timeout"),
    ),
    (
        lambda seen: seen.code == "too_many_strays" and type(seen.reply.get("id")) is int,
        "the bot replies to a request more than once",
        "send one reply for each request, and none to other messages",
        _reply('{"id":40,"choice":0}', "too_many_strays"),
    ),
    (
        signs.wrong_id,
        "the reply has the id {name}, the request had {asked}",
        'reply to hello and to requests only, and copy the id of the request as a number: "id":{asked}',
        _reply('{"id":"41","choice":0}', "bad_reply"),
    ),
    (
        signs.odd_choice,
        "the choice isn't an integer: {name}",
        'send an index into legal, an integer from 0: "choice":0',
        _reply('{"id":41,"choice":"0"}', "bad_reply"),
    ),
    (
        signs.out_of_range_choice,
        "the choice {name}",
        "send an index into legal, counted from 0",
        _reply('{"id":41,"choice":2}', "illegal_move"),
    ),
    (
        signs.odd_target,
        "the target {name} isn't a seat",
        "a target is the number of a seat; send one of the moves in legal as it is",
        _reply('{"id":41,"move":{"action":"coup","target":"B"}}', "illegal_move"),
    ),
    (
        signs.illegal_action,
        "{name}",
        "choose from legal in each request: it depends on coins, on who is out, and on the seat in this game",
        FaultContext(
            "illegal_move",
            sent=b'{"type":"request","id":41,"kind":"turn","legal":[{"action":"coup","target":0}],"you":{"seat":1}}',
            received=b'{"id":41,"move":{"action":"income"}}',
        ),
    ),
    # ---- no reply
    (
        stderr_has(
            "start new thread | native thread | pthread_create | Resource temporarily unavailable", signs.is_silent
        ),
        "the bot couldn't start a thread or a process: {name}",
        "start at most hello.limits.processes; numeric libraries start one for each core of the machine: set "
        "OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1 before they are imported",
        _stderr(_TRACE, "RuntimeError: can't start new thread"),
    ),
    (
        # Workers of multiprocessing have it too, but don't read it.
        lambda seen: (
            seen.facts.children
            and signs.cpu_share(seen) < signs.BUSY
            and not any(word in seen.source for word in (b"multiprocessing", b"ProcessPool"))
        ),
        "a process that the bot started reads the bot's input, and waits for its end",
        "start it with an empty standard input (DEVNULL, /dev/null): otherwise it gets the bot's",
        _no_reply(3, children=1),
    ),
    (
        signs.buffering_filter,
        "the program {name} behind the pipe doesn't pass on each line at once: the reply came when the input ended",
        "start the bot without the pipe, and write debug output to standard error; or flush each line there: "
        "grep --line-buffered, sed -u, stdbuf -oL PROGRAM",
        replace(_no_reply(unflushed=True), argv=("sh", "run.sh"), source=b"python3 bot.py | grep -v DEBUG"),
    ),
    (
        signs.reads_all,
        "the bot reads all of its input before it answers",
        _LOOP,
        _no_reply(source=b"for line in sys.stdin.readlines():"),
    ),
    (
        lambda seen: seen.facts.waiting,
        "the bot waits for more input than one line: its reply came after another line",
        _LOOP + "; no select or poll before a reader that buffers lines, and no read of N bytes",
        _no_reply(waiting=True),
    ),
    (
        lambda seen: seen.facts.unflushed,
        "the bot doesn't flush its output, or waits for more input: its reply came when its input ended",
        "flush after each reply: {how}; answer a line before you read the next",
        _no_reply(unflushed=True),
    ),
    (
        lambda seen: seen.code == "start_failed" and seen.received is None and b"sys.stdout =" in seen.source,
        "the program replaces sys.stdout, so its replies go elsewhere",
        "keep sys.stdout for the replies; print debug output to standard error",
        replace(_NO_HELLO, source=b'sys.stdout = open("log.txt", "w")'),
    ),
    (
        lambda seen: (
            seen.code == "timeout"
            and seen.received is None
            and signs.cpu_share(seen) < signs.BUSY
            and (clock := seen.asked.get("clock", {})).get("bank_ms", 1) < clock.get("limit_ms", 0)
            and f"{clock['bank_ms']} of the game's time bank, and {clock['limit_ms']} of its own"
        ),
        "{detail}: the request had {name}, in ms",
        "use less time in each request, and don't sleep: time above limit_ms comes from the time bank of the game",
        replace(_no_reply(3, 41), sent=_REQUEST[:-1] + b',"clock":{"limit_ms":500,"bank_ms":96}}'),
    ),
    (
        lambda seen: seen.facts.late,
        "{detail}",
        "end each search by the request's clock; load data before the first request",
        replace(_no_reply(3, late=True), detail="no line within 10500 ms; it came later, so the bot is too slow"),
    ),
    (
        lambda seen: signs.cpu_share(seen) >= signs.BUSY,
        "no reply came in time: {detail}",
        "the bot computed most of the time: look for an endless loop, and end each search by the request's clock",
        _no_reply(10400),
    ),
    (
        lambda seen: (
            seen.code == "timeout"
            and seen.received is None
            and len(seen.kinds) > 1
            and seen.asked.get("kind", "turn") not in seen.kinds
            and signs.cpu_share(seen) <= signs.IDLE
        ),
        "no reply came to the first request of the kind {kind}: {detail}",
        "answer every request, also kinds that your program doesn't know: a reply with choice 0 is always legal",
        replace(_no_reply(3, 41), kinds=frozenset({"turn", "block"})),
    ),
    (
        signs.thread_error,
        "no reply came, because a thread of the bot ended with an error: {name}",
        "fix the error, which standard error shows; end the program when one of its threads fails",
        replace(
            _no_reply(3, 41),
            stderr=b"Exception in thread Thread-1 (work):\nTraceback (most recent call last):\nKeyError: 1",
        ),
    ),
    (
        lambda seen: seen.code == "timeout" and seen.received is None and seen.facts.reads,
        "no reply came in time: the bot read the request, and now waits for its next line: {detail}",
        "look for an except (catch) or a branch that writes no reply, for a line that is read and dropped, and for a "
        "timer or a thread that it waits for",
        _no_reply(3, reads=True),
    ),
    (
        signs.network_call,
        "the bot waits, and its program uses the network ({name}), which no box has: {detail}",
        "put the data into the bot's folder beforehand, and read it there",
        replace(_NO_HELLO, source=b"weights = urlopen(URL).read()", sandbox="bubblewrap"),
    ),
    (
        lambda seen: seen.code == "timeout" and seen.facts.reads is False and signs.cpu_share(seen) <= signs.IDLE,
        "no reply came in time: the bot sleeps, or waits for something else than its input: {detail}",
        "look for a sleep, and for a lock, a queue, a thread or a process that it waits for",
        _no_reply(3, reads=False),
    ),
    (
        lambda seen: (
            seen.code == "timeout"
            and seen.received is None
            and (seen.has_answered or signs.cpu_share(seen) <= signs.IDLE)
        ),
        "no reply came in time: {detail}",
        "end each search by the request's clock; or the bot sleeps, waits for a lock, a thread or a process, or "
        "catches an exception without a reply",
        _no_reply(3, 41),
    ),
    # ---- standard error of a process that ended
    (
        signs.shadowed_module,
        "the bot's file {name}.py hides Python's module {name}",
        "rename the file",
        _stderr("ImportError: cannot import name 'Random' from 'random' (/bot/random.py)", files="random.py"),
    ),
    (
        signs.spawned_again,
        "a helper process of multiprocessing runs the whole program again: {name}",
        'start processes, and run the bot, only below if __name__ == "__main__":',
        _stderr(
            _TRACE, "RuntimeError: An attempt has been made to start a new process before ... bootstrapping phase."
        ),
    ),
    (
        stderr_has("No module named pip | 'pip', 'install' | pip install | npm ERR! | npm error | will be installed"),
        "the bot installs packages when it starts",
        "install them beforehand into the bot's folder, and start the bot without that step{install}",
        _stderr("/usr/bin/python3: No module named pip"),
    ),
    (
        lambda seen: seen.ended and any(word.endswith("npx") for word in seen.argv),
        "npx needs the network, which no box has",
        "run npm install in the bot's folder beforehand, and start the program's file with node",
        FaultContext("start_failed", argv=("/usr/bin/npx", "tsx")),
    ),
    (
        lambda seen: seen.ended and any("os.environ" in line for line in seen.stderr_lines) and signs.last_error(seen),
        "an environment variable isn't set: {name}",
        "bots don't get your environment: write the value into a file in the bot's folder, or use a default",
        _stderr(_TRACE, "  key = os.environ['KEY']", "KeyError: 'KEY'"),
    ),
    (
        stderr_has("coroutine '*' was never awaited"),
        "the coroutine {name} was never awaited",
        "call it with await, and the outermost one with asyncio.run(main()); the kit's methods have no async",
        _stderr("RuntimeWarning: coroutine 'Mine.turn' was never awaited"),
    ),
    (
        signs.word_for_move,
        "a method of the bot returned a word instead of a move: {error}",
        "return a move out of game.legal: {name} returns it if it is legal",
        replace(
            _stderr(_TRACE, "ValueError: lose() returned 'duke', which is neither in game.legal nor an index of it"),
            sent=_REQUEST,
        ),
    ),
    (
        stderr_has("returned *, which is neither | returned *, which isn't in game | the method returned *; game"),
        "a method of the bot returned no legal move: {error}",
        "return one of game.legal as it is, or its index there: no index of a card, and no move that you changed or "
        "kept from an earlier request",
        _stderr(_TRACE, "ValueError: lose() returned 1, which is neither in game.legal nor an index of it"),
    ),
    (
        stderr_has("(wrong name: *)"),
        "the class belongs to a Java package: {name}",
        'build it with javac -d . MyBot.java, and run it by its whole name: run = "java com.me.MyBot"',
        _stderr("Caused by: java.lang.NoClassDefFoundError: MyBot (wrong name: com/me/MyBot)"),
    ),
    (
        stderr_has("Bad magic number | UnsupportedClassVersion | `GLIBC | ELF header | Exec format"),
        "the program was built for another version or system: {name}",
        "put the source and a build command into the folder, or build for this version: javac --release 17",
        _stderr("java.lang.UnsupportedClassVersionError: MyBot has been compiled by a more recent version"),
    ),
    (
        stderr_has("go.mod file not found | go: RLock "),
        "the build uses Go modules",
        'build without modules, because a box can\'t lock files: build = "env GO111MODULE=off go build -o bot ."',
        _stderr("go: go.mod file not found in current directory"),
    ),
    (
        signs.marked_script,
        "the program begins with a byte order mark",
        "save the file as UTF-8 without a byte order mark (BOM)",
        _stderr("b.sh: 1: not found", argv="/bin/sh b.sh", source=b"\xef\xbb\xbf#!/bin/sh\nx\n"),
    ),
    (
        signs.windows_lines,
        "the program has CR LF line ends",
        "save the file with LF line ends, as dos2unix does",
        _stderr("b.sh: 5: Syntax error", argv="/bin/sh b.sh", source=b"#!/bin/sh\r\nx\r\n"),
    ),
    (
        stderr_has("Non-UTF-8 code | null bytes"),
        "the program is in another encoding than UTF-8: {error}",
        "save the file as UTF-8",
        _stderr("SyntaxError: Non-UTF-8 code starting with '\\xe4' in file /bot/bot.py on line 3"),
    ),
    (
        stderr_has("named 'coup_kit | module './coup_kit | coup_kit.hpp: No | module `coup_kit` | class CoupKit"),
        "the bot's folder has no kit",
        "add kit = \"python\" (or the bot's language) to bot.toml to use the arena's kit, or copy the kit there",
        _stderr("ModuleNotFoundError: No module named 'coup_kit'"),
    ),
    (
        stderr_has("No module named 'arena' | No module named 'ladder' | No module named 'protocol'"),
        "bots can't import the arena's own modules",
        "use the kit in a bot: from coup_kit import Bot, run; arena.local is for your own programs",
        _stderr("ModuleNotFoundError: No module named 'arena'"),
    ),
    (
        stderr_has("named 'torch | named 'tensorflow | named 'jax", lambda seen: seen.boxed and seen.ended),
        "no box has torch, tensorflow or jax, and they are too large for a bot's folder",
        "train on your machine, put the weights into the bot's folder, and use numpy; see docs/reference/sandbox.md",
        _stderr("ModuleNotFoundError: No module named 'torch'"),
    ),
    (
        signs.split_name,
        'the command splits the name "{name}" at its space',
        'write the command as a list, run = ["python3", "my bot.py"], or quote the name, or rename the file',
        _stderr("can't open file '/bot/my': [Errno 2] No such file", argv="python3 my bot.py", files="my bot.py"),
    ),
    (
        signs.outside_path,
        "{name} isn't part of the bot: only the bot's folder is",
        "move the file into the bot's folder, and name it by its path there",
        _stderr("python3: can't open file '/common.py': [Errno 2] No such file", argv="python3 ../common.py"),
    ),
    (
        signs.program_elsewhere,
        "the program is in a subfolder: {name}",
        "name that path in the run command; for Java add the folder: java -cp build MyBot, as after javac -d build",
        _stderr("Error: Could not find or load main class MyBot", argv="java MyBot", files="build/MyBot.class"),
    ),
    (
        signs.own_program,
        "{name}, which the run command names, isn't {where}",
        'correct run in bot.toml: capitals count, and paths have "/"; or add the build command that creates the file',
        _stderr("python3: can't open file '/bot/Bot.py': [Errno 2] No such file or directory", argv="python3 Bot.py"),
    ),
    (
        signs.parent_module,
        "the module {name} is in the folder above, which isn't part of the bot",
        "move the module into the bot's folder",
        _stderr("ModuleNotFoundError: No module named 'common'", files="../common.py"),
    ),
    (
        signs.own_module,
        "Python looks for modules in the program's folder only: {name}",
        'import a module of that folder without a dot; run a program in a subfolder with "python3 -m src.main"',
        _stderr("ModuleNotFoundError: No module named 'src.brain'", argv="python3 src/main.py", files="src"),
    ),
    (
        signs.neighbour,
        "{name} lies next to the bot, but a bot that is a single file plays without the files next to it",
        "put both into a folder with a bot.toml, and name the folder instead of the file",
        replace(_stderr("ModuleNotFoundError: No module named 'plan'", files="bot.py|plan.py"), is_single_file=True),
    ),
    (
        stderr_has("shared libraries: *:"),
        "the shared library {name} isn't {where}, or not where the program looks for it",
        "link it statically; or put it into the bot's folder, and link with -Wl,-rpath,'$ORIGIN', which searches there",
        _stderr("./b: error while loading shared libraries: libeval.so: cannot open shared object file"),
    ),
    (
        stderr_has("module named '*' | find module '*' | ClassNotFoundException: *"),
        "the module {name} isn't {where}",
        "check the spelling; if it is right, {bring}{install}, or ask the organiser",
        _stderr("ModuleNotFoundError: No module named 'numpie'"),
    ),
    (
        stderr_has("disk I/O error | database is locked | locking protocol"),
        "SQLite can't lock its file, because a box has no file locks: {name}",
        'keep the database in /tmp: sqlite3.connect("file:/tmp/my.db?vfs=unix-dotfile", uri=True)',
        _stderr(_TRACE, "sqlite3.OperationalError: disk I/O error"),
    ),
    (
        stderr_has("RecursionError | StackOverflowError | goroutine stack exceeds"),
        "the recursion is too deep: {error}",
        "use a loop, or stop at a depth that doesn't grow with the game or the match",
        _stderr(_TRACE, "RecursionError: maximum recursion depth exceeded"),
    ),
    (
        stderr_has("o space left on device", signs.is_silent),
        "the bot's folder for temporary files is full",
        "write less below TMPDIR, and delete old files; hello.limits.tmp_mb is the folder's size",
        _stderr("OSError: [Errno 28] No space left on device"),
    ),
    (
        stderr_has('[[: not found | Bad substitution | Illegal option | source: not found | "(" unexpected'),
        "the script is written for bash, but runs in sh: {name}",
        'make #!/bin/bash the first line of the file, or write run = ["bash", "bot.sh"] in bot.toml',
        _stderr("b.sh: 2: [[: not found"),
    ),
    (
        stderr_has("cannot find -l*: | cannot find -l"),
        "the library {name} isn't {where}",
        "link only libraries that the machine of the build has, or put the library's source into the bot's folder",
        _stderr("/usr/bin/ld: cannot find -lm2: No such file or directory", argv="cc -o bot bot.c -lm2"),
    ),
    (signs.missing_program, "the program {name} isn't {where}", "{program}", _stderr("sh: 1: cargo: not found")),
    (
        stderr_has("only file system: '*' | denied: '*' | file system, open '*' | *: Read-only file system"),
        "the bot has no permission to write {name}",
        "write below the folder in the environment variable TMPDIR; the bot's own folder is read-only",
        _stderr("OSError: [Errno 30] Read-only file system: 'log.txt'"),
    ),
    (
        signs.missing_file,
        "the file {name} isn't {where}",
        "{bring}, and open it by its path from there: that folder is the working folder",
        _stderr("FileNotFoundError: [Errno 2] No such file or directory: 'weights.bin'"),
    ),
    (
        stderr_has(
            "etwork is unre | ame resol | service not kn | NETUNREACH | EAI_AGAIN | ot resolve | family not | dial tcp",
            signs.is_silent,
        ),
        "the bot tried to use the network: {name}",
        "play and build without the network: boxes have none; put packages into the bot's folder beforehand",
        _stderr("OSError: [Errno 101] Network is unreachable"),
    ),
    (
        stderr_has("JSONDecodeError: Expecting value: line 1 column 1 (char 0) | Unexpected end of JSON input"),
        "the bot parsed an empty text as JSON",
        "readline() returns an empty text when the input ends: end the loop then, or use {loop}",
        _stderr("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    ),
    (
        stderr_has("JSONDecodeError: Extra data | JSONDecodeError: Unterminated | JSONDecodeError: Expecting"),
        "the bot parsed a part of a line, or two lines at once: {name}",
        "parse whole lines: a read of bytes ends anywhere; " + _LOOP,
        _stderr("json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 1100)"),
    ),
    (
        stderr_has("EOFError: EOF when reading a line"),
        "input() failed, because the input had ended",
        "end the loop at match_over, or use for line in sys.stdin",
        _stderr(_TRACE, "EOFError: EOF when reading a line"),
    ),
    (
        lambda seen: seen.ended and seen.facts.signal in (4, 6, 7, 8, 11) and "terminate" not in signs.last_error(seen),
        "the bot crashed: {detail}",
        "to find out where, build it with -g -fsanitize=address,undefined; never build with -march=native",
        FaultContext("exited", "killed by signal 11 (SIGSEGV)", facts=Facts(signal=11)),
    ),
    (
        lambda seen: seen.ended and seen.facts.signal in (14, 26, 27),
        "a timer that the program set has ended it: {detail}",
        "remove the timer (alarm, setitimer), or handle its signal: one process plays a whole match",
        FaultContext("exited", "killed by signal 14 (SIGALRM)", facts=Facts(signal=14)),
    ),
    (
        lambda seen: seen.ended and seen.facts.signal in (1, 2, 3, 9, 10, 12, 13, 15),
        "a signal has ended the program, which the bot or a process of it sent: {detail}",
        "look for kill, abort and watchdogs; SIGPIPE comes when the bot writes to a process that has ended",
        FaultContext("exited", "killed by signal 13 (SIGPIPE)", facts=Facts(signal=13)),
    ),
    (
        lambda seen: (name := signs.last_error(seen)).startswith("SyntaxError: ") and name,
        "the bot ended with an error: {name}",
        "fix the line that standard error shows; if it is right, it needs a newer version, or a compiler (TypeScript)",
        _stderr("SyntaxError: invalid syntax"),
    ),
    (
        signs.last_error,
        "the bot ended with an error: {name}",
        "fix the error; standard error shows where it is",
        _stderr(_TRACE, "KeyError: 'duke'"),
    ),
    # ---- the end of the process
    (
        signs.background_program,
        "the script has ended, because it starts the bot in the background: {name}",
        "remove the &, and start the bot as the last line with exec: exec python3 bot.py",
        replace(FaultContext("exited", facts=Facts(exit_code=0)), argv=("sh", "run.sh"), source=b"./bot &\n"),
    ),
    (
        lambda seen: seen.ended and any(w in seen.source for w in (b"set_blocking(", b"O_NONBLOCK", b"setNonBlocking")),
        "the program doesn't wait for its input: it sets it to non-blocking, so that a read ends without a line",
        "leave standard input blocking; to compute meanwhile, read it in a thread",
        FaultContext("exited", facts=Facts(exit_code=0), source=b"os.set_blocking(0, False)"),
    ),
    (
        lambda seen: seen.ended and seen.facts.exit_code and seen.stderr_lines,
        "the process has ended: {detail}",
        "fix the error on standard error; or read until standard input ends",
        _stderr("no weights, giving up"),
    ),
    (
        lambda seen: seen.ended and seen.facts.exit_code == 0 and seen.asked.get("game"),
        "the program ended before its input",
        "play until standard input ends: a match has many games, and one process plays them all",
        FaultContext("exited", sent=b'{"type":"game_start","game":1}', facts=Facts(exit_code=0)),
    ),
    (
        lambda seen: seen.ended and seen.facts.exit_code == 0,
        "the program ended by itself, without an error",
        "start the bot at the end of the program: run(...) with the kit, or main(); " + _LOOP,
        FaultContext("exited", facts=Facts(exit_code=0)),
    ),
    (
        lambda seen: (
            seen.code == "start_failed"
            and seen.source
            and b"hello" not in seen.source.lower()
            and b"kit" not in seen.source
            and seen.received is None
            and seen.facts.own_ms is not None
        ),
        "{detail}, and the bot's program doesn't mention hello",
        'answer the first line, the hello, with {{"type":"hello"}}',
        replace(_NO_HELLO, source=b'if message["type"] == "request":'),
    ),
    (
        lambda seen: seen.code == "start_failed" and seen.received is None and seen.facts.own_ms is not None,
        "{detail}",
        "answer the hello before any long work, such as loading data; flush the reply: {how}",
        _NO_HELLO,
    ),
)
MISTAKES = tuple(Mistake(*row) for row in _ROWS)
"""All mistakes; the first that is seen is used."""
