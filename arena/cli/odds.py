"""Implement `arena odds`: print the probability that opponents hold each role, from the visible cards."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import click
from rich.console import Group, RenderableType
from rich.text import Text

from arena.cli.console import (
    MAX_PROSE_COLUMNS,
    Column,
    format_count,
    json_option,
    make_table,
    option,
    print_json,
    print_parts,
    usage_error,
)
from arena.cli.options import complete_rules
from arena.cli.rules import load_ruleset_or_exit
from arena.coup import Odds, Role, Ruleset
from arena.coup import odds as calculate


@dataclass(frozen=True, slots=True)
class OddsAnswer:
    """The odds as JSON, by role; `held_by_influence` is by the number of an opponent's cards."""

    rules: str
    players: int
    own: tuple[str, ...]
    revealed: tuple[str, ...]
    unseen: int
    copies_unseen: dict[str, int]
    held_by_influence: dict[int, dict[str, float]]
    influences: tuple[int, ...] | None
    held_by_opponent: tuple[dict[str, float], ...] | None
    not_held: dict[str, float] | None


@click.command()
@option("--own", required=True, metavar="ROLE,ROLE", help="Your face-down cards.")
@option("--players", required=True, type=click.IntRange(2, 10), help="Players at the start, including you.")
@option("--revealed", default="", metavar="ROLE,...", help="All face-up cards, including yours.  [none]")
@option("--cards-left", metavar="N,N,...", help="Cards of each opponent, 0 for players that are out.")
@option(
    "--rules", "name", default="coup", metavar="NAME", shell_complete=complete_rules, help="Preset, or a TOML file."
)
@json_option(OddsAnswer)
def odds(own: str, players: int, revealed: str, cards_left: str | None, name: str, as_json: bool) -> None:
    """Calculate the probability that opponents hold each role.

    The odds follow from the cards that you see alone: arena odds --own captain,contessa --players 2

    Kits and game pages show more precise odds. They also use what follows from the game: for example, a player that
    was caught lacks the role if proving is automatic.
    """
    ruleset = load_ruleset_or_exit(name)
    mine = _roles("--own", own, ruleset)
    up = _roles("--revealed", revealed, ruleset)
    try:
        result = calculate(ruleset, players, mine, up, None if cards_left is None else _numbers(cards_left))
    except ValueError as problem:
        usage_error(str(problem))
    if as_json:
        print_json(_odds_answer(ruleset, players, mine, up, result))
    else:
        print_parts(_odds_table(ruleset, players, mine, up, result), widest=MAX_PROSE_COLUMNS)


def _roles(option: str, text: str, ruleset: Ruleset) -> list[Role]:
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    known = {role.value: role for role in ruleset.roles}
    for word in words:
        if word not in known:
            usage_error(f"{option} {text!r}: unknown role {word!r}; the roles of {ruleset.name} are {', '.join(known)}")
    return sorted(known[word] for word in words)


def _numbers(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) == 1 for word in words):
        usage_error(f"--cards-left {text!r}: write one number for each opponent, separated by commas, as in 2,2,1")
    return [int(word) for word in words]


def _odds_answer(
    ruleset: Ruleset, players: int, own: Sequence[Role], revealed: Sequence[Role], result: Odds
) -> OddsAnswer:
    def numbers(chances: dict[Role, Fraction]) -> dict[str, float]:
        return {role.value: float(chance) for role, chance in chances.items()}

    return OddsAnswer(
        rules=ruleset.name,
        players=players,
        own=tuple(role.value for role in own),
        revealed=tuple(role.value for role in revealed),
        unseen=result.unseen,
        copies_unseen={role.value: number for role, number in result.copies.items()},
        held_by_influence={cards: numbers(chances) for cards, chances in result.by_influence.items()},
        influences=result.influences,
        held_by_opponent=None if result.by_opponent is None else tuple(map(numbers, result.by_opponent)),
        not_held=None if result.not_held is None else numbers(result.not_held),
    )


def _odds_table(
    ruleset: Ruleset, players: int, own: Sequence[Role], revealed: Sequence[Role], result: Odds
) -> RenderableType:
    up = f", face up {', '.join(revealed)}" if revealed else ""
    counts = sorted({cards for cards in result.influences or result.by_influence if cards}, reverse=True)
    numbers = ["unseen", *(f"with {format_count(cards, 'card')}" for cards in counts)]
    if result.not_held is not None:
        numbers.append("nobody")
    rows = []
    for role, copies in result.copies.items():
        chances = [result.by_influence[cards][role] for cards in counts]
        if result.not_held is not None:
            chances.append(result.not_held[role])
        rows.append([role.value, str(copies), *(f"{float(chance):.1%}" for chance in chances)])
    notes = ["Chance that an opponent with this many cards has the role; nobody: that no opponent has it."]
    if result.not_held is None:
        notes = [f"{notes[0].split(';')[0]}. For all opponents together add --cards-left."]
    notes.append("The odds ignore what players reveal, keep or claim.")
    return Group(
        Text(f"{ruleset.name}, {players} players; you have {', '.join(own)}{up}; {result.unseen} cards unseen"),
        Text(),
        make_table(["role", *(Column(name, number=True) for name in numbers)], rows),
        Text(),
        *(Text(note, style="dim") for note in notes),
    )
