"""The client of models: failures of providers, limits, budgets, the journal, and keys that no text contains."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, as_completed, wait
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.bots import load_bots
from arena.models import Answer, Budget, Call, CallsStoppedError, Journal, ModelClient, ModelPlayer, Usage, load_player
from tests.cases import each
from tests.models.endpoint import KEY, Endpoint, Policy, Question, Reply, hang, model_folder, play, serving

WAIT_S = 30


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)


def budget(**more: Any) -> Budget:
    return Budget.model_validate({"calls": 1000, "patience_s": 30.0, **more})


def in_order(*replies: Reply) -> Policy:
    """Return a policy with these replies to the first questions, then the last one."""
    return lambda question: replies[min(question.number, len(replies) - 1)]


class Setup:
    """A model player at an endpoint, with a client and its journal."""

    def __init__(self, endpoint: Endpoint, folder: Path, limits: Budget, *lines: str) -> None:
        self.endpoint, self.folder = endpoint, folder
        shutil.rmtree(folder / "m", ignore_errors=True)
        model_folder(folder / "m", endpoint.url, 'key_env = "MODEL_KEY"', *lines)
        bots, _ = load_bots([str(folder / "m")], models=True)
        self.player: ModelPlayer = load_player(bots[0], limits)
        self.notes: list[str] = []
        self.client = ModelClient(limits, Journal(folder / "journal"), self.notes.append)

    def judge(self, answer: Answer) -> tuple[dict[str, Any], Answer]:
        return {"done": f"played: {answer.problem}"}, answer

    def ask(self, request: int = 1, game: int = 0, text: str = "Move?") -> "Future[Answer]":
        messages = [{"role": "system", "content": "Rules."}, {"role": "user", "content": text}]
        key = (0, game, "m", request, 1)
        return self.client.ask(Call(self.player, key, {}, messages, 1, {}, self.judge))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "journal" / "journal.jsonl").read_text().splitlines()]


@contextmanager
def setup(folder: Path, policy: Policy, limits: Budget | None = None, *lines: str) -> Iterator[Setup]:
    """Give a client with a new folder in `folder`, and its endpoint."""
    with serving(policy) as endpoint:
        made = Setup(endpoint, Path(tempfile.mkdtemp(dir=folder)), limits or budget(), *lines)
        with closing(made.client):
            yield made


FAILURES = {
    "401": Reply(status=401, raw=b"{}"),
    "402": Reply(status=402, raw=b"{}"),
    "403": Reply(status=403, raw=b"{}"),
    "429": Reply(status=429, headers={"Retry-After": "0"}),
    "429 with a wrong date": Reply(status=429, headers={"Retry-After": "Mon, 01 Jan 99999999999 00:00:00 GMT"}),
    "500": Reply(status=500, raw=b"<html>"),
    "cut": Reply(status=0),
    "no JSON": Reply(raw=b"<html>hello</html>"),
    "error in 200": Reply(raw=b'{"error": {"message": "busy"}}'),
}


@each("name", list(FAILURES))
def test_a_call_waits_while_its_provider_fails(tmp_path: Path, name: str) -> None:
    with setup(tmp_path, in_order(FAILURES[name], play())) as made:
        assert made.ask().result(WAIT_S).problem is None
        assert [line["done"].partition(":")[0] for line in made.lines()] == ["provider", "played"]
        assert len(made.notes) == 1
        assert "its games wait" in made.notes[0]


@pytest.mark.parametrize(
    ("patience_s", "text"), [(30.0, "429, and the next try is after the patience of 30 s$"), (0.0, "429$")]
)
def test_the_client_stops_after_its_patience(tmp_path: Path, patience_s: float, text: str) -> None:
    late = Reply(status=429, headers={"Retry-After": "31"})
    with setup(tmp_path, in_order(late), budget(patience_s=patience_s)) as made:
        with pytest.raises(CallsStoppedError, match=f"m: HTTP {text}"):
            made.ask().result(WAIT_S)
        with pytest.raises(CallsStoppedError):
            made.ask(2).result(WAIT_S)
        assert len(made.endpoint.questions) == 1


def test_the_patience_begins_after_the_first_failure(tmp_path: Path) -> None:
    with setup(tmp_path, first, budget(patience_s=0.05)) as made:

        def slow(question: Question) -> Reply:
            if question.number:
                return play()
            made.endpoint.ended.wait(0.1)
            return FAILURES["429"]

        made.endpoint.policy = slow
        assert made.ask().result(WAIT_S).problem is None


def test_a_client_has_stopped_as_soon_as_stop_returns(tmp_path: Path) -> None:
    with setup(tmp_path, first) as made:
        seen = []

        def judge(answer: Answer) -> tuple[dict[str, Any], Answer]:  # in the client's thread
            made.client.stop("enough")
            seen.append(made.client.stop_reason)
            return {"done": "played: "}, answer

        made.judge = judge  # type: ignore[method-assign]
        made.ask().result(WAIT_S)
        assert seen == ["enough"]


USAGE = '"usage": {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 500}}'


@each(
    "reply, least, most",
    [
        (Reply(raw=f'{{"choices": [], {USAGE}}}'.encode()), 110, 110),
        (Reply(raw=f'{{"choices": [[]], {USAGE}}}'.encode()), 110, 110),
        (Reply(raw=b"<html>"), 9000, 10_000),
        (Reply(status=502, raw=b""), 9000, 10_000),
        (Reply(status=429, raw=b""), 0, 0),
    ],
)
def test_a_call_counts_in_full_if_it_may_have_been_billed(tmp_path: Path, reply: Reply, least: int, most: int) -> None:
    """A reported usage counts as it is; `extra` may raise the most that a call can use."""
    limits = budget(patience_s=0.0, prices={"fake": {"input": 1.0, "output": 1.0, "cached": 0.5}})
    with setup(tmp_path, in_order(reply), limits, "extra = { max_tokens = 9000 }") as made:
        made.ask().exception(WAIT_S)
        calls, tokens, dollars = made.lines()[0]["used"]
        assert calls == (least > 0)
        assert least <= tokens <= most
        assert dollars >= 0


def test_a_wrong_setting_stops_the_client_at_once(tmp_path: Path) -> None:
    unknown = Reply(status=404, raw=b'{"error": {"message": "no model fake"}}')
    with setup(tmp_path, in_order(unknown)) as made, pytest.raises(CallsStoppedError, match="m: HTTP 404: no model"):
        made.ask().result(WAIT_S)


def test_a_redirect_gets_no_key(tmp_path: Path) -> None:
    with setup(tmp_path, in_order(Reply(status=302, headers={"Location": "/elsewhere"}))) as made:
        with pytest.raises(CallsStoppedError, match="HTTP 302"):
            made.ask().result(WAIT_S)
        assert len(made.endpoint.questions) == 1


OWN = {
    "the context is too long": Reply(status=400, raw=b'{"error": {"message": "maximum context length is 8192"}}'),
    "the prompt was filtered": Reply(status=400, raw=b'{"error": {"message": "blocked by content_policy"}}'),
    "the answer was cut off at max_tokens": Reply('{"move"', finish="length"),
    "the answer was filtered": Reply("", finish="content_filter"),
    "the model refused to answer": Reply(message={"content": None, "refusal": "I don't gamble."}),
    "the answer was longer than 1 MB": Reply(raw=b" " * (2 << 20)),
    "the answer has no message": Reply(raw=b'{"choices": [[]]}'),
}


@each("problem", list(OWN))
def test_other_failures_are_the_models_own(tmp_path: Path, problem: str) -> None:
    with setup(tmp_path, in_order(OWN[problem])) as made:
        assert made.ask().result(WAIT_S).problem == problem
        assert len(made.endpoint.questions) == 1


@each(
    "limits, least, most",
    [
        ({"calls": 10}, 10, 10),
        ({"tokens": 6_000}, 45, 54),  # 110 tokens a call, which may need some 800
        ({"dollars": 0.006, "prices": {"fake": {"input": 1.0, "output": 0.0}}}, 50, 60),  # 100 tokens of prompt a call
    ],
)
def test_a_budget_holds_to_the_call(tmp_path: Path, limits: dict[str, Any], least: int, most: int) -> None:
    """Parallel calls and a resumption share it."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    with serving(first) as endpoint:
        for session in range(2):
            made = Setup(endpoint, folder, budget(**limits), "max_tokens = 10")
            with closing(made.client):
                calls = [made.ask(request, session) for request in range(200)]
                wait(calls, WAIT_S)
                assert all(isinstance(call.exception(), CallsStoppedError | None) for call in calls)
                assert "is used up" in (made.client.stop_reason or "")
                assert least <= endpoint.answered <= most


def first(question: Question) -> Reply:
    return play()


def test_a_call_that_a_crash_cut_off_counts_in_full(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "reserved.jsonl").write_text('{"call":1,"tokens":700,"dollars":0.5}\n{"call":2,"tok')
    with serving(first) as endpoint:
        made = Setup(endpoint, tmp_path, budget(calls=2))
        with closing(made.client):
            assert (made.client.journal.used.calls, made.client.journal.used.tokens) == (1, 700)
            made.ask().result(WAIT_S)
            with pytest.raises(CallsStoppedError):
                made.ask(2).result(WAIT_S)
            assert made.lines()[0]["call"] == 2


def test_a_budget_of_millions_is_named_in_full(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "reserved.jsonl").write_text('{"call":1,"tokens":1234567,"dollars":0.5}\n')
    with serving(first) as endpoint:
        made = Setup(endpoint, tmp_path, budget(tokens=1_235_000))
        with closing(made.client), pytest.raises(CallsStoppedError, match=r"1235000 tokens is used up \(1234567 used"):
            made.ask().result(WAIT_S)


def test_a_resumption_continues_the_numbers_of_calls(tmp_path: Path) -> None:
    with setup(tmp_path, first) as made:
        for request in range(3):
            made.ask(request).result(WAIT_S)
    with closing(Journal(made.folder / "journal")) as journal:
        assert journal.reserve(Usage(1, 700)) == 4
    with closing(Journal(made.folder / "journal")) as journal:  # call 4 was cut off
        assert (journal.used.calls, journal.used.tokens) == (4, 1030)


def test_a_call_is_replayed_only_for_the_same_request_and_prompt(tmp_path: Path) -> None:
    with serving(first) as endpoint:
        made = Setup(endpoint, tmp_path, budget())
        with closing(made.client):
            before = made.ask().result(WAIT_S)
        made = Setup(endpoint, tmp_path, budget())
        with closing(made.client):
            assert made.ask().result(WAIT_S) == before
            assert len(endpoint.questions) == 1
            for other in (made.ask(game=1), made.ask(request=2), made.ask(text="Another prompt?")):
                other.result(WAIT_S)
        assert len(endpoint.questions) == 4


def test_the_limits_of_a_key_hold_over_all_calls(tmp_path: Path) -> None:
    with setup(tmp_path, first, budget(keys={"MODEL_KEY": {"requests_per_minute": 2}})) as made:
        calls = [made.ask(request) for request in range(3)]
        answered = as_completed(calls, WAIT_S)
        assert {next(answered), next(answered)} < {*calls}
        assert len(made.endpoint.questions) == 2


def test_a_call_is_cancelled_and_written_at_the_end(tmp_path: Path) -> None:
    with serving() as endpoint:
        came = hang(endpoint)
        made = Setup(endpoint, tmp_path, budget())
        call = made.ask()
        assert came.wait(WAIT_S)
        made.client.close()
        assert call.cancelled()
        assert [line["done"] for line in made.lines()] == ["provider: interrupted"]


ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
PARTS = ("sk-zq", "secretzq", ESCAPED.replace("\\", ""))


@each(
    "reply",
    [
        Reply(json.dumps({"reasoning": KEY, "move": 1})),
        Reply(f'{{"reasoning": "{ESCAPED}", "move": 1}}'),
        Reply(message={"content": "{}", "reasoning_content": KEY}),
        Reply(message={"content": None, "refusal": KEY}),
        Reply(message={"content": None, "tool_calls": [{"function": {"arguments": KEY}}]}),
        Reply(KEY.replace("/", "\\/")),
        Reply(KEY.replace("/", "\u200b/")),
        Reply(finish=KEY),
        Reply(status=404, raw=json.dumps({"error": {"message": f"{KEY} is wrong"}}).encode()),
        Reply(status=404, raw=f"{KEY} is wrong".encode()),
        Reply(status=404, raw=f"{'x' * 190}{KEY}".encode()),
    ],
)
def test_no_text_of_an_endpoint_contains_the_key(tmp_path: Path, reply: Reply) -> None:
    with setup(tmp_path, in_order(reply)) as made:
        problem = made.ask().exception(WAIT_S)
        assert made.endpoint.questions[0].headers["Authorization"] == f"Bearer {KEY}"
        texts = [str(problem), str(made.notes), str(made.player), *(path.read_text() for path in files(tmp_path))]
        plain = [text.replace("\\", "") for text in texts]
        assert [text for text in plain for part in PARTS if part in text] == []


def test_a_key_that_is_a_part_of_another_leaves_no_rest_of_it(tmp_path: Path) -> None:
    keys = [KEY + "x" * number for number in range(8)]
    with setup(tmp_path, first) as made:
        player = made.player
        for key in keys:
            made.player = replace(player, key=key)
            made.ask().result(WAIT_S)
        assert made.client.redact(" ".join(keys)) == " ".join(["[key]"] * 8)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
