"""Retired words and turns of phrase occur at most as often as RETIRED allows. The numbers only fall.

Source: docs/dev/glossary.md. Read is what git tracks: identifiers, docstrings, comments, strings, templates, documents.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READ = {".py", ".md", ".html", ".js", ".css"}
UNREAD = {"tests/test_style.py", "docs/dev/glossary.md", "ladder/web/static/htmx.min.js"}

# Pattern: how often it may occur. It matches whole words of a text, and of an identifier; in any case, if it has no
# capital.
RETIRED = {
    # Words of no meaning in the field, or of another one than ours.
    "anew": 66,
    "besides?": 202,
    "dealers?": 11,
    "doors?": 1,
    "duels": 10,
    "evenings?": 3,
    "lest": 2,
    "likeness": 1,
    "mend(?:s|ed|ing)?": 49,
    "onlookers?": 19,
    "parcels?": 0,
    "rivals?": 33,
    "rooms?": 18,
    "strangers?": 25,
    "tidings": 0,
    "troubles?": 4,
    "unfit": 6,
    "win_share": 0,
    # Names: require_, ..._problem or ..._reason, MAX_ and MIN_.
    r"demand_\w+": 1,
    r"why_\w+": 8,
    r"(?:MOST|LEAST|LONGEST)_\w+": 0,
    # Subjects that don't exist, and clauses without one.
    "nobody(?:'s)?|no one": 421,
    "somebody(?:'s)?": 80,
    "who(?:m|se)?ever": 82,
    r'(?:[.:;!?(>|*#-] |"""|\n *)who(?:m|se)?(?= [a-z])': 152,
    # Verbs: say, print, show, return, report, accept, submit, continue.
    "tells?|told|telling": 734,
    '"""Tell': 1,
    '"""Says?': 17,
    "take(?:n|s)? in": 31,
    "go on|goes on|went on|going on": 105,
    "handed (?:in|out)|hands? out": 17,
    "look(?:s|ed|ing)? on": 8,
    "lets? (?:nobody|nothing|no)": 11,
    # Fillers, and people as "he".
    "so (?:many|much|long|few)": 57,
    "(?:[Ii]s|are) none(?! (?:%|and|or|else))": 22,
    ", say,": 7,
    "he|him|his|himself": 97,
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


if __name__ == "__main__":  # what is, and what is allowed
    tree = texts()
    for pattern, allowed in RETIRED.items():
        print(f"{len(found(pattern, tree)):5} {allowed:5} {pattern}")
