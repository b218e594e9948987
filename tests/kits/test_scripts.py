"""The kits in Python and JavaScript, whose bots are scripts: return values, output, descriptions of events."""

import ast
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.event_text import EVENT_TEXTS, describe_event
from protocol.kits import coup_kit
from protocol.kits.coup_kit import Bot, Game, History, Move, Player
from tests.kits.conftest import Made, Ran
from tests.kits.conversations import MATCHES, match, requests
from tests.kits.table import KITS, Kit
from tests.kits.test_kits import Make, example

Message = dict[str, Any]
Play = Callable[[str, str], Ran]

SCRIPTS = {kit.language: kit for kit in KITS if kit.language in ("python", "javascript")}
PYTHON = SCRIPTS["python"].file
NODE = pytest.mark.needs("node", None if shutil.which("node") else "it isn't installed")
each_script = pytest.mark.parametrize("kit", ["python", pytest.param("javascript", marks=NODE)])


def play_body(folder: Path, kit: str, body: str, messages: list[Message]) -> Ran:
    shutil.copy(SCRIPTS[kit].file, folder)
    if kit == "python":
        source = f"import os\nfrom coup_kit import Bot, run\n\nclass MyBot(Bot):\n    {body}\n\nrun(MyBot())\n"
        program = sys.executable
    else:
        source = (
            f'const {{ Bot, run }} = require("./coup_kit.js");\nrun(new (class MyBot extends Bot {{ {body} }})());\n'
        )
        program = "node"
    (folder / "bot").write_text(source)
    return Made((program, "bot"), folder).feed(messages)


def asked(*legal: list[Move], kind: str = "turn") -> list[Message]:
    """Return a short match with a request for each list of moves."""
    hello, start, *_ = example()
    now = {"kind": kind, "game": 0, "events": [], "state": start["state"], "you": start["you"]}
    return [hello, start, *({"type": "request", "id": id, "legal": moves, **now} for id, moves in enumerate(legal))]


LEGAL: list[Move] = [{"action": "income"}, {"action": "steal", "target": 1}]
KEEPS: list[Move] = [{"keep": ["captain", "duke"]}, {"keep": ["contessa", "duke"]}]

# Return values in Python and in JavaScript, the legal moves, and the index of the chosen one.
GOOD: list[tuple[str, str, list[Move], int]] = [
    ("game.legal[1]", "game.legal[1]", LEGAL, 1),
    ("1", "1", LEGAL, 1),
    ("type('Own', (), {'__index__': lambda self: 1})()", "1", LEGAL, 1),  # as numpy's integers
    ("{'target': 1, 'action': 'steal'}", "{ target: 1, action: 'steal' }", LEGAL, 1),
    ("{'keep': ['duke', 'contessa']}", "{ keep: ['duke', 'contessa'] }", KEEPS, 1),
    ("game.find('steal', 1)", "game.find('steal', 1)", LEGAL, 1),
    ("game.find('steal', 0)", "game.find('steal', 0)", LEGAL, 0),
    ("game.find('keep', ['contessa', 'duke'])", "game.moves('keep')[1]", KEEPS, 1),
    ("None", "undefined", LEGAL, 0),
]
BAD = [("2", "2"), ("-1", "-1"), ("1.5", "1.5"), ("True", "true"), ("'income'", '"income"'), ("[0]", "[0]")]
BAD += [("{'action': 'tax'}", '{"action":"tax"}'), ("{'keep': None}", '{"keep":null}')]


def body_that_returns(kit: str, values: list[tuple[str, str]]) -> str:
    if kit == "python":
        listed = ", ".join(f"lambda game: {value}" for value, _ in values)
        return f"careful = True\n    def turn(self, game): return [{listed}][game.request['id']](game)"
    listed = ", ".join(f"(game) => ({value})" for _, value in values)
    return f"careful = true; turn(game) {{ return [{listed}][game.request.id](game); }}"


@each_script
def test_a_method_returns_a_move_its_index_or_nothing(tmp_path: Path, kit: str) -> None:
    """Nothing is the default; the cards of `keep` may have any order."""
    body = body_that_returns(kit, [(python, javascript) for python, javascript, _, _ in GOOD])
    ran = play_body(tmp_path, kit, body, asked(*(legal for _, _, legal, _ in GOOD)))
    assert ran.err == ""
    assert [line["choice"] for line in ran.lines[1:]] == [choice for *_, choice in GOOD]


@each_script
def test_an_illegal_move_is_a_failure_that_shows_it(tmp_path: Path, kit: str) -> None:
    ran = play_body(tmp_path, kit, body_that_returns(kit, BAD), asked(*[LEGAL] * len(BAD)))
    assert [line["choice"] for line in ran.lines[1:]] == [0] * len(BAD)
    for python, javascript in BAD:
        said = python if kit == "python" else javascript
        assert f"turn() returned {said}, which is neither in game.legal nor an index of it" in ran.err


@each_script
def test_a_count_without_entries_is_none(tmp_path: Path, kit: str) -> None:
    body = (
        "def turn(self, game): return game.me.claims['inquisitor'] + game.me.caught['not_duke'] + 1"
        if kit == "python"
        else "turn(game) { return game.me.claims.inquisitor + game.me.caught.not_duke + 1; }"
    )
    assert play_body(tmp_path, kit, body, asked(LEGAL)).lines[1:] == [{"id": 0, "choice": 1}]


@NODE
def test_a_long_line_costs_linear_time_in_javascript(tmp_path: Path) -> None:
    """Its pieces are joined once. Joined at each piece, 30 MB took 7 s, not 0.4."""
    body = "turn(game) { const { user, system } = process.cpuUsage(); console.log((user + system) / 1e6); }"
    messages = asked(LEGAL)
    messages[-1]["note"] = "x" * 30_000_000
    ran = play_body(tmp_path, "javascript", body, messages)
    assert len(ran.lines) == 2
    assert float(ran.err) < 3


@each_script
def test_a_bots_output_goes_to_standard_error(tmp_path: Path, kit: str) -> None:
    """This includes the programs that it starts. (Node's own process.stdout is unchanged.)"""
    body = (
        "def turn(self, game): print('thinking'); os.system('echo deeply')"
        if kit == "python"
        else "turn(game) { console.log('thinking'); console.table([1]); console.error('deeply'); }"
    )
    ran = play_body(tmp_path, kit, body, asked(LEGAL))
    assert (ran.code, len(ran.lines)) == (0, 2)
    assert "thinking" in ran.err
    assert "deeply" in ran.err


@each_script
def test_events_come_once_in_order_and_before_the_request(tmp_path: Path, kit: str) -> None:
    names = ("match_start", "game_start", "game_over", "match_over")
    if kit == "python":
        body = "def turn(self, game): print('turn', game.number); return 0"
        body += "\n    def event(self, game, event): print('event', event['n'])"
        body += "\n    def fault(self, game, error): print('fault', error['code'])"
        body += "".join(f"\n    def {name}(self, game): print('{name}', game.winner)" for name in names)
    else:
        body = "turn(game) { console.log('turn', game.number); } event(game, event) { console.log('event', event.n); } "
        body += "fault(game, error) { console.log('fault', error.code); } "
        for name in names:
            first, _, second = name.partition("_")
            body += f"{first}{second.title()}(game) {{ console.log('{name}', game.winner); }} "
    messages = example()
    messages.insert(
        3, {"type": "error", "id": 1, "code": "timeout", "message": "", "got": None, "used": {}, "lives": 2}
    )
    ran = play_body(tmp_path, kit, body, messages)
    nothing = "None" if kit == "python" else "null"
    wanted = []
    for message in messages:
        wanted += [f"event {event['n']}" for event in message.get("events", [])]
        if message["type"] == "error":
            wanted.append("fault timeout")
        elif message["type"] == "game_over":
            wanted.append(f"game_over {message['winner']}")
        elif message["type"] in ("hello", "match_over"):
            last = [str(each["winner"]) for each in messages if each["type"] == "game_over"][-1]
            wanted.append(f"match_start {nothing}" if message["type"] == "hello" else f"match_over {last}")
        elif message["type"] == "game_start":
            wanted.append(f"game_start {nothing}")
        elif message["kind"] == "turn":
            wanted.append(f"turn {message['game']}")
    assert (ran.code, ran.err.splitlines()) == (0, wanted)


@each_script
def test_a_careful_bot_survives_a_failure_in_a_notification(tmp_path: Path, kit: str) -> None:
    body = (
        "careful = True\n    def event(self, game, event): raise ValueError('on purpose')"
        if kit == "python"
        else "careful = true; event(game, event) { throw new Error('on purpose'); }"
    )
    ran = play_body(tmp_path, kit, body, example())
    assert (ran.code, len(ran.lines)) == (0, 1 + len(list(requests(example()))))
    assert "MyBot.event failed at request 2: turn, game 0, turn 3" in ran.err
    assert "on purpose" in ran.err


@each_script
def test_a_broken_pipe_of_the_bots_own_is_a_failure(tmp_path: Path, kit: str) -> None:
    """A kit ends without a message only if the arena has ended."""
    body = (
        "def turn(self, game): raise BrokenPipeError"
        if kit == "python"
        else "turn(game) { throw Object.assign(new Error(), { code: 'EPIPE' }); }"
    )
    ran = play_body(tmp_path, kit, body, asked(LEGAL))
    assert (ran.code, len(ran.lines)) == (1, 1)
    assert "MyBot.turn failed at request 0" in ran.err


@pytest.mark.parametrize(
    "kit", [SCRIPTS["python"], pytest.param(SCRIPTS["javascript"], marks=NODE)], ids=lambda kit: kit.language
)
def test_a_kit_describes_events_as_the_arena_does(kit: Kit, made: Make) -> None:
    """The texts are in protocol/event_texts.json; players are called by their handles."""
    presets = ("andy", "duel", "treason")  # these have all events between them
    messages = [message for preset in presets for message in match(preset, dict(MATCHES)[preset])[:-1]]
    wanted, names = [], []
    for message in messages:
        if message["type"] == "game_start":
            names = message["players"]
        wanted += [describe_event(event, names) for event in message.get("events", [])]
    assert made(kit, kit.probe).feed(messages, "words").err.splitlines() == wanted


def test_the_kits_tables_of_words_are_the_arenas() -> None:
    """A kit never gets whether a declined card was held."""
    words = {
        name: text for name, text in EVENT_TEXTS["events"].items() if text and not name.endswith((".held", ".lacking"))
    }
    assert words == coup_kit._WORDS
    source = SCRIPTS["javascript"].file.read_text()
    table = re.split(r"[|\n]", source.split("const TABLE = `")[1].split("`")[0])
    assert [f"{name}={text}" for name, text in words.items()] == table


# --- Python alone -----------------------------------------------------------------------------------------------------


def test_the_kit_and_the_starter_are_python_3_9() -> None:
    for path in (PYTHON, *SCRIPTS["python"].starter.glob("*.py")):
        ast.parse(path.read_text(), feature_version=(3, 9))


def test_the_kits_page_names_every_public_member() -> None:
    text = (PYTHON.parents[2] / "docs/reference/kits.md").read_text()
    named = set(re.findall(r"`(\w+)(?:\([\w, ]+\))?`", text))
    game = Game({"type": "hello"})
    player = Player(game, 0, "A", History())
    assert {name for of in (Bot, game, player, player.history) for name in dir(of) if name[0] != "_"} - named == set()


class NoInit(Bot):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def other(self, game: Game) -> int:
        self.asked.append(game.kind)
        return 1


def test_a_bot_needs_no_init_of_its_parent_and_no_pipes() -> None:
    bot = NoInit()
    for kind in ("reply", "event", "__init__", "juggle"):
        replies = [bot.reply(message) for message in asked(LEGAL, kind=kind)]
        assert replies[1:] == [None, {"id": 0, "choice": 1}]
    assert bot.asked == ["reply", "event", "__init__", "juggle"]


def test_a_game_has_all_fields_of_the_request() -> None:
    """Source: the kit's table in docs/reference/kits.md, and SPEC."""
    seen: list[Game] = []

    class Looker(Bot):
        def turn(self, game: Game) -> None:
            seen.append(game)

        prove = lose = exchange = block = examine_decide = turn

    bot = Looker()
    messages = match("reformation", 5)
    for message in messages:
        bot.reply(message)
        if message["type"] != "request" or not seen:
            continue
        game = seen[-1]
        assert (game.kind, game.legal, game.number, game.request) == (
            message["kind"],
            message["legal"],
            message["game"],
            message,
        )
        assert (game.seat, game.cards, game.turn, game.actor) == (
            message["you"]["seat"],
            message["you"]["cards"],
            message["state"]["turn"],
            message["state"]["actor"],
        )
        assert game.drawn == message["you"].get("drawn", [])
        assert (game.pending, game.claim) == (message.get("pending", {}), message.get("claim", {}))
        assert (game.challenger, game.reason, game.seen) == (message.get("challenger"), message.get("reason"), None)
        assert game.me.seat == game.seat
        for player, state in zip(game.players, message["state"]["players"], strict=True):
            assert (player.coins, player.influence, player.revealed) == (
                state["coins"],
                state["influence"],
                state["revealed"],
            )
            assert player.allegiance == state.get("allegiance")
            assert player.alive == (state["influence"] > 0 or not state["revealed"])
    assert seen
