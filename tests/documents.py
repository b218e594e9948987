"""The documents as text, for tests that compare them with the code."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# For tests of the files that git tracks: a source distribution has no .git.
NEEDS_CLONE = pytest.mark.needs("git", None if shutil.which("git") and (ROOT / ".git").exists() else "this is no clone")
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
