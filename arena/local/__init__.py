"""Bots in this process, without pipes: for tuning and for tests.

from arena.local import play

results = play([MyBot, Rival, "sample:honest", "sample:counter"], games=1000, seed=1)
print(results)

A bot gets the same messages as over pipes, as dicts. There is no isolation and no clock: a bot can do whatever this
process can, and one that never returns is waited for. Must not know sandboxes' kinds, bots' processes or the command
line.
"""

from arena.local.jobs import JobError, in_jobs
from arena.local.match import play_match
from arena.local.players import Given, Player, Replies, WrongReplyError, entrants
from arena.local.results import Results, Share
from arena.local.sample import sample
from arena.local.session import play
from arena.local.sweep import sweep
from arena.local.table import Rows

__all__ = [
    "Given",
    "JobError",
    "Player",
    "Replies",
    "Results",
    "Rows",
    "Share",
    "WrongReplyError",
    "entrants",
    "in_jobs",
    "play",
    "play_match",
    "sample",
    "sweep",
]
