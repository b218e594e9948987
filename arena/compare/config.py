"""What a comparison was asked to be: OLD, NEW, who they meet, and when it ends.

A block is a match that is played twice, once with OLD and once with NEW in the same place: with the same key, and so
with the same cards, seats, handles and dice of the opponents. A game of one half and the same game of the other are a
pair. Match 2b is OLD's half of block b, match 2b + 1 is NEW's.
"""

from dataclasses import dataclass, replace
from itertools import chain, count, islice
from typing import Any, ClassVar, Self

from arena.coup import derived
from arena.run import RunConfig, keyed_shuffle
from ladder.schedule import Plan, Table, check_games, check_match_games, plan
from ladder.store import FolderError

OLD, NEW = 0, 1  # their places among the bots; the opponents follow
NAMES = ("OLD", "NEW")


def match_of(block: int, half: int) -> int:
    """Return the number of the match that is OLD's or NEW's half of a block."""
    return 2 * block + half


def block_of(match: int) -> int:
    """Return the block that a match is half of."""
    return match // 2


@dataclass(frozen=True, slots=True)
class Version:
    """One of the two as the user named it, and what that meant: a path, a commit, a ladder's version."""

    given: str
    meant: str


@dataclass(frozen=True)
class CompareConfig(RunConfig):
    """A run of pairs. `points`: the difference of win share that counts as better. `games`: of both, at most."""

    COMMAND: ClassVar[str] = "compare"

    points: float = 0.05
    versions: tuple[Version, ...] = ()

    def plan(self) -> Plan:
        """Return both halves of all blocks up to the cap. Raises ValueError, with what is allowed, for no such plan."""
        seats = self.seats - 1
        opponents = len(self.bots) - 2
        if opponents < seats:
            raise ValueError(
                f"{self.seats} seats for {opponents} opponent{'s' * (opponents != 1)}: --against names {seats} or more"
            )
        check_games(self.games)
        check_match_games(self.seats, self.match_games)
        blocks = -(-self.games // (2 * self.match_games))
        shuffle = keyed_shuffle(self.key, "opponents")
        if seats == 1:
            drawn = chain.from_iterable(shuffle(range(opponents), str(number)) for number in count())
            met: list[tuple[int, ...]] = [(bot,) for bot in islice(drawn, blocks)]
        else:
            met = [table.bots for table in plan(opponents, seats, blocks * seats, seats, shuffle).tables[:blocks]]
        halves = (
            Table(match_of(block, half), (half, *(2 + bot for bot in bots)))
            for block, bots in enumerate(met)
            for half in (OLD, NEW)
        )
        return Plan(blocks, 2, self.match_games, tuple(halves))

    def key_of(self, match: int) -> bytes:
        """Return the key of a match, which is that of its block."""
        return derived(self.key, f"block|{block_of(match)}")

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> Self:
        """Return the config that run.json holds. Raises FolderError for one of another version or form."""
        read = super().from_json(config)
        try:
            return replace(read, versions=tuple(Version(**version) for version in config["versions"]))
        except TypeError as problem:
            raise FolderError(f"run.json was changed: {problem!r}; start a new comparison") from None
