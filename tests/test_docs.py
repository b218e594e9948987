"""The documents say what is: each command, fault, package and sample bot.

Source: the README and protocol/SPEC.md themselves. What they show is run in test_docs_run.py.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from arena.bots import BotError, load_bots
from arena.cli import cli
from arena.referee import FAULTS
from arena.sandbox.docker import LANGUAGES
from tests.bench import gauntlet
from tests.test_boundaries import ALLOWED_IMPORTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LADDER = (ROOT / "docs" / "ladder.md").read_text(encoding="utf-8")
SPEC = (ROOT / "protocol" / "SPEC.md").read_text(encoding="utf-8")
FIRST_BOT = (ROOT / "protocol" / "FIRST_BOT.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    """Return the code blocks of a document in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("words", [words for words, _ in commands()])
def test_the_documents_name_every_command(words: str) -> None:
    """What isn't there, nobody finds. A ladder's commands stand in its own document."""
    assert re.search(rf"\b{words}\b", LADDER if words.startswith("arena ladder ") else README)


@pytest.mark.parametrize(("words", "command"), list(commands()), ids=[words for words, _ in commands()])
def test_every_command_and_option_says_what_it_does(words: str, command: click.Command) -> None:
    """The help is the only list of options."""
    assert command.help
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not re.search(r"\w\w\.", option.help or "")] == []


OTHERS = {"--no-deps", "--privileged", "--cgroupns", "--read-only", "--cap-drop"}  # of docker run
OTHERS |= {
    "--owner",
    "--encoding",
    "--system",
    "--create-home",
    "--home-dir",
    "--now",
    "--target",
    "--index-url",
}  # of createdb, useradd, systemctl, pip


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "protocol/FIRST_BOT.md",
        "docs/ladder.md",
        "docs/hosting.md",
        "docs/records.md",
        "docs/local.md",
        "docs/env.md",
        "docs/box.md",
        "docs/rules.md",
        "docs/samples.md",
        "docs/course.md",
        "docs/research.md",
    ],
)
def test_a_document_names_no_option_that_is_not(name: str) -> None:
    """An option that went stays in a document for years."""
    known = {flag for _, command in commands() for option in command.params for flag in option.opts}
    text = (ROOT / name).read_text(encoding="utf-8")
    shown = [*blocks("sh", text), *re.findall(r"`([^`\n]+)`", text)]
    assert (
        set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", "\n".join(shown))) - known - {"--help", "--version", *OTHERS}
        == set()
    )


@pytest.mark.parametrize("code", FAULTS)
def test_the_spec_has_every_fault_with_its_consequence(code: str) -> None:
    """Its table has a row for each code, and the last cell is what the fault costs."""
    rows = re.findall(rf"^\| `{code}` \|.*\| ([^|]+) \|$", SPEC, re.MULTILINE)
    assert rows == [FAULTS[code].consequence.value]


def test_the_spec_has_no_fault_that_is_not() -> None:
    """The table of the code is the one that counts."""
    table = SPEC[SPEC.index("| `bad_utf8`") :]
    rows = re.findall(r"^\| `([a-z_0-9]+)` \|", table[: table.index("\n\n")], re.MULTILINE)
    assert sorted(rows) == sorted(FAULTS)


def test_the_page_of_the_sample_bots_has_each_with_its_idea() -> None:
    """`make gauntlet` writes the table, with the beginning of each bot's docstring; and the README leads there."""
    text = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[(\w+)\]\(\.\./sample_bots/\1\.py\) \|.* \| (.+) \|$", text, re.MULTILINE))
    assert rows == {bot: gauntlet.idea(bot) for bot in gauntlet.LADDER}
    others = {path.name for path in (ROOT / "sample_bots").iterdir() if path.suffix in {".js", ".sh"}}
    assert set(re.findall(r"`(\w+\.(?:js|sh))`", text)) == others
    assert "](docs/samples.md)" in README


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "protocol/SPEC.md",
        "protocol/FIRST_BOT.md",
        "protocol/kits/README.md",
        "docs/ladder.md",
        "docs/hosting.md",
        "docs/records.md",
        "docs/local.md",
        "docs/env.md",
        "docs/box.md",
        "docs/rules.md",
        "docs/README.md",
        "docs/course.md",
        "docs/research.md",
    ],
)
def test_what_a_document_links_to_exists(name: str) -> None:
    """Files and folders of the project."""
    document = ROOT / name
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize(
    "path", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("protocol/*.md")], ids=lambda path: path.name
)
def test_a_document_holds_no_marks_of_a_merge(path: Path) -> None:
    """What two changes both wrote is put together by a person; code with such marks isn't read anyway."""
    assert re.findall(r"^(?:<{7} |>{7} |={7}$).*", path.read_text(encoding="utf-8"), re.MULTILINE) == []


def test_the_readme_is_short() -> None:
    """A newcomer reads all of it, or none; what is long stands in the documents that it names."""
    assert len(README.split()) < 850


def test_the_first_page_is_two_screens_and_is_found() -> None:
    """A page that is longer is the specification again."""
    assert len(FIRST_BOT.splitlines()) <= 80
    assert "](protocol/FIRST_BOT.md)" in README
    assert "](FIRST_BOT.md)" in SPEC


def test_the_bot_toml_of_the_spec_is_read_and_no_field_is_missing_there(tmp_path: Path) -> None:
    """SPEC, bot.toml: the example, and the table with the fields that a refusal lists."""
    section = SPEC.split("## bot.toml\n")[1].split("\n## ")[0]
    (tmp_path / "bot.py").touch()
    (tmp_path / "bot.toml").write_text(blocks("toml", section)[0])
    (bot,), _ = load_bots([str(tmp_path)])
    assert (bot.name, bot.argv[1:], bot.build) == ("my bot", ("bot.py",), ("make", "-j2"))
    (tmp_path / "bot.toml").write_text("run = 'python3 bot.py'\ncolour = 1")
    with pytest.raises(BotError) as refused:
        load_bots([str(tmp_path)])
    fields = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert f"The fields are {', '.join(fields)}." in str(refused.value)


def test_the_spec_says_what_docker_boxes_are_made_of() -> None:
    """SPEC, What is in a box, and the images' recipes."""
    images = "".join(path.read_text() for path in (ROOT / "arena/sandbox/docker/images").iterdir())
    assert set(re.findall(r"BASE=(\S+)", images)) == {"debian:bookworm-slim"}
    assert "openjdk-17-jdk-headless" in images
    for words in ("Debian 12", "Python 3.11", "Node.js 18", "Java 17", "rustc 1.63", "Go 1.19", "gcc 12"):
        assert words in SPEC
    rows = re.findall(r"^\| `(\w+)` \|", SPEC.split("| image |")[1].split("\n\n")[0], re.MULTILINE)
    assert rows == list(LANGUAGES)


def test_the_map_of_the_packages_has_each_package_once() -> None:
    """CONTRIBUTING's, and ALLOWED_IMPORTS; modules of ladder.rating that count as packages aren't in it."""
    listed = re.findall(r"^\| `([a-z._]+)` \|", section("Packages"), re.MULTILINE)
    assert sorted(listed) == sorted(name for name in ALLOWED_IMPORTS if not name.startswith("ladder.rating."))


def test_every_place_where_things_are_added_exists() -> None:
    """CONTRIBUTING names a file, and what to look for in it."""
    places = re.findall(r"`([\w./]+\.(?:py|md|json))`(?: \(`(\w+)`\))?", section("Where things are added"))
    assert len(places) > 10
    assert [file for file, _ in places if not (ROOT / file).is_file()] == []
    assert [place for place in places if place[1] not in (ROOT / place[0]).read_text(encoding="utf-8")] == []


def section(title: str) -> str:
    """Return a section of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


# What nobody has who has the repository: notes and drafts beside it, and the numbers of a tracker.
ELSEWHERE = re.compile(
    r"\bresearch/|\bDESIGN\b|\bSTYLE\b|\bhidden_information\b|(?<!/)\brules\.md\b(?!#)|\.\./shared"
    r"|\b[Ii]ssue:? \d|\b[Tt]he issue\b|Source: issue"
)
ALLOWED = {"tests/test_docs.py": "names what is forbidden"}


def tracked() -> list[Path]:
    """Return the files that are the project, as git has them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.needs("git", None if shutil.which("git") and (ROOT / ".git").exists() else "this is no clone")
def test_nothing_cites_a_document_that_the_repository_does_not_hold() -> None:
    """A reader can't look it up; the reason itself belongs there."""
    cited = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in tracked()
        if str(path.relative_to(ROOT)) not in ALLOWED
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if ELSEWHERE.search(line)
    ]
    assert cited == []


def test_no_line_of_the_documents_and_pages_installs_the_arena_from_an_index() -> None:
    """It is on none: a clone or a wheel is installed."""
    pages = [*ROOT.glob("ladder/web/templates/*"), *ROOT.glob("arena/**/*.py"), *ROOT.glob("ladder/**/*.py")]
    for text in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("protocol/*.md"), *pages):
        assert not re.search(r"install '?coup-arena", text.read_text()), text
