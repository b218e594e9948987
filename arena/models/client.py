"""Call the endpoints of all model players of a run: the only code that has their keys.

All calls wait side by side in the event loop of one thread. A call waits for the limits of its key, reserves what it
may use at most, is sent, and is written to the journal. A provider's failure (401, 402, 403, 408, 429, 5xx, no
connection, no answer) isn't a move: the call waits, backing off, for at most the budget's `patience_s`. Then the client
stops: every further call raises CallsStoppedError. It stops at once if waiting doesn't help, as with an unknown model
or a used-up budget. Texts of an endpoint contain no key: all keys of the run are replaced in them."""

import asyncio
import json
import random
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any, Generic, TypeVar

import httpx

from arena.escaping import escape_control
from arena.models.journal import CallKey, Journal, Line, Usage
from arena.models.settings import Budget, KeyLimits, ModelPlayer, Price

T = TypeVar("T")
_MAX_BYTES = 1 << 20  # of a response
_MAX_REASON = 200  # characters
_WAITS = {401, 402, 403, 408, 429}  # and 5xx
_MAX_PAUSE_S = 60.0
_ROUNDING = 1e-9  # of a sum of dollars
_NO_LIMITS = KeyLimits(requests_per_minute=None, tokens_per_minute=None)
_MESSAGE_TOKENS = 16  # for the frame of a message; its bytes are more than its tokens
_TOO_LONG = re.compile(r"context.?(length|window|size)|maximum context|prompt is too long|too many tokens", re.I)
_FILTERED = re.compile(r"content.?(filter|policy|management)|moderation|safety", re.I)


class CallsStoppedError(Exception):
    """The run makes no more calls; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An endpoint's answer. finish: its reason for the end. problem: why there is no usable content, None if there is.

    thinking: what the endpoint returned of the model's own reasoning.
    """

    content: str
    thinking: str = ""
    finish: str = ""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Failure:
    """A provider's failure. may_be_billed: it isn't known whether the call was. is_final: waiting doesn't help.

    retry_after_s: how long the provider says to wait; None if it doesn't.
    """

    reason: str
    retry_after_s: float | None = None
    may_be_billed: bool = False
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A call to make. messages: all of the request. new_messages: how many, at the end, the call before didn't have.

    judge: returns fields for the journal about an answer (`done`, `reasoning`), and the value of the call. fields: more
    fields of the journal's line. form: the fields of the request that define the form of the answer.
    """

    player: ModelPlayer
    key: CallKey
    fields: Mapping[str, Any]
    messages: Sequence[Mapping[str, str]]
    new_messages: int
    form: Mapping[str, Any]
    judge: Callable[[Answer], tuple[Line, T]]


class _Key:
    """The limits of a key a minute, and what was sent in the last minute."""

    def __init__(self, limits: KeyLimits) -> None:
        self._limits = limits
        self._sent: deque[tuple[float, list[int]]] = deque()  # (time, [tokens])
        self.blocked_until = 0.0  # on the monotonic clock, in s

    def wait_s(self, now: float, tokens: int) -> float:
        """Return for how long a call with this many tokens has to wait, at the time `now`; forget older calls."""
        while self._sent and self._sent[0][0] <= now - 60:
            self._sent.popleft()
        max_calls, max_tokens = self._limits.requests_per_minute, self._limits.tokens_per_minute
        is_full = max_calls is not None and len(self._sent) >= max_calls
        if self._sent and max_tokens is not None:
            is_full = is_full or sum(sent_tokens[0] for _, sent_tokens in self._sent) + tokens > max_tokens
        return max(self.blocked_until - now, self._sent[0][0] + 60 - now if is_full else 0.0)

    def add_call(self, now: float, tokens: int) -> list[int]:
        """Count a call; return its tokens as a list of one number, to be corrected when they are known."""
        self._sent.append((now, [tokens]))
        return self._sent[-1][1]


class ModelClient:
    """The client that makes the calls of all model players of a run. `notify` gets remarks, in the client's thread.

    stop_reason: why it makes no more calls; None while it makes them.
    """

    def __init__(self, budget: Budget, journal: Journal, notify: Callable[[str], object] = lambda text: None) -> None:
        self.journal = journal
        self.stop_reason: str | None = None
        self._budget = budget
        self._notify = notify
        self._secrets: set[re.Pattern[str]] = set()
        self._keys: dict[str, _Key] = {}
        self._waiting_players: set[str] = set()  # those whose provider fails
        self._loop = asyncio.new_event_loop()
        self._is_stopped = asyncio.Event()
        self._call_ended = asyncio.Event()  # replaced at the end of each call
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        # No proxies of the environment and no redirects: only the endpoint may receive the key.
        self._http = httpx.AsyncClient(timeout=None, limits=limits, trust_env=False, follow_redirects=False)
        self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
        self._thread.start()

    def ask(self, call: Call[T]) -> "Future[T]":
        """Make a call, or replay it from the journal. The result raises CallsStoppedError; it may be cancelled."""
        if call.player.key:
            self._secrets.add(_pattern_of(call.player.key))
        return asyncio.run_coroutine_threadsafe(self._ask(call), self._loop)

    def cancel(self) -> None:
        """Stop, cancel all calls, and wait until their lines are in the journal."""

        async def end() -> None:
            self._stop("the session has ended")
            calls = asyncio.all_tasks() - {asyncio.current_task()}
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

        self._run(end())

    def close(self) -> None:
        """Cancel all calls, end the thread and close the journal; no call may be made any more."""
        self.cancel()
        self._run(self._http.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.journal.close()

    def stop(self, reason: str) -> None:
        """Start no more calls. This returns at once, and any thread may call it.

        Requests in flight end; waiting calls raise CallsStoppedError. `stop_reason` keeps the first reason.
        """
        self.stop_reason = self.stop_reason or reason  # at once: the caller may look at it
        self._loop.call_soon_threadsafe(self._stop, reason)

    def redact(self, text: str) -> str:
        """Return a text of an endpoint without the keys of the run, also where one is a part of another."""
        for secret in sorted(self._secrets, key=lambda secret: len(secret.pattern), reverse=True):
            text = secret.sub("[key]", text)
        return text

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the client's thread; return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    # --- the thread of the event loop

    def _stop(self, reason: str) -> None:
        self.stop_reason = self.stop_reason or reason
        self._is_stopped.set()
        self._call_ended.set()

    async def _ask(self, call: Call[T]) -> T:
        """Return a call's value, from the journal if the same call was made before, else from the provider.

        Requests are repeated until one is answered. Raises CallsStoppedError if the provider fails for too long or the
        budget is used up, and what `judge` raises.
        """
        body = _encode_body(call)
        digest = sha256(f"{call.player.settings.endpoint}\n".encode() + body).hexdigest()
        line = self.journal.find(call.key, digest)
        if line is not None:
            return call.judge(Answer(line["answer"], line["thinking"], line["finish"], line["problem"]))[1]
        first_failure_s, tries = None, 0
        while True:
            outcome = await self._make_request(call, body, digest)
            if not isinstance(outcome, _Failure):
                self._waiting_players.discard(call.player.name)
                return outcome
            tries += 1
            first_failure_s = first_failure_s or time.monotonic()
            await self._wait_for_provider(call.player, outcome, tries, time.monotonic() - first_failure_s)

    async def _make_request(self, call: Call[T], body: bytes, digest: str) -> T | _Failure:
        """Make one request once limits and budget admit it; return the value of its answer, or the failure.

        Its use is in the journal afterwards, also if it fails or is cancelled. Raises CallsStoppedError if it isn't
        admitted.
        """
        player, settings = call.player, call.player.settings
        price = self._budget.prices.get(settings.model, Price(input=0.0, output=0.0))
        input_tokens = len(body) + _MESSAGE_TOKENS * len(call.messages)
        cost = price.cost(input_tokens, settings.max_output_tokens)
        max_usage = Usage(1, input_tokens + settings.max_output_tokens, cost)
        number, sent_tokens = await self._admit(player, max_usage)
        start_s = time.monotonic()
        line = _begin_line(call, number, digest)
        outcome: Answer | _Failure = _Failure("interrupted", may_be_billed=True)
        try:
            outcome, line["usage"] = await self._send(player, body)
        finally:  # also if it is cancelled
            used = _find_usage(line["usage"], outcome, price, max_usage)
            result = _add_outcome(line, call, outcome)
            sent_tokens[0] = used.tokens
            dollars = used.dollars if settings.model in self._budget.prices else None
            line |= {"seconds": round(time.monotonic() - start_s, 3), "used": [used.calls, used.tokens, dollars]}
            self.journal.add(line, call.messages[0]["content"])
            self._call_ended.set()
            self._call_ended = asyncio.Event()
        return result

    async def _wait_for_provider(self, player: ModelPlayer, failure: _Failure, tries: int, failing_s: float) -> None:
        """Say that a player's games wait, block its key, and wait before the next try of a call.

        tries: how many have failed. failing_s: the time since the first failure. Raises CallsStoppedError, by which all
        calls stop, if the failure is final, or would last longer than the budget's patience.
        """
        text = f"{player.name}: {failure.reason}"
        pause_s = min(_MAX_PAUSE_S, 2.0 ** min(tries, 6)) * random.uniform(0.25, 0.5)
        if failure.retry_after_s is not None:
            pause_s = failure.retry_after_s
        if failure.is_final:
            self._stop(text)
        elif failing_s + pause_s >= self._budget.patience_s:
            patience_s = self._budget.patience_s  # 0 for a check, which tries once
            self._stop(text + f", and the next try is after the patience of {patience_s:g} s" * (patience_s > 0))
        elif player.name not in self._waiting_players:
            self._waiting_players.add(player.name)
            self._notify(f"{text}; its games wait, with the clock stopped, for at most {self._budget.patience_s:g} s")
        key = self._key_of(player)
        key.blocked_until = max(key.blocked_until, time.monotonic() + pause_s)
        await self._sleep(pause_s)  # which raises after `_stop`

    def _key_of(self, player: ModelPlayer) -> _Key:
        name = player.settings.key_name
        return self._keys.setdefault(name, _Key(self._budget.keys.get(name, _NO_LIMITS)))

    async def _admit(self, player: ModelPlayer, max_usage: Usage) -> tuple[int, list[int]]:
        """Wait until a call fits the limits of its key and the budget; reserve it.

        Return its number, and its tokens as counted for the key, a list of one number to be corrected. Raises
        CallsStoppedError if the client has stopped, also because the budget is used up.
        """
        key = self._key_of(player)
        while True:
            if self.stop_reason is not None:
                raise CallsStoppedError(self.stop_reason)
            now = time.monotonic()
            wait_s = key.wait_s(now, max_usage.tokens)
            if wait_s > 0:
                await self._sleep(wait_s)
                continue
            journal = self.journal
            problem = self._budget_problem(sum(journal.reserved.values(), journal.used) + max_usage)
            if problem is None:
                return journal.reserve(max_usage), key.add_call(now, max_usage.tokens)
            if not journal.reserved:
                self._stop(problem)
            else:
                await self._call_ended.wait()  # a call may use less than was reserved

    def _budget_problem(self, usage: Usage) -> str | None:
        """Return which limit of the budget isn't enough for this usage in all, None if all are."""
        for name in ("calls", "tokens", "dollars"):
            limit, used = getattr(self._budget, name), getattr(self.journal.used, name)
            if limit is not None and getattr(usage, name) > limit + _ROUNDING:
                usage_text = f"{used:.9g} used, and the next call may need the rest"
                return f"the budget of {limit:.9g} {name} is used up ({usage_text}): raise it by --budget FILE"
        return None

    async def _sleep(self, seconds: float) -> None:
        """Sleep. Raises CallsStoppedError as soon as the client stops."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_stopped.wait(), seconds)
        if self.stop_reason is not None:
            raise CallsStoppedError(self.stop_reason)

    async def _send(self, player: ModelPlayer, body: bytes) -> tuple[Answer | _Failure, dict[str, int] | None]:
        """Send a request; return its answer or failure, and its usage, None if the endpoint doesn't report it."""
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if player.key:
            headers["Authorization"] = f"Bearer {player.key}"
        data = bytearray()
        try:
            async with (
                asyncio.timeout(player.settings.timeout_s),
                self._http.stream("POST", player.settings.endpoint, content=body, headers=headers) as response,
            ):
                async for chunk in response.aiter_bytes():
                    data += chunk
                    if len(data) > _MAX_BYTES:
                        return Answer("", problem=f"the answer was longer than {_MAX_BYTES >> 20} MB"), None
        except TimeoutError:
            return _Failure(f"no answer within {player.settings.timeout_s:g} s", may_be_billed=True), None
        except (httpx.ConnectError, httpx.UnsupportedProtocol):
            return _Failure("no connection to the endpoint"), None
        except (httpx.HTTPError, httpx.StreamError, OSError) as problem:  # its text may contain the key
            return _Failure(f"the connection was cut ({type(problem).__name__})", may_be_billed=True), None
        reply = _parse_object(data)
        usage = _read_usage(reply.get("usage"))
        if response.status_code != 200 or not reply.get("choices"):
            return self._read_error(response, reply, data), usage
        return self._read_answer(reply), usage

    def _read_error(self, response: httpx.Response, reply: dict[str, Any], data: bytearray) -> Answer | _Failure:
        """Return what a response without an answer means. Keys are removed from its text before it is cut.

        reply: the JSON object in `data`, {} without one. An answer has the reason why there is no content.
        """
        code, error = response.status_code, reply.get("error")
        message = error.get("message") if isinstance(error, dict) else error
        text = self.redact(str(message or data.decode("utf-8", "replace")))
        if code in (400, 413, 422) and _TOO_LONG.search(text):
            return Answer("", problem="the context is too long")
        if code in (400, 422) and _FILTERED.search(text):
            return Answer("", problem="the prompt was filtered")
        if code == 200:
            return _Failure("the endpoint's answer isn't a chat completion", may_be_billed=True)
        if code in _WAITS or code >= 500:
            retry_after_s = _retry_after(response.headers.get("Retry-After", ""))
            return _Failure(f"HTTP {code}", retry_after_s, may_be_billed=code >= 500)
        return _Failure(f"HTTP {code}: {escape_control(text)[:_MAX_REASON]}", is_final=True)

    def _read_answer(self, reply: dict[str, Any]) -> Answer:
        """Return the answer in a reply that has choices, without keys. An unusable one has the problem in words."""
        choice = reply["choices"][0] if isinstance(reply["choices"], list) else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            return Answer("", problem="the answer has no message")
        finish = self.redact(str(choice.get("finish_reason") or ""))
        thinking = self.redact(str(message.get("reasoning_content") or message.get("reasoning") or ""))
        if message.get("refusal"):
            return Answer(self.redact(str(message["refusal"])), thinking, finish, "the model refused to answer")
        content = str(message.get("content") or "")
        with suppress(LookupError, TypeError):
            content = str(message["tool_calls"][0]["function"]["arguments"])
        return Answer(self.redact(content), thinking, finish, _FINISH_PROBLEMS.get(finish))


_FINISH_PROBLEMS = {"length": "the answer was cut off at max_tokens", "content_filter": "the answer was filtered"}


def _parse_object(data: bytearray) -> dict[str, Any]:
    """Return the JSON object in a response; {} for anything else."""
    try:
        reply = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}


def _pattern_of(key: str) -> re.Pattern[str]:
    """Return what finds a key in any form of JSON, also with control characters inside, which a cleaned text loses."""
    letters = (rf"(?:\\?{re.escape(letter)}|\\u(?i:{ord(letter):04x}))" for letter in key)
    return re.compile("[^ -~]*+".join(letters))


def _begin_line(call: Call[T], number: int, digest: str) -> Line:
    """Return the beginning of a call's line in the journal, without its outcome."""
    new_messages = call.messages[len(call.messages) - call.new_messages :]
    key = dict(zip(("match", "game", "player", "request", "attempt"), call.key, strict=True))
    return {
        "call": number,
        "at": round(time.time(), 3),
        **key,
        **call.fields,
        "model": call.player.settings.model,
        "prompt": new_messages[0]["content"] if len(new_messages) == 1 else list(new_messages),
        "digest": digest,
        "usage": None,
    }


def _find_usage(
    reported: Mapping[str, int] | None, outcome: Answer | _Failure, price: Price, max_usage: Usage
) -> Usage:
    """Return what a call used: what `_read_usage` returned or, without it, all of `max_usage` if it may be billed."""
    if reported is not None:
        prompt, cached, output = reported["prompt"], reported["cached"], reported["output"]
        return Usage(1, prompt + output, price.cost(prompt, output, cached))
    may_be_billed = not isinstance(outcome, _Failure) or outcome.may_be_billed
    return max_usage if may_be_billed else Usage()


def _add_outcome(line: Line, call: Call[T], outcome: Answer | _Failure) -> T | _Failure:
    """Add the outcome to a call's line in the journal; return the value of an answer, or the failure itself."""
    if isinstance(outcome, _Failure):
        line["done"] = f"provider: {outcome.reason}"
        return outcome
    fields, value = call.judge(outcome)
    line |= {**fields, "answer": outcome.content, "thinking": outcome.thinking}
    line |= {"finish": outcome.finish, "problem": outcome.problem}
    return value


def _encode_body(call: Call[Any]) -> bytes:
    """Return the body of a request; equal calls have equal bodies."""
    settings = call.player.settings
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": call.messages,
        **call.form,
        "max_completion_tokens": settings.max_tokens,
    }
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.reasoning_effort is not None:
        body["reasoning_effort"] = settings.reasoning_effort
    return json.dumps(body | settings.extra).encode()


def _read_usage(usage: Any) -> dict[str, int] | None:
    """Return the tokens of a call: of the prompt, of it in the provider's cache, and of the answer; None if unknown."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = (details.get("cached_tokens") if isinstance(details, dict) else 0) or 0
    prompt, output = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if type(prompt) is not int or type(output) is not int or type(cached) is not int or min(prompt, output, cached) < 0:
        return None
    return {"prompt": prompt, "cached": min(cached, prompt), "output": output}


def _retry_after(text: str) -> float | None:
    """Return the seconds of a header Retry-After, a number or a date; None without one."""
    with suppress(ValueError, OverflowError):
        seconds = float(text) if text[:1].isdecimal() else parsedate_to_datetime(text).timestamp() - time.time()
        return max(0.0, seconds)
    return None
