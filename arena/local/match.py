"""A match in this process: the loop of `arena.referee`'s, without pipes, clocks and faults.

Seats of one window are asked one after the other, and none sees what another answered: the game goes on when all have.
"""

import json
from collections.abc import Sequence

from arena.coup import Chance, Exiled, Move, Over, State, apply, deal, first_seat, legal, view
from arena.local.messages import Feed, game_over, game_start, request
from arena.local.players import Player
from arena.referee import GameRecord, MatchSpec, Record, hello, wire


def play_match(spec: MatchSpec, players: Sequence[Player], keep_moves: bool) -> Record:
    """Play all games of a match. Without `keep_moves` the record has results, but no moves: it can't be replayed."""
    for number, player in enumerate(players):
        player.greet(json.loads(hello(spec, number)))
    last_winner: int | None = None
    games = []
    for number, seating in enumerate(spec.seatings):
        game = _Game(spec, number, [players[bot] for bot in seating], keep_moves)
        record = game.play(GameRecord(number, seating, starter=first_seat(seating, last_winner)))
        last_winner = None if record.winner is None else seating[record.winner]
        games.append(record)
    for player in players:
        player.tell({"type": "match_over"})
    return Record(spec.header, tuple(games))


class _Game:
    """One game: who sits where, what they were told, what is kept of it."""

    def __init__(self, spec: MatchSpec, number: int, players: Sequence[Player], keep_moves: bool) -> None:
        self.spec = spec
        self.number = number
        self.players = players
        self.handles = [spec.handles[spec.seatings[number][seat]] for seat in range(spec.seats)]
        self.times = [spec.timing(bot) for bot in spec.seatings[number]]
        self.feed = Feed(spec.seats)
        self.kept = wire.Feed(spec.seats) if keep_moves else None

    def play(self, record: GameRecord) -> GameRecord:
        """Play to the end of the game, and return its record."""
        chance = Chance(self.spec.key, self.number)
        state = deal(self.spec.terms.rules, self.spec.seats, chance, record.starter)
        if self.kept:
            record.open(state)
        for seat, player in enumerate(self.players):
            player.tell(game_start(view(state, seat), self.number, self.handles))
        while state.board.phase.asked:
            answers = self.answers(state, record)
            after, events = apply(state, answers, chance)
            self.feed.add(events)
            if self.kept:
                self.kept.add(events)
                record.step(state, answers, after, events)
            else:
                record.eliminated += [(event.seat, state.board.turn) for event in events if isinstance(event, Exiled)]
            state = after
        over = state.board.phase
        assert isinstance(over, Over)
        record.end(over, state.board.turn, self.kept.digest() if self.kept else "", self.feed.count)
        for seat, player in enumerate(self.players):
            player.tell(game_over(self.number, over, self.feed.take(seat)))
        return record

    def answers(self, state: State, record: GameRecord) -> list[Move]:
        """Ask all seats of the present phase; return their answers in the phase's order."""
        answers = []
        for seat in state.board.phase.asked:
            player, times = self.players[seat], self.times[seat]
            sight = view(state, seat)
            moves = legal(sight)
            player.number += 1
            events = self.feed.take(seat)
            message = request(sight, self.number, player.number, events, moves, times.limit_ms, times.bank_ms)
            choice = player.choice(message, moves)
            answers.append(moves[choice])
            if self.kept:
                record.words.append(wire.menu(moves).words[choice])
                record.times.append(0)
        return answers
