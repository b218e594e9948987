"""Tests of the static export: it is complete, has no broken links, and only public content."""

import html
import re
import zipfile
from pathlib import Path
from urllib.parse import unquote

from ladder.bots import submit_bot
from ladder.ladder import Ladder
from ladder.match_pages import list_matches
from ladder.permissions import PUBLIC_VIEWER
from ladder.web import export_static_site
from tests.cli_workspace import BOT
from tests.ladder.classes import configure, look
from tests.ladder.term import Term, write

ODD = ("a?b#c&d=%3C é ~+;..", "index.html", "data.csv", "after=1", "new", "1", "~2e", "..a", "\U0001f600" * 40)


def test_each_link_of_a_site_leads_to_a_file(own: Term, ladder: Ladder, tmp_path: Path) -> None:
    """One bot has a name with special characters of URLs; the export is repeated in place."""
    configure(own, max_bots_per_user=20, max_submissions_per_day=20)
    for name in ODD:
        submit_bot(ladder, write(tmp_path / "odd.py", f"{BOT}# {name}"), "eve", name=name)
    for _ in range(2):
        ran = own.arena("export-site", tmp_path / "site")
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert f"{len(files)} files" in ran.err
    pages = [path for path in files if path.suffix == ".html"]
    links = 0
    for page in pages:
        for link in re.findall(r' (?:href|src)="([^"]*)"', page.read_text()):
            address = html.unescape(link).partition("#")[0]
            if not address or address.startswith(("data:", "javascript:", "https:")):
                continue
            assert not address.startswith("/"), (page, address)
            assert (page.parent / unquote(address)).is_file(), (page, address)
            links += 1
    assert links > 100
    for name in ODD:
        assert any(f"<h1>{name}" in html.unescape(page.read_text()) for page in pages), name
    for text in map(Path.read_text, pages):  # what leads nowhere isn't offered, and no frame is empty
        assert [frame for frame in re.findall(r"<iframe[^>]*>", text) if " src=" not in frame] == []
        if "<nav" in text:
            assert "<form" not in text
            assert re.findall(r"<a\s*>", "".join(re.findall(r"<nav.*?</nav>|<footer.*", text, re.DOTALL))) == []
    own_pages = [page for page in pages if "docs" not in page.parts]
    text = "".join(page.read_text() for page in own_pages)
    assert "<td>" in (tmp_path / "site/docs/docs/reference/rules~2emd/index.html").read_text()
    assert zipfile.is_zipfile(tmp_path / "site/downloads/mybot-rust.zip")
    wheel = next((tmp_path / "site/downloads").glob("*.whl")).name
    assert f"pip install ./{wheel}\n" in (tmp_path / "site/start/index.html").read_text()  # its address is unknown
    assert [word for word in ("'ada'", ">ada<", "teacher", "no json", "Sign in") if word in text] == []


def test_the_newest_matches_have_pages_with_their_replays(ladder: Ladder, tmp_path: Path) -> None:
    export_static_site(ladder, tmp_path / "site", matches=2)
    newest = [str(line.id) for line in look(ladder, PUBLIC_VIEWER, list_matches, limit=2).items]
    written = tmp_path / "site" / "matches"
    assert sorted(path.name for path in written.iterdir() if path.name.isdecimal()) == sorted(newest)
    assert [(written / id / "replay" / "index.html").is_file() for id in newest] == [True, True]
