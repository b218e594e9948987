"""The command `arena ladder run`: examines, plays and rates until it is stopped."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import click
from rich.console import RenderableType
from rich.text import Text

from arena.cli.answers import answers, print_json
from arena.cli.ladder.journal import Journal
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.out import counted, progress, refuse
from arena.cli.session import cores
from arena.run import open_executor
from ladder.pool import Idle
from ladder.pool.cluster import Tls
from ladder.service import (
    Behind,
    Benched,
    Event,
    Exam,
    Excluded,
    Happening,
    Lost,
    Match,
    Metrics,
    Misread,
    Pruned,
    Refused,
    Returned,
    Service,
    Void,
    demand_boxes,
    serving,
)
from ladder.store.database import PATIENCE_S

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
STATUS_S = 60.0  # between two lines on how it goes, where there is no terminal
IN_VAIN = 20  # attempts that failed, with nothing done between them: it's this machine, and the runner stops


@click.command()
@FOLDER
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Matches side by side.  [number of cores]")
@click.option("--matches", type=click.IntRange(1), metavar="N", help="Stop after so many matches.")
@click.option(
    "--until",
    type=click.Choice(["examined", "decided"]),
    help="examined: do what people wait for (examinations, challenges, finals), and stop. decided: stop when the "
    "leader is, with 98 %, within 2 points of the best.",
)
@click.option(
    "--executor",
    type=click.Choice(["local", "dask"]),
    help="Where matches are played: by processes of this machine, or on a Dask cluster.  [as --scheduler says]",
)
@click.option("--scheduler", metavar="ADDRESS", help="The Dask scheduler, such as tcp://10.0.0.1:8786.")
@click.option("--tls-ca", type=FILE, help="PEM file of the authority that both sides of the cluster trust.")
@click.option("--tls-cert", type=FILE, help="PEM file of this side's certificate.")
@click.option("--tls-key", type=FILE, help="PEM file of its key.")
@click.option(
    "--metrics",
    metavar="[ADDRESS:]PORT",
    help="Serve numbers to Prometheus; without an ADDRESS on 127.0.0.1.",
)
@click.option("--verbose", is_flag=True, help="Say what becomes of each match.")
@answers(Happening, about="Print JSON on stdout, a line for each thing that happens.")
def run(
    folder: Path,
    jobs: int | None,
    matches: int | None,
    until: str | None,
    executor: str | None,
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    metrics: str | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Examine what is submitted, play, and rate.

    Ctrl-C or SIGTERM stops it after the matches that are being played; a second one stops it at once. Nothing is lost
    by either, nor by kill -9: the next run goes on. Where stderr is no terminal, each line has a time, a level and ids.

    Exit codes: 0 done, or stopped as asked; 1 this machine or the database failed; 2 wrong use; 130 stopped at once.
    """
    if (executor == "dask") != (scheduler is not None) and executor is not None:
        refuse("--executor dask needs --scheduler ADDRESS, which --executor local doesn't take")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy comes: the other cores are the matches'
    log = Journal(plain=sys.stderr.isatty())

    def hear(why: str | None) -> None:
        log.info("the database is back") if why is None else log.warn(why)

    with ladder_at(folder, PATIENCE_S, hear) as ladder:
        tls = _tls(scheduler, tls_ca, tls_cert, tls_key)
        if scheduler is None:
            demand_boxes(ladder)
        with open_executor(ladder.play.sandbox, jobs or cores(), scheduler, tls) as pool:
            service = Service(ladder, pool, matches, until)
            log.runner = service.runner[:8]
            told = Metrics(service)
            with nullcontext() if metrics is None else serving(told, metrics) as url:
                log.info(f"serves {folder} as process {os.getpid()}{f', metrics at {url}' if url else ''}")
                asked = _stop_politely(service)
                try:
                    status = _serve(service, told, log, verbose, as_json, asked, alone=scheduler is None)
                except KeyboardInterrupt:
                    log.warn("stopped at once: what was being played will be played again")
                    status = 130
    log.info(f"has ended; the table: arena ladder standings {folder}")
    sys.exit(status)


def _tls(scheduler: str | None, ca: Path | None, cert: Path | None, key: Path | None) -> Tls | None:
    """Return the files of a cluster's certificates. Exits with 2 if some are missing."""
    paths = (ca, cert, key)
    if any(paths) and scheduler is None:
        refuse("--tls-ca, --tls-cert and --tls-key are for --scheduler; add that, or leave them out")
    if ca is None or cert is None or key is None:
        return refuse("TLS needs all of --tls-ca, --tls-cert and --tls-key") if any(paths) else None
    return Tls(ca, cert, key)


def _stop_politely(service: Service) -> Callable[[], bool]:
    """Let Ctrl-C and SIGTERM stop the service; return a function that tells whether one of them came."""
    came = False

    def asked(_number: int, _frame: object) -> None:
        nonlocal came
        came = True  # the loop says it, since a handler may interrupt a print
        service.stop()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, asked)
    return lambda: came


def _serve(
    service: Service,
    metrics: Metrics,
    log: Journal,
    verbose: bool,
    as_json: bool,
    asked: Callable[[], bool],
    alone: bool,
) -> int:
    """Serve until there is an end; return the exit code. `alone`: no other machine plays."""
    played, in_vain, failed, said = 0, 0, False, False
    why: str | None = None  # no match is played

    def line() -> str:
        games = counted(played * service.ladder.play.match_games, "game")
        return f"{counted(played, 'match', 'es')}, {games}; {service.told()}"

    def live() -> RenderableType:
        return Text(line())

    with progress(live, line, say=log.info, say_s=STATUS_S) as tell, closing(service.events()) as events:
        for event in events:
            metrics.hear(event)
            if asked() and not said:
                said = True
                log.info("stopping after what is being played; once more stops at once")
            _say(event, log, verbose)
            if as_json and not isinstance(event, Idle):
                print_json(Happening(type(event).__name__.lower(), service.ladder.clock(), event))
            match event:
                case Match(new=new):
                    played, in_vain = played + new, 0
                case Exam():
                    in_vain = 0
                case Refused() if alone and not failed:
                    failed = True
                    service.stop()
                case Void() | Refused():
                    in_vain += 1
                case Idle() if not service.queue.doing and service.queue.empty:
                    before, why = why, service.queue.why_no_match()
                    if why not in (None, before):
                        log.warn(f"no match can be played: {why}")
            tell()
            if in_vain >= IN_VAIN and not failed:
                failed = True
                log.error(f"{IN_VAIN} attempts failed in a row, so it's this machine: see arena doctor")
                service.stop()
    return 1 if failed else 0


def _say(event: Event, log: Journal, verbose: bool) -> None:
    match event:
        case Match(id, new) if verbose:
            log.info("played" if new else "had ended before", match=id)
        case Exam(label, reason, plays):
            fit = (
                "plays from now on"
                if plays
                else "is fit, and doesn't play: what people or a newer version decided stands"
            )
            log.info(fit if reason is None else f"is unfit: {reason}", version=label)
        case Benched(label, why):
            log.warn(f"benched: {why}", version=label)
        case Void(id, exam, reason, given_up):
            what = f"failed{', and is given up' if given_up else ''}: {reason}"
            log.warn(what, **{"examination" if exam else "match": id})
        case Refused(reason):
            log.warn(f"a worker refuses: {reason}")
        case Excluded(worker, reason):
            log.warn(f"gets nothing to do: {reason}", worker=worker)
        case Lost(what):
            log.warn(what)
        case Returned(what):
            log.info(what)
        case Behind(seconds):
            log.warn(
                f"this machine's clock is {seconds:.0f} s behind the database's newest entry: see arena ladder doctor"
            )
        case Misread(reason):
            log.warn(f"goes on with what ladder.toml said before: {reason}")
        case Pruned(records, logs):
            log.info(f"removed what ladder.toml keeps no longer: records of {records} matches, logs of {logs}")
