"""Tests of the report of similar submissions for staff."""

import importlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ladder.bots import SimilarityPair, SimilarityReport, count_compared_versions, find_similar_versions
from ladder.ladder import Ladder, open_ladder
from ladder.users import join_teams
from tests.ladder.alike import BOT, IN_C, KIT_ONLY, alike_ladder, submit_files
from tests.ladder.term import Term

pytest.importorskip("copydetect")


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Term:
    return alike_ladder(tmp_path_factory, tmp_path)


@pytest.fixture
def ladder(own: Term) -> Iterator[Ladder]:
    with closing(open_ladder(own.path)) as ladder:
        yield ladder


def test_pairs_of_different_owners_are_listed_with_both_similarities(ladder: Ladder, tmp_path: Path) -> None:
    """Bots of one owner may be similar. Files that aren't compared are listed."""
    files: dict[str, str | bytes] = {"bot.py": BOT, "long.py": "x = 1; " * 50_000, "bytes.py": b"\0\1"}
    submit_files(
        ladder, tmp_path / "again", "ada", {**files, "more.c": IN_C, "vendor/a.py": BOT, "latin.py": "# \udce9\n"}
    )
    found = find_similar_versions(ladder)
    assert sorted(sorted([(p.version, p.owner), (p.other_version, p.other_owner)]) for p in found.pairs) == [
        [("again@1", "ada"), ("mine@1", "bob")],
        [("mine@1", "bob"), ("weigher@1", "ada")],
    ]
    assert all(pair.overlap_percent >= pair.other_overlap_percent > 50 for pair in found.pairs)
    assert found.skipped == tuple(f"again@1: {name} isn't compared" for name in ("bytes.py", "vendor/a.py", "long.py"))
    assert count_compared_versions(ladder) == SimilarityReport(found.versions, None, ())


def test_the_version_that_plays_is_compared_and_a_teams_bots_are_of_one_party(
    ladder: Ladder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_files(ladder, tmp_path / "mine", "bob", {"bot.py": KIT_ONLY.format(name="B", action="income")})
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "staff", "they asked")
    given: list[tuple[int, str, str]] = []
    inside = importlib.import_module("ladder.bots.similarity")
    monkeypatch.setattr(
        inside, "_compare", lambda programs, _: given.extend(programs) or {"pairs": [], "skipped": [], "common": []}
    )
    assert find_similar_versions(ladder).pairs == ()
    [mine] = [each for each in given if "income" in each[2]]
    assert [each[0] for each in given].count(mine[0]) == 2


def test_the_command_prints_a_table(own: Term, monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimilarityReport(4, (SimilarityPair("weigher@1", "ada", 98.9, "mine@1", "bob", 97.9),), ())
    monkeypatch.setattr(importlib.import_module("ladder.bots"), "find_similar_versions", lambda ladder: found)
    rows = [line.split() for line in own.arena("similar").out.splitlines()]
    assert ["weigher@1", "ada", "98.9", "mine@1", "bob", "97.9"] in rows
    assert own.json("similar")["pairs"][0]["other_owner"] == "bob"
