"""Play one bot over its pipes against opponents that the engine plays, to cover every kind of request.

Lines are encoded by the referee's own code. The opponents' moves and the cards are drawn from a key, so two processes
with the same answers get the same requests. The table is steered towards kinds of request that haven't occurred: it
simulates random games, and follows the shortest one to such a request as long as the bot's moves allow. If a bot's
moves never lead there, the table replaces one of them, as after a timeout, with the line that reports it. Once a game
has covered enough, the opponents forfeit."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from arena import coup, referee
from arena.checks.bot_connection import BotConnection, ConnectionBrokenError
from arena.checks.fault_context import parse_object
from arena.checks.request_features import list_features
from arena.checks.request_kinds import request_kinds
from protocol import encode

_MAX_SIMULATED_PHASES = 40
_CALM = 0.95  # the share of harmless moves in a calm game
_ATTACKS = (coup.Action.COUP, coup.Action.ASSASSINATE)
PAUSE_AT = 20  # the number of a request
CHECK_KEY = bytes(range(32))  # every bot plays with the same cards against the same opponents
_OVERRIDES = 2  # per game: at the third fault the bot would have no lives left


RARE_FORMS = frozenset({"exchange with one influence", "lose one of two equal cards"})
"""Forms of requests that all rules have, and that the author of a bot may overlook."""


def _request_forms(state: coup.State, seat: int) -> frozenset[str]:
    """Return the kind of the request that the seat is sent, and its rare form."""
    kind, hand = referee.messages.KINDS[type(state.board.phase)], state.hands[seat]
    rare = {"exchange": len(hand) == 1, "lose": len(set(hand)) == 1}.get(kind)
    return frozenset({kind, *(form for form in RARE_FORMS if rare and form.startswith(kind))})


@dataclass(slots=True)
class ReplyCounts:
    """Numbers of requests by kind, and the answers: `kinds` of their requests, and `choices`, indices of moves.

    `forms`: the kinds and rare forms of the requests. `features`: of the answered requests, see `list_features`.
    """

    asked: dict[str, int] = field(default_factory=dict)
    forms: set[str] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    kinds: list[str] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    others: set[str] = field(default_factory=set)  # kinds at which another than the first legal move was chosen
    games: int = 0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The time limits of answers in s: for each request, and a time bank for each game."""

    free_s: float
    bank_s: float


Change = Callable[[bytes], bytes]  # modifies a line before it is sent


class ScriptedTable:
    """The table of one process: exchanges hellos and plays games with it.

    All methods raise ConnectionBrokenError at the first fault. `change` is applied to each line of a game before it is
    sent; `altered` says what is unusual about these lines. `pause_s`: how long the bot is left alone before its request
    number `PAUSE_AT`. A game ends early once `is_over` returns true, which is called before each phase.
    """

    def __init__(self, connection: BotConnection, spec: referee.MatchSpec, timeouts: Timeouts) -> None:
        self.connection = connection
        self.spec = spec
        self.counts = ReplyCounts()
        self.said: tuple[coup.StatementMade, ...] = ()  # statements with the bot's last answer, until they are sent
        self._invalid_statement: ConnectionBrokenError | None = None
        self.change: Change = lambda line: line
        self.altered = ""
        self.pause_s = 0.0
        self.notify: tuple[float, Callable[[], None]] | None = None
        self.is_over: Callable[[], bool] = lambda: False
        self._rules = spec.settings.rules
        self._timeouts = timeouts
        self._number = 0
        self._used = 0.0  # of the current game's time bank, in s

    def greet(self, within_s: float) -> float:
        """Exchange hellos; return the response time in s."""
        return self.connection.hello(referee.hello(self.spec, 0), within_s)

    def play(
        self, wanted: frozenset[str] = frozenset(), *, override: bool = False, enough: int = 30, calm: bool = False
    ) -> None:
        """Play the next game, until `enough` requests, or until all `wanted` kinds have occurred.

        `calm`: the opponents rarely attack, so that the game is long.
        """
        _Game(self, wanted, override, enough, calm).play()

    def ask(
        self, kind: str, requests: referee.wire.PhaseRequests, view: coup.View, feed: referee.wire.LineCursor
    ) -> tuple[referee.LegalMoves, int]:
        """Send the bot a request of this kind for a view; return its legal moves and the index of the bot's choice."""
        legal = referee.make_legal_moves(coup.list_legal_moves(view))
        self._number += 1
        timing = self.spec.settings.timing
        bank_ms = max(0, timing.bank_ms - round(self._used * 1000))
        certain, events = feed.known(view), feed.take(view.seat)
        if self.pause_s and self._number == PAUSE_AT:
            self.connection.leave_alone(self.pause_s)
        line = self.change(requests.line(view, certain, self._number, events, legal, timing.limit_ms, bank_ms))
        self.counts.asked[kind] = self.counts.asked.get(kind, 0) + 1
        allowed_s = self._timeouts.free_s + max(0.0, self._timeouts.bank_s - self._used)
        answer = self.connection.request(self._number, line, allowed_s, self.notify)
        self._used += max(0.0, self.connection.times[-1] - self._timeouts.free_s)
        index = answer.choice if answer.move is None else legal.find(answer.move)
        if index is None or not 0 <= index < len(legal.moves):
            most = len(legal.moves) - 1
            detail = None if answer.move is not None else f"choice {answer.choice} isn't between 0 and {most}"
            raise ConnectionBrokenError("illegal_move", detail, line.rstrip(b"\n"), self.connection.last)
        self.counts.features.update(list_features(parse_object(line)))
        self.counts.kinds.append(kind)
        self.counts.choices.append(index)
        self.counts.others |= {kind} if index else set()
        if coup.to_json_value(self._rules.talk) != "off":
            try:
                self.said = referee.read_say(answer.say, view.board, view.seat)
            except referee.SayError as problem:
                self._invalid_statement = self._invalid_statement or ConnectionBrokenError(
                    "bad_say", str(problem), line.rstrip(b"\n"), self.connection.last
                )
        return legal, index

    def require_valid_statements(self) -> None:
        """Raise ConnectionBrokenError for the first invalid statement, which a match would only drop."""
        if self._invalid_statement is not None:
            raise self._invalid_statement

    def start_game(self) -> int:
        """Start a game with a full time bank; return its number."""
        self._used = 0.0
        self.counts.games += 1
        return self.counts.games - 1

    def send_warning(self) -> None:
        """Send an error line without consequences."""
        rule = referee.FAULTS["stray_line"]
        message = "the check sends an error line, to test whether the bot continues"
        self.connection.send(encode(_error_message(None, rule.code, message, None, 3)))

    def send_replaced_move(self, move: coup.Move, lives: int) -> None:
        """Send the error line which reports that another move replaces its own."""
        message = "the check plays another move instead, as after a timeout"
        self.connection.send(
            encode(_error_message(self._number, "timeout", message, referee.move_payload(move), lives))
        )


def _error_message(
    number: int | None, code: str, message: str, used: dict[str, Any] | None, lives: int
) -> dict[str, Any]:
    return {"type": "error", "id": number, "code": code, "message": message, "got": None, "used": used, "lives": lives}


class _Game:
    def __init__(
        self, table: ScriptedTable, wanted_kinds: frozenset[str], override: bool, enough: int, calm: bool
    ) -> None:
        self.table = table
        self.number = table.start_game()
        self.seats = table.spec.seats
        self.seat = table.spec.seatings[self.number % len(table.spec.seatings)].index(0)
        self.wanted = wanted_kinds & (request_kinds(table.spec.settings.rules) | RARE_FORMS)
        self.is_steered = bool(self.wanted)
        self.overrides = _OVERRIDES if override else 0
        self.enough = enough
        self.calm = calm
        self.over = False
        self.random = random.Random(f"{table.spec.key.hex()} {self.number}")
        self.chance = coup.KeyedRng(table.spec.key, self.number)
        self.feed = referee.wire.LineCursor(self.seats)
        self.plan: list[tuple[coup.MoveOrForfeit, ...]] = []

    def play(self) -> None:
        """Play the game to its end, also after all wanted requests, and send the bot all of its lines."""
        table, seat = self.table, self.seat
        state = coup.deal_game(table.spec.settings.rules, self.seats, self.chance, 0)
        seating = table.spec.seatings[self.number % len(table.spec.seatings)]
        handles = [table.spec.handles[bot] for bot in seating]
        seed = table.spec.game_seed(0, self.number)
        start = referee.wire.encode_game_start(coup.view_from_seat(state, seat), self.number, seed, handles)
        table.connection.send(table.change(start))
        while state.board.phase.asked:
            state, events = coup.apply_moves(state, self.collect_answers(state), self.chance)
            self.feed.add((*table.said, *events))
            table.said = ()
        table.connection.send(
            table.change(referee.wire.encode_game_over(self.number, state.board, self.feed.take(seat)))
        )

    def collect_answers(self, state: coup.State) -> list[coup.MoveOrForfeit]:
        """Return the answers of all seats that are asked in the current phase."""
        board = state.board
        self.over = self.table.is_over()
        mine = self.seat in board.phase.asked
        kind = referee.messages.KINDS[type(board.phase)]
        if mine:
            forms = _request_forms(state, self.seat)
            self.table.counts.forms |= forms
            self.wanted -= forms
            self.enough -= 1
        planned = self.next_planned_answers(state)
        answers: list[coup.MoveOrForfeit] = []
        for place, number in enumerate(board.phase.asked):
            if number == self.seat:
                answers.append(self.ask_bot(state, kind, planned[place] if planned else None))
            elif self.is_ending():
                answers.append(coup.FORFEIT)
            elif planned:
                answers.append(planned[place])
            else:
                answers.append(self.choose_move(state, number))
        return answers

    def choose_move(self, state: coup.State, seat: int) -> coup.Move:
        """Return a random move of an opponent."""
        legal = coup.list_legal_moves(coup.view_from_seat(state, seat))
        if self.calm and self.random.random() < _CALM:
            harmless = [move for move in legal if isinstance(move, coup.ActionMove) and move.action not in _ATTACKS]
            return self.random.choice(harmless) if harmless else legal[0]
        return self.random.choice(legal)

    def is_ending(self) -> bool:
        return self.enough <= 0 or self.over or (self.is_steered and not self.wanted)

    def ask_bot(self, state: coup.State, kind: str, planned: coup.MoveOrForfeit | None) -> coup.MoveOrForfeit:
        """Ask the bot; return its move, or the planned move if that is needed and may replace it."""
        requests = referee.wire.PhaseRequests(state.board, self.number)
        view = coup.view_from_seat(state, self.seat)
        legal, index = self.table.ask(kind, requests, view, self.feed)
        move = legal.moves[index]
        if planned is None or planned == move:
            return move
        if self.overrides and planned in legal.moves:
            self.overrides -= 1
            self.table.send_replaced_move(planned, 3 - (_OVERRIDES - self.overrides))
            return planned
        self.plan = []
        return move

    def next_planned_answers(self, state: coup.State) -> tuple[coup.MoveOrForfeit, ...] | None:
        """Return the next answers on the way to a wanted kind of request; None without a way."""
        if not self.wanted or self.is_ending():
            return None
        is_draft = referee.messages.KINDS[type(state.board.phase)] == "draft"  # before the seats have their cards
        if not state.board.influence[self.seat] and not is_draft:  # it can't be asked any more
            self.wanted = frozenset()
            return None
        if not self.plan:
            self.plan = self.find_way(state)
            if not self.plan:
                self.wanted = frozenset()
        return self.plan.pop(0) if self.plan else None

    def find_way(self, state: coup.State) -> list[tuple[coup.MoveOrForfeit, ...]]:
        """Return the answers of each phase on the shortest random way to a wanted kind; [] if none was found."""
        best: list[tuple[coup.MoveOrForfeit, ...]] = []
        least = _MAX_SIMULATED_PHASES
        for _ in range(20):  # with fewer, it takes more requests to cover all kinds
            way: list[tuple[coup.MoveOrForfeit, ...]] = []
            ahead = state
            while len(way) < least and (phase := ahead.board.phase).asked:
                if way and self.seat in phase.asked and _request_forms(ahead, self.seat) & self.wanted:
                    best, least = way, len(way)
                    break
                answers = tuple(
                    self.random.choice(coup.list_legal_moves(coup.view_from_seat(ahead, number)))
                    for number in phase.asked
                )
                way.append(answers)
                ahead, _ = coup.apply_moves(ahead, answers, self.chance)
            if least <= 2:
                break
        return best


def make_spec(rules: coup.Ruleset, settings: referee.MatchSettings, seats: int | None) -> referee.MatchSpec:
    """Return the spec of a match in which the checked bot is number 0 and sits in each seat in turn."""
    seats = seats or next(count for count in (3, 2, *range(4, 11)) if rules.problem(count) is None)
    names = ("bot", *(f"examiner-{number}" for number in range(1, seats)))
    seatings = tuple(tuple((place - game) % seats for place in range(seats)) for game in range(seats))
    return referee.MatchSpec(0, CHECK_KEY, names, seatings, replace(settings, rules=rules))
