"""Write trained networks as the weights of the sample bot learner: python -m training.export FOLDER ..."""

import json
import zlib
from pathlib import Path

import click
import numpy as np

from arena.samples import sample_folder
from protocol.kits import coup_env
from training.inputs import Inputs
from training.network import Array, Network


def export(path: Path, trained: list[tuple[Inputs, Network]]) -> None:
    """Write a file: a line of JSON, then each network's layers as 16-bit floats, compressed by zlib.

    The rows of a first layer are the numbers of an observation at the largest table, unscaled. The value is left out.
    """
    heads, parts = [], []
    for inputs, network in trained:
        most, actions = max(inputs.seats), len(inputs.words)
        layers: list[tuple[Array, Array]] = [*network.layers]
        first = np.zeros((coup_env.size(most), network.sizes[1]), np.float32)
        first[inputs.columns[most]] = layers[0][0][inputs.places[most]] * inputs.scales[most][:, None]
        layers[0] = first, layers[0][1]
        layers[-1] = layers[-1][0][:, :actions], layers[-1][1][:actions]
        heads.append({"seats": inputs.seats, "sizes": [len(first), *(len(bias) for _, bias in layers)]})
        parts += [part.astype("<f2").tobytes() for layer in layers for part in layer]
    head = json.dumps({"encoding": coup_env.ENCODING, "networks": heads}).encode()
    path.write_bytes(zlib.compress(b"\n".join((head, b"".join(parts))), 9))


SHARPNESS = 6  # factor of the scores above two seats, where an unlikely move costs more than being predictable


@click.command()
@click.argument("folders", type=click.Path(path_type=Path), nargs=-1, required=True)
def main(folders: tuple[Path, ...]) -> None:
    """Export the networks in the FOLDERS of trainings."""
    trained = []
    for folder in folders:
        with np.load(folder / "state.npz") as state:
            inputs = Inputs(tuple(state["seats"].tolist()))
            network = Network((inputs.size, *state["hidden"].tolist(), len(inputs.words) + 1))
            network.weights[:] = state["weights"]
        if max(inputs.seats) > 2:
            for part in network.layers[-1]:
                part *= SHARPNESS
        trained.append((inputs, network))
    export(sample_folder() / "learner/weights.z", trained)


if __name__ == "__main__":
    main()
