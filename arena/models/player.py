"""Play a seat by a language model: fill in the prompt, ask the client, and read the answer.

A model that gives no usable answer is asked once more, with the reason; then the default move is played, as the journal
says. A provider's failure, and a mistake in the prompt, end the match as if the machine had failed (SandboxError)."""

import json
from collections.abc import Sequence
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass
from random import Random
from typing import Any

from arena.bots import BotError
from arena.coup import StatementKind, make_rules_object
from arena.models.client import Answer, Call, CallsStoppedError, ModelClient
from arena.models.settings import ModelPlayer
from arena.play import Message, PlayerView
from arena.referee import STATEMENT_FIELDS, MatchSpec, clean_text
from arena.sandbox import Box, InProcessBox, SandboxError, ScriptPeer
from protocol import SAY_LIMIT, encode
from protocol.event_text import describe_move

_MAX_SHOWN = 4000  # characters of a useless answer that the model is shown again
_FINAL = {"the context is too long", "the prompt was filtered"}  # asking again would give the same


@dataclass(frozen=True, slots=True)
class _Choice:
    """A model's answer as it was read. move: an index; None if the answer is useless, for this reason.

    say: its statements. reason: with a move, "statements" if these were invalid, else "". answer: for the conversation.
    """

    move: int | None
    say: tuple[Message, ...] = ()
    reason: str = ""
    answer: str = ""


class ModelSeat:
    """A seat of one match that a model plays; `start` starts its box, also again for a later game."""

    def __init__(self, player: ModelPlayer, client: ModelClient, spec: MatchSpec) -> None:
        self._player, self._client = player, client
        self._match = spec.match
        rules = spec.settings.rules
        self._rules = {**make_rules_object(rules), "talk": str(rules.talk)}
        self._form = _answer_form(player, [role.value for role in rules.roles], str(rules.talk), sorted(spec.handles))
        self._view = PlayerView()
        self._conversation: list[dict[str, str]] = []  # of this game, without the system prompt

    def start(self) -> InProcessBox:
        """Start a box in which a thread plays the seat, from a new match on."""
        self._view = PlayerView()
        return InProcessBox(self._player.name, self._answer_lines)

    def _answer_lines(self, peer: ScriptPeer) -> None:
        """Answer the lines of one process.

        A defect or a failure of the provider stops all calls, and raises SandboxError: the match is void.
        """
        try:
            for line in peer.lines():
                message = json.loads(line)
                hello = self._view.receive(message)
                if message["type"] == "game_start":
                    self._conversation = []
                if hello is not None:
                    peer.send(encode({"type": "hello", "name": "model"}))
                elif message["type"] == "request":
                    peer.send(encode(self._decide(peer)))
        except (CallsStoppedError, BotError, CancelledError, OSError) as problem:
            self._client.stop(str(problem).replace("\n", " "))
            raise SandboxError(str(problem)) from problem
        except Exception as problem:
            reason = f"{self._player.name}: a defect of the arena ({type(problem).__name__}: {problem})"
            self._client.stop(reason)
            raise SandboxError(reason) from problem

    def _decide(self, peer: ScriptPeer) -> Message:
        """Return the reply to the open request.

        Without a usable answer a default move is played. A single legal move is played without a call. Raises
        CallsStoppedError, CancelledError, and BotError if the prompt fails.
        """
        view = self._view
        if len(view.request["legal"]) == 1:
            return view.answer(0)
        values = self._collect_values()
        system = {"role": "system", "content": self._player.render("system", values)}
        question = {"role": "user", "content": self._player.render("request", values)}
        choice = self._ask_twice(peer, [system, *self._conversation, question])
        if choice.move is not None:
            move, answer = choice.move, choice.answer
        else:
            seed = f"{view.game.game_seed}|{view.request['id']}"
            move = view.choose_default_move(Random(seed).randrange)
            answer = f"(I gave no usable answer; move {move + 1} was played.)"
        if self._player.settings.history == "conversation":
            self._conversation += [question, {"role": "assistant", "content": answer}]
        return view.answer(move, choice.say)

    def _ask_twice(self, peer: ScriptPeer, messages: list[dict[str, str]]) -> _Choice:
        """Return the choice in the answer to these messages, or to a second call where that may help."""
        choice = self._ask(peer, messages, new_messages=1, attempt=1)
        if choice.move is not None or choice.reason in _FINAL:
            return choice
        text = f"Your answer can't be used: {choice.reason}. Answer again, in the form above."
        correction = [{"role": "assistant", "content": choice.answer}, {"role": "user", "content": text}]
        return self._ask(peer, [*messages, *correction], new_messages=2, attempt=2)

    def _ask(self, peer: ScriptPeer, messages: list[dict[str, str]], new_messages: int, attempt: int) -> _Choice:
        """Make a call, and wait until it ends or the box is closed; return the choice in its answer.

        new_messages: as of `Call`. attempt: 1 or 2. Raises CallsStoppedError if the client stops, CancelledError if it
        cancels the call.
        """
        game, names = self._view.game, self._view.names
        fields = {"turn": game.turn, "seat": game.seat, "kind": game.kind}
        key = (self._match, game.number, self._player.name, self._view.request["id"], attempt)

        def judge(answer: Answer) -> tuple[Message, _Choice]:
            choice, reasoning = self._read(answer)
            return {"done": _describe_choice(choice, attempt, game.legal, names), "reasoning": reasoning}, choice

        future = self._client.ask(Call(self._player, key, fields, messages, new_messages, self._form, judge))
        try:
            peer.wait_until(lambda seconds: bool(wait([future], seconds).done))
            return future.result()
        finally:
            future.cancel()

    def _collect_values(self) -> Message:
        """Return the variables of the prompt: plain data, all of it known to this seat.

        In a conversation, the lines of the history that are returned count as told.
        """
        view, game, settings = self._view, self._view.game, self._player.settings
        you, names = game.request["you"], view.names
        lines = view.history.take_new_lines() if settings.history == "conversation" else view.history.lines
        return {
            "rules": self._rules,
            "talk": self._rules["talk"],
            "reasoning": settings.reasoning,
            "history": settings.history,
            "turn": game.turn,
            "me": {
                "handle": game.me.handle,
                "coins": game.me.coins,
                "cards": you["cards"],
                "drawn": you.get("drawn", []),
            },
            "players": [
                {
                    "handle": player.handle,
                    "you": player.seat == game.seat,
                    "coins": player.coins,
                    "influence": player.influence,
                    "lost": list(player.revealed),
                    "side": player.allegiance,
                    "claims": dict(player.claims),
                    "has": list(player.known),
                    "lacks": list(player.lacks),
                    "out": not player.alive,
                }
                for player in game.players
            ],
            "deck": you.get("known", {}).get("deck", []),
            "events": [f"{line[0].upper()}{line[1:]}." for line in lines if line],
            "question": view.question(),
            "moves": [describe_move(move, names) for move in game.legal],
        }

    def _read(self, answer: Answer) -> tuple[_Choice, str]:
        """Return the choice in an answer, and the model's private reasoning."""
        text = answer.content[:_MAX_SHOWN] or "(nothing)"
        fields = _find_object(answer.content)
        reasoning = self._client.redact(str(fields.get("reasoning") or "")) if fields else ""
        if answer.problem is not None:
            return _Choice(None, (), answer.problem, text), reasoning
        if fields is None:
            return _Choice(None, (), 'it contains no JSON object with "move"', text), reasoning
        number, count = _read_number(fields["move"]), len(self._view.request["legal"])
        if number is None or not 1 <= number <= count:
            return _Choice(None, (), f"move must be a number from 1 to {count}", text), reasoning
        statements = self._read_statements(fields.get("say"))
        reason = "" if statements is not None else "statements"
        return _Choice(number - 1, statements or (), reason, text), reasoning

    def _read_statements(self, value: Any) -> tuple[Message, ...] | None:
        """Return the statements of an answer as the protocol has them; None if some aren't valid."""
        if not value or self._rules["talk"] == "off":
            return ()
        if not isinstance(value, list):
            return None
        statements: list[Message] = []
        for fields in value:
            statement = self._read_statement(fields) if isinstance(fields, dict) else None
            if statement is None:
                return None
            statements.append(statement)
        texts = sum("text" in statement for statement in statements)
        return tuple(statements) if len(statements) <= SAY_LIMIT and texts <= 1 else None

    def _read_statement(self, fields: Message) -> Message | None:
        """Return a statement as the protocol has it; None if it isn't valid."""
        game, kind = self._view.game, fields.get("says")
        if kind == "text":
            text = clean_text(self._client.redact(str(fields.get("text") or "")))
            return {"says": kind, "text": text} if self._rules["talk"] == "text" and text else None
        role, seats = fields.get("role"), {player.handle: player.seat for player in game.opponents}
        values = {
            "role": role if isinstance(role, str) and role in game.rules["deck"] else None,
            "target": seats.get(str(fields.get("player"))),
        }
        needed = STATEMENT_FIELDS.get(str(kind))
        if needed is None or any(values[name] is None for name in needed):
            return None
        return {"says": kind, **{name: values[name] for name in needed}}


class ModelTable:
    """The model players of a table, by name, with their client."""

    def __init__(self, players: Sequence[ModelPlayer], client: ModelClient) -> None:
        self._players = {player.name: player for player in players}
        self.client = client

    def start(self, spec: MatchSpec, bot: int) -> Box:
        """Start the model that is bot number `bot` of the spec."""
        return ModelSeat(self._players[spec.bots[bot]], self.client, spec).start()


def _describe_choice(choice: _Choice, attempt: int, legal: Sequence[Message], names: Sequence[str]) -> str:
    """Return what is done with an answer, as the journal has it. attempt: 1 or 2. legal: the moves. names: by seat."""
    if choice.move is not None:
        text = f"played: {describe_move(legal[choice.move], names)}"
        return f"{text}; its statements were dropped" if choice.reason else text
    can_ask_again = attempt == 1 and choice.reason not in _FINAL
    return f"{'asked again' if can_ask_again else 'default move'}: {choice.reason}"


def _read_number(value: Any) -> int | None:
    """Return an integer that an answer may have as a text; None for any other value."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 6:
        return int(value)
    return value if type(value) is int else None


def _find_object(text: str) -> Message | None:
    """Return the last JSON object with `move` in a text, None without one. An object within another doesn't count."""
    move_object, decoder = None, json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            fields, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            move_object = fields if "move" in fields else move_object
        start = text.find("{", end)
    return move_object


def _answer_form(player: ModelPlayer, roles: list[str], talk: str, handles: list[str]) -> Message:
    """Return the fields of a request that define the form of its answer; {} for a text. talk: of the ruleset."""
    settings = player.settings
    fields: Message = {"reasoning": {"type": "string"}} if settings.reasoning else {}
    fields["move"] = {"type": "integer"}
    if talk != "off":
        fields["say"] = {"type": "array", "items": _statement_schema(roles, talk, handles)}
    schema = _object_schema(fields)
    if settings.answer == "schema":
        json_schema = {"name": "move", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": json_schema}}
    if settings.answer == "tool":
        tool = {"name": "play", "description": "Play a move.", "parameters": schema, "strict": True}
        choice = {"type": "function", "function": {"name": "play"}}
        return {"tools": [{"type": "function", "function": tool}], "tool_choice": choice}
    return {}


def _statement_schema(roles: list[str], talk: str, handles: list[str]) -> Message:
    """Return the JSON schema of a statement at a table with these roles, talk and handles."""
    kinds = [kind.value for kind in StatementKind if kind is not StatementKind.TEXT or talk == "text"]
    fields: Message = {
        "says": {"type": "string", "enum": kinds},
        "role": {"type": ["string", "null"], "enum": [*roles, None]},
        "player": {"type": ["string", "null"], "enum": [*handles, None]},
    }
    if talk == "text":
        fields["text"] = {"type": ["string", "null"]}
    return _object_schema(fields)


def _object_schema(fields: Message) -> Message:
    """Return the JSON schema of an object with exactly these fields."""
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
