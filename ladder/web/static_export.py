"""Export the public pages as linked static files, at one moment, for any web host."""

import asyncio
import hashlib
import html
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from ladder.permissions import PUBLIC_VIEWER
from ladder.service import Ladder
from ladder.views import list_matches
from ladder.web.app import make_app

MAX_EXPORTED_MATCHES = 200
_MAX_NAME_BYTES = 200  # of a folder's name
_FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)  # a search, which no file answers
_LINK = re.compile(r'(?<=[ ])(href|src|action|hx-get)="(/[^"]*)"')
_STARTS = ("/", "/standings", "/head-to-head", "/bots", "/matches", "/finals", "/docs")
_NOT = ("/sign-in", "/account", "/submit", "/queue", "/tables", "/api", "/openapi.json", "/changes")


def export_static_site(ladder: Ladder, folder: Path, matches: int = MAX_EXPORTED_MATCHES) -> int:
    """Write what the public may read into a folder, each file at once; return how many. Raises OSError.

    matches: of how many there are pages, the newest. Pages that aren't there any more stay: what links led to
    yesterday, they lead to tomorrow.
    """
    app = make_app(ladder, "http://localhost", public=True)
    with ladder.reading(PUBLIC_VIEWER) as reader:
        newest = {f"/matches/{line.id}" for line in list_matches(reader, limit=matches).items}
    seen, todo = set(_STARTS), list(_STARTS)
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
        pages[address] = _FORM.sub("", body.decode())
        for link in _links(pages[address]):
            if link not in seen and (link in newest or not re.fullmatch(r"/matches/\d+", link)):
                seen.add(link)
                todo.append(link)
    names = {address: _page_file(address) for address in pages}
    names |= {address: unquote(urlsplit(address).path).strip("/") for address in files}
    for address, text in pages.items():
        files[address] = _LINK.sub(partial(_relative, names, address), text).encode()
    for address, data in files.items():
        _put(folder / names[address], data)
    return len({names[address] for address in files})  # two spellings of an address are one page


async def _get(app: Any, address: str) -> tuple[int, str, bytes]:
    """Return status, type and body of the application's response to the public."""
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


def _relative(names: Mapping[str, str], address: str, match: re.Match[str]) -> str:
    """Return an attribute whose address counts from the file that holds it; none for what isn't written."""
    name, target = match[1], html.unescape(match[2])
    path, hash_, place = target.partition("#")
    if name in ("action", "hx-get") or path not in names:
        return ""
    to = os.path.relpath(names[path], PurePosixPath(names[address]).parent)
    return f'{name}="{html.escape(to + hash_ + place)}"'


def _page_file(address: str) -> str:
    """Return the file of a page: index.html in a folder of its path, and of its query, which alone has a "="."""
    parts = urlsplit(address)
    folders = [_safe(unquote(part)) for part in parts.path.split("/") if part]
    return "/".join([*folders, *([_safe(parts.query, "=")] if parts.query else []), "index.html"])


def _safe(part: str, extra: str = "") -> str:
    """Return a folder's name without what a web space or a browser reads otherwise: signs become their numbers."""
    safe = re.sub(rf"[^\w@{extra}-]", lambda found: f"~{ord(found[0]):x}", part)
    whole = safe.encode()
    return safe if len(whole) <= _MAX_NAME_BYTES else f"{safe[:40]}~~{hashlib.sha256(whole).hexdigest()[:32]}"


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_bytes(data)
    scratch.replace(path)
