"""Estimate which roles the other players hide, as a hint for a person, and write it as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from protocol.kits.coup_kit import Game, History


def make_hint(game: Game, names: Sequence[str]) -> dict[str, Any]:
    """Return `roles`, `rows` of an opponent's name with the probability of each role, and `lines` of remarks.

    names: of the players, by seat. Rows and remarks on challenges are by seat, probabilities in the order of `roles`.
    """
    if not any(player.influence for player in game.opponents):
        return {"roles": [], "rows": [], "lines": ["The other players have no cards yet."]}
    roles = sorted(game.rules["deck"])
    rows = [[names[player.seat], [game.odds(player.seat, role) for role in roles]] for player in game.opponents]
    lines = ["After a draft, where players choose cards, this is a guess."] if game.rules.get("draft") else []
    lines += [
        _describe_challenges(names[player.seat], player.history)
        for player in game.opponents
        if player.history.challenged
    ]
    return {"roles": roles, "rows": rows, "lines": lines}


def format_hint(hint: Mapping[str, Any], columns: int) -> Iterator[str]:
    """Yield a hint as lines of text; roles are cut to 4 letters where `columns` are too few."""
    roles, rows = hint["roles"], hint["rows"]
    if rows:
        name_width = max(len(name) for name, _ in rows)
        width = 10 if columns >= name_width + 3 + 11 * len(roles) else 4
        yield "Probability that each player holds a role, by the cards you see:"
        yield " ".join([" " * (name_width + 1), *(role[:width].rjust(width) for role in roles)])
        for name, chances in rows:
            percentages = [f"{100 * chance:.0f}%".rjust(width) for chance in chances]
            yield " ".join([f" {name.ljust(name_width)}", *percentages])
    yield from hint["lines"]


def _describe_challenges(name: str, history: History) -> str:
    outcome = f"was caught {_format_times(history.caught)}" if history.caught else "proved it each time"
    return f"{name} was challenged {_format_times(history.challenged)}, and {outcome}."


def _format_times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
