"""Read ladder.toml: what an organiser may change during a term. Each command reads it again; forms change it.

What is played (rules, limits, seats, sandbox, key) isn't here but in the database, since results under other terms
couldn't be compared.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

SETTINGS_FILE = "ladder.toml"

# What Canvas' import takes for a column of its own, wherever it stands in a title or as the whole of it.
_CANVAS_OWN = re.compile(
    r"(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)|^(Student|ID|SIS (User|Login) ID|Section)$"
)

# Optional tables: a new ladder.toml shows them as comments.
_OPTIONAL_TABLES = """
# [sign_in]
# issuer = "https://id.example.org"
# client_id = "coup"
# client_secret_file = "secret"  # next to this file

# [[deadlines]]
# name = "first"
# at = 2026-12-01T23:59:00+01:00

# [[baselines]]
# name = "beats honest"
# points = 40
# beats = "honest"
#
# [[baselines]]
# name = "plays"
# points = 30
# min_games = 240
# max_fault_percent = 1.0
#
# [[baselines]]
# name = "wins a quarter"
# points = 30
# min_win_rate_percent = 25.0
"""


class LadderError(Exception):
    """The ladder rejects a request. The message has one or two lines: the reason and a remedy."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _require_known_keys(cls, values: Any) -> Any:
        for key in values if isinstance(values, dict) else ():
            if key not in cls.model_fields:
                raise ValueError(f'unknown key "{key}"; the keys are {", ".join(cls.model_fields)}')
        return values

    @field_validator("*")
    @classmethod
    def _require_printable(cls, value: Any) -> Any:
        """Reject control and bidirectional characters: texts reach pages, logs and spreadsheets."""
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        if isinstance(text, str | Path) and not str(text).isprintable():
            raise ValueError("a text must be printable, and on one line")
        return value


class CourseSettings(_Table):
    """How the ladder's pages name the course."""

    title: Annotated[str, Field(max_length=60, description="Title on all pages; if empty, the folder's name.")] = ""
    logo: Annotated[str, Field(max_length=2, description="One or two characters, drawn as the icon.")] = ""
    contact: Annotated[str, Field(max_length=100, description="Person or address for questions about grades.")] = ""

    @field_validator("title", "logo", "contact")
    @classmethod
    def _require_stripped(cls, text: str) -> str:
        if text != text.strip():
            raise ValueError("a text has no spaces at its ends")
        return text


class QuotaSettings(_Table):
    """Daily limits for each user or team. A day ends at midnight UTC."""

    max_bots_per_user: Annotated[int, Field(ge=1, le=1000, description="Bots of a user or team.")] = 1
    max_submissions_per_day: Annotated[
        int, Field(ge=1, le=10_000, description="Submissions of a user or team each day.")
    ] = 10
    max_challenges_per_day: Annotated[
        int, Field(ge=0, le=10_000, description="Challenges of a user or team each day.")
    ] = 10
    max_team_members: Annotated[
        int,
        Field(ge=0, le=1000, description="Members of a team that users form themselves; 0: only staff forms teams."),
    ] = 0
    max_upload_mb: Annotated[int, Field(ge=1, le=512, description="Size of an upload, in MB.")] = 16


class AutoDisableSettings(_Table):
    """When the ladder disables a version that keeps forfeiting."""

    after_matches: Annotated[
        int, Field(ge=1, le=1_000_000, description="Consecutive matches in which it forfeited a game.")
    ] = 5


class SubmissionCheckSettings(_Table):
    """Limits of the check of a submission."""

    build_timeout_seconds: Annotated[int, Field(ge=1, le=3600, description="Time limit of a build, in seconds.")] = 120
    endurance_seconds: Annotated[
        int,
        Field(ge=0, le=600, description="After the other steps, play on for as long, up to 700 requests; 0: don't."),
    ] = 60


class ChatMode(StrEnum):
    """When users at tables may chat, in ascending order of freedom. The lobby's chat is off only with OFF."""

    label: str  # on the form that opens a table

    OFF = "off", "off"
    BETWEEN = "between", "before and after games"
    ALWAYS = "always", "also during games"

    def __new__(cls, value: str, label: str = "") -> Self:
        mode = str.__new__(cls, value)
        mode._value_, mode.label = value, label
        return mode


class RetentionSettings(_Table):
    """How long files are kept. Results and the records of finals are kept forever."""

    records_days: Annotated[
        int, Field(ge=1, le=36_500, description="Days for records, and the bots' statistics in them.")
    ] = 400
    logs_days: Annotated[int, Field(ge=1, le=36_500, description="Days for the bots' standard error.")] = 60
    events_days: Annotated[int, Field(ge=1, le=36_500, description="Days for the event log.")] = 30
    chat_days: Annotated[int, Field(ge=1, le=36_500, description="Days for lines of chat.")] = 30


class UserTableSettings(_Table):
    """Live tables for users, guests and remote bots. Their matches aren't rated."""

    allow_guests: Annotated[
        bool, Field(description="Whether guests play: visitors without an account, under a name.")
    ] = False
    chat: Annotated[
        ChatMode, Field(description="Chat in the lobby and, at most, at tables: `off`, `between` games, or `always`.")
    ] = ChatMode.OFF
    max_per_user: Annotated[int, Field(ge=1, le=1000, description="Open tables of a user.")] = 2
    max_total: Annotated[int, Field(ge=0, le=10_000, description="Open tables in all; 0 turns live tables off.")] = 20
    pace: Annotated[
        Literal["slow", "normal", "fast", "instant"],
        Field(description="How long events are shown to players who choose no pace."),
    ] = "normal"
    min_window_seconds: Annotated[
        float, Field(ge=0, le=10, description="Least seconds of each question, so that a quick answer reveals nothing.")
    ] = 1.0


class WebSettings(_Table):
    """The pages that `arena ladder serve` shows."""

    public: Annotated[bool, Field(description="Whether visitors can read the pages without signing in.")] = False
    banner: Annotated[str, Field(max_length=200, description="A line of text on all pages.")] = ""
    base_url: Annotated[
        Annotated[str, Field(pattern=r"^https?://[^/?#@\s]+$")] | None,
        Field(description="The public address, if a proxy serves the pages.", examples=["https://coup.example.org"]),
    ] = None


class OpenIDSettings(_Table):
    """An OpenID Connect provider for signing in, in addition to links and passwords."""

    issuer: Annotated[
        str,
        Field(
            pattern=r"^(https://|http://(127\.0\.0\.1|localhost)[:/])[^?#@\s]+$", description="The provider's address."
        ),
    ]
    client_id: Annotated[str, Field(min_length=1, description="The ladder's ID at the provider.")]
    client_secret: Annotated[SecretStr, Field(min_length=1, description="The ladder's secret.")] | None = None
    client_secret_file: Path | None = Field(None, description="A file with the secret, instead of `client_secret`.")

    @model_validator(mode="after")
    def _require_one_secret(self) -> "OpenIDSettings":
        if (self.client_secret is None) == (self.client_secret_file is None):
            raise ValueError("sign_in needs exactly one of client_secret and client_secret_file")
        return self

    def secret(self, folder: Path) -> str:
        """Return the client's secret; a secret file's path is relative to the ladder's folder.

        Raises LadderError if that file can't be read.
        """
        if self.client_secret is not None:
            return self.client_secret.get_secret_value()
        try:
            return (folder / str(self.client_secret_file)).read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError):
            raise LadderError(
                f"{SETTINGS_FILE}: sign_in.client_secret_file can't be read.\nCheck its path and permissions."
            ) from None


class Deadline(_Table):
    """A deadline. It closes after its grace period."""

    name: Annotated[
        str,
        Field(pattern="^[A-Za-z0-9_-]{1,40}$", description="Its name in commands and pages: letters, digits, - and _."),
    ]
    at: Annotated[AwareDatetime, Field(description="Its end, with a zone: 2026-12-01T23:59:00+01:00.")]
    grace_minutes: (
        Annotated[int, Field(ge=0, le=366 * 24 * 60, description="Minutes of grace, by default those of lateness.")]
        | None
    ) = None
    measured_hours: (
        Annotated[
            int,
            Field(ge=0, le=8784, description="Hours after it closes in which games count for grades, by default all."),
        ]
        | None
    ) = None

    @field_validator("at")
    @classmethod
    def _require_likely_year(cls, end: datetime) -> datetime:
        if not 1970 <= end.year <= 2999:
            raise ValueError("the year must be 1970 to 2999")
        return end

    @property
    def closes(self) -> float:
        """Return the end of the grace period, in seconds since 1970."""
        return self.at.timestamp() + 60 * (self.grace_minutes or 0)

    @property
    def measured_until(self) -> float | None:
        """Return until when games count for versions in time, in seconds since 1970; None without a limit."""
        return None if self.measured_hours is None else self.closes + 3600 * self.measured_hours


class LatePolicy(_Table):
    """Which submissions count after a deadline, and what they cost."""

    grace_minutes: Annotated[
        int, Field(ge=0, le=366 * 24 * 60, description="Minutes of grace: marked as late, without a penalty.")
    ] = 0
    accept_late_days: Annotated[
        int, Field(ge=0, le=366, description="Days after the grace in which a user's first version counts.")
    ] = 0
    penalty_percent_per_day: Annotated[
        float, Field(ge=0, le=100, description="Percent of the points reached, for each day begun after the grace.")
    ] = 0.0
    max_penalty_percent: Annotated[float, Field(ge=0, le=100, description="Largest penalty, in percent.")] = 100.0
    late_days: Annotated[int, Field(ge=0, le=366, description="Free late days of each user, over all deadlines.")] = 0


class Baseline(_Table):
    """A requirement that earns points. It has a bot to beat, a number of games or a win rate, exactly one of them."""

    name: Annotated[str, Field(min_length=1, max_length=60, description="Its name in grades.")]
    points: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False, description="Points for passing it.")]
    beats: str | None = Field(None, description="The bot to beat: its win rate must be lower, with 95 % confidence.")
    min_games: (
        Annotated[int, Field(ge=1, le=1_000_000_000, description="Least number of rated games of the bot.")] | None
    ) = None
    max_fault_percent: (
        Annotated[float, Field(gt=0, le=100, description="Percentage of its games with a fault: it must be lower.")]
        | None
    ) = None
    min_win_rate_percent: (
        Annotated[
            float,
            Field(gt=0, le=100, description="Least adjusted win rate in percent, as against all bots equally often."),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _require_one_requirement(self) -> "Baseline":
        """Raise ValueError unless the baseline asks for exactly one thing, and for few faults only with games."""
        requirements = [self.beats, self.min_games, self.min_win_rate_percent]
        if sum(requirement is not None for requirement in requirements) != 1:
            raise ValueError(
                "beats: a baseline needs exactly one of a bot to beat, a number of games"
                " (min_games) and a win rate (min_win_rate_percent)"
            )
        if self.max_fault_percent is not None and self.min_games is None:
            raise ValueError("max_fault_percent: it requires a number of games (min_games)")
        return self


class GradingSettings(_Table):
    """The gradebook that `arena ladder grades` writes."""

    gradebook_column: Annotated[
        str,
        Field(
            max_length=60,
            pattern=r"^[^()=+@-][^()]*( \(\d+\))?$",
            description="Title of the column, in Canvas with the assignment's ID if you like: `Coup (1234)`.",
        ),
    ] = "Coup"

    @field_validator("gradebook_column")
    @classmethod
    def _require_canvas_title(cls, title: str) -> str:
        if title != title.strip():
            raise ValueError("a title has no spaces at its ends")
        name = _CANVAS_OWN.search(title)
        if name:
            raise ValueError(f'Canvas ignores a column with "{name.group(0)}" in its title')
        return title


class LadderSettings(_Table):
    """The contents of ladder.toml."""

    database: Annotated[str, Field(description="The database: SQLite or PostgreSQL.")] = "sqlite:///ladder.db"
    course: CourseSettings = CourseSettings()
    quotas: QuotaSettings = QuotaSettings()
    auto_disable: AutoDisableSettings = AutoDisableSettings()
    checks: SubmissionCheckSettings = SubmissionCheckSettings()
    retention: RetentionSettings = RetentionSettings()
    tables: UserTableSettings = UserTableSettings()
    web: WebSettings = WebSettings()
    sign_in: OpenIDSettings | None = None
    deadlines: tuple[Deadline, ...] = ()
    lateness: LatePolicy = LatePolicy()
    grades: GradingSettings = GradingSettings()
    baselines: tuple[Baseline, ...] = ()

    def deadline(self, name: str) -> Deadline:
        """Return the deadline of a name. Raises LadderError if it doesn't exist."""
        for deadline in self.deadlines:
            if deadline.name == name:
                return deadline
        names = ", ".join(deadline.name for deadline in self.deadlines) or "none"
        raise LadderError(f'{SETTINGS_FILE} has no deadline "{name}".\nIts deadlines: {names}')


def read_settings(folder: Path) -> LadderSettings:
    """Return the content of the ladder.toml in a ladder's folder.

    Raises LadderError if the file is missing, can't be read or isn't valid.
    """
    path = folder / SETTINGS_FILE
    try:
        text = path.read_text(encoding="utf-8-sig")  # -sig: Windows editors write a byte order mark
    except (FileNotFoundError, NotADirectoryError):
        raise LadderError(
            f"{folder} isn't a ladder: it has no {SETTINGS_FILE}.\n"
            f"Create a ladder: arena ladder init {shlex.quote(str(folder))}"
        ) from None
    except OSError as error:
        raise LadderError(f"{path} can't be read: {error.strerror}.\nCheck its permissions.") from None
    except UnicodeDecodeError as error:
        raise LadderError(f"{path} isn't valid TOML: {error}.\nCorrect this line.") from None
    return parse_settings(text, path)


@lru_cache(maxsize=16)
def parse_settings(text: str, path: Path) -> LadderSettings:
    """Return the settings in the text of a ladder.toml; `path` is for messages.

    A deadline without `grace_minutes` gets those of `lateness`. Raises LadderError if the text isn't valid.
    """
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is no TOMLDecodeError
        raise LadderError(f"{path} isn't valid TOML: {error}.\nCorrect this line.") from None
    try:
        settings = LadderSettings.model_validate(values)
    except ValidationError as error:
        problem = _describe_validation_error(error)
        raise LadderError(f"{path}: {problem}.\ndocs/reference/ladder-toml.md lists all settings.") from None
    _require_different_names(path, "deadlines", [deadline.name for deadline in settings.deadlines])
    _require_different_names(path, "baselines", [baseline.name for baseline in settings.baselines])
    deadlines = tuple(_fill_in_grace(deadline, settings.lateness) for deadline in settings.deadlines)
    return settings.model_copy(update={"deadlines": deadlines})


def _fill_in_grace(deadline: Deadline, lateness: LatePolicy) -> Deadline:
    """Return a deadline with minutes of grace. Its `model_fields_set` still tells whether the file sets them."""
    if deadline.grace_minutes is not None:
        return deadline
    return Deadline.model_construct(
        deadline.model_fields_set, **{**dict(deadline), "grace_minutes": lateness.grace_minutes}
    )


_PATTERNS = {  # of texts, in words
    "name": "use 1 to 40 letters, digits, - and _, without spaces",
    "base_url": "use an address without a path, such as https://coup.example.org",
    "issuer": "use an address that begins with https://",
    "gradebook_column": "use parentheses only for the assignment's ID at the end, and begin with a letter or digit",
}


def _describe_validation_error(error: ValidationError) -> str:
    """Return the first problem as text, after its place in the file."""
    problem = error.errors()[0]
    location = f"{'.'.join(map(str, problem['loc']))}: " if problem["loc"] else ""
    text = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "string_pattern_mismatch":  # a regular expression is no help
        text = _PATTERNS.get(str(problem["loc"][-1]), text)
    return f"{location}{text}"


def _require_different_names(path: Path, kind: str, names: Sequence[str]) -> None:
    """Raise LadderError if two items of a kind, such as "deadlines", have the same name."""
    for name in names:
        if names.count(name) > 1:
            raise LadderError(f'{path}: name: two {kind} are called "{name}".\nGive each a different name.')


def new_settings(url: str) -> str:
    """Return the text of a new ladder.toml: each setting with its default, and optional tables as comments."""
    lines = ["# Settings that may change while the ladder runs. `arena ladder init` fixed the rules and limits."]
    lines.append('database = ""')
    for name, table in LadderSettings.model_fields.items():
        if isinstance(table.default, _Table):
            lines += ["", f"[{name}]"]
            for key, field in type(table.default).model_fields.items():
                value = json.dumps(field.examples[0] if field.examples else field.default)
                lines.append(f"{'# ' if field.examples else ''}{key} = {value}  # {describe_setting(field)}")
    return with_database("\n".join(lines) + "\n" + _OPTIONAL_TABLES, url)


def describe_setting(field: FieldInfo) -> str:
    """Return the description of a setting, which may be a field's or one within its type.

    Raises StopIteration without one.
    """
    metadata = (item for type in get_args(field.annotation) for item in getattr(type, "__metadata__", ()))
    fields = (field, *(item for item in metadata if isinstance(item, FieldInfo)))
    return next(candidate.description for candidate in fields if candidate.description)


def with_database(text: str, url: str) -> str:
    """Return the text of a ladder.toml with another database URL."""
    top, bracket, tables = text.partition("\n[")
    setting = f"database = {json.dumps(url, ensure_ascii=False)}"  # TOML has no pairs of surrogates
    new_top, count = re.subn(r"(?m)^\s*database\s*=.*$", lambda _: setting, top)
    return (new_top if count else f"{setting}\n{top}") + bracket + tables
