"""Run jobs in worker processes, which are replaced when they die, until each job has ended.

This package must not depend on the content of jobs. `arena.workers.cluster` does the same on the machines of a cluster.
"""

from arena.workers.executors import (
    CallTimeoutError,
    ExecutorLostError,
    LocalExecutor,
    WorkerCall,
    WorkerDiedError,
    WorkerExecutor,
    WorkerRejectedError,
    assign_cores,
    limit_time,
    report_progress,
)
from arena.workers.jobs import (
    MAX_FAILED_ATTEMPTS,
    MAX_WORKER_DEATHS,
    Idle,
    JobCompleted,
    JobFailed,
    RetryingJobs,
    WorkerMessages,
    drive_jobs,
)
