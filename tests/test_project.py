"""The public repository: its workflow, hooks, forms and citation.

Source: .ci/run, pyproject.toml, and GitHub's syntax of issue forms.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from tests.cases import each

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]
FORMS = sorted(path.stem for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
MAKE = re.compile(r"\bmake (?:-s )?([a-z-]+)")


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def jobs(workflow: str = "tests") -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = read(f".github/workflows/{workflow}.yml")["jobs"]
    return found


def test_the_workflow_runs_ci_run_and_its_targets() -> None:
    ran = {step["run"] for job in jobs().values() for step in job["steps"] if "run" in step and "name" not in step}
    matrix = jobs()["python"]["strategy"]["matrix"]
    targets = {*matrix["target"], *(row["target"] for row in matrix["include"])}
    ran = ran - {"make ${{ matrix.target }}"} | {f"make {target}" for target in targets}
    ours = {f"make {target}" for target in MAKE.findall((ROOT / ".ci/run").read_text("utf-8"))}
    assert ran == {"make lint", "make quick", "make test", "make package", ".ci/run ${{ matrix.group }}"}
    # All tests of `make quick` are also in `make test` or `make test-rest`.
    assert ran - {".ci/run ${{ matrix.group }}", "make quick"} <= ours
    # The job `python` has the newer Pythons.
    groups = re.search(r"groups=\" \$\{\*:-(.*)\} \"", (ROOT / ".ci/run").read_text("utf-8"))[1].split()
    assert [*jobs()["groups"]["strategy"]["matrix"]["group"], "pythons"] == groups


def test_the_targets_of_a_release_run_in_ci_run() -> None:
    made = [step["run"] for job in jobs("release").values() for step in job["steps"] if "run" in step]
    targets = set(MAKE.findall("\n".join(made)))
    assert targets == {"package", "site", "playground", "notes"}
    assert targets <= set(MAKE.findall((ROOT / ".ci/run").read_text("utf-8")))


def test_a_release_has_compiled_wheels_of_the_pythons_that_the_package_names() -> None:
    minors = ",".join(re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"])))
    assert TOOLS["cibuildwheel"]["build"] == f"cp3{{{minors}}}-*"


def test_the_workflow_runs_the_pythons_that_the_package_names() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs()["python"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_the_workflow_may_read_and_its_jobs_end() -> None:
    assert read(".github/workflows/tests.yml")["permissions"] == {"contents": "read"}
    assert read(".github/workflows/release.yml")["permissions"] == {"contents": "read"}
    for job in (*jobs().values(), *jobs("release").values()):
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1"))


def test_the_hooks_run_the_commands_of_make_lint() -> None:
    """Versions of ruff and mypy are only in constraints.txt."""
    hooks = [hook["entry"].split()[:2] for hook in read(".pre-commit-config.yaml")["repos"][0]["hooks"]][:3]
    assert hooks == [[".venv/bin/ruff", "format"], [".venv/bin/ruff", "check"], [".venv/bin/mypy"]]


@each("form", FORMS)
def test_a_form_has_the_required_fields(form: str) -> None:
    given = read(f".github/ISSUE_TEMPLATE/{form}.yml")
    assert {"name", "description", "body"} <= given.keys()
    parts = given["body"]
    assert {part["type"] for part in parts} <= {"input", "textarea"}
    for distinct in ({part["id"] for part in parts}, {part["attributes"]["label"] for part in parts}):
        assert len(distinct) == len(parts)


def test_the_citation_agrees_with_the_package() -> None:
    cited = read("CITATION.cff")
    assert cited["title"] == PROJECT["name"]
    assert cited["abstract"] == PROJECT["description"]
    for key in ("authors", "license", "keywords"):
        assert cited[key] == PROJECT[key]
    assert "version" not in cited
