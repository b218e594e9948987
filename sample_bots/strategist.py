"""Imagines the hidden cards, plays each move to the end many times, and keeps the one that wins most often.

It plays honestly, and lies only to block an attack, unless another move wins far more of the imagined games.
A decision takes these steps:
  - Belief: a player that claims a role is likelier to hold it; a player that was caught, less likely. Cards are
    dealt to the others by these weights. (With equal weights it wins 65 % at 4 seats among the samples, not 76 %.)
  - Playouts: `Table` plays an imagined deal to the end by simple habits, once for each promising move.
  - Margin: it plays the honest move unless another wins MARGIN more of the games. The habits are weaker than real
    players, so small gains are mostly errors. (Without the margin it wins 57 %.)
  - Model: over all games of the match it counts, by handle, bluffs and challenges. The habits use the counts.

The sample bot strategist_cpp plays in the same way with more deals, and many times as fast. `arena review` imports this
one to evaluate moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from time import process_time

from coup_kit import Answer, Bot, Game, Message, Move, run

# Roles and actions are small numbers here: the playouts look them up in lists.
DUKE, ASSASSIN, CAPTAIN, AMBASSADOR, CONTESSA = ROLES = range(5)
ROLE = {"duke": 0, "assassin": 1, "captain": 2, "ambassador": 3, "inquisitor": 3, "contessa": 4}
INCOME, FOREIGN_AID, COUP, TAX, STEAL, ASSASSINATE, EXCHANGE, EXAMINE = range(8)
ACTION = {
    "income": INCOME,
    "foreign_aid": FOREIGN_AID,
    "coup": COUP,
    "tax": TAX,
    "steal": STEAL,
    "assassinate": ASSASSINATE,
    "exchange": EXCHANGE,
    "examine": EXAMINE,
}
CLAIM = [None, None, None, DUKE, CAPTAIN, ASSASSIN, AMBASSADOR, AMBASSADOR]  # by action, the role that it claims
WORTH = [4.2, 3.7, 5.0, 2.6, 2.2]  # by role, the value of keeping it
PAIR = 1.9  # a second card of a role adds no new action, so its value is lower by this

DEALS = 60  # imagined deals for a decision
FIRST_DEALS = 20  # after this number, moves that win less often than the honest one are dropped
MARGIN = 0.12  # part of a game by which another move must beat the honest one; 0.08 with 100 deals is equal
HAND_MARGIN = 0.03  # the same for cards to lose or keep, where the habits mislead less
# We lie less often to block an attack, the likelier a challenge is, and above this risk only if playouts say so.
# Without this mix, challenging each block wins. A caught bluff costs one more card.
BLOCK_RISK = {ASSASSINATE: 0.5, STEAL: 0.25}
LAST_TURN = 50  # after this number of turns, an imagined game is shared by cards
TIME = 0.5  # part of a request's time after which no deal starts; never reached with 0.5 s a move

CLAIM_WEIGHT = 4.3  # how much likelier a claim makes a card
MAX_WEIGHT = 20.0  # for any number of claims
CAUGHT_WEIGHT = 0.1  # it had no such card; it may have drawn one since
EXCHANGED = [1.2, 1.1, 1.1, 0.8, 0.9]  # a player that exchanged holds better cards


# Stages of an action with a request to us.
DECLARE, CHALLENGE, BLOCK, CHALLENGE_BLOCK = range(4)


class Habits:
    """How one player behaves in this match. Before the first game the numbers are those of average players."""

    __slots__ = ("asked", "challenges", "false", "true")

    def __init__(self) -> None:
        self.asked = 0  # claims that it could challenge
        self.challenges = 0
        self.true = [0, 0]  # claims that turned out true: by actions, by blocks
        self.false = [0, 0]

    @property
    def doubt(self) -> float:
        """How often it challenges a claim."""
        return (self.challenges + 1.4) / (self.asked + 20)

    def bluffs(self, block: int) -> float:
        """Its bluffs in relation to those of average players."""
        true, false = self.true[block], self.false[block]
        return 3 * (false + 1) / (true + false + 3)

    def trust(self, block: int) -> float:
        """The weight of its claims in relation to those of average players."""
        return (self.true[block] + 3) / (self.false[block] + 1) / 3


class Table:
    """A game with all cards open, which is played to its end by habits. A seat or role of None means none."""

    __slots__ = (
        "alive",
        "block_bluffs",
        "bluffs",
        "coins",
        "copies",
        "costs",
        "deck",
        "doubts",
        "gone",
        "hands",
        "random",
    )

    def __init__(self, like: Sitting, hands: list[list[int]], deck: list[int]) -> None:
        self.hands = [hand[:] for hand in hands]  # by seat
        self.deck = deck[:]
        self.coins = like.coins[:]
        self.gone = like.gone[:]  # by role, the number of face-up cards
        self.copies, self.costs = like.copies, like.costs
        self.doubts, self.bluffs, self.block_bluffs = like.doubts, like.bluffs, like.block_bluffs  # by seat
        self.random = like.random
        self.alive = sum(1 for hand in hands if hand)

    def finish(self, me: int, actor: int) -> float:
        """Play from the turn after `actor`'s to the end; return our part of the game."""
        hands = self.hands
        seats = len(hands)
        for _ in range(LAST_TURN):
            if not hands[me]:
                return 0.0
            if self.alive == 1:
                return 1.0
            actor = (actor + 1) % seats
            while not hands[actor]:
                actor = (actor + 1) % seats
            self.act(actor, *self.choose(actor))
        return len(hands[me]) / sum(map(len, hands))

    def choose(self, actor: int) -> tuple[int, int]:
        """Choose an action and its target by habit."""
        coins, hand, chance, bluffs = self.coins, self.hands[actor], self.random, self.bluffs[actor]
        money = coins[actor]
        if money >= self.costs[COUP]:
            return COUP, self.strongest(actor)
        if money >= self.costs[ASSASSINATE] and (ASSASSIN in hand or chance() < 0.08 * bluffs):
            return ASSASSINATE, self.strongest(actor)
        if CAPTAIN in hand or chance() < 0.1 * bluffs:
            victim = self.richest(actor)
            if coins[victim] >= (5 if DUKE in hand else 2):
                return STEAL, victim
        if DUKE in hand or chance() < 0.3 * bluffs:
            return TAX, actor
        if AMBASSADOR in hand and chance() < 0.5:
            return EXCHANGE, actor
        return (FOREIGN_AID if chance() < 0.6 else INCOME), actor

    def strongest(self, actor: int) -> int:
        """Return the opponent with most cards, then most coins."""
        hands, coins = self.hands, self.coins
        best, most = -1, -1
        for seat, hand in enumerate(hands):
            if hand and seat != actor:
                strength = 100 * len(hand) + coins[seat]
                if strength > most:
                    best, most = seat, strength
        return best

    def richest(self, actor: int) -> int:
        """Return the opponent with most coins."""
        coins = self.coins
        best, most = -1, -1
        for seat, hand in enumerate(self.hands):
            if hand and seat != actor and coins[seat] > most:
                best, most = seat, coins[seat]
        return best

    def act(
        self,
        actor: int,
        action: int,
        target: int,
        stage: int = DECLARE,
        me: int = -1,
        answer: int | None = None,
        blocker: int | None = None,
        block_role: int = DUKE,
    ) -> None:
        """Play an action from a stage on: at DECLARE all by habit, at others with our answer in place of our habit.

        `me`: our seat, from CHALLENGE on. `answer`: whether we challenge, or at BLOCK the role to block with, or None.
        `blocker`, `block_role`: the announced block, at CHALLENGE_BLOCK.
        """
        if stage == DECLARE:
            self.coins[actor] -= self.costs[action]
        role = CLAIM[action]
        if role is not None and stage <= CHALLENGE:
            doubter = me if answer and stage == CHALLENGE else self.doubter(actor, role, me)
            if doubter is not None and not self.proves(actor, role, doubter):
                if action == ASSASSINATE:
                    self.coins[actor] += self.costs[action]
                return
        if stage == BLOCK and answer is not None:
            blocker, block_role = me, answer
        elif stage < CHALLENGE_BLOCK:
            blocker, block_role = self.block(actor, action, target, me if stage == BLOCK else -1)
        if blocker is not None:
            asked_me = stage == CHALLENGE_BLOCK
            already_asked = me if asked_me else -1
            doubter = me if asked_me and answer else self.doubter(blocker, block_role, already_asked, actor)
            if doubter is None or self.proves(blocker, block_role, doubter):
                return
        self.resolve(actor, action, target)

    def block(self, actor: int, action: int, target: int, me: int) -> tuple[int | None, int]:
        """Return the seat that blocks an action, or None, and the role. `me` isn't asked."""
        if action == FOREIGN_AID:
            return self.aid_blocker(actor, me), DUKE
        if action in (STEAL, ASSASSINATE) and target != me:
            return self.attack_blocker(action, target)
        return None, DUKE

    def resolve(self, actor: int, action: int, target: int) -> None:
        """Apply the effect of an action that was paid and not stopped."""
        coins, hands = self.coins, self.hands
        if action == TAX:
            coins[actor] += 3
        elif action == FOREIGN_AID:
            coins[actor] += 2
        elif action == INCOME:
            coins[actor] += 1
        elif action == STEAL:
            loot = min(2, coins[target]) if hands[target] else 0
            coins[target] -= loot
            coins[actor] += loot
        elif action == EXCHANGE:
            self.exchange(actor)
        elif action != EXAMINE and hands[target]:
            self.lose(target)

    def doubter(self, claimant: int, role: int, me: int, victim: int = -1) -> int | None:
        """Return the seat that challenges a claim, or None. `me` isn't asked. `victim`: the actor if it is a block."""
        chance, doubts, gone = self.random, self.doubts, self.gone[role]
        few = gone >= self.copies[role] - 2  # a player may hold all remaining copies
        for seat, hand in enumerate(self.hands):
            if hand and seat != claimant and seat != me:
                doubt = doubts[seat]
                if chance() < (2 * doubt if seat == victim else doubt):
                    return seat
                if few and gone + hand.count(role) >= self.copies[role]:
                    return seat
        return None

    def proves(self, claimant: int, role: int, doubter: int) -> bool:
        """Resolve a challenge; return whether the claim was true."""
        hand = self.hands[claimant]
        if role not in hand:
            self.lose(claimant)
            return False
        self.lose(doubter)
        place = int(self.random() * (len(self.deck) + 1))
        if place < len(self.deck):  # else it draws the shown card again
            hand[hand.index(role)], self.deck[place] = self.deck[place], role
        return True

    def lose(self, seat: int) -> None:
        """Turn the card with the lowest value face up."""
        hand = self.hands[seat]
        card = hand.pop(0 if len(hand) > 1 and WORTH[hand[0]] < WORTH[hand[1]] else -1)
        self.gone[card] += 1
        if not hand:
            self.alive -= 1

    def aid_blocker(self, actor: int, me: int) -> int | None:
        """Return the seat that blocks foreign aid, or None."""
        for seat, hand in enumerate(self.hands):
            asked = hand and seat != actor and seat != me
            if asked and (DUKE in hand or self.random() < 0.08 * self.block_bluffs[seat]):
                return seat
        return None

    def attack_blocker(self, action: int, target: int) -> tuple[int | None, int]:
        """Return the seat that blocks an attack (the target or None), and the role."""
        hand, bluffs = self.hands[target], self.block_bluffs[target]
        if not hand:
            return None, DUKE
        if action == STEAL:
            if CAPTAIN in hand:
                return target, CAPTAIN
            if AMBASSADOR in hand or self.random() < 0.3 * bluffs:
                return target, AMBASSADOR
        elif CONTESSA in hand or (len(hand) == 1 and self.random() < 0.95) or self.random() < 0.35 * bluffs:
            return target, CONTESSA
        return None, DUKE

    def exchange(self, actor: int) -> None:
        """Draw two cards and keep the best."""
        hand, deck = self.hands[actor], self.deck
        keep = len(hand)
        for _ in range(min(2, len(deck))):
            hand.append(deck.pop(int(self.random() * len(deck))))
        hand.sort(key=WORTH.__getitem__, reverse=True)
        if keep == 2 and hand[0] == hand[1]:  # two different roles, if possible
            other = next((place for place, card in enumerate(hand) if card != hand[0]), 1)
            hand[1], hand[other] = hand[other], hand[1]
        deck += hand[keep:]
        del hand[keep:]


class Sitting:
    """Our knowledge of the game at one request, as numbers that all imagined deals share."""

    def __init__(self, game: Game, weights: list[list[float]], habits: list[Habits], rng: Random) -> None:
        rules = game.rules
        players = game.players
        self.random = rng.random
        self.me = game.seat
        self.coins = [player.coins for player in players]
        self.costs = [0] * 8
        self.costs[COUP], self.costs[ASSASSINATE] = rules.get("coup_cost", 7), rules.get("assassinate_cost", 3)
        self.doubts = [habit.doubt for habit in habits]
        self.bluffs = [habit.bluffs(0) for habit in habits]
        self.block_bluffs = [habit.bluffs(1) for habit in habits]
        self.weights = [row[:] for row in weights]  # by seat and role; 0: it certainly lacks the role
        for player in players:
            for role in roles_of(player.lacks):
                self.weights[player.seat][role] = 0.0
        self.hand, self.drawn = roles_of(game.cards), roles_of(game.drawn)
        self.deck = roles_of(game.request["you"].get("known", {}).get("deck", ()))  # certain cards
        self.known = [roles_of(player.known)[: player.influence] for player in players]
        self.hidden = [player.influence - len(known) for player, known in zip(players, self.known, strict=True)]
        self.others = [player.seat for player in game.opponents]
        self.copies, self.gone = [0] * len(ROLES), [0] * len(ROLES)  # by role: all cards, and the face-up ones
        for name, copies in rules["deck"].items():
            self.copies[ROLE[name]] += copies
        for player in players:
            for role in roles_of(player.revealed):
                self.gone[role] += 1
        self.unseen = [copies - gone for copies, gone in zip(self.copies, self.gone, strict=True)]
        for seen in (self.hand, self.drawn, self.deck, *(self.known[seat] for seat in self.others)):
            for role in seen:
                self.unseen[role] -= 1

    def deal(self) -> tuple[list[list[int]], list[int]]:
        """Imagine the others' hands and the deck; return the hands by seat, and the deck."""
        left = [max(0, count) for count in self.unseen]
        hands: list[list[int]] = [[] for _ in self.coins]
        hands[self.me] = self.hand
        first = int(self.random() * len(self.others))  # the first seat gets the cards that it claims, so vary it
        for seat in self.others[first:] + self.others[:first]:
            hand, weights = self.known[seat][:], self.weights[seat]
            for _ in range(self.hidden[seat]):
                odds = [count * weight for count, weight in zip(left, weights, strict=True)]
                if not any(odds):  # earlier seats took the cards that it may hold
                    odds = [*map(float, left)]
                role = self.draw(odds)
                if role is not None:
                    left[role] -= 1
                    hand.append(role)
            hands[seat] = hand
        return hands, self.deck + [role for role in ROLES for _ in range(left[role])]

    def draw(self, odds: list[float]) -> int | None:
        """Return a role, drawn by the odds of each; None if all are 0."""
        pick = self.random() * sum(odds)
        for role in ROLES:
            pick -= odds[role]
            if pick < 0 and odds[role]:
                return role
        return None


class Strategist(Bot):
    name, version = "strategist", "1.0"

    def __init__(self) -> None:
        self.habits: dict[str, Habits] = {}  # by handle, for the whole match
        self.latest: tuple[str, int | None] = ("", None)  # the latest action and its target
        self.blocked: dict[tuple[str, int | None], int] = {}  # blocked action and target -> the seat that blocked
        self.weights: list[list[float]] = []  # by seat and role, the weight of holding a card
        self.claimed: list[dict[int, int]] = []  # by seat: role that it claimed -> 0 by an action, 1 by a block
        self.exiled: list[bool] = []  # by seat
        self.imagines = False  # whether the playouts know these rules
        self.sure = True  # decide certain cases without playouts

    def game_start(self, game: Game) -> None:
        seats = len(game.players)
        self.latest, self.blocked = ("", None), {}
        self.weights = [[1.0] * len(ROLES) for _ in range(seats)]
        self.claimed = [{} for _ in range(seats)]
        self.exiled = [False] * seats
        deck = game.rules.get("deck", {})
        self.imagines = bool(deck) and ROLE.keys() >= deck.keys() and not game.rules.get("reformation")

    # --- events -------------------------------------------------------------------------------------------------------

    def event(self, game: Game, event: Message) -> None:
        name = event["event"]
        if name == "action":
            self.latest = (event["action"], event.get("target"))
        elif name == "block":
            self.blocked[self.latest] = event["seat"]
        elif name in ("lost", "shown", "exchanged"):  # this seat may have other cards now
            self.blocked = {action: seat for action, seat in self.blocked.items() if seat != event["seat"]}
        if self.imagines:
            self.weigh(game, event)

    def weigh(self, game: Game, event: Message) -> None:
        """Update which cards players are likely to hold, and how often they bluff and challenge."""
        name, seat = event["event"], event.get("seat", 0)
        habits, weights, claims = self.habit(game, seat), self.weights[seat], self.claimed[seat]
        role = ROLE.get(event.get("role") or event.get("claim") or "", -1)
        if name in ("action", "block") and role >= 0:
            block = int(name == "block")
            weights[role] = min(MAX_WEIGHT, weights[role] * max(1.0, CLAIM_WEIGHT * habits.trust(block)))
            claims.setdefault(role, block)
            for player in game.players:
                if player.seat != seat and not self.exiled[player.seat]:
                    self.habit(game, player.seat).asked += 1
        elif name == "challenge":
            habits.challenges += 1
        elif name == "shown":
            habits.true[claims.get(role, 0)] += 1
            claims.clear()  # we can no longer know whether its other claims were true
            weights[role] = 1.0
        elif name == "unproven":
            habits.false[claims.pop(role, 0)] += 1
            weights[role] = CAUGHT_WEIGHT
        elif name == "lost":
            if role in claims:
                habits.true[claims.pop(role)] += 1
            weights[role] = min(weights[role], 1.0)
        elif name == "exiled":
            self.exiled[seat] = True
            for block in claims.values():  # neither of its cards was of these roles
                habits.false[block] += 1
            claims.clear()
        elif name == "exchanged":
            claims.clear()
            weights[:] = EXCHANGED
        elif name == "examined" and event["replaced"]:
            self.claimed[event["target"]].clear()
            self.weights[event["target"]] = [1.0] * len(ROLES)
        elif name == "forfeit":
            claims.clear()

    def habit(self, game: Game, seat: int) -> Habits:
        """Return the counts of a player in this match."""
        return self.habits.setdefault(game.players[seat].handle, Habits())

    # --- decisions ----------------------------------------------------------------------------------------------------

    def turn(self, game: Game) -> Answer:
        """Play the honest move, unless one of up to two other moves of an action wins more imagined games."""
        default = self.honest_turn(game)
        if not self.imagines or default["action"] not in ACTION:
            return default
        me, moves = game.seat, [default]
        for action in ACTION:
            options = [move for move in game.moves(action) if move != default]
            if action == "steal":
                options = [move for move in options if game.players[move["target"]].coins]
                options.sort(key=lambda move: -game.players[move["target"]].coins)
            elif action in ("coup", "assassinate", "examine"):
                options.sort(key=lambda move: self.strength(game, move), reverse=True)
            if action != "income":
                moves += options[:2]

        def start(table: Table, move: Move) -> None:
            table.act(me, ACTION[move["action"]], move.get("target", me))

        return self.best(game, moves, start)

    def challenge(self, game: Game) -> Answer:
        """Challenge certain lies, pass at certain truths, and imagine both answers to other claims."""
        claim = game.claim
        if not self.imagines or claim["role"] not in game.rules["deck"]:
            return None
        role = ROLE[claim["role"]]
        sitting = self.sitting(game)
        if self.sure and role in sitting.known[claim["seat"]]:
            return None
        if self.sure and (sitting.unseen[role] <= 0 or not sitting.weights[claim["seat"]][role]):
            return game.find("challenge")
        actor, action, target = under_way(game)
        block = claim["block"]

        def start(table: Table, move: Move) -> None:
            answer = int("challenge" in move)
            if block:
                table.act(actor, action, target, CHALLENGE_BLOCK, sitting.me, answer, claim["seat"], role)
            else:
                table.act(claim["seat"], action, target, CHALLENGE, sitting.me, answer)

        return self.best(game, game.legal, start, sitting)

    def block(self, game: Game) -> Answer:
        """Block with a card that we hold, sometimes with the most credible lie, unless another answer wins more."""
        default = next((move for move in game.moves("block") if move["block"] in game.cards), None)
        if not self.imagines:
            return default
        me, sitting = game.seat, self.sitting(game)
        actor, action, target = under_way(game)
        if default is None:
            default = game.legal[0]
            if target == me and self.risk(game) < BLOCK_RISK.get(action, 0) * game.random.random():

                def believable(move: Move) -> int:
                    role = ROLE[move["block"]]
                    return 0 if game.me.caught[move["block"]] else sitting.unseen[role] + sitting.deck.count(role)

                lie = max(game.moves("block"), key=believable)
                default = lie if believable(lie) > 0 else default

        def start(table: Table, move: Move) -> None:
            table.act(actor, action, target, BLOCK, me, ROLE[move["block"]] if "block" in move else None)

        return self.best(game, [default, *(move for move in game.legal if move != default)], start, sitting)

    def risk(self, game: Game) -> float:
        """Return the probability that a player challenges us."""
        safe = 1.0
        for player in game.opponents:
            safe *= 1 - self.habit(game, player.seat).doubt
        return 1 - safe

    def lose(self, game: Game) -> Answer:
        moves = sorted(game.legal, key=lambda move: hand_worth([move["lose"]]))
        if not self.imagines:
            return moves[0]
        me = game.seat

        def start(table: Table, move: Move) -> None:
            role = ROLE[move["lose"]]
            table.hands[me].remove(role)
            table.gone[role] += 1

        return self.best(game, moves, start, margin=HAND_MARGIN)

    def exchange(self, game: Game) -> Answer:
        moves = sorted(game.legal, key=lambda move: hand_worth(move["keep"]), reverse=True)
        if not self.imagines:
            return moves[0]
        me = game.seat

        def start(table: Table, move: Move) -> None:
            back = [ROLE[card] for card in game.cards + game.drawn]
            table.hands[me] = [ROLE[card] for card in move["keep"]]
            for role in table.hands[me]:
                if role in back:
                    back.remove(role)
            table.deck += back

        return self.best(game, moves, start, margin=HAND_MARGIN)

    def best(
        self,
        game: Game,
        moves: list[Move],
        start: Callable[[Table, Move], None],
        sitting: Sitting | None = None,
        margin: float | None = None,
    ) -> Move:
        """Return the move that wins most imagined games if by more than `margin` of them, else the first move."""
        margin = MARGIN if margin is None else margin
        if len(moves) == 1:
            return moves[0]
        began, free = process_time(), game.request.get("clock", {}).get("limit_ms", 500) / 1000 * TIME
        sitting = sitting or self.sitting(game)
        me, actor = sitting.me, game.actor
        wins = [0.0] * len(moves)
        tried = list(range(len(moves)))
        done = 0
        while done < DEALS and process_time() - began < free:
            if done == FIRST_DEALS:
                tried = [number for number in tried if number == 0 or wins[number] > wins[0]]
                if len(tried) == 1:
                    break
            hands, deck = sitting.deal()
            for number in tried:
                table = Table(sitting, hands, deck)
                start(table, moves[number])
                wins[number] += table.finish(me, actor)
            done += 1
        winner = max(tried, key=wins.__getitem__)
        return moves[winner] if wins[winner] - wins[0] > margin * done else moves[0]

    def sitting(self, game: Game) -> Sitting:
        """Return our knowledge as numbers."""
        habits = [self.habit(game, player.seat) for player in game.players]
        return Sitting(game, self.weights, habits, game.random)

    # --- the honest moves ---------------------------------------------------------------------------------------------

    def strength(self, game: Game, move: Move) -> tuple[int, int]:
        """Return the strength of a move's target."""
        target = game.players[move["target"]]
        return target.influence, target.coins

    def honest_turn(self, game: Game) -> Move:
        """Choose as the sample bot `honest` does: the best action that is legal, true, and wasn't just blocked."""

        def coins(move: Move) -> int:
            return game.players[move["target"]].coins

        for action in ("coup", "assassinate"):
            if attacks := self.true_moves(game, action):
                return max(attacks, key=lambda move: self.strength(game, move))
        steals = [move for move in self.true_moves(game, "steal") if coins(move) >= 2]
        if steals and (not self.true_moves(game, "tax") or max(map(coins, steals)) >= 5):
            return max(steals, key=coins)
        for action in ("tax", "exchange", "foreign_aid", "income"):
            if moves := self.true_moves(game, action):
                return moves[0]
        return game.legal[0]

    def true_moves(self, game: Game, action: str) -> list[Move]:
        """Return the legal moves of an action that weren't blocked, if we hold the role that it claims."""
        claim = CLAIM[ACTION[action]]
        if claim is not None and claim not in (ROLE.get(card) for card in game.cards):
            return []
        return [move for move in game.moves(action) if (action, move.get("target")) not in self.blocked]


def roles_of(names: Iterable[str]) -> list[int]:
    """Return the numbers of roles."""
    return [ROLE[name] for name in names]


def under_way(game: Game) -> tuple[int, int, int]:
    """Return the actor, the action and its target; without a target, the actor."""
    actor = game.actor
    target: int = game.pending.get("target", actor)
    return actor, ACTION[game.pending["action"]], target


def hand_worth(cards: list[str]) -> float:
    """Return the value of a hand; an unknown role has the value 2."""
    copies = len(cards) - len(set(cards))
    return sum(WORTH[ROLE[card]] if card in ROLE else 2.0 for card in cards) - PAIR * copies


if __name__ == "__main__":
    run(Strategist())
