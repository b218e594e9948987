"""Play one match of a table: its referee, the slots that sit in it, and what players and spectators see of it."""

import json
from collections.abc import Callable, Sequence

from arena import play, referee
from arena.tables import live_match
from arena.tables.slots import Slot

MATCH_OVER = '{"type":"match_over"}'


class TableMatch:
    """One match of a table, from its start on. `slots`: by the index of their bots. `live`: its referee.

    `spectator_view`: what all may see. `ended`: whether its events are ignored from now on; `finish` sets it, and
    `LiveTable.close`, which may run in another thread. `notify` is called with each event, from several threads; only
    the thread of the table's event loop may call the methods. `pace`, `min_window_s`: as of `LiveMatch`.
    """

    def __init__(
        self,
        setup: live_match.MatchSetup,
        slots: Sequence[Slot],
        notify: Callable[[live_match.MatchEvent], None],
        pace: float,
        min_window_s: float,
    ) -> None:
        self.setup = setup
        self.slots = tuple(slots)
        self.ended = False
        self._labels: dict[str, str] = {}
        for slot in slots:
            slot.view, slot.won, slot.missed = play.PlayerView(), 0.0, 0
        self.spectator_view = play.PlayerView()
        ruleset = referee.messages.make_ruleset(setup.spec.settings.rules, setup.spec.seats)
        self.spectator_view.receive({"type": "hello", "ruleset": ruleset})
        people = [bot for bot, slot in enumerate(slots) if slot.kind == "person"]
        programs = [bot for bot, slot in enumerate(slots) if slot.kind == "program"]
        self.live = live_match.LiveMatch(
            setup.spec,
            [*people, *programs],
            setup.launch,
            notify,
            viewers=(None, *people),
            pace=pace,
            people=people,
            min_window_s=min_window_s,
        )

    @property
    def is_complete(self) -> bool:
        return len(self.live.games) == len(self.setup.spec.seatings)

    def find_handle(self, slot: Slot) -> str | None:
        """Return the handle of a slot, None if it isn't in the match."""
        return self.setup.spec.handles[self.slots.index(slot)] if slot in self.slots else None

    def label_players(self, shows_name: Callable[[Slot], bool]) -> None:
        """Show all viewers the names of these slots, as `label_handles` does."""
        names = (slot.name if shows_name(slot) else None for slot in self.slots)
        self._labels = play.label_handles(dict(zip(self.setup.spec.handles, names, strict=True)))
        for view in (self.spectator_view, *(slot.view for slot in self.slots)):
            view.labels = self._labels

    def send_answer(self, slot: Slot, answer: play.Message) -> None:
        """Send a person's answer, and so close the request."""
        self.live.answer(self.slots.index(slot), json.dumps(answer).encode() + b"\n")
        slot.view.request = {}

    def deliver_line(self, line: live_match.LineReceived) -> Slot:
        """Pass the referee's line on, to a program as it is, to a person as a change of the view; return the slot."""
        slot = self.slots[line.bot]
        if slot.kind == "program":
            slot.lines.add(line.data.decode().rstrip("\n"))
            return slot
        message = line.message
        if message["type"] == "hello":
            slot.view = play.PlayerView(self._labels)
        answer = slot.view.receive(message)
        if answer is not None and not self.ended:
            self.live.answer(line.bot, json.dumps(answer).encode() + b"\n")
        return slot

    def show_update(self, update: live_match.StateUpdate) -> None:
        for viewer, message in update.views.items():
            view = self.spectator_view if viewer is None else self.slots[viewer].view
            view.receive(message)

    def add_game(self, game: referee.GameRecord) -> None:
        """Count a game's wins, show its end to spectators, and store the record so far."""
        for seat in game.survivors:
            self.slots[game.seating[seat]].won += 1 / len(game.survivors)
        # No seat's line is for a spectator.
        self.spectator_view.receive(
            {"type": "game_over", "winner": game.winner, "survivors": list(game.survivors), "events": []}
        )
        self.setup.keep(self.live.record, ())

    def finish(self) -> str | None:
        """Store the record, end the referee and the lines of programs; return the replay's address if it is known."""
        address = self.setup.keep(self.live.record, self.live.logs) if self.live.games else None
        self.ended = True
        self.live.close()
        for slot in self.slots:
            if slot.kind == "program" and slot.lines.last != MATCH_OVER:  # it forfeited, or this machine failed
                slot.lines.add(MATCH_OVER)
        return address
