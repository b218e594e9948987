"""Rate a ladder's versions with TrueSkill, by `arena.rating`: the standings, as a read model that is stored as JSON.

Each version has a rating of its own. Each active version has a row; versions without games have the last ones. Inactive
versions stay in the fit, since active ones have met them. The order of the matches doesn't matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from arena import rating
from arena.rating import Estimate, RatedField
from arena.run import Standing

if TYPE_CHECKING:
    from arena.rating import Fit, Strength
    from arena.rating.matches import Floats, Matches
    from ladder.store import Version

_DIGITS = 6  # decimals of a rating that determine the order; the fit's warm start changes the ninth


@dataclass(frozen=True, slots=True)
class Trend:
    """The change of a bot's adjusted win rate in 1 day and in 7 days; None if the bot had none at that time."""

    change_1d: float | None = None
    change_7d: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingsRow(Standing):
    """One version's row: its standing, its bot and the bot's owner.

    submitted_at: Unix time. owner: the login. trend: set when standings are shown, not when they are stored.
    """

    version: int
    number: int
    owner: str | None
    pseudonym: str
    is_reference: bool
    submitted_at: float
    language: str | None = None
    trend: Trend = Trend()

    @property
    def version_ref(self) -> str:
        """The version's name in results, such as "honest@3"."""
        return f"{self.bot}@{self.number}"

    def to_columns(self) -> dict[str, Any]:
        """Return the row's columns in the rating history."""
        columns = {name: getattr(self, name) for name in _HISTORY_COLUMNS}
        columns["best_rank"], columns["worst_rank"] = self.rank_range
        for name, estimate in (("rating", self.rating), ("win_rate_adjusted", self.win_rate_adjusted)):
            for end, attribute in _ESTIMATE_PARTS.items():
                columns[f"{name}{end}"] = getattr(estimate, attribute, None)
        return columns

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> "StandingsRow":
        """Return the row of columns of the rating history and of its bot."""
        values = {name: columns[name] for name in cls.__dataclass_fields__ if name in columns}
        values |= {name: read_estimate(columns, name) for name in ("rating", "win_rate_adjusted")}
        return cls(**values, rank_range=(columns["best_rank"], columns["worst_rank"]))


_HISTORY_COLUMNS = ("version", "position", "win_rate", "games", "matches", "forfeits", "faults")
_ESTIMATE_PARTS = {"": "value", "_low": "low", "_high": "high"}  # by the end of a column's name


def read_estimate(columns: Mapping[str, Any], name: str) -> Any:
    """Return the Estimate of a column of the rating history, with its ends; None without a value."""
    return None if columns[name] is None else Estimate(*(columns[f"{name}{end}"] for end in _ESTIMATE_PARTS))


@dataclass(frozen=True, slots=True)
class LeaderVerdict:
    """Whether the leader's win rate is, with 98 % probability or more, within 2 points of the best one.

    leader: a version ref, None if unknown. probability: a lower bound.
    """

    leader: str | None
    probability: float
    decided: bool


@dataclass(frozen=True, slots=True)
class CollusionSuspects:
    """Observed and expected wins of two users' bots, in the games that both played. Only staff may see it.

    owners: logins; the first gives wins to the second if `one_way`, else both gain. p: the probability, at most, that a
    field without collusion has a finding as clear as this.
    """

    owners: tuple[str, str]
    one_way: bool
    games: int
    matches: int
    wins: tuple[float, float]
    expected: tuple[float, float]
    p: float


@dataclass(frozen=True, slots=True)
class CollusionReport:
    """Suspected collusion in the first `games` games; recomputed when they grow by a twentieth or a suspect is gone."""

    games: int
    suspects: tuple[CollusionSuspects, ...] | None


@dataclass(frozen=True, slots=True)
class FieldStyle:
    """The mean play style of active bots: rates by name, with the same names as on each bot's page."""

    games: int
    bots: int
    public: dict[str, float]
    hidden: dict[str, float] | None


@dataclass(frozen=True, slots=True)
class Standings:
    """The standings, best first. fair_win_rate: each bot's win rate if all were equally strong.

    games, matches: all that are rated. created_at: Unix time of the computation. isolated: whether the sandbox isolates
    bots from the machine and from each other. revision: the ladder's newest event.
    """

    items: tuple[StandingsRow, ...]
    fair_win_rate: float
    games: int
    matches: int
    created_at: float
    verdict: LeaderVerdict | None = None
    collusion: CollusionReport | None = None
    play_style: FieldStyle | None = None
    isolated: bool | None = None
    revision: int | None = None

    def to_json(self) -> str:
        """Return the standings as JSON."""
        return _adapter().dump_json(self).decode()

    def find_row(self, version: int | None) -> StandingsRow | None:
        """Return the row of a version, by id; None if it has none."""
        return next((row for row in self.items if row.version == version), None)

    @property
    def win_rates(self) -> dict[str, float]:
        """Return the adjusted win rates by bot, of the bots that have one."""
        return {row.bot: row.win_rate_adjusted.value for row in self.items if row.win_rate_adjusted is not None}

    @classmethod
    def from_json(cls, text: str) -> "Standings":
        """Parse standings that `to_json` returned. The same text may return the same object."""
        return _parse(text)


@lru_cache(maxsize=4)
def _parse(text: str) -> Standings:
    return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[Standings]:
    return TypeAdapter(Standings)


def compute_standings(
    contestants: "Sequence[Version]",
    predecessors: Mapping[int, int],
    *,
    forfeits: Mapping[int, int],
    faults: Mapping[int, int],
    matches: "Matches",
    seats: int,
    timestamp: float,
    start: "Floats | None" = None,
    ranks_references: bool = True,
) -> "tuple[Standings, Fit]":
    """Return the standings, and the fit that they come from. The bots of `matches` are indices into `contestants`.

    predecessors: by version, the one before it of the same bot, if their strengths are linked. forfeits, faults: by
    version. timestamp: Unix time. start: that of an earlier fit. ranks_references: they have ranks, too.
    """
    index = {version.id: bot for bot, version in enumerate(contestants)}
    active = [bot for bot, version in enumerate(contestants) if version.is_active]
    references = [bot for bot in active if contestants[bot].is_reference]
    field = RatedField(
        bots=len(contestants),
        predecessors={index[version]: index[predecessor] for version, predecessor in predecessors.items()},
        anchors=references,
        active=active,
        unranked=[] if ranks_references else references,
    )
    fit = rating.rate(matches, field, start)

    def make_sort_key(bot: int) -> tuple[bool, float, str]:
        strength = fit.strengths[bot]
        return not strength.games, -round(strength.rating.value, _DIGITS), contestants[bot].version_ref

    order = sorted(active, key=make_sort_key)
    rows = (
        _make_row(position, contestants[bot], fit.strengths[bot], forfeits, faults)
        for position, bot in enumerate(order, 1)
    )
    standings = Standings(
        items=tuple(rows),
        fair_win_rate=1 / seats,
        games=int(matches.games.sum()),
        matches=len(matches.games),
        created_at=timestamp,
        verdict=_assess_leader(contestants, fit),
    )
    return standings, fit


def _assess_leader(contestants: "Sequence[Version]", fit: "Fit") -> LeaderVerdict:
    """Return whether the leader of a fit is decided. The bots of the fit are indices into `contestants`."""
    decision = rating.assess_leader(fit)
    leader = None if decision.leader is None else contestants[decision.leader].version_ref
    return LeaderVerdict(leader, decision.probability, decision.decided)


def _make_row(
    position: int, version: "Version", strength: "Strength", forfeits: Mapping[int, int], faults: Mapping[int, int]
) -> StandingsRow:
    """Return the row of an active version. forfeits, faults: by version."""
    return StandingsRow(
        **{field.name: getattr(strength, field.name) for field in fields(strength)},
        position=position,
        version=version.id,
        bot=version.name,
        number=version.number,
        owner=version.login,
        pseudonym=version.pseudonym,
        is_reference=version.is_reference,
        forfeits=forfeits[version.id],
        faults=faults[version.id],
        submitted_at=version.submitted_at,
        language=version.language,
    )


def find_collusion_suspects(contestants: "Sequence[Version]", fit: "Fit") -> CollusionReport:
    """Return the pairs of owners whose bots favour each other. `fit` must be of these contestants."""
    from ladder.standings.collusion import find_collusion  # imports numpy

    owners = sorted({version.login for version in contestants})
    numbers = {owner: number for number, owner in enumerate(owners)}
    authors = {bot: numbers[version.login] for bot, version in enumerate(contestants)}
    suspects = []
    for finding in find_collusion(fit, authors):
        values = {field.name: getattr(finding, field.name) for field in fields(finding) if field.name != "bots"}
        first, second = finding.bots
        suspects.append(CollusionSuspects(owners=(owners[first], owners[second]), **values))
    return CollusionReport(games=int(fit.matches.games.sum()), suspects=tuple(suspects))
