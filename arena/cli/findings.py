"""Findings of a bot, of this host, of a ladder: as lines for people, and as objects for programs."""

import textwrap
from collections.abc import Iterable, Iterator

import click

from arena.bots import shown
from arena.cli.out import NARROW, WIDE, counted, request_first, width
from arena.examine import Finding, Step, StepView
from protocol import show

_COLOURS = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "red", "now": "blue"}
_SHOWN = 400  # characters of what was sent, and of what came
_COLUMNS = 80  # of a step; a wider terminal, or a pipe, gets no longer lines
_LINE = 160  # characters of a line of standard error


def finding_lines(
    finding: Finding, widest: int = 16, before: str = "", between: Iterable[str] = (), columns: int = WIDE
) -> Iterator[str]:
    """Yield a finding: level, subject and text; below it the command that mends it, whole, and what else to do.

    widest: columns of the subject. before: stands before all. between: lines that stand before what to do. columns: of
    the longest line, where the terminal isn't narrower.
    """
    narrow = width() < NARROW
    head = f"{before}{finding.level:4}  {finding.what:{widest}}  "
    indent = " " * (4 if narrow else len(before) + 8)
    taken = len(indent if narrow else head)
    first, *rest = _fold(shown(finding.text), taken, columns) or [""]
    coloured = head.replace(finding.level, click.style(finding.level, fg=_COLOURS[finding.level]), 1)
    yield (coloured if narrow else coloured + first).rstrip()
    yield from (f"{' ' * taken}{line}" for line in ([first] if narrow else []) + rest if line)
    yield from between
    if finding.mend:
        yield f"{indent}$ {shown(finding.mend)}"
    for paragraph in filter(str.strip, map(shown, finding.do.split("\n"))):
        first, *rest = _fold(paragraph, len(indent) + 3, columns)
        yield f"{indent}-> {first}"
        yield from (f"{indent}   {line}" for line in rest)


def step_lines(step: StepView) -> Iterator[str]:
    """Yield a step of an examination: its finding, with what crossed the pipe."""
    yield from finding_lines(step, before=f"{step.number:2}  ", between=_exchange(step), columns=_COLUMNS)
    if step.rows:
        narrow = width() < NARROW
        indent = " " * (4 if narrow else 12)
        least = 1 + max(len(kind) for kind, _, _ in step.rows) if narrow else 16
        yield from (
            f"{indent}{kind:{least}}{asked:>{6 if narrow else 8}}{answered:>{9 if narrow else 10}}"
            for kind, asked, answered in step.rows
        )


def _exchange(step: StepView) -> Iterator[str]:
    """Yield what was sent and what came, and what the bot wrote to standard error, each below its step."""
    narrow = width() < NARROW
    indent = " " * (4 if narrow else 12)
    asked = None if step.sent is None else request_first(step.sent.encode()).decode()
    for name, line in (("sent" if asked == step.sent else "request", asked), ("got", step.got)):
        if line is not None:
            first, *rest = _fold(_shorten(line, _SHOWN), len(indent) + 9) or ["(an empty line)"]
            yield f"{indent}{name:7}  {first}"
            yield from (f"{indent}         {more}" for more in rest)
    if step.level == "fail" and step.sent is not None and step.got is None:
        yield f"{indent}got      nothing"
    for line in step.stderr:
        text = _shorten(line, _LINE)  # whole where there is room: compilers point below what they mean
        yield from (f"{indent}|  {part}" for part in (_fold(text, len(indent) + 3) if narrow else [text]))


def _shorten(line: str, most: int) -> str:
    """Return a line without its middle where it is long: a cause often stands at the end."""
    text, end = show(line.encode(), len(line)), most // 3
    return text if len(text) <= most else f"{text[: most - end]} … {text[-end:]} ({len(line.encode())} bytes)"


def _fold(text: str, taken: int, columns: int = _COLUMNS) -> list[str]:
    """Return a text as lines that fit beside what is taken of each."""
    return textwrap.wrap(text, max(20, min(width(), columns) - taken), break_on_hyphens=False, break_long_words=True)


def log_has_more(step: Step) -> bool:
    """Tell whether a build printed more than `step_lines` shows."""
    return step.partial or any(len(show(line, len(step.log))) > _LINE for line in step.stderr if step.log)


def verdict_line(bot: str, findings: Iterable[Finding]) -> str:
    """Return what the steps of an examination come to."""
    count = sum(finding.level == "fail" for finding in findings)
    return click.style(
        f"{counted(count, 'step')} failed" if count else f"{shown(bot)} can play", fg="red" if count else "green"
    )


def has_failure(findings: Iterable[Finding]) -> bool:
    """Tell whether one of them needs a hand."""
    return any(finding.level == "fail" for finding in findings)
