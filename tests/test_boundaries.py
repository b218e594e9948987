"""Who may import whom. Source: DESIGN.md, section 1: no module imports what isn't listed for it."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("arena", "ladder", "protocol")

# Module or package -> what of ours it may import. The longest name that fits is the rule; a new module of arena or
# ladder needs a line of its own, or one for its package.
ALLOWED: dict[str, tuple[str, ...]] = {
    "protocol": ("protocol",),
    "protocol.kit": ("protocol.kit",),
    "arena": (),
    "arena.coup": ("arena.coup",),
    "arena.sandbox": ("arena.sandbox",),
    "arena.referee": ("arena.referee", "arena.coup", "arena.sandbox", "protocol"),
    "arena.manifest": (),
    "arena.locked_folder": (),
    "arena.bots": ("arena.manifest",),
    "arena.untar": (),
    "arena.building": ("arena.bots", "arena.manifest", "arena.sandbox", "arena.untar"),
    "arena.doctor": ("arena.sandbox",),
    "arena.red_team": ("arena.locked_folder", "arena.red_team", "arena.referee", "arena.sandbox"),
    "arena.rulesets": ("arena.coup", "arena.sandbox"),
    "arena.odds": ("arena.coup",),
    "arena.sheet": ("arena.coup", "arena.rulesets"),
    "arena.job": ("arena.referee", "arena.sandbox"),
    "arena.run": (
        "arena",
        "arena.bots",
        "arena.coup",
        "arena.job",
        "arena.locked_folder",
        "arena.referee",
        "arena.sandbox",
        "ladder",
    ),
    "arena.report": ("arena.cli_out", "arena.referee", "arena.run", "ladder.board", "protocol"),
    "arena.cli": ("arena", "ladder", "protocol"),
    "arena.cli_*": ("arena", "ladder", "protocol"),
    "ladder": (),
    "ladder.schedule": (),
    "ladder.rating": ("ladder.rating",),
    "ladder.workers": (),
    "ladder.runner": ("ladder.workers",),
    "ladder.folder": (),
    "ladder.board": ("ladder.rating",),
}

# What makes a result depend on when and where it is computed, or talks to the world.
IMPURE = {"asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "select"}
IMPURE |= {"shutil", "signal", "socket", "subprocess", "sys", "tempfile", "threading", "time", "uuid"}
PURE = ("arena.coup", "arena.odds", "ladder.schedule", "ladder.rating")

HEAVY = {"docker", "pydantic", "rich", "trueskill"}  # each takes longer to import than `arena --help` may take in all
OURS_TO_RUN = ("arena.referee", "arena.sandbox", "arena.coup", "arena.bots", "ladder")


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def imports(path: Path, top_level_only: bool = False) -> Iterator[str]:
    """Yield the full names of the modules that a file imports; `from a import b` is a.b where that is a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = iter(tree.body) if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide what is imported"
            assert node.module is not None
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else node.module


def covers(name: str, module: str) -> bool:
    """Tell whether a rule's name is the module's, one of a package it lies in, or a pattern for it."""
    return module == name or module.startswith(f"{name}.") or ("*" in name and fnmatchcase(module, name))


def rule(module: str) -> str:
    return max((name for name in ALLOWED if covers(name, module)), key=len)


def test_a_new_module_has_a_rule() -> None:
    """`arena` and `ladder` themselves are the rules of their __init__ alone."""
    assert [module for module in MODULES if rule(module) in ("arena", "ladder") and module not in ALLOWED] == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_it_may(module: str) -> None:
    """Source: the table above, which is that of DESIGN.md with the modules that came since."""
    allowed = ALLOWED[rule(module)]
    ours = {name for name in imports(MODULES[module]) if name.split(".")[0] in PACKAGES}
    if module == "arena.run":  # of `arena` itself it takes the version
        ours.discard("arena")
        allowed = tuple(name for name in allowed if name != "arena")
    assert sorted(name for name in ours if not any(covers(may, name) for may in allowed)) == []


@pytest.mark.parametrize("module", [name for name in MODULES if any(covers(pure, name) for pure in PURE)])
def test_pure_packages_have_no_clock_no_io_and_no_global_randomness(module: str) -> None:
    """The rules, the odds, the schedule and the rating are functions of their arguments."""
    assert {name.split(".")[0] for name in imports(MODULES[module])} & IMPURE == set()


def test_the_kit_needs_the_standard_library_alone() -> None:
    """An author imports it with nothing else installed, and `protocol` on the way to it must not ask for more."""
    for module in [name for name in MODULES if covers("protocol.kit", name)]:
        for name in imports(MODULES[module]):
            assert name.split(".")[0] in sys.stdlib_module_names or covers("protocol.kit", name), f"{module}: {name}"
    script = "import sys, protocol; print(sorted(name for name in sys.modules if name.startswith('pydantic')))"
    assert run_python(script) == "[]"


@pytest.mark.parametrize("path", sorted((ROOT / "sample_bots").glob("*.py")), ids=lambda path: path.stem)
def test_sample_bots_stand_alone(path: Path) -> None:
    """They are what a newcomer copies: one file, the standard library."""
    assert [name for name in imports(path) if name.split(".")[0] not in sys.stdlib_module_names] == []


def test_only_the_wire_knows_both_the_engine_and_the_protocols_payloads() -> None:
    """All others take moves and events from one side. (The wire writes lines by hand; the models test them.)"""
    payloads = {"protocol.coup", "protocol.messages"}
    both = [
        module
        for module, path in MODULES.items()
        if set(imports(path)) & payloads and any(covers("arena.coup", name) for name in imports(path))
    ]
    assert set(both) <= {"arena.referee.wire"}


def test_the_referee_sees_no_kind_of_sandbox() -> None:
    """It gets a Box from whoever starts it: the same referee serves every isolation."""
    for module, path in MODULES.items():
        if covers("arena.referee", module):
            names = {
                alias.name
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.ImportFrom) and covers("arena.sandbox", node.module or "")
                for alias in node.names
            }
            limits = {"LIMITS", "LimitRule", "Limits", "betrayed"}
            assert names <= {"Box", "Capture", "Exit", "ProgramError", "SandboxError", *limits}, module


def test_pydantic_is_for_the_wire_and_for_files_that_users_write() -> None:
    """Values in between are frozen dataclasses. Source: STYLE, 6."""
    users = {module for module, path in MODULES.items() if any(covers("pydantic", name) for name in imports(path))}
    assert {module for module in users if not covers("protocol", module)} <= {"arena.manifest", "arena.rulesets"}


def test_nobody_imports_the_composition_root() -> None:
    """`arena.cli` prints and exits; nothing that others call may."""
    paths = [*MODULES.values(), *(ROOT / "sample_bots").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    assert [path for path in paths if "arena.cli" in set(imports(path))] == []


def test_the_composition_root_imports_lazily() -> None:
    """`arena --help` answers in under 0.2 s: each command imports what it needs when it is called."""
    for module, path in MODULES.items():
        if rule(module) in ("arena.cli", "arena.cli_*"):
            eager = {name for name in imports(path, top_level_only=True) if name.split(".")[0] in PACKAGES}
            assert eager <= {"arena", *(name for name in MODULES if covers("arena.cli_*", name))}, module
    script = "import sys, arena.cli; print(*sorted(sys.modules))"
    loaded = set(run_python(script).split())
    assert loaded & HEAVY == set()
    assert [name for name in sorted(loaded) if any(covers(package, name) for package in OURS_TO_RUN)] == []


def run_python(script: str) -> str:
    """Run a script with our packages on its path, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", script]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    ).stdout.strip()
