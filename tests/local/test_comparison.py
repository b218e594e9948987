"""Comparisons in this process: the test of `arena compare`, on pairs of games that differ in nothing but the bot."""

import subprocess
import sys

import pytest

from arena.local import BotArgument, compare, play_blocks, sample
from protocol.kits.coup_kit import Answer, Bot, Game

Honest: type[Bot] = sample("sample:honest")
FIELD = ["sample:counter", "sample:turtle", "sample:bluffer"]
DUEL = ["sample:counter"]


class Same(Honest):  # type: ignore[misc,valid-type]
    """Honest under another name."""


class Meek(Honest):  # type: ignore[misc,valid-type]
    def turn(self, game: Game) -> Answer:
        return game.find("coup") or game.find("income")


def test_a_bot_under_another_name_makes_no_difference() -> None:
    result = compare(Honest, Same, DUEL, seats=2, seed=1)
    assert (result.verdict, result.difference, result.discordant_pairs, result.pairing_gain) == (
        "no difference",
        0.0,
        0,
        None,
    )
    assert str(result).startswith("NEW makes no difference of 5: ")


def test_a_worse_bot_is_found_with_the_same_games_in_any_number_of_processes() -> None:
    results = [compare(Honest, Meek, DUEL, seats=2, seed=2, jobs=jobs) for jobs in (1, 2)]
    assert results[0] == results[1]
    assert results[0].verdict == "worse"
    assert results[0].high <= 0
    assert results[0].pairs == 2 * results[0].blocks
    assert "without pairs, this takes " in str(results[0])


def test_another_seed_plays_other_games() -> None:
    first, again, other = (list(play_blocks(Honest, Meek, FIELD, max_pairs=16, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert [len(block) for block in first] == 4 * [4]


@pytest.mark.parametrize(
    ("new", "against", "more", "message"),
    [
        (Honest, FIELD, {}, "the same bot"),
        (Meek(), FIELD, {}, "is an object"),
        (Meek, {"OLD": "sample:turtle"}, {"seats": 2}, "can't have the name OLD"),
        (Meek, FIELD, {"seats": 5}, "5 seats, but 3 opponents: 4 are needed"),
        (Meek, FIELD, {"match_games": 6}, "a positive multiple of 4"),
        (Meek, FIELD, {"min_effect": 5}, "min_effect=5"),
        (Meek, FIELD, {"rules": "duel", "seats": 4}, "not to 4"),
    ],
)
def test_impossible_comparisons_are_refused(
    new: BotArgument, against: list[BotArgument], more: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        compare(Honest, new, against, **more)


def test_equal_names_of_a_sample_are_one_bot() -> None:
    with pytest.raises(ValueError, match="the same bot"):
        compare("sample:honest", "".join(["sample:", "honest"]), DUEL)


def test_the_test_alone_needs_only_the_standard_library() -> None:
    script = """
import sys
before = set(sys.modules)
import arena.compare
print(*sorted({name.split(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["arena", "protocol"]
