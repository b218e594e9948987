"""Compute the report of a study from its folder alone: measures, differences, and the paragraph on methods.

Only whole deals count, from the first one up to the first that isn't complete. So a study that was stopped, or whose
budget is used up, has the same numbers as a shorter one."""

import platform
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from arena import __version__
from arena.formatting import format_count
from arena.models import Line, count_cut_off, read_calls, report_calls
from arena.referee import Record, sent_lines
from arena.review import MoveEvaluator, UnknownRulesError
from arena.run import RecordFileError, RunFolder, read_record_file, record_results
from arena.run.report import ModelCalls
from arena.study import Condition, StudyConfig
from arena.study_measures import Cases, Difference, GameTables, Key, Measured, compare_all, measure_all, tables

VERSION: Literal[1] = 1
Count = Annotated[int, Field(ge=0)]


class StudyReport(BaseModel):
    """The results of a study."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    version: Literal[1] = VERSION
    study: str = Field(description="the study's folder")
    design: Literal["mixed", "anchors"]
    seats: int
    players: list[str]
    anchors: list[str]
    conditions: dict[str, str] = Field(description="the ruleset of each condition")
    planned_deals: Count
    deals: Count = Field(description="that count: whole ones, up to the first that isn't complete")
    games: Count = Field(description="of these deals")
    measures: list[Measured]
    differences: list[Difference]
    calls: list[ModelCalls] = Field(description="all calls of the study, by bot")
    calls_cut_off: Count = Field(0, description="calls cut off by a crash, or open: in the budget, not in calls")
    notes: list[str] = Field(description="what the report leaves out, and why")
    methods: str


@dataclass(slots=True)
class Study:
    """A study's folder as read: config, lines of the journal, and the tables of the games of the `deals` that count."""

    path: Path
    config: StudyConfig
    lines: list[Line]
    games: list[GameTables] = field(default_factory=list)
    deals: int = 0

    @property
    def conditions(self) -> list[str]:
        return [condition.name for condition in self.config.conditions]

    @property
    def participants(self) -> list[str]:
        """The players, then the anchors."""
        return [*self.config.players, *self.config.anchors]

    def record(self, match: int) -> Record:
        """Return the record of a match. Raises RecordFileError if the record can't be read."""
        return read_record_file(RunFolder(self.path, record_results).record(match))

    def planned_record(self, match: int) -> Record:
        """Return the record of a match. Raises RecordFileError if it can't be read, or isn't of the planned game."""
        record, planned = self.record(match), self.config.spec(match, self.config.plan().tables[match].bots)
        if (record.header.key, record.header.bots, len(record.games)) != (planned.key, planned.bots, 1):
            raise RecordFileError(f"{self.path}: the record of match {match} isn't of this study; see arena verify")
        return record

    def call_rows(self) -> Iterator[tables.CallRow]:
        """Yield a row for each call of the journal."""
        player_of = {
            self.config.bots[bot].name: player
            for condition in self.config.conditions
            for bot, player in zip(condition.bots, self.participants, strict=True)
        }
        return tables.list_calls(self.lines, self.games, player_of)


def read_study(path: Path, on_game: Callable[[], object] = lambda: None) -> Study:
    """Read all games that count. on_game: called after each.

    Raises FolderError if the folder is no study's, RecordFileError if a record can't be read or isn't the planned one,
    RecordError if the engine doesn't reproduce one.
    """
    folder = RunFolder(path, record_results)
    study = Study(path, StudyConfig.from_json(folder.config()), read_calls(path))
    calls_by_match: dict[int, list[Line]] = defaultdict(list)
    for call in study.lines:
        calls_by_match[call["match"]].append(call)
    plan = study.config.plan()
    for deal in range(plan.rounds):
        matches = range(deal * plan.matches_per_round, (deal + 1) * plan.matches_per_round)
        if not all(folder.record(match).exists() for match in matches):
            break
        for match in matches:
            study.games.append(tables.read_game(study.config, study.planned_record(match), calls_by_match[match]))
            on_game()
        study.deals += 1
    return study


def make_study_report(study: Study, playouts: int, on_game: Callable[[], object] = lambda: None) -> StudyReport:
    """Return the report of a study.

    playouts: the number of games of each player in each condition whose decisions are judged. on_game: called after
    each of them. Raises RecordFileError if a record can't be read.
    """
    config, cases = study.config, Cases()
    for game in study.games:
        cases.add_game(game)
    notes = [*_add_costs(study, cases, playouts, on_game), *_list_notes(study)]
    return StudyReport(
        study=str(study.path),
        design=config.design,  # type: ignore[arg-type]
        seats=config.seats,
        players=list(config.players),
        anchors=list(config.anchors),
        conditions={condition.name: condition.rules.name for condition in config.conditions},
        planned_deals=config.plan().rounds,
        deals=study.deals,
        games=len(study.games),
        measures=list(measure_all(cases, study.participants, study.conditions)),
        differences=list(
            compare_all(cases, config.players, study.conditions, config.plan().rounds, config.games_of_deal())
        ),
        calls=report_calls(study.path) if study.lines else [],
        calls_cut_off=count_cut_off(study.path) if study.lines else 0,
        notes=notes,
        methods=_describe_methods(study),
    )


def _list_notes(study: Study) -> Iterator[str]:
    """Yield notes on what the report doesn't count."""
    if any(game.statements for game in study.games):
        yield "Free texts, and statements on attacks, have no truth in the cards: they aren't judged."
    planned = study.config.plan().rounds
    if study.deals < planned:
        yield f"{study.deals} of {format_count(planned, 'planned deal')} are complete, and count."


def _add_costs(study: Study, cases: Cases, playouts: int, on_game: Callable[[], object]) -> list[str]:
    """Add the cost of decisions in the first `playouts` deals to the cases; return a note on it, if there is one."""
    try:
        judged = _judge_games(study, cases, playouts, on_game)
    except UnknownRulesError as problem:
        return [f"No cost of decisions: {problem}."]
    note = (
        f"The cost of decisions is an estimate, from {format_count(judged, 'game')}: playouts by the sample bot "
        "strategist compare each move with the best one that it found."
    )
    return [note] if judged else []


def _judge_games(study: Study, cases: Cases, playouts: int, on_game: Callable[[], object]) -> int:
    """Judge one game of each player and condition in each of the first `playouts` deals, and add the costs to `cases`.

    Returns the number of these games. on_game: called after each. Raises UnknownRulesError if the evaluation doesn't
    know a condition's rules, RecordFileError if a record can't be read.
    """
    games_by_player: dict[tuple[str, str, int], list[GameTables]] = defaultdict(list)  # (player, condition, deal)
    for game in study.games:
        if game.deal < playouts:
            for player in study.config.players:
                if player in game.worth:
                    games_by_player[player, game.condition, game.deal].append(game)
    for (player, condition, deal), games in games_by_player.items():
        judged = games[deal % len(games)]
        record = study.record(judged.match)
        bot_index = record.games[0].seating[list(judged.worth).index(player)]
        lines = list(sent_lines(record, bot_index))
        for evaluation in MoveEvaluator().judge(lines, frozenset((0,))):
            cases.add(Key(player, condition, "cost"), deal, evaluation.cost)
        on_game()
    return len(games_by_player)


_SETTINGS = "A model's endpoint, temperature and prompt are in its files. "


def _describe_methods(study: Study) -> str:
    """Return the paragraph on methods."""
    config, plan = study.config, study.config.plan()
    key = f"seed {config.seed}" if config.seed is not None else "a random key"
    bots = "; ".join(_describe_bots(study))
    conditions = "; ".join(_describe_condition(condition, study) for condition in config.conditions)
    design = (
        "Each player sat among the same anchors, which no other player joined."
        if config.design == "anchors"
        else "Players and anchors shared tables, by a balanced schedule."
    )
    return (
        f"The games were played with Coup Arena {__version__} and Python {platform.python_version()}, at "
        f"{config.seats} seats. The deals follow from {key} (its key has the SHA-256 "
        f"{sha256(config.key).hexdigest()[:12]}). Participants, with the digests of their files: {bots}. "
        f"{_SETTINGS if study.lines else ''}Conditions: "
        f"{conditions}. {design} Each of {study.deals} deals ({plan.rounds} were planned) was played in all conditions "
        f"and in all rotations of each table, {format_count(len(study.games), 'game')} in all. A match is one game, so "
        "players carry nothing from game to game. Decisions that a model didn't answer in a usable form, after one "
        "repetition, were played by a default move and are counted as such. Failures of providers are no decisions: "
        "their games were played later. Intervals of rates have a level of 95 % and treat the games of a deal as one "
        "observation (Wilson's interval with the variance between deals, and Student's t). Differences are means over "
        "deals of paired differences. Their p-values and intervals come from bets on bounded means (Waudby-Smith and "
        "Ramdas, 2024) and stay valid at every interim result; each end of such an interval has a level of 95 %. "
        "Holm's method corrects the p-values for all comparisons of a measure. arena verify replays every game."
    )


def _describe_bots(study: Study) -> Iterator[str]:
    """Yield each bot's name, whether it is an anchor, its model if it made calls, and the digest of its files."""
    models = {call["player"]: call["model"] for call in study.lines}
    for bot in study.config.bots:
        anchor = "an anchor, " if bot.name in study.config.anchors else ""
        model = f"model {models[bot.name]}, " if bot.name in models else ""
        yield f"{bot.name} ({anchor}{model}files {bot.digest[:12]})"


def _describe_condition(condition: Condition, study: Study) -> str:
    """Return a condition's name and rules, and the bots that play in the place of a player."""
    substitutes = "".join(
        f", {name} plays as {study.config.bots[bot].name}"
        for index, (name, bot) in enumerate(zip(study.participants, condition.bots, strict=True))
        if bot != index
    )
    return f"{condition.name} (rules {condition.rules.name}, talk {condition.rules.talk}{substitutes})"
