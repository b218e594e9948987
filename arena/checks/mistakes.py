"""List the mistakes of bots in the table MISTAKES, and diagnose a fault by it: sign, cause, remedy, example.

The first mistake whose sign a fault has is used; without one, the description in FAULTS is. `fault_signs.py` and
`reply_signs.py` have the signs, `exit_mistakes.py` the rows about programs that ended. `make docs` writes the table
to docs/reference/mistakes.md."""

import os
from dataclasses import replace
from typing import NamedTuple

from arena.bots import describe_idioms
from arena.checks import fault_signs as signs
from arena.checks import reply_signs
from arena.checks.exit_mistakes import EXIT_ROWS, LOOP
from arena.checks.fault_context import MAX_LINE, FaultContext, Sign, quotation
from arena.checks.fault_examples import BINARY, NO_HELLO, REQUEST, TRACE, end_with, reply_of, silence
from arena.checks.fault_signs import language_key, stderr_sign
from arena.checks.request_features import describe_sizes, explain_legal, list_legal
from arena.referee import FAULTS, Facts
from protocol import escape_bytes


class Diagnosis(NamedTuple):
    """The problem and the fix, one line each."""

    message: str
    advice: str


class Mistake(NamedTuple):
    """A mistake. `sign`: its true value replaces {name} in `cause` and `remedy`. `example`: shows the sign."""

    sign: Sign
    cause: str
    remedy: str
    example: FaultContext


def diagnose_fault(fault: FaultContext) -> Diagnosis:
    """Return the problem and the fix, by the first mistake whose sign the fault has, else by its code."""
    for mistake in MISTAKES:
        if name := mistake.sign(fault):
            values = {"name": quotation(name), **_make_placeholder_values(fault, mistake.remedy)}
            return Diagnosis(mistake.cause.format(**values), mistake.remedy.format(**values))
    return _describe_code(fault)


def _describe_code(fault: FaultContext) -> Diagnosis:
    """Return the message and the help of the fault's code in FAULTS; the message with the detail, if there is one."""
    rule = FAULTS[fault.code]
    detail = escape_bytes((fault.detail or "").encode(errors="backslashreplace"), MAX_LINE)
    if not detail:
        return Diagnosis(rule.message, rule.help)
    is_malformed = fault.received is not None and fault.code in ("bad_reply", "start_failed")
    return Diagnosis(detail if rule.limit or is_malformed else f"{rule.message}: {detail}", rule.help)


def _make_placeholder_values(fault: FaultContext, remedy: str) -> dict[str, str]:
    """Return the values of all placeholders except {name}; of those in _BY_NEED only the ones that `remedy` uses."""
    return {
        "error": quotation(signs.last_error(fault)),
        "asked": quotation(fault.request.get("id", "ID")),
        "kind": quotation(fault.request.get("kind", "")),
        "detail": quotation(fault.detail or FAULTS[fault.code].message),
        "failure": quotation(signs.last_error(fault) or signs.exit_call(fault) or fault.line or fault.detail),
        "line": quotation(fault.line),
        "sizes": describe_sizes(fault.request),
        "field": signs.field_help(signs.last_error(fault)),
        "choose": explain_legal(fault.request),
        "legal": escape_bytes(list_legal(fault.request).encode(), MAX_LINE),
        "command": quotation(" ".join((*map(os.path.basename, fault.argv[:1]), *fault.argv[1:]))),
        "place": quotation(signs.own_place(fault)),
        **describe_idioms(language_key(fault)),
        "where": "in the box" if fault.is_boxed else "there",
        "bring": _BRING_TO_FOLDER if fault.is_boxed and fault.is_single_file else "put it into the bot's folder",
        **{placeholder: help(fault) for placeholder, help in _BY_NEED.items() if f"{{{placeholder}}}" in remedy},
    }


_BRING_TO_FOLDER = "put it into a folder with the bot and a bot.toml, and name the folder"
_BY_NEED = {"program": signs.program_help, "choice": reply_signs.choice_help, "growth": signs.growth_help}

# ---------------------------------------------------------------- the table

_ROWS: tuple[tuple[Sign, str, str, FaultContext], ...] = (
    # sign, cause, remedy, example
    # ---- what grows, and what a reply doesn't have
    (
        signs.growth,
        "{detail}: {name}",
        "{growth}",
        FaultContext(
            "out_of_memory", "out of memory: 256 MB", growth=(("memory", "memory grew from 9 to 250 MB", True),)
        ),
    ),
    (
        lambda fault: (
            (fault.has_ended or signs.is_silent(fault))
            and any(
                "forks refused" in text or "new thread" in text
                for text in (fault.detail or "", signs.last_error(fault))
            )
            and signs.missing_pool(fault)
        ),
        "the bot started too many processes or threads: its program makes workers with {name}",
        "make them once at the start, for all requests; or close them after each: with Pool(4) as pool, shutdown()",
        FaultContext("exited", "killed by signal 9; forks refused at its limit of 64: 1", source=b"p = Pool(4)"),
    ),
    (
        lambda fault: fault.has_ended and "forks refused" in (fault.detail or ""),
        "the bot started too many processes or threads: {detail}",
        "wait for each process that the bot starts (pclose, wait), and end its threads: ended processes count, too",
        FaultContext("exited", "killed by signal 11 (SIGSEGV); forks refused at its limit of 64: 1"),
    ),
    (
        lambda fault: fault.stderr_bytes > 100_000 and fault.code == "timeout" and f"{fault.stderr_bytes / 1e6:.1f} MB",
        "no reply came in time: the bot wrote {name} to standard error for each request",
        "write less to standard error: the time that it takes counts as the bot's time",
        FaultContext("timeout", stderr_bytes=5_000_000),
    ),
    (
        lambda fault: fault.facts.unended and not fault.line.startswith("{"),
        "the bot printed a prompt, or other text that isn't a reply: {line}",
        "write nothing but replies to standard output, and no prompt; for debug output: {debug}",
        FaultContext("timeout", received=b"choice? ", facts=Facts(unended=True)),
    ),
    (
        lambda fault: fault.facts.unended,
        "the reply lacks its newline",
        'end each reply with "\\n", and flush it',
        FaultContext("timeout", received=b'{"id":41,"choice":0}', facts=Facts(500, 3, unended=True)),
    ),
    # ---- what the check did
    (
        lambda fault: fault.altered,
        "the bot plays ordinary lines, but not lines with {name}: {failure}",
        "parse lines with a JSON library, and find fields by name: their order and blanks between them mean nothing; "
        "skip unknown fields, and lines of unknown types",
        replace(silence(3, reads=True), altered="their fields in another order"),
    ),
    (
        lambda fault: (
            fault.paused_s
            and (fault.has_ended or signs.is_silent(fault))
            and (not (error := signs.last_error(fault)) or "time" in error.lower())
            and f"{fault.paused_s:g} s"
        ),
        "the bot fails after {name} without a request, as when other players think: {failure}",
        "wait for the next line without a time limit (no timeout of queue.get, wait_for, select or poll); stop each "
        "timer (alarm, setTimeout, watchdog) once you have replied, and measure time from the request just read",
        FaultContext("exited", "killed by signal 14 (SIGALRM)", facts=Facts(signal=14), paused_s=2.5),
    ),
    # ---- the received line
    (
        lambda fault: (
            reply_signs.malformed_code(fault) == "bad_utf8" or fault.line.startswith("\ufeff") or "\0" in fault.line
        ),
        "the line isn't UTF-8, or begins with a byte order mark: {line}",
        'write UTF-8 without a mark: sys.stdout.reconfigure(encoding="utf-8") in Python, not "utf-8-sig"',
        reply_of('\ufeff{"id":41,"choice":0}'),
    ),
    (
        reply_signs.fixed_buffer,
        "the request is cut after {name} bytes: the bot reads it into a buffer of fixed size",
        "read whole lines of any length, as a request may have 64 KiB: {loop}",
        replace(BINARY, sent=REQUEST.replace(b'"lose"', b'"lose","events":[' + b"1," * 500 + b"1]", 1)),
    ),
    (
        lambda fault: (
            reply_signs.is_no_json(fault)
            and (name := os.path.basename("".join(fault.argv[:1]))) in signs.LAUNCHERS
            and name
        ),
        "{name} prints lines of its own to standard output",
        'start the bot\'s program itself, without {name}: run = "node bot.js"',
        replace(reply_of("> bot@1.0.0 start"), argv=("npm", "start")),
    ),
    (
        reply_signs.decimal_comma,
        "a number has a decimal comma: {line}",
        "write it with a point, in any locale: String.format(Locale.ROOT, ...) in Java; or leave the field out",
        reply_of('{"id":41,"choice":0,"score":0,50}'),
    ),
    (
        reply_signs.not_a_number,
        "the reply contains {name}, which isn't JSON: {line}",
        "leave that field out, or replace NaN and infinite numbers before you write the reply",
        reply_of('{"id":41,"choice":0,"score":NaN}'),
    ),
    (
        lambda fault: reply_signs.is_no_json(fault) and fault.line in ("{", "["),
        "the reply is spread over several lines, the first is {line}",
        "write it on one line: without indent or a pretty printer",
        reply_of("{"),
    ),
    (
        reply_signs.two_replies,
        "two replies stand on one line: {line}",
        "end each with a newline; and let one process and one thread alone read requests and reply (fork copies both)",
        reply_of('{"id":41,"choice":0}{"id":41,"choice":0}'),
    ),
    (
        lambda fault: reply_signs.is_no_json(fault) and fault.line.startswith(("{", "b'", 'b"')),
        "the line isn't valid JSON: {line}",
        "write each reply on one line, and with {dumps}, not with your language's text of an object",
        reply_of("{'id': 41, 'choice': 0}"),
    ),
    (
        reply_signs.text_before_reply,
        'the line has text before the reply: "{name}"',
        "write each reply on a line of its own, without a prompt; for debug output: {debug}",
        reply_of('move? {"id":41,"choice":0}'),
    ),
    (
        lambda fault: language_key(fault) == "python" and reply_signs.library_line(fault),
        "a library that the bot imports prints to standard output: {line}",
        "redirect its output while you import it: with contextlib.redirect_stdout(sys.stderr): import ...",
        replace(
            reply_of("pygame 2.5.2 (SDL 2.28.3, Python 3.11.2)", "start_failed"),
            source=b"import pygame\nfor line in x:",
        ),
    ),
    (
        lambda fault: reply_signs.is_no_json(fault) and "[os,thread]" in fault.line,
        "Java couldn't start a thread, and writes that to standard output",
        "start at most hello.limits.processes threads: one executor for all requests, not one for each",
        reply_of("[0.943s][warning][os,thread] Failed to start thread"),
    ),
    (
        lambda fault: reply_signs.is_no_json(fault) and fault.line,
        "the line is text, not a reply: {line}",
        "print only replies to standard output, also in programs that the bot starts; for debug output: {debug}",
        reply_of("thinking ..."),
    ),
    (
        lambda fault: fault.facts.behind,
        "the reply to a request came only after the next request",
        "answer each request as soon as you have read it, not the one before",
        silence(behind=True),
    ),
    (
        reply_signs.answers_request_before,
        "the reply fits the request before: {name}",
        "answer each request before you read the next, by its own kind and legal moves; copy the id of the request",
        reply_of('{"id":40,"choice":0}', "timeout"),
    ),
    (
        lambda fault: fault.code == "too_many_strays" and type(fault.reply.get("id")) is int,
        "the bot replies to a request more than once",
        "send one reply for each request, and none to other messages",
        reply_of('{"id":40,"choice":0}', "too_many_strays"),
    ),
    (
        reply_signs.wrong_id,
        "the reply has {name}, the request had {asked}",
        "reply to hello and to requests only (not to game_start, game_over or error), and copy the id of the request "
        'as a number: "id":{asked}',
        reply_of('{"id":"41","choice":0}', "bad_reply"),
    ),
    (
        reply_signs.odd_choice,
        "the choice isn't an integer: {name}",
        'send an index into legal, an integer from 0: "choice":0; {choice}',
        reply_of('{"id":41,"choice":"0"}', "bad_reply"),
    ),
    (
        reply_signs.out_of_range_choice,
        "the choice {name}",
        "send an index into legal, counted from 0; {choice}",
        reply_of('{"id":41,"choice":2}', "illegal_move"),
    ),
    (
        reply_signs.no_move,
        "the reply to a request of the kind {kind} has neither move nor choice",
        "send one of them at each kind of request; JSON.stringify leaves out fields that are undefined",
        reply_of('{"id":41}', "bad_reply"),
    ),
    (
        reply_signs.illegal_move,
        "{name}; legal: {legal}",
        "choose from legal in each request: {choose}",
        FaultContext(
            "illegal_move",
            sent=b'{"type":"request","id":41,"kind":"turn","legal":[{"action":"coup","target":0}],"you":{"seat":1}}',
            received=b'{"id":41,"move":{"action":"income"}}',
        ),
    ),
    # ---- no reply
    (
        stderr_sign(
            "start new thread | native thread | pthread_create | Resource temporarily unavailable", signs.is_silent
        ),
        "the bot couldn't start a thread or a process: {name}",
        "start at most hello.limits.processes; numeric libraries start one for each core of the machine: set "
        "OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1 before they are imported",
        end_with(TRACE, "RuntimeError: can't start new thread"),
    ),
    (
        # Workers of multiprocessing have it too, but don't read it.
        lambda fault: (
            fault.facts.children
            and signs.cpu_share(fault) < signs.BUSY
            and not any(word in fault.source for word in (b"multiprocessing", b"ProcessPool"))
        ),
        "a process that the bot started reads the bot's input, and waits for its end",
        "start it with an empty standard input (DEVNULL, /dev/null): otherwise it gets the bot's",
        silence(3, children=1),
    ),
    (
        signs.buffering_filter,
        "the program {name} behind the pipe doesn't pass on each line at once: the reply came when the input ended",
        "start the bot without the pipe, and write debug output to standard error; or flush each line there: "
        "grep --line-buffered, sed -u, stdbuf -oL PROGRAM",
        replace(silence(unflushed=True), argv=("sh", "run.sh"), source=b"python3 bot.py | grep -v DEBUG"),
    ),
    (
        signs.reads_all,
        "the bot reads all of its input before it answers",
        LOOP,
        silence(source=b"for line in sys.stdin.readlines():"),
    ),
    (
        lambda fault: fault.facts.waiting,
        "the bot waits for more input than one line: its reply came after another line",
        LOOP + "; no select or poll before a reader that buffers lines, and no read of N bytes",
        silence(waiting=True),
    ),
    (
        lambda fault: fault.facts.unflushed,
        "the bot doesn't flush its output, or waits for more input: its reply came when its input ended",
        "flush after each reply: {how}; answer a line before you read the next",
        silence(unflushed=True),
    ),
    (
        lambda fault: fault.code == "start_failed" and fault.received is None and b"sys.stdout =" in fault.source,
        "the program replaces sys.stdout, so its replies go elsewhere",
        "keep sys.stdout for the replies; print debug output to standard error",
        replace(NO_HELLO, source=b'sys.stdout = open("log.txt", "w")'),
    ),
    (
        lambda fault: (
            fault.code == "timeout"
            and fault.received is None
            and signs.cpu_share(fault) < signs.BUSY
            and (clock := fault.request.get("clock", {})).get("bank_ms", 1) < clock.get("limit_ms", 0)
            and f"{clock['limit_ms']} ms for the request, and {clock['bank_ms']} ms left of the game's time bank"
        ),
        "the bot is too slow, it had {name}: {detail}",
        "use less time in each request, and don't sleep: time above limit_ms comes from the time bank of the game",
        replace(silence(3, 41), sent=REQUEST[:-1] + b',"clock":{"limit_ms":500,"bank_ms":96}}'),
    ),
    (
        lambda fault: fault.facts.late,
        "{detail}",
        "end each search by the request's clock; load data before the first request",
        replace(silence(3, late=True), detail="no line within 10500 ms; it came later, so the bot is too slow"),
    ),
    (
        signs.seconds_mixed,
        "no reply came in time, and the program doesn't convert milliseconds: {detail}",
        "limit_ms and bank_ms are milliseconds: divide them by 1000 for time.time(), monotonic() or perf_counter()",
        replace(silence(10400), source=b'end = time.time() + clock["limit_ms"]'),
    ),
    (
        lambda fault: signs.cpu_share(fault) >= signs.BUSY,
        "no reply came in time: {detail}",
        "the bot computed most of the time: look for an endless loop, and end each search by the request's clock",
        silence(10400),
    ),
    (
        signs.thread_error,
        "no reply came, because a thread of the bot ended with an error: {name}",
        "fix the error, which standard error shows; end the program when one of its threads fails",
        replace(
            silence(3, 41),
            stderr=b"Exception in thread Thread-1 (work):\nTraceback (most recent call last):\nKeyError: 1",
        ),
    ),
    (
        signs.compared_texts,
        "no reply came, and the program compares texts with ==, which compares addresses: {name}",
        "compare their characters: a.equals(b) in Java, strcmp(a, b) == 0 in C",
        replace(silence(3, 41, source=b'if (type == "request")'), argv=("java", "Bot")),
    ),
    (
        signs.swallowed_error,
        "no reply came in time, and the program hides its errors: {name}: {detail}",
        "print the error there (traceback.print_exc() in Python), or reply with choice 0, which is always legal",
        silence(3, 41, source=b"try:\n  answer(line)\nexcept Exception:\n  pass"),
    ),
    (
        lambda fault: (
            fault.code == "timeout"
            and fault.received is None
            and len(fault.kinds) > 1
            and fault.request.get("kind", "turn") not in fault.kinds
            and (not fault.source or fault.request.get("kind", "turn").encode() not in fault.source)
            and signs.cpu_share(fault) <= signs.IDLE
        ),
        "no reply came to the first request of the kind {kind}: {detail}",
        "answer every request, also kinds that your program doesn't know: a reply with choice 0 is always legal",
        replace(silence(3, 41), kinds=frozenset({"turn", "block"})),
    ),
    (
        lambda fault: fault.code == "timeout" and fault.received is None and fault.facts.reads,
        "no reply came in time: the bot read the request, and now waits for its next line: {detail}",
        "look for an except (catch) or a branch that writes no reply, for a line that is read and dropped, and for a "
        "timer or a thread that it waits for",
        silence(3, reads=True),
    ),
    (
        signs.network_call,
        "the bot waits, and its program uses the network ({name}), which no box has: {detail}",
        "put the data into the bot's folder beforehand, and read it there",
        replace(NO_HELLO, source=b"weights = urlopen(URL).read()", sandbox="bubblewrap"),
    ),
    (
        lambda fault: fault.code == "timeout" and fault.facts.reads is False and signs.cpu_share(fault) <= signs.IDLE,
        "no reply came in time: the bot sleeps, or waits for something else than its input: {detail}",
        "look for a sleep, and for a lock, a queue, a thread, a process or a task (async) that it waits for",
        silence(3, reads=False),
    ),
    (
        lambda fault: (
            fault.code == "timeout"
            and fault.received is None
            and (fault.has_answered or signs.cpu_share(fault) <= signs.IDLE)
        ),
        "no reply came in time: {detail}",
        "end each search by the request's clock; or the bot sleeps, waits for a lock, a thread or a process, or "
        "catches an exception without a reply",
        silence(3, 41),
    ),
)
MISTAKES = tuple(Mistake(*row) for row in (*_ROWS, *EXIT_ROWS))
"""All mistakes; the first whose sign a fault has is used."""
