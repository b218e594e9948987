"""A store that keeps a run in memory, for tests of what plays over a store."""

from collections.abc import Iterable

from ladder.results import GameResult
from ladder.store import FailedMatch, PlayedMatch, StoredFaultSample, select_samples


class MemoryStore:
    """Keep matches as long as this object lives."""

    def __init__(self) -> None:
        self.matches: dict[int, PlayedMatch] = {}
        self.finished = 0
        self._voids: list[FailedMatch] = []

    def todo(self, matches: Iterable[int]) -> list[int]:
        return [match for match in matches if match not in self.matches]

    def keep(self, played: PlayedMatch) -> None:
        self.matches.setdefault(played.match, played)

    def void(self, void: FailedMatch) -> None:
        self._voids.append(void)

    def kept(self) -> tuple[int, ...]:
        return tuple(self.matches)

    def results(self, match: int) -> tuple[GameResult, ...]:
        return self.matches[match].results

    def exchanges(self, bot: str) -> tuple[StoredFaultSample, ...]:
        found = [exchange for played in self.matches.values() for exchange in played.exchanges]
        return select_samples(exchange for exchange in found if exchange.bot == bot)

    def voids(self) -> tuple[FailedMatch, ...]:
        return tuple(self._voids)

    def finish(self) -> None:
        self.finished += 1
