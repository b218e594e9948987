"""A sandbox as one row: all that others need to know of it, beside the boxes that it makes.

Must not know which sandboxes there are. Each has a `BACKEND` in its file or in its room's door; choice.py names them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arena.sandbox.box import Sandbox
from arena.sandbox.choice import Choice
from arena.sandbox.programs import Programs
from arena.sandbox.trouble import Trouble


@dataclass(frozen=True, slots=True)
class Backend:
    """Hold what there is to know of one sandbox.

    make: return it, with its temporary files below the folder; raises SandboxError if it can't be had. why_not: say why
    it doesn't work here and how to get it, None because a trial worked. sweep: remove what its dead users left on this
    machine (groups, containers, folders); never raises. programs: where it finds interpreters. takes: the fields of
    Choice, beside the name, that it reads.
    """

    make: Callable[[Choice, Path], Sandbox]
    why_not: Callable[[Choice], Trouble | None]
    sweep: Callable[[], object]
    programs: Callable[[], Programs]
    takes: tuple[str, ...] = ()
