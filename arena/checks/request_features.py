"""List what a request has that a bot may not have met before, and why a move isn't legal in it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from arena.coup import Action
from arena.formatting import format_count

_MAX_MOVES = 8  # of a request, that a text lists
_Object = dict[str, Any]


def list_features(request: _Object) -> Iterator[str]:
    """Yield the features of a request that the arena sent, such as "own seat 1", the most telling first.

    A line that is no request has none.
    """
    legal, you, state = (request.get(name) or {} for name in ("legal", "you", "state"))
    if not legal or not isinstance(you, dict) or not isinstance(state, dict):
        return
    actions = sorted({move["action"] for move in legal if "action" in move})
    yield f"the kind {request.get('kind')}"
    if len(actions) == 1:
        yield f"only {actions[0]} is legal"
    elif len(legal) == 1:
        yield "a single legal move"
    players, cards = state.get("players") or [], you.get("cards") or []
    yield f"{len(players)} players"
    yield f"{_count_living(players)} players left"
    yield f"{len(cards)} own cards, {len(set(cards))} different" if len(cards) > 1 else f"{len(cards)} own card"
    yield f"own seat {you.get('seat')}"
    pending, claim = request.get("pending") or {}, request.get("claim") or {}
    if pending:
        yield f"{pending.get('action')}{' with a target' if 'target' in pending else ''} is pending"
    if claim:
        yield f"the claim of {'a block' if claim.get('block') else 'an action'}"


def _count_living(players: Sequence[_Object]) -> int:
    return sum(bool(player.get("influence")) for player in players)


FIELD_PLACES = {  # a field that is absent at some places: where it is
    "pending": "requests of the kind turn have none",
    "claim": "only the kinds challenge, prove and keep_shown have one",
    "challenger": "only the kinds prove and keep_shown have one",
    "drawn": "only the kind exchange has you.drawn",
    "proven": "only the kind block has it",
    "reason": "only the kind lose has one, and some events",
    "role": "only claim and some events have one",
    "target": "only coup, assassinate, steal, and other moves and events against a player have one",
    "action": "only moves of the kind turn, pending and some events have an action",
    "players": "a request has them in state.players; only game_start has their names",
    "coins": "it is in state.players, for each seat",
    "influence": "it is in state.players, for each seat",
    "seat": "your seat is in you; state.players is a list by seat",
    "cards": "your cards are in you; in an event only you see your own",
    "known": "you.known is absent while nothing is certain",
    "kind": "only requests have one: game_start, game_over and error have none",
    "legal": "only requests have it: game_start, game_over and error have none",
    "winner": "only game_over has one, null after a draw",
}


def describe_sizes(request: _Object) -> str:
    """Return the numbers that differ between requests, as text; "before the first request" for any other object."""
    if not request.get("legal"):
        return "before the first request"
    cards = (request.get("you") or {}).get("cards") or []
    players = (request.get("state") or {}).get("players") or []
    return (
        f"{format_count(len(cards), 'own card')}, {len(players)} players, {_count_living(players)} of them in "
        f"the game, {len(request['legal'])} legal moves, {len(request.get('events') or ())} events"
    )


_CHOOSE = {  # what is legal at a kind of request
    "turn": "it depends on coins, on who is out, and on your seat; a target is a seat",
    "exchange": "keep as many cards as you have influence, out of your own and those that you drew",
    "prove": "show the claimed role only if you hold it, else decline",
    "block": "block with a role that legal has, or pass",
    "lose": "lose a card that you hold",
}


def explain_legal(request: _Object) -> str:
    """Return what to choose from at a request of this kind."""
    kind = request.get("kind", "turn")
    return _CHOOSE.get(kind, f"this is a request of the kind {kind}") if isinstance(kind, str) else ""


def explain_illegal_move(request: _Object, move: object) -> str:
    """Return why a move isn't legal: its fields, its target, or what is legal instead; "" if that isn't known."""
    legal = request.get("legal")
    if not isinstance(move, dict) or not move or not isinstance(legal, list) or not legal:
        return ""
    known_fields = {key for legal_move in legal for key in legal_move}
    if "action" in known_fields and str(move.get("action")) in map(str, Action):
        return _explain_action(request, legal, move)
    shown, cards = move.get("show"), (request.get("you") or {}).get("cards") or ()
    if request.get("kind") == "prove" and isinstance(shown, str) and shown not in cards:
        return f"the bot shows a {shown}, but doesn't hold one"
    hint = "" if move.keys() & known_fields else f": it answers another kind of request than {request.get('kind')}"
    return f"{json.dumps(move)} isn't legal now{hint}"


def _explain_action(request: _Object, legal: list[_Object], move: _Object) -> str:
    """Return why a move with an action isn't in `legal`, by the first of the move's parts that is wrong."""
    if extra_fields := sorted(move.keys() - {"action", "target"}):
        return f"the move has fields that no legal move has: {', '.join(extra_fields)}"
    if problem := _explain_target(request, move.get("target")):
        return problem
    action = move["action"]
    actions = list(dict.fromkeys(legal_move["action"] for legal_move in legal if "action" in legal_move))
    if action not in actions:
        reason = ", because at 10 coins a player must coup" if actions == ["coup"] else ""
        alternatives = f", only {' or '.join(actions)}{reason}" if len(actions) < 3 else ""
        return f"{action} isn't legal now{alternatives}"
    targets = [
        str(legal_move["target"])
        for legal_move in legal
        if legal_move.get("action") == action and "target" in legal_move
    ]
    zero_hint = " (if it is 0: omitempty, or a test of its truth, leaves it out)" if "0" in targets else ""
    target = f"the target {json.dumps(move['target'])}" if "target" in move else f"no target{zero_hint}"
    return f"{action} has {target}; legal targets: {', '.join(targets) or 'none'}"


def _explain_target(request: _Object, target: object) -> str:
    """Return why no move may have this target: its type, or the player at that seat; "" if one may."""
    if isinstance(target, str) and target.isdecimal():
        return f"the target {json.dumps(target)} is a text, not the number of a seat"
    if type(target) is not int:
        return ""
    if target == (request.get("you") or {}).get("seat"):
        return f"the target {target} is the bot's own seat in this game"
    players = (request.get("state") or {}).get("players") or []
    if 0 <= target < len(players) and not players[target].get("influence"):
        return f"the target {target} is out of the game"
    return ""


def list_legal(request: _Object) -> str:
    """Return the legal moves of a request as text, without the later ones of a long list."""
    legal = request.get("legal") or []
    return ", ".join(map(json.dumps, legal[:_MAX_MOVES])) + (", ..." if len(legal) > _MAX_MOVES else "")
