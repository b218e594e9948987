"""Define the config of a study: a run whose matches are one game each, in deals that all conditions share.

A deal is a key. Under it each table plays all its rotations, so that each bot gets each seat's cards, in all
conditions. In the design `mixed`, a deal has the tables of one round of the schedule of players and anchors. In the
design `anchors`, it has a table for each player with the same anchors, so that two players meet the same opponents.
Matches are numbered deal by deal, so that an early end leaves whole deals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from arena.bots import Bot, BotError
from arena.coup import Ruleset, derive_key, from_dict, to_dict
from arena.referee import MatchSettings, MatchSpec
from arena.run import FolderError, RunConfig, load_ruleset, load_ruleset_limits
from arena.sandbox import SandboxChoice
from arena.schedule import MatchPlan, PlannedMatch, keyed_shuffle, plan_matches

if TYPE_CHECKING:
    from arena.study.design_file import StudyFile


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: its rules, and the bot of each player, then of each anchor, as indices in the config's bots."""

    name: str
    rules: Ruleset
    bots: tuple[int, ...]


class Place(NamedTuple):
    """The place of a match in a study. bots: those of its table, as indices in the config's bots."""

    deal: int
    condition: Condition
    rotation: int
    bots: tuple[int, ...]


@dataclass(frozen=True)
class StudyConfig(RunConfig):
    """A study. players, anchors: their names. games: of each player in each condition, at least.

    match_games: the rotations of a table, which equal the seats.
    """

    COMMAND: ClassVar[str] = "study run"

    design: str = "mixed"
    players: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()

    def plan(self) -> MatchPlan:
        """Return all matches. Raises ValueError, with the allowed values, if there is no such plan."""
        return self._plan

    def place_of(self, match: int) -> Place:
        """Return the place of a match of the plan."""
        plan = self.plan()
        deal, match_of_deal = divmod(match, plan.matches_per_round)
        condition = match_of_deal // (plan.matches_per_round // len(self.conditions))
        return Place(deal, self.conditions[condition], match % self.seats, plan.tables[match].bots)

    def games_of_deal(self) -> int:
        """Return the number of games of a player in a deal of one condition."""
        return self.seats * sum(0 in table for table in self._tables[0])

    def key_of(self, match: int) -> bytes:
        """Return the key of a match: all matches of a deal have the same."""
        return derive_key(self.key, f"deal|{match // self.plan().matches_per_round}")

    def spec(self, match: int, bots: Sequence[int]) -> MatchSpec:
        """Return the spec of a match between these bots: one game of its rotation, under its condition's rules."""
        place, spec = self.place_of(match), super().spec(match, bots)
        settings = replace(self.settings, rules=place.condition.rules)
        return replace(spec, settings=settings, seatings=spec.seatings[place.rotation : place.rotation + 1])

    def to_json(self) -> dict[str, Any]:
        conditions = [
            {"name": condition.name, "rules": to_dict(condition.rules), "bots": condition.bots}
            for condition in self.conditions
        ]
        return {**super().to_json(), "conditions": conditions}

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> Self:
        """Return the config from the content of run.json. Raises FolderError for another version or invalid data."""
        if config.get("command") != cls.COMMAND:
            return super().from_json(config)  # raises FolderError, as for each other command
        try:
            conditions = tuple(
                Condition(condition["name"], from_dict(condition["rules"]), tuple(condition["bots"]))
                for condition in config["conditions"]
            )
            names = {field: tuple(config[field]) for field in ("players", "anchors")}
            known_bots = range(len(config["bots"]))
            if not all(bot in known_bots for condition in conditions for bot in condition.bots):
                raise ValueError("a condition has an unknown bot")
            if config["match_games"] != config["seats"]:
                raise ValueError(f"match_games is {config['match_games']!r}, not the number of seats")
        except (AttributeError, LookupError, TypeError, ValueError) as problem:
            raise FolderError(f"run.json was changed: {problem!r}; start a new study") from None
        return super().from_json({**config, "conditions": conditions, **names})

    @cached_property
    def _plan(self) -> MatchPlan:
        """The matches in order: by deal, condition, table and rotation. Raises ValueError if there is no such plan."""
        bots_by_match = (
            tuple(condition.bots[bot] for bot in table)
            for tables in self._tables
            for condition in self.conditions
            for table in tables
            for _ in range(self.seats)
        )
        matches = tuple(PlannedMatch(match, bots) for match, bots in enumerate(bots_by_match))
        return MatchPlan(len(self._tables), len(matches) // len(self._tables), 1, matches)

    @cached_property
    def _tables(self) -> list[list[tuple[int, ...]]]:
        """The tables of each deal, as indices of players, then of anchors. Raises ValueError if there is no plan."""
        return self._draw_anchor_tables() if self.design == "anchors" else self._schedule_mixed_tables()

    def _draw_anchor_tables(self) -> list[list[tuple[int, ...]]]:
        """Return for each deal a table of each player, with the same drawn anchors.

        Raises ValueError if there are fewer anchors than a player needs.
        """
        players, anchors, opponents = len(self.players), len(self.anchors), self.seats - 1
        if anchors < opponents:
            raise ValueError(
                f"{self.seats} seats need at least {opponents} anchor{'s' * (opponents > 1)}, not {anchors}"
            )
        shuffle, deals = keyed_shuffle(self.key, "anchors"), -(-self.games // self.seats)
        drawn = [shuffle(range(players, players + anchors), str(deal))[:opponents] for deal in range(deals)]
        return [[(player, *anchors_of_deal) for player in range(players)] for anchors_of_deal in drawn]

    def _schedule_mixed_tables(self) -> list[list[tuple[int, ...]]]:
        """Return the rounds of a schedule of players and anchors. Raises ValueError if no schedule is possible."""
        participants = len(self.players) + len(self.anchors)
        games = -(-self.games * participants // self.seats)
        plan = plan_matches(participants, self.seats, games, self.seats, keyed_shuffle(self.key, "schedule"))
        tables, per_round = [table.bots for table in plan.tables], plan.matches_per_round
        return [tables[start : start + per_round] for start in range(0, len(tables), per_round)]


def make_study_config(
    study: "StudyFile", bots: tuple[Bot, ...], settings: MatchSettings, sandbox: SandboxChoice, key: bytes
) -> StudyConfig:
    """Return the config of a study.

    Raises BotError for an unknown player, or if rules or numbers allow no plan, RulesetError for unknown rules.
    bots: those of `bot_arguments`, in the same order. key: decides all deals, 32 bytes.
    """
    players = len(study.players)
    names = [bot.name for bot in bots[: players + len(study.anchors)]]
    conditions = tuple(_make_conditions(study, names))
    config = StudyConfig(
        bots=bots,
        seats=study.seats,
        games=study.games,
        match_games=study.seats,
        key=key,
        seed=study.seed,
        settings=replace(settings, rules=conditions[0].rules),
        sandbox=sandbox,
        design=study.design,
        players=tuple(names[:players]),
        anchors=tuple(names[players:]),
        conditions=conditions,
    )
    try:
        config.plan()
    except ValueError as problem:
        raise BotError(f"{problem}.\nChange players, anchors, seats or games.") from None
    return config


def _make_conditions(study: "StudyFile", names: Sequence[str]) -> Iterator[Condition]:
    """Yield the conditions in the file's order. names: of the players, then of the anchors.

    Raises BotError for an unknown player, or rules that don't allow these seats, RulesetError for unknown rules.
    """
    players = names[: len(study.players)]
    substitutes = count(len(names))  # in the order of `bot_arguments`
    limits = load_ruleset_limits(next(iter(study.conditions.values())).rules)
    for name, table in study.conditions.items():
        bots = list(range(len(names)))
        for player in table.players:
            if player not in players:
                raise BotError(
                    f"conditions.{name}.players: no player is called {player}.\nThe players are {', '.join(players)}."
                )
            bots[players.index(player)] = next(substitutes)
        rules = load_ruleset(table.rules)
        if problem := rules.problem(study.seats):
            raise BotError(f"conditions.{name}: {problem}")
        if load_ruleset_limits(table.rules) != limits:
            raise BotError(f"conditions.{name}: its rules need the same [limits] as those of the first condition")
        yield Condition(name, rules, tuple(bots))


def bot_arguments(study: "StudyFile") -> tuple[str, ...]:
    """Return the arguments of all bots of a study: players, anchors, then those that play in a condition."""
    substitutes = (path for table in study.conditions.values() for path in table.players.values())
    return (*study.players, *study.anchors, *substitutes)
