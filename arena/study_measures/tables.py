"""Read the rows of a study's tables from its records and the journal: decisions, claims, challenges, statements, calls.

The truth is in the records: a claim or a statement is false if the hand at that moment says so. A row of any table
joins with the record by `match` and `move`, the index of the move in the game, and with other tables by these two. A
call joins with its decision by `match`, `player` and `request`, and decisions contain the number of the call that
they were played by."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from arena import coup
from arena.referee import GameRecord, Record, messages, move_payload
from arena.replay import ReplayStep, SeatAnswer, list_steps
from arena.study import StudyConfig
from protocol.event_text import describe_move

Line = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Row:
    """A row of a table about a game; match and move join it with the record and with other tables.

    deal: in all conditions it has the same cards. match: the number of the record, which is of one game. move: the
    index of the move in the game. player: the name in the study's file.
    """

    deal: int
    condition: str
    match: int
    move: int
    turn: int
    seat: int
    player: str


@dataclass(slots=True, kw_only=True)
class Decision(Row):
    """A decision.

    request: its number for this player in the match, from 1. legal: the number of legal moves. notation: the move
    as in the record. chosen: the move in words. hand: the player's cards.
    could_bluff: the roles that a legal move claims and the player lacks (not_: has). call: the number of the call whose
    answer was played, or replaced; null without one. outcome: played, asked again (and then played), default move; null
    without a call. reason: of the default move.
    """

    request: int
    kind: str
    legal: int
    notation: str
    chosen: str
    hand: list[str]
    could_bluff: list[str]
    bluff: bool
    call: int | None = None
    outcome: str | None = None
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Reaction:
    """What another player did about a claim. chance_true: of the claim, by the cards that this player saw or knew."""

    seat: int
    player: str
    chance_true: float | None
    challenged: bool


@dataclass(slots=True, kw_only=True)
class Claim(Row):
    """A claim of a role, for an action or to block one.

    role: not_duke denies the role. true: whether the hand agreed. counted: false for a block that came too late.
    stood: whether it wasn't challenged with success; null if it didn't count. announced: whether the player had said in
    this game that it holds the role. outcome: how the action ended; null for a block.
    """

    role: str
    action: str
    block: bool
    hand: list[str]
    true: bool
    counted: bool
    announced: bool
    stood: bool | None = None
    challenged: bool = False
    outcome: str | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Challenge(Row):
    """A challenge. claim_move: the move of the claim. right: whether the claim was false.

    chance_right: by the cards that the player saw or knew; null after a draft. counted: false if another challenge of
    the claim came first.
    """

    claim_move: int
    claimant: str
    role: str
    right: bool
    chance_right: float | None
    counted: bool


@dataclass(slots=True, kw_only=True)
class Statement(Row):
    """A statement. number: within its move. true: of hold, lack and doubt, by the hands; null for the others."""

    number: int
    says: str
    role: str | None
    target: int | None
    text: str | None
    true: bool | None


@dataclass(slots=True, kw_only=True)
class CallRow:
    """A call of the journal, which has the texts.

    done: as in the journal, without its reason. used: whether a decision of the counted games rests on it; if not,
    deal, condition and move are null.
    """

    call: int
    match: int
    game: int
    player: str
    request: int
    attempt: int
    done: str
    reason: str
    used: bool
    deal: int | None
    condition: str | None
    move: int | None
    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    calls: int
    tokens: int
    dollars: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class GameTables:
    """The rows of a game. placement: each player's share of the other players that it outlasted. worth: of a win.

    calls: the lines of the journal on which decisions rest, by move.
    """

    deal: int
    condition: str
    match: int
    worth: dict[str, float]
    placement: dict[str, float]
    decisions: list[Decision] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    challenges: list[Challenge] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    calls: dict[int, list[Line]] = field(default_factory=dict)


def read_game(config: StudyConfig, record: Record, calls: Sequence[Line]) -> GameTables:
    """Return the rows of the game in a record. calls: the lines of the journal of this match, in order.

    Raises RecordError if the engine doesn't reproduce the game.
    """
    return _GameReader(config, record, calls).read()


class _Step(NamedTuple):
    """A step of a game. hands: all cards before it, by seat.

    counted: of the types Challenged and Blocked, the seat whose challenge or block counted in this step.
    """

    replayed: ReplayStep
    hands: list[list[str]]
    counted: Mapping[type, int]


def _make_step(replayed: ReplayStep) -> _Step:
    counted: dict[type, int] = {
        type(event): event.seat for event in replayed.events if isinstance(event, coup.Challenged | coup.Blocked)
    }
    return _Step(replayed, [[*map(str, hand)] for hand in replayed.before.hands], counted)


class _GameReader:
    """Reads the rows of one game; `claim`, `action` and `announced` follow the replay."""

    def __init__(self, config: StudyConfig, record: Record, calls: Sequence[Line]) -> None:
        self.header, (self.game,) = record.header, record.games
        place = config.place_of(self.header.match)
        names = (*config.players, *config.anchors)
        self.players = [names[place.condition.bots.index(place.bots[bot])] for bot in self.game.seating]
        self.rules = self.header.settings.rules
        self.calls = _group_answered_calls(calls)  # by (bot, request)
        self.bots = [self.header.bots[bot] for bot in self.game.seating]
        self.requests = [0] * len(self.players)  # the number so far, by seat
        self.events = messages.EventCursor[None](len(self.players), lambda number, event: None)
        self.announced: set[tuple[int, str]] = set()  # (seat, role that it said to hold)
        self.claim: Claim | None = None  # that can be challenged
        self.action: Claim | None = None  # the claim of the turn's action
        worth = {seat: 1 / len(self.game.survivors) for seat in self.game.survivors}
        self.tables = GameTables(
            deal=place.deal,
            condition=place.condition.name,
            match=self.header.match,
            worth={player: worth.get(seat, 0.0) for seat, player in enumerate(self.players)},
            placement=_compute_placements(self.game, self.players),
        )

    def read(self) -> GameTables:
        """Replay the game, and return its rows in the order of its moves.

        Raises RecordError if the engine doesn't reproduce the game.
        """
        statements: dict[int, list[coup.StatementMade]] = {}  # by the index of their move
        for move_index, statement in self.game.statements:
            statements.setdefault(move_index, []).append(statement)
        for step in map(_make_step, list_steps(self.header, self.game)):
            answers = list(enumerate(step.replayed.answers, start=step.replayed.move_index))
            for move_index, answer in answers:  # all statements of a step come before its moves take effect
                for number, statement in enumerate(statements.get(move_index, ())):
                    self._add_statement(step, move_index, answer.seat, number, statement)
            for move_index, answer in answers:
                self.requests[answer.seat] += 1
                if not isinstance(answer.move, coup.Forfeit):
                    self._add_decision(step, move_index, answer, answer.move)
            self._follow_claims(step.replayed.events)
            self.events.add(step.replayed.events)
        return self.tables

    def _make_row(self, step: _Step, move_index: int, seat: int) -> dict[str, Any]:
        """Return the fields of `Row` for a move of the step."""
        return {
            "deal": self.tables.deal,
            "condition": self.tables.condition,
            "match": self.tables.match,
            "move": move_index,
            "turn": step.replayed.turn,
            "seat": seat,
            "player": self.players[seat],
        }

    def _add_statement(
        self, step: _Step, move_index: int, seat: int, number: int, statement: coup.StatementMade
    ) -> None:
        """Add a statement of table talk. number: among the statements of the move that it came with."""
        role = None if statement.role is None else str(statement.role)
        is_true = None  # also for what can't be true or false
        if statement.says in (coup.StatementKind.HOLD, coup.StatementKind.LACK):
            is_true = (role in step.hands[seat]) == (statement.says is coup.StatementKind.HOLD)
        elif statement.says is coup.StatementKind.DOUBT and statement.target is not None:
            is_true = role not in step.hands[statement.target]
        if statement.says is coup.StatementKind.HOLD and role is not None:
            self.announced.add((seat, role))
        self.tables.statements.append(
            Statement(
                **self._make_row(step, move_index, seat),
                number=number,
                says=str(statement.says),
                role=role,
                target=statement.target,
                text=statement.text,
                true=is_true,
            )
        )

    def _add_decision(self, step: _Step, move_index: int, answer: SeatAnswer, move: coup.Move) -> None:
        """Add an answered request: the decision, the claim that it makes, and its reaction to another one."""
        row = self._make_row(step, move_index, answer.seat)
        view, phase = coup.view_from_seat(step.replayed.before, answer.seat), step.replayed.before.board.phase
        certain_cards = self.events.known(view)  # once for each request, also where it isn't used
        calls = self.calls.get((self.bots[answer.seat], self.requests[answer.seat]), [])
        if calls:
            self.tables.calls[move_index] = calls
        facts = {**row, "kind": step.replayed.kind, "notation": answer.notation}
        decision = self._make_decision(facts, move, view, step.hands[answer.seat], calls)
        self.tables.decisions.append(decision)
        role = self._find_claimed_role(move)
        if role is not None:
            self._add_claim(step, row, move, role, is_true=not decision.bluff)
        if isinstance(phase, coup.Turn):
            self.action = self.claim if role is not None else None
        if isinstance(phase, coup.ChallengeWindow) and self.claim is not None:
            is_counted = step.counted.get(coup.Challenged) == answer.seat
            chance = self._compute_chance(view, certain_cards, phase.claim)
            self._add_reaction(self.claim, row, chance, move == coup.CHALLENGE, is_counted)

    def _compute_chance(self, view: coup.View, certain_cards: coup.CertainCards, claim: coup.Claim) -> float | None:
        """Return the probability that a claim is true, by what the view's seat saw or knew; None after a draft."""
        if self.rules.draft:
            return None
        chance_held = coup.chance_held(view, certain_cards, claim.seat, claim.role)
        return round(1 - chance_held if claim.denies else chance_held, 6)

    def _make_decision(
        self, facts: dict[str, Any], move: coup.Move, view: coup.View, hand: list[str], calls: list[Line]
    ) -> Decision:
        """Return a decision. facts: its other fields. calls: of the journal; the last one has the outcome."""
        legal_moves = coup.list_legal_moves(view)
        claimable = set(map(self._find_claimed_role, legal_moves))
        bluffs = {role for role in claimable if role is not None and _is_false(role, hand)}
        outcome, reason = _read_outcome(calls)
        return Decision(
            **facts,
            request=self.requests[view.seat],
            legal=len(legal_moves),
            chosen=describe_move(move_payload(move), self.players),
            hand=hand,
            could_bluff=sorted(bluffs),
            bluff=self._find_claimed_role(move) in bluffs,
            call=calls[-1]["call"] if calls else None,
            outcome=outcome,
            reason=reason,
        )

    def _add_claim(self, step: _Step, row: dict[str, Any], move: coup.Move, role: str, *, is_true: bool) -> None:
        """Add the claim of an action or a block. It can be challenged, unless it is a block that came late."""
        phase, seat = step.replayed.before.board.phase, row["seat"]
        is_block = isinstance(phase, coup.BlockWindow)
        action = phase.pending if isinstance(phase, coup.BlockWindow) else move
        assert isinstance(action, coup.ActionMove)
        claim = Claim(
            **row,
            role=role,
            action=str(action.action),
            block=is_block,
            hand=step.hands[seat],
            true=is_true,
            counted=not is_block or step.counted.get(coup.Blocked) == seat,
            announced=(seat, role) in self.announced,
        )
        self.tables.claims.append(claim)
        if claim.counted:
            claim.stood, self.claim = True, claim

    def _add_reaction(
        self, claim: Claim, row: dict[str, Any], chance: float | None, is_challenge: bool, is_counted: bool
    ) -> None:
        """Add a reaction to a claim and, if it challenges, the challenge.

        chance: that the claim was true by what the seat knew. is_counted: whether this challenge was the one that the
        table saw.
        """
        claim.reactions.append(
            Reaction(seat=row["seat"], player=row["player"], chance_true=chance, challenged=is_challenge)
        )
        if is_challenge:
            claim.challenged = True
            self.tables.challenges.append(
                Challenge(
                    **row,
                    claim_move=claim.move,
                    claimant=claim.player,
                    role=claim.role,
                    right=not claim.true,
                    chance_right=None if chance is None else round(1 - chance, 6),
                    counted=is_counted,
                )
            )

    def _follow_claims(self, events: Iterable[coup.Event]) -> None:
        """Note what happened to the open claims."""
        for event in events:
            if isinstance(event, coup.Unproven) and self.claim is not None:
                self.claim.stood = False
            elif isinstance(event, coup.Resolved) and self.action is not None:
                self.action.outcome = str(event.how)

    def _find_claimed_role(self, move: coup.Move) -> str | None:
        """Return the role that a move claims, with not_ if it denies it; None without a claim."""
        if isinstance(move, coup.Block):
            return str(move.role)
        if not isinstance(move, coup.ActionMove):
            return None
        rule = self.rules.rule(move.action, move.target is not None)
        return None if rule.claim is None else f"{'not_' * rule.denies}{rule.claim}"


def _is_false(claimed_role: str, hand: Sequence[str]) -> bool:
    """Return whether a hand contradicts the claim of a role, or with not_ of its absence."""
    return (claimed_role.removeprefix("not_") in hand) == claimed_role.startswith("not_")


def _read_outcome(calls: Sequence[Line]) -> tuple[str | None, str]:
    """Return `outcome` and `reason` of the decision that these calls are for, as in `Decision`."""
    if not calls:
        return None, ""
    outcome, _, reason = calls[-1]["done"].partition(": ")
    if outcome == "default move":
        return outcome, reason
    return "asked again" if outcome == "played" and len(calls) > 1 else outcome, ""


def _compute_placements(game: GameRecord, players: Sequence[str]) -> dict[str, float]:
    """Return the share of the others that each player outlasted; survivors of a draw outlasted half of each other."""
    eliminated = [seat for seat, _ in game.eliminated]
    outlasted_by_survivors = len(eliminated) + (len(players) - len(eliminated) - 1) / 2
    outlasted = {
        player: eliminated.index(seat) if seat in eliminated else outlasted_by_survivors
        for seat, player in enumerate(players)
    }
    return {player: number / (len(players) - 1) for player, number in outlasted.items()}


def _group_answered_calls(lines: Iterable[Line]) -> dict[tuple[str, int], list[Line]]:
    """Return the answered calls of each request, by (bot, request): one, or two if the model was asked again.

    A match that was begun again may have asked for another prompt: the last answers count.
    """
    calls_by_request: dict[tuple[str, int], list[Line]] = {}
    for call in lines:
        if "answer" in call:
            calls = calls_by_request.setdefault((call["player"], call["request"]), [])
            calls[call["attempt"] - 1 :] = [call]  # the first attempt replaces all
    return calls_by_request


def list_calls(lines: Iterable[Line], games: Iterable[GameTables], player_of: Mapping[str, str]) -> Iterator[CallRow]:
    """Yield the row of each line of the journal. games: the counted ones. player_of: bot -> player of the study."""
    moves = {call["call"]: (game, move) for game in games for move, calls in game.calls.items() for call in calls}
    for line in lines:
        outcome, _, reason = line["done"].partition(": ")
        game, move = moves.get(line["call"], (None, None))
        usage = line["usage"] or {}
        calls, tokens, dollars = line["used"]
        yield CallRow(
            call=line["call"],
            match=line["match"],
            game=line["game"],
            player=player_of[line["player"]],
            request=line["request"],
            attempt=line["attempt"],
            done=outcome,
            reason="" if outcome == "played" else reason,
            used=game is not None,
            deal=None if game is None else game.deal,
            condition=None if game is None else game.condition,
            move=move,
            prompt_tokens=usage.get("prompt"),
            cached_tokens=usage.get("cached"),
            output_tokens=usage.get("output"),
            calls=calls,
            tokens=tokens,
            dollars=dollars,
            seconds=line["seconds"],
        )
