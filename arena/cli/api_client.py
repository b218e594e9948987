"""Send requests with a token to the JSON API of a ladder's server, with the standard library alone."""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener, getproxies, proxy_bypass

from arena import __version__, is_loopback
from arena.cli.console import os_error_reason, print_note, usage_error
from arena.escaping import escape_control

_MAX_RESPONSE_BYTES = 64 << 20  # bytes of an answer


class ServerUnreachableError(Exception):
    """The server doesn't answer, but may later; the message is one line."""


class ServerRefusedError(Exception):
    """The server refused a request. status: HTTP's; again_s: seconds after which to try again."""

    def __init__(self, status: int, what: str, again_s: int | None = None) -> None:
        super().__init__(what)
        self.status, self.again_s = status, again_s


class _NoRedirect(HTTPRedirectHandler):
    """Reject redirects, so that no other server gets the token."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Request | None:
        return None


class LadderClient:
    """A client of the server at `url`. Raises ValueError for an invalid address, also of a proxy.

    proxy: the address of the proxy in the environment, None for a direct connection, as to this machine. called: the
    server in messages, with the proxy.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{escape_control(url)} isn't a server's address: the address must begin with https://")
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.readable = parts.scheme == "http" and not is_loopback(parts.hostname)
        self.proxy, route = _find_proxy(parts)
        self.called = self.url + route
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": f"coup-arena/{__version__}"}
        self._opener = build_opener(_NoRedirect, ProxyHandler({parts.scheme: self.proxy} if self.proxy else {}))

    def ask(
        self,
        path: str,
        body: Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        wait_s: float = 30,
    ) -> Any:
        """Return the JSON of a path; with a body, post it.

        Raises ServerUnreachableError if no answer comes, ServerRefusedError if it is an error of HTTP.
        """
        request = Request(self.url + path, body, {**self._headers, **(headers or {})})
        try:
            with self._opener.open(request, timeout=wait_s) as answered:
                return None if answered.status == 204 else json.loads(answered.read(_MAX_RESPONSE_BYTES))
        except HTTPError as problem:
            with problem:
                raise self._refused(problem) from None
        except URLError as problem:
            reason = problem.reason
            raise ServerUnreachableError(
                f"{self.called} doesn't answer: {os_error_reason(reason) if isinstance(reason, OSError) else reason}"
            ) from None
        except (OSError, HTTPException) as problem:
            reason = os_error_reason(problem) if isinstance(problem, OSError) else repr(problem)
            raise ServerUnreachableError(f"{self.called} closed the connection: {reason}") from None
        except (ValueError, RecursionError):
            raise ServerRefusedError(404, f"{self.called} isn't a ladder server: the answer isn't JSON") from None

    def _refused(self, problem: HTTPError) -> ServerRefusedError:
        try:
            what = str(json.loads(problem.read(_MAX_RESPONSE_BYTES))["error"])
        except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError):
            what = f"{self.called} isn't a ladder server, or its proxy fails: status {problem.code}"
            if 300 <= problem.code < 400:
                what = (
                    f"{self.url} redirects to {escape_control(problem.headers.get('Location', ''))}: use that address"
                )
        again = problem.headers.get("Retry-After", "")
        return ServerRefusedError(problem.code, what, int(again) if again.isdecimal() else None)


def token_file(file: Path | None) -> Path:
    """Return the given file, else $ARENA_TOKEN_FILE, else ~/.config/arena/token."""
    return file or Path(os.environ.get("ARENA_TOKEN_FILE") or "~/.config/arena/token").expanduser()


def read_token(file: Path, url: str) -> str:
    """Return the token in a file, and warn if others can read it. Exits with 2 if the file contains none."""
    try:
        token = file.read_text(encoding="utf-8-sig").strip()
        mode = file.stat().st_mode
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        reason = f"{file} doesn't exist" if missing else os_error_reason(problem)
        usage_error(
            f"{reason}.\nCreate a token on your account page, {url.rstrip('/')}/account, and save it in that file."
        )
    except UnicodeDecodeError:
        token = ""
    if not token.isascii() or not token or not token.isprintable() or " " in token:
        usage_error(f"{file} doesn't contain a token: one line of letters and digits")
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        print_note(f"other users of this machine can read your token: chmod 600 {file}")
    return token


def _find_proxy(server: SplitResult) -> tuple[str | None, str]:
    """Return the address of the environment's proxy for a server, and its name in messages; None and "" without one.

    Raises ValueError for a proxy of a kind that isn't supported.
    """
    proxy = None if proxy_bypass(server.netloc) else getproxies().get(server.scheme)
    if not proxy or is_loopback(server.hostname or ""):
        return None, ""
    names = f"{server.scheme}_proxy", f"{server.scheme}_proxy".upper()
    variable = next((name for name in names if os.environ.get(name)), "the system's settings")
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    with suppress(ValueError):
        parts = urlsplit(proxy)
        if parts.scheme in ("http", "https") and parts.hostname:
            port = "" if parts.port is None else f":{parts.port}"
            return proxy, f" (through the proxy {escape_control(parts.hostname)}{port} of {variable})"
    raise ValueError(f"the proxy of {variable} isn't supported: use http://HOST:PORT, or add the server to no_proxy")
