"""Tests of the folder that `make playground` writes."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from arena.coup import PRESETS
from arena.playground.build import BuildError, build_playground
from protocol.kits.coup_kit import Bot, Game, History, Player
from tests.documents import ROOT

MAX_BYTES = 16_500_000  # that a browser keeps


def test_without_node_the_build_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"needs node and npm to be built: install Node\.js\.$"):
        build_playground(tmp_path / "out")


def test_the_words_and_fields_that_a_bot_uses_are_listed(built_playground: Path) -> None:
    data = re.search(r'id="kit"[^>]*>(.*?)</script>', (built_playground / "index.html").read_text())
    assert data is not None
    listed = {title: {row[0].partition("(")[0] for row in rows} for title, rows in json.loads(data[1]).items()}
    assert listed["Actions"] == {rule.action for rule in PRESETS["coup"].actions}
    assert listed["Roles"] == set(PRESETS["coup"].roles)
    game, history = Game({}), History()
    for each in (game, history, Player(game, 0, "A", history), Bot()):
        assert {name for name in dir(each) if name[0] != "_"} == listed[type(each).__name__]


@pytest.mark.soak
def test_a_build_by_another_process_has_the_same_bytes(built_playground: Path, tmp_path: Path) -> None:
    """An order of a set would differ, by the seed of hashes."""
    command = [sys.executable, "-m", "arena.playground.build", tmp_path / "again"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": "1"}, check=True)
    files = [
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in (built_playground, tmp_path / "again")
    ]
    assert files[0] == files[1]


def test_names_have_the_hash_of_their_content_and_links_lead_to_files(built_playground: Path) -> None:
    files = [path for path in built_playground.iterdir() if path.suffix != ".br"]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES
    for path in files:
        if path.name not in ("index.html", "service-worker.js"):
            assert hashlib.sha256(path.read_bytes()).hexdigest()[:12] == path.suffixes[-2].removeprefix(".")
        if path.suffix in (".html", ".js", ".css"):
            for link in re.findall(r"[\"'(]\./([\w.-]+\.\w+)[\"')]", path.read_text()):
                assert (built_playground / link).is_file(), f"{path.name}: {link}"


def test_the_licences_of_all_parts_are_shown(built_playground: Path) -> None:
    [page] = built_playground.glob("licences.*.html")
    text = page.read_text()
    for part in ("Pyodide: MPL-2.0", "Source: ", "PYTHON SOFTWARE FOUNDATION LICENSE", "Ajax.org", "MIT License"):
        assert part in text
