"""Play one bot over its pipes against opponents that the engine plays, to cover every kind of request.

Lines are encoded by the referee's own code. The opponents' moves and the cards are drawn from a key, so two processes
with the same answers get the same requests. The table is steered towards kinds of request that haven't occurred: it
simulates random games, and follows the shortest one to such a request as long as the bot's moves allow. If a bot's
moves never lead there, the table replaces one of them, as after a timeout, with the line that reports it. Once a game
has covered enough, the opponents forfeit."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import protocol
from arena import coup, referee
from arena.checks.bot_connection import BotConnection, ConnectionBrokenError
from arena.checks.fault_context import parse_object
from arena.checks.request_features import list_features
from arena.checks.request_kinds import request_kinds

_MAX_SIMULATED_PHASES = 40
_SIMULATIONS = 20  # with fewer, it takes more requests to cover all kinds
_CALM = 0.95  # the share of harmless moves in a calm game
_ATTACKS = (coup.Action.COUP, coup.Action.ASSASSINATE)
PAUSE_AT = 20  # the number of a request
CHECK_KEY = bytes(range(32))  # every bot plays with the same cards against the same opponents
_LIVES = 3  # of a bot at the start of each game, in error lines
_OVERRIDES = _LIVES - 1  # per game: one more fault would leave no lives


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

    requests: Counter[str] = field(default_factory=Counter)
    forms: set[str] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    kinds: list[str] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    varied_kinds: set[str] = field(default_factory=set)  # at which another than the first legal move was chosen
    games: int = 0

    def add_answer(self, kind: str, features: Iterable[str], choice: int) -> None:
        """Count the answer to a request of this kind, with these features."""
        self.kinds.append(kind)
        self.features.update(features)
        self.choices.append(choice)
        if choice:
            self.varied_kinds.add(kind)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The time limits of answers in s: for each request, and a time bank for each game."""

    free_s: float
    bank_s: float


Change = Callable[[bytes], bytes]  # modifies a line before it is sent


class ScriptedTable:
    """The table of one process: exchanges hellos and plays games with it.

    Methods that send lines raise ConnectionBrokenError at the first fault. `change` is applied to each line of a game
    before it is sent; `altered` says what is unusual about these lines. `pause_s`: how long the bot is left alone
    before its request number `PAUSE_AT`. `notify`: see `BotConnection.request`. `on_phase` is called before each phase,
    then `is_over`; a game ends early once that returns true.
    """

    def __init__(self, connection: BotConnection, spec: referee.MatchSpec, timeouts: Timeouts) -> None:
        self.connection = connection
        self.spec = spec
        self.counts = ReplyCounts()
        self.statements: tuple[coup.StatementMade, ...] = ()  # with the bot's last answer, until they are sent
        self._invalid_statement: ConnectionBrokenError | None = None
        self.change: Change = lambda line: line
        self.altered = ""
        self.pause_s = 0.0
        self.notify: tuple[float, Callable[[], None]] | None = None
        self.on_phase: Callable[[], None] = lambda: None
        self.is_over: Callable[[], bool] = lambda: False
        self._rules = spec.settings.rules
        self._timeouts = timeouts
        self._number = 0
        self._bank_used_s = 0.0  # of the current game's time bank

    def greet(self, within_s: float) -> float:
        """Exchange hellos; return the response time in s. Raises ConnectionBrokenError after `within_s`, too."""
        return self.connection.hello(referee.hello(self.spec, 0), within_s)

    def play(
        self, wanted: frozenset[str] = frozenset(), *, override: bool = False, requests: int = 30, calm: bool = False
    ) -> None:
        """Play the next game; after `requests`, or once all `wanted` kinds have occurred, the opponents forfeit.

        `override`: replace up to two moves of the bot that don't lead to a wanted kind. `calm`: the opponents rarely
        attack, so that the game is long.
        """
        _Game(self, wanted, override, requests, calm).play()

    def ask(
        self, kind: str, requests: referee.wire.PhaseRequests, view: coup.View, feed: referee.wire.LineCursor
    ) -> tuple[referee.LegalMoves, int]:
        """Send the bot a request of this kind for a view; return its legal moves and the index of the bot's choice.

        The answer is counted, its time is taken from the bank, and its statements are stored. Before the request number
        PAUSE_AT, the bot is left alone for `pause_s`.
        """
        legal = referee.make_legal_moves(coup.list_legal_moves(view))
        self._number += 1
        timing = self.spec.settings.timing
        bank_ms = max(0, timing.bank_ms - round(self._bank_used_s * 1000))
        knowledge, events = feed.known(view), feed.take(view.seat)
        if self.pause_s and self._number == PAUSE_AT:
            self.connection.leave_alone(self.pause_s)
        line = self.change(requests.line(view, knowledge, self._number, events, legal, timing.limit_ms, bank_ms))
        self.counts.requests[kind] += 1
        answer_s = self._timeouts.free_s + max(0.0, self._timeouts.bank_s - self._bank_used_s)
        answer = self.connection.request(self._number, line, answer_s, self.notify)
        self._bank_used_s += max(0.0, self.connection.times[-1] - self._timeouts.free_s)
        index = self._find_choice(answer, legal, line)
        self.counts.add_answer(kind, list_features(parse_object(line)), index)
        if coup.to_json_value(self._rules.talk) != "off":
            self._store_statements(answer, view, line)
        return legal, index

    def _find_choice(self, answer: protocol.ParsedReply, legal: referee.LegalMoves, line: bytes) -> int:
        """Return the index of the chosen move. Raises ConnectionBrokenError if it's illegal. line: of the request."""
        index = answer.choice if answer.move is None else legal.find(answer.move)
        if index is not None and 0 <= index < len(legal.moves):
            return index
        range_text = f"choice {answer.choice} isn't between 0 and {len(legal.moves) - 1}"
        detail = range_text if answer.move is None else None
        raise ConnectionBrokenError("illegal_move", detail, line.rstrip(b"\n"), self.connection.last_answer)

    def _store_statements(self, answer: protocol.ParsedReply, view: coup.View, line: bytes) -> None:
        """Store the statements of an answer, to be sent to all; of invalid ones only the first error."""
        try:
            self.statements = referee.read_say(answer.say, view.board, view.seat)
        except referee.SayError as problem:
            self._invalid_statement = self._invalid_statement or ConnectionBrokenError(
                "bad_say", str(problem), line.rstrip(b"\n"), self.connection.last_answer
            )

    def require_valid_statements(self) -> None:
        """Raise ConnectionBrokenError for the first invalid statement, which a match would only drop."""
        if self._invalid_statement is not None:
            raise self._invalid_statement

    def start_game(self) -> int:
        """Start a game with a full time bank; return its number."""
        self._bank_used_s = 0.0
        self.counts.games += 1
        return self.counts.games - 1

    def send_warning(self) -> None:
        """Send an error line without consequences."""
        rule = referee.FAULTS["stray_line"]
        message = "the check sends an error line, to test whether the bot continues"
        self.connection.send(protocol.encode(_error_message(None, rule.code, message, None, _LIVES)))

    def send_replaced_move(self, move: coup.Move, lives: int) -> None:
        """Send the error line which reports that another move replaces its own."""
        message = "the check plays another move instead, as after a timeout"
        error = _error_message(self._number, "timeout", message, referee.move_payload(move), lives)
        self.connection.send(protocol.encode(error))


def _error_message(
    number: int | None, code: str, message: str, used: dict[str, Any] | None, lives: int
) -> dict[str, Any]:
    return {"type": "error", "id": number, "code": code, "message": message, "got": None, "used": used, "lives": lives}


class _Game:
    """One game of a table; see `ScriptedTable.play` for the parameters."""

    def __init__(
        self, table: ScriptedTable, wanted_kinds: frozenset[str], override: bool, requests: int, calm: bool
    ) -> None:
        self.table = table
        self.number = table.start_game()
        self.seats = table.spec.seats
        self.seat = table.spec.seatings[self.number % len(table.spec.seatings)].index(0)
        self.wanted = wanted_kinds & (request_kinds(table.spec.settings.rules) | RARE_FORMS)
        self.is_steered = bool(self.wanted)  # towards a wanted kind
        self.overrides_left = _OVERRIDES if override else 0
        self.requests_left = requests
        self.calm = calm
        self.is_over = False
        self.random = random.Random(f"{table.spec.key.hex()} {self.number}")
        self.chance = coup.KeyedRng(table.spec.key, self.number)
        self.feed = referee.wire.LineCursor(self.seats)
        self.plan: list[tuple[coup.MoveOrForfeit, ...]] = []  # answers of the next phases

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
            self.feed.add((*table.statements, *events))
            table.statements = ()
        table.connection.send(
            table.change(referee.wire.encode_game_over(self.number, state.board, self.feed.take(seat)))
        )

    def collect_answers(self, state: coup.State) -> list[coup.MoveOrForfeit]:
        """Return the answers of all asked seats. The bot is asked; the others forfeit once the game is ending."""
        phase = state.board.phase
        self.table.on_phase()
        self.is_over = self.table.is_over()
        if self.seat in phase.asked:
            self.count_request(_request_forms(state, self.seat))
        planned = self.next_planned_answers(state) or [None] * len(phase.asked)
        answers: list[coup.MoveOrForfeit] = []
        for seat, planned_answer in zip(phase.asked, planned, strict=True):
            if seat == self.seat:
                answers.append(self.ask_bot(state, referee.messages.KINDS[type(phase)], planned_answer))
            elif self.is_ending():
                answers.append(coup.FORFEIT)
            elif planned_answer is not None:
                answers.append(planned_answer)
            else:
                answers.append(self.choose_move(state, seat))
        return answers

    def count_request(self, forms: frozenset[str]) -> None:
        """Count a request of these forms to the bot, which are no longer wanted."""
        self.table.counts.forms |= forms
        self.wanted -= forms
        self.requests_left -= 1

    def choose_move(self, state: coup.State, seat: int) -> coup.Move:
        """Return a random move of an opponent."""
        legal = coup.list_legal_moves(coup.view_from_seat(state, seat))
        if self.calm and self.random.random() < _CALM:
            harmless = [move for move in legal if isinstance(move, coup.ActionMove) and move.action not in _ATTACKS]
            return self.random.choice(harmless) if harmless else legal[0]
        return self.random.choice(legal)

    def is_ending(self) -> bool:
        return self.requests_left <= 0 or self.is_over or (self.is_steered and not self.wanted)

    def ask_bot(self, state: coup.State, kind: str, planned: coup.MoveOrForfeit | None) -> coup.MoveOrForfeit:
        """Ask the bot; return its move, or the planned one in its place, while any overrides are left.

        The bot is sent an error line about each replaced move. The plan is dropped if the bot departs from it.
        """
        requests = referee.wire.PhaseRequests(state.board, self.number)
        view = coup.view_from_seat(state, self.seat)
        legal, index = self.table.ask(kind, requests, view, self.feed)
        move = legal.moves[index]
        if planned is None or planned == move:
            return move
        if self.overrides_left and planned in legal.moves:
            self.overrides_left -= 1
            faults = _OVERRIDES - self.overrides_left
            self.table.send_replaced_move(planned, _LIVES - faults)
            return planned
        self.plan = []
        return move

    def next_planned_answers(self, state: coup.State) -> tuple[coup.MoveOrForfeit, ...] | None:
        """Return the next answers on the way to a wanted kind of request; None without a way.

        This plans the way if there is no plan, and gives up all wanted kinds if there is no way.
        """
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
        shortest: list[tuple[coup.MoveOrForfeit, ...]] = []
        max_phases = _MAX_SIMULATED_PHASES
        for _ in range(_SIMULATIONS):
            if way := self._simulate_way(state, max_phases):
                shortest, max_phases = way, len(way)
            if max_phases <= 2:
                break
        return shortest

    def _simulate_way(self, state: coup.State, max_phases: int) -> list[tuple[coup.MoveOrForfeit, ...]]:
        """Return random answers of each phase that lead to a wanted kind in fewer than `max_phases`; [] if none do."""
        way: list[tuple[coup.MoveOrForfeit, ...]] = []
        while len(way) < max_phases and (phase := state.board.phase).asked:
            if way and self.seat in phase.asked and _request_forms(state, self.seat) & self.wanted:
                return way
            views = (coup.view_from_seat(state, seat) for seat in phase.asked)
            way.append(tuple(self.random.choice(coup.list_legal_moves(view)) for view in views))
            state, _ = coup.apply_moves(state, way[-1], self.chance)
        return []


def make_spec(rules: coup.Ruleset, settings: referee.MatchSettings, seats: int | None) -> referee.MatchSpec:
    """Return the spec of a match in which the checked bot is number 0 and sits in each seat in turn."""
    seats = seats or next(count for count in (3, 2, *range(4, 11)) if rules.problem(count) is None)
    names = ("bot", *(f"examiner-{number}" for number in range(1, seats)))
    seatings = tuple(tuple((place - game) % seats for place in range(seats)) for game in range(seats))
    return referee.MatchSpec(0, CHECK_KEY, names, seatings, replace(settings, rules=rules))
