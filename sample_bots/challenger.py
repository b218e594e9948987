"""Challenges any claim to a role of which it sees a copy, in its hand or face up, as long as it has both its cards.

Three copies of a role are many: most of these claims are true all the same, and each such challenge costs an influence.
Its own turns and blocks are honest.
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
        if len(game.cards) == 2 and game.claim["role"] in seen:
            return game.find("challenge")
        return None

    def block(self, game: Game) -> Answer:
        return next((move for move in game.moves("block") if move["block"] in game.cards), None)


if __name__ == "__main__":
    run(Challenger())
