"""Define a completed match as it is stored: record, results, logs, fault samples, usage and play styles."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arena.referee.results import GameResult

MAX_SAMPLES_PER_FAULT = 3  # for each bot and kind of fault: one to show, two to compare it with


@dataclass(frozen=True, slots=True)
class StoredFaultSample:
    """A request and a bot's faulty reply, as bytes without the newline.

    code: the kind of fault. game, step: None if the fault isn't part of one. got: None without a reply.
    facts: names and values that describe the cause; empty in older samples.
    """

    match: int
    bot: str
    code: str
    game: int | None
    step: int | None
    sent: bytes
    got: bytes | None
    facts: tuple[tuple[str, Any], ...] = ()

    def to_line(self) -> str:
        """Return the sample as a line of ASCII JSON; bytes that aren't UTF-8 become surrogates (surrogateescape)."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields |= {name: None if fields[name] is None else _text(fields[name]) for name in ("sent", "got")}
        fields["facts"] = dict(self.facts)
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "StoredFaultSample":
        """Parse a line that `to_line` returned, also one without facts. Raises ValueError for one with other fields."""
        try:
            fields = json.loads(line)
            sent, got = fields.pop("sent"), fields.pop("got")
            fields["facts"] = tuple(fields.get("facts", {}).items())
            return cls(**fields, sent=_bytes(sent), got=None if got is None else _bytes(got))
        except (AttributeError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"no fault sample: {error!r}") from None


def select_samples(fault_samples: Iterable[StoredFaultSample]) -> tuple[StoredFaultSample, ...]:
    """Return the samples to store, in match order: for each bot and kind of fault, the first MAX_SAMPLES_PER_FAULT.

    The order in which matches were played doesn't matter. Samples of one match stay in the given order.
    """
    samples_by_fault: dict[tuple[str, str], list[StoredFaultSample]] = defaultdict(list)
    for sample in sorted(fault_samples, key=lambda sample: sample.match):
        samples_by_fault[sample.bot, sample.code].append(sample)
    selected = [sample for samples in samples_by_fault.values() for sample in samples[:MAX_SAMPLES_PER_FAULT]]
    return tuple(sorted(selected, key=lambda sample: sample.match))


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class SlotUsage:
    """A bot's resource usage in a match: requests, own time in total and for the slowest one, peak memory."""

    requests: int = 0
    time_us: int = 0
    slowest_us: int = 0
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A completed match.

    record: the text from which the match can be replayed. results: one for each game, in order of play. logs: (bot,
    process number, standard error) of each process. fault_samples: the first one of each bot and kind.
    spent, styles: (bot, its usage) and (bot, its play style as JSON), if known.
    """

    match: int
    record: str
    results: tuple[GameResult, ...]
    logs: tuple[tuple[str, int, bytes], ...] = ()
    fault_samples: tuple[StoredFaultSample, ...] = ()
    spent: tuple[tuple[str, SlotUsage], ...] = ()
    styles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FailedMatch:
    """A failed attempt at a match. `is_last`: it was the last attempt of this session."""

    match: int
    reason: str
    is_last: bool
