"""Tests that the catalog is complete: each row has a program, a test or a reason."""

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.red_team.catalog import ROWS, Channel, CoveredBy, Match, NotTestable, Probes, Together
from tests.red_team.channels import CHANNELS
from tests.red_team.stage import ATTACKS
from tests.red_team.suite import SCENES

ROOT = Path(__file__).parents[2]
TESTED = sorted(
    {test for row in ROWS.values() for kind in row.kinds if isinstance(kind, CoveredBy) for test in kind.tests}
)


def source(name: str) -> str:
    return (ATTACKS / name).read_text(encoding="utf-8")


def test_the_security_model_counts_the_rows() -> None:
    """It has the numbers of attacks with a program that `make attack` runs, with a test, and with neither."""
    kinds = [row.kinds for row in ROWS.values()]
    programs = sum(any(isinstance(kind, Probes | Match | Together | Channel) for kind in each) for each in kinds)
    tested = sum(all(isinstance(kind, CoveredBy) for kind in each) for each in kinds)
    neither = sum(all(isinstance(kind, NotTestable) for kind in each) for each in kinds)
    assert programs + tested + neither == len(ROWS)
    output = " ".join((ROOT / "docs/explanation/security-model.md").read_text(encoding="utf-8").split())
    assert f"a list of {len(ROWS)} attacks" in output
    assert f"{programs} of them have a program" in output
    assert f"{tested} are tested by the test suite alone" in output
    assert f"{neither} have neither" in output


@pytest.mark.parametrize("test", TESTED)
def test_a_test_that_a_row_names_exists(test: str) -> None:
    """A row covered by other tests names them, so a renamed test changes its row."""
    path, name = test.split("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_program_that_a_row_names_exists() -> None:
    bots = {node.name for node in ast.parse(source("bot.py")).body if isinstance(node, ast.FunctionDef)}

    for row in ROWS.values():
        for kind in row.kinds:
            if isinstance(kind, Match):
                assert kind.attack in bots
            elif isinstance(kind, Probes):
                texts = source(f"{kind.group}.py") + source("probes.py")
                assert re.search(rf'"{row.number}\.', texts), row.number
            elif isinstance(kind, Together):
                assert kind.scene in SCENES
            elif isinstance(kind, Channel):
                assert set(kind.names) <= set(CHANNELS)


def test_every_hostile_bot_and_every_check_belongs_to_a_row() -> None:
    """A program without a row is never run."""
    named = {kind.attack for row in ROWS.values() for kind in row.kinds if isinstance(kind, Match)}
    attacks = set(re.findall(r'^def (\w+)\(\) -> None:\n    """Rows? ', source("bot.py"), re.MULTILINE))
    assert attacks <= named
    probed = {row.number for row in ROWS.values() for kind in row.kinds if isinstance(kind, Probes)}
    checks = {int(number) for name in ("processes", "storage", "isolation") for number in numbers(source(f"{name}.py"))}
    assert checks | {49} == probed


def numbers(text: str) -> list[str]:
    return re.findall(r'yield f?"(\d+)\.', text)


def test_every_channel_belongs_to_a_row_and_has_a_program() -> None:
    named = {name for row in ROWS.values() for kind in row.kinds if isinstance(kind, Channel) for name in kind.names}
    programs = set(re.findall(r'^        "([a-z-]+)": ', source("channel.py"), re.MULTILINE))
    assert named == set(CHANNELS) == programs


def test_a_set_of_checks_can_fail_somewhere() -> None:
    """A check that succeeds nowhere proves nothing, so it works without isolation, or its row has a reason."""
    for row in ROWS.values():
        for kind in row.kinds:
            if isinstance(kind, Probes):
                controlled = f'"{row.number}.control"' in source(f"{kind.group}.py")
                assert kind.works or kind.no_control or controlled, row.number


@pytest.mark.parametrize("path", sorted(ATTACKS.glob("*.py")), ids=lambda path: path.stem)
def test_an_attack_needs_the_standard_library_alone(path: Path) -> None:
    """A box contains no packages of the arena, and may have Python 3.9."""
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    local = {other.stem for other in ATTACKS.glob("*.py")}
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names | local, name


def test_a_row_without_a_program_has_a_reason() -> None:
    reasons = [kind.reason for row in ROWS.values() for kind in row.kinds if isinstance(kind, NotTestable)]
    assert [reason for reason in reasons if len(reason) < 30 or "PENDING" in reason] == []
