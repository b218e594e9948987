"""What somebody finds who comes to the public repository: its workflow, hooks, forms and citation.

Source: .ci/run, pyproject.toml, and GitHub's syntax of issue forms.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.cases import each

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FORMS = sorted(path.stem for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
MAKE = re.compile(r"\bmake ([a-z-]+)")


def read(name: str) -> Any:
    """Read a file of YAML."""
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def jobs() -> dict[str, dict[str, Any]]:
    """Return the jobs of the workflow by their names."""
    found: dict[str, dict[str, Any]] = read(".github/workflows/tests.yml")["jobs"]
    return found


def test_the_workflow_runs_ci_run_and_its_targets() -> None:
    """There is one list of commands; a step with a name prepares the machine."""
    ran = {step["run"] for job in jobs().values() for step in job["steps"] if "run" in step and "name" not in step}
    matrix = jobs()["python"]["strategy"]["matrix"]
    targets = {*matrix["target"], *(row["target"] for row in matrix["include"])}
    ran = ran - {"make ${{ matrix.target }}"} | {f"make {target}" for target in targets}
    ours = {f"make {target}" for target in MAKE.findall((ROOT / ".ci/run").read_text("utf-8"))}
    assert ran == {"make lint", "make quick", "make test", "make package", ".ci/run"}
    assert ran - {".ci/run"} <= ours


def test_the_workflow_runs_the_pythons_that_the_package_names() -> None:
    """Source: the classifiers."""
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs()["python"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_workflow_may_read_and_its_jobs_end() -> None:
    """Actions are named by their major version."""
    assert read(".github/workflows/tests.yml")["permissions"] == {"contents": "read"}
    for job in jobs().values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1"))


def test_the_hooks_start_what_make_lint_starts() -> None:
    """So the versions of ruff and mypy stand once, in constraints.txt."""
    hooks = [hook["entry"].split()[:2] for hook in read(".pre-commit-config.yaml")["repos"][0]["hooks"]][:3]
    assert hooks == [[".venv/bin/ruff", "format"], [".venv/bin/ruff", "check"], [".venv/bin/mypy"]]


@each("form", FORMS)
def test_a_form_has_what_its_syntax_asks_for(form: str) -> None:
    """Each part has a name and a label of its own."""
    given = read(f".github/ISSUE_TEMPLATE/{form}.yml")
    assert {"name", "description", "body"} <= given.keys()
    parts = given["body"]
    assert {part["type"] for part in parts} <= {"input", "textarea"}
    for distinct in ({part["id"] for part in parts}, {part["attributes"]["label"] for part in parts}):
        assert len(distinct) == len(parts)


def test_the_citation_says_what_the_package_says() -> None:
    """The version is what the command prints, and stands in one place."""
    cited = read("CITATION.cff")
    assert cited["title"] == PROJECT["name"]
    assert cited["abstract"] == PROJECT["description"]
    for key in ("authors", "license", "keywords"):
        assert cited[key] == PROJECT[key]
    assert "version" not in cited
