"""Tests of bots in process: messages, cards and results as over pipes, and an exception for every mistake.

Source: docs/howto/bots/use-bots-in-python.md, and protocol/SPEC.md for the messages.
"""

import csv
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from arena import coup, local, referee
from arena.limits import Limits
from arena.local import BotArgument, JobError, LocalPlayer, Results, Rows, WrongReplyError, play, sweep
from arena.referee.process import play_match
from arena.run import RulesetError
from arena.sandbox import InProcessSandbox, Program, Script, ScriptPeer
from arena.stats import StatsAccumulator
from arena.stats.report import make_stats_report, stats_report_to_csv
from protocol.kits.coup_kit import Bot
from tests.cases import each
from tests.documents import document
from tests.games import played

Message = dict[str, Any]
Game = tuple[str, int, int]  # the ruleset's name, seats, seed

GAMES: list[Game] = [
    *((name, seats, 0) for name, rules in coup.PRESETS.items() for seats in [*coup.seat_counts(rules)][::3]),
    *((f"random {seed}", 2 + seed % 9, seed) for seed in range(500, 515)),
    *((f"random {seed}", 2, seed) for seed in range(600, 606)),  # half of them with a draft
]


class Dice:
    """A bot that plays a legal move at random, and keeps all messages. It seldom challenges and blocks."""

    def __init__(self, seed: int = 0) -> None:
        self.pick = random.Random(seed)
        self.messages: list[Message] = []
        self.talk = False

    def reply(self, message: Message) -> Message | None:
        self.messages.append(message)
        if message["type"] == "hello":
            self.pick = random.Random(message["bot_seed"])
            self.talk = message["ruleset"]["talk"] == "text"
            return {"type": "hello"}
        if message["type"] != "request":
            return None
        calm = message["kind"] in ("challenge", "block") and self.pick.random() < 0.7
        choice = 0 if calm else self.pick.randrange(len(message["legal"]))
        words = {"say": [{"says": "text", "text": f"{message['kind']} {message['id']}"}]} if self.talk else {}
        if self.pick.random() < 0.5:
            return {"id": message["id"], "choice": choice, **words}
        return {"id": message["id"], "move": message["legal"][choice], **words}


# --- messages ---------------------------------------------------------------------------------------------------------


@cache
def pairs(name: str, seats: int, seed: int) -> list[tuple[Message, bytes]]:
    """Return all messages of a random game, and the lines that the wire writes at the same moments."""
    return list(_pairs(name, seats, seed))


def _pairs(name: str, seats: int, seed: int) -> Iterator[tuple[Message, bytes]]:
    steps = played(name, seats, seed, 0.01 * (seed % 2))
    handles = list("ABCDEFGHIJ"[:seats])
    shown, written = referee.messages.MessageCursor(seats), referee.wire.LineCursor(seats)
    for seat in range(seats):
        start = coup.view_from_seat(steps[0].before, seat), 3, f"{seat:032x}", handles
        yield referee.messages.make_game_start(*start), referee.wire.encode_game_start(*start)
    for step in steps:
        question = referee.wire.PhaseRequests(step.before.board, 3)
        for seat in step.before.board.phase.asked:
            sight = coup.view_from_seat(step.before, seat)
            rest = referee.make_legal_moves(coup.list_legal_moves(sight)), 500, 8123
            yield (
                referee.messages.make_request(sight, shown.known(sight), 3, 17, shown.take(seat), *rest),
                question.line(sight, written.known(sight), 17, written.take(seat), *rest),
            )
        shown.add(step.events)
        written.add(step.events)
    board = steps[-1].after.board
    for seat in range(seats):
        yield (
            referee.messages.make_game_over(3, board, shown.take(seat)),
            referee.wire.encode_game_over(3, board, written.take(seat)),
        )


@each("game", GAMES)
def test_a_message_in_process_is_the_line_of_the_wire(game: Game) -> None:
    """It has every field, in the same order, with the types that JSON gives."""
    for message, line in pairs(*game):
        assert json.dumps(message, separators=(",", ":")).encode() + b"\n" == line
        assert is_plain(message)


def is_plain(value: object) -> bool:
    """Return whether a value has only types of JSON: a member of an enumeration would print differently."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return value is None or type(value) in (str, int, bool)


def test_the_games_above_have_every_kind_of_request_and_event() -> None:
    kinds, events = set(), set()
    for game in GAMES:
        for message, _ in pairs(*game):
            kinds.add(message.get("kind"))
            events.update(event["event"] for event in message.get("events", ()))
    assert len(kinds - {None}) == 11
    assert len(events) == 16


def lists_and_dicts(value: object) -> Iterator[int]:
    """Yield the identity of each list and dict in a message."""
    if isinstance(value, dict | list):
        yield id(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from lists_and_dicts(item)


@pytest.mark.parametrize("name", [name for name, rules in coup.PRESETS.items() if rules.problem(4) is None] + ["duel"])
def test_changes_of_a_message_by_a_bot_have_no_effect(name: str) -> None:
    for seed in range(3):
        kept = [message for message, _ in pairs(name, 2 if name == "duel" else 4, 10 + 2 * seed)]
        parts = [part for message in kept for part in lists_and_dicts(message)]
        assert len(parts) == len(set(parts))


# --- a match ----------------------------------------------------------------------------------------------------------


def over_pipes(peer: ScriptPeer) -> None:
    bot = Dice()
    for line in peer.lines():
        reply = bot.reply(json.loads(line))
        if reply is not None:
            peer.send(json.dumps(reply).encode() + b"\n")


def spec(rules: coup.Ruleset, seats: int, games: int) -> referee.MatchSpec:
    names = tuple("abcdef"[:seats])
    seatings = tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(games))
    return referee.MatchSpec(4, bytes(range(32)), names, seatings, referee.MatchSettings(rules=rules))


@pytest.mark.parametrize(
    ("name", "seats"), [*(("coup", 4), ("treason", 3), ("duel", 2), ("reformation-inquisitor", 5)), ("open-table", 3)]
)
def test_a_match_in_process_is_the_match_over_pipes(name: str, seats: int) -> None:
    """The same key and bots give the same greetings, IDs, games and events; only times differ."""
    match = spec(coup.PRESETS[name], seats, 3)
    script: Script = over_pipes
    sandbox = InProcessSandbox({"bot": script})
    piped = play_match(match, lambda bot: sandbox.start(Program(("bot",), Path()), Limits())).record
    here = local.play_match(match, [LocalPlayer(name, Dice) for name in match.bots], keep_moves=True)
    assert piped.games[0].faults == ()
    assert bool(piped.games[0].statements) == (name == "open-table")
    texts = [
        referee.write_record(referee.Record(record.header, tuple(replace(game, times=()) for game in record.games)))
        for record in (here, piped)
    ]
    assert texts[0] == texts[1]


def test_a_bot_gets_the_messages_of_the_match_and_of_each_game() -> None:
    """SPEC.md: hello, then for each game its start, requests and end, then match_over; IDs increase."""
    bots = [Dice(1), Dice(2)]
    play(bots, games=2, match_games=2, seed=1)
    kinds = [message["type"] for message in bots[0].messages]
    shown = "".join(
        {"hello": "h", "game_start": "(", "request": "", "game_over": ")"}.get(kind, kind) for kind in kinds
    )
    assert shown == "h()()match_over"
    numbers = [message["id"] for message in bots[0].messages if message["type"] == "request"]
    assert numbers == list(range(1, len(numbers) + 1))
    hello = bots[0].messages[0]
    assert hello["match"]["games"] == 2
    assert hello["match"]["your_handle"] in hello["match"]["handles"]


# --- results ----------------------------------------------------------------------------------------------------------


def test_the_same_seed_plays_the_same_games() -> None:
    first, again, other = (play([Dice, Dice, Dice], games=24, seed=seed).games for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_bot_sits_in_every_seat_equally_often() -> None:
    """It is so over pipes; more bots than seats are assigned to tables as in a run."""
    for bots, seats in ((4, 4), (5, 2)):
        results = play([Dice] * bots, games=20, seats=seats, match_games=2 * seats, seed=3)
        counts = {share.games for bot in results.bots for share in results.by_seat(bot)}
        assert len(counts) == 1
        assert sum(share.games for bot in results.bots for share in results.by_seat(bot)) == seats * len(results.games)


def test_win_rates_count_wins_and_parts_of_draws() -> None:
    results = play([Dice] * 3, games=12, rules=coup.replace_fields(coup.COUP, {"turn_limit": 1}), seed=1)
    assert {game.reason for game in results.games} == {"turn_limit"}
    assert [share.wins for share in results.win_rates.values()] == [pytest.approx(4.0)] * 3
    results = play([Dice] * 3, games=12, seed=1)
    assert sum(share.wins for share in results.win_rates.values()) == pytest.approx(12)
    for bot in results.bots:
        assert sum(share.wins for share in results.by_seat(bot)) == pytest.approx(results.win_rates[bot].wins)
        assert results.win_rates[bot].wins == sum(
            game.winner is not None and game.seats[game.winner] == bot for game in results.games
        )
    with pytest.raises(KeyError, match="no bot has the name 'Dise'"):
        results.by_seat("Dise")


def test_the_interval_of_a_win_rate_is_wilsons() -> None:
    """Wilson 1927; 30 of 100 is a textbook's example: .2189 to .3958."""
    low, high = local.WinRate(30, 100).interval
    assert (round(low, 4), round(high, 4)) == (0.2189, 0.3958)
    assert str(local.WinRate(30, 100)) == "30.0 % (21.9 to 39.6) of 100 games"
    assert local.WinRate(0, 0).interval == (0.0, 1.0)


def test_bots_have_the_names_of_their_classes_or_those_given() -> None:
    assert play([Dice, Dice, Dice(3)], games=1, seed=1).bots == ("Dice", "Dice-2", "Dice-3")
    results = play({"new\x1b[2J": Dice, "old": Dice}, games=2, seed=1)
    assert results.bots == ("new\x1b[2J", "old")
    assert "\x1b" not in str(results)
    assert len(str(results).splitlines()) == 2


def test_a_class_plays_one_match_and_an_object_plays_all() -> None:
    """A class corresponds to a program that is started for each match."""
    made = []

    def make() -> Dice:
        made.append(Dice())
        return made[-1]

    stays = Dice()
    play([make, stays], games=6, match_games=2, seed=1)
    assert len(made) == 3
    assert [message["type"] for bot in made for message in bot.messages].count("hello") == 3
    assert [message["type"] for message in stays.messages].count("hello") == 3


def test_records_are_those_of_a_run(tmp_path: Path) -> None:
    """`arena verify` and `arena replay` read them; by default none is kept."""
    results = play([Dice] * 3, games=24, rules="treason", seed=1, records=True)
    files = results.save(tmp_path / "kept")
    assert [file.name for file in files] == ["000000.jsonl", "000001.jsonl"]
    assert (tmp_path / "kept").stat().st_mode & 0o77 == 0
    for file in files:
        referee.verify_record(referee.read_record(file.read_text()))
    with pytest.raises(ValueError, match="records=True"):
        play([Dice] * 2, games=2, seed=1).save(tmp_path)


# --- mistakes ---------------------------------------------------------------------------------------------------------


class Wrong(Dice):
    """A bot with a wrong reply to its third request; None stands for a crash."""

    wrong: Callable[[Message], object] | None = None

    def reply(self, message: Message) -> Message | None:
        if message.get("id") == 3:
            assert self.wrong is not None
            return self.wrong(message)  # type: ignore[return-value]
        return super().reply(message)


MISTAKES: dict[str, tuple[Callable[[Message], object], str]] = {
    "nothing": (lambda message: None, "a reply must be a dict"),
    "a move alone": (lambda message: message["legal"][0], "id must be the request's id"),
    "another id": (lambda message: {"id": 2, "choice": 0}, "the request's id is 3"),
    "beyond the list": (lambda message: {"id": 3, "choice": 99}, "not in the list of legal moves"),
    "an illegal move": (lambda message: {"id": 3, "move": {"action": "win"}}, "not in the list of legal moves"),
    "both": (lambda message: {"id": 3, "choice": 0, "move": message["legal"][0]}, "either move or choice"),
    "words": (lambda message: {"id": 3, "choice": 0, "say": "hello"}, "say must be a list of statements"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_reply_raises_with_the_bot_and_the_place(mistake: str) -> None:
    """A process would lose a life, but an author who tunes a bot wants to know."""
    reply, why = MISTAKES[mistake]

    class Mistaken(Wrong):
        wrong = staticmethod(reply)

    with pytest.raises(WrongReplyError, match=r"bot 'Mistaken' replied .* \(id 3, game 0, turn \d+\)") as raised:
        play([Mistaken, Dice], rules="open-table", games=2, seed=1)
    assert why in str(raised.value)


@pytest.mark.parametrize("kind", ["hello", "game_start", "game_over", "match_over"])
def test_a_wrong_reply_to_another_message_raises(kind: str) -> None:
    """A hello needs a hello; all messages but requests need no reply."""

    class Talks(Dice):
        def reply(self, message: Message) -> Message | None:
            return {"id": 1} if message["type"] == kind else super().reply(message)

    with pytest.raises(WrongReplyError, match=kind):
        play([Talks, Dice], games=2, seed=1)


def one_in_two_seats() -> Results:
    bot = Dice()
    return play([bot, bot])


REFUSED: dict[str, tuple[Callable[[], Results], type[Exception], str]] = {
    "one object in two seats": (one_in_two_seats, ValueError, "two seats"),
    "a name": (lambda: play(["honest", Dice]), TypeError, "'honest' isn't a bot"),
    "one bot": (lambda: play([Dice]), ValueError, "at least 2"),
    "a game without name": (lambda: play([Dice, Dice], rules="chess"), RulesetError, "chess"),
    "no games": (lambda: play([Dice, Dice], games=0), ValueError, "at least 1"),
    "an odd match": (lambda: play([Dice, Dice], match_games=3), ValueError, "multiple of 2"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_impossible_match_is_refused(what: str) -> None:
    call, error, words = REFUSED[what]
    with pytest.raises(error, match=words):
        call()


def test_a_bot_without_the_method_is_refused() -> None:
    def none() -> Iterable[int]:
        return []

    with pytest.raises(TypeError, match="'none' created a list"):
        play([none, Dice], games=2)  # type: ignore[list-item]


# --- with the kit -----------------------------------------------------------------------------------------------------

PAGES = ("use-bots-in-python", "tune-parameters", "compare-versions")
EXAMPLES = [
    re.search(r"^```python\n(.*?)^```", document(f"docs/howto/bots/{page}.md"), re.MULTILINE | re.DOTALL)
    for page in PAGES
]


def test_the_example_of_the_document_plays(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/howto/bots/, with few games."""
    example, swept, compared = (found[1] for found in EXAMPLES if found)
    names: dict[str, Any] = {}
    exec(example.replace("games=400", "games=24"), names)
    assert "'Doubter': " in capsys.readouterr().out
    exec(swept.replace("games=600", "games=24"), names)
    columns = ["doubt", "win_rate", "low", "high", "games", "gain", "gain_low", "gain_high"]
    assert next(line.split() for line in capsys.readouterr().out.splitlines()) == columns
    assert [row["doubt"] for row in names["rows"]] == [0, 0.1, 0.3, 0.6]
    exec(compared.replace("seed=1", "max_pairs=8, seed=1"), names)
    assert "8 pairs in 2 blocks" in capsys.readouterr().out


def test_a_bot_of_the_kit_raises_or_if_careful_continues(capsys: pytest.CaptureFixture[str]) -> None:
    class Fails(Bot):
        def turn(self, game: Any) -> Any:
            raise KeyError("a slip")

    with pytest.raises(KeyError, match="a slip") as raised:
        play([Fails, Bot], games=2, match_games=2, seed=1)
    assert "'Fails', at the request 'turn'" in raised.value.__notes__[0]
    Fails.careful = True
    assert len(play([Fails, Bot], games=2, match_games=2, seed=1).games) == 2
    assert "a slip" in capsys.readouterr().err


def test_sample_bots_play_by_name_against_other_bots() -> None:
    """tests/sample_bots tests that they choose the same as programs. Those that can't play here are refused by name."""
    named = ["sample:honest", "sample:turtle", "sample:honest.py", "sample:python"]
    results = play(named, games=10, seed=1)
    assert sorted(results.win_rates) == ["Honest", "Honest-2", "MyBot", "Turtle"]
    for name in ("sample:random_bot", "sample:shell.sh", "sample:honest.js", "sample:cpp"):
        with pytest.raises(ValueError, match=f"{name}' isn't a sample bot that plays in this process"):
            play([name, "sample:honest"], games=2)
    with pytest.raises(ValueError, match="sample:honest"):
        play(["sample:honset", "sample:honest"], games=2)


def test_the_arenas_kit_does_not_replace_the_programs_own(tmp_path: Path) -> None:
    """A program's `import coup_kit` has the same effect before and after a sample was named."""
    (tmp_path / "coup_kit.py").write_text("MINE = True\n")
    script = "from arena.local import sample; sample('sample:turtle'); import coup_kit; assert coup_kit.MINE"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=60)


# --- several processes, sweeps, tables --------------------------------------------------------------------------------


class Fails(Dice):
    """Raises at its first request."""

    problem: Exception = ZeroDivisionError("by this bot")

    def reply(self, message: Message) -> Message | None:
        if message["type"] == "request":
            raise self.problem
        return super().reply(message)


class TwoArgumentsError(Exception):
    """An exception that can be pickled but not unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_jobs_change_no_result() -> None:
    class Local(Dice):
        """A bot that can't be imported, like one of a notebook."""

    def games(jobs: int) -> Results:
        bots: dict[str, BotArgument] = {"local": Local, "made": lambda: Dice(1), "honest": "sample:honest"}
        return play(bots, games=60, seats=2, seed=4, records=True, jobs=jobs)

    assert games(1) == games(2) == games(3)


def test_unseeded_bots_play_the_same_with_any_number_of_jobs() -> None:
    class Unseeded(Dice):
        def reply(self, message: Message) -> Message | None:
            answer = super().reply(message)
            if message["type"] == "hello":
                rolled.append(random.random())
                self.pick = random.Random(rolled[-1])
            return answer

    rolled: list[float] = []
    bots = [Unseeded, Unseeded]
    assert play(bots, games=48, seed=1, jobs=2).games == play(bots, games=48, seed=1, jobs=4).games
    assert not rolled  # they played elsewhere


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_crash_in_a_process_names_the_bot_the_place_and_the_match(jobs: int) -> None:
    with pytest.raises(ZeroDivisionError, match="by this bot") as failure:
        play({"mine": Fails, "other": Dice}, games=48, seed=5, jobs=jobs)
    notes = "\n".join(failure.value.__notes__)
    assert "the bot 'mine'" in notes
    assert "game 0" in notes
    assert "match 0 of seed 5" in notes
    assert "legal [{" in notes
    assert jobs == 1 or "raise self.problem" in notes


def test_an_exception_that_cannot_be_pickled_is_reported() -> None:
    class Odd(Fails):
        problem = TwoArgumentsError(1, 2)

    with pytest.raises(JobError, match=r"(?s)TwoArgumentsError.*raise self\.problem.*1 and 2.*'Odd'"):
        play([Odd, Dice], games=48, jobs=2)


def test_a_process_ended_by_a_bot_is_reported() -> None:
    class Ends(Dice):
        def reply(self, message: Message) -> Message | None:
            os._exit(7)

    with pytest.raises(JobError, match="match 0 ended with exit code 7"):
        play([Ends, Dice], games=48, jobs=2)

    class Closes(Dice):
        def reply(self, message: Message) -> Message | None:
            os.closerange(3, 256)
            time.sleep(600)
            return super().reply(message)

    with pytest.raises(JobError, match="match 0 closed its pipe"):
        play([Closes, Dice], games=48, jobs=2)


def test_a_finished_process_waits_for_the_threads_of_its_bots(tmp_path: Path) -> None:
    class Writes(Dice):
        def reply(self, message: Message) -> Message | None:
            if message["type"] == "match_over":
                threading.Timer(0.1, (tmp_path / str(os.getpid())).touch).start()
            return super().reply(message)

    play([Writes, Dice], games=48, jobs=2)
    assert len(list(tmp_path.iterdir())) == 2


def test_an_interrupt_leaves_no_process() -> None:
    """In a notebook the signal is sent to this process only, while a bot never returns."""
    program = """
import multiprocessing, os, signal, threading, time
from arena.local import play
class Stuck:
    def reply(self, message):
        while True:
            time.sleep(1)
def interrupt():
    while len(multiprocessing.active_children()) < 2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.1, interrupt).start()
try:
    play({"a": Stuck, "b": Stuck}, games=48, jobs=2)
except KeyboardInterrupt:
    print("interrupted", multiprocessing.active_children())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("interrupted []\n", "")


def test_a_killed_parent_leaves_no_process() -> None:
    """This happens when a notebook's kernel is restarted."""
    program = """
import os, time
from arena.local import play
class Stuck:
    def reply(self, message):
        os.write(1, b"plays\\n")  # at once, or the lines of two processes mix
        while True:
            time.sleep(1)
play({"a": Stuck, "b": Stuck}, games=48, jobs=2)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        lines = [parent.stdout.readline() for _ in range(2)]
        parent.kill()
        assert lines == ["plays\n"] * 2
        assert parent.stdout.read() == ""  # ends when the last process that could write has gone


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_jobs_are_refused_where_forking_is_not_safe(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(ValueError, match="only on Linux: use jobs=1"):
        play([Dice, Dice], games=48, jobs=2)


def test_an_object_plays_in_one_process_and_in_no_sweep() -> None:
    with pytest.raises(
        ValueError, match="'Dice' is an object, which remembers all matches: with jobs=2 pass its class"
    ):
        play([Dice(), Fails], games=48, jobs=2)
    with pytest.raises(ValueError, match="in a sweep pass its class"):
        sweep(Dice, {"seed": [1]}, against=[Dice()])
    with pytest.raises(ValueError, match="jobs=0: jobs must be at least 1"):
        play([Dice, Dice], jobs=0)


def test_a_sweep_pairs_its_rows() -> None:
    class Lazy(Bot):
        """Plays tax only where `busy`: a parameter whose only effect is the name is `label`."""

        def __init__(self, busy: bool, label: str) -> None:
            super().__init__()
            self.busy, self.label = busy, label

        def turn(self, game: Any) -> Any:
            return game.find("coup") or (game.find("tax") if self.busy else None) or game.find("income")

    rows = sweep(Lazy, {"busy": [False, True], "label": ["a", "b"]}, ["sample:honest"], games=120, seed=1, jobs=2)
    assert [(row["busy"], row["label"]) for row in rows] == [(False, "a"), (False, "b"), (True, "a"), (True, "b")]
    same, better = rows[1], rows[2]
    assert (rows[0]["gain_low"], rows[0]["gain_high"]) == (0, 0)
    assert same["gain"] == 0
    assert -0.1 < same["gain_low"] < 0 < same["gain_high"] < 0.1, "ten equal matches don't exclude a small difference"
    assert better["gain"] == pytest.approx(better["win_rate"] - rows[0]["win_rate"])
    assert better["gain_low"] < better["gain"] < better["gain_high"]
    assert rows == sweep(Lazy, {"busy": [False, True], "label": ["a", "b"]}, ["sample:honest"], games=120, seed=1)
    with pytest.raises(ValueError, match="pass a list of values"):
        sweep(Lazy, {"busy": []}, ["sample:honest"])
    with pytest.raises(TypeError, match=r"pass a list of bots: \['sample:honest'\]"):
        sweep(Lazy, {"busy": [True]}, "sample:honest")
    with pytest.raises(ZeroDivisionError) as failure:
        sweep(lambda wrong: Fails(wrong), {"wrong": [4]}, ["sample:honest"], games=2)
    assert failure.value.__notes__[-1] == "In the sweep's row {'wrong': 4}."


def test_rows_print_as_columns() -> None:
    results = play({"x": "sample:honest", "y": "sample:counter"}, games=24, seed=1)
    best = results.table()[0]
    assert list(best) == ["bot", "win_rate", "low", "high", "wins", "games", "seat 0", "seat 1"]
    assert best["win_rate"] == results.win_rates[best["bot"]].value
    assert str(Rows([{"bot": "x", "win_rate": 0.123456}, {"bot": "longer", "win_rate": None}])) == (
        "bot     win_rate\nx       0.1235\nlonger  -"
    )
    assert str(Rows()) == "no rows"


def test_statistics_are_those_of_arena_stats() -> None:
    results = play({"x": "sample:honest", "y": "sample:counter", "z": Dice}, games=36, seed=1, records=True)
    accumulator = StatsAccumulator()
    for record in results.records:
        accumulator.add(record)
    shown = csv.DictReader(stats_report_to_csv(make_stats_report(accumulator, [], [])).splitlines())
    expected = {(row["bot"], row["section"], row["name"]): float(row["value"]) for row in shown}
    rows = {(row["bot"], row["section"], row["name"]): row["value"] for row in results.statistics()}
    assert rows == pytest.approx(expected, abs=1e-4)
    assert ("z", "bluffs", "all") in rows
    with pytest.raises(ValueError, match="records=True"):
        play([Dice, Dice], games=2).statistics()
