"""How a ladder serves the built playground."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.playground import find_build, make_program_fragment
from arena.playground.build import ROOT
from tests.chromium import WAIT_MS, Reader
from tests.cli_workspace import Place
from tests.ladder.ladders import freeze, ladder_in
from tests.ladder.term import Term
from tests.ladder.web.ladder_server import serve_ladder, wait_for
from tests.ladder.web.visitors import Pages, pages

HASHED = "python.0123456789ab.wasm"


@pytest.fixture
def served(own: Term, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    """A ladder whose playground has a page, and a file of which there is a packed copy."""
    (tmp_path / "index.html").write_text("<p>page")
    (tmp_path / HASHED).write_bytes(b"unpacked")
    (tmp_path / f"{HASHED}.br").write_bytes(b"packed")
    for module in ("public_pages", "rendering"):
        monkeypatch.setattr(f"ladder.web.{module}.find_build", lambda: tmp_path)
    with pages(own) as served:
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


def test_the_starter_page_opens_its_python_bot_in_the_playground(served: Pages) -> None:
    starter = (ROOT / "sample_bots/python/bot.py").read_text("utf-8")
    assert f'href="/playground/{make_program_fragment(starter)}"' in served.visitor("ada").get("/start").text


@pytest.mark.parametrize(
    "name", ["none.js", f"{HASHED}.br", "%2e%2e/secret.js", "%2e%2e%2fsecret.js", ".hidden.js", "a" * 300 + ".js"]
)
def test_only_files_of_the_folder_are_served(served: Pages, tmp_path: Path, name: str) -> None:
    for path in (tmp_path.parent / "secret.js", tmp_path / ".hidden.js"):
        path.write_text("secret")
    assert served.visitor("ada").get(f"/playground/{name}").status_code == 404


@pytest.mark.long
def test_a_program_is_handed_over_and_passes_the_check(
    browser: Reader, place: Place, needs: Callable[[str, str | None], None]
) -> None:
    needs("playground", None if find_build() else "it isn't built: make playground")
    folder = ladder_in(place, fit=True)
    freeze(folder)
    with serve_ladder(place, folder, "--jobs", 1, "--no-tables") as server:
        session = server.session("ada")
        context = browser.context()
        context.set_default_timeout(3 * WAIT_MS)
        context.add_cookies([{"name": "session", "value": session, "url": server.url}])
        page = context.new_page()
        page.goto(f"{server.url}/playground/#write")
        with context.expect_page() as opened:
            page.get_by_role("button", name="Submit to the ladder").click()
        form = opened.value
        form.locator("form.drop button:focus").wait_for()  # the program is in the form
        form.get_by_role("button", name="Submit", exact=True).click()
        form.wait_for_url("**/bots/ada/2#checks")

        def status() -> str:
            answer: Any = server.json("/bots/ada", session)
            return next(str(version["status"]) for version in answer["versions"] if version["number"] == 2)

        wait_for(lambda: status() not in ("queued", "checking"), 3 * WAIT_MS / 1000)
        assert status() == "accepted"
        context.close()
