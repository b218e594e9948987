"""Implement the `arena ladder` commands that create, run, serve, check, back up and restore a ladder.

`init` creates a ladder's folder, database, match settings and reference bots. `run` checks, plays and rates until it
is stopped. `serve` serves the pages and starts `run` and `serve-tables`, which runs the tables that users open.
`export-site` writes the pages as files. `doctor` reports the ladder's health. `backup` and `restore` convert a ladder
to one file and back. `upgrade` changes the database for a new version."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Connection

from arena.checks import Finding
from arena.cli import options
from arena.cli.check import finding_lines, has_failure
from arena.cli.console import (
    ExistingPath,
    json_option,
    option,
    print_json,
    print_note,
    print_text,
    treat_sigterm_as_sigint,
    usage_error,
)
from arena.cli.main import require_extras
from arena.cli.options import complete_bot, complete_rules
from arena.cli.run import count_cores, default_match_games
from arena.escaping import quote_path
from arena.formatting import format_count
from arena.referee import SETTABLE_LIMITS, MatchSettings
from arena.run import load_ruleset, open_executor
from arena.sandbox import Sandbox, SandboxChoice, for_this_command, make_sandbox, scratch_folder, untrusted_problem
from arena.schedule import require_even_match_games
from arena.workers.cluster import Tls
from ladder import runner_events
from ladder.backups import BackupFile, restore_backup, write_backup
from ladder.bots import read_reference, save_reference
from ladder.checkup import Checkup, check_ladder
from ladder.cli.common import FOLDER_ARGUMENT, Journal, open_ladder_or_exit, print_result, user_friendly_errors
from ladder.cli.runner_progress import RunnerProgress, run_to_end
from ladder.health import serve_metrics
from ladder.ladder import STAFF_USER, CreatedLadder, Ladder, LadderFormat, create_ladder, prune_expired, require_sandbox
from ladder.runner import LadderRunner, RunnerMetrics
from ladder.store import RETRY_TIMEOUT_S
from ladder.upgrade import LadderUpgrade, upgrade_ladder
from ladder.users import issue_secret

_MAX_JOBS = 1024  # a worker has a thread and a process: more is a typing error, and fills the memory
REFERENCES = ("sample:random_bot", "sample:turtle", "sample:honest", "sample:opportunist")


@click.command(cls=options.GroupedCommand)
@click.argument("folder", metavar="LADDER", type=click.Path(path_type=Path))
@option(
    "--rules", metavar="NAME|FILE", shell_complete=complete_rules, default="coup", help="Preset, or a ruleset in TOML."
)
@option("--seats", type=click.IntRange(2, 10), metavar="N", default=4, help="Number of bots at a table.")
@option("--match-games", type=click.IntRange(1), metavar="N", help="Number of games in a match.  [12, in Docker 24]")
@option(
    "--reference",
    "references",
    multiple=True,
    metavar="BOT",
    shell_complete=complete_bot,
    help=f"Reference bot, which sets the rating scale; can be repeated.  [{' '.join(REFERENCES)}]",
)
@option("--database", metavar="URL", help="Such as postgresql+psycopg://USER@HOST/NAME.  [a file in the folder]")
@options.sandbox_options
@options.limit_options
@option("--clock", type=click.Choice(["auto", "own", "wall"]), help="Time charged: a bot's own, or wall time.  [auto]")
@option("--ponder", is_flag=True, help="Allow bots to compute while they wait for a request.")
@option("--strict", is_flag=True, help="Make the first fault forfeit the game.")
@json_option(CreatedLadder)
def init(folder: Path, references: tuple[str, ...], database: str | None, as_json: bool, **values: Any) -> None:
    """Create a ladder in a new folder.

    Its rules, limits, seats and sandbox can't be changed later. LADDER/ladder.toml has the other settings, such as
    quotas and deadlines. Untrusted bots need a sandbox that isolates, with control groups. Use --sandbox process only
    for authors that you trust.
    """
    with user_friendly_errors():
        bots = [read_reference(reference) for reference in references or REFERENCES]
        choice = _choose_sandbox(values)
        with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as sandbox:
            play = _make_format(values, choice, sandbox)

        def save_references(connection: Connection) -> None:
            for bot in bots:
                save_reference(connection, bot, time.time())

        with closing(create_ladder(folder, play, database, save_references)) as ladder:
            quoted = quote_path(folder)
            table = f"{play.settings.rules.name} at {play.seats} seats"
            print_result(
                CreatedLadder(str(folder), ladder.commitment),
                as_json,
                f"created {folder}: {table}, games a match: {play.match_games}",
                f"SHA-256 of the key of all deals: {ladder.commitment}",
                f"next: arena ladder serve {quoted}, then set the ladder up in the browser",
                f"for friends without accounts: public and allow_guests in {folder}/ladder.toml, or on that page",
                f"without pages: arena ladder users import {quoted} roster.csv; arena ladder run {quoted}",
            )


def _choose_sandbox(values: dict[str, Any]) -> SandboxChoice:
    """Return the sandbox of the options of `init`. Exits with 2 if it should isolate bots, and can't on this machine.

    Only `--sandbox process` allows one that doesn't isolate.
    """
    choice, reasons = options.choose_sandbox(values["sandbox"], values["docker_runtime"], values["docker_image"])
    if not choice.isolates and values["sandbox"] in (None, "auto"):
        problems = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        usage_error(
            f"no sandbox that isolates untrusted bots works on this machine ({problems}).\n"
            "Run arena doctor; for authors that you trust, add --sandbox process."
        )
    problem = untrusted_problem(choice) if choice.isolates else None
    if problem is not None:
        usage_error(
            f"the sandbox {choice.name} doesn't isolate untrusted bots on this machine: "
            f"{for_this_command(problem)}\nRun arena doctor."
        )
    return choice


def _make_format(values: dict[str, Any], choice: SandboxChoice, sandbox: Sandbox) -> LadderFormat:
    """Return the format of the ladder's matches, by the options of `init`. Exits with 2 if it can't be played."""
    seats = values["seats"]
    flags = {name: values[name] for name in SETTABLE_LIMITS}
    rules = load_ruleset(values["rules"])
    seats_problem = rules.problem(seats)
    if seats_problem:
        usage_error(seats_problem)
    default_timing, limits = options.combine_limits(flags, values["rules"])
    options.require_enforced_limits(flags, sandbox)
    is_own_time = sandbox.reports_wait_time if values["clock"] in (None, "auto") else values["clock"] == "own"
    timing = replace(default_timing, own=is_own_time, ponder=values["ponder"])
    options.require_own_clock(timing, sandbox)
    lives = 1 if values["strict"] else MatchSettings().lives
    match_games = values["match_games"] or default_match_games(choice.name, seats)
    try:
        require_even_match_games(seats, match_games)
    except ValueError as error:
        usage_error(f"--match-games: {error}")
    settings = MatchSettings(rules=rules, timing=timing, limits=limits, lives=lives)
    return LadderFormat(settings, choice, seats, match_games)


FILE = ExistingPath("Name a file.", dir_okay=False)


@click.command()
@FOLDER_ARGUMENT
@option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play in parallel.  [number of cores]")
@option("--matches", type=click.IntRange(1), metavar="N", help="Stop after N matches.")
@option(
    "--until",
    type=click.Choice(["idle", "decided"]),
    help="idle: stop when no check, challenge or final is pending. decided: stop when the leader is within 2 "
    "points of the best with a probability of 98 %.",
)
@option(
    "--executor",
    type=click.Choice(["local", "dask"]),
    help="Play matches on this machine, or on a Dask cluster.  [dask with --scheduler, else local]",
)
@option("--scheduler", metavar="ADDRESS", help="The Dask scheduler, such as tcp://10.0.0.1:8786.")
@option("--tls-ca", type=FILE, help="PEM file of the certificate authority of the cluster.")
@option("--tls-cert", type=FILE, help="PEM file of the runner's certificate.")
@option("--tls-key", type=FILE, help="PEM file of the certificate's key.")
@option("--metrics", metavar="[ADDRESS:]PORT", help="Serve Prometheus metrics, by default on 127.0.0.1.")
@option("--verbose", is_flag=True, help="Log each match.")
@json_option(runner_events.RunnerEventEntry, about="Print JSON on stdout, one line for each event.")
def run(
    *,
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
    """Check submissions, play matches and rate bots.

    Ctrl-C or SIGTERM stops the runner after the matches in progress; a second one stops it immediately. The next run
    continues, even after kill -9. Unless stderr is a terminal, each line has a time, a level and ids.

    Exit codes: 0 done, or stopped by the first signal; 1 this machine or the database failed; 2 wrong use; 130 stopped
    by the second signal.
    """
    is_on_cluster = scheduler is not None
    if executor is not None and (executor == "dask") != is_on_cluster:
        usage_error(
            "--executor dask requires --scheduler ADDRESS, and --executor local excludes it.\nAdd or remove it."
        )
    log = Journal()

    with open_ladder_or_exit(folder, RETRY_TIMEOUT_S, log) as ladder:
        tls = _make_tls(scheduler, tls_ca, tls_cert, tls_key)
        if not is_on_cluster:
            require_sandbox(ladder)
        if jobs is not None and jobs > _MAX_JOBS:
            log.warn(f"--jobs {jobs} is too large: at most {_MAX_JOBS} matches are played in parallel")
        with open_executor(ladder.play.sandbox, min(jobs or count_cores(), _MAX_JOBS), scheduler, tls) as pool:
            progress = RunnerProgress(LadderRunner(ladder, pool, matches, until), log, is_alone=not is_on_cluster)
            exit_code = _run_to_exit_code(progress, folder, metrics, verbose, as_json)
    log.info(f"stopped; print the standings: arena ladder standings {quote_path(folder)}")
    sys.exit(exit_code)


def _run_to_exit_code(progress: RunnerProgress, folder: Path, metrics: str | None, verbose: bool, as_json: bool) -> int:
    """Run a runner to its end or the second signal; return the exit code. metrics: as in `serve_metrics`."""
    runner, log = progress.runner, progress.log
    log.runner = runner.id[:8]
    runner_metrics = RunnerMetrics(runner)
    with serve_metrics(runner_metrics.registry, metrics) as url:
        log.info(f"running {folder} as process {os.getpid()}{f', metrics at {url}' if url else ''}")
        _log_other_runners(runner, log)
        has_signal = _stop_on_signal(runner)
        try:
            run_to_end(progress, runner_metrics, verbose, as_json, has_signal)
        except KeyboardInterrupt:
            log.warn("stopped immediately: matches in progress will be played again")
            return 130
    return 1 if progress.has_failed else 0


def _log_other_runners(runner: LadderRunner, log: Journal) -> None:
    """Log which other runners play the ladder, if any, as a warning with SQLite."""
    ids = runner.other_runners()
    if not ids:
        return
    text = f"other runners play this ladder, too: {', '.join(ids)}"
    if runner.ladder.database.sqlite is None:
        log.info(text)
    else:
        log.warn(f"{text}; with SQLite they wait for each other's writes; PostgreSQL is made for several runners")


def _make_tls(scheduler: str | None, ca: Path | None, cert: Path | None, key: Path | None) -> Tls | None:
    """Return the files of a cluster's certificates. Exits with 2 if some are missing."""
    paths = (ca, cert, key)
    if any(paths) and scheduler is None:
        usage_error(
            "--tls-ca, --tls-cert and --tls-key work only with --scheduler.\nAdd --scheduler, or leave them out."
        )
    if not any(paths):
        return None
    if ca is None or cert is None or key is None:
        usage_error("TLS requires --tls-ca, --tls-cert and --tls-key.\nGive all three.")
    return Tls(ca, cert, key)


def _stop_on_signal(runner: LadderRunner) -> Callable[[], bool]:
    """Make Ctrl-C, SIGTERM and the server's death stop the runner; return a function that returns whether one came.

    After Ctrl-C or SIGTERM, another one raises KeyboardInterrupt.
    """
    has_signal = False

    def stop(number: int, _frame: object) -> None:
        nonlocal has_signal
        has_signal = True  # printed by the loop, because a handler may interrupt a print
        runner.stop()
        if number != SERVER_DEATH_SIGNAL:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM, SERVER_DEATH_SIGNAL):
        signal.signal(number, stop)
    return lambda: has_signal


@click.command()
@FOLDER_ARGUMENT
def serve_tables(folder: Path) -> None:
    """Serve live tables without the web pages.

    The command runs the tables that users open on the ladder's pages until Ctrl-C or SIGTERM. `arena ladder serve` also
    starts it. A match in progress when it stops is void; its finished games are kept.
    """
    with require_extras():
        from ladder import table_server
    log = Journal()

    with open_ladder_or_exit(folder, RETRY_TIMEOUT_S, log) as ladder:
        require_sandbox(ladder)
        table_server.serve_tables(ladder, log.info)


MAX_SHUTDOWN_S = 60.0  # for a runner to end its matches when the server ends
EXIT_POLL_S = 0.5  # between two polls of a process
RESTART_PAUSE_S = 0.5
SERVER_DEATH_SIGNAL = signal.SIGUSR1  # to a runner: a second SIGTERM would stop it at once
MAX_RESTARTS, HOUR_S = 5, 3600.0  # restarts within this time, at most


@click.command()
@FOLDER_ARGUMENT
@option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on.")
@option("--port", type=click.IntRange(0, 65535), metavar="N", default=8000, help="Port to listen on.")
@option("--tls-cert", type=FILE, help="PEM file of the server's certificate.")
@option("--tls-key", type=FILE, help="PEM file of the certificate's key.")
@option("--insecure", is_flag=True, help="Allow addresses other than 127.0.0.1 without TLS.")
@option("--no-runner", is_flag=True, help="Serve only the pages, without runner and live tables.")
@option("--no-tables", is_flag=True, help="Serve no live tables.")
@option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play in parallel.  [number of cores]")
@option("--metrics", metavar="[ADDRESS:]PORT", help="Serve Prometheus metrics of the pages, by default on 127.0.0.1.")
def serve(
    *,
    folder: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    insecure: bool,
    no_runner: bool,
    no_tables: bool,
    jobs: int | None,
    metrics: str | None,
) -> None:
    """Serve the web pages and run the ladder.

    The command also starts a runner and the live tables. On a terminal it prints a sign-in link for staff; elsewhere
    use `arena ladder access add LADDER staff`. Ctrl-C or SIGTERM stops everything, the runner after the matches in
    progress. /healthz and /readyz answer probes.
    """
    with require_extras():
        from ladder.web import ServerAddress, serve_web
    if (tls_cert is None) != (tls_key is None):
        usage_error("TLS requires --tls-cert and --tls-key.\nGive both.")
    log = Journal()
    with open_ladder_or_exit(folder, log=log) as ladder:
        address = ServerAddress(host, port, tls_cert, tls_key, ladder.settings.web.base_url)
        address.require_secure(insecure)
        if not no_runner:
            require_sandbox(ladder)

        treat_sigterm_as_sigint()
        jobs_option = [] if jobs is None else ["--jobs", str(jobs)]
        runner_command = [] if no_runner else ["run", str(folder), *jobs_option]
        tables_command = [] if no_runner or no_tables else ["serve-tables", str(folder)]
        with (
            _keep_running("runner", runner_command, partial(_begin_runner, ladder.play.settings.timing.own), log),
            _keep_running("table server", tables_command, partial(_end_with_server, signal.SIGTERM), log),
            suppress(KeyboardInterrupt),  # uvicorn ends, and passes the signal on
        ):
            serve_web(ladder, address, lambda url: _announce(ladder, folder, url, log), metrics)


def _announce(ladder: Ladder, folder: Path, url: str, log: Journal) -> None:
    """Log where the pages are, and print a new sign-in link for staff on a terminal, or else how to create one."""
    log.info(f"the ladder {ladder.name}: {url}")
    if sys.stderr.isatty():
        link = issue_secret(ladder, STAFF_USER.login, "link", "serve").secret
        print_note(f"sign in as staff (works once, for a day): {url}/sign-in?link={link}")
        print_note("stop it with Ctrl-C")
    else:
        log.info(f"a sign-in link for staff: arena ladder access add {quote_path(folder)} {STAFF_USER.login}")


@contextmanager
def _keep_running(name: str, command: list[str], prepare: Callable[[], None], log: Journal) -> Iterator[None]:
    """Run a command of the ladder next to the pages, restart it when it ends, and stop it with the pages.

    command: its words after `arena ladder`; nothing runs if it is empty. prepare: called in the new process first.
    After MAX_RESTARTS within an hour it isn't restarted; the staff page shows which runners are alive.
    """
    if not command:
        yield
        return
    ending = threading.Event()
    keeper = threading.Thread(target=_restart_until_end, args=(ending, name, command, prepare, log), name=name)
    keeper.start()
    try:
        yield
    finally:
        ending.set()
        keeper.join()


def _restart_until_end(
    ending: threading.Event, name: str, command: list[str], prepare: Callable[[], None], log: Journal
) -> None:
    """Start the process, and again whenever it exits, until `ending` is set or it exits too often in an hour.

    Needs a thread that lives as long as the process: the kernel ends the process with the thread that started it.
    """
    restarts: deque[float] = deque(maxlen=MAX_RESTARTS)
    while not ending.is_set():
        process = _start_process(command, prepare)
        if not _wait_for_exit(process, ending):
            _end_process(process)
        elif not ending.wait(RESTART_PAUSE_S):
            now = time.monotonic()
            if len(restarts) == MAX_RESTARTS and now - restarts[0] < HOUR_S:
                log.error(
                    f"the {name} exited with {process.returncode} for the {MAX_RESTARTS + 1}th time in an hour, "
                    "and isn't restarted"
                )
                return
            restarts.append(now)
            log.warn(f"the {name} exited with {process.returncode}, and is restarted")


def _wait_for_exit(process: "subprocess.Popen[bytes]", ending: threading.Event) -> bool:
    """Wait until a process exits or `ending` is set; return whether it has exited."""
    while process.poll() is None:
        if ending.wait(EXIT_POLL_S):
            return process.poll() is not None
    return True


def _start_process(command: list[str], prepare: Callable[[], None]) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "arena.cli", "ladder", *command]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=prepare)


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    """Ask a process to end, again after MAX_SHUTDOWN_S, and wait until it has ended."""
    process.terminate()
    try:
        process.wait(MAX_SHUTDOWN_S)
    except subprocess.TimeoutExpired:
        process.terminate()  # a second SIGTERM would stop it immediately
        process.wait()


def _begin_runner(has_own_time: bool) -> None:
    """End with the server, and yield to pages and tables if bots have own time: they aren't charged for waiting."""
    if has_own_time:
        os.nice(5)  # a third of the server's weight
    _end_with_server(SERVER_DEATH_SIGNAL)


def _end_with_server(number: int) -> None:
    """Request a signal from the kernel when the server is killed (Linux): the next server starts new processes.

    The kernel may send the signal several times, once for each thread of the server that dies.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1  # linux/prctl.h
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, number)


@click.command()
@FOLDER_ARGUMENT
@click.argument("to", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def export_site(folder: Path, to: Path) -> None:
    """Export the public pages as static files.

    They contain the standings, bots, finals and the newest 200 matches. Run the command again to update them: each file
    is replaced atomically.
    """
    with require_extras():
        from ladder.web import export_static_site
    with open_ladder_or_exit(folder) as ladder:
        count = export_static_site(ladder, to)
    print_note(f"wrote {format_count(count, 'file')} to {to}; open {to / 'index.html'}")


@click.command()
@FOLDER_ARGUMENT
@option("--deep", is_flag=True, help="Also recompute all totals and standings, and compare.")
@option("--prune", is_flag=True, help="First remove records and logs that have expired (retention in ladder.toml).")
@json_option(Checkup)
def doctor(folder: Path, deep: bool, prune: bool, as_json: bool) -> None:
    """Check a ladder's health: disks, clock, sandbox, queue.

    It also checks the database and the runners. The ladder may be running. Exit code 1 if a check fails, else 0.
    """
    if prune:
        with open_ladder_or_exit(folder) as ladder:
            expired = prune_expired(ladder)
        matches = format_count(expired.records, "match", "es")
        print_note(f"removed expired records of {matches} and logs of {expired.logs}")
    with user_friendly_errors():
        findings: list[Finding] = []
        for finding in check_ladder(folder, deep):
            findings.append(finding)
            if not as_json:
                print_text("\n".join(finding_lines(finding)))
    if as_json:
        print_json(Checkup(tuple(findings)))
    sys.exit(1 if has_failure(findings) else 0)


NEW_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@FOLDER_ARGUMENT
@click.argument("file", metavar="FILE", type=NEW_FILE)
@json_option(BackupFile)
def backup(folder: Path, file: Path, as_json: bool) -> None:
    """Back up the ladder to a tar file.

    The ladder may be running. FILE can be restored to SQLite or PostgreSQL. It contains the key of all deals: store it
    where no other user can read it.
    """
    with open_ladder_or_exit(folder) as ladder:
        size = write_backup(ladder.database, ladder.path, file)
    text = f"wrote {file}: {size / 1e6:.1f} MB; restore it: arena ladder restore {quote_path(file)} NEW-FOLDER"
    print_result(BackupFile(str(file), size), as_json, text)


@click.command()
@FOLDER_ARGUMENT
@option("--backup", type=NEW_FILE, metavar="FILE", help="Backup to write first.  [a file in the ladder's folder]")
@option("--dry-run", is_flag=True, help="Only print what would be done.")
@json_option(LadderUpgrade)
def upgrade(folder: Path, backup: Path | None, dry_run: bool, as_json: bool) -> None:
    """Upgrade the ladder's database for this version of the arena.

    First stop the ladder's processes: the command names those that it finds and changes nothing. It writes a backup
    before it changes the database, completely or not at all. Only this command upgrades a ladder.
    """
    with user_friendly_errors():
        result = upgrade_ladder(folder, backup, dry_run, print_note, click.get_current_context().command_path)
    if as_json:
        print_json(result)


@click.command()
@click.argument("file", metavar="FILE", type=ExistingPath("Name a backup.", dir_okay=False))
@FOLDER_ARGUMENT
@option("--database", metavar="URL", help="Empty database to restore into.  [a file in the folder]")
@json_option(CreatedLadder)
def restore(file: Path, folder: Path, database: str | None, as_json: bool) -> None:
    """Restore a ladder from a backup.

    FILE comes from `arena ladder backup`; LADDER is a new folder. Matches that were in progress are played again. A
    backup of SQLite can be restored to PostgreSQL, and the reverse. Run only one of the two ladders: both would play
    the same matches.
    """
    with user_friendly_errors(), closing(restore_backup(file, folder, database)) as ladder:
        commitment = ladder.commitment
    print_result(
        CreatedLadder(str(folder), commitment),
        as_json,
        f"restored {folder}; SHA-256 of the key of all deals: {commitment}",
        f"next: arena ladder doctor {quote_path(folder)}; arena ladder run {quote_path(folder)}",
    )
