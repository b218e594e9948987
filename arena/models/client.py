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
    """A provider's failure. billed: it isn't known whether the call was. final: waiting doesn't help."""

    reason: str
    retry_after_s: float | None = None
    billed: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A call to make. messages: all of the request. new: how many of them, at the end, the call before didn't have.

    judge: returns fields for the journal about an answer (`done`, `reasoning`), and the value of the call. about: more
    fields of the journal's line.
    """

    player: ModelPlayer
    key: CallKey
    about: Mapping[str, Any]
    messages: Sequence[Mapping[str, str]]
    new: int
    form: Mapping[str, Any]
    judge: Callable[[Answer], tuple[Line, T]]


class _Key:
    """The limits of a key a minute, and what was sent in the last minute."""

    def __init__(self, limits: KeyLimits) -> None:
        self._limits = limits
        self._sent: deque[tuple[float, list[int]]] = deque()  # (time, [tokens])
        self.blocked_until = 0.0

    def wait_s(self, now: float, tokens: int) -> float:
        """Return for how long a call with this many tokens has to wait."""
        while self._sent and self._sent[0][0] <= now - 60:
            self._sent.popleft()
        most, most_tokens = self._limits.requests_per_minute, self._limits.tokens_per_minute
        full = most is not None and len(self._sent) >= most
        if self._sent and most_tokens is not None:
            full = full or sum(tokens_sent[0] for _, tokens_sent in self._sent) + tokens > most_tokens
        return max(self.blocked_until - now, self._sent[0][0] + 60 - now if full else 0.0)

    def take(self, now: float, tokens: int) -> list[int]:
        """Note a call; return its tokens, to be corrected when they are known."""
        self._sent.append((now, [tokens]))
        return self._sent[-1][1]


class ModelClient:
    """The client that makes the calls of all model players of a run. `notify` gets remarks, in the client's thread."""

    def __init__(self, budget: Budget, journal: Journal, notify: Callable[[str], object] = lambda text: None) -> None:
        self.journal = journal
        self.stopped: str | None = None
        self._budget = budget
        self._notify = notify
        self._secrets: set[re.Pattern[str]] = set()
        self._keys: dict[str, _Key] = {}
        self._waiting: set[str] = set()  # players whose provider fails
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()  # set when a call ends
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

        Requests in flight end; waiting calls raise CallsStoppedError. `stopped` keeps the first reason.
        """
        self.stopped = self.stopped or reason  # at once: the caller may look at it
        self._loop.call_soon_threadsafe(self._stop, reason)

    def redact(self, text: str) -> str:
        """Return a text of an endpoint without the keys of the run."""
        for secret in self._secrets:
            text = secret.sub("[key]", text)
        return text

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    # --- the thread of the event loop

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason
        self._stopping.set()
        self._changed.set()

    async def _ask(self, call: Call[T]) -> T:
        """Return a call's value, from the journal if the same call was made before, else from the provider.

        Requests are repeated until one is answered. Each is admitted by limits and budget, and its use is in the
        journal before the next one, also if it fails or is cancelled. Raises CallsStoppedError if the provider fails
        for too long or the budget is used up.
        """
        player, body = call.player, _encode_body(call)
        settings = player.settings
        digest = sha256(f"{settings.endpoint}\n".encode() + body).hexdigest()
        stored = self.journal.find(call.key, digest)
        if stored is not None:
            return call.judge(Answer(stored["answer"], stored["thinking"], stored["finish"], stored["problem"]))[1]
        price = self._budget.prices.get(settings.model, Price(input=0.0, output=0.0))
        size = len(body) + _MESSAGE_TOKENS * len(call.messages)
        most = Usage(1, size + settings.most_output, price.cost(size, settings.most_output))
        failing_since, tries = None, 0
        while True:
            number, sent_tokens = await self._admit(player, most)
            began = time.monotonic()
            line = _begin_line(call, number, digest)
            used, value = most, None
            outcome: Answer | _Failure = _Failure("interrupted", billed=True)
            try:
                outcome, line["usage"] = await self._send(player, body)
            finally:  # also if it is cancelled
                if line["usage"] is not None or (isinstance(outcome, _Failure) and not outcome.billed):
                    used = _sum_usage(line["usage"], price)
                value = _note_outcome(line, call, outcome)
                sent_tokens[0] = used.tokens
                dollars = used.dollars if settings.model in self._budget.prices else None
                line |= {"seconds": round(time.monotonic() - began, 3), "used": [used.calls, used.tokens, dollars]}
                self.journal.add(line, call.messages[0]["content"])
                self._changed.set()
                self._changed = asyncio.Event()
            if isinstance(outcome, Answer):
                self._waiting.discard(player.name)
                return value  # type: ignore[return-value]
            tries += 1
            failing_since = failing_since or time.monotonic()
            await self._wait_for_provider(player, outcome, tries, time.monotonic() - failing_since)

    async def _wait_for_provider(self, player: ModelPlayer, failure: _Failure, tries: int, failing_s: float) -> None:
        """Wait before the next try of a call, `failing_s` after its first failure.

        Raises CallsStoppedError if the failure is final or has lasted for the budget's patience.
        """
        what = f"{player.name}: {failure.reason}"
        pause_s = min(_MAX_PAUSE_S, 2.0 ** min(tries, 6)) * random.uniform(0.25, 0.5)
        if failure.retry_after_s is not None:
            pause_s = failure.retry_after_s
        if failure.final:
            self._stop(what)
        elif failing_s + pause_s >= self._budget.patience_s:
            self._stop(f"{what}, and the next try is after the patience of {self._budget.patience_s:g} s")
        elif player.name not in self._waiting:
            self._waiting.add(player.name)
            self._notify(f"{what}; its games wait, with the clock stopped, for at most {self._budget.patience_s:g} s")
        key = self._key_of(player)
        key.blocked_until = max(key.blocked_until, time.monotonic() + pause_s)
        await self._sleep(pause_s)

    def _key_of(self, player: ModelPlayer) -> _Key:
        name = player.settings.key_name
        return self._keys.setdefault(name, _Key(self._budget.keys.get(name, _NO_LIMITS)))

    async def _admit(self, player: ModelPlayer, most: Usage) -> tuple[int, list[int]]:
        """Wait until a call fits the limits of its key and the budget; reserve it and return its number."""
        key = self._key_of(player)
        while True:
            if self.stopped is not None:
                raise CallsStoppedError(self.stopped)
            now = time.monotonic()
            wait_s = key.wait_s(now, most.tokens)
            if wait_s > 0:
                await self._sleep(wait_s)
                continue
            journal = self.journal
            used_up = self._used_up(sum(journal.reserved.values(), journal.used) + most)
            if used_up is None:
                return journal.reserve(most), key.take(now, most.tokens)
            if not journal.reserved:
                self._stop(used_up)
            else:
                await self._changed.wait()  # a call may use less than was reserved

    def _used_up(self, after: Usage) -> str | None:
        """Return which part of the budget isn't enough for this usage, None if all are."""
        for name in ("calls", "tokens", "dollars"):
            most, used = getattr(self._budget, name), getattr(self.journal.used, name)
            if most is not None and getattr(after, name) > most + 1e-9:
                usage_text = f"{used:g} used, and the next call may need the rest"
                return f"the budget of {most:g} {name} is used up ({usage_text}): raise it by --budget FILE"
        return None

    async def _sleep(self, seconds: float) -> None:
        """Sleep. Raises CallsStoppedError as soon as the client stops."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        if self.stopped is not None:
            raise CallsStoppedError(self.stopped)

    async def _send(self, player: ModelPlayer, body: bytes) -> tuple[Answer | _Failure, dict[str, int] | None]:
        """Send a request; return its answer or failure, and its usage if the endpoint reports it."""
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if player.key:
            headers["Authorization"] = f"Bearer {player.key}"
        data = bytearray()
        try:
            async with (
                asyncio.timeout(player.settings.timeout_s),
                self._http.stream("POST", player.settings.endpoint, content=body, headers=headers) as response,
            ):
                async for part in response.aiter_bytes():
                    data += part
                    if len(data) > _MAX_BYTES:
                        return Answer("", problem=f"the answer was longer than {_MAX_BYTES >> 20} MB"), None
        except TimeoutError:
            return _Failure(f"no answer within {player.settings.timeout_s:g} s", billed=True), None
        except (httpx.ConnectError, httpx.UnsupportedProtocol):
            return _Failure("no connection to the endpoint"), None
        except (httpx.HTTPError, httpx.StreamError, OSError) as problem:  # its text may contain the key
            return _Failure(f"the connection was cut ({type(problem).__name__})", billed=True), None
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError):
            reply = None
        reply = reply if isinstance(reply, dict) else {}
        usage = _read_usage(reply.get("usage"))
        if response.status_code != 200 or not reply.get("choices"):
            return self._read_error(response, reply, data), usage
        return self._read_answer(reply), usage

    def _read_error(self, response: httpx.Response, reply: dict[str, Any], data: bytearray) -> Answer | _Failure:
        """Return what a response without an answer means. Keys are removed from its text before it is cut."""
        code, error = response.status_code, reply.get("error")
        told = error.get("message") if isinstance(error, dict) else error
        text = self.redact(str(told or data.decode("utf-8", "replace")))
        if code in (400, 413, 422) and _TOO_LONG.search(text):
            return Answer("", problem="the context is too long")
        if code in (400, 422) and _FILTERED.search(text):
            return Answer("", problem="the prompt was filtered")
        if code == 200:
            return _Failure("the endpoint's answer isn't a chat completion", billed=True)
        if code in _WAITS or code >= 500:
            return _Failure(f"HTTP {code}", _retry_after(response.headers.get("Retry-After", "")), billed=code >= 500)
        return _Failure(f"HTTP {code}: {escape_control(text)[:_MAX_REASON]}", final=True)

    def _read_answer(self, reply: dict[str, Any]) -> Answer:
        """Return the answer in a provider's reply, without keys. An unusable one has the problem in words.

        Raises KeyError if the reply has no choices.
        """
        choice = reply["choices"][0] if isinstance(reply["choices"], list) else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            return Answer("", problem="the answer has no message")
        finish = self.redact(str(choice.get("finish_reason") or ""))
        thinking = self.redact(str(message.get("reasoning_content") or message.get("reasoning") or ""))
        content = str(message.get("content") or "")
        with suppress(LookupError, TypeError):
            content = str(message["tool_calls"][0]["function"]["arguments"])
        problem = None
        if message.get("refusal"):
            content, problem = str(message["refusal"]), "the model refused to answer"
        elif finish == "length":
            problem = "the answer was cut off at max_tokens"
        elif finish == "content_filter":
            problem = "the answer was filtered"
        return Answer(self.redact(content), thinking, finish, problem)


def _pattern_of(key: str) -> re.Pattern[str]:
    """Return what finds a key in any form of JSON, also with control characters inside, which a cleaned text loses."""
    letters = (rf"(?:\\?{re.escape(letter)}|\\u(?i:{ord(letter):04x}))" for letter in key)
    return re.compile("[^ -~]*+".join(letters))


def _begin_line(call: Call[T], number: int, digest: str) -> Line:
    """Return the beginning of a call's line in the journal, without its outcome."""
    new_messages = call.messages[len(call.messages) - call.new :]
    key = dict(zip(("match", "game", "player", "request", "attempt"), call.key, strict=True))
    return {
        "call": number,
        "at": round(time.time(), 3),
        **key,
        **call.about,
        "model": call.player.settings.model,
        "prompt": new_messages[0]["content"] if len(new_messages) == 1 else list(new_messages),
        "digest": digest,
        "usage": None,
    }


def _sum_usage(usage: Mapping[str, int] | None, price: Price) -> Usage:
    """Return what a provider reports as used (prompt, cached and output tokens); nothing if it reports None."""
    if usage is None:
        return Usage()
    prompt_tokens, cached, output = usage.values()
    return Usage(1, prompt_tokens + output, price.cost(prompt_tokens, output, cached))


def _note_outcome(line: Line, call: Call[T], outcome: Answer | _Failure) -> T | None:
    """Add the outcome to a call's line in the journal; return the value of an answer."""
    if isinstance(outcome, _Failure):
        line["done"] = f"provider: {outcome.reason}"
        return None
    judged, value = call.judge(outcome)
    line |= {**judged, "answer": outcome.content, "thinking": outcome.thinking}
    line |= {"finish": outcome.finish, "problem": outcome.problem}
    return value


def _encode_body(call: Call[Any]) -> bytes:
    """Return the body of a request; equal calls have equal bodies."""
    settings = call.player.settings
    body = {
        "model": settings.model,
        "messages": call.messages,
        **call.form,
        "max_completion_tokens": settings.max_tokens,
    }
    body |= {} if settings.temperature is None else {"temperature": settings.temperature}
    body |= {} if settings.reasoning_effort is None else {"reasoning_effort": settings.reasoning_effort}
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
        return max(0.0, float(text) if text[:1].isdecimal() else parsedate_to_datetime(text).timestamp() - time.time())
    return None
