"""Recompute the lines that a bot was sent in a match from its record: for a debugger, and for what-if replays.

The lines are the same as in the match with three exceptions, because records are incomplete: `bank_ms` may be 1 ms off,
faulty lines that errors quote are cut as in the record, and errors about stray lines and table talk are missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arena.coup import FORFEIT, Forfeit, State, format_move, list_legal_moves, parse_move, view_from_seat
from arena.referee import wire
from arena.referee.budget import bank_ms, new_player_budget
from arena.referee.faults import FAULTS, Consequence, Fault
from arena.referee.game_record import GameRecord
from arena.referee.match_spec import MatchSpec, hello
from arena.referee.move_payloads import LegalMoves, make_legal_moves
from arena.referee.record import Record, replay_game


@dataclass(frozen=True, slots=True)
class SentLine:
    """A line that was sent to a bot in a game. The hello of a process belongs to the game before which it was started.

    choice: for a request, the index of the legal move that the bot chose; None after a fault, and for other lines.
    step: for a request, the index of its step in its turn, from 0, as in links to a moment of a replay.
    """

    game: int
    line: bytes
    choice: int | None = None
    step: int = 0


def sent_lines(record: Record, bot: int) -> Iterator[SentLine]:
    """Yield the lines that were sent to a bot, in order. Raises RecordError if the record can't be replayed."""
    reader = _Reader(record, bot)
    for game in record.games:
        yield from reader.read_game(game)
    if reader.alive:
        yield SentLine(record.games[-1].game, wire.MATCH_OVER)


class _Reader:
    """The state of a bot in its match: whether its process lives and its bank is drained; the number of requests.

    `budget` and `feed`: the bot's budget and the events in the present game.
    """

    def __init__(self, record: Record, bot: int) -> None:
        header = record.header
        seatings = tuple(game.seating for game in record.games)
        self.header, self.bot = header, bot
        self.spec = MatchSpec(header.match, header.key, header.bots, seatings, header.settings, header.timings)
        self.timing = self.spec.timing(bot)
        self.alive = self.drained = False
        self.number = self.forfeits = 0

    def read_game(self, game: GameRecord) -> Iterator[SentLine]:
        """Yield the lines of a game in order: a hello if a process starts for it, its start, requests, errors, its end.

        A bot whose process had ended gets no line, but the rest of the game is replayed for the next ones.
        """
        if not self.alive and self.forfeits < self.header.settings.forfeits:
            yield self._read_hello(game)
        seat = game.seating.index(self.bot)
        self.budget = new_player_budget(self.header.settings.lives, self.timing, self.drained)
        self.feed = wire.LineCursor(len(game.seating))
        move_count = 0  # of the steps so far
        turn = step_of_turn = -1
        for step in replay_game(self.header, game):
            board = step.before.board
            if turn < 0 and self.alive:
                yield SentLine(game.game, self._encode_start(step.before, game))
            step_of_turn = step_of_turn + 1 if board.turn == turn else 0
            turn = board.turn
            if seat in board.phase.asked:
                move_index = move_count + board.phase.asked.index(seat)
                yield from self._read_request(step.before, game, move_index, step_of_turn)
            move_count += len(board.phase.asked)
            self.feed.add(step.events)
        if self.alive:
            yield SentLine(game.game, wire.encode_game_over(game.game, step.after.board, self.feed.take(seat)))

    def _read_hello(self, game: GameRecord) -> SentLine:
        """Return the hello line of the process that was started before a game; the bot lives if that succeeded."""
        self.number = 0
        self.alive = not any(fault.bot == self.bot and fault.code == "start_failed" for fault in game.faults)
        return SentLine(game.game, hello(self.spec, self.bot))

    def _encode_start(self, state: State, game: GameRecord) -> bytes:
        """Return the line with the start of a game."""
        handles = [self.spec.handles[bot] for bot in game.seating]
        view = view_from_seat(state, game.seating.index(self.bot))
        return wire.encode_game_start(view, game.game, self.spec.game_seed(self.bot, game.game), handles)

    def _read_request(self, state: State, game: GameRecord, move_index: int, step_of_turn: int) -> Iterator[SentLine]:
        """Yield the request that led to a move, and the error line after a fault of it, if the process lived."""
        faults = [fault for fault in game.faults if fault.bot == self.bot and fault.step == move_index]
        if self.alive:
            self.number += 1
            line, legal = self._encode_request(state, game)
            choice = None if faults else legal.words.index(game.moves[move_index])
            yield SentLine(game.game, line, choice, step_of_turn)
        error = self._apply_answer(game.moves[move_index], game.times[move_index] / 1e6, faults)
        if error is not None:
            yield SentLine(game.game, error)

    def _encode_request(self, state: State, game: GameRecord) -> tuple[bytes, LegalMoves]:
        """Return the line of a request, with the events since the last line, and its legal moves."""
        view = view_from_seat(state, game.seating.index(self.bot))
        legal = make_legal_moves(list_legal_moves(view))
        certain, events = self.feed.known(view), self.feed.take(view.seat)
        limit_ms, bank = self.timing.limit_ms, bank_ms(self.budget.bank_s)
        request = wire.PhaseRequests(state.board, game.game)
        return request.line(view, certain, self.number, events, legal, limit_ms, bank), legal

    def _apply_answer(self, word: str, own_s: float, faults: Sequence[Fault]) -> bytes | None:
        """Update the bot's budget and process by an answer; return the error line that the bot was sent, if any.

        word: the move that was played. faults: those of this answer.
        """
        if self.timing.timed:
            self.budget = self.budget.charge(own_s, self.timing.limit_ms / 1000)
        for fault in faults:
            if fault.code == "timeout":
                self.drained, self.budget = True, self.budget._replace(bank_s=0.0)
            if FAULTS[fault.code].consequence is Consequence.LIFE:
                self.budget = self.budget._replace(lives=self.budget.lives - 1)
        if word == format_move(FORFEIT):
            self.alive, self.forfeits = False, self.forfeits + 1
            return None
        for fault in faults:
            if fault.used is not None and self.alive:
                return self._encode_error(fault, fault.used)
        return None

    def _encode_error(self, fault: Fault, word: str) -> bytes:
        """Return the error line about a fault. word: the default move that was played, in notation."""
        used = parse_move(word)
        assert not isinstance(used, Forfeit), "a default move isn't a forfeit"
        got = None if fault.got is None else fault.got.encode()
        return wire.encode_error(self.number, fault.code, fault.detail, got, used, self.budget.lives)
