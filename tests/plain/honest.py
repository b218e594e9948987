"""The sample bot honest.py without the kit: one file, for tests that start programs themselves.

It makes the same choices, move for move.
"""

import json
import os
import sys

# The role that each action claims. Actions that are not listed (income, foreign_aid, coup) claim nothing.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}

# How gladly we keep a card when one must go. A role that is not listed is worth 2.
VALUE = {"captain": 5.0, "duke": 4.5, "assassin": 4.0, "ambassador": 2.5, "contessa": 2.0}
SECOND_COPY = 2.0  # a second card of the same role adds no new action, so it is worth this much less


def hand_value(cards: list[str]) -> float:
    copies = len(cards) - len(set(cards))
    return sum(VALUE.get(card, 2.0) for card in cards) - SECOND_COPY * copies


class Blocks:
    """Remembers which actions were blocked by whom, so as not to run against the same wall for ever."""

    def __init__(self) -> None:
        self.action: tuple[str, int | None] = ("", None)  # the latest action and its target
        self.by: dict[tuple[str, int | None], int] = {}  # blocked action and target -> the seat that blocked

    def see(self, event: dict) -> None:
        if event["event"] == "action":
            self.action = (event["action"], event.get("target"))
        elif event["event"] == "block":
            self.by[self.action] = event["seat"]
        elif event["event"] in ("lost", "shown", "exchanged"):  # this seat has other cards now
            self.by = {action: seat for action, seat in self.by.items() if seat != event["seat"]}


def choose_turn(legal: list[dict], cards: list[str], players: list[dict], blocks: Blocks) -> dict:
    """Choose the action of our turn, from the best to the weakest that is both legal and true."""

    def strength(move: dict) -> tuple[int, int]:
        target = players[move["target"]]
        return target["influence"], target["coins"]

    def coins(move: dict) -> int:
        return int(players[move["target"]]["coins"])

    def moves(action: str) -> list[dict]:
        """Give the legal moves of one action that were not blocked, but only if we hold the role that it claims."""
        if action in ROLE_FOR and ROLE_FOR[action] not in cards:
            return []
        return [m for m in legal if m.get("action") == action and (action, m.get("target")) not in blocks.by]

    for action in ("coup", "assassinate"):
        if attacks := moves(action):
            return max(attacks, key=strength)  # the strongest opponent is the one most likely to win
    # A steal moves 2 coins from an opponent to us, a tax brings 3 from the treasury: about equal, so rob the rich only.
    steals = [move for move in moves("steal") if coins(move) >= 2]
    if steals and (not moves("tax") or max(map(coins, steals)) >= 5):
        return max(steals, key=coins)
    for action in ("tax", "exchange", "foreign_aid", "income"):
        if moves(action):
            return moves(action)[0]
    return legal[0]


def choose(request: dict, blocks: Blocks) -> dict:
    legal: list[dict] = request["legal"]
    cards: list[str] = request["you"]["cards"]
    kind = request["kind"]
    if kind == "turn":
        return choose_turn(legal, cards, request["state"]["players"], blocks)
    if kind == "block":
        return next((move for move in legal if move.get("block") in cards), legal[0])
    if kind == "lose":
        return min(legal, key=lambda move: VALUE.get(move["lose"], 2.0))
    if kind == "exchange":
        return max(legal, key=lambda move: hand_value(move["keep"]))
    # Never challenge (the first move is to pass), always prove (the first is to show the card), and for a kind of
    # request that is not known here the first move is a quiet one too.
    return legal[0]


def send(message: dict) -> None:
    """Write one line, in one piece: `print` would write its end apart, which wakes the arena twice."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    blocks = Blocks()
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            send({"type": "hello", "name": "honest", "version": "1.0"})
        elif message["type"] == "game_start":
            blocks = Blocks()
        elif message["type"] == "request":
            for event in message["events"]:
                blocks.see(event)
            send({"id": message["id"], "move": choose(message, blocks)})
        elif message["type"] == "match_over":
            os._exit(0)  # at once, without Python's tidying up: close your files before


if __name__ == "__main__":
    main()
