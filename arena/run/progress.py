"""How far a run is: a fold over its store. Nothing here is stored, and nothing can differ from what is."""

from collections.abc import Callable, Sequence

from arena.run.job import Played
from arena.run.times import Times
from ladder.board import Board, Tally
from ladder.schedule import Plan
from ladder.store import Store, VoidMatch

NOTICED_S = 2.0  # of waiting; less isn't worth a word


class Progress:
    """How far a run is. `requests`, `startup_s`, `seconds`, `times`, `peaks`, `held_up` are of this session alone."""

    def __init__(self, plan: Plan, bots: Sequence[str], store: Store, clock: Callable[[], float]) -> None:
        self.plan = plan
        self.resumed = len(store.kept())
        self.requests = 0
        self.startup_s = 0.0
        self.times = {bot: Times() for bot in bots}
        self.peaks: dict[str, int] = {}  # bot -> bytes, where it is known
        self._waits: dict[str, tuple[int, float]] = {}
        self._store = store
        self._clock = clock
        self._began = clock()
        self._ended: float | None = None
        self._bots = bots
        self._tally = Tally(bots)
        self._begun = self._tallied = 0  # matches, in the order in which they were kept
        self._take_in()

    @property
    def done(self) -> int:
        """Return the number of matches that are kept."""
        return len(self._store.kept())

    @property
    def voided(self) -> int:
        """Return how often a match was void."""
        return len(self._store.voids())

    @property
    def given_up(self) -> list[VoidMatch]:
        """Return the last void attempt of each match that was given up."""
        return [void for void in self._store.voids() if void.given_up]

    @property
    def fresh_games(self) -> int:
        """Return the number of games that this session played."""
        return (self.done - self.resumed) * self.plan.match_games

    @property
    def seconds(self) -> float:
        """Return how long this session has played, or did until its end."""
        return (self._clock() if self._ended is None else self._ended) - self._began

    def count(self, played: Played) -> None:
        """Count what a match took, and its results, which the store has by now."""
        self._take_in()
        self.requests += played.requests
        self.startup_s += played.startup_s
        for bot, times in played.times:
            self.times[bot].add(times)
        for bot, peak in played.peaks:
            self.peaks[bot] = max(peak, self.peaks.get(bot, 0))
        for bot, timeouts, seconds in played.waits:
            before, waited = self._waits.get(bot, (0, 0.0))
            self._waits[bot] = (before + timeouts, waited + seconds)

    def held_up(self) -> list[tuple[str, int, float]]:
        """Return (bot, timeouts, seconds in all) of the bots whose timeouts the run has waited for, the worst first."""
        found = [(bot, timeouts, seconds) for bot, (timeouts, seconds) in self._waits.items() if seconds >= NOTICED_S]
        return sorted(found, key=lambda row: (-row[2], row[0]))

    def end(self) -> None:
        """Stop the session's clock."""
        self._ended = self._clock()

    def shares(self) -> list[tuple[str, int, float]]:
        """Return (bot, games, win share) of every bot, best first. It costs little while games are played."""
        return self._tally.shares()

    def board(self) -> Board:
        """Return the board of all kept matches."""
        self._take_in()
        return self._tally.board()

    def _take_in(self) -> None:
        """Count the matches that were kept since; all of them, where Ctrl-C cut off the counting of one."""
        kept = self._store.kept()
        if self._begun != self._tallied:
            self._tally, self._begun, self._tallied = Tally(self._bots), 0, 0
        while self._tallied < len(kept):
            self._begun = self._tallied + 1
            self._tally.add(self._store.results(kept[self._tallied]))
            self._tallied += 1
