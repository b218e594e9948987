"""Plays a game of two by heart: what to do in each situation was learnt beforehand, against many styles of play.

`train.py` makes the file of weights. In it are three tables: one that does well against everybody, and two for sorts of
opponents that lie little and doubt little (truthful, and bluffing blocks only). A decision takes these steps:
  - Habits: over the games of a match the bot counts how often the opponent doubts, blocks, claims and is caught. By
    these counts it chooses the table; the one for everybody stands until the opponent is clearly of a sort.
  - Key: the situation as a number. What is seldom met has a coarser key, with less of coins and claims in it.
  - Odds: the table has the chance of each move for a key. The bot draws one of them.
At larger tables, and under rules with other cards or actions, it plays honestly and challenges certain lies.
"""

from __future__ import annotations

import lzma
from array import array
from bisect import bisect_left
from math import exp, log
from pathlib import Path

from coup_kit import Answer, Bot, Game, Message, Move, run

# In this order they are numbers in the keys, as in train.c.
ROLES = ["ambassador", "assassin", "captain", "contessa", "duke"]
CODE = {role: number for number, role in enumerate(ROLES)}
ACTIONS = ["income", "foreign_aid", "tax", "steal", "assassinate", "exchange", "coup"]
TURN, DOUBT, BLOCK, DOUBT_BLOCK, LOSE, KEEP = range(6)
COINS = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5]  # coins as the coarser keys have them
LEVELS = 3  # of keys, from fine to coarse
MOST_COINS = 10  # more make no difference: who has so many must coup

ROLE_FOR = {"assassinate": "assassin", "tax": "duke", "steal": "captain", "exchange": "ambassador"}
VALUE = {"captain": 5.0, "duke": 4.5, "assassin": 4.0, "ambassador": 2.5, "contessa": 2.0}
SECOND_COPY = 2.0  # a second card of the same role adds no new action, so it is worth this much less

# What is counted of an opponent.
DOUBTS, LIES, BLOCK_LIES, BLOCKS, BLOCKS_AID, CLAIMS = range(6)
# How often each style of train.c does it: doubts a claim; is caught of an action's claim, of a block's; blocks attacks,
# foreign aid; claims a role in its turn. Then the table that was learnt against it. train.c prints such numbers.
STYLES = (
    (0.000, 0.000, 0.000, 0.260, 0.141, 0.477, 1),  # honest
    (0.000, 0.076, 0.624, 0.734, 0.149, 0.509, 2),  # opportunist
    (0.000, 0.591, 0.590, 1.000, 0.665, 0.987, 0),  # bluffer
    (1.000, 0.500, 0.500, 0.000, 0.000, 0.000, 0),  # challenger
    (0.078, 0.000, 0.000, 0.348, 0.088, 0.529, 1),  # counter
    (0.000, 0.500, 0.500, 0.000, 0.000, 0.000, 1),  # turtle
    (0.500, 0.702, 0.725, 0.611, 0.507, 0.616, 0),  # random
    (0.101, 0.000, 0.000, 0.254, 0.141, 0.494, 1),  # starter
    (0.033, 0.413, 0.644, 0.878, 0.692, 0.808, 0),  # quiet liar
    (0.573, 0.106, 0.550, 0.564, 0.345, 0.745, 0),  # doubter
    (0.196, 0.259, 0.641, 0.746, 0.535, 0.727, 0),  # mixed
    (0.069, 0.032, 0.430, 0.416, 0.213, 0.518, 1),  # candid
    (0.072, 0.027, 0.755, 0.891, 0.778, 0.564, 2),  # blocker
    (0.080, 0.000, 0.000, 0.300, 0.050, 0.180, 0),  # truthful, and claims seldom: no style of train.c
)
TABLES = 3
SURE = 0.97  # no style is surer than this to do a thing, or not to
TRUST = 0.8  # counts weigh so much, since a style's rows of choices hang together
CLEAR = 0.7  # a sort that is less likely than this isn't played against


def pair(first: int, second: int) -> int:
    """Number the pairs of roles with first <= second from 0 to 14."""
    return first * 5 + second - first * (first + 1) // 2


def hand_value(cards: list[str]) -> float:
    """Say how good a hand is."""
    copies = len(cards) - len(set(cards))
    return sum(VALUE.get(card, 2.0) for card in cards) - SECOND_COPY * copies


class Weights:
    """The tables: for each a sorted array of hashed keys, and of the odds of seven moves, four bits each."""

    def __init__(self, path: Path) -> None:
        numbers = array("I")
        numbers.frombytes(lzma.decompress(path.read_bytes()))
        self.tables: list[tuple[array[int], array[int]]] = []
        start = 0
        while start < len(numbers):
            size = numbers[start]
            middle = start + 1 + size
            self.tables.append((numbers[start + 1 : middle], numbers[middle : middle + size]))
            start = middle + size

    def odds(self, table: int, key: int) -> list[int] | None:
        """Return the odds of the seven moves at a key, 0 to 15 each, None for a key that isn't in the table."""
        keys, odds = self.tables[table]
        digest = (key + 1) * 0x9E3779B97F4A7C15 >> 32 & 0xFFFFFFFF
        place = bisect_left(keys, digest)
        if place == len(keys) or keys[place] != digest:
            return None
        return [odds[place] >> 4 * move & 15 for move in range(7)]


class Habits:
    """What the opponent did in this match, as counts, and which table they ask for."""

    def __init__(self) -> None:
        self.yes = [0] * (CLAIMS + 1)
        self.no = [0] * (CLAIMS + 1)
        self.open: dict[str, int] = {}  # a role that it claimed and may still hold -> LIES, BLOCK_LIES: where
        self.action = ""  # the latest action
        self.blocked = False  # whether it has blocked that

    def count(self, sign: int, yes: bool) -> None:
        (self.yes if yes else self.no)[sign] += 1

    def see_own(self, event: Message) -> None:
        """Take in an event of our own seat."""
        name = event["event"]
        if name == "action":
            self.blocked = False
        if event.get("claim") or name == "block":
            self.count(DOUBTS, yes=False)  # until it challenges
        if name == "resolved" and event["how"] in ("done", "blocked"):  # it could have blocked
            if event["action"] == "foreign_aid":
                self.count(BLOCKS_AID, self.blocked)
            elif event["action"] in ("steal", "assassinate"):
                self.count(BLOCKS, self.blocked)

    def see_other(self, event: Message) -> None:
        """Take in an event of the opponent."""
        name, role = event["event"], event.get("role") or event.get("claim") or ""
        if name == "action":
            self.count(CLAIMS, bool(role))
            if role:
                self.open.setdefault(role, LIES)
        elif name == "block":
            self.blocked = True
            self.open.setdefault(role, BLOCK_LIES)
        elif name == "challenge":
            self.no[DOUBTS] -= 1
            self.count(DOUBTS, yes=True)
        elif name == "unproven":
            self.count(self.open.pop(role, LIES), yes=True)
        elif name == "lost" and role in self.open:
            self.count(self.open.pop(role), yes=False)
        elif name == "shown":
            self.count(self.open.get(role, LIES), yes=False)
            self.open.clear()  # whether its other claims were true we can't tell any more
        elif name == "exiled":
            for sign in self.open.values():  # neither of its cards was of these roles
                self.count(sign, yes=True)
            self.open.clear()
        elif name == "exchanged":
            self.open.clear()

    def table(self) -> int:
        """Return the table for the likeliest sort of opponent, 0 while there is no clear one."""
        logs = []
        for style in STYLES:
            chances = [min(SURE, max(1 - SURE, chance)) for chance in style[:-1]]
            each = zip(self.yes, self.no, chances, strict=True)
            logs.append(TRUST * sum(yes * log(chance) + no * log(1 - chance) for yes, no, chance in each))
        likelihoods = [0.0] * TABLES
        for style, value in zip(STYLES, logs, strict=True):
            likelihoods[int(style[-1])] += exp(value - max(logs))
        best = max(likelihoods)
        return likelihoods.index(best) if best >= CLEAR * sum(likelihoods) else 0


class Duellist(Bot):
    name, version = "duellist", "1.0"

    weights: Weights | None = None  # read once for all matches

    def __init__(self) -> None:
        self.habits = Habits()
        self.duel = False  # whether the tables know this game
        self.claims: list[int] = []  # by seat, a mask of the roles that it claimed with cards that it may still hold
        self.caught: list[int] = []  # by seat, whether it was caught with a lie in this game
        self.doubter: list[int] = []  # by seat, whether it has challenged in this game
        self.again = False  # whether the latest claim had been made before
        self.blocker = -1  # who has blocked the latest action
        self.latest: tuple[str, int | None] = ("", None)  # the latest action and its target
        self.blocked: dict[tuple[str, int | None], int] = {}  # blocked action and target -> the seat that blocked

    # --- what happens -------------------------------------------------------------------------------------------------

    def match_start(self, game: Game) -> None:
        rules = game.rules
        self.habits = Habits()
        self.duel = rules.get("deck") == dict.fromkeys(ROLES, 3) and not rules.get("draft")
        self.duel &= not rules.get("reformation") and rules.get("exchange_draw") in (None, 2)
        if self.duel and Duellist.weights is None:
            Duellist.weights = Weights(Path(__file__).with_name("weights.xz"))

    def game_start(self, game: Game) -> None:
        seats = len(game.players)
        self.claims, self.caught, self.doubter = [0] * seats, [0] * seats, [0] * seats
        self.blocker, self.latest, self.blocked = -1, ("", None), {}
        self.habits.open.clear()

    def event(self, game: Game, event: Message) -> None:
        name, seat = event["event"], event.get("seat", 0)
        role = event.get("role") or event.get("claim") or ""
        if name in ("lost", "shown", "exchanged"):  # this seat has other cards now
            self.blocked = {action: by for action, by in self.blocked.items() if by != seat}
        if name == "action":
            self.latest, self.blocker = (event["action"], event.get("target")), -1
        elif name == "block":
            self.blocked[self.latest] = self.blocker = seat
        elif name == "challenge":
            self.doubter[seat] = 1
        elif name == "unproven":
            self.caught[seat] = 1
        elif name == "exchanged":
            self.claims[seat] = 0
        if role in CODE:
            mask = 1 << CODE[role]
            if name in ("action", "block"):
                self.again = bool(self.claims[seat] & mask)
                self.claims[seat] |= mask
            elif name in ("lost", "shown", "unproven"):
                self.claims[seat] &= ~mask
        if self.duel and len(self.claims) == 2:
            (self.habits.see_own if seat == game.seat else self.habits.see_other)(event)

    # --- the tables ---------------------------------------------------------------------------------------------------

    def key(self, game: Game, phase: int, extra: int, level: int) -> int:
        """Return the number of a situation. `extra`: what only this phase has; `level`: 0 is fine, 2 is coarse."""
        me, table = game.seat, game.state["players"]
        mine, its = (min(MOST_COINS, table[seat]["coins"]) for seat in (me, 1 - me))
        own, theirs = self.claims[me], self.claims[1 - me]
        flags = self.doubter[1 - me] | self.caught[1 - me] << 1
        cards = sorted(CODE[card] for card in game.cards)
        hand = pair(*cards) if len(cards) == 2 else 15 + cards[0]
        dead = sorted(CODE[card] for player in table for card in player["revealed"])
        fallen = 6 + pair(*dead) if len(dead) == 2 else 1 + dead[0] if dead else 0
        cards_only = phase in (LOSE, KEEP)
        if level or cards_only:
            mine, its, own = COINS[mine], COINS[its], 0
        if phase == KEEP:
            hand = len(cards)  # all cards are in `extra`
        if level or phase == KEEP:
            flags = 0
        if level == 2 or (level and cards_only):
            theirs = 0
        if level == 2:
            fallen = len(dead)
            if cards_only:
                mine = its = 0
        number = phase | level << 3
        parts = ((20, hand), (21, fallen), (11, mine), (11, its), (32, theirs), (32, own), (4, flags), (1300, extra))
        for size, part in parts:
            number = number * size + part
        return number

    def draw(self, game: Game, phase: int, extra: int, moves: list[Move | None]) -> Move | None:
        """Draw one of the moves, which stand in the tables' order; None where no table knows the situation."""
        fallen = sum(len(player["revealed"]) for player in game.state["players"])
        if not self.duel or self.weights is None or len(game.players) != 2 or fallen > 2:
            return None
        table = self.habits.table()
        for level in range(LEVELS):
            odds = self.weights.odds(table, self.key(game, phase, extra, level))
            if odds is not None:
                chances = [chance if move else 0 for chance, move in zip(odds, moves, strict=False)]
                return game.random.choices(moves, chances)[0] if any(chances) else None
        return None

    # --- decisions ----------------------------------------------------------------------------------------------------

    def turn(self, game: Game) -> Answer:
        if len(game.legal) == 1:
            return 0
        moves = [game.find(action) for action in ACTIONS]
        return self.draw(game, TURN, 0, moves) or self.honest_turn(game)

    def challenge(self, game: Game) -> Answer:
        role, action = game.claim["role"], game.pending["action"]
        if role not in CODE or action not in ACTIONS:
            return None
        seen = [*game.cards, *(card for player in game.players for card in player.revealed)]
        if seen.count(role) >= game.rules.get("deck", {}).get(role, len(seen) + 1):
            return game.find("challenge")  # a certain lie
        if game.claim["block"]:
            extra = ACTIONS.index(action) | (role == "captain") << 3 | self.again << 4
            return self.draw(game, DOUBT_BLOCK, extra, [*game.legal])
        return self.draw(game, DOUBT, CODE[role] | self.again << 3, [*game.legal])

    def block(self, game: Game) -> Answer:
        action = game.pending["action"]
        move = None
        if action in ACTIONS:
            move = self.draw(game, BLOCK, ACTIONS.index(action) | game.proven << 3, [*game.legal])
        return move or next((move for move in game.moves("block") if move["block"] in game.cards), None)

    def lose(self, game: Game) -> Answer:
        after = 0  # the action is over
        if game.reason == "challenge" and game.actor != game.seat:
            after = 2 if self.blocker == game.seat else 1  # the action takes effect, or can still be blocked
        move = None
        if len(game.legal) == 2 and CODE.keys() >= set(game.cards):
            move = self.draw(game, LOSE, after | (game.actor == game.seat) << 2, [*game.legal])
        return move or min(game.legal, key=lambda move: VALUE.get(move["lose"], 2.0))

    def exchange(self, game: Game) -> Answer:
        pool = sorted([*game.cards, *game.drawn])
        move = None
        if CODE.keys() >= set(pool):
            extra = 0
            for card in pool:
                extra = extra * 6 + 1 + CODE[card]
            move = self.draw(game, KEEP, extra, [*sorted(game.legal, key=lambda move: sorted(move["keep"]))])
        return move or max(game.legal, key=lambda move: hand_value(move["keep"]))

    # --- honest moves -------------------------------------------------------------------------------------------------

    def honest_turn(self, game: Game) -> Answer:
        """Choose the best action that is legal, true, and wasn't just blocked."""

        def strength(move: Move) -> tuple[int, int]:
            target = game.players[move["target"]]
            return target.influence, target.coins

        for action in ("coup", "assassinate", "tax", "steal", "exchange", "foreign_aid"):
            if ROLE_FOR.get(action, game.cards[0]) in game.cards:
                moves = [move for move in game.moves(action) if (action, move.get("target")) not in self.blocked]
                if action == "steal":
                    moves = [move for move in moves if game.players[move["target"]].coins]
                if moves:
                    return max(moves, key=strength) if "target" in moves[0] else moves[0]
        return None


if __name__ == "__main__":
    run(Duellist())
