"""Implement `arena submit`, which sends a bot to a ladder's server, and prints its checks as they end."""

import gzip
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import quote

import click
from pydantic import TypeAdapter, ValidationError

from arena.bots import BotError, missing_bot_error, pack
from arena.checks import CheckStepView
from arena.cli import console
from arena.cli.api_client import (
    LadderClient,
    ServerRefusedError,
    ServerUnreachableError,
    account_page,
    open_client,
    token_file,
)
from arena.cli.check import has_failure, step_lines, verdict_line
from arena.escaping import escape_control

RETRY_TIMEOUT_S = 120.0  # while the server is unreachable
UPLOAD_TIMEOUT_S = 300.0  # for the response to an upload
MAX_TRIES = 10  # if the server is busy with other uploads

_POLL_S = 1.0  # between two requests for a check's state
_RUNNING_STATUSES = ("queued", "checking")


@dataclass(frozen=True, slots=True)
class SubmissionReport:
    """The result of a submission. status: queued, checking, accepted, or rejected for a `reason`.

    duplicate: whether the newest version had the same files. late_for: the deadline in whose grace period it came.
    remaining: submissions left today. disabled_reason: why it won't play even if accepted. steps: of its check.
    """

    version_ref: str
    name: str
    number: int
    duplicate: bool
    late_for: str | None
    remaining: int | None
    disabled_reason: str | None
    status: str = "queued"
    reason: str | None = None
    steps: tuple[CheckStepView, ...] = ()


# A later server may add fields, which they leave out.
_REPORT, _STEPS = TypeAdapter(SubmissionReport), TypeAdapter(tuple[CheckStepView, ...])


@click.command()
@click.argument("url", metavar="URL")
@click.argument("bot", metavar="BOT", type=click.Path(path_type=Path))
@console.option("--name", metavar="NAME", help="Name of the bot.  [your only bot, else from bot.toml or the file]")
@console.option(
    "--token-file",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File with your token.  [$ARENA_TOKEN_FILE, else ~/.config/arena/token]",
)
@console.option("--no-wait", is_flag=True, help="Don't wait for the checks.")
@console.json_option(SubmissionReport)
def submit(url: str, bot: Path, name: str | None, file: Path | None, no_wait: bool, as_json: bool) -> None:
    """Submit a bot to a ladder server and show its checks.

    BOT is a file, a folder, a zip or a tar file. Create the token on your account page. Each step is printed as by
    arena check. Submitting the same files again creates no new version.

    Exit code 1 if a step failed.
    """
    file = token_file(file)
    with _exit_on_errors(url, file):
        server = open_client(url, file)
        report = _REPORT.validate_python(_upload_with_retries(server, bot, name))
        page = f"/bots/{quote(report.name, safe='')}/{report.number}"
        try:
            print_submission(
                report.version_ref, report.duplicate, report.remaining, report.late_for, report.disabled_reason
            )
            if no_wait:
                console.print_note(f"checks: {server.url}{page}")
            else:
                if not as_json:
                    console.print_text(click.style(escape_control(report.version_ref), bold=True))
                report = _follow_check(server, page, report, as_json)
        except KeyboardInterrupt:
            console.print_note(f"{report.version_ref} stays submitted, and will be checked; see {server.url}{page}")
            raise
    if as_json:
        console.print_json(report)
    elif not no_wait:
        _print_verdict(report)
    sys.exit(1 if report.status == "rejected" else 0)


def _print_verdict(report: SubmissionReport) -> None:
    if report.status == "rejected" and not has_failure(report.steps):
        console.print_error(report.reason or "the version was rejected")
    else:
        console.print_text(verdict_line(report.version_ref, report.steps))


def print_submission(
    version_ref: str, duplicate: bool, remaining: int | None, late_for: str | None, disabled_reason: str | None
) -> None:
    """Print notes on a submission; the parameters are fields of `SubmissionReport`."""
    if duplicate:
        console.print_note(f"{version_ref} has the same files: nothing was submitted")
    else:
        quota = "" if remaining is None else f"; {remaining} more today"
        console.print_note(f"{version_ref} was submitted and waits for its checks{quota}")
    if disabled_reason is not None:
        console.print_note(
            f"the bot is disabled ({escape_control(disabled_reason)}): it plays again when staff activates a version"
        )
    if late_for is not None:
        console.print_note(f"submitted after the deadline {late_for}, within the grace period: it counts as late")


@contextmanager
def _exit_on_errors(url: str, token_file: Path) -> Iterator[None]:
    """Turn errors into exit codes: 2 for errors of the input, 1 if the server can't respond at present, or is busy."""
    try:
        yield
    except ServerRefusedError as problem:
        refusal = str(problem)
        if problem.status == 401:
            refusal += f"\nThe token is in {token_file}. Create another on your account page: {account_page(url)}"
        if problem.status == 429 or problem.status >= 500:
            console.fail(refusal)
        console.usage_error(refusal)
    except ServerUnreachableError as problem:
        console.fail(str(problem))
    except (KeyError, TypeError, ValidationError) as problem:  # an answer without the fields of a ladder server
        console.usage_error(f"{url} isn't a ladder server: answer {problem!r}".partition("\n")[0])
    except (BotError, ValueError) as problem:
        console.usage_error(str(problem))


def _upload_with_retries(server: LadderClient, bot: Path, name: str | None) -> dict[str, Any]:
    """Upload the bot, and return the server's report. If the server is busy, wait as it requests and try again.

    Exits with 2 if the bot is too large, with 1 if it can't be read. Raises BotError if it doesn't exist,
    ServerRefusedError or ServerUnreachableError if the server doesn't take it.
    """
    if not bot.exists():
        raise missing_bot_error(bot, bot)
    max_mb = server.ask("/api/submit")["max_upload_mb"]  # also rejects a wrong address or token before the upload
    with _open_archive(bot) as (file, file_name):
        size = file.seek(0, os.SEEK_END)
        if size > max_mb << 20:
            console.usage_error(f"{bot} has {size / 2**20:.1f} MB, packed; the limit is {max_mb} MB")
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                return _upload(server, file, size, file_name, name)
            except ServerRefusedError as problem:
                if problem.status != 503 or problem.retry_after_s is None or not tries_left:
                    raise
                console.print_note(f"{problem} Trying again in {problem.retry_after_s} s.")
                time.sleep(problem.retry_after_s)
    raise AssertionError("the last try returns or raises")


def _upload(server: LadderClient, file: IO[bytes], size: int, file_name: str, name: str | None) -> dict[str, Any]:
    """Send a file of `size` bytes as a form with the bot's name; return the server's report. Raises like `ask`."""
    boundary = secrets.token_hex(16)
    head = _form_part(boundary, f'name="name"\r\n\r\n{name or ""}\r\n')
    head += _form_part(boundary, f'name="files"; filename="{file_name}"\r\n\r\n')
    tail = f"\r\n--{boundary}--\r\n".encode()
    length = len(head) + size + len(tail)
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Content-Length": str(length)}
    return dict(server.ask("/api/submissions", _form_pieces(head, file, tail), headers, UPLOAD_TIMEOUT_S))


def _form_part(boundary: str, parameters: str) -> bytes:
    return f"--{boundary}\r\nContent-Disposition: form-data; {parameters}".encode(errors="replace")


def _form_pieces(head: bytes, file: IO[bytes], tail: bytes) -> Iterator[bytes]:
    yield head
    file.seek(0)
    while piece := file.read(1 << 16):
        yield piece
    yield tail


@contextmanager
def _open_archive(bot: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Yield the file to upload and its name; a folder is packed into a temporary file.

    Exits with 1 if the bot can't be read. Raises BotError if its folder can't be packed.
    """
    path = Path(os.path.abspath(bot))  # its last part is a name
    if path.name == "bot.toml":
        path = path.parent
    name = re.sub(r'["\r\n\\]', lambda match: f"%{ord(match[0]):02X}", path.name)  # as browsers do
    try:
        if path.is_dir():
            with tempfile.TemporaryFile() as file:
                with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                    pack(path, cast(IO[bytes], packed))
                yield file, f"{name}.tar.gz"
        else:
            with path.open("rb") as file:
                yield file, name
    except OSError as problem:
        console.fail(console.os_error_reason(problem))


def _follow_check(server: LadderClient, page: str, report: SubmissionReport, quiet: bool) -> SubmissionReport:
    """Wait for the end of a check, and return its report; print each step as it ends, unless `quiet`.

    page: the path of the version. A server that is away is asked again for RETRY_TIMEOUT_S; then, or if it refuses,
    raises ServerUnreachableError or ServerRefusedError.
    """
    failing_since: float | None = None
    progress = _CheckProgress(quiet)
    while True:
        try:
            state = server.ask(f"/api{page}")
            failing_since = None
            version = {version["number"]: version for version in state["versions"]}[report.number]
            steps = _STEPS.validate_python(state["checks"]["steps"])
            progress.show(version["status"], steps)
            if version["status"] not in _RUNNING_STATUSES:
                return replace(report, status=version["status"], reason=version["reason"], steps=steps)
        except (ServerUnreachableError, ServerRefusedError) as problem:
            failing_since = failing_since or time.monotonic()
            is_passing = isinstance(problem, ServerUnreachableError) or problem.status >= 500
            if not is_passing or time.monotonic() - failing_since > RETRY_TIMEOUT_S:
                console.print_note(f"{report.version_ref} stays submitted; see {server.url}{page}")
                raise
        time.sleep(_POLL_S)


class _CheckProgress:
    """Prints what is new in a check whenever its state is shown; the steps that have ended unless `quiet`."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._status = ""
        self._ended_steps: tuple[CheckStepView, ...] = ()
        self._running_step: CheckStepView | None = None

    def show(self, status: str, steps: tuple[CheckStepView, ...]) -> None:
        """Print the steps that have ended, all of them if the checks were started again, and the running one."""
        ended_steps = tuple(step for step in steps if step.severity != "now")
        if ended_steps[: len(self._ended_steps)] != self._ended_steps:
            console.print_note("the checks started again")
            self._ended_steps = ()
        if not self._quiet:
            for step in ended_steps[len(self._ended_steps) :]:
                console.print_text("\n".join(step_lines(step)))
        self._ended_steps = ended_steps
        if status not in _RUNNING_STATUSES:
            return
        if self._status == "queued" and status != "queued":
            console.print_note("checks are running")
        self._status = status
        if steps != ended_steps and steps[-1] != self._running_step:
            self._running_step = steps[-1]
            console.print_note(f"{steps[-1].check}: {escape_control(steps[-1].message)}")
