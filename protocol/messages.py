"""Define every line between the referee and a bot as pydantic models; `make docs` writes schema.json.

The models define and test the wire. Lines of the referee are checked strictly (no missing, extra or
coerced values): an invalid one is a bug of the referee. In lines of bots unknown fields are ignored. The referee's hot
loop uses `framing` instead, and a test checks that both accept the same lines.

`model_dump(mode="json", by_alias=True, exclude_unset=True)` returns a line's content: absent fields stay absent, and
nulls with a meaning (such as no winner) stay null.

This module must not know the engine, processes, consequences of a fault.
"""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from protocol.framing import NAME_LIMIT, PROTOCOL, SAY_LIMIT
from protocol.payloads import (
    Absent,
    AnyMove,
    AskedYou,
    BlockMove,
    ChallengeMove,
    ClaimPayload,
    Count,
    DeclineMove,
    Event,
    ExaminedMove,
    ExaminingYou,
    ExchangingYou,
    KeepMove,
    KeepShownMove,
    LoseMove,
    LossReason,
    PassMove,
    Pending,
    PickMove,
    Positive,
    RevealMove,
    RulesetPayload,
    Seat,
    Sent,
    ShowHandMove,
    ShowMove,
    SideMove,
    StatePayload,
    TurnMove,
    You,
)

# SPEC.md and the referee's table give the consequences. Error lines, logs and results share these names. Faults of the
# last three rows end the process, so no error line carries them.
FaultCode = Literal[
    "bad_utf8", "bad_json", "duplicate_key", "bad_number", "too_deep", "lone_surrogate", "not_an_object",
    "bad_reply", "illegal_move", "wrong_id", "too_many_strays", "timeout",
    "late_reply", "stray_line", "bad_say",
    "line_too_long", "flood",
    "out_of_memory", "too_many_processes", "cpu_used_up", "file_too_large",
    "exited", "closed", "start_failed", "out_of_lives", "retired",
]  # fmt: skip

Seed = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Handle = Annotated[str, Field(min_length=1, description="A player's name within this match.")]


# ---------------------------------------------------------------- to the bot: the match


class LimitsPayload(Sent):
    """The limits of this match."""

    limit_ms: Count = Field(description="Free time for each request, by `clock`, in milliseconds.")
    bank_ms: Count = Field(description="Further time for all requests of one game, by `clock`, in milliseconds.")
    start_ms: Count = Field(description="Time from the hello line to the bot's hello, by `clock`, in milliseconds.")
    line_bytes: Positive = Field(description="Maximum length of a bot's line, in bytes, without its newline.")
    flood_bytes: Positive = Field(description="Maximum output between two requests, in bytes.")
    lives: Positive = Field(description="Faults in one game at which the bot forfeits it.")
    forfeits: Positive = Field(description="Forfeited games after which the bot forfeits the rest of the match.")
    clock: Literal["own", "wall"] = Field(
        description="The charged time: the bot's own time, without waits for a core, or wall time."
    )
    ponder: bool = Field(description="Whether the bot may compute while it isn't asked.")
    memory_mb: Positive = Field(description="Memory of the process and its descendants, in MiB.")
    processes: Positive = Field(description="Processes and threads at a time.")
    cpu_s: Positive = Field(description="CPU time from the process's start to its end, in seconds.")
    cores: float = Field(gt=0, description="Cores used at a time.")
    file_size_mb: Positive = Field(description="Size of each file, in MiB.")
    tmp_mb: Positive = Field(description="Total size of all files, in MiB.")
    open_files: Positive = Field(description="Open files of each process.")


class MatchPayload(Sent):
    """The match that begins."""

    games: Positive = Field(description="Games in the match.")
    seats: int = Field(ge=2, description="Players at the table.")
    your_handle: Handle = Field(description="This bot's handle.")
    handles: tuple[Handle, ...] = Field(description="All players' handles; the order means nothing.")


class Hello(Sent):
    """The first line a bot process gets. The bot answers with its own hello."""

    type: Literal["hello"]
    # Not Literal[1], which would let true pass.
    protocol: int = Field(ge=PROTOCOL, le=PROTOCOL, description=f"Version of the protocol: {PROTOCOL}.")
    ruleset: RulesetPayload
    limits: LimitsPayload
    match: MatchPayload
    bot_seed: Seed = Field(description="128 random bits, hexadecimal, for the bot's own use.")


class GameStart(Sent):
    """A game begins."""

    type: Literal["game_start"]
    game: Count = Field(description="Number of the game in the match, from 0.")
    game_seed: Seed = Field(description="128 random bits, hexadecimal, for the bot's own use in this game.")
    seat: Seat = Field(description="This bot's seat.")
    players: tuple[Handle, ...] = Field(description="The handle in each seat, seat 0 first.")
    you: You
    state: StatePayload


class GameOver(Sent):
    """A game has ended."""

    type: Literal["game_over"]
    game: Count = Field(description="Number of the game in the match, from 0.")
    winner: Seat | None = Field(description="The seat that won; null: a draw of the survivors.")
    reason: Literal["last_standing", "turn_limit", "all_forfeit"] = Field(description="Why the game ended.")
    survivors: tuple[Seat, ...] = Field(description="The seats that won or share the draw, ascending.")
    events: tuple[Event, ...] = Field(description="Events since the last line to this bot.")
    state: StatePayload = Field(description="The public state at the end.")


class MatchOver(Sent):
    """The match has ended: the bot's input is closed next."""

    type: Literal["match_over"]


# ---------------------------------------------------------------- to the bot: requests


class Clock(Sent):
    """The bot's own clock when the request is sent."""

    limit_ms: Count = Field(description="Free time for this request, by the match's clock, in milliseconds.")
    bank_ms: Count = Field(description="The rest of the game's bank, by the match's clock, in milliseconds.")


class _Request(Sent):
    type: Literal["request"]
    id: Positive = Field(description="Number of the request to this process, from 1. The reply repeats it.")
    game: Count = Field(description="Number of the game in the match, from 0.")
    events: tuple[Event, ...] = Field(description="Events since the last line to this bot, oldest first.")
    state: StatePayload
    you: AskedYou
    clock: Clock


class TurnRequest(_Request):
    """It is the bot's turn."""

    kind: Literal["turn"]
    legal: tuple[TurnMove, ...] = Field(min_length=1)


class ChallengeRequest(_Request):
    """A player claims a role, which the bot may challenge."""

    kind: Literal["challenge"]
    pending: Pending
    claim: ClaimPayload
    legal: tuple[PassMove | ChallengeMove, ...] = Field(min_length=1)


class BlockRequest(_Request):
    """An action may be blocked by this bot."""

    kind: Literal["block"]
    pending: Pending
    proven: bool = Field(description="Whether the action's claim was challenged this turn, and proven.")
    legal: tuple[PassMove | BlockMove, ...] = Field(min_length=1)


class ProveRequest(_Request):
    """The bot's own claim is challenged."""

    kind: Literal["prove"]
    pending: Pending
    claim: ClaimPayload
    challenger: Seat = Field(description="The challenger's seat.")
    legal: tuple[ShowMove | ShowHandMove | DeclineMove, ...] = Field(min_length=1)


class LoseRequest(_Request):
    """The bot loses an influence and chooses which."""

    kind: Literal["lose"]
    pending: Pending
    reason: LossReason = Field(description="The reason for the loss.")
    legal: tuple[LoseMove, ...] = Field(min_length=1)


class ExchangeRequest(_Request):
    """The bot chooses the cards to keep in its exchange."""

    kind: Literal["exchange"]
    pending: Pending
    you: ExchangingYou
    legal: tuple[KeepMove, ...] = Field(min_length=1)


# Requests of rule variants only.


class DraftRequest(_Request):
    """Before the deal, the bot chooses a card of its own set."""

    kind: Literal["draft"]
    legal: tuple[PickMove, ...] = Field(min_length=1)


class AllegianceRequest(_Request):
    """Before the first turn, the bot, which starts, chooses a side."""

    kind: Literal["allegiance"]
    legal: tuple[SideMove, ...] = Field(min_length=1)


class KeepShownRequest(_Request):
    """The bot has shown a card, and keeps it or has it replaced."""

    kind: Literal["keep_shown"]
    pending: Pending
    claim: ClaimPayload
    challenger: Seat = Field(description="The challenger's seat.")
    legal: tuple[KeepShownMove, ...] = Field(min_length=1)


class ExamineShowRequest(_Request):
    """The bot is examined, and chooses the card that the inquisitor sees."""

    kind: Literal["examine_show"]
    pending: Pending
    legal: tuple[RevealMove, ...] = Field(min_length=1)


class ExamineDecideRequest(_Request):
    """The bot has examined a card, and hands it back or has it replaced."""

    kind: Literal["examine_decide"]
    pending: Pending
    you: ExaminingYou
    legal: tuple[ExaminedMove, ...] = Field(min_length=1)


Request = Annotated[
    TurnRequest
    | ChallengeRequest
    | BlockRequest
    | ProveRequest
    | LoseRequest
    | ExchangeRequest
    | DraftRequest
    | AllegianceRequest
    | KeepShownRequest
    | ExamineShowRequest
    | ExamineDecideRequest,
    Field(discriminator="kind"),
]


class Error(Sent):
    """A fault of the bot. Sent to that bot only; expects no answer."""

    type: Literal["error"]
    id: Positive | None = Field(description="The id of the request with the fault; null: none.")
    code: FaultCode
    message: str = Field(description="The problem and the fix, for people.")
    got: str | None = Field(description="The bot's line, made printable and cut; null: none.")
    used: AnyMove | None = Field(description="The move that was played instead; null: none was needed.")
    lives: Count = Field(description="Lives left in this game.")


Message = Annotated[Hello | GameStart | Request | Error | GameOver | MatchOver, Field(discriminator="type")]
TO_BOT: TypeAdapter[Message] = TypeAdapter(Message)


def parse_to_bot(line: bytes | str) -> Message:
    """Return the message of a line to a bot. Raises pydantic.ValidationError (a ValueError) if it is invalid."""
    return TO_BOT.validate_json(line)


# ---------------------------------------------------------------- from the bot


class _Received(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


_Name = Annotated[str, Field(max_length=NAME_LIMIT)]


class BotHello(_Received):
    """A bot's answer to the hello line."""

    type: Literal["hello"]
    name: Absent[_Name] = Field(default=None, description="The bot's name, for logs.")
    version: Absent[_Name] = Field(default=None, description="The bot's version, for logs.")


class Reply(_Received):
    """A bot's answer to a request: exactly one of `move` and `choice`."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["move"]}, {"required": ["choice"]}]})

    id: Count = Field(description="The request's id.")
    move: Absent[dict[str, Any]] = Field(default=None, description="One of the moves in `legal`.")
    choice: Absent[int] = Field(default=None, description="A 0-based index into `legal`.")
    say: Any = Field(  # whatever it is, the move counts
        default=None,
        description="Statements: what events that say something have, but for n, event and seat. Only with talk.",
        json_schema_extra={"type": "array", "maxItems": SAY_LIMIT, "items": {"type": "object", "required": ["says"]}},
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.move is None) == (self.choice is None):
            raise ValueError("exactly one of move and choice")
        return self


FROM_BOT: TypeAdapter[BotHello | Reply] = TypeAdapter(BotHello | Reply)


# ---------------------------------------------------------------- schema.json


class _Schema(GenerateJsonSchema):
    """pydantic's generator without its noise: titles made of field names, nulls as defaults of absent fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().default_schema(schema)
        if "default" in result and result["default"] is None:
            del result["default"]
        return result


def _plain(value: Any) -> Any:
    """Return a schema without OpenAPI's `discriminator`, which JSON Schema doesn't know."""
    if isinstance(value, dict):
        return {
            key: _plain(item)
            for key, item in value.items()
            if not (key == "discriminator" and isinstance(item, dict) and "propertyName" in item)
        }
    return [_plain(item) for item in value] if isinstance(value, list) else value


def schema() -> dict[str, Any]:
    """Return the JSON Schema of every line; `$defs` has ToBot and FromBot for the two directions."""
    generator = _Schema(ref_template="#/$defs/{model}")
    directions, models = generator.generate_definitions(
        [("ToBot", "validation", TO_BOT.core_schema), ("FromBot", "validation", FROM_BOT.core_schema)]
    )
    definitions: dict[str, Any] = {name: definition for (name, _), definition in directions.items()}
    definitions |= {str(name): definition for name, definition in sorted(models.items())}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Coup arena protocol, version {PROTOCOL}",
        "description": "One JSON object a line. Made from protocol/messages.py; SPEC.md says what the lines mean.",
        "anyOf": [{"$ref": "#/$defs/ToBot"}, {"$ref": "#/$defs/FromBot"}],
        "$defs": definitions,
    }
    plain_schema: dict[str, Any] = _plain(document)
    return plain_schema


def schema_text() -> str:
    """Return the text of schema.json, which has the wire's names: `Player` for `PlayerPayload`."""
    return json.dumps(schema(), indent=2, ensure_ascii=False).replace('Payload"', '"') + "\n"
