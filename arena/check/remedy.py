"""What to do about a conversation that broke."""

from arena.check.talk import BrokenError
from arena.referee import FAULTS


def help_for(broken: BrokenError) -> str:
    """Return what to do."""
    return FAULTS[broken.code].help
