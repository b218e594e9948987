"""Follow the cards in the games of a record of the preset `coup` without forfeits, without the arena.

Usage: python record_reader.py record.example.jsonl
"""

import json
import sys

CLAIMS = {"tax": "duke", "assassinate": "assassin", "steal": "captain", "exchange": "ambassador"}


def follow(game, bots):
    """Print each bluff, called or not, and what each seat has at the end."""
    names = [bots[bot] for bot in game["seats"]]
    hands = [list(hand) for hand in game["start"]["hands"]]
    draws = iter(game["draws"].split())

    def drawn():
        return next(draws).partition(":")[2].split("+")

    for seat, word in zip(map(int, game["by"]), game["moves"].split(), strict=True):
        verb, _, what = word.partition(":")
        claim = what if verb == "block" else CLAIMS.get(verb)
        if claim is not None and claim not in hands[seat]:
            print(f"{names[seat]} bluffs: {word}")
        if verb in ("show", "lose"):
            hands[seat].remove(what)
        if verb == "show":
            hands[seat] += drawn()
        if verb == "keep":
            drawn()  # the cards that it could choose from, with its own
            hands[seat] = what.split("+")
    out = {seat for seat, _ in game["eliminated"]}  # their last card was turned up
    for seat, name in enumerate(names):
        print(f"{name} has {'nothing' if seat in out else ', '.join(sorted(hands[seat]))}")


with open(sys.argv[1], encoding="utf-8") as file:
    header, *games, end = map(json.loads, file)
for game in games:
    follow(game, header["bots"])
