"""A kit for bots of the Coup arena: it reads and writes the lines, follows the game, and asks you for moves.

Copy this one file beside your bot; it needs Python 3.9 or newer and nothing else. This is kit version 8.

    from coup_kit import Bot, run

    class MyBot(Bot):
        def turn(self, game):
            return game.find("tax") if "duke" in game.cards else game.legal[0]

    if __name__ == "__main__":
        run(MyBot())

Each kind of request has a method: `turn`, `challenge`, `block`, `prove`, `lose`, `exchange`, and those of variants. It
gets the `Game`, and returns an element of `game.legal` or its index. What you don't write plays `game.legal[0]`, which
is always a quiet move, and so does None. `print` goes to standard error, where it can't break the conversation.
"""

from __future__ import annotations

import json
import os
import sys
from math import comb

TYPE_CHECKING = False  # as typing's, without the time that its import takes
if TYPE_CHECKING:
    from random import Random
    from typing import Any

    Move = dict[str, Any]
    Message = dict[str, Any]
    Answer = Move | int | None
    Counts = dict[str, int]
else:
    Move = Message = Answer = dict

    class Counts(dict):
        """How often, by role; what was never counted is 0."""

        def __missing__(self, key):
            """Return 0, and remember nothing."""
            return 0


__all__ = ["Answer", "Bot", "Game", "History", "Message", "Move", "Player", "run"]

_KINDS = {"turn", "challenge", "block", "prove", "lose", "exchange", "keep_shown", "examine_show", "examine_decide"}
_KINDS |= {"draft", "allegiance"}


class History:
    """What one player did in all games of the match so far. Players are told apart by their handles."""

    __slots__ = ("blocks", "caught", "challenged", "challenges", "claimed", "proven", "won_challenges")

    def __init__(self) -> None:
        self.claimed = 0  # claims of a role, by actions and by blocks
        self.challenged = 0  # its claims that somebody challenged
        self.proven = 0  # those of them that it proved
        self.caught = 0  # those that it couldn't, or wouldn't, prove
        self.challenges = 0  # challenges that it made
        self.won_challenges = 0  # those of them that caught somebody
        self.blocks = 0

    @property
    def bluff_rate(self) -> float | None:
        """How many of its challenged claims were bluffs, 0 to 1; None before the first."""
        return self.caught / self.challenged if self.challenged else None


class Player:
    """A player at the table. What it has is that of the latest request; what it did is of this game."""

    __slots__ = ("_game", "_lacks", "blocks", "caught", "claims", "handle", "history", "known", "seat", "shown")

    def __init__(self, game: Game, seat: int, handle: str, history: History) -> None:
        self._game = game
        self.seat = seat
        self.handle = handle  # stays the same in all games of the match; seats don't
        self.history = history  # of the whole match
        self.claims = Counts()  # role -> how often it claimed it with cards that it may still hold
        self.caught = Counts()  # role -> how often it couldn't, or wouldn't, prove it
        self.shown = Counts()  # role -> how often it proved it
        self.blocks = Counts()  # role -> how often it blocked with it
        self.known: list[str] = []  # roles that it certainly holds, since it showed or you saw a card, and kept it
        self._lacks: set[str] = set()  # roles that it certainly doesn't hold

    @property
    def coins(self) -> int:
        """Its coins."""
        coins: int = self._game.request["state"]["players"][self.seat]["coins"]
        return coins

    @property
    def influence(self) -> int:
        """How many cards it has face down; 0: it is out of the game."""
        cards: int = self._game.request["state"]["players"][self.seat]["influence"]
        return cards

    @property
    def revealed(self) -> list[str]:
        """Its lost cards, face up."""
        cards: list[str] = self._game.request["state"]["players"][self.seat]["revealed"]
        return cards

    @property
    def alive(self) -> bool:
        """Whether it is still in the game."""
        return self.influence > 0

    @property
    def allegiance(self) -> str | None:
        """`loyalist` or `reformist`; None where there are no sides, or not yet."""
        side: str | None = self._game.request["state"]["players"][self.seat].get("allegiance")
        return side

    def __repr__(self) -> str:
        """For debug output."""
        return f"<{self.handle} in seat {self.seat}: {self.influence} cards, {self.coins} coins>"


class Game:
    """The game as your seat sees it. One object for the whole match; all but the raw messages is worked out when asked.

    Between requests it stays as the latest request, or the start of the game, said. In `game_over` your cards, and the
    coins, cards and sides of all, are those of the end.
    """

    def __init__(self, hello: Message) -> None:
        self.rules: Message = hello.get("ruleset", {})  # the fields of hello.ruleset
        self.limits: Message = hello.get("limits", {})
        self.match: Message = hello.get("match", {})  # games, seats, your_handle, handles
        self.bot_seed: str = hello.get("bot_seed", "")
        self.game_seed = ""  # of this game; empty before the first, and where the arena is too old to send it
        self.request: Message = {}  # the request as it came, or game_start before the first one of a game
        self.players: list[Player] = []  # by seat
        self.winner: int | None = None  # in game_over: the seat that won; None: a draw
        self.survivors: list[int] = []  # in game_over: the seats that won or share the draw
        self._histories: dict[str, History] = {}
        self._doubt: tuple[int, str] = (0, "")  # who challenged last, and which role
        self._hand: list[str] = []  # your cards before the latest events
        self._drawn: list[str] = []  # what you drew to exchange
        self._deck: list[str] = []  # cards that certainly lie in the court deck
        self._random: Random | None = None
        self._words: list[Message] = []  # to be said beside the next answer

    # --- what the request says ----------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """What is asked: `turn`, `challenge`, `block` ...; empty before the first request of a game."""
        return str(self.request.get("kind", ""))

    @property
    def legal(self) -> list[Move]:
        """Every move that you may choose, as on the wire; the first is a quiet one."""
        moves: list[Move] = self.request.get("legal", [])
        return moves

    @property
    def number(self) -> int:
        """The number of the game in the match, from 0."""
        return int(self.request.get("game", 0))

    @property
    def state(self) -> Message:
        """The public state as on the wire."""
        state: Message = self.request.get("state", {})
        return state

    @property
    def seat(self) -> int:
        """Your seat in this game."""
        return int(self.request["you"]["seat"])

    @property
    def cards(self) -> list[str]:
        """Your cards."""
        cards: list[str] = self.request["you"]["cards"]
        return cards

    @property
    def drawn(self) -> list[str]:
        """The cards that you drew, in `exchange`; else none."""
        cards: list[str] = self.request["you"].get("drawn", [])
        return cards

    @property
    def seen(self) -> str | None:
        """The card of another that you look at, in `examine_decide`; else None."""
        card: str | None = self.request["you"].get("seen")
        return card

    @property
    def turn(self) -> int:
        """The number of the turn, from 1, over all players together."""
        return int(self.state["turn"])

    @property
    def actor(self) -> int:
        """The seat whose turn it is."""
        return int(self.state["actor"])

    @property
    def me(self) -> Player:
        """You, as the others see you."""
        return self.players[self.seat]

    @property
    def opponents(self) -> list[Player]:
        """The others who are still in the game, clockwise from you."""
        seat, table = self.seat, self.state["players"]
        others = self.players[seat + 1 :] + self.players[:seat]
        return [player for player in others if table[player.seat]["influence"] > 0]

    @property
    def pending(self) -> Message:
        """The action that is being decided: `actor`, `action` and perhaps `target`; empty at your `turn`."""
        action: Message = self.request.get("pending", {})
        return action

    @property
    def claim(self) -> Message:
        """The claim to challenge or to prove: `seat`, `role`, and `block`, whether a block claims it; else empty."""
        claim: Message = self.request.get("claim", {})
        return claim

    @property
    def proven(self) -> bool:
        """In `block`: whether the action's claim was challenged and proven this turn."""
        return bool(self.request.get("proven", False))

    @property
    def challenger(self) -> int | None:
        """In `prove`: the seat that challenges you; else None."""
        seat: int | None = self.request.get("challenger")
        return seat

    @property
    def reason(self) -> str | None:
        """In `lose`: what you lose the influence to, `coup`, `assassinate` or `challenge`; else None."""
        reason: str | None = self.request.get("reason")
        return reason

    @property
    def random(self) -> Random:
        """A random number generator, seeded anew by each game's `game_seed`, before the first game by `bot_seed`.

        So a game can be repeated: its dice don't depend on how many were rolled before it.
        """
        if self._random is None:
            from random import Random  # late, since it takes longer to import than all else here

            self._random = Random(self.game_seed or self.bot_seed)
        return self._random

    # --- what helps to choose -----------------------------------------------------------------------------------------

    def find(self, word: str, what: object = None) -> Move | None:
        """Return the first legal move of an action or key, or None.

        `find("income")`, `find("steal", 2)` (at seat 2), `find("challenge")`, `find("pass")`, `find("block", "duke")`,
        `find("lose", "captain")`, `find("keep_shown", True)`.
        """
        for move in self.legal:
            named = word in move or move.get("action") == word
            if named and (what is None or what == move.get(word, move.get("target"))):
                return move
        return None

    def moves(self, word: str) -> list[Move]:
        """Return all legal moves of an action or key: `moves("steal")`, `moves("block")`."""
        return [move for move in self.legal if word in move or move.get("action") == word]

    def odds(self, seat: int, role: str) -> float:
        """Return how likely a seat holds at least one card of a role, 0 to 1, from the cards that you can see.

        It is 1 - C(U-d, k) / C(U, k): of U unseen cards d are of the role, and k are the seat's. It takes no account of
        what players claim. It is 0 or 1 where that is certain: of yourself, of a card that a player showed and kept, or
        you looked at, of a role that it couldn't show where proving is automatic, and of cards that you know to lie in
        the deck. For the claim `not_duke` it is how likely the seat has no duke. After a draft, where cards are chosen
        and half of them are away, it is a guess where it is neither 0 nor 1.
        """
        if role.startswith("not_"):
            return 1 - self.odds(seat, role[4:])
        you = self.request["you"]
        own = you["cards"]
        if seat == you["seat"]:
            return float(role in own)
        player = self.players[seat]
        known, lacks = player.known, player._lacks
        if role in known:
            return 1.0
        table = self.request["state"]["players"]
        sight = [*own, *you.get("drawn", ()), *you.get("discards", ()), *self._deck]
        elsewhere = 0  # hidden cards of others who lack the role
        for place, other in enumerate(self.players):
            sight += table[place]["revealed"]
            if place != you["seat"]:
                if other.known:
                    sight += other.known
                if role in other._lacks:
                    elsewhere += table[place]["influence"] - len(other.known)
        deck = self.rules.get("deck", {})
        unseen = sum(deck.values()) - len(sight)
        copies = deck.get(role, 0) - sight.count(role)
        cards = table[seat]["influence"] - len(known)
        if cards <= 0 or copies <= 0 or unseen < cards or role in lacks:
            return 0.0
        if copies > unseen - elsewhere - cards:  # they have no place but this hand
            return 1.0
        if lacks:
            unseen -= sum(deck.get(other, 0) - sight.count(other) for other in lacks)
        else:
            unseen -= elsewhere
        return 1 - comb(unseen - copies, cards) / comb(unseen, cards)

    def tell(self, event: Message) -> str:
        """Return an event in words, players by their handles: "B steals from C"; empty for what has no words."""
        text = next((_WORDS[name] for name in _names(event) if name in _WORDS), "")
        for field, value in event.items():
            if field in ("seat", "target", "claimant"):
                said = self.players[value].handle
            elif field == "delta":
                said = f"{value:+d}"
            elif field == "text":  # it can't end its own quotation
                said = str(value).replace("“", "'").replace("”", "'")
            else:
                said = (_AND.join(value) or "nothing") if isinstance(value, list) else str(value)
            text = text.replace("{" + field + "}", said)
        return text

    def say(self, says: str, what: str | int, target: int | None = None) -> None:
        """Say something beside your next answer; all hear it, and nobody is bound. Without talk it isn't sent.

        say("hold", "duke"), say("lack", "duke"), say("attack", 2), say("spare", 2), say("doubt", "duke", 2), and where
        the rules allow it, say("text", "Peace?"). At most 4, one of them a text. Others' words are events, "say".
        """
        if self.rules.get("talk", "off") == "off":
            return
        statement: Message = {"says": says}
        if isinstance(what, str):
            statement["text" if says == "text" else "role"] = what
        else:
            target = what
        if target is not None:
            statement["target"] = int(target)
        self._words.append(statement)

    # --- following the game -------------------------------------------------------------------------------------------

    def _begin(self, start: Message, handles: list[str]) -> None:
        self.request = start
        self._hand, self._drawn, self._deck = [*start["you"].get("cards", ())], [], []
        self.game_seed = start.get("game_seed", "")
        if self.game_seed and self._random is not None:
            self._random.seed(self.game_seed)
        self.winner = None
        self.survivors = []
        self.players = [
            Player(self, seat, handle, self._histories.setdefault(handle, History()))
            for seat, handle in enumerate(handles)
        ]

    def _claimed(self, player: Player, role: str) -> None:
        player.claims[role] += 1
        player.history.claimed += 1

    def _action(self, player: Player, event: Message) -> None:
        role = event.get("claim")
        if role is not None:
            self._claimed(player, role)

    def _block(self, player: Player, event: Message) -> None:
        self._claimed(player, event["role"])
        player.blocks[event["role"]] += 1
        player.history.blocks += 1

    def _challenge(self, player: Player, event: Message) -> None:
        self._doubt = event["seat"], event["role"]
        player.history.challenges += 1
        self.players[event["claimant"]].history.challenged += 1

    def _shown(self, player: Player, event: Message) -> None:
        role = event["role"]
        player.shown[role] += 1
        player.history.proven += 1
        if event.get("replaced") is False:
            _know(player, role)
        else:
            _forget(player, role)
            player._lacks.clear()
            self._swap(player, [role], event)

    def _shown_hand(self, player: Player, event: Message) -> None:
        player.shown[self._doubt[1]] += 1
        player.history.proven += 1
        self._renewed(player, event)
        self._swap(player, event["roles"], event)

    def _unproven(self, player: Player, event: Message) -> None:
        role = event["role"]
        player.caught[role] += 1
        player.claims.pop(role, None)
        player.history.caught += 1
        self.players[self._doubt[0]].history.won_challenges += 1
        if role.startswith("not_"):
            if self.rules.get("prove") == "automatic" or not self.rules.get("embezzle_concede", True):
                _know(player, role[4:])
        elif self.rules.get("prove") == "automatic":
            player._lacks.add(role)

    def _lost(self, player: Player, event: Message) -> None:
        _forget(player, event["role"])
        if player.seat == self.request["you"]["seat"]:
            self._hand = [*self._hand]  # else it would be the request's
            _take(self._hand, [event["role"]])

    def _renewed(self, player: Player, event: Message) -> None:
        player.claims.clear()
        player.known.clear()
        player._lacks.clear()

    def _drafted(self, player: Player, event: Message) -> None:
        if "cards" in event:
            self._hand = [*event["cards"]]

    def _exchanged(self, player: Player, event: Message) -> None:
        self._renewed(player, event)
        if "cards" in event and self._drawn:
            back = [*self._hand, *self._drawn]
            _take(back, event["cards"])
            self._deck += back
            self._hand, self._drawn = event["cards"], []
        else:
            self._thin(event["count"])

    def _examined(self, player: Player, event: Message) -> None:
        target = self.players[event["target"]]
        role = event.get("role")
        if not event["replaced"]:
            if role is not None:
                _know(target, role)
            return
        if role is None:
            self._renewed(target, event)
            self._thin(1)
            return
        _forget(target, role)  # you know which card went
        target._lacks.clear()
        self._swap(target, [role], event, self.rules.get("examine_replace") == "draw_first")

    def _swap(self, player: Player, back: list[str], event: Message, draw_first: bool = False) -> None:
        """Cards go to the deck, and as many come from it."""
        if not draw_first:
            self._deck += back
        if player.seat == self.seat and "cards" in event:
            came = [*event["cards"]]
            stayed = [*self._hand]
            _take(stayed, back)
            _take(came, stayed)
            _take(self._deck, came)
            self._hand = [*event["cards"]]
        else:
            self._thin(len(back))
        if draw_first:
            self._deck += back

    def _thin(self, count: int) -> None:
        """Somebody drew cards that you don't see: of each role as many fewer are certain."""
        if self._deck:
            for role in set(self._deck):
                _take(self._deck, [role] * count)

    def _end(self, message: Message) -> None:
        """Make the table that the last events of a game leave."""
        state, you = self.request["state"], self.request["you"]
        table = [player.copy() for player in state["players"]]
        for event in message["events"]:
            word = event["event"]
            if word == "coins":
                table[event["seat"]]["coins"] += event["delta"]
            elif word == "lost" or word == "forfeit":
                roles = [event["role"]] if word == "lost" else event["roles"]
                player = table[event["seat"]]
                player["influence"] = player["influence"] - 1 if word == "lost" else 0
                player["revealed"] = player["revealed"] + roles
            elif word == "drafted":
                table[event["seat"]]["influence"] = 2
            elif word == "converted":
                table[event["target"]]["allegiance"] = event["allegiance"]
            elif word == "allegiances":
                for seat, side in enumerate(event["sides"]):
                    table[seat]["allegiance"] = side
        cards = [] if table[you["seat"]]["influence"] == 0 else self._hand
        left = {name: value for name, value in you.items() if name not in ("drawn", "seen")}
        self.request = {**message, "state": {**state, "players": table}, "you": {**left, "cards": sorted(cards)}}


def _take(cards: list[str], gone: list[str]) -> None:
    """Take cards from a list, where they are in it."""
    for role in gone:
        if role in cards:
            cards.remove(role)


def _know(player: Player, role: str) -> None:
    if role not in player.known:
        player.known.append(role)


def _forget(player: Player, role: str) -> None:
    """One card of this role has gone; its other card is the same as before."""
    player.claims.pop(role, None)
    if role in player.known:
        player.known.remove(role)


_FOLLOW = {
    "action": Game._action,
    "block": Game._block,
    "challenge": Game._challenge,
    "shown": Game._shown,
    "shown_hand": Game._shown_hand,
    "unproven": Game._unproven,
    "lost": Game._lost,
    "drafted": Game._drafted,
    "exchanged": Game._exchanged,
    "examined": Game._examined,
    "forfeit": Game._renewed,
}


# The words of events, as in the arena's own table (protocol/words.json).
_WORDS = {
    "action.income": "{seat} takes income",
    "action.foreign_aid": "{seat} takes foreign aid",
    "action.tax": "{seat} takes tax",
    "action.steal": "{seat} steals from {target}",
    "action.assassinate": "{seat} sends an assassin to {target}",
    "action.coup": "{seat} launches a coup against {target}",
    "action.exchange": "{seat} exchanges",
    "action.examine": "{seat} examines {target}",
    "action.convert": "{seat} changes sides",
    "action.convert.target": "{seat} converts {target}",
    "action.embezzle": "{seat} embezzles the reserve",
    "action": "{seat} plays {action}",
    "coins": "{seat} {delta}",
    "challenge": "{seat} challenges",
    "shown": "{seat} shows the {role}",
    "shown.kept": "{seat} shows the {role} and keeps it",
    "shown_hand": "{seat} shows {roles}",
    "unproven": "{seat} doesn't show the {role}",
    "unproven.held": "{seat} has the {role} and doesn't show it",
    "unproven.lacking": "{seat} can't show the {role}",
    "unproven.not_duke": "{seat} concedes",
    "unproven.not_duke.held": "{seat} concedes, though without a duke",
    "unproven.not_duke.lacking": "{seat} has a duke and concedes",
    "lost": "{seat} loses the {role}",
    "exiled": "{seat} is out",
    "block": "{seat} blocks as {role}",
    "exchanged": "{seat} returns {count}",
    "exchanged.cards": "{seat} keeps {cards}",
    "forfeit": "{seat} forfeits with {roles}",
    "drafted": "{seat} has drafted",
    "drafted.cards": "{seat} has drafted {cards}",
    "allegiances": "the sides are {sides}",
    "converted": "{target} is a {allegiance} now",
    "examined": "{seat} hands {target}'s card back",
    "examined.role": "{seat} hands {target}'s {role} back",
    "examined.replaced": "{seat} has {target}'s card replaced",
    "examined.replaced.role": "{seat} has {target}'s {role} replaced",
    "resolved.done": "",
    "resolved.blocked": "",
    "resolved.failed": "",
    "resolved.target_gone": "it has no effect",
    "resolved.actor_gone": "it has no effect",
    "resolved": "",
    "say.hold": "{seat} says: I hold the {role}",
    "say.lack": "{seat} says: I have no {role}",
    "say.attack": "{seat} says: I will attack {target}",
    "say.spare": "{seat} says: I won't attack {target}",
    "say.doubt": "{seat} says: {target} has no {role}",
    "say.text": "{seat} says: “{text}”",
    "say": "",
}
_AND = " and "


def _names(event: Message) -> list[str]:
    """Return the names under which an event's words may stand, the most particular first."""
    word = event["event"]
    if word == "action":
        name = f"action.{event['action']}"
        return [*([f"{name}.target"] if "target" in event else []), name, word]
    if word == "resolved":
        return [f"resolved.{event['how']}", word]
    if word == "say":
        return [f"say.{event['says']}", word]
    if word == "shown" and event.get("replaced") is False:
        return ["shown.kept", word]
    if word == "examined":
        base = "examined.replaced" if event["replaced"] else "examined"
        return [*([f"{base}.role"] if "role" in event else []), base, word]
    more = [f"{word}.cards"] if "cards" in event else []
    return [*more, *([f"{word}.{event['role']}"] if "role" in event else []), word]


class Bot:
    """A bot: write a class of your own that inherits from this one, with the methods that you need."""

    name = ""  # in the match's log; without one it is the class's name
    version = ""
    careful = False  # True: where a method of yours fails, the bot says so, plays legal[0] and goes on

    _game: Game | None = None

    # --- requests: return an element of game.legal, or its index ------------------------------------------------------

    def turn(self, game: Game) -> Answer:
        """Choose the action of your turn; by default income."""
        return 0

    def challenge(self, game: Game) -> Answer:
        """Challenge `game.claim`, or pass, as by default."""
        return 0

    def block(self, game: Game) -> Answer:
        """Block `game.pending` by claiming a role, or pass, as by default."""
        return 0

    def prove(self, game: Game) -> Answer:
        """Show the card that you claimed, as by default, or decline."""
        return 0

    def lose(self, game: Game) -> Answer:
        """Choose the card to lose."""
        return 0

    def exchange(self, game: Game) -> Answer:
        """Choose what to keep of `game.cards` and `game.drawn`; by default your cards."""
        return 0

    def keep_shown(self, game: Game) -> Answer:
        """Keep the card that you have shown, or have it replaced, as by default."""
        return 0

    def examine_show(self, game: Game) -> Answer:
        """Choose the card that the inquisitor sees."""
        return 0

    def examine_decide(self, game: Game) -> Answer:
        """Hand back the card `game.seen`, as by default, or have it replaced."""
        return 0

    def draft(self, game: Game) -> Answer:
        """Choose the card to begin with."""
        return 0

    def allegiance(self, game: Game) -> Answer:
        """Choose your side."""
        return 0

    def other(self, game: Game) -> Answer:
        """Answer a kind of request that this kit doesn't know; `game.legal[0]` is a quiet move there too."""
        return 0

    # --- what happens: nothing is returned ----------------------------------------------------------------------------

    def match_start(self, game: Game) -> None:
        """Prepare for the match: `game.rules`, `game.limits` and `game.match` are known, the players aren't yet."""

    def game_start(self, game: Game) -> None:
        """Prepare for a game."""

    def event(self, game: Game, event: Message) -> None:
        """See one event, after `game` has taken it in. Each comes once, in order, before the next request's method."""

    def game_over(self, game: Game) -> None:
        """Learn from a game that has ended; `game.winner` is known."""

    def fault(self, game: Game, error: Message) -> None:
        """Hear of a fault that the referee counted: `error["message"]` says what to repair."""

    def match_over(self, game: Game) -> None:
        """Close what you have opened."""

    # --- one message --------------------------------------------------------------------------------------------------

    def reply(self, message: Message) -> Message | None:
        """Take in one message of the referee; return the answer, or None if it wants none. No input or output."""
        kind = message.get("type")
        if kind == "hello":
            self._game = Game(message)
            self._notify("match_start", message)
            hello: Message = {"type": "hello", "name": (self.name or type(self).__name__)[:64]}
            if self.version:
                hello["version"] = self.version[:64]
            return hello
        game = self._game
        if game is None:
            game = self._game = Game({})
        if kind == "request":
            players = message["state"]["players"]
            if len(game.players) != len(players):  # no game_start came
                game._begin(message, [str(seat) for seat in range(len(players))])
            game.request = message
            self._follow(game, message)
            you = message["you"]
            game._hand = you["cards"]
            if "drawn" in you:
                game._drawn = you["drawn"]
                _take(game._deck, game._drawn)
            elif "seen" in you:
                _know(game.players[game.pending["target"]], you["seen"])
            method = message["kind"] if message["kind"] in _KINDS else "other"
            try:
                move = getattr(self, method)(game)
                choice = 0 if move is None else _index(game, move)
            except Exception:
                self._failed(method, message)
                choice = 0
            answer: Message = {"id": message["id"], "choice": choice}
            if game._words:
                answer["say"], game._words = game._words, []
            return answer
        if kind == "game_start":
            game._begin(message, message["players"])
            self._notify("game_start", message)
        elif kind == "game_over":
            self._follow(game, message)
            game._end(message)
            game.winner = message["winner"]
            game.survivors = message["survivors"]
            self._notify("game_over", message)
        elif kind == "error":
            self._notify("fault", message, message)
        elif kind == "match_over":
            self._notify("match_over", message)
        return None

    def _follow(self, game: Game, message: Message) -> None:
        wanted = type(self).event is not Bot.event
        for event in message.get("events", ()):
            follow = _FOLLOW.get(event.get("event", ""))
            if follow is not None:
                follow(game, game.players[event["seat"]], event)
            if wanted:
                self._notify("event", message, event)

    def _notify(self, method: str, message: Message, *about: Message) -> None:
        try:
            getattr(self, method)(self._game, *about)
        except Exception:
            self._failed(method, message)

    def _failed(self, method: str, message: Message) -> None:
        """Say where a method failed; then play on if the bot is careful, else let the failure end it."""
        where = message.get("type")
        if where == "request":
            where = (
                f"request {message['id']}: {message['kind']}, game {message['game']}, turn {message['state']['turn']}, "
                f"legal {json.dumps(message['legal'])}"
            )
        print(f"coup_kit: {type(self).__name__}.{method} failed at {where}", file=sys.stderr, flush=True)
        if not self.careful:
            raise
        import traceback

        traceback.print_exc()


def _index(game: Game, move: object) -> int:
    """Return where a move is in `game.legal`. Raises ValueError if it isn't there."""
    legal = game.legal
    if not isinstance(move, (dict, bool)) and hasattr(move, "__index__"):  # numpy's integers too
        place = int(move.__index__())
        if 0 <= place < len(legal):
            return place
    for index, other in enumerate(legal):
        if move is other or move == other:
            return index
    if isinstance(move, dict) and isinstance(move.get("keep"), list):  # the order of the cards doesn't matter
        kept = sorted(move["keep"])
        for index, other in enumerate(legal):
            if sorted(other.get("keep", ())) == kept:
                return index
    raise ValueError(f"{game.kind}() returned {move!r}, which is neither in game.legal nor an index of it")


def _report_misspelt(bot: Bot) -> None:
    """Name the bot's methods whose names are nearly those of a method that the kit calls."""
    called = [name for name, value in vars(Bot).items() if name[0] != "_" and name != "reply" and callable(value)]
    own = type(bot)
    others = [name for name in dir(own) if name[0] != "_" and not hasattr(Bot, name) and callable(getattr(own, name))]
    if others:
        from difflib import get_close_matches

        for name in others:
            for near in get_close_matches(name, called, 1, 0.8):
                said = f"the kit never calls {own.__name__}.{name}; did you mean {near}?"
                print(f"coup_kit: {said}", file=sys.stderr, flush=True)


def run(bot: Bot) -> None:
    """Play: read the referee's lines from standard input and answer them, until the match is over.

    Whatever the program prints from now on goes to standard error.
    """
    if isinstance(bot, type):
        raise TypeError(f"run({bot.__name__}) got a class and needs a bot: run({bot.__name__}())")
    if sys.stdin.isatty():
        print("coup_kit: a bot is started by the arena: arena check FOLDER", file=sys.stderr)
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)  # for libraries and programs that print
    sys.stdout = sys.stderr
    _report_misspelt(bot)
    encode = json.JSONEncoder(separators=(",", ":")).encode
    for line in sys.stdin.buffer:
        message = json.loads(line)
        answer = bot.reply(message)
        if answer is not None:
            try:
                os.write(wire, encode(answer).encode() + b"\n")
            except BrokenPipeError:
                return  # the arena has gone
        elif message.get("type") == "match_over":
            return
