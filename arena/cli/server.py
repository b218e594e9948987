"""A ladder's server as a program sees it: JSON, asked for with a token. Needs the standard library alone."""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from email.message import Message
from http.client import HTTPException
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from arena import __version__
from arena.bots import shown
from arena.cli.out import note, reason, refuse

_MOST = 64 << 20  # bytes of an answer


class AwayError(Exception):
    """Say in one line why the server doesn't answer: it may later."""


class RefusedError(Exception):
    """Say what the server refused. status: HTTP's; again_s: after how many seconds to try again."""

    def __init__(self, status: int, what: str, again_s: int | None = None) -> None:
        super().__init__(what)
        self.status, self.again_s = status, again_s


class _NoRedirect(HTTPRedirectHandler):
    """Follows no server to another one: the token isn't for that."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Request | None:
        return None


class Server:
    """A server at an address. Raises ValueError for what is none."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{shown(url)} is no server's address: it begins with https://")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.readable = parts.scheme == "http" and not _this_machine(parts.hostname)
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": f"coup-arena/{__version__}"}
        self._opener = build_opener(_NoRedirect)

    def ask(
        self,
        path: str,
        body: Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        wait_s: float = 30,
    ) -> Any:
        """Return what stands at a path; with a body, what is answered to it. Raises AwayError, RefusedError."""
        request = Request(self.url + path, body, {**self._headers, **(headers or {})})
        try:
            with self._opener.open(request, timeout=wait_s) as answered:
                return json.loads(answered.read(_MOST))
        except HTTPError as problem:
            with problem:
                raise self._refused(problem) from None
        except URLError as problem:
            why = problem.reason
            raise AwayError(f"{self.url} doesn't answer: {reason(why) if isinstance(why, OSError) else why}") from None
        except (OSError, HTTPException) as problem:
            why = reason(problem) if isinstance(problem, OSError) else repr(problem)
            raise AwayError(f"{self.url} has broken off: {why}") from None
        except ValueError:
            raise RefusedError(404, f"{self.url} is no ladder's server: it answers no JSON") from None

    def _refused(self, problem: HTTPError) -> RefusedError:
        try:
            what = str(json.loads(problem.read(_MOST))["error"])
        except (OSError, HTTPException, ValueError, KeyError, TypeError):
            what = f"{self.url} is no ladder's server, or one behind it fails: it answers {problem.code}"
            if 300 <= problem.code < 400:
                what = f"{self.url} sends on to {shown(problem.headers.get('Location', ''))}: give the address itself"
        again = problem.headers.get("Retry-After", "")
        return RefusedError(problem.code, what, int(again) if again.isdecimal() else None)


def token_file(file: Path | None) -> Path:
    """Return the file that was named, or where a token usually is."""
    return file or Path(os.environ.get("ARENA_TOKEN_FILE") or "~/.config/arena/token").expanduser()


def token_of(file: Path, url: str) -> str:
    """Return the token in a file. Exits with 2 if there is none."""
    try:
        token = file.read_text(encoding="ascii").strip()
        mode = file.stat().st_mode
    except OSError as problem:
        refuse(
            f"there is no token: {reason(problem)}\n"
            f"Make one on your account's page, {url.rstrip('/')}/account, and write it to that file."
        )
    except UnicodeDecodeError:
        token = ""
    if not token or not token.isprintable() or " " in token:
        refuse(f"{file} holds no token: it is one line of letters and digits")
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        note(f"others can read your token: chmod 600 {file}")
    return token


def _this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
