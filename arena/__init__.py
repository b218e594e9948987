"""The Coup arena: bot programs play the card game Coup against each other.

`arena.coup` is the game, `arena.referee` runs it over pipes, `arena.sandbox` starts bots, `arena.cli` is the command.
"""

__version__ = "0.1.0"
