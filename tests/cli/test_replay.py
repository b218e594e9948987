"""`arena replay`: recorded games in words, and records that can't be replayed."""

import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arena import referee
from arena.cli import cli
from arena.coup import PRESETS, Blocked, Challenged
from arena.referee import replay_game as replayed
from arena.replay import list_steps
from tests.alternate_deals import disguise, redeal
from tests.replay.games import random_game

_SPOKEN = Challenged | Blocked


def replay(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["replay", *map(str, arguments)])


@pytest.fixture
def record_folder(tmp_path: Path) -> Path:
    return save(tmp_path, random_game(PRESETS["coup"], 4, seed=1))


def save(folder: Path, record: referee.Record) -> Path:
    (folder / "records").mkdir()
    (folder / "records" / f"{record.header.match:06d}.jsonl").write_text(referee.write_record(record), encoding="utf-8")
    return folder


def test_a_game_is_printed_turn_by_turn_with_all_cards(record_folder: Path) -> None:
    done = replay(record_folder)
    lines = done.stdout.splitlines()
    assert (done.exit_code, done.stderr) == (0, "")
    assert lines[0] == "match 0, game 0: coup, 4 seats, all cards"
    assert [line.split()[0] for line in lines[1:-2:2]] == [str(turn) for turn in range(1, len(lines[1:-2]) // 2 + 1)]
    assert "(bluff)" in done.stdout
    assert " wins after " in lines[-2]


def test_a_pause_comes_after_each_turn(record_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    turns = sum(line.lstrip()[:1].isdigit() for line in replay(record_folder).stdout.splitlines())
    assert set(pauses) == {0}
    pauses.clear()
    record = referee.read_record((record_folder / "records" / "000000.jsonl").read_text())
    command = sys.modules["arena.cli.replay"]
    command.print_narration(command.GameNarrator(record, record.games[0]), pause_s=1.2)
    assert pauses == [1.2] * turns


def test_a_seat_sees_its_own_cards_and_no_bluff_of_others(record_folder: Path) -> None:
    done = replay(record_folder, "--seat", "bot2")
    assert done.stdout.startswith("match 0, game 0: coup, 4 seats, as bot2 saw it\n")
    for line in done.stdout.splitlines()[1:-2]:
        if line.startswith("      "):
            hands = {part.split()[0]: part.split()[2:] for part in line.split(" | ")}
            hidden = {name for name, cards in hands.items() if "??" in cards}
            assert "bot2" not in hidden
            assert all(card == "??" or card.startswith("(") for name in hidden for card in hands[name])
        bluffs = [part for part in line.split(" · ") if "(bluff)" in part]
        assert all("bot2" in part for part in bluffs)
    assert replay(record_folder, "--seat", "2").stdout == done.stdout


def test_silence_in_every_window_is_printed_to_every_seat(record_folder: Path) -> None:
    record = random_game(PRESETS["coup"], 4, seed=1)
    windows = [step for step in list_steps(record.header, record.games[0]) if step.kind in ("challenge", "block")]
    silent = [step.kind for step in windows if not any(isinstance(event, _SPOKEN) for event in step.events)]
    assert 0 < len(silent) < len(windows)
    for seat in ([], *(["--seat", str(seat)] for seat in range(4))):
        assert re.findall(r"nobody (challenge|block)s\b", replay(record_folder, *seat).stdout) == silent


@pytest.mark.parametrize("name", ["coup", "inquisitor"])
def test_hidden_cards_do_not_change_the_output_for_a_seat(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All cards that the seat can't see are dealt again at each step, and replaced in private events of others."""
    rng, rules = random.Random(1), PRESETS[name]
    folder = save(tmp_path, random_game(rules, 3, seed=2))

    def elsewhere(header: referee.MatchHeader, game: referee.GameRecord) -> Iterator[Any]:
        for step in replayed(header, game):
            before, after = (redeal(state, seat, rng) for state in (step.before, step.after))
            yield changed(step, before=before, after=after, events=tuple(disguise(step.events, seat, rng, rules)))

    all_cards = replay(folder).stdout
    for seat in range(3):
        output = replay(folder, "--seat", str(seat))
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules["arena.replay.steps"], "replay_game", elsewhere)
            assert replay(folder, "--seat", str(seat)).stdout == output.stdout
            assert replay(folder).stdout != all_cards
        assert output.exit_code == 0


@pytest.mark.parametrize("command", [["replay"], ["review", "--bot", "bot0"]])
def test_a_record_that_cannot_be_read_is_named_and_the_others_are_shown(
    record_folder: Path, command: list[str]
) -> None:
    whole = CliRunner().invoke(cli, [*command, str(record_folder)])
    (record_folder / "records" / "000009.jsonl").write_text("cut")
    some = CliRunner().invoke(cli, [*command, str(record_folder)])
    assert (some.exit_code, some.stdout) == (0, whole.stdout)
    left_out = [line for line in some.stderr.splitlines() if "skipped" in line]
    assert len(left_out) == 1
    assert "000009.jsonl: the record is cut off" in left_out[0]
    for file in (record_folder / "records").iterdir():
        file.write_text("cut")
    for path in (record_folder, file):
        none = CliRunner().invoke(cli, [*command, str(path)])
        assert (none.exit_code, none.stdout, len(none.stderr.splitlines())) == (2, "", 1)
        assert "the record is cut off" in none.stderr


def test_games_are_chosen_by_loser_and_first_turn(record_folder: Path) -> None:
    winner = replay(record_folder).stdout.splitlines()[-2].split()[0]
    assert replay(record_folder, "--lost-by", winner).exit_code == 2
    loser = next(name for name in ("bot0", "bot1") if name != winner)
    assert replay(record_folder, "--lost-by", loser).exit_code == 0
    assert replay(record_folder, "--from", "3").stdout.splitlines()[1].split()[0] == "3"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--game", "7"], "has no such game"),
        (["--match", "7"], "has no such game"),
        (["--lost-by", "unknown"], "has no bot"),
        (["--seat", "9"], "the seats are 0 to 3"),
        (["--faults"], " has a fault of a bot"),
        (["--faults", "--lost-by", "bot0"], " was lost by bot0 and has a fault of a bot"),
        (["--faults", "--game", "7"], "has no such game"),
    ],
)
def test_an_unknown_game_or_bot_is_refused_with_a_list(record_folder: Path, arguments: list[str], said: str) -> None:
    done = replay(record_folder, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_page_is_one_file_with_a_note_that_it_shows_all_cards(record_folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = replay(record_folder, "--html", page)
    assert done.exit_code == 0
    assert "1 game in" in done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert replay(record_folder, "--html", tmp_path / "no" / "page.html").exit_code == 1


def test_the_page_of_many_bots_is_named_after_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = random_game(PRESETS["coup"], 4, seed=1)
    other_record = changed(record, header=changed(record.header, match=1, bots=("a", "b", "c", "d")))
    records = save(tmp_path, record) / "records"
    (records / "000001.jsonl").write_text(referee.write_record(other_record), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("newest").symlink_to(records.parent)
    for source, name in ((".", tmp_path.name), ("newest", "newest")):
        assert replay(source, "--html", "page.html").exit_code == 0
        assert f"<title>Coup: 8 bots of {name}</title>" in Path("page.html").read_text("utf-8")


def test_a_page_for_one_bot_has_only_its_own_view(record_folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = replay(record_folder, "--html", page, "--seat", "bot2")
    assert done.stderr.replace("\n", " ").endswith("It contains only what bot2 could know ")
    [text] = re.findall('<script type="application/json" id="matches">(.*?)</script>', page.read_text("utf-8"))
    for match in json.loads(text)["matches"]:
        assert match["viewers"] == [2]
        for game in match["games"]:
            for bot, hand in zip(game["seating"], game["start"]["hands"], strict=True):
                assert (hand == [None, None]) is (bot != 2)
    assert "with --html name a bot" in replay(record_folder, "--html", page, "--seat", "0").stderr.replace("\n", " ")
    assert "--from can't be combined with --html" in replay(record_folder, "--html", page, "--from", "2").stderr


def test_the_page_of_lost_games_opens_with_the_view_of_the_bot(record_folder: Path, tmp_path: Path) -> None:
    winner = replay(record_folder).stdout.splitlines()[-2].split()[0]
    loser = next(name for name in ("bot0", "bot1") if name != winner)
    page = tmp_path / "lost.html"
    done = replay(record_folder, "--lost-by", loser, "--html", page)
    assert f"It contains all cards, and opens with what {loser} knew" in done.stderr.replace("\n", " ")
    text = page.read_text("utf-8")
    assert f"This page contains all cards. It opens with what {loser} knew.<" in text
    assert f'id="front">"{loser}"<' in text
    replay(record_folder, "--lost-by", loser, "--seat", loser, "--html", page)
    text = page.read_text("utf-8")
    assert f"This page contains only what {loser} could know.<" in text
    assert 'id="front">null<' in text


def test_a_seats_games_are_not_chosen_by_faults_that_only_another_knows(tmp_path: Path) -> None:
    """The choice of games would reveal them."""
    record = random_game(PRESETS["coup"], 4, seed=1)
    record_folder = save(
        tmp_path, changed(record, games=(changed(record.games[0], faults=(referee.Fault(1, "late_reply"),)),))
    )
    assert replay(record_folder, "--faults").exit_code == 0
    assert replay(record_folder, "--faults", "--seat", "bot1").exit_code == 0
    assert replay(record_folder, "--faults", "--seat", "bot2").exit_code == 2


def test_a_name_that_is_a_number_is_a_name(tmp_path: Path) -> None:
    record = random_game(PRESETS["coup"], 4, seed=1)
    game = record.games[0]
    named, faulty = game.seating[1], game.seating[0]
    bots = tuple("0" if bot == named else name for bot, name in enumerate(record.header.bots))
    faults = (referee.Fault(faulty, "late_reply"),)
    folder = save(
        tmp_path, changed(record, header=changed(record.header, bots=bots), games=(changed(game, faults=faults),))
    )
    assert replay(folder, "--faults", "--seat", "0").exit_code == 2
    assert replay(folder, "--seat", "0").output.splitlines()[0].endswith("as 0 saw it")
    assert replay(folder, "--seat", "9" * 5000).exit_code == 2
