"""Define the record of one game, and check that its faults are consistent with its moves.

A replay can verify that faults are consistent with the moves, the lives and the forfeits of the match. It can't verify
dropped lines, or whether a bot with a fault would have chosen the default move itself."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from arena.coup import FORFEIT, KeyedRng, Move, View, format_move, pick_default_move
from arena.referee.faults import FAULTS, Consequence, Fault
from arena.referee.settings import MatchSettings
from arena.referee.table_talk import Placed


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A game that has ended. `seating`: the bot of each seat; `eliminated`: (seat, turn).

    `moves` are in notation, `move_seats` has the seat of each, `times` its time by the match's clock, in us.
    `statements` are (index of the move that it came with, statement). `starter` is the last winner's seat, for rulesets
    in which the winner starts. `start` is the state at the start, `draws` are the chance outcomes after it. `events` is
    the number of events, `digest` the SHA-256 of all of them with their private parts.
    """

    game: int
    seating: tuple[int, ...]
    moves: tuple[str, ...] = ()
    move_seats: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    statements: tuple[Placed, ...] = ()
    faults: tuple[Fault, ...] = ()
    eliminated: tuple[tuple[int, int], ...] = ()
    winner: int | None = None
    reason: str = ""
    survivors: tuple[int, ...] = ()
    starter: int = 0
    start: dict[str, Any] = field(default_factory=dict)
    draws: tuple[str, ...] = ()
    turns: int = 0
    events: int = 0
    digest: str = ""

    def lost_by(self, bot: int) -> bool:
        """Return whether a bot, given by index, lost. A survivor of a draw hasn't lost."""
        return self.seating.index(bot) not in self.survivors

    def list_forfeiting_bots(self) -> list[int]:
        """Return the bot of each forfeit, in the order of the moves."""
        steps = zip(self.move_seats, self.moves, strict=True)
        return [self.seating[seat] for seat, word in steps if word == _FORFEIT_WORD]


_FORFEIT_WORD = format_move(FORFEIT)


def default_move(view: View, moment: int, chance: KeyedRng) -> Move:
    """Return the default move for a seat after a fault. moment: the game's number of events without statements."""
    # The label makes other draws independent of a bot's faults and statements.
    return pick_default_move(view, lambda below: chance.number(f"default {view.seat}", moment, below))


def find_fault_problems(
    settings: MatchSettings, game: GameRecord, defaults: Mapping[int, str], forfeits: Mapping[int, int]
) -> Iterator[str]:
    """Yield inconsistencies of a game's faults with its moves, each as a sentence for people.

    defaults: move index -> default move, for each move with a fault. forfeits: of each bot in earlier games.
    """
    lives = dict.fromkeys(game.seating, settings.lives)
    retired_bots = {bot for bot in game.seating if forfeits.get(bot, 0) >= settings.forfeits}
    movers = [game.seating[seat] for seat in game.move_seats]
    unexplained = {index for index, word in enumerate(game.moves) if word == _FORFEIT_WORD}  # forfeits without a fault
    for fault in game.faults:
        if _costs_life(fault, movers):
            lives[fault.bot] -= 1
        if not _is_consistent(fault, game, movers, defaults, lives, retired_bots):
            location = "" if fault.step is None else f" at move {fault.step}"
            yield f"the fault {fault.code} of bot {fault.bot}{location} doesn't fit the moves and the faults before it"
        elif FAULTS[fault.code].consequence is Consequence.FORFEIT:
            unexplained -= {fault.step}
    for index in sorted(unexplained):
        yield f"bot {movers[index]} forfeits at move {index}, and no fault says why"
    for index, (bot, word) in enumerate(zip(movers, game.moves, strict=True)):
        if bot in retired_bots and word != _FORFEIT_WORD:
            yield f"bot {bot} chooses move {index}, after {settings.forfeits} forfeits in this match"
            return


def _costs_life(fault: Fault, movers: list[int]) -> bool:
    """Return whether a fault costs a life, as one at a move of its bot can. movers: the bot of each move."""
    is_at_own_move = fault.step is not None and fault.step < len(movers) and movers[fault.step] == fault.bot
    return is_at_own_move and FAULTS[fault.code].consequence is Consequence.LIFE


def _is_consistent(
    fault: Fault, game: GameRecord, movers: list[int], defaults: Mapping[int, str], lives: Mapping[int, int],
    retired_bots: set[int],
) -> bool:  # fmt: skip
    """Return whether a fault is consistent with the moves.

    movers: the bot of each move. defaults: move index -> default move. lives: of each bot after the fault.
    retired_bots: those that have forfeited the rest of the match before this game.
    """
    consequence, bot, index = FAULTS[fault.code].consequence, fault.bot, fault.step
    if consequence is Consequence.FREE or index is None:
        return consequence is Consequence.FREE and index is None and fault.used is None
    if index >= len(game.moves) or movers[index] != bot:
        return False
    if consequence is Consequence.FORFEIT:
        is_out_of_lives, is_retired = lives[bot] == 0, bot in retired_bots
        has_cause = is_out_of_lives == (fault.code == "out_of_lives") and is_retired == (fault.code == "retired")
        return has_cause and fault.used == game.moves[index] == _FORFEIT_WORD
    if lives[bot] == 0:
        return fault.used is None and game.moves[index] == _FORFEIT_WORD
    return lives[bot] > 0 and fault.used == game.moves[index] == defaults.get(index)
