"""A second implementation of the rules, written from the documents alone: small, slow, and independent of the engine.

It imports no module of the arena, so that a mistake in the engine can't be repeated here. A game is a generator that
yields its questions, a list of legal moves for each asked seat, and is sent the answers; so the code below reads like
the rulebook. Citations are sections of docs/reference/rules.md; "decided" marks what no rule document states.
"""

from collections.abc import Generator, Iterable
from contextlib import suppress
from itertools import combinations
from typing import Any

Words = dict[int, list[str]]  # the legal words of each asked seat, in the order in which answers count
Answers = dict[int, str]
Asking = Generator[Words, Answers, Any]

FORFEIT, PASS, CHALLENGE = "#", "-", "!"
SIDES = ["loyalist", "reformist"]
NOT_DUKE = "not_duke"  # the claim of an embezzler, rules.md#embezzlement
COUP_COST, ASSASSINATION_COST = 7, 3  # rules.md#coup, #assassinate


class TurnOver(Exception):  # noqa: N818  no error, but the shortest way out of a turn
    """The rest of this turn is cancelled: the actor has left, or the target."""


class GameOver(Exception):  # noqa: N818  likewise
    """One player is left, or no player remains in the game."""


class Oracle:
    """One game. `chance` has `shuffled(items, purpose, event)` and `number(purpose, event, below)`."""

    def __init__(self, rules: Any, seats: int, chance: Any, starter: int = 0) -> None:
        self.rules, self.seats, self.chance = rules, seats, chance
        self.changer = "inquisitor" if rules.inquisitor else "ambassador"  # rules.md#inquisitor
        self.roles = sorted(["assassin", "captain", "contessa", "duke", self.changer])
        self.count = 0  # events so far
        self.messages: list[dict[str, Any]] = []  # events since the last answers
        self.turn = 1
        self.starter = {
            "seat_0": 0,  # decided; rules.md#first-player
            "last_winner": starter,  # rules.md#first-player
            "random": chance.number("first", 0, seats),  # treason's program
        }[rules.first_player]
        self.actor = self.starter
        self.coins = [rules.start_coins] * seats  # rules.md#coins
        if seats == 2:
            self.coins[self.starter] = rules.two_player_starter_coins  # rules.md#coins
        self.living = set(range(seats))
        self.cards: list[list[str]] = [[] for _ in range(seats)]
        self.revealed: list[list[str]] = [[] for _ in range(seats)]
        self.drawn: list[str] = []  # held by the actor while it exchanges
        self.examined: str | None = None  # seen by the actor while it decides
        self.discards: list[list[str]] = [[] for _ in range(seats)]  # of the draft, never in play
        self.reserve = 0
        self.sides: list[str] | None = None
        self.action = ""  # the pending action
        self.target: int | None = None  # of the pending action
        self.how: str | None = None  # how it ends, once that is settled
        self.replaced = False  # whether the card that proved this turn's action went back to the deck
        self.over: tuple[int | None, str, list[int]] | None = None
        # rules.md#deck. In the draft only the third set is ever a deck, rules.md#draft.
        copies = 1 if rules.draft else 3 if seats <= 6 else 4 if seats <= 8 else 5
        self.deck = chance.shuffled(sorted(self.roles * copies), "deal", 0)
        if not rules.draft:
            for hand in self.cards:
                hand += [self.deck.pop(), self.deck.pop()]  # rules.md#deal
        if rules.reformation and rules.allegiance_start == "assigned":
            self._alternate(0, SIDES[chance.number("allegiance", 0, 2)])  # rules.md#allegiance
        self.game = self._game()
        self.question: Words = next(self.game)

    # ------------------------------------------------------------ from outside

    def asked(self) -> list[int]:
        return list(self.question)

    def legal(self, seat: int) -> list[str]:
        return self.question[seat]

    def apply(self, answers: Answers) -> list[dict[str, Any]]:
        assert answers.keys() == self.question.keys()
        assert all(word == FORFEIT or word in self.question[seat] for seat, word in answers.items())
        self.messages = []
        self.question = {}
        try:
            self.question = self.game.send(answers)
        except StopIteration:
            assert self.over is not None
        return self.messages

    def public(self) -> dict[str, Any]:
        return {
            "turn": self.turn,
            "actor": self.actor,
            "deck": len(self.deck),
            "coins": list(self.coins),
            "influence": [len(hand) for hand in self.cards],
            "revealed": [sorted(faces) for faces in self.revealed],
            "sides": self.sides and list(self.sides),
            "reserve": self.reserve,
        }

    def hands(self) -> list[list[str]]:
        return [sorted(hand) for hand in self.cards]

    def sees(self, seat: int) -> dict[str, Any]:
        """Return what is shown only to this seat, in addition to the events."""
        mine = seat == self.actor and seat in self.question
        return {
            "cards": sorted(self.cards[seat]),
            "drawn": sorted(self.drawn) if mine else [],
            "discards": self.discards[seat],  # decided: each player is shown its own
            "seen": self.examined if mine else None,
        }

    def result(self) -> tuple[int | None, str, list[int]] | None:
        return self.over

    # ------------------------------------------------------------ the game

    def _game(self) -> Asking:
        try:
            if self.rules.draft:
                yield from self._draft()
            if self.rules.reformation and self.rules.allegiance_start == "starter_chooses":
                yield from self._allegiances()
            while True:
                with suppress(TurnOver):
                    yield from self._turn()
                if self.turn == (self.rules.turn_limit or (200 if self.seats <= 4 else 300)):  # decided
                    self.over = None, "turn_limit", sorted(self.living)
                    return
                self.turn += 1
                self.actor = self._clockwise(self.actor)[0]  # rules.md#turn
        except GameOver:
            return

    def _draft(self) -> Asking:
        """rules.md#draft: each picks one of a set of five and gets one card of the third set. Sealed: decided."""
        answers = yield from self._ask({seat: [f"pick:{role}" for role in self.roles] for seat in (0, 1)})
        for seat in (0, 1):
            pick = answers[seat].removeprefix("pick:")
            self.discards[seat] = [role for role in self.roles if role != pick]
            self.cards[seat] = [pick, self.deck.pop()]
        for seat in (0, 1):
            self._emit("drafted", seat=seat, cards=sorted(self.cards[seat]))

    def _allegiances(self) -> Asking:
        """rules.md#allegiance. If the starter leaves, the next player clockwise starts (decided)."""
        while True:
            with suppress(TurnOver):
                answers = yield from self._ask({self.actor: [f"side:{side}" for side in SIDES]})
                break
            self.actor = self._clockwise(self.actor)[0]
        self._alternate(self.actor, answers[self.actor].removeprefix("side:"))
        self._emit("allegiances", seat=self.actor, sides=self.sides)

    def _alternate(self, first_seat: int, side: str) -> None:
        """rules.md#allegiance: going clockwise, each player alternates from the previous one."""
        first = SIDES.index(side)
        self.sides = [SIDES[(first + (seat - first_seat) % self.seats) % 2] for seat in range(self.seats)]

    def _turn(self) -> Asking:
        me = self.actor
        self.target, self.replaced, self.examined = None, False, None
        answers = yield from self._ask({me: self._turn_words()})
        action, _, aim = answers[me].partition(":")
        self.target = int(aim) if aim else None
        try:
            yield from self._action(action)
        except TurnOver:
            self.how = "target_gone" if me in self.living else "actor_gone"
        self._emit_outcome()

    def _emit_outcome(self) -> None:
        """SPEC: an action's last event has its outcome."""
        self._emit("resolved", seat=self.actor, action=self.action, target=self.target, how=self.how)

    def _action(self, action: str) -> Asking:
        me = self.actor
        self.action, self.how = action, None
        claim = {
            "tax": "duke",  # rules.md#tax
            "assassinate": "assassin",  # rules.md#assassinate
            "steal": "captain",  # rules.md#steal
            "exchange": self.changer,  # rules.md#exchange, #inquisitor
            "examine": "inquisitor",  # rules.md#examine
            "embezzle": NOT_DUKE,  # rules.md#embezzlement
        }.get(action)
        self._emit("action", seat=me, action=action, target=self.target, claim=claim)
        cost = {
            "coup": COUP_COST,
            "assassinate": ASSASSINATION_COST,
            "convert": 1 if self.target is None else 2,  # rules.md#conversion
        }.get(action, 0)
        if cost:
            self._pay(me, -cost, action)
            if action == "convert":
                self.reserve += cost  # rules.md#conversion

        # rules.md#order: challenges are resolved first.
        challenger = None
        if claim:
            stands, challenger = yield from self._challenge(me, claim, self._clockwise(me), cost)
            if not stands:
                return  # rules.md#lost-challenge
        if self.target is None or self.target in self.living:
            blocked = yield from self._block(action, challenger)
            if blocked:
                self.how = "blocked"
                return  # rules.md#blocks: the cost remains spent
        robbed = action == "steal" and self.rules.dead_target == "coins"  # treason's program
        if self.target is not None and self.target not in self.living and not robbed:
            self.how = "target_gone"
            return  # decided: it fizzles
        self.how = "done"
        yield from self._resolve(action)

    def _turn_words(self) -> list[str]:
        me, coins = self.actor, self.coins[self.actor]
        others = sorted(self.living - {me})
        foes = [seat for seat in others if self._may_attack(me, seat)]
        coups = [f"coup:{seat}" for seat in foes] if coins >= COUP_COST else []
        if self.rules.forced_coup and coins >= self.rules.forced_coup:
            return coups  # rules.md#forced-coup
        words = ["income", "foreign_aid", *coups, "tax"]
        if coins >= ASSASSINATION_COST:
            words += [f"assassinate:{seat}" for seat in foes]
        words += [f"steal:{seat}" for seat in foes]
        words += ["exchange"]
        if self.rules.inquisitor:
            words += [f"examine:{seat}" for seat in foes]  # rules.md#own-side
        if self.rules.reformation:
            if coins >= 1:
                words += ["convert"]
            if coins >= 2:
                words += [f"convert:{seat}" for seat in others]
            words += ["embezzle"]
        return words

    def _may_attack(self, seat: int, other: int) -> bool:
        """rules.md#own-side: not one's own side, unless all living are on one side. Also for blocking foreign aid."""
        if self.sides is None:
            return True
        return self.sides[seat] != self.sides[other] or len({self.sides[s] for s in self.living}) == 1

    def _resolve(self, action: str) -> Asking:
        me, target = self.actor, self.target
        if action == "income":
            self._pay(me, 1, action)  # rules.md#income
        elif action == "foreign_aid":
            self._pay(me, 2, action)  # rules.md#foreign-aid
        elif action == "tax":
            self._pay(me, 3, action)  # rules.md#tax
        elif action == "steal":
            loot = min(2, self.coins[target])  # rules.md#steal
            self._pay(target, -loot, "stolen")
            self._pay(me, loot, "steal")
        elif action in ("coup", "assassinate"):
            yield from self._lose(target, action)
        elif action == "exchange":
            yield from self._exchange()
        elif action == "examine":
            yield from self._examine()
        elif action == "convert":
            turned = me if target is None else target
            self.sides[turned] = SIDES[1 - SIDES.index(self.sides[turned])]
            self._emit("converted", seat=me, target=turned, allegiance=self.sides[turned])
        elif action == "embezzle":
            self._pay(me, self.reserve, action)  # rules.md#embezzlement; an empty reserve too: decided
            self.reserve = 0

    # ------------------------------------------------------------ challenges and blocks

    def _challenge(self, claimant: int, claim: str, askable: Iterable[int], cost: int) -> Asking:
        """Return whether the claim stands, and who challenged it, if anyone. `cost` is paid back if it falls."""
        answers = yield from self._ask({seat: [PASS, CHALLENGE] for seat in askable})  # rules.md#challenges
        challenger = next((seat for seat, word in answers.items() if word == CHALLENGE), None)
        if challenger is None:
            return True, None
        self._emit("challenge", seat=challenger, claimant=claimant, role=claim)

        if claim == NOT_DUKE:  # rules.md#embezzlement
            proof = "show:all"
            can = "duke" not in self.cards[claimant]
            must = not self.rules.embezzle_concede
        else:
            proof = f"show:{claim}"
            can = claim in self.cards[claimant]
            must = False
        if self.rules.prove == "automatic":  # rules.md#proof
            word = proof if can else "decline"
        else:
            # rules.md#proof. Asked also without a choice, so that the request reveals nothing.
            words = ["decline"] if not can else [proof] if must else [proof, "decline"]
            answers = yield from self._ask({claimant: words})
            if not answers:
                return False, challenger  # the claim left with its claimant
            word = answers[claimant]

        if word == "decline":
            self._emit("unproven", seat=claimant, role=claim)
            if cost:
                self._pay(claimant, cost, "refund")  # rules.md#lost-challenge; before the loss: decided
            if claimant == self.actor:
                self.how = "failed"
            yield from self._lose(claimant, "challenge")  # rules.md#lost-challenge
            return False, challenger
        if claim == NOT_DUKE:
            shown = sorted(self.cards[claimant])
            self._replace(claimant, shown)  # rules.md#embezzlement
            self._emit("shown_hand", seat=claimant, roles=shown, cards=sorted(self.cards[claimant]))
        else:
            kept = yield from self._keep_shown(claimant, challenger)
            if kept is None:
                return False, challenger  # the claim left with its claimant
            if kept:
                self._emit("shown", seat=claimant, role=claim, replaced=False)
            else:
                self._replace(claimant, [claim])  # rules.md#shown-card
                self.replaced = self.replaced or claimant == self.actor
                self._emit("shown", seat=claimant, role=claim, cards=sorted(self.cards[claimant]))
        if claimant != self.actor:
            self.how = "blocked"
        yield from self._lose(challenger, "challenge")  # rules.md#lost-challenge
        return True, challenger

    def _keep_shown(self, claimant: int, challenger: int) -> Asking:
        """rules.md#shown-card. Not asked where the challenger's loss ends the game (decided). None: it has left."""
        last = len(self.living) == 2 and len(self.cards[challenger]) == 1
        if self.rules.shown_card == "replaced" or last:
            return False
        answers = yield from self._ask({claimant: ["replace_shown", "keep_shown"]})
        return answers[claimant] == "keep_shown" if answers else None

    def _block(self, action: str, challenger: int | None) -> Asking:
        roles = {
            "foreign_aid": ["duke"],  # rules.md#foreign-aid
            "assassinate": ["contessa"],  # rules.md#assassinate
            "steal": sorted(["captain", self.changer]),  # rules.md#steal, #inquisitor
        }.get(action)
        if not roles:
            return False
        me, after = self.actor, self.rules.block_after_failed_challenge
        if action == "foreign_aid":
            blockers = [seat for seat in self._clockwise(me) if self._may_attack(me, seat)]  # rules.md#own-side
        elif self.rules.attacks_blocked_by == "target":
            blockers = [self.target]  # rules.md#assassinate, #steal, #who-may-block
        else:
            others = [seat for seat in self._clockwise(me) if seat != self.target]
            blockers = [self.target, *others]  # rules.md#who-may-block; the target first: decided
        if challenger is not None and after == "never":
            blockers = []  # rules.md#proof, #late-blocks
        if after == "not_challenger":
            blockers = [seat for seat in blockers if seat != challenger]  # rules.md#late-blocks
        if not blockers:
            return False
        answers = yield from self._ask({seat: [PASS, *(f"block:{role}" for role in roles)] for seat in blockers})
        for blocker, word in answers.items():
            if word != PASS:  # one block per action: rules.md#blocks
                role = word.removeprefix("block:")
                self._emit("block", seat=blocker, role=role)
                askable = (
                    [me] if self.rules.block_challenged_by == "actor" else self._clockwise(blocker)
                )  # rules.md#challenged-block
                stands, _ = yield from self._challenge(blocker, role, askable, 0)
                return stands
        return False

    # ------------------------------------------------------------ cards

    def _lose(self, seat: int, reason: str) -> Asking:
        """rules.md#influence: the player turns one card over, of its choice."""
        if len(self.cards[seat]) == 1:
            role = self.cards[seat][0]  # a public count: not asked
        else:
            answers = yield from self._ask({seat: [f"lose:{role}" for role in sorted(set(self.cards[seat]))]})
            if not answers:
                return  # all cards are face up now
            role = answers[seat].removeprefix("lose:")
        self.cards[seat].remove(role)
        self.revealed[seat].append(role)
        self._emit("lost", seat=seat, role=role, reason=reason)
        if not self.cards[seat]:  # rules.md#out
            self._emit("exiled", seat=seat)
            self.living.remove(seat)
            if self.rules.dead_target == "nothing":  # treason's program lets the dead keep their coins
                self._return_coins(seat)
            if len(self.living) == 1 and self.how:
                self._emit_outcome()  # the loss that ends the game was the action's last part
            self._end_if_one_is_left()

    def _replace(self, seat: int, roles: list[str]) -> None:
        """rules.md#shown-card: first they go back, then the deck is shuffled, then as many are drawn."""
        for role in roles:
            self.cards[seat].remove(role)
        self._give_back(roles)
        self.cards[seat] += [self.deck.pop() for _ in roles]

    def _give_back(self, roles: list[str]) -> None:
        self.deck = self.chance.shuffled(sorted(self.deck + roles), "reshuffle", self.count)

    def _exchange(self) -> Asking:
        """rules.md#exchange, #inquisitor."""
        me = self.actor
        hand = sorted(self.cards[me])
        number = self.rules.exchange_draw or (1 if self.rules.inquisitor else 2)
        self.drawn = [self.deck.pop() for _ in range(number)]
        pool = sorted(hand + self.drawn)
        if self.rules.exchange_return == "claimed_role" and self.changer in hand and not self.replaced:
            pool.remove(self.changer)
            choices = [pool]  # rules.md#exchange: the claimed card goes back
        else:
            every = set(combinations(pool, len(hand)))
            choices = [hand, *(list(kept) for kept in sorted(every - {tuple(hand)}))]
        answers = yield from self._ask({me: ["keep:" + "+".join(kept) for kept in choices]})
        kept = answers[me].removeprefix("keep:").split("+")
        back = sorted(hand + self.drawn)
        for role in kept:
            back.remove(role)
        self.cards[me], self.drawn = kept, []
        self._give_back(back)
        self._emit("exchanged", seat=me, count=number, cards=sorted(kept))

    def _examine(self) -> Asking:
        """rules.md#examine."""
        me, target = self.actor, self.target
        hand = sorted(self.cards[target])
        if len(hand) == 1:
            role = hand[0]  # a public count: not asked
        elif self.rules.examine_pick == "random":
            role = hand[self.chance.number("examine", self.count, len(hand))]
        else:
            answers = yield from self._ask({target: [f"reveal:{role}" for role in sorted(set(hand))]})
            role = answers[target].removeprefix("reveal:")
        self.examined = role
        answers = yield from self._ask({me: ["hand_back", "force_swap"]})
        self.examined = None
        output: dict[str, Any] = {"seat": me, "target": target, "role": role}
        if answers[me] == "hand_back":
            self._emit("examined", **output, replaced=False)
            return
        if self.rules.examine_replace == "draw_first":
            new = self.deck.pop()  # rules.md#examine: the one exception, the draw comes before the return
            self.cards[target].remove(role)
            self.cards[target].append(new)
            self._give_back([role])
        else:
            self._replace(target, [role])
        self._emit("examined", **output, replaced=True, cards=sorted(self.cards[target]))

    # ------------------------------------------------------------ questions, departures, the end

    def _ask(self, question: Words) -> Asking:
        """Return the answers of those who stay. Forfeits are applied after all answers are in.

        They cancel what is the leaver's own and what is aimed at it: the turn of the actor, the action on its target.
        """
        answers = yield question
        left = [seat for seat in question if answers[seat] == FORFEIT]
        for seat in left:
            roles = sorted(self.cards[seat])
            self.revealed[seat] += roles
            self.cards[seat] = []
            self._emit("forfeit", seat=seat, roles=roles)
            self.living.remove(seat)
            self._return_coins(seat)
            if self.drawn:
                self.drawn, back = [], self.drawn
                self._give_back(back)  # an exchange is under way, and only its player is asked
        if left:
            if not self.living:
                self.over = None, "all_forfeit", sorted(left)  # the last to leave, all at once, share the draw
                raise GameOver
            self._end_if_one_is_left()
            if self.actor in left or self.target in left:
                raise TurnOver
        return {seat: answers[seat] for seat in question if seat not in left}

    def _return_coins(self, seat: int) -> None:
        if self.coins[seat]:
            self._pay(seat, -self.coins[seat], "exile")  # rules.md#out

    def _end_if_one_is_left(self) -> None:
        if len(self.living) == 1:  # rules.md#end: at once, nothing more resolves
            (winner,) = self.living
            self.over = winner, "last_standing", [winner]
            raise GameOver

    def _clockwise(self, seat: int) -> list[int]:
        """Return the other living players, clockwise from a seat (rules.md#turn)."""
        order = [(seat + step) % self.seats for step in range(1, self.seats)]
        return [other for other in order if other in self.living]

    def _pay(self, seat: int, delta: int, reason: str) -> None:
        self.coins[seat] += delta
        self._emit("coins", seat=seat, delta=delta, reason=reason)

    def _emit(self, name: str, **fields: Any) -> None:
        """Record an event, without fields that are None."""
        event = {"n": self.count, "event": name, **fields}
        self.messages.append({key: value for key, value in event.items() if value is not None})
        self.count += 1
