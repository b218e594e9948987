"""Make the messages that show people each step of a match, as their seats may know it, and how long it is shown."""

from collections.abc import Collection, Sequence
from typing import Any

from arena import coup
from arena.referee import MatchSpec, messages

PACES = {"slow": 1.75, "normal": 1.0, "fast": 0.5, "instant": 0.0}  # factors of the times below
_SPEEDUP = 3  # of the pace once all people are out
_SHOWN_MS = 700  # how long an event is shown, except these
_SHOWN_EVENT_MS = {
    **dict.fromkeys(("action", "block", "exchanged", "say"), 900),
    **dict.fromkeys(("shown", "shown_hand", "lost"), 1200),
    **dict.fromkeys(("challenge", "unproven", "exiled", "forfeit"), 1500),
}
_FOLLOWING = ("coins", "resolved")  # are shown together with the event before them in their step


class MomentMaker:
    """A maker of the moments of a match for each of `viewers`: bots, by their index, and None for a spectator.

    Once all `people` are out, events are shown for a third of their time.
    """

    def __init__(self, spec: MatchSpec, viewers: Collection[int | None], people: Collection[int]) -> None:
        self._spec, self._viewers, self._people = spec, viewers, frozenset(people)
        self._state: coup.State | None = None  # before the next step
        self._knowledge: dict[int, coup.Knowledge] = {}  # by bot in `viewers`; of the current game

    def make(
        self, game: int, state: coup.State, first_event: int, events: Sequence[coup.Event], pace: float
    ) -> tuple[dict[int | None, dict[str, Any]], int]:
        """Return the moment of each of `viewers` after a step, and for how long its events are shown, in ms.

        The step's events are numbered from `first_event`; a game begins with a call without events. `pace` is the
        factor of the times. The step and its times depend only on what all players see. Call this once for each step.
        """
        is_start = first_event == 0 and not events
        if is_start:
            self._state, self._knowledge = None, {}
        old_state, self._state = self._state, state
        seating = self._spec.seatings[game]
        handles = [self._spec.handles[bot] for bot in seating]
        if not any(state.board.influence[seating.index(bot)] for bot in self._people):
            pace /= _SPEEDUP
        step = {} if old_state is None else _describe_step(old_state.board, events, pace)
        public = {"step": step, "phase": _describe_phase(state.board)}
        moments: dict[int | None, dict[str, Any]] = {}
        for bot in self._viewers:
            view = None if bot is None else coup.view_from_seat(state, seating.index(bot))
            certain = coup.NOTHING_KNOWN if bot is None or view is None else self._certain_cards(bot, view, events)
            moment = messages.make_moment(game, handles, state.board, view, certain, first_event, events)
            moments[bot] = {**moment, **public}
        return moments, sum(step.get("shown_ms", ()))

    def _certain_cards(self, bot: int, view: coup.View, events: Sequence[coup.Event]) -> coup.CertainCards:
        """Return the cards that are certain to a bot's seat; must be called once for each move."""
        if bot not in self._knowledge:
            self._knowledge[bot] = coup.Knowledge(view)
        kinds = coup.concerning(view.board.rules)
        return self._knowledge[bot].update(
            view, [coup.event_for_seat(event, view.seat) for event in events if type(event) in kinds]
        )


def _describe_step(board: coup.Board, events: Sequence[coup.Event], pace: float) -> dict[str, Any]:
    """Return the turn and kind of the step that led from a board to these events, and how long each is shown."""
    kind = messages.KINDS[type(board.phase)]
    times = list_shown_ms(kind, [event.word for event in events])
    return {"turn": board.turn, "kind": kind, "shown_ms": [round(pace * time) for time in times]}


def _describe_phase(board: coup.Board) -> dict[str, Any]:
    """Return what is asked now, and of which seats."""
    phase = board.phase
    asked = {"kind": messages.KINDS.get(type(phase), ""), "asked": [*phase.asked]}
    return asked | (messages.make_kind_fields(board.actor, phase) if phase.asked else {})


def list_shown_ms(kind: str, words: Sequence[str]) -> list[int]:
    """Return how long each event of a step is shown at the normal pace, in ms.

    kind: of the step's requests. words: the events' words. A window in which no player objected has one more time,
    before the others.
    """
    objections = {"challenge", "block"}
    is_quiet = kind in objections and objections.isdisjoint(words)
    shown_words = ["quiet", *words] if is_quiet else words
    return [
        0 if index > 0 and word in _FOLLOWING else _SHOWN_EVENT_MS.get(word, _SHOWN_MS)
        for index, word in enumerate(shown_words)
    ]
