"""Plays honestly, and bluffs only where a lie is cheap and seldom called. The strongest of the rule-based sample bots.

It follows the winner of a bot contest ("Alpha Coup", SYNCS Bot Battle 2022: 70 % of 5-seat games):
  - coup at 7 coins, against whoever has most cards, then most coins; assassinate when it truly can;
  - steal rather than tax only from a player with 5 coins or more;
  - challenge only certain lies: every copy of the role lies face up or in our own hand;
  - always block an assassination or a steal, held or not: most players don't challenge blocks
    (worth 30 points of 80 at 4 seats among the sample bots, far more than all else here);
  - bluff a Duke late in the game, when few players are left to challenge it.
And it watches: who has challenged, which of its own lies were caught, which actions were blocked.
"""

import json
import os
import sys

# The role that each action claims. Actions that are not listed (income, foreign_aid, coup) claim nothing.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}

# How gladly we keep a card when one must go. A role that is not listed is worth 2.
VALUE = {"captain": 5.0, "duke": 4.5, "assassin": 4.0, "ambassador": 2.5, "contessa": 2.0}
SECOND_COPY = 2.0  # a second card of the same role adds no new action, so it is worth this much less

RICH = 5  # coins of a victim from which a steal beats a tax; here 2 to 5 score alike, 7 costs 5 points of 80
LATE_TURN = 16  # no tax bluff before this turn; bluffing from turn 1 costs 6 points of 80, 8 and later score alike


def hand_value(cards: list[str]) -> float:
    """Say how good a hand is."""
    copies = len(cards) - len(set(cards))
    return sum(VALUE.get(card, 2.0) for card in cards) - SECOND_COPY * copies


class Opportunist:
    """The bot's memory of one game and its choices. `deck` says how many copies of each role the game has."""

    def __init__(self, deck: dict[str, int], seat: int) -> None:
        self.deck = deck
        self.seat = seat
        self.action: tuple[str, int | None] = ("", None)  # the latest action and its target
        self.blocked: dict[tuple[str, int | None], int] = {}  # blocked action and target -> the seat that blocked
        self.caught: set[str] = set()  # roles that we were caught without
        self.challengers: set[int] = set()  # seats that have challenged somebody

    def see(self, event: dict) -> None:
        """Take note of one event of the game."""
        name = event["event"]
        if name == "action":
            self.action = (event["action"], event.get("target"))
        elif name == "block":
            self.blocked[self.action] = event["seat"]
        elif name in ("lost", "shown", "exchanged"):  # this seat has other cards now
            self.blocked = {action: seat for action, seat in self.blocked.items() if seat != event["seat"]}
        elif name == "challenge":
            self.challengers.add(event["seat"])
        elif name == "unproven" and event["seat"] == self.seat:
            self.caught.add(event["role"])

    def choose(self, request: dict) -> dict:
        """Return the move of request["legal"] to play."""
        legal: list[dict] = request["legal"]
        kind = request["kind"]
        if kind == "turn":
            return self.choose_turn(request)
        if kind == "block":
            return self.choose_block(request)
        if kind == "challenge" and self.unseen(request["claim"]["role"], request) == 0:
            return next((move for move in legal if "challenge" in move), legal[0])
        if kind == "lose":
            return min(legal, key=lambda move: VALUE.get(move["lose"], 2.0))
        if kind == "exchange":
            return max(legal, key=lambda move: hand_value(move["keep"]))
        return legal[0]  # pass, show the card; the first move of an unknown kind is a quiet one too

    def choose_turn(self, request: dict) -> dict:
        """Choose the action of our turn."""
        legal: list[dict] = request["legal"]
        cards: list[str] = request["you"]["cards"]
        players: list[dict] = request["state"]["players"]

        def strength(move: dict) -> tuple[int, int]:
            target = players[move["target"]]
            return target["influence"], target["coins"]

        def coins(move: dict) -> int:
            return int(players[move["target"]]["coins"])

        def moves(action: str) -> list[dict]:
            """Give the legal moves of one action that were not blocked."""
            return [m for m in legal if m.get("action") == action and (action, m.get("target")) not in self.blocked]

        def honest(action: str) -> list[dict]:
            return moves(action) if ROLE_FOR[action] in cards else []

        if attacks := moves("coup") or honest("assassinate"):
            return max(attacks, key=strength)
        taxes = honest("tax")
        if request["state"]["turn"] >= LATE_TURN and self.can_bluff("duke", request):
            taxes = moves("tax")
        steals = [move for move in honest("steal") if coins(move) >= 2]
        if steals and (not taxes or max(map(coins, steals)) >= RICH):
            return max(steals, key=coins)
        quiet = taxes or honest("exchange") or moves("foreign_aid") or moves("income") or legal
        return quiet[0]

    def choose_block(self, request: dict) -> dict:
        """Block with a card that we hold, else bluff if we are the one who is attacked."""
        legal: list[dict] = request["legal"]
        cards: list[str] = request["you"]["cards"]
        blocks = [move for move in legal if "block" in move]
        for move in blocks:
            if move["block"] in cards:
                return move
        if request["pending"].get("target") != self.seat:
            return legal[0]  # somebody's foreign aid: not worth a risk
        if request["pending"]["action"] == "assassinate" and len(cards) == 1:
            bluffs = blocks  # to pass is to lose our last card, so there is nothing to risk
        else:
            bluffs = [move for move in blocks if self.can_bluff(move["block"], request)]
        # The more copies of the role we can't see, the likelier the lie sounds.
        return max(bluffs, key=lambda move: self.unseen(move["block"], request), default=legal[0])

    def can_bluff(self, role: str, request: dict) -> bool:
        """Say whether a lie about `role` may pass: never disproved, still possible, no challenger left to call it."""
        players = request["state"]["players"]
        challenged = any(players[seat]["influence"] > 0 for seat in self.challengers if seat != self.seat)
        return role not in self.caught and self.unseen(role, request) > 0 and not challenged

    def unseen(self, role: str, request: dict) -> int:
        """Count the copies of `role` that are neither in our hand nor face up."""
        if role not in self.deck:
            return 1  # a role this bot was not written for: neither certain nor impossible
        seen: list[str] = request["you"]["cards"] + [c for p in request["state"]["players"] for c in p["revealed"]]
        return self.deck[role] - seen.count(role)


def send(message: dict) -> None:
    """Write one line, in one piece: `print` would write its end apart, which wakes the arena twice."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Talk to the arena until the match is over."""
    deck: dict[str, int] = {}
    bot = Opportunist(deck, 0)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            deck = message["ruleset"]["deck"]
            send({"type": "hello", "name": "opportunist", "version": "1.0"})
        elif message["type"] == "game_start":
            bot = Opportunist(deck, message["seat"])
        elif message["type"] == "request":
            for event in message["events"]:
                bot.see(event)
            send({"id": message["id"], "move": bot.choose(message)})
        elif message["type"] == "match_over":
            os._exit(0)  # at once, without Python's tidying up: close your files before


if __name__ == "__main__":
    main()
