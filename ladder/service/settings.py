"""Read ladder.toml: what an organiser may change during a term. Each command reads it again, and none writes it.

What is played (rules, limits, seats, sandbox, key) isn't here but in the database, since results under other terms
couldn't be compared.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

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

SETTINGS_FILE = "ladder.toml"

# What Canvas' import takes for a column of its own, wherever it stands in a title or as the whole of it.
_CANVAS_OWN = re.compile(
    r"(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)|^(Student|ID|SIS (User|Login) ID|Section)$"
)

SETTINGS_TEMPLATE = """\
# What may be changed while the ladder runs. What is played was fixed by arena ladder init.
database = ""

[quotas]
max_bots_per_user = 1       # each with one version that plays
max_submissions_per_day = 10  # of a user; a day ends at midnight UTC
max_challenges_per_day = 10
max_upload_mb = 16

[auto_disable]
after_matches = 5           # a version is disabled after forfeiting games in this many matches in a row

[checks]
build_timeout_seconds = 120

[retention]                 # results are kept forever
records_days = 400
logs_days = 60
events_days = 30

[tables]                    # for people and remote bots; not rated
allow_guests = false        # true: users of a link play under a name of their own, without an account
max_per_user = 2            # open tables of a user
max_total = 20              # open tables; 0 allows none
min_move_display_seconds = 0.8  # how long people see a move before the match continues
min_window_seconds = 1.0    # how long each person is asked, so that a quick answer reveals nothing

[web]                       # what arena ladder serve shows
public = false              # true: pages are readable without signing in
# base_url = "https://coup.example.org"    # the address behind a proxy

# [sign_in]                 # by a provider of OpenID Connect, in addition to links and passwords
# issuer = "https://id.example.org"
# client_id = "coup"
# client_secret_file = "secret"       # next to this file; or client_secret = "..."

# [[deadlines]]
# name = "first"
# at = 2026-12-01T23:59:00+01:00
# grace_minutes = 15        # else those of [lateness]

[lateness]                  # submissions after a deadline
grace_minutes = 0           # shown as late, without a penalty
accept_late_days = 0        # days after the grace in which a version counts for users without an earlier one
penalty_percent_per_day = 0  # of the points reached, for each day begun after the grace
max_penalty_percent = 100
late_days = 0               # free late days of each user, over all deadlines

[grades]
gradebook_column = "Coup"   # title of the column

# What a bot has to reach, and the points for it. Each asks for one thing: to beat a bot, to play games, or a share.
# [[baselines]]
# name = "beats honest"
# points = 40
# beats = "honest"          # its share of wins is above honest's: the lower end of the 95 % interval of the difference
#
# [[baselines]]
# name = "plays"
# points = 30
# games = 240
# faults_percent = 1.0      # of its games, fewer than this have a fault
#
# [[baselines]]
# name = "wins a quarter"
# points = 30
# share_percent = 25.0      # of all games, if it met all others equally often
"""


class LadderError(Exception):
    """A ladder can't do what was asked. The message says in one or two lines why, and what to do."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _has_known_keys(cls, values: Any) -> Any:
        for key in values if isinstance(values, dict) else ():
            if key not in cls.model_fields:
                raise ValueError(f'there is no key "{key}" here; the keys are {", ".join(cls.model_fields)}')
        return values


class QuotaSettings(_Table):
    """How much an owner may ask for."""

    max_submissions_per_day: Annotated[int, Field(ge=1)] = 10
    max_challenges_per_day: Annotated[int, Field(ge=0)] = 10
    max_bots_per_user: Annotated[int, Field(ge=1)] = 1
    max_upload_mb: Annotated[int, Field(ge=1, le=512)] = 16


class AutoDisableSettings(_Table):
    """When a version that forfeits doesn't play on."""

    after_matches: Annotated[int, Field(ge=1)] = 5


class SubmissionCheckSettings(_Table):
    """How long what a submission brings along may take."""

    build_timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 120


class RetentionSettings(_Table):
    """For how many days what doesn't rate is kept."""

    records_days: Annotated[int, Field(ge=1)] = 400
    logs_days: Annotated[int, Field(ge=1)] = 60
    events_days: Annotated[int, Field(ge=1)] = 30


class UserTableSettings(_Table):
    """Whether guests may play at tables with people, and how many tables are open at a time."""

    allow_guests: bool = False
    max_per_user: Annotated[int, Field(ge=1)] = 2
    max_total: Annotated[int, Field(ge=0)] = 20
    min_move_display_seconds: Annotated[float, Field(ge=0, le=10)] = 0.8
    min_window_seconds: Annotated[float, Field(ge=0, le=10)] = 1.0


class WebSettings(_Table):
    """Whether the ladder's pages are public, and their address."""

    public: bool = False
    base_url: Annotated[str, Field(pattern=r"^https?://[^/?#@\s]+$")] | None = None


class OpenIDSettings(_Table):
    """The OpenID Connect provider that identifies users."""

    issuer: Annotated[str, Field(pattern=r"^(https://|http://(127\.0\.0\.1|localhost)[:/])[^?#@\s]+$")]
    client_id: Annotated[str, Field(min_length=1)]
    client_secret: Annotated[SecretStr, Field(min_length=1)] | None = None
    client_secret_file: Path | None = None

    @model_validator(mode="after")
    def _has_one_secret(self) -> "OpenIDSettings":
        if (self.client_secret is None) == (self.client_secret_file is None):
            raise ValueError("sign_in has one of client_secret and client_secret_file")
        return self

    def secret(self, folder: Path) -> str:
        """Return the client's secret; a file's path counts from the ladder's folder. Raises LadderError."""
        if self.client_secret is not None:
            return self.client_secret.get_secret_value()
        try:
            return (folder / str(self.client_secret_file)).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise LadderError(f"{SETTINGS_FILE}: sign_in.client_secret_file can't be read.") from None


class Deadline(_Table):
    """A time by which versions are submitted; what comes up to `grace_minutes` later counts, and is called late.

    grace_minutes: None: those of [lateness], which `read_settings` fills in.
    """

    name: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,40}$")]
    at: AwareDatetime
    grace_minutes: Annotated[int, Field(ge=0)] | None = None

    @property
    def closes(self) -> float:
        """Return when the last version that counts may come, in seconds since 1970."""
        return self.at.timestamp() + 60 * (self.grace_minutes or 0)


class LatePolicy(_Table):
    """What comes after a deadline: how long it counts, and what it costs."""

    grace_minutes: Annotated[int, Field(ge=0)] = 0
    accept_late_days: Annotated[int, Field(ge=0, le=366)] = 0
    penalty_percent_per_day: Annotated[float, Field(ge=0, le=100)] = 0.0
    max_penalty_percent: Annotated[float, Field(ge=0, le=100)] = 100.0
    late_days: Annotated[int, Field(ge=0)] = 0


class Baseline(_Table):
    """What a bot has to reach, and the points for it. It asks for one thing: `beats`, `games` or `share_percent`."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    points: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    beats: str | None = None
    games: Annotated[int, Field(ge=1)] | None = None
    faults_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    share_percent: Annotated[float, Field(gt=0, le=100)] | None = None

    @model_validator(mode="after")
    def _asks_for_one_thing(self) -> "Baseline":
        asked = [self.beats, self.games, self.share_percent]
        if sum(each is not None for each in asked) != 1:
            raise ValueError("a baseline asks for one of beats, games and share_percent")
        if self.faults_percent is not None and self.games is None:
            raise ValueError("faults_percent goes with games")
        if not self.name.isprintable():
            raise ValueError("a name has to be printable")
        return self


class GradingSettings(_Table):
    """How grades are released."""

    gradebook_column: Annotated[str, Field(max_length=60, pattern=r"^[^()=+@-][^()]*( \(\d+\))?$")] = "Coup"

    @field_validator("gradebook_column")
    @classmethod
    def _is_a_title_that_canvas_takes(cls, title: str) -> str:
        if title != title.strip() or not title.isprintable():
            raise ValueError("a title is printable, without a space at its ends")
        found = _CANVAS_OWN.search(title)
        if found:
            raise ValueError(f'Canvas takes no grades from a column with "{found.group(0)}" in its title')
        return title


class LadderSettings(_Table):
    """What ladder.toml says."""

    database: str = "sqlite:///ladder.db"
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
        """Return the deadline of a name. Raises LadderError."""
        for deadline in self.deadlines:
            if deadline.name == name:
                return deadline
        known = ", ".join(deadline.name for deadline in self.deadlines) or "none"
        raise LadderError(f'there is no deadline "{name}" in {SETTINGS_FILE}.\nThere are: {known}.')


def read_settings(folder: Path) -> LadderSettings:
    """Return what the ladder.toml of a ladder's folder says. Raises LadderError."""
    path = folder / SETTINGS_FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise LadderError(
            f"{folder} holds no ladder: it has no {SETTINGS_FILE}.\nMake one: arena ladder init {folder}"
        ) from None
    except OSError as problem:
        raise LadderError(f"{path} can't be read: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise LadderError(f"{path} is no TOML: {problem}") from None
    try:
        settings = LadderSettings.model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
        text = first["msg"].removeprefix("Value error, ")
        raise LadderError(f"{path}: {where}{text}.\nSee docs/ladder.md.") from None
    for what, names in (
        ("deadlines", [deadline.name for deadline in settings.deadlines]),
        ("baselines", [baseline.name for baseline in settings.baselines]),
    ):
        for name in names:
            if names.count(name) > 1:
                raise LadderError(f'{path} has two {what} "{name}".\nGive each a name of its own.')
    grace = {"grace_minutes": settings.lateness.grace_minutes}
    those = (each if each.grace_minutes is not None else each.model_copy(update=grace) for each in settings.deadlines)
    return settings.model_copy(update={"deadlines": tuple(those)})


def with_database(text: str, url: str) -> str:
    """Return the text of a ladder.toml that names another database; all else of it stays."""
    top, bracket, tables = text.partition("\n[")
    line = f"database = {json.dumps(url)}"
    top, count = re.subn(r"(?m)^\s*database\s*=.*$", lambda _: line, top, count=1)
    return (top if count else f"{line}\n{top}") + bracket + tables
