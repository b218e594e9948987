"""Define the settings of a check of a bot, and the times that `arena check` uses."""

import math
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from arena.bots import Bot, BytecodeCache
from arena.checks.scripted_table import Timeouts
from arena.coup import PRESETS, Ruleset
from arena.referee import MatchSettings, Timing
from arena.sandbox import Sandbox, SandboxChoice

BUILD_S = 600  # limit of a build
HELLO_S = Timing().start_ms / 1000  # default limit of a match
ENDURANCE_S = 60.0  # after which a slow bot isn't asked further
PAUSE_S = 2.5  # once without a request: opponents that use their time bank take longer
TIMEOUTS = Timeouts(Timing().limit_ms / 1000, Timing().bank_ms / 1000)  # default limits of a match
LEAVE_S = 0.5  # as after match_over


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The settings of checks. `scratch`: a folder for builds; `rules`: the rulesets whose requests are tested.

    `hello_s`, `timeouts`: how long the checker waits. `seats`: of a table, None for two or three. `clock`: returns
    seconds; if it raises, the check ends. `lock`: held while boxes are started and closed. `silence_fails`: whether a
    smoke test fails at a timeout; false if a match would wait longer. `build_s`: limit of a build. `leave_s`: how long
    a process may run after the end of its input. `enough_s`: total response time of a process after which no further
    game begins. `endurance_s`: after the other steps, how long one process plays on, up to the requests of a match; 0:
    not at all. `pause_s`: how long that process is left alone once. `progress_s`: between two reports of progress.
    `idle_s`: maximum silence without CPU time. `on_build`: called before a build. `bytecode`: the cache of compiled
    modules. `root`: the folder of relative paths; if it is absolute, steps don't contain it.
    """

    sandbox: Sandbox
    choice: SandboxChoice
    scratch: Path
    match_settings: MatchSettings = field(default_factory=MatchSettings)
    rules: tuple[Ruleset, ...] = tuple(PRESETS.values())
    hello_s: float = HELLO_S
    timeouts: Timeouts = TIMEOUTS
    seats: int | None = None
    silence_fails: bool = True
    build_s: float = BUILD_S
    leave_s: float = LEAVE_S
    enough_s: float = math.inf
    idle_s: float = math.inf
    endurance_s: float = 0.0
    pause_s: float = 0.0
    progress_s: float = 2.0
    root: Path = Path()
    clock: Callable[[], float] = time.monotonic
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
    on_build: Callable[[Bot], None] = lambda bot: None
    bytecode: BytecodeCache = field(default_factory=BytecodeCache)

    def quote(self, printed: bytes) -> bytes:
        """Return a program's output with paths below `root` made relative."""
        return printed.replace(os.fsencode(self.root) + b"/", b"") if self.root.is_absolute() else printed
