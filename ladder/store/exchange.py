"""A faulty exchange that is kept for a report, and which of all are."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

FEW = 3  # exchanges that are kept of each kind of fault of a bot: one to show, two to compare it with


@dataclass(frozen=True, slots=True)
class KeptExchange:
    """What a bot was sent and what it answered, as it crossed the pipe, without the newline.

    code: the kind of fault. game, step: None if the fault belongs to none. got: None if nothing came.
    facts: names and values of what is known of its cause; older exchanges have none.
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
        """Return the exchange as a line of JSON in ASCII; bytes that aren't UTF-8 are half surrogates in it."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields |= {name: None if fields[name] is None else _text(fields[name]) for name in ("sent", "got")}
        fields["facts"] = dict(self.facts)
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "KeptExchange":
        """Return the exchange that `to_line` wrote. Raises ValueError for any other line."""
        try:
            fields = json.loads(line)
            sent, got = fields.pop("sent"), fields.pop("got")
            fields["facts"] = tuple(fields.get("facts", {}).items())
            return cls(**fields, sent=_bytes(sent), got=None if got is None else _bytes(got))
        except (AttributeError, KeyError, TypeError, RecursionError) as problem:
            raise ValueError(f"no exchange: {problem!r}") from None


def first_few(exchanges: Iterable[KeptExchange]) -> tuple[KeptExchange, ...]:
    """Return the exchanges that a store keeps: of each kind of fault of a bot those of its first matches.

    They are the same in whatever order the matches were played. In the order of the matches; of one match in the order
    given.
    """
    kept: dict[tuple[str, str], list[KeptExchange]] = defaultdict(list)
    for exchange in sorted(exchanges, key=lambda each: each.match):
        kept[exchange.bot, exchange.code].append(exchange)
    few = [exchange for each in kept.values() for exchange in each[:FEW]]
    return tuple(sorted(few, key=lambda each: each.match))


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
