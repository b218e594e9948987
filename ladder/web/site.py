"""The public's pages as files, for any web space: what anybody may read, at one moment, with links between them."""

import asyncio
import html
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from ladder.service import Ladder
from ladder.web.app import make_app

MATCHES = 200  # of which pages are written: the newest
_LINK = re.compile(r'(?<=[ ])(href|src|action|hx-get)="(/[^"]*)"')
_STARTS = ("/", "/standings", "/duels", "/bots", "/matches", "/finals")
_NOT = ("/sign-in", "/account", "/submit", "/queue", "/tables", "/api", "/openapi.json", "/changes")


def write_site(ladder: Ladder, folder: Path) -> int:
    """Write what the public may read into a folder, each file at once; return how many. Raises OSError.

    Pages that aren't there any more stay: what links led to yesterday, they lead to tomorrow.
    """
    app = make_app(ladder, "http://localhost", public=True)
    seen, todo, matches = set(_STARTS), list(_STARTS), 0
    pages: dict[str, str] = {}
    files: dict[str, bytes] = {}
    while todo:
        address = todo.pop()
        status, kind, body = asyncio.run(_get(app, address))
        if status != 200:
            continue
        if not kind.startswith("text/html"):
            files[address] = body
            continue
        pages[address] = body.decode()
        for link in _links(pages[address]):
            matches += link not in seen and re.fullmatch(r"/matches/\d+", link) is not None
            if link not in seen and (not link.startswith("/matches/") or matches <= MATCHES):
                seen.add(link)
                todo.append(link)
    written = {*pages, *files}
    for address, text in pages.items():
        files[address] = _LINK.sub(partial(_relative, address, written), text).encode()
    for address, data in files.items():
        _put(folder / _file(address), data)
    return len(files)


async def _get(app: Any, address: str) -> tuple[int, str, bytes]:
    """Return status, type and body of what the application answers to nobody in particular."""
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


def _links(text: str) -> Iterator[str]:
    """Yield the addresses of the ladder's own that a page leads to, without what is for people who sign in."""
    for match in _LINK.finditer(text):
        address = html.unescape(match[2]).partition("#")[0]
        if match[1] != "action" and not address.startswith(_NOT):
            yield address


def _relative(address: str, written: set[str], match: re.Match[str]) -> str:
    """Return an attribute whose address counts from the file that holds it; none for what isn't written."""
    name, target = match[1], html.unescape(match[2])
    path, hash_, place = target.partition("#")
    if name in ("action", "hx-get") or path not in written:
        return ""
    here = PurePosixPath(_file(address)).parent
    to = os.path.relpath(_file(path), here)
    return f'{name}="{html.escape(to + hash_ + place)}"'


def _file(address: str) -> str:
    """Return the file of an address: a page's is index.html in a folder of its path, and of its query."""
    parts = urlsplit(address)
    path = unquote(parts.path).strip("/")
    if path.endswith(".csv") or path.startswith("static/"):
        return _safe(path)
    return _safe("/".join(filter(None, (path, parts.query, "index.html"))))


def _safe(path: str) -> str:
    """Return a path without what a web space or a browser reads otherwise: a name's signs become their numbers."""
    return "/".join(
        re.sub(r"[^\w.@=-]|^\.+$", lambda found: f"~{ord(found[0][0]):x}", part) for part in path.split("/")
    )


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(data)
    beside.replace(path)
