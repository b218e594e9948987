"""Puzzles: positions of recorded games, as the solver's seat knows them. Source: arena/lessons/puzzle.py."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena import coup
from arena.lessons import LessonError, learn_page, load_puzzles, make_puzzle, puzzles_page
from arena.local import play, sample
from arena.referee import sent_lines
from tests.bench import make_puzzles
from tests.chromium import Reader


def puzzle(number: int) -> dict[str, Any]:
    """Return a puzzle at the beginning of a game of three."""
    state = coup.deal_game(coup.COUP, 3, coup.KeyedRng(bytes([number]) * 32, 0))
    words = map(coup.format_move, coup.list_legal_moves(coup.view_from_seat(state, 0)))
    results = {word: [0.5 if word == "tax" else 0.2, 100] for word in words}
    place = {"key": bytes([number]).hex() * 32, "game": 0, "starter": 0, "players": 3, "seat": 0, "moves": ""}
    return {**place, "right": "tax", "results": results}


def test_hidden_cards_change_no_byte_of_a_puzzle() -> None:
    hands = [coup.deal_game(coup.COUP, 3, coup.KeyedRng(bytes([number]) * 32, 0)).hands for number in range(60)]
    pairs = [(one, other) for one in range(60) for other in range(one) if hands[one][0] == hands[other][0]]
    assert any(hands[one] != hands[other] for one, other in pairs)
    for one, other in pairs[:20]:
        assert make_puzzle(puzzle(one), 1) == make_puzzle(puzzle(other), 1)


def test_moves_that_win_equally_often_have_the_order_of_the_rules() -> None:
    say = make_puzzle(puzzle(1), 1).parts[1]["say"]
    assert say.index("take tax") < say.index("take income") < say.index("take foreign aid")


def test_a_player_who_is_robbed_has_fewer_coins_for_a_coup() -> None:
    """Both others have 8 coins, and the first one steals from the second one."""
    place = {"moves": "tax - - " * 7 + "steal:2", "right": "-", "results": {"-": [0.6, 9], "!": [0.5, 9]}}
    say = make_puzzle({**puzzle(1), **place}, 1).parts[1]["say"]
    assert " Mia can then pay for a coup." in say


def test_a_puzzle_that_the_rules_dont_allow_is_refused() -> None:
    with pytest.raises(LessonError, match="puzzle 1: the moves are income, "):
        make_puzzle({**puzzle(1), "right": "assassinate:1"}, 1)


def test_each_puzzle_has_one_best_move_and_an_explanation_of_the_others() -> None:
    puzzles = load_puzzles()
    assert puzzles
    assert len(puzzles_page()) - len(puzzles_page(load=lambda: puzzles[:1])) < 3000 * (len(puzzles) - 1)
    for each in puzzles:
        asked, solved = each.parts
        moves = {choice for option in asked["game"]["ask"]["options"] for choice, _ in option["choices"]}
        assert moves == {asked["right"], *asked["why"]}
        assert all(seat["own"] or not any(seat["cards"]) for seat in asked["game"]["seats"] if not seat["out"])
        assert "Games won: " in solved["say"]
        assert "a chance of 0" not in solved["say"]
    reasons = [each.parts[1]["say"].partition("It wins")[0] for each in puzzles]
    assert all(reasons)
    assert any("then pay for a coup" in reason for reason in reasons)
    assert any("If the assassination succeeds, you have one card left." in reason for reason in reasons)


def test_a_reader_solves_the_puzzle_of_the_day(reader: Reader, tmp_path: Path, axe: Callable[[Any], list[str]]) -> None:
    path = tmp_path / "puzzles.html"
    path.write_text(puzzles_page(load=lambda: [make_puzzle(puzzle(3), 1)]), "utf-8")
    (tmp_path / "learn.html").write_text(learn_page(puzzles="puzzles.html"), "utf-8")
    page = reader.open(path.with_name("learn.html"), width=390, height=844)
    page.get_by_role("link", name="All puzzles").click()
    page.get_by_role("heading", name="Find the best move").wait_for()
    assert axe(page) == []
    page.get_by_role("link", name="Puzzle of the day").click()
    page.get_by_text("Which move wins most often?").wait_for()
    for name, text in (("income", "Take income: 20"), ("tax", "The best move: ")):
        page.locator(".moves:not(.early)").get_by_role("button", name=name).click()
        page.get_by_text(text).wait_for()
    page.get_by_role("link", name="All puzzles").click()
    page.get_by_text("1 of 1 solved").wait_for()


def test_a_reader_is_shown_the_answer_after_a_wrong_move(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / "puzzles.html"
    path.write_text(puzzles_page(load=lambda: [make_puzzle(puzzle(3), 1)]), "utf-8")
    page = reader.open(path, "#1", width=390, height=844)
    page.evaluate("localStorage.clear()")
    page.locator(".moves:not(.early)").get_by_role("button", name="income").click()
    page.locator(".move.tried", has_text="income").wait_for()
    page.locator(".moves:not(.early)").get_by_role("button", name="Show the answer").click()
    page.get_by_text("The best move: ").wait_for()
    assert page.evaluate("localStorage.getItem('coup-lessons')") is None


def test_fresh_deals_keep_what_the_player_sees_and_the_better_move_wins_more_of_them() -> None:
    """The bots that play the deals to their ends are honest here, so a claim that can't be true is easy to doubt."""
    bots = {"one": "sample:bluffer", "two": "sample:turtle"}
    [record] = play(bots, 12, seed=3, records=True).records
    proposer = make_puzzles.Proposer()
    lines = list(sent_lines(record, 1))
    for found in proposer.judge(lines, frozenset(range(12))):
        if found.cost > 0.3 and found.request["kind"] in make_puzzles.KINDS:
            break
    seat = record.games[found.game].seating.index(1)
    honest: Any = sample("sample:honest")
    players: list[Any] = [honest(), honest()]
    for player in players:
        player.reply({"type": "hello", "protocol": 1, "ruleset": {}, "bot_seed": "0" * 32, "match": {}, "limits": {}})
    position = make_puzzles.Position(record, seat, found, proposer.sitting, players)
    for _ in range(10):
        deal = position.deal()
        assert deal.hands[seat] == position.state.hands[seat]
        cards = [*deal.deck, *(card for hand in (*deal.hands, *deal.board.revealed) for card in hand)]
        assert set(Counter(cards).values()) == {3}
    won = {
        word: sum(position.play_out(position.deal(), word, number) for number in range(40))
        for word in position.legal.words
    }
    assert won[position.right] > min(won.values())
