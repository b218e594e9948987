"""Implement `arena odds`: print the probability that opponents hold each role, from visible cards or a request."""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from arena.cli import console
from arena.cli.options import complete_rules
from arena.cli.rules import load_ruleset_or_exit
from arena.coup import Odds, Role, Ruleset
from arena.coup import odds as calculate
from arena.formatting import format_count
from protocol import Malformed, decode
from protocol.kits.coup_kit import Game


@dataclass(frozen=True, slots=True)
class OddsAnswer:
    """The odds as JSON, by role; `held_by_influence` is by the number of an opponent's cards.

    With --known, `held_by_opponent` follows from the request, for the opponents at `seats`. `held_by_influence` is
    empty and `not_held` null, because both would ignore what is known.
    """

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
    seats: tuple[int, ...] | None = None


@click.command()
@console.option("--own", metavar="ROLE,ROLE", help="Your face-down cards.")
@console.option("--players", type=click.IntRange(2, 10), metavar="N", help="Players at the start, including you.")
@console.option("--revealed", default="", metavar="ROLE,...", help="All face-up cards, including yours.  [none]")
@console.option("--cards-left", metavar="N,N,...", help="Cards of each opponent, 0 for players that are out.")
@console.option(
    "--known", metavar="JSON|-", help="A request of the referee instead of these four; -: on standard input."
)
@console.option(
    "--rules", "name", default="coup", metavar="NAME", shell_complete=complete_rules, help="Preset, or a TOML file."
)
@console.json_option(OddsAnswer)
def odds(
    *,
    own: str | None,
    players: int | None,
    revealed: str,
    cards_left: str | None,
    known: str | None,
    name: str,
    as_json: bool,
) -> None:
    """Calculate the probability that opponents hold each role.

    The odds follow from the cards that you see alone: arena odds --own captain,contessa --players 2

    Kits and game pages show more precise odds. They also use what follows from the game: for example, a player that
    was caught lacks the role if proving is automatic. With --known, the odds are those of the kits: they use the
    request's you.known. --rules must be the game's.
    """
    ruleset = load_ruleset_or_exit(name)
    if known is not None:
        if own is not None or players is not None or revealed or cards_left is not None:
            console.usage_error("a request has all cards: omit --own, --players, --revealed and --cards-left")
        _print_request_odds(ruleset, sys.stdin.read() if known == "-" else known, as_json)
    elif own is None or players is None:
        console.usage_error(
            "name your cards and the players, as in --own captain,contessa --players 2; or give --known"
        )
    else:
        _print_card_odds(ruleset, own, players, revealed, cards_left, as_json)


def _print_request_odds(ruleset: Ruleset, line: str, as_json: bool) -> None:
    """Print the odds of the kit for Python for a request, a line of the referee. Exits with 2 if it isn't one."""
    answer = _answer_request(ruleset, line)
    if as_json:
        console.print_json(answer)
    else:
        console.print_parts(_make_request_table(answer), widest=console.MAX_PROSE_COLUMNS)


def _print_card_odds(
    ruleset: Ruleset, own: str, players: int, revealed: str, cards_left: str | None, as_json: bool
) -> None:
    """Print the odds that follow from cards, given as on the command line. Exits with 2 if they are impossible."""
    own_roles = _parse_roles("--own", own, ruleset)
    revealed_roles = _parse_roles("--revealed", revealed, ruleset)
    influences = None if cards_left is None else _parse_numbers(cards_left)
    try:
        result = calculate(ruleset, players, own_roles, revealed_roles, influences)
    except ValueError as problem:
        console.usage_error(str(problem))
    if as_json:
        console.print_json(_make_odds_answer(ruleset, players, own_roles, revealed_roles, result))
    else:
        table = _make_odds_table(ruleset, players, own_roles, revealed_roles, result)
        console.print_parts(table, widest=console.MAX_PROSE_COLUMNS)


def _answer_request(ruleset: Ruleset, line: str) -> OddsAnswer:
    """Return the odds of the kit for Python for a request. Exits with 2 if it isn't one, or doesn't fit the rules."""
    request = decode(line.encode(errors="replace"))
    if isinstance(request, Malformed) or request.get("type") != "request":
        console.usage_error('--known isn\'t a request: give a whole line of the referee, with "type":"request"')
    try:
        return _compute_request_odds(ruleset, request)
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        console.usage_error(f"the request isn't complete, or impossible: {problem!r}")


def _compute_request_odds(ruleset: Ruleset, request: dict[str, Any]) -> OddsAnswer:
    """Return the odds of the kit for a request. Exits with 2 if its cards don't fit the rules.

    Raises AttributeError, LookupError, TypeError or ValueError for an incomplete or impossible request.
    """
    you, players = request["you"], request["state"]["players"]
    revealed = sorted(card for player in players for card in player["revealed"])
    visible = Counter([*you["cards"], *you.get("drawn", ()), *you.get("discards", ()), *revealed])
    copies = {role.value: ruleset.copies(len(players)) for role in ruleset.roles}
    copies_unseen = {role: count - visible[role] for role, count in copies.items()}
    problem = ruleset.problem(len(players))
    if problem is None and (not visible.keys() <= copies.keys() or min(copies_unseen.values()) < 0):
        problem = f"{ruleset.name} has other cards"
    if problem is not None:
        console.usage_error(f"{problem}\nName the rules of the request with --rules.")
    game = Game({"ruleset": {"deck": copies}})
    game.request = request
    seats = tuple(seat for seat in range(len(players)) if seat != you["seat"])
    return OddsAnswer(
        rules=ruleset.name,
        players=len(players),
        own=tuple(you["cards"]),
        revealed=tuple(revealed),
        unseen=sum(copies_unseen.values()),
        copies_unseen=copies_unseen,
        held_by_influence={},
        influences=tuple(players[seat]["influence"] for seat in seats),
        held_by_opponent=tuple({role: game.odds(seat, role) for role in copies} for seat in seats),
        not_held=None,
        seats=seats,
    )


def _make_request_table(answer: OddsAnswer) -> RenderableType:
    """Return the chances of each opponent, a column each, with a row for each role."""
    seats, opponents = answer.seats or (), answer.held_by_opponent or ()
    rows = [[role, *(f"{chances[role]:.1%}" for chances in opponents)] for role in answer.copies_unseen]
    title = f"{answer.rules}, {answer.players} players; you have {', '.join(answer.own)}; {answer.unseen} cards unseen"
    columns: list[str | console.Column] = ["role", *(console.Column(f"seat {seat}", number=True) for seat in seats)]
    return _group(
        title,
        console.make_table(columns, rows),
        "Chance that the opponent has the role, as in kits. It ignores claims.",
    )


def _group(title: str, table: RenderableType, *notes: str) -> RenderableType:
    """Return a title, a table and dim notes, with a blank line between them."""
    return Group(Text(title), Text(), table, Text(), *(Text(note, style="dim") for note in notes))


def _parse_roles(flag: str, text: str, ruleset: Ruleset) -> list[Role]:
    """Return the roles of an option, sorted. Exits with 2 for one that the ruleset lacks."""
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    role_by_name = {role.value: role for role in ruleset.roles}
    for name in names:
        if name not in role_by_name:
            console.usage_error(
                f"{flag} {text!r}: unknown role {name!r}; the roles of {ruleset.name} are {', '.join(role_by_name)}"
            )
    return sorted(role_by_name[name] for name in names)


def _parse_numbers(text: str) -> list[int]:
    """Return the numbers of --cards-left. Exits with 2 unless they are single digits, separated by commas."""
    digits = [digit.strip() for digit in text.split(",")]
    if not all(re.fullmatch("[0-9]", digit) for digit in digits):
        console.usage_error(
            f"--cards-left {text!r}: write one number for each opponent, separated by commas, as in 2,2,1"
        )
    return [int(digit) for digit in digits]


def _make_odds_answer(
    ruleset: Ruleset, players: int, own: Sequence[Role], revealed: Sequence[Role], result: Odds
) -> OddsAnswer:
    """Return the odds as plain numbers, as --json prints them; exact fractions become floats."""
    by_opponent = None if result.by_opponent is None else tuple(map(_convert_chances, result.by_opponent))
    return OddsAnswer(
        rules=ruleset.name,
        players=players,
        own=tuple(role.value for role in own),
        revealed=tuple(role.value for role in revealed),
        unseen=result.unseen,
        copies_unseen={role.value: number for role, number in result.copies.items()},
        held_by_influence={cards: _convert_chances(chances) for cards, chances in result.by_influence.items()},
        influences=result.influences,
        held_by_opponent=by_opponent,
        not_held=None if result.not_held is None else _convert_chances(result.not_held),
    )


def _convert_chances(chances: dict[Role, Fraction]) -> dict[str, float]:
    return {role.value: float(chance) for role, chance in chances.items()}


def _make_odds_table(
    ruleset: Ruleset, players: int, own: Sequence[Role], revealed: Sequence[Role], result: Odds
) -> RenderableType:
    """Return the chances by the number of an opponent's cards, a column each and the most cards first.

    The column "nobody" needs --cards-left: the chance that no opponent has the role.
    """
    face_up = f", face up {', '.join(revealed)}" if revealed else ""
    counts = sorted({cards for cards in result.influences or result.by_influence if cards}, reverse=True)
    chance_columns = {f"with {format_count(cards, 'card')}": result.by_influence[cards] for cards in counts}
    note = "Chance that an opponent with this many cards has the role"
    if result.not_held is None:
        note += ". For all opponents together add --cards-left."
    else:
        chance_columns["nobody"] = result.not_held
        note += "; nobody: that no opponent has it."
    rows = [
        [role.value, str(copies), *(f"{float(chances[role]):.1%}" for chances in chance_columns.values())]
        for role, copies in result.copies.items()
    ]
    title = f"{ruleset.name}, {players} players; you have {', '.join(own)}{face_up}; {result.unseen} cards unseen"
    names = ("unseen", *chance_columns)
    columns: list[str | console.Column] = ["role", *(console.Column(name, number=True) for name in names)]
    ignored = "The odds ignore what players reveal, keep or claim."
    return _group(title, console.make_table(columns, rows), note, ignored)
