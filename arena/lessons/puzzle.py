"""Make puzzles of recorded positions: one decision that is clearly better, with what was measured.

`make puzzles` makes `puzzles.json`. Each has the key of its match and the moves before the decision, so that the engine
deals the cards and plays it again. The page has only what the solver's seat is sent. `results` has for each move the
share of games that it won, and their number.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arena import coup
from arena.lessons.lesson import Course, Lesson, LessonError
from arena.referee import make_legal_moves
from protocol.event_text import describe_move

_OPPONENTS = ("Mia", "Leo", "Eve")
_MAX_WRONG_MOVES = 3
_METHOD = (
    "Measured in {} whole games from here on, with strong bots in all seats. The cards that you don't see were dealt "
    "again for each game, as likely as they are after all claims."
)


def load_puzzles() -> tuple[Lesson, ...]:
    """Return the puzzles of this package in their order. Raises LessonError if one of them can't be played."""
    puzzles = json.loads((Path(__file__).parent / "puzzles.json").read_text("utf-8"))
    return tuple(make_puzzle(data, number) for number, data in enumerate(puzzles, 1))


def make_puzzle(data: Mapping[str, Any], number: int) -> Lesson:
    """Return a puzzle from its values: a question, and the answer with its reasons and what was measured.

    Raises LessonError if its results aren't those of the legal moves, ValueError if a move before it isn't legal.
    """
    seat, right = data["seat"], data["right"]
    names = list(_OPPONENTS[: data["players"] - 1])
    names.insert(seat, "you")
    course = Course(names, coup.KeyedRng(bytes.fromhex(data["key"]), data["game"]), data["starter"])
    _apply_moves(course, data["moves"].split())
    board = course.state.board
    legal = make_legal_moves(coup.list_legal_moves(coup.view_from_seat(course.state, seat)))
    if right not in legal.words or set(data["results"]) != set(legal.words):
        raise LessonError(f"puzzle {number}: the moves are {', '.join(legal.words)}")
    texts = {word: describe_move(move, names) for word, move in zip(legal.words, legal.payloads(), strict=True)}
    theme, reason = _explain(course, right, names)
    question = course.ask({"say": "Which move wins most often?", "why": _make_replies(data, texts)}, right)
    reasons = " ".join(filter(None, (course.fill(reason), *_describe_threats(board, seat, names))))
    say = "\n\n".join(filter(None, (reasons, *_describe_results(data, texts))))
    game = {**question["game"], "ask": None, "events": []}
    answer = {"game": game, "hint": question["hint"], "title": f"The best move: {texts[right]}", "say": say}
    about = f"{data['players']} players, {board.influence[seat]} of your cards left."
    return Lesson(f"Puzzle {number}", about, course.table, (question, answer), theme)


def _apply_moves(course: Course, words: Sequence[str]) -> None:
    """Play moves, as many in each step as seats are asked."""
    while words:
        count = len(course.state.board.phase.asked)
        course.apply(words[:count])
        words = words[count:]


def _format_share(data: Mapping[str, Any], word: str) -> str:
    """Return the share of games that a move won, in percent."""
    return f"{data['results'][word][0]:.0%}".replace("%", "\u00a0%")


def _make_replies(data: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the text on each wrong move. texts: what each legal move does, by its word."""
    return {
        word: f"**{text[:1].upper()}{text[1:]}**: {_format_share(data, word)} of the games won. Another move wins more."
        for word, text in texts.items()
        if word != data["right"]
    }


def _describe_results(data: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[str, str]:
    """Return by how much the right move is better, and how that was measured. texts: as for `_make_replies`."""
    right, results = data["right"], data["results"]
    wrong = sorted((word for word in texts if word != right), key=lambda word: results[word][0], reverse=True)
    gain = round(100 * (results[right][0] - results[wrong[0]][0]))
    shares = [f"{texts[word]} {_format_share(data, word)}" for word in wrong[:_MAX_WRONG_MOVES]]
    listing = ", ".join([f"**{texts[right]}** {_format_share(data, right)}", *shares])
    games = sum(count for _, count in results.values())
    return (
        f"It wins {gain} more of 100 games than the next best move. Games won: {listing}.",
        _METHOD.format(f"{games:,}"),
    )


def _explain(course: Course, right: str, names: list[str]) -> tuple[str, str]:
    """Return the theme of a position, and what speaks for the right move, with numbers for `Course.fill`."""
    phase, hand = course.state.board.phase, course.state.hands[course.you]
    if isinstance(phase, coup.ChallengeWindow):
        return "Challenge or pass?", _describe_claim(course, names[phase.claim.seat], phase.claim.role)
    rules = {rule.action.value: rule for rule in coup.COUP.actions}
    if isinstance(phase, coup.BlockWindow) and right == "-":
        roles = rules[phase.pending.action.value].block_roles
        own_roles = [role for role in roles if role in hand]
        reason = f"A block would be a bluff: you don't hold the {' or the '.join(roles)}."
        if own_roles:
            reason = f"You hold the {own_roles[0]}. If you pass, it stays hidden."
        return "Block or pass?", reason
    return _explain_claim(course, right, names)


def _explain_claim(course: Course, right: str, names: list[str]) -> tuple[str, str]:
    """Return the theme, and what speaks for an action or a block: its claim, and who can block it."""
    rules, hand = {rule.action.value: rule for rule in coup.COUP.actions}, course.state.hands[course.you]
    verb, _, argument = right.partition(":")
    role = argument if verb == "block" else rules[verb].claim
    theme = "Actions"
    if role is None:
        reason = "It claims no role, so it can't be challenged."
    elif role in hand:
        reason = f"You hold the {role}: a challenge would cost the challenger a card."
    else:
        theme, reason = "Bluffs", f"You don't hold the {role}: it is a bluff."
    if verb == "block":
        return "Block or pass?", reason
    board, seats = course.state.board, [int(argument)] if argument else range(len(names))
    blockers = [names[seat] for seat in seats if seat != course.you and board.influence[seat]]
    blocks = (_describe_odds(course, blockers, block_role) for block_role in rules[verb].block_roles)
    return theme, " ".join((reason, *blocks))


def _describe_claim(course: Course, name: str, role: str) -> str:
    """Return how likely a player holds the role that they claim, as sentences."""
    odds = course.fill(f"{{odds {name} {role}}}")
    if odds.startswith("0"):
        return f"By the cards that you see, {name} can't hold the {role}."
    return f"By the cards alone, {name} holds the {role} with a chance of {odds}. Past claims change that chance."


def _describe_odds(course: Course, names: Sequence[str], role: str) -> str:
    """Return who can hold a role that blocks a move, as a sentence."""
    odds_by_name = {name: course.fill(f"{{odds {name} {role}}}") for name in names}
    clauses = [
        f"{name} can't hold one" if odds.startswith("0") else f"{name} holds one with a chance of {odds}"
        for name, odds in odds_by_name.items()
    ]
    return f"The {role} blocks it. By the cards alone, {' and '.join(clauses)}."


def _describe_threats(board: coup.Board, you: int, names: Sequence[str]) -> Iterator[str]:
    """Yield what a pending assassination does to you, and who can pay for a coup after the action, as sentences."""
    pending, coins = getattr(board.phase, "pending", None), list(board.coins)
    rules = {rule.action: rule for rule in coup.COUP.actions}
    gain = 0
    if pending is not None and board.actor != you:
        if pending.action is coup.Action.ASSASSINATE and pending.target == you:
            outcome = "you are out" if board.influence[you] == 1 else "you have one card left"
            yield f"If the assassination succeeds, {outcome}."
        gain = rules[pending.action].gain
        if pending.target is not None:
            gain = min(gain, coins[pending.target])
            coins[pending.target] -= gain
        coins[board.actor] += gain
    cost = rules[coup.Action.COUP].cost
    opponents = (seat for seat in range(board.seats) if seat != you and board.influence[seat])
    payers = [names[seat] for seat in opponents if coins[seat] >= cost]
    if payers:
        yield f"{' and '.join(payers)} can {'then ' if gain else ''}pay for a coup."
