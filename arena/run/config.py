"""Define the config of a run, as run.json stores it.

Everything that a run's key determines (plan, seats, cards) is computed from the config again, so run.json is all that
`--resume` needs in addition to the results.
"""

import functools
import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Self

from arena import __version__
from arena.bots import Bot
from arena.coup import derive_key
from arena.referee import UNTIMED_MS, MatchSettings, MatchSpec, Timing
from arena.run.run_folder import FolderError, ResultSource
from arena.sandbox import SandboxChoice
from arena.schedule import MatchPlan, draw_seat_orders, keyed_shuffle, plan_matches

VERSION = 8  # of run.json
# What code may raise that takes values of the wrong types and sizes, from JSON that someone has changed.
INVALID_DATA_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

# The cost of scrypt, so that a bot can't find the seed by trying seeds until one gives its `bot_seed`: a seed needs
# 288 MiB, more than a bot has by default, and 1.4 s (measured). With less memory it takes longer.
_STRETCH_N, _STRETCH_R = 2**18, 9


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The settings of a run. `games`: as requested; `seed`: None if the key was drawn at random.

    `skipped`: (name, reason) of each requested bot that can't play.
    """

    COMMAND: ClassVar[str] = "run"  # the command that starts and resumes the run

    bots: tuple[Bot, ...]
    seats: int
    games: int
    match_games: int
    key: bytes
    seed: int | None = None
    settings: MatchSettings = field(default_factory=MatchSettings)
    sandbox: SandboxChoice = field(default_factory=SandboxChoice)
    skipped: tuple[tuple[str, str], ...] = ()

    def plan(self) -> MatchPlan:
        """Return the schedule of matches. Raises ValueError, with the allowed values, if no schedule is possible."""
        return _cached_plan(len(self.bots), self.seats, self.games, self.match_games, self.key)

    def spec(self, match: int, bots: Sequence[int]) -> MatchSpec:
        """Return the spec of a match between these bots, given by their indices in `bots`.

        Language models have no clock; without one at the table, all bots share the settings' timing.
        """
        key, common_timing = self.key_of(match), self.settings.timing
        untimed = Timing(limit_ms=UNTIMED_MS, bank_ms=0, ponder=common_timing.ponder)
        timings = tuple(untimed if self.bots[bot].is_model else common_timing for bot in bots)
        return MatchSpec(
            match=match,
            key=key,
            bots=tuple(self.bots[bot].name for bot in bots),
            seatings=draw_seat_orders(key, self.seats, self.match_games),
            settings=self.settings,
            timings=timings if untimed in timings else (),
            digests=tuple(self.bots[bot].digest for bot in bots),
        )

    def key_of(self, match: int) -> bytes:
        return derive_key(self.key, f"match|{match}")

    def is_decided(self, stored: ResultSource) -> bool:
        """Return whether the stored matches make the rest of the plan needless."""
        return False

    def to_json(self) -> dict[str, Any]:
        return {
            "run": VERSION,
            "command": self.COMMAND,
            "arena": __version__,
            **{"terms" if name == "settings" else name: value for name, value in asdict(self).items()},
            "key": self.key.hex(),
            "terms": self.settings.to_json(),
            "bots": [bot.to_json() for bot in self.bots],
        }

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> Self:
        """Return the config from the content of run.json. Raises FolderError for another version or invalid data."""
        command = config.get("command", "run")
        if command != cls.COMMAND:
            raise FolderError(
                f"this is a folder of arena {command}, not of arena {cls.COMMAND}: resume it with arena {command} "
                "--resume, or name another folder"
            )
        if config.get("run") != VERSION:
            raise FolderError(
                f"run.json has version {config.get('run')!r}, but this arena reads version {VERSION}: "
                f"resume it with arena {config.get('arena')!r}"
            )
        try:
            values = {row.name: config[row.name] for row in fields(cls) if row.name != "settings"}
            values["key"] = bytes.fromhex(config["key"])
            values["settings"] = MatchSettings.from_json(config["terms"])
            values["sandbox"] = SandboxChoice.from_json(config["sandbox"])
            values["skipped"] = tuple((name, reason) for name, reason in config["skipped"])
            values["bots"] = tuple(Bot.from_json(bot) for bot in config["bots"])
            run_config = cls(**values)
            run_config.plan()
            if not isinstance(run_config.seed, int | None):
                raise TypeError(f"seed {run_config.seed!r}")
        except INVALID_DATA_ERRORS as problem:
            raise FolderError(f"run.json was changed: {problem!r}; start a new run") from None
        return run_config


@functools.lru_cache(maxsize=2)  # a long plan takes seconds, and is needed for its announcement and for playing
def _cached_plan(bots: int, seats: int, games: int, match_games: int, key: bytes) -> MatchPlan:
    return plan_matches(bots, seats, games, match_games, keyed_shuffle(key, "schedule"))


def seed_key(seed: int | None) -> bytes:
    """Return the key of a run, 32 bytes: derived from the seed by scrypt, or random if it is None.

    The salt is fixed, because the seed alone must reproduce a run: so the keys of likely seeds can be computed in
    advance.
    """
    return os.urandom(32) if seed is None else _stretch_seed(seed)


@functools.cache  # a run that is planned again without some bots has the same key
def _stretch_seed(seed: int) -> bytes:
    return hashlib.scrypt(
        f"coup-arena seed {seed}".encode(),
        salt=b"coup-arena",
        n=_STRETCH_N,
        r=_STRETCH_R,
        p=1,
        maxmem=256 * _STRETCH_N * _STRETCH_R,  # scrypt uses 128 * n * r bytes
        dklen=32,
    )
