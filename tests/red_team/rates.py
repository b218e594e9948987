"""The table of SECURITY.md: what two bots can tell each other by each channel that is known to be open."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.red_team.channels import CHANNELS, UNCLEAR, Measured, lasting, measure, remembered
from tests.red_team.stage import Stage

TIMES = 3  # that each is measured
BEGIN, END = "<!-- rates -->\n", "<!-- /rates -->\n"
HEAD = "| channel | {tiers} | after both have ended | what lessens it |"


def rates(tiers: Sequence[str], scratch: Path, say: Callable[[str], None]) -> str:
    """Measure, and return the table as Markdown. `say` is called before each measurement. Raises SandboxError."""
    names = [name for name, known in CHANNELS.items() if known.open]
    found: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    kept: dict[str, list[str]] = defaultdict(list)
    for tier in tiers:
        with Stage(tier, scratch / tier) as stage:
            for time in range(TIMES):
                for name in names:
                    say(f"{tier}, {time + 1} of {TIMES}: {name}")
                    found[name, tier] += measure(stage, [name])
            for name in lasting():
                wrong, bits = remembered(stage, name)
                share = f"{round(bits * (1 - wrong))} of {bits} bits" if wrong < UNCLEAR else "nothing"
                kept[name].append(f"{tier}: {share}")
    heads = " | ".join(f"{tier} | frozen in turns" for tier in tiers)
    lines = [HEAD.format(tiers=heads), "|---" * (3 + 2 * len(tiers)) + "|"]
    for name in names:
        cells = [cell for tier in tiers for cell in _cells(found[name, tier])]
        known = CHANNELS[name]
        why = next(iter(known.open.values()))
        lines.append(
            f"| {' | '.join([f'`{name}`: {why}', *cells, ', '.join(kept[name]) or 'not measured', known.lessens])} |"
        )
    return "\n".join(lines) + "\n"


def _cells(measured: Sequence[Measured]) -> tuple[str, str]:
    """Return the rates of bots that run at once, and of bots that are frozen in turns."""
    each = max((one.a_request or 0.0 for one in measured), default=0.0)
    frozen = [one.frozen for one in measured if one.frozen is not None]
    return _span([one.rate for one in measured]), _span(frozen) + (f" ({each:.1f} bits an answer)" if each else "")


def _span(numbers: Sequence[float]) -> str:
    """Return the least and the largest number, of two digits each."""
    if not any(numbers):
        return "none"
    ends = [f"{float(f'{number:.2g}'):,.0f}" for number in (min(numbers), max(numbers))]
    return "-".join(dict.fromkeys(ends))


def write(table: str, page: Path) -> None:
    """Put the table between its marks into a page. Raises ValueError where they are missing."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no marks of the table")
    page.write_text(before + begin + table + end + after)
