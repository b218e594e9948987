"""Define the config of a comparison, and aggregate its stored results, block by block in order.

The config contains OLD, NEW, their opponents and the stopping rule."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Self

from arena.compare import NAMES, NEW, OLD, Evidence, block_of, match_of, plan_blocks
from arena.coup import derive_key
from arena.run import FolderError, ResultSource, RunConfig
from arena.schedule import MatchPlan, keyed_shuffle


@dataclass(frozen=True, slots=True)
class VersionArgument:
    """One of the two versions as the user named it, and as resolved: a path, a commit, a ladder's version."""

    argument: str
    resolved: str


@dataclass(frozen=True)
class CompareConfig(RunConfig):
    """A run of pairs. `min_effect`: the win rate difference that counts as better. `games`: at most, of both halves."""

    COMMAND: ClassVar[str] = "compare"

    min_effect: float = 0.05
    versions: tuple[VersionArgument, ...] = ()

    def plan(self) -> MatchPlan:
        """Return both halves of all blocks up to `games`. Raises ValueError, with the allowed values, if impossible."""
        shuffle = keyed_shuffle(self.key, "opponents")
        return plan_blocks(len(self.bots) - 2, self.seats, self.games // 2, self.match_games, shuffle)

    def key_of(self, match: int) -> bytes:
        """Return the key of a match: both halves of a block have the same."""
        return derive_key(self.key, f"block|{block_of(match)}")

    def is_decided(self, stored: ResultSource) -> bool:
        """Return whether the stored matches lead to a verdict."""
        return Comparison(self, stored).evidence.verdict is not None

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> Self:
        """Return the config from the content of run.json. Raises FolderError for another version or invalid data."""
        run_config = super().from_json(config)
        try:
            return replace(run_config, versions=tuple(VersionArgument(**version) for version in config["versions"]))
        except TypeError as problem:
            raise FolderError(f"run.json was changed: {problem!r}; start a new comparison") from None


@dataclass(frozen=True, slots=True)
class GamePair:
    """OLD's and NEW's share of the win, 0 to 1, in a game with the same deal, seat and opponents."""

    block: int
    game: int
    old: float
    new: float


class Comparison:
    """The results of a comparison, read from its store. `update` counts the newly completed blocks.

    Blocks are counted in order, so the order in which matches end doesn't matter.
    """

    def __init__(self, config: CompareConfig, store: ResultSource) -> None:
        self.config = config
        self.pairs: list[GamePair] = []
        self.evidence = Evidence(config.min_effect)
        self.blocks = config.plan().rounds
        self._store = store
        self._next_block = 0
        self.update()

    @property
    def has_ended(self) -> bool:
        """Return whether there is a verdict, or all planned blocks are played."""
        return self.evidence.verdict is not None or self._next_block == self.blocks

    def update(self) -> None:
        """Count the completed blocks up to the first incomplete one or the verdict."""
        stored_matches = set(self._store.list_matches())
        while not self.has_ended:
            halves = [match_of(self._next_block, half) for half in (OLD, NEW)]
            if not stored_matches.issuperset(halves):
                return
            self._count_block(self._next_block, halves)
            self._next_block += 1

    def by_opponent(self) -> Iterator[tuple[str, list[float]]]:
        """Yield (name, differences of the blocks in which it sat at the table) for each opponent."""
        tables = self.config.plan().tables
        gains_by_bot: dict[int, list[float]] = {}
        for block, pairs in groupby(self.pairs, lambda pair: pair.block):
            gains = [pair.new - pair.old for pair in pairs]
            for bot in tables[match_of(block, OLD)].bots[1:]:
                gains_by_bot.setdefault(bot, []).append(sum(gains) / len(gains))
        yield from ((self.config.bots[bot].name, gains_by_bot[bot]) for bot in sorted(gains_by_bot))

    def _count_block(self, block: int, halves: list[int]) -> None:
        """Add the pairs of a block. halves: its matches, OLD's and NEW's."""
        old_shares, new_shares = (
            [game.worth(game.seats.index(name)) for game in self._store.results(match)]
            for match, name in zip(halves, NAMES, strict=True)
        )
        shares = enumerate(zip(old_shares, new_shares, strict=True))
        pairs = [GamePair(block, game, old, new) for game, (old, new) in shares]
        self.pairs += pairs
        self.evidence.add([(pair.old, pair.new) for pair in pairs])
