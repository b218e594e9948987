"""Define the lines of a record as models: the contract for programs that read records without the arena.

docs/reference/records.md explains the fields. `make docs` writes the schema, records.schema.json. This
module must not know the engine: `arena verify` checks that the moves are legal and lead to the same game.
"""

import json
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, TypeAdapter

from protocol.payloads import Absent, Allegiance, Count, Positive, Role, Seat, Sent, TargetedAction, UntargetedAction

_CARD = f"(?:{'|'.join(get_args(Role.__value__))})"
_MOVE = (
    f"(?:{'|'.join(get_args(UntargetedAction))}|convert(?::[0-9])?|(?:{'|'.join(get_args(TargetedAction))}):[0-9]|-|!|#"
    f"|(?:block|show|lose|pick|reveal):{_CARD}|keep:{_CARD}(?:\\+{_CARD})*|show:all|decline|keep_shown|replace_shown"
    "|side:(?:loyalist|reformist)|hand_back|force_swap)"
)
_DRAW = f"(?:draw:{_CARD}(?:\\+{_CARD})*|look:{_CARD})"
_SHA256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Values = dict[str, bool | int | float | str | None]


class RecordedSettings(Sent):
    """The settings of all games. Later versions add fields to rules, timing and limits."""

    rules: _Values = Field(description="The ruleset: name, and a field for each rule (arena rules --fields).")
    timing: _Values = Field(description="limit_ms, bank_ms, start_ms; own: own time was charged, else wall time.")
    limits: _Values = Field(description="The limits of each bot's process.")
    lives: Positive
    forfeits: Positive
    open_names: bool


class RecordHeader(Sent):
    """The first line of a record: the bots and settings of the match, and the key of its deals."""

    record: Literal[4]
    match: Count
    key: _SHA256 = Field(description="Determines the deals and draws.")
    bots: tuple[str, ...]
    handles: tuple[str, ...] = Field(description="The name of each bot within the match.")
    terms: RecordedSettings
    timings: Absent[tuple[_Values, ...]] = Field(None, description="By bot, if they differ from that of terms.")
    digests: Absent[tuple[str, ...]] = Field(None, description="By bot, of its files; in the records of a run.")


class RecordedStart(Sent):
    """The start of a game. Hands are empty before a draft, and chosen sides are absent."""

    actor: Seat
    coins: tuple[Count, ...] = Field(description="By seat.")
    deck: Count = Field(description="Number of cards.")
    hands: tuple[tuple[Role, ...], ...] = Field(description="By seat.")
    sides: Absent[tuple[Allegiance, ...]] = None


class RecordedFault(Sent):
    """A fault of a bot."""

    bot: Count = Field(description="Its index in bots.")
    code: str
    step: Absent[Count] = Field(None, description="The index of the move in the game, from 0.")
    got: Absent[str] = Field(None, description="The faulty line, made safe to print.")
    used: Absent[str] = Field(None, description="The move that was played instead.")
    detail: Absent[str] = None
    count: Absent[Positive] = Field(None, description="The number of occurrences, if more than 1.")


class RecordedStatement(Sent):
    """A statement of a seat with a move."""

    move: Count = Field(description="The move of the game, from 0; `by` has its seat.")
    says: Literal["hold", "lack", "attack", "spare", "doubt", "text"]
    role: Absent[Role] = Field(None, description="For hold, lack and doubt.")
    target: Absent[Seat] = Field(None, description="For attack, spare and doubt.")
    text: Absent[str] = Field(None, description="For text.")


class RecordedGame(Sent):
    """A game: a line for each, in the order of play."""

    game: Count
    seats: tuple[Count, ...] = Field(description="The bot of each seat, by its index in bots.")
    starter: Seat = Field(description="The last winner's seat, for rules in which the winner starts.")
    start: RecordedStart
    moves: str = Field(description="In notation, separated by blanks.", pattern=f"^(?:{_MOVE}(?: {_MOVE})*)?$")
    by: str = Field(description="The seat of each move, one digit for each.", pattern="^[0-9]*$")
    draws: str = Field(
        description="The cards that were drawn after the deal, in order.", pattern=f"^(?:{_DRAW}(?: {_DRAW})*)?$"
    )
    said: Absent[tuple[RecordedStatement, ...]] = Field(None, description="The statements, in the order of the moves.")
    faults: tuple[RecordedFault, ...]
    winner: Seat | None
    reason: Literal["last_standing", "turn_limit", "all_forfeit"]
    survivors: tuple[Seat, ...]
    eliminated: tuple[tuple[Seat, Count], ...] = Field(description="Seat and turn, in order.")
    turns: Count
    events: Count
    events_sha256: _SHA256
    times_us: tuple[Count, ...] = Field(description="The time of each move by the match's clock.")


class RecordEnd(Sent):
    """The last line."""

    end: Literal[True]
    games: Count
    sha256: _SHA256 = Field(description="Of all lines before, as written, without times_us.")


LINE: TypeAdapter[RecordHeader | RecordedGame | RecordEnd] = TypeAdapter(RecordHeader | RecordedGame | RecordEnd)


def schema_text() -> str:
    """Return the content of records.schema.json."""
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a record of the Coup arena, version 4",
        "description": "A header, a line for each game, an end. docs/reference/records.md says what they mean.",
        **LINE.json_schema(),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
