"""What `arena stats` prints, as tables that an 80-column terminal holds. Returns them, prints nothing."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from arena.bots import shown
from arena.cli.out import Column, counted, table
from arena.count import ALL
from arena.stats import ONE_MATCH, SECTIONS, Answer, Compared, Difference, Profile, Rate, Records, Took
from ladder.cells import NONE, ends, percent, span

WIDEST = 100  # columns; a line of prose is folded there, a table isn't
_NAME_WIDTH = 10  # columns for a name in a narrow terminal; longer names wrap
_ACTIONS = 7  # columns of actions in a table


def parts(stats: Answer, full: bool) -> Iterator[RenderableType]:
    """Yield what is printed: all bots in short, or in full those that the answer holds, or what differs."""
    if stats.comparison is not None:
        yield head(stats.records)
        yield ""
        for bot, pair in zip(stats.bots, stats.comparison.bots, strict=True):
            yield from _pair(bot, pair)
        yield Text(
            "* clearly: beyond chance, with so many rates compared; where nothing differs, 1 page in 20 has a star",
            "dim",
        )
        if stats.of_one_match:
            yield Text(ONE_MATCH, "dim")
        return
    yield head(stats.records)
    if full:
        for bot in stats.bots:
            yield from _whole(bot, stats.records)
        if stats.of_one_match:
            yield ""
            yield Text(ONE_MATCH, "dim")
        return
    yield from _short(stats)
    yield ""
    if _without(*(rate for bot in stats.bots for rate in _intervals(bot))):
        yield Text(ONE_MATCH, "dim")
    yield Text("all of one bot: --bot NAME; two bots: --bot NAME --with NAME; all numbers: --json, --csv", "dim")


def head(records: Records) -> str:
    """Return in one line what was counted."""
    text = f"{counted(records.games, 'game')} of {', '.join(map(shown, records.rules))} at {span(records.seats)} seats"
    if records.turns is not None:
        text += f"; {records.turns.median} turns (80 %: {records.turns.p10}-{records.turns.p90})"
    return f"{text}, {records.draws} drawn" if records.draws else text


# ---------------------------------------------------------------- all bots in short


def _short(stats: Answer) -> Iterator[RenderableType]:
    yield ""
    rows = []
    for bot in stats.bots:
        won, two = bot.won.get(ALL), bot.won_by_left.get("2")
        out = NONE if bot.out is None else str(bot.out.median)
        rows.append([bot.bot, str(bot.games), _percent(won), _interval(won), _of(two), _interval(two), out])
    yield _table(["bot", "games", "won", "95 %", "won of\nthe last two", "95 %", "out in\nturn"], rows)
    yield ""
    rows = []
    for bot in stats.bots:
        bluffs, called, caught = (bot.bluffs.get(ALL), bot.called.get(ALL), bot.caught.get(ALL))
        number = NONE if bluffs is None else str(bluffs.of)
        rows.append(
            [bot.bot, number, _percent(bluffs), _interval(bluffs), _percent(called), _interval(called), _of(caught)]
        )
    yield _table(["bot", "claims", "bluffs", "95 %", "called", "95 %", "bluffs\ncalled"], rows)
    yield ""
    rows = []
    for bot in stats.bots:
        claims, right, lies = (bot.challenges.get(name) for name in ("made", "right", "of_lies"))
        blocks, bluffed = (bot.blocks.get(name) for name in ("made", "bluffed"))
        rows.append([bot.bot, _of(claims), _of(right), _of(lies), _of(blocks), _of(bluffed)])
    yield _table(
        [
            "bot",
            "challenges\nof claims",
            "right\nof these",
            "challenges\nof lies",
            "blocks\nof actions",
            "bluffs\nof these",
        ],
        rows,
    )
    yield from _actions(stats.bots)
    yield ""
    rows = []
    for bot in stats.bots:
        took = bot.took.get(ALL)
        times = [NONE] * 3 if took is None else [str(took.requests), _ms(took.median_ms), _ms(took.p99_ms)]
        faults = ", ".join(f"{code} {count}" for code, count in bot.faults.items()) or NONE
        rows.append([bot.bot, *times, faults])
    yield _table(
        ["bot", "requests", f"{_clock(stats.records)} ms,\nmedian", "99 %\nwithin", "faults"], rows, texts=("faults",)
    )


def _actions(bots: Sequence[Profile]) -> Iterator[RenderableType]:
    """Yield what each bot does in its turns; of many actions in several tables."""
    names = list(dict.fromkeys(name for bot in bots for name in bot.actions))
    for start in range(0, len(names), _ACTIONS):
        some = names[start : start + _ACTIONS]
        rows = []
        for bot in bots:
            turns = span([rate.of for rate in bot.actions.values()])
            rows.append([bot.bot, turns, *(_percent(bot.actions.get(name), 0) for name in some)])
        yield ""
        yield _table(["bot", "turns", *(_heading(name) for name in some)], rows)


# ---------------------------------------------------------------- one bot in full


def _whole(bot: Profile, records: Records) -> Iterator[RenderableType]:
    out = "" if bot.out is None else f"; out in turn {bot.out.median} (80 %: {bot.out.p10}-{bot.out.p90})"
    yield f"{shown(bot.bot)}: {counted(bot.games, 'game')} in {counted(bot.matches, 'match', 'es')}{out}"
    for section, (title, about) in SECTIONS.items():
        rates: Mapping[str, Rate] = getattr(bot, section)
        if not rates:
            continue
        attacks = bot.attacks if section == "attacked" else {}
        kinds = list(dict.fromkeys(kind for made in attacks.values() for kind in made))
        rows = [
            [_name(section, name), _number(rate.count), str(rate.of), _percent(rate), _interval(rate)]
            + [str(attacks.get(name, {}).get(kind, 0)) for kind in kinds]
            for name, rate in rates.items()
        ]
        yield ""
        yield _table([title, "count", "of", "share", "95 %", *map(_heading, kinds)], rows)
        yield Text(about, "dim")
    if bot.took:
        yield ""
        rows = [[kind, str(took.requests), _ms(took.median_ms), _ms(took.p99_ms)] for kind, took in bot.took.items()]
        yield _table([f"{_clock(records)} time, ms", "requests", "median", "99 % within"], rows)
    if bot.faults:
        yield ""
        yield _table(["faults", "count"], [[code, str(count)] for code, count in bot.faults.items()])


# ---------------------------------------------------------------- two bots


def _pair(bot: Profile, pair: Compared) -> Iterator[RenderableType]:
    """Yield each rate of a bot now and before, and its times."""
    every = [each for names in pair.differences.values() for each in names.values()]
    yield f"{_pair_name(pair)}: {sum(each.clear for each in every)} of {counted(len(every), 'rate')} differ clearly *"
    for section, names in pair.differences.items():
        title, about = SECTIONS[section]
        yield ""
        rows = [[_name(section, name), *_both(each)] for name, each in names.items()]
        yield _table([title, "before", "now", "difference", "95 %", ""], rows, texts=("",))
        yield Text(about, "dim")
    times = [
        [kind, _ms(before.median_ms), _ms(now.median_ms), _ms(before.p99_ms), _ms(now.p99_ms)]
        for kind, before, now in _took(bot, pair)
    ]
    if times:
        yield ""
        yield _table(["time, ms", "median\nbefore", "now", "99 % within\nbefore", "now"], times)
        yield ""


def _pair_name(pair: Compared) -> str:
    return shown(f"{pair.bot}, before: {pair.before.bot}")


def _both(difference: Difference) -> list[str]:
    return [
        _of(difference.before),
        _of(difference.now),
        f"{100 * difference.difference:+.1f}",
        NONE
        if difference.difference_95 is None
        else "{:+.1f} to {:+.1f}".format(*(100 * end for end in difference.difference_95)),
        "*" if difference.clear else "",
    ]


def _took(now: Profile, pair: Compared) -> Iterator[tuple[str, Took, Took]]:
    for kind, took in now.took.items():
        if kind in pair.before.took:
            yield kind, pair.before.took[kind], took


# ---------------------------------------------------------------- cells


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[str] = ()) -> RenderableType:
    """Return a table of numbers, whose first column holds names, as may those in `texts`."""
    columns = [
        Column(name, number=place > 0 and name not in texts, least=_NAME_WIDTH if not place or name in texts else None)
        for place, name in enumerate(names)
    ]
    return table(columns, [[shown(cell) for cell in row] for row in rows])


def _percent(rate: Rate | None, digits: int = 1) -> str:
    return percent(None if rate is None else rate.share, digits)


def _interval(rate: Rate | None) -> str:
    return ends(*((None, None) if rate is None or rate.share_95 is None else rate.share_95))


def _intervals(bot: Profile) -> tuple[Rate | None, ...]:
    """Return the rates of a bot whose intervals stand in the tables in short."""
    return bot.won.get(ALL), bot.won_by_left.get("2"), bot.bluffs.get(ALL), bot.called.get(ALL)


def _without(*rates: Rate | None) -> bool:
    """Return whether a rate has no interval."""
    return any(rate is not None and rate.share_95 is None for rate in rates)


def _of(rate: Rate | None) -> str:
    """Return a rate with the number that it is of: "46% of 1096"."""
    return NONE if rate is None else f"{rate.share:.0%} of {rate.of}"


def _number(count: float) -> str:
    """Return a count; wins may be parts of one."""
    return f"{count:.0f}" if count == round(count) else f"{count:.1f}"


def _ms(time: float) -> str:
    return f"{time:.2f}" if time < 10 else f"{time:.0f}"


def _clock(records: Records) -> str:
    return records.clocks[0] if len(records.clocks) == 1 else "own or wall"


def _name(section: str, name: str) -> str:
    """Return what a row is called: a bot's name as it is, a word of ours with blanks."""
    return name if section == "attacked" else name.replace("_", " ")


def _heading(name: str) -> str:
    """Return a name as a column's heading, of short lines."""
    return "assas-\nsinate" if name == "assassinate" else name.replace("_", "\n")
