"""Tests of the frame of a page: one file, in which no untrusted text can run."""

import hashlib
import json
import re
from base64 import b64encode
from pathlib import Path

import pytest

import arena.replay
from arena.replay import html_page, inline_module, json_element

STATIC = Path(arena.replay.__file__).parent / "static"
HOSTILE = "</script><img src=x onerror=alert(1)> & \u2028 \x1b[31m \u202e \ud800 <!--"


def sha256(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_page_allows_its_own_scripts_and_styles_and_no_others() -> None:
    html = html_page("title", "<p>body</p>", ["p{color:red}", "b{}"], ["let a = 1;"])
    policy = re.search('Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    rules = dict(part.split(" ", 1) for part in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == sha256("let a = 1;")
    assert rules["style-src"] == f"{sha256('p{color:red}')} {sha256('b{}')}"
    assert html.index("Content-Security-Policy") < html.index("<style>") < html.index("<p>body</p>")


def test_a_page_without_scripts_allows_none() -> None:
    """A page of plots is thus as safe as one that plays games."""
    assert "script-src 'none'" in html_page("title", "", [], [])


def test_a_title_is_text() -> None:
    html = html_page(HOSTILE, "", [], [])
    assert "<img" not in html
    assert "\\x1b[31m" in html
    html.encode()  # half a surrogate pair would raise


def test_data_is_unchanged_and_cannot_close_its_element() -> None:
    """Names, standard error and lines of bots are untrusted."""
    element = json_element("data", {"name": HOSTILE})
    found = re.fullmatch('<script type="application/json" id="data">([^<>&]*)</script>\n', element)
    assert found
    assert found[1].isascii()
    assert json.loads(found[1]) == {"name": HOSTILE}


@pytest.mark.parametrize("entry", ["app", "play"])
def test_a_module_comes_once_and_after_its_imports(entry: str) -> None:
    text = inline_module(entry)
    names = re.findall(r"^modules\.(\w+) = ", text, re.MULTILINE)
    assert names[-1] == entry
    assert len(set(names)) == len(names) > 5
    assert re.search(r"^(import|export)\b", text, re.MULTILINE) is None
    assert inline_module(entry) is text  # a server that made it for each request would need 30 ms


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_a_module_imports_only_what_the_other_exports(path: Path) -> None:
    """An inline module doesn't fail for a missing name: it is undefined."""
    for names, module in re.findall(
        r'^import \{ ([^}]*) \} from "\./(\w+)(?:\.min)?\.js";$', path.read_text("utf-8"), re.MULTILINE
    ):
        [source] = (path for path in STATIC.iterdir() if path.name in (f"{module}.js", f"{module}.min.js"))
        exported = re.findall(r"^export (?:function|class|const) (\w+)|\b\w as (\w+)", source.read_text("utf-8"), re.M)
        assert set(names.split(", ")) <= {first or second for first, second in exported}


@pytest.mark.parametrize("path", sorted(set(STATIC.iterdir()) - {*STATIC.glob("preact.*")}), ids=lambda path: path.name)
def test_no_part_reads_html_or_asks_the_network(path: Path) -> None:
    """Text is inserted by textContent, and the page contains all that it needs."""
    text = path.read_text("utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "fetch(",
        "url(",
    ):
        assert word not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
