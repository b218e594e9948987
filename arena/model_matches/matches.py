"""Play the matches of a run with language models: in threads of this process, which wait for networks.

All matches share one client, so that limits and budgets hold over all of them. The run's folder keeps in `models/` the
journal and a copy of the budget, which a resumption reads."""

import shutil
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

from arena.bots import BotCache
from arena.models import FOLDER, Budget, Journal, ModelClient, ModelTable, load_players, read_budget
from arena.referee import ArenaError
from arena.run import Job, MatchOutput, PausedError, PoolEvent, Run, RunFolder, Worker, remove_leftovers
from arena.sandbox import scratch_folder

DEFAULT_MATCHES = 32  # at once
_BUDGET = "budget.toml"


def keep_budget(folder: Path, source: Path | None) -> Budget:
    """Return the budget of a run: that of the file `source`, which is copied to the run's folder, or else the copy's.

    Without both it is the default one. Raises BotError for an invalid file, OSError if the copy can't be written.
    """
    copy = folder / FOLDER / _BUDGET
    if source is None:
        return read_budget(copy) if copy.exists() else Budget()
    budget = read_budget(source)
    copy.parent.mkdir(mode=0o700, exist_ok=True)
    if source.resolve() != copy.resolve():
        shutil.copyfile(source, copy)
    return budget


def play_with_models(
    run: Run, folder: RunFolder, jobs: int, budget: Budget, notify: Callable[[str], object]
) -> Generator[PoolEvent, None, None]:
    """Play the remaining matches, `jobs` at a time, and yield the events of the pool; see `Run.play`.

    Raises PausedError if a provider fails for too long, or the budget is used up; BotError if a model can't play,
    OSError if the journal can't be used.
    """
    players = load_players(run.config.bots, budget)
    missing_matches = set(run.store.list_missing(table.match for table in run.progress.plan.tables))
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder())
        stack.callback(remove_leftovers, run.config.sandbox)
        cache = BotCache(scratch)
        for bot in run.config.bots:
            cache.link(bot)
        journal = Journal(folder.path / FOLDER, missing_matches.__contains__)
        client = stack.enter_context(closing(ModelClient(budget, journal, notify)))
        worker = Worker(cache, ModelTable(players, client).start)
        stack.callback(worker.close)

        def play(job: Job) -> MatchOutput:
            try:
                return worker.play(job)
            except ArenaError as problem:
                if client.stop_reason is None:
                    raise
                raise PausedError(job.spec.match, client.stop_reason) from problem

        # At the end the calls are cancelled first, which ends the matches of the threads.
        threads = stack.enter_context(ThreadPoolExecutor(jobs, "match"))
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)
        stack.callback(client.cancel)
        yield from run.play_on(threads, jobs, play=play)
