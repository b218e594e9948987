"""Tests of statements: their recipients and time, validity, and form in a record.

Real matches of scripted bots. Sources: docs/reference/protocol/variants.md#talk, docs/reference/rules.md#talk.
test_visibility.py tests that statements reveal nothing hidden.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from arena import coup, referee
from arena.sandbox import ScriptPeer
from protocol.messages import parse_to_bot
from protocol.records import LINE
from tests.cases import each
from tests.referee.scripted import Answer, play_scripts
from tests.referee.scripted import bot as make_bot

Message = dict[str, Any]
Says = Callable[[Message], Any]  # a request -> the statements with its answer; ...: nothing

OPEN = coup.PRESETS["open-table"]
HOLD = {"says": "hold", "role": "duke"}
TEXT = {"says": "text", "text": "Peace, \u05e9 \U0001f468\u200d\U0001f469?"}
BOARD = coup.deal_game(OPEN, 3, coup.KeyedRng(bytes(32), 0)).board


class TalkMatch:
    """A match, and the events received by each of its bots."""

    def __init__(
        self, *says: Says, moves: Any = None, rules: coup.Ruleset = OPEN, games: int = 1, **settings: Any
    ) -> None:
        heard: list[list[bytes]] = [[] for _ in says]
        names = tuple(map(str, range(len(says))))
        order = (tuple(range(len(says))),) * games
        spec = referee.MatchSpec(0, bytes(32), names, order, referee.MatchSettings(rules=rules, **settings))
        scripts = [make_bot(self._answer(number, speak, moves), heard[number]) for number, speak in enumerate(says)]
        self.record: referee.Record = play_scripts(spec, scripts).record
        assert all(parse_to_bot(line) for lines in heard for line in lines)
        self.lines: list[list[Message]] = [list(map(json.loads, lines)) for lines in heard]
        referee.verify_record(self.record)
        assert referee.read_record(referee.write_record(self.record)) == self.record
        for line in referee.write_record(self.record).splitlines():
            LINE.validate_json(line)

    def _answer(self, number: int, says: Says, moves: Any) -> Answer:
        def answer(_: ScriptPeer, request: Message) -> bytes:
            say = says(request)
            reply = {"id": request["id"], "choice": moves(number, request) if moves else 0}
            return json.dumps(reply if say is ... else {**reply, "say": say}).encode() + b"\n"

        return answer

    def events(self, bot: int = 0) -> list[Message]:
        return [event for line in self.lines[bot] for event in line.get("events", [])]

    def said(self, bot: int = 0) -> list[Message]:
        return [event for event in self.events(bot) if event["event"] == "say"]

    def errors(self, bot: int) -> list[Message]:
        return [line for line in self.lines[bot] if line["type"] == "error"]


def say_nothing(_: Message) -> Any:
    return ...


def say_once(say: Any) -> Says:
    return lambda request: say if request["id"] == 1 else ...


def says_the_kind_of_request(request: Message) -> Any:
    return [{"says": "text", "text": f"{request['kind']} {request['id']}"}]


def at(kind: str, say: Any) -> Says:
    return lambda request: say if request["kind"] == kind else ...


def choosing(*bots: dict[str, Message]) -> Callable[[int, Message], int]:
    """Make each bot play these moves at these kinds of request, where they are legal; else the quiet one."""

    def choose(bot: int, request: Message) -> int:
        move = bots[bot].get(request["kind"])
        return request["legal"].index(move) if move in request["legal"] else 0

    return choose


# --- recipients and time ----------------------------------------------------------------------------------------------


def test_statements_are_sent_to_all_before_the_effects_of_the_answer() -> None:
    """SPEC, Talk: they are in the next line to all, the speaker too; one event a statement, in the speaker's order."""
    heard = TalkMatch(say_once([HOLD, TEXT]), say_nothing, say_nothing)
    wanted = [
        {"n": 0, "event": "say", "seat": 0, **HOLD},
        {"n": 1, "event": "say", "seat": 0, **TEXT},
        {"n": 2, "event": "action", "seat": 0, "action": "income"},
    ]
    for bot in range(3):
        assert heard.events(bot)[:3] == wanted
        assert [event["n"] for event in heard.events(bot)] == list(range(len(heard.events(bot))))


def test_statements_of_a_window_are_sent_by_ascending_seats() -> None:
    """SPEC, Talk: this includes seats that passed, or whose challenge didn't count. Seat 2 is asked before seat 0."""
    moves = choosing(
        {"challenge": {"challenge": True}}, {"turn": {"action": "tax"}}, {"challenge": {"challenge": True}}, {}
    )
    doubts = at("challenge", [{"says": "doubt", "role": "duke", "target": 1}])
    heard = TalkMatch(doubts, say_nothing, doubts, doubts, moves=moves, rules=OPEN)
    first = heard.said(1)[0]["n"]
    for bot in range(4):
        window = heard.events(bot)[first : first + 4]
        assert [(event["event"], event["seat"]) for event in window] == [
            ("say", 0),
            ("say", 2),
            ("say", 3),
            ("challenge", 2),
        ]


def test_a_statement_does_not_reveal_whether_its_speaker_passed() -> None:
    """With a pass and with a challenge that doesn't count, the lines to others are the same."""

    def lines(last: Message) -> list[list[Message]]:
        claims, doubts = {"turn": {"action": "tax"}}, {"challenge": {"challenge": True}}
        moves = choosing(claims, doubts, {"challenge": last})
        heard = TalkMatch(say_nothing, say_nothing, at("challenge", [HOLD]), moves=moves)
        return [[{**line, "clock": None} for line in heard.lines[bot]] for bot in range(2)]

    assert lines({"pass": True}) == lines({"challenge": True})


def test_statements_are_sent_at_every_kind_of_request() -> None:
    """This includes variants, for example the pick of a draft, or the examination of a card."""

    def plays(_: int, request: Message) -> int:
        return int(request["id"] * 7 % len(request["legal"]))

    kinds: set[str] = set()
    for name in ("duel", "reformation-inquisitor", "andy", "open-table"):
        rules = replace(coup.PRESETS[name], talk=coup.Talk.TEXT)
        bots = 2 if name == "duel" else 3
        heard = TalkMatch(*[says_the_kind_of_request] * bots, moves=plays, rules=rules, games=5)
        for bot in range(bots):
            asked = [f"{line['kind']} {line['id']}" for line in heard.lines[bot] if line["type"] == "request"]
            assert [event["text"] for event in heard.said((bot + 1) % bots) if event["seat"] == bot] == asked
            kinds |= {text.split()[0] for text in asked}
    assert kinds == {
        *("turn", "challenge", "block", "prove", "lose", "exchange"),
        *("draft", "allegiance", "keep_shown", "examine_show", "examine_decide"),
    }


def test_a_faulty_or_forfeiting_answer_drops_its_statements() -> None:
    """SPEC, Talk."""

    def wrong(bot: int, _: Message) -> int:
        return 99 if bot == 0 else 0

    heard = TalkMatch(lambda _: [HOLD], say_nothing, moves=wrong, lives=2)
    assert [event["event"] for event in heard.events(1)].count("forfeit") == 1
    assert heard.said(1) == []
    assert heard.record.games[0].statements == ()


def test_statements_change_no_card_and_no_default() -> None:
    """They shift no draw: games with and without statements differ only in these."""

    def plays(bot: int, request: Message) -> int:
        return 99 if bot == 2 and request["kind"] == "lose" else int(request["id"] * 5 % len(request["legal"]))

    output = TalkMatch(lambda _: [HOLD, TEXT], lambda _: [HOLD], say_nothing, moves=plays, games=4, lives=9)
    silent = TalkMatch(say_nothing, say_nothing, say_nothing, moves=plays, games=4, lives=9)
    for talked, quiet in zip(output.record.games, silent.record.games, strict=True):
        assert (talked.moves, talked.draws, talked.start) == (quiet.moves, quiet.draws, quiet.start)
        assert talked.events == quiet.events + len(talked.statements)
    assert any(fault.code == "illegal_move" for game in output.record.games for fault in game.faults)


# --- where there is no talk -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("say", [[HOLD], None], ids=str)
def test_without_talk_say_is_a_field_like_any_unknown_one(say: Any) -> None:
    """SPEC, Lines from the bot: unknown fields are ignored. The record and all lines have the same bytes."""
    spoken = TalkMatch(lambda _: say, say_nothing, rules=coup.COUP)
    silent = TalkMatch(say_nothing, say_nothing, rules=coup.COUP)
    assert spoken.lines[0][0]["ruleset"]["talk"] == "off"
    for bot in range(2):
        lines = [[{**line, "clock": None} for line in heard.lines[bot]] for heard in (spoken, silent)]
        assert lines[0] == lines[1]
    assert untimed(spoken.record) == untimed(silent.record)
    assert "talk" not in referee.write_record(silent.record)
    assert "said" not in referee.write_record(silent.record)


def untimed(record: referee.Record) -> referee.Record:
    return replace(record, games=tuple(replace(game, times=()) for game in record.games))


def test_a_text_is_valid_only_where_the_rules_allow_it() -> None:
    """docs/reference/rules.md, Talk: with `statements` only the forms are valid."""
    rules = replace(OPEN, talk=coup.Talk.STATEMENTS)
    heard = TalkMatch(say_once([HOLD]), say_once([TEXT]), rules=rules)
    assert [event["says"] for event in heard.said()] == ["hold"]
    assert [fault.code for fault in heard.record.games[0].faults] == ["bad_say"]


# --- what can't be said -----------------------------------------------------------------------------------------------

WRONG: dict[str, Any] = {
    "a text": "hello",
    "null": None,
    "an object": {"says": "hold", "role": "duke"},
    "a number": 7,
    "five statements": [HOLD] * 5,
    "ten thousand": [HOLD] * 1500,
    "junk": [[]],
    "nested junk": [{"says": [[[{"says": "hold"}]]], "role": "duke"}],
    "no says": [{"role": "duke"}],
    "an unknown form": [{"says": "swear", "role": "duke"}],
    "a form too few": [{"says": "hold"}],
    "a form too many": [{**HOLD, "target": 1}],
    "no role": [{"says": "hold", "role": "jester"}],
    "another game's role": [{"says": "hold", "role": "inquisitor"}],
    "a role that is a list": [{"says": "hold", "role": ["duke"]}],
    "oneself": [{"says": "attack", "target": 0}],
    "no seat": [{"says": "attack", "target": 3}],
    "a seat below": [{"says": "attack", "target": -1}],
    "a seat that is true": [{"says": "attack", "target": True}],
    "a seat that is a float": [{"says": "attack", "target": 1.0}],
    "a seat of twenty digits": [{"says": "attack", "target": 10**19}],
    "one wrong of two": [HOLD, {"says": "spare", "target": 0}],
    "no text": [{"says": "text", "text": ""}],
    "201 characters": [{"says": "text", "text": "é" * 201}],
    "two texts": [TEXT, TEXT],
    "an invalid text": [{"says": "text", "text": ["x"]}],
    **{
        f"a text with U+{ord(letter):04X}": [{"says": "text", "text": f"a{letter}b"}]
        for letter in "\0\n\t\x1b\x7f\x9b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\ue000"
    },
}


@each("say", WRONG.values(), ids=WRONG.keys())
def test_an_invalid_statement_is_refused_in_one_line_without_its_content(say: Any) -> None:
    """SPEC, Talk: the forms, what they may name, and how much may be said at once."""
    with pytest.raises(referee.SayError, match=r"^[a-zA-Z0-9, ']+$"):
        referee.read_say(say, BOARD, 0)


def test_an_invalid_statement_has_no_other_penalty() -> None:
    """SPEC, Faults, bad_say: the move counts, no life is lost, an error line is sent at once; others don't see it."""
    played = TalkMatch(say_once([{"says": "text", "text": "a\x1b\u2028b"}]), say_once([HOLD]), say_nothing)
    (error,) = played.errors(0)
    assert (error["id"], error["code"], error["used"], error["lives"]) == (1, "bad_say", None, 3)
    assert error["got"].isprintable()
    assert [line["type"] for line in played.lines[0][2:4]] == ["request", "error"]
    assert played.errors(1) == []
    assert [(event["seat"], event["says"]) for event in played.said(2)] == [(1, "hold")]
    (fault,) = played.record.games[0].faults
    assert (fault.bot, fault.code, fault.step, fault.used, fault.count) == (0, "bad_say", None, None, 1)
    assert fault.got is not None
    assert fault.got.isprintable()
    assert fault.detail is not None
    assert played.record.games[0].moves[0] == "income"


def test_a_statement_cannot_name_a_seat_that_is_out() -> None:
    """SPEC, Talk: `target` is another seat that is still in the game."""

    def attacks_the_dead(request: Message) -> Any:
        dead = [seat for seat, player in enumerate(request["state"]["players"]) if not player["influence"]]
        return [{"says": "attack", "target": dead[0]}] if dead else ...

    heard = TalkMatch(say_nothing, say_nothing, attacks_the_dead)
    (fault,) = heard.record.games[0].faults
    assert (fault.bot, fault.code) == (2, "bad_say")
    assert fault.detail == "a statement's target must be another seat that is in the game"
    assert heard.said() == []


def test_a_record_has_the_first_invalid_statement_and_the_number() -> None:
    """SPEC, Faults, bad_say: a bot that sends many doesn't make the record longer."""
    heard = TalkMatch(lambda request: [{"says": f"no {request['id']}"}], say_nothing, games=2)
    for game in heard.record.games:
        (fault,) = game.faults
        assert fault.count == sum(line["type"] == "request" and line["game"] == game.game for line in heard.lines[0])
    assert '"no 1"' in str(heard.record.games[0].faults[0].got)
    assert len(heard.errors(0)) == sum(game.faults[0].count for game in heard.record.games)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f3b2" * 200,  # 800 bytes, and 400 units of UTF-16
        "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        'e\u0301\u00a0\u3000<script>alert(1)</script> {seat} {role} %s \\ " \u201c',
        " ",
    ],
)
def test_a_text_may_have_any_script_without_control_characters(text: str) -> None:
    """SPEC, Talk: up to 200 code points. It is unchanged."""
    assert referee.read_say([{"says": "text", "text": text}], BOARD, 0) == (
        coup.StatementMade(0, coup.StatementKind.TEXT, text=text),
    )


# --- what a record keeps ----------------------------------------------------------------------------------------------


@cache
def spoken() -> referee.Record:
    """Play the match whose statement the tests below replace: it has one, with the first answer."""
    return TalkMatch(say_once([HOLD]), say_nothing).record


def record_of(*said: tuple[int, coup.StatementMade]) -> referee.Record:
    return replace(spoken(), games=(replace(spoken().games[0], statements=said),))


def test_a_record_without_its_statements_is_a_different_game() -> None:
    """`arena verify`: the digest is of all events, including statements."""
    referee.verify_record(record_of((0, coup.StatementMade(0, coup.StatementKind.HOLD, coup.Role.DUKE))))
    for said in [
        (),
        ((0, coup.StatementMade(0, coup.StatementKind.LACK, coup.Role.DUKE)),),
        ((2, coup.StatementMade(0, coup.StatementKind.HOLD, coup.Role.DUKE)),),
    ]:
        with pytest.raises(referee.RecordError, match="events differ"):
            referee.verify_record(record_of(*said))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (coup.StatementMade(0, coup.StatementKind.SPARE, target=0), "a statement's target must be another seat"),
        (coup.StatementMade(0, coup.StatementKind.HOLD, coup.Role.INQUISITOR), "a statement's role must be a role"),
        (coup.StatementMade(0, coup.StatementKind.TEXT, text="\x1b[2J"), "no control characters"),
    ],
)
def test_a_record_with_an_invalid_statement_is_refused(said: coup.StatementMade, why: str) -> None:
    """Anybody can write a checksum: a reader shows only what follows the rules of talk."""
    with pytest.raises(referee.RecordError, match=why):
        referee.verify_record(referee.read_record(referee.write_record(record_of((0, said)))))


def test_a_record_with_statements_without_talk_is_refused() -> None:
    record = record_of((0, coup.StatementMade(0, coup.StatementKind.HOLD, coup.Role.DUKE)))
    header = replace(record.header, settings=replace(record.header.settings, rules=coup.COUP))
    with pytest.raises(referee.RecordError, match="these rules allow no talk"):
        referee.verify_record(replace(record, header=header))


@pytest.mark.parametrize(
    "said",
    [
        "[0]",
        "7",
        '[{"move":-1,"says":"hold","role":"duke"}]',
        '[{"move":999,"says":"hold","role":"duke"}]',
        '[{"move":true,"says":"hold","role":"duke"}]',
        '[{"move":0,"says":"hold"}]',
        '[{"move":3,"says":"hold","role":"duke"},{"move":0,"says":"hold","role":"duke"}]',
    ],
)
def test_a_record_whose_statements_have_no_form_is_refused(said: str) -> None:
    lines = [json.loads(line) for line in referee.write_record(spoken()).splitlines()]
    lines[1]["said"] = json.loads(said)
    dump = [json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines]
    bare = [{name: value for name, value in line.items() if name != "times_us"} for line in lines[:-1]]
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in bare)
    dump[-1] = json.dumps({"end": True, "games": 1, "sha256": hashlib.sha256(text.encode()).hexdigest()})
    with pytest.raises(referee.RecordError, match="lacks something"):
        referee.read_record("\n".join(dump) + "\n")
