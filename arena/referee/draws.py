"""What chance gave in a game after its deal, so that a reader of a record needs no engine and no key.

A draw is one word: `draw:captain+duke` for cards from the court deck, into a hand or to be sorted by an exchange;
`look:duke` for the card that an inquisitor sees where its owner didn't choose it. Draws stand in the order in which
they happened, which the moves of the game fix.
"""

from collections.abc import Sequence

from arena.coup import (
    Answer,
    Drafted,
    Event,
    Examination,
    Examining,
    Exchanging,
    HandShown,
    Lost,
    Pick,
    Reveal,
    Role,
    Shown,
    State,
)

_Cards = tuple[Role, ...]
_MOVE_CARDS = frozenset((Lost, Shown, HandShown, Drafted, Examination))


def draws(before: State, answers: Sequence[Answer], after: State, events: Sequence[Event]) -> list[str]:
    """Return the draws of one step of the engine, as `apply` took and gave it."""
    words = []
    hands = list(before.hands)
    for event in events:
        if type(event) not in _MOVE_CARDS:
            continue
        match event:
            case Lost(seat, role):
                hands[seat] = _without(hands[seat], (role,))
            case Shown(seat, role, cards) if cards is not None:
                words.append(_word("draw", _without(cards, _without(hands[seat], (role,)))))
                hands[seat] = cards
            case HandShown(seat, _, cards) if cards is not None:
                words.append(_word("draw", cards))
                hands[seat] = cards
            case Drafted(seat, cards) if cards is not None:
                pick = answers[seat]
                assert isinstance(pick, Pick)
                words.append(_word("draw", _without(cards, (pick.role,))))
            case Examination(_, target, _, role, cards) if cards is not None and role is not None:
                words.append(_word("draw", _without(cards, _without(hands[target], (role,)))))
    if isinstance(after.board.phase, Exchanging):
        words.append(_word("draw", after.drawn))
    if isinstance(after.board.phase, Examining) and after.seen is not None and not isinstance(answers[0], Reveal):
        words.append(_word("look", (after.seen,)))
    return words


def _without(cards: _Cards, gone: _Cards) -> _Cards:
    """Return a hand without some of its cards; what is left is sorted as it was."""
    left = list(cards)
    for role in gone:
        left.remove(role)
    return tuple(left)


def _word(verb: str, cards: _Cards) -> str:
    return f"{verb}:{'+'.join(role.value for role in cards)}"
