"""What every store offers: what became of each match goes in, and what is known of the run comes out.

A store holds facts: matches that were kept, with their results, and matches that were void. Nothing is counted here;
whoever wants to know how far a run is folds over the facts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ladder.results import GameResult
from ladder.store.exchange import KeptExchange


@dataclass(frozen=True, slots=True)
class Spent:
    """Hold what a bot took in a match: requests, microseconds of all of them and of the slowest, bytes of memory."""

    requests: int = 0
    time_us: int = 0
    slowest_us: int = 0
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """Hold a match that was played to its end.

    record: the text from which the match can be replayed. results: one a game, in the order of play.
    logs: (bot, process number, standard error) of each process. exchanges: the first faulty one of each bot and kind.
    spent: what each bot took, styles: what it did, as JSON; where they are known.
    """

    match: int
    record: str
    results: tuple[GameResult, ...]
    logs: tuple[tuple[str, int, bytes], ...] = ()
    exchanges: tuple[KeptExchange, ...] = ()
    spent: tuple[tuple[str, Spent], ...] = ()
    styles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class VoidMatch:
    """Hold an attempt at a match that the host failed. `given_up`: it was the last attempt of this session."""

    match: int
    reason: str
    given_up: bool


class Store(Protocol):
    """Keep the matches of one run."""

    def todo(self, matches: Iterable[int]) -> list[int]:
        """Return those of the matches that aren't kept, in the same order; void ones are among them."""

    def keep(self, played: PlayedMatch) -> None:
        """Keep a match, once: of a match that comes twice the first counts.

        The match is kept whole or not at all, whenever the process dies. Raises OSError if the store can't take it.
        """

    def void(self, void: VoidMatch) -> None:
        """Note that an attempt at a match was void."""

    def kept(self) -> Sequence[int]:
        """Return the kept matches in the order in which they were kept: those of earlier sessions first."""

    def results(self, match: int) -> tuple[GameResult, ...]:
        """Return the results of a kept match. Raises KeyError for any other."""

    def exchanges(self, bot: str) -> Sequence[KeptExchange]:
        """Return `first_few` of a bot's faulty exchanges in kept matches, also of those of earlier sessions."""

    def voids(self) -> Sequence[VoidMatch]:
        """Return the void attempts in the order in which they were noted; perhaps of this session alone."""

    def finish(self) -> None:
        """End a session, also one that was interrupted at any moment. Raises OSError if the store can't be written."""
