"""The plan of a study: every deal is the same in all rotations and conditions, and a file is checked."""

import json
from collections import Counter
from pathlib import Path

import pytest

from arena.bots import BotError, load_bots
from arena.coup import PRESETS, KeyedRng, deal_game
from arena.referee import MatchSettings, write_record
from arena.run import FolderError, RecordFileError
from arena.sandbox import SandboxChoice, programs_of
from arena.study import StudyConfig, bot_arguments, make_study_config
from arena.study.design_file import read_study_file
from arena.study_report import read_study
from tests.cases import each
from tests.replay.games import random_game

KEY = bytes(range(32))
MIXED = """
players = ["sample:honest", "sample:turtle", "sample:counter", "sample:opportunist"]
anchors = ["other=sample:honest"]
seats = 4
games = 30
conditions = { quiet = { rules = "coup" }, talk = { rules = "open-table", players = { turtle = "sample:honest" } } }
"""
ANCHORS = MIXED.replace("anchors = [", 'design = "anchors"\nanchors = ["x=sample:turtle", "y=sample:turtle", ')


def make(folder: Path, text: str) -> StudyConfig:
    file = folder / "study.toml"
    file.write_text(text)
    study = read_study_file(file)
    bots, _ = load_bots(bot_arguments(study), programs_of("process"))
    return make_study_config(study, tuple(bots), MatchSettings(), SandboxChoice(), KEY)


@each("text", [MIXED, ANCHORS])
def test_each_player_gets_each_seat_of_a_deal_equally_often_in_all_conditions(text: str, tmp_path: Path) -> None:
    config = make(tmp_path, text)
    assert StudyConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    plan = config.plan()
    assert plan.matches % plan.rounds == 0
    seen: Counter[tuple[int, str, str, int]] = Counter()
    dealt: dict[int, set[object]] = {}
    for table in plan.tables:
        place, spec = config.place_of(table.match), config.spec(table.match, table.bots)
        (seating,) = spec.seatings
        state = deal_game(spec.settings.rules, 4, KeyedRng(spec.key, 0), 0)
        dealt.setdefault(place.deal, set()).add((state.hands, state.deck))
        assert spec.settings.rules == place.condition.rules
        names = (*config.players, *config.anchors)
        for seat, bot in enumerate(seating):
            player = names[place.condition.bots.index(table.bots[bot])]
            seen[place.deal, place.condition.name, player, seat] += 1
    assert {len(deals) for deals in dealt.values()} == {1}
    assert len(set.union(*dealt.values())) == plan.rounds
    for deal in range(plan.rounds):
        for player in config.players:
            found = {seen[deal, name, player, seat] for name in ("quiet", "talk") for seat in range(4)}
            assert found == {config.games_of_deal() // 4}
    assert plan.rounds * config.games_of_deal() >= 30


@each(
    "change",
    [
        {"seats": 0},
        {"match_games": 8},
        {"bots": []},
        {"conditions": [{"name": "quiet", "rules": {"name": "coup"}, "bots": [99] * 5}]},
        {"conditions": [{"name": "quiet", "rules": {"name": "coup"}, "bots": [0]}]},
    ],
)
def test_a_changed_config_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    config = json.loads(json.dumps(make(tmp_path, MIXED).to_json()))
    with pytest.raises(FolderError, match="was changed"):
        StudyConfig.from_json({**config, **change})


def test_a_record_of_another_run_is_no_game_of_a_study(tmp_path: Path) -> None:
    config = make(tmp_path, MIXED)
    (tmp_path / "run.json").write_text(json.dumps(config.to_json()))
    (tmp_path / "records").mkdir()
    record = write_record(random_game(PRESETS["coup"], 4, seed=1))
    for match in range(config.plan().matches_per_round):
        (tmp_path / "records" / f"{match:06d}.jsonl").write_text(record)
    with pytest.raises(RecordFileError, match="the record of match 0 isn't of this study"):
        read_study(tmp_path)


def test_each_path_of_a_study_may_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tmp_path / "study.toml"
    file.write_text('budget = "~/budget.toml"\n' + MIXED.replace('rules = "coup"', 'rules = "~/my.toml"'))
    study = read_study_file(file)
    assert study.budget == str(tmp_path / "home/budget.toml")
    assert study.conditions["quiet"].rules == str(tmp_path / "home/my.toml")


def test_players_among_anchors_meet_the_same_opponents(tmp_path: Path) -> None:
    config = make(tmp_path, ANCHORS)
    for deal in range(config.plan().rounds):
        tables = [table for table in config.plan().tables if config.place_of(table.match).deal == deal]
        assert len({table.bots[1:] for table in tables}) == 1
        assert {table.bots[0] for table in tables} == {0, 1, 2, 3, len(config.bots) - 1}


@each(
    ("text", "problem"),
    [
        (MIXED.replace("games = 30", "games = 0"), "games: Input should be greater than or equal to 1"),
        (MIXED.replace("seats", "seat"), "seat: Extra inputs are not permitted"),
        (MIXED.replace("seats = 4", "seats = 7"), "7 seats for 5 bots"),
        (MIXED.replace("turtle =", "tortoise ="), "conditions.talk.players: no player is called tortoise"),
        (ANCHORS.replace("seats = 4", "seats = 5"), "5 seats need at least 4 anchors, not 3"),
        (MIXED.replace('"coup"', '"classroom"').replace("seats = 4", "seats = 2"), "conditions.quiet: "),
        (MIXED.replace("sample:honest", "~no-such-user/bot", 1), "~no-such-user/bot"),
        (MIXED.replace("open-table", "fast.toml"), "conditions.talk: its rules need the same [limits] as those of"),
    ],
)
def test_an_impossible_study_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "fast.toml").write_text("[limits]\nlimit_ms = 100\n")
    with pytest.raises(BotError) as refused:
        make(tmp_path, text)
    assert problem in str(refused.value)
