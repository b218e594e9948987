"""Build the view of a match for a player or a spectator.

A player's view uses only the lines that its seat received and the steps as that seat may know them; a spectator's
uses the steps alone. The view is lines of text, or a `GameView` for a page. Players have their names from the protocol,
the person is "you", and events use the arena's common texts, in the second person for the person's own moves."""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.play.hint import make_hint
from arena.play.history import GameHistory, begin_with_capital
from arena.play.move_menu import MoveOption, find_action_rule, make_move_menu
from arena.play.question import make_question
from arena.referee import UNTIMED_MS, clean_text
from protocol.event_text import YOU, to_second_person
from protocol.kits.coup_kit import Bot, Game, Player

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SeatView:
    """A seat as the viewer sees it. `cards`: None for each hidden card. `own`: whether the seat is the viewer's."""

    name: str
    handle: str
    coins: int
    cards: tuple[str | None, ...]
    drawn: tuple[str, ...]
    revealed: tuple[str, ...]
    out: bool
    side: str | None
    own: bool


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """The open request. Answers repeat `id`.

    ends_at: its deadline by time.monotonic(), None without a clock. involved: whether the player acts or is the target,
    or has no move to pass. proven: in a block request, whether the action's claim was challenged and proven.
    blocks: in a challenge request, the blocks that the player may choose if no player challenges.
    """

    id: int
    kind: str
    question: str
    ends_at: float | None
    involved: bool
    proven: bool
    options: tuple[dict[str, Any], ...]
    blocks: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class GameView:
    """The current state of a game for one viewer. `seat`: None for a spectator; `events`: as this viewer knows them.

    asked: the seats that the rules ask now. waiting: what they are asked, of which all viewers know.
    """

    number: int
    turn: int
    seat: int | None
    actor: int
    deck: int
    reserve: int | None
    seats: tuple[SeatView, ...]
    events: tuple[Message, ...]
    asked: tuple[int, ...]
    waiting: str
    ask: OpenRequest | None
    end: str | None
    duration_s: int | None


_RISK = "If this fails, you lose both cards."
_DOUBT_RISK = "If you are wrong, it can cost both cards: only a block would save the second."
_SPECTATOR = -1  # the seat of a spectator
# What the open phase waits for, by its kind.
_WAITING = {
    "turn": "{asked}'s turn.",
    "challenge": "{asked} may challenge {claimant}'s claim.",
    "block": "{asked} may block {actor}.",
    "prove": "{asked} must answer {challenger}'s challenge.",
    "lose": "{asked} must lose a card.",
    "exchange": "{asked} chooses the cards to keep.",
    "keep_shown": "{asked} may keep the shown card or replace it.",
    "examine_show": "{asked} must show {actor} a card.",
    "examine_decide": "{asked} may make {target} replace the card.",
    "draft": "The players choose their first cards.",
    "allegiance": "{asked} chooses a side.",
}


class _Follower(Bot):
    """A bot of the kit that only follows the match, for its game object; its answers are discarded."""

    name = "person"
    game: Game

    def match_start(self, game: Game) -> None:
        self.game = game


class PlayerView:
    """The match as one player or spectator knows it, built from messages. labels: names of players by handle."""

    def __init__(self, labels: Mapping[str, str] | None = None) -> None:
        self.labels = labels or {}
        self._follower = _Follower()
        self.request: Message = {}  # the open request, else {}
        self.history = GameHistory()  # of this game
        self.events: list[Message] = []  # of this game as the viewer may know them, see _add_step
        self._phase: Message = {}  # the open phase, as all may know it
        self._steps = 0  # of this game
        self._began_at, self._duration_s = 0.0, 0
        self._next_event = 0  # the number of the first event that isn't in the history
        self._asked_at = 0.0
        self._early_moments: list[Message] = []  # moments received before the seat's own game_start line
        self._is_over = False
        self._watched_game: int | None = None  # the game that a spectator sees

    @property
    def game(self) -> Game:
        """The game object of the kit."""
        return self._follower.game

    def receive(self, message: Message) -> Message | None:
        """Process a message; return the automatic answer to a hello, else None. `answer` answers requests."""
        match message["type"]:
            case "hello":
                return self._follower.reply(message)
            case "moment":
                self._receive_moment(message)
            case "game_start":
                self._begin_game()
                self._follower.reply(message)
                moments, self._early_moments = self._early_moments, []
                for moment in moments:
                    self._receive_moment(moment)
            case "request" | "game_over":
                self._receive_position(message)
            case _:
                self._follower.reply(message)
        return None

    def _receive_position(self, message: Message) -> None:
        """Process a request, which is open from now on, or the end of a game."""
        message = {**message, "events": self._take_new_events(message["events"])}
        self.request = message if message["type"] == "request" else {}
        self._asked_at = time.monotonic()
        self._is_over = message["type"] == "game_over"
        self._duration_s = round(self._asked_at - self._began_at)
        self._follower.reply(message)
        self._add_to_history(message["events"])

    def _begin_game(self) -> None:
        """Forget the last game, and start the time of a new one."""
        self.history, self._next_event = GameHistory(), 0
        self.events, self._steps, self._phase = [], 0, {}
        self._began_at, self._is_over = time.monotonic(), False

    def _receive_moment(self, message: Message) -> None:
        """Process a moment, a message with new events in the form of a request.

        A player's moment that comes before the game's first line is kept until then.
        """
        is_player = "you" in message
        if is_player and (not self.game.request or message["game"] != self.game.number or self._is_over):
            self._early_moments.append(message)
            return
        if not is_player and message["game"] != self._watched_game:
            self._begin_watched_game(message)
            return
        events = self._take_new_events(message["events"])
        self._phase = message["phase"]
        self._add_step(message)
        self.request = {}
        request = {"type": "request", "kind": "moment", "id": 0, "legal": [{"pass": True}], "events": events}
        self._follower.reply({**_complete_moment(message), **request})
        self._add_to_history(events)

    def _begin_watched_game(self, message: Message) -> None:
        """Begin a game for a spectator, who gets no game_start, by its first moment."""
        self._watched_game = message["game"]
        self._begin_game()
        self._phase = message["phase"]
        self._follower.reply({**_complete_moment(message), "type": "game_start"})

    def _add_step(self, message: Message) -> None:
        """Add the events of a step, if the message has one, to `events`, numbered by `n` from 0 in a game.

        Each gets its `step` and `turn`, and the time for which the table shows it (`ms`). `drew`: the new cards of the
        viewer, if the event gave it some. A window in which no player objected has an event of its own, "quiet".
        """
        step, events = message.get("step"), message["events"]
        if not step:
            return
        self._steps += 1
        if len(step["shown_ms"]) > len(events):
            events = [{"event": "quiet", "kind": step["kind"]}, *events]
        hand = [*self.game.cards]
        for event, shown_ms in zip(events, step["shown_ms"], strict=True):
            page_event = {**event, "n": len(self.events), "step": self._steps, "turn": step["turn"], "ms": shown_ms}
            new_hand = self._find_hand_after(event, hand)
            if "cards" in event:  # the viewer's own
                page_event["drew"] = _subtract_cards(new_hand, _subtract_cards(hand, _list_returned_cards(event)))
            hand = new_hand
            self.events.append(page_event)

    def _find_hand_after(self, event: Message, hand: list[str]) -> list[str]:
        """Return the viewer's cards after an event. hand: those before it."""
        if "cards" in event:
            return list(event["cards"])
        if event["event"] == "lost" and event["seat"] == self.game.seat:
            return _subtract_cards(hand, [event["role"]])
        return hand

    def _take_new_events(self, events: Sequence[Message]) -> list[Message]:
        """Return the events that aren't in the history yet, and count them as added."""
        new_events = [event for event in events if event["n"] >= self._next_event]
        self._next_event += len(new_events)
        return new_events

    def set_time_limit(self, limit_ms: int) -> None:
        """Replace the time limit of the open request; it counts from now on."""
        self.request["clock"] = {"limit_ms": limit_ms, "bank_ms": 0}
        self._asked_at = time.monotonic()

    def choose_default_move(self, pick: Callable[[int], int] = random.randrange) -> int:
        """Return the index of the default move for a player without an answer; it follows `pick_default_move`.

        pick(n): draws a number below n.
        """
        legal, kind, seat = self.request["legal"], self.request["kind"], self.request["you"]["seat"]
        if kind in ("lose", "draft", "examine_show"):
            return pick(len(legal))  # a fixed choice would reveal the other cards
        coups = [index for index, move in enumerate(legal) if move.get("action") == "coup"]
        is_coup_forced = kind == "turn" and bool(coups) and legal[0] != {"action": "income"}
        if is_coup_forced:
            return min(coups, key=lambda index: (legal[index]["target"] - seat) % len(self.game.players))
        return 0  # income, pass, show if held, keep the hand

    def answer(self, choice: int, say: str | Sequence[Message] | None = None) -> Message:
        """Return the answer to the open request. choice: the index of a legal move.

        say: statements, or typed text that `parse_statements` parses.
        """
        statements = self.parse_statements(say) if isinstance(say, str) else list(say or ())
        return {"id": self.request["id"], "choice": choice, **({"say": statements} if statements else {})}

    def read_answer(self, answer: Message) -> Message | None:
        """Return a page's answer as a reply; None unless it is for the open request and one of its legal moves."""
        choice, say = answer.get("choice"), answer.get("say")
        if not self.request or answer.get("id") != self.request["id"] or type(choice) is not int:
            return None
        if not 0 <= choice < len(self.request["legal"]):
            return None
        return self.answer(choice, say if isinstance(say, str) and say.strip() else None)

    @property
    def talk(self) -> str:
        """The allowed table talk: `off`, `statements`, or `text` (statements and free text)."""
        return str(self.game.rules.get("talk", "off"))

    def parse_statements(self, text: str) -> list[Message]:
        """Parse a statement: "hold duke", "lack duke", "attack B", "spare B", "doubt B duke", anything else is a text.

        Names may have blanks. Return [] if the rules don't allow the statement.
        """
        verb, *arguments = text.lower().split() or [""]
        roles, opponents = self.game.rules.get("deck", ()), self._find_opponents()
        match verb, arguments:
            case "hold" | "lack", [role] if role in roles:
                statement: Message = {"says": verb, "role": role}
            case "attack" | "spare", words if (name := " ".join(words)) in opponents:
                statement = {"says": verb, "target": opponents[name].seat}
            case "doubt", [*words, role] if role in roles and (name := " ".join(words)) in opponents:
                statement = {"says": verb, "role": role, "target": opponents[name].seat}
            case _:
                free_text = clean_text(text) if self.talk == "text" else ""
                return [{"says": "text", "text": free_text}] if free_text else []
        return [statement] if self.talk != "off" else []

    def _find_opponents(self) -> dict[str, Player]:
        """Return the other players in the game by handle and by label, in lower case; labels win."""
        by_handle = {player.handle.lower(): player for player in self.game.players}
        by_label = {self.labels.get(player.handle, player.handle).lower(): player for player in self.game.players}
        seat = self.game.seat
        return {name: player for name, player in (by_handle | by_label).items() if player.alive and player.seat != seat}

    @property
    def names(self) -> list[str]:
        """The players' names by seat: their labels, else their handles; the viewer's is "you"."""
        you, labels = self.game.request["you"]["seat"], self.labels
        return [YOU if player.seat == you else labels.get(player.handle, player.handle) for player in self.game.players]

    def _add_to_history(self, events: Sequence[Message]) -> None:
        if events:
            self.history.add(events, self.names)

    # --- the open request

    def question(self) -> str:
        """Return the open request as a question to the person."""
        return make_question(self.game, self.names, bool(self._list_later_blocks()))

    def options(self) -> list[MoveOption]:
        """Return the menu of the open request."""
        cards = self.game.cards
        return make_move_menu(self.game.legal, cards, self.game.rules, self.names)

    def make_game_view(self) -> GameView | None:
        """Return the current state of the game; None before the first game."""
        if not hasattr(self._follower, "game") or not self.game.request:
            return None
        game, state = self.game, self.game.state
        viewer = game.request["you"]["seat"]
        return GameView(
            number=game.number,
            turn=state["turn"],
            seat=None if viewer == _SPECTATOR else viewer,
            actor=state["actor"],
            deck=state["deck"],
            reserve=state.get("reserve") if game.rules.get("reformation") else None,
            seats=tuple(map(self._make_seat_view, game.players, self.names)),
            events=tuple(self.events),
            asked=tuple(self._phase.get("asked", ())),
            waiting=self._describe_phase(),
            ask=self._make_open_request(),
            end=self.end() if self._is_over else None,
            duration_s=self._duration_s if self._is_over else None,
        )

    def _make_seat_view(self, player: Player, name: str) -> SeatView:
        """Return a player's seat as the viewer sees it. name: to be shown."""
        you = self.game.request["you"]
        is_own = player.seat == you["seat"]
        return SeatView(
            name=name,
            handle=player.handle,
            coins=player.coins,
            cards=tuple(you["cards"]) if is_own else (None,) * player.influence,
            drawn=tuple(you.get("drawn", ())) if is_own else (),
            revealed=tuple(player.revealed),
            out=not player.alive,
            side=player.allegiance,
            own=is_own,
        )

    def _describe_phase(self) -> str:
        """Return what the open phase waits for, "" without one."""
        phase, names = self._phase, self.names
        asked_seats, pending = phase.get("asked", ()), phase.get("pending", {})
        seats = {"claimant": phase.get("claim", {}).get("seat"), "challenger": phase.get("challenger"), **pending}
        values = {placeholder: names[seat] for placeholder, seat in seats.items() if isinstance(seat, int)}
        values["asked"] = names[asked_seats[0]] if len(asked_seats) == 1 else "The players"
        return begin_with_capital(to_second_person(_WAITING.get(phase.get("kind", ""), "").format(**values)))

    def _make_open_request(self) -> OpenRequest | None:
        """Return the open request as a browser shows it, with blocks that it may announce now; None without one."""
        request = self.request
        if not request:
            return None
        clock, legal = request["clock"], request["legal"]
        ends_at = self._asked_at + (clock["limit_ms"] + clock["bank_ms"]) / 1000
        options, blocks = self.options(), self._list_later_blocks()
        menu = make_move_menu([*legal, *blocks], self.game.cards, self.game.rules, self.names)
        block_options = menu[len(options) :]
        return OpenRequest(
            id=request["id"],
            kind=request["kind"],
            question=self.question(),
            ends_at=ends_at if clock["limit_ms"] < UNTIMED_MS else None,
            involved="pass" not in legal[0] or self.game.seat in (self.game.actor, self.game.pending.get("target")),
            proven=self.game.proven,
            options=tuple(self._describe_option(option, legal[option.choices[0][0]]) for option in options),
            blocks=tuple(map(self._describe_option, block_options, blocks)),
        )

    def _list_later_blocks(self) -> list[Message]:
        """Return the blocks that may follow an open challenge request: each is legal if no player challenges."""
        game = self.game
        if game.kind != "challenge" or game.claim["block"]:
            return []
        if game.rules.get("attacks_blocked_by") != "anyone" and game.pending.get("target") != game.seat:
            return []
        rule = find_action_rule(game.pending["action"], game.rules)
        return [{"block": role.value} for role in rule.block_roles] if rule else []

    def _describe_option(self, option: MoveOption, move: Mapping[str, Any]) -> dict[str, Any]:
        """Return an option as a browser shows it. move: the first of its moves, which decides its cards and risk."""
        return {
            "number": option.number,
            "letter": option.letter,
            "text": option.text,
            "action": move.get("action"),
            "block": move.get("block"),
            "cards": self._find_cards(move),
            "bluff": option.bluff,
            "risk": self._describe_risk(move, option.bluff),
            "choices": option.choices,
        }

    def _find_cards(self, move: Mapping[str, Any]) -> list[str]:
        """Return the cards that a move keeps, loses, shows or picks."""
        if move.get("keep_shown"):
            return [self.game.claim["role"]]
        cards = move.get("keep") or move.get("lose") or move.get("reveal") or move.get("pick") or []
        return [cards] if isinstance(cards, str) else list(cards)

    def _describe_risk(self, move: Mapping[str, Any], is_bluff: bool) -> str | None:
        """Return the warning before a move that may cost two cards, or that challenges a player of the same side.

        None: there is no such risk.
        """
        game = self.game
        is_challenge = "challenge" in move
        is_assassinated = game.pending.get("action") == "assassinate" and game.pending.get("target") == game.seat
        if is_assassinated and len(game.cards) > 1:
            if is_challenge and not game.claim.get("block"):
                return _DOUBT_RISK
            if "block" in move and is_bluff:
                return _RISK
        if not is_challenge:
            return None
        claimant = game.players[game.claim["seat"]]
        sides = {player.allegiance for player in game.players if player.alive}
        if claimant is not game.me and len(sides) > 1 and claimant.allegiance == game.me.allegiance:
            return f"{self.names[claimant.seat]} is on your side."
        return None

    # --- on request

    def hint(self) -> Message:
        """Return what the cards in sight say about the hidden ones, as `make_hint` does."""
        return make_hint(self.game, self.names)

    def end(self) -> str:
        """Return the result of the game as text."""
        game = self.game
        if game.winner is not None:
            name = self.names[game.winner]
            return "You win!" if name == YOU else f"{name} wins."
        return f"A draw: {' and '.join(self.names[seat] for seat in game.survivors) or 'no player'}."


def _complete_moment(moment: Message) -> Message:
    """Return a moment with the `you` of a request, but without the examined card, which only that request shows."""
    you = moment.get("you", {"seat": _SPECTATOR, "cards": []})
    return {**moment, "you": {name: value for name, value in you.items() if name != "seen"}}


def _list_returned_cards(event: Message) -> list[str]:
    """Return the cards that the viewer put back by an event that gave it cards; [] where the event doesn't say."""
    match event["event"]:
        case "examined" | "shown":
            return [event["role"]]
        case "shown_hand":
            return list(event["roles"])
    return []


def _subtract_cards(cards: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Return cards without `removed`, with equal cards side by side; missing ones are ignored."""
    return list((Counter(cards) - Counter(removed)).elements())
