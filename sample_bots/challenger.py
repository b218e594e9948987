"""Challenges a claim to any role of which it sees a copy, in its hand or face up, and plays honestly otherwise.

Three copies of a role are many: most of these claims are true all the same, and each such challenge costs an influence.
"""

from coup_kit import Answer, Bot, Game, run


class Challenger(Bot):
    name, version = "challenger", "2.0"

    def turn(self, game: Game) -> Answer:
        attacks = game.moves("coup") or (game.moves("assassinate") if "assassin" in game.cards else [])
        if attacks:
            return max(attacks, key=lambda move: game.players[move["target"]].influence)
        return game.find("tax") if "duke" in game.cards else game.find("foreign_aid")

    def challenge(self, game: Game) -> Answer:
        seen = [*game.cards, *(card for player in game.players for card in player.revealed)]
        return game.find("challenge") if game.claim["role"] in seen else None

    def block(self, game: Game) -> Answer:
        return next((move for move in game.moves("block") if move["block"] in game.cards), None)


if __name__ == "__main__":
    run(Challenger())
