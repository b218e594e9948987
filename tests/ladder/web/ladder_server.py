"""A ladder on a real server: `arena ladder serve` as a process, on a free port."""

import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ladder.ladder import open_ladder
from ladder.users import issue_secret, sign_in_by_link
from tests.cli_workspace import Place
from tests.command import LIMIT_S
from tests.ladder.ladders import cache


@dataclass(frozen=True)
class LadderServer:
    """A server: its address, its process, and the ladder's folder."""

    url: str
    process: "subprocess.Popen[str]"
    folder: Path

    def session(self, login: str) -> str:
        """Return the secret of a new session: in place of the page, which limits sign-ins by address and minute."""
        with closing(open_ladder(self.folder)) as ladder:
            return sign_in_by_link(ladder, issue_secret(ladder, login, "link", "staff").secret).secret

    def get(self, path: str, session: str, timeout: float = 60) -> str:
        """Return the text of a page for a signed-in user. Raises HTTPError."""
        request = urllib.request.Request(self.url + path, headers={"Cookie": f"session={session}"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answered:
                return str(answered.read().decode())
        except urllib.error.HTTPError as refused:
            refused.close()  # pytest keeps it in a cycle, and the garbage of one test would fail another one
            raise

    def json(self, path: str, session: str) -> object:
        return json.loads(self.get(f"/api{path}", session))


@contextmanager
def serve_ladder(place: Place, folder: Path, *words: object, **environment: str) -> Iterator[LadderServer]:
    """Serve a ladder within a `with` block; SIGTERM ends it."""
    process = place.start("ladder", "serve", folder, "--port", 0, *words, **cache(place), **environment)
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    assert found, line + process.stderr.read()
    try:
        yield LadderServer(found[0], process, folder)
    finally:
        if process.poll() is None:
            process.terminate()
        if not process.stderr.closed:
            process.communicate(timeout=LIMIT_S)


def wait_for(what: object, limit_s: float = 240) -> None:
    began = time.monotonic()
    until = began + limit_s
    while not what():  # type: ignore[operator]
        assert time.monotonic() < until, "it took too long"
        time.sleep(max(0.1, 9 * (time.monotonic() - began)))  # leave the cores to the awaited processes
        began = time.monotonic()
