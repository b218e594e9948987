"""Redeal the cards that a seat can't see, to verify that its messages don't depend on them.

The seat must receive the same messages in both games."""

import random
from collections.abc import Sequence
from dataclasses import replace

from arena import coup


def visible_roles(state: coup.State, seat: int) -> dict[int, coup.Role]:
    """Return the cards in other hands that the seat sees in the present state, by their owners."""
    match state.board.phase:
        case coup.DecidingKeepShown(_, _, claim):  # on the table, face up
            cards = {claim.seat: claim.role}
        case coup.Examining(_, pending) if seat == state.board.actor and state.seen and pending.target is not None:
            cards = {pending.target: state.seen}
        case _:
            return {}
    return {owner: role for owner, role in cards.items() if owner != seat}


def redeal(state: coup.State, seat: int, rng: random.Random) -> coup.State:
    """Return the state with all cards dealt again that the seat doesn't see: other hands and discards, deck, drawn."""
    acts = seat == state.board.actor
    fixed = visible_roles(state, seat)
    hidden = [card for other, hand in enumerate(state.hands) if other != seat for card in hand]
    hidden += (card for other, cards in enumerate(state.discards) if other != seat for card in cards)
    hidden += state.deck
    hidden += () if acts else state.drawn
    for role in fixed.values():
        hidden.remove(role)
    rng.shuffle(hidden)

    def take(count: int, *more: coup.Role) -> tuple[coup.Role, ...]:
        return tuple(sorted([*more, *(hidden.pop() for _ in range(count - len(more)))]))

    def others(
        all_cards: Sequence[tuple[coup.Role, ...]], fixed: dict[int, coup.Role]
    ) -> tuple[tuple[coup.Role, ...], ...]:
        return tuple(
            cards if other == seat else take(len(cards), *([fixed[other]] if other in fixed else []))
            for other, cards in enumerate(all_cards)
        )

    hands = others(state.hands, fixed)
    discards = others(state.discards, {})
    drawn = state.drawn if acts else take(len(state.drawn))
    seen = state.seen
    if seen is not None and not acts:
        seen = rng.choice(hands[target_of(state)])  # only the inquisitor knows which card it sees
    return state._replace(hands=hands, discards=discards, drawn=drawn, seen=seen, deck=tuple(hidden))


def target_of(state: coup.State) -> int:
    """Return the seat that the pending examination targets."""
    phase = state.board.phase
    assert isinstance(phase, coup.Revealing | coup.Examining)
    assert phase.pending.target is not None
    return phase.pending.target


def disguise(events: Sequence[coup.Event], seat: int, rng: random.Random, rules: coup.Ruleset) -> list[coup.Event]:
    """Return the events with other cards in the fields that are private to other seats."""

    def other(cards: tuple[coup.Role, ...] | None) -> tuple[coup.Role, ...] | None:
        return None if cards is None else tuple(rng.choices(rules.roles, k=len(cards)))

    output: list[coup.Event] = []
    for event in events:
        if isinstance(event, coup.Shown | coup.Exchanged | coup.HandShown | coup.Drafted) and event.seat != seat:
            output.append(replace(event, cards=other(event.cards)))
        elif isinstance(event, coup.CardExamined) and event.target != seat:
            role = event.role if event.seat == seat else rng.choice(rules.roles)
            output.append(replace(event, role=role, cards=other(event.cards)))
        else:
            output.append(event)
    return output
