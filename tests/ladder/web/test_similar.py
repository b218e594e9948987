"""Tests of the page of similar submissions, which only staff see."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ladder.alike import alike_ladder
from tests.ladder.web.visitors import Pages, pages

pytest.importorskip("copydetect")


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
