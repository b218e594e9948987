"""The one place that maps the engine to the protocol: views and events to lines, replies to moves.

Every line is a function of a View and of events that went through `view.seen`, so what a seat may not know can't reach
it. Requests are encoded by hand, from fragments that are the same for all seats of a window: with the standard encoder
they were two thirds of the referee's time. A test holds every line against the models of `protocol`.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from arena.coup import (
    FIELDS,
    Act,
    Acted,
    Action,
    Allegiance,
    Block,
    Blocked,
    BlockWindow,
    Board,
    Challenge,
    Challenged,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    Coins,
    Converted,
    Decline,
    Drafted,
    Drafting,
    Event,
    Examination,
    Examined,
    Examining,
    Exchanged,
    Exchanging,
    Exiled,
    Forfeited,
    HandShown,
    Keep,
    Lose,
    Losing,
    Lost,
    Move,
    Over,
    Pass,
    Pick,
    Proving,
    Resolved,
    Retain,
    Retaining,
    Reveal,
    Revealing,
    Role,
    Ruleset,
    Show,
    ShowHand,
    Shown,
    Side,
    Sided,
    Turn,
    Unproven,
    View,
    notation,
    plain,
    private_to,
    seen,
)
from protocol import encode

# The order of the first fields on the wire; those of the table of fields that aren't here follow in its own.
_RULES_FIRST = (
    *("name", "seats", "deck", "start_coins", "two_player_starter_coins"),
    *("coup_cost", "assassinate_cost", "forced_coup", "turn_limit"),
)
_NOT_TOLD = ("min_seats", "max_seats")  # a bot needs the seats of its own table


def ruleset_payload(rules: Ruleset, seats: int) -> dict[str, Any]:
    """Return the ruleset as it stands in the hello line: its fields, and what follows from them for so many seats."""
    copies = 3 if rules.draft else rules.copies(seats)  # the draft deals three sets of five
    told: dict[str, Any] = {
        rule.name: plain(rule.effective(rules, seats)) for rule in FIELDS if rule.name not in _NOT_TOLD
    }
    told |= {
        "seats": seats,
        "deck": {role.value: copies for role in sorted(rules.roles)},
        "coup_cost": rules.rule(Action.COUP, targeted=True).cost,
        "assassinate_cost": rules.rule(Action.ASSASSINATE, targeted=True).cost,
    }
    return {name: told[name] for name in dict.fromkeys((*_RULES_FIRST, *told))}


def game_start(view: View, game: int, players: Sequence[str]) -> bytes:
    """Return the line that opens a game for one seat."""
    head = f'{{"type":"game_start","game":{game},"seat":{view.seat},"players":{_text(list(players))}'
    return f'{head},"you":{_you(view)},"state":{_state(view.board)}}}\n'.encode()


def game_over(game: int, over: Over, events: Sequence[str]) -> bytes:
    """Return the line that ends a game, with the encoded events that the seat hasn't had yet."""
    winner = "null" if over.winner is None else over.winner
    return (
        f'{{"type":"game_over","game":{game},"winner":{winner},"reason":"{over.ending!s}",'
        f'"survivors":{_text(list(over.survivors))},"events":[{",".join(events)}]}}\n'
    ).encode()


MATCH_OVER = encode({"type": "match_over"})


class Question:
    """The requests of one phase: what all asked seats are sent alike is encoded once."""

    __slots__ = ("_after", "_before", "_head")

    def __init__(self, board: Board, game: int) -> None:
        own = _own_fields(board)
        self._head = f',"kind":"{KINDS[type(board.phase)]}","game":{game},"events":['
        self._before = f'],"state":{_state(board)},"you":'
        self._after = f'{own},"legal":'

    def line(
        self,
        view: View,
        number: int,
        events: Sequence[str],
        menu: "Menu",
        limit_ms: int,
        bank_ms: int,
    ) -> bytes:
        """Return the request line of one seat; `number` is the request's id, times are in milliseconds."""
        return (
            f'{{"type":"request","id":{number}{self._head}{",".join(events)}{self._before}{_you(view)}{self._after}'
            f'{menu.json},"clock":{{"limit_ms":{limit_ms},"bank_ms":{bank_ms}}}}}\n'
        ).encode()


# What is asked in each phase, as requests name it.
KINDS: dict[type[Any], str] = {
    Turn: "turn",
    ChallengeWindow: "challenge",
    BlockWindow: "block",
    Proving: "prove",
    Losing: "lose",
    Exchanging: "exchange",
    Retaining: "keep_shown",
    Revealing: "examine_show",
    Examining: "examine_decide",
    Drafting: "draft",
    ChoosingSide: "allegiance",
}


def _own_fields(board: Board) -> str:
    """Return the fields that only the present kind of request has."""
    phase = board.phase
    match phase:  # by class alone: a pattern with positions takes four times as long as reading the fields
        case Turn() | Drafting() | ChoosingSide():
            return ""
        case ChallengeWindow():
            return f'{_pending(board.actor, phase.pending)},"claim":{_claim(phase.claim)}'
        case BlockWindow():
            return f'{_pending(board.actor, phase.pending)},"proven":{"true" if phase.proven else "false"}'
        case Proving() | Retaining():
            pending = _pending(board.actor, phase.pending)
            return f'{pending},"claim":{_claim(phase.claim)},"challenger":{phase.challenger}'
        case Losing():
            return f'{_pending(board.actor, phase.pending)},"reason":"{phase.reason!s}"'
        case Exchanging() | Revealing() | Examining():
            return _pending(board.actor, phase.pending)
        case Over():
            raise ValueError("nothing is asked when the game is over")


def _pending(actor: int, pending: Act) -> str:
    target = "" if pending.target is None else f',"target":{pending.target}'
    return f',"pending":{{"actor":{actor},"action":"{pending.action!s}"{target}}}'


def _claim(claim: Claim) -> str:
    block = "true" if claim.block else "false"
    return f'{{"seat":{claim.seat},"role":"{_claimed(claim.role, claim.denies)!s}","block":{block}}}'


def _claimed(role: Role, denies: bool) -> str:
    """Return a claim's word. That one has no Duke is a word of its own: a bot that skips `denies` would misread it."""
    return f"not_{role!s}" if denies else role


def _state(board: Board) -> str:
    reserve = f',"reserve":{board.reserve}' if board.rules.reformation else ""
    players = _players(board.coins, board.influence, board.revealed, board.sides)
    return f'{{"turn":{board.turn},"actor":{board.actor},"deck":{board.deck}{reserve},"players":[{players}]}}'


@lru_cache(maxsize=1000)  # half of all steps move neither coins nor cards
def _players(
    coins: tuple[int, ...],
    influence: tuple[int, ...],
    revealed: tuple[tuple[Role, ...], ...],
    sides: tuple[Allegiance, ...],
) -> str:
    allegiances = [f',"allegiance":"{side!s}"' for side in sides] or [""] * len(coins)
    return ",".join(
        [
            f'{{"coins":{coins[seat]},"influence":{influence[seat]},"revealed":{_roles(revealed[seat])}{allegiance}}}'
            for seat, allegiance in enumerate(allegiances)
        ]
    )


def _you(view: View) -> str:
    more = f',"drawn":{_roles(view.drawn)}' if view.drawn else ""
    if view.discards:
        more += f',"discards":{_roles(view.discards)}'
    if view.seen is not None:
        more += f',"seen":"{view.seen!s}"'
    return f'{{"seat":{view.seat},"cards":{_roles(view.cards)}{more}}}'


@lru_cache(maxsize=10_000)
def _roles(roles: tuple[Role, ...]) -> str:
    return _text([role.value for role in roles])


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# ---------------------------------------------------------------- events


def event(number: int, happened: Event, seat: int | None) -> str:
    """Return the event, the game's `number`th from 0, as the seat sees it (None: a spectator), without a newline."""
    return _encoded(number, seen(happened, seat))


def whole_event(number: int, happened: Event) -> str:
    """Return the event with all its private parts, which is for nobody at the table."""
    return _encoded(number, happened)


def _encoded(number: int, happened: Event) -> str:
    return f'{{"n":{number},{_unnumbered(happened)}}}'


@lru_cache(maxsize=10_000)
def _unnumbered(happened: Event) -> str:
    name, rest = _event(happened)
    return f'"event":"{name}","seat":{happened.seat}{rest}'


def _event(happened: Event) -> tuple[str, str]:
    match happened:
        case Coins(_, delta, reason):
            return "coins", f',"delta":{delta},"reason":"{reason!s}"'
        case Acted(_, action, target, claim, denies):
            aimed = "" if target is None else f',"target":{target}'
            claimed = "" if claim is None else f',"claim":"{_claimed(claim, denies)!s}"'
            return "action", f',"action":"{action!s}"{aimed}{claimed}'
        case Challenged(_, claimant, role, denies):
            return "challenge", f',"claimant":{claimant},"role":"{_claimed(role, denies)!s}"'
        case Shown(_, role, cards, replaced):
            kept = "" if replaced else ',"replaced":false'
            return "shown", f',"role":"{role!s}"{kept}{_private(cards)}'
        case Unproven(_, role, denies):
            return "unproven", f',"role":"{_claimed(role, denies)!s}"'
        case Lost(_, role, why):
            return "lost", f',"role":"{role!s}","reason":"{why!s}"'
        case Exiled():
            return "exiled", ""
        case Blocked(_, role):
            return "block", f',"role":"{role!s}"'
        case Exchanged(_, count, cards):
            return "exchanged", f',"count":{count}{_private(cards)}'
        case Forfeited(_, roles):
            return "forfeit", f',"roles":{_roles(roles)}'
        case HandShown(_, roles, cards):
            return "shown_hand", f',"roles":{_roles(roles)}{_private(cards)}'
        case Drafted(_, cards):
            return "drafted", _private(cards)
        case Sided(_, sides):
            return "allegiances", f',"sides":{_text([side.value for side in sides])}'
        case Converted(_, target, allegiance):
            return "converted", f',"target":{target},"allegiance":"{allegiance!s}"'
        case Examination(_, target, replaced, examined, cards):
            card = "" if examined is None else f',"role":"{examined!s}"'
            swapped = "true" if replaced else "false"
            return "examined", f',"target":{target},"replaced":{swapped}{card}{_private(cards)}'
        case Resolved(_, action, target, how):
            aimed = "" if target is None else f',"target":{target}'
            return "resolved", f',"action":"{action!s}"{aimed},"how":"{how!s}"'


def _private(cards: tuple[Role, ...] | None) -> str:
    return "" if cards is None else f',"cards":{_roles(cards)}'


# ---------------------------------------------------------------- moves


class Menu:
    """One seat's legal moves, as the wire and the record write them. Menus are shared: see `menu`."""

    __slots__ = ("_by_payload", "json", "moves", "words")

    def __init__(self, moves: tuple[Move, ...]) -> None:
        self.moves = moves
        self.words = tuple(_word(move) for move in moves)
        self.json = f"[{','.join(_move_json(move) for move in moves)}]"
        self._by_payload: dict[_Frozen, int] = {}  # made when a reply first spells a move out

    def find(self, move: dict[str, Any]) -> int | None:
        """Return the index of the legal move that a reply's `move` is, None if it is none of them."""
        if not self._by_payload:
            self._by_payload = {_move_key(move): index for index, move in enumerate(self.moves)}
        try:
            return self._by_payload.get(_frozen(move))
        except TypeError:  # something that can't be hashed or sorted, so no legal move
            return None


_Frozen = tuple[tuple[str, type, Any], ...]
_MENUS: dict[int, Menu] = {}
_MOST_MENUS = 5_000  # under 30 MB with ten seats; a process forks faster the smaller it is


def menu(moves: tuple[Move, ...]) -> Menu:
    """Return the menu of a tuple of legal moves; the engine hands out the same tuples again and again."""
    known = _MENUS.get(id(moves))  # hashing a list of moves costs more than encoding it, hence by identity
    if known is None or known.moves is not moves:
        if len(_MENUS) >= _MOST_MENUS:
            _MENUS.clear()
        known = _MENUS[id(moves)] = Menu(moves)  # holds the tuple, so that its identity stays taken
    return known


def move_payload(move: Move) -> dict[str, Any]:
    """Return a move as it stands in `legal` and in a reply's `move`."""
    match move:
        case Act(action, None):
            return {"action": action.value}
        case Act(action, target):
            return {"action": action.value, "target": target}
        case Pass():
            return {"pass": True}
        case Challenge():
            return {"challenge": True}
        case Block(role):
            return {"block": role.value}
        case Show(role):
            return {"show": role.value}
        case Decline():
            return {"decline": True}
        case Lose(role):
            return {"lose": role.value}
        case Keep(roles):
            return {"keep": [role.value for role in roles]}
        case ShowHand():
            return {"show": "all"}
        case Retain(shown):
            return {"keep_shown": shown}
        case Pick(role):
            return {"pick": role.value}
        case Side(allegiance):
            return {"side": allegiance.value}
        case Reveal(role):
            return {"reveal": role.value}
        case Examined(swap):
            return {"examined": "force_swap" if swap else "hand_back"}


@lru_cache(maxsize=2000)
def _word(move: Move) -> str:
    return notation(move)


@lru_cache(maxsize=2000)
def _move_json(move: Move) -> str:
    return _text(move_payload(move))


@lru_cache(maxsize=2000)
def _move_key(move: Move) -> "_Frozen":
    return _frozen(move_payload(move))


def _frozen(payload: dict[str, Any]) -> "_Frozen":
    """Return a key that is equal for equal payloads: types count (true is not 1), the order of a list doesn't."""
    return tuple(
        (key, type(value), tuple(sorted(value)) if isinstance(value, list) else value)
        for key, value in sorted(payload.items())
    )


class Feed:
    """The events of one game, encoded once each, and what each seat hasn't been sent yet."""

    __slots__ = ("_full", "_unsent", "count")

    def __init__(self, seats: int) -> None:
        self.count = 0
        self._full: list[str] = []
        self._unsent: list[list[str]] = [[] for _ in range(seats)]

    def add(self, events: Sequence[Event]) -> None:
        """Take in what happened."""
        for happened in events:
            public = event(self.count, happened, None)
            for unsent in self._unsent:
                unsent.append(public)
            owners = private_to(happened)
            for seat in owners:
                self._unsent[seat][-1] = event(self.count, happened, seat)
            self._full.append(whole_event(self.count, happened) if owners else public)
            self.count += 1

    def take(self, seat: int) -> list[str]:
        """Return what the seat hasn't had, and count it as sent."""
        unsent = self._unsent[seat]
        self._unsent[seat] = []
        return unsent

    def digest(self) -> str:
        """Return the SHA-256 of all events with their private parts, one a line."""
        return hashlib.sha256("\n".join(self._full).encode()).hexdigest()
