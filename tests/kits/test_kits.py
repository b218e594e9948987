"""Every kit, in every language: what it knows, what it ignores, how it fails. Source: the kits' README, SPEC.md."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from arena.coup import PRESETS
from arena.referee import MatchSpec, Terms, play_match
from arena.sandbox import Box, Limits, ProcessSandbox, Program
from protocol.kits.coup_kit import Answer, Bot, Game
from tests.kits.conftest import Made
from tests.kits.conversations import matches, requests
from tests.kits.obvious import ROLES, positions
from tests.kits.table import KITS, Kit, each_kit

Message = dict[str, Any]
Make = Callable[[Kit, Path], Made]

KINDS = {"turn", "challenge", "block", "prove", "lose", "exchange", "keep_shown", "draft", "allegiance"}
KINDS |= {"examine_show", "examine_decide"}
EXAMPLE = Path(__file__).parents[2] / "protocol" / "examples" / "to_bot.jsonl"


def example() -> list[Message]:
    return [json.loads(line) for line in EXAMPLE.read_text().splitlines()]


def choices(made: Made, messages: list[Message], *words: str) -> tuple[list[int], str]:
    """Return which of the legal moves a bot takes, and its standard error; each must be legal, and its end peaceful."""
    ran = made.hears(messages, *words)
    assert ran.code == 0, ran.err
    replies = [line for line in ran.lines if "type" not in line]
    hellos = [line["type"] for line in ran.lines if "type" in line]
    assert hellos == ["hello"] * sum(message["type"] == "hello" for message in messages)
    asked = list(requests(messages))
    assert [reply["id"] for reply in replies] == [request["id"] for request in asked]
    found = []
    for reply, request in zip(replies, asked, strict=True):
        move = request["legal"][reply["choice"]] if "choice" in reply else reply["move"]
        found.append(request["legal"].index(move))
    return found, ran.err


def test_every_kit_and_every_starter_is_in_the_table() -> None:
    """Else nobody tries it."""
    folders = {path.parent for path in KITS[0].starter.parent.glob("*/bot.toml")}
    assert {kit.starter for kit in KITS} == {folder for folder in folders if folder.name != "llm"}  # no starter
    beside_a_kit = {KITS[0].file.with_name(name) for name in ("coup_env.py", "coup_kit.d.ts")}
    files = {path for path in KITS[0].file.parent.glob("*oup*") if path.is_file()}
    assert {kit.file for kit in KITS} == files - beside_a_kit


def test_the_recorded_matches_have_all_that_a_kit_follows() -> None:
    """Else a kit might follow it wrongly, and no test would tell."""
    assert {message.get("kind") for message in matches()} - {None} == KINDS
    events = [event for message in matches() for event in message.get("events", [])]
    assert sum(event["event"] == "forfeit" for event in events) > 1
    assert sum(event["event"] == "shown" and event.get("replaced") is False for event in events) > 1
    for replaced in (False, True):
        assert sum(e["event"] == "examined" and "role" in e and e["replaced"] is replaced for e in events) > 1
    sure = [player for seats in certain() for player in seats if 1.0 in player["odds"][:6]]
    assert len(sure) > len(certain()) + 5  # not only one's own cards


@cache
def certain() -> list[list[dict[str, list[float]]]]:
    """Return the odds and the known cards by seat, at each request, of the kit for Python: test_certain.py tries it."""
    told = []

    class Follower(Bot):
        def turn(self, game: Game) -> Answer:
            told.append(
                [
                    {
                        "odds": [game.odds(player.seat, role) for role in ROLES],
                        "known": [player.known.count(role) for role in ROLES],
                    }
                    for player in game.players
                ]
            )
            return 0

        challenge = block = prove = lose = exchange = keep_shown = examine_show = examine_decide = turn
        draft = allegiance = other = turn

    bot = Follower()
    for message in matches():
        bot.reply(message)
    return told


@each_kit
def test_a_kit_knows_what_can_be_known(kit: Kit, made: Make) -> None:
    """What players claimed, proved, blocked and were caught with: as counted slowly from all events.

    The odds and the known cards are those of the kit for Python, at every request.
    """
    found, err = choices(made(kit, kit.probe), matches(), "tell")
    assert found == [request["id"] % len(request["legal"]) for request in requests(matches())]
    told = [json.loads(line) for line in err.splitlines()]
    for line, seats in zip(told, certain(), strict=True):
        for player, sure in zip(line["players"], seats, strict=True):
            assert player.pop("odds") == pytest.approx(sure["odds"], abs=1e-8), line["id"]
            assert player.pop("known") == sure["known"], line["id"]
    for place, wanted in positions().items():
        assert told[place]["players"] == wanted["players"], (place, wanted["id"])
        assert (told[place]["id"], told[place]["opponents"]) == (wanted["id"], wanted["opponents"])


def examined(role: str, replaced: bool) -> Message:
    return {"n": 0, "event": "examined", "seat": 0, "target": 1, "replaced": replaced, "role": role}


@each_kit
def test_a_kit_knows_the_cards_that_it_examined(kit: Kit, made: Make) -> None:
    """A forced swap takes the card that was seen and leaves the other; what is looked at is known at once."""
    hello, start, *_ = example()
    hello["ruleset"]["deck"] = dict.fromkeys(("assassin", "captain", "contessa", "duke", "inquisitor"), 3)
    start |= {"seat": 0, "you": {"seat": 0, "cards": ["assassin", "inquisitor"]}}
    lost = {"n": 0, "event": "lost", "seat": 1, "role": "captain", "reason": "challenge"}
    claim = {"n": 0, "event": "action", "seat": 1, "action": "steal", "target": 0, "claim": "captain"}
    heard: list[tuple[list[Message], str | None, list[str], int]] = [  # events, a card that is seen; known, claimed
        ([claim, lost, claim], "captain", ["captain"], 1),
        ([examined("captain", False)], None, ["captain"], 1),
        ([], "duke", ["captain", "duke"], 1),
        ([examined("duke", True)], None, ["captain"], 1),
        ([examined("captain", True)], None, [], 0),
    ]
    messages = [hello, start]
    for number, (events, seen, _, _) in enumerate(heard):
        you = start["you"] if seen is None else {**start["you"], "seen": seen}
        asked: Message = {"type": "request", "id": number, "game": 0, "events": events, "you": you}
        asked |= {"state": start["state"], "legal": [{"action": "income"}], "kind": "turn"}
        if seen is not None:
            asked |= {"kind": "examine_decide", "pending": {"actor": 0, "action": "examine", "target": 1}}
        messages.append(asked)
    _, err = choices(made(kit, kit.probe), messages, "tell")
    for line, (_, _, known, claimed) in zip(err.splitlines(), heard, strict=True):
        player = json.loads(line)["players"][1]
        assert [role for role, count in zip(ROLES, player["known"], strict=True) if count] == known
        assert player["claims"][ROLES.index("captain")] == claimed


@each_kit
def test_a_starter_and_a_kit_answer_the_examples_with_legal_moves(kit: Kit, made: Make) -> None:
    """SPEC: one line for the hello and one for each request."""
    choices(made(kit, kit.starter), example())
    choices(made(kit, kit.probe), example(), "tell")


@pytest.fixture(scope="session")
def model(made: Make) -> list[int]:
    """Return what the starter in Python plays in all matches."""
    return choices(made(KITS[0], KITS[0].starter), matches())[0]


@each_kit
def test_starters_play_every_preset_and_make_the_same_choices_in_every_language(
    kit: Kit, made: Make, model: list[int]
) -> None:
    """Each says that it does; the one in Python is the model."""
    assert choices(made(kit, kit.starter), matches())[0] == model


@each_kit
def test_a_starter_plays_a_match_without_a_fault(kit: Kit, made: Make, tmp_path: Path) -> None:
    """Each answer must cross the pipe before the next line comes: here nothing is given at once."""
    sandbox = ProcessSandbox(tmp_path)
    table = [made(kit, kit.starter), *[made(KITS[0], KITS[0].starter)] * 2]

    def launch(bot: int) -> Box:
        return sandbox.start(Program(table[bot].argv, table[bot].cwd), Limits())

    seatings = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    spec = MatchSpec(0, bytes(32), ("a", "b", "c"), seatings, Terms(rules=PRESETS["reformation-inquisitor"]))
    record = play_match(spec, launch).record
    assert [fault for game in record.games for fault in game.faults] == []


@each_kit
def test_a_failure_tells_the_request_that_it_came_at(kit: Kit, made: Make) -> None:
    """And what could be chosen there; then the program has failed."""
    messages = example()
    ran = made(kit, kit.probe).hears(messages, "fail")
    first = next(request for request in requests(messages) if request["kind"] == "turn")
    assert ran.code != 0
    assert [line["id"] for line in ran.lines[1:]] == [
        request["id"] for request in requests(messages) if request["id"] < first["id"]
    ]
    assert f"request {first['id']}: turn, game {first['game']}, turn {first['state']['turn']}" in ran.err
    assert json.dumps(first["legal"]).replace(" ", "") in ran.err.replace(" ", "")


@each_kit
def test_a_careful_bot_plays_the_default_where_it_fails(kit: Kit, made: Make) -> None:
    """And says it each time."""
    messages = example()
    found, err = choices(made(kit, kit.probe), messages, "careful")
    assert set(found) == {0}
    turns = [request for request in requests(messages) if request["kind"] == "turn"]
    assert [f"request {turn['id']}: turn" in err for turn in turns] == [True] * len(turns)


SAYS = [
    {"says": "hold", "role": "duke"},
    {"says": "spare", "target": 1},
    {"says": "doubt", "role": "duke", "target": 1},
    {"says": "text", "text": 'Zo\u00eb says "\\ \U0001f3b2"'},
]


@each_kit
def test_a_bot_speaks_with_one_call_and_hears_others_where_there_is_talk(kit: Kit, made: Make) -> None:
    """SPEC, Talk: words go beside the next answer, once. Without talk nothing of them is sent."""
    messages = example()
    for talk in ("off", "text"):
        messages[0]["ruleset"]["talk"] = talk
        if talk == "text":
            for number, message in enumerate(messages):
                if "events" in message:
                    statement = SAYS[number % len(SAYS)]
                    message["events"] = [{"n": 0, "event": "say", "seat": 1, **statement}, *message["events"]]
        ran = made(kit, kit.probe).hears(messages, "say")
        assert ran.code == 0, ran.err
        _, *replies = ran.lines
        for reply, request in zip(replies, requests(messages), strict=True):
            wanted = {"say": SAYS} if (talk, request["kind"]) == ("text", "turn") else {}
            assert reply == {"id": request["id"], "choice": 0, **wanted}
        heard = [event["says"] for message in messages for event in message.get("events", []) if "says" in event]
        assert [line for line in ran.err.splitlines() if "fault" not in line] == heard


def rolled(kit: Kit, made: Make, hellos: dict[str, str], games: list[tuple[dict[str, str], int]]) -> list[list[float]]:
    """Return the numbers that a kit rolls in a match whose games have these seeds and so many turns each."""
    hello, start, request, *_ = example()
    messages = [{**hello, **hellos}]
    for number, (seeds, turns) in enumerate(games):
        messages.append({**{key: value for key, value in start.items() if key != "game_seed"}, **seeds, "game": number})
        messages += [{**request, "id": 100 * number + turn} for turn in range(turns)]
    ran = made(kit, kit.probe).hears(messages, "roll")
    assert ran.code == 0, ran.err
    numbers = iter(map(float, ran.err.splitlines()))
    games_rolled = [[next(numbers) for _ in range(turns)] for _, turns in games]
    assert list(numbers) == []
    return games_rolled


@each_kit
def test_a_games_dice_do_not_depend_on_how_many_were_rolled_before_it(kit: Kit, made: Make) -> None:
    """SPEC, game_start: whoever rolls more in one game has the same dice in the next, also in another match."""
    seeds: list[dict[str, str]] = [{"game_seed": f"{number:032x}"} for number in range(3)]
    first = rolled(kit, made, {"bot_seed": "a" * 32}, [(seeds[0], 2), (seeds[1], 5), (seeds[2], 5)])
    second = rolled(kit, made, {"bot_seed": "b" * 32}, [(seeds[0], 4), (seeds[1], 0), (seeds[2], 5)])
    assert second[2] == first[2]
    assert second[0][:2] == first[0]
    assert len({number for numbers in first for number in numbers}) == 12
    assert all(0 <= number < 1 for numbers in first for number in numbers)


@each_kit
def test_an_arena_that_sends_no_game_seed_has_the_matchs_dice_instead(kit: Kit, made: Make) -> None:
    """As before game_seed was added: one stream, seeded by bot_seed."""
    first, same, other = (rolled(kit, made, {"bot_seed": seed * 32}, [({}, 3), ({}, 3)]) for seed in "aab")
    assert first == same
    assert len({number for numbers in (*first, *other) for number in numbers}) == 12


@each_kit
def test_a_kit_ignores_what_it_does_not_know(kit: Kit, made: Make) -> None:
    """SPEC, What later versions may change: fields, types, events, roles, actions, words of claims, kinds, moves."""
    news = [{"n": 0, "event": "weather"}, {"n": 1, "event": "storm", "seat": 1, "role": "jester", "to": [{"x": None}]}]
    news += [{"n": 2, "event": "action", "seat": 1, "action": "juggle", "target": 0, "claim": "jester", "how": {}}]
    strange: list[Message] = []
    for message in example():
        if message["type"] == "request":
            strange += [{"type": "weather", "rain": [True, None, 1.5e3, '\u2028\\"\U0001f3b2']}, {"type": "soon"}]
            if message["id"] == 2:
                message = {**message, "kind": "juggle", "legal": [{"juggle": [1, {"a": "b"}]}, {"drop": None}]}
            message = {"note": {"deep": [[[]]]}, **message, "events": [*news, *message["events"]]}
            message["state"] = {**message["state"], "wind": -1.5, "lost": None}
        if message["type"] == "hello":
            message["ruleset"]["deck"]["jester"] = 3
            message["ruleset"]["jester"] = {"juggles": True}
        strange.append(message)
    choices(made(kit, kit.starter), strange)
    choices(made(kit, kit.probe), strange, "tell")


@each_kit
def test_a_kit_leaves_at_the_end_of_its_input_too(kit: Kit, made: Make) -> None:
    """Also in the midst of a game, and before the hello."""
    messages = example()
    choices(made(kit, kit.starter), messages[: len(messages) // 2])
    assert made(kit, kit.starter).hears([]).code == 0
