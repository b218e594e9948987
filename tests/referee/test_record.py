"""Tests of a match's record: written, read, replayed, verified.

The matches are real ones of scripted bots that play at random, sometimes badly. Source: arena/referee/record.py.
"""

import hashlib
import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, pairwise
from typing import Any

import pytest

from arena import referee
from arena.coup import COUP, PRESETS
from arena.limits import Limits
from arena.sandbox import Script, ScriptPeer
from tests.cases import each
from tests.referee.scripted import Request, bot, first, play_scripts, reply, seatings

KEY = bytes(31) + bytes([170])  # under which the match below has every fault that its bad bot can make

Lines = list[dict[str, Any]]


def make_player(choose: Callable[[random.Random, ScriptPeer, Request], bytes], seen: list[bytes]) -> Script:
    """Make a bot whose random choices come from the seed that the referee sent."""
    chance = random.Random()
    return bot(lambda peer, request: choose(chance, peer, request), seen, lambda hello: chance.seed(hello["bot_seed"]))


def at_random(chance: random.Random, _: ScriptPeer, request: Request) -> bytes:
    return reply(request, chance.randrange(len(request["legal"])))


def play_badly(chance: random.Random, peer: ScriptPeer, request: Request) -> bytes:
    """Make each kind of mistake now and then: often enough that some games are forfeited."""
    what = chance.randrange(16)
    if what == 0:
        return "déjà vu,\u2028 \x1b[2J\n".encode()
    if what == 1:
        return reply(request, 99)
    if what == 2:
        peer.die(5)
    return at_random(chance, peer, request)


def always_steal(_: random.Random, __: ScriptPeer, request: Request) -> bytes:
    """Steal from the other, who does the same: no player ever has ten coins, so none ever loses."""
    legal = request["legal"]
    wanted = [move for move in legal if move.get("action") == "steal"]
    return reply(request, legal.index(wanted[0]) if wanted else 0)


@dataclass(frozen=True, slots=True)
class Played:
    result: referee.MatchResult
    seen: list[list[bytes]]

    @property
    def record(self) -> referee.Record:
        return self.result.record

    @property
    def text(self) -> str:
        return referee.write_record(self.record)


def play(*choosers: Callable[[random.Random, ScriptPeer, Request], bytes], games: int = 3, key: bytes = KEY) -> Played:
    """Play a match; bot i sits in seat i, one further in each game."""
    seats = len(choosers)
    names = tuple(f"bot{number}" for number in range(seats))
    seen: list[list[bytes]] = [[] for _ in names]
    scripts = [make_player(choose, lines) for choose, lines in zip(choosers, seen, strict=True)]
    spec = referee.MatchSpec(match=5, key=key, bots=names, seatings=seatings(seats, games))
    return Played(play_scripts(spec, scripts), seen)


@cache
def played() -> Played:
    """Play the match that most tests look at: four seats, one of them a bot full of mistakes."""
    return play(at_random, play_badly, at_random, at_random, games=4)


def without_times(text: str) -> Lines:
    return [
        {name: value for name, value in json.loads(line).items() if name != "times_us"}
        for line in text.split("\n")[:-1]
    ]


def sign_lines(lines: Lines) -> str:
    """Write lines as a record with a valid checksum, as an editor of one could."""

    def dump(line: dict[str, Any]) -> str:
        return json.dumps(line, separators=(",", ":"), ensure_ascii=False)

    bare = [{name: value for name, value in line.items() if name != "times_us"} for line in lines]
    checksum = hashlib.sha256("".join(dump(line) + "\n" for line in bare).encode()).hexdigest()
    end = {"end": True, "games": len(lines) - 1, "sha256": checksum}
    return "".join(dump(line) + "\n" for line in [*lines, end])


# --- write and read ---------------------------------------------------------------------------------------------------


def test_the_match_of_these_tests_has_all_that_a_record_can_hold() -> None:
    faults = [fault for game in played().record.games for fault in game.faults]
    assert {"bad_json", "illegal_move", "exited", "out_of_lives", "retired"} == {fault.code for fault in faults}
    assert any(fault.got == "déjà vu,\\u2028 \\x1b[2J" for fault in faults)


def test_writing_and_reading_a_record_are_inverse() -> None:
    text = played().text
    record = referee.read_record(text)
    assert referee.write_record(record) == text
    assert record == played().record


def test_the_record_has_everything_that_was_played() -> None:
    """It holds settings, key, seats, moves, times and faults; one time a move."""
    record = played().record
    assert record.header == referee.MatchHeader(
        5, KEY, ("bot0", "bot1", "bot2", "bot3"), record.header.handles, referee.MatchSettings()
    )
    assert sorted(record.header.handles) == ["A", "B", "C", "D"]
    assert [game.seating for game in record.games] == [(0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2)]
    for number, game in enumerate(record.games):
        assert game.game == number
        assert len(game.times) == len(game.moves)
        assert all(time >= 0 for time in game.times)
        assert all(fault.step is None or fault.step < len(game.moves) for fault in game.faults)
        assert all(fault.used in (None, game.moves[fault.step or 0]) for fault in game.faults)
        out = [seat for seat, _ in game.eliminated]
        assert sorted([*out, *game.survivors]) == [0, 1, 2, 3]
        assert [turn for _, turn in game.eliminated] == sorted(turn for _, turn in game.eliminated)
    referee.verify_record(record)


def test_a_record_has_its_limits_and_comparisons_ignore_times() -> None:
    """Source: record.py. In the second match everything takes twice as long."""
    timing, limits = referee.Timing(60_000, 3000, 60_000, ponder=True), Limits(memory_mb=100, output_kb=5)
    settings = referee.MatchSettings(PRESETS["duel"], timing, limits, lives=2, forfeits=1, open_names=True)
    texts = []
    for seconds in (0.125, 0.25):
        spec = referee.MatchSpec(match=5, key=KEY, bots=("a", "b"), seatings=((0, 1),), settings=settings)
        readings = count(0, seconds)
        texts.append(referee.write_record(play_scripts(spec, [bot(first)] * 2, clock=readings.__next__).record))
    record = referee.read_record(texts[0])
    referee.verify_record(record)
    assert referee.write_record(record) == texts[0]
    assert record.header.settings == settings
    (game,) = record.games
    assert len(game.times) == len(game.moves)
    assert min(game.times) > 0
    assert texts[0] != texts[1]
    assert texts[0].split("\n")[-2] == texts[1].split("\n")[-2]  # the checksum


TERMS = ("rules", "timing", "limits", "lives", "forfeits", "open_names")


@pytest.mark.parametrize("name", TERMS)
def test_a_record_without_one_of_the_settings_is_refused(name: str) -> None:
    """A forfeit can be audited only with all settings, so none is guessed."""
    lines = [json.loads(line) for line in played().text.split("\n")[:-2]]
    assert tuple(lines[0]["terms"]) == TERMS
    del lines[0]["terms"][name]
    with pytest.raises(referee.RecordError, match="the fields of terms are rules, timing,"):
        referee.read_record(sign_lines(lines))


@pytest.mark.parametrize("part", ["timing", "limits"])
def test_settings_with_a_field_more_or_less_are_refused(part: str) -> None:
    """A missing field has no default: the arena that wrote the record may have had another one."""
    base_fields = json.loads(played().text.partition("\n")[0])["terms"][part]
    for fields in (dict([*base_fields.items()][1:]), {**base_fields, "colour": 1}, None):
        lines = [json.loads(line) for line in played().text.split("\n")[:-2]]
        lines[0]["terms"][part] = fields
        with pytest.raises(referee.RecordError, match=f"the fields of {part} are "):
            referee.read_record(sign_lines(lines))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("timing", "limit_ms", "500"),
        ("timing", "bank_ms", None),
        ("timing", "own", 1),
        ("limits", "memory_mb", 1.5),
        ("limits", "cores", math.inf),
        ("", "forfeits", [3]),
        ("", "lives", True),
    ],
)
def test_settings_of_a_wrong_type_are_refused(part: str, name: str, value: object) -> None:
    """They would fail later, where the record is shown or its lines are sent again."""
    lines = [json.loads(line) for line in played().text.split("\n")[:-2]]
    (lines[0]["terms"][part] if part else lines[0]["terms"])[name] = value
    with pytest.raises(referee.RecordError, match=f"{name} can't be "):
        referee.read_record(sign_lines(lines))


def test_strict_is_one_life_in_the_record() -> None:
    assert referee.MatchSettings(lives=1).to_json() == {**referee.MatchSettings().to_json(), "lives": 1}


def test_two_plays_of_a_match_give_the_same_bytes_but_for_times() -> None:
    """Times are in a separate field that comparisons and checksum ignore."""
    again = play(at_random, play_badly, at_random, at_random, games=4)
    assert without_times(again.text) == without_times(played().text)
    assert again.text.split("\n")[-2] == played().text.split("\n")[-2]
    assert without_banks(again.seen) == without_banks(played().seen)


def without_banks(seen: list[list[bytes]]) -> list[list[bytes]]:
    """Return what bots read, without the effects of a busy machine on their banks."""
    return [[re.sub(rb'"bank_ms":\d+', b"", line) for line in lines] for lines in seen]


def test_another_key_is_another_match() -> None:
    other = play(at_random, play_badly, at_random, at_random, games=4, key=bytes(32))
    assert without_times(other.text)[1:] != without_times(played().text)[1:]


def test_a_record_of_version_3_is_read_as_one_of_today() -> None:
    """Source: record.py. Version 3 has no `by`, `start` and `draws`: the engine adds them."""
    lines = [json.loads(line) for line in played().text.split("\n")[:-2]]
    old = [{name: value for name, value in line.items() if name not in ("by", "start", "draws")} for line in lines]
    old[0]["record"] = 3
    assert referee.read_record(sign_lines(old)) == played().record


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("by", "0", "seats of the moves"),
        ("draws", "draw:duke", "draws"),
        ("start", {"actor": 3, "coins": [2] * 4, "deck": 7, "hands": [["duke", "duke"]] * 4}, "start"),
    ],
)
def test_fields_for_readers_without_an_engine_are_verified(field: str, value: Any, said: str) -> None:
    """Source: record.py. A change of movers, start and draws can't go unnoticed."""
    lines = [json.loads(line) for line in played().text.split("\n")[:-2]]
    lines[1][field] = value
    with pytest.raises(referee.RecordError, match=f"game 0: the {said} differ"):
        referee.verify_record(referee.read_record(sign_lines(lines)))


# --- what is caught ---------------------------------------------------------------------------------------------------


def test_a_truncated_record_is_refused() -> None:
    text = played().text
    for cut in [*range(0, len(text), 997), *(match.end() for match in re.finditer("\n", text[:-1])), len(text) - 1]:
        with pytest.raises(referee.RecordError):
            referee.read_record(text[:cut])


def test_a_record_with_any_field_changed_is_refused() -> None:
    """Source: record.py: the checksum covers all lines but their times."""
    lines = [json.loads(line) for line in played().text.split("\n")[:-1]]
    for number, line in enumerate(lines[:-1]):
        for name, value in line.items():
            if name in ("times_us", "record"):
                continue
            changed = [*lines]
            changed[number] = {**line, name: [value]}
            with pytest.raises(referee.RecordError, match="checksum"):
                referee.read_record("".join(json.dumps(line) + "\n" for line in changed))


def edit_record(edit: Callable[[Lines], Lines]) -> Callable[[], str]:
    """Edit the header and the first game of the record, and sign the result."""
    return lambda: sign_lines(edit([json.loads(line) for line in played().text.split("\n")[:2]]))


UNREADABLE: dict[str, tuple[str | Callable[[], str], str]] = {
    "nothing": ("", "it is empty"),
    "a newline": ("\n", "line 1 is not a JSON object"),
    "text": ("hello\n", "line 1 is not a JSON object"),
    "a list": ("[]\n", "line 1 is not a JSON object"),
    "brackets": ("[" * 100_000 + "]" * 100_000 + "\n", "line 1 is not a JSON object"),
    "a number of 5,000 digits": ("9" * 5000 + "\n", "line 1 is not a JSON object"),
    "a bad line": (lambda: played().text.replace("\n", "\n{\n", 1), "line 2 is not a JSON object"),
    "an empty object": ("{}\n", "this is no record"),
    "another file of the run": ('{"run":1,"seed":null}\n', "this is no record"),
    "a later version": (edit_record(lambda lines: [{**lines[0], "record": 5}]), "version 5, this arena reads"),
    "an earlier version": (edit_record(lambda lines: [{**lines[0], "record": 2}]), "this arena reads versions 3 and 4"),
    "half a surrogate pair": ('{"record":4,"bots":"\\ud800"}\n{"end":true,"sha256":""}\n', "checksum"),
    "an empty header": (edit_record(lambda _: [{"record": 4}]), "lacks something"),
    "an invalid key": (edit_record(lambda lines: [{**lines[0], "key": "none"}]), "lacks something"),
    "a seat less": (edit_record(lambda lines: [lines[0], {**lines[1], "seats": [0, 1, 2]}]), "seats of game 0"),
    "a bot twice": (edit_record(lambda lines: [lines[0], {**lines[1], "seats": [0, 1, 2, 2]}]), "seats of game 0"),
    "fractions": (edit_record(lambda lines: [lines[0], {**lines[1], "seats": [0.0, 1, 2, 3]}]), "seats of game 0"),
    "no seats": (edit_record(lambda lines: [lines[0], {**lines[1], "seats": []}]), "seats of game 0"),
    "a time less": (edit_record(lambda lines: [lines[0], {**lines[1], "times_us": [1]}]), "one time for each"),
    "no times": (edit_record(lambda lines: [lines[0], {**lines[1], "times_us": None}]), "one time for each"),
    "times that are words": (
        edit_record(lambda lines: [lines[0], {**lines[1], "times_us": ["1"] * len(lines[1]["times_us"])}]),
        "one time for each",
    ),
    "a fault of no seat": (
        edit_record(lambda lines: [lines[0], {**lines[1], "faults": [{"bot": 9, "code": "exited"}]}]),
        "of no bot",
    ),
    "a match in words": (edit_record(lambda lines: [{**lines[0], "match": "one"}, lines[1]]), "match is a number"),
    "a bot without a name": (edit_record(lambda lines: [{**lines[0], "bots": [None] * 4}, lines[1]]), "have names"),
    "a handle less": (edit_record(lambda lines: [{**lines[0], "handles": ["A"]}, lines[1]]), "4 bots have 1 handles"),
    "a winner who isn't there": (
        edit_record(lambda lines: [lines[0], {**lines[1], "winner": 4}]),
        "seats that don't exist",
    ),
    "survivors in words": (edit_record(lambda lines: [lines[0], {**lines[1], "survivors": ["0"]}]), "seats that don't"),
    "turns in words": (edit_record(lambda lines: [lines[0], {**lines[1], "turns": "9"}]), "counts must be integers"),
    "another reason": (edit_record(lambda lines: [lines[0], {**lines[1], "reason": "boredom"}]), "boredom"),
    "a fault that came -1 times": (
        edit_record(lambda lines: [lines[0], {**lines[1], "faults": [{"bot": 0, "code": "exited", "count": -1}]}]),
        "an invalid number or text",
    ),
    "a fault of a fraction of a bot": (
        edit_record(lambda lines: [lines[0], {**lines[1], "faults": [{"bot": 1.0, "code": "exited"}]}]),
        "an invalid number or text",
    ),
    "no start": (edit_record(lambda lines: [lines[0], {**lines[1], "start": {}}]), "hands"),
    "a start of one": (
        edit_record(lambda lines: [lines[0], {**lines[1], "start": {**lines[1]["start"], "coins": [2]}}]),
        "isn't one of 4 seats",
    ),
    "an invalid card": (
        edit_record(lambda lines: [lines[0], {**lines[1], "start": {**lines[1]["start"], "hands": [["ace"]] * 4}}]),
        "ace",
    ),
    "moves that are a number": (edit_record(lambda lines: [lines[0], {**lines[1], "moves": 5}]), "lacks something"),
    "a fault with a field more": (
        edit_record(lambda lines: [lines[0], {**lines[1], "faults": [{"bot": 0, "code": "exited", "colour": 1}]}]),
        "lacks something",
    ),
    "a fault that isn't in the table": (
        edit_record(lambda lines: [lines[0], {**lines[1], "faults": [{"bot": 0, "code": "rude"}]}]),
        "no fault is called 'rude'",
    ),
}


@each("name", UNREADABLE)
def test_an_invalid_record_is_refused_in_one_line(name: str) -> None:
    text, reason = UNREADABLE[name]
    with pytest.raises(referee.RecordError, match=re.escape(reason)) as caught:
        referee.read_record(text if isinstance(text, str) else text())
    assert "\n" not in str(caught.value)


Forgery = Callable[[referee.GameRecord], dict[str, Any]]  # what to replace in the first game


def words(place: int, *instead: str) -> Forgery:
    def edit(game: referee.GameRecord) -> dict[str, Any]:
        at = place % len(game.moves)
        changed = [*game.moves[:at], *instead, *game.moves[at + 1 :]]
        return {"moves": tuple(changed), "times": (1,) * len(changed)}

    return edit


def other_challenger(game: referee.GameRecord) -> dict[str, Any]:
    """Let the first challenge come from the next seat that wanted to: nothing about it is illegal."""
    place = game.moves.index("!")
    assert game.moves[place + 1] == "!"
    return words(place, "-")(game)


FORGERIES: dict[str, Forgery] = {
    "another move that is legal": other_challenger,
    "a move that isn't legal": words(0, "coup:1"),
    "a word that is no move": words(0, "resign"),
    "a target that is no number": words(0, "steal:x"),
    "a move too few": words(-1),
    "a move too many": words(-1, "-", "-"),
    "no moves": lambda game: {"moves": (), "times": ()},
    "another winner": lambda game: {"winner": ((game.winner or 0) + 1) % 4},
    "a draw": lambda game: {"winner": None},
    "another reason": lambda game: {"reason": "turn_limit"},
    "other survivors": lambda game: {"survivors": (0, 1)},
    "other eliminations": lambda game: {"eliminated": game.eliminated[::-1]},
    "another number of turns": lambda game: {"turns": game.turns + 1},
    "another number of events": lambda game: {"events": game.events + 1},
    "another digest": lambda game: {"digest": "0" * 64},
    "another number of the game": lambda game: {"game": 1},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_verify_finds_forgeries_by_replay(name: str) -> None:
    """Source: record.verify. Each forgery has a valid checksum, so only the replay can find it."""
    game = first_game()
    refuse(played().record.header, replace(game, **FORGERIES[name](game)))


def test_verify_finds_another_key_and_other_rules() -> None:
    """Source: record.verify; as above."""
    header = played().record.header
    refuse(replace(header, key=bytes(32)), first_game())
    refuse(replace(header, settings=referee.MatchSettings(rules=PRESETS["classroom"])), first_game())


def refuse(header: referee.MatchHeader, game: referee.GameRecord) -> None:
    record = referee.read_record(referee.write_record(referee.Record(header, (game,))))
    with pytest.raises(referee.RecordError) as caught:
        referee.verify_record(record)
    assert "\n" not in str(caught.value)


def first_game() -> referee.GameRecord:
    return played().record.games[0]


def test_a_replay_is_a_chain_from_the_deal_to_the_end() -> None:
    steps = list(referee.replay_game(played().record.header, first_game()))
    assert steps[0].before.board.turn == 1
    assert all(step.after == following.before for step, following in pairwise(steps))
    assert sum(len(step.answers) for step in steps) == len(first_game().moves)
    assert not steps[-1].after.board.phase.asked


# --- how a game ended -------------------------------------------------------------------------------------------------


def test_a_game_at_the_turn_limit_is_a_draw_of_its_survivors() -> None:
    """Source: docs/reference/protocol/process.md#matches-games-seats; the record of a draw replays like any other."""
    record = play(always_steal, always_steal, games=1).record
    referee.verify_record(record)
    (game,) = record.games
    assert (game.winner, game.reason, game.survivors) == (None, "turn_limit", (0, 1))
    assert (game.eliminated, game.turns) == ((), COUP.limit(2))
