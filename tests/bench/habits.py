"""Habits of a bot: where it chooses otherwise than `sample:honest`. Each is one choice of a few, with its description.

A `Reply` without habits plays as sample:honest does, move for move. A search finds a set of habits; the texts next to
each choice describe it, and name the count that shows why it pays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from arena.local import sample
from protocol.kits.coup_kit import Answer, Game, Move

Honest = sample("sample:honest")
Habits = Mapping[str, str]  # the name of a habit -> the choice; honest's own choices are left out

ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}
BLOCKERS = {"foreign_aid": ("duke",), "steal": ("captain", "ambassador"), "assassinate": ("contessa",)}
VALUE = {"captain": 5.0, "duke": 4.5, "assassin": 4.0, "ambassador": 2.5, "contessa": 2.0}  # honest's
SECOND_COPY = 2.0  # as honest's
# Both are the same where no lie is challenged.
UNTIL_CAUGHT = " until caught"
THOUGH_CAUGHT = " even after being caught"
DOUBTS = {"certain lies": 0.0, "unlikely": 0.25, "even": 0.5}  # challenge where the kit's odds are no higher


@dataclass(frozen=True)
class Habit:
    """Alternatives to a choice of sample:honest: choice -> description. `lies`: roles that it claims, held or not.

    `why`: choice -> the counted statistic that shows why it pays, as (bot, section, name); "" is any other.
    """

    choices: Mapping[str, str]
    lies: tuple[str, ...] = ()
    why: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    seats: int = 2  # it means nothing at smaller tables


def _doing(action: str, verb: str, noun: str) -> Habit:
    role = ROLE_FOR[action]
    choices = {
        "until caught": f"bluffs {noun}{UNTIL_CAUGHT}",
        "always": f"bluffs {noun}{THOUGH_CAUGHT}",
        "never": f"never {verb}",
    }
    return Habit(choices, (role,), {"never": ("honest", "effective_actions", action)})


def _blocking(action: str, what: str) -> Habit:
    choices = {
        "until caught": f"bluffs blocks of {what}{UNTIL_CAUGHT}",
        "always": f"bluffs blocks of {what}{THOUGH_CAUGHT}",
        "never": f"never blocks {what}",
    }
    if action == "assassinate":
        choices["last card"] = f"bluffs blocks of {what} with its last card"
    return Habit(choices, BLOCKERS[action])


def _doubting(what: str, section: str, name: str) -> Habit:
    choices = {
        "certain lies": f"challenges {what} if all cards of the role are in sight",
        "unlikely": f"challenges {what} if the odds of the role are 25 % or less",
        "even": f"challenges {what} if the odds of the role are 50 % or less",
        "until caught": f"challenges {what} until it catches a lie",
        "always": f"always challenges {what}",
    }
    return Habit(choices, why={"": ("sample", section, name)})


_A = {"duke": "a duke", "captain": "a captain", "assassin": "an assassin"}
_A |= {"ambassador": "an ambassador", "contessa": "a contessa"}

HABITS: dict[str, Habit] = {
    "tax": _doing("tax", "taxes", "tax"),
    "steal": _doing("steal", "steals", "steals"),
    "assassinate": _doing("assassinate", "assassinates", "assassinations"),
    "exchange": _doing("exchange", "exchanges", "exchanges"),
    "block foreign_aid": _blocking("foreign_aid", "foreign aid"),
    "block steal": _blocking("steal", "steals"),
    "block assassinate": _blocking("assassinate", "assassinations"),
    "doubt tax": _doubting("tax", "bluffs", "duke"),
    "doubt steal": _doubting("steals", "bluffs", "captain"),
    "doubt assassinate": _doubting("assassinations", "bluffs", "assassin"),
    "doubt exchange": _doubting("exchanges", "bluffs", "ambassador"),
    "doubt block foreign_aid": _doubting("blocks of foreign aid", "blocks", "bluffed"),
    "doubt block steal": _doubting("blocks of steals", "blocks", "bluffed"),
    "doubt block assassinate": _doubting("blocks of assassinations", "blocks", "bluffed"),
    "with one card, bluff": Habit({"never": "bluffs with two cards only"}),
    "with one card, doubt": Habit({"never": "challenges certain lies only, once it has one card"}),
    "foreign_aid": Habit({"never": "takes no foreign aid"}, why={"": ("honest", "effective_actions", "foreign_aid")}),
    "again": Habit({"yes": "tries again what was blocked"}),
    "attack": Habit({"assassinate": "assassinates also where it can pay for a coup"}),
    "rob": Habit(
        {"from 2": "steals from 2 coins on before it taxes", "never": "taxes before it steals"},
        why={"": ("honest", "effective_actions", "steal")},
    ),
    "keep": Habit({role: f"keeps {card} before all other cards" for role, card in _A.items() if role != "captain"}),
    "target": Habit({"weakest": "attacks the weakest", "next": "attacks the next in turn"}, seats=3),
}


class Reply(Honest):  # type: ignore[valid-type]
    name = "reply"

    def __init__(self, habits: Habits) -> None:
        super().__init__()
        self.habits = habits
        self.value = VALUE | ({habits["keep"]: 6.0} if "keep" in habits else {})

    def turn(self, game: Game) -> Answer:
        def coins(move: Move) -> int:
            return game.players[move["target"]].coins

        attacks = [self.true_moves(game, "coup"), self.true_moves(game, "assassinate")]
        if "attack" in self.habits:
            attacks.reverse()
        if moves := attacks[0] or attacks[1]:
            return self.aimed(game, moves)
        taxes = self.true_moves(game, "tax")
        rich = {"from 2": 2, "never": 99}.get(self.habits.get("rob", ""), 5)
        steals = [move for move in self.true_moves(game, "steal") if coins(move) >= 2]
        if steals and (not taxes or max(map(coins, steals)) >= rich):
            return max(steals, key=coins)
        quiet = taxes or self.true_moves(game, "exchange") or self.true_moves(game, "foreign_aid")
        return (quiet or game.moves("income") or game.legal)[0]

    def aimed(self, game: Game, moves: list[Move]) -> Move:
        def strength(move: Move) -> tuple[int, int]:
            target = game.players[move["target"]]
            return target.influence, target.coins

        if "target" not in self.habits:
            return max(moves, key=strength)
        if self.habits["target"] == "weakest":
            return min(moves, key=strength)
        return min(moves, key=lambda move: (move["target"] - game.seat) % len(game.players))

    def true_moves(self, game: Game, action: str) -> list[Move]:
        """Return the legal moves of an action that these habits allow."""
        if self.habits.get(action) == "never" or (action in ROLE_FOR and not self.claims(game, action)):
            return []
        return [
            move
            for move in game.moves(action)
            if "again" in self.habits or (action, move.get("target")) not in self.blocked
        ]

    def claims(self, game: Game, habit: str, role: str = "") -> bool:
        role = role or ROLE_FOR[habit]
        choice = self.habits.get(habit)
        if role in game.cards or (choice == "last card" and len(game.cards) == 1):
            return True
        if "with one card, bluff" in self.habits and len(game.cards) == 1:
            return False
        return choice == "always" or (choice == "until caught" and not game.me.caught[role])

    def block(self, game: Game) -> Answer:
        habit = f"block {game.pending['action']}"
        if self.habits.get(habit) == "never":
            return None
        true_first = sorted(game.moves("block"), key=lambda move: move["block"] not in game.cards)
        return next((move for move in true_first if self.claims(game, habit, move["block"])), None)

    def challenge(self, game: Game) -> Answer:
        seat, role = game.claim["seat"], game.claim["role"]
        choice = self.habits.get(f"doubt {'block ' * game.claim['block']}{game.pending['action']}")
        if choice is None:
            return None
        if "with one card, doubt" in self.habits and len(game.cards) == 1:
            choice = "certain lies"
        doubted = choice == "always" or (choice == "until caught" and not game.players[seat].caught[role])
        return game.find("challenge") if doubted or game.odds(seat, role) <= DOUBTS.get(choice, 0.0) else None

    def lose(self, game: Game) -> Answer:
        return min(game.legal, key=lambda move: self.value.get(move["lose"], 2.0))

    def exchange(self, game: Game) -> Answer:
        def worth(move: Move) -> float:
            cards = move["keep"]
            return sum(self.value.get(card, 2.0) for card in cards) - SECOND_COPY * (len(cards) - len(set(cards)))

        return max(game.legal, key=worth)
