"""Record decisions of sample bots, strategist_cpp first, which networks imitate: they teach, and are opponents."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from arena.local import play, sample
from arena.samples import sample_folder
from protocol.kits.coup_env import Encoder
from training.inputs import Inputs
from training.network import Array, Network

TEACHER = "strategist_cpp"
IMITATED = (TEACHER, "opportunist", "bluffer", "counter", "challenger")
_SOURCE = sample_folder() / TEACHER
_LEARNER: Any = sample("sample:learner")


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


class NetworkBot(_LEARNER):  # type: ignore[misc]
    """The sample bot learner with a network in numpy."""

    def __init__(self, inputs: Inputs, network: Network) -> None:
        super().__init__()
        self.inputs, self.network = inputs, network

    def scores(self, observation: Any, actions: Any) -> list[float]:
        """Return the network's score of each action."""
        assert self.encoder is not None
        seats = self.encoder.seats
        outputs = self.network.forward(self.inputs.encode(seats, np.array([observation])))[-1][0]
        scores: list[float] = outputs[self.inputs.actions[seats][list(actions)]].tolist()
        return scores


def build_teacher(folder: Path) -> Path:
    """Compile strategist_cpp in a folder; return the program."""
    program = folder / "strategist"
    if not program.exists():
        kits = Path(__file__).parents[1] / "protocol/kits"
        command: list[str | Path] = ["g++", "-std=c++17", "-O2", "-I", kits, "-o", program, _SOURCE / "bot.cpp"]
        subprocess.run(command, check=True)
    return program


def record(bots: dict[str, Any], seats: int, games: int, seed: int) -> dict[str, dict[str, Array]]:
    """Return the decisions of each bot in these games: `observations`, int16, `masks`, int8, and `actions`, a row each.

    The part of a name before a "-" is the bot's.
    """
    decisions: dict[str, list[tuple[bytes, bytes, int]]] = {name.partition("-")[0]: [] for name in bots}

    def watch(name: str) -> Callable[[], Recorder]:
        return lambda: Recorder(bots[name](), decisions[name.partition("-")[0]])

    play({name: watch(name) for name in bots}, games, seats=seats, seed=seed)
    arrays_by_bot: dict[str, dict[str, Array]] = {}
    for name, rows in decisions.items():
        observations, masks, actions = zip(*rows, strict=True)
        arrays_by_bot[name] = {
            "observations": np.stack([np.frombuffer(array, np.int16) for array in observations]),
            "masks": np.stack([np.frombuffer(array, np.int8) for array in masks]),
            "actions": np.array(actions, np.int64),
        }
    return arrays_by_bot


def save(folder: Path, seats: int, games: int, seed: int, learner: Callable[[], Any] | None) -> None:
    """Record the teacher twice, the other bots, `honest` and the learner at random tables.

    An existing file is kept, so that an interrupted recording continues.
    """
    path = folder / f"{TEACHER}-{seats}-{seed}.npz"
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    program = build_teacher(folder)
    bots: dict[str, Any] = {name: sample(f"sample:{name}") for name in (*IMITATED[1:], "honest")}
    bots |= {f"{TEACHER}-{at}": lambda: Piped(program) for at in range(2)}
    if learner is not None:
        bots |= {f"learner-{at}": learner for at in range(2)}
    for name, arrays in sorted(record(bots, seats, games, seed).items(), key=lambda pair: pair[0] == TEACHER):
        half = folder / "half.npz"
        np.savez_compressed(half, **arrays)  # type: ignore[arg-type]
        half.replace(folder / f"{name}-{seats}-{seed}.npz")


def load(folder: Path, name: str, seats: int) -> dict[str, Array]:
    """Return all recorded decisions of a bot at tables of this size."""
    files = [np.load(path) for path in sorted(folder.glob(f"{name}-{seats}-*.npz"))]
    return {name: np.concatenate([file[name] for file in files]) for name in ("observations", "masks", "actions")}
