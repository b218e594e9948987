"""Retired words and turns of phrase occur at most as often as RETIRED allows. The numbers only fall.

Source: docs/dev/glossary.md. Read is what git tracks: identifiers, docstrings, comments, strings, templates, documents.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import NEEDS_CLONE, ROOT

pytestmark = NEEDS_CLONE
READ = {".py", ".md", ".html", ".js", ".css"}
VENDORED = {"ladder/web/static/htmx.min.js", "arena/replay/static/preact.min.js"}
UNREAD = {"tests/test_style.py", "docs/dev/glossary.md", *VENDORED}

# Pattern: how often it may occur. It matches whole words of a text, and of an identifier; in any case, if it has no
# capital.
RETIRED = {
    # Words of no meaning in the field, or of another one than ours.
    "anew": 0,
    "besides?": 15,
    "dealers?": 3,
    "doors?": 0,
    "duels": 2,
    "evenings?": 1,
    "lest": 0,
    "likeness": 1,
    "mend(?:s|ed|ing)?": 0,
    "onlookers?": 0,
    "parcels?": 0,
    "rivals?": 1,
    "rooms?": 6,
    "strangers?": 0,
    "tidings": 0,
    "troubles?": 0,
    "unfit": 0,
    "win_share": 0,
    # Names: require_, ..._problem or ..._reason, MAX_ and MIN_.
    r"demand_\w+": 0,
    r"why_\w+": 0,
    r"(?:MOST|LEAST|LONGEST)_\w+": 0,
    # Subjects that don't exist, and clauses without one.
    "nobody(?:'s)?|no one": 37,
    "somebody(?:'s)?": 0,
    "who(?:m|se)?ever": 1,
    r'(?:[.:;!?(>|*#-] |"""|\n *)who(?:m|se)?(?= [a-z])': 6,
    # Verbs: say, print, show, return, report, accept, submit, continue.
    "tells?|told|telling": 51,
    '"""Tell': 0,
    '"""Says?': 1,
    "take(?:n|s)? in": 3,
    "go on|goes on|went on|going on": 0,
    "handed (?:in|out)|hands? out": 0,
    "look(?:s|ed|ing)? on": 1,
    "lets? (?:nobody|nothing|no)": 0,
    # Fillers, and people as "he".
    "so (?:many|much|long|few)": 1,
    "(?:[Ii]s|are) none(?! (?:%|and|or|else))": 4,
    ", say,": 4,
    "he|him|his|himself": 1,
    # Notes of unfinished work.
    "(?:TODO|FIXME|XXX|WIP)(?:[ :])": 0,
}


def texts() -> dict[str, str]:
    """Return the text of each file that is read, by path."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.splitlines() if Path(path).suffix in READ and path not in UNREAD]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if (ROOT / path).is_file()}


def places(pattern: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the line of each match that isn't a part of a longer word."""
    searched = text.lower() if pattern.islower() else text
    for match in re.finditer(rf"(?:{pattern})(?![a-z])", searched):
        begin, end = match.span()
        if not text[begin - 1 : begin + 1].isalpha() or (text[begin - 1].islower() and text[begin].isupper()):
            yield text.count("\n", 0, end) + 1, text[text.rfind("\n", 0, end) + 1 :].partition("\n")[0].strip()


def found(pattern: str, files: dict[str, str]) -> list[str]:
    """Return where a pattern occurs, as `path:line: text`."""
    return [f"{path}:{line}: {words}" for path, text in files.items() for line, words in places(pattern, text)]


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Return the files, read once."""
    return texts()


@pytest.mark.parametrize("pattern", RETIRED)
def test_retired_words_become_fewer(pattern: str, files: dict[str, str]) -> None:
    """A better word is in the glossary. Lower the number when you have removed some."""
    where, allowed = found(pattern, files), RETIRED[pattern]
    assert len(where) <= allowed, "\n".join([f"{len(where)} of {pattern!r}, at most {allowed}:", *where])


FORBIDDEN = "anew|mend(?:s|ed|ing)?|besides?|tells?|told|who(?:so)?ever|nobody|somebody|he|him|his|himself|lest"
FORBIDDEN += "|so (?:many|much|long|few)"
QUOTING = {"docs/dev/glossary.md", "docs/dev/style.md"}  # they name the words to avoid


def prose(files: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each document and template for users, without code and markup."""
    for path, text in files.items():
        if path.endswith((".md", ".html")) and path not in QUOTING and not path.startswith("tests/"):
            markup = r"(?ms)^```.*?^```|<!--.*?-->|\{[%{#].*?[%}#]\}|<[^>]*>|`[^`\n]*`|\]\([^)]*\)"
            yield path, re.sub(markup, " X ", text)


def test_documents_and_templates_contain_no_forbidden_word(files: dict[str, str]) -> None:
    where = [f"{path}: {words}" for path, text in prose(files) for _, words in places(FORBIDDEN, text)]
    assert where == []


def test_counts_in_templates_agree_with_their_nouns(files: dict[str, str]) -> None:
    """`counted` writes "1 match" and "2 matches"; after "of" a plural is right."""
    nouns = "users|matches|games|versions|days|minutes|rounds|tasks|lines|pairs|others|members"
    fixed = re.compile(rf"(?<!of )\{{\{{(?:(?!counted)[^}}])*\}}\}} (?:\w+ )?(?:{nouns})\b")
    found = [hit for name, text in files.items() if "/templates/" in name for hit in fixed.findall(text)]
    assert found == []


def test_long_sentences_in_documents_stay_rare(files: dict[str, str]) -> None:
    """More than 30 words; generated pages aren't counted."""
    blocks = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\. ))|\|")
    sentences = (
        f"{path}: {' '.join(sentence.split())}"
        for path, text in prose(files)
        if path.endswith(".md") and "Generated by `make docs`" not in files[path]
        for block in blocks.split(text)
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z*\[])", block)
    )
    long = [sentence for sentence in sentences if len(sentence.split()) > 31]  # with the path
    assert len(long) <= 5, "\n".join(long)


def test_sizes_of_type_and_tokens_are_defined_once(files: dict[str, str]) -> None:
    styles = {path: text for path, text in files.items() if path.endswith(".css")}
    tokens = styles.pop("arena/replay/static/tokens.css")
    assert len(re.findall(r"--(?:small|normal|large|title|display):", tokens)) == 5
    for path, text in styles.items():
        assert re.findall(r"font-size: [\d.]+rem", text) == [], path
        assert re.findall(r"--(?:ground|surface|raised|line|accent|warn|felt|radius|s\d+):", text) == [], path


if __name__ == "__main__":  # what is, and what is allowed
    tree = texts()
    for pattern, allowed in RETIRED.items():
        print(f"{len(found(pattern, tree)):5} {allowed:5} {pattern}")
