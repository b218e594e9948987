"""A recorded game as it could have been, as far as some of its bots know: other cards, draws and sealed answers.

The events are the same, in the copies of these bots and of a spectator. It is found by search: other deals, until one
can be played to the same end.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import product

from arena import coup
from arena.referee import Fault, GameRecorder, Record, messages
from arena.replay import ReplayStep, SeatAnswer, list_steps

SEALED = ("challenge", "block", "exchange", "examine_show", "draft")  # answers of others are secret
WAYS = 40  # of a moment, that are tried

_Step = tuple[coup.State, Sequence[coup.MoveOrForfeit], coup.State, Sequence[coup.Event]]


def other_world(record: Record, viewers: Collection[int], deals: int) -> Record | None:
    """Return a record of one game with other hidden cards, or None if this many deals give none; bots keep their seats.

    Private data of all but the viewers differs, too: times and faults. So does the key.
    """
    [game] = record.games
    story = list(list_steps(record.header, game))
    rng = random.Random(repr(viewers))
    for number in range(deals):
        header = replace(record.header, key=coup.derive_key(record.header.key, f"other {number}"))
        chance = coup.KeyedRng(header.key, game.game)
        state = coup.deal_game(header.settings.rules, len(game.seating), chance, game.starter)
        played = _played(state, story, chance, viewers, rng)
        if played is None:
            continue
        notes = GameRecorder(game.game, game.seating, game.starter)
        for moment, step in zip(story, played, strict=True):
            notes.moves += map(coup.format_move, step[1])
            notes.times += [each.time_us + 5 * (each.seat not in viewers) for each in moment.answers]
            notes.add_step(*step)
        notes.faults = [fault for fault in game.faults if fault.bot in viewers]
        for bot in set(game.seating) - set(viewers):
            places = [place for place, seat in enumerate(game.move_seats) if seat == bot]
            notes.faults += [Fault(bot, "timeout", step=places[0]), Fault(bot, "stray_line", got="duke", count=7)]
        other = notes.make_record(played[-1][2])
        if (other.start, other.moves, other.draws) != (game.start, game.moves, game.draws):
            return Record(header, (other,))
    return None


def _played(
    state: coup.State, story: Sequence[ReplayStep], chance: coup.KeyedRng, viewers: Collection[int], rng: random.Random
) -> list[_Step] | None:
    """Return the steps from a state on that give the same events as the rest of a game; None if no deal does."""
    if not story:
        return []
    moment, *rest = story
    if state.board != moment.before.board or any(
        coup.view_from_seat(state, eye) != coup.view_from_seat(moment.before, eye) for eye in viewers
    ):
        return None
    output = _copies(moment.events, viewers)
    ways = list(product(*(_answers(state, each, moment.kind, viewers) for each in moment.answers)))
    for answers in rng.sample(ways, min(WAYS, len(ways))):
        after, events = coup.apply_moves(state, answers, chance)
        if _copies(events, viewers) == output:
            found = _played(after, rest, chance, viewers, rng)
            if found is not None:
                return [(state, answers, after, events), *found]
    return None


def _answers(state: coup.State, given: SeatAnswer, kind: str, viewers: Collection[int]) -> Iterator[coup.MoveOrForfeit]:
    for move in (
        (coup.FORFEIT,) if given.move == coup.FORFEIT else coup.list_legal_moves(coup.view_from_seat(state, given.seat))
    ):
        if move == given.move or (given.seat not in viewers and kind in SEALED):
            yield move


def _copies(events: Sequence[coup.Event], viewers: Collection[int]) -> list[object]:
    return [messages.make_event(0, event, seat) for event in events for seat in (None, *viewers)]
