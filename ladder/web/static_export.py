"""Export the public pages as static files with relative links, for any web host."""

import asyncio
import hashlib
import html
import os
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI

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
    """Write all public pages into `folder`, replacing each file atomically, and return the number of files.

    matches: how many of the newest matches get a page. Files from earlier exports are kept, so old links keep working.
    Raises OSError if a file can't be written.
    """
    app = make_app(ladder, "http://localhost", public=True)
    with ladder.reading(PUBLIC_VIEWER) as context:
        newest = {f"/matches/{match.id}" for match in list_matches(context, limit=matches).items}
    pages, files = _crawl(app, newest)
    file_names = {address: _page_file(address) for address in pages}
    file_names |= {address: unquote(urlsplit(address).path).strip("/") for address in files}
    for address, text in pages.items():
        files[address] = _LINK.sub(partial(_relative_link, file_names, address), text).encode()
    for address, data in files.items():
        _write_atomically(folder / file_names[address], data)
    return len({file_names[address] for address in files})  # two spellings of an address are one page


def _crawl(app: FastAPI, match_pages: Collection[str]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the pages, without forms, and the other files that are reached from _START_PAGES, by address.

    match_pages: the addresses of the only matches that are followed.
    """
    seen, unvisited = set(_START_PAGES), list(_START_PAGES)
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
            if link not in seen and not is_excluded:
                seen.add(link)
                unvisited.append(link)
    return pages, files


async def _get(app: Any, address: str) -> tuple[int, str, bytes]:
    """Return the status, content type and body of the app's response to a GET request without a user."""
    parts, sent = urlsplit(address), []
    scope = {
        "type": "http", "method": "GET", "path": unquote(parts.path), "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(), "headers": [(b"host", b"localhost")], "http_version": "1.1",
        "scheme": "http", "server": ("localhost", 80), "client": ("localhost", 0), "asgi": {"version": "3.0"},
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    kind = dict(sent[0]["headers"]).get(b"content-type", b"").decode()
    return sent[0]["status"], kind, b"".join(message.get("body", b"") for message in sent[1:])


def _find_links(text: str) -> Iterator[str]:
    """Yield the site's addresses that a page links to, without fragments and without _EXCLUDED_PREFIXES."""
    for match in _LINK.finditer(text):
        address = html.unescape(match[2]).partition("#")[0]
        if match[1] != "action" and not address.startswith(_EXCLUDED_PREFIXES):
            yield address


def _relative_link(file_names: Mapping[str, str], address: str, match: re.Match[str]) -> str:
    """Return an attribute with its link made relative to the page at `address`; "" if the target isn't exported."""
    name, target = match[1], html.unescape(match[2])
    path, hash_, fragment = target.partition("#")
    if name in ("action", "hx-get") or path not in file_names:
        return ""
    to = os.path.relpath(file_names[path], PurePosixPath(file_names[address]).parent)
    return f'{name}="{html.escape(to + hash_ + fragment)}"'


def _page_file(address: str) -> str:
    """Return a page's file: index.html in the folder of its path, with one more level for a query (marked by "=")."""
    parts = urlsplit(address)
    folders = [_safe_name(unquote(part)) for part in parts.path.split("/") if part]
    return "/".join([*folders, *([_safe_name(parts.query, "=")] if parts.query else []), "index.html"])


def _safe_name(part: str, extra: str = "") -> str:
    """Return a folder name that is safe in URLs: other characters become "~" and their code; long names are hashed."""
    safe = re.sub(rf"[^\w@{extra}-]", lambda found: f"~{ord(found[0]):x}", part)
    whole = safe.encode()
    return safe if len(whole) <= _MAX_NAME_BYTES else f"{safe[:40]}~~{hashlib.sha256(whole).hexdigest()[:32]}"


def _write_atomically(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_bytes(data)
    scratch.replace(path)
