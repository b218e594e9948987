"""A store that keeps a run in memory, for tests of what plays over a store."""

from collections.abc import Iterable

from arena.referee import FailedMatch, GameResult, PlayedMatch, StoredFaultSample, select_samples


class MemoryStore:
    """Keep matches as long as this object lives."""

    def __init__(self) -> None:
        self.matches: dict[int, PlayedMatch] = {}
        self.finished = 0
        self._voids: list[FailedMatch] = []

    def list_missing(self, matches: Iterable[int]) -> list[int]:
        return [match for match in matches if match not in self.matches]

    def save(self, played: PlayedMatch) -> None:
        self.matches.setdefault(played.match, played)

    def add_failed_attempt(self, void: FailedMatch) -> None:
        self._voids.append(void)

    def list_matches(self) -> tuple[int, ...]:
        return tuple(self.matches)

    def results(self, match: int) -> tuple[GameResult, ...]:
        return self.matches[match].results

    def fault_samples(self, bot: str) -> tuple[StoredFaultSample, ...]:
        found = [sample for played in self.matches.values() for sample in played.fault_samples]
        return select_samples(sample for sample in found if sample.bot == bot)

    def list_failed_attempts(self) -> tuple[FailedMatch, ...]:
        return tuple(self._voids)

    def finish(self) -> None:
        self.finished += 1
