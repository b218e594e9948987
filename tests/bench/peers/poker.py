"""A poker program as it is usually written in Python: a process per bot, text pipes, JSON, a thread that reads.

Fixed-limit hold'em, without straights and flushes: enough rules to be realistic. The messages are such that a bot of
the arena that answers by `choice` understands them.

    python poker.py SEATS HANDS PROGRAM...

prints requests, CPU us of this process (without starts), CPU us of the bots, and bytes of all requests.
"""

import json
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from queue import Queue
from threading import Thread
from typing import IO, Any

LIMIT_S = 5.0
STREETS = {"preflop": 0, "flop": 3, "turn": 1, "river": 1}
RAISES = 3  # a street
DECK = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


class Bot:
    """A bot's process, and the thread that reads its lines."""

    def __init__(self, seat: int, argv: list[str]) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.lines: Queue[str] = Queue()
        assert self.process.stdout is not None
        Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()
        self.stack = 1000
        self.sent = 0
        self.ask({"type": "hello", "bot_seed": f"{seat:032x}"})
        self.sent = 0

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.put(line)

    def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message) + "\n"
        self.process.stdin.write(line)
        self.process.stdin.flush()
        self.sent += len(line)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(message)
        reply: dict[str, Any] = json.loads(self.lines.get(timeout=LIMIT_S))
        return reply

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Hand:
    """One hand: the players in it, their bets, and the cards on the table."""

    def __init__(self, bots: list[Bot], number: int, asked: int, draw: random.Random) -> None:
        self.bots = bots
        self.number = number
        self.asked = asked
        self.deck = draw.sample(DECK, len(DECK))
        self.cards = [[self.deck.pop(), self.deck.pop()] for _ in bots]
        self.table: list[str] = []
        self.living = set(range(len(bots)))
        self.pot = 0
        self.bets = [0] * len(bots)
        self.history: list[list[Any]] = []

    def play(self) -> int:
        for street, cards in STREETS.items():
            self.table += [self.deck.pop() for _ in range(cards)]
            self.bet(street)
            if len(self.living) == 1:
                break
        best = max(self.worth(seat) for seat in self.living)
        winners = [seat for seat in sorted(self.living) if self.worth(seat) == best]
        for seat in winners:
            self.bots[seat].stack += self.pot // len(winners)
        for bot in self.bots:
            bot.send({"type": "game_over", "game": self.number, "winners": winners, "table": self.table})
        return self.asked

    def bet(self, street: str) -> None:
        self.bets = [0] * len(self.bots)
        raises = 0
        waiting = [(self.number + seat) % len(self.bots) for seat in range(len(self.bots))]
        while waiting and len(self.living) > 1:
            seat = waiting.pop(0)
            if seat not in self.living:
                continue
            owed = max(self.bets) - self.bets[seat]
            legal = ["call", "fold"] if owed else ["check"]
            legal += ["raise"] if raises < RAISES else []
            move = self.ask(seat, street, [{"action": action} for action in legal])
            self.history.append([street, seat, move])
            if move == "fold":
                self.living.remove(seat)
            elif move == "raise":
                raises += 1
                self.pay(seat, owed + 2)
                waiting = [(seat + more) % len(self.bots) for more in range(1, len(self.bots))]
            else:
                self.pay(seat, owed)

    def ask(self, seat: int, street: str, legal: list[dict[str, str]]) -> str:
        """Ask a bot for its action; an answer that can't be understood counts as the first one."""
        self.asked += 1
        bot = self.bots[seat]
        players = [{"stack": each.stack, "bet": bet} for each, bet in zip(self.bots, self.bets, strict=True)]
        reply = bot.ask(
            {
                "type": "request",
                "id": self.asked,
                "game": self.number,
                "street": street,
                "table": self.table,
                "pot": self.pot,
                "you": {"seat": seat, "cards": self.cards[seat]},
                "players": players,
                "living": sorted(self.living),
                "history": self.history,
                "legal": legal,
            }
        )
        choice = reply.get("choice", 0)
        if reply.get("id") != self.asked or not isinstance(choice, int) or not 0 <= choice < len(legal):
            choice = 0
        return legal[choice]["action"]

    def pay(self, seat: int, chips: int) -> None:
        self.bots[seat].stack -= chips
        self.bets[seat] += chips
        self.pot += chips

    def worth(self, seat: int) -> list[tuple[int, int]]:
        """Return the value of a seat's cards: the most frequent ranks first."""
        ranks = Counter("23456789TJQKA".index(card[0]) for card in [*self.cards[seat], *self.table])
        return sorted(((count, rank) for rank, count in ranks.items()), reverse=True)[:5]


def main() -> None:
    seats, hands = map(int, sys.argv[1:3])
    bots = [Bot(seat, sys.argv[3:]) for seat in range(seats)]
    draw = random.Random(1)
    asked = 0
    own = time.process_time()
    for number in range(hands):
        asked = Hand(bots, number, asked, draw).play()
    own = time.process_time() - own
    for bot in bots:
        bot.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    children = used.ru_utime + used.ru_stime
    print(asked, round(1e6 * own), round(1e6 * children), sum(bot.sent for bot in bots))


if __name__ == "__main__":
    main()
