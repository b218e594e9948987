"""Accept uploads of bots, and serve owners' actions: challenge, choose the active version, download files.

An upload is bounded, and on the disk before any code parses it. The request is read in pieces of the connection's
size, so memory use is constant. Files are in a scratch folder that is removed with the request, or at the next start
if the server was killed."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.concurrency import contextmanager_in_threadpool, run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from arena.bots import PROGRAM_STARTS
from arena.sandbox import DISK_FULL_ERRNOS, scratch_folder
from ladder import activation, bot_pages, bots
from ladder.challenges import queue_challenges
from ladder.clock import parse_time
from ladder.ladder import Ladder
from ladder.view_context import ViewContext
from ladder.web.rendering import page_and_json
from ladder.web.request_context import (
    AuthorizedRoute,
    CurrentContext,
    HTTPError,
    RequestContext,
    hold_body,
    redirect_after,
)
from ladder.web.sign_in import count_try

my_bots_router = APIRouter(route_class=AuthorizedRoute, include_in_schema=False)


@my_bots_router.post("/bots/{name}/challenges")
def challenge(
    request: CurrentContext,
    name: str,
    opponents: Annotated[tuple[str, ...], Form()] = (),
    count: Annotated[int, Form(ge=1, le=10)] = 1,
) -> Response:
    """Queue challenges, and redirect to the first. Each of `opponents` may be several names, separated by commas."""
    names = [opponent.strip() for opponent in ",".join(opponents).split(",") if opponent.strip()]
    queued = queue_challenges(request.ladder, name, names, request.actor, count)
    return RedirectResponse(f"/matches/{queued.matches[0]}", 303)


@my_bots_router.post("/bots/{name}/active-version")
def set_active_version(
    request: CurrentContext, name: str, version: Annotated[int, Form(ge=1, le=2**31 - 1)]
) -> Response:
    """Make another accepted version of the user's own bot the active one."""
    changed = activation.choose_version(request.ladder, name, version, request.actor)
    return redirect_after(request, changed, f"{name}@{version} is active", f"/bots/{quote(name, safe='')}")


@my_bots_router.get("/bots/{name}/{number}/files.tar")
def download_files(request: CurrentContext, name: str, number: int) -> Response:
    """Return a version's files as a tar archive."""
    count_try(request, "files")
    with request.ladder.reading(request.viewer) as context:
        data = bot_pages.find_version_archive(context, name, number)
    if data is None:
        raise HTTPError(404, "This page doesn't exist, or you don't have access to it.", request)
    disposition = f"attachment; filename*=UTF-8''{quote(f'{name}-{number}.tar', safe='')}"
    headers = {"Content-Disposition": disposition, "Cache-Control": "private, no-store"}
    return Response(data, media_type="application/x-tar", headers=headers)


UPLOAD_TIMEOUT_S = 120.0  # for a complete upload
DRAIN_TIMEOUT_S = 5.0  # a browser shows no response before it has sent its form
RETRY_AFTER_S = 10  # for clients to try again after too many simultaneous uploads
_MAX_FIELD_BYTES = 1 << 20  # in addition to the files: names and fields
_MAX_NAME_BYTES = 1 << 10
_MAX_FILES = 2_000  # as many as an archive may hold
_KNOWN_FIELDS = (b"name", b"owner", b"at")
_MAX_FOLDER_DEPTH = 50
_MAX_PATH_PART_BYTES = 255

NO_FILE = "The form contains no file.\nSend a file, the files of a folder, or an archive as multipart/form-data."
_WRONG_PATH = "The path of a file is outside of its folder or too long."
STAFF_HAS_NO_BOTS = "Staff can't own bots.\nGive the owner's login in the field owner."


async def receive_submission(request: RequestContext) -> bots.AcceptedSubmission:
    """Submit the files of a request's form as a version of a user's bot.

    Staff names the owner and may set the time of submission. A complete upload is submitted even if the client has
    disconnected. Raises HTTPError, and the errors of `submit_bot`.
    """
    assert isinstance(request.http, Request), "a form comes by a request"
    stream = request.http.stream()
    try:
        return await _receive_and_submit(request, stream)
    except (HTTPError, OSError) as error:
        if request.http.headers.get("expect") is None:  # a program that sends it waits for permission to upload
            await _drain(request, stream)
        if not isinstance(error, OSError) or error.errno not in DISK_FULL_ERRNOS:
            raise
        raise HTTPError(503, "The ladder's disk is full. Report it to the staff.", request, 60) from None


async def _receive_and_submit(request: RequestContext, stream: AsyncIterator[bytes]) -> bots.AcceptedSubmission:
    """Receive an upload into a scratch folder, and submit it, with the errors of `receive_submission`."""
    login = request.actor
    count_try(request, "upload")
    with request.state.uploads.admit(login) as is_allowed:
        if not is_allowed:
            raise HTTPError(
                503, "The server is receiving too many uploads. Try again in a moment.", request, RETRY_AFTER_S
            )
        async with contextmanager_in_threadpool(scratch_folder()) as scratch:
            form = await _receive_form(request, stream, scratch / "bot")
            return await _submit_form(request, form)


async def _submit_form(request: RequestContext, form: "_UploadedForm") -> bots.AcceptedSubmission:
    """Submit the files of a received form. For staff its fields name the owner and the time of receipt.

    Raises HTTPError if staff names no owner, LadderError for an invalid time, and the errors of `submit_bot`.
    """
    owner, received_at = request.actor, None
    if request.viewer.staff:
        owner, time_text = form.get_field("owner"), form.get_field("at")
        if not owner:
            raise HTTPError(400, STAFF_HAS_NO_BOTS, request)
        received_at = parse_time(request.ladder.settings, time_text) if time_text else None
    submit = partial(
        bots.submit_bot,
        name=form.get_field("name") or None,
        received_at=received_at,
        submitted_by=request.actor,
        uses_pseudonym=request.viewer.staff,
    )
    async with request.state.readers:
        return await run_in_threadpool(submit, request.ladder, form.path, owner)


async def _receive_form(request: RequestContext, stream: AsyncIterator[bytes], folder: Path) -> "_UploadedForm":
    """Write the files of a request's form to a new folder, and return the form.

    Raises HTTPError if it is no form with files, too large, too slow or cut off, OSError if a file can't be written.
    """
    content_type, options = parse_options_header(request.http.headers.get("content-type"))
    if content_type != b"multipart/form-data" or not options.get(b"boundary"):
        raise HTTPError(400, NO_FILE, request)
    max_mb = request.ladder.settings.quotas.max_upload_mb
    _require_size(request, int(request.http.headers.get("content-length", 0)), max_mb)
    folder.mkdir()
    try:
        with closing(_UploadedForm(options[b"boundary"], folder, request)) as form:
            await _parse_body(request, stream, form, max_mb)
            form.require_complete()
            form.set_modes()
            return form
    except FormParserError:
        raise HTTPError(400, NO_FILE, request) from None


async def _parse_body(
    request: RequestContext, stream: AsyncIterator[bytes], form: "_UploadedForm", max_mb: int
) -> None:
    """Parse a request's body as a form, piece by piece. max_mb: of its files. Raises HTTPError or FormParserError."""
    received_bytes = 0
    try:
        with hold_body(request):
            async with asyncio.timeout(UPLOAD_TIMEOUT_S):
                async for piece in stream:
                    received_bytes += len(piece)
                    _require_size(request, received_bytes, max_mb)
                    await run_in_threadpool(form.write, piece)
    except ClientDisconnect:
        raise HTTPError(400, "The upload is incomplete. Send it again.", request) from None
    except TimeoutError:
        raise HTTPError(408, f"The upload took more than {UPLOAD_TIMEOUT_S:.0f} s.", request) from None


def _require_size(request: RequestContext, size_bytes: int, max_mb: int) -> None:
    """Raise HTTPError if a form is larger than its files and fields may be. max_mb: of the files."""
    if size_bytes > (max_mb << 20) + _MAX_FIELD_BYTES:
        raise HTTPError(413, f"The upload is larger than the allowed {max_mb} MB.", request)


async def _drain(request: RequestContext, stream: AsyncIterator[bytes]) -> None:
    """Read and discard the rest of a request, for at most DRAIN_TIMEOUT_S."""
    with suppress(TimeoutError, ClientDisconnect, HTTPError), hold_body(request):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            async for _ in stream:
                pass


class _UploadedForm:
    """Parse a form piece by piece: write its files to a folder, and store the fields of _KNOWN_FIELDS.

    boundary: of the content type. folder: exists, and is empty. request: that of the errors.
    """

    def __init__(self, boundary: bytes, folder: Path, request: RequestContext) -> None:
        self._folder = folder
        self._request = request
        # Of the whole form, so far:
        self._part_count = 0
        self._paths: list[Path] = []  # of the files
        self._field_values: dict[bytes, bytes] = {}  # by the fields of _KNOWN_FIELDS
        self._is_complete = False  # whether the final boundary was read
        # Of the present part:
        self._header_name, self._header_value = b"", b""  # of the present header, so far
        self._part_headers: dict[bytes, bytes] = {}  # by name in lower case
        self._open_file: IO[bytes] | None = None  # None outside of files
        self._field: bytes | None = None  # the name; None outside of fields
        self._parser = MultipartParser(
            boundary,
            {
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_data,
                "on_part_end": self.close,
                "on_end": self._on_end,
            },
        )

    def write(self, piece: bytes) -> None:
        """Parse the next piece. Raises FormParserError, HTTPError, OSError."""
        if not self._is_complete:  # data after the form's end is ignored
            self._parser.write(piece)

    def close(self) -> None:
        """Close the file that is being written, if any."""
        file, self._open_file = self._open_file, None
        if file is not None:
            file.close()

    def require_complete(self) -> None:
        """Raise HTTPError unless the form is complete and has a file."""
        if not (self._is_complete and self._paths):
            raise HTTPError(400, NO_FILE, self._request)

    def set_modes(self) -> None:
        """Make the files that begin as programs executable, and all files readable."""
        for path in self._paths:
            with path.open("rb") as file:
                path.chmod(0o755 if file.read(5).startswith(PROGRAM_STARTS) else 0o644)

    @property
    def path(self) -> Path:
        """Return the only file, or the folder if there are several files or subfolders."""
        has_one_file = len(self._paths) == 1 and self._paths[0].parent == self._folder
        return self._paths[0] if has_one_file else self._folder

    def get_field(self, name: str) -> str:
        """Return the value of a field, stripped; "" if it is missing."""
        return self._field_values.get(name.encode(), b"").decode(errors="replace").strip()

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _on_header_end(self) -> None:
        self._part_headers[self._header_name.lower()] = self._header_value
        self._header_name, self._header_value = b"", b""

    def _on_headers_finished(self) -> None:
        """Begin the part of these headers: a field or a file. Raises HTTPError for too many parts or a wrong path."""
        self._part_count += 1  # parts without files take time, too
        if self._part_count > _MAX_FILES:
            raise HTTPError(413, f"The upload has more than {_MAX_FILES} files.", self._request)
        _, options = parse_options_header(self._part_headers.get(b"content-disposition"))
        self._part_headers = {}
        self._field = options.get(b"name") if b"filename" not in options else None
        if options.get(b"filename"):  # "" if no file was chosen
            self._create_file(options[b"filename"])

    def _create_file(self, filename: bytes) -> None:
        """Create the file of a path within the folder, and open it for writing.

        Raises HTTPError if the path is outside of the folder, too long, used or no UTF-8; OSError on a full disk.
        """
        parts = filename.split(b"/")
        is_inside = all(part not in (b"", b".", b"..") and b"\0" not in part for part in parts)
        is_short = len(parts) <= _MAX_FOLDER_DEPTH and max(map(len, parts)) <= _MAX_PATH_PART_BYTES
        if not (is_inside and is_short):
            raise HTTPError(400, _WRONG_PATH, self._request)
        try:
            path = self._folder.joinpath(*(part.decode() for part in parts))
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open_file = path.open("xb")
        except (UnicodeDecodeError, FileExistsError, NotADirectoryError):
            raise HTTPError(400, "The name of a file occurs twice or isn't valid UTF-8.", self._request) from None
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:  # of all parts together
                raise
            raise HTTPError(400, _WRONG_PATH, self._request) from None
        self._paths.append(path)

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._open_file is not None:
            self._open_file.write(memoryview(data)[start:end])
        elif self._field in _KNOWN_FIELDS:
            value = self._field_values.get(self._field, b"") + data[start:end]
            self._field_values[self._field] = value[:_MAX_NAME_BYTES]

    def _on_end(self) -> None:
        self._is_complete = True


submit_router = APIRouter(route_class=AuthorizedRoute)

BOUNDED = 1 << 40  # `_receive_form` enforces the limit of ladder.toml


@page_and_json(submit_router, "/submit", "submit.html", fresh_s=60)
def show_form(ladder: Ladder, context: ViewContext) -> bots.RemainingQuota:
    """Return the user's remaining quota."""
    return bots.get_remaining_quota(ladder, context)


@submit_router.post("/submit", include_in_schema=False, max_body_size=BOUNDED)
async def send(request: CurrentContext) -> Response:
    """Submit a bot, and redirect to its checks."""
    submission = await receive_submission(request)
    return RedirectResponse(f"/bots/{quote(submission.name, safe='')}/{submission.number}#checks", 303)


@submit_router.post("/api/submissions", max_body_size=BOUNDED)
async def send_plain(request: CurrentContext) -> Response:
    """Submit a bot, and return its version: status 201, or 200 if the newest version has the same files."""
    submission = await receive_submission(request)
    fields = ("version_ref", "name", "number", "duplicate", "late_for", "remaining", "disabled_reason")
    values = {field: getattr(submission, field) for field in fields}
    return JSONResponse(values, 200 if submission.duplicate else 201)
