"""The pages that show staff which submissions are alike; nobody else gets a word of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ladder.alike import alike_ladder
from tests.ladder.web.visitors import Pages, pages

pytest.importorskip("copydetect")

PATHS = ("/admin/similar", "/admin/similar?compare=yes&at_least=0", "/admin/similar/weigher@1/mine@1")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    path: Path = tmp_path_factory.mktemp("own")
    with pages(alike_ladder(tmp_path_factory, path)) as made:
        yield made


def test_staff_has_versions_compared_and_sees_two_side_by_side(web: Pages) -> None:
    staff = web.visitor("staff")
    first = staff.get("/admin/similar").text
    assert "Compare 4 versions now" in first
    assert "side by side" not in first
    listed = staff.get("/admin/similar?compare=yes").text
    assert "1 pair of 4 versions" in listed
    assert "It accuses nobody" in listed
    address = next(part.split('"')[0] for part in listed.split('href="') if part.startswith("/admin/similar/"))
    both = staff.get(address).text
    assert 'class="alike">    middle = ' in both
    assert 'class="alike">    mu = ' in both
    assert "1 pair of 4 versions" in staff.get("/admin/similar").text  # it is kept
    assert "0 pairs" in staff.get("/admin/similar?compare=yes&at_least=100").text


def test_what_strangers_wrote_is_shown_and_does_nothing(web: Pages) -> None:
    both = web.visitor("staff").get("/admin/similar/mine@1/weigher@1").text
    assert r"# \u202e\x1b[31m&lt;script&gt;" in both
    assert {"\u202e", "\x1b"} & set(both) == set()


def test_a_version_that_is_not_there_is_named(web: Pages) -> None:
    answered = web.visitor("staff").get("/admin/similar/weigher@1/mime")
    assert (answered.status_code, "no bot &#34;mime&#34;" in answered.text) == (400, True)
    assert web.visitor("staff").get("/admin/similar?at_least=101").status_code == 400


@pytest.mark.parametrize("kind", ["nobody", "ada", "bob", "suspended", "reading token", "token"])
def test_no_participant_learns_anything_of_it(web: Pages, kind: str) -> None:
    """Neither by the pages and their JSON, nor by a link."""
    visitor = web.visitor(kind)
    for path in PATHS:
        for address in (path, f"/api{path}"):
            answered = visitor.get(address)
            assert answered.status_code in (303, 401, 403, 404), address
            assert "weigher" not in answered.text.replace("weigher%401", "").replace("weigher@1", "")
    for path in ("/", "/bots/mine", "/account", "/grades"):
        assert "similar" not in visitor.get(path).text.lower()
