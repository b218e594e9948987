"""Runs with models: outages, crashes and budgets change no result, matches wait at once, and no output has a key."""

import json
import os
import signal
import threading
import zlib
from pathlib import Path

from arena.models import count_cut_off, report_calls
from tests.cli_workspace import Place, Ran
from tests.models.endpoint import KEY, Endpoint, Question, Reply, hang, model_folder, play, serving

WAIT_S = 240
# It prints all that a bot can find of a key: its own environment.
SPY = """
import os, sys
from coup_kit import Bot, run
print(dict(os.environ), file=sys.stderr)
class Spy(Bot):
    pass
run(Spy())
"""


def by_prompt(question: Question) -> Reply:
    """Play a move that depends on the prompt alone."""
    return play(1 + zlib.crc32(question.prompt.encode()) % len(question.moves))


def prepare(place: Place, endpoint: Endpoint, budget: str = "calls = 5000\npatience_s = 0\n") -> None:
    model_folder(place.folder / "m", endpoint.url, 'key_env = "MODEL_KEY"')
    place.bot("spy.py", SPY)
    (place.folder / "budget.toml").write_text(budget)


def start(place: Place, out: str, *more: str) -> Ran:
    words = ["run", "m", "spy.py", "--games", "8", "--match-games", "4", "--seed", "1", "--budget", "budget.toml"]
    return place.run(*words, "--out", out, *more, MODEL_KEY=KEY)


def resume(place: Place, out: str, *more: str) -> Ran:
    return place.run("run", "--resume", out, *more, MODEL_KEY=KEY)


def lines(place: Place, out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (place.folder / out / "models/journal.jsonl").read_text().splitlines()]


def results(place: Place, out: str) -> str:
    return (place.folder / out / "results.jsonl").read_text()


def test_an_outage_in_the_middle_changes_no_result(place: Place) -> None:
    """The resumed run makes no call again, and no output of any kind contains the key."""
    with serving(by_prompt) as endpoint:
        prepare(place, endpoint)
        assert start(place, "whole").code == 0
        calls = endpoint.answered
        outage = Reply(status=401, raw=f'{{"error": {{"message": "wrong key {KEY}"}}}}'.encode())
        endpoint.policy = lambda question: outage if question.number == calls + 30 else by_prompt(question)
        paused = start(place, "cut", "--json")
        assert paused.code == 1
        assert "the run is paused: m: HTTP 401" in paused.err
        assert "arena run --resume cut" in paused.err
        assert paused.json["failed_attempts"] == 1
        assert paused.json["models"][0]["provider_failures"] == {"HTTP 401": 1}
        assert paused.json["models"][0]["default_moves"] == {}
        resumed = resume(place, "cut", "--json")
        assert resumed.code == 0
        assert resumed.json["models"][0]["calls"] == calls
        assert endpoint.answered == 2 * calls
    assert results(place, "cut") == results(place, "whole")
    assert place.run("verify", "cut").code == 0
    written = [path.read_bytes() for path in place.folder.rglob("*") if path.is_file()]
    assert not any(KEY in text for text in (paused.out, paused.err, resumed.out, resumed.err))
    assert not any(KEY.encode() in data for data in written)
    logs = [path.read_text() for path in place.folder.rglob("*spy*.txt")]
    assert any("PATH" in log for log in logs)


def test_a_killed_run_goes_on_within_its_budget(place: Place) -> None:
    """A call that the kill cut off counts; the calls before are replayed."""
    with serving(by_prompt) as endpoint:
        prepare(place, endpoint)
        assert start(place, "whole").code == 0
        calls, came = endpoint.answered, threading.Event()

        def stop_once(question: Question) -> Reply:
            if question.number == calls + 25:
                came.set()
                endpoint.ended.wait(WAIT_S)
            return by_prompt(question)

        endpoint.policy = stop_once
        words = ["run", "m", "spy.py", "--games", "8", "--match-games", "4", "--seed", "1", "--out", "cut"]
        process = place.start(*words, MODEL_KEY=KEY)
        assert came.wait(WAIT_S)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        short = place.folder / "short.toml"
        short.write_text(f"calls = {calls}\n")  # the lost call is missing
        stopped = resume(place, "cut", "--budget", "short.toml")
        assert f"the budget of {calls} calls is used up" in stopped.err
        assert len(endpoint.questions) <= 2 * calls
        short.write_text(f"calls = {calls + 1}\n")
        assert resume(place, "cut", "--budget", "short.toml").code == 0
        assert len(endpoint.questions) == 2 * calls + 1
    assert results(place, "cut") == results(place, "whole")


def test_ctrl_c_pauses_a_run(place: Place) -> None:
    with serving() as endpoint:
        came = hang(endpoint)
        prepare(place, endpoint)
        process = place.start("run", "m", "spy.py", "--games", "8", "--out", "r", MODEL_KEY=KEY)
        assert came.wait(WAIT_S)
        process.send_signal(signal.SIGINT)
        ended = place.end(process)
        assert ended.code == 130
        assert "resume with: arena run --resume r" in ended.err
        assert {line["done"] for line in lines(place, "r")} == {"provider: interrupted"}


def test_32_matches_wait_at_once(place: Place) -> None:
    with serving() as endpoint:
        barrier = threading.Barrier(32)

        def together(question: Question) -> Reply:
            if question.number < 32:
                barrier.wait(WAIT_S)
            return play()

        endpoint.policy = together
        for name in ("m", "n"):
            model_folder(place.folder / name, endpoint.url)
        (place.folder / "budget.toml").write_text("calls = 64\n")
        words = ["run", "m", "n", "--games", "64", "--match-games", "2", "--jobs", "32"]
        ended = place.run(*words, "--budget", "budget.toml", "--out", "r")
        assert "the budget of 64 calls is used up" in ended.err
        assert endpoint.at_once == 32


def test_a_check_makes_one_call_and_says_what_it_cost(place: Place) -> None:
    with serving() as endpoint:
        prepare(place, endpoint, "[prices.fake]\ninput = 1.0\noutput = 10.0\n")
        checked = place.run("check", "m", "--budget", "budget.toml", MODEL_KEY=KEY)
        assert checked.code == 0
        assert len(endpoint.questions) == 1
        assert "1 call, 100 + 10 tokens" in checked.out
        assert "$0.000200" in checked.out
        endpoint.policy = lambda question: Reply("\ud800")
        useless = place.run("check", "m", "--json", MODEL_KEY=KEY)
        assert useless.code == 1
        assert "default move" in useless.json["bots"][0]["steps"][-1]["message"]
        endpoint.policy = lambda question: Reply(status=401, raw=b"{}")
        refused = place.run("check", "m", MODEL_KEY=KEY)
        assert refused.code == 1
        assert "HTTP 401" in refused.out


def test_a_model_plays_at_a_watched_table(place: Place) -> None:
    """Without the provider the match is void."""
    with serving() as endpoint:
        prepare(place, endpoint)
        words = ["watch", "m", "spy.py", "--sandbox", "process", "--budget", "budget.toml", "--out", "w"]
        assert place.run(*words, MODEL_KEY=KEY).code == 0
        assert (place.folder / "w.models" / "journal.jsonl").exists()
        endpoint.policy = lambda question: Reply(status=503, raw=b"")
        void = place.run(*words[:-1], "v", MODEL_KEY=KEY)
        assert void.code == 1
        assert "the match is void: m: HTTP 503" in void.err.replace("\n", " ")


def test_a_report_leaves_a_line_that_a_run_is_writing(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "journal.jsonl").write_bytes(b'{"call": 1')
    assert (report_calls(tmp_path), count_cut_off(tmp_path)) == ([], 0)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {"journal.jsonl": b'{"call": 1'}
