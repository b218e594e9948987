"""Implement `arena rules`: print the presets, the rules sheet and the fields of a ruleset.

The sheet is generated: rows from `Ruleset.actions`, sentences from arena/coup/rules_text.py, the deck from
`Ruleset.copies`, and the differences from the base game by comparison. It is ASCII and fits 60 columns."""

from collections.abc import Iterator

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from arena import coup, run
from arena.cli import console
from arena.cli.options import complete_rules
from arena.formatting import format_count, format_range

_DOCUMENTS = {
    "blog": "a review of the game, for 2 to 6 players",
    "classroom": "a classroom's sheet, for 3 to 6 players",
    "andy": "Andy's sheet, for up to 5 players",
    "treason": 'the page "About Treason Coup" of a game on the web',
}
_WORDS = 12  # columns of a text in a table: one of its words
_FILE = 'base = "classroom"\nforced_coup = "off"\nexchange_draw = 1'


def presets_text() -> RenderableType:
    """Return the list of presets, one line each."""
    rows = [
        [rules.name, format_range(coup.seat_counts(rules)), coup.ABOUT[rules.name]] for rules in coup.PRESETS.values()
    ]
    return console.make_table(["rules", "players", console.Column("description", min_width=_WORDS)], rows)


def rules_sheet(rules: coup.Ruleset) -> RenderableType:
    """Return the sheet of one game's rules: its actions, its deck, all rules in sentences, and what differs."""
    seats = coup.seat_counts(rules)
    description = f": {coup.ABOUT[rules.name]}" if _is_preset(rules) else ""
    differences: list[RenderableType] = [_describe_difference(field, rules) for field in coup.changed_fields(rules)]
    hint = [Text("Explain the fields: arena rules --fields", style="dim")] if differences else []
    return Group(
        Text(f"{rules.name}{description}", style="bold"),
        Text(f"{format_range(seats)} players. The last one alive wins. Roles: {', '.join(rules.roles)}."),
        *_describe_sources(rules),
        Text(),
        _make_action_table(rules),
        *_sentences(rules, seats),
        *_describe_document_differences(rules),
        *_describe_kin_differences(rules),
        *_describe_program_differences(rules),
        *_section("Differences from the base game"),
        *(differences or [Text("Nothing: this is the base game.")]),
        Text(),
        *hint,
        _page(),
    )


def _is_preset(rules: coup.Ruleset) -> bool:
    """Return whether the rules are those of the preset of their name, not a file's with this name."""
    return rules == coup.PRESETS.get(rules.name)


def fields_table() -> RenderableType:
    """Return the table of fields: default, allowed values and section of each, and how a file of rules looks."""
    return Group(
        *(line for field in coup.FIELDS for line in _describe_field(field)),
        Text("A ruleset file for --rules my.toml: an optional base, and any of these fields", style="bold"),
        Padding(Text(_FILE), (0, 0, 0, 2)),
        Text(),
        _page(),
    )


def _describe_sources(rules: coup.Ruleset) -> Iterator[Text]:
    """Yield the document that a preset follows, and what decides where the document is silent; nothing without one."""
    document = find_document(rules)
    if document is None:
        return
    if "-site" in rules.name:
        yield Text(f"It follows the program of {_DOCUMENTS[document]}, also where the page differs.")
    else:
        fallback = "its program decides, else the rulebook" if document == "treason" else "the rulebook applies"
        yield Text(f"It follows {_DOCUMENTS[document]}. For other rules {fallback}.")


# ---------------------------------------------------------------- the table of actions


def _make_action_table(rules: coup.Ruleset) -> Table:
    """Return a row for each action of the rules: its effect, cost, claimed role and the roles that block it."""
    columns: list[str | console.Column] = [
        "action",
        console.Column("effect", min_width=_WORDS),
        "cost",
        "claims",
        console.Column("may be blocked by", min_width=_WORDS),
    ]
    rows = [
        [row.action, row.effect, str(row.cost or "-"), row.claim or "-", row.blockers or "-"]
        for row in coup.action_table(rules)
    ]
    return console.make_table(columns, rows)


# ---------------------------------------------------------------- sentences, deck, differences


def _make_deck_table(rules: coup.Ruleset, seats: list[int]) -> Table:
    """Return the cards and the limit of turns, in one row for all numbers of players that have the same."""
    groups: dict[tuple[int, int], list[int]] = {}  # (copies of a role, limit of turns) -> numbers of players
    for players in seats:
        groups.setdefault((rules.copies(players), rules.limit(players)), []).append(players)
    rows = []
    for (copies, limit), player_counts in groups.items():
        cards = copies * len(rules.roles)
        pack, hand = (len(rules.roles), 1) if rules.draft else (cards, rules.hand)  # from which players are dealt
        decks = ", ".join(str(pack - hand * players) for players in player_counts)
        rows.append([format_range(player_counts), str(cards), str(copies), decks, format_count(limit, "turn")])
    return console.make_table(["players", "cards", "of each role", "court deck", "ends after"], rows)


def _sentences(rules: coup.Ruleset, seats: list[int]) -> Iterator[RenderableType]:
    """Yield the sections of sentences, each with its section; the table of the deck goes before the set-up."""
    for title, rows in coup.rules_sections(rules):
        yield from _section(title)
        if title == coup.SET_UP:
            yield _make_deck_table(rules, seats)
            yield Text()
        for sentence in rows:
            yield _item(f"{sentence.text} (#{sentence.section})")


def find_document(rules: coup.Ruleset) -> str | None:
    """Return the key of the document that a preset follows, "treason" for treason-site; None for any other ruleset."""
    document = rules.name.partition("-")[0]
    return document if _is_preset(rules) and document in _DOCUMENTS else None


def _describe_document_differences(rules: coup.Ruleset) -> Iterator[RenderableType]:
    """Yield the rules in which a preset's document differs, if there are any."""
    sentences = coup.list_document_differences(rules, find_document(rules) or "") if _is_preset(rules) else []
    if sentences:
        yield from _section("Differences from the document, and open points")
        yield from (_item(f"{sentence.text} (#{sentence.section})") for sentence in sentences)


def _describe_difference(field: coup.RulesetField, rules: coup.Ruleset, base: coup.Ruleset = coup.COUP) -> Table:
    """Return the item of a field that differs: its value in the rules and in the base."""
    value, base_value = coup.to_toml(getattr(rules, field.name)), coup.to_toml(field.effective(base))
    base_name = "the base game" if base is coup.COUP else base.name
    return _item(f"{field.name} = {value} (#{field.section}); {base_name} has {base_value}")


def _find_kin(rules: coup.Ruleset) -> coup.Ruleset | None:
    """Return the preset of which a preset is a variant by its name, None without one, and for other rulesets.

    A name with "-site" is a variant of the name without it: treason-site-original of treason-original. Any other name
    is one of its first word.
    """
    if not _is_preset(rules):
        return None
    name = rules.name.replace("-site", "", 1) if "-site" in rules.name else rules.name.partition("-")[0]
    return coup.PRESETS.get(name) if name != rules.name else None


def _describe_kin_differences(rules: coup.Ruleset) -> Iterator[RenderableType]:
    """Yield the differences from the preset of which this one is a variant, if there is one."""
    kin = _find_kin(rules)
    if kin is None:
        return
    yield from _section(f"Differences from {kin.name}")
    for field in coup.changed_fields(rules, kin):
        if coup.no_effect_reason(rules, field.name) is None:
            yield _describe_difference(field, rules, kin)


def _describe_program_differences(rules: coup.Ruleset) -> Iterator[RenderableType]:
    """Yield the differences of a treason preset from its program: fields, and rules that no field covers."""
    if find_document(rules) != "treason":
        return
    yield from _section("Differences from treason's program")
    for field in coup.FIELDS:
        value = getattr(rules, field.name)
        if field.treason_value not in (None, value) and coup.no_effect_reason(rules, field.name) is None:
            program_value = coup.to_toml(coup.to_json_value(field.treason_value))
            yield _item(f"{field.name} = {coup.to_toml(value)}; the program has {program_value}")
    for sentence in coup.list_program_differences(rules):
        yield _item(sentence)


# ---------------------------------------------------------------- fields


def _describe_field(field: coup.RulesetField) -> Iterator[RenderableType]:
    """Yield the lines about a field: name and default, meaning, and each allowed value."""
    default = field.unset_meaning if field.default is None else coup.to_toml(field.default)
    yield Text(f"{field.name} = {default}", style="bold")
    yield Padding(Text(f"{field.description} (#{field.section})"), (0, 0, 0, 2))
    if field.required_field:
        yield Padding(Text(f"Only with {field.required_field} = true."), (0, 0, 0, 2))
    for choice in field.options:
        synonym = f" or {coup.to_toml(choice.word)}" if choice.word else ""
        yield Padding(Text(f"{coup.to_toml(choice.value)}{synonym}: {choice.sentence}"), (0, 0, 0, 4))
    if field.span:
        yield Padding(Text(f"{field.span[0]} to {field.span[1]}"), (0, 0, 0, 4))
    elif not field.options:
        yield Padding(Text(field.allowed), (0, 0, 0, 4))
    yield Text()


def _page() -> Text:
    return Text(
        f"#section is a section of {coup.RULES_PAGE}, which explains all rules and their corner cases.", style="dim"
    )


# ---------------------------------------------------------------- form


def _section(title: str) -> list[Text]:
    return [Text(), Text(title, style="bold")]


def _item(sentence: str) -> Table:
    item = Table.grid(padding=(0, 1, 0, 0))
    item.add_row("-", Text(sentence))
    return item


@click.command()
@click.argument("name", required=False, metavar="[NAME|FILE]", shell_complete=complete_rules)
@console.option("--fields", "show_fields", is_flag=True, help="Print every field of a ruleset with its allowed values.")
@console.json_option(run.RulesetSummary, run.RulesetList, run.FieldList)
def rules(name: str | None, show_fields: bool, as_json: bool) -> None:
    """List the rulesets, or print the rules of one."""
    if show_fields and name is not None:
        console.usage_error("--fields is the same for all rulesets: omit the name")
    if as_json:
        console.print_json(_make_rules_answer(name, show_fields))
    elif show_fields:
        console.print_parts(fields_table(), widest=console.MAX_PROSE_COLUMNS)
    elif name is None:
        console.print_parts(presets_text(), widest=console.MAX_PROSE_COLUMNS)
        console.print_parts("\nShow a ruleset: arena rules NAME. Write your own: arena rules --fields")
    else:
        console.print_parts(rules_sheet(load_ruleset_or_exit(name)), widest=console.MAX_PROSE_COLUMNS)
        limits = [f"{field} = {value:g}" for field, value in run.load_ruleset_limits(name).items()]
        if limits:
            console.print_parts(f"\nLimits of each bot: {', '.join(limits)}")


def load_ruleset_or_exit(name: str) -> coup.Ruleset:
    """Return a ruleset by its name or its file; exit with 2 if it can't be read."""
    try:
        return run.load_ruleset(name)
    except run.RulesetError as problem:
        console.usage_error(str(problem))


def _make_rules_answer(name: str | None, show_fields: bool) -> run.RulesetSummary | run.RulesetList | run.FieldList:
    """Return what --json prints: the fields, a ruleset, or, without a name, all presets.

    Exits with 2 if the ruleset can't be read.
    """
    if show_fields:
        return run.list_ruleset_fields()
    if name is None:
        return run.RulesetList(tuple(map(run.summarize_ruleset, coup.PRESETS.values())))
    return run.summarize_ruleset(load_ruleset_or_exit(name), run.load_ruleset_limits(name))
