"""Tests that the page's modules agree with the engine, the referee and the event texts. Node runs them once for all."""

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

import arena.replay
from arena import coup
from arena.referee import Record, move_payload, sent_lines, wire
from arena.replay import list_steps, make_replay_object, pack_matches
from protocol.event_text import (
    EVENT_TEXTS,
    YOU,
    describe_end,
    describe_event,
    describe_events,
    describe_move,
    to_second_person,
)
from protocol.kits.coup_kit import Bot
from protocol.kits.coup_kit import Game as Followed
from tests.replay.games import random_game
from tests.replay.samples import sample

pytestmark = pytest.mark.needs("node", None if shutil.which("node") else "it isn't installed")

RULES = {**coup.PRESETS, "a draw": replace(coup.PRESETS["coup"], turn_limit=3)}
TABLES = [(name, seats) for name, rules in RULES.items() for seats in (2, 3, 6) if not rules.problem(seats)]


# The viewer, and the viewers for whom the replay was made.
SEATS: list[tuple[int, tuple[int, ...]]] = [(-1, ()), (0, (0,)), (1, (0, 1)), (-1, (1,))]

ENDS = [*coup.GameEnding, "earthquake", "toString"]


class Follower(Bot):
    """A bot whose game can be read."""

    def match_start(self, game: Followed) -> None:
        self.game = game


class Game:
    """One recorded game with the output of the modules for it."""

    def __init__(self, record: Record, match: dict[str, Any], said: dict[str, Any]) -> None:
        self.record = record
        self.rules: coup.Ruleset = record.header.settings.rules
        self.game = match["games"][0]
        self.names = match["bots"]
        self.said = said
        self.moments = list(list_steps(record.header, record.games[0]))
        self.states = [self.moments[0].before, *(moment.after for moment in self.moments)]


@pytest.fixture(scope="module")
def twins() -> dict[str, Any]:
    """Give the output of the modules for a game of each table."""
    records = [random_game(RULES[name], seats, seed=3) for name, seats in TABLES]
    matches = [make_replay_object(record) for record in records]
    asked = {
        "modules": f"{(Path(arena.replay.__file__).parent / 'static').as_uri()}/",
        "words": EVENT_TEXTS,
        "matches": matches,
        "ends": ENDS,
        "numbers": [-0.04, -0.06, 24.14],
        "cuts": [
            {"whole": match, "cut": make_replay_object(record, viewers=viewers), "seat": seat}
            for record, match in zip(records, matches, strict=True)
            if len(record.header.bots) < 6
            for seat, viewers in SEATS
        ],
        "packed": pack_matches([sample("reformation-inquisitor", 5)]),
    }
    ran = subprocess.run(
        ["node", Path(__file__).with_name("twins.mjs")],
        input=json.dumps(asked).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    answer: dict[str, Any] = json.loads(ran.stdout)
    games = [Game(record, match, said[0]) for record, match, said in zip(records, matches, answer["said"], strict=True)]
    return {
        "unpacked": answer["unpacked"],
        "ends": answer["ends"],
        "tenths": answer["tenths"],
        "cuts": answer["cuts"],
        "honest": answer["honest"],
        **dict(zip(TABLES, games, strict=True)),
    }


@pytest.fixture(params=TABLES, ids=lambda table: f"{table[0]}-{table[1]}")
def game(request: pytest.FixtureRequest, twins: dict[Any, Any]) -> Game:
    found: Game = twins[request.param]
    return found


def test_a_number_that_rounds_to_0_has_no_minus_sign(twins: dict[str, Any]) -> None:
    assert twins["tenths"] == ["0.0", "-0.1", "24.1"]


def test_the_page_folds_a_game_to_the_states_of_the_engine(game: Game) -> None:
    """Compared are coins, hands, face-up cards, living seats, sides, reserve, deck and drawn cards, at each step."""
    for state, moment in zip(game.states, game.said["moments"], strict=True):
        board = state.board
        assert moment["coins"] == list(board.coins)
        assert [sorted(hand) for hand in moment["hands"]] == [list(hand) for hand in state.hands]
        assert [len(hand) for hand in moment["hands"]] == list(board.influence)
        assert [sorted(cards) for cards in moment["revealed"]] == [sorted(cards) for cards in board.revealed]
        assert moment["sides"] == list(board.sides)
        assert moment["reserve"] == board.reserve
        assert moment["deck"] == board.deck
        assert sorted(moment["drawn"]) == sorted(state.drawn)
        if moment["step"]:
            assert moment["out"] == [not hand for hand in state.hands] or moment["step"]["kind"] == "draft"


def test_a_player_is_told_of_events_in_the_second_person_as_in_the_terminal(game: Game) -> None:
    for you, told in enumerate(game.said["second"]):
        names = [YOU if seat == you else name for seat, name in enumerate(game.names)]
        for moment, texts in zip(game.moments, told, strict=True):
            assert texts == [to_second_person(describe_event(event, names)) for event in moment.payloads(you)]


def test_a_claim_is_true_where_its_owner_has_the_card(game: Game) -> None:
    """Source: the engine's state at the claim; the rulebook's embezzler claims not to have a duke."""
    claims = {(claim["index"], claim["seat"]): claim for claim in game.said["moments"][-1]["claims"]}
    for index, step in enumerate(game.game["steps"], start=1):
        for event in step["events"]:
            role = event.get("claim") or (event["role"] if event["event"] == "block" else None)
            if role:
                hand = game.moments[index - 1].before.hands[event["seat"]]
                claim = claims.pop((index, event["seat"]))
                assert claim["role"] == role
                assert claim["honest"] == (("duke" not in hand) if role == "not_duke" else (role in hand))
    assert claims == {}


def test_a_claim_ends_as_it_was_resolved(game: Game) -> None:
    """Source: docs/reference/protocol/events.md: shown, shown_hand, unproven, resolved."""
    said = [claim["outcome"] for claim in game.said["moments"][-1]["claims"]]
    events = [event["event"] for step in game.game["steps"] for event in step["events"]]
    assert said.count("proven") == events.count("shown") + events.count("shown_hand")
    assert said.count("caught") == events.count("unproven")
    last = game.said["moments"][-1]
    assert {claim["turn"] for claim in last["claims"] if claim["outcome"] == "open"} <= {last["turn"]}


def test_a_seats_copy_of_an_event_is_what_the_referee_sent_it(game: Game) -> None:
    for seat, steps in enumerate(game.said["seen"]):
        for moment, seen in zip(game.moments, steps, strict=True):
            sent = [
                json.loads(wire.encode_event(moment.first_event + place, coup.event_for_seat(event, seat)))
                for place, event in enumerate(moment.events)
            ]
            assert seen == sent


def test_a_seat_knows_its_own_cards_and_no_others_but_those_it_saw(game: Game) -> None:
    for seat, known in enumerate(game.said["known"]):
        for state, hands in zip(game.states, known, strict=True):
            assert sorted(hands[seat]) == list(state.hands[seat])
            for other, cards in enumerate(hands):
                left = list(state.hands[other])
                for card in cards:
                    left.remove(card)


def test_private_answers_are_shown_to_no_seat(game: Game) -> None:
    """reference/protocol/hidden-information.md: passes, challenges that came too late, the cards an exchange kept."""
    for seat, steps in enumerate(game.said["answers"]):
        for step, shown in zip(game.game["steps"], steps, strict=True):
            others = [given for given in shown if given[0] != seat]
            assert others == [] or step["kind"] not in ("challenge", "block", "exchange", "examine_show", "draft")
            assert all(time is None for _, _, time in others)


def test_odds_are_those_of_the_kit_at_every_request(twins: dict[Any, Any]) -> None:
    """The page thus knows what is certain as bots do. Source: the kit in Python, with the lines sent to a seat."""
    certain: Counter[float] = Counter()
    for game, looker in ((twins[table], looker) for table in TABLES for looker in range(table[1])):
        asked = [
            (index, moment.kind)
            for index, moment in enumerate(game.moments)
            if any(given.seat == looker for given in moment.answers)
        ]
        kit = Follower()
        for line in sent_lines(game.record, game.record.games[0].seating[looker]):
            message = json.loads(line.line)
            kit.reply(message)
            if message["type"] != "request":
                continue
            index, kind = asked.pop(0)
            assert kind == message["kind"]
            for owner, said in enumerate(game.said["chances"][looker][index]):
                expected = [kit.game.odds(owner, role) for role in (*game.rules.roles, "not_duke")]
                assert said == pytest.approx(expected, abs=1e-9)
                lacks = kit.game.players[owner].influence and kit.game.players[owner].caught
                certain.update(said if owner != looker and lacks else ())
        assert not asked
    assert certain[0] > 10


def test_both_have_the_same_event_texts(game: Game) -> None:
    for step, texts, stories in zip(game.game["steps"], game.said["told"], game.said["stories"], strict=True):
        assert texts == [describe_event(event, game.names) for event in step["events"]]
        assert stories == [
            describe_events(step["events"], game.names),
            describe_events(step["events"], game.names, coins=True),
        ]


def test_both_have_the_same_texts_for_ends(twins: dict[Any, Any]) -> None:
    assert twins["ends"] == [describe_end(reason) for reason in ENDS]


def test_both_read_the_same_moves(game: Game) -> None:
    for step, moves, texts in zip(game.game["steps"], game.said["moves"], game.said["movesTold"], strict=True):
        for (_, word, _), move, text in zip(step["answers"], moves, texts, strict=True):
            answer = coup.parse_move(word)
            assert answer != coup.FORFEIT
            payload = move_payload(answer)
            assert move == payload, coup.format_move(answer)
            assert text == describe_move(payload, game.names)


def test_a_moment_s_own_link_leads_to_it(game: Game) -> None:
    assert game.said["placed"] == list(range(len(game.states)))


def test_a_match_is_unchanged_by_the_page(twins: dict[Any, Any]) -> None:
    """Only the numbers of events are missing, which their order implies."""
    match = sample("reformation-inquisitor", 5)
    for game in match["games"]:
        for step in game["steps"]:
            for event in step["events"]:
                del event["n"]
    assert twins["unpacked"] == [match]


def test_a_match_restricted_to_a_seat_shows_it_the_same(twins: dict[Any, Any]) -> None:
    """Compared at each moment are cards, events, answers, odds and claims."""
    drawn = 0
    for whole, cut in twins["cuts"]:
        assert cut == whole
        drawn += sum(None in moment["drawn"] for game in cut for moment in game)
    assert len(twins["cuts"]) == len(SEATS) * sum(seats < 6 for _, seats in TABLES)
    assert drawn


def test_the_turning_point_is_the_last_moment_at_which_the_winner_was_behind(game: Game) -> None:
    found = [each["index"] for each in game.said["highlights"] if each["heading"] == "The turning point"]
    winner = game.game["winner"]
    if winner is None:
        assert found == []
        return
    ranks = [
        [(len(state.hands[seat]), state.board.coins[seat]) for seat in range(len(game.names))] for state in game.states
    ]
    behind = [index for index, rank in enumerate(ranks) if max(rank) > rank[winner]]
    assert found == [index + 1 for index in behind[-1:]]


def test_a_restricted_page_knows_only_its_viewers_true_claims(twins: dict[Any, Any]) -> None:
    seen = set()
    for (_, viewers), games in zip(cycle(SEATS), twins["honest"], strict=False):
        for claims in games:
            assert all((honest is None) is (seat not in viewers) for seat, honest in claims)
            seen |= {honest for _, honest in claims}
    assert seen == {None, True, False}
