"""A finding of `arena doctor`: one thing of this host that was looked at, how good it is, and what mends it.

Must not know what is looked at.
"""

from dataclasses import dataclass
from enum import StrEnum

from arena.sandbox.trouble import Remedy, Trouble


class Level(StrEnum):
    """How bad a finding is: `warn` is worse than it could be, `fail` keeps an isolating sandbox from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how bad it is, and what was found, with what mends it."""

    what: str
    level: Level
    trouble: Trouble

    @classmethod
    def of(cls, what: str, level: Level, text: str, remedy: Remedy | None = None, *about: str) -> "Finding":
        """Return a finding with its trouble made of these words."""
        return cls(what, level, Trouble(text, remedy, about))

    @property
    def text(self) -> str:
        """Return what was found."""
        return self.trouble.text

    @property
    def mend(self) -> str | None:
        """Return the command that mends it, None where there is nothing to mend, or no command does."""
        return self.trouble.command

    @property
    def then(self) -> str:
        """Return what is to be done besides, or what else would do; may be empty."""
        return self.trouble.then
