"""Find signs of mistakes in a fault: in its facts, the bot's last lines of standard error, and its files.

The line and standard error are untrusted: quotes of them are escaped, no command that they name is recommended, and
each is searched once, line by line, without regular expressions."""

import ast
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise, zip_longest

from arena.bots import BY_MARK, IN_BOXES, LANGUAGES
from arena.checks.fault_context import MAX_LINE, FaultContext, Sign
from arena.checks.request_features import FIELD_PLACES
from arena.sandbox import programs_of
from protocol import escape_bytes

LAUNCHERS = ("npm", "yarn", "pnpm", "make", "mvn", "gradle", "gradlew")  # programs that print what they start
# Shares of CPU time in own time: a bot above was computing, a bot below was idle. A busy machine lowers the share.
BUSY, IDLE = 0.6, 0.1

# ---------------------------------------------------------------- signs on standard error, and in the exit


def stderr_has(patterns: str, when: Callable[[FaultContext], object] = lambda seen: seen.ended) -> Sign:
    """Return a sign that searches standard error, last line first, for one of the patterns. `*` matches the name."""
    parts = [pattern.partition("*") for pattern in patterns.split(" | ")]

    def sign(seen: FaultContext) -> object:
        lines = reversed(seen.stderr_lines) if when(seen) else ()
        return next((name for line in lines for part in parts if (name := _match_line(line, *part))), "")

    return sign


def _match_line(line: str, before: str, star: str, after: str) -> str:
    _, mark, tail = line.partition(before) if before else ("", "*", line)
    name, end, _ = tail.partition(after) if after else (tail, "*", "")
    if not mark or not end:
        return ""
    return name.rpartition(": ")[2].strip("'\"\u2018\u2019 ") if star else line.strip()


def is_silent(seen: FaultContext) -> object:
    return seen.ended or (seen.received is None and seen.code == "timeout")


def program_help(seen: FaultContext) -> str:
    if not seen.boxed:
        return "install it"
    if programs_of(seen.sandbox).image:
        return "use an image that contains it (--docker-image)"
    return IN_BOXES


def shadowed_module(seen: FaultContext) -> object:
    name = stderr_has("module '*' has no attribute | partially initialized module '*' | ' from '*'")(seen)
    return f"{name}.py" in seen.files and name


def own_program(seen: FaultContext) -> object:
    """Return the program that the command names and the process didn't find, as the command names it."""
    name = os.path.basename(str(stderr_has("open file '*' | find module '*' | main class *")(seen)))
    return next((word for word in seen.argv[1:] if name and os.path.basename(word) == name), "")


def split_name(seen: FaultContext) -> object:
    """Return the name of a file of the bot that the command splits at a space."""
    command = f" {' '.join(seen.argv)} "
    split = (name for name in seen.files if " " in name and {name, f"./{name}"}.isdisjoint(seen.argv))
    return seen.ended and next((name for name in split if f" {name} " in command or f" ./{name} " in command), "")


def outside_path(seen: FaultContext) -> object:
    """Return a path outside of the bot's folder that the command names and the process didn't find."""
    path = "" if seen.is_single_file else str(own_program(seen))
    return path if path.startswith("/") or os.path.normpath(path).startswith("..") else ""


def program_elsewhere(seen: FaultContext) -> object:
    """Return the path, or the name in other capitals, at which the bot's folder has the program that wasn't found."""
    name = str(own_program(seen) or stderr_has("ClassNotFoundException: *")(seen))
    ends = (base := name.lower().rpartition("/")[2], f"{base}.class")
    own = (path for path in sorted(seen.files) if path != name and not path.startswith("../"))
    return name and next((path for path in own if path.lower().rpartition("/")[2] in ends), "")


def java_command(seen: FaultContext) -> str:
    """Return the command that starts a class in a package, which java didn't find below the folder of its -cp."""
    path, words = str(program_elsewhere(seen)).removesuffix(".class"), seen.argv
    folders = [after for word, after in pairwise(words) if word in ("-cp", "-classpath", "--class-path")]
    name = path.removeprefix(f"{folders[0].strip('/')}/" if folders else "./")
    if name == path or not all(part.isidentifier() for part in path.split("/")):
        return ""
    last = path.rpartition("/")[2]
    return " ".join(("java", *(name.replace("/", ".") if word == last else word for word in words[1:])))


def parent_module(seen: FaultContext) -> object:
    name = str(_missing_module(seen)).removeprefix("../").partition(".")[0]
    return name and {f"../{name}", f"../{name}.py", f"../{name}.js"} & seen.files and name


_missing_module = stderr_has("module named '*' | find module '*'")
missing_file = stderr_has(
    "such file or directory: '*' | directory, open '*' | open file '*' | open *: no such | *: No such"
)


def spawned_again(seen: FaultContext) -> object:
    """Return the error of a process of multiprocessing that ran the whole program, which has no guard."""
    spawned = any("spawn_main" in line for line in seen.stderr_lines) and b"__main__" not in seen.source
    return seen.ended and (stderr_has("bootstrapping phase | freeze_support()")(seen) or (spawned and last_error(seen)))


def own_module(seen: FaultContext) -> object:
    name = str(stderr_has("module named '*'")(seen)).partition(".")[0]
    is_near = not seen.is_single_file and {name, f"{name}.py"} & seen.files  # a file's neighbours aren't in its box
    return name if is_near else stderr_has("attempted relative import")(seen)


def _is_script(seen: FaultContext) -> object:
    program = os.path.basename("".join(seen.argv[:1]))
    return seen.ended and (program.endswith(("sh", "env")) or (program in seen.files and not last_error(seen)))


def windows_lines(seen: FaultContext) -> object:
    first = seen.source.partition(b"\n")[0]
    crlf = b"\r\n" in seen.source if is_shell(seen) else first.startswith(b"#!") and first.endswith(b"\r")
    return (_is_script(seen) and crlf) or (seen.ended and str(missing_program(seen)).endswith("\\r"))


def marked_script(seen: FaultContext) -> object:
    return _is_script(seen) and seen.source.startswith(b"\xef\xbb\xbf#!")


def missing_program(seen: FaultContext) -> object:
    python = "FileNotFoundError: [Errno 2] No such file or directory: '*'"
    patterns = "*: not found | *: command not found | env: *: No such file | make: *: No such file | spawn * ENOENT"
    by_python = any("subprocess.py" in line for line in seen.stderr_lines)
    return (by_python and stderr_has(python)(seen)) or stderr_has(patterns)(seen)


_ERRORS = ("Exception in thread ", "thread '", "panic: ", "terminate called ", "Uncaught ", "fatal error: ")


def last_error(seen: FaultContext) -> str:
    """Return the line of the last exception: after a Python traceback, or with the usual start of other languages."""
    if not seen.ended or (error := _find_error(seen.stderr_lines)) or not seen.facts.exit_code:
        return error if seen.ended else ""
    last = "".join(seen.stderr_lines[-1:])
    return last if any(word in last.lower() for word in ("error", "cannot", "fatal", "invalid", "unexpected")) else ""


def key_error(seen: FaultContext) -> str:
    return error if (error := last_error(seen)).startswith("KeyError") else ""


def error_has(patterns: str) -> Sign:
    """Return a sign that searches the last error, and the line below it, for one of the patterns."""
    words = patterns.split(" | ")

    def sign(seen: FaultContext) -> object:
        error = last_error(seen)
        below = next((after for line, after in pairwise(seen.stderr_lines) if error and error in line), "")
        return any(word in line for word in words for line in (error, below)) and error

    return sign


def thread_error(seen: FaultContext) -> str:
    """Return the error that ended a thread of a silent process."""
    lines = seen.stderr_lines
    words = ("Exception in thread ", "Task exception was never retrieved")
    places = [place for place, line in enumerate(lines) if line.startswith(words)]
    return _find_error(lines[places[-1] :]) if places and not seen.ended and is_silent(seen) else ""


def _find_error(lines: Sequence[str]) -> str:
    """Return the line of standard error that names an error; the last one in doubt, "" for none.

    The line after a traceback counts as well as names of errors, failed assertions of C, and the kit's own messages.
    """
    error_line, within = "", False
    for line, below in zip_longest(lines, lines[1:], fillvalue=""):
        if line.startswith("Traceback (most recent call last):"):
            within = True
        elif within and line and not line.startswith((" ", "\t")):
            error_line, within = line, False
        elif line.startswith(_ERRORS) or line.partition(":")[0].endswith(("Error", "Exception")):
            error_line = line
        elif "Assertion `" in line or line.endswith(("Error)", "Exception)")) or ".pl line " in line:
            error_line = error_line or line
        elif line.startswith("coup_kit: ") and " failed " in line:
            error_line = error_line or (below.strip() if below.startswith("  ") else line)
    return error_line


def helper_process(stderr: Sequence[bytes]) -> str:
    """Return the helper process or thread that standard error says a traceback is from; "" if it names none."""
    for line in stderr:
        if line.startswith((b"Process ", b"Exception in thread ")):
            return escape_bytes(line.rstrip(b":"), MAX_LINE)
        if b"spawn_main" in line:
            return "a process that multiprocessing started"
    return ""


FOREIGN = ("coup_kit.", "CoupKit", "/lib/python", "/usr/lib/", "node:", "java.base/", "<frozen ")


def own_place(seen: FaultContext) -> str:
    """Return the last line of the bot's in a Python traceback: ", in bot.py, line 7: x[1]"; "" without one."""
    lines = [line.strip() for line in seen.stderr_lines] if seen.ended else []
    frames = [
        pair for pair in pairwise(lines) if pair[0].startswith('File "') and not any(w in pair[0] for w in FOREIGN)
    ]
    path, _, tail = frames[-1][0][6:].partition('", line ') if frames else ("", "", "")
    if path:
        return f", in {os.path.basename(path)}, line {tail.partition(',')[0]}: {frames[-1][1]}"
    names = {os.path.basename(name) for name in (*seen.files, *seen.argv) if name.endswith(_STACK_FILES)}
    named_lines = ((line, name) for line in lines for name in sorted(names) if f"{name}:" in line)
    return next(
        (f", in {name}, line {tail}" for line, name in named_lines if (tail := _number_after(line, f"{name}:"))), ""
    )


_STACK_FILES = (".js", ".mjs", ".cjs", ".java", ".go", ".rb", ".lua", ".kt")  # their errors name the line in a stack


def _number_after(line: str, mark: str) -> str:
    tail = line.partition(mark)[2]
    return tail[: len(tail) - len(tail.lstrip("0123456789"))]


def field_help(error: str) -> str:
    """Return which messages have the field whose absence is an error."""
    name = error.partition("KeyError: '")[2].partition("'")[0]
    places_text = FIELD_PLACES.get(name)
    return (
        f"{name}: {places_text}"
        if places_text
        else "not each message, move and event has all fields, nor all rules your roles"
    )


_NOTHING = ("NoneType", "NullPointer", "nil pointer", "of null", "of undefined", "on a `None`")


def missing_find(seen: FaultContext) -> str:
    """Return the calls of find in the program that return nothing in this request, if the error is a missing value."""
    if not (seen.ended and seen.facts.signal == 11) and not any(word in last_error(seen) for word in _NOTHING):
        return ""
    legal = {str(part) for move in seen.asked.get("legal", ()) for pair in move.items() for part in pair}
    parts = seen.source.decode(errors="replace").lower().replace("'", '"').split('find("')[1:]
    words = dict.fromkeys(part.partition('"')[0] for part in parts)
    return ", ".join(f'find("{word}")' for word in words if legal and word.isidentifier() and word not in legal)


_GROWTH_WORDS = {
    "memory": ("out_of_memory", "MemoryError", "out of memory", "OutOfMemory", "bad_alloc"),
    "open files": ("Too many open files", "EMFILE"),
    "processes and threads": (
        "too_many_processes",
        "forks refused",
        "start new thread",
        "native thread",
        "Resource temporarily un",
    ),
    "the reply": ("line_too_long", "flood"),
}


_GROWTH_HELP = {
    "memory": "free what earlier requests needed: clear lists, caches and trees at game_start, or bound their size",
    "open files": "close each file, socket and pipe that you open (with open(...) as file), or open it once",
    "processes and threads": "make workers once, for all requests; end threads, and wait for ended processes (pclose, "
    "wait, with Pool(4) as pool)",
    "the reply": "don't let the reply grow with each request: it needs only id, and move or choice",
}


def growth_advice(name: str) -> str:
    """Return the remedy against the growth of a resource, or of the time for a kind of request."""
    time = "keep counts instead of going through all earlier events at each request, and clear lists at game_start"
    return _GROWTH_HELP.get(name, time)


def growth(seen: FaultContext) -> str:
    """Return the text on the growth that led to the fault."""
    return next((text for name, text, is_full in seen.growth if _explains(seen, name, is_full)), "")


def growth_help(seen: FaultContext) -> str:
    return growth_advice(next((name for name, text, _ in seen.growth if text == growth(seen)), ""))


def _explains(seen: FaultContext, name: str, is_full: bool) -> object:
    said = [seen.code, seen.detail or "", *(seen.stderr_lines if seen.ended else ())]
    words = _GROWTH_WORDS.get(name, ("timeout",))
    return any(word in line for word in words for line in said) or (is_full and seen.facts.signal)


def cpu_share(seen: FaultContext) -> float:
    """Return the share of CPU time in own time at a timeout; a value between IDLE and BUSY if unknown."""
    own_ms, cpu_ms, *_ = seen.facts
    return BUSY - 0.1 if seen.code != "timeout" or own_ms is None or cpu_ms is None else cpu_ms / max(1, own_ms)


_READS_ALL = (b"stdin.read()", b"stdin.readlines()", b"json.load(sys.stdin)", b"readFileSync(0", b"stdin.read_to_")


def seconds_mixed(seen: FaultContext) -> object:
    """Return whether a Python program that computes for too long may take milliseconds of the clock for seconds."""
    converts = any(words in seen.source for words in (b"1000", b"1_000", b"1e3", b"1e-3", b"001"))
    return cpu_share(seen) >= BUSY and language_of(seen) == "python" and b"_ms" in seen.source and not converts


def reads_all(seen: FaultContext) -> object:
    silent = seen.code in ("start_failed", "timeout") and (seen.received is None or seen.facts.unflushed)
    return silent and any(words in seen.source for words in _READS_ALL)


# ---------------------------------------------------------------- signs in the bot's program


def is_shell(seen: FaultContext) -> bool:
    program = "".join(seen.argv[:1])
    return os.path.basename(program) in ("sh", "bash", "dash", "zsh") or program.endswith(".sh")


_NETWORK = (
    *("urlopen(", "urlretrieve(", "requests.get(", "requests.post(", "httpx.", "aiohttp.", "http.client", ".connect(("),
    *("create_connection(", "fetch(", "axios", "http.get(", "https.get(", "HttpClient", ".openStream(", "http.Get("),
    *("reqwest", "curl", "wget "),
)


def network_call(seen: FaultContext) -> object:
    """Return a call of a silent, idle program in a box that needs the network."""
    silent = seen.boxed and seen.received is None and seen.code in ("start_failed", "timeout")
    words = (word for word in _NETWORK if word.encode() in seen.source)
    return silent and not seen.facts.reads and cpu_share(seen) < BUSY and next(words, "").rstrip("(.")


_SWALLOWS = (
    *(b"suppress(", b"unhandledRejection", b"uncaughtException", b".catch(() => {", b"rescue nil", b"recover()"),
    *(b"catch_unwind", b"2>/dev/null", b"|| true", b"eval {", b"pcall("),
)
_NOTHING_DONE = (b"pass", b"continue", b"return", b"...", b"}", b"//", b"/*", b"next", b"end", b"nil", b"#")


def swallowed_error(seen: FaultContext) -> str:
    """Return the line of a silent program that catches an error and does nothing with it."""
    lines = [line.strip() for line in seen.source.split(b"\n")] if is_silent(seen) and not seen.ended else []
    for number, (line, below) in enumerate(zip_longest(lines, lines[1:], fillvalue=b""), 1):
        python = line.startswith((b"except", b"rescue")) and (
            below.startswith(_NOTHING_DONE) if line[-1:] == b":" or line[:1] == b"r" else line.endswith(_NOTHING_DONE)
        )
        caught = b"catch" in line and (line.endswith(b"{}") or (line[-1:] == b"{" and below.startswith(_NOTHING_DONE)))
        if python or caught or any(words in line for words in _SWALLOWS):
            return f"line {number}: {line.decode(errors='replace').rstrip(':')}"
    return ""


def compared_texts(seen: FaultContext) -> str:
    """Return the line of a silent program in Java or C that compares a text with ==."""
    lines = (
        seen.source.split(b"\n") if is_silent(seen) and not seen.ended and language_of(seen) in ("java", "c") else []
    )
    comparisons = ((number, line) for number, line in enumerate(lines, 1) if b'== "' in line or b'" ==' in line)
    return next((f"line {number}: {line.strip().decode(errors='replace')}" for number, line in comparisons), "")


def missing_pool(seen: FaultContext) -> object:
    """Return the call that makes a pool of workers, in a program that made too many of them."""
    words = (b"Pool(", b"Executor(", b"newFixedThreadPool(", b"newCachedThreadPool(", b"new Worker(")
    return next((word.decode().rstrip("(") for word in words if word in seen.source), "")


def exit_call(seen: FaultContext) -> str:
    """Return the line of the program that ended it with its exit code."""
    code, lines = seen.facts.exit_code, seen.source.split(b"\n") if seen.ended else []
    words = () if code is None else (b"exit(%d)" % code, b"exit(%d);" % code, *((b"exit()",) if code == 0 else ()))
    calls = ((number, line) for number, line in enumerate(lines, 1) if any(word in line.lower() for word in words))
    return next((f"line {number}: {line.strip().decode(errors='replace')}" for number, line in calls), "")


def no_call(seen: FaultContext) -> str:
    """Return why a Python program that has ended does nothing: a misspelt guard, or only definitions."""
    if not seen.ended or seen.facts.exit_code != 0 or language_of(seen) != "python":
        return ""
    guards = [line for line in seen.source.split(b"\n") if line.startswith(b"if __name__")]
    if guards and b"__main__" not in seen.source:
        return f"the condition is never true: {guards[0].strip().decode(errors='replace')}"
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        body = ast.parse(seen.source).body
        passive = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Assign)
        if body and all(isinstance(statement, passive) or _is_docstring(statement) for statement in body):
            return "it defines functions or classes, but calls none"
    return ""


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def moved_file(seen: FaultContext) -> str:
    """Return the path that a file which wasn't found has in the bot's folder."""
    name = str(missing_file(seen))
    base = "" if seen.is_single_file else os.path.basename(name)
    own = (path for path in sorted(seen.files) if not path.startswith("../"))
    path = next((path for path in own if base and os.path.basename(path) == base), "")
    return path and f"{name} isn't there, but the bot's folder has {path}"


def buffering_filter(seen: FaultContext) -> object:
    """Return the last program behind a pipe of a shell script whose reply came when its input ended."""
    program = seen.source.rpartition(b"|")[2].split() if seen.facts.unflushed and is_shell(seen) else []
    return b"|" in seen.source and program and program[0].decode(errors="replace")


def background_program(seen: FaultContext) -> object:
    """Return the line of a shell script, which has ended, that starts a program in the background."""
    lines = (line.strip() for line in seen.source.splitlines()) if is_shell(seen) and seen.ended else ()
    return next((line.decode(errors="replace") for line in lines if line.endswith(b"&") and line[-2:] != b"&&"), "")


def neighbour(seen: FaultContext) -> object:
    """Return the name of the file next to a single-file bot that the bot misses in its box; a false value if none."""
    name = seen.boxed and seen.is_single_file and str(_missing_module(seen) or missing_file(seen))
    stem = os.path.basename(name or "").removeprefix("./").partition(".")[0]
    near = (stem, f"{stem}.py", f"{stem}.js", os.path.basename(name or ""))
    return stem and next((file for file in near if file in seen.files), "")


def word_for_move(seen: FaultContext) -> object:
    """Return the call of the kit that returns the legal move for the word that a method has returned."""
    word = stderr_has(") returned '*', which is neither | ) returned \"*\", which is neither")(seen)
    moves = seen.asked.get("legal", ()) if word else ()
    keys = (key for move in moves if isinstance(move, dict) for key, value in move.items() if value == word)
    key = next(keys, "action")
    what = json.dumps(word) if key == "action" else f"{json.dumps(key)}, {json.dumps(word)}"
    more = ", seat" if any(move.get("action") == word and "target" in move for move in moves) else ""
    return word and f"game.find({what}{more})"


# ---------------------------------------------------------------- the language


def language_of(seen: FaultContext) -> str:
    """Return the language of a bot's program, by its command, its script, or the sources in its folder."""
    if not seen.argv:
        return "python"
    script = seen.source.decode(errors="replace").split() if is_shell(seen) else []
    words = [os.path.basename(word.strip("\"'`();|&")) for word in (*seen.argv[:4], *script)]
    marks = {mark for word in words for mark in (word.rstrip("-.0123456789"), os.path.splitext(word)[1])}
    ends = {os.path.splitext(path)[1] for path in seen.files if not path.startswith("../")}
    started = (key for mark, key in BY_MARK.items() if key != "shell" and mark in marks)
    compiled = (key for key, language in LANGUAGES.items() if not ends.isdisjoint(language.sources))
    return next(started, "shell" if is_shell(seen) else next(compiled, ""))
