"""Export the public pages as static files with relative links, for any web host."""

import asyncio
import hashlib
import html
import os
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from ladder.ladder import Ladder
from ladder.match_pages import list_matches
from ladder.permissions import PUBLIC_VIEWER
from ladder.web.app import make_app

MAX_EXPORTED_MATCHES = 200
_MAX_NAME_BYTES = 200  # of a folder's name
_FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)  # removed: static files can't answer a search
_LINK = re.compile(r'(?<=[ ])(href|src|action|hx-get)="(/[^"]*)"')
_START_PAGES = ("/", "/standings", "/head-to-head", "/bots", "/matches", "/finals", "/docs", "/start")
_EXCLUDED_PREFIXES = (
    "/sign-in", "/account", "/submit", "/queue", "/tables", "/playground", "/api", "/openapi.json", "/changes",
)  # fmt: skip


def export_static_site(ladder: Ladder, folder: Path, matches: int = MAX_EXPORTED_MATCHES) -> int:
    """Write the public pages that work without a server into `folder`; return the number of files.

    matches: how many of the newest matches get a page. Each file is replaced atomically. Files from earlier exports are
    kept, so old links keep working. Raises OSError if a file can't be written.
    """
    app = make_app(ladder, "http://localhost", public=True)
    with ladder.reading(PUBLIC_VIEWER) as context:
        match_pages = {f"/matches/{match.id}" for match in list_matches(context, limit=matches).items}
    pages, other_files = _crawl(app, match_pages)
    file_names = {address: _name_page_file(address) for address in pages}
    file_names |= {address: unquote(urlsplit(address).path).strip("/") for address in other_files}
    for address, data in other_files.items():
        _write_atomically(folder / file_names[address], data)
    for address, text in pages.items():
        relative_text = _LINK.sub(partial(_make_link_relative, file_names, address), text)
        _write_atomically(folder / file_names[address], relative_text.encode())
    return len(set(file_names.values()))  # two spellings of an address are one page


def _crawl(app: FastAPI, match_pages: Collection[str]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the pages, without forms, and the other files that are reached from _START_PAGES, by address.

    match_pages: the addresses of the only matches that are followed.
    """
    known, unvisited = set(_START_PAGES), list(_START_PAGES)
    pages: dict[str, str] = {}
    files: dict[str, bytes] = {}
    while unvisited:
        address = unvisited.pop()
        status, content_type, body = asyncio.run(_get(app, address))
        if status != 200:
            continue
        if not content_type.startswith("text/html"):
            files[address] = body
            continue
        pages[address] = _FORM.sub("", body.decode())
        for link in _find_links(pages[address]):
            is_excluded = link not in match_pages and re.fullmatch(r"/matches/\d+", link)
            if link not in known and not is_excluded:
                known.add(link)
                unvisited.append(link)
    return pages, files


async def _get(app: ASGIApp, address: str) -> tuple[int, str, bytes]:
    """Return the status, content type and body of the app's response to a GET request without a user."""
    parts = urlsplit(address)
    scope = {
        "type": "http", "method": "GET", "path": unquote(parts.path), "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(), "headers": [(b"host", b"localhost")], "http_version": "1.1",
        "scheme": "http", "server": ("localhost", 80), "client": ("localhost", 0), "asgi": {"version": "3.0"},
    }  # fmt: skip

    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    start, *parts_of_body = messages
    content_type = dict(start["headers"]).get(b"content-type", b"").decode()
    return start["status"], content_type, b"".join(message.get("body", b"") for message in parts_of_body)


def _find_links(text: str) -> Iterator[str]:
    """Yield the site's addresses that a page links to, without fragments and without _EXCLUDED_PREFIXES."""
    for match in _LINK.finditer(text):
        address = html.unescape(match[2]).partition("#")[0]
        if match[1] != "action" and not address.startswith(_EXCLUDED_PREFIXES):
            yield address


def _make_link_relative(file_names: Mapping[str, str], address: str, match: re.Match[str]) -> str:
    """Return an attribute with its link made relative to the page at `address`; "" if the target isn't exported.

    file_names: the exported files by address. match: of _LINK.
    """
    attribute, target = match[1], html.unescape(match[2])
    path, hash_, fragment = target.partition("#")
    if attribute in ("action", "hx-get") or path not in file_names:
        return ""
    relative_path = os.path.relpath(file_names[path], PurePosixPath(file_names[address]).parent)
    return f'{attribute}="{html.escape(relative_path + hash_ + fragment)}"'


def _name_page_file(address: str) -> str:
    """Return a page's file: index.html in the folder of its path, with one more level for a query (marked by "=")."""
    parts = urlsplit(address)
    folders = [_make_safe_name(unquote(part)) for part in parts.path.split("/") if part]
    if parts.query:
        folders.append(_make_safe_name(parts.query, "="))
    return "/".join([*folders, "index.html"])


def _make_safe_name(text: str, extra: str = "") -> str:
    """Return a folder name that is safe in URLs: other characters become "~" and their code; long names are hashed.

    extra: a character that is also safe.
    """
    name = re.sub(rf"[^\w@{extra}-]", lambda match: f"~{ord(match[0]):x}", text)
    data = name.encode()
    return name if len(data) <= _MAX_NAME_BYTES else f"{name[:40]}~~{hashlib.sha256(data).hexdigest()[:32]}"


def _write_atomically(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_bytes(data)
    scratch.replace(path)
