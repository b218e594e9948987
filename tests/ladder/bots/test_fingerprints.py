"""Tests of similarity, which compares what is hard to disguise, on small bots and on the samples."""

import pytest

from arena.bots import shipped_files
from ladder.bots.fingerprints import compare_programs
from tests.cases import each
from tests.ladder.alike import BOT, IN_C, KIT_ONLY, disguise_bot

pytest.importorskip("copydetect")

KITS = [(path.name, path.read_text()) for path in shipped_files() if path.name == "coup_kit.py"]
SAMPLES = {path.stem: path.read_text() for path in shipped_files() if path.parent.name == "sample_bots"}


def shares(one: str, other: str, kinds: tuple[str, str] = ("a.py", "a.py"), common: object = KITS) -> tuple[float, ...]:
    """Return the shares of two programs, 0 where they are no pair."""
    programs = [(party, kind, text) for party, kind, text in zip("ab", kinds, (one, other), strict=True)]
    found = compare_programs(programs, common)["pairs"]  # type: ignore[arg-type]
    return tuple(found[0][2:]) if found else (0.0, 0.0)


DISGUISES = {
    "copied": BOT,
    "with other names, comments and an order of its own": disguise_bot(),
    "with other blanks": BOT.replace("    ", "\t").replace("\n\n", "\n\n\n\n"),
    "from Windows": BOT.replace("\n", "\r\n"),
    "with more comments": BOT.replace("\n    ", "\n    # mine\n    "),
    "with other strings": BOT.replace('"duke"', '"hrtg"').replace("Weighs each move.", "x" * 500),
}


@each("how", DISGUISES)
def test_a_copy_is_found_however_it_is_disguised(how: str) -> None:
    assert min(shares(BOT, DISGUISES[how])) > 85


def test_similarity_is_given_in_both_directions() -> None:
    """A large bot that contains a small one contains all of it."""
    part, whole = shares(BOT, SAMPLES["strategist"] + BOT)
    assert part > 95
    assert whole < 40


def test_bots_that_have_the_kit_in_common_and_little_else_are_no_pair() -> None:
    one, other = (KIT_ONLY.format(name=name, action=action) for name, action in (("A", "tax"), ("Bee", "steal")))
    assert shares(one, other) == (0.0, 0.0)
    [(_, kit)] = KITS
    assert shares(kit + one, kit + other) == (0.0, 0.0)
    assert shares(kit + one, kit + other, common=[*KITS, ("a.py", "")]) == (0.0, 0.0)
    assert min(shares(kit + one, kit + other, common=[])) > 95  # it is the kit that doesn't count
    assert shares(kit + one, kit + one) == (100.0, 100.0)  # but equal files with anything of their own
    assert shares(kit, kit) == (0.0, 0.0)
    assert compare_programs([("a", "a.py", kit), ("b", "a.py", kit + one)], KITS)["common"] == [0]


def test_bots_in_other_languages_and_other_bots_are_no_pair() -> None:
    assert shares(BOT, IN_C, ("a.py", "a.c")) == (0.0, 0.0)
    assert shares(BOT, SAMPLES["counter"]) == (0.0, 0.0)
    assert shares(SAMPLES["strategist"], SAMPLES["counter"]) == (0.0, 0.0)


def test_programs_of_one_owner_are_not_compared() -> None:
    pairs = compare_programs([(party, "a.py", BOT) for party in "aba"], [])["pairs"]
    assert [pair[:2] for pair in pairs] == [(0, 1), (1, 2)]


def test_odd_texts_raise_no_error() -> None:
    """Submissions may be undecodable, deeply nested, one long line, empty, or not source code."""
    odd = ("\udcff\0\x1b[31m", "(" * 20_000, "x = 1; " * 20_000, "", "\n", '"' * 9_999, "\u202e" * 999)
    programs = [("a", "a.py", text) for text in odd] + [("a", "a.zz", "what is it? " * 99)]
    output = compare_programs([*programs, ("b", "a.py", BOT), ("c", "a.py", BOT)], [])
    assert [pair[:2] for pair in output["pairs"]] == [(8, 9)]
