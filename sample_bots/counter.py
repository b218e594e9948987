"""Counts cards: challenges a claim only when the cards it can see make the claim unlikely.

From its own hand and the face-up cards it calculates the probability that the claimant holds the role, as if unseen
cards were random. (A stronger bot would also use the claims of each player: few players lie.)
Its own turns and blocks are honest.
"""

from math import comb

from coup_kit import Answer, Bot, Game, Move, run

ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke"}  # the role that each action claims
DOUBT = 0.25  # challenge below this probability; 0.05 to 0.3 win equally often against the samples, 0.35 wins 40 % less


def chance_of_role(game: Game, claimant: int, role: str) -> float:
    """Return the probability that `claimant` holds `role`. The kit's `game.odds` also uses cards that were shown."""
    deck: dict[str, int] = game.rules["deck"]  # the number of cards of each role in the game
    if role not in deck:
        return 1.0  # an unknown claim: believe it
    seen = list(game.cards)
    for player in game.players:
        seen += player.revealed
    unseen = sum(deck.values()) - len(seen)
    copies = deck[role] - seen.count(role)
    hidden = game.players[claimant].influence
    # 1 minus the part of all possible hands that contain no copy of the role.
    return 1 - comb(unseen - copies, hidden) / comb(unseen, hidden)


class Counter(Bot):
    name, version = "counter", "1.0"

    def turn(self, game: Game) -> Answer:
        def coins(move: Move) -> int:
            return game.players[move["target"]].coins if "target" in move else 0

        # The first of these actions that is legal and true, against the opponent with most coins.
        for action in ("coup", "assassinate", "tax", "steal", "foreign_aid"):
            if action in ROLE_FOR and ROLE_FOR[action] not in game.cards:
                continue
            if moves := game.moves(action):
                return max(moves, key=coins)
        return None

    def challenge(self, game: Game) -> Answer:
        unlikely = chance_of_role(game, game.claim["seat"], game.claim["role"]) < DOUBT
        return game.find("challenge") if unlikely else None

    def block(self, game: Game) -> Answer:
        return next((move for move in game.moves("block") if move["block"] in game.cards), None)


if __name__ == "__main__":
    run(Counter())
