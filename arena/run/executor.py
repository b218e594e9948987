"""Where parcels are played: in processes of this machine, or on a Dask cluster, which look alike to the sender."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from arena import __version__
from arena.run.parcel import check_machine
from arena.run.session import clean_up
from arena.sandbox import Choice
from ladder.pool import Pool, Workers

if TYPE_CHECKING:
    from ladder.pool.cluster import Tls


@contextmanager
def open_executor(
    choice: Choice, jobs: int = 1, scheduler: str | None = None, tls: "Tls | None" = None, patience_s: float = 600.0
) -> Iterator[Pool]:
    """Give `jobs` worker processes of this machine, or the workers of the Dask cluster whose scheduler is named.

    At the end what is still played is ended, on a cluster forgotten. tls, patience_s: see DaskExecutor, whose
    ExecutorLostError is raised.
    """
    if scheduler is not None:
        from ladder.pool.cluster import DaskExecutor  # asyncio takes a tenth of the start of a run

        kind = f"coup-arena {__version__} {choice.name} {choice.runtime or ''} {choice.image or ''}".strip()
        cluster = DaskExecutor(scheduler, kind, partial(check_machine, __version__, choice), tls, patience_s)
        try:
            yield cluster
        finally:
            cluster.shutdown(cancel_futures=True)
        return
    workers = Workers(jobs)
    try:
        yield workers
    finally:
        workers.shutdown(cancel_futures=True)
        clean_up(choice)
