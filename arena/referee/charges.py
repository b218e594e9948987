"""What a replay can show of a game's faults: that they fit the moves, the lives and the forfeits of the match.

A fault whose default move the bot could have chosen itself leaves no trace, and neither do dropped lines: whether these
happened can't be known.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from arena.coup import FORFEIT, Chance, Move, View, default, notation
from arena.referee.faults import FAULTS, Consequence, Fault
from arena.referee.game_record import GameRecord
from arena.referee.terms import Terms

_GIVEN_UP = notation(FORFEIT)


def default_move(sight: View, moment: int, chance: Chance) -> Move:
    """Return the move that is played for a seat that has a fault. moment: the game's events without what was said."""
    # The stream's label is the game's moment: neither a fault of one bot nor its words shift another draw.
    return default(sight, lambda below: chance.number(f"default {sight.seat}", moment, below))


def misfits(terms: Terms, game: GameRecord, defaults: Mapping[int, str], forfeits: Counter[int]) -> Iterator[str]:
    """Yield why no referee has noted the faults of a game so.

    defaults: the default move of each place at which there is a fault. forfeits: of each bot in the games before; those
    of this game are added.
    """
    lives = dict.fromkeys(game.seating, terms.lives)
    retired = {bot for bot in game.seating if forfeits[bot] >= terms.forfeits}
    movers = [game.seating[seat] for seat in game.by]
    given_up = {place for place, word in enumerate(game.words) if word == _GIVEN_UP}
    for fault in game.faults:
        if not _fits(fault, game, movers, defaults, lives, retired):
            at = "" if fault.step is None else f" at move {fault.step}"
            yield f"the fault {fault.code} of bot {fault.bot}{at} doesn't fit the moves and the faults before it"
        elif FAULTS[fault.code].consequence is Consequence.FORFEIT and fault.step in given_up:
            given_up.remove(fault.step)
            forfeits[fault.bot] += 1
    for place in sorted(given_up):
        yield f"bot {movers[place]} forfeits at move {place}, and no fault says why"
    for place, (bot, word) in enumerate(zip(movers, game.words, strict=True)):
        if bot in retired and word != _GIVEN_UP:
            yield f"bot {bot} chooses move {place}, after {terms.forfeits} forfeits in this match"
            return


def _fits(
    fault: Fault, game: GameRecord, movers: list[int], defaults: Mapping[int, str], lives: dict[int, int],
    retired: set[int],
) -> bool:  # fmt: skip
    """Return whether a fault fits; take the life that it costs."""
    cost, bot, place = FAULTS[fault.code].consequence, fault.bot, fault.step
    if cost is Consequence.FREE or place is None:
        return cost is Consequence.FREE and place is None and fault.used is None
    if place >= len(game.words) or movers[place] != bot:
        return False
    if cost is Consequence.FORFEIT:
        whole = (lives[bot] == 0) == (fault.code == "out_of_lives") and (bot in retired) == (fault.code == "retired")
        return whole and fault.used == game.words[place] == _GIVEN_UP
    lives[bot] -= 1
    if lives[bot] == 0:
        return fault.used is None and game.words[place] == _GIVEN_UP
    return lives[bot] > 0 and fault.used == game.words[place] == defaults.get(place)
