"""A network of dense layers in numpy, with its gradient and the optimizer Adam."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Network:
    """Dense layers with ReLU between them. All weights are views of one vector, `weights`, float32."""

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator | None = None) -> None:
        """Draw weights for ReLU; the last layer's are a hundredth of that, so that all actions begin equal."""
        self.sizes = tuple(sizes)
        pairs = [*pairwise(sizes)]
        self.weights: Array = np.zeros(sum((rows + 1) * columns for rows, columns in pairs), np.float32)
        self.layers: list[tuple[Array, Array]] = []  # (inputs, outputs) and (outputs,)
        place = 0
        for rows, columns in pairs:
            matrix = self.weights[place : place + rows * columns].reshape(rows, columns)
            place += rows * columns + columns
            self.layers.append((matrix, self.weights[place - columns : place]))
            if rng is not None:
                matrix[:] = rng.normal(0, (2 / rows) ** 0.5, matrix.shape)
        if rng is not None:
            self.layers[-1][0][:] *= 0.01

    def forward(self, inputs: Array) -> list[Array]:
        """Return the values of each layer, (rows, size), from the inputs to the outputs."""
        values = [inputs]
        for at, (matrix, bias) in enumerate(self.layers):
            after = values[-1] @ matrix
            after += bias
            values.append(after if at == len(self.layers) - 1 else np.maximum(after, 0, out=after))
        return values

    def backward(self, values: list[Array], gradient: Array) -> Array:
        """Return the gradient of the weights from that of the outputs, (rows, outputs)."""
        whole = np.empty_like(self.weights)
        place = whole.size
        for at in range(len(self.layers) - 1, -1, -1):
            matrix, bias = self.layers[at]
            whole[place - bias.size : place] = gradient.sum(axis=0)
            place -= bias.size
            np.matmul(values[at].T, gradient, out=whole[place - matrix.size : place].reshape(matrix.shape))
            place -= matrix.size
            if at:
                gradient = gradient @ matrix.T
                gradient *= values[at] > 0
        return whole


class Adam:
    """The optimizer of Kingma and Ba. `moments`: (2, weights), running means of gradients and of their squares."""

    def __init__(self, size: int) -> None:
        self.moments: Array = np.zeros((2, size), np.float32)
        self.steps = 0

    def step(self, weights: Array, gradient: Array, rate: float, limit: float = 0.5) -> None:
        """Change the weights in place. `limit`: of the gradient's norm."""
        gradient *= min(1.0, limit / (float(np.sqrt(gradient @ gradient)) + 1e-8))
        self.steps += 1
        for moment, decay, value in zip(self.moments, (0.9, 0.999), (gradient, gradient * gradient), strict=True):
            moment *= decay
            moment += (1 - decay) * value
        size = rate * (1 - 0.999**self.steps) ** 0.5 / (1 - 0.9**self.steps)
        weights -= size * self.moments[0] / (np.sqrt(self.moments[1]) + 1e-8)


def log_chances(scores: Array, masks: Array) -> Array:
    """Return the logarithms of the softmax of the scores over the legal actions, (rows, actions); else about -1e9."""
    legal = np.where(masks, scores, np.float32(-1e9))
    legal -= legal.max(axis=1, keepdims=True)
    legal -= np.log(np.exp(legal).sum(axis=1, keepdims=True))
    return legal


def draw(logs: Array, rng: np.random.Generator) -> Array:
    """Draw an action from each row of logarithms, (rows,); never one with no chance."""
    sums = np.exp(logs).cumsum(axis=1)
    below = rng.random((len(sums), 1), np.float32) * np.float32(1 - 1e-6)  # of 1, even after rounding
    actions: Array = (sums <= below * sums[:, -1:]).sum(axis=1)
    return actions
