"""The documents as text, for tests that compare them with the code."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROTOCOL_PAGES = [
    ROOT / "protocol/SPEC.md",
    *(
        ROOT / f"docs/reference/{name}.md"
        for name in (
            "protocol/process",
            "bot-toml",
            "sandbox",
            "protocol/messages",
            "protocol/requests",
            "rulesets",
            "protocol/events",
            "protocol/variants",
            "protocol/clock",
            "protocol/faults",
            "protocol/hidden-information",
            "protocol/example",
        )
    ),
]


def document(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def spec() -> str:
    """Return the whole protocol: its pages, one after the other."""
    return "\n".join(path.read_text(encoding="utf-8") for path in PROTOCOL_PAGES)


def blocks(language: str, text: str) -> list[str]:
    """Return the code blocks of a text in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
