"""The bot that plays a game of two from tables: what it promises of them, and what it does where it has none."""

import pytest

from arena.coup import PRESETS
from arena.local import play, sample
from protocol.kits.coup_kit import Game, Move
from tests.sample_bots.test_sample_bots import FOLDER, conversation, moves

WEIGHTS = FOLDER / "duellist" / "weights.xz"
MOST_BYTES = 2_000_000


def test_its_tables_stay_small() -> None:
    """A bot is copied to every box and into every submission."""
    assert WEIGHTS.stat().st_size <= MOST_BYTES


def test_as_a_process_it_answers_every_request_legally_and_leaves_in_silence() -> None:
    """Source: the protocol."""
    moves("duellist/bot.py", conversation())


@pytest.mark.parametrize("preset", PRESETS)
def test_it_plays_every_preset_legally(preset: str) -> None:
    """A reply that isn't legal raises. It has tables for some of these games, and none for others."""
    rules = PRESETS[preset]
    for seats in {rules.min_seats, min(3, rules.max_seats)}:
        bots = {f"duellist-{seat}": sample("sample:duellist") for seat in range(seats)}
        results = play(bots, games=6, rules=preset, seed=1)
        assert len(results.games) >= 6


def test_its_tables_know_nearly_every_situation() -> None:
    """Else bot.py and train.c disagree on what a key is, and it plays honestly without a word."""
    known = []
    kind = sample("sample:duellist")

    class Counting(kind):  # type: ignore[misc,valid-type]
        def draw(self, game: Game, phase: int, extra: int, moves: list[Move | None]) -> Move | None:
            move: Move | None = super().draw(game, phase, extra, moves)
            known.append(move is not None)
            return move

    play([Counting, "sample:opportunist"], games=60, seed=1)
    assert sum(known) > 0.995 * len(known) > 500


def test_it_beats_the_strongest_rules() -> None:
    """It wins 92 % of 1,200 games; of 240 it wins fewer than 80 % once in a million."""
    results = play({"duellist": sample("sample:duellist"), "opportunist": "sample:opportunist"}, games=240, seed=1)
    assert results.shares["duellist"].value > 0.8
