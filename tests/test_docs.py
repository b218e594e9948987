"""The documents agree with the code: commands, options, faults, packages and sample bots."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from arena import __version__
from arena.bots import BotError, load_bots
from arena.cli import cli
from arena.referee import FAULTS
from arena.sandbox.docker import LANGUAGES
from tests.bench import gauntlet
from tests.cases import each
from tests.documents import NEEDS_CLONE, ROOT, blocks, document, spec

SPEC = spec()


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("protocol/*.md")]


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield all commands with their words, `rules` and `ladder ...` too."""
    waiting: list[tuple[str, click.Command]] = [("arena", cli)]
    while waiting:
        words, command = waiting.pop()
        if hasattr(command, "load"):
            command = command.load()
        if isinstance(command, click.Group):
            waiting += [(f"{words} {name}", below) for name, below in command.commands.items()]
        else:
            yield words, command


@each(("words", "command"), list(commands()), ids=[words for words, _ in commands()])
def test_every_command_and_option_has_a_help_text(words: str, command: click.Command) -> None:
    assert command.help
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not re.search(r"\w\w\.", option.help or "")] == []


# Options of docker run, createdb, useradd, systemctl, systemd-run, certbot and pip.
OTHERS = {"--no-deps", "--privileged", "--cgroupns", "--read-only", "--cap-drop", "--owner", "--encoding", "--system"}
OTHERS |= {"--memory-limit", "--no-dashboard", "--no-nanny", "--nthreads", "--protocol", "--tls-ca-file"}  # of dask
OTHERS |= {"--install", "--directory"}  # of wsl and http.server
OTHERS |= {"--token"}  # of release 1.0
OTHERS |= {"--iterations", "--start"}  # of python -m training
OTHERS |= {"--uid", "--pipe", "--wait", "--webroot", "--deploy-hook", "--wheel-dir"}
OTHERS |= {"--create-home", "--home-dir", "--now", "--target", "--index-url", "--help", "--version", "--spec"}


def test_the_documents_name_only_options_that_exist() -> None:
    known = {flag for _, command in commands() for option in command.params for flag in option.opts} | OTHERS
    unknown = {}
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        shown = "\n".join([*blocks("sh", text), *re.findall(r"`([^`\n]+)`", text)])
        if found := set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", shown)) - known:
            unknown[str(path.relative_to(ROOT))] = sorted(found)
    assert unknown == {}


def test_the_readme_quotes_figures_of_the_tables_of_performance() -> None:
    speed = (ROOT / "README.md").read_text(encoding="utf-8").partition("**Speed**")[2].partition("\n\n")[0]
    page = (ROOT / "docs/explanation/benchmarks.md").read_text(encoding="utf-8")
    quoted = re.findall(r"\d[\d.]*(?: to \d+)? times", speed)
    assert len(quoted) == 3
    figures = [figure.removesuffix(" times") for figure in quoted]
    assert [figure for figure in figures if f"| {figure} |" not in page and f"made {figure} times" not in page] == []


def test_the_generated_pages_are_current() -> None:
    """`make docs` writes them."""
    from docs import generate

    old = [name for name, make in generate.PAGES.items() if document(f"docs/{name}") != make()]
    assert old == []


def test_the_generated_parts_are_current() -> None:
    """`make docs` writes them: a new version changes one line of code, and the changelog."""
    from docs import generate

    texts = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS if path.name != "CHANGELOG.md"}
    kits = {path: path.read_text(encoding="utf-8") for path in generate.KITS.iterdir() if path.is_file()}
    old = [path for path, text in (texts | kits).items() if generate.with_generated_parts(path) != text]
    assert old == []
    elsewhere = re.compile(rf"(?<!@){re.escape(__version__)}(?![\d.])")  # an npm package has one of its own
    assert [path for path, text in texts.items() if elsewhere.search(generate._VERSION.sub("", text))] == []


@pytest.mark.parametrize("code", FAULTS)
def test_the_spec_has_every_fault_with_its_consequence(code: str) -> None:
    rows = re.findall(rf"^\| `{code}` \|.*\| ([^|]+) \|$", SPEC, re.MULTILINE)
    assert rows == [FAULTS[code].consequence.value]


def test_the_spec_has_no_unknown_fault() -> None:
    table = SPEC[SPEC.index("| `bad_utf8`") :]
    rows = re.findall(r"^\| `([a-z_0-9]+)` \|", table[: table.index("\n\n")], re.MULTILINE)
    assert sorted(rows) == sorted(FAULTS)


def test_the_page_of_the_sample_bots_describes_each() -> None:
    """`make gauntlet` writes a table of the bots, and a list with the beginning of each bot's docstring."""
    text = document("docs/explanation/sample-bots.md")
    written = text.split(gauntlet.MARKS[0])[1].split(gauntlet.MARKS[1])[0]
    bots = re.findall(r"^\| (\w+) \| \d", written, re.MULTILINE)
    assert sorted(bots) == gauntlet.LADDER
    assert written.split("\n\n")[1].strip() == "\n".join(map(gauntlet.description, bots))
    others = {path.name for path in (ROOT / "sample_bots").iterdir() if path.suffix in {".js", ".sh"}}
    assert set(re.findall(r"`(\w+\.(?:js|sh))`", text)) == others


def test_a_link_of_a_document_leads_to_a_file_and_a_heading() -> None:
    lost = []
    for path in DOCUMENTS:
        for link in re.findall(
            r"\]\((?!https?:)([^)]+)\)", re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
        ):
            file, _, anchor = link.partition("#")
            target = path.parent / file if file else path
            known = {anchor_of(heading) for heading in headings(target)} if target.suffix == ".md" else {anchor}
            if not target.exists() or (anchor and anchor not in known):
                lost.append(f"{path.relative_to(ROOT)}: {link}")
    assert lost == []


def headings(path: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL) if path.is_file() else ""
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


def anchor_of(heading: str) -> str:
    """Return the anchor that code forges make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_no_document_has_merge_markers() -> None:
    marked = [path for path in DOCUMENTS if re.search(r"^(?:<{7} |>{7} |={7}$)", path.read_text("utf-8"), re.MULTILINE)]
    assert marked == []


def test_the_bot_toml_of_the_spec_is_valid_and_complete(tmp_path: Path) -> None:
    page = document("docs/reference/bot-toml.md")
    (tmp_path / "bot.py").touch()
    (tmp_path / "bot.toml").write_text(blocks("toml", page)[0])
    (bot,), _ = load_bots([str(tmp_path)])
    assert (bot.name, bot.argv[1:], bot.build) == ("my bot", ("bot.py",), ("make", "-j2"))
    (tmp_path / "bot.toml").write_text("run = 'python3 bot.py'\ncolour = 1")
    with pytest.raises(BotError) as refused:
        load_bots([str(tmp_path)])
    fields = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert f"The fields are {', '.join(fields)}." in str(refused.value)


def test_the_spec_lists_the_packages_of_docker_boxes() -> None:
    images = "".join(path.read_text() for path in (ROOT / "arena/sandbox/docker/images").iterdir())
    assert set(re.findall(r"BASE=(\S+)", images)) == {"debian:bookworm-slim"}
    assert "openjdk-17-jdk-headless" in images
    for words in ("Debian 12", "Python 3.11", "Node.js 18", "Java 17", "rustc 1.63", "Go 1.19", "gcc 12"):
        assert words in SPEC
    rows = re.findall(r"^\| `(\w+)` \|", SPEC.split("| image |")[1].split("\n\n")[0], re.MULTILINE)
    assert rows == list(LANGUAGES)


def test_every_place_where_things_are_added_exists() -> None:
    places = re.findall(r"`([\w./]+\.(?:py|md|json))`(?: \(`(\w+)`\))?", document("docs/dev/extending.md"))
    assert len(places) > 10
    assert [file for file, _ in places if not (ROOT / file).is_file()] == []
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file, _ in places}
    assert [(file, name) for file, name in places if not re.search(rf"\b{name}\b", texts[file])] == []


# Not in the repository: notes and drafts, and the numbers of a tracker.
ELSEWHERE = re.compile(
    r"\bresearch/|\bDESIGN\b|\bSTYLE\b|\bhidden_information\b|(?<!/)\brules\.md\b(?!#)|\.\./shared"
    r"|\b[Ii]ssue:? \d|\b[Tt]he issue\b|Source: issue"
)
ALLOWED = {"tests/test_docs.py": "names what is forbidden"}


@NEEDS_CLONE
def test_nothing_cites_a_document_that_the_repository_does_not_hold() -> None:
    """Readers couldn't open it; the text must give the reason itself."""
    cited = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in tracked()
        if str(path.relative_to(ROOT)) not in ALLOWED
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if ELSEWHERE.search(line)
    ]
    assert cited == []


def test_no_line_of_the_documents_and_pages_installs_the_arena_from_an_index() -> None:
    """It is in no index: users install a clone or a wheel."""
    pages = [*ROOT.glob("ladder/web/templates/*"), *ROOT.glob("arena/**/*.py"), *ROOT.glob("ladder/**/*.py")]
    for text in (*DOCUMENTS, *pages):
        assert not re.search(r"install '?coup-arena", text.read_text()), text


# Commands, parts of libraries and names of examples.
FOREIGN = {"sha256sum", "DictWriter", "Condition", "update_grades", "secretn"}
CITED = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`|\b(\w+\.py)\b|(?<![\w./-])(_[a-z]\w+)")


def explanations(text: str) -> tuple[list[tuple[int, str]], str]:
    """Return docstrings, comments and messages of assertions with their lines, and the rest of a module."""
    found, lines = [], text.splitlines()
    for node in ast.walk(ast.parse(text)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        first = next(iter(getattr(node, "body", ())), None) if documented else None
        part = first.value if isinstance(first, ast.Expr) else node.msg if isinstance(node, ast.Assert) else None
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.append((part.lineno, part.value))
            for number in range(part.lineno - 1, part.end_lineno or 0):
                lines[number] = "" if first else lines[number].replace(part.value, "")
    for number, line in enumerate(lines, 1):
        lines[number - 1], mark, comment = re.split(r"((?:^|\s)# |$)", line, maxsplit=1)
        found += [(number, comment)] if mark else []
    return found, "\n".join(lines)


@NEEDS_CLONE
def test_explanations_in_code_name_only_what_exists() -> None:
    """Names in backticks, private names, and files of Python."""
    names, files, read = set(FOREIGN), set(), {}
    for path in tracked():
        files.add(path.name)
        names.update(re.findall(r"\w+", str(path.relative_to(ROOT))))
        if path.suffix in {".py", ".js", ".html", ".toml", ".json", ".sh"}:
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py":
                read[path], text = explanations(text)
            names.update(re.findall(r"\w+", text))
            files.update(re.findall(r"\w+\.py\b", text))
    lost = [
        f"{path.relative_to(ROOT)}:{line}: {name or file or private}"
        for path, found in read.items()
        for line, words in found
        for name, file, private in CITED.findall(words)
        if (file and file not in files) or not names.issuperset(re.findall(r"\w+", name or private))
    ]
    assert lost == []
