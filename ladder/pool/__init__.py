"""Worker processes that are replaced when they die, and what drives jobs through them until each has ended.

Must not know what a job is. The same on the machines of a cluster is `ladder.pool.cluster`.
"""

from ladder.pool.executors import (
    Call,
    ExecutorLostError,
    OverdueError,
    Pool,
    RefusedError,
    WorkerDiedError,
    Workers,
    say,
    shares_of_cores,
    within,
)
from ladder.pool.runner import DEATHS, VOIDS, Completed, Idle, Jobs, Said, Voided, run
