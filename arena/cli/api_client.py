"""Send requests with a token to the JSON API of a ladder's server, with the standard library alone."""

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
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

_MAX_RESPONSE_BYTES = 64 << 20


class ServerUnreachableError(Exception):
    """The server doesn't answer, but may later; the message is one line."""


class ServerRefusedError(Exception):
    """The server refused a request. status: HTTP's; retry_after_s: below 10,000, None if the server names no such."""

    def __init__(self, status: int, reason: str, retry_after_s: int | None = None) -> None:
        super().__init__(reason)
        self.status, self.retry_after_s = status, retry_after_s


class _NoRedirect(HTTPRedirectHandler):
    """Reject redirects, so that no other server gets the token."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> Request | None:
        return None


class LadderClient:
    """A client of the server at `url`. Raises ValueError for an invalid address, also of a proxy.

    url: without a path. proxy: the address of the proxy in the environment, None for a direct connection, as to this
    machine. called: the server in messages, with the proxy. readable: whether others on the network can read along.
    """

    def __init__(self, url: str, token: str) -> None:
        server = urlsplit(url)
        if server.scheme not in ("http", "https") or not server.hostname:
            raise ValueError(f"{escape_control(url)} isn't a server's address: the address must begin with https://")
        if not _has_valid_host(server):
            raise ValueError(f"{escape_control(url)} isn't a server's address: its host or its port isn't allowed")
        self.url = f"{server.scheme}://{server.netloc}"
        self.token = token
        self.readable = server.scheme == "http" and not is_loopback(server.hostname)
        self.proxy, route = _find_proxy(server)
        self.called = self.url + route
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": f"coup-arena/{__version__}"}
        self._opener = build_opener(_NoRedirect, ProxyHandler({server.scheme: self.proxy} if self.proxy else {}))

    def ask(
        self,
        path: str,
        body: Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        wait_s: float = 30,
    ) -> Any:
        """Return the JSON of a path, None for an answer with status 204; with a body, post it.

        Raises ServerUnreachableError if no answer comes in `wait_s` seconds, ServerRefusedError if it is an error of
        HTTP, or no JSON.
        """
        request = Request(self.url + path, body, {**self._headers, **(headers or {})})
        try:
            with self._opener.open(request, timeout=wait_s) as response:
                return None if response.status == 204 else json.loads(response.read(_MAX_RESPONSE_BYTES))
        except HTTPError as problem:
            with problem:
                raise self._make_refusal(problem) from None
        except URLError as problem:
            raise ServerUnreachableError(f"{self.called} doesn't answer: {_describe(problem.reason)}") from None
        except (OSError, HTTPException) as problem:
            reason = os_error_reason(problem) if isinstance(problem, OSError) else repr(problem)
            raise ServerUnreachableError(f"{self.called} closed the connection: {reason}") from None
        except (ValueError, RecursionError):
            raise ServerRefusedError(404, f"{self.called} isn't a ladder server: the answer isn't JSON") from None

    def _make_refusal(self, problem: HTTPError) -> ServerRefusedError:
        """Return the error by which the server, or whatever answers in its place, refused a request."""
        try:
            reason = str(json.loads(problem.read(_MAX_RESPONSE_BYTES))["error"])
        except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError):
            reason = f"{self.called} isn't a ladder server, or its proxy fails: status {problem.code}"
            location = escape_control(problem.headers.get("Location", ""))
            if location and 300 <= problem.code < 400:
                reason = f"{self.url} redirects to {location}: use that address"
        retry_after = problem.headers.get("Retry-After", "")
        is_duration = re.fullmatch("[0-9]{1,4}", retry_after) is not None  # else a date, or longer than anyone waits
        return ServerRefusedError(problem.code, reason, int(retry_after) if is_duration else None)


def _describe(reason: str | BaseException) -> str:
    return os_error_reason(reason) if isinstance(reason, OSError) else str(reason)


def open_client(url: str, file: Path) -> LadderClient:
    """Return the client of a server with the token in a file, and warn if others can read the token.

    Exits with 2 if the address is invalid, or the file contains no token.
    """
    token = read_token(file, url)
    try:
        client = LadderClient(url, token)
    except ValueError as problem:
        usage_error(str(problem))
    if client.readable:
        print_note(f"{client.url} isn't encrypted: others on the network can read your token")
    return client


def token_file(file: Path | None) -> Path:
    """Return the given file, else $ARENA_TOKEN_FILE, else ~/.config/arena/token."""
    return file or Path(os.path.expanduser(os.environ.get("ARENA_TOKEN_FILE") or "~/.config/arena/token"))


def read_token(file: Path, url: str) -> str:
    """Return the token in a file, and warn if others can read it. Exits with 2 if the file contains none."""
    try:
        token = file.read_bytes().decode("utf-8-sig", errors="replace").strip()
        mode = file.stat().st_mode
    except OSError as problem:
        is_missing = isinstance(problem, FileNotFoundError)
        reason = f"{file} doesn't exist" if is_missing else os_error_reason(problem)
        usage_error(f"{reason}.\nCreate a token on your account page, {account_page(url)}, and save it in that file.")
    if not re.fullmatch("[!-~]+", token):
        usage_error(f"{file} doesn't contain a token: one line of letters and digits")
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        print_note(f"other users of this machine can read your token: chmod 600 {file}")
    return token


def account_page(url: str) -> str:
    """Return the address of the account page on the server of `url`, which may have any path."""
    return "/".join([*url.split("/")[:3], "account"])


def _has_valid_host(server: SplitResult) -> bool:
    """Return whether a host's name can be looked up, and its port is a number from 0 to 65535 or missing."""
    try:
        (server.hostname or "").encode("idna")
        return server.port is None or server.port >= 0
    except ValueError:
        return False


def _find_proxy(server: SplitResult) -> tuple[str | None, str]:
    """Return the address of the environment's proxy for a server, and a clause that names it; None and "" without one.

    Raises ValueError for a proxy that is reached neither by HTTP nor by HTTPS, such as one of SOCKS.
    """
    host_and_port = server.netloc.rpartition("@")[2]
    setting = None if proxy_bypass(host_and_port) else getproxies().get(server.scheme)
    if not setting or is_loopback(server.hostname or ""):
        return None, ""
    names = f"{server.scheme}_proxy", f"{server.scheme}_proxy".upper()
    source = next((name for name in names if os.environ.get(name)), "the system's settings")
    address = setting if "://" in setting else f"http://{setting}"
    unsupported = f"the proxy of {source} isn't supported: use http://HOST:PORT, or add the server to no_proxy"
    try:
        proxy = urlsplit(address)
        port = "" if proxy.port is None else f":{proxy.port}"
    except ValueError:
        raise ValueError(unsupported) from None
    if proxy.scheme not in ("http", "https") or not proxy.hostname:
        raise ValueError(unsupported)
    return address, f" (through the proxy {escape_control(proxy.hostname)}{port} of {source})"
