"""A kit for Coup Arena bots: it handles the messages of the protocol, and calls a method of your bot for each move.

Copy this file next to your bot. It requires only Python 3.9 or newer. This is kit version 12.

    from coup_kit import Bot, run

    class MyBot(Bot):
        def turn(self, game):
            return game.find("tax") if "duke" in game.cards else game.legal[0]

    if __name__ == "__main__":
        run(MyBot())

Write a method for each kind of request that you want to answer. It gets the `Game` and returns an element of
`game.legal` or its index. For other requests, and for None, the kit plays `game.legal[0]`, a safe move (income, pass,
show the card ...). `print` writes to standard error, where it can't disturb the protocol.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from math import comb

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, without the slow import
if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from typing import Any

    Move = dict[str, Any]
    Message = dict[str, Any]
    Answer = Move | int | None
    Counts = dict[str, int]
else:
    Move = Message = Answer = dict

    class Counts(dict):
        """Counts by role; a role that was never counted reads as 0."""

        def __missing__(self, key):
            """Return 0, and store nothing."""
            return 0


__all__ = ["Answer", "Bot", "Game", "History", "Message", "Move", "Player", "run"]

_KINDS = {"turn", "challenge", "block", "prove", "lose", "exchange", "keep_shown", "examine_show", "examine_decide"}
_KINDS |= {"draft", "allegiance"}
# Actions and keys of the moves in all rules.
_MOVES = " action target income foreign_aid coup tax assassinate steal exchange examine convert embezzle "
_MOVES += "pass challenge block show decline lose keep keep_shown pick side reveal examined "


class History:
    """Counts of one player, identified by its handle, over all games of the match so far."""

    __slots__ = ("blocks", "caught", "challenged", "challenges", "claimed", "proven", "won_challenges")

    def __init__(self) -> None:
        self.claimed = 0  # claims of a role, by actions and by blocks
        self.challenged = 0  # its claims that were challenged
        self.proven = 0  # challenged claims that it proved
        self.caught = 0  # challenged claims that it didn't prove
        self.challenges = 0  # challenges that it made
        self.won_challenges = 0  # challenges that it made and won
        self.blocks = 0  # blocks that it made

    @property
    def bluff_rate(self) -> float | None:
        """`caught` divided by `challenged`; None before the first challenge."""
        return self.caught / self.challenged if self.challenged else None


def _sent(*path: str, otherwise: Callable[[], object] | None = None) -> Any:
    """Make a property of a game: the value at a path of the latest message, else what `otherwise` returns."""

    def get(game: Game) -> object:
        value: Any = game.request
        for name in path:
            value = value.get(name) if value else None
        return otherwise() if value is None and otherwise is not None else value

    return property(get)


def _has(name: str) -> Any:
    """Make a property of a player: a field of its public state."""
    return property(lambda player: player._game.request["state"]["players"][player.seat].get(name))


class Player:
    """A player at the table. Its public state is that of the latest request; its counts are those of this game."""

    __slots__ = ("_game", "blocks", "caught", "claims", "handle", "history", "seat", "shown")

    def __init__(self, game: Game, seat: int, handle: str, history: History) -> None:
        self._game = game
        self.seat = seat  # from 0, clockwise
        self.handle = handle  # the same in all games of the match, unlike the seat
        self.history = history  # counts of the whole match
        self.claims = Counts()  # by role: its claims with cards that it may still hold
        self.caught = Counts()  # by role: its challenged claims that it didn't prove
        self.shown = Counts()  # by role: its proofs
        self.blocks = Counts()  # by role: its blocks

    def __repr__(self) -> str:
        public = self._game.state["players"][self.seat] if self._game.state else {}
        fields = {"seat": self.seat, "handle": self.handle, **public}
        return f"Player({', '.join(f'{name}={value!r}' for name, value in fields.items())})"

    coins: int = _has("coins")  # that it has now
    influence: int = _has("influence")  # number of face-down cards; 0: it is out of the game, or in a draft
    revealed: list[str] = _has("revealed")  # its lost cards, face up
    allegiance: str | None = _has("allegiance")  # `loyalist`, `reformist`; None without sides, or before their choice

    @property
    def alive(self) -> bool:
        """Whether the player is still in the game. In a draft all players are, without cards."""
        return self.influence > 0 or not self.revealed

    @property
    def known(self) -> list[str]:
        """Roles of cards that the player certainly holds, from `you.known` of the request; [] if none is certain.

        Two equal roles are two cards.
        """
        return self._certain("has")

    @property
    def lacks(self) -> list[str]:
        """Roles that the player certainly doesn't hold, from `you.known` of the request; [] if none is certain.

        A role of which you see every card is left out: `odds` is 0 there.
        """
        return self._certain("lacks")

    def _certain(self, field: str) -> list[str]:
        """Return a field of the player in `you.known` of the request; [] if it is absent."""
        players = self._game.request["you"].get("known", {}).get("players", ())
        return next((player.get(field, []) for player in players if player["seat"] == self.seat), [])


class Game:
    """The game as your seat sees it: one object for the whole match.

    Between requests it has the values of the latest request, or of the start of the game. In `game_over`, `state` and
    `cards` are final and nothing is `known`.
    """

    def __init__(self, hello: Message) -> None:
        self.rules: Message = hello.get("ruleset", {})  # hello.ruleset
        self.limits: Message = hello.get("limits", {})  # hello.limits
        self.match: Message = hello.get("match", {})  # games, seats, your_handle, handles
        self.bot_seed: str = hello.get("bot_seed", "")  # of this match
        self.game_seed = ""  # of this game; empty before the first game, and with an arena that doesn't send it
        self.request: Message = {}  # the request as received; game_start before the first request of a game
        self.players: list[Player] = []  # by seat
        self.winner: int | None = None  # in game_over: the seat that won; None: a draw
        self.survivors: list[int] = []  # in game_over: the seats that won or share the draw
        self._histories: dict[str, History] = {}
        self._doubt: tuple[int, str] = (0, "")  # the latest challenge: challenger and role
        self._random: Random | None = None
        self._words: list[Message] = []  # statements for the next answer

    # --- values of the request ----------------------------------------------------------------------------------------

    kind: str = _sent("kind", otherwise=str)  # the kind of request: `turn`, `challenge` ...; empty without a request
    legal: list[Move] = _sent("legal", otherwise=list)  # all legal moves; the first is a safe move
    number: int = _sent("game", otherwise=int)  # number of the game in the match, from 0
    state: Message = _sent("state", otherwise=dict)  # the public state as received
    seat: int = _sent("you", "seat")  # your seat in this game
    cards: list[str] = _sent("you", "cards")  # your face-down cards
    drawn: list[str] = _sent("you", "drawn", otherwise=list)  # in `exchange`: the cards that you drew; else empty
    seen: str | None = _sent("you", "seen")  # in `examine_decide`: the opponent's card that you see
    turn: int = _sent("state", "turn")  # number of the turn, from 1, counting all players' turns
    actor: int = _sent("state", "actor")  # the seat whose turn it is
    pending: Message = _sent("pending", otherwise=dict)  # the undecided action: `actor`, `action`, and `target` if any
    claim: Message = _sent("claim", otherwise=dict)  # the undecided claim: `seat`, `role`, `block` (True: of a block)
    proven: bool = _sent("proven", otherwise=bool)  # in `block`: whether the actor proved the action's claim this turn
    challenger: int | None = _sent("challenger")  # in `prove`: the seat that challenges you
    reason: str | None = _sent("reason")  # in `lose`: why you lose a card: `coup`, `assassinate` or `challenge`

    @property
    def me(self) -> Player:
        """Your own player, as the others see it."""
        return self.players[self.seat]

    @property
    def opponents(self) -> list[Player]:
        """The other living players, clockwise from you."""
        seat = self.seat
        return [player for player in self.players[seat + 1 :] + self.players[:seat] if player.alive]

    @property
    def random(self) -> Random:
        """A random number generator. Each game seeds it with `game_seed`; before the first game its seed is `bot_seed`.

        So a game can be repeated: its random numbers don't depend on earlier games.
        """
        if self._random is None:
            from random import Random  # here, since this import takes longer than all others together

            self._random = Random(self.game_seed or self.bot_seed)
        return self._random

    # --- methods for your decisions -----------------------------------------------------------------------------------

    def find(self, word: str, what: object = None) -> Move | None:
        """Return the first legal move with this action or key, or None. Raises ValueError for a word of no rules.

        `what` is the seat of the target, or the value of the key: `find("income")`, `find("coup", player.seat)`,
        `find("challenge")`, `find("pass")`, `find("block", "contessa")`, `find("lose", "captain")`,
        `find("keep_shown", True)`.
        """
        for move in self.moves(word):
            if what is None or what == move.get(word, move.get("target")):
                return move
        return None

    def moves(self, word: str) -> list[Move]:
        """Return all legal moves with this action or key: `moves("steal")`, `moves("block")`.

        Raises ValueError for a word that no rules have.
        """
        matching = [move for move in self.legal if word in move or move.get("action") == word]
        if not matching and f" {word} " not in _MOVES:
            from difflib import get_close_matches

            similar = " or ".join(map(repr, get_close_matches(word, _MOVES.split())))
            raise ValueError(f"no rules have a move {word!r}{similar and f'; did you mean {similar}?'}")
        return matching

    def odds(self, seat: int, role: str) -> float:
        """Return the probability, 0 to 1, that a seat holds at least one card of a role, from the cards that you see.

        It is 1 - C(U-d, k) / C(U, k): of U unseen cards d have the role, and k are the seat's. Claims don't count, but
        `you.known` of the request does: the result is 0 or 1 where that is certain. For `not_duke` it is the
        probability that the seat has no duke. After a draft, values other than 0 and 1 are guesses.
        """
        if role.startswith("not_"):
            return 1 - self.odds(seat, role[4:])
        you, table, deck = self.request["you"], self.request["state"]["players"], self.rules.get("deck", {})
        if seat == you["seat"]:
            return float(role in you["cards"])
        facts = you.get("known", {})
        has = {player["seat"]: player.get("has", []) for player in facts.get("players", ())}
        lacks = {player["seat"]: player.get("lacks", []) for player in facts.get("players", ())}
        seat_has, seat_lacks = has.get(seat, []), lacks.get(seat, [])
        if role in seat_has:
            return 1.0
        located = [*you["cards"], *you.get("drawn", ()), *you.get("discards", ()), *facts.get("deck", ())]
        located += [card for player in table for card in player["revealed"]]
        located += [card for cards in has.values() for card in cards]
        cards_left = sum(deck.values()) - len(located)
        copies = deck.get(role, 0) - located.count(role)
        hidden = table[seat]["influence"] - len(seat_has)
        excluded = sum(table[player]["influence"] - len(has[player]) for player in lacks if role in lacks[player])
        if hidden <= 0 or copies <= 0 or cards_left < hidden or role in seat_lacks:
            return 0.0
        possible = cards_left - excluded  # without hidden cards of other players that lack the role
        if copies > possible - hidden:  # only this hand has room for them
            return 1.0
        if seat_lacks:  # then only cards of the roles that the seat lacks aren't possible
            possible = cards_left - sum(deck.get(name, 0) - located.count(name) for name in seat_lacks)
        return 1 - comb(possible - copies, hidden) / comb(possible, hidden)

    def tell(self, event: Message) -> str:
        """Return an event as text, with the players' handles: "B steals from C"; empty if it has no text."""
        text = _WORDS.get(_text_name(event), "")
        for field, value in event.items():
            if field in ("seat", "target", "claimant"):
                shown = self.players[value].handle
            elif field == "delta":
                shown = f"{value:+d}"
            elif field == "text":  # so that it can't close the quotation
                shown = str(value).replace("“", "'").replace("”", "'")
            else:
                shown = (" and ".join(value) or "nothing") if isinstance(value, list) else str(value)
            text = text.replace("{" + field + "}", shown)
        return text

    def say(self, says: str, what: str | int, target: int | None = None) -> None:
        """Add a statement to your next answer. All players see it; it binds no player. Without talk nothing is sent.

        say("hold", "duke"), say("lack", "duke"), say("attack", 2), say("spare", 2), say("doubt", "duke", 2), and if the
        rules allow it, say("text", "Peace?"). At most 4, one of them a text. Statements of others are "say" events.
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

    def _begin(self, start: Message, handles: list[str]) -> None:
        """Begin a game. start: its game_start, or else its first request. handles: by seat."""
        self.request = start
        self.game_seed = start.get("game_seed", "")
        if self.game_seed and self._random is not None:
            self._random.seed(self.game_seed)
        self.winner, self.survivors = None, []
        self.players = [
            Player(self, seat, handle, self._histories.setdefault(handle, History()))
            for seat, handle in enumerate(handles)
        ]

    def _follow(self, event: Message) -> None:
        """Update the counts; forget claims of a role when its card is gone, and all when any card may have changed."""
        word, role, seat = event["event"], event.get("role", ""), event.get("seat", -1)
        if not 0 <= seat < len(self.players):
            return
        player, history = self.players[seat], self.players[seat].history
        claim = {"action": event.get("claim"), "block": role}.get(word)
        if claim is not None:
            player.claims[claim] += 1
            history.claimed += 1
        if word == "block":
            player.blocks[role] += 1
            history.blocks += 1
        elif word == "challenge":
            self._doubt = seat, role
            history.challenges += 1
            self.players[event["claimant"]].history.challenged += 1
        elif word in ("shown", "shown_hand"):
            player.shown[role or self._doubt[1]] += 1
            history.proven += 1
        elif word == "unproven":
            player.caught[role] += 1
            history.caught += 1
            self.players[self._doubt[0]].history.won_challenges += 1
        if word in ("shown", "lost", "unproven") and event.get("replaced", True):
            player.claims.pop(role, None)
        elif word in ("shown_hand", "exchanged", "forfeit"):
            player.claims.clear()
        elif word == "examined" and event["replaced"]:
            claims = self.players[event["target"]].claims
            claims.pop(role, None) if role else claims.clear()  # you may know which card was replaced

    def _end(self, message: Message) -> None:
        """Store the final state, and your cards from the latest event that contains them."""
        you = self.request["you"]
        state: Message = message.get("state", self.state)
        cards = [*you["cards"]]
        for event in message["events"]:
            if "cards" in event:
                cards = [*event["cards"]]
            elif event["event"] == "lost" and event["seat"] == you["seat"] and event["role"] in cards:
                cards.remove(event["role"])
        if state["players"][you["seat"]]["influence"] == 0:
            cards = []
        lasting = {name: value for name, value in you.items() if name not in ("drawn", "seen", "known")}
        self.request = {**message, "state": state, "you": {**lasting, "cards": cards}}
        self.winner, self.survivors = message["winner"], message["survivors"]


# The texts of events, as in protocol/event_texts.json.
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
    "unproven.not_duke": "{seat} concedes",
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
    "resolved.target_gone": "the action ends, its target is out",
    "resolved.actor_gone": "the action ends, its player is out",
    "say.hold": "{seat} says: I hold the {role}",
    "say.lack": "{seat} says: I have no {role}",
    "say.attack": "{seat} says: I will attack {target}",
    "say.spare": "{seat} says: I won't attack {target}",
    "say.doubt": "{seat} says: {target} has no {role}",
    "say.text": "{seat} says: “{text}”",
}


def _text_name(event: Message) -> str:
    """Return the key of the most specific text for an event, "" without one: its word, then what it contains."""
    word = event["event"]
    names = [word, *(event[key] for key in ("how", "says", "action") if key in event)]
    if event.get("replaced"):
        names.append("replaced")
    elif word == "shown" and "replaced" in event:
        names.append("kept")
    contents = [key for key in ("role", "target", "cards") if key in event]
    names += [event[key] for key in contents] if word == "unproven" else contents
    while names and ".".join(names) not in _WORDS:
        names.pop()
    return ".".join(names)


class Bot:
    """The base class of bots: inherit from it, and write the methods that you need."""

    name = ""  # for logs, at most 64 characters; by default the class's name
    version = ""  # for logs, at most 64 characters
    careful = False  # True: if a method fails, the kit prints the error, plays legal[0] and continues

    _game: Game | None = None

    # --- requests: return an element of game.legal or its index -------------------------------------------------------

    def turn(self, game: Game) -> Answer:
        """Choose the action of your turn; by default income."""
        return 0

    def challenge(self, game: Game) -> Answer:
        """Challenge `game.claim`, or pass (the default)."""
        return 0

    def block(self, game: Game) -> Answer:
        """Block `game.pending` by claiming a role, or pass (the default)."""
        return 0

    def prove(self, game: Game) -> Answer:
        """Show the card that you claimed (the default), or decline."""
        return 0

    def lose(self, game: Game) -> Answer:
        """Choose the card to lose, by default the first in `game.legal`; `game.reason` says why you lose one."""
        return 0

    def exchange(self, game: Game) -> Answer:
        """Choose the cards to keep from `game.cards` and `game.drawn`; by default your hand."""
        return 0

    def keep_shown(self, game: Game) -> Answer:
        """Keep the card that you showed, or replace it (the default)."""
        return 0

    def examine_show(self, game: Game) -> Answer:
        """Choose the card to show to the inquisitor, by default the first in `game.legal`."""
        return 0

    def examine_decide(self, game: Game) -> Answer:
        """Hand back `game.seen` (the default), or replace it."""
        return 0

    def draft(self, game: Game) -> Answer:
        """Choose your first card from the set of five in `game.legal`; the second card is dealt."""
        return 0

    def allegiance(self, game: Game) -> Answer:
        """Choose your side, which fixes the others: loyalist or reformist, by default the first in `game.legal`."""
        return 0

    def other(self, game: Game) -> Answer:
        """Answer a kind of request that this kit doesn't know; `game.legal[0]` is a safe move."""
        return 0

    # --- notifications: return nothing --------------------------------------------------------------------------------

    def match_start(self, game: Game) -> None:
        """Prepare for the match: `game.rules`, `game.limits` and `game.match` are known, the players aren't yet."""

    def game_start(self, game: Game) -> None:
        """Prepare for a game: your seat, your cards and the players are known."""

    def event(self, game: Game, event: Message) -> None:
        """Process an event, after `game` was updated. Each comes once, in order, before the next request's method."""

    def game_over(self, game: Game) -> None:
        """Learn from a finished game: `game.winner` and `game.survivors` are known."""

    def fault(self, game: Game, error: Message) -> None:
        """Process a fault that the referee counted: `error["message"]` explains what to fix."""

    def match_over(self, game: Game) -> None:
        """Clean up after the match; half a second is left."""

    # --- one message --------------------------------------------------------------------------------------------------

    def reply(self, message: Message) -> Message | None:
        """Process a message of the referee; return the answer, or None if it needs none. Does no input or output."""
        kind = message.get("type")
        if kind == "hello":
            self._game = Game(message)
            self._notify("match_start", message)
            version = {"version": self.version[:64]} if self.version else {}
            return {"type": "hello", "name": (self.name or type(self).__name__)[:64], **version}
        game = self._game
        if game is None:
            game = self._game = Game({})
        if kind == "request":
            return _answer(self, game, message)
        if kind == "game_start":
            game._begin(message, message["players"])
            self._notify("game_start", message)
        elif kind == "game_over":
            self._follow(game, message)
            game._end(message)
            self._notify("game_over", message)
        elif kind == "error":
            self._notify("fault", message, message)
        elif kind == "match_over":
            self._notify("match_over", message)
        return None

    def _follow(self, game: Game, message: Message) -> None:
        is_event_handled = type(self).event is not Bot.event
        for event in message.get("events", ()):
            game._follow(event)
            if is_event_handled:
                self._notify("event", message, event)

    def _notify(self, method: str, message: Message, *about: Message) -> None:
        try:
            getattr(self, method)(self._game, *about)
        except Exception:
            self._failed(method, message)

    def _failed(self, method: str, message: Message) -> None:
        """Print where a method failed; then continue if the bot is careful, else raise the error again."""
        location = message.get("type")
        if location == "request":
            location = (
                f"request {message['id']}: {message['kind']}, game {message['game']}, turn {message['state']['turn']}, "
                f"legal {json.dumps(message['legal'])}"
            )
        print(f"coup_kit: {type(self).__name__}.{method} failed at {location}", file=sys.stderr, flush=True)
        if not self.careful:
            raise
        import traceback

        traceback.print_exc()


def _answer(bot: Bot, game: Game, request: Message) -> Message:
    """Call the method of a request's kind; return the answer, with the statements that the method made.

    If the method fails or returns no legal move, the answer is the first legal move, or the error is raised again.
    """
    players = request["state"]["players"]
    if len(game.players) != len(players):  # there was no game_start
        game._begin(request, [str(seat) for seat in range(len(players))])
    game.request = request
    bot._follow(game, request)
    method = request["kind"] if request["kind"] in _KINDS else "other"
    try:
        move = getattr(bot, method)(game)
        choice = 0 if move is None else _index(game, move)
    except Exception:
        bot._failed(method, request)
        choice = 0
    answer: Message = {"id": request["id"], "choice": choice}
    if game._words:
        answer["say"], game._words = game._words, []
    return answer


def _index(game: Game, move: object) -> int:
    """Return the index of a move in `game.legal`. Raises ValueError if it isn't legal."""
    legal = game.legal
    if not isinstance(move, (dict, bool)) and hasattr(move, "__index__"):  # numpy's integers too
        place = int(move.__index__())
        if 0 <= place < len(legal):
            return place
    for index, legal_move in enumerate(legal):
        if move is legal_move or move == legal_move:
            return index
    if isinstance(move, dict) and isinstance(move.get("keep"), list):  # the order of the cards doesn't matter
        cards_kept = sorted(move["keep"])
        for index, legal_move in enumerate(legal):
            if sorted(legal_move.get("keep", ())) == cards_kept:
                return index
    raise ValueError(f"{game.kind}() returned {move!r}, which is neither in game.legal nor an index of it")


def _report_misspelt(bot: Bot) -> None:
    """Print the bot's methods whose names are similar to that of a method that the kit calls."""
    hooks = [name for name, value in vars(Bot).items() if name[0] != "_" and name != "reply" and callable(value)]
    kind = type(bot)
    added = [name for name in dir(kind) if name[0] != "_" and not hasattr(Bot, name) and callable(getattr(kind, name))]
    for name in added:
        similarity, nearest = max((_similarity(name, hook), hook) for hook in hooks)
        if similarity >= 0.8 and name[0] == nearest[0]:
            text = f"the kit never calls {kind.__name__}.{name}; did you mean {nearest}?"
            print(f"coup_kit: {text}", file=sys.stderr, flush=True)


def _similarity(word: str, other_word: str) -> float:
    """Return the share of letters that two names have in common, from 0 to 1, without the slow import of difflib."""
    return (
        2
        * sum(min(word.count(letter), other_word.count(letter)) for letter in set(word))
        / (len(word) + len(other_word))
    )


def run(bot: Bot) -> None:
    """Play: read the referee's messages from standard input and answer them until the match is over.

    From now on, all output of the program goes to standard error.
    """
    if isinstance(bot, type):
        raise TypeError(f"run({bot.__name__}) got a class instead of a bot; write run({bot.__name__}())")
    if sys.stdin.isatty():
        print("coup_kit: the arena starts bots and sends their input; run: arena check FOLDER", file=sys.stderr)
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)  # for output of libraries and child processes
    sys.stdout = sys.stderr
    _report_misspelt(bot)
    encode = json.JSONEncoder(separators=(",", ":")).encode
    if hasattr(gc, "freeze"):  # not in PyPy
        gc.freeze()  # what was imported is no garbage: Python ends faster if it doesn't search it
    for line in sys.stdin.buffer:
        message = json.loads(line)
        answer = bot.reply(message)
        if answer is not None:
            try:
                os.write(wire, encode(answer).encode() + b"\n")
            except BrokenPipeError:
                return  # the arena has ended
        elif message.get("type") == "match_over":
            return
