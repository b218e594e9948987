"""How a comparison stands: a fold over its store, block by block in their order."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from arena.compare.config import NAMES, NEW, OLD, CompareConfig, match_of
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

    A block counts once all before it have: so the order in which matches end changes nothing.
    """

    def __init__(self, config: CompareConfig, store: Store) -> None:
        self.config = config
        self.pairs: list[Pair] = []
        self.evidence = Evidence(config.points, config.match_games)
        self.blocks = config.plan().rounds
        self._store = store
        self._next = 0
        self.take_in()

    @property
    def ended(self) -> bool:
        """Tell whether there is a verdict, or the cap is reached."""
        return self.evidence.verdict is not None or self._next == self.blocks

    def take_in(self) -> None:
        """Count the blocks that are complete."""
        matches = set(self._store.kept())
        while not self.ended:
            halves = [match_of(self._next, half) for half in (OLD, NEW)]
            if not matches.issuperset(halves):
                return
            self._count(halves)
            self._next += 1

    def against(self) -> Iterator[tuple[str, list[float]]]:
        """Yield each opponent with the differences of the blocks in which it sat at the table."""
        tables = self.config.plan().tables
        blocks: dict[int, list[float]] = {}
        for block, pairs in groupby(self.pairs, lambda pair: pair.block):
            gains = [pair.new - pair.old for pair in pairs]
            for bot in tables[match_of(block, OLD)].bots[1:]:
                blocks.setdefault(bot, []).append(sum(gains) / len(gains))
        yield from ((self.config.bots[bot].name, blocks[bot]) for bot in sorted(blocks))

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
