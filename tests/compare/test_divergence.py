"""The first difference of two versions: one position, two choices, and their part of the result."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from arena.compare import NAMES
from arena.compare.comparison import GamePair
from arena.compare.divergence import Divergences, find_divergences
from arena.coup import PRESETS, derive_key
from arena.local import LocalPlayer, play_match, run_match, sample
from arena.referee import Fault, MatchSettings, MatchSpec, Record, game_results
from arena.schedule import draw_seat_orders
from protocol.kits.coup_kit import Answer, Bot, Game

BLOCKS, GAMES, SEATS = 6, 12, 4
FIELD = ("turtle", "turtle", "honest")

Honest: type[Bot] = sample("sample:honest")


class Bold(Honest):  # type: ignore[misc,valid-type]
    """Honest, but for a tax in each fourth turn, whatever it holds."""

    def turn(self, game: Game) -> Answer:
        return game.find("tax") if game.turn % 4 == 0 and game.find("tax") else super().turn(game)


class Grudge(Honest):  # type: ignore[misc,valid-type]
    """It challenges everything after it has lost a game: an opponent that remembers earlier games."""

    lost = False

    def game_over(self, game: Game) -> None:
        self.lost = self.lost or game.winner != game.seat

    def challenge(self, game: Game) -> Answer:
        return game.find("challenge") if self.lost else super().challenge(game)


def play_half(block: int, number: int, subject: type[Bot], field: tuple[type[Bot], ...], rules: str = "coup") -> Record:
    key = derive_key(b"tests", f"block|{block}")
    names = ("OLD" if number == 0 else "NEW", *(f"bot {other}" for other in range(1, SEATS)))
    spec = MatchSpec(
        2 * block + number, key, names, draw_seat_orders(key, SEATS, GAMES), MatchSettings(rules=PRESETS[rules])
    )
    players = [LocalPlayer(name, bot) for name, bot in zip(names, (subject, *field), strict=True)]
    return play_match(spec, players, keep_moves=True)


def play_pairs(
    new: type[Bot], field: tuple[type[Bot], ...], rules: str = "coup"
) -> tuple[list[GamePair], Callable[[int], Record]]:
    records = [
        play_half(block, number, (Honest, new)[number], field, rules) for block in range(BLOCKS) for number in (0, 1)
    ]
    worth = [
        [game.worth(game.seats.index(record.header.bots[0])) for game in game_results(record)] for record in records
    ]
    pairs = [
        GamePair(block, game, worth[2 * block][game], worth[2 * block + 1][game])
        for block in range(BLOCKS)
        for game in range(GAMES)
    ]
    return pairs, records.__getitem__


@pytest.fixture(scope="module")
def bold() -> tuple[list[GamePair], Divergences]:
    pairs, record_of = play_pairs(Bold, tuple(sample(f"sample:{name}") for name in FIELD))
    return pairs, find_divergences(pairs, record_of)


def test_the_points_of_all_rows_add_up_to_the_difference(bold: tuple[list[GamePair], Divergences]) -> None:
    pairs, found = bold
    total = sum(pair.new - pair.old for pair in pairs) / len(pairs)
    assert sum(row.contribution for row in found.groups) + found.opponent_contribution == pytest.approx(total, abs=1e-4)
    assert sum(row.pairs for row in found.groups) + found.identical_pairs + sum(
        count for _, count in found.diverged_by_opponent
    ) == len(pairs)


def test_the_first_difference_is_the_one_that_was_made(bold: tuple[list[GamePair], Divergences]) -> None:
    """NEW differs by a tax that it can't prove or wouldn't choose, and by nothing else."""
    _, found = bold
    assert found.groups
    assert {row.request for row in found.groups} == {"its turn"}
    assert {row.new for row in found.groups} <= {"take tax", "take tax (bluff)"}
    assert any(row.new.endswith("(bluff)") for row in found.groups)
    for row in found.groups:
        assert all(example.turn % 4 == 0 for example in row.examples)
        assert all(("duke" in example.hand) is (row.new == "take tax") for example in row.examples)


def test_the_gain_of_a_group_is_its_difference_in_win_rate(bold: tuple[list[GamePair], Divergences]) -> None:
    _, found = bold
    for row in found.groups:
        assert row.win_rate_gain.value == pytest.approx(row.new_win_rate - row.old_win_rate, abs=2e-4)
        gain = row.win_rate_gain
        assert (gain.low is None) is (row.pairs < 10)
        assert gain.low is None or gain.low <= gain.value <= gain.high
        assert 1 <= len(row.examples) <= min(3, row.pairs)


def test_the_same_bot_never_differs() -> None:
    pairs, record_of = play_pairs(Honest, tuple(sample(f"sample:{name}") for name in FIELD))
    found = find_divergences(pairs, record_of)
    assert (found.groups, found.identical_pairs, found.diverged_by_opponent) == ((), len(pairs), ())


def test_differences_of_an_opponent_are_counted_separately() -> None:
    pairs, record_of = play_pairs(Bold, (Grudge, Grudge, Grudge))
    found = find_divergences(pairs, record_of)
    assert {name for name, _ in found.diverged_by_opponent} <= {"bot 1", "bot 2", "bot 3"}
    assert found.diverged_by_opponent
    assert {row.request for row in found.groups} == {"its turn"}
    total = sum(pair.new - pair.old for pair in pairs) / len(pairs)
    assert sum(row.contribution for row in found.groups) + found.opponent_contribution == pytest.approx(total, abs=1e-4)


class Echo(Honest):  # type: ignore[misc,valid-type]
    """Honest, but it challenges where the seat before it in turn has the first word: that seat always challenges."""

    def challenge(self, game: Game) -> Answer:
        before = (game.seat - 1) % SEATS
        return game.find("challenge") if before != game.claim["seat"] and game.players[before].alive else None


class Doubter(Honest):  # type: ignore[misc,valid-type]
    def challenge(self, game: Game) -> Answer:
        return game.find("challenge")


def test_a_choice_that_changes_nothing_at_the_table_is_no_difference() -> None:
    """The first challenger clockwise counts; another challenge is never shown."""
    pairs, record_of = play_pairs(Echo, (Doubter, Doubter, Doubter))
    differs = any(
        record_of(2 * pair.block).games[pair.game].moves != record_of(2 * pair.block + 1).games[pair.game].moves
        for pair in pairs
    )
    assert differs
    found = find_divergences(pairs, record_of)
    assert found.identical_pairs == len(pairs)
    assert (found.groups, found.diverged_by_opponent) == ((), ())


def test_an_example_has_the_next_turns_of_both(bold: tuple[list[GamePair], Divergences]) -> None:
    _, found = bold
    for row in found.groups:
        for example in row.examples:
            assert example.new[0].startswith("it takes tax")
            assert example.old[0] != example.new[0]
            assert 1 <= len(example.old) <= 8
            assert "it: " in example.table
            assert (example.match + 1) == example.new_match


class Talker(Bold):
    """Bold, and it says in each turn that it holds a duke."""

    def turn(self, game: Game) -> Answer:
        game.say("hold", "duke")
        return super().turn(game)


def test_a_statement_alone_is_no_difference(bold: tuple[list[GamePair], Divergences]) -> None:
    pairs, record_of = play_pairs(Talker, tuple(sample(f"sample:{name}") for name in FIELD), "open-table")
    assert any(game.statements for game in record_of(1).games)
    assert pairs == bold[0]
    rows = [
        [(row.request, row.old, row.new, row.pairs) for row in found.groups]
        for found in (find_divergences(pairs, record_of), bold[1])
    ]
    assert rows[0] == rows[1]


class Silent:
    """It says hello only: it forfeits by the test."""

    def reply(self, message: dict[str, object]) -> dict[str, object] | None:
        return {"type": "hello"} if message["type"] == "hello" else None


def test_a_forfeit_is_named_by_its_own_fault() -> None:
    """Not by the fault of the other half, which plays on."""
    specs = [
        MatchSpec(number, bytes(32), (name, "bot"), ((0, 1),), MatchSettings()) for number, name in enumerate(NAMES)
    ]
    players = [LocalPlayer("OLD", Silent()), LocalPlayer("bot", Honest)]
    match = run_match(specs[0], players, waits_for=[0])
    assert next(match) == 0
    with pytest.raises(StopIteration) as end:
        match.send(None)
    new = play_match(specs[1], [LocalPlayer("NEW", Honest), LocalPlayer("bot", Honest)], keep_moves=True)
    game = replace(new.games[0], faults=(Fault(0, "timeout", 0, used=new.games[0].moves[0]),))
    records = [end.value.value, replace(new, games=(game,))]
    [group] = find_divergences([GamePair(0, 0, 0.0, 1.0)], records.__getitem__).groups
    assert (group.old, group.new) == ("forfeit (closed)", "play on")
