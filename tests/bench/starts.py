"""Measure the start of a bot, by box and language: the starters of sample_bots, built as `arena run` builds them."""

import os
import shutil
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from arena.bots import KITS, LANGUAGES, Bot, BotError, BytecodeCache, build_all, build_in_box, load_bots, new_bot
from arena.referee import hello
from arena.sandbox import Sandbox, SandboxChoice, SandboxError, make_sandbox, programs_of
from tests.bench.figures import SEATS, cpu_s, spec, start_match

PLAIN = "honest.py"  # of tests/plain: a bot without a kit, as a plain file
NAMES = ("cpp", "rust", "go", "java", "javascript", "python", PLAIN)
BUILD_S = 300


@dataclass(frozen=True)
class Start:
    """CPU ms and wall ms of a bot that is started, greeted, ended and removed; or why there is none."""

    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    problem: str | None = None


def fork_and_exec(times: int = 200) -> Start:
    """Measure the program `true`, started and awaited."""
    path = shutil.which("true") or "/bin/true"
    cpu, wall = sum(cpu_s()), time.perf_counter()
    for _ in range(times):
        os.waitpid(os.posix_spawn(path, [path], os.environ), 0)
    return Start(1000 * (sum(cpu_s()) - cpu) / times, 1000 * (time.perf_counter() - wall) / times)


def start(name: str, language: str, matches: int) -> Start:
    """Measure four starts in a sandbox, several times. CPU time in containers isn't this process's children's."""
    needs = LANGUAGES[language].needs if language in KITS and name != "docker" else ()
    if missing := [program for program in needs if shutil.which(program) is None]:
        return Start(problem=f"there is no {missing[0]}")
    try:
        return _start(name, language, matches)
    except (BotError, SandboxError, TimeoutError) as problem:
        return Start(problem=str(problem).splitlines()[0])


def _start(name: str, language: str, matches: int) -> Start:
    match = spec(SEATS, SEATS)
    hellos = [hello(match, number) for number in range(SEATS)]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "boxes")
        scratch.mkdir()
        with closing(make_sandbox(SandboxChoice(name), scratch)) as sandbox:
            bot = _built(Path(folder), sandbox, language)
            started = BytecodeCache().program(bot, SandboxChoice(name), sandbox)  # as a worker does
        for number in range(-1, matches):
            if number == 0:  # setup that is done once
                cpu, wall = sum(cpu_s()), time.perf_counter()
            with closing(make_sandbox(SandboxChoice(name), scratch)) as sandbox:
                start_match(sandbox, [started] * SEATS, hellos)
        each = 1000 / (matches * SEATS)
        return Start((sum(cpu_s()) - cpu) * each, (time.perf_counter() - wall) * each)


def _built(folder: Path, sandbox: Sandbox, language: str) -> Bot:
    programs = programs_of(sandbox.name)
    path = Path(__file__).parents[1] / "plain" / language
    if language in KITS:
        path = folder / language
        new_bot(path, language)
    bots, _ = load_bots([str(path)], programs)
    into, logs = folder / f"{language}.bots", folder / f"{language}.logs"
    if sandbox.name == "process":
        (bot,) = build_all(bots, logs, BUILD_S)
    else:
        (bot,) = build_in_box(bots, sandbox, programs, into, logs, BUILD_S)
    return bot
