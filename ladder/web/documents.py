"""Serve the documents as pages, and the files they link to, under their paths in the repository."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from posixpath import dirname, join, normpath
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from markdown_it import MarkdownIt
from markdown_it.token import Token

from arena.bots import KITS
from ladder.web.downloads import build_starter_zip, build_wheel, list_document_files, wheel_name
from ladder.web.rendering import render_form
from ladder.web.request_context import AuthorizedRoute, CurrentContext, HTTPError, authorize

router = APIRouter(route_class=AuthorizedRoute)

INDEX_DOCUMENT = "docs/index.md"
_MEDIA_TYPES = {".png": "image/png"}  # other files are text


@dataclass(frozen=True, slots=True)
class Document:
    """A document as HTML. links: (heading, label, address) of each link to a page of this site, in order."""

    title: str
    html: str
    links: tuple[tuple[str, str, str], ...]


@router.get("/start", include_in_schema=False)
def start(request: CurrentContext) -> Response:
    """Show the steps from a starter bot to a submission."""
    return render_form(request, "start.html", rules=request.ladder.play.settings.rules.name)


@router.get("/docs", include_in_schema=False)
def document_index(request: CurrentContext) -> Response:
    """Show the list of all documents."""
    return show_document(INDEX_DOCUMENT, request)


@router.get("/docs/{path:path}", include_in_schema=False)
def show_document(path: str, request: CurrentContext) -> Response:
    """Show a document as a page, or return another file that documents link to."""
    file = list_document_files().get(path)
    if file is None:
        raise HTTPError(404, "This document doesn't exist.", request)
    if file.suffix == ".md":
        menu = render_document(INDEX_DOCUMENT).links
        return render_form(request, "document.html", document=render_document(path), menu=menu)
    return Response(file.read_bytes(), media_type=_MEDIA_TYPES.get(file.suffix, "text/plain; charset=utf-8"))


@router.get("/downloads/{name}", include_in_schema=False, dependencies=[Depends(authorize)])
def download(name: str) -> Response:
    """Return the arena's wheel, or the zip archive of a starter bot, mybot-LANGUAGE.zip."""
    if name == wheel_name():
        return Response(build_wheel(), media_type="application/zip")
    language = name.removeprefix("mybot-").removesuffix(".zip")
    if language not in KITS or name != f"mybot-{language}.zip":
        raise HTTPError(404, "This file doesn't exist.")
    return Response(build_starter_zip(language), media_type="application/zip")


@cache
def render_document(path: str) -> Document:
    """Return the document of a path in list_document_files(). Links to files that aren't served become plain text.

    Headings get ids, numbers in tables a class, and tables can be scrolled by the keyboard.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(list_document_files()[path].read_text(encoding="utf-8"))
    title, heading, anchor_counts = "", "", Counter[str]()
    links: list[tuple[str, str, str]] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = _join_text(tokens[index + 1].children or [])
            title = title or heading
            token.attrs["id"] = _make_anchor(heading, anchor_counts)
        elif "style" in token.attrs:  # the content security policy allows no inline styles
            token.attrs = {"class": "number"} if "right" in str(token.attrs["style"]) else {}
        elif token.type == "table_open":
            token.attrs["tabindex"] = "0"  # so that the keyboard can scroll a wide table
        links += [(heading, text, address) for text, address in _rewrite_links(path, token.children or [])]
    return Document(title, parser.renderer.render(tokens, parser.options, {}), tuple(links))


def _make_anchor(heading: str, counts: Counter[str]) -> str:
    """Return the id of a heading, and count it. counts: of the headings before, by their ids without a number."""
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    counts[anchor] += 1
    return anchor if counts[anchor] == 1 else f"{anchor}-{counts[anchor] - 1}"


def _rewrite_links(path: str, tokens: list[Token]) -> list[tuple[str, str]]:
    """Give the links and images of a document's text their addresses; return (text, address) of links to this site."""
    links = []
    for start, token in enumerate(tokens):
        if token.type == "image":
            token.attrs["src"] = _resolve_link(path, str(token.attrs["src"])) or ""
        elif token.type == "link_open":
            end = next(index for index in range(start, len(tokens)) if tokens[index].type == "link_close")
            address = _resolve_link(path, str(token.attrs["href"]))
            token.attrs["href"] = address or ""
            token.hidden = tokens[end].hidden = address is None
            if address is not None and address.startswith("/"):
                links.append((_join_text(tokens[start:end]), address))
    return links


def _join_text(tokens: list[Token]) -> str:
    return "".join(token.content for token in tokens if token.type in ("text", "code_inline"))


def _resolve_link(document: str, link: str) -> str | None:
    """Return the address of a document's link: external links unchanged, None for files that aren't served."""
    parts = urlsplit(link)
    if parts.scheme or not parts.path:
        return link
    target = normpath(join(dirname(document), parts.path))
    served_name = next((name for name in (target, f"{target}/README.md") if name in list_document_files()), None)
    if served_name is None:
        return None
    return f"/docs/{served_name}#{parts.fragment}" if parts.fragment else f"/docs/{served_name}"
