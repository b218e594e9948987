"""Takes income until a coup can be paid for, then launches it. Never claims a role, never challenges, never blocks."""

from coup_kit import Answer, Bot, Game, run


class Turtle(Bot):
    name, version = "turtle", "1.0"

    def turn(self, game: Game) -> Answer:
        return game.find("coup")  # legal once we can pay; if it isn't legal, the kit plays income


if __name__ == "__main__":
    run(Turtle())
