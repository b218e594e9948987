"""The command `arena rules`: the presets, a game's rules as a sheet, the fields of a ruleset."""

import click

from arena.cli import sheet
from arena.cli.answers import answers, print_json
from arena.cli.completion import complete_rules
from arena.cli.out import EASY, refuse, show
from arena.coup import PRESETS, Ruleset
from arena.run import FieldList, Rules, RulesetError, RulesList, field_list, load, load_limits, rules_of


@click.command()
@click.argument("name", required=False, metavar="[NAME|FILE.toml]", shell_complete=complete_rules)
@click.option("--fields", "show_fields", is_flag=True, help="Print every field of a ruleset with its allowed values.")
@answers(Rules, RulesList, FieldList)
def rules(name: str | None, show_fields: bool, as_json: bool) -> None:
    """List the rulesets, or print the rules of one game as a sheet."""
    if show_fields and name is not None:
        refuse("--fields is the same for all rulesets: it takes no name")
    if as_json and show_fields:
        print_json(field_list())
    elif as_json and name is None:
        print_json(RulesList(tuple(map(rules_of, PRESETS.values()))))
    elif as_json and name is not None:
        print_json(rules_of(load_or_refuse(name), load_limits(name)))
    elif show_fields:
        show(sheet.fields(), widest=EASY)
    elif name is None:
        show(sheet.presets(), widest=EASY)
        show("\nA sheet: arena rules NAME. Rules of your own: arena rules --fields")
    else:
        show(sheet.sheet(load_or_refuse(name)), widest=EASY)
        limits = load_limits(name)
        if limits:
            show("\nLimits of each bot: " + ", ".join(f"{field} = {value:g}" for field, value in limits.items()))


def load_or_refuse(name: str) -> Ruleset:
    """Return a ruleset by its name or its file; exit with 2 if it can't be read."""
    try:
        return load(name)
    except RulesetError as problem:
        refuse(str(problem))
