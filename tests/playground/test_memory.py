"""Tests of what the browser stores for a player, with Node.js."""

import shutil
import subprocess
from pathlib import Path

import pytest

MEMORY = Path(__file__).parents[2] / "arena/replay/static/memory.js"
SCRIPT = """
const stored = {};
globalThis.localStorage = {
  getItem: (key) => stored[key] ?? null, setItem: (key, value) => (stored[key] = value),
  removeItem: (key) => delete stored[key],
};
const { keepProgramsFor, remember, remembered } = await import(process.argv[1]);
const seen = [];
remember("program", "before");
remember("pace", "slow");
keepProgramsFor("ada");
seen.push(remembered("program"), remembered("pace"), stored["coup-program"] ?? null);
keepProgramsFor("bob");
seen.push(remembered("program"));
remember("program", "of bob");
keepProgramsFor("");
seen.push(remembered("program"));
keepProgramsFor("ada");
keepProgramsFor(null);
seen.push(remembered("program"));
delete stored["coup-login"];
delete stored["coup-ada/program"];
remember("program", "after the sign-out, from another tab");
seen.push(remembered("program"));
console.log(JSON.stringify(seen));
"""


@pytest.mark.needs("node", None if shutil.which("node") else "it isn't installed")
def test_programs_belong_to_a_login() -> None:
    """A login gets the program from before its sign-in; a signed-out tab stores nothing any more."""
    command = ["node", "--input-type=module", "-e", SCRIPT, MEMORY.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '["before","slow",null,null,null,"before",null]'
