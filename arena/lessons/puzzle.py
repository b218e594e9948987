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

_OTHERS = ("Mia", "Leo", "Eve")
_SHOWN = 3  # other moves
_MEASURED = (
    "Measured in {} whole games from here on, with strong bots in all seats. The cards that you don't see were dealt "
    "again for each game, as likely as they are after all claims."
)


def load_puzzles() -> tuple[Lesson, ...]:
    """Return the puzzles of this package in their order. Raises LessonError if one of them can't be played."""
    puzzles = json.loads((Path(__file__).parent / "puzzles.json").read_text("utf-8"))
    return tuple(make_puzzle(data, number) for number, data in enumerate(puzzles, 1))


def make_puzzle(data: Mapping[str, Any], number: int) -> Lesson:
    """Return a puzzle from its values. Raises LessonError if the rules don't allow it."""
    names = list(_OTHERS[: data["players"] - 1])
    names.insert(data["seat"], "you")
    course = Course(names, coup.KeyedRng(bytes.fromhex(data["key"]), data["game"]), data["starter"])
    _apply_moves(course, data["moves"].split())
    board, right = course.state.board, data["right"]
    legal = make_legal_moves(coup.list_legal_moves(coup.view_from_seat(course.state, data["seat"])))
    if right not in legal.words or set(data["results"]) != set(legal.words):
        raise LessonError(f"puzzle {number}: the moves are {', '.join(legal.words)}")
    texts = {word: describe_move(move, names) for word, move in zip(legal.words, legal.payloads(), strict=True)}
    shares = {word: f"{won:.0%}".replace("%", "\u00a0%") for word, (won, _) in data["results"].items()}
    others = [word for word in legal.words if word != right]
    others.sort(key=lambda word: data["results"][word][0], reverse=True)
    games = sum(played for _, played in data["results"].values())
    replies = {
        word: f"**{_start(texts[word])}**: {shares[word]} of the games won. Another move wins more." for word in others
    }
    theme, reason = _explain(course, right, names)
    first = course.ask({"say": "Which move wins most often?", "why": replies}, right)
    shown = [f"**{texts[right]}** {shares[right]}", *(f"{texts[word]} {shares[word]}" for word in others[:_SHOWN])]
    gain = round(100 * (data["results"][right][0] - data["results"][others[0]][0]))
    results = f"It wins {gain} more of 100 games than the next best move. Games won: {', '.join(shown)}."
    reasons = " ".join(filter(None, (course.fill(reason), *_describe_threats(board, data["seat"], names))))
    say = "\n\n".join(filter(None, (reasons, results, _MEASURED.format(f"{games:,}"))))
    game = {**first["game"], "ask": None, "events": []}
    last = {"game": game, "hint": first["hint"], "title": f"The best move: {texts[right]}", "say": say}
    about = f"{data['players']} players, {board.influence[data['seat']]} of your cards left."
    return Lesson(f"Puzzle {number}", about, course.table, (first, last), theme)


def _apply_moves(course: Course, words: Sequence[str]) -> None:
    """Play moves, as many in each step as seats are asked."""
    while words:
        asked = len(course.state.board.phase.asked)
        course.apply(words[:asked])
        words = words[asked:]


def _start(text: str) -> str:
    """Return a text that begins a sentence."""
    return text[:1].upper() + text[1:]


def _explain(course: Course, right: str, names: list[str]) -> tuple[str, str]:
    """Return the theme of a position, and what speaks for the right move, with numbers for `Course.fill`."""
    phase, hand = course.state.board.phase, course.state.hands[course.you]
    if isinstance(phase, coup.ChallengeWindow):
        claim = phase.claim
        odds = course.fill(f"{{odds {names[claim.seat]} {claim.role}}}")
        if odds.startswith("0"):
            return "Challenge or pass?", f"By the cards that you see, {names[claim.seat]} can't hold the {claim.role}."
        likely = f"{names[claim.seat]} holds the {claim.role} with a chance of {odds}"
        return "Challenge or pass?", f"By the cards alone, {likely}. Past claims change that chance."
    rows = {row.action.value: row for row in coup.COUP.actions}
    if isinstance(phase, coup.BlockWindow) and right == "-":
        roles = rows[phase.pending.action.value].block_roles
        held = [role for role in roles if role in hand]
        bluff = f"A block would be a bluff: you don't hold the {' or the '.join(roles)}."
        return "Block or pass?", f"You hold the {held[0]}. If you pass, it stays hidden." if held else bluff
    verb, _, argument = right.partition(":")
    role = argument if verb == "block" else rows[verb].claim
    if role is None:
        reason = "It claims no role, so it can't be challenged."
    elif role in hand:
        reason = f"You hold the {role}: a challenge would cost the challenger a card."
    else:
        reason = f"You don't hold the {role}: it is a bluff."
    if verb == "block":
        return "Block or pass?", reason
    board, seats = course.state.board, [int(argument)] if argument else range(len(names))
    others = [names[seat] for seat in seats if seat != course.you and board.influence[seat]]
    blocks = (_describe_odds(course, others, each) for each in rows[verb].block_roles)
    return ("Bluffs" if role and role not in hand else "Actions"), " ".join((reason, *blocks))


def _describe_odds(course: Course, names: Sequence[str], role: str) -> str:
    """Return who can hold a role that blocks a move, as a sentence."""
    chances = {name: course.fill(f"{{odds {name} {role}}}") for name in names}
    told = [
        f"{name} can't hold one" if odds.startswith("0") else f"{name} holds one with a chance of {odds}"
        for name, odds in chances.items()
    ]
    return f"The {role} blocks it. By the cards alone, {' and '.join(told)}."


def _describe_threats(board: coup.Board, you: int, names: Sequence[str]) -> Iterator[str]:
    """Yield what the pending action does to you, and who can pay for a coup after it, as sentences."""
    pending, coins = getattr(board.phase, "pending", None), list(board.coins)
    rules = {row.action: row for row in coup.COUP.actions}
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
    rich = [names[seat] for seat, owned in enumerate(coins) if seat != you and board.influence[seat] and owned >= cost]
    if rich:
        yield f"{' and '.join(rich)} can {'then ' if gain else ''}pay for a coup."
