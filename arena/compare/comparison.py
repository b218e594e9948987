"""How a comparison stands: a fold over its store, block by block in their order."""

from collections.abc import Iterator
from dataclasses import dataclass

from arena.compare.config import NAMES, NEW, OLD, CompareConfig
from arena.compare.evidence import Evidence
from ladder.results import GameResult
from ladder.store import Store


@dataclass(frozen=True, slots=True)
class Pair:
    """What a game was worth to OLD and to NEW: the same deal, the same seat, the same opponents."""

    block: int
    game: int
    old: float
    new: float


class Comparison:
    """A comparison over its store: `take_in` counts the blocks that were completed since.

    A block counts once all before it have, or were given up: so the order in which matches end changes nothing.
    """

    def __init__(self, config: CompareConfig, store: Store) -> None:
        self.config = config
        self.pairs: list[Pair] = []
        self.evidence = Evidence(config.points, config.match_games)
        self.blocks = config.plan().rounds
        self.skipped: list[int] = []  # blocks of which a half was given up
        self._store = store
        self._next = 0
        self.take_in()

    @property
    def ended(self) -> bool:
        """Tell whether there is a verdict, or the cap is reached."""
        return self.evidence.verdict is not None or self._next == self.blocks

    def take_in(self) -> None:
        """Count the blocks that are complete."""
        kept = set(self._store.kept())
        lost = {void.match for void in self._store.voids() if void.given_up}
        while not self.ended:
            halves = [2 * self._next + half for half in (OLD, NEW)]
            if kept.issuperset(halves):
                self._count(halves)
            elif lost.intersection(halves):
                self.skipped.append(self._next)
            else:
                return
            self._next += 1

    def halves(self) -> Iterator[tuple[int, int]]:
        """Yield the matches of OLD and of NEW of each block that counts."""
        blocks = dict.fromkeys(pair.block for pair in self.pairs)
        yield from ((2 * block + OLD, 2 * block + NEW) for block in blocks)

    def _count(self, halves: list[int]) -> None:
        worth = [
            [_worth(game, name) for game in self._store.results(match)]
            for match, name in zip(halves, NAMES, strict=True)
        ]
        pairs = [Pair(self._next, game, old, new) for game, (old, new) in enumerate(zip(*worth, strict=True))]
        self.pairs += pairs
        self.evidence.add(sum(pair.new - pair.old for pair in pairs) / len(pairs))


def _worth(game: GameResult, name: str) -> float:
    return game.worth(game.seats.index(name))
