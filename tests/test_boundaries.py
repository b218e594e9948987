"""Which package may import which others, and through which public API.

A package here is a Python package, or a module that counts as one. The rules:

1. Others use a package through its public API: they import the package itself, or names of its `__all__` if it has one,
   else names that it defines or imports from its own files.
2. A module imports the files of its own package, and of the packages that contain it, directly.
3. A package imports the packages that ALLOWED_IMPORTS lists for it, and no others.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.cases import each

ROOT = Path(__file__).parents[1]
PACKAGES = ("arena", "ladder", "protocol")

# A package, and the packages that it may import. Packages inside of it, and those that contain it, are its own.
ALLOWED_TEXT = """
protocol:
protocol.payloads:
protocol.kits.coup_env:
protocol.kits.coup_kit:
protocol.event_text:
protocol.messages: protocol.payloads
protocol.records: protocol.payloads
arena:
arena.coup:
arena.limits:
arena.escaping:
arena.samples: arena.escaping
arena.schedule:
arena.rating:
arena.rating.matches:
arena.rating.laplace_approximation: arena.rating.matches
arena.rating.winner_model: arena.rating.matches
arena.formatting: arena.rating
arena.workers:
arena.workers.cluster:
arena.sandbox: arena.limits
arena.sandbox.linux: arena.limits
arena.sandbox.bubblewrap: arena.limits arena.sandbox.linux
arena.sandbox.docker: arena.limits arena.sandbox.linux
arena.referee: protocol arena.coup arena.limits
arena.referee.process: protocol arena.coup arena.limits arena.sandbox
arena.bots: arena.limits arena.escaping arena.samples arena.sandbox
arena.checks: protocol protocol.event_text arena.coup arena.limits arena.escaping arena.formatting arena.sandbox
  arena.sandbox.linux arena.sandbox.bubblewrap arena.referee arena.referee.process arena.bots
arena.replay: protocol.event_text arena.coup arena.escaping arena.referee
arena.run: arena.coup arena.escaping arena.schedule arena.workers arena.workers.cluster
  arena.sandbox arena.referee arena.referee.process arena.bots arena.checks
arena.run.standings: arena.rating arena.referee
arena.run.report: arena.escaping arena.rating arena.referee arena.run.standings
arena.models: protocol protocol.event_text arena.coup arena.escaping arena.sandbox arena.referee arena.bots
  arena.run.report arena.play
arena.model_matches: protocol arena.coup arena.sandbox arena.referee arena.referee.process arena.bots arena.checks
  arena.run arena.models
arena.stats: arena.coup arena.rating arena.referee arena.replay
arena.stats.plots: arena.escaping arena.formatting arena.replay arena.stats.report
arena.stats.report: arena.escaping arena.rating arena.referee
arena.compare: arena.schedule arena.formatting arena.stats
arena.compare.comparison: arena.coup arena.schedule arena.run
arena.compare.divergence: protocol.event_text arena.coup arena.rating arena.referee arena.replay
  arena.compare.comparison
arena.compare.report: arena.escaping arena.rating arena.formatting arena.referee arena.run arena.stats
  arena.compare.comparison arena.compare.divergence
arena.compare.html_report: arena.rating arena.formatting arena.replay arena.compare.divergence arena.compare.report
arena.local: protocol protocol.kits.coup_env protocol.kits.coup_kit arena.coup arena.samples arena.schedule arena.rating
  arena.referee arena.run arena.stats arena.compare
arena.review: protocol protocol.event_text arena.rating arena.referee arena.local
arena.study: arena.coup arena.sandbox arena.schedule arena.referee arena.bots arena.run
arena.study.design_file: arena.escaping arena.bots
arena.study_measures: protocol.event_text arena.coup arena.rating arena.referee arena.replay arena.stats arena.compare
  arena.study
arena.study_report: arena arena.formatting arena.referee arena.bots arena.run arena.run.report arena.review arena.models
  arena.study arena.study_measures
arena.study_publication: arena.escaping arena.formatting arena.referee arena.replay arena.run arena.stats
  arena.stats.plots arena.stats.report arena.study_measures arena.study_report
arena.exploit: protocol protocol.kits.coup_kit arena.rating arena.sandbox arena.stats arena.stats.report arena.local
arena.env: protocol.kits.coup_env arena.coup arena.referee arena.local
arena.play: protocol.kits.coup_kit protocol.event_text arena.coup arena.referee
arena.lessons: protocol.event_text arena.coup arena.referee arena.play arena.replay
arena.tables: arena.referee arena.play arena.replay
arena.tables.live_match: arena.coup arena.sandbox arena.referee arena.referee.process arena.run arena.play
arena.playground:
arena.playground_worker:
arena.playground_worker.trial: protocol.kits.coup_kit arena.coup arena.referee arena.replay arena.compare arena.local
arena.playground_worker.person_table: protocol.kits.coup_kit arena.coup arena.referee arena.replay arena.local
  arena.play arena.review arena.playground_worker.trial
arena.playground.build: arena.coup arena.replay arena.lessons arena.playground_worker.person_table
arena.connect: protocol
arena.cli: protocol protocol.kits.coup_kit protocol.event_text arena.coup arena.limits arena.escaping arena.samples
  arena.schedule arena.rating arena.formatting arena.workers arena.sandbox arena.sandbox.docker arena.referee
  arena.referee.process arena.bots arena.checks arena.replay arena.run arena.run.report arena.stats arena.stats.plots
  arena.stats.report arena.compare arena.compare.comparison arena.compare.report arena.compare.html_report arena.local
  arena.review arena.study arena.study.design_file arena.study_measures arena.study_report arena.study_publication
  arena.exploit arena.play arena.lessons arena.models arena.model_matches arena.tables arena.tables.live_match
  arena.connect
ladder:
ladder.store: arena.referee
ladder.permissions:
ladder.rounds: arena.schedule
ladder.settings:
ladder.worker: arena arena.schedule arena.formatting arena.workers arena.sandbox arena.referee arena.referee.process
  arena.bots arena.checks arena.run arena.stats arena.review
ladder.standings.collusion: arena.rating arena.rating.matches arena.rating.laplace_approximation
  arena.rating.winner_model
ladder.bots.fingerprints:
ladder.view_context: ladder.store ladder.permissions
ladder.clock: arena.escaping ladder.settings
ladder.standings.computation: arena.rating arena.rating.matches arena.run ladder.store ladder.standings.collusion
ladder.ladder: arena arena.coup arena.escaping arena.schedule arena.sandbox arena.referee ladder.store
  ladder.permissions ladder.settings ladder.view_context ladder.clock
ladder.activation: arena.escaping ladder.store ladder.settings ladder.ladder
ladder.bot_quotas: arena.formatting ladder.store ladder.ladder ladder.activation
ladder.chat: arena.escaping arena.tables ladder.store ladder.permissions ladder.settings ladder.view_context
  ladder.ladder
ladder.deadlines: arena.escaping arena.formatting ladder.store ladder.settings ladder.clock ladder.ladder
  ladder.bot_quotas
ladder.health: ladder.store ladder.settings ladder.ladder
ladder.users: arena.coup arena.escaping arena.formatting arena.referee ladder.store ladder.permissions ladder.settings
  ladder.view_context ladder.clock ladder.ladder ladder.activation ladder.bot_quotas
ladder.settings_forms: arena.escaping ladder.store ladder.settings ladder.ladder ladder.deadlines
ladder.audit_log: ladder.store ladder.permissions ladder.view_context ladder.users
ladder.match_pages: arena.escaping arena.referee arena.replay ladder.store ladder.permissions ladder.settings
  ladder.view_context ladder.ladder ladder.audit_log
ladder.standings: arena.escaping arena.rating arena.rating.matches arena.formatting arena.run ladder.store
  ladder.permissions ladder.view_context ladder.clock ladder.ladder
ladder.lost_games: arena.referee arena.replay ladder.store ladder.permissions ladder.view_context
ladder.bot_pages: arena.rating arena.referee arena.checks arena.review ladder.store ladder.permissions ladder.rounds
  ladder.view_context ladder.standings.computation ladder.activation ladder.deadlines ladder.audit_log
  ladder.match_pages ladder.standings ladder.lost_games
ladder.bots: arena arena.escaping arena.formatting arena.sandbox arena.bots ladder.store ladder.permissions
  ladder.settings ladder.view_context ladder.clock ladder.ladder ladder.activation ladder.bot_quotas ladder.deadlines
  ladder.users ladder.bot_pages
ladder.tables: arena.coup arena.escaping arena.formatting arena.bots ladder.store ladder.permissions ladder.settings
  ladder.ladder ladder.chat ladder.users ladder.standings ladder.bot_pages
ladder.table_pages: arena.rating arena.referee arena.replay ladder.store ladder.permissions ladder.view_context
ladder.runner_events: arena.workers ladder.ladder
ladder.round_queue: arena.schedule ladder.store ladder.rounds ladder.ladder
ladder.challenges: arena.escaping ladder.store ladder.settings ladder.clock ladder.ladder ladder.bots
ladder.tasks: arena.escaping arena.workers arena.referee arena.bots arena.run ladder.store ladder.worker ladder.clock
  ladder.ladder ladder.runner_events ladder.round_queue
ladder.team_invitations: arena.escaping arena.formatting ladder.store ladder.settings ladder.ladder ladder.bot_quotas
  ladder.users
ladder.checkup: arena.escaping arena.formatting arena.sandbox arena.checks arena.run ladder.store ladder.settings
  ladder.clock ladder.ladder ladder.standings ladder.tasks
ladder.backups: ladder.store ladder.settings ladder.ladder
ladder.exports: arena.escaping ladder.store ladder.permissions ladder.settings ladder.view_context ladder.ladder
  ladder.users ladder.standings
ladder.prepared_bots: arena.sandbox arena.bots arena.tables ladder.store ladder.ladder ladder.tables ladder.tasks
ladder.table_server: arena.schedule arena.formatting arena.sandbox arena.referee arena.bots arena.run arena.tables
  ladder.store ladder.settings ladder.ladder ladder.chat ladder.tables ladder.prepared_bots
ladder.grading: arena.escaping arena.rating arena.formatting arena.referee arena.run ladder.store ladder.permissions
  ladder.settings ladder.view_context ladder.standings.computation ladder.ladder ladder.deadlines ladder.users
  ladder.standings ladder.exports
ladder.upgrade: arena.escaping ladder.store ladder.settings ladder.ladder ladder.backups
ladder.dashboards: arena.formatting arena.checks ladder.store ladder.permissions ladder.view_context ladder.users
  ladder.audit_log ladder.match_pages ladder.bot_pages ladder.bots ladder.grading
ladder.home: ladder.store ladder.permissions ladder.view_context ladder.standings.computation ladder.ladder
  ladder.deadlines ladder.users ladder.match_pages ladder.standings ladder.lost_games ladder.team_invitations
  ladder.grading
ladder.runner: arena.escaping arena.formatting arena.workers arena.referee arena.checks arena.run ladder.store
  ladder.settings ladder.worker ladder.clock ladder.ladder ladder.activation ladder.health ladder.standings
  ladder.bot_pages ladder.runner_events ladder.tasks ladder.grading
ladder.web: arena arena.coup arena.escaping arena.samples arena.formatting arena.sandbox arena.bots arena.checks
  arena.replay arena.review arena.lessons arena.tables arena.playground ladder.store ladder.permissions ladder.settings
  ladder.view_context ladder.clock ladder.standings.computation ladder.ladder ladder.activation ladder.chat
  ladder.deadlines ladder.health ladder.users ladder.settings_forms ladder.audit_log ladder.match_pages ladder.standings
  ladder.bot_pages ladder.bots ladder.tables ladder.table_pages ladder.challenges ladder.team_invitations ladder.checkup
  ladder.exports ladder.grading ladder.dashboards ladder.home
ladder.cli: protocol arena.escaping arena.schedule arena.rating arena.formatting arena.workers arena.workers.cluster
  arena.sandbox arena.referee arena.bots arena.checks arena.run arena.cli ladder.store ladder.permissions
  ladder.settings ladder.clock ladder.standings.computation ladder.ladder ladder.activation ladder.deadlines
  ladder.health ladder.users ladder.audit_log ladder.match_pages ladder.standings ladder.bot_pages ladder.bots
  ladder.runner_events ladder.challenges ladder.checkup ladder.backups ladder.exports ladder.table_server ladder.grading
  ladder.upgrade ladder.dashboards ladder.runner ladder.web
"""
ROWS = (row.partition(":") for row in re.split(r"\n(?! )", ALLOWED_TEXT.strip()))
ALLOWED_IMPORTS = {package: tuple(may.split()) for package, _, may in ROWS}

# Modules that make a result depend on its time and place, or communicate.
IMPURE = {"asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "select"}
IMPURE |= {"shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "uuid"}
PURE = (
    "arena.compare",
    "arena.coup",
    "arena.rating",
    "arena.run.standings",
    "arena.schedule",
    "ladder.permissions",
    "ladder.rounds",
)

# Each takes longer to import than the whole of `arena --help` may take.
HEAVY = {"alembic", "dask", "distributed", "docker", "gymnasium", "numpy", "pettingzoo", "prometheus_client", "psycopg"}
HEAVY |= {"pydantic", "rich", "scipy", "sqlalchemy", "trueskill"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_in_box(path: Path) -> bool:
    """Return whether a file isn't a module of ours but a program for a box."""
    return "attacks" in path.parts or "bad_bots" in path.parts


MODULES = {name_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}
TESTS = {name_of(path): path for path in sorted((ROOT / "tests").rglob("*.py"))}
CODE = {name: path for name, path in {**MODULES, **TESTS}.items() if not is_in_box(path)}


def is_in(name: str, module: str) -> bool:
    return module == name or module.startswith(f"{name}.")


@cache
def package_of(module: str) -> str:
    return max((package for package in ALLOWED_IMPORTS if is_in(package, module)), key=len, default="")


def own(package: str, module: str) -> bool:
    """Return whether a module is the package's own: in it, or a file of a package that contains it."""
    return bool(package) and (is_in(package, module) or is_in(package_of(module), package))


@cache
def imports(path: Path) -> tuple[tuple[str, str | None], ...]:
    """Return (module, name) of all imports; the name is None where a module as a whole is imported."""
    return tuple(scan(path))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements; to look into their expressions too would take most of the time."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, field, ()):
            yield node
            yield from statements(node)


def scan(path: Path) -> Iterator[tuple[str, str | None]]:
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide what is imported"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                # A package is taken as a whole; a file's module only where no name of its package hides it.
                package = whole in ALLOWED_IMPORTS or (whole in MODULES and alias.name not in listed(node.module))
                yield (whole, None) if package else (node.module, alias.name)


@cache
def listed(package: str) -> set[str]:
    """Return the names of a package's public API: `__all__`, or all that it defines or imports of its own files."""
    names = set()
    for node in ast.walk(ast.parse(MODULES[package].read_text(encoding="utf-8"))) if package in MODULES else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and is_in(package, node.module or ""):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return {name for name in names if name == "__version__" or not name.startswith("_")}


def modules_of(path: Path) -> set[str]:
    return {module for module, _ in imports(path)}


def test_every_package_is_listed() -> None:
    packages = {name for name, path in MODULES.items() if path.name == "__init__.py" and not is_in_box(path)}
    assert packages - set(ALLOWED_IMPORTS) == set()
    assert [
        module for module in MODULES if package_of(module) in ("arena", "ladder") and module not in ALLOWED_IMPORTS
    ] == []


@each("module", CODE)
def test_a_package_is_used_through_its_public_api(module: str) -> None:
    around = [
        f"{imported}.{name}" if name else imported
        for imported, name in imports(CODE[module])
        if imported.split(".")[0] in PACKAGES
        and not own(package_of(module), imported)
        and not (is_in("ladder.cli", module) and is_in("arena.cli", imported))  # commands share options and tables
        and (imported not in ALLOWED_IMPORTS or (name is not None and name not in listed(imported)))
    ]
    assert around == []


@each("module", [name for name in MODULES if name in CODE])
def test_a_package_imports_only_what_it_may(module: str) -> None:
    package = package_of(module)
    found = {package_of(imported) for imported in modules_of(CODE[module]) if imported.split(".")[0] in PACKAGES}
    assert sorted(other for other in found if not own(package, other) and other not in ALLOWED_IMPORTS[package]) == []


def test_no_package_lists_a_package_that_it_does_not_need() -> None:
    found: dict[str, set[str]] = {package: set() for package in ALLOWED_IMPORTS}
    for module, path in MODULES.items():
        if module in CODE:
            found[package_of(module)] |= {
                package_of(name) for name in modules_of(path) if name.split(".")[0] in PACKAGES
            }
    assert {
        package: sorted(set(may) - found[package])
        for package, may in ALLOWED_IMPORTS.items()
        if set(may) - found[package]
    } == {}


def test_the_arena_imports_nothing_of_the_ladder() -> None:
    """A ladder uses the arena, never the reverse."""
    arena = [name for name in MODULES if is_in("arena", name)]
    assert [name for name in arena if any(is_in("ladder", each) for each in modules_of(MODULES[name]))] == []


def test_the_ladders_store_loads_only_values_of_the_arena() -> None:
    """Each command of a ladder pays for what the store loads."""
    loaded = run_python(
        "import sys, ladder.store; print(*sorted({'.'.join(name.split('.')[:2]) for name in sys.modules}))"
    ).split()
    ours = {name for name in loaded if name.split(".")[0] in PACKAGES and name.count(".") == 1}
    assert ours == {"arena.coup", "arena.limits", "arena.referee", "ladder.store", "protocol.framing"}
    assert {"numpy", "scipy", "pydantic", "docker", "click"} & set(loaded) == set()


def test_the_store_holds_all_sql() -> None:
    """Elsewhere a connection is only passed on."""
    for module, path in CODE.items():
        if is_in("ladder", module) and not is_in("ladder.store", module):
            found = {name for source, name in imports(path) if is_in("sqlalchemy", source)}
            assert found <= {"Connection", "URL", "make_url", "ArgumentError"}, module
            assert ("ladder.store", "METADATA") not in imports(path), module
            assert "store.METADATA" not in path.read_text(encoding="utf-8"), module


def test_the_packages_have_no_circle() -> None:
    left = dict(ALLOWED_IMPORTS)
    while free := [package for package, may in left.items() if not set(may) & set(left)]:
        for package in free:
            del left[package]
    assert left == {}


@each("module", [name for name in MODULES if any(is_in(pure, name) for pure in PURE)])
def test_pure_packages_have_no_clock_no_io_and_no_global_randomness(module: str) -> None:
    assert {name.split(".")[0] for name in modules_of(MODULES[module])} & IMPURE == set()


def test_the_protocol_needs_the_standard_library_alone() -> None:
    assert run_python("import sys, protocol; print([n for n in sys.modules if n.startswith('pydantic')])") == "[]"


@each("path", sorted((ROOT / "sample_bots").glob("*.py")))
def test_sample_bots_need_only_the_standard_library_and_the_kit(path: Path) -> None:
    """Newcomers copy them."""
    own = {*sys.stdlib_module_names, "coup_kit"}
    assert [name for name in modules_of(path) if name.split(".")[0] not in own] == []


def test_only_the_wire_knows_both_the_engine_and_the_protocols_payloads() -> None:
    """The wire writes lines by hand; the models test them."""
    payloads = {"protocol.payloads", "protocol.messages"}
    both = [
        module
        for module, path in MODULES.items()
        if modules_of(path) & payloads and any(is_in("arena.coup", name) for name in modules_of(path))
    ]
    assert set(both) <= {"arena.referee.wire"}


def test_the_referee_sees_no_kind_of_sandbox() -> None:
    """It gets a Box from its caller."""
    seen = {"Box", "Exit", "ProgramError", "SandboxError", "wait_readable", "CpuUsage"}
    for module, path in MODULES.items():
        if is_in("arena.referee", module):
            assert {name for imported, name in imports(path) if imported == "arena.sandbox"} <= seen, module


def test_pydantic_is_for_the_wire_and_for_files_that_users_write() -> None:
    """Values in between are frozen dataclasses."""
    users = {module for module, path in MODULES.items() if any(is_in("pydantic", name) for name in modules_of(path))}
    assert {module for module in users if not is_in("protocol", module)} <= {
        "arena.bots.manifest",
        "arena.cli.console",
        "arena.cli.submit",  # responses of a server
        "arena.compare.divergence",
        "arena.compare.report",
        "ladder.grading.grading_inputs",  # content of a release, as JSON
        "ladder.standings.computation",
        "arena.tables.websocket",  # the first line of a relay
        "ladder.bot_pages",
        "arena.models.settings",
        "arena.run.report",
        "arena.study.design_file",
        "arena.study_report.report",
        "ladder.settings",
        "ladder.web.rendering",
        "arena.stats.report",
    }


def test_no_package_imports_the_command() -> None:
    """`arena.cli` prints and exits; code that others call may not. Tests run it as users do."""
    paths = [
        *(path for name, path in MODULES.items() if not is_in("arena.cli", name) and not is_in("ladder.cli", name)),
        *(ROOT / "sample_bots").glob("*.py"),
    ]
    assert [path for path in paths if any(is_in("arena.cli", name) for name in modules_of(path))] == []


def test_the_command_imports_lazily() -> None:
    """`arena --help` answers in 0.1 s."""
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
    commands = {"arena", "ladder", *(name for name in ours if is_in("arena.cli", name) or is_in("ladder.cli", name))}
    assert ours - commands == set()


def test_a_worker_of_a_ladder_imports_no_database() -> None:
    """A ladder starts hundreds of workers: importing SQLAlchemy took longer than the rest."""
    loaded = set(run_python("import sys, ladder.worker; print(*sorted(sys.modules))").split())
    assert loaded & HEAVY == set()


def test_opening_a_ladder_imports_no_migrations_numpy_or_argon2() -> None:
    loaded = run_python("import sys, ladder.ladder, ladder.bots; print(*sorted(sys.modules))").split()
    assert {"alembic", "numpy", "argon2"} & set(loaded) == set()


def run_python(script: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", script]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    ).stdout.strip()
