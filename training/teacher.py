"""Record decisions of the sample bot strategist_cpp, which a network imitates before it learns by self-play."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from arena.local import play
from arena.samples import sample_folder
from protocol.kits.coup_env import Encoder
from training.network import Array

COMPANY = ("opportunist", "honest", "bluffer", "counter", "challenger")  # the teacher plays against them
_SOURCE = sample_folder() / "strategist_cpp"


class Piped:
    """A bot in a process of its own. It has all permissions of this one."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def reply(self, message: dict[str, Any]) -> Any:
        """Return the bot's reply, None if the message needs none."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline()) if message["type"] in ("hello", "request") else None

    def __del__(self) -> None:
        self._process.communicate()


class Recorder:
    """Plays as a bot and appends each real decision, encoded, to `decisions`: (observation, mask, action)."""

    def __init__(self, bot: Any, decisions: list[tuple[bytes, bytes, int]]) -> None:
        self._bot, self._decisions = bot, decisions
        self._encoder: Encoder | None = None

    def reply(self, message: dict[str, Any]) -> Any:
        """Return the bot's reply."""
        answer = self._bot.reply(message)
        if message["type"] == "hello":
            self._encoder = Encoder(message)
        if self._encoder is not None and self._encoder.take(message) and len(message["legal"]) > 1:
            place = answer["choice"] if "choice" in answer else message["legal"].index(answer["move"])
            action = self._encoder.actions[place]
            assert action is not None
            self._decisions.append((self._encoder.observation.tobytes(), bytes(self._encoder.mask), action))
        return answer


def build_teacher(folder: Path) -> Path:
    """Compile strategist_cpp in a folder; return the program."""
    program = folder / "strategist"
    if not program.exists():
        kits = Path(__file__).parents[1] / "protocol/kits"
        command: list[str | Path] = ["g++", "-std=c++17", "-O2", "-I", kits, "-o", program, _SOURCE / "bot.cpp"]
        subprocess.run(command, check=True)
    return program


def record(
    teacher: Callable[[], Any], seats: int, games: int, seed: int, company: dict[str, Any] | None = None
) -> dict[str, Array]:
    """Return the teacher's decisions in these games: `observations`, int16, `masks`, int8, and `actions`, a row each.

    Two or more seats at most tables are the teacher's. `company`: the other bots, by name; None for sample bots.
    """
    decisions: list[tuple[bytes, bytes, int]] = []
    company = {name: f"sample:{name}" for name in COMPANY} if company is None else company
    bots = {f"teacher-{at}": lambda: Recorder(teacher(), decisions) for at in range(max(2, len(company)))}
    play({**bots, **company}, games, seats=seats, seed=seed)
    observations, masks, actions = zip(*decisions, strict=True)
    return {
        "observations": np.stack([np.frombuffer(each, np.int16) for each in observations]),
        "masks": np.stack([np.frombuffer(each, np.int8) for each in masks]),
        "actions": np.array(actions, np.int64),
    }


def save(folder: Path, seats: int, games: int, seed: int) -> None:
    """Record once: an existing file is kept, so that an interrupted recording continues."""
    path = folder / f"teacher-{seats}-{seed}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        program, half = build_teacher(folder), path.with_suffix(".part")
        with half.open("wb") as file:
            np.savez_compressed(file, **record(lambda: Piped(program), seats, games, seed))  # type: ignore[arg-type]
        half.replace(path)


def load(folder: Path, seats: int) -> dict[str, Array]:
    """Return all recorded decisions at tables of this size."""
    files = [np.load(path) for path in sorted(folder.glob(f"teacher-{seats}-*.npz"))]
    return {name: np.concatenate([file[name] for file in files]) for name in ("observations", "masks", "actions")}
