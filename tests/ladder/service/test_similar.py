"""Which submissions are alike: what staff is told, by the command and by what it calls."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ladder.access import Viewer
from ladder.service import Ladder, LadderError, join_teams, open_ladder, side_by_side, similar
from tests.ladder.alike import BOT, IN_C, KIT_ONLY, alike_ladder, take
from tests.ladder.service.term import Term

pytest.importorskip("copydetect")


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Term:
    return alike_ladder(tmp_path_factory, tmp_path)


@pytest.fixture
def ladder(own: Term) -> Iterator[Ladder]:
    with closing(open_ladder(own.path)) as ladder:
        yield ladder


def test_pairs_of_different_owners_are_listed_with_both_shares(ladder: Ladder, tmp_path: Path) -> None:
    take(ladder, tmp_path / "again", "ada", {"bot.py": BOT, "more.py": IN_C})  # her own may be like her own
    found = similar(ladder)
    assert found.pairs is not None
    pairs = [{(half.version, half.owner) for half in (pair.one, pair.other)} for pair in found.pairs]
    assert sorted(map(sorted, pairs)) == [
        [("again@1", "ada"), ("mine@1", "bob")],
        [("mine@1", "bob"), ("weigher@1", "ada")],
    ]
    assert all(pair.one.share >= pair.other.share > 50 and pair.one.lines > 30 for pair in found.pairs)
    assert similar(ladder, at_least=100).pairs == ()
    assert similar(ladder) == found


def test_the_version_that_plays_is_compared_and_what_was_compared_is_kept(ladder: Ladder, tmp_path: Path) -> None:
    """Until a version takes the place of another: nothing is compared for who only asks."""
    assert similar(ladder, compare=False).pairs is None
    assert len(similar(ladder).pairs or ()) == 1
    assert len(similar(ladder, compare=False).pairs or ()) == 1
    take(ladder, tmp_path / "mine", "bob", {"bot.py": KIT_ONLY.format(name="B", action="income")})
    assert similar(ladder, compare=False).pairs is None
    assert similar(ladder).pairs == ()


def test_a_teams_bots_are_not_compared_with_one_another(ladder: Ladder) -> None:
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "staff", "they asked")
    assert similar(ladder).pairs == ()


def test_files_that_are_not_compared_are_told(ladder: Ladder, tmp_path: Path) -> None:
    """Long ones, what isn't text, and what others wrote; data and documents are nobody's program."""
    long = "x = 1; " * 50_000
    files: dict[str, str | bytes] = {"bot.py": BOT, "long.py": long, "bytes.py": b"\0\1", "vendor/a.py": BOT}
    take(ladder, tmp_path / "odd", "eve", {**files, "table.csv": long, "latin.py": "# \udce9\n"})
    found = similar(ladder)
    assert found.unread == (
        "odd@1: bytes.py is no text",
        "odd@1: vendor/a.py lies in a folder of what others wrote",
        "odd@1: long.py is beyond 128 KB or 50 files",
    )
    assert len(found.pairs or ()) == 3


def test_two_versions_are_shown_side_by_side(ladder: Ladder) -> None:
    found = side_by_side(ladder, "weigher", "mine@1")
    assert (found.pair.one.version, found.pair.other.version) == ("weigher@1", "mine@1")
    alike = [[[row for _, row, alike in part.numbered if alike] for part in (p.one, p.other)] for p in found.passages]
    one, other = next(rows for rows in alike if rows[0][0].startswith("def danger_of"))
    assert (other[0], len(one), len(other)) == ("def threat(game: Game, seat: int) -> float:", 9, 9)
    with pytest.raises(LadderError, match="is one version"):
        side_by_side(ladder, "mine", "mine@1")
    with pytest.raises(LadderError, match='no bot "mime"'):
        side_by_side(ladder, "weigher", "mime")


def test_nobody_but_staff_compares_files_of_others(ladder: Ladder) -> None:
    assert similar(ladder, 0, viewer=Viewer("ada")).pairs == ()
    with pytest.raises(LadderError, match="Ask the staff"):
        side_by_side(ladder, "weigher", "mine", Viewer("ada"))


def test_the_command_prints_a_table_and_passages(ladder: Ladder, own: Term) -> None:
    table = own.arena("similar").out
    assert "weigher@1" in table
    assert "1 pair of 4 versions with 50 % or more." in table
    assert "It accuses nobody" in table
    told = own.json("similar", "--at-least", 99.9)
    assert (told["pairs"], told["at_least"]) == ([], 99.9)
    text = own.arena("similar", "mine", "weigher").out
    assert "mine@1 bot.py:" in text
    assert "| def sigma" in text
    assert {"\u202e", "\x1b"} & set(text) == set()
    assert json.loads(own.arena("similar", "mine", "weigher", "--json").out)["pair"]["one"]["version"] == "mine@1"
    assert "name two versions" in own.arena("similar", "mine", code=2).err
