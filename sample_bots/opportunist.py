"""Plays honestly, and bluffs only if a lie is cheap and rarely challenged. The strongest of the rule-based sample bots.

It follows the winner of a bot contest ("Alpha Coup", SYNCS Bot Battle 2022: 70 % of 5-seat games):
  - coup at 7 coins, against the player with most cards, then most coins; assassinate when it truly can;
  - steal rather than tax only from a player with 5 coins or more;
  - challenge only certain lies: every copy of the role is face up or in our own hand;
  - always block an assassination or a steal, held or not: most players don't challenge blocks
    (worth 30 points of 80 at 4 seats among the sample bots, far more than all else here);
  - bluff a Duke late in the game, when few players are left to challenge it.
It also remembers which players challenged, which of its lies were caught, and which actions were blocked.
"""

from __future__ import annotations

from coup_kit import Answer, Bot, Game, Message, Move, run

# The role that each action claims. Other actions (income, foreign_aid, coup) claim nothing.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}

# The value of keeping a card. Other roles have the value 2.
VALUE = {"captain": 5.0, "duke": 4.5, "assassin": 4.0, "ambassador": 2.5, "contessa": 2.0}
SECOND_COPY = 2.0  # a second card of a role adds no new action, so its value is lower by this

RICH = 5  # coins of a target from which a steal beats a tax; 2 to 5 win about as often, 7 costs 5 points of 80
LATE_TURN = 16  # no tax bluff before this turn; turn 1 costs 6 points of 80, 8 and later win about as often


def hand_value(cards: list[str]) -> float:
    """Return the value of a hand."""
    copies = len(cards) - len(set(cards))
    return sum(VALUE.get(card, 2.0) for card in cards) - SECOND_COPY * copies


def unseen(game: Game, role: str) -> int:
    """Count the copies of `role` that are neither in our hand nor face up."""
    deck: dict[str, int] = game.rules["deck"]
    if role not in deck:
        return 1  # an unknown role: neither certain nor impossible
    return deck[role] - [*game.cards, *(card for player in game.players for card in player.revealed)].count(role)


class Opportunist(Bot):
    name, version = "opportunist", "1.0"

    def __init__(self) -> None:
        self.latest: tuple[str, int | None] = ("", None)  # the latest action and its target
        self.blocked: dict[tuple[str, int | None], int] = {}  # blocked action and target -> the seat that blocked
        self.challengers: set[int] = set()  # seats that have challenged in this game

    def game_start(self, game: Game) -> None:
        self.latest, self.blocked, self.challengers = ("", None), {}, set()

    def event(self, game: Game, event: Message) -> None:
        name = event["event"]
        if name == "action":
            self.latest = (event["action"], event.get("target"))
        elif name == "block":
            self.blocked[self.latest] = event["seat"]
        elif name in ("lost", "shown", "exchanged"):  # this seat may have other cards now
            self.blocked = {action: seat for action, seat in self.blocked.items() if seat != event["seat"]}
        elif name == "challenge":
            self.challengers.add(event["seat"])

    def turn(self, game: Game) -> Answer:
        """Choose as `honest` does, but nothing that was blocked, and late in the game also a tax that is a bluff."""

        def strength(move: Move) -> tuple[int, int]:
            target = game.players[move["target"]]
            return target.influence, target.coins

        def coins(move: Move) -> int:
            return game.players[move["target"]].coins

        def moves(action: str) -> list[Move]:
            """Return the legal moves of an action that weren't blocked."""
            return [move for move in game.moves(action) if (action, move.get("target")) not in self.blocked]

        def honest(action: str) -> list[Move]:
            return moves(action) if ROLE_FOR[action] in game.cards else []

        if attacks := moves("coup") or honest("assassinate"):
            return max(attacks, key=strength)
        taxes = honest("tax")
        if game.turn >= LATE_TURN and self.can_bluff(game, "duke"):
            taxes = moves("tax")
        steals = [move for move in honest("steal") if coins(move) >= 2]
        if steals and (not taxes or max(map(coins, steals)) >= RICH):
            return max(steals, key=coins)
        quiet = taxes or honest("exchange") or moves("foreign_aid") or moves("income") or game.legal
        return quiet[0]

    def challenge(self, game: Game) -> Answer:
        return game.find("challenge") if unseen(game, game.claim["role"]) == 0 else None

    def block(self, game: Game) -> Answer:
        """Block with a card that we hold, else bluff if we are the target."""
        blocks = game.moves("block")
        for move in blocks:
            if move["block"] in game.cards:
                return move
        if game.pending.get("target") != game.seat:
            return None  # foreign aid of an opponent isn't worth a risk
        # Passing would lose the last card, so a bluff risks nothing.
        lost = game.pending["action"] == "assassinate" and len(game.cards) == 1
        bluffs = [move for move in blocks if lost or self.can_bluff(game, move["block"])]
        # A lie about a role with more unseen copies is more credible.
        return max(bluffs, key=lambda move: unseen(game, move["block"]), default=None)

    def lose(self, game: Game) -> Answer:
        return min(game.legal, key=lambda move: VALUE.get(move["lose"], 2.0))

    def exchange(self, game: Game) -> Answer:
        return max(game.legal, key=lambda move: hand_value(move["keep"]))

    def can_bluff(self, game: Game, role: str) -> bool:
        """Return whether a lie about `role` may pass: never caught, still possible, and no challenger is left."""
        challenged = any(game.players[seat].alive for seat in self.challengers if seat != game.seat)
        return not game.me.caught[role] and unseen(game, role) > 0 and not challenged


if __name__ == "__main__":
    run(Opportunist())
