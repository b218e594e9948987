"""A kit for bots of the Coup arena: it reads and writes the lines, and asks you for moves.

Copy this one file beside your bot; it needs Python 3.9 or newer and nothing else. This is kit version 9.

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


def _sent(*path: str, otherwise: Callable[[], object] | None = None) -> Any:
    """Make a property of a game: what the latest message has at a path; else an empty value of a type, or None."""

    def get(game: Game) -> object:
        value: Any = game.request
        for name in path:
            value = value.get(name) if value else None
        return otherwise() if value is None and otherwise is not None else value

    return property(get)


def _has(name: str) -> Any:
    """Make a property of a player: what the public state has of it."""
    return property(lambda player: player._game.request["state"]["players"][player.seat].get(name))


class Player:
    """A player at the table. What it has is that of the latest request; what it did is of this game."""

    __slots__ = ("_game", "blocks", "caught", "claims", "handle", "history", "seat", "shown")

    def __init__(self, game: Game, seat: int, handle: str, history: History) -> None:
        self._game = game
        self.seat = seat
        self.handle = handle  # stays the same in all games of the match; seats don't
        self.history = history  # of the whole match
        self.claims = Counts()  # role -> how often it claimed it with cards that it may still hold
        self.caught = Counts()  # role -> how often it couldn't, or wouldn't, prove it
        self.shown = Counts()  # role -> how often it proved it
        self.blocks = Counts()  # role -> how often it blocked with it

    coins: int = _has("coins")
    influence: int = _has("influence")  # how many cards it has face down; 0: it is out of the game
    revealed: list[str] = _has("revealed")  # its lost cards, face up
    allegiance: str | None = _has("allegiance")  # `loyalist`, `reformist`; None where there are no sides, or not yet

    @property
    def alive(self) -> bool:
        """Whether it is still in the game."""
        return self.influence > 0

    @property
    def known(self) -> list[str]:
        """Roles of cards that it certainly holds, as `you.known` of the request says; two of a role: twice."""
        return self._certain("has")

    @property
    def lacks(self) -> list[str]:
        """Roles that it certainly doesn't hold, as `you.known` says."""
        return self._certain("lacks")

    def _certain(self, what: str) -> list[str]:
        players = self._game.request["you"].get("known", {}).get("players", ())
        return next((player.get(what, []) for player in players if player["seat"] == self.seat), [])


class Game:
    """The game as your seat sees it. One object for the whole match; all but the raw messages is worked out when asked.

    Between requests it stays as the latest request, or the start of the game, said. In `game_over` the state and your
    cards are those of the end, and nothing is `known` any more.
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
        self._random: Random | None = None
        self._words: list[Message] = []  # to be said beside the next answer

    # --- what the request says ----------------------------------------------------------------------------------------

    kind: str = _sent("kind", otherwise=str)  # what is asked: `turn`, `challenge` ...; empty where nothing is
    legal: list[Move] = _sent("legal", otherwise=list)  # every move that you may choose; the first is a quiet one
    number: int = _sent("game", otherwise=int)  # the number of the game in the match, from 0
    state: Message = _sent("state", otherwise=dict)  # the public state as on the wire
    seat: int = _sent("you", "seat")  # your seat in this game
    cards: list[str] = _sent("you", "cards")  # your cards
    drawn: list[str] = _sent("you", "drawn", otherwise=list)  # the cards that you drew, in `exchange`; else none
    seen: str | None = _sent("you", "seen")  # the card of another that you look at, in `examine_decide`
    turn: int = _sent("state", "turn")  # the number of the turn, from 1, over all players together
    actor: int = _sent("state", "actor")  # the seat whose turn it is
    pending: Message = _sent("pending", otherwise=dict)  # what is being decided: `actor`, `action`, perhaps `target`
    claim: Message = _sent("claim", otherwise=dict)  # to challenge or to prove: `seat`, `role`, `block` (a block's)
    proven: bool = _sent("proven", otherwise=bool)  # in `block`: the action's claim was challenged and proven this turn
    challenger: int | None = _sent("challenger")  # in `prove`: the seat that challenges you
    reason: str | None = _sent("reason")  # in `lose`: what you lose it to, `coup`, `assassinate` or `challenge`

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
        what players claim, but of what `you.known` of the request says: it is 0 or 1 where that is certain. For the
        claim `not_duke` it is how likely the seat has no duke. After a draft, where cards are chosen and half of them
        are away, it is a guess where it is neither 0 nor 1.
        """
        if role.startswith("not_"):
            return 1 - self.odds(seat, role[4:])
        you, table, deck = self.request["you"], self.request["state"]["players"], self.rules.get("deck", {})
        if seat == you["seat"]:
            return float(role in you["cards"])
        known = you.get("known", {})
        has = {player["seat"]: player.get("has", []) for player in known.get("players", ())}
        lacks = {player["seat"]: player.get("lacks", []) for player in known.get("players", ())}
        own, absent = has.get(seat, []), lacks.get(seat, [])
        if role in own:
            return 1.0
        sight = [*you["cards"], *you.get("drawn", ()), *you.get("discards", ()), *known.get("deck", ())]
        sight += [card for player in table for card in player["revealed"]]
        sight += [card for cards in has.values() for card in cards]
        unseen = sum(deck.values()) - len(sight)
        copies = deck.get(role, 0) - sight.count(role)
        cards = table[seat]["influence"] - len(own)
        # Hidden cards of others who lack the role.
        elsewhere = sum(table[other]["influence"] - len(has[other]) for other in lacks if role in lacks[other])
        if cards <= 0 or copies <= 0 or unseen < cards or role in absent:
            return 0.0
        if copies > unseen - elsewhere - cards:  # they have no place but this hand
            return 1.0
        unseen -= sum(deck.get(other, 0) - sight.count(other) for other in absent) if absent else elsewhere
        return 1 - comb(unseen - copies, cards) / comb(unseen, cards)

    def tell(self, event: Message) -> str:
        """Return an event in words, players by their handles: "B steals from C"; empty for what has no words."""
        word, replaced = event["event"], event.get("replaced")
        names = [word, *(event[key] for key in ("how", "says", "action") if key in event)]
        names += ["kept"] if word == "shown" and replaced is False else ["replaced"] if replaced else []
        names += [key if word != "unproven" else event[key] for key in ("role", "target", "cards") if key in event]
        while names and ".".join(names) not in _WORDS:
            names.pop()
        text = _WORDS.get(".".join(names), "")
        for field, value in event.items():
            if field in ("seat", "target", "claimant"):
                said = self.players[value].handle
            elif field == "delta":
                said = f"{value:+d}"
            elif field == "text":  # it can't end its own quotation
                said = str(value).replace("“", "'").replace("”", "'")
            else:
                said = (" and ".join(value) or "nothing") if isinstance(value, list) else str(value)
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

    def _begin(self, start: Message, handles: list[str]) -> None:
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
        """Count what a player did; forget claims of a role when a card of it has gone, all when all may be others."""
        word, role, seat = event["event"], event.get("role", ""), event.get("seat", -1)
        if not 0 <= seat < len(self.players):
            return
        player, past = self.players[seat], self.players[seat].history
        claim = event.get("claim") if word == "action" else role if word == "block" else None
        if claim is not None:
            player.claims[claim] += 1
            past.claimed += 1
        if word == "block":
            player.blocks[role] += 1
            past.blocks += 1
        elif word == "challenge":
            self._doubt = seat, role
            past.challenges += 1
            self.players[event["claimant"]].history.challenged += 1
        elif word in ("shown", "shown_hand"):
            player.shown[role or self._doubt[1]] += 1
            past.proven += 1
        elif word == "unproven":
            player.caught[role] += 1
            past.caught += 1
            self.players[self._doubt[0]].history.won_challenges += 1
        if word in ("shown", "lost", "unproven") and event.get("replaced", True):
            player.claims.pop(role, None)
        elif word in ("shown_hand", "exchanged", "forfeit"):
            player.claims.clear()
        elif word == "examined" and event["replaced"]:
            claims = self.players[event["target"]].claims
            claims.pop(role, None) if role else claims.clear()  # you may know which card went

    def _end(self, message: Message) -> None:
        """Take in the table that a game leaves, and your cards: those of the latest event that says them."""
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
        left = {name: value for name, value in you.items() if name not in ("drawn", "seen", "known")}
        self.request = {**message, "state": state, "you": {**left, "cards": cards}}
        self.winner, self.survivors = message["winner"], message["survivors"]


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
    "resolved.target_gone": "it has no effect",
    "resolved.actor_gone": "it has no effect",
    "say.hold": "{seat} says: I hold the {role}",
    "say.lack": "{seat} says: I have no {role}",
    "say.attack": "{seat} says: I will attack {target}",
    "say.spare": "{seat} says: I won't attack {target}",
    "say.doubt": "{seat} says: {target} has no {role}",
    "say.text": "{seat} says: “{text}”",
}


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
            version = {"version": self.version[:64]} if self.version else {}
            return {"type": "hello", "name": (self.name or type(self).__name__)[:64], **version}
        game = self._game
        if game is None:
            game = self._game = Game({})
        if kind == "request":
            players = message["state"]["players"]
            if len(game.players) != len(players):  # no game_start came
                game._begin(message, [str(seat) for seat in range(len(players))])
            game.request = message
            self._follow(game, message)
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
            self._notify("game_over", message)
        elif kind == "error":
            self._notify("fault", message, message)
        elif kind == "match_over":
            self._notify("match_over", message)
        return None

    def _follow(self, game: Game, message: Message) -> None:
        wanted = type(self).event is not Bot.event
        for event in message.get("events", ()):
            game._follow(event)
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
