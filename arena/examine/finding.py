"""What was looked at, what was found, and what to do: of a bot, of this host, of a ladder."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding weighs, the weightiest first."""

    FAIL = "fail"  # needs a hand: the bot can't play, the run can't begin
    WARN = "warn"  # bots of strangers need it
    OK = "ok"
    NOTE = "note"  # good to know
    NOW = "now"  # it is being looked at


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. Its texts may hold what a bot or a stranger wrote: whoever prints them escapes them first.

    what: what was looked at. mend: a command for a person to run, "" where none mends it. do: what to do, in words.
    """

    what: str
    level: Level
    text: str
    mend: str = ""
    do: str = ""
