"""Tests of the events of a live match as each viewer gets them, and of the time for which they are shown."""

import json
import threading
from dataclasses import asdict
from typing import Any

import pytest

from arena.coup import PRESETS, view_from_seat
from arena.play import PlayerView
from arena.play.live_match import LiveMatch, MatchEvent, StateUpdate
from arena.referee import MatchSpec, Record, messages
from arena.replay import list_steps
from arena.sandbox import Box, SandboxError
from tests.replay.games import random_game
from tests.replay.worlds import other_world

PACE = 0.004  # so that pauses are short and still differ


def no_box(bot: int) -> Box:
    raise SandboxError("no box")


def frames(record: Record, spec: MatchSpec, viewer: int | None) -> list[str]:
    """Return what a viewer gets of each step of a recorded game, and what its page shows, as JSON."""
    published: list[StateUpdate] = []
    ended = threading.Event()

    def notify(event: MatchEvent) -> None:
        published.append(event) if isinstance(event, StateUpdate) else ended.set()

    match = LiveMatch(spec, (), no_box, notify, (viewer,), PACE, people=(0,))
    assert ended.wait(10)
    steps = list(list_steps(record.header, record.games[0]))
    begins = steps[0].before
    sight = PlayerView()
    sight.take({"type": "hello", "ruleset": messages.make_ruleset(spec.settings.rules, spec.seats)})
    if viewer is not None:
        sight.take(messages.make_game_start(view_from_seat(begins, viewer), 0, "seed", spec.handles))
    match.moved(0, begins, 0, ())
    for step in steps:
        match.moved(0, step.after, step.first_event, step.events)
    match.close()
    shown = []
    for update in published:
        message = update.views[viewer]
        sight.take(message)
        seen = sight.seen()
        assert seen is not None
        shown.append(json.dumps([message, asdict(seen)]))
    return shown


@pytest.mark.parametrize("viewer", [None, 1])
def test_frames_and_their_times_are_independent_of_what_the_viewer_cannot_know(viewer: int | None) -> None:
    """The games have the same events, and other cards, draws and sealed answers."""
    found, words = 0, set()
    for name, seats in (("coup", 3), ("reformation-inquisitor", 3), ("duel", 2)):
        for seed in range(7):
            record = random_game(PRESETS[name], seats, seed)
            other = other_world(record, () if viewer is None else (viewer,), deals=300)
            if other is None:
                continue
            header = record.header
            spec = MatchSpec(0, header.key, header.bots, (tuple(range(seats)),), header.settings)
            mine = frames(record, spec, viewer)
            assert mine == frames(other, spec, viewer)
            found += 1
            words |= {event["event"] for event in json.loads(mine[-1])[1]["events"]}
    assert found > 2
    assert words >= {"quiet", "action", "coins", "challenge", "shown", "unproven", "lost", "exiled", "block"}


def test_all_viewers_read_the_same_about_the_seats_that_are_asked() -> None:
    """Whether they are asked or not, and with the names of claimants, challengers and targets."""
    read: set[str] = set()
    for name in ("coup", "reformation-inquisitor"):
        for seed in range(4):
            record = random_game(PRESETS[name], 3, seed)
            header = record.header
            spec = MatchSpec(0, header.key, header.bots, (tuple(range(3)),), header.settings)
            steps = list(list_steps(header, record.games[0]))
            views = [[json.loads(frame)[1] for frame in frames(record, spec, viewer)] for viewer in (None, 0, 1, 2)]
            texts = [[(frame["waiting"], frame["asked"]) for frame in view] for view in views]
            assert texts[0] == texts[1] == texts[2] == texts[3]
            boards = [steps[0].before.board, *(step.after.board for step in steps)]
            assert [asked for _, asked in texts[0]] == [[*board.phase.asked] for board in boards]
            assert texts[0][-1][0] == ""
            read |= {text for text, _ in texts[0]}
    assert read >= {"A's turn.", "The players may challenge B's claim.", "C must lose a card.", "B may block A."}


def test_only_the_owner_reads_which_cards_came() -> None:
    """With the cards that were shown, kept or lost before in the same game."""
    drew: list[tuple[int | None, Any]] = []
    for name in ("coup", "inquisitor"):
        for seed in range(4):
            record = random_game(PRESETS[name], 3, seed)
            header = record.header
            spec = MatchSpec(0, header.key, header.bots, (tuple(range(3)),), header.settings)
            steps = list(list_steps(header, record.games[0]))
            for viewer in (None, 0):
                *_, last = frames(record, spec, viewer)
                events = json.loads(last)[1]["events"]
                assert [event["n"] for event in events] == list(range(len(events)))
                drew += [(viewer, event) for event in events if "drew" in event]
                if viewer is None:
                    continue
                hand = list(steps[0].before.hands[viewer])
                for event in events:  # the hand follows from what was lost, shown and drawn
                    if event.get("seat") == viewer and event["event"] in ("lost", "shown") and "replaced" not in event:
                        hand.remove(event["role"])
                    if "drew" in event:
                        if event["event"] == "exchanged":
                            hand = event["cards"]
                            continue
                        if event["event"] == "examined":
                            hand.remove(event["role"])
                        hand += event["drew"]
                assert sorted(hand) == sorted(steps[-1].after.hands[viewer])
    assert {viewer for viewer, _ in drew} == {0}


def test_a_step_is_shown_for_the_time_of_its_events() -> None:
    """Coins move with the event before them, and a window without objections is an event of its own."""
    record = random_game(PRESETS["coup"], 3, 1)
    header = record.header
    spec = MatchSpec(0, header.key, header.bots, (tuple(range(3)),), header.settings)
    *_, last = frames(record, spec, None)
    steps: dict[int, list[tuple[str, float]]] = {}
    for event in json.loads(last)[1]["events"]:
        steps.setdefault(event["step"], []).append((event["event"], event["ms"]))
    times = {word: ms for events in steps.values() for word, ms in events[:1]}
    assert times["challenge"] > times["action"] > 0
    assert min(times.values()) > 0
    assert all(ms == 0 for events in steps.values() for word, ms in events[1:] if word in ("coins", "resolved"))
