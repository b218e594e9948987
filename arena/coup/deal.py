"""Deal a game: the first seat, the coins, the cards and the sides with which it begins."""

from collections.abc import Sequence

from arena.coup.keyed_rng import KeyedRng
from arena.coup.legal_moves import hand_of
from arena.coup.rules import Allegiance, AllegianceStart, FirstPlayer, Role, Ruleset
from arena.coup.state import Board, ChoosingSide, Drafting, Phase, State, Turn

_Cards = tuple[Role, ...]


def first_seat(seating: Sequence[int], winner: int | None) -> int:
    """Return the seat, in `seating` (player of each seat), of the last game's winner; 0 without one."""
    return 0 if winner is None else seating.index(winner)


def deal_game(rules: Ruleset, seats: int, chance: KeyedRng, last_winner: int = 0) -> State:
    """Return the state at the start of a game.

    chance: the game's random numbers. last_winner: the seat of `first_seat`; read only if the last winner starts.
    Raises ValueError if the ruleset isn't for this number of seats.
    """
    problem = rules.problem(seats)
    if problem:
        raise ValueError(problem)
    actor = _pick_actor(rules, seats, chance, last_winner)
    coins = [rules.start_coins] * seats
    if seats == 2:
        coins[actor] = rules.two_player_starter_coins
    hands, deck = _deal_cards(rules, seats, chance)
    sides = _assign_sides(rules, seats, chance)
    board = Board(
        rules=rules,
        turn=1,
        actor=actor,
        deck=len(deck),
        coins=tuple(coins),
        influence=tuple(map(len, hands)),
        revealed=((),) * seats,
        phase=Drafting(tuple(range(seats))) if rules.draft else first_turn_phase(rules, actor, sides),
        sides=sides,
    )
    return State(board, hands, deck, (), 0)


def _pick_actor(rules: Ruleset, seats: int, chance: KeyedRng, last_winner: int) -> int:
    """Return the seat that has the first turn."""
    match rules.first_player:
        case FirstPlayer.RANDOM:
            return chance.number("first", 0, seats)
        case FirstPlayer.LAST_WINNER:
            return last_winner
        case FirstPlayer.SEAT_0:
            return 0


def _deal_cards(rules: Ruleset, seats: int, chance: KeyedRng) -> tuple[tuple[_Cards, ...], _Cards]:
    """Return (the hand of each seat, the deck). Before a draft hands are empty, and the deck is the third set."""
    if rules.draft:
        return ((),) * seats, tuple(chance.shuffled(sorted(rules.roles), "deal", 0))
    deck = chance.shuffled(sorted(rules.roles * rules.copies(seats)), "deal", 0)
    hands = tuple(hand_of(deck.pop() for _ in range(rules.hand)) for _ in range(seats))
    return hands, tuple(deck)


def _assign_sides(rules: Ruleset, seats: int, chance: KeyedRng) -> tuple[Allegiance, ...]:
    """Return the side of each seat; empty without sides, and if the starter chooses its side later."""
    if not rules.reformation or rules.allegiance_start is not AllegianceStart.ASSIGNED:
        return ()
    return alternate_sides(tuple(Allegiance)[chance.number("allegiance", 0, 2)], 0, seats)  # treason's program


def alternate_sides(side: Allegiance, seat_of_side: int, seats: int) -> tuple[Allegiance, ...]:
    """Return each seat's side: they alternate clockwise from the seat that has `side` (rules.md#allegiance)."""
    return tuple(side if (seat - seat_of_side) % seats % 2 == 0 else side.other for seat in range(seats))


def first_turn_phase(rules: Ruleset, starter: int, sides: Sequence[Allegiance]) -> Phase:
    """Return the phase in which the first turn begins: the choice of a side if sides are missing, else the turn."""
    return ChoosingSide((starter,)) if rules.reformation and not sides else Turn((starter,))
