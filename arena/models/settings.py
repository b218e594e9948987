"""Read the settings of model players: the table [model] of bot.toml, the key, the prompt, and the file of the budget.

A key comes from an environment variable, or from a file that only its owner may read. It is in no settings object: it
stays in `ModelPlayer.key`, whose text form doesn't show it."""

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import httpx
from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arena.bots import MANIFEST, Bot, BotError, read_toml
from arena.escaping import escape_control

PROMPT = "prompt.jinja"
_MAX_PROMPT_BYTES = 1 << 18  # of the template
_MIN_KEY = 8  # characters; a shorter key can't be found and removed in texts
_OWN_FIELDS = frozenset({"messages", "model", "n", "response_format", "stream", "tool_choice", "tools"})
_MAX_TOKENS = 1_000_000_000  # of an answer; the price of far more is no float
Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def _require_endpoint(text: str) -> None:
    """Raise ValueError unless a text is an address of HTTP without secrets."""
    try:
        url = httpx.URL(text)
        is_address = url.scheme in ("http", "https") and url.host and 0 <= (url.port or 0) < 1 << 16
        url.raw_host.decode().encode("idna")  # which a connection does
    except (httpx.InvalidURL, ValueError):
        is_address = False
    if not is_address:
        raise ValueError("endpoint isn't an address such as http://localhost:11434/v1/chat/completions")
    if url.userinfo or url.query:
        raise ValueError("endpoint has a user, a password or a query: keys belong into key_env or key_file")


class ModelSettings(_Table):
    """The table [model] of bot.toml. docs/reference/models.md specifies its fields.

    `temperature` and `reasoning_effort` aren't sent if they are None. `extra`: further fields of the request.
    """

    endpoint: str
    model: str
    key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    key_file: str | None = None
    temperature: float | None = Field(None, ge=0, allow_inf_nan=False)
    reasoning_effort: str | None = None
    answer: Literal["schema", "tool", "text"] = "schema"
    history: Literal["summary", "conversation"] = "summary"
    reasoning: bool = True
    max_tokens: int = Field(4096, ge=1)
    timeout_s: float = Field(300.0, ge=1, le=3600)
    extra: dict[str, Any] = {}

    @model_validator(mode="after")
    def _require_possible_fields(self) -> "ModelSettings":
        """Raise ValueError unless the endpoint is an address without secrets, and the fields can be sent together."""
        _require_endpoint(self.endpoint)
        if self.key_env and self.key_file:
            raise ValueError("set one of key_env and key_file")
        if own_fields := sorted(_OWN_FIELDS & self.extra.keys()):
            raise ValueError(f"extra sets {', '.join(own_fields)}, which the arena sets itself")
        try:
            json.dumps(self.extra, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("extra contains a date, a time, inf or nan, which JSON doesn't have") from None
        if self.max_output_tokens > _MAX_TOKENS:
            raise ValueError(f"max_tokens is over {_MAX_TOKENS:,}")
        return self

    @property
    def max_output_tokens(self) -> int:
        """The most tokens of an answer, by whichever field the endpoint follows."""
        fields = (self.extra.get(name) for name in ("max_completion_tokens", "max_tokens"))
        return max([self.max_tokens, *(int(field) for field in fields if isinstance(field, int | float))])

    @property
    def key_name(self) -> str:
        """What the limits of a key are filed under: its variable or file, the endpoint without a key."""
        return self.key_env or self.key_file or self.endpoint


class Price(_Table):
    """Dollars for a million tokens: of prompts, of prompts that the provider has cached, and of answers."""

    input: Amount
    output: Amount
    cached: Amount | None = None

    def cost(self, prompt: int, output: int, cached: int = 0) -> float:
        """Return the price of a call in dollars. The arguments count tokens; `prompt` includes the cached ones."""
        cached_price = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * cached_price + output * self.output) / 1e6


class KeyLimits(_Table):
    """The provider's limits of a key, over all matches of a run."""

    requests_per_minute: int | None = Field(None, ge=1)
    tokens_per_minute: int | None = Field(None, ge=1)


class Budget(_Table):
    """The limits of a run with all its resumptions, from the file of --budget; None: no limit.

    calls, tokens, dollars: at most. patience_s: seconds to wait for a failing provider. prices: by model name. keys: by
    the value of key_env, key_file or, without a key, endpoint.
    """

    calls: Count = 1000
    tokens: Count | None = None
    dollars: Amount | None = None
    patience_s: Amount = 300.0
    prices: dict[str, Price] = {}
    keys: dict[str, KeyLimits] = {}


@dataclass(frozen=True, slots=True)
class ModelPlayer:
    """A model player: its name at the table, settings, prompt and key; the key is "" without one."""

    name: str
    settings: ModelSettings
    template: Template = field(repr=False)
    key: str = field(repr=False)

    def render(self, block: str, values: dict[str, Any]) -> str:
        """Return the text of a block of the prompt, "system" or "request", filled with `values`.

        Raises BotError if the template fails.
        """
        try:
            return "".join(self.template.blocks[block](self.template.new_context(values))).strip()
        except Exception as problem:  # whatever a template computes
            text = escape_control(f"{type(problem).__name__}: {problem}")
            raise BotError(f"{self.name}: {PROMPT} can't be filled in: {text}\nCorrect the prompt.") from None


Settings = TypeVar("Settings", bound=_Table)


def _validate(kind: type[Settings], data: object, source: str) -> Settings:
    """Return the data as settings. source: their file, for messages. Raises BotError at the first wrong field."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, details["loc"]))
        problem = details["msg"].removeprefix("Value error, ")
        text = f"{field}: {problem}" if field else problem
        fields = ", ".join(kind.model_fields)
        raise BotError(f"{escape_control(source)}: {escape_control(text)}.\nThe fields are {fields}.") from None


def read_budget(file: Path) -> Budget:
    """Return the content of a budget's file. Raises BotError, with problem and fix."""
    try:
        return _validate(Budget, read_toml(file, "calls = 1000"), str(file))
    except ValueError as problem:
        raise BotError(f"{escape_control(file)}: {problem}") from None
    except OSError as problem:
        raise BotError(f"{escape_control(file)} can't be read: {problem.strerror}.\nName another --budget.") from None


def load_player(bot: Bot, budget: Budget) -> ModelPlayer:
    """Return the player of a model's folder.

    Raises BotError if it can't play, or a budget of money lacks its price; ValueError and OSError like `read_settings`.
    """
    settings = read_settings(bot)
    if budget.dollars is not None and settings.model not in budget.prices:
        raise BotError(
            f'{bot.name}: the budget is in dollars, but has no price for "{escape_control(settings.model)}".\n'
            f'Add it: [prices."{escape_control(settings.model)}"], with input and output'
        )
    return ModelPlayer(bot.name, settings, _read_template(bot), _read_key(settings, _table_name(bot)))


def read_settings(bot: Bot) -> ModelSettings:
    """Return the settings of a model's folder.

    Raises BotError if [model] isn't valid, ValueError if bot.toml isn't TOML, OSError if it can't be read.
    """
    return _validate(ModelSettings, read_toml(bot.path / MANIFEST, "[model]").get("model"), _table_name(bot))


def _table_name(bot: Bot) -> str:
    return f"{bot.name}: [model] in {MANIFEST}"


def _read_template(bot: Bot) -> Template:
    """Return the template of a player's prompt file. Raises BotError if it isn't complete or too long."""
    file = bot.path / PROMPT
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_PROMPT_BYTES + 1)
        text = data.decode("utf-8-sig") if len(data) <= _MAX_PROMPT_BYTES else ""
        template = ImmutableSandboxedEnvironment(undefined=StrictUndefined).from_string(text)
    except OSError as problem:
        reason = problem.strerror or "it can't be read"
    except (UnicodeDecodeError, TemplateError, RecursionError) as problem:
        reason = str(problem)
    else:
        if {"system", "request"} <= template.blocks.keys():
            return template
        reason = f"it needs the blocks system and request, and at most {_MAX_PROMPT_BYTES >> 10} kB"
    raise BotError(
        f"{bot.name}: {PROMPT}: {escape_control(reason)}.\nCorrect it, or copy that of arena new NAME --lang model"
    )


def _read_key(settings: ModelSettings, table: str) -> str:
    """Return the key, "" if the settings name none. table: [model] with its file, for messages.

    Raises BotError, which never quotes the key.
    """
    if settings.key_env:
        key, source = os.environ.get(settings.key_env, ""), "the variable that key_env names"
        advice = "Set it in this shell, with its name for NAME: read -rs NAME && export NAME"
    elif settings.key_file:
        key, source = _read_key_file(settings.key_file, table), _KEY_FILE
        advice = "Write the key alone into it, then: chmod 600 FILE"
    else:
        return ""
    if len(key) < _MIN_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise BotError(f"{table}: {source} contains no key, which has {_MIN_KEY} or more characters.\n{advice}")
    return key


_KEY_FILE = "the file that key_file names"


def _read_key_file(name: str, table: str) -> str:
    """Return the content of a file without blanks, "" if it can't be read. Raises BotError if others may read it."""
    try:
        file = Path(name).expanduser()
        status = file.stat()
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BotError(f"{table}: others may read {_KEY_FILE}.\nRun: chmod 600 FILE")
        return file.read_text("utf-8").strip()
    except (OSError, ValueError, RuntimeError):  # also a NUL in the name, an unknown ~user
        return ""


def load_players(bots: Sequence[Bot], budget: Budget) -> list[ModelPlayer]:
    """Return the players of all bots that are models. Raises BotError if one can't play."""
    return [load_player(bot, budget) for bot in bots if bot.is_model]
