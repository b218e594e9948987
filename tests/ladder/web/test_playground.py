"""How a ladder serves the built playground."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ladder.service.term import Term
from tests.ladder.web.visitors import Pages, pages

HASHED = "python.0123456789ab.wasm"


@pytest.fixture
def served(term: Term, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    """A ladder whose playground has a page, and a file of which there is a packed copy."""
    (tmp_path / "index.html").write_text("<p>page")
    (tmp_path / HASHED).write_bytes(b"unpacked")
    (tmp_path / f"{HASHED}.br").write_bytes(b"packed")
    monkeypatch.setattr("ladder.web.public_pages.find_build", lambda: tmp_path)
    with pages(term) as served:
        yield served


def test_a_file_is_packed_for_browsers_that_unpack_it_and_kept_forever(served: Pages) -> None:
    client = served.visitor("anonymous")
    plain = client.get(f"/playground/{HASHED}", headers={"Accept-Encoding": "gzip"})
    assert (plain.content, plain.headers["Content-Type"]) == (b"unpacked", "application/wasm")
    with client.stream("GET", f"/playground/{HASHED}", headers={"Accept-Encoding": "gzip, br"}) as packed:
        assert b"".join(packed.iter_raw()) == b"packed"
    assert (packed.headers["Content-Encoding"], packed.headers["Content-Type"]) == ("br", "application/wasm")
    for answer in (plain, packed):
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Vary"] == "Accept-Encoding"


def test_the_page_is_asked_for_again_and_may_be_framed_by_its_own_site_alone(served: Pages) -> None:
    page = served.visitor("anonymous").get("/playground/")
    assert page.text == "<p>page"
    assert page.headers["Content-Type"].startswith("text/html")
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.headers["Content-Security-Policy"] == "frame-ancestors 'self'"


@pytest.mark.parametrize("name", ["none.js", f"{HASHED}.br", "%2e%2e/secret.js", "%2e%2e%2fsecret.js", ".hidden.js"])
def test_only_files_of_the_folder_are_served(served: Pages, tmp_path: Path, name: str) -> None:
    for path in (tmp_path.parent / "secret.js", tmp_path / ".hidden.js"):
        path.write_text("secret")
    assert served.visitor("ada").get(f"/playground/{name}").status_code == 404
