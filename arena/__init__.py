"""The Coup arena: bot programs play the card game Coup against each other.

`arena.coup` is the game, `arena.referee` runs it over pipes, `arena.sandbox` starts bots, `arena.cli` is the command.
"""

import os
from importlib.util import find_spec

__version__ = "1.0.0"


def is_compiled() -> bool:
    """Return whether mypyc has compiled the engine and the referee."""
    spec = find_spec("arena.coup.engine")
    return spec is not None and not str(spec.origin).endswith(".py")


def is_compiled_stale() -> bool:
    """Return whether a clone's compiled modules are older than a source in their folders, or a folder is gone."""
    root = os.path.dirname(os.path.dirname(__file__))
    stamp = os.path.join(root, ".compiled")  # by hatch_build.py: the folders, one a line
    if not os.path.exists(stamp):
        return False
    with open(stamp, encoding="utf-8") as lines:
        folders = [os.path.join(root, line) for line in lines.read().splitlines()]
    if not all(map(os.path.isdir, folders)):
        return True
    files = [os.path.join(folder, name) for folder in folders for name in os.listdir(folder)]
    sources = [file for file in files if file.endswith((".py", ".c", ".h")) and os.path.isfile(file)]  # no dead links
    return any(os.stat(source).st_mtime > os.stat(stamp).st_mtime for source in sources)


def is_loopback(host: str) -> bool:
    """Return whether a host, an address or a name, is this machine's own."""
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def with_extra(extra: str) -> str:
    """Return how to install the arena with one of its extras, such as `web`. No package index has the arena."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = distribution("coup-arena").read_text("direct_url.json") or ""
    except PackageNotFoundError:  # a clone that isn't installed
        origin = ""
    path, suffix, _ = origin.partition(".whl")
    name = path.rpartition("/")[2] if suffix else f"coup_arena-{__version__}-py3-none-any"
    return f"pip install '.[{extra}]' in a clone of the arena, or of its wheel pip install '{name}.whl[{extra}]'"
