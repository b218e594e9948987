"""Tests that schema.json agrees with the models."""

from protocol.messages import schema


def test_what_the_referee_sends_is_closed_and_what_bots_send_is_open() -> None:
    """SPEC.md: unknown fields of a bot's lines are ignored; the referee sends none."""
    for name, part in schema()["$defs"].items():
        if part.get("type") == "object":
            assert part.get("additionalProperties", True) is (name in {"BotHello", "Reply"}), name
