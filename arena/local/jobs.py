"""Matches in several processes, which are forked: so a bot that only a notebook or `__main__` knows plays there too.

The match at i is played by process i modulo their number, and answers come in the order of the matches. So nothing
depends on which process is faster.
"""

import ctypes
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import monotonic
from typing import TypeVar

Played = TypeVar("Played")
_LAST_S = 1.0  # after the last answer, to write out what bots printed, and to end their threads


class JobError(Exception):
    """A process ended before its matches did, or an exception of a bot can't be brought out of it."""


def in_jobs(play: Callable[[int], Played], matches: Sequence[int], jobs: int) -> Generator[Played, None, None]:
    """Yield what `play` returns of each place in `matches`, in order; close the iterator, and no process is left.

    `matches` are their numbers, for messages. One job is this process. The first exception in the order comes out, with
    a note of its traceback. Raises ValueError where forking isn't safe, JobError for a process that ended early.
    """
    if jobs < 2:
        yield from map(play, range(len(matches)))
        return
    if not sys.platform.startswith("linux"):
        raise ValueError("jobs above 1 fork this process, which is safe on Linux alone: leave jobs at 1")
    context = get_context("fork")
    ends = [context.Pipe(duplex=False) for _ in range(jobs)]
    readers = [reader for reader, _ in ends]
    processes = []
    try:
        for job, (_, writer) in enumerate(ends):
            others = [*readers, *(other for _, other in ends[job + 1 :])]
            work = (play, range(job, len(matches), jobs), writer, others, os.getpid())
            process = context.Process(target=_work, args=work, daemon=True)
            process.start()
            processes.append(process)
            writer.close()  # here, so that the end of the process is the end of its answers
        for place, match in enumerate(matches):
            try:
                played, problem = readers[place % jobs].recv()
            except (EOFError, OSError):  # at the end of a message, or in the middle of one
                processes[place % jobs].join()
                code = processes[place % jobs].exitcode
                raise JobError(
                    f"the process of match {match} ended with exit code {code}: a bot or the system ended it. "
                    "With one job this process plays"
                ) from None
            if problem is not None:
                raise problem
            yield played
        end = monotonic() + _LAST_S
        for process in processes:
            process.join(max(0.0, end - monotonic()))
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
        for reader in readers:
            reader.close()


def _work(
    play: Callable[[int], Played],
    places: Sequence[int],
    writer: Connection,
    others: Sequence[Connection],
    parent: int,
) -> None:
    """Play matches in this process and send what each gave, until the first exception."""
    pr_set_pdeathsig = 1  # linux/prctl.h
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)  # a notebook's kernel is restarted by a kill
    if os.getppid() != parent:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which kills its processes
    for other in others:
        other.close()
    try:
        for place in places:
            try:
                played = play(place)
            except Exception as problem:
                writer.send((None, _portable(problem)))
                return
            writer.send((played, None))
    except BrokenPipeError:
        return  # the parent has gone


def _portable(problem: Exception) -> Exception:
    """Return the exception with its traceback as a note; as a JobError where pickle can't bring it to the parent."""
    stack = "".join(traceback.format_tb(problem.__traceback__)).rstrip()
    problem.add_note(f"In the process that played it:\n{stack}")
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        there = "".join(traceback.format_exception(problem)).rstrip()
        return JobError(f"a bot raised {type(problem).__name__}, which pickle can't carry:\n{there}")
    return problem
