"""Find signs of mistakes in a fault: in its facts, the bot's last lines of standard error, and its files.

The line and standard error are untrusted: quotes of them are escaped, no command that they name is recommended, and
each is searched once, line by line, without regular expressions."""

import ast
import json
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, zip_longest

from arena.bots import BY_MARK, IN_BOXES, LANGUAGES, parse_statements
from arena.checks.fault_context import MAX_LINE, FaultContext, Sign
from arena.checks.request_features import FIELD_PLACES
from arena.sandbox import programs_of
from protocol import escape_bytes

LAUNCHERS = ("npm", "yarn", "pnpm", "make", "mvn", "gradle", "gradlew")  # programs that print what they start
# Shares of CPU time in own time: a bot above was computing, a bot below was idle. A busy machine lowers the share.
BUSY, IDLE = 0.6, 0.1

# ---------------------------------------------------------------- signs on standard error, and in the exit


def stderr_sign(patterns: str, condition: Callable[[FaultContext], object] = lambda fault: fault.has_ended) -> Sign:
    """Return a sign that is the last line of standard error with one of the patterns, separated by " | ".

    A pattern may have one `*`: the sign is then the text that stands for it. It is "" if no line matches, and for a
    fault without the `condition`.
    """
    parts_by_pattern = [pattern.partition("*") for pattern in patterns.split(" | ")]

    def sign(fault: FaultContext) -> object:
        lines = reversed(fault.stderr_lines) if condition(fault) else ()
        matches = (_match_line(line, *parts) for line in lines for parts in parts_by_pattern)
        return next(filter(None, matches), "")

    return sign


def _match_line(line: str, prefix: str, star: str, suffix: str) -> str:
    """Return the text between prefix and suffix, without a `star` the whole line; "" if the line has them not."""
    _, mark, tail = line.partition(prefix) if prefix else ("", "*", line)
    name, end, _ = tail.partition(suffix) if suffix else (tail, "*", "")
    if not mark or not end:
        return ""
    return name.rpartition(": ")[2].strip("'\"\u2018\u2019 ") if star else line.strip()


def is_silent(fault: FaultContext) -> object:
    return fault.has_ended or (fault.received is None and fault.code == "timeout")


def program_help(fault: FaultContext) -> str:
    if not fault.is_boxed:
        return "install it"
    if programs_of(fault.sandbox).image:
        return "use an image that contains it (--docker-image)"
    return IN_BOXES


def shadowed_module(fault: FaultContext) -> object:
    name = stderr_sign("module '*' has no attribute | partially initialized module '*' | ' from '*'")(fault)
    return f"{name}.py" in fault.files and name


def own_program(fault: FaultContext) -> object:
    """Return the program that the command names and the process didn't find, as the command names it."""
    name = os.path.basename(str(stderr_sign("open file '*' | find module '*' | main class *")(fault)))
    return next((word for word in fault.argv[1:] if name and os.path.basename(word) == name), "")


def split_name(fault: FaultContext) -> object:
    """Return the name of a file of the bot that the command splits at a space."""
    command = f" {' '.join(fault.argv)} "
    names = (name for name in fault.files if " " in name and {name, f"./{name}"}.isdisjoint(fault.argv))
    return fault.has_ended and next((name for name in names if f" {name} " in command or f" ./{name} " in command), "")


def outside_path(fault: FaultContext) -> object:
    """Return a path outside of the bot's folder that the command names and the process didn't find."""
    path = "" if fault.is_single_file else str(own_program(fault))
    return path if path.startswith("/") or os.path.normpath(path).startswith("..") else ""


def program_elsewhere(fault: FaultContext) -> object:
    """Return the path, or the name in other capitals, at which the bot's folder has the program that wasn't found."""
    name = str(own_program(fault) or stderr_sign("ClassNotFoundException: *")(fault))
    base = name.lower().rpartition("/")[2]
    paths = (path for path in sorted(fault.files) if path != name and not path.startswith("../"))
    return name and next((path for path in paths if path.lower().rpartition("/")[2] in (base, f"{base}.class")), "")


def java_command(fault: FaultContext) -> str:
    """Return the command with the full name of its class, if java missed a class of a package in the folder of its -cp.

    "": the command has no -cp, or the bot's folder has no such class.
    """
    path = str(program_elsewhere(fault)).removesuffix(".class")
    class_folder = next((value for option, value in pairwise(fault.argv) if option in _CLASS_PATH_OPTIONS), "")
    name = path.removeprefix(f"{class_folder.strip('/')}/")
    if name == path or not all(part.isidentifier() for part in path.split("/")):
        return ""
    simple_name, full_name = path.rpartition("/")[2], name.replace("/", ".")
    return " ".join(("java", *(full_name if word == simple_name else word for word in fault.argv[1:])))


_CLASS_PATH_OPTIONS = ("-cp", "-classpath", "--class-path")


def parent_module(fault: FaultContext) -> object:
    """Return the name of a module that the program didn't find, and that the folder above has; else a false value."""
    name = str(_missing_module(fault)).removeprefix("../").partition(".")[0]
    return name and {f"../{name}", f"../{name}.py", f"../{name}.js"} & fault.files and name


_missing_module = stderr_sign("module named '*' | find module '*'")
missing_file = stderr_sign(
    "such file or directory: '*' | directory, open '*' | open file '*' | open *: no such | *: No such"
)


def spawned_again(fault: FaultContext) -> object:
    """Return the error of a process of multiprocessing that ran the whole program, which has no guard."""
    is_spawned = any("spawn_main" in line for line in fault.stderr_lines) and b"__main__" not in fault.source
    return fault.has_ended and (
        stderr_sign("bootstrapping phase | freeze_support()")(fault) or (is_spawned and last_error(fault))
    )


def own_module(fault: FaultContext) -> object:
    """Return the name of an own module that Python didn't find, or the error of a relative import."""
    name = str(stderr_sign("module named '*'")(fault)).partition(".")[0]
    is_near = not fault.is_single_file and {name, f"{name}.py"} & fault.files  # a file's neighbours aren't in its box
    return name if is_near else stderr_sign("attempted relative import")(fault)


def _is_script(fault: FaultContext) -> object:
    program = os.path.basename("".join(fault.argv[:1]))
    return fault.has_ended and (program.endswith(("sh", "env")) or (program in fault.files and not last_error(fault)))


def windows_lines(fault: FaultContext) -> object:
    first_line = fault.source.partition(b"\n")[0]
    has_crlf_shebang = first_line.startswith(b"#!") and first_line.endswith(b"\r")
    has_crlf = b"\r\n" in fault.source if is_shell(fault) else has_crlf_shebang
    return (_is_script(fault) and has_crlf) or (fault.has_ended and str(missing_program(fault)).endswith("\\r"))


def marked_script(fault: FaultContext) -> object:
    return _is_script(fault) and fault.source.startswith(b"\xef\xbb\xbf#!")


def missing_program(fault: FaultContext) -> object:
    python = "FileNotFoundError: [Errno 2] No such file or directory: '*'"
    patterns = "*: not found | *: command not found | env: *: No such file | make: *: No such file | spawn * ENOENT"
    by_python = any("subprocess.py" in line for line in fault.stderr_lines)
    return (by_python and stderr_sign(python)(fault)) or stderr_sign(patterns)(fault)


_ERRORS = ("Exception in thread ", "thread '", "panic: ", "terminate called ", "Uncaught ", "fatal error: ")


def last_error(fault: FaultContext) -> str:
    """Return the line of the last exception: after a Python traceback, or with the usual start of other languages.

    If a process has failed without one, its last line counts if it has a word for an error. "" without any.
    """
    if not fault.has_ended:
        return ""
    error = _find_error(fault.stderr_lines)
    if error or not fault.facts.exit_code:
        return error
    last_line = "".join(fault.stderr_lines[-1:])
    return last_line if any(word in last_line.lower() for word in _ERROR_WORDS) else ""


_ERROR_WORDS = ("error", "cannot", "fatal", "invalid", "unexpected")


def key_error(fault: FaultContext) -> str:
    return error if (error := last_error(fault)).startswith("KeyError") else ""


def error_has(patterns: str) -> Sign:
    """Return a sign that is the last error, if it or the line below it has one of the patterns, separated by " | "."""
    texts = patterns.split(" | ")

    def sign(fault: FaultContext) -> object:
        error = last_error(fault)
        next_line = next((below for line, below in pairwise(fault.stderr_lines) if error and error in line), "")
        return any(text in line for text in texts for line in (error, next_line)) and error

    return sign


def thread_error(fault: FaultContext) -> str:
    """Return the error that ended a thread of a silent process; "" for none."""
    starts = ("Exception in thread ", "Task exception was never retrieved")
    lines = fault.stderr_lines if is_silent(fault) and not fault.has_ended else []
    indices = [index for index, line in enumerate(lines) if line.startswith(starts)]
    return _find_error(lines[indices[-1] :]) if indices else ""


def _find_error(lines: Sequence[str]) -> str:
    """Return the line of standard error that names an error; "" for none.

    The last line that ends a traceback or begins like an error, else the first other sign: a failed assertion of C, an
    error in brackets, a line of Perl, a message of the kit.
    """
    certain_line = likely_line = ""
    is_in_traceback = False
    for line, next_line in zip_longest(lines, lines[1:], fillvalue=""):
        if line.startswith("Traceback (most recent call last):"):
            is_in_traceback = True
        elif is_in_traceback and line and not line.startswith((" ", "\t")):
            certain_line, is_in_traceback = line, False
        elif line.startswith(_ERRORS) or line.partition(":")[0].endswith(("Error", "Exception")):
            certain_line = line
        elif "Assertion `" in line or line.endswith(("Error)", "Exception)")) or ".pl line " in line:
            likely_line = likely_line or line
        elif line.startswith("coup_kit: ") and " failed " in line:
            error_line = next_line.strip() if next_line.startswith("  ") else line
            likely_line = likely_line or error_line
    return certain_line or likely_line


def helper_process(stderr: Sequence[bytes]) -> str:
    """Return the helper process or thread that standard error says a traceback is from; "" if it names none."""
    for line in stderr:
        if line.startswith((b"Process ", b"Exception in thread ")):
            return escape_bytes(line.rstrip(b":"), MAX_LINE)
        if b"spawn_main" in line:
            return "a process that multiprocessing started"
    return ""


FOREIGN = ("coup_kit.", "CoupKit", "/lib/python", "/usr/lib/", "node:", "java.base/", "<frozen ")


def own_place(fault: FaultContext) -> str:
    """Return where in the bot's own program an ended process failed: ", in bot.py, line 7: x[1]"; "" if unknown.

    By the last frame of the bot's in a Python traceback, else by the first line that names a file of the bot.
    """
    lines = [line.strip() for line in fault.stderr_lines] if fault.has_ended else []
    return _python_place(lines) or _stack_place(lines, (*fault.files, *fault.argv))


def _python_place(lines: Sequence[str]) -> str:
    """Return the place of the last frame in a Python traceback that isn't foreign, with its source line; "" if none."""
    frames = [
        (frame, code)
        for frame, code in pairwise(lines)
        if frame.startswith('File "') and not any(name in frame for name in FOREIGN)
    ]
    frame, code = frames[-1] if frames else ("", "")
    path, _, tail = frame.removeprefix('File "').partition('", line ')
    return f", in {os.path.basename(path)}, line {tail.partition(',')[0]}: {code}" if path else ""


def _stack_place(lines: Sequence[str], paths: Iterable[str]) -> str:
    """Return the first place "NAME:NUMBER" in the lines that names one of these files; "" without one."""
    names = sorted({os.path.basename(path) for path in paths if path.endswith(_STACK_FILES)})
    numbers = ((name, _number_after(line, f"{name}:")) for line in lines for name in names)
    return next((f", in {name}, line {number}" for name, number in numbers if number), "")


_STACK_FILES = (".js", ".mjs", ".cjs", ".java", ".go", ".rb", ".lua", ".kt")  # their errors name the line in a stack


def _number_after(line: str, mark: str) -> str:
    """Return the digits that follow the mark in a line; "" if the line has no mark, or none follow it."""
    tail = line.partition(mark)[2]
    return tail[: len(tail) - len(tail.lstrip("0123456789"))]


def field_help(error: str) -> str:
    """Return which messages have the field whose absence is an error; a general sentence for an unknown field."""
    name = error.partition("KeyError: '")[2].partition("'")[0]
    if name in FIELD_PLACES:
        return f"{name}: {FIELD_PLACES[name]}"
    return "not each message, move and event has all fields, nor all rules your roles"


_NOTHING = ("NoneType", "NullPointer", "nil pointer", "of null", "of undefined", "on a `None`")


def missing_find(fault: FaultContext) -> str:
    """Return the program's calls of find with words that no legal move has; "" unless a missing value is the error."""
    is_segfault = fault.has_ended and fault.facts.signal == signal.SIGSEGV
    if not is_segfault and not any(text in last_error(fault) for text in _NOTHING):
        return ""
    legal_words = {str(word) for move in fault.request.get("legal", ()) for field in move.items() for word in field}
    if not legal_words:
        return ""
    calls = fault.source.decode(errors="replace").lower().replace("'", '"').split('find("')[1:]
    arguments = dict.fromkeys(call.partition('"')[0] for call in calls)
    return ", ".join(f'find("{word}")' for word in arguments if word.isidentifier() and word not in legal_words)


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


def growth(fault: FaultContext) -> str:
    """Return the text on the growth that led to the fault."""
    return next((text for name, text, is_full in fault.growth if _explains(fault, name, is_full)), "")


def growth_help(fault: FaultContext) -> str:
    return growth_advice(next((name for name, text, _ in fault.growth if text == growth(fault)), ""))


def _explains(fault: FaultContext, name: str, is_full: bool) -> object:
    """Return whether the growth of a resource, which may be nearly full, is a reason of the fault."""
    texts = [fault.code, fault.detail or "", *(fault.stderr_lines if fault.has_ended else ())]
    words = _GROWTH_WORDS.get(name, ("timeout",))
    return any(word in text for word in words for text in texts) or (is_full and fault.facts.signal)


def cpu_share(fault: FaultContext) -> float:
    """Return the share of CPU time in own time at a timeout; a value between IDLE and BUSY if unknown."""
    own_ms, cpu_ms, *_ = fault.facts
    return BUSY - 0.1 if fault.code != "timeout" or own_ms is None or cpu_ms is None else cpu_ms / max(1, own_ms)


_READS_ALL = (b"stdin.read()", b"stdin.readlines()", b"json.load(sys.stdin)", b"readFileSync(0", b"stdin.read_to_")


def seconds_mixed(fault: FaultContext) -> object:
    """Return whether a Python program that computes for too long may take milliseconds of the clock for seconds."""
    has_factor = any(factor in fault.source for factor in (b"1000", b"1_000", b"1e3", b"1e-3", b"001"))
    return cpu_share(fault) >= BUSY and language_key(fault) == "python" and b"_ms" in fault.source and not has_factor


def reads_all(fault: FaultContext) -> object:
    has_no_reply = fault.code in ("start_failed", "timeout") and (fault.received is None or fault.facts.unflushed)
    return has_no_reply and any(call in fault.source for call in _READS_ALL)


# ---------------------------------------------------------------- signs in the bot's program


def is_shell(fault: FaultContext) -> bool:
    program = "".join(fault.argv[:1])
    return os.path.basename(program) in ("sh", "bash", "dash", "zsh") or program.endswith(".sh")


_NETWORK = (
    *("urlopen(", "urlretrieve(", "requests.get(", "requests.post(", "httpx.", "aiohttp.", "http.client", ".connect(("),
    *("create_connection(", "fetch(", "axios", "http.get(", "https.get(", "HttpClient", ".openStream(", "http.Get("),
    *("reqwest", "curl", "wget "),
)


def network_call(fault: FaultContext) -> object:
    """Return a call of a silent, idle program in a box that needs the network."""
    has_no_reply = fault.is_boxed and fault.received is None and fault.code in ("start_failed", "timeout")
    calls = (call for call in _NETWORK if call.encode() in fault.source)
    return has_no_reply and not fault.facts.reads and cpu_share(fault) < BUSY and next(calls, "").rstrip("(.")


_SWALLOWS = (
    *(b"suppress(", b"unhandledRejection", b"uncaughtException", b".catch(() => {", b"rescue nil", b"recover()"),
    *(b"catch_unwind", b"2>/dev/null", b"|| true", b"eval {", b"pcall("),
)
_NOTHING_DONE = (b"pass", b"continue", b"return", b"...", b"}", b"//", b"/*", b"next", b"end", b"nil", b"#")


def swallowed_error(fault: FaultContext) -> str:
    """Return the first line of a silent program that catches an error and does nothing with it; "" for none."""
    lines = [line.strip() for line in fault.source.split(b"\n")] if is_silent(fault) and not fault.has_ended else []
    for number, (line, next_line) in enumerate(zip_longest(lines, lines[1:], fillvalue=b""), 1):
        if _is_empty_handler(line, next_line) or any(text in line for text in _SWALLOWS):
            return f"line {number}: {line.decode(errors='replace').rstrip(':')}"
    return ""


def _is_empty_handler(line: bytes, next_line: bytes) -> bool:
    """Return whether a line of Python, Ruby or a language with `catch` begins a handler of errors that does nothing."""
    if line.startswith((b"except", b"rescue")):
        has_body_below = line.endswith(b":") or line.startswith(b"rescue")
        return next_line.startswith(_NOTHING_DONE) if has_body_below else line.endswith(_NOTHING_DONE)
    return b"catch" in line and (line.endswith(b"{}") or (line.endswith(b"{") and next_line.startswith(_NOTHING_DONE)))


def compared_texts(fault: FaultContext) -> str:
    """Return the first line of a silent program in Java or C that compares a text with ==; "" for none."""
    if fault.has_ended or not is_silent(fault) or language_key(fault) not in ("java", "c"):
        return ""
    lines = enumerate(fault.source.split(b"\n"), 1)
    comparisons = ((number, line) for number, line in lines if b'== "' in line or b'" ==' in line)
    return next((f"line {number}: {line.strip().decode(errors='replace')}" for number, line in comparisons), "")


def missing_pool(fault: FaultContext) -> object:
    """Return the call that makes a pool of workers, in a program that made too many of them."""
    calls = (b"Pool(", b"Executor(", b"newFixedThreadPool(", b"newCachedThreadPool(", b"new Worker(")
    return next((call.decode().rstrip("(") for call in calls if call in fault.source), "")


def exit_call(fault: FaultContext) -> str:
    """Return the first line of the program that may have ended it with its exit code; "" for none."""
    code = fault.facts.exit_code
    if code is None or not fault.has_ended:
        return ""
    calls = (b"exit(%d)" % code, *((b"exit()",) if code == 0 else ()))
    lines = enumerate(fault.source.split(b"\n"), 1)
    exits = ((number, line) for number, line in lines if any(call in line.lower() for call in calls))
    return next((f"line {number}: {line.strip().decode(errors='replace')}" for number, line in exits), "")


def no_call(fault: FaultContext) -> str:
    """Return why a Python program that has ended does nothing: a misspelt guard, or only definitions; else ""."""
    if not fault.has_ended or fault.facts.exit_code != 0 or language_key(fault) != "python":
        return ""
    guards = [line for line in fault.source.split(b"\n") if line.startswith(b"if __name__")]
    if guards and b"__main__" not in fault.source:
        return f"the condition is never true: {guards[0].strip().decode(errors='replace')}"
    body = parse_statements(fault.source)
    are_definitions = body and all(isinstance(each, _DEFINITIONS) or _is_docstring(each) for each in body)
    return "it defines functions or classes, but calls none" if are_definitions else ""


_DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Assign)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def moved_file(fault: FaultContext) -> str:
    """Return where the bot's folder has a file that wasn't found, as the end of a sentence; "" if it hasn't."""
    name = str(missing_file(fault))
    base = "" if fault.is_single_file else os.path.basename(name)
    own_paths = (path for path in sorted(fault.files) if not path.startswith("../"))
    path = next((path for path in own_paths if base and os.path.basename(path) == base), "")
    return path and f"{name} isn't there, but the bot's folder has {path}"


def buffering_filter(fault: FaultContext) -> object:
    """Return the last program behind a pipe of a shell script whose reply came when its input ended."""
    program = fault.source.rpartition(b"|")[2].split() if fault.facts.unflushed and is_shell(fault) else []
    return b"|" in fault.source and program and program[0].decode(errors="replace")


def background_program(fault: FaultContext) -> object:
    """Return the line of a shell script, which has ended, that starts a program in the background."""
    lines = (line.strip() for line in fault.source.splitlines()) if is_shell(fault) and fault.has_ended else ()
    return next((line.decode(errors="replace") for line in lines if line.endswith(b"&") and line[-2:] != b"&&"), "")


def neighbour(fault: FaultContext) -> object:
    """Return the name of the file next to a single-file bot that the bot misses in its box; a false value if none."""
    name = fault.is_boxed and fault.is_single_file and str(_missing_module(fault) or missing_file(fault))
    stem = os.path.basename(name or "").removeprefix("./").partition(".")[0]
    candidates = (stem, f"{stem}.py", f"{stem}.js", os.path.basename(name or ""))
    return stem and next((file for file in candidates if file in fault.files), "")


def word_for_move(fault: FaultContext) -> str:
    """Return the call of the kit that finds the move for the word that a method has returned; "" without a word."""
    word = stderr_sign(") returned '*', which is neither | ) returned \"*\", which is neither")(fault)
    if not word:
        return ""
    moves = fault.request.get("legal", ())
    key = next((key for move in moves for key, value in move.items() if value == word), "action")
    arguments = [word] if key == "action" else [key, word]
    has_target = any(move.get("action") == word and "target" in move for move in moves)
    return f"game.find({', '.join(map(json.dumps, arguments))}{', seat' if has_target else ''})"


# ---------------------------------------------------------------- the language


def language_key(fault: FaultContext) -> str:
    """Return the key in LANGUAGES of a bot's language: "" if it is unknown, "python" without a command.

    The words of the command and of its shell script decide; if no word of a command without a shell names a language,
    the sources in the bot's folder do.
    """
    if not fault.argv:
        return "python"
    script_words = fault.source.decode(errors="replace").split() if is_shell(fault) else []
    names = [os.path.basename(word.strip("\"'`();|&")) for word in (*fault.argv[:4], *script_words)]
    marks = {mark for name in names for mark in (name.rstrip("-.0123456789"), os.path.splitext(name)[1])}
    named_key = next((key for mark, key in BY_MARK.items() if key != "shell" and mark in marks), None)
    if named_key is not None:
        return named_key
    if is_shell(fault):
        return "shell"
    endings = {os.path.splitext(path)[1] for path in fault.files if not path.startswith("../")}
    return next((key for key, language in LANGUAGES.items() if not endings.isdisjoint(language.sources)), "")
