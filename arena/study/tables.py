"""Read the rows of a study's tables from its records and the journal: decisions, claims, challenges, statements, calls.

The truth is in the records: a claim or a statement is false if the hand at that moment says so. A row of any table
joins with the record by `match` and `move`, the index of the move in the game, and with other tables by these two. A
call joins with its decision by `match`, `player` and `request`, and decisions contain the number of the call that
they were played by."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena import coup
from arena.referee import GameRecord, Record, messages, move_payload
from arena.replay import ReplayStep, SeatAnswer, list_steps
from arena.study.config import StudyConfig
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
    decisions: list[Decision]
    claims: list[Claim]
    challenges: list[Challenge]
    statements: list[Statement]
    calls: dict[int, list[Line]]


def read_game(config: StudyConfig, record: Record, calls: Sequence[Line]) -> GameTables:
    """Return the rows of the game in a record. calls: the lines of the journal of this match, in order.

    Raises RecordError if the engine doesn't reproduce the game.
    """
    return _GameReader(config, record, calls).read()


class _GameReader:
    def __init__(self, config: StudyConfig, record: Record, calls: Sequence[Line]) -> None:
        self.header, (self.game,) = record.header, record.games
        place = config.place_of(self.header.match)
        names = (*config.players, *config.anchors)
        self.players = [names[place.condition.bots.index(place.bots[bot])] for bot in self.game.seating]
        self.rules = self.header.settings.rules
        self.calls = _read_answered(calls)
        self.bots = [self.header.bots[bot] for bot in self.game.seating]
        self.requests = [0] * len(self.players)
        self.events = messages.EventCursor[None](len(self.players), lambda number, event: None)
        self.held: set[tuple[int, str]] = set()  # (seat, role) of statements
        self.claim: Claim | None = None  # that can be challenged
        self.action: Claim | None = None  # the claim of the turn's action
        worth = {seat: 1 / len(self.game.survivors) for seat in self.game.survivors}
        self.tables = GameTables(
            place.deal,
            place.condition.name,
            self.header.match,
            {player: worth.get(seat, 0.0) for seat, player in enumerate(self.players)},
            _placements(self.game, self.players),
            [], [], [], [], {},
        )  # fmt: skip

    def read(self) -> GameTables:
        """Replay the game, and return its rows in the order of its moves."""
        said: dict[int, list[coup.StatementMade]] = {}
        for place, statement in self.game.statements:
            said.setdefault(place, []).append(statement)
        for step in list_steps(self.header, self.game):
            hands = [[*map(str, hand)] for hand in step.before.hands]
            places = {answer.seat: step.move_index + at for at, answer in enumerate(step.answers)}
            for seat, move in places.items():
                for number, statement in enumerate(said.get(move, ())):
                    self._add_statement(step, move, seat, number, statement, hands)
            counts = {
                type(event): event.seat for event in step.events if isinstance(event, coup.Challenged | coup.Blocked)
            }
            for answer in step.answers:
                self.requests[answer.seat] += 1
                move_made = answer.move
                if not isinstance(move_made, coup.Forfeit):
                    self._add_decision(step, places[answer.seat], answer, move_made, hands, counts)
            self._follow(step.events)
            self.events.add(step.events)
        return self.tables

    def _row(self, step: ReplayStep, move: int, seat: int) -> dict[str, Any]:
        tables = self.tables
        return {
            "deal": tables.deal,
            "condition": tables.condition,
            "match": tables.match,
            "move": move,
            "turn": step.turn,
            "seat": seat,
            "player": self.players[seat],
        }

    def _add_statement(
        self, step: ReplayStep, move: int, seat: int, number: int, said: coup.StatementMade, hands: list[list[str]]
    ) -> None:
        """Add a statement of table talk. true: whether it was so, None if it can't be true or false.

        move: the index of the move that it came with; number: among that move's statements. hands: all cards, by seat.
        """
        role = None if said.role is None else str(said.role)
        true = None
        if said.says in (coup.StatementKind.HOLD, coup.StatementKind.LACK):
            true = (role in hands[seat]) == (said.says is coup.StatementKind.HOLD)
        elif said.says is coup.StatementKind.DOUBT and said.target is not None:
            true = role not in hands[said.target]
        if said.says is coup.StatementKind.HOLD and role is not None:
            self.held.add((seat, role))
        row = self._row(step, move, seat)
        self.tables.statements.append(
            Statement(
                **row, number=number, says=str(said.says), role=role, target=said.target, text=said.text, true=true
            )
        )

    def _add_decision(
        self,
        step: ReplayStep,
        at: int,
        answer: SeatAnswer,
        move: coup.Move,
        hands: list[list[str]],
        counts: Mapping[Any, int],
    ) -> None:
        """Add an answered request: the decision, the claim that it makes, and its reaction to another one.

        at: the index of the move in the game. hands: all cards, by seat. counts: the seat whose challenge or block
        counted in this step, by type.
        """
        seat = answer.seat
        view, row = coup.view_from_seat(step.before, seat), self._row(step, at, seat)
        phase, certain = step.before.board.phase, self.events.known(view)
        lines = self.calls.get((self.bots[seat], self.requests[seat]), [])
        if lines:
            self.tables.calls[at] = lines
        decision = self._make_decision(
            {**row, "kind": step.kind, "notation": answer.notation}, move, view, hands[seat], lines
        )
        self.tables.decisions.append(decision)
        role = self._claimed(move)
        if role is not None:
            self._add_claim(
                row,
                move,
                role,
                phase,
                hand=hands[seat],
                blocked=counts.get(coup.Blocked) == seat,
                true=not decision.bluff,
            )
        if isinstance(phase, coup.Turn):
            self.action = self.claim if role is not None else None
        if isinstance(phase, coup.ChallengeWindow) and self.claim is not None:
            chance = None
            if not self.rules.draft:
                chance = coup.chance_held(view, certain, phase.claim.seat, phase.claim.role)
                chance = round(1 - chance if phase.claim.denies else chance, 6)
            self._add_reaction(self.claim, row, chance, move == coup.CHALLENGE, counts.get(coup.Challenged) == seat)

    def _make_decision(
        self, facts: dict[str, Any], move: coup.Move, view: coup.View, hand: list[str], lines: list[Line]
    ) -> Decision:
        """Return a decision. lines: of its calls in the journal, the last of which has the outcome."""
        legal, role = coup.list_legal_moves(view), self._claimed(move)
        could = {claimed for legal_move in legal if (claimed := self._claimed(legal_move)) and _is_false(claimed, hand)}
        outcome, _, reason = lines[-1]["done"].partition(": ") if lines else (None, "", "")
        return Decision(
            **facts,
            request=self.requests[view.seat],
            legal=len(legal),
            chosen=describe_move(move_payload(move), self.players),
            hand=hand,
            could_bluff=sorted(could),
            bluff=role in could,
            call=lines[-1]["call"] if lines else None,
            outcome="asked again" if outcome == "played" and len(lines) > 1 else outcome,
            reason=reason if outcome == "default move" else "",
        )

    def _add_claim(
        self,
        row: dict[str, Any],
        move: coup.Move,
        role: str,
        phase: coup.Phase,
        *,
        hand: list[str],
        blocked: bool,
        true: bool,
    ) -> None:
        """Add the claim of an action or a block. blocked: whether its block is the one that counted."""
        block = isinstance(phase, coup.BlockWindow)
        action = phase.pending if isinstance(phase, coup.BlockWindow) else move
        assert isinstance(action, coup.ActionMove)
        claim = Claim(
            **row,
            role=role,
            action=str(action.action),
            block=block,
            hand=hand,
            true=true,
            counted=not block or blocked,
            announced=(row["seat"], role) in self.held,
        )
        self.tables.claims.append(claim)
        if claim.counted:
            claim.stood, self.claim = True, claim

    def _add_reaction(
        self, claim: Claim, row: dict[str, Any], chance: float | None, challenges: bool, counted: bool
    ) -> None:
        """Add a reaction to a claim and, if it challenges, the challenge.

        chance: that the claim was true by what the seat knew. counted: whether this challenge was the one that the
        table saw.
        """
        claim.reactions.append(
            Reaction(seat=row["seat"], player=row["player"], chance_true=chance, challenged=challenges)
        )
        if challenges:
            claim.challenged = True
            self.tables.challenges.append(
                Challenge(
                    **row,
                    claim_move=claim.move,
                    claimant=claim.player,
                    role=claim.role,
                    right=not claim.true,
                    chance_right=None if chance is None else round(1 - chance, 6),
                    counted=counted,
                )
            )

    def _follow(self, events: Iterable[coup.Event]) -> None:
        """Note what happened to the open claims."""
        for event in events:
            if isinstance(event, coup.Unproven) and self.claim is not None:
                self.claim.stood = False
            elif isinstance(event, coup.Resolved) and self.action is not None:
                self.action.outcome = str(event.how)

    def _claimed(self, move: coup.Move) -> str | None:
        """Return the role that a move claims, with not_ if it denies it; None without a claim."""
        if isinstance(move, coup.Block):
            return str(move.role)
        if not isinstance(move, coup.ActionMove):
            return None
        rule = self.rules.rule(move.action, move.target is not None)
        return None if rule.claim is None else f"{'not_' * rule.denies}{rule.claim}"


def _is_false(claimed: str, hand: Sequence[str]) -> bool:
    return claimed.removeprefix("not_") in hand if claimed.startswith("not_") else claimed not in hand


def _placements(game: GameRecord, players: Sequence[str]) -> dict[str, float]:
    """Return the share of the others that each player outlasted; survivors of a draw outlasted half of each other."""
    out = [seat for seat, _ in game.eliminated]
    tied = len(out) + (len(players) - len(out) - 1) / 2
    places = {player: out.index(seat) if seat in out else tied for seat, player in enumerate(players)}
    return {player: place / (len(players) - 1) for player, place in places.items()}


def _read_answered(lines: Iterable[Line]) -> dict[tuple[str, int], list[Line]]:
    """Return the answered calls of each request, by (bot, request): one, or two if the model was asked again.

    A match that was begun again may have asked for another prompt: the last answers count.
    """
    last: dict[tuple[str, int], list[Line]] = {}
    for line in lines:
        if "answer" not in line:
            continue
        calls = last.setdefault((line["player"], line["request"]), [])
        if line["attempt"] == 1:
            calls.clear()
        calls[line["attempt"] - 1 :] = [line]
    return last


def list_calls(lines: Iterable[Line], games: Iterable[GameTables], player_of: Mapping[str, str]) -> Iterator[CallRow]:
    """Yield the row of each line of the journal. games: the counted ones. player_of: bot -> player of the study."""
    used = {line["call"]: (game, move) for game in games for move, own in game.calls.items() for line in own}
    for line in lines:
        outcome, _, reason = line["done"].partition(": ")
        game, move = used.get(line["call"], (None, None))
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
