"""Advise how a program in each language reads a line, flushes, prints output, writes JSON and installs packages."""

from arena.bots import LANGUAGES

_OTHER = ("read single lines", "flush standard output", "standard error", "a JSON library", "")


def advice_in(language: str) -> dict[str, str]:
    """Return the placeholders of remedies whose values depend on the language."""
    row = LANGUAGES[language].advice if language else ()
    return dict(zip(("loop", "how", "debug", "dumps", "install"), (*row, *_OTHER[len(row) :]), strict=True))
