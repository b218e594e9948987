"""The documents as pages, as `make site` builds them: every link has a target, and no page fetches other sites.

Source: docs/conf.py. Sphinx itself checks the file and the anchor of each link in a document.
"""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.chromium import Reader
from tests.documents import ROOT
from tests.shared_setup import find_built, made_once
from tests.test_docs import tracked
from tests.test_docs_run import LIMIT_S, make


def build_site(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    planned = make("--dry-run", "--always-make", "site").stdout
    (words,) = (line.split()[1:-2] for line in planned.splitlines() if " -m sphinx " in line)
    words[words.index("build/doctrees")] = str(out.parent / "doctrees")
    return subprocess.run(
        [sys.executable, *words, ".", str(out)],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the pages, which are built once for all processes of pytest, if make hasn't."""

    def make(folder: Path) -> None:
        made = build_site(ROOT, folder / "pages")
        assert (made.returncode, made.stderr) == (0, "")

    return find_built("site") or made_once(tmp_path_factory, "site", make) / "pages"


class Page(HTMLParser):
    """The links of a page (a), the files that a browser fetches for it (link, script, img ...), and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.led: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif name in ("href", "src", "srcset", "action", "data", "poster"):
                (self.led if tag == "a" else self.fetched).append(value or "")


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_document_of_the_repository_is_a_page(site: Path) -> None:
    """docs/index.md is the menu; the tests' own documents aren't pages."""
    names = [path.relative_to(ROOT) for path in tracked() if path.suffix == ".md"]
    documents = [name for name in names if name.parts[0] not in ("tests", ".github")]
    assert len(documents) > 25
    assert [str(name) for name in documents if not (site / name).with_suffix(".html").is_file()] == []


def test_every_link_of_the_pages_leads_to_a_file_and_an_anchor(pages: dict[Path, Page]) -> None:
    lost = []
    for path, page in pages.items():
        for link in (*page.led, *page.fetched):
            url = urlsplit(link)
            if url.scheme:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            known = pages[target].anchors if target in pages else set()
            words = {"top"} if target.name != "front-replay.html" else {"play"}  # a word of the replay's script
            word = unquote(url.fragment) if not url.fragment.startswith("bot=") else ""  # for the playground
            if not target.is_file() or (word and word not in known | words):
                lost.append(f"{path.name}: {link}")
    assert lost == []


def test_no_page_fetches_anything_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    """Attributes and style sheets could fetch fonts, scripts, pictures or counters."""
    far = re.compile(r"^(?:\w+:)?//")
    assert [link for page in pages.values() for link in page.fetched if far.match(link)] == []
    for path in site.rglob("*.css"):
        wanted = re.findall(r"(?:url\(|@import\s+)['\"]?([^'\")\s]+)", path.read_text(encoding="utf-8"))
        assert [link for link in wanted if far.match(link)] == [], path


def test_a_browser_asks_for_files_of_the_site_alone(site: Path, browser: Reader) -> None:
    """The width of a phone is tested, too, where no page may be wider than the screen."""
    for name in ("index", "README", "docs/reference/cli", "protocol/SPEC", "search"):
        page = browser.open(site / f"{name}.html")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    asked, browser.asked, wrong, browser.wrong = browser.asked, [], browser.wrong, []
    assert [url for url in asked if not url.startswith((site.as_uri(), "about:", "data:"))] == []
    assert wrong == []


def test_the_first_page_shows_a_game_and_five_ways_in_on_one_screen(site: Path, browser: Reader) -> None:
    for width, height in ((1280, 800), (390, 844)):
        page = browser.open(site / "index.html", width=width, height=height)
        page.frame_locator(".front-game iframe").locator(".seat").nth(3).wait_for()
        boxes = [part.bounding_box() for part in page.locator("h1, .front-ways a, .front-game iframe").all()]
        assert len(boxes) == 7
        assert [box for box in boxes if box["y"] < 0 or box["y"] + box["height"] > height] == [], width
    wrong, browser.wrong = browser.wrong, []
    assert wrong == []


def test_a_broken_link_stops_the_site(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "docs").mkdir(parents=True)
    for name in ("README.md", "docs/conf.py", "docs/index.md", "docs/site.css", "docs/faq.md"):
        shutil.copyfile(ROOT / name, copy / name)
    document = copy / "docs" / "faq.md"
    text = document.read_text(encoding="utf-8") + "\n"
    lost = ["ladder.md#no-such-section", "no-such-page.md", "../no-such-folder", "no-such-file.py", "#nowhere"]
    document.write_text(text + "".join(f"[lost]({link})\n\n" for link in lost), encoding="utf-8")
    made = build_site(copy, tmp_path / "pages")
    assert made.returncode != 0
    first = text.count("\n") + 1
    named = {int(line) for line in re.findall(r"docs/faq\.md:(\d+): WARNING", made.stderr)}
    assert {first + 2 * place for place in range(len(lost))} <= named, made.stderr
