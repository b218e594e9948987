"""Play matches in forks of this process.

A bot that only a notebook or `__main__` defines can play there, too. With n processes, process i plays matches i,
i + n, ..., and results are read in match order, so they don't depend on the speed of processes."""

import ctypes
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from time import monotonic, sleep
from typing import Any, TypeVar

from arena.local.match import JobError

Played = TypeVar("Played")
_EXIT_S = 1.0  # for processes to flush output and end threads after the last result


def play_in_forks(play: Callable[[int], Played], matches: Sequence[int], jobs: int) -> Generator[Played, None, None]:
    """Yield `play(i)` for each index i of `matches`; see `play_in_processes`, also for the errors."""
    if not sys.platform.startswith("linux"):
        raise ValueError("jobs above 1 fork this process, which is safe only on Linux: use jobs=1")
    context = get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(jobs)]
    readers = [reader for reader, _ in pipes]
    processes = []
    try:
        for job, (_, writer) in enumerate(pipes):
            inherited = [*readers, *(later_writer for _, later_writer in pipes[job + 1 :])]
            arguments = (play, range(job, len(matches), jobs), writer, inherited, os.getpid())
            process = context.Process(target=_run_process, args=arguments, daemon=True)
            process.start()
            processes.append(process)
            writer.close()  # so that reading ends with the process
        for index, match in enumerate(matches):
            yield _receive_result(readers[index % jobs], processes[index % jobs], match)
        _wait_for_exit(processes)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
        for reader in readers:
            reader.close()


def _receive_result(reader: Connection, process: ForkProcess, match: int) -> Any:
    """Return the next result of a process. Raises the exception that it sends in its place, JobError if it ended."""
    try:
        result, problem = reader.recv()
    except (EOFError, OSError):  # between two messages, or in the middle of one
        raise _explain_exit(process, match) from None
    if problem is not None:
        raise problem
    return result


def _explain_exit(process: ForkProcess, match: int) -> JobError:
    """Return the error of a process whose pipe is closed: it names the match and, unless it lives, the exit code."""
    _wait_for_exit([process])
    end = "closed its pipe" if process.exitcode is None else f"ended with exit code {process.exitcode}"
    return JobError(f"the process of match {match} {end}, by a bot or by the system. With one job this process plays")


def _wait_for_exit(processes: Sequence[ForkProcess]) -> None:
    """Wait up to _EXIT_S in all. `join` would wait without end for a process that closed all its pipes."""
    deadline_s = monotonic() + _EXIT_S
    while any(process.exitcode is None for process in processes) and monotonic() < deadline_s:
        sleep(0.01)


def _run_process(
    play: Callable[[int], Played],
    indices: Sequence[int],
    writer: Connection,
    inherited: Sequence[Connection],
    parent: int,
) -> None:
    """Play matches in this process and send (result, exception) of each, until the first exception.

    inherited: the ends of pipes that belong to other processes, to be closed here. parent: the id of the process that
    forked this one, with which it ends.
    """
    pr_set_pdeathsig = 1  # linux/prctl.h
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)  # notebooks restart their kernel by a kill
    if os.getppid() != parent:
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent handles Ctrl-C, and kills its processes
    for connection in inherited:
        connection.close()
    try:
        for index in indices:
            try:
                result = play(index)
            except Exception as problem:
                writer.send((None, _picklable(problem)))
                return
            writer.send((result, None))
    except BrokenPipeError:
        return  # the parent has ended


def _picklable(problem: Exception) -> Exception:
    """Return the exception with its traceback as a note, or a JobError if the exception can't be pickled."""
    stack = "".join(traceback.format_tb(problem.__traceback__)).rstrip()
    problem.add_note(f"In the process that played it:\n{stack}")
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        text = "".join(traceback.format_exception(problem)).rstrip()
        return JobError(f"a bot raised {type(problem).__name__}, which pickle can't carry:\n{text}")
    return problem
