"""Ask a person the open request as a question."""

from collections.abc import Sequence

from arena.play.history import begin_with_capital
from protocol.event_text import describe_event, to_second_person
from protocol.kits.coup_kit import Game

_LOSSES = {
    "coup": "You lose a card to the coup.",
    "assassinate": "You lose a card to the assassination.",
    "challenge": "You lost the challenge.",
}


def make_question(game: Game, names: Sequence[str], may_block_later: bool) -> str:
    """Return the open request of a game as a question.

    names: of the players, by seat; the person's is "you". may_block_later: whether a block may follow, if the request
    is a challenge that no player makes.
    """
    match game.kind:
        case "turn" if all(move.get("action") == "coup" for move in game.legal):
            return f"Your turn. With {game.me.coins} coins you must launch a coup."
        case "turn":
            return "Your turn."
        case "challenge":
            return _ask_for_challenge(game, names, may_block_later)
        case "block":
            proof = " The claim was proved." if game.proven else ""
            return f"{_describe_action(game, names)}.{proof} Block?"
        case "prove":
            return _ask_for_proof(game, names)
        case "lose":
            return f"{_LOSSES.get(game.reason or '', 'You lose a card.')} Which card do you give up?"
        case "exchange":
            return f"You drew {' and '.join(game.drawn)}. What do you keep?"
        case "keep_shown":
            return f"You showed {_describe_claim(game.claim['role'])}. Keep it, or have it replaced?"
        case "examine_show":
            return f"{_describe_action(game, names)}. Which card do you show?"
        case "examine_decide":
            return f"{names[game.pending['target']]} shows you the {game.seen}."
        case "draft":
            return "Which card do you start with?"
        case "allegiance":
            return "Which side are you on?"
    return f"{game.kind}?"


def _ask_for_challenge(game: Game, names: Sequence[str], may_block_later: bool) -> str:
    """Return the question whether to challenge an action or a block. For parameters see `make_question`."""
    action, claim = _describe_action(game, names), game.claim
    if claim["block"]:
        return f"{action}, {names[claim['seat']]} blocks as {claim['role']}. Challenge?"
    block = " or block" if may_block_later else ""
    return f"{action}, claiming {_describe_claim(claim['role'])}. Challenge{block}?"


def _ask_for_proof(game: Game, names: Sequence[str]) -> str:
    """Return the question to a challenged player; with a single legal move, that the card can't be shown or must be."""
    challenger = names[game.challenger] if game.challenger is not None else "a player"
    claim = str(game.claim["role"])
    if len(game.legal) > 1:
        return f"{challenger} challenges you: show {_describe_claim(claim)}?"
    role = claim.removeprefix("not_")
    cards = f"no {role} to show" if role == claim else f"a {role}"
    return f"{challenger} challenges you. You have {cards}."


def _describe_action(game: Game, names: Sequence[str]) -> str:
    """Return the pending action as the beginning of a sentence."""
    action = {"event": "action", "seat": game.pending["actor"], **game.pending}
    return begin_with_capital(to_second_person(describe_event(action, names)))


def _describe_claim(role: str) -> str:
    return f"to have no {role.removeprefix('not_')}" if role.startswith("not_") else f"the {role}"
