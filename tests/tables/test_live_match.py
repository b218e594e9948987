"""Tests of a live match: a person's seat over real pipes with scripted bots, and the views of all.

Views come with the times for which their events are shown.
"""

import itertools
import json
import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from arena import referee, sandbox
from arena.coup import PRESETS, Action, Ruleset, seat_counts, view_from_seat
from arena.limits import Limits
from arena.play import MoveOption, PlayerView, format_hint, label_handles, make_move_menu, make_table_rows
from arena.replay import list_steps
from arena.tables import live_match
from tests.replay.games import random_game
from tests.replay.worlds import other_world

WAIT_S = 60.0  # only a failure takes this long

Chooses = Callable[[PlayerView], int | None]  # the index of a move; None: the person leaves


def dice(number: int, talk: bytes = b"") -> sandbox.Script:
    """Make a bot that plays at random, and says `talk` with its first answer."""
    rng = random.Random(number)

    def script(peer: sandbox.ScriptPeer) -> None:
        said = talk
        for line in peer.lines():
            message = json.loads(line)
            if message["type"] == "hello":
                peer.send(b'{"type":"hello"}\n')
            elif message["type"] == "request":
                calm = message["kind"] in ("challenge", "block") and rng.random() < 0.7
                choice = 0 if calm else rng.randrange(len(message["legal"]))
                peer.send(said or b'{"id":%d,"choice":%d}\n' % (message["id"], choice))
                said = b""

    return script


class Table:
    """A table whose last player is a person that chooses by a function."""

    def __init__(self, rules: Ruleset, seats: int, choose: Chooses, games: int = 1, talk: bytes = b"") -> None:
        names = (*(f"bot{number}" for number in range(seats - 1)), "person")
        self.sandbox = sandbox.InProcessSandbox({name: dice(number, talk) for number, name in enumerate(names)})
        rows = tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(games))
        timings = (*[referee.Timing()] * (seats - 1), referee.Timing(limit_ms=referee.UNTIMED_MS, bank_ms=0))
        spec = referee.MatchSpec(0, bytes([seats]) * 32, names, rows, referee.MatchSettings(rules=rules), timings)
        self.happened: list[live_match.MatchEvent] = []
        self.sight = PlayerView()
        self.screens: list[str] = []
        with live_match.InteractiveMatch(spec, seats - 1, lambda bot: self.launch(names[bot])) as sitting:
            self.sitting = sitting
            for happening in self.until_the_end():
                self.take(happening, choose)
        self.record: referee.Record = sitting.record

    def launch(self, name: str) -> sandbox.Box:
        return self.sandbox.start(sandbox.Program((name,), Path()), Limits())

    def until_the_end(self) -> Iterator[live_match.MatchEvent]:
        while not self.happened or not isinstance(self.happened[-1], live_match.MatchEnd):
            happening = self.sitting.next(WAIT_S)
            assert happening is not None, "the match hangs"
            self.happened.append(happening)
            yield happening

    def take(self, happening: live_match.MatchEvent, choose: Chooses) -> None:
        if isinstance(happening, live_match.GameEnded):
            self.sitting.resume()
        if not isinstance(happening, live_match.LineReceived):
            return
        answer = self.sight.receive(happening.message)
        if answer is not None:
            self.sitting.answer_request(answer)
        if happening.message["type"] == "request":
            sight = self.sight
            lines = [*sight.history.take_new_lines(), *(row.text for row in make_table_rows(sight, 80))]
            self.screens.append("\n".join([*lines, sight.question(), *format_hint(sight.hint(), 40)]))
            choice = choose(sight)
            if choice is None:
                self.sitting.leave(self.sitting.person)
            else:
                self.sitting.answer_request(sight.answer(choice))


def at_random(seed: int) -> Chooses:
    rng = random.Random(seed)

    def choose(sight: PlayerView) -> int:
        if sight.game.kind in ("challenge", "block") and rng.random() < 0.7:
            return 0
        return rng.choice(rng.choice(sight.options()).choices)[0]

    return choose


@pytest.mark.parametrize("name", PRESETS)
def test_a_person_plays_every_preset_without_a_fault(name: str) -> None:
    """Menu choices are always legal; the record is as complete as one of bots."""
    rules = PRESETS[name]
    for seats in (min(seat_counts(rules)), max(seat_counts(rules))):
        table = Table(rules, seats, at_random(seats))
        assert table.happened[-1] == live_match.MatchEnd(None)
        assert [fault for game in table.record.games for fault in game.faults] == []
        assert len(table.record.games) == 1
        referee.verify_record(table.record)
        assert all(box.stdin == -1 for box in table.sandbox.boxes)


@pytest.mark.parametrize("name", ["coup", "reformation-inquisitor", "treason"])
def test_the_move_of_a_person_without_an_answer_is_the_default_of_the_engine(name: str) -> None:
    """Income, pass, the held hand; if forced, a coup against the next player; a card by chance."""
    kinds = set()

    def quiet(sight: PlayerView) -> int:
        game, choice = sight.game, sight.choose_default_move()
        move = game.legal[choice]
        kinds.add(game.kind)
        match game.kind:
            case "turn" if game.me.coins >= 10:
                order = [*game.players[game.seat + 1 :], *game.players[: game.seat]]
                aims = [legal["target"] for legal in game.legal if legal["action"] == "coup"]
                assert move == {"action": "coup", "target": next(each.seat for each in order if each.seat in aims)}
            case "turn":
                assert move == {"action": "income"}
            case "challenge" | "block":
                assert move == {"pass": True}
            case "exchange":
                assert sorted(move["keep"]) == sorted(game.cards)
            case "lose":
                assert {game.legal[sight.choose_default_move()]["lose"] for _ in range(60)} == set(game.cards)
        return choice

    for seats in (3, 4, 5):
        table = Table(PRESETS[name], seats, quiet, games=3)
        assert [fault for game in table.record.games for fault in game.faults] == []
    assert kinds >= {"turn", "challenge", "lose"}


@pytest.mark.parametrize("name", ["coup", "reformation-inquisitor", "treason"])
def test_bluffs_are_marked_by_the_rules_of_the_engine(name: str) -> None:
    rules = PRESETS[name]
    seen = set()

    def held(sight: PlayerView, option: MoveOption) -> int:
        move = sight.game.legal[option.choices[0][0]]
        claim, denies = move.get("block"), False
        if "action" in move:
            rule = rules.rule(Action(move["action"]), targeted="target" in move)
            claim, denies = rule.claim, rule.denies
        expected = claim is not None and (claim in sight.game.cards) == denies
        assert option.bluff == expected, move
        seen.add((claim is not None, expected))
        return option.choices[0][0]

    def choose(sight: PlayerView) -> int:
        choices = [held(sight, option) for option in sight.options()]
        return choices[-1 if sight.game.kind == "turn" else 0]

    Table(rules, 3, choose, games=2)
    assert seen == {(True, True), (True, False), (False, False)}


def test_every_legal_move_is_in_the_menu_once_and_every_letter_names_one_line() -> None:
    def choose(sight: PlayerView) -> int:
        options = sight.options()
        assert sorted(index for option in options for index, _ in option.choices) == list(range(len(sight.game.legal)))
        letters = [option.letter for option in options if option.letter]
        assert len(set(letters)) == len(letters)
        assert not set(letters) & set("hlq?")
        return at_random(1)(sight)

    for name, rules in PRESETS.items():
        Table(rules, 2 if name == "duel" else max(2, min(seat_counts(rules))), choose)


def test_the_screen_shows_only_the_persons_cards() -> None:
    table = Table(PRESETS["coup"], 4, at_random(3))
    lines = [line.message for line in table.happened if isinstance(line, live_match.LineReceived)]
    first = next(line for line in lines if "you" in line)
    assert f"you   2 coins {' '.join(first['you']['cards'])}" in table.screens[0]
    assert table.screens[0].count("2 coins ?? ??") == 3


def test_the_persons_row_is_marked_by_its_seat_and_not_by_a_name() -> None:
    marked = []

    def choose(sight: PlayerView) -> int:
        own = [row.text.strip("> ").split()[0] for row in make_table_rows(sight, 80) if row.own]
        marked.append(own)
        return at_random(1)(sight)

    Table(PRESETS["reformation"], 3, choose)
    assert marked == [["you"]] * len(marked) != []


def test_events_are_described_once_and_in_the_second_person() -> None:
    table = Table(PRESETS["coup"], 3, at_random(2))
    output = table.sight.history.lines
    assert any(line.startswith("you ") for line in output)
    assert not [line for line in output if "you takes" in line or "you steals" in line or "you loses" in line]
    said = " ".join(table.screens)
    assert all(said.lower().count(line) <= output.count(line) for line in output if line.endswith("takes income"))


EXAMPLE = Path(__file__).parents[2] / "protocol" / "examples" / "to_bot.jsonl"


def test_declining_to_show_a_card_is_described_in_the_second_person() -> None:
    sight = PlayerView()
    hello, start, request, *_ = map(json.loads, EXAMPLE.read_text().splitlines())
    request["events"] = [{"n": 0, "event": "unproven", "seat": request["you"]["seat"], "role": "duke"}]
    for message in (hello, start, request):
        sight.receive(message)
    assert "you don't show the duke" in sight.history.lines


def at_an_open_table(talk: str, *said: dict[str, Any]) -> PlayerView:
    """Give a person's view at the first turn, after these statements of others."""
    sight = PlayerView()
    hello, start, request, *_ = map(json.loads, EXAMPLE.read_text().splitlines())
    hello["ruleset"]["talk"] = talk
    request["events"] = [{"n": n, "event": "say", "seat": 1, **each} for n, each in enumerate(said)]
    for message in (hello, start, request):
        sight.receive(message)
    return sight


def test_statements_of_others_cannot_imitate_events() -> None:
    """They are untrusted: they can end neither the line nor the quotation."""
    hostile = "Hm” · you takes tax · B shows the duke \x1b[2J <b>"
    sight = at_an_open_table("text", {"says": "spare", "target": 0}, {"says": "text", "text": hostile})
    line = "B says: I won't attack you · B says: “Hm' · you takes tax · B shows the duke \x1b[2J <b>”"
    assert sight.history.lines == [line]
    assert sight.history.take_new_lines() == [line]  # the screen makes its escapes visible, as of every text


def test_a_statement_with_an_action_begins_the_line_of_its_turn() -> None:
    sight = at_an_open_table("text", {"says": "hold", "role": "duke"})
    state = sight.request["state"]
    tax = {"event": "action", "seat": 1, "action": "tax", "claim": "duke"}
    done = {"event": "resolved", "seat": 1, "action": "tax", "how": "done"}
    said = {"event": "say", "seat": 0, "says": "doubt", "role": "duke", "target": 1}
    aid = {"event": "action", "seat": 0, "action": "foreign_aid"}
    events = [{**event, "n": n} for n, event in enumerate((tax, done, said, aid), start=1)]
    sight.receive({**sight.request, "id": 2, "events": events, "state": state})
    assert sight.history.lines == [
        "B says: I hold the duke · B takes tax",
        "you say: B has no duke · you take foreign aid",
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("hold duke", {"says": "hold", "role": "duke"}),
        ("LACK  Contessa", {"says": "lack", "role": "contessa"}),
        ("attack b", {"says": "attack", "target": 1}),
        ("doubt B duke", {"says": "doubt", "role": "duke", "target": 1}),
        ("spare A", {"says": "text", "text": "spare A"}),  # oneself
        ("hold jester", {"says": "text", "text": "hold jester"}),
        (" Peace,\n \x1b[2Jfriends\u202e ", {"says": "text", "text": "Peace, [2Jfriends"}),
        ("x" * 300, {"says": "text", "text": "x" * 200}),
        ("", None),
    ],
)
def test_a_person_enters_statements_or_a_text(typed: str, said: dict[str, Any] | None) -> None:
    """Only what the rules allow is sent: they may have no text, or no talk."""
    sight = at_an_open_table("text")
    reply = {"id": 1, "choice": 0}
    assert sight.answer(0, typed) == {**reply, **({"say": [said]} if said else {})}
    if said:
        assert sight.answer(0, [said]) == {**reply, "say": [said]}
    forms = said is not None and said["says"] != "text"
    assert at_an_open_table("statements").answer(0, typed) == {**reply, **({"say": [said]} if forms else {})}
    assert at_an_open_table("off").answer(0, typed) == sight.answer(0) == reply


@pytest.mark.parametrize("typed", ["doubt Ada  Lovelace duke", "doubt b duke"])
def test_a_statement_names_a_player_by_a_label_with_blanks(typed: str) -> None:
    sight = at_an_open_table("statements")
    sight.labels = {"B": "Ada Lovelace"}
    assert sight.parse_statements(typed) == [{"says": "doubt", "role": "duke", "target": 1}]


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ({"A": "Ada", "B": "Bob", "C": None}, {"A": "Ada", "B": "Bob"}),
        ({"A": "Ada", "B": "ada", "C": "You"}, {"A": "Ada A", "B": "ada B", "C": "You C"}),
        ({"A": "Bob B", "B": "Bob", "C": "Bob"}, {"A": "Bob B A", "B": "Bob B", "C": "Bob C"}),
        ({"A": "c", "B": "B", "C": None}, {"A": "c A", "B": "B"}),
        ({"Bob": "Bob", "Big Bob": "Big Bob", "you": "you"}, {"Bob": "Bob", "Big Bob": "Big Bob", "you": "you you"}),
        ({"A B": "A B", "B": "A", "C": "A"}, {"A B": "A B A B", "B": "A B", "C": "A C"}),
    ],
)
def test_no_two_players_are_shown_alike(names: dict[str, str | None], labels: dict[str, str]) -> None:
    assert label_handles(names) == labels


def test_each_of_ten_actions_has_one_key() -> None:
    """Typing 10 would begin with 1. Source: treason, whose turn has ten actions with 7 to 9 coins."""
    rules = PRESETS["treason"]
    rows = [row for row in rules.actions if row.action != Action.CONVERT or row.targeted]
    legal = [{"action": row.action.value, **({"target": 1} if row.targeted else {})} for row in rows]
    options = make_move_menu(legal, ["duke"], {}, ["you", "B"])
    assert [option.number for option in options] == [*"1234567890"]
    assert all(len(option.letter) == 1 for option in options)


@pytest.mark.parametrize("kind", ["turn", "challenge", "block", "lose", "prove"])
def test_a_person_can_leave_at_any_request_and_the_game_is_finished(kind: str) -> None:
    def choose(sight: PlayerView) -> int | None:
        if sight.game.kind == kind:
            return None
        claims = [option for option in sight.options() if sight.game.kind == "turn" and option.bluff]
        return claims[0].choices[0][0] if claims else 0

    table = Table(PRESETS["coup"], 3, choose, games=6)
    game = table.record.games[-1]
    assert [(fault.bot, fault.code) for fault in game.faults] == [(2, "exited")]
    assert game.seating.index(2) not in game.survivors
    assert len(table.record.games) < 6
    referee.verify_record(table.record)


@pytest.mark.parametrize("line", range(8))
def test_leaving_can_be_completed_after_an_interrupt_at_any_line(line: int) -> None:
    """A closed terminal ends the input, and sends a signal at any later moment."""
    lines = itertools.count()

    def interrupt(frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_name == "leave" and event == "line" and next(lines) == line:
            raise KeyboardInterrupt
        return interrupt

    class Interrupted(Table):
        def take(self, happening: live_match.MatchEvent, choose: Chooses) -> None:
            sys.settrace(interrupt)
            try:
                super().take(happening, choose)
            except KeyboardInterrupt:
                self.sitting.leave(self.sitting.person)
            finally:
                sys.settrace(None)

    found = Interrupted(PRESETS["coup"], 3, lambda sight: None)
    assert [(fault.bot, fault.code) for fault in found.record.games[0].faults] == [(2, "exited")]
    referee.verify_record(found.record)


def test_leaving_does_not_wait_and_keeps_the_games_before() -> None:
    class Impatient(Table):
        def take(self, happening: live_match.MatchEvent, choose: Chooses) -> None:
            if isinstance(happening, live_match.LineReceived) and happening.message.get("game") == 1:
                self.sitting.give_up()
            super().take(happening, choose)

    found = Impatient(PRESETS["coup"], 3, at_random(1), games=3)
    assert [game.game for game in found.record.games] == [0]
    referee.verify_record(found.record)


def test_a_failed_bot_is_reported_only_after_the_game() -> None:
    """Its default looks chosen, and the truth would reveal something about its cards."""
    found = Table(PRESETS["coup"], 3, at_random(1), talk=b"garbage\n")
    over = next(each for each in found.happened if isinstance(each, live_match.GameEnded))
    before = found.happened[: found.happened.index(over)]  # the box has a thread of its own: lines may come after it
    assert [fault.code for fault in over.game.faults] == ["bad_json", "bad_json"]
    assert {type(each) for each in before} == {live_match.LineReceived, live_match.WaitingFor}
    assert "bad_json" not in repr(before)
    referee.verify_record(found.record)


def test_stored_records_are_valid_and_private(tmp_path: Path) -> None:
    found = Table(PRESETS["coup"], 2, at_random(1), games=2)
    file = live_match.RecordFolder(tmp_path / "deep" / "folder").save(found.record, ((0, 1, b"hello\n"), (1, 1, b"")))
    again = referee.read_record(file.read_text(encoding="utf-8"))
    assert again == found.record
    referee.verify_record(again)
    assert [timing.limit_ms for timing in again.header.timings] == [500, referee.UNTIMED_MS]
    assert (tmp_path / "deep" / "folder").stat().st_mode & 0o077 == 0
    assert [log.name for log in (tmp_path / "deep" / "folder" / "logs").iterdir()] == ["000000-bot0-1.txt"]


def test_records_of_another_session_are_not_overwritten(tmp_path: Path) -> None:
    live_match.RecordFolder(tmp_path / "folder")
    with pytest.raises(FileExistsError):
        live_match.RecordFolder(tmp_path / "folder")


def test_an_unused_folder_is_removed(tmp_path: Path) -> None:
    found = Table(PRESETS["coup"], 2, at_random(1))
    empty, full = live_match.RecordFolder(tmp_path / "empty"), live_match.RecordFolder(tmp_path / "full")
    file = full.save(found.record)
    for each in (empty, full):
        each.discard()
    assert not (tmp_path / "empty").exists()
    assert referee.read_record(file.read_text(encoding="utf-8")) == found.record


# --- views and their times --------------------------------------------------------------------------------------------

PACE = 0.004  # so that pauses are short and still differ


def no_box(bot: int) -> sandbox.Box:
    raise sandbox.SandboxError("no box")


def frames(record: referee.Record, spec: referee.MatchSpec, viewer: int | None) -> list[str]:
    """Return what a viewer gets of each step of a recorded game, and what its page shows, as JSON."""
    published: list[live_match.StateUpdate] = []
    ended = threading.Event()

    def notify(event: live_match.MatchEvent) -> None:
        published.append(event) if isinstance(event, live_match.StateUpdate) else ended.set()

    match = live_match.LiveMatch(spec, (), no_box, notify, viewers=(viewer,), pace=PACE, people=(0,))
    assert ended.wait(10)
    steps = list(list_steps(record.header, record.games[0]))
    begins = steps[0].before
    sight = PlayerView()
    sight.receive({"type": "hello", "ruleset": referee.messages.make_ruleset(spec.settings.rules, spec.seats)})
    if viewer is not None:
        sight.receive(referee.messages.make_game_start(view_from_seat(begins, viewer), 0, "seed", spec.handles))
    match.moved(0, begins, 0, ())
    for step in steps:
        match.moved(0, step.after, step.first_event, step.events)
    match.close()
    shown = []
    for update in published:
        message = update.views[viewer]
        sight.receive(message)
        seen = sight.make_game_view()
        shown.append(json.dumps([message, asdict(seen)]))
    return shown


def make_spec(record: referee.Record) -> referee.MatchSpec:
    """Return the match of one game, in which each bot sits in the seat of its number."""
    header = record.header
    return referee.MatchSpec(0, header.key, header.bots, (tuple(range(len(header.bots))),), header.settings)


def three_seats(rules: str, seed: int) -> tuple[referee.Record, referee.MatchSpec]:
    record = random_game(PRESETS[rules], 3, seed)
    return record, make_spec(record)


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
            spec = make_spec(record)
            mine = frames(record, spec, viewer)
            assert mine == frames(other, spec, viewer)
            found += 1
            words |= {event["event"] for event in json.loads(mine[-1])[1]["events"]}
    assert found > 2
    assert words >= {"quiet", "action", "coins", "challenge", "shown", "unproven", "lost", "exiled", "block"}


def test_all_viewers_read_the_same_about_the_seats_that_are_asked() -> None:
    """Whether they are asked or not, and with the names of claimants, challengers and targets; a viewer is "you"."""
    read: set[str] = set()
    for name in ("coup", "reformation-inquisitor"):
        for seed in range(4):
            record, spec = three_seats(name, seed)
            steps = list(list_steps(record.header, record.games[0]))
            views = [[json.loads(frame)[1] for frame in frames(record, spec, viewer)] for viewer in (None, 0, 1, 2)]
            texts = [[(frame["waiting"], frame["asked"]) for frame in view] for view in views]
            for handle, view in zip(spec.handles, texts[1:], strict=True):
                for (text, asked), (seen, same) in zip(texts[0], view, strict=True):
                    assert asked == same
                    assert (seen == text) is (re.search(rf"\b{handle}\b", text) is None)
            second = {text for view in texts[1:] for text, _ in view if re.search("[Yy]ou", text)}
            boards = [steps[0].before.board, *(step.after.board for step in steps)]
            assert [asked for _, asked in texts[0]] == [[*board.phase.asked] for board in boards]
            assert texts[0][-1][0] == ""
            read |= {text for text, _ in texts[0]}
    assert read >= {"A's turn.", "The players may challenge B's claim.", "C must lose a card.", "B may block A."}
    assert second >= {"Your turn.", "The players may challenge your claim.", "You must lose a card."}


def test_only_the_owner_reads_which_cards_came() -> None:
    """With the cards that were shown, kept or lost before in the same game."""
    drew: list[tuple[int | None, Any]] = []
    for name in ("coup", "inquisitor"):
        for seed in range(4):
            record, spec = three_seats(name, seed)
            steps = list(list_steps(record.header, record.games[0]))
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
    record, spec = three_seats("coup", 1)
    *_, last = frames(record, spec, None)
    steps: dict[int, list[tuple[str, float]]] = {}
    for event in json.loads(last)[1]["events"]:
        steps.setdefault(event["step"], []).append((event["event"], event["ms"]))
    times = {word: ms for events in steps.values() for word, ms in events[:1]}
    assert times["challenge"] > times["action"] > 0
    assert min(times.values()) > 0
    assert all(ms == 0 for events in steps.values() for word, ms in events[1:] if word in ("coins", "resolved"))
