"""Tests of the page of similar submissions, which only staff see."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import each
from tests.ladder.alike import alike_ladder
from tests.ladder.web.visitors import Pages, pages

pytest.importorskip("copydetect")

PATHS = ("/admin/similarity", "/admin/similarity?compare=yes", "/admin/similarity/files?one=a@1&other=b@1")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    path: Path = tmp_path_factory.mktemp("own")
    with pages(alike_ladder(tmp_path_factory, path)) as made:
        yield made


def test_staff_has_versions_compared(web: Pages) -> None:
    staff = web.visitor("staff")
    first = staff.get("/admin/similarity").text
    assert "Compare 4 versions" in first
    assert "weigher@1" not in first
    listed = staff.get("/admin/similarity?compare=yes").text
    assert "1 similar pair among 4 versions" in listed
    assert "weigher@1" in listed
    assert "no proof of copying" in listed
    [address] = re.findall('href="(/admin/similarity/files[^"]*)"', listed)
    sides = staff.get(address.replace("&amp;", "&")).text
    assert ('<tr class="same">' in sides, "<td>≈</td>" in sides) == (True, True)


@each("kind", ["anonymous", "ada", "bob", "suspended", "reading token", "token"])
def test_participants_cannot_see_the_page_of_similar_submissions(web: Pages, kind: str) -> None:
    visitor = web.visitor(kind)
    for path in PATHS:
        for address in (path, f"/api{path}"):
            answered = visitor.get(address)
            assert answered.status_code in (303, 401, 403, 404), address
            assert "weigher" not in answered.text
    for path in ("/", "/bots/mine", "/account", "/grades"):
        assert "similar" not in visitor.get(path).text.lower()
