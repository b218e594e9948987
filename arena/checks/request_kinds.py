"""List the kinds of request that can occur with given rules, and choose rulesets that together have all kinds."""

from collections.abc import Sequence
from typing import Any

from arena.coup import Ruleset, to_json_value


def request_kinds(rules: Ruleset) -> frozenset[str]:
    """Return the kinds of request that can occur in a game with these rules."""
    occurrences = {
        "prove": to_json_value(rules.prove) == "choose",
        "keep_shown": to_json_value(rules.shown_card) == "may_keep",
        "draft": rules.draft,
        "allegiance": rules.reformation and to_json_value(rules.allegiance_start) == "starter_chooses",
        "examine_decide": rules.inquisitor,
        "examine_show": rules.inquisitor and to_json_value(rules.examine_pick) == "target",
    }
    return _USUAL_KINDS | {kind for kind, occurs in occurrences.items() if occurs}


_USUAL_KINDS = frozenset({"turn", "challenge", "block", "lose", "exchange"})


def all_kinds(games: Sequence[Ruleset]) -> frozenset[str]:
    """Return the kinds of request that can occur in a game with any of these rules."""
    return frozenset().union(*map(request_kinds, games))


def is_beyond(request: dict[str, Any], rules: Ruleset) -> bool:
    """Return whether a request has a kind, a role or an action that these rules don't have."""
    known_words = {*map(str, rules.roles), *(str(row.action) for row in rules.actions)}
    moves = request.get("legal", ())
    words = {word for move in moves for word in (move.get("action"), move.get("block"), move.get("lose")) if word}
    return request.get("kind", "turn") not in request_kinds(rules) or not words <= known_words


def covering_rulesets(games: Sequence[Ruleset]) -> list[Ruleset]:
    """Return a few rulesets that together have all kinds of request, chosen greedily."""
    covering: list[Ruleset] = []
    while missing_kinds := all_kinds(games) - all_kinds(covering):
        covering.append(max(games, key=lambda rules: len(request_kinds(rules) & missing_kinds)))
    return covering
