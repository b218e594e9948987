"""Random games by the engine alone, of every preset and of random rules, for several tests.

A game is played once for each process of pytest, and always the same.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from arena import coup

Game = tuple[str, int, int, float]  # the ruleset's name, seats, seed, probability of a forfeit at each answer

NUMBER = 3  # of each game in its match
# Each preset has its fewest seats, its most and some between.
GAMES: list[Game] = [
    *(("coup", seats, seed, 0.02 * seed) for seats in range(2, 11) for seed in range(2)),
    *(("duel", 2, seed, 0.02 if seed % 3 == 2 else 0.0) for seed in range(9)),
    *(
        (name, seats, seed, 0.01 * (seed % 2))
        for name, rules in coup.PRESETS.items()
        if name not in ("coup", "duel")
        for seed, seats in enumerate(sorted({*coup.seat_counts(rules)[::4], coup.seat_counts(rules)[-1], 3, 5}))
    ),
    *((f"random {seed}", 2 + seed % 9, seed, 0.01 if seed % 4 == 3 else 0.0) for seed in range(45)),
    *((f"random {seed}", 2, seed, 0.0) for seed in range(100, 110)),  # half of them with a draft
    *((name, 4, seed, 0.05) for name in ("reformation-inquisitor", "andy") for seed in range(10, 14)),
]
# Those for tests that do much with each step.
SOME = [game for game in GAMES if game[1] <= 6 and game[3] == 0.0]

# Values of random rules where a field is a number: small, large, and larger than in any preset.
NUMBERS: dict[str, list[int | None]] = {
    "start_coins": [0, 2, 2, 5, 12],
    "two_player_starter_coins": [0, 1, 3],
    "forced_coup": [0, 7, 10, 12, 13],
    "exchange_draw": [None, 1, 2],
    "turn_limit": [None, None, 12, 60],
}
RARE = {"exchange", "examine", "embezzle", "convert"}


@dataclass(frozen=True)
class Step:
    before: coup.State
    answers: tuple[coup.MoveOrForfeit, ...]
    after: coup.State
    events: tuple[coup.Event, ...]
    chance: coup.KeyedRng


def rules_of(name: str, seats: int) -> coup.Ruleset:
    """Return the preset of this name, or for "random 7" a ruleset made from that number, for this many seats."""
    if not name.startswith("random "):
        return coup.PRESETS[name]
    rng = random.Random(name)
    fields: dict[str, Any] = {
        rule.name: rng.choice(NUMBERS.get(rule.name) or [coup.to_json_value(option.value) for option in rule.options])
        for rule in coup.FIELDS
        if rule.name in NUMBERS or rule.options
    }
    if fields["exchange_return"] == "claimed_role":
        fields["exchange_draw"] = 1
    fields["draft"] = fields["draft"] and seats == 2
    rules = coup.replace_fields(coup.COUP, {"name": name, **fields})
    assert rules.problem(seats) is None
    return rules


def choose(sight: coup.View, rng: random.Random, calm: float) -> coup.MoveOrForfeit:
    """Choose at random, but pass with the probability `calm`, mostly prove what can be, and like rare actions."""
    moves = coup.list_legal_moves(sight)
    match sight.board.phase:
        case coup.ChallengeWindow() | coup.BlockWindow():
            return coup.PASS if rng.random() < calm else rng.choice(moves[1:])
        case coup.Proving():
            return moves[0] if rng.random() < 0.8 else moves[-1]
        case coup.Turn() if rng.random() < 0.3:
            return rng.choice(
                [move for move in moves if isinstance(move, coup.ActionMove) and move.action in RARE] or moves
            )
    return rng.choice(moves)


@cache
def played(name: str, seats: int, seed: int, forfeit: float = 0.0) -> list[Step]:
    """Play a game; each answer is a forfeit with the given probability."""
    rng = random.Random(f"{seats}/{seed}")
    calm = rng.choice([0.3, 0.7, 0.9, 0.97])
    chance = coup.KeyedRng(bytes([seats, seed % 256]) * 16, NUMBER)
    state = coup.deal_game(rules_of(name, seats), seats, chance, seed % seats)
    steps = []
    while asked := state.board.phase.asked:
        answers = tuple(
            coup.FORFEIT if rng.random() < forfeit else choose(coup.view_from_seat(state, s), rng, calm) for s in asked
        )
        after, events = coup.apply_moves(state, answers, chance)
        steps.append(Step(state, answers, after, events, chance))
        state = after
    return steps


def steps_of(games: Iterable[Game]) -> Iterator[Step]:
    for game in games:
        yield from played(*game)


def say(event: coup.Event) -> str:
    """Describe an event, with the private role of an examination if it is in this copy."""
    match event:
        case coup.ActionDeclared(seat, action, target, claim, denies):
            claims = f" as {'not_' * denies}{claim}" if claim else ""
            return f"{seat} {action}" + ("" if target is None else f" {target}") + claims
        case coup.Coins(seat, delta, reason):
            return f"{seat} {delta:+d} {reason}"
        case coup.Challenged(seat, claimant, role, denies):
            return f"{seat} challenges {claimant} {'not_' * denies}{role}"
        case coup.Shown(seat, role, _, replaced):
            return f"{seat} shows {role}" + ("" if replaced else " and keeps it")
        case coup.Unproven(seat, role, denies):
            return f"{seat} unproven {'not_' * denies}{role}"
        case coup.Lost(seat, role, reason):
            return f"{seat} loses {role} by {reason}"
        case coup.Exiled(seat):
            return f"{seat} exiled"
        case coup.Blocked(seat, role):
            return f"{seat} blocks as {role}"
        case coup.Exchanged(seat, count):
            return f"{seat} exchanged {count}"
        case coup.Forfeited(seat, roles):
            return f"{seat} forfeits {'+'.join(roles) or 'nothing'}"
        case coup.HandShown(seat, roles):
            return f"{seat} shows all {'+'.join(roles)}"
        case coup.Drafted(seat):
            return f"{seat} drafted"
        case coup.Sided(seat, sides):
            return f"{seat} sides {' '.join(sides)}"
        case coup.Converted(seat, target, allegiance):
            return f"{seat} converts {target} to {allegiance}"
        case coup.CardExamined(seat, target, replaced, role):
            return f"{seat} examined {target}{f' {role}' if role else ''} {'replaced' if replaced else 'handed back'}"
        case coup.Resolved(seat, action, target, how):
            return f"{seat} {action}" + ("" if target is None else f" {target}") + f" {how.replace('_', ' ')}"
