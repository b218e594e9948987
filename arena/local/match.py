"""A match in this process: the loop of `arena.referee`'s, without pipes, clocks and faults.

Seats of one window are asked one after the other, and none sees what another answered: the game goes on when all have.
"""

import json
from collections.abc import Sequence

from arena.coup import Chance, Exiled, Move, Over, Said, State, Talk, apply, deal, first_seat, legal, view
from arena.local.players import Player
from arena.referee import GameRecord, MatchSpec, Notes, Record, hello, menus, messages


def play_match(spec: MatchSpec, players: Sequence[Player], keep_moves: bool) -> Record:
    """Play all games of a match. Without `keep_moves` the record has results, but no moves: it can't be replayed."""
    for number, player in enumerate(players):
        player.greet(json.loads(hello(spec, number)))
    last_winner: int | None = None
    games = []
    for number, seating in enumerate(spec.seatings):
        notes = Notes(number, seating, first_seat(seating, last_winner))
        record = _Game(spec, notes, [players[bot] for bot in seating], keep_moves).play()
        last_winner = None if record.winner is None else seating[record.winner]
        games.append(record)
    for player in players:
        player.tell({"type": "match_over"})
    return Record(spec.header, tuple(games))


class _Game:
    """One game: who sits where, what they were told, what is kept of it."""

    def __init__(self, spec: MatchSpec, notes: Notes, players: Sequence[Player], keep_moves: bool) -> None:
        self.spec = spec
        self.notes = notes
        self.players = players
        self.keep_moves = keep_moves
        self.handles = [spec.handles[bot] for bot in notes.seating]
        self.times = [spec.timing(bot) for bot in notes.seating]
        self.feed = messages.Feed(spec.seats)
        self.talk = spec.terms.rules.talk is not Talk.OFF
        self.said: list[Said] = []  # beside the present answers

    def play(self) -> GameRecord:
        """Play to the end of the game, and return its record."""
        notes = self.notes
        chance = Chance(self.spec.key, notes.game)
        state = deal(self.spec.terms.rules, self.spec.seats, chance, notes.starter)
        for seat, player in enumerate(self.players):
            seed = self.spec.game_seed(notes.seating[seat], notes.game)
            player.tell(messages.game_start(view(state, seat), notes.game, seed, self.handles))
        eliminated: list[tuple[int, int]] = []
        while state.board.phase.asked:
            answers = self.answers(state)
            after, events = apply(state, answers, chance)
            if self.talk:
                events = (*sorted(self.said, key=lambda statement: statement.seat), *events)
            self.feed.add(events)
            if self.keep_moves:
                notes.step(state, answers, after, events)
            else:
                eliminated += [(event.seat, state.board.turn) for event in events if isinstance(event, Exiled)]
            state = after
        over = state.board.phase
        assert isinstance(over, Over)
        for seat, player in enumerate(self.players):
            player.tell(messages.game_over(notes.game, state.board, self.feed.take(seat)))
        if self.keep_moves:
            return notes.record(state)
        return GameRecord(
            notes.game,
            notes.seating,
            eliminated=tuple(eliminated),
            winner=over.winner,
            reason=over.ending.value,
            survivors=over.survivors,
            starter=notes.starter,
            turns=state.board.turn,
            events=self.feed.count,
        )

    def answers(self, state: State) -> list[Move]:
        """Ask all seats of the present phase; return their answers in the phase's order."""
        answers = []
        self.said = []
        for seat in state.board.phase.asked:
            player, times = self.players[seat], self.times[seat]
            sight = view(state, seat)
            moves = legal(sight)
            player.number += 1
            known, events = self.feed.known(sight), self.feed.take(seat)
            menu = menus.menu(moves)
            message = messages.request(
                sight, known, self.notes.game, player.number, events, menu, times.limit_ms, times.bank_ms
            )
            choice = player.choice(message, menu, state.board if self.talk else None)
            if self.talk:
                self.said += player.said
            answers.append(moves[choice])
            if self.keep_moves:
                if self.talk:
                    self.notes.said += [(len(self.notes.words), statement) for statement in player.said]
                self.notes.words.append(menu.words[choice])
                self.notes.times.append(0)
        return answers
