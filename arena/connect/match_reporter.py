"""Report the events of a match in words, made from the program's lines, to the user that runs it."""

import json
from collections.abc import Iterator
from typing import Any


class MatchReporter:
    """What has happened so far: `games` ended, of which `won` (a draw is a part of a win), and how many faults.

    `of`: how many games a match has. `lost`: how often the program has ended before its match did. `away_s`: how long a
    move may take at the most; a program away for longer has lost its seat for the game.
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
        """Process a line for the program; yield texts to print."""
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
                yield f"game {message['game'] + 1} of {self.of}: {self._ended(message)}"
            case "match_over":
                yield f"the match is over: {self.summary}"

    @property
    def summary(self) -> str:
        """What there is to say at the end."""
        short = f", {self.of - self.games} not played to the end" if self.games < self.of else ""
        return f"{self.won:g} of {self.of} games won{short}, {self.faults} faults"

    def _ended(self, message: dict[str, Any]) -> str:
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
