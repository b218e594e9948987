"""The sandboxes that a user may choose from.

Must not know how one isolates: each is a module arena.sandbox.NAME, which holds its row (backend.py).
"""

from dataclasses import dataclass
from typing import Any

# In the order in which `auto` tries them. bubblewrap blocks as much as Docker, starts 10 times faster, needs no daemon.
ISOLATING = ("bubblewrap", "docker")
NAMES = ("process", *ISOLATING)


@dataclass(frozen=True, slots=True)
class Choice:
    """Name a sandbox; `runtime` (such as runsc) and `image` are for those that take them, None for their default.

    `pass_env` names variables of this process's environment that programs get, where a sandbox takes it; their values
    are kept nowhere.
    """

    name: str = "process"
    runtime: str | None = None
    image: str | None = None
    pass_env: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, payload: dict[str, Any]) -> "Choice":
        """Return the choice that a JSON object holds. Raises TypeError for another object."""
        return cls(**{**payload, "pass_env": tuple(payload.get("pass_env", ()))})

    @property
    def isolates(self) -> bool:
        """Whether it keeps anything from a program."""
        return self.name in ISOLATING
