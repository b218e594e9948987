"""Build and find the playground: play Coup and write a bot in the browser, without a server.

`build.py` makes the folder of pages, and runs on a developer's machine. `arena.playground_worker` runs in the browser.
"""

import gzip
from base64 import urlsafe_b64encode
from pathlib import Path


def find_build() -> Path | None:
    """Return the folder of the built playground, of an installed arena or else of a clone; None if it isn't built."""
    package_folder = Path(__file__).parent
    folders = (package_folder / "built", package_folder.parents[1] / "build" / "playground")
    return next((folder for folder in folders if (folder / "index.html").is_file()), None)


def make_program_fragment(source: str) -> str:
    """Return the end of the playground's address with which it opens a program: `#bot=...`, sent to no server."""
    packed = urlsafe_b64encode(gzip.compress(source.encode(), mtime=0)).decode().rstrip("=")
    return f"#bot=mybot.py:{packed}"
