"""The Coup arena: bot programs play the card game Coup against each other.

`arena.coup` is the game, `arena.referee` runs it over pipes, `arena.sandbox` starts bots, `arena.cli` is the command.
"""

__version__ = "0.1.0"


def with_extra(extra: str) -> str:
    """Return how to install the arena with one of its extras, such as `web`. It is on no package index."""
    wheel = f"coup_arena-{__version__}-py3-none-any.whl"
    return f"pip install '.[{extra}]' in a clone of the arena, or of its wheel pip install '{wheel}[{extra}]'"
