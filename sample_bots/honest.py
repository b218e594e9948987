"""Never bluffs: claims only roles it holds, blocks whenever it truly can, never challenges.

It pays for a coup as soon as it can, otherwise takes the strongest action that its cards allow and that wasn't just
blocked. It uses no random numbers; honest.js makes the same choices.
"""

from __future__ import annotations

from coup_kit import Answer, Bot, Game, Message, Move, run

# The role that each action claims. Other actions (income, foreign_aid, coup) claim nothing.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}

# The value of keeping a card. Other roles have the value 2.
VALUE = {"captain": 5.0, "duke": 4.5, "assassin": 4.0, "ambassador": 2.5, "contessa": 2.0}
SECOND_COPY = 2.0  # a second card of a role adds no new action, so its value is lower by this


def hand_value(cards: list[str]) -> float:
    """Return the value of a hand."""
    copies = len(cards) - len(set(cards))
    return sum(VALUE.get(card, 2.0) for card in cards) - SECOND_COPY * copies


class Honest(Bot):
    name, version = "honest", "1.0"

    def __init__(self) -> None:
        self.latest: tuple[str, int | None] = ("", None)  # the latest action and its target
        self.blocked: dict[tuple[str, int | None], int] = {}  # blocked action and target -> the seat that blocked

    def game_start(self, game: Game) -> None:
        self.latest, self.blocked = ("", None), {}

    def event(self, game: Game, event: Message) -> None:
        """Remember blocked actions and their blockers, in order not to repeat them."""
        if event["event"] == "action":
            self.latest = (event["action"], event.get("target"))
        elif event["event"] == "block":
            self.blocked[self.latest] = event["seat"]
        elif event["event"] in ("lost", "shown", "exchanged"):  # this seat may have other cards now
            self.blocked = {action: seat for action, seat in self.blocked.items() if seat != event["seat"]}

    def turn(self, game: Game) -> Answer:
        """Choose the best action that is both legal and true."""

        def strength(move: Move) -> tuple[int, int]:
            target = game.players[move["target"]]
            return target.influence, target.coins

        def coins(move: Move) -> int:
            return game.players[move["target"]].coins

        for action in ("coup", "assassinate"):
            if attacks := self.true_moves(game, action):
                return max(attacks, key=strength)  # the strongest opponent is most likely to win
        # A steal moves 2 coins from an opponent, a tax brings 3 coins: about equal, so steal only from rich players.
        steals = [move for move in self.true_moves(game, "steal") if coins(move) >= 2]
        if steals and (not self.true_moves(game, "tax") or max(map(coins, steals)) >= 5):
            return max(steals, key=coins)
        for action in ("tax", "exchange", "foreign_aid", "income"):
            if moves := self.true_moves(game, action):
                return moves[0]
        return None

    def true_moves(self, game: Game, action: str) -> list[Move]:
        """Return the legal moves of an action that weren't blocked, if we hold the role that it claims."""
        if action in ROLE_FOR and ROLE_FOR[action] not in game.cards:
            return []
        return [move for move in game.moves(action) if (action, move.get("target")) not in self.blocked]

    def block(self, game: Game) -> Answer:
        return next((move for move in game.moves("block") if move["block"] in game.cards), None)

    def lose(self, game: Game) -> Answer:
        return min(game.legal, key=lambda move: VALUE.get(move["lose"], 2.0))

    def exchange(self, game: Game) -> Answer:
        return max(game.legal, key=lambda move: hand_value(move["keep"]))


if __name__ == "__main__":
    run(Honest())
