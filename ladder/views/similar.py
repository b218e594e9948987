"""Which versions of different owners are alike in their source texts, for staff. It accuses nobody."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Half:
    """One version of a pair: how many percent of its own text are in the other version, and how many lines that is.

    owner: a login. What kits, samples and reference bots hold is nobody's own.
    """

    version: str
    owner: str
    share: float
    lines: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions that are alike; the one with the larger share is first."""

    one: Half
    other: Half


@dataclass(frozen=True, slots=True)
class Similar:
    """The pairs with a share of at least so many percent, the most alike first.

    versions: how many were compared: of each bot the one that plays, else the newest fit. pairs: None where nothing was
    compared yet. unread: sentences on files that weren't compared.
    """

    at_least: float
    versions: int
    pairs: tuple[Pair, ...] | None
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What is alike in a file: the lines from `first` to `last`. `lines` begin with the number `start`, before them."""

    file: str
    first: int
    last: int
    start: int
    lines: tuple[str, ...]

    @property
    def numbered(self) -> tuple[tuple[int, str, bool], ...]:
        """The lines with their numbers, tabs as blanks, and whether they are alike."""
        rows = enumerate(self.lines, self.start)
        return tuple((row, line.replace("\t", "    "), self.first <= row <= self.last) for row, line in rows)


@dataclass(frozen=True, slots=True)
class Passage:
    """What is in both versions: where it is in each."""

    one: Part
    other: Part


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two versions with the passages that both have, in the order of the first. cut: there are more passages."""

    pair: Pair
    passages: tuple[Passage, ...]
    cut: bool
    unread: tuple[str, ...]
