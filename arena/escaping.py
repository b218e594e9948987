"""Escape untrusted text for a terminal or a spreadsheet."""

import re
import shlex
from pathlib import Path

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # first characters of a formula in spreadsheets


def escape_control(text: str | Path) -> str:
    """Return text for a terminal: unprintable characters (control characters, undecodable bytes) are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def quote_path(path: str | Path) -> str:
    """Return a path, or a name, as one word of a shell's command for a terminal."""
    return escape_control(shlex.quote(str(path)))


def escape_csv_cell(text: str) -> str:
    """Return text for a cell of a CSV file, with a quote before it if a spreadsheet would read it as a formula.

    A lone "-", the notation of a pass, is no formula.
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and text != "-" else text


def hide_folders(text: str) -> str:
    """Return text without the folders of absolute paths, which are this machine's own business."""
    return re.sub(r"(?<![\w./])/(?:[^\s/'\"]+/)+", "", text)
