"""Describe the events of a match to the user that runs the program, from the lines that the program receives."""

import json
from collections.abc import Iterator
from typing import Any


class MatchReporter:
    """The results of a match so far: finished `games`, games `won` (a draw counts 1/k), and the number of faults.

    `of`: games in the match. `lost`: how often the program ended before its match. `away_s`: the maximum time for a
    move; a program that is away for longer has forfeited the game.
    """

    def __init__(self) -> None:
        self.games = 0
        self.won = 0.0
        self.faults = 0
        self.lost = 0
        self.away_s = 0.0
        self._seat = 0
        self.of = 0
        self._players: list[str] = []

    def take(self, line: str) -> Iterator[str]:
        """Process a line to the program; yield texts to print."""
        message: dict[str, Any] = json.loads(line)
        match message["type"]:
            case "hello":
                match, limits = message["match"], message["limits"]
                self.of = match["games"]
                self.away_s = (limits["limit_ms"] + limits["bank_ms"]) / 1000
                clock = f"{limits['limit_ms'] / 1000:g} s a move, then {limits['bank_ms'] / 1000:g} s a game"
                rules = message["ruleset"]["name"]
                yield f"match: {rules}, {match['seats']} seats, you are {match['your_handle']}; {clock}"
            case "game_start":
                self._seat, self._players = message["seat"], message["players"]
                yield f"game {message['game'] + 1} of {self.of} begins"
            case "error":
                self.faults += 1
                used = f"; played instead: {json.dumps(message['used'])}" if message["used"] else ""
                yield f"fault {message['code']}: {message['message']}{used}; lives left: {message['lives']}"
            case "game_over":
                yield f"game {message['game'] + 1} of {self.of}: {self._count_game(message)}"
            case "match_over":
                yield f"the match is over: {self.summary}"

    @property
    def summary(self) -> str:
        """The result of the match as text."""
        short = f", {self.of - self.games} not played to the end" if self.games < self.of else ""
        return f"{self.won:g} of {self.of} games won{short}, {self.faults} faults"

    def _count_game(self, message: dict[str, Any]) -> str:
        self.games += 1
        winner = message["winner"]
        if winner == self._seat:
            self.won += 1
            return "you won"
        if winner is not None:
            return f"{self._players[winner]} won"
        survivors = message.get("survivors", [])
        if self._seat in survivors:
            self.won += 1 / len(survivors)
        return "a draw"
