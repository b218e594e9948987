"""Read the file of a study, in TOML. Paths in it are relative to its folder."""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arena.bots import BotError, read_toml
from arena.escaping import escape_control

MAX_GAMES = 100_000


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class ConditionTable(_Table):
    """A condition: what all players play under."""

    rules: str = Field("coup", description="a preset, or a ruleset's file")
    players: dict[str, str] = Field(
        default_factory=dict,
        description="player -> the folder that plays in its place, such as one with another prompt",
    )


class StudyFile(_Table):
    """The file of a study."""

    players: list[str] = Field(min_length=1, description="folders of models or bots; NAME=FOLDER names one")
    anchors: list[str] = Field([], description="bots of known strength, such as sample:honest")
    design: Literal["mixed", "anchors"] = Field(
        "mixed",
        description="mixed: players and anchors share tables; anchors: each player sits among anchors alone, which "
        "needs an anchor for each other seat",
    )
    seats: int = Field(4, ge=2, le=10, description="players at a table")
    games: int = Field(
        ge=1, le=MAX_GAMES, description="of each player in each condition, rounded up to whole deals in all seats"
    )
    conditions: dict[str, ConditionTable] = Field(min_length=1, description="by name; all of them get the same deals")
    budget: str | None = Field(None, description="the file of the budget, as for arena run --budget")
    seed: int | None = Field(None, description="makes all deals repeatable; without one they are drawn")


def read_study_file(file: Path) -> StudyFile:
    """Return the content of a study's file, with all paths made absolute. Raises BotError, with problem and fix."""
    study, folder = _parse_study_file(file), file.absolute().parent
    conditions = {
        name: ConditionTable(
            rules=_absolute_rules(table.rules, folder),
            players={player: _absolute(path, folder) for player, path in table.players.items()},
        )
        for name, table in study.conditions.items()
    }
    return study.model_copy(
        update={
            "players": [_absolute(argument, folder) for argument in study.players],
            "anchors": [_absolute(argument, folder) for argument in study.anchors],
            "conditions": conditions,
            "budget": study.budget and _absolute_path(study.budget, folder),
        }
    )


def _parse_study_file(file: Path) -> StudyFile:
    """Return the content of a study's file as it stands. Raises BotError, with problem and fix."""
    file_name = escape_control(file)
    try:
        return StudyFile.model_validate(read_toml(file, "games = 48"))
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        field = escape_control(".".join(map(str, problem["loc"])))
        fields = ", ".join(StudyFile.model_fields)
        raise BotError(f"{file_name}: {field}: {escape_control(problem['msg'])}.\nThe fields are {fields}.") from None
    except ValueError as error:
        raise BotError(f"{file_name}: {error}") from None
    except OSError as error:
        raise BotError(f"{file_name} can't be read: {error.strerror}.\nName a study's file.") from None


def _absolute_rules(name_or_path: str, folder: Path) -> str:
    """Return rules with an absolute path unless they are a preset, by the distinction of `arena.run.load_ruleset`."""
    is_file = name_or_path.endswith(".toml") or "/" in name_or_path
    return _absolute_path(name_or_path, folder) if is_file else name_or_path


def _absolute_path(path: str, folder: Path) -> str:
    return str(folder / os.path.expanduser(path))


def _absolute(argument: str, folder: Path) -> str:
    """Return a bot's argument, `BOT` or `name=BOT`, with an absolute path unless it is a sample."""
    name, sign, path = argument.rpartition("=")
    return argument if path.startswith("sample:") else f"{name}{sign}{_absolute_path(path, folder)}"
