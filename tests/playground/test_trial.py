"""Tests of trials in CPython: the games of `arena.local.play`, and what a person reads about a faulty program."""

import io
import json
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from arena.compare import UNDECIDED_ADVICE, Evidence
from arena.local import play
from arena.playground_worker import trial
from arena.referee import write_record
from protocol.kits import coup_kit
from tests.cases import each

SAMPLES = Path(__file__).parents[2] / "sample_bots"
STARTER = (SAMPLES / "python/bot.py").read_text("utf-8")
OPPONENTS = ["honest", "counter", "turtle"]


@pytest.fixture(autouse=True)
def _keep_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coup_kit", coup_kit)


def bot(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    return f"from coup_kit import Bot, run\n\nclass MyBot(Bot):\n    def turn(self, game):\n{lines}\n\nrun(MyBot())\n"


def arguments(source: str, **others: Any) -> str:
    return json.dumps({"source": source, "opponents": OPPONENTS, "games": 8, "seed": 1, **others})


def run(source: str, **others: Any) -> dict[str, Any]:
    posted: list[Any] = []
    trial.run_trial(arguments(source, **others), posted.append)
    return json.loads(posted[-1])  # type: ignore[no-any-return]


def call(function: Any, **values: Any) -> Any:
    return json.loads(function(json.dumps(values)))


def test_a_trial_plays_the_games_of_arena_local_and_shows_progress_after_each_match() -> None:
    made = trial._Trial(json.loads(arguments(STARTER, games=24)), lambda _: None)
    records = [made.play_match(number) for number in range(6)]
    progress = [made.play_next_match() for _ in records]
    namespace: dict[str, Any] = {"__name__": "bot"}
    exec(STARTER, namespace)
    bots = {"mybot": namespace["MyBot"], **{name: f"sample:{name}" for name in OPPONENTS}}
    expected = play(bots, 24, seed=1, match_games=4, records=True)
    assert [*map(write_record, records)] == [*map(write_record, expected.records)]
    assert [each["played"] for each in progress] == [4, 8, 12, 16, 20, 24]
    assert [each["done"] for each in progress] == [False] * 5 + [True]
    rates = {rate["name"]: (rate["value"], *rate["interval"]) for rate in progress[-1]["win_rates"]}
    assert rates == {name: (rate.value, *rate.interval) for name, rate in expected.win_rates.items()}
    assert progress[-1]["fair_share"] == 0.25


def test_lost_games_have_turn_winner_and_cause_and_open_in_the_replay_with_what_was_printed() -> None:
    last = run(bot('print("my turn", game.turn)'))
    lost = last["lost"][0]
    assert lost["winner"] in OPPONENTS
    assert "mybot is out" in lost["cause"]
    assert lost["turn"] > 0
    assert "my turn" in last["output"]
    page = call(trial.show_game, **last["lost"][-1])["page"]
    assert "my turn" in page
    assert page.count("<details>") == 1, "the page has one game"


def test_output_is_limited() -> None:
    assert len(run(bot('print("x" * 5000)'))["output"]) == trial.MAX_OUTPUT


@each(
    "source, line, message",
    [
        ("x = (\n", 1, "SyntaxError: '(' was never closed"),
        ("import nothing_here\n", 1, "ModuleNotFoundError: No module named 'nothing_here'"),
        ("print(1)\n", None, "ValueError: the program ends without run(MyBot()): add it as the last line"),
        ("from coup_kit import *\nrun(Bot)\n", 2, "TypeError: run(Bot) got a class instead of a bot; write run(Bot())"),
        ("exit()\n", 1, "SystemExit: None"),
    ],
)
def test_a_program_that_is_no_bot_has_a_problem_with_its_line(source: str, line: int | None, message: str) -> None:
    [problem] = run(source)["faults"]
    assert (problem["line"], problem["message"]) == (line, message)


@each(
    "body, line, message",
    [
        ("income = 1\nreturn game.cards[7]", 6, "IndexError: list index out of range"),
        ("return 'tax'", 4, "ValueError: turn() returned 'tax', which is neither in game.legal nor an index of it"),
        (
            "return game.find('assasinate')",
            5,
            "ValueError: no rules have a move 'assasinate'; did you mean 'assassinate'?",
        ),
        ("return self.turn(game)", 5, "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_faults_are_counted_by_line_and_end_the_trial_after_the_match(body: str, line: int, message: str) -> None:
    last = run(bot(body))
    [fault] = last["faults"]
    assert (fault["line"], fault["message"].partition(" while")[0]) == (line, message)
    assert fault["at"]["kind"] == "turn"
    assert fault["count"] > 4
    assert not fault["restart"]
    assert (last["played"], last["done"]) == (4, True)


def test_a_fault_for_lack_of_memory_asks_for_another_worker() -> None:
    assert run(bot("raise MemoryError"))["faults"][0]["restart"]


def test_a_misspelt_method_is_reported_once() -> None:
    last = run("from coup_kit import Bot, run\nclass B(Bot):\n    def challeng(self, game): pass\nrun(B())\n")
    assert last["output"].count("did you mean challenge?") == 1


@each(
    "source, lines",
    [
        ("while True:\n    pass\n", {1, 2}),
        (bot("while True: pass"), {5}),
        (bot("try:\n    while game:\n        game.turn\nexcept Exception:\n    pass"), {6, 7}),
    ],
)
def test_the_guard_names_the_line_of_an_endless_loop(
    source: str, lines: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "GUARDED_S", 0.1)
    reached: list[int] = []
    problem = json.loads(trial.find_endless_loop(arguments(source, match=0), reached.append))["problem"]
    assert problem["line"] in lines
    assert "it takes too long, or never ends. A match allows 0.5 s" in problem["message"]
    assert problem["line"] in reached, "a loop in C is found by the last line that was reached"


def test_the_guard_reports_an_error_of_a_match_in_place_of_a_loop() -> None:
    opponent = {
        "name": "mute",
        "source": "from coup_kit import run\nrun(type('Mute', (), {'reply': lambda *_: None})())",
    }
    text = trial.find_endless_loop(arguments(bot("return 0"), opponents=[opponent], match=0))
    assert "to the hello" in json.loads(text)["problem"]["message"]


def test_a_version_is_compared_with_an_earlier_one_on_the_same_deals() -> None:
    before = run(bot("return 0"), games=160)
    after = run(STARTER, games=160, previous=before["worth"])
    evidence = Evidence(0.05)
    for old, new in zip(before["worth"], after["worth"], strict=True):
        evidence.add([*zip(old, new, strict=True)])
    assert after["verdict"] == "better"
    assert after["difference"] == f"{evidence.result().verdict_text.removeprefix('NEW is ')}. {trial.POINT}"
    early = run(STARTER, games=8, previous=before["worth"])
    assert (early["verdict"], early["difference"].partition(":")[0]) == (None, "undecided after 8 pairs")
    assert early["difference"].endswith(UNDECIDED_ADVICE)
    same = run(STARTER, games=8, previous=after["worth"])
    assert (same["verdict"], same["difference"]) == (None, "the same result in all 8 deals that both versions played")


def test_an_earlier_version_is_a_opponent() -> None:
    last = run(STARTER, opponents=["honest", "honest", {"name": "version 1", "source": bot("return 0")}])
    assert {rate["name"] for rate in last["win_rates"]} == {"mybot", "honest", "honest (2)", "version 1"}


def test_the_folder_has_the_program_and_what_belongs_to_a_new_bot() -> None:
    packed = call(trial.pack_folder, source=STARTER, name="mybot")
    with ZipFile(io.BytesIO(b64decode(packed["zip"]))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    assert files.keys() == {f"mybot/{name}" for name in ("bot.py", "bot.toml", "coup_kit.py", "README.md")}
    assert (packed["file"], files["mybot/bot.py"]) == ("mybot.zip", STARTER)
    assert "test_bot.py" not in files["mybot/README.md"]
