"""Run jobs in worker processes that are replaced when they die, until each job has ended.

Must not know what a job is. The same on the machines of a cluster is `ladder.pool.cluster`.
"""

from ladder.pool.drive import (
    MAX_FAILED_ATTEMPTS,
    MAX_WORKER_DEATHS,
    Idle,
    JobCompleted,
    JobFailed,
    RetryingJobs,
    WorkerMessage,
    drive_jobs,
)
from ladder.pool.executors import (
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
