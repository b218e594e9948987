"""Rows for a notebook or a spreadsheet: a list of dicts with the same keys, which prints as columns."""

from typing import Any


class Rows(list[dict[str, Any]]):
    """What `pandas.DataFrame(rows)` and `csv.DictWriter` take; printed, it is a table."""

    def __str__(self) -> str:
        """Return the rows below their names, numbers to four digits, None as "-"."""
        if not self:
            return "no rows"
        lines = [list(self[0]), *([_cell(value) for value in row.values()] for row in self)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
