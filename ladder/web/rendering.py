"""Render values as pages or JSON: templates, response headers, ETags and endpoints.

An endpoint makes one value, served as a page and, under /api, as JSON with a schema. The ladder's last event is the
ETag, so a page is rendered again only after an event. A page that is the same for all users except staff and owners
is rendered once for all of them."""

import hashlib
import inspect
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import TypeAdapter

from arena import __version__, formatting
from arena.bots import KITS, LANGUAGES
from arena.escaping import escape_control
from arena.lessons import ways_html
from arena.playground import find_build, make_program_fragment
from arena.replay import style_sheets
from arena.samples import sample_folder
from ladder.audit_log import ACTION_LABELS, describe_decision
from ladder.bot_pages import DailyRating
from ladder.grading import describe_missing_ids
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.settings_forms import describe_settings
from ladder.standings import COLUMNS
from ladder.standings.computation import StandingsRow
from ladder.view_context import ViewContext
from ladder.web.downloads import wheel_name
from ladder.web.request_context import HTTPError, RequestContext, authorize

_WEB_FOLDER = files("ladder.web")
_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "LICENSE": "text/plain", "svg": "image/svg+xml"}
_MAX_SHARED_PAGES = 500

# The browser runs scripts and applies styles from files of this server alone, never from within a page.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
HTTPS_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}  # TLS only, for a year

_TABLE = re.compile(r'<table (aria-label="[^"]*")>(\s*<thead>.*?</thead>)(.*?)</table>', re.DOTALL)
_HEADING = re.compile(r"<th\b[^>]*>(?:<span class=.unseen.>.*?</span>)?(.*?)</th>", re.DOTALL)

ViewFunction = Callable[[ViewContext], Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageContent:
    """A page's content within its layout. live: the ids of the parts that are reloaded on changes, None for all."""

    title: str
    text: str
    live: str | None


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Return the files that pages load, by name: (contents, media type)."""
    contents = {path.name: path.read_bytes() for path in (_WEB_FOLDER / "static").iterdir()}
    contents["web.css"] = f"{style_sheets('ways')}\n".encode() + contents["web.css"]
    contents |= {name: (files("arena.replay") / "static" / name).read_bytes() for name in ("icon.svg", "cards.svg")}
    return {name: (data, _MEDIA_TYPES[name.rpartition(".")[2]]) for name, data in contents.items()}


@cache
def _assets_version() -> str:
    """Return a hash of the templates, the static files and the arena's version, which determine how pages look."""
    static = [data for data, _ in static_files().values()]
    templates = sorted((_WEB_FOLDER / "templates").iterdir(), key=lambda path: path.name)
    contents = [__version__.encode(), *static, *(path.read_bytes() for path in templates)]
    return hashlib.sha256(b"".join(contents)).hexdigest()[:12]


def asset_url(name: str) -> str:
    """Return the path of a file of `static_files`. The path contains a hash, so browsers may cache it forever."""
    return f"/static/{_assets_version()}/{name}"


@cache
def _make_environment() -> Environment:
    """Return the templates' environment, with all that templates may call."""
    env = Environment(
        loader=FileSystemLoader(str(_WEB_FOLDER / "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals |= {"cells": formatting, "asset": asset_url, "spark": sparkline_points, "version": __version__}
    env.globals |= {
        "standings_columns": COLUMNS,
        "wheel_name": wheel_name(),
        "languages": {kit: LANGUAGES[kit].name for kit in KITS},
        "ways": lambda *texts: Markup(ways_html(*texts)),
        "describe_missing_ids": describe_missing_ids,
        "action_labels": ACTION_LABELS,
        "playground": lambda: find_build() is not None,
    }
    env.globals["starter_fragment"] = make_program_fragment((sample_folder() / "python/bot.py").read_text("utf-8"))
    env.filters |= {
        "when": format_time,
        "duration": _format_duration,
        "counted": formatting.format_count,
        "wins": formatting.format_wins,
        "points": scale_ratings,
        "share_scale": share_scale,
        "percent_of": percent_on_scale,
        "lines": escape_lines,
        "did": describe_decision,
        "settings": describe_settings,
        "qr": render_qr_code,
        "icon": render_icon,
    }
    return env


def compile_templates() -> None:
    """Compile all templates."""
    for name in _make_environment().list_templates():
        _make_environment().get_template(name)


def _finalize(value: object) -> object:
    """Return a template's value as it is printed: text with control characters escaped, "" for None."""
    if value is None:
        return ""
    return escape_control(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def escape_lines(text: str | bytes | Sequence[str]) -> Markup:
    """Return the lines of a text, such as standard error, or of several texts, with control characters escaped."""
    if isinstance(text, bytes):
        return escape_lines(text.decode(errors="backslashreplace"))
    texts = [text] if isinstance(text, str) else text
    return Markup("\n").join(escape_control(line) for item in texts for line in item.splitlines())


def render_page(
    request: RequestContext, template: str, make: ViewFunction, *, shared: bool = False, fresh_s: float | None = None
) -> Response:
    """Return the page of a template for the value that `make` returns. Raises HTTPError 404 if that is None.

    shared: the page is the same for all users but staff, so it is rendered once, for the public as its viewer.
    fresh_s: the page also changes with time, and is rendered again after this many seconds.
    """

    def render(view: Any, context: ViewContext) -> PageContent:
        return _render_content(replace(request, viewer=context.viewer), template, found=view, context=context)

    content, headers = _render_cached(request, make, render, shared=shared, fresh_s=fresh_s)
    return _make_not_modified(headers) if content is None else _render_layout(request, content, headers)


def json_response(request: RequestContext, shape: Any, make: ViewFunction, *, fresh_s: float | None = None) -> Response:
    """Return the value of type `shape` that `make` returns, as JSON; `fresh_s` and errors as in `render_page`."""
    text, headers = _render_cached(
        request, make, lambda view, context: _get_adapter(shape).dump_json(view), fresh_s=fresh_s
    )
    if text is None:
        return _make_not_modified(headers)
    return Response(text, media_type="application/json", headers=headers)


@cache
def _get_adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def static_document(request: RequestContext, make: ViewFunction) -> Response:
    """Return a complete HTML document that `make` returns and that never changes; pages of this site may frame it.

    Raises HTTPError 404 if it returns None.
    """
    text, headers = _render_cached(request, make, lambda view, context: view, is_permanent=True)
    headers["Content-Security-Policy"] = "frame-ancestors 'self'"
    return _make_not_modified(headers) if text is None else Response(text, 200, headers, "text/html; charset=utf-8")


def _render_cached(
    request: RequestContext,
    make: ViewFunction,
    render: Callable[[Any, ViewContext], T],
    *,
    shared: bool = False,
    fresh_s: float | None = None,
    is_permanent: bool = False,
) -> tuple[T | None, dict[str, str]]:
    """Return (content, headers) of a response: what `render` makes of the value that `make` returns.

    The content is None if the client has it already, by its ETag. shared, fresh_s: as in `render_page`. is_permanent:
    the value never changes, so its ETag doesn't contain the ladder's revision. Raises HTTPError 404 if `make` returns
    None.
    """
    viewer = PUBLIC_VIEWER if shared and not request.viewer.staff else request.viewer
    shared_pages = request.state.shared_pages
    with request.ladder.reading(viewer) as context:
        revision = None if is_permanent else context.revision
        period = None if fresh_s is None else int(context.now / fresh_s)
        key = (request.target, _make_viewer_key(viewer), revision, period)
        headers = _make_cache_headers(request, key)
        if request.http.headers.get("if-none-match") == headers["ETag"]:
            return None, headers
        if shared and key in shared_pages:
            return shared_pages[key], headers
        view = make(context)
        if view is None:
            raise HTTPError(404, "This page doesn't exist, or you don't have access to it.", request)
        rendered = render(view, context)
    if shared:
        shared_pages[key] = rendered
        while len(shared_pages) > _MAX_SHARED_PAGES:
            shared_pages.pop(next(iter(shared_pages)), None)
    return rendered, headers


def _make_cache_headers(request: RequestContext, key: object) -> dict[str, str]:
    """Return the headers of a response that browsers may keep, but have to check by its ETag. key: of its content."""
    viewer_key = _make_viewer_key(request.viewer)
    content = repr((key, viewer_key, _assets_version(), request.ladder.name, request.state.banner))
    etag = f'"{hashlib.sha256(content.encode()).hexdigest()[:20]}"'
    return {"ETag": etag, "Cache-Control": "no-store" if _is_personal(request) else "private, no-cache"}


def _is_personal(request: RequestContext) -> bool:
    """Return whether a page has personal data, so that browsers must not store it."""
    path = request.http.url.path.removeprefix("/api")
    is_own_home = path in ("", "/") and request.viewer.login is not None
    return is_own_home or path.startswith(("/account", "/grades", "/admin"))


def _make_not_modified(headers: dict[str, str]) -> Response:
    return Response(status_code=304, headers=headers)


def render_form(request: RequestContext, template: str, status: int = 200, **variables: Any) -> Response:
    """Return a page that must not be stored: a form, a secret, an error. variables: those of its template."""
    content = _render_content(request, template, **variables)
    return _render_layout(request, content, {"Cache-Control": "no-store"}, status)


def _render_content(request: RequestContext, template: str, **variables: Any) -> PageContent:
    """Return a page's content from its template and variables."""
    module: Any = _make_environment().get_template(template).make_module({"request": request, **variables})
    return PageContent(module.title, _TABLE.sub(_label_cells, str(module)), getattr(module, "live", None))


def _label_cells(table: re.Match[str]) -> str:
    """Return a table that scrolls, and whose cells have the headings of their columns: a phone shows it as a list.

    table: a match of _TABLE.
    """
    label, head, body = table.groups()
    headings = [escape(Markup(heading).striptags()) for heading in _HEADING.findall(head)]

    def label_row(row: str) -> str:
        names = iter(headings)
        return re.sub(r"<td\b", lambda _: f'<td data-label="{next(names, "")}"', row)

    rows = "<tr".join(map(label_row, body.split("<tr")))
    region = f'<div class="scroll" tabindex="0" role="region" {label}>'
    return f'{region}\n<table class="listed">{head}{rows}</table></div>'


def _render_layout(
    request: RequestContext, content: PageContent, headers: dict[str, str], status: int = 200
) -> Response:
    layout = _make_environment().get_template("layout.html")
    text = layout.render(request=request, content=content)
    return Response(text, status, headers, "text/html; charset=utf-8")


def _make_viewer_key(viewer: Viewer) -> str:
    return "staff" if viewer == STAFF_VIEWER else f"{viewer.login}/{viewer.staff}/{sorted(viewer.mates)}"


def format_time(timestamp: float | None, show: Literal["", "exact", "both"] = "") -> Markup:
    """Return a time as HTML in UTC; "-" for None.

    show: what the browser's script puts in its place. "": the time relative to now, and on hover that in the reader's
    zone. "exact": the time in the reader's zone. "both": this, then relative to now.
    """
    if timestamp is None:
        return Markup("-")
    text = time.strftime("%Y-%m-%d %H:%M", time.gmtime(timestamp))
    machine_text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(timestamp))
    attribute = Markup(f' data-show="{show}"' if show else "")
    return Markup('<time datetime="{}"{}>{} UTC</time>').format(machine_text, attribute, text)


def _format_duration(seconds: float) -> str:
    """Return a duration: from two days on in days, from two hours on in hours, from one minute on in minutes."""
    for min_s, unit_s, unit in ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (60, 60, "min")):
        if seconds >= min_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def render_icon(text: str) -> str:
    """Return the address of an icon with one or two characters: an SVG within the address."""
    font = 'x="32" y="46" font-size="40" text-anchor="middle" fill="#fff" font-family="sans-serif"'
    shapes = f'<rect width="64" height="64" rx="12" fill="#23589f"/><text {font}>{escape(text)}</text>'
    return "data:image/svg+xml," + quote(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">{shapes}</svg>')


def render_qr_code(text: str) -> Markup:
    """Return the QR code of a text as an SVG, dark on light also in a dark scheme."""
    import segno  # which only pages with a code need

    code: str = segno.make(text, micro=False).svg_inline(
        border=4, omitsize=True, dark="#000", light="#fff", svgclass="qr", lineclass=None, title="QR code"
    )
    return Markup(code)


def scale_ratings(days: Sequence[DailyRating], end: str) -> list[tuple[float, float]]:
    """Return (x, rating) for each day, with x from 0 (the first day) to 1.

    end: "value" for the rating itself; "low" or "high" for that end of its interval, or the rating without an interval.
    """
    last_index = max(1, len(days) - 1)
    points = []
    for index, day in enumerate(days):
        value = getattr(day.rating, end)
        points.append((index / last_index, day.rating.value if value is None else value))
    return points


def sparkline_points(points: Sequence[tuple[float, float]], width: int, height: int, low: float, high: float) -> str:
    """Return points as an SVG line's attribute, scaled to width and height; x is from 0 to 1, y from low to high."""
    span = (high - low) or 1.0
    return " ".join(f"{x * width:.1f},{height - (y - low) / span * height:.1f}" for x, y in points)


def share_scale(rows: Sequence[StandingsRow], fair: float) -> tuple[float, float]:
    """Return the minimum and maximum of the rows' adjusted win rates with their intervals, and of the fair win rate."""
    win_rates = [row.win_rate_adjusted for row in rows if row.win_rate_adjusted is not None]
    ends = [end for rate in win_rates for end in (rate.low, rate.value, rate.high) if end is not None]
    return min([fair, *ends]), max([fair, *ends])


def percent_on_scale(value: float, scale: tuple[float, float]) -> str:
    """Return the position of a value on a scale (low, high), in percent of its length, as text."""
    low, high = scale
    return f"{100 * (value - low) / ((high - low) or 1):.1f}"


F = TypeVar("F", bound=Callable[..., Any])


def page_and_json(
    router: APIRouter,
    path: str,
    template: str,
    *,
    shared: bool = False,
    personal: bool = False,
    fresh_s: float | None = None,
) -> Callable[[F], F]:
    """Return a decorator that serves a function's value as a page at `path`, and as JSON below /api.

    The function takes the ladder, a ViewContext and the parameters of the path and the query. It returns a value of
    the ladder, or None for a 404 error. shared, fresh_s: as in `render_page`. personal: only viewers without a login
    share the page.
    """

    def declare(make: F) -> F:
        """Declare both routes of a view, whose arguments after the ladder and the context become those of the query."""
        shape = inspect.get_annotations(make)["return"]

        def html_endpoint(*, request: RequestContext, **arguments: Any) -> Response:
            return render_page(
                request,
                template,
                partial(make, request.ladder, **arguments),
                shared=shared and not (personal and request.viewer.login),
                fresh_s=fresh_s,
            )

        def json_endpoint(*, request: RequestContext, **arguments: Any) -> Response:
            return json_response(request, shape, partial(make, request.ladder, **arguments), fresh_s=fresh_s)

        for function in (html_endpoint, json_endpoint):
            function.__signature__ = _make_endpoint_signature(make)  # type: ignore[attr-defined]
            function.__doc__, function.__name__ = make.__doc__, make.__name__
        router.get(path, include_in_schema=False)(html_endpoint)
        router.get(f"/api{path}".rstrip("/"), response_model=None, responses={200: {"model": shape}})(json_endpoint)
        return make

    return declare


def _make_endpoint_signature(make: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a view's endpoint for FastAPI: the request in place of the ladder and the context."""
    _, _, *parameters = inspect.signature(make).parameters.values()
    keywords = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    request = inspect.Parameter(
        "request", inspect.Parameter.KEYWORD_ONLY, annotation=RequestContext, default=Depends(authorize)
    )
    return inspect.Signature([*keywords, request])
