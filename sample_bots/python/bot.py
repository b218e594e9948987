"""A bot to start with: it never bluffs, and challenges only claims that are very unlikely.

The starters in all languages make the same choices:

turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
            Attacks target the opponent with most cards, then most coins; steals the richest, with at least 1 coin.
            Skip attacks on opponents that blocked them in this game, and foreign aid while its blocker lives.
challenge   Challenge if the probability that the claimant holds the role is below DOUBT.
block       Block with the first role of `legal` that we hold.
lose        Lose the card with the lowest value.
exchange    Keep the cards with the highest value; a second card of the same role adds less.
others      Play the first legal move: show the card, have it replaced, hand back the examined card ...

Ties go to the first move in `legal`.
"""

from __future__ import annotations

from coup_kit import Answer, Bot, Game, Move, run

DOUBT = 0.22
ROLES = {"assassinate": ["assassin"], "tax": ["duke"], "steal": ["captain"], "exchange": ["ambassador", "inquisitor"]}
BLOCKERS = {"assassinate": ["contessa"], "steal": ["captain", "ambassador", "inquisitor"], "foreign_aid": ["duke"]}
VALUE = {"captain": 10, "duke": 9, "assassin": 8, "ambassador": 5, "inquisitor": 5, "contessa": 4}
SECOND_COPY = 4  # a second card of a role is worth this much less


class MyBot(Bot):
    def turn(self, game: Game) -> Answer:
        def coins(move: Move) -> int:
            return game.players[move["target"]].coins

        def strength(move: Move) -> int:
            return 1000 * game.players[move["target"]].influence + coins(move)

        if attacks := game.moves("coup") or self.honest(game, "assassinate"):
            return max(attacks, key=strength)
        if taxes := self.honest(game, "tax"):
            return taxes[0]
        if steals := [move for move in self.honest(game, "steal") if coins(move) > 0]:
            return max(steals, key=coins)
        quiet = self.honest(game, "exchange") or self.honest(game, "foreign_aid") or game.legal
        return quiet[0]

    def honest(self, game: Game, action: str) -> list[Move]:
        """Return the legal moves of an action if we hold its role, without those that were blocked in this game."""
        if action in ROLES and not any(role in game.cards for role in ROLES[action]):
            return []

        def blocked(seat: int) -> bool:
            return any(game.players[seat].blocks[role] > 0 for role in BLOCKERS.get(action, []))

        if action == "foreign_aid" and any(blocked(player.seat) for player in game.opponents):
            return []
        return [move for move in game.moves(action) if "target" not in move or not blocked(move["target"])]

    def challenge(self, game: Game) -> Answer:
        doubtful = game.odds(game.claim["seat"], game.claim["role"]) < DOUBT
        return game.find("challenge") if doubtful else game.find("pass")

    def block(self, game: Game) -> Answer:
        return next((move for move in game.moves("block") if move["block"] in game.cards), game.find("pass"))

    def lose(self, game: Game) -> Answer:
        return min(game.legal, key=lambda move: VALUE.get(move["lose"], 4))

    def exchange(self, game: Game) -> Answer:
        return max(game.legal, key=lambda move: worth(move["keep"]))


def worth(cards: list[str]) -> int:
    """Return the value of a hand."""
    return sum(VALUE.get(card, 4) for card in cards) - SECOND_COPY * (len(cards) - len(set(cards)))


if __name__ == "__main__":
    run(MyBot())
