"""List the languages of bots: a row has all that depends on a bot's language, but for the Docker images."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Language:
    """A language.

    programs, endings: of commands and of files that start a bot. sources: endings of files that must be built first.
    advice: how to read a line, flush, print debug output and write JSON; and how to install a package. runner: the
    program that runs a single file with the first of `endings`, and the product to install if it is missing. packages:
    program -> Debian package.

    Of a language with a kit: kit: its file, in protocol/kits and next to a bot. imports: a pattern of a line by which a
    bare file imports it, with bounded repetitions, because submissions are read outside of any sandbox. starter: the
    file of the starter in sample_bots that its author changes. needs: the programs that build and run it.
    """

    name: str
    programs: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    runner: tuple[str, str] | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    kit: str = ""
    imports: bytes = b""
    starter: str = ""
    needs: tuple[str, ...] = ()


_NODE = 'readline.createInterface({ input: process.stdin }).on("line", ...)'
_SCANF = "fgets or getline; scanf with \\n or a blank in its format reads on to the next line"

# A bot with marks of several languages counts as one of the first; kotlin runs java.
LANGUAGES = {
    "python": Language(
        "Python", ("python", "pypy"), (".py",), (),
        ("for line in sys.stdin", "print(..., flush=True)", "print(..., file=sys.stderr)", "json.dumps(...)",
         " (pip install --target FOLDER PACKAGE)"),
        packages={"python3": "python3"}, kit="coup_kit.py", starter="bot.py", needs=("python3",),
        imports=rb"[ \t]{0,99}(?:import|from)[ \t]{1,99}coup_kit\b",
    ),
    "javascript": Language(
        "JavaScript", ("node", "nodejs", "deno", "bun", "tsx"), (".js", ".mjs", ".cjs"), (".ts",),
        (_NODE, 'process.stdout.write(line + "\\n")', "console.error", "JSON.stringify(...)", " (npm install)"),
        ("node", "Node.js"), {"node": "nodejs"}, kit="coup_kit.js", starter="bot.js", needs=("node",),
        imports=rb".*?\b(?:require[ \t]{0,9}\(|from|import)[ \t]{0,9}[\"']\./coup_kit(?:\.js)?[\"']",
    ),
    "kotlin": Language(
        "Kotlin", ("kotlin", "kotlinc"), (), (".kt",), ("readLine()", "System.out.flush()", "System.err.println"),
    ),
    "java": Language(
        "Java", ("java", "javac"), (".jar", ".class"), (".java",),
        ("BufferedReader.readLine()", "System.out.flush()", "System.err.println"),
        packages={"java": "default-jre-headless", "javac": "default-jdk-headless"},
        kit="CoupKit.java", starter="MyBot.java", needs=("javac", "java"),
    ),
    "c": Language(
        "C", ("cc", "gcc", "clang"), (), (".c",), (_SCANF, "fflush(stdout)", "fprintf(stderr, ...)"),
        packages={"gcc": "gcc"},
    ),
    "cpp": Language(
        "C++", ("c++", "g++", "clang++"), (), (".cpp", ".cc", ".cxx"),
        ("std::getline(std::cin, line)", "std::flush", "std::cerr"),
        packages={"g++": "g++"}, kit="coup_kit.hpp", starter="bot.cpp", needs=("make", "c++"),
    ),
    "rust": Language(
        "Rust", ("rustc", "cargo"), (), (".rs",), ("io::stdin().lines()", "io::stdout().flush()", "eprintln!"),
        packages={"rustc": "rustc"}, kit="coup_kit.rs", starter="bot.rs", needs=("rustc",),
    ),
    "go": Language(
        "Go", ("go",), (), (".go",),
        ('bufio.Reader.ReadString("\\n")', "Flush() of the bufio.Writer", "fmt.Fprintln(os.Stderr, ...)",
         "json.Marshal"),
        packages={"go": "golang-go"}, kit="coup_kit.go", starter="bot.go", needs=("go",),
    ),
    "perl": Language(
        "Perl", ("perl",), (".pl",), (),
        ("while (my $line = <STDIN>)", "$| = 1; at the start", "print STDERR ...", "encode_json(...)"),
    ),
    "ruby": Language(
        "Ruby", ("ruby",), (".rb",), (),
        ("while line = $stdin.gets", "$stdout.sync = true at the start", "warn ...", "JSON.generate(...)"),
    ),
    "lua": Language(
        "Lua", ("lua", "luajit"), (".lua",), (),
        ("for line in io.lines()", "io.stdout:flush()", "io.stderr:write(...)"),
    ),
    "php": Language(
        "PHP", ("php",), (".php",), (),
        ("while (($line = fgets(STDIN)) !== false)", "fflush(STDOUT)", "fwrite(STDERR, ...)", "json_encode(...)"),
    ),
    "csharp": Language(
        "C#", ("dotnet",), (".dll",), (".cs",),
        ("Console.ReadLine()", "Console.Out.Flush()", "Console.Error.WriteLine", "JsonSerializer.Serialize(...)"),
    ),
    "haskell": Language(
        "Haskell", ("ghc", "cabal", "runghc", "runhaskell"), (), (".hs",),
        ("getLine", "hSetBuffering stdout LineBuffering at the start of main", "hPutStrLn stderr"),
    ),
    "r": Language(
        "R", ("Rscript",), (".R",), (),
        ('readLines(file("stdin"), n = 1) on one open connection', "flush(stdout())", "message(...)"),
    ),
    "ocaml": Language(
        "OCaml", ("ocaml",), (), (".ml",), ("input_line stdin", "flush stdout, or %! in Printf", "prerr_endline"),
    ),
    "swift": Language(
        "Swift", ("swift",), (), (".swift",), ("readLine()", "fflush(stdout)", "FileHandle.standardError"),
    ),
    "shell": Language(
        "shell", ("sh", "bash", "dash", "zsh"), (".sh",), (),
        ("while read -r line", "stdbuf -oL PROGRAM", ">&2"), ("sh", "a POSIX shell"),
    ),
}  # fmt: skip

KITS = {key: language.kit for key, language in LANGUAGES.items() if language.kit}
COMPILED = {  # ending of a file that must be built -> language of `arena new`; C++ compiles C
    ending: key if language.kit else "cpp"
    for key, language in LANGUAGES.items()
    if language.kit or key == "c"
    for ending in language.sources
}
RUNNERS = {language.endings[0]: language.runner for language in LANGUAGES.values() if language.runner}
# The language by mark: the name of a kit, names of programs, and endings of files.
BY_MARK = {
    mark: key
    for key, language in LANGUAGES.items()
    for mark in (*((key,) if language.kit else ()), *language.programs, *language.endings, *language.sources)
}

_OTHER_IDIOMS = ("read single lines", "flush standard output", "standard error", "a JSON library", "")


def describe_idioms(language: str) -> dict[str, str]:
    """Return the placeholders of a check's remedies that depend on the language; "" is an unknown language.

    loop, how: how a program reads a line and flushes. debug, dumps: where it prints its own output, and what writes
    JSON. install: how to install a package, in parentheses after a blank, or empty.
    """
    row = LANGUAGES[language].advice if language else ()
    return dict(zip(("loop", "how", "debug", "dumps", "install"), (*row, *_OTHER_IDIOMS[len(row) :]), strict=True))
