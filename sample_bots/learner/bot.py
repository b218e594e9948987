"""Plays by networks that learned by self-play: for two seats, for four, and for three, five and six.

At each request `coup_env` turns what the seat knows into numbers, the network gives each legal move a score, and the
bot draws a move: the higher the score, the likelier. It bluffs by these chances, so they can't be read from its moves.
The networks know one game; over the match the bot counts challenges, and doesn't bluff where too many come.
weights.z holds the networks; docs/explanation/training.md says how they were trained. In other rules the kit plays.

`python3 bot.py 0.6` is weaker: it draws 60 % of its moves, and in the others takes income or passes, as the kit does.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Sequence
from itertools import accumulate
from math import exp
from pathlib import Path
from random import Random
from struct import unpack
from typing import Any

from coup_env import ENCODING, Encoder, action_words, fields
from coup_kit import Bot, Message, run

ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}
TOO_OFTEN = 0.25  # part of our claims in this match that are challenged, above which we claim only what we hold
TRUSTED = 4  # claims without a challenge that we imagine before the first

Layer = tuple[list[tuple[float, ...]], list[float]]  # a row of weights for each input, and the biases


class Learner(Bot):
    name, version = "learner", "1.0"

    def __init__(self, skill: float = 1.0) -> None:
        """Skill: the part of its moves that the networks choose."""
        self.skill = skill
        self.networks = self.read_networks(Path(__file__).with_name("weights.z"))
        self.encoder: Encoder | None = None
        self.dice = Random()
        self.claims = self.challenges = 0  # our claims in this match, and challenges of them
        self.rows: list[tuple[float, ...]] = []  # for each number of an observation, its weights in the first layer
        self.outputs: list[int] = []  # for each action, its place in the last layer
        self.layers: list[Layer] = []

    def reply(self, message: Message) -> Any:
        """Answer a request by the network; by the kit without one, or at random for less `skill`."""
        answer = super().reply(message)
        if message["type"] == "hello":
            self.sit_down(message)
        elif message["type"] == "game_start":
            self.dice = Random(message.get("game_seed"))
        if self.encoder is None or not self.encoder.take(message):
            return answer
        self.remember(message)
        assert answer is not None
        if self.skill < 1 and self.dice.random() >= self.skill:
            return answer
        places = self.true_moves(message) if self.challenges > TOO_OFTEN * (self.claims + TRUSTED) else []
        places = places or [*range(len(message["legal"]))]
        actions = [self.encoder.actions[place] or 0 for place in places]
        return {**answer, "choice": places[self.draw(self.encoder.observation, actions)]}

    def true_moves(self, request: Message) -> list[int]:
        """Return the places of the legal moves that claim no role, or one that we hold."""
        claims = [ROLE_FOR.get(move.get("action"), move.get("block")) for move in request["legal"]]
        return [place for place, role in enumerate(claims) if role in (None, *request["you"]["cards"])]

    def remember(self, request: Message) -> None:
        """Count our claims and the challenges of them."""
        me = request["you"]["seat"]
        for event in request["events"]:
            claims = event["event"] == "block" or (event["event"] == "action" and event["action"] in ROLE_FOR)
            self.claims += claims and event["seat"] == me
            self.challenges += event["event"] == "challenge" and event["claimant"] == me

    @staticmethod
    def read_networks(path: Path) -> dict[int, tuple[int, list[Layer]]]:
        """Return by number of seats: the seats of the largest table of its network, and the layers."""
        head, numbers = zlib.decompress(path.read_bytes()).split(b"\n", 1)
        trained = json.loads(head)
        assert trained["encoding"] == ENCODING, "weights.z was trained with another encoding: use the kit of its arena"
        networks: dict[int, tuple[int, list[Layer]]] = {}
        place = 0
        for network in trained["networks"]:
            layers = []
            for rows, columns in zip(network["sizes"], network["sizes"][1:], strict=False):
                end = place + 2 * (rows + 1) * columns
                values = unpack(f"<{(rows + 1) * columns}e", numbers[place:end])
                *matrix, bias = (values[at : at + columns] for at in range(0, len(values), columns))
                layers.append((matrix, [*bias]))
                place = end
            networks |= {seats: (max(network["seats"]), layers) for seats in network["seats"]}
        return networks

    def sit_down(self, hello: Message) -> None:
        """Choose the network for the number of seats, and find the places of its numbers and actions."""
        rules = hello["ruleset"]
        self.encoder = None
        plain = not any(rules[option] for option in ("inquisitor", "reformation", "draft"))
        if not plain or rules["seats"] not in self.networks:
            return
        self.encoder = Encoder(hello)
        most, self.layers = self.networks[rules["seats"]]
        sizes = [field.size for field in fields(most)]
        begins = dict(zip((field.name for field in fields(most)), accumulate([0, *sizes]), strict=False))
        rows = self.layers[0][0]
        self.rows = [rows[begins[field.name] + at] for field in fields(rules["seats"]) for at in range(field.size)]
        words = action_words(rules, most)
        self.outputs = [words.index(word) for word in self.encoder.words]

    def draw(self, observation: Sequence[int], actions: Sequence[int]) -> int:
        """Return the place of an action, drawn by the softmax of the scores."""
        scores = self.scores(observation, actions)
        most = max(scores)
        return self.dice.choices(range(len(scores)), [exp(score - most) for score in scores])[0]

    def scores(self, observation: Sequence[int], actions: Sequence[int]) -> list[float]:
        """Return the network's score of each action."""
        values = add_rows(self.layers[0][1], self.rows, observation)
        for matrix, bias in self.layers[1:-1]:
            values = add_rows(bias, matrix, [max(value, 0.0) for value in values])
        matrix, bias = self.layers[-1]
        inputs = [(max(value, 0.0), row) for value, row in zip(values, matrix, strict=True)]
        places = [self.outputs[action] for action in actions]
        return [bias[place] + sum(value * row[place] for value, row in inputs) for place in places]


def add_rows(bias: list[float], rows: Sequence[tuple[float, ...]], values: Sequence[float]) -> list[float]:
    """Return the biases plus each row times its value. Most values are zero, and cost nothing."""
    sums = bias
    for value, row in zip(values, rows, strict=True):
        if value:
            sums = [total + value * weight for total, weight in zip(sums, row, strict=True)]
    return sums


if __name__ == "__main__":
    run(Learner(*map(float, sys.argv[1:])))
