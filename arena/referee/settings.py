"""Define the settings of a match: rules, clocks, limits, and the cost of a fault.

All code that plays, stores or verifies a match shares these types; run.json and records are written by the same
`to_json`. The clock charges a bot's own time (process/clock.py): a loaded host causes no timeout, and sleeping isn't
free. Where the kernel doesn't report how long tasks wait for a core, the clock charges wall time."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from arena.coup import COUP, Ruleset, Talk, from_dict, to_dict
from arena.limits import LIMITS, LimitRule, Limits

UNTIMED_MS = 2**31 - 1  # free time that means no clock: 24 days; fits into 32 bits


@dataclass(frozen=True, slots=True)
class Timing:
    """Free time per request, time bank per game, and time to start, in ms; of own time if `own`, else of wall time.

    A `limit_ms` of UNTIMED_MS or more means no clock: the referee waits for an answer without a limit.

    `ponder`: bots may compute between their requests. Otherwise they are frozen, if the sandbox can freeze.
    """

    limit_ms: int = 500
    bank_ms: int = 10_000
    start_ms: int = 10_000
    own: bool = False
    ponder: bool = False

    @property
    def timed(self) -> bool:
        """Return whether there is a clock."""
        return self.limit_ms < UNTIMED_MS

    @classmethod
    def from_json(cls, payload: dict[str, Any]) -> "Timing":
        """Return the timing in a JSON object. Raises TypeError or ValueError for an invalid one."""
        return cls(**_values(cls, payload))


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """The settings of all bots and games of a match.

    `limits` apply to each bot's process. `lives`: faults in a game until the bot forfeits it. `forfeits`: forfeited
    games until the bot forfeits the rest of the match. `open_names`: bots play under their own names, not letters.
    """

    rules: Ruleset = COUP
    timing: Timing = field(default_factory=Timing)
    limits: Limits = field(default_factory=Limits)
    lives: int = 3
    forfeits: int = 3
    open_names: bool = False

    @property
    def flood_bytes(self) -> int:
        """The output limit of a bot between two requests, in bytes."""
        return int(self.limits.on_wire()["flood_bytes"])

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a JSON object, without `talk` if that is off, so that old records keep their bytes."""
        has_talk = self.rules.talk is not Talk.OFF
        return {
            "rules": {name: value for name, value in to_dict(self.rules).items() if name != "talk" or has_talk},
            "timing": asdict(self.timing),
            "limits": asdict(self.limits),
            "lives": self.lives,
            "forfeits": self.forfeits,
            "open_names": self.open_names,
        }

    @classmethod
    def from_json(cls, payload: dict[str, Any]) -> "MatchSettings":
        """Return the settings in a `to_json` object. Raises KeyError, TypeError or ValueError for an invalid one."""
        values = _values(cls, payload)
        values["rules"] = from_dict(values["rules"])
        values["timing"] = Timing.from_json(values["timing"])
        values["limits"] = Limits(**_values(Limits, values["limits"]))
        return cls(**values)


def _values(kind: type[MatchSettings] | type[Timing] | type[Limits], payload: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the payload. Raises ValueError unless it has exactly the class's fields, with their types."""
    names = kind.__dataclass_fields__.keys()
    if not isinstance(payload, dict) or payload.keys() != names:
        field_name = "terms" if kind is MatchSettings else kind.__name__.lower()
        raise ValueError(f"the fields of {field_name} are {', '.join(names)}")
    for name, value in payload.items():
        if not _has_type_of(kind.__dataclass_fields__[name].default, value):
            raise ValueError(f"{name} can't be {value!r:.40}")
    return dict(payload)


def _has_type_of(default: object, value: object) -> bool:
    """Return whether a JSON value has the type of a default: a bool, an integer or a number. True for other types."""
    if type(default) is float:
        return type(value) is int or (type(value) is float and math.isfinite(value))
    return type(default) not in (bool, int) or type(value) is type(default)


_DAY_MS = 86_400_000  # more is a typing error
_DEFAULT = Timing()
_TIMES = (
    LimitRule(_DEFAULT.limit_ms, 1, _DAY_MS, "ms", "Time per move, in ms.", field="limit_ms"),
    LimitRule(_DEFAULT.bank_ms, 0, _DAY_MS, "ms", "Time bank per game, in ms.", field="bank_ms"),
    LimitRule(_DEFAULT.start_ms, 1, _DAY_MS, "ms", "Time to start and say hello, in ms.", field="start_ms"),
)
TIME_LIMITS = {row.field: row for row in _TIMES}
SETTABLE_LIMITS = {**TIME_LIMITS, **LIMITS}  # by field: the limits that flags and a rules file can set
