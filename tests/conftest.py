"""Shared fixtures: places, and `needs`.

Tests are skipped only by `needs`, as a fixture or as a marker. Four more markers select tests. `clock` is set by hand
on tests that fail on a busy machine: they run alone. `boxes` is set here on tests with a fixture or a parameter that is
named after an isolating sandbox, and by hand on others that need one; `needs` refuses to check for such a sandbox in a
test without the marker. `long` is set here on the tests that match LONG. `soak` is set by hand on repetitions, which
`make soak` alone runs; ARENA_SOAK, which it sets, makes some other tests play more.
"""

import ctypes
import gc
import itertools
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from arena import is_compiled_stale
from arena.sandbox import ISOLATING_SANDBOXES, PR_SET_CHILD_SUBREAPER, become_subreaper, unavailable_reason
from tests.chromium import Reader, chromium, chromium_problem
from tests.cli_workspace import Place
from tests.disk import small_disk
from tests.postgres import Postgres, postgres, postgres_problem
from tests.sandbox.talk import remember_children

# The time of an example depends on the load of the machine.
settings.register_profile("arena", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("arena")

if is_compiled_stale():
    pytest.exit("the compiled modules are older than their sources: run make compiled", returncode=2)

NO_NODE = None if shutil.which("node") else "it isn't installed"

# Tests that run in one process of pytest-xdist, in order, by what their ids match. Without long tests, those of a file
# do, too: it makes its fixtures and caches once. The others run anywhere. The groups begin first, in this order: else
# one process would work alone at the end.
TOGETHER = (
    # A box and its probes are made once for each tier.
    re.compile(r"red_team/test_attacks\.py::.*-(bubblewrap|docker)-"),
    # Plain programs that attack are one user's, and one of them kills all that this user has.
    re.compile(r"red_team/test_(?:attacks|channels)()\.py"),
    # One browser serves all tests of a module.
    re.compile(
        r"((?:replay|web)/test_browser|compare/test_html_report|tables/test_(?:local|page)"
        r"|test_(?:course|play_tab|projector|puzzle|site))"
        r"\.py::"
    ),
    # They stop and kill an engine of their own.
    re.compile(r"docker/test_box\.py::test_(a_daemon)_that"),
    # Their tests share runs, ladders or servers, which each process would make again.
    re.compile(
        r"(cli/test_(?:bad_input|check|compare|feed|review|submit)|run/test_crashes|web/test_(?:similar|tables)"
        r"|replay/test_(?:frame|modules)|study/test_study)\.py::"
    ),
    # They share a cluster of Dask.
    re.compile(r"workers/test_cluster\.py::test_(?:calls_run|equal|the_scheduler)()"),
    # A language's bots are compiled once.
    re.compile(r"kits/test_(?:kits|odds|json)\.py::\w+\[(\w+)\]"),
    # A copy of the code is made once, and a browser is slow with Python in it.
    re.compile(r"(test_upgrade|test_write_tab)\.py::"),
    # The longest of those that run alone.
    re.compile(r"(test_docs_run\.py::.+|sample_bots/test_starters\.py::.+|run/test_daemon\.py::.+)"),
)

# Files for `make test-all`.
LONG = re.compile(
    # Runners, workers, servers, clusters and disks fail at random moments.
    r"ladder/test_(kills|kills_on_dask|faults)\.py"
    r"|ladder/web/test_(tables_faults|faults|table_session|serve|uploads)\.py"
    r"|workers/test_cluster\.py|run/test_(crashes|full_disk|sweep)\.py"
    # Every language's compiler builds, every sample bot plays every preset.
    r"|sample_bots/test_(starters|presets)\.py|kits/test_(starters|lint)\.py|env/test_policy_bot\.py|kits/test_coup_env\.py"
    # Whole uses of commands and pages, whose parts have tests of their own.
    r"|cli/test_(answers|bad_input|boxes|check|compare|feed|play|review|submit)\.py|review/test_review\.py"
    r"|test_(docs_run|site)\.py|models/test_matches\.py|study/test_study\.py|run/test_work_item\.py|ladder/test_table_server\.py"
    r"|ladder/test_worker\.py|ladder/test_readme\.py|ladder/test_table_talk\.py"
    r"|ladder/web/test_(similar|static_export|submissions|tables)\.py"
    # An older ladder is upgraded by a copy of the code.
    r"|compatibility/test_upgrade\.py"
    # Bots of the benchmarks play, and a search finds what beats samples.
    r"|bench/test_bench\.py"
)
# Long tests of other files.
LONG_ALONE = re.compile(
    r"kits/test_(?:kits|odds|json|methods)\.py::\w+\[(?:java|cpp|rust|go)\]"
    r"|bots/test_submission_conversion\.py::test_a_submission_over_the_limits"
    r"|sandbox/test_child_process\.py::test_programs_start_while|sandbox/test_contract\.py::test_many_boxes"
    r"|replay/test_steps\.py::test_a_replay_for_some_bots.*viewers[01]|checks/test_host_check\.py::test_a_hanging"
    r"|checks/test_check\.py::test_waiting_for_a_core"
    r"|ladder/grading/test_finals\.py::test_a_final_by_commands|ladder/grading/test_releases\.py::test_another_processor"
    r"|ladder/test_operation\.py::test_a_(?:runner|second)|ladder/web/test_openid\.py::test_an_old_response"
    r"|ladder/test_runner\.py::test_a_cluster|ladder/standings/test_standings\.py::test_collusion_is_found"
    r"|oracle/test_side_by_side\.py::.*\[[0-5]\]|local/test_local\.py::test_a_sweep_pairs"
    r"|exploit/test_exploit\.py::test_a_bluff|playground/test_trial\.py::test_a_version_is_compared"
    r"|run/test_preflight\.py::test_(?:all_bots|skipped|a_run_of|a_silent|an_interrupted)|referee/test_leaks\.py::test_processes_leave"
    r"|run/test_config\.py::test_stretching_a_seed|coup/test_knowledge\.py::test_at_four"
    r"|cli/test_completion\.py::test_(?:samples|zsh)|cli/test_run\.py::test_(?:names_with_markup|tables_go_to_stdout)"
)
# Fixtures and parameters by which a test starts a program that takes seconds to start.
SERVED = {"browser", "built_playground", "postgres_server", "postgresql", "dask"}

DATABASES = itertools.count()

# Threads of OpenBLAS wait actively, which would slow the tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell ignores Ctrl-C for background processes, and processes of the tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it

# Collected tests stay: searching them for garbage takes a fifth of the time.
gc.disable()

RUNNING = pytest.StashKey[pytest.Item]()

# A file of the ids of tests that earlier runs collected, and of those that passed. These aren't run again, and a file
# without another test isn't imported. This run adds its own.
LEDGER = os.environ.get("ARENA_PASSED")
NOTED = set(Path(LEDGER).read_text("utf-8").splitlines()) if LEDGER and Path(LEDGER).exists() else set()
FOUND = {line.removeprefix("collected ") for line in NOTED if line.startswith("collected ")}
PASSED = NOTED & FOUND
DONE = {nodeid.partition("::")[0] for nodeid in FOUND} - {nodeid.partition("::")[0] for nodeid in FOUND - PASSED}


def note(lines: Iterable[str]) -> None:
    if LEDGER:
        with open(LEDGER, "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a passed test to the ledger. With pytest-xdist the process that collects all reports does so."""
    if report.when == "call" and report.passed and "PYTEST_XDIST_WORKER" not in os.environ:
        note([report.nodeid])


def find_group(nodeid: str) -> tuple[int, str]:
    """Return the place of a test in TOGETHER and the name of its group; the length of TOGETHER and "" without one."""
    matches = ((place, pattern.search(nodeid)) for place, pattern in enumerate(TOGETHER))
    return next(((place, f"{place} {match[1]}") for place, match in matches if match), (len(TOGETHER), ""))


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort groups first; mark long tests, those with a parameter for an isolating sandbox, and bots in JavaScript."""
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
        note(f"collected {item.nodeid}" for item in items)
    items[:] = [item for item in items if item.nodeid not in PASSED]
    items.sort(key=lambda item: find_group(item.nodeid)[0])
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        named = {*getattr(item, "fixturenames", ()), *(str(value) for value in parameters)}
        is_named = LONG.search(item.nodeid) or LONG_ALONE.search(item.nodeid)
        if is_named or named & SERVED or item.get_closest_marker("soak"):
            item.add_marker("long")
        if named & set(ISOLATING_SANDBOXES):
            item.add_marker("boxes")
        if any(name.endswith(".js") for name in named):
            item.add_marker(pytest.mark.needs("node", NO_NODE))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip a file of no tests to run, by the ledger or by -m as in the Makefile: importing takes seconds."""
    is_left_out = "not long" in config.option.markexpr and LONG.search(str(collection_path))
    return True if is_left_out or os.path.relpath(collection_path, config.rootpath) in DONE else None


def pytest_collection_finish() -> None:
    """Collect garbage again, from now on only that of tests, and as seldom as the command `arena`."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run tests in any free process, but those of one pattern in TOGETHER, or of one file, in one.

    xdist_group, which is made for this, has no effect with pytest 9: xdist 3.8 changes ids that are no longer read.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            rest = nodeid.partition("::")[0] if "not long" in config.option.markexpr else nodeid
            return find_group(nodeid)[1] or rest

    return Together(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Save the test for `needs`, and skip it if a marker says so."""
    item.config.stash[RUNNING] = item
    for marker in item.iter_markers("needs"):
        require(*marker.args)


def require(what: str, problem: str | None) -> None:
    """Skip the running test, or fail it if ARENA_REQUIRE lists the requirement; do nothing if `problem` is None."""
    if problem is None:
        return
    if what in os.environ.get("ARENA_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required here (ARENA_REQUIRE), but: {problem}")
    raise pytest.skip.Exception(f"{what}: {problem}", _use_item_location=True)  # reports name the test, not this line


@pytest.fixture(autouse=True)
def reset_subreaper() -> Iterator[None]:
    """Stop being a child subreaper after each test, which starting a box in this process makes of it.

    Otherwise it would adopt, and never reap, the orphans of every arena that a later test kills. The children before a
    test are those that tests share (`tests.sandbox.talk`).
    """
    remember_children()
    yield
    if become_subreaper.cache_info().currsize:
        become_subreaper.cache_clear()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    require("postgresql", postgres_problem())
    with postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> str:
    return postgres_server.create(f"test{next(DATABASES)}")


@pytest.fixture(scope="module")  # for longer it would keep its event loop from other tests
def shared_browser() -> Iterator[Reader]:
    require("chromium", chromium_problem())
    with chromium() as reader:
        yield reader


@pytest.fixture
def browser(shared_browser: Reader) -> Iterator[Reader]:
    """Yield the browser of the module; its new contexts end with the test: their pages take time."""
    yield shared_browser
    shared_browser.close()


@pytest.fixture(scope="module")
def axe() -> Callable[..., list[str]]:
    """Return a function that lists axe-core's findings in a page, by all its rules or by options of axe.run."""
    from axe_playwright_python.sync_playwright import Axe

    script = Axe().axe_script
    findings = """options => axe.run({ resultTypes: ["violations"], ...options }).then(({ violations }) =>
        violations.map(({ impact, id, nodes }) => `${impact}: ${id}: ${nodes[0].html.slice(0, 200)}`))"""

    def run(page: Any, **options: Any) -> list[str]:
        if page.evaluate("typeof axe") == "undefined":  # compiling it again would take a third of the time
            page.evaluate(script)
        return list(page.evaluate(findings, options))

    return run


@pytest.fixture
def reader(browser: Reader) -> Iterator[Reader]:
    """Yield an opener of pages; at the end of the test, no page may have used the network or logged an error."""
    yield browser
    browser.check()


@pytest.fixture(scope="session")
def needs(pytestconfig: pytest.Config) -> Callable[[str, str | None], None]:
    """Return `needs(what, problem)`: skip the test, with the reason shown, where the host lacks a requirement.

    `problem` is None where the host has it. ARENA_REQUIRE lists, with commas, the requirements without which a test
    fails: .ci/run sets it to all of them.
    """

    def check(what: str, problem: str | None) -> None:
        if what in ISOLATING_SANDBOXES:
            marked = pytestconfig.stash[RUNNING].get_closest_marker("boxes")
            assert marked, f"a test that needs {what} is marked: @pytest.mark.boxes"
        require(what, problem)

    return check


@pytest.fixture(scope="session")
def bubblewrap(needs: Callable[[str, str | None], None]) -> None:
    needs("bubblewrap", unavailable_reason("bubblewrap"))


@pytest.fixture(scope="session")
def docker(needs: Callable[[str, str | None], None]) -> None:
    needs("docker", unavailable_reason("docker"))


@pytest.fixture
def modes_count() -> Iterator[None]:
    """Apply the modes of files to this process during the test, also if it is root's. Source: capabilities(7)."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable; then the same for capabilities from 32 on
    assert libc.capget(header, sets) == 0
    had = sets[0]
    sets[0] = had & ~(1 << 1 | 1 << 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, sets) == 0
    yield
    sets[0] = had
    assert libc.capset(header, sets) == 0


@pytest.fixture(name="small_disk")
def small_disk_in_the_place(tmp_path: Path, needs: Callable[[str, str | None], None]) -> Iterator[Path]:
    """Yield a small file system, which `tests.disk.fill` fills."""
    with small_disk(tmp_path / "small", needs) as folder:
        yield folder


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Yield a user's folder, and kill afterwards what a failed test left running."""
    place = Place(tmp_path)
    yield place
    place.close()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Place]]:
    """Yield a maker of users' folders that stay for all tests of a module."""
    made: list[Place] = []

    def make() -> Place:
        made.append(Place(tmp_path_factory.mktemp("place")))
        return made[-1]

    yield make
    for place in made:
        place.close()
