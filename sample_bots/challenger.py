"""Challenges every claim that anyone makes, and otherwise plays quietly: coup, else foreign aid.

Most claims are true, so most of these challenges cost an influence.
"""

from coup_kit import Answer, Bot, Game, run


class Challenger(Bot):
    name, version = "challenger", "1.0"

    def turn(self, game: Game) -> Answer:
        return game.find("coup") or game.find("foreign_aid")

    def challenge(self, game: Game) -> Answer:
        return game.find("challenge")


if __name__ == "__main__":
    run(Challenger())
