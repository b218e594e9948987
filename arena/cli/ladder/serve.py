"""The command `arena ladder serve`: the ladder's pages, and its runner beside them."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from arena.cli.ending import end_like_ctrl_c
from arena.cli.ladder.opened import FOLDER, opened
from arena.cli.lazy import needs_extras
from arena.cli.out import note, refuse
from ladder.service import STAFF, demand_boxes, issue

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_NICE = 5  # a third of the server's weight
ENDS_S = 60.0  # what a runner may take to end its matches, when the server ends


@click.command()
@FOLDER
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="Where to listen.  [127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", default=8000, help="The port.  [8000]")
@click.option("--tls-cert", type=FILE, help="PEM file of the server's certificate.")
@click.option("--tls-key", type=FILE, help="PEM file of its key.")
@click.option("--insecure", is_flag=True, help="Listen elsewhere than on 127.0.0.1 without TLS.")
@click.option("--no-runner", is_flag=True, help="Pages alone: nothing is examined and played here.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Matches side by side.  [number of cores]")
def serve(
    folder: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    insecure: bool,
    no_runner: bool,
    jobs: int | None,
) -> None:
    """Serve the ladder's pages, and examine, play and rate beside them.

    On a terminal it prints a link with which staff signs in; else: arena ladder access add LADDER staff. Ctrl-C or
    SIGTERM ends both, the runner after the matches that are being played.
    """
    with needs_extras():
        from ladder.web import Address, serve_pages
    if (tls_cert is None) != (tls_key is None):
        refuse("TLS needs both --tls-cert and --tls-key")
    with opened(folder) as ladder:
        address = Address(host, port, tls_cert, tls_key, ladder.settings.pages.url)
        address.check(insecure)
        if not no_runner:
            demand_boxes(ladder)

        def begun(url: str) -> None:
            note(f"the ladder {ladder.name}: {url}")
            if sys.stderr.isatty():
                link = issue(ladder, STAFF.login, "link", "serve").secret
                note(f"sign in as staff, once within a day: {url}/sign-in?link={link}")
            note("Ctrl-C ends it")

        end_like_ctrl_c()
        with _runner(folder, jobs, no_runner), suppress(KeyboardInterrupt):  # uvicorn ends, and passes the signal on
            serve_pages(ladder, address, begun)


@contextmanager
def _runner(folder: Path, jobs: int | None, none: bool) -> Iterator[None]:
    """Keep `arena ladder run` beside what is done meanwhile, in a process of its own; end it politely."""
    if none:
        yield
        return
    words = [sys.executable, "-m", "arena.cli", "ladder", "run", str(folder), *(["--jobs", str(jobs)] if jobs else [])]
    runner = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_give_way)
    try:
        yield
    finally:
        runner.terminate()
        try:
            runner.wait(ENDS_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            runner.terminate()  # a second one stops it at once
            runner.wait()


def _give_way() -> None:
    """Let pages come first, and end with the server.

    A bot isn't charged for the time in which it waits for a core. When the server is killed the kernel sends SIGTERM
    (Linux): the next one starts a runner of its own.
    """
    os.nice(_NICE)
    if sys.platform == "linux":
        pr_set_pdeathsig = 1  # linux/prctl.h
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
