"""Implement `arena submit`, which sends a bot to a ladder's server, and prints its checks as they end."""

import gzip
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import quote

import click
from pydantic import TypeAdapter

from arena.bots import BotError, missing_bot_error, pack
from arena.checks import CheckStepView
from arena.cli import console
from arena.cli.api_client import LadderClient, ServerRefusedError, ServerUnreachableError, read_token, token_file
from arena.cli.check import has_failure, step_lines, verdict_line
from arena.escaping import escape_control

RETRY_TIMEOUT_S = 120.0  # while the server is unreachable
UPLOAD_TIMEOUT_S = 300.0  # for the response to an upload
MAX_TRIES = 10  # if the server is busy with other uploads

_STEPS = TypeAdapter(tuple[CheckStepView, ...])


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
    with _exit_on_refusal(url, file):
        server = LadderClient(url, read_token(file, url))
        if server.readable:
            console.print_note(f"{server.url} isn't encrypted: others on the network can read your token")
        sent = SubmissionReport(**_upload_with_retries(server, bot, name))
        where = f"/bots/{quote(sent.name, safe='')}/{sent.number}"
        try:
            print_submission(sent.version_ref, sent.duplicate, sent.remaining, sent.late_for, sent.disabled_reason)
            if no_wait:
                console.print_note(f"checks: {server.url}{where}")
            else:
                if not as_json:
                    console.print_text(click.style(escape_control(sent.version_ref), bold=True))
                sent = _follow_check(server, where, sent, as_json)
        except KeyboardInterrupt:
            console.print_note(f"{sent.version_ref} stays submitted, and will be checked; see {server.url}{where}")
            raise
    if as_json:
        console.print_json(sent)
    elif not no_wait:
        if sent.status == "rejected" and not has_failure(sent.steps):
            console.print_error(sent.reason or "the version was rejected")
        else:
            console.print_text(verdict_line(sent.version_ref, sent.steps))
    sys.exit(1 if sent.status == "rejected" else 0)


def print_submission(version_ref: str, again: bool, left: int | None, late: str | None, disabled: str | None) -> None:
    """Print notes on a submission. again: a duplicate. left: submissions left today. late: the missed deadline."""
    if again:
        console.print_note(f"{version_ref} has the same files: nothing was submitted")
    else:
        console.print_note(
            f"{version_ref} was submitted and waits for its checks" + ("" if left is None else f"; {left} more today")
        )
    if disabled is not None:
        console.print_note(
            f"the bot is disabled ({escape_control(disabled)}): it plays again when staff activates a version"
        )
    if late is not None:
        console.print_note(f"submitted after the deadline {late}, within the grace period: it counts as late")


@contextmanager
def _exit_on_refusal(url: str, file: Path) -> Iterator[None]:
    """Turn errors into exit codes: 2 for errors of the input, 1 if the server can't respond at present."""
    try:
        yield
    except ServerRefusedError as problem:
        what = str(problem)
        if problem.status == 401:
            what += f"\nThe token is in {file}. Create another on your account page: {url.rstrip('/')}/account"
        (console.fail if problem.status == 429 or problem.status >= 500 else console.usage_error)(what)
    except ServerUnreachableError as problem:
        console.fail(str(problem))
    except BotError as problem:
        console.usage_error(str(problem))
    except (KeyError, TypeError, ValueError) as problem:
        console.usage_error(
            str(problem) if type(problem) is ValueError else f"{url} isn't a ladder server: answer {problem!r}"
        )


def _upload_with_retries(server: LadderClient, bot: Path, name: str | None) -> dict[str, Any]:
    """Upload the bot, and return the server's report. If the server is busy, wait as it requests and try again."""
    if not bot.exists():
        raise missing_bot_error(bot, bot)
    most = server.ask("/api/submit")["max_upload_mb"]  # also rejects a wrong address or token before the upload
    with _open_archive(bot) as (file, called):
        size = file.seek(0, os.SEEK_END)
        if size > most << 20:
            console.usage_error(f"{bot} has {size / 2**20:.1f} MB, packed; the limit is {most} MB")
        for last in (*[False] * (MAX_TRIES - 1), True):
            boundary = secrets.token_hex(16)
            head = _form_part(boundary, f'name="name"\r\n\r\n{name or ""}\r\n')
            head += _form_part(boundary, f'name="files"; filename="{called}"\r\n\r\n')
            tail = f"\r\n--{boundary}--\r\n".encode()
            length = len(head) + size + len(tail)
            headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Content-Length": str(length)}
            try:
                return dict(server.ask("/api/submissions", _form_pieces(head, file, tail), headers, UPLOAD_TIMEOUT_S))
            except ServerRefusedError as problem:
                if problem.status != 503 or problem.again_s is None or last:
                    raise
                console.print_note(f"{problem} Trying again in {problem.again_s} s.")
                time.sleep(problem.again_s)
    raise AssertionError("the last try returns or raises")


def _form_part(boundary: str, parameters: str) -> bytes:
    return f"--{boundary}\r\nContent-Disposition: form-data; {parameters}".encode()


def _form_pieces(head: bytes, file: IO[bytes], tail: bytes) -> Iterator[bytes]:
    yield head
    file.seek(0)
    while piece := file.read(1 << 16):
        yield piece
    yield tail


@contextmanager
def _open_archive(bot: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Yield the file to upload and its name; a folder is packed into a temporary file."""
    bot = Path(os.path.abspath(bot))  # its last part is a name
    if bot.name == "bot.toml":
        bot = bot.parent
    name = "".join(
        f"%{ord(character):02X}" if character in '"\r\n\\' else character for character in bot.name
    )  # as browsers do
    try:
        if bot.is_dir():
            with tempfile.TemporaryFile() as file:
                with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                    pack(bot, cast(IO[bytes], packed))
                yield file, f"{name}.tar.gz"
        else:
            with bot.open("rb") as file:
                yield file, name
    except OSError as problem:
        console.fail(console.os_error_reason(problem))


def _print_new_steps(ended: Sequence[CheckStepView], printed: Sequence[CheckStepView], quiet: bool) -> None:
    """Print the steps that ended since those that are `printed`; all of them if the checks were started again."""
    if ended[: len(printed)] != printed:
        console.print_note("the checks started again")
        printed = ()
    for step in () if quiet else ended[len(printed) :]:
        console.print_text("\n".join(step_lines(step)))


def _follow_check(server: LadderClient, where: str, sent: SubmissionReport, quiet: bool) -> SubmissionReport:
    """Wait for the end of a check, and return its report; print each step as it ends, unless `quiet`."""
    away_since: float | None = None
    last = ""
    printed: tuple[CheckStepView, ...] = ()
    doing: CheckStepView | None = None
    while True:
        try:
            state = server.ask(f"/api{where}")
            away_since = None
            version = next(candidate for candidate in state["versions"] if candidate["number"] == sent.number)
            steps = _STEPS.validate_python(state["checks"]["steps"])
            ended = tuple(step for step in steps if step.severity != "now")
            _print_new_steps(ended, printed, quiet)
            printed = ended
            if version["status"] not in ("queued", "checking"):
                return replace(sent, status=version["status"], reason=version["reason"], steps=steps)
            if version["status"] != last == "queued":
                console.print_note("checks are running")
            last = version["status"]
            if steps != ended and doing != steps[-1]:
                doing = steps[-1]
                console.print_note(f"{doing.check}: {escape_control(doing.message)}")
        except (ServerUnreachableError, ServerRefusedError) as problem:
            away_since = away_since or time.monotonic()
            passing = isinstance(problem, ServerUnreachableError) or problem.status >= 500
            if not passing or time.monotonic() - away_since > RETRY_TIMEOUT_S:
                console.print_note(f"{sent.version_ref} stays submitted; see {server.url}{where}")
                raise
        time.sleep(1.0)  # between two requests for a check's state
