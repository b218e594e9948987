"""Play bots in this process, without pipes: for tuning and for tests.

from arena.local import play

results = play([MyBot, Other, "sample:honest", "sample:counter"], games=1000, seed=1)
print(results)

A bot gets the same messages as over pipes, as dicts. There is no isolation and no clock: a bot has all permissions of
this process, and a bot that never returns blocks the call. This package must not know sandboxes, bots' processes or the
command line.
"""

from arena.local.comparison import compare, play_blocks
from arena.local.match import (
    BotArgument,
    JobError,
    LocalPlayer,
    ReplyingBot,
    WrongReplyError,
    name_bots,
    play_match,
    require_factories,
    run_match,
    sample,
)
from arena.local.results import Results, Rows, WinRate
from arena.local.session import (
    make_match_spec,
    make_session_key,
    plan_session,
    play,
    play_in_processes,
    play_table,
    sweep,
)
