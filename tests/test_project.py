"""The public repository: its workflow, hooks, forms and citation.

Source: .ci/run, pyproject.toml, and GitHub's syntax of issue forms.
"""

import ast
import hashlib
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import mutants
from tests.test_style import VENDORED

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, TOOLS = SETTINGS["project"], SETTINGS["tool"]
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
    made = [step["run"] for job in jobs("release").values() for step in job.get("steps", ()) if "run" in step]
    targets = set(MAKE.findall("\n".join(made)))
    assert targets == {"package", "site", "playground", "notes"}
    assert targets <= set(MAKE.findall((ROOT / ".ci/run").read_text("utf-8")))


def test_a_release_is_published_after_the_tests_with_sums_attestation_and_licences() -> None:
    released = jobs("release")
    assert released["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert "workflow_call" in read(".github/workflows/tests.yml")[True]  # YAML reads `on` as a truth value
    publish = released["publish"]
    assert {"tests", "compiled", "pure"} <= {*publish["needs"]}
    steps = "\n".join(step.get("run") or step.get("uses", "") for step in publish["steps"])
    made = [steps.index(words) for words in ("cyclonedx-py", "sha256sum", "attest-build-provenance@", "gh release")]
    assert made == sorted(made)
    # What isn't ours has its licence beside it, and the wheel lists it.
    licences = {*ROOT.glob("*/*/static/*.LICENSE")}
    ours = {"LICENSE", "arena/playground/built/licences*.html"}
    assert ours | {str(path.relative_to(ROOT)) for path in licences} == {*PROJECT["license-files"]}
    assert {path.with_suffix(".min.js") for path in licences} == {*ROOT.glob("*/*/static/*.min.js")}


@pytest.mark.parametrize("name", sorted(VENDORED))
def test_a_vendored_file_is_the_one_that_its_licence_names(name: str) -> None:
    said = (ROOT / name.replace(".min.js", ".LICENSE")).read_text("utf-8")
    assert re.search(r"^SHA-256: (\w+)$", said, re.M)[1] == hashlib.sha256((ROOT / name).read_bytes()).hexdigest()


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
    for job in (*jobs().values(), *(job for job in jobs("release").values() if "uses" not in job)):
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step.get("uses", f"actions/x@{'0' * 40}"))


def test_the_hooks_run_the_commands_of_make_lint() -> None:
    """Versions of ruff and mypy are only in constraints.txt."""
    hooks = [hook["entry"].split()[:2] for hook in read(".pre-commit-config.yaml")["repos"][0]["hooks"]][:3]
    assert hooks == [[".venv/bin/ruff", "format"], [".venv/bin/ruff", "check"], [".venv/bin/mypy"]]


def test_the_citation_agrees_with_the_package() -> None:
    cited = read("CITATION.cff")
    assert cited["title"] == PROJECT["name"]
    assert cited["abstract"] == PROJECT["description"]
    for key in ("authors", "license", "keywords"):
        assert cited[key] == PROJECT[key]
    assert "version" not in cited


# How often a test's own process may patch or sleep, by file. docs/dev/testing.md says what for. The numbers only fall.
PATCHES = {
    "bots/test_bot_loader.py": 2,
    "bots/test_build.py": 1,
    "bots/test_submission_conversion.py": 3,
    "checks/test_check.py": 1,
    "cli/test_replay.py": 2,
    "cli/test_review.py": 1,
    "ladder/conftest.py": 1,
    "rating/test_many.py": 1,
    "ladder/test_chat.py": 2,
    "ladder/test_ladder.py": 1,
    "ladder/test_worker.py": 2,
    "ladder/test_faults.py": 2,
    "ladder/test_lost_answers.py": 2,
    "ladder/store/test_runners.py": 1,
    "ladder/bots/test_similarity.py": 2,
    "ladder/bots/test_submissions.py": 1,
    "ladder/test_tables.py": 2,
    "tables/test_table.py": 3,
    "ladder/web/test_admin.py": 1,
    "ladder/web/test_gate.py": 1,
    "ladder/web/test_playground.py": 1,
    "local/test_local.py": 1,
    "playground/test_person_table.py": 3,
    "playground/test_trial.py": 1,
    "replay/test_page.py": 1,
    "review/test_person.py": 1,
    "review/test_review.py": 1,
    "run/test_worker.py": 1,
    "sandbox/bubblewrap/test_box.py": 3,
    "sandbox/docker/test_box.py": 1,
    "sandbox/docker/test_container.py": 1,
    "sandbox/linux/test_processes.py": 3,
    "sandbox/test_backends.py": 1,
    "sandbox/test_process.py": 2,
    "sandbox/test_program_files.py": 1,
    "sandbox/test_scratch.py": 2,
}
SLEEPS = {
    "checks/test_check.py": 4,
    "cli_workspace.py": 1,
    "dask.py": 1,
    "disk.py": 1,
    "ladder/test_faults.py": 1,
    "ladder/test_kills.py": 2,
    "tables/test_chat.py": 6,
    "tables/test_websocket.py": 1,
    "tables/test_table.py": 4,
    "ladder/web/ladder_server.py": 1,
    "ladder/web/test_course.py": 1,
    "local/test_local.py": 1,
    "red_team/stage.py": 1,
    "run/test_crashes.py": 3,
    "run/test_daemon.py": 1,
}
PROGRAMS = {"attacks", "bad_bots", "bench", "mistakes"}  # they run in a process of their own


def test_tests_patch_and_sleep_only_where_it_is_listed() -> None:
    patches, sleeps = Counter[str](), Counter[str]()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if PROGRAMS & set(path.parts):
            continue
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if re.search("setattr|sleep", text) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                counted = {"setattr": patches, "sleep": sleeps}.get(node.func.attr)
                if counted is not None:
                    counted[str(path.relative_to(ROOT / "tests"))] += 1
    assert patches <= Counter(PATCHES)
    assert sleeps <= Counter(SLEEPS)


def test_the_modules_and_tests_of_the_mutants_exist() -> None:
    """With a missing file pytest fails, which would count as a test that noticed the mutant."""
    assert all(mutants.expand(mutants.FILES[name]) for name in mutants.TESTS)
    assert all(mutants.expand(patterns, "tests/") for patterns in mutants.TESTS.values())
