"""The built playground, and a server of its files."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from arena.playground.build import BuildError, build_playground
from tests.shared_setup import find_built, made_once


@pytest.fixture(scope="session")
def built_playground(tmp_path_factory: pytest.TempPathFactory, needs: Callable[[str, str | None], None]) -> Path:
    """Return the folder of a build, made once, if make hasn't. npm's packages are fetched once for a clone."""
    try:
        return find_built("playground") or made_once(tmp_path_factory, "playground", build_playground)
    except BuildError as problem:
        needs("playground", str(problem))
        raise


@pytest.fixture
def accessible(axe: Callable[..., list[str]]) -> Callable[..., None]:
    """Return a check of a page and its frames with axe, in both schemes."""

    def check(page: Any, *frames: Any) -> None:
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # of Ace
            assert [axe(each) for each in (page, *frames)] == [[] for _ in (page, *frames)], scheme

    return check


@dataclass
class Served:
    """A plain server of the built files. requested: the paths that were fetched."""

    url: str
    requested: list[str]
    stop: Callable[[], None]


@pytest.fixture
def served_playground(built_playground: Path) -> Iterator[Served]:
    """Serve the build until `stop()`."""
    requested: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            requested.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(built_playground)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    yield Served(f"http://127.0.0.1:{server.server_port}/", requested, stop)
    if thread.is_alive():
        stop()
