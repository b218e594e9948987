"""Check a model player: its files, its prompt, and one decision by a real call."""

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace

from arena.bots import Bot, BotError
from arena.checks import CHECK_KEY, CheckStep, Severity
from arena.coup import Ruleset
from arena.models import Budget, Journal, Line, ModelClient, ModelPlayer, ModelSeat, load_player
from arena.referee import UNTIMED_MS, ArenaError, MatchObserver, MatchSettings, MatchSpec, Timing
from arena.referee.process import play_match
from arena.sandbox import Box, InProcessBox, make_reply_script
from protocol import encode


class _DecidedError(Exception):
    """The model has made its first decision."""


class _FirstDecision(MatchObserver):
    """Ends the match, by an exception, after the first call of the model."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def answered(self) -> None:
        if self._journal.last_line is not None:
            raise _DecidedError


def check_model(bot: Bot, budget: Budget, rules: Ruleset) -> Iterator[CheckStep]:
    """Yield the steps of a check. The last makes one call, or two if the first answer can't be used."""
    try:
        player = load_player(bot, budget)
    except BotError as problem:
        message, _, advice = str(problem).partition("\n")
        yield CheckStep("model", Severity.FAIL, message, "", advice, 1)
        return
    settings = player.settings
    key = f"key from {settings.key_name}" if player.key else "no key"
    yield CheckStep("model", Severity.OK, f"{settings.model} at {settings.endpoint}, {key}", number=1)
    yield _check_decision(player, budget, rules)


def _check_decision(player: ModelPlayer, budget: Budget, rules: Ruleset) -> CheckStep:
    """Let the model make the first decision of a game, by one or two calls; return the step with the last answer."""
    call_budget = budget.model_copy(update={"patience_s": 0.0, "calls": 2})
    step = CheckStep("call", Severity.FAIL, "", number=2)
    with closing(ModelClient(call_budget, Journal(None))) as client:
        _play_first_decision(player, client, rules)
        if client.stop_reason is not None:
            return replace(step, message=client.stop_reason, advice="Correct bot.toml, or ask the provider.")
        line, used = client.journal.last_line, client.journal.used
    assert line is not None
    calls = "1 call" if used.calls == 1 else f"{used.calls} calls"
    cost = f", ${used.dollars:.6f}" if player.settings.model in budget.prices else ""
    message = f"{calls}, {_describe_tokens(line)} in {line['seconds']:.1f} s{cost}: {line['done']}"
    if line["done"].startswith("played"):
        return replace(step, severity=Severity.OK, message=message)
    return replace(step, message=message, received=line["answer"].encode(errors="backslashreplace"), advice=_ADVICE)


def _play_first_decision(player: ModelPlayer, client: ModelClient, rules: Ruleset) -> None:
    """Play a match, untimed and against seats that pass, up to the first decision of the model or a failure."""
    seats = max(2, rules.min_seats)
    settings = MatchSettings(rules=rules, timing=Timing(limit_ms=UNTIMED_MS, bank_ms=0))
    names = (player.name, *(f"passer-{seat}" for seat in range(1, seats)))
    spec = MatchSpec(0, CHECK_KEY, names, (tuple(range(seats)),), settings)
    model_seat = ModelSeat(player, client, spec)

    def launch(number: int) -> Box:
        return InProcessBox("passer", make_reply_script(_pass)) if number else model_seat.start()

    with suppress(_DecidedError, ArenaError):
        play_match(spec, launch, observer=_FirstDecision(client.journal))


_ADVICE = "Try another form of answer (schema, tool or text), more max_tokens, or a clearer prompt."


def _describe_tokens(line: Line) -> str:
    usage = line["usage"]
    return "unknown tokens" if usage is None else f"{usage['prompt']} + {usage['output']} tokens"


def _pass(line: bytes) -> bytes | None:
    """Return the reply of a bot that always plays the first legal move; None for a line that needs no reply."""
    message = json.loads(line)
    if message["type"] not in ("hello", "request"):
        return None
    return encode({"type": "hello"} if message["type"] == "hello" else {"id": message["id"], "choice": 0})
