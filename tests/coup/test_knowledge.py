"""Certain knowledge of a seat: compared with all deals that the seat can't rule out, and single cases."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arena import coup
from tests.cases import each
from tests.games import GAMES, Game, Step, played

Scene = Any  # the class in conftest.py


class World(NamedTuple):
    hands: tuple[tuple[coup.Role, ...], ...]
    deck: tuple[coup.Role, ...]
    drawn: tuple[coup.Role, ...] = ()
    discards: tuple[tuple[coup.Role, ...], ...] = ()
    seen: coup.Role | None = None


COMPILED = not str(sys.modules[coup.KeyedRng.__module__].__file__).endswith(".py")
INTERPRETED = pytest.mark.needs("interpreted", "a compiled KeyedRng has no subclasses" if COMPILED else None)


class Tops(coup.KeyedRng):
    """Chance that shuffles given cards to the top of the deck."""

    def __init__(self, tops: Sequence[coup.Role], number: int) -> None:
        self.tops = tops
        self.drawn = number

    def shuffled(self, cards: Sequence[coup.Role], purpose: str, event: int) -> list[coup.Role]:  # type: ignore[override]
        return ordered(cards, self.tops)

    def number(self, purpose: str, event: int, below: int) -> int:
        return self.drawn % below


def ordered(cards: Sequence[coup.Role], tops: Sequence[coup.Role]) -> list[coup.Role]:
    """Return cards in an order in which those of `tops` that are among them are drawn first."""
    left, first = [*cards], []
    for role in tops:
        if role in left:
            left.remove(role)
            first.append(role)
    return [*sorted(left), *reversed(first)]


def possible_starts(state: coup.State, seat: int) -> set[World]:
    if state.board.rules.draft:
        return {World(state.hands, tuple(sorted(state.deck)))}
    hidden = Counter([*state.deck, *(card for other, hand in enumerate(state.hands) if other != seat for card in hand)])
    size, others = len(state.hands[seat]), len(state.hands) - 1
    worlds = set()
    for hands in product([*combinations_with_replacement(sorted(hidden), size)], repeat=others):
        left = hidden.copy()
        left.subtract(card for hand in hands for card in hand)
        if min(left.values()) >= 0:
            worlds.add(World((*hands[:seat], state.hands[seat], *hands[seat:]), tuple(sorted(left.elements()))))
    return worlds


def follow_worlds(worlds: set[World], step: Step, seat: int) -> set[World]:
    """Return the worlds that are possible after a step for a seat: the engine plays on each world in all ways."""
    before, after = step.before, step.after
    board, rules = before.board, before.board.rules
    output = [coup.event_for_seat(event, seat) for event in step.events]
    if not (
        any(isinstance(event, (*coup.concerning(rules), coup.Challenged)) for event in output)
        or before.drawn != after.drawn
        or before.seen != after.seen
        or isinstance(board.phase, coup.Proving)
    ):
        return worlds
    shuffled = sum(len(e.roles) if isinstance(e, coup.HandShown) else 1 for e in output if has_return_first(e, rules))
    at_first = (
        2 if any(isinstance(e, coup.Drafted) for e in output) else any(is_replaced(e) for e in output) and not shuffled
    )
    if after.drawn and not before.drawn:
        shuffled, at_first = (shuffled + len(after.drawn), 0) if shuffled else (0, len(after.drawn))
    shuffles = [*product(rules.roles, repeat=shuffled)]
    now = coup.view_from_seat(after, seat)
    found: set[World] = set()
    for world in worlds:
        for top, shuffle in product(set(permutations(world.deck, at_first)), shuffles):
            deck = ordered(world.deck, top)
            state = coup.State(board, world.hands, tuple(deck), world.drawn, before.events, world.discards, world.seen)
            for answers in ways(state, step, seat):
                for number in range(2 if after.seen is not None else 1):
                    end, events = coup.apply_moves(state, answers, Tops(shuffle, number))
                    if (
                        coup.view_from_seat(end, seat) == now
                        and [coup.event_for_seat(event, seat) for event in events] == output
                    ):
                        found.add(World(end.hands, tuple(sorted(end.deck)), end.drawn, end.discards, end.seen))
    return found


def is_replaced(event: coup.Event) -> bool:
    """Return whether an event is an examination after which the card was replaced."""
    return isinstance(event, coup.CardExamined) and event.replaced


def has_return_first(event: coup.Event, rules: coup.Ruleset) -> bool:
    """Return whether cards went back to the deck before others were drawn."""
    if is_replaced(event):
        return coup.to_json_value(rules.examine_replace) == "return_first"
    return isinstance(event, coup.HandShown) or (isinstance(event, coup.Shown) and event.replaced)


def ways(state: coup.State, step: Step, seat: int) -> Iterator[list[coup.MoveOrForfeit]]:
    """Yield all answers that are possible for a seat that doesn't see them."""
    phase = state.board.phase
    open_window = isinstance(phase, coup.ChallengeWindow | coup.BlockWindow)
    choices: list[Sequence[coup.MoveOrForfeit]] = [
        [answer]
        if open_window or other == seat or answer == coup.FORFEIT
        else coup.list_legal_moves(coup.view_from_seat(state, other))
        for other, answer in zip(phase.asked, step.answers, strict=True)
    ]
    yield from map(list, product(*choices))


def certain(worlds: set[World], view: coup.View) -> tuple[coup.CertainCards, dict[coup.Role, int]]:
    """Return what is true in all worlds; and for each role the cards that then must be in the deck by their number."""
    board, rules = view.board, view.board.rules
    copies = 3 if rules.draft else rules.copies(board.seats)
    face_up = [card for cards in board.revealed for card in cards]
    mine = [*view.cards, *view.drawn, *view.discards]
    unseen = {role: copies - [*face_up, *mine].count(role) for role in rules.roles}
    players, places = [], Counter[coup.Role]()
    for seat, influence in enumerate(board.influence):
        if seat == view.seat or not influence:
            continue
        hands = {world.hands[seat] for world in worlds}
        has = tuple(role for role in rules.roles for _ in range(min(hand.count(role) for hand in hands)))
        lacks = tuple(role for role in rules.roles if unseen[role] and not any(role in hand for hand in hands))
        if has or lacks:
            players.append(coup.CertainHand(seat, has, lacks))
        for role in rules.roles:
            places[role] += has.count(role) + (0 if role in lacks else influence - len(has))
    hidden = {cards for world in worlds for seat, cards in enumerate(world.discards) if seat != view.seat}
    for role in rules.roles if hidden else ():
        places[role] += any(role in cards for cards in hidden)
    least = {role: min(world.deck.count(role) for world in worlds) for role in rules.roles}
    deck = tuple(role for role in rules.roles for _ in range(least[role]))
    return coup.CertainCards(tuple(players), deck), {role: unseen[role] - places[role] for role in rules.roles}


def heard(seat: int, events: Iterable[coup.Event], rules: coup.Ruleset) -> list[coup.Event]:
    """Return a seat's copies of the events that concern its knowledge."""
    return [coup.event_for_seat(event, seat) for event in events if type(event) in coup.concerning(rules)]


def follow_game(steps: Sequence[Step], seat: int) -> Iterator[tuple[Step, coup.CertainCards, set[World]]]:
    """Yield the steps before which a seat is asked, with its knowledge and all deals that it can't rule out."""
    worlds = possible_starts(steps[0].before, seat)
    knowledge: coup.Knowledge | None = None
    news: list[coup.Event] = []
    for step in steps:
        if seat in step.before.board.phase.asked:
            view = coup.view_from_seat(step.before, seat)
            knowledge = knowledge or coup.Knowledge(view)
            yield step, knowledge.update(view, news), worlds
            news = []
        news += heard(seat, step.events, step.before.board.rules)
        worlds = follow_worlds(worlds, step, seat)
        assert World(step.after.hands, tuple(sorted(step.after.deck)), *step.after[3:4], *step.after[5:]) in worlds


def games() -> list[tuple[Game, int]]:
    """List small games, with the observing seat: of every preset at two and three seats, and of random rules."""
    two = [
        (name, 2, seed, 0.01 * (seed % 2))
        for name in coup.PRESETS
        for seed in (3,)
        if 2 in coup.seat_counts(coup.PRESETS[name])
    ]
    some = [("random 100", 2, 100, 0.0), ("random 111", 2, 111, 0.0), ("random 4", 2, 4, 0.0)]
    some += [("random 1006", 2, 500, 0.0), ("random 1236", 2, 602, 0.0), ("random 1041", 2, 500, 0.0)]  # after a draft
    some += [("random 0", 3, 0, 0.0)]
    three = [(name, 3, 2, 0.0) for name in ("classroom", "inquisitor", "treason", "blog", "reformation-inquisitor")]
    return [(game, seat) for seat, game in enumerate([*two, *three, *some])]


def check(game: Game, seat: int) -> Counter[str]:
    """Play a game, check that a seat knows exactly what is certain, and count what it knows."""
    counted = Counter[str]()
    for step, known, worlds in follow_game(played(*game), seat):
        exact, by_number = certain(worlds, coup.view_from_seat(step.before, seat))
        assert known.players == exact.players
        output, least = Counter(known.deck), Counter(exact.deck)
        assert not output - least
        assert all(least[role] <= max(output[role], by_number[role]) for role in least)
        counted += Counter(asked=1, deck=len(known.deck))
        for player in known.players:
            counted += Counter(has=len(player.has), lacks=len(player.lacks))
    return counted


@INTERPRETED
def test_a_seat_knows_exactly_what_is_true_in_every_possible_deal() -> None:
    """The comparison leaves out what follows from the numbers of hidden cards in the deck."""
    counted = sum((check(game, seat % game[1]) for game, seat in games()), Counter[str]())
    assert min(counted[word] for word in ("has", "lacks", "deck")) > 50


@INTERPRETED
@pytest.mark.parametrize("name", [name for name, rules in sorted(coup.PRESETS.items()) if 4 in coup.seat_counts(rules)])
def test_at_four_seats_nothing_certain_is_missed(name: str) -> None:
    check((name, 4, 1, 0.0), 1)


@each("game", GAMES)
def test_certain_knowledge_is_true_in_every_game(game: Game) -> None:
    news: list[list[coup.Event]] = [[] for _ in range(game[1])]
    minds: dict[int, coup.Knowledge] = {}
    before: dict[int, coup.CertainCards] = {}
    for step in played(*game):
        hands, board = step.before.hands, step.before.board
        for seat in board.phase.asked:
            view = coup.view_from_seat(step.before, seat)
            mind = minds.get(seat) or minds.setdefault(seat, coup.Knowledge(view))
            known = mind.update(view, news[seat])
            news[seat] = []
            assert mind.update(view, []) == known
            if known is before.get(seat):
                continue
            before[seat] = known
            assert not Counter(known.deck) - Counter(step.before.deck)
            for player in known.players:
                assert [*player.has, *player.lacks]
                assert not Counter(player.has) - Counter(hands[player.seat])
                assert not {*player.lacks} & {*hands[player.seat]}
                assert {coup.chance_held(view, known, player.seat, role) for role in player.has} <= {1}
                assert {coup.chance_held(view, known, player.seat, role) for role in player.lacks} <= {0}
            for other, role in product(range(game[1]), board.rules.roles):
                chance = coup.chance_held(view, known, other, role)
                assert 0 <= chance <= 1
                assert chance not in (0, 1) or (role in hands[other]) == chance
        for seat in range(game[1]):
            news[seat] += heard(seat, step.events, board.rules)


# What seats know at all requests of a game: how many cards of the deck, and a digest of all lists. Neither fewer are
# listed, nor those that follow from the rest.
LISTED: list[tuple[Game, int, str]] = [
    (("coup", 3, 0, 0.0), 51, "8e0f4807b210"),
    (("coup", 4, 0, 0.0), 72, "4aa4e25785d0"),
    (("coup", 7, 0, 0.0), 104, "ee60cd0a7e98"),
    (("treason", 3, 1, 0.01), 50, "dea969ec04c4"),
    (("inquisitor", 3, 1, 0.01), 58, "df853fdd635d"),
    (("blog", 5, 2, 0.0), 19, "b097da52cca7"),
    (("random 7", 9, 7, 0.01), 67, "15a819241988"),
    (("random 9", 2, 9, 0.0), 13, "3e9be261a626"),
    (("random 12", 5, 12, 0.0), 78, "8a5557512868"),
    (("random 108", 2, 108, 0.0), 20, "103208c1443c"),
    (("random 109", 2, 109, 0.0), 52, "8ded9ab1b38d"),
    (("random 330", 2, 330, 0.0), 5, "0c8bacae0d03"),
    (("random 1502", 7, 1502, 0.0), 14, "5f684e4c6b9f"),
]


@each("game, count, digest", LISTED)
def test_seats_are_told_what_does_not_follow_from_the_rest(game: Game, count: int, digest: str) -> None:
    steps = played(*game)
    minds: dict[int, coup.Knowledge] = {}
    news: list[list[coup.Event]] = [[] for _ in range(game[1])]
    known: list[coup.CertainCards] = []
    for step in steps:
        for seat in step.before.board.phase.asked:
            view = coup.view_from_seat(step.before, seat)
            mind = minds.get(seat) or minds.setdefault(seat, coup.Knowledge(view))
            known.append(mind.update(view, news[seat]))
            news[seat] = []
        for seat in range(game[1]):
            news[seat] += heard(seat, step.events, step.before.board.rules)
    listed = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:12]
    assert (sum(len(certain.deck) for certain in known), listed) == (count, digest)


def test_at_five_seats_facts_about_several_hands_are_kept(scene: Scene) -> None:
    """I have a duke; C had one when B had put one back; so D and E had none."""
    game = scene("duke captain / duke assassin / duke contessa / contessa contessa / captain captain", actor=1)
    mind = coup.Knowledge(game.sees(0))
    game.play("tax; - - ! -; show:duke; lose:captain; tax; ! - - -; show:duke; lose:contessa")
    known = mind.update(game.sees(0), heard(0, game.events, coup.COUP))
    assert known.players == tuple(coup.CertainHand(seat, (), (coup.Role.DUKE,)) for seat in (3, 4))


def test_a_shown_card_limits_the_other_hands_together(scene: Scene) -> None:
    """C had a duke, and B both others; so D had none, and still has none when B's are face up."""
    game = scene("captain assassin / duke duke / duke contessa / contessa contessa", actor=2)
    mind = coup.Knowledge(game.sees(0))
    game.play("tax; ! - -; show:duke; lose:contessa; income; income")
    mind.update(game.sees(0), heard(0, game.events, coup.COUP))
    news = len(game.events)
    game.play("steal:2; ! - -; decline; lose:duke; income; income; income; steal:2; ! - -; decline")
    known = mind.update(game.sees(0), heard(0, game.events[news:], coup.COUP))
    assert coup.CertainHand(3, (), (coup.Role.DUKE,)) in known.players


@INTERPRETED
def test_at_five_seats_nothing_certain_is_missed() -> None:
    check(("blog", 5, 25, 0.0), 4)


def test_a_player_that_draws_no_card_still_lacks_a_role(scene: Scene) -> None:
    """I hold an ambassador and return two; B exchanges; C still lacks it, at ten seats, too."""
    for others in ("captain duke / duke duke", "captain duke / duke duke" + " / assassin contessa" * 2):
        game = scene(f"ambassador captain / {others}", deck="assassin captain ambassador ambassador")
        mind = coup.Knowledge(game.sees(0))
        count = len(others.split("/"))
        game.play(f"exchange; {'- ' * count}")
        mind.update(game.sees(0), [])
        game.play("keep:ambassador+captain")
        game.play(f"exchange; {'- ' * count}; keep:captain+duke")
        known = mind.update(game.sees(0), heard(0, game.events, coup.COUP))
        assert known.players == tuple(
            coup.CertainHand(seat, (), (coup.Role.AMBASSADOR,)) for seat in range(2, count + 1)
        )
        assert known.deck == ()


# A case a line: its name, and its steps, each with the line that a seat is sent, and perhaps `knows`, what holds then:
# `odds` by seat and role, as fractions, and `known` by seat, the cards that it holds.
CASES = Path(__file__).with_name("cases.jsonl")


@each("case", [json.loads(line) for line in CASES.read_text().splitlines()], lambda case: case["case"])
def test_knowledge_after_each_request_of_the_cases(case: dict[str, Any]) -> None:
    rules = coup.replace_fields(coup.COUP, {})
    mind = None
    for step in case["steps"]:
        line = step["line"]
        if line["type"] == "hello":
            fields = {rule.name: rule for rule in coup.FIELDS}
            output = {name: value for name, value in line["ruleset"].items() if name in fields and name != "seats"}
            rules = coup.replace_fields(coup.COUP, output)
        elif line["type"] == "game_start":
            mind = coup.Knowledge(view_of(rules, line))
        elif line["type"] == "request":
            assert mind is not None
            view = view_of(rules, line)
            events = [*filter(None, map(event_of, line["events"]))]
            known = mind.update(view, heard(view.seat, events, rules))
            knows = step.get("knows", {})
            for seat, chances in knows.get("odds", {}).items():
                for role, chance in chances.items():
                    holds = coup.chance_held(view, known, int(seat), coup.Role(role.removeprefix("not_")))
                    assert (1 - holds if role.startswith("not_") else holds) == pytest.approx(float(Fraction(chance)))
            for seat, cards in knows.get("known", {}).items():
                assert [role for player in known.players if player.seat == int(seat) for role in player.has] == cards


def view_of(rules: coup.Ruleset, line: dict[str, Any]) -> coup.View:
    state, you = line["state"], line["you"]
    players = state["players"]
    pending = (
        coup.ActionMove(coup.Action(line["pending"]["action"]), line["pending"].get("target"))
        if "pending" in line
        else None
    )
    past: Any = None
    phase: Any = coup.Turn((0,))
    if pending is not None:
        phase = coup.Exchanging((0,), pending, past) if "drawn" in you else coup.Examining((0,), pending)
    coins, influence = (tuple(player[name] for player in players) for name in ("coins", "influence"))
    revealed = tuple(hand(player["revealed"]) for player in players)
    board = coup.Board(rules, state["turn"], state["actor"], state["deck"], coins, influence, revealed, phase)
    seen = coup.Role(you["seen"]) if "seen" in you else None
    return coup.View(board, you["seat"], hand(you["cards"]), hand(you.get("drawn", ())), (), seen)


def hand(roles: Sequence[str]) -> tuple[coup.Role, ...]:
    return tuple(map(coup.Role, roles))


def event_of(output: dict[str, Any]) -> coup.Event | None:
    seat, role = output["seat"], output.get("role")
    cards = hand(output["cards"]) if "cards" in output else None
    match output["event"]:
        case "action" if output["action"] == "exchange":
            return coup.ActionDeclared(seat, coup.Action.EXCHANGE, None, coup.Role.AMBASSADOR)
        case "shown":
            return coup.Shown(seat, coup.Role(role), cards, output.get("replaced", True))
        case "unproven":
            return coup.Unproven(seat, coup.Role(role.removeprefix("not_")), role.startswith("not_"))
        case "lost":
            return coup.Lost(seat, coup.Role(role), coup.LossReason(output["reason"]))
        case "exchanged":
            return coup.Exchanged(seat, output["count"], cards)
        case "examined":
            return coup.CardExamined(seat, output["target"], output["replaced"], role and coup.Role(role), cards)
    return None


@each(
    "game",
    [("andy-as-written", 5, 330, 0.2), ("andy-as-written", 5, 704, 0.2), ("duel", 2, 0, 0.0), ("blog", 3, 2, 0.0)],
)
def test_nothing_false_is_certain_between_requests(game: Game) -> None:
    """Pages of replays ask at every step, for every seat; a seat that is out knows nothing."""
    steps = played(*game)
    minds = [coup.Knowledge(coup.view_from_seat(steps[0].before, seat)) for seat in range(game[1])]
    for step in steps:
        for seat, mind in enumerate(minds):
            news = heard(seat, step.events, step.after.board.rules)
            known = mind.update(coup.view_from_seat(step.after, seat), news)
            assert step.after.hands[seat] or known == coup.NOTHING_KNOWN
            assert not Counter(known.deck) - Counter(step.after.deck)
            for player in known.players:
                hand = Counter(step.after.hands[player.seat])
                assert not Counter(player.has) - hand
                assert not {*player.lacks} & {*hand}
