"""The sandboxes that a user may choose from.

Must not know how one isolates: each is a module arena.sandbox.NAME, which holds its row (backend.py).
"""

from dataclasses import dataclass

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

    @property
    def isolates(self) -> bool:
        """Whether it keeps anything from a program."""
        return self.name in ISOLATING
