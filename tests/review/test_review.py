"""Tests of `arena.review` with bots whose mistakes are known. Source: arena/review."""

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest

from arena import review
from arena.local import play, sample
from arena.referee import GameRecord, MatchHeader, Record, replay_game, sent_lines
from tests.alternate_deals import disguise, redeal

Honest: Any = sample("sample:honest")


class Meek(Honest):
    """Never blocks, whatever cards it has."""

    def block(self, game: Any) -> Any:
        return None


class Blind(Honest):
    """Challenges each claim, proven by all cards or not."""

    def challenge(self, game: Any) -> Any:
        return game.find("challenge")


class Taxes(Honest):
    """Claims the Duke each turn if possible, even after it was caught."""

    def turn(self, game: Any) -> Any:
        return next((move for move in game.legal if move["action"] == "tax"), None) or super().turn(game)


class Kills(Honest):
    """Assassinates if possible, and takes foreign aid to pay for it."""

    def turn(self, game: Any) -> Any:
        return game.find("assassinate") or game.find("foreign_aid") or super().turn(game)


class Forgets(Honest):
    """Challenges players with two cards, and passes for those that were caught, whose same claim can't be true."""

    def challenge(self, game: Any) -> Any:
        return game.find("challenge") if game.players[game.claim["seat"]].influence == 2 else None


def records(*bots: Any, games: int = 60, rules: str = "coup") -> tuple[Record, ...]:
    named = {f"bot{place}": bot for place, bot in enumerate(bots)}
    return play(named, games, seed=3, rules=rules, records=True).records


def test_a_game_counts_once_in_a_pattern() -> None:
    """A better move would change what follows: later decisions of the game may not occur."""
    found = review.review_bot(records("sample:honest", "sample:bluffer", games=24), "bot0", 100)
    (pattern,) = [each for each in found.patterns if each.text == "passes where challenging is better"]
    passed = [each for each in reversed(found.costly_decisions) if each.kind == "challenge"]
    most = {(each.match, each.game): each.cost.value for each in passed}
    assert len(most) < len(passed) == pattern.count
    assert pattern.cost.value <= 100 * sum(most.values()) / found.games


def test_the_first_pattern_of_a_review_is_the_bots_mistake() -> None:
    """The bot that never blocks plays against one that assassinates, so that a few games have enough to block."""
    for bot, other, patterns in (
        (
            Meek,
            Kills,
            [
                "passes where blocking with a bluff is better",
                "passes where blocking with the card in its hand is better",
            ],
        ),
        (Blind, Honest, ["challenges claims where passing is better"]),
    ):
        found = review.review_bot(records(bot, other, games=24), "bot0", 100)
        output = [pattern.text.removesuffix(" when its last card is attacked") for pattern in found.patterns]
        assert output[: len(patterns)] == patterns
        assert all(pattern.cost.low > 0 for pattern in found.patterns)
        assert found.costly_decisions == tuple(sorted(found.costly_decisions, key=lambda each: -each.cost.value))


def test_a_certain_lie_that_passes_though_its_challenge_wins_comes_first() -> None:
    """Its challenge wins all playouts: a player who couldn't prove the Duke is never imagined to have it."""
    games, lies = records(Forgets, Taxes, games=36, rules="treason-original"), 0
    found = review.review_bot(games, "bot0", 20)
    assert (found.costly_decisions[0].move, found.costly_decisions[0].better_move) == ("pass", "challenge")
    assert found.costly_decisions[0].cost.value > 0.7
    for record in games:
        lines = list(sent_lines(record, record.header.bots.index("bot0")))
        for judged in review.MoveEvaluator().judge(lines, frozenset(range(len(record.games)))):
            if judged.claim_probability == 0 and judged.cost > 0:
                lies += 1
                assert judged.win_probability + judged.cost == pytest.approx(1, abs=0.08)
    assert lies > 10


def test_taking_the_last_card_of_the_last_opponent_wins() -> None:
    """A coup can't be answered, so all playouts are 1."""
    coups = 0
    for record in records(Honest, Honest, games=12):
        for judged in review.MoveEvaluator().judge(list(sent_lines(record, 0)), frozenset(range(len(record.games)))):
            players, seat = judged.request["state"]["players"], judged.request["you"]["seat"]
            left = sum(player["influence"] for other, player in enumerate(players) if other != seat)
            if left == 1 and judged.move.get("action") == "coup":
                coups += 1
                assert judged.win_probability == 1.0
    assert coups > 2


@pytest.mark.soak
def test_estimated_chances_agree_with_outcomes() -> None:
    """All decisions are binned: where the playouts predict a loss, the game is mostly lost."""
    said: list[tuple[float, bool]] = []
    for record in records(*(sample(f"sample:{name}") for name in ("honest", "bluffer", "counter")), games=12):
        for place, bot in enumerate(record.header.bots):
            lost = set(review.lost_games(record, bot))
            for judged in review.MoveEvaluator().judge(
                list(sent_lines(record, place)), frozenset(range(len(record.games)))
            ):
                said.append((judged.win_probability, judged.game not in lost))
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.8), (0.8, 1.0)):
        bin = [(chance, won) for chance, won in said if low <= chance <= high]
        assert fmean(won for _, won in bin) == pytest.approx(fmean(chance for chance, _ in bin), abs=0.15)


def test_a_survivor_of_a_draw_has_not_lost() -> None:
    record = records(Honest, Honest, Honest, games=1)[0]
    game = replace(record.games[0], seating=(2, 0, 1), winner=None, survivors=(0, 2))
    drawn = replace(record, games=(game,))
    assert [review.lost_games(drawn, bot) for bot in record.header.bots] == [[game.game], [], []]
    assert review.lost_games(drawn, "unknown") == []


def test_a_review_is_reproducible_and_links_decisions_of_lost_games_only() -> None:
    games = records(Meek, Honest, games=12)
    done: list[None] = []
    found = review.review_bot(games, "bot0", 5, on_match=lambda: done.append(None))
    assert len(done) == len(games)
    assert (
        repr(found)
        == repr(review.review_bot(games, "bot0", 5, jobs=1))
        == repr(review.review_bot(games, "bot0", 5, jobs=2))
    )
    lost = {(record.header.match, game) for record in games for game in review.lost_games(record, "bot0")}
    assert (found.lost, found.games, len(found.curves)) == (len(lost), 5, 5)
    assert {(each.match, each.game) for each in found.costly_decisions} <= lost
    assert all(0 <= chance.estimate.value <= 1 for curve in found.curves for chance in curve.points)
    assert found.decisions == sum(len(curve.points) for curve in found.curves)


def test_an_interrupted_review_has_the_games_so_far() -> None:
    kept = records(Honest, Honest, games=24)
    lost = [len(review.lost_games(record, "bot0")) for record in kept]

    def interrupt() -> None:
        raise KeyboardInterrupt

    found = review.review_bot(kept, "bot0", 100, on_match=interrupt)
    assert (found.games, found.lost, len(kept)) == (lost[0], sum(lost), 2)


def test_hidden_cards_change_no_byte_of_a_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cards and events that the bot can't see are dealt again before each request."""
    games = records(Honest, sample("sample:bluffer"), Honest, games=12)
    found = review.review_bot(games, "bot0", 5)
    rng, others = random.Random(1), 0

    def elsewhere(header: MatchHeader, game: GameRecord) -> Iterator[Any]:
        nonlocal others
        seat = game.seating.index(header.bots.index("bot0"))
        for step in replay_game(header, game):
            before = redeal(step.before, seat, rng)
            others += before.hands != step.before.hands
            yield replace(step, before=before, events=tuple(disguise(step.events, seat, rng, header.settings.rules)))

    monkeypatch.setattr(sys.modules["arena.referee.sent_lines"], "replay_game", elsewhere)
    assert review.review_bot(games, "bot0", 5) == found
    assert others > 100
    assert found.games == 5


def test_a_review_uses_only_what_the_bot_was_sent() -> None:
    """For each request it gets the lines sent to the bot, and the bot's choice."""
    record = records(Honest, Honest, games=2)[0]
    lines = list(sent_lines(record, 0))
    judged = list(review.MoveEvaluator().judge(lines, frozenset(range(len(record.games)))))
    requests = [json.loads(each.line) for each in lines if b'"legal"' in each.line]
    assert [each.request for each in judged] == [
        each for each in requests if len(each["legal"]) > 1 and each["kind"] not in ("prove", "keep_shown")
    ]


def test_only_the_choices_of_a_judge_are_better_moves() -> None:
    games = records(Meek, Honest, games=12)

    def ask(lines: bytes) -> bytes:
        requests = [each for each in map(json.loads, lines.splitlines()) if each["type"] == "request"]
        return b"".join(b'{"id":%d,"choice":%d}\n' % (each["id"], len(each["legal"]) - 1) for each in requests)

    found = review.review_bot(games, "bot0", 9, judge=review.Judge("last", ask))
    assert "those that last would make" in found.caution
    assert {each.kind for each in found.costly_decisions} >= {"block"}
    for record in games[:1]:
        lines = list(sent_lines(record, 0))
        last = [[len(json.loads(each.line).get("legal", [0])) - 1] for each in lines]
        for judged in review.MoveEvaluator().judge(lines, frozenset(range(len(record.games))), last):
            assert judged.better_move in (judged.move, judged.request["legal"][-1])
    twice = review.Judge("twice", lambda lines: ask(lines) + ask(lines).replace(b'"choice":', b'"choice":9'))
    assert review.review_bot(games, "bot0", 1, judge=twice).decisions  # a second reply doesn't count
    with pytest.raises(review.JudgeError, match=r"silent chose no legal move for (\d+) of \1 requests"):
        review.review_bot(games, "bot0", 9, judge=review.Judge("silent", lambda _lines: b""))


def test_games_that_no_playout_knows_are_refused() -> None:
    with pytest.raises(review.UnknownRulesError, match="without the Reformation"):
        review.review_bot(records(Honest, Honest, Honest, rules="reformation", games=6), "bot0", 10)


def test_a_review_of_no_match_is_empty() -> None:
    found = review.review_bot([], "bot0", 5, jobs=2)
    assert (found.lost, found.games, found.curves) == (0, 0, ())
