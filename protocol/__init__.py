"""Define the protocol between the referee and a bot: lines of JSON, their limits and their meaning.

SPEC.md is the contract in words, `schema.json` its JSON Schema, `examples/` has whole conversations. Modules:

- `framing`   bytes -> lines -> one decoded reply; standard library only, for the referee's hot loop
- `messages`  pydantic models of every line, which define and test the wire (and print schema.json)
- `payloads`  the Coup payloads in those lines: moves, events, state

This package must not know the engine, the referee, processes or files. The public API has `framing` only: a bot that
imports `protocol.kits.coup_kit` passes through here and must need nothing but the standard library.
"""

from protocol import framing
from protocol.framing import (
    DEPTH_LIMIT,
    INT_DIGITS,
    LINE_LIMIT,
    NAME_LIMIT,
    PROTOCOL,
    SAY_LIMIT,
    TEXT_LIMIT,
    Greeting,
    LineBuffer,
    Malformed,
    MalformedCode,
    ParsedReply,
    decode,
    encode,
    escape_bytes,
    parse_hello,
    parse_reply,
    usual_reply,
)

__all__ = [
    "DEPTH_LIMIT",
    "INT_DIGITS",
    "LINE_LIMIT",
    "NAME_LIMIT",
    "PROTOCOL",
    "SAY_LIMIT",
    "TEXT_LIMIT",
    "Greeting",
    "LineBuffer",
    "Malformed",
    "MalformedCode",
    "ParsedReply",
    "decode",
    "encode",
    "escape_bytes",
    "framing",
    "parse_hello",
    "parse_reply",
    "usual_reply",
]
