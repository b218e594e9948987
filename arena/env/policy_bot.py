"""Export a trained policy as the folder of a bot: a program, the kit, the encoder and the weights."""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from arena.env.batches import batch
from arena.env.environments import BaseEnv
from protocol.kits import coup_env

_BOT = '''"""Plays by a policy that was trained in arena.env, which is in weights.json."""

from pathlib import Path

from coup_env import Player
from coup_kit import Bot, run


class Trained(Bot):
    """At a table for which the policy was not trained, the kit plays: your methods, else safe moves."""

    def __init__(self):
        self.trained = Player(Path(__file__).with_name("weights.json"))

    def reply(self, message):
        answer = super().reply(message)
        choice = self.trained.choice(message)
        return answer if choice is None else {**answer, "choice": choice}


if __name__ == "__main__":
    run(Trained())
'''
_MANIFEST = 'kit = "python"\nrun = ["python3", "bot.py"]\n'


def save_bot(
    folder: str | Path,
    game: BaseEnv | batch,
    layers: Iterable[tuple[Any, Any]],
    activation: Literal["tanh", "relu", "none"] = "tanh",
    choice: Literal["best", "drawn"] = "best",
) -> Path:
    """Write a bot that plays by a network of dense layers, from observations of `game` to actions; return its folder.

    layers: (weights, biases) of each layer as arrays; weights have a row for each output, as in torch. activation:
    between layers. choice: the legal action of the highest score ("best"), or drawn by the softmax of the scores. An
    existing bot.py or bot.toml isn't changed. Raises ValueError for layers of wrong shapes, numbers that aren't
    finite or an unknown option, OSError if a file can't be written.
    """
    arrays = [(np.asarray(weights, np.float32), np.asarray(bias, np.float32)) for weights, bias in layers]
    _require_valid_layers(arrays, coup_env.size(len(game.possible_agents)), len(game.action_words))
    if activation not in coup_env.ACTIVATIONS:
        raise ValueError(f"activation {activation!r} isn't one of {', '.join(coup_env.ACTIVATIONS)}")
    if choice not in ("best", "drawn"):
        raise ValueError(f"choice {choice!r} isn't one of best, drawn")
    policy = {
        "encoding": coup_env.ENCODING,
        "actions": game.action_words,
        "activation": activation,
        "choice": choice,
        "layers": [
            {"weights": [*map(_shortest_floats, weights)], "bias": _shortest_floats(bias)} for weights, bias in arrays
        ],
    }
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    _write_bot_files(path, json.dumps(policy, separators=(",", ":")))
    return path


def _require_valid_layers(layers: Sequence[tuple[NDArray[Any], NDArray[Any]]], inputs: int, outputs: int) -> None:
    """Raise ValueError for layers that don't lead from `inputs` numbers to `outputs`, or have a nan or infinity."""
    sizes = [inputs, *(bias.size for _, bias in layers)]
    shapes = [weights.shape for weights, _ in layers]
    has_flat_biases = all(bias.ndim == 1 for _, bias in layers)
    is_chain = shapes == [*zip(sizes[1:], sizes, strict=False)] and sizes[-1] == outputs
    if not has_flat_biases or not is_chain:
        raise ValueError(
            f"the layers' weights have the shapes {shapes}; they must lead from {inputs} numbers to {outputs} actions, "
            "with a row for each output"
        )
    if not all(np.isfinite(numbers).all() for layer in layers for numbers in layer):
        raise ValueError("a weight or a bias is nan or infinite")


def _write_bot_files(folder: Path, weights: str) -> None:
    """Write the weights and the modules that read them, and bot.py and bot.toml if they don't exist."""
    (folder / "weights.json").write_text(weights, encoding="utf-8")
    for name in ("coup_env.py", "coup_kit.py"):
        shutil.copyfile(Path(coup_env.__file__).with_name(name), folder / name)
    for name, text in (("bot.py", _BOT), ("bot.toml", _MANIFEST)):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")


def _shortest_floats(values: Any) -> list[float]:
    """Return 32-bit floats as the shortest decimals that are read as the same 32-bit floats."""
    return [float(str(value)) for value in values]
