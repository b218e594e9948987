"""Prints what the kit computes, or fails, depending on its argument: see ../README.md."""

import json
import sys

from coup_kit import Answer, Bot, Game, Message, run

ROLES = ("ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke")


class Reckoner(Bot):
    """Prints the odds of each seat at each request, and at the end of a game its cards and all influence."""

    def turn(self, game: Game) -> Answer:
        odds = [{role: game.odds(player.seat, role) for role in ROLES} for player in game.players]
        print(json.dumps([{**odds[player.seat], "opponent": player in game.opponents} for player in game.players]))
        return 0

    challenge = block = prove = lose = exchange = keep_shown = examine_show = examine_decide = turn
    draft = allegiance = other = turn

    def game_over(self, game: Game) -> None:
        print(json.dumps({"cards": game.cards, "influence": [player.influence for player in game.players]}))


class Narrator(Bot):
    def event(self, game: Game, event: Message) -> None:
        print(game.tell(event))


class Speaker(Bot):
    def turn(self, game: Game) -> Answer:
        game.say("hold", "duke")
        game.say("spare", 1)
        game.say("doubt", "duke", 1)
        game.say("text", 'Zoë says "\\ \U0001f3b2"')
        return 0

    def event(self, game: Game, event: Message) -> None:
        if event["event"] == "say":
            print(event["says"])


class Roller(Bot):
    def turn(self, game: Game) -> Answer:
        print(game.random.random())
        return 0


class Failing(Bot):
    def turn(self, game: Game) -> Answer:
        return game.find("assasinate")


if __name__ == "__main__":
    word = sys.argv[1]
    bot = {"odds": Reckoner, "words": Narrator, "say": Speaker, "roll": Roller}.get(word, Failing)()
    bot.careful = word == "careful"
    run(bot)
