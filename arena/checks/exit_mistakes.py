"""List the mistakes that end a program, as the rows of the table in mistakes.py: sign, cause, remedy, example."""

from dataclasses import replace

from arena.checks import fault_signs as signs
from arena.checks.fault_context import FaultContext, Sign
from arena.checks.fault_examples import BINARY, NO_HELLO, REQUEST, TRACE, end_with
from arena.checks.fault_signs import stderr_sign
from arena.referee import Facts

LOOP = "read a line, answer it, and read the next: {loop}"
_ERROR = "the bot ended with an error: {error}{place}"
_ERRORS = (  # words of an error, remedy
    ("KeyError", "{field}: read it with .get()"),
    ("'dict' object has no attr", 'it is a dict: write claim["seat"], not claim.seat'),
    (
        "NoneType | NullPointer | nil pointer | of null | of undefined | on a `None` | a nil value | for nil",
        "test that the value is there before you use it: which fields a request has depends on its kind",
    ),
    (
        "[-1] | ndex -1 | index is -1",
        "-1 is the last index of an empty list, or comes from a search that found nothing ({sizes})",
    ),
    (
        "out of range | out of bounds | OutOfBounds | _M_range_check",
        "the index is beyond the end of a list or array ({sizes}); a game may have 10 players",
    ),
    ("subtract with overflow", "the result is below 0, which an unsigned type can't hold: use a signed one"),
    ("in ES module scope", 'package.json has "type": "module": rename the file to .cjs, or use import'),
    ("import statement outside", 'rename the file to .mjs, or set "type": "module" in package.json'),
    ("to unpack", "the list has another length here ({sizes}): with one influence there is one card; allow any length"),
    (
        "empty sequence | argument is empty | empty array | from an empty | from empty | empty list | NoSuchElement | "
        "No value present | StopIteration",
        "a list is empty here ({sizes}): test for that, and fall back to legal[0]",
    ),
    ("division by zero | divide by zero | / by zero", "a number is 0 here, as coins may be: test it before you divide"),
    ("AssertionError | ssertion", "what the program asserts isn't true here ({sizes}): handle that case"),
    ("is not in list | not in tuple | substring not", "test that the value is there first, and fall back to legal[0]"),
    (
        "not JSON serial | circular structure | t serialize",
        "reply with plain numbers, texts, lists and dicts: no set, bytes or object, and int(...) of numpy's numbers",
    ),
    ("unhashable type", "a move is a dict, which can't be a key or in a set: use its index in legal, or json.dumps"),
    (
        "indices must be | not subscriptable | is not iterable | is not a function | not callable | unsupported oper | "
        "can only concat | not supported between | must be str | ClassCast",
        "the value has another type than the program expects: print it to standard error",
    ),
    (
        "UnicodeEncode | UnicodeDecode | MalformedInput | Unmappable | byte sequence | valid UTF-8 | surrogates",
        'name the encoding at each file and stream: open(..., encoding="utf-8")',
    ),
    ("goroutines are asleep", "each goroutine waits for a channel or a lock; one that should send ended before"),
    ("ConcurrentModif | changed size during | changed during iter", "loop over a copy: it changes within its loop"),
    (
        "NumberFormat | invalid literal | ParseIntError | strconv. | convert string | invalid digit | stoi",
        "the text isn't a number: the field is absent here, or was cut at the wrong place; a JSON library finds it",
    ),
    ("cannot unmarshal | invalid type: ", "the field has another type than in the program: see the request"),
    ("UnsupportedOperationException", "copy the list before you change it: List.of(...) and toList() can't be changed"),
    ("UnboundLocal | before assignment", "set the variable on each path; to change a global one, declare it global"),
    ("imeoutE | imed out", "a time limit of the program's own ended it: wait for the next line without one"),
    ("entry in nil map", "make the map before you write into it: make(map[string]int)"),
    ("NameError | is not defined | object has no attr | ndefined method", "correct the name, or set it first"),
    ("RecursionError | StackOverflow | Maximum call stack | stack exceeds", "use a loop, which needs no depth"),
    ("MemoryError | OutOfMemory | bad_alloc | heap out of", "keep less: hello.limits.memory_mb is for the whole bot"),
    ("SyntaxError: | IndentationError: | TabError: ", "if the line is right, it needs a newer version or a compiler"),
    ("positional arg", "a method of the kit gets self and game: def turn(self, game)"),
)

EXIT_ROWS: tuple[tuple[Sign, str, str, FaultContext], ...] = (
    # ---- standard error of a process that ended
    (
        signs.shadowed_module,
        "the bot's file {name}.py hides Python's module {name}",
        "rename the file",
        end_with("ImportError: cannot import name 'Random' from 'random' (/bot/random.py)", files="random.py"),
    ),
    (
        signs.spawned_again,
        "a helper process of multiprocessing runs the whole program again: {name}",
        'start processes, and run the bot, only below if __name__ == "__main__":',
        end_with(
            TRACE, "RuntimeError: An attempt has been made to start a new process before ... bootstrapping phase."
        ),
    ),
    (
        stderr_sign("No module named pip | 'pip', 'install' | pip install | npm ERR! | npm error | will be installed"),
        "the bot installs packages when it starts",
        "install them beforehand into the bot's folder, and start the bot without that step{install}",
        end_with("/usr/bin/python3: No module named pip"),
    ),
    (
        lambda fault: fault.has_ended and any(word.endswith("npx") for word in fault.argv),
        "npx needs the network, which no box has",
        "run npm install in the bot's folder beforehand, and start the program's file with node",
        FaultContext("start_failed", argv=("/usr/bin/npx", "tsx")),
    ),
    (
        lambda fault: (
            fault.has_ended and any("environ[" in line for line in fault.stderr_lines) and signs.key_error(fault)
        ),
        "an environment variable isn't set: {name}",
        "bots don't get your environment: write the value into a file in the bot's folder, or use a default",
        end_with(TRACE, "  key = os.environ['KEY']", "KeyError: 'KEY'"),
    ),
    (
        stderr_sign("coroutine '*' was never awaited"),
        "the coroutine {name} was never awaited",
        "call it with await, and the outermost one with asyncio.run(main()); the kit's methods have no async",
        end_with("RuntimeWarning: coroutine 'Mine.turn' was never awaited"),
    ),
    (
        signs.word_for_move,
        "a method of the bot returned a word instead of a move: {error}",
        "return a move out of game.legal: {name} returns it if it is legal",
        replace(
            end_with(TRACE, "ValueError: lose() returned 'duke', which is neither in game.legal nor an index of it"),
            sent=REQUEST,
        ),
    ),
    (
        stderr_sign("returned *, which is neither | returned *, which isn't in game | the method returned *; game"),
        "a method of the bot returned no legal move: {error}",
        "return one of game.legal as it is, or its index there: no index of a card, and no move that you changed or "
        "kept from an earlier request",
        end_with(TRACE, "ValueError: lose() returned 1, which is neither in game.legal nor an index of it"),
    ),
    (
        stderr_sign("(wrong name: *)"),
        "the class belongs to a Java package: {name}",
        'build it with javac -d . MyBot.java, and run it by its whole name: run = "java com.me.MyBot"',
        end_with("Caused by: java.lang.NoClassDefFoundError: MyBot (wrong name: com/me/MyBot)"),
    ),
    (
        stderr_sign("Bad magic number | UnsupportedClassVersion | `GLIBC | ELF header | Exec format"),
        "the program was built for another version or system: {name}",
        "put the source and a build command into the folder, or build for this version: javac --release 17",
        end_with("java.lang.UnsupportedClassVersionError: MyBot has been compiled by a more recent version"),
    ),
    (
        stderr_sign("go.mod file not found | go: RLock "),
        "the build uses Go modules",
        'build without modules, because a box can\'t lock files: build = "env GO111MODULE=off {command}"',
        end_with("go: go.mod file not found in current directory", argv="go build -o bot ."),
    ),
    (
        signs.marked_script,
        "the program begins with a byte order mark",
        "save the file as UTF-8 without a byte order mark (BOM)",
        end_with("b.sh: 1: not found", argv="/bin/sh b.sh", source=b"\xef\xbb\xbf#!/bin/sh\nx\n"),
    ),
    (
        signs.windows_lines,
        "the program has CR LF line ends",
        "save the file with LF line ends, as dos2unix does",
        end_with("b.sh: 5: Syntax error", argv="/bin/sh b.sh", source=b"#!/bin/sh\r\nx\r\n"),
    ),
    (
        stderr_sign("Non-UTF-8 code | null bytes"),
        "the program is in another encoding than UTF-8: {error}",
        "save the file as UTF-8",
        end_with("SyntaxError: Non-UTF-8 code starting with '\\xe4' in file /bot/bot.py on line 3"),
    ),
    (
        stderr_sign("named 'coup_kit | module './coup_kit | coup_kit.hpp: No | module `coup_kit` | class CoupKit"),
        "the bot's folder has no kit",
        "add kit = \"python\" (or the bot's language) to bot.toml to use the arena's kit, or copy the kit there",
        end_with("ModuleNotFoundError: No module named 'coup_kit'"),
    ),
    (
        stderr_sign("No module named 'arena' | No module named 'ladder' | No module named 'protocol'"),
        "bots can't import the arena's own modules",
        "use the kit in a bot: from coup_kit import Bot, run; arena.local is for your own programs",
        end_with("ModuleNotFoundError: No module named 'arena'"),
    ),
    (
        stderr_sign("named 'torch | named 'tensorflow | named 'jax", lambda fault: fault.is_boxed and fault.has_ended),
        "no box has torch, tensorflow or jax, and they are too large for a bot's folder",
        "train on your machine, put the weights into the bot's folder, and use numpy; see docs/reference/sandbox.md",
        end_with("ModuleNotFoundError: No module named 'torch'"),
    ),
    (
        signs.split_name,
        'the command splits the name "{name}" at its space',
        'write the command as a list, run = ["python3", "my bot.py"], or quote the name, or rename the file',
        end_with("can't open file '/bot/my': [Errno 2] No such file", argv="python3 my bot.py", files="my bot.py"),
    ),
    (
        signs.outside_path,
        "{name} isn't part of the bot: only the bot's folder is",
        "move the file into the bot's folder, and name it by its path there",
        end_with("python3: can't open file '/common.py': [Errno 2] No such file", argv="python3 ../common.py"),
    ),
    (
        signs.java_command,
        "the class belongs to a Java package, so its name is longer",
        'write run = "{name}" in bot.toml, or delete the line package',
        end_with("Error: Could not find or load main class B", argv="java -cp out B", files="out/com/me/B.class"),
    ),
    (
        signs.program_elsewhere,
        "the run command has a wrong path: the bot's folder, in which it runs, has the program as {name}",
        "name that path in bot.toml, where capitals count; for Java add the folder: java -cp build MyBot, as "
        "after javac -d build",
        end_with("Error: Could not find or load main class MyBot", argv="java MyBot", files="build/MyBot.class"),
    ),
    (
        signs.own_program,
        "{name}, which the run command names, isn't {where}",
        "correct run in bot.toml: paths begin in the bot's folder, capitals count; or add the build that makes it",
        end_with("python3: can't open file '/bot/Bot.py': [Errno 2] No such file or directory", argv="python3 Bot.py"),
    ),
    (
        signs.parent_module,
        "the module {name} is in the folder above, which isn't part of the bot",
        "move the module into the bot's folder",
        end_with("ModuleNotFoundError: No module named 'common'", files="../common.py"),
    ),
    (
        signs.own_module,
        "Python looks for modules in the program's folder only: {name}",
        'import a module of that folder without a dot; run a program in a subfolder with "python3 -m src.main"',
        end_with("ModuleNotFoundError: No module named 'src.brain'", argv="python3 src/main.py", files="src"),
    ),
    (
        signs.neighbour,
        "{name} lies next to the bot, but a bot that is a single file plays without the files next to it",
        "put both into a folder with a bot.toml, and name the folder instead of the file",
        replace(end_with("ModuleNotFoundError: No module named 'plan'", files="bot.py|plan.py"), is_single_file=True),
    ),
    (
        stderr_sign("shared libraries: *:"),
        "the shared library {name} isn't {where}, or not where the program looks for it",
        "link it statically; or put it into the bot's folder, and link with -Wl,-rpath,'$ORIGIN', which searches there",
        end_with("./b: error while loading shared libraries: libeval.so: cannot open shared object file"),
    ),
    (
        stderr_sign(
            "module named '*' | find module '*' | ClassNotFoundException: * | t locate * in @INC | load such file -- *"
        ),
        "the module {name} isn't {where}",
        "check the spelling; if it is right, {bring}{install}, or ask the organiser",
        end_with("ModuleNotFoundError: No module named 'numpie'"),
    ),
    (
        stderr_sign("disk I/O error | database is locked | locking protocol"),
        "SQLite can't lock its file, because a box has no file locks: {name}",
        'keep the database in /tmp: sqlite3.connect("file:/tmp/my.db?vfs=unix-dotfile", uri=True)',
        end_with(TRACE, "sqlite3.OperationalError: disk I/O error"),
    ),
    (
        stderr_sign("o space left on device", signs.is_silent),
        "the bot's folder for temporary files is full",
        "write less below TMPDIR, and delete old files; hello.limits.tmp_mb is the folder's size",
        end_with("OSError: [Errno 28] No space left on device"),
    ),
    (
        stderr_sign('[[: not found | Bad substitution | Illegal option | source: not found | "(" unexpected'),
        "the script is written for bash, but runs in sh: {name}",
        'make #!/bin/bash the first line of the file, or write run = ["bash", "bot.sh"] in bot.toml',
        end_with("b.sh: 2: [[: not found"),
    ),
    (
        stderr_sign("cannot find -l*: | cannot find -l"),
        "the library {name} isn't {where}",
        "link only libraries that the machine of the build has, or put the library's source into the bot's folder",
        end_with("/usr/bin/ld: cannot find -lm2: No such file or directory", argv="cc -o bot bot.c -lm2"),
    ),
    (signs.missing_program, "the program {name} isn't {where}", "{program}", end_with("sh: 1: cargo: not found")),
    (
        stderr_sign("only file system: '*' | denied: '*' | file system, open '*' | *: Read-only file system"),
        "the bot has no permission to write {name}",
        "write below the folder in the environment variable TMPDIR; the bot's own folder is read-only",
        end_with("OSError: [Errno 30] Read-only file system: 'log.txt'"),
    ),
    (
        signs.moved_file,
        "the file {name}",
        "open it by that path: the bot's folder is the working folder, wherever you start the arena",
        end_with("FileNotFoundError: [Errno 2] No such file or directory: 'my/weights.bin'", files="weights.bin"),
    ),
    (
        signs.missing_file,
        "the file {name} isn't {where}",
        "{name}: {bring}, and open it by its path from there: that folder is the working folder",
        end_with("FileNotFoundError: [Errno 2] No such file or directory: 'weights.bin'"),
    ),
    (
        stderr_sign(
            "etwork is unre | ame resol | service not kn | NETUNREACH | EAI_AGAIN | ot resolve | family not | dial tcp",
            signs.is_silent,
        ),
        "the bot tried to use the network: {name}",
        "play and build without the network: boxes have none; put packages into the bot's folder beforehand",
        end_with("OSError: [Errno 101] Network is unreachable"),
    ),
    (
        stderr_sign("JSONDecodeError: Expecting value: line 1 column 1 (char 0) | Unexpected end of JSON input"),
        "the bot parsed an empty text as JSON",
        "readline() returns an empty text when the input ends: end the loop then, or use {loop}",
        end_with("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    ),
    (
        stderr_sign("JSONDecodeError: Extra data | JSONDecodeError: Unterminated | JSONDecodeError: Expecting"),
        "the bot parsed a part of a line, or two lines at once: {name}",
        "parse whole lines: a read of bytes ends anywhere; " + LOOP,
        end_with("json.decoder.JSONDecodeError: Extra data: line 2 column 1 (char 1100)"),
    ),
    (
        stderr_sign("EOFError: EOF when reading a line"),
        "input() failed, because the input had ended",
        "end the loop at match_over, or use for line in sys.stdin",
        end_with(TRACE, "EOFError: EOF when reading a line"),
    ),
    (
        signs.missing_find,
        "the bot used a move that isn't legal now: {name} returned nothing: {failure}",
        "test what find returns before you use it; at this request only these moves are legal: {legal}",
        replace(BINARY, source=b'auto move = *game.find("tax");'),
    ),
    (
        lambda fault: (
            fault.has_ended and fault.facts.signal in (4, 6, 7, 8, 11) and "terminate" not in signs.last_error(fault)
        ),
        "the bot crashed: {detail}",
        "to find out where, build it with -g -fsanitize=address,undefined; SIGILL may come from -march=native",
        FaultContext("exited", "killed by signal 11 (SIGSEGV)", facts=Facts(signal=11)),
    ),
    (
        lambda fault: fault.has_ended and fault.facts.signal in (14, 26, 27),
        "a timer that the program set has ended it: {detail}",
        "remove the timer (alarm, setitimer), or handle its signal: one process plays a whole match",
        FaultContext("exited", "killed by signal 14 (SIGALRM)", facts=Facts(signal=14)),
    ),
    (
        lambda fault: fault.has_ended and fault.facts.signal in (1, 2, 3, 9, 10, 12, 13, 15),
        "a signal has ended the program, which the bot or a process of it sent: {detail}",
        "look for kill, abort and watchdogs; SIGPIPE comes when the bot writes to a process that has ended",
        FaultContext("exited", "killed by signal 13 (SIGPIPE)", facts=Facts(signal=13)),
    ),
    *(
        (signs.error_has(words), _ERROR, f"fix the error: {remedy}", end_with(f"Error: {words.partition(' | ')[0]}"))
        for words, remedy in _ERRORS
    ),
    (signs.last_error, _ERROR, "fix the error; standard error shows where it is", end_with(TRACE, "OSError: closed")),
    # ---- the end of the process
    (
        signs.background_program,
        "the script has ended, because it starts the bot in the background: {name}",
        "remove the &, and start the bot as the last line with exec: exec python3 bot.py",
        replace(FaultContext("exited", facts=Facts(exit_code=0)), argv=("sh", "run.sh"), source=b"./bot &\n"),
    ),
    (
        lambda fault: (
            fault.has_ended and any(w in fault.source for w in (b"set_blocking(", b"O_NONBLOCK", b"setNonBlocking"))
        ),
        "the program doesn't wait for its input: it sets it to non-blocking, so that a read ends without a line",
        "leave standard input blocking; to compute meanwhile, read it in a thread",
        FaultContext("exited", facts=Facts(exit_code=0), source=b"os.set_blocking(0, False)"),
    ),
    (
        signs.no_call,
        "the program does nothing, and ends: {name}",
        'start the bot at the end of the file: if __name__ == "__main__": run(MyBot()), or main()',
        FaultContext("exited", facts=Facts(exit_code=0), source=b'if __name__ == "main":\n    run(MyBot())'),
    ),
    (
        signs.exit_call,
        "the program ended itself, in {name}: {detail}",
        "don't end it there: one process plays all games of a match, until standard input ends",
        FaultContext("exited", facts=Facts(exit_code=0), source=b"if over:\n    sys.exit(0)"),
    ),
    (
        lambda fault: fault.has_ended and fault.facts.exit_code and signs.is_shell(fault) and b"set -e" in fault.source,
        "the script has ended, as set -e orders when a command fails: {detail}",
        "write || true after commands that may fail, as grep does if it finds nothing, or leave set -e out",
        replace(end_with(argv="sh run.sh"), source=b"set -e\nwhile read -r line; do\n"),
    ),
    (
        lambda fault: fault.has_ended and fault.facts.exit_code and fault.stderr_lines,
        "the process has ended: {detail}",
        "fix the error on standard error; or read until standard input ends",
        end_with("no weights, giving up"),
    ),
    (
        lambda fault: fault.has_ended and fault.facts.exit_code == 0 and fault.request.get("game"),
        "the program ended before its input",
        "one process plays all games, until standard input ends: {loop}",
        FaultContext("exited", sent=b'{"type":"game_start","game":1}', facts=Facts(exit_code=0)),
    ),
    (
        lambda fault: fault.has_ended and fault.facts.exit_code == 0,
        "the program ended by itself, without an error",
        "start the bot at the end of the program: run(...) with the kit, or main(); " + LOOP,
        FaultContext("exited", facts=Facts(exit_code=0)),
    ),
    (
        lambda fault: (
            fault.code == "start_failed"
            and fault.source
            and b"hello" not in fault.source.lower()
            and b"kit" not in fault.source
            and fault.received is None
            and fault.facts.own_ms is not None
        ),
        "{detail}, and the bot's program doesn't mention hello",
        'answer the first line, the hello, with {{"type":"hello"}}',
        replace(NO_HELLO, source=b'if message["type"] == "request":'),
    ),
    (
        lambda fault: fault.code == "start_failed" and fault.received is None and fault.facts.own_ms is not None,
        "{detail}",
        "answer the hello before any long work, such as loading data; flush the reply: {how}",
        NO_HELLO,
    ),
)
