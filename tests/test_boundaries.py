"""Who may import whom, and by which door.

A room is a package, or a module that is a room by itself. The rules:

1. Outsiders use a room through its door: they import the door itself, or names that it shows: those of `__all__` if
   it has one (rooms that other programs import do), else what it defines and what it imports of its own files.
2. A module imports the files of its own room, and of the rooms that its room lies in, directly.
3. A room imports the rooms that ROOMS lists for it, and no others.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).parents[1]
PACKAGES = ("arena", "ladder", "protocol")

# A room, and the rooms that it may import. Rooms that lie in it, and those that it lies in, are its own.
ROOMS_TEXT = """
protocol:
protocol.coup:
protocol.kits.coup_env:
protocol.kits.coup_kit:
protocol.words:
protocol.messages: protocol protocol.coup
protocol.records: protocol.coup
arena:
arena.coup:
arena.sandbox:
arena.sandbox.linux:
arena.sandbox.bubblewrap: arena.sandbox.linux
arena.sandbox.docker: arena.sandbox.linux
arena.referee: arena.coup arena.sandbox protocol
arena.tell: arena arena.coup arena.referee
arena.count: arena.coup arena.referee arena.run arena.tell ladder.rating
arena.stats: arena.bots arena.count arena.page arena.run ladder.results
arena.compare: arena.coup arena.referee arena.run arena.tell ladder.results ladder.schedule ladder.store protocol.words
arena.compare.answer: arena.bots arena.referee ladder.board
arena.compare.page: arena.bots arena.compare.answer arena.page
arena.bots: arena.sandbox
arena.page: arena.bots protocol.words
arena.examine: arena.bots arena.coup arena.referee arena.sandbox arena.sandbox.bubblewrap arena.sandbox.linux protocol
arena.run: arena arena.bots arena.examine arena.coup arena.referee arena.sandbox ladder.board ladder.pool.cluster
  ladder.pool ladder.results ladder.schedule ladder.store protocol.words
arena.run.answer: arena.bots arena.referee ladder.board ladder.rating ladder.store
arena.review: arena.local arena.referee ladder.rating protocol protocol.words
arena.env: arena arena.coup arena.local arena.referee protocol.kits.coup_env
arena.play: arena.coup arena.referee arena.sandbox ladder.store protocol.kits.coup_kit protocol.words
arena.connect: protocol
arena.local: arena.bots arena.count arena.coup arena.referee arena.run ladder.rating ladder.results ladder.schedule
  ladder.store protocol protocol.kits.coup_kit
ladder.work: arena arena.bots arena.count arena.examine arena.referee arena.run arena.sandbox ladder.pool
  ladder.schedule ladder.store
ladder.service: arena arena.bots arena.examine arena.coup arena.referee arena.run arena.sandbox ladder.work ladder.pool
  ladder.access ladder.views ladder.rating ladder.rating.matches ladder.schedule ladder.standings ladder.store
  ladder.store.database
ladder.cells: ladder.rating
ladder.likeness:
ladder.tables: arena.play arena.referee arena.sandbox
ladder.dealer: arena.bots arena.referee arena.run arena.sandbox ladder.schedule ladder.service ladder.store.database
  ladder.tables
ladder.web: arena arena.bots arena.coup arena.examine arena.sandbox arena.page ladder.access ladder.cells ladder.service
  ladder.standings ladder.store.database ladder.tables ladder.views
arena.cli: arena arena.bots arena.compare arena.compare.answer arena.compare.page arena.connect arena.examine arena.coup
  arena.local arena.page arena.play ladder.tables arena.referee arena.review arena.run arena.run.answer arena.sandbox
  arena.sandbox.docker arena.count arena.stats arena.tell ladder.board ladder.cells ladder.rating ladder.pool
  ladder.schedule ladder.store protocol protocol.words
arena.cli.ladder: arena.bots arena.examine ladder.cells ladder.dealer ladder.web ladder.service arena.referee arena.run
  arena.sandbox ladder.pool.cluster ladder.pool ladder.access ladder.schedule ladder.views ladder.rating
  ladder.standings ladder.store.database protocol
ladder:
ladder.schedule:
ladder.results:
ladder.rating:
ladder.rating.matches:
ladder.rating.plackett_luce: ladder.rating.matches
ladder.rating.posterior: ladder.rating.matches
ladder.rating.star: ladder.rating.matches
ladder.board: ladder.rating ladder.results
ladder.standings: ladder.board ladder.rating ladder.rating.matches
ladder.access:
ladder.views: arena.examine arena.referee arena.run arena.tell ladder.board ladder.access ladder.rating ladder.results
  ladder.schedule ladder.standings ladder.store ladder.store.database
ladder.pool:
ladder.pool.cluster:
ladder.store: ladder.results
ladder.store.database: ladder.results
"""
ROWS = (row.partition(":") for row in re.split(r"\n(?! )", ROOMS_TEXT.strip()))
ROOMS = {room: tuple(may.split()) for room, _, may in ROWS}

# What makes a result depend on when and where it is computed, or talks to the world.
IMPURE = {"asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "select"}
IMPURE |= {"shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "uuid"}
PURE = ("arena.coup", "ladder.access", "ladder.board", "ladder.rating", "ladder.results", "ladder.schedule")

# Each takes longer to import than `arena --help` may take in all.
HEAVY = {"alembic", "dask", "distributed", "docker", "gymnasium", "numpy", "pettingzoo", "prometheus_client", "psycopg"}
HEAVY |= {"pydantic", "rich", "scipy", "sqlalchemy", "trueskill"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def in_box(path: Path) -> bool:
    """Tell whether a file is no module of ours but a program for a box."""
    return "attacks" in path.parts or "bad_bots" in path.parts


MODULES = {name_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}
TESTS = {name_of(path): path for path in sorted((ROOT / "tests").rglob("*.py"))}
CODE = {name: path for name, path in {**MODULES, **TESTS}.items() if not in_box(path)}


def covers(name: str, module: str) -> bool:
    """Tell whether a module is the one of this name or lies in it."""
    return module == name or module.startswith(f"{name}.")


@cache
def room_of(module: str) -> str:
    """Return the innermost room that a module lies in; "" for a test."""
    return max((room for room in ROOMS if covers(room, module)), key=len, default="")


def own(room: str, module: str) -> bool:
    """Tell whether a module is the room's own: in it, or a file of a room that it lies in."""
    return bool(room) and (covers(room, module) or covers(room_of(module), room))


@cache
def imports(path: Path) -> tuple[tuple[str, str | None], ...]:
    """Return (module, name) of all imports; the name is None where a module as a whole is imported."""
    return tuple(scan(path))


def scan(path: Path) -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide what is imported"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                # A room is taken as a whole; a file's module only where no name of its room hides it.
                room = whole in ROOMS or (whole in MODULES and alias.name not in listed(node.module))
                yield (whole, None) if room else (node.module, alias.name)


@cache
def listed(room: str) -> set[str]:
    """Return the names that a room's door shows: `__all__`, or all that it defines or imports of its own files."""
    names = set()
    for node in ast.walk(ast.parse(MODULES[room].read_text(encoding="utf-8"))) if room in MODULES else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and covers(room, node.module or ""):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return {name for name in names if name == "__version__" or not name.startswith("_")}


def modules_of(path: Path) -> set[str]:
    """Return the modules that a file imports, or imports names of."""
    return {module for module, _ in imports(path)}


def test_every_package_is_a_room() -> None:
    """And every file lies in one: `arena` and `ladder` themselves hold nothing but their `__init__`."""
    packages = {name for name, path in MODULES.items() if path.name == "__init__.py" and not in_box(path)}
    assert packages - set(ROOMS) == set()
    assert [module for module in MODULES if room_of(module) in ("arena", "ladder") and module not in ROOMS] == []


@each("module", CODE)
def test_a_room_is_used_through_its_door(module: str) -> None:
    """Tests too: what they need of a room, its door shows."""
    around = [
        f"{imported}.{name}" if name else imported
        for imported, name in imports(CODE[module])
        if imported.split(".")[0] in PACKAGES
        and not own(room_of(module), imported)
        and (imported not in ROOMS or (name is not None and name not in listed(imported)))
    ]
    assert around == []


@each("module", [name for name in MODULES if name in CODE])
def test_a_room_imports_only_what_it_may(module: str) -> None:
    """Source: ROOMS."""
    room = room_of(module)
    found = {room_of(imported) for imported in modules_of(CODE[module]) if imported.split(".")[0] in PACKAGES}
    assert sorted(other for other in found if not own(room, other) and other not in ROOMS[room]) == []


def test_no_room_lists_a_room_that_it_does_not_need() -> None:
    """The table says what is, not what was."""
    found: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, path in MODULES.items():
        if module in CODE:
            found[room_of(module)] |= {room_of(name) for name in modules_of(path) if name.split(".")[0] in PACKAGES}
    assert {room: sorted(set(may) - found[room]) for room, may in ROOMS.items() if set(may) - found[room]} == {}


def test_the_rooms_have_no_circle() -> None:
    """Whoever reads a room need not know those that use it."""
    left = dict(ROOMS)
    while free := [room for room, may in left.items() if not set(may) & set(left)]:
        for room in free:
            del left[room]
    assert left == {}


@each("module", [name for name in MODULES if any(covers(pure, name) for pure in PURE)])
def test_pure_rooms_have_no_clock_no_io_and_no_global_randomness(module: str) -> None:
    """The rules, the odds, the schedule and the rating are functions of their arguments."""
    assert {name.split(".")[0] for name in modules_of(MODULES[module])} & IMPURE == set()


def test_the_protocol_needs_the_standard_library_alone() -> None:
    """A client library imports it with nothing else installed."""
    assert run_python("import sys, protocol; print([n for n in sys.modules if n.startswith('pydantic')])") == "[]"


@each("path", sorted((ROOT / "sample_bots").glob("*.py")))
def test_sample_bots_stand_alone(path: Path) -> None:
    """They are what a newcomer copies: one file, with the standard library, and at most the kit."""
    own = {*sys.stdlib_module_names, "coup_kit"}
    assert [name for name in modules_of(path) if name.split(".")[0] not in own] == []


def test_only_the_wire_knows_both_the_engine_and_the_protocols_payloads() -> None:
    """All others take moves and events from one side. (The wire writes lines by hand; the models test them.)"""
    payloads = {"protocol.coup", "protocol.messages"}
    both = [
        module
        for module, path in MODULES.items()
        if modules_of(path) & payloads and any(covers("arena.coup", name) for name in modules_of(path))
    ]
    assert set(both) <= {"arena.referee.wire"}


def test_the_referee_sees_no_kind_of_sandbox() -> None:
    """It gets a Box from whoever starts it: the same referee serves every isolation."""
    seen = {"Box", "Exit", "ProgramError", "SandboxError", "LIMITS", "LimitRule", "Limits", "readable"}
    seen |= {"Spent"}
    for module, path in MODULES.items():
        if covers("arena.referee", module):
            assert {name for imported, name in imports(path) if imported == "arena.sandbox"} <= seen, module


def test_pydantic_is_for_the_wire_and_for_files_that_users_write() -> None:
    """And for the answer that programs read; values in between are frozen dataclasses."""
    users = {module for module, path in MODULES.items() if any(covers("pydantic", name) for name in modules_of(path))}
    assert {module for module in users if not covers("protocol", module)} <= {
        "arena.bots.manifest",
        "arena.cli.answers",
        "arena.cli.submit",  # what a server answers
        "arena.compare.answer",
        "ladder.service.releases",  # what a release holds, as JSON
        "ladder.standings",
        "ladder.views.step",
        "arena.run.answer",
        "ladder.service.settings",
        "ladder.web.draw",
        "arena.stats.answer",
    }


def test_nobody_imports_the_command() -> None:
    """`arena.cli` prints and exits; nothing that others call may. Tests call it as its users do."""
    paths = [
        *(path for name, path in MODULES.items() if not covers("arena.cli", name)),
        *(ROOT / "sample_bots").glob("*.py"),
    ]
    assert [path for path in paths if any(covers("arena.cli", name) for name in modules_of(path))] == []


def test_the_command_imports_lazily() -> None:
    """`arena --help` answers in 0.1 s: each command imports what it needs when it is called."""
    asked = "--help", "ladder --help", "rul"  # the last one is completed
    script = f"""
import sys
from click.shell_completion import BashComplete
from arena.cli import cli
for words in {asked[:-1]}: cli(words.split(), standalone_mode=False)
print(*[item.value for item in BashComplete(cli, {{}}, "arena", "").get_completions([], {asked[-1]!r})])
print(*sorted(sys.modules))
"""
    *_, completed, modules = run_python(script).splitlines()
    assert completed == "rules"
    loaded = set(modules.split())
    assert loaded & HEAVY == set()
    ours = {name for name in loaded if name.split(".")[0] in PACKAGES}
    assert {name for name in ours if name != "arena" and not covers("arena.cli", name)} == set()


def test_a_worker_of_a_ladder_imports_no_database() -> None:
    """A runner and a class of forty start hundreds of them: to import SQLAlchemy took each longer than all else."""
    loaded = set(run_python("import sys, ladder.work; print(*sorted(sys.modules))").split())
    assert loaded & HEAVY == set()


def test_to_open_a_ladder_needs_no_migrations_no_mathematics_and_no_argon2() -> None:
    """Alembic is for databases that are made or brought up to date, numpy for what rates, argon2 for passwords."""
    loaded = run_python("import sys, ladder.service; print(*sorted(sys.modules))").split()
    assert {"alembic", "numpy", "argon2"} & set(loaded) == set()


def run_python(script: str) -> str:
    """Run a script with our packages on its path, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", script]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    ).stdout.strip()
