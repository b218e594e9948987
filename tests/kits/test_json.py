"""Every kit reads all valid JSON: it prints a failed request as it arrived."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.kits.conftest import LIMIT_S, Made
from tests.kits.table import Kit, each_kit

Make = Callable[[Kit, Path], Made]

# Placeholders for a value, as text.
WRITTEN = [
    '""',
    r'"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83c\udfb2\u2028"',
    '"é€🎲\u2028"',
    '"[{\\"a\\":1}]"',
    "0",
    "-0",
    "1.5E-7",
    "25e+3",
    "123456789012345678",
    "12345678901234567890",
    "-99999999999999999999",
    "[]",
    "{}",
    " [ true ,\tfalse , null , [ { } ] ] ",
    "[" * 28 + "7" + "]" * 28,
    '{"":1,"b":{"c":[{"d":[2,3,{"e":null}]}]},"a":"z"}',
    '"' + "long " * 40_000 + '"',
    "[" + ",".join(map(str, range(20_000))) + "]",
]

HELLO = b'{"type":"hello","ruleset":{},"match":{},"limits":{},"bot_seed":"5f1c09a7"}'
NOW = (
    '"game":0,"you":{"cards":["duke","duke"],"seat":0},"state":{"players":['
    '{"revealed":[],"influence":2,"coins":2},{"coins":2,"influence":2,"revealed":[]}],"deck":11,"actor":0,"turn":1}'
)
START = f'{{ "players" : ["A","B"] , "seat":0, {NOW}, "type" : "game_start" }}\r'.encode()


@each_kit
def test_a_kit_reads_all_valid_json(kit: Kit, made: Make) -> None:
    """Keys may have any order, numbers any size, lines any length (SPEC, Lines).

    A careful bot prints each failure, and plays the default.
    """
    bot = made(kit, kit.probe)
    legal = [f'[{{"action":"income"}},{{"odd":{value}}}]' for value in WRITTEN]
    requests = [
        f'{{"legal":{moves},{NOW},"events":[],"kind":"turn","id":{number},"type":"request"}}'.encode()
        for number, moves in enumerate(legal, 1)
    ]
    lines = b"\n".join([HELLO, START, *requests, b'{"type":"match_over"}', b""])
    done = subprocess.run([*bot.argv, "careful"], cwd=bot.cwd, input=lines, capture_output=True, timeout=LIMIT_S)
    err = done.stderr.decode()
    assert done.returncode == 0, err[-2000:]
    assert [json.loads(line) for line in done.stdout.splitlines()][1:] == [
        {"id": number, "choice": 0} for number in range(1, len(WRITTEN) + 1)
    ]
    for number, written in enumerate(legal, 1):
        output = err[err.index(f"request {number}: turn") :]
        found, _ = json.JSONDecoder(parse_int=float).raw_decode(output, output.index("[", output.index("legal")))
        assert found == json.loads(written, parse_int=float)
