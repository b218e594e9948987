"""Advise how a program in each language reads a line, flushes, prints output, writes JSON and installs packages."""

_OTHER = ("read single lines", "flush standard output", "standard error", "a JSON library", "")
_SCANF = "fgets or getline; scanf with \\n or a blank in its format reads on to the next line"
_NODE = 'readline.createInterface({ input: process.stdin }).on("line", ...)'
_PIP = " (pip install --target FOLDER PACKAGE)"
_ADVICE = {  # how to read a line, flush, print debug output and write JSON; and how to install a package
    "python": (
        "for line in sys.stdin",
        "print(..., flush=True)",
        "print(..., file=sys.stderr)",
        "json.dumps(...)",
        _PIP,
    ),
    "javascript": (
        _NODE,
        'process.stdout.write(line + "\\n")',
        "console.error",
        "JSON.stringify(...)",
        " (npm install)",
    ),
    "java": ("BufferedReader.readLine()", "System.out.flush()", "System.err.println"),
    "c": (_SCANF, "fflush(stdout)", "fprintf(stderr, ...)"),
    "c++": ("std::getline(std::cin, line)", "std::flush", "std::cerr"),
    "go": (
        'bufio.Reader.ReadString("\\n")',
        "Flush() of the bufio.Writer",
        "fmt.Fprintln(os.Stderr, ...)",
        "json.Marshal",
    ),
    "rust": ("io::stdin().lines()", "io::stdout().flush()", "eprintln!"),
    "shell": ("while read -r line", "stdbuf -oL PROGRAM", ">&2"),
    "perl": ("while (my $line = <STDIN>)", "$| = 1; at the start", "print STDERR ...", "encode_json(...)"),
    "ruby": ("while line = $stdin.gets", "$stdout.sync = true at the start", "warn ...", "JSON.generate(...)"),
    "lua": ("for line in io.lines()", "io.stdout:flush()", "io.stderr:write(...)"),
    "php": ("while (($line = fgets(STDIN)) !== false)", "fflush(STDOUT)", "fwrite(STDERR, ...)", "json_encode(...)"),
    "c#": ("Console.ReadLine()", "Console.Out.Flush()", "Console.Error.WriteLine", "JsonSerializer.Serialize(...)"),
    "kotlin": ("readLine()", "System.out.flush()", "System.err.println"),
    "haskell": ("getLine", "hSetBuffering stdout LineBuffering at the start of main", "hPutStrLn stderr"),
    "r": ('readLines(file("stdin"), n = 1) on one open connection', "flush(stdout())", "message(...)"),
    "ocaml": ("input_line stdin", "flush stdout, or %! in Printf", "prerr_endline"),
    "swift": ("readLine()", "fflush(stdout)", "FileHandle.standardError"),
}


def advice_in(language: str) -> dict[str, str]:
    """Return the placeholders of remedies whose values depend on the language."""
    row = _ADVICE.get(language, ())
    return dict(zip(("loop", "how", "debug", "dumps", "install"), (*row, *_OTHER[len(row) :]), strict=True))
