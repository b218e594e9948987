"""The rules of a game as a sheet to read, made from the table that the engine reads. Returns it, prints nothing.

Nothing is written down twice: rows come from `Ruleset.actions`, sentences from the table of fields, the deck from
`Ruleset.copies`, and what differs from the base game is found by comparing. All of it is ASCII; 60 columns suffice.
"""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from arena.cli.out import Column, counted, table
from arena.coup import (
    ABOUT,
    COUP,
    DOCUMENTS,
    FIELD,
    FIELDS,
    PRESETS,
    Action,
    ActionRule,
    Blockers,
    Effect,
    ExchangeReturn,
    FieldRule,
    Ruleset,
    differences,
    seat_counts,
    toml,
    why_idle,
)

# Fields that the title, the table of actions or the table of the deck shows.
_TOLD = {"name", "min_seats", "max_seats", "turn_limit", "exchange_draw", "block_challenged_by"}
_SET_UP = ("draft", "first_player", "start_coins", "two_player_starter_coins", "allegiance_start")  # in this order
_FILE = 'base = "classroom"\nforced_coup = "off"\nexchange_draw = 1'


def presets() -> RenderableType:
    """Return the list of presets, one line each."""
    rows = [[rules.name, _span(seat_counts(rules)), ABOUT[rules.name]] for rules in PRESETS.values()]
    return table(["rules", "players", Column("what they are", least=0)], rows)


def sheet(rules: Ruleset) -> RenderableType:
    """Return the rules of one game."""
    seats = seat_counts(rules)
    about = f": {ABOUT[rules.name]}" if rules == PRESETS.get(rules.name) else ""
    others = differences(rules)
    return Group(
        Text(f"{rules.name}{about}", style="bold"),
        Text(f"{_span(seats)} players. The last one alive wins. Roles: {', '.join(rules.roles)}."),
        Text(),
        _actions(rules),
        Text(),
        *_list(_claims(rules)),
        *_section("Set-up"),
        _deck(rules, seats),
        Text(),
        *_list(_set_up(rules, two=2 in seats)),
        *_section("Play"),
        *_list(_play(rules)),
        *_section("What differs from the base game"),
        *(_difference(field, rules) for field in others),
        *([] if others else [Text("Nothing: this is the base game.")]),
        Text(),
        _documents(),
    )


def fields() -> RenderableType:
    """Return the table of fields: default, allowed values and source of each, and how a file of rules looks."""
    return Group(
        *(part for field in FIELDS for part in _field(field)),
        Text("A file of rules: an optional base and any of these fields, for --rules my.toml", style="bold"),
        Padding(Text(_FILE), (0, 0, 0, 2)),
        Text(),
        _documents(),
    )


# ---------------------------------------------------------------- the table of actions


def _actions(rules: Ruleset) -> Table:
    columns: list[str | Column] = [
        "action",
        Column("effect", least=0),
        "cost",
        "claims",
        Column("may be blocked by", least=0),
    ]
    rows = []
    for row in rules.actions:
        claim = "-" if row.claim is None else f"no {row.claim}" if row.denies else row.claim.value
        rows.append([row.action.value, effect(row, rules), str(row.cost or "-"), claim, _blockers(row, rules)])
    return table(columns, rows)


def effect(row: ActionRule, rules: Ruleset) -> str:
    """Return what an action does, in words."""
    match row.effect:
        case Effect.GAIN:
            return f"take {counted(row.gain, 'coin')}"
        case Effect.STEAL:
            return f"take up to {counted(row.gain, 'coin')} from the target"
        case Effect.HIT:
            return "the target loses an influence"
        case Effect.EXCHANGE:
            back = "the claimed one" if rules.exchange_return is ExchangeReturn.CLAIMED_ROLE else str(rules.draw)
            return f"draw {counted(rules.draw, 'card')}, return {back}"
        case Effect.EXAMINE:
            return "look at a card of the target; hand it back or have it replaced"
        case Effect.CONVERT:
            return f"turn {'the target' if row.targeted else 'yourself'} to the other side; coins go to the reserve"
        case Effect.EMBEZZLE:
            return "take all coins of the reserve"


def _blockers(row: ActionRule, rules: Ruleset) -> str:
    if row.blocked_by is Blockers.NOBODY:
        return "-"
    # rulebook:226 bans blocks of foreign aid alone: an ally may block an attack where anyone may.
    other_side = rules.reformation and row.action is Action.FOREIGN_AID
    who = "the other side" if other_side else "anyone" if row.blocked_by is Blockers.ANYONE else "the target"
    return f"{who} as {' or '.join(row.block_roles)}"


def _claims(rules: Ruleset) -> Iterator[str]:
    """Yield what holds for the table of actions as a whole."""
    yield "Anyone may challenge a claim; who loses a challenge loses an influence. Claims may be bluffs."
    yield f"A block is a claim too. {FIELD['block_challenged_by'].sentence(rules)}"
    if rules.reformation:
        banned = [row.action.value for row in rules.actions if row.targeted and not row.own_side]
        yield (
            "While two sides live, a player's own side can't be the target of "
            f"{', '.join(banned[:-1])} or {banned[-1]}, and doesn't block foreign aid."
        )


# ---------------------------------------------------------------- set-up, play, differences


def _deck(rules: Ruleset, seats: list[int]) -> Table:
    groups: dict[tuple[int, int], list[int]] = {}
    for count in seats:
        groups.setdefault((rules.copies(count), rules.limit(count)), []).append(count)
    rows = []
    for (copies, limit), counts in groups.items():
        cards = copies * len(rules.roles)
        left = [len(rules.roles) - count if rules.draft else cards - rules.hand * count for count in counts]
        rows.append([_span(counts), str(cards), str(copies), _span(left), counted(limit, "turn")])
    return table(["players", "cards", "of each role", "court deck", "a draw after"], rows)


def _set_up(rules: Ruleset, two: bool) -> Iterator[str]:
    for name in _SET_UP:
        if why_idle(rules, name) is None and (two or name != "two_player_starter_coins"):
            yield FIELD[name].sentence(rules)


def _play(rules: Ruleset) -> Iterator[str]:
    for field in FIELDS:
        if field.name in _TOLD or field.name in _SET_UP or why_idle(rules, field.name):
            continue
        absent = getattr(rules, field.name) is False and field.name in ("inquisitor", "reformation")
        if not absent and (field.name != "exchange_return" or rules.draw == 1):
            yield field.sentence(rules)


def _difference(field: FieldRule, rules: Ruleset) -> Table:
    value = getattr(rules, field.name)
    source = next((option.source for option in field.options if option.value == value), field.source)
    return _item(f"{field.name} = {toml(value)} ({source}); the base game has {toml(field.effective(COUP))}")


# ---------------------------------------------------------------- fields


def _field(field: FieldRule) -> Iterator[RenderableType]:
    yield Text(f"{field.name} = {_default(field)}", style="bold")
    yield Padding(Text(f"{field.about} ({field.source})"), (0, 0, 0, 2))
    if field.needs:
        yield Padding(Text(f"Only with {field.needs} = true."), (0, 0, 0, 2))
    for option in field.options:
        word = f" or {toml(option.word)}" if option.word else ""
        yield Padding(Text(f"{toml(option.value)}{word}: {option.sentence} ({option.source})"), (0, 0, 0, 4))
    if field.span or not field.options:
        span = f"{field.span[0]} to {field.span[1]}" if field.span else field.allowed
        yield Padding(Text(span), (0, 0, 0, 4))
    yield Text()


def _default(field: FieldRule) -> str:
    return field.unset if field.default is None else toml(field.default)


def _documents() -> Text:
    named = "; ".join(f"{number} {what}" for number, what in DOCUMENTS.items())
    return Text(f"Sources are document:line of {named}.", style="dim")


# ---------------------------------------------------------------- form


def _section(title: str) -> list[Text]:
    return [Text(), Text(title, style="bold")]


def _list(sentences: Iterator[str]) -> list[Table]:
    return [_item(sentence) for sentence in sentences]


def _item(sentence: str) -> Table:
    item = Table.grid(padding=(0, 1, 0, 0))
    item.add_row("-", Text(sentence))
    return item


def _span(numbers: list[int]) -> str:
    return str(numbers[0]) if numbers[0] == numbers[-1] else f"{numbers[0]}-{numbers[-1]}"
