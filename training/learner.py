"""Learn by self-play: proximal policy optimization, held near a slow copy of itself, against a growing population.

An iteration is a function of the state before it and of the seed, so that an interruption changes nothing. In each, the
learner plays on in batches of games: against itself, its past selves, imitated sample bots, and honest players.
The distance from the slow copy (a KL divergence) makes the method a form of magnetic mirror descent, which converges
at two seats where plain policy gradients run in circles.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arena.env import batch
from training.inputs import Inputs
from training.network import Adam, Array, Network, draw, log_chances

IMITATION_EPOCHS = 12


@dataclass(frozen=True)
class Plan:
    """The settings of a training. `games`: the number of games at once, by seats."""

    games: dict[int, int]
    seed: int = 1
    hidden: tuple[int, ...] = (128, 128)
    steps: int = 32  # decisions of each row in an iteration
    rows: int = 4096  # of a step of the optimizer
    epochs: int = 2
    rate: float = 5e-4  # of the optimizer, at the start; it falls to a tenth
    iterations: int = 2000
    value_first: int = 15  # iterations that train the value alone, which nothing has trained before
    clip: float = 0.2
    trace: float = 0.95  # lambda of the advantages
    entropy: float = 0.02
    pull: float = 0.05  # the weight of the distance from the slow copy
    follow: float = 0.02  # the part by which the slow copy follows in an iteration
    snapshot: int = 25  # iterations between two past selves, after which new games begin
    past: int = 20  # past selves that are kept

    @property
    def inputs(self) -> Inputs:
        """The inputs of the network."""
        return Inputs(tuple(self.games))


class Rollout(NamedTuple):
    """Decisions of the learner, a row each."""

    inputs: Array
    masks: Array
    actions: Array
    logs: Array  # the logarithm of the chance of the action
    advantages: Array
    returns: Array


@dataclass
class Population:
    """The networks that play: the opponents read them when they are asked. `past`: weights of past selves.

    `imitations`: the teacher's first. `fixed`: whether they are the only opponents.
    """

    inputs: Inputs
    learner: Network
    imitations: list[Network]
    fixed: bool = False
    past: list[Array] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def __post_init__(self) -> None:
        self.elders = [Network(self.learner.sizes) for _ in range(2)]

    def play(self, network: Network, seats: int, doubt: float = 0) -> Callable[[Array, Array], Array]:
        """Return a policy of the batch that draws from the network's chances. `doubt`: added to a challenge's score."""
        own, challenge = self.inputs.actions[seats], self.inputs.words.index("!")

        def policy(observations: Array, masks: Array) -> Array:
            scores = network.forward(self.inputs.encode(seats, observations))[-1]
            scores[:, challenge] += doubt
            return draw(log_chances(scores[:, own], masks), self.rng)

        return policy

    def opponents(self, seats: int) -> list[Any]:
        """Return the opponents of a batch, each drawn as often as another."""
        if self.fixed:
            return [self.play(weights, seats) for weights in self.imitations]
        teacher, *others = self.imitations
        networks = (*[self.learner] * 3, *self.elders, *[teacher] * 3, *others)
        doubter = self.play(teacher, seats, doubt=3.0)  # else a liar wins: all others seldom challenge at first
        return [*(self.play(weights, seats) for weights in networks), doubter, "honest"]

    def draw_elders(self) -> None:
        """Choose the past selves of this iteration."""
        for elder in self.elders:
            elder.weights[:] = self.past[self.rng.integers(len(self.past))]


class Learner:
    """A training. `network` plays; its last output is the value, the chance to win."""

    def __init__(self, plan: Plan, imitations: Array, start: Array | None = None, fixed: bool = False) -> None:
        """Begin with these weights, or those of the first imitation. `imitations`: (networks, weights)."""
        self.plan, self.inputs = plan, plan.inputs
        sizes = (self.inputs.size, *plan.hidden, len(self.inputs.words) + 1)
        self.network, self.slow, *imitated = (Network(sizes) for _ in range(2 + len(imitations)))
        for imitation, weights in zip(imitated, imitations, strict=True):
            imitation.weights[:] = weights
        start = imitations[0] if start is None else start
        self.network.weights[:] = self.slow.weights[:] = start
        self.adam, self.iteration = Adam(start.size), 0
        self.curve: list[list[Any]] = []  # iteration, seats, opponent, wins, games
        self.people = Population(self.inputs, self.network, imitated, fixed, [start.copy()])
        self.batches = {
            seats: batch("coup", seats, games, self.people.opponents(seats)) for seats, games in plan.games.items()
        }
        self.current: dict[int, tuple[Array, Array]] = {}  # by seats, the observations and masks of running games

    def learn(self) -> None:
        """Play and learn for an iteration."""
        rng = self.people.rng = np.random.default_rng([self.plan.seed, self.iteration])
        self.people.draw_elders()
        rollouts = [self._roll(seats, rng) for seats in self.batches]
        rollout = Rollout(*(np.concatenate(parts) for parts in zip(*rollouts, strict=True)))
        slow = log_chances(self.slow.forward(rollout.inputs)[-1][:, :-1], rollout.masks)
        rate = self.plan.rate * (1 - 0.9 * self.iteration / self.plan.iterations)
        for rows in self._minibatches(len(slow), rng):
            part = Rollout(*(column[rows] for column in rollout))
            values = self.network.forward(part.inputs)
            gradient = self._gradient(values[-1], part, slow[rows])
            self.adam.step(self.network.weights, self.network.backward(values, gradient), rate)
        self.slow.weights += self.plan.follow * (self.network.weights - self.slow.weights)
        self.iteration += 1
        if self.iteration % self.plan.snapshot == 0:
            self.people.past = [*self.people.past, self.network.weights.copy()][-self.plan.past :]

    def _roll(self, seats: int, rng: np.random.Generator) -> Rollout:
        """Play on at one size of table. At four seats and more a game is longer than `steps`."""
        games = self.batches[seats]
        rows, steps = games.num_envs, self.plan.steps
        own = self.inputs.actions[seats]
        inputs = np.empty((steps, rows, self.inputs.size), np.float32)
        masks = np.empty((steps, rows, len(self.inputs.words)), np.bool_)
        actions = np.empty((steps, rows), np.int64)
        logs, rewards, values = (np.zeros((steps + 1, rows), np.float32) for _ in range(3))
        ends = np.zeros((steps, rows), np.bool_)
        if self.iteration % self.plan.snapshot == 0 or seats not in self.current:
            observations, info = games.reset(seed=int(rng.integers(2**60)))
            self.current[seats] = observations, info["action_mask"]
        observations, mask = self.current[seats]
        for step in range(steps + 1):
            encoded = self.inputs.encode(seats, observations)
            outputs = self.network.forward(encoded)[-1]
            values[step] = outputs[:, -1].clip(0, 1)  # unbounded, errors would feed on themselves
            if step == steps:
                break
            chances = log_chances(outputs[:, own], mask)
            chosen = draw(chances, rng)
            inputs[step], masks[step] = encoded, self.inputs.widen(seats, mask)
            actions[step], logs[step] = own[chosen], chances[np.arange(rows), chosen]
            observations, rewards[step], terminated, truncated, info = games.step(chosen)
            ends[step], mask = terminated | truncated, info["action_mask"]
        self.current[seats] = observations, mask
        advantages = self._advantages(rewards, values, ends)
        columns = inputs, masks, actions, logs[:-1], advantages[:-1], (advantages + values)[:-1]
        return Rollout(*(column.reshape(steps * rows, *column.shape[2:]) for column in columns))

    def _advantages(self, rewards: Array, values: Array, ends: Array) -> Array:
        """Return by how much decisions were better than their values: (steps + 1, rows), 0 in the last step."""
        advantages = np.zeros_like(values)
        for step in range(len(ends) - 1, -1, -1):
            goes_on = ~ends[step]
            surprise = rewards[step] + goes_on * values[step + 1] - values[step]
            advantages[step] = surprise + goes_on * self.plan.trace * advantages[step + 1]
        return advantages

    def _minibatches(self, rows: int, rng: np.random.Generator) -> Iterator[Array]:
        for _ in range(self.plan.epochs):
            order = rng.permutation(rows)
            yield from (order[at : at + self.plan.rows] for at in range(0, rows, self.plan.rows))

    def _gradient(self, outputs: Array, part: Rollout, slow: Array) -> Array:
        """Return the gradient of the loss by the outputs. slow: the slow copy's logarithms of chances."""
        plan, rows = self.plan, np.arange(len(outputs))
        logs = log_chances(outputs[:, :-1], part.masks)
        chances = np.exp(logs)
        entropy = -(chances * logs).sum(axis=1, keepdims=True)
        apart = np.where(part.masks, logs - slow, 0)
        distance = (chances * apart).sum(axis=1, keepdims=True)
        ratio = np.exp(np.minimum(logs[rows, part.actions] - part.logs, 1))
        scale = part.advantages / (part.advantages.std() + 1e-6)
        clipped = np.where(scale > 0, ratio > 1 + plan.clip, ratio < 1 - plan.clip)
        push = np.where(clipped, 0, -scale * ratio)[:, None]
        gradient = np.empty_like(outputs)
        gradient[:, :-1] = -chances * push
        gradient[rows, part.actions] += push[:, 0]
        gradient[:, :-1] += chances * (plan.entropy * (logs + entropy) + plan.pull * (apart - distance))
        if self.iteration < plan.value_first:
            gradient[:, :-1] = 0
        gradient[:, -1] = 2 * (outputs[:, -1] - part.returns)
        return gradient / np.float32(len(outputs))

    def measure(self, seats: int, opponent: str, games: int) -> None:
        """Play about `games` games against "teacher" or "honest", and add the wins to the curve."""
        self.people.rng = np.random.default_rng([self.plan.seed, 2**40 + self.iteration])
        other = opponent if opponent == "honest" else self.people.play(self.people.imitations[0], seats)
        table = batch("coup", seats, 500, other)
        choose = self.people.play(self.network, seats)
        observations, info = table.reset(seed=self.iteration)
        wins, ended = 0.0, 0
        while ended < games:
            observations, rewards, terminated, truncated, info = table.step(choose(observations, info["action_mask"]))
            wins, ended = wins + float(rewards.sum()), ended + int((terminated | truncated).sum())
        self.curve.append([self.iteration, seats, opponent, round(wins, 3), ended])

    def save(self, path: Path) -> None:
        """Write the state; an interruption leaves the file before. To continue exactly, save where new games begin."""
        half = path.with_suffix(".part")
        with half.open("wb") as file:
            np.savez(
                file,
                weights=self.network.weights,
                slow=self.slow.weights,
                imitations=np.stack([imitation.weights for imitation in self.people.imitations]),
                moments=self.adam.moments,
                past=np.stack(self.people.past),
                counts=np.array([self.iteration, self.adam.steps]),
                curve=np.array(self.curve, np.str_),
                seats=np.array([*self.plan.games]),
                hidden=np.array(self.plan.hidden),
            )
        half.replace(path)

    def load(self, path: Path) -> None:
        """Continue from a state that `save` wrote."""
        with np.load(path) as state:
            self.network.weights[:], self.slow.weights[:] = state["weights"], state["slow"]
            for imitation, weights in zip(self.people.imitations, state["imitations"], strict=True):
                imitation.weights[:] = weights
            self.adam.moments = state["moments"]
            self.people.past = [*state["past"]]
            self.iteration, self.adam.steps = map(int, state["counts"])
            self.curve = state["curve"].tolist()


def imitate(plan: Plan, decisions: dict[int, dict[str, Array]]) -> Array:
    """Return the weights of a network that learned the teacher's choices; print the mean loss of each epoch.

    decisions: arrays of observations, masks and actions, by seats.
    """
    rng, inputs = np.random.default_rng(plan.seed), plan.inputs
    encoded = np.concatenate([inputs.encode(seats, arrays["observations"]) for seats, arrays in decisions.items()])
    masks = np.concatenate([inputs.widen(seats, arrays["masks"]) for seats, arrays in decisions.items()])
    actions = np.concatenate([inputs.actions[seats][arrays["actions"]] for seats, arrays in decisions.items()])
    network = Network((inputs.size, *plan.hidden, len(inputs.words) + 1), rng)
    adam = Adam(network.weights.size)
    for epoch in range(IMITATION_EPOCHS):
        order, losses = rng.permutation(len(actions)), []
        for at in range(0, len(order), 1024):
            rows = order[at : at + 1024]
            values = network.forward(encoded[rows])
            logs = log_chances(values[-1][:, :-1], masks[rows])
            losses.append(-float(logs[np.arange(len(rows)), actions[rows]].mean()))
            gradient = np.zeros_like(values[-1])
            gradient[:, :-1] = np.exp(logs)
            gradient[np.arange(len(rows)), actions[rows]] -= 1
            adam.step(
                network.weights, network.backward(values, gradient / len(rows)), 1e-3 * (1 - epoch / IMITATION_EPOCHS)
            )
        print(f"imitation: loss {np.mean(losses):.4f}", flush=True)
    return network.weights
