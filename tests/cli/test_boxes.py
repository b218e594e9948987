"""`arena run` in each sandbox: its choice, limits, clocks, and resuming.

tests/sandbox and tests/red_team test what a sandbox blocks.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox import ISOLATING_SANDBOXES, SandboxChoice, find_strongest, make_sandbox, unavailable_reason
from tests.cli_workspace import ANSWER, Place, bot_text
from tests.disk import small_disk

Needs = Callable[[str, str | None], None]

TINY = ("--games", 4, "--match-games", 2, "--jobs", 1)
NO_DOCKER = "tcp://127.0.0.1:9"  # no server listens at "discard"

HUNGRY = bot_text("kept = [b'x' * (20 << 20), *(kept if n > 1 else ())]", ANSWER)


def config_of(place: Place, folder: str) -> dict[str, Any]:
    found = json.loads((place.folder / folder / "run.json").read_text())
    assert isinstance(found, dict)
    return found


# --- each sandbox -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolating", ISOLATING_SANDBOXES)
def test_the_same_seed_gives_the_same_results_in_every_sandbox(
    places: Callable[[], Place], needs: Needs, isolating: str
) -> None:
    needs(isolating, unavailable_reason(isolating))
    found = {}
    for name in ("process", isolating):
        place = places()
        ran = place.run(
            "run", *place.bots(3), *TINY, "--match-games", 3, "--seed", 3, "--sandbox", name, "--out", "out"
        )
        assert ran.code == 0, ran.err
        assert config_of(place, "out")["sandbox"] == {"name": name, "runtime": None, "image": None, "pass_env": []}
        assert place.run("verify", "out").code == 0
        found[name] = (place.folder / "out" / "results.jsonl").read_bytes()
        place.require_nothing_left()
    assert found["process"].count(b"\n") == 6  # games: whole rounds of three bots
    assert found[isolating] == found["process"]


@pytest.mark.parametrize(("name", "games"), [("bubblewrap", 12), ("docker", 24)])
def test_a_match_is_longer_by_default_where_a_start_costs_more(
    place: Place, needs: Needs, name: str, games: int
) -> None:
    """A start costs as much as 12 games as a process, 17 in bubblewrap, 40 in Docker."""
    needs(name, unavailable_reason(name))
    sandbox = "auto" if find_strongest()[0] == name else name
    flags = ("--games", 1, "--jobs", 1, "--sandbox", sandbox, "--out", "out")
    assert place.run("run", *place.bots(2), *flags).code == 0
    config = config_of(place, "out")
    assert (config["sandbox"]["name"], config["match_games"]) == (name, games)


@pytest.mark.parametrize("name", ISOLATING_SANDBOXES)
def test_a_bot_over_its_memory_limit_is_reported_with_it(place: Place, needs: Needs, name: str) -> None:
    needs(name, unavailable_reason(name))
    flags = ("--sandbox", name, "--memory-mb", 64, "--out", "out")
    ran = place.run("run", place.bot("hungry.py", HUNGRY), *place.bots(1), *TINY, *flags)
    assert ran.code == 0, ran.err
    assert "hungry: 4 faults (out_of_memory 4)" in ran.out
    assert "out of memory: 64 MB; killed by signal 9" in ran.out
    assert config_of(place, "out")["terms"]["limits"]["memory_mb"] == 64
    place.require_nothing_left()


@pytest.mark.parametrize("name", ISOLATING_SANDBOXES)
def test_a_stopped_run_leaves_nothing_and_resumes_in_its_sandbox(place: Place, needs: Needs, name: str) -> None:
    needs(name, unavailable_reason(name))
    flags = ("--games", 20, "--match-games", 2, "--jobs", 1, "--sandbox", name, "--out", "out")
    process = place.start("run", *place.bots(2), *flags)
    place.wait((place.folder / "out" / "records" / "000000.jsonl").exists, process=process)
    process.send_signal(signal.SIGINT)
    assert place.end(process).code == 130
    place.require_nothing_left()
    ran = place.run("run", "--resume", "out", "--json")
    assert ran.code == 0, ran.err
    assert f"sandbox: {name}: " in ran.err
    assert ran.json["games"] == 20
    place.require_nothing_left()


def test_a_run_that_is_killed_leaves_nothing_after_the_next_start(place: Place, bubblewrap: None) -> None:
    flags = ("--games", 10_000, "--match-games", 2, "--jobs", 2, "--sandbox", "bubblewrap", "--out", "playing")
    process = place.start("run", *place.bots(2), *flags)
    place.wait((place.folder / "playing" / "records" / "000000.jsonl").exists, process=process)
    process.kill()
    place.end(process)
    assert list(place.tmp.glob("arena-run-*")), "what the killed run left waits for the next start"
    assert place.run("run", *place.bots(2), *TINY, "--sandbox", "bubblewrap", "--out", "next").code == 0
    place.require_nothing_left()


# --- choice -----------------------------------------------------------------------------------------------------------


def test_auto_chooses_the_strongest_sandbox_and_describes_it(place: Place, tmp_path: Path) -> None:
    name, reasons = find_strongest()
    ran = place.run("run", *place.bots(2), *TINY, "--sandbox", "auto", "--out", "out")
    assert ran.code == 0, ran.err
    output = [line for line in ran.err.splitlines() if line.startswith("sandbox (auto): ")]
    assert len(output) == 1
    if name == "process":
        assert "no isolation" in output[0]
        assert "WARNING: bots can access your files" in ran.err
    else:
        sandbox = make_sandbox(SandboxChoice(name), tmp_path / "scratch")
        assert output[0] == f"sandbox (auto): {sandbox.note}"
        sandbox.close()
        assert "WARNING" not in ran.err
    assert ran.err.count("  not ") == len(reasons)
    assert config_of(place, "out")["sandbox"]["name"] == name, "never auto: --resume must not choose again"


def test_a_host_without_isolation_gets_a_warning(place: Place) -> None:
    """The run starts all the same, as the user asked for `auto`."""
    (place.folder / "bin").mkdir()  # a PATH without bwrap
    ran = place.run(
        "run", *place.bots(2), *TINY, "--sandbox", "auto", PATH=str(place.folder / "bin"), DOCKER_HOST=NO_DOCKER
    )
    assert ran.code == 0, ran.err
    lines = ran.err.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("sandbox (auto): process: "))
    assert "no isolation, only for bots that you trust" in lines[start]
    assert lines[start + 1].startswith("  bubblewrap doesn't work: ")
    assert lines[start + 2].startswith("  docker doesn't work: ")
    assert lines[start + 3].startswith("  WARNING: bots can access your files, each other and the network")


def test_a_limit_that_the_sandbox_cannot_enforce_is_refused(place: Place) -> None:
    ran = place.run("run", *place.bots(2), *TINY, "--sandbox", "process", "--tmp-mb", 1, "--out", "out")
    assert ran.code == 2
    assert ran.messages[-1].startswith("arena: the sandbox process can't enforce --tmp-mb here")
    assert not (place.folder / "out").exists()


def test_an_import_of_a_file_outside_of_the_box_is_reported(place: Place, bubblewrap: None) -> None:
    """A bot given as a single file has no other files in its box; a plain process finds its neighbours."""
    (place.folder / "brain.py").write_text("")
    honest = (Path(__file__).parents[1] / "plain" / "honest.py").read_text()
    bot = place.bot("thinking.py", honest.replace("import json", "import brain, json", 1))
    assert place.run("run", bot, *place.bots(1), *TINY, "--sandbox", "process").code == 0
    ran = place.run("run", bot, *place.bots(1), *TINY, "--sandbox", "bubblewrap")
    assert ran.code == 2
    assert "thinking can't play: brain.py lies next to the bot" in ran.err
    assert "put both into a folder with a bot.toml, and name the folder" in ran.err


def test_a_check_in_a_box_ends_soon_for_a_bot_that_idles(place: Place, bubblewrap: None) -> None:
    """The time to start is 10 s; a plain process has all of it, because it may wait for the network."""
    bot = place.bot("bot.py", "import time\ntime.sleep(60)\n")
    ran = place.run("check", bot, "--quick", "--rules", "coup", "--sandbox", "bubblewrap")
    assert ran.code == 1
    assert "no hello within" in ran.out
    assert "no hello within 10000 ms" not in ran.out
    assert "answer the first line, the hello" in ran.out


@pytest.mark.parametrize("name", ISOLATING_SANDBOXES)
def test_a_sandbox_that_was_asked_for_is_never_replaced(place: Place, name: str) -> None:
    (place.folder / "bin").mkdir()
    environment = {"PATH": str(place.folder / "bin"), "DOCKER_HOST": NO_DOCKER}
    ran = place.run("run", *place.bots(2), *TINY, "--sandbox", name, "--out", "out", **environment)
    assert ran.code == 2
    assert ran.messages[0].startswith(f"arena: the sandbox {name} doesn't work here: ")
    assert ran.messages[1] == "Run arena doctor, or choose another --sandbox."
    assert not (place.folder / "out").exists()
    place.require_nothing_left()


def test_a_run_is_not_resumed_in_another_sandbox(place: Place, docker: None) -> None:
    assert place.run("run", *place.bots(2), *TINY, "--sandbox", "docker", "--out", "out").code == 0
    (place.folder / "out" / "records" / "000001.jsonl").unlink()
    ran = place.run("run", "--resume", "out", DOCKER_HOST=NO_DOCKER)
    assert ran.code == 2
    assert ran.messages[0].startswith("arena: the sandbox docker doesn't work here: ")
    assert place.run("run", "--resume", "out").code == 0


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [("--docker-image", "no/such-image"), ("--docker-runtime", "no-such-runtime")])
def test_an_unknown_image_or_runtime_is_one_clear_message(place: Place, docker: None, flags: tuple[str, str]) -> None:
    ran = place.run("run", *place.bots(2), *TINY, "--sandbox", "docker", *flags, "--out", "out")
    assert (ran.code, flags[1] in ran.messages[0], len(ran.messages) <= 2) == (2, True, True), ran.err
    assert not (place.folder / "out").exists()


def test_flags_win_over_the_ruleset_and_that_over_the_defaults(place: Place) -> None:
    limits = "memory_mb = 300\nprocesses = 50\ncores = 2\nbank_ms = 0\nstart_ms = 7000\n"
    place.bot("my.toml", f'base = "duel"\n\n[limits]\n{limits}')
    flags = ("--rules", "my.toml", "--memory-mb", 400, "--open-files", 99, "--start-ms", 8000, "--out", "out")
    assert place.run("run", *place.bots(2), *TINY, *flags).code == 0
    settings = config_of(place, "out")["terms"]
    times = [settings["timing"][field] for field in ("limit_ms", "bank_ms", "start_ms")]
    assert times == [500, 0, 8000]
    assert settings["limits"] == {
        "memory_mb": 400,
        "processes": 50,
        "cpu_s": 1200,
        "cores": 2.0,
        "file_size_mb": 64,
        "tmp_mb": 16,
        "open_files": 99,
        "output_kb": 1024,
    }
    shown = place.call("rules", "my.toml").out.splitlines()[-1]
    assert shown == "Limits of each bot: memory_mb = 300, processes = 50, cores = 2, bank_ms = 0, start_ms = 7000"


# --- clocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "own", "ponder", "said"),
    [
        (("--ponder",), None, True, "clock: "),
        (("--clock", "wall", "--ponder"), False, True, "clock: wall time; bots can compute in others' turns"),
        (("--clock", "own"), True, False, "clock: own time of bots (without delays of the host); "),
    ],
)
def test_the_clock_is_the_sandboxs_unless_another_is_requested(
    place: Place, tmp_path: Path, flags: tuple[str, ...], own: bool | None, ponder: bool, said: str
) -> None:
    """run.json stores the clock that `auto` found, so that --resume keeps it."""
    ran = place.run("run", *place.bots(2), "--games", 2, "--match-games", 2, *flags, "--out", "out")
    assert ran.code == 0, ran.err
    (output,) = [line for line in ran.err.splitlines() if line.startswith("clock: ")]
    assert output.startswith(said)
    timing = config_of(place, "out")["terms"]["timing"]
    supported = make_sandbox(SandboxChoice("process"), tmp_path / "scratch").reports_wait_time
    assert timing["own"] == (supported if own is None else own)
    assert timing["ponder"] == ponder


# --- a full disk ------------------------------------------------------------------------------------------------------


@pytest.fixture
def tiny_disk(tmp_path: Path, needs: Needs) -> Iterator[Path]:
    with small_disk(tmp_path / "tiny", needs, "exec,size=512k") as folder:
        yield folder


def fill(disk: Path, but: int = 8 << 10) -> None:
    """Leave this many bytes free: by default a file or two, without which Python uses another temporary folder."""
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(free.f_bavail * free.f_bsize - but))


@pytest.mark.parametrize("name", ["process", "bubblewrap"])
def test_a_sandbox_that_keeps_no_files_plays_on_a_full_disk(
    place: Place, needs: Needs, tiny_disk: Path, name: str
) -> None:
    """Plain processes and bubblewrap make only folders and links below the temporary folder."""
    needs(name, unavailable_reason(name))
    fill(tiny_disk)
    ran = place.run("run", *place.bots(2), *TINY, "--sandbox", name, "--out", "out", TMPDIR=str(tiny_disk))
    assert ran.code == 0, ran.err
    assert [path.name for path in tiny_disk.iterdir()] == ["filler"]


def test_a_full_disk_under_the_temporary_folder_is_one_clear_message(
    place: Place, docker: None, tiny_disk: Path
) -> None:
    fill(tiny_disk)
    ran = place.run("run", *place.bots(2), *TINY, "--sandbox", "docker", "--out", "out", TMPDIR=str(tiny_disk))
    assert ran.code == 1
    assert ran.messages[0] == f"arena: no space for temporary files in {tiny_disk}: free some, or set TMPDIR"
    assert len(ran.messages) == 2
