"""The public's pages as files: complete, with links that lead somewhere, and nothing that the public may not read."""

import html
import re
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from ladder.service import open_ladder, submit
from tests.ladder.service.term import Term, write
from tests.place import BOT

ODD = "a?b#c&d=%3C é ~+;.."


def test_each_link_of_a_site_leads_to_a_file(own: Term, tmp_path: Path) -> None:
    """Also to a bot with a name that addresses and web spaces read otherwise; it is made again in place."""
    with closing(open_ladder(own.path)) as ladder:
        submit(ladder, write(tmp_path / "odd.py", BOT), "eve", ODD)
    for _ in range(2):
        ran = own.arena("site", tmp_path / "site")
    files = [path for path in (tmp_path / "site").rglob("*") if path.is_file()]
    assert f"{len(files)} files" in ran.err
    pages = [path for path in files if path.suffix == ".html"]
    links = 0
    for page in pages:
        for link in re.findall(r' (?:href|src)="([^"]*)"', page.read_text()):
            address = html.unescape(link).partition("#")[0]
            if not address or address.startswith(("data:", "javascript:")):
                continue
            assert not address.startswith("/"), (page, address)
            assert (page.parent / unquote(address)).is_file(), (page, address)
            links += 1
    assert links > 100
    assert any(ODD in html.unescape(page.read_text()) for page in pages)
    text = "".join(page.read_text() for page in pages)
    assert [word for word in ("'ada'", ">ada<", "teacher", "no json", "Sign in") if word in text] == []
