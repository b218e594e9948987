"""Matches of random players as messages to one of their bots, for kits that are tested without a referee."""

import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from arena import coup
from arena.referee import MatchSettings, MatchSpec, hello, make_legal_moves, wire

Message = dict[str, Any]

GAMES = 3  # of each of `matches`

# A match a preset; between them they have every number of seats.
MATCHES = [
    (preset, max(rules.min_seats, min(2 + place % 9, rules.max_seats)))
    for place, (preset, rules) in enumerate(coup.PRESETS.items())
]


def match(preset: str, seats: int, games: int = 2) -> list[Message]:
    """Return all messages to bot 0 in a match, from the hello to the end. Some players forfeit now and then."""
    return _played(preset, seats, games)[0]


@cache
def _played(preset: str, seats: int, games: int) -> tuple[list[Message], list[Any]]:
    """Return all messages to bot 0, and the engine's truth of it; see `truths`."""
    games = 16 if preset == "andy" else games  # to keep a shown card is rare
    rng = random.Random(f"{preset} {seats}")
    rules = coup.PRESETS[preset]
    seatings = tuple(tuple(rng.sample(range(seats), seats)) for _ in range(games))
    spec = MatchSpec(0, bytes(32), tuple(map(str, range(seats))), seatings, MatchSettings(rules=rules))
    lines, truth = [hello(spec, 0)], list[Any]()
    asked = 0
    for game, seating in enumerate(seatings):
        me = seating.index(0)
        chance = coup.KeyedRng(coup.derive_key(bytes(32), f"{preset} {seats}"), game)
        state = coup.deal_game(rules, seats, chance)
        feed = wire.LineCursor(seats)
        lines.append(
            wire.encode_game_start(
                coup.view_from_seat(state, me), game, spec.game_seed(0, game), [spec.handles[bot] for bot in seating]
            )
        )
        while state.board.phase.asked:
            question = wire.PhaseRequests(state.board, game)
            answers: list[coup.MoveOrForfeit] = []
            for seat in state.board.phase.asked:
                moves = coup.list_legal_moves(coup.view_from_seat(state, seat))
                if seat == me:
                    asked += 1
                    sight, menu = coup.view_from_seat(state, me), make_legal_moves(moves)
                    known, events = feed.known(sight), feed.take(me)
                    lines.append(question.line(sight, known, asked, events, menu, 500, 10_000))
                    truth.append(_chances(sight, known))
                answers.append(_answer(rng, moves, seat == me))
            state, happened = coup.apply_moves(state, answers, chance)
            feed.add(happened)
        lines.append(wire.encode_game_over(game, state.board, feed.take(me)))
        truth.append({"cards": sorted(state.hands[me]), "influence": [len(hand) for hand in state.hands]})
    messages = [*map(json.loads, lines), {"type": "match_over"}]
    for message in messages:  # so that no two matches share a player
        if message["type"] == "game_start":
            message["players"] = [f"{preset} {handle}" for handle in message["players"]]
    return messages, truth


def _chances(sight: coup.View, known: coup.CertainCards) -> list[dict[str, float]]:
    board = sight.board
    is_draft = isinstance(board.phase, coup.Drafting)
    found = []
    for seat in range(board.seats):
        chances = {role.value: coup.chance_held(sight, known, seat, role) for role in board.rules.roles}
        is_opponent = seat != sight.seat and (board.influence[seat] > 0 or is_draft)
        found.append({**chances, "not_duke": 1 - chances["duke"], "opponent": is_opponent})
    return found


def _answer(rng: random.Random, moves: tuple[Any, ...], own: bool) -> coup.MoveOrForfeit:
    if not own and rng.random() < 0.003:
        return coup.FORFEIT
    if isinstance(moves[0], coup.Pass) and rng.random() < 0.7:
        return moves[0]
    answer: coup.MoveOrForfeit = rng.choice(moves)
    return answer


@cache
def matches() -> list[Message]:
    """Return all matches, one after the other, as no bot gets them: so that a language is started only once.

    Handles differ from match to match; only the last match has an end.
    """
    heard = [message for preset, seats in MATCHES for message in match(preset, seats, GAMES)[:-1]]
    return [*heard, {"type": "match_over"}]


def truths() -> list[Any]:
    """Return the engine's truth of all matches, in order.

    For each request the odds of each seat, by role, and whether it is an `opponent`; for each end of a game bot 0's
    `cards`, and `influence` by seat.
    """
    return [truth for preset, seats in MATCHES for truth in _played(preset, seats, GAMES)[1]]


def requests(messages: list[Message]) -> Iterator[Message]:
    return (message for message in messages if message["type"] == "request")
