"""Build the view of a match for a player or a spectator.

A player's view uses only the lines that its seat received and the steps as that seat may know them; a spectator's
uses the steps alone. The view is lines of text for a terminal, or a `GameView` for a page. Players have their names
from the protocol, the person is "you", and events use the arena's common texts, in the second person for the person's
own moves."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.play.move_menu import MoveOption, find_action_rule, make_move_menu
from arena.referee import UNTIMED_MS, clean_text
from protocol.event_text import describe_event, join_texts
from protocol.kits.coup_kit import Bot, Game, Player

Message = dict[str, Any]

YOU = "you"
HIDDEN = "??"

_IRREGULAR = {"is": "are", "has": "have", "can't": "can't", "doesn't": "don't", "launches": "launch", "and": "and"}
_LOSSES = {
    "coup": "You lose a card to the coup.",
    "assassinate": "You lose a card to the assassination.",
    "challenge": "You lost the challenge.",
}


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of the table. `own`: whether it is the viewer's."""

    text: str
    own: bool = False


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
        self.history: list[str] = []  # of this game, a line for each turn
        self.events: list[Message] = []  # of this game, see _note_step
        self._phase: Message = {}  # the open phase, as all may know it
        self._steps = 0  # of this game
        self._began_at, self._duration_s = 0.0, 0
        self._first_unshown = 0  # index of the first line of the history that wasn't completely shown
        self._shown_part = ""  # the shown part of this line
        self._turn_events: list[Message] = []  # the events of the last line
        self._next = 0  # the number of the first event that isn't in the history
        self._asked_at = 0.0
        self._early: list[Message] = []  # moments received before the seat's own game_start line
        self._over = False
        self._watched_game: int | None = None  # the game that a spectator sees

    @property
    def game(self) -> Game:
        """The game object of the kit."""
        return self._follower.game

    def take(self, message: Message) -> Message | None:
        """Process a message; return the automatic answer to a hello, else None. `answer` answers requests."""
        match message["type"]:
            case "moment":
                self._take_moment(message)
                return None
            case "game_start":
                self._begin()
            case "request" | "game_over":
                message = {**message, "events": self._new_events(message["events"])}
                self.request = message if message["type"] == "request" else {}
                self._asked_at = time.monotonic()
                self._over = message["type"] == "game_over"
                self._duration_s = round(self._asked_at - self._began_at)
        answer = self._follower.reply(message)
        if "events" in message:
            self._append(message["events"])
        if message["type"] == "game_start":
            early, self._early = self._early, []
            for moment in early:
                self._take_moment(moment)
        return answer if message["type"] == "hello" else None

    def _begin(self) -> None:
        self.history, self._turn_events, self._first_unshown, self._shown_part, self._next = [], [], 0, "", 0
        self.events, self._steps, self._phase = [], 0, {}
        self._began_at, self._over = time.monotonic(), False

    def _take_moment(self, message: Message) -> None:
        """Process a moment, a message with new events in the form of a request."""
        you = message.get("you", {"seat": _SPECTATOR, "cards": []})
        # Only the request that follows shows the examined card.
        seen = {**message, "you": {name: value for name, value in you.items() if name != "seen"}}
        if (
            "you" not in message and message["game"] != self._watched_game
        ):  # no other message shows a spectator that a game begins
            self._watched_game = message["game"]
            self._begin()
            self._phase = message["phase"]
            self._follower.reply({**seen, "type": "game_start"})
        elif "you" in message and (not self.game.request or message["game"] != self.game.number or self._over):
            self._early.append(message)
        else:
            seen["events"] = self._new_events(message["events"])
            self._phase = message["phase"]
            self._note_step(message)
            self.request = {}
            self._follower.reply({**seen, "type": "request", "kind": "moment", "id": 0, "legal": [{"pass": True}]})
            self._append(seen["events"])

    def _note_step(self, message: Message) -> None:
        """Keep the events of a step for pages, as the viewer may know them. Their `n` counts them.

        Each has its `step` and `turn`, and the time for which the table shows it (`ms`). `drew`: the new cards of the
        viewer, if the event gave it some. A window in which no player objected has an event of its own, "quiet".
        """
        step, events = message.get("step"), message["events"]
        if not step:
            return
        self._steps += 1
        quiet = [{"event": "quiet", "kind": step["kind"]}] * (len(step["shown_ms"]) - len(events))
        hand = [*self.game.cards]
        for event, shown_ms in zip([*quiet, *events], step["shown_ms"], strict=True):
            noted = {**event, "n": len(self.events), "step": self._steps, "turn": step["turn"], "ms": shown_ms}
            gone = event.get("roles") or [event["role"]] if event["event"] in ("shown", "shown_hand", "lost") else []
            if event.get("seat") == self.game.seat and event["event"] == "lost":
                hand = list((Counter(hand) - Counter(gone)).elements())
            if "cards" in event:  # of the viewer alone
                given = [event["role"]] if event["event"] == "examined" else gone
                noted["drew"] = list((Counter(event["cards"]) - (Counter(hand) - Counter(given))).elements())
                hand = event["cards"]
            self.events.append(noted)

    def _new_events(self, events: Sequence[Message]) -> list[Message]:
        """Return the events that aren't in the history yet."""
        fresh = [event for event in events if event["n"] >= self._next]
        self._next += len(fresh)
        return fresh

    def allow(self, limit_ms: int) -> None:
        """Replace the time limit of the open request; it counts from now on."""
        self.request["clock"] = {"limit_ms": limit_ms, "bank_ms": 0}
        self._asked_at = time.monotonic()

    def quiet(self, pick: Callable[[int], int] = random.randrange) -> int:
        """Return the index of the default move for a player without an answer; it follows `pick_default_move`.

        pick(n): draws a number below n.
        """
        legal, kind, seat = self.request["legal"], self.request["kind"], self.request["you"]["seat"]
        if kind in ("lose", "draft", "examine_show"):
            return pick(len(legal))  # a fixed choice would reveal the other cards
        coups = [index for index, move in enumerate(legal) if move.get("action") == "coup"]
        if kind == "turn" and coups and legal[0] != {"action": "income"}:
            return min(coups, key=lambda index: (legal[index]["target"] - seat) % len(self.game.players))
        return 0  # income, pass, show if held, keep the hand

    def answer(self, choice: int, say: str | Sequence[Message] | None = None) -> Message:
        """Return the answer to the open request. choice: the index of a legal move.

        say: statements, or typed text that `statements` parses.
        """
        statements = self.statements(say) if isinstance(say, str) else list(say or ())
        return {"id": self.request["id"], "choice": choice, **({"say": statements} if statements else {})}

    def read_answer(self, given: Message) -> Message | None:
        """Return the answer that a page gives; None unless it is for the open request and one of its legal moves."""
        choice, say = given.get("choice"), given.get("say")
        if not self.request or given.get("id") != self.request["id"] or type(choice) is not int:
            return None
        if not 0 <= choice < len(self.request["legal"]):
            return None
        return self.answer(choice, say if isinstance(say, str) and say.strip() else None)

    @property
    def talk(self) -> str:
        """The allowed table talk: `off`, `statements`, or `text` (statements and free text)."""
        return str(self.game.rules.get("talk", "off"))

    def statements(self, words: str) -> list[Message]:
        """Parse a statement: "hold duke", "lack duke", "attack B", "spare B", "doubt B duke", anything else is a text.

        Return [] if the rules don't allow the statement.
        """
        says, *rest = words.lower().split() or [""]
        roles, others = self.game.rules.get("deck", ()), {player.handle.lower(): player for player in self.game.players}
        others |= {self.labels.get(player.handle, player.handle).lower(): player for player in self.game.players}
        match rest:
            case [role] if says in ("hold", "lack") and role in roles:
                statement: Message = {"says": says, "role": role}
            case [name] if says in ("attack", "spare") and self._is_other(others.get(name)):
                statement = {"says": says, "target": others[name].seat}
            case [name, role] if says == "doubt" and role in roles and self._is_other(others.get(name)):
                statement = {"says": says, "role": role, "target": others[name].seat}
            case _:
                text = clean_text(words) if self.talk == "text" else ""
                return [{"says": "text", "text": text}] if text else []
        return [statement] if self.talk != "off" else []

    def _is_other(self, player: Player | None) -> bool:
        return player is not None and player.alive and player.seat != self.game.seat

    @property
    def names(self) -> list[str]:
        """The players' names by seat: their labels, else their handles; the viewer's is "you"."""
        you, labels = self.game.request["you"]["seat"], self.labels
        return [YOU if each.seat == you else labels.get(each.handle, each.handle) for each in self.game.players]

    # --- history

    def _append(self, events: Sequence[Message]) -> None:
        """Add events to the history; the line of a continued turn is written again as a whole."""
        for event in events:
            if event["event"] == "allegiances":  # the table shows them
                continue
            if self._is_start_of_turn(event):
                self.history.append("")
                self._turn_events = []
            self._turn_events.append(event)
            self.history[-1] = join_texts(
                (each["event"], self._describe(each)) for each in self._turn_events if each["event"] != "coins"
            )

    def _is_start_of_turn(self, event: Message) -> bool:
        """Return whether an event begins a line: an action, or talk before an action."""
        going = [each["event"] for each in self._turn_events]
        if not self.history or (event["event"] == "say" and going[-1] == "resolved"):
            return True
        return bool(event["event"] == "action" and set(going) != {"say"})

    def _describe(self, event: Message) -> str:
        """Describe an event in the second person; quoted table talk stays unchanged."""
        head, quote, text = describe_event(event, self.names).partition("“")
        return to_second_person(head) + quote + text

    def new_lines(self) -> list[str]:
        """Return the history since the last call, beginning with the new part of the last line shown then."""
        fresh = self.history[self._first_unshown :]
        if fresh and self._shown_part and fresh[0].startswith(self._shown_part):
            fresh[0] = fresh[0].removeprefix(self._shown_part).strip(" ·:")
        self._first_unshown = max(0, len(self.history) - 1)
        self._shown_part = self.history[-1] if self.history else ""
        return [_sentence(line) for line in fresh if line]

    # --- the table

    def table(self, columns: int) -> list[TableRow]:
        """Return a line for each player: coins, cards, face-up cards in brackets, and claims if `columns` allow it."""
        game, names = self.game, self.names
        wide = max(map(len, names))
        rows = []
        for player, name in zip(game.players, names, strict=True):
            own = player.seat == game.seat
            mark = ">" if player.seat == game.actor and player.alive else " "
            line = f"{mark} {name.ljust(wide)}  {self._holdings(player)}"
            claims = f"   claimed {_claims_text(player.claims)}" if not own and player.alive and player.claims else ""
            rows.append(TableRow(line + claims if len(line + claims) <= columns else line, own))
        if game.rules.get("reformation"):
            rows.append(TableRow(f"  {'reserve'.ljust(wide)}  {game.state.get('reserve', 0)}"))
        return rows

    def _holdings(self, player: Player) -> str:
        mine = player.seat == self.game.request["you"]["seat"]
        cards = [*self.game.cards] if mine else [HIDDEN] * player.influence
        up = [f"({role})" for role in player.revealed]
        side = [player.allegiance] if player.allegiance else []
        coins = f"{player.coins:>2} {'coin ' if player.coins == 1 else 'coins'}" if player.alive else " out    "
        return " ".join([coins, *side, *cards, *up])

    # --- the open request

    def question(self) -> str:
        """Return the open request as a question to the person."""
        game, names = self.game, self.names
        legal = game.legal
        actor = game.pending.get("actor")
        action = {"event": "action", "seat": actor, **game.pending}
        pending = _sentence(to_second_person(describe_event(action, names))) if actor is not None else ""
        match game.kind:
            case "turn" if all(move.get("action") == "coup" for move in legal):
                return f"Your turn. With {game.me.coins} coins you must launch a coup."
            case "turn":
                return "Your turn."
            case "challenge":
                claim = game.claim
                if claim["block"]:
                    return f"{pending}, {names[claim['seat']]} blocks as {claim['role']}. Challenge?"
                block = " or block" if self._later_blocks() else ""
                return f"{pending}, claiming {_role_text(claim['role'])}. Challenge{block}?"
            case "block":
                shown = " The claim was proved." if game.proven else ""
                return f"{pending}.{shown} Block?"
            case "prove":
                doubter = names[game.challenger] if game.challenger is not None else "a player"
                role = str(game.claim["role"])
                if len(legal) > 1:
                    return f"{doubter} challenges you: show {_role_text(role)}?"
                held = role.removeprefix("not_")
                return f"{doubter} challenges you. You have {f'no {role} to show' if held == role else f'a {held}'}."
            case "lose":
                return f"{_LOSSES.get(game.reason or '', 'You lose a card.')} Which card do you give up?"
            case "exchange":
                return f"You drew {' and '.join(game.drawn)}. What do you keep?"
            case "keep_shown":
                return f"You showed {_role_text(game.claim['role'])}. Keep it, or have it replaced?"
            case "examine_show":
                return f"{pending}. Which card do you show?"
            case "examine_decide":
                return f"{names[game.pending['target']]} shows you the {game.seen}."
            case "draft":
                return "Which card do you start with?"
            case "allegiance":
                return "Which side are you on?"
        return f"{game.kind}?"

    def options(self) -> list[MoveOption]:
        """Return the menu of the open request."""
        cards = self.game.cards
        return make_move_menu(self.game.legal, cards, self.game.rules, self.names)

    def seen(self) -> GameView | None:
        """Return the current state of the game; None before the first game."""
        if not hasattr(self._follower, "game") or not self.game.request:
            return None
        game, names = self.game, self.names
        state, you = game.state, game.request["you"]
        reserve = state.get("reserve") if game.rules.get("reformation") else None
        seats = []
        for player, name in zip(game.players, names, strict=True):
            own = player.seat == you["seat"]
            hidden: list[str | None] = [None] * player.influence
            seats.append(
                SeatView(
                    name,
                    player.handle,
                    player.coins,
                    tuple(you["cards"] if own else hidden),
                    tuple(you.get("drawn", ())) if own else (),
                    tuple(player.revealed),
                    not player.alive and bool(player.revealed),
                    player.allegiance,
                    own,
                )
            )
        seat = None if you["seat"] == _SPECTATOR else you["seat"]
        end = self.end() if self._over else None
        return GameView(
            game.number,
            state["turn"],
            seat,
            state["actor"],
            state["deck"],
            reserve,
            tuple(seats),
            tuple(self.events),
            tuple(self._phase.get("asked", ())),
            self._describe_phase(),
            self._open_request(),
            end,
            self._duration_s if self._over else None,
        )

    def _describe_phase(self) -> str:
        """Return what the open phase waits for, "" without one."""
        phase, names = self._phase, self.names
        asked, pending = phase.get("asked", ()), phase.get("pending", {})
        seats = {"claimant": phase.get("claim", {}).get("seat"), "challenger": phase.get("challenger"), **pending}
        named = {part: names[seat] for part, seat in seats.items() if isinstance(seat, int)}
        named["asked"] = names[asked[0]] if len(asked) == 1 else "The players"
        return _sentence(to_second_person(_WAITING.get(phase.get("kind", ""), "").format(**named)))

    def _open_request(self) -> OpenRequest | None:
        """Return the open request as a browser shows it, with blocks that it may announce now; None without one."""
        request = self.request
        if not request:
            return None
        clock = request["clock"]
        ends_at = self._asked_at + (clock["limit_ms"] + clock["bank_ms"]) / 1000
        legal, options, blocks = request["legal"], self.options(), self._later_blocks()
        menu = make_move_menu([*legal, *blocks], self.game.cards, self.game.rules, self.names)[len(options) :]
        timed = clock["limit_ms"] < UNTIMED_MS
        return OpenRequest(
            request["id"],
            request["kind"],
            self.question(),
            ends_at if timed else None,
            "pass" not in legal[0] or self.game.seat in (self.game.actor, self.game.pending.get("target")),
            self.game.proven,
            tuple(self._describe_option(option, legal[option.choices[0][0]]) for option in options),
            tuple(self._describe_option(option, move) for option, move in zip(menu, blocks, strict=True)),
        )

    def _later_blocks(self) -> list[Message]:
        """Return the blocks that may follow an open challenge request: each is legal if no player challenges."""
        game = self.game
        if game.kind != "challenge" or game.claim["block"]:
            return []
        if game.rules.get("attacks_blocked_by") != "anyone" and game.pending.get("target") != game.seat:
            return []
        row = find_action_rule(game.pending["action"], game.rules)
        return [{"block": role.value} for role in row.block_roles] if row else []

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

    def _describe_risk(self, move: Mapping[str, Any], bluff: bool) -> str | None:
        """Return the warning before a move that may cost two cards, or that challenges a player of the same side."""
        game = self.game
        aimed = game.pending.get("action") == "assassinate" and game.pending.get("target") == game.seat
        doubts = "challenge" in move and not game.claim.get("block")
        if aimed and len(game.cards) > 1 and (doubts or ("block" in move and bluff)):
            return _DOUBT_RISK if doubts else _RISK
        claimant = game.players[game.claim["seat"]] if "challenge" in move else game.me
        sides = {player.allegiance for player in game.players if player.alive}
        if claimant is not game.me and len(sides) > 1 and claimant.allegiance == game.me.allegiance:
            return f"{self.names[claimant.seat]} is on your side."
        return None

    # --- on request

    def hint(self) -> dict[str, Any]:
        """Return `roles`, `rows` of an opponent's name with the probability of each role, and `lines` on challenges."""
        game, names = self.game, self.names
        if not game.opponents:
            return {"roles": [], "rows": [], "lines": ["The other players have no cards yet."]}
        roles = sorted(game.rules["deck"])
        rows = [[names[player.seat], [game.odds(player.seat, role) for role in roles]] for player in game.opponents]
        lines = ["After a draft, where players choose cards, this is a guess."] if game.rules.get("draft") else []
        for player in game.opponents:
            past = player.history
            if past.challenged:
                caught = f"was caught {_times_text(past.caught)}" if past.caught else "proved it each time"
                lines.append(f"{names[player.seat]} was challenged {_times_text(past.challenged)}, and {caught}.")
        return {"roles": roles, "rows": rows, "lines": lines}

    def hint_lines(self, columns: int) -> Iterator[str]:
        """Yield the hint as lines of text."""
        hint = self.hint()
        roles, rows, lines = hint["roles"], hint["rows"], hint["lines"]
        wide = max((len(name) for name, _ in rows), default=0)
        letters = 10 if columns >= wide + 3 + 11 * len(roles) else 4  # of a role's name
        if rows:
            yield "Probability that each player holds a role, by the cards you see:"
            yield " ".join([" " * (wide + 1), *(role[:letters].rjust(letters) for role in roles)])
        for name, chances in rows:
            yield " ".join([f" {name.ljust(wide)}", *(f"{100 * chance:.0f}%".rjust(letters) for chance in chances)])
        yield from lines

    def start(self, games: int) -> str:
        """Return the announcement of a game: its number, the person's seat and the first player."""
        game = self.game
        state = game.state
        number = f"Game {game.number + 1} of {games}. " if games > 1 else ""
        first = self.names[state["actor"]]
        begins = "You begin" if first == YOU else f"{first} begins"
        return f"{number}You are {game.me.handle}, in seat {game.seat} of {len(game.players)}. {begins}."

    def end(self) -> str:
        """Return the result of the game as text."""
        game = self.game
        if game.winner is not None:
            name = self.names[game.winner]
            return "You win!" if name == YOU else f"{name} wins."
        return f"A draw: {' and '.join(self.names[seat] for seat in game.survivors) or 'no player'}."


def to_second_person(text: str) -> str:
    """Return a line of the history with the verbs after "you" in the second person: "you take" for "you takes"."""

    def turned(match: re.Match[str]) -> str:
        word = match[2]
        return f"{match[1]}{YOU} {_IRREGULAR.get(word, word.removesuffix('s'))}"

    text = re.sub(rf"(^|: | · ){YOU} ([a-z']+)", turned, text)
    return re.sub(rf"\b({YOU} show the [a-z]+ and) keeps\b", r"\1 keep", text.replace(f"{YOU}'s", "your"))


def _sentence(text: str) -> str:
    """Capitalise "you" or "your" at the beginning of a text."""
    return text[0].upper() + text[1:] if re.match(r"your?(?![^\s,:])", text) else text


def _role_text(role: str) -> str:
    return f"to have no {role.removeprefix('not_')}" if role.startswith("not_") else f"the {role}"


def _claims_text(claims: Mapping[str, int]) -> str:
    return ", ".join(role if number == 1 else f"{role} x{number}" for role, number in claims.items())


def _times_text(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
