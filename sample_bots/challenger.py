"""Challenges every claim while it has both its cards, and plays quietly and honestly otherwise.

Most claims are true, so most of these challenges cost an influence.
"""

from coup_kit import Answer, Bot, Game, run


class Challenger(Bot):
    name, version = "challenger", "2.0"

    def turn(self, game: Game) -> Answer:
        quiet = "tax" if "duke" in game.cards else "foreign_aid"
        return game.find("coup") or game.find(quiet)

    def challenge(self, game: Game) -> Answer:
        return game.find("challenge") if len(game.cards) == 2 else None

    def block(self, game: Game) -> Answer:
        return next((move for move in game.moves("block") if move["block"] in game.cards), None)


if __name__ == "__main__":
    run(Challenger())
