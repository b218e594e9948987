"""A ladder of release 1.0 is upgraded by this version, and by a next one with a sample migration."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import select, text

from arena.cli import cli
from ladder import store
from ladder.backups import restore_backup
from ladder.ladder import open_ladder
from ladder.upgrade import upgrade_ladder
from tests.compatibility.old_ladder import EXAMPLES, restore_file, run_commands, run_python, showing, shown
from tests.compatibility.test_promises import ROOT, missing
from tests.shared_setup import made_once

NEXT = str(int(store.NEWEST_REVISION) + 1).zfill(4)
MOVE = """
    op.execute("UPDATE users SET initials = upper(substr(login, 1, 1))")
    op.execute("INSERT INTO contacts (user_id, address) SELECT id, coalesce(email, login) FROM users")
"""
SAME_TABLES = """
import sys
from ladder.store import *
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
with Database(sys.argv[1], check=require_revision).read() as connection:
    print(compare_metadata(MigrationContext.configure(connection), METADATA))
"""


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Give the folder of a ladder of release 1.0, with its database at schema 0100."""
    folder = tmp_path / "spring"
    file = restore_file(folder)
    if request.param == "postgresql":
        url = str(request.getfixturevalue("postgres_url"))
        with closing(store.Database(url)) as target:
            store.clone_from_file(file, target)
        file.unlink()
        toml = folder / "ladder.toml"
        toml.write_text(toml.read_text().replace("sqlite:///ladder.db", url))
    return folder


@pytest.fixture(scope="module")
def next_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the code of a next version: a table, a column with data moved to both, and a changed column of a parent.

    Its migration is written by the command of docs/dev/extending.md. SQLite creates the changed table again.
    """
    return made_once(tmp_path_factory, "next", make_next_version)


def make_next_version(code: Path) -> None:
    for package in ("arena", "ladder", "protocol", "sample_bots"):
        shutil.copytree(ROOT / package, code / package, ignore=shutil.ignore_patterns("*.so", "*.pyc.*"))
    tables = code / "ladder/store/schema_tables.py"
    source = tables.read_text()
    changed = source.replace(
        '    Column("email", Text),\n', '    Column("email", String(300)),\n    Column("initials", String(2)),\n', 1
    )
    assert changed != source
    contacts = (
        'contacts = Table("contacts", METADATA, Column("user_id", Integer, ForeignKey("users.id"), primary_key=True),'
        ' Column("address", Text, nullable=False))\n'
    )
    tables.write_text(changed + contacts)
    [command] = [
        line for line in (ROOT / "docs/dev/extending.md").read_text().split("`") if line.startswith("python -m ladder")
    ]
    run_python(code, *command.removeprefix("python ").removesuffix(' "what it changes"').split(), "Store contacts")
    [migration] = (code / "ladder/store/migrations/versions").glob("*store_contacts.py")
    assert migration.name == f"{NEXT}_store_contacts.py"
    migration.write_text(migration.read_text().rstrip() + MOVE)


def all_rows(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows by table, without columns that 1.0 lacks."""
    with closing(open_any(folder)) as database, database.engine.connect() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in store.METADATA.sorted_tables
        }


def open_any(folder: Path) -> store.Database:
    url = json.loads(
        next(
            line for line in (folder / "ladder.toml").read_text().splitlines() if line.startswith("database")
        ).partition("=")[2]
    )
    return store.Database(url.replace("sqlite:///ladder.db", f"sqlite:///{folder}/ladder.db"))


@pytest.mark.parametrize("old", ["sqlite", "postgresql"], indirect=True)
def test_a_ladder_of_the_release_is_upgraded_and_shows_the_same(old: Path) -> None:
    """Source: shown.json, the output of commands of release 1.0, whose model gave other ratings.

    A release of grades by that model stays, but can't be computed again. The advice on a fault is this arena's,
    without a runner it estimates no time, and a trend depends on today.
    """
    upgrade_ladder(old, None, False, lambda line: None)
    found = shown(run_commands(ROOT, *showing(old)))
    changed = missing(json.loads((EXAMPLES / "shown.json").read_text("utf-8")), found)
    rated = (".rating.value", ".win_rate_adjusted.value", ".advice", ".next_round_s", ".change_1d", ".change_7d")
    assert [path for path in changed if not path.endswith(rated)] == [".grades verify:one"]
    assert "rating model of an older arena" in found["grades verify:one"][1]
    with closing(open_ladder(old)) as ladder:
        assert ladder.play.match_games == 6


@pytest.mark.parametrize("old", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
def test_the_next_version_upgrades_only_when_it_is_told_to(old: Path, next_version: Path, tmp_path: Path) -> None:
    rows = all_rows(old)
    before = shown(run_commands(ROOT, *showing(old)))
    upgrade = ["ladder", "upgrade", old]
    commands = (["ladder", "standings", old], ["ladder", "doctor", old], [*upgrade, "--dry-run", "--json"], upgrade)
    with closing(open_any(old)) as database:
        runners = store.METADATA.tables["runners"]
        runner = database.write(lambda connection: store.register_runner(connection, 1, 0.0))
        refused, examined, plan, in_use = run_commands(next_version, *commands)
        database.write(lambda connection: store.end_runner(connection, runner))
        database.write(lambda connection: connection.execute(runners.delete().where(runners.c.id == runner)))
    assert [code for code, *_ in (refused, examined, plan, in_use)] == [2, 1, 0, 2]
    assert f"the database has schema {store.NEWEST_REVISION}, and this version of the arena uses {NEXT}" in refused[2]
    assert "arena ladder upgrade LADDER" in refused[2]
    assert f"schema {store.NEWEST_REVISION}" in examined[1]
    assert json.loads(plan[1]) == {
        "before": store.NEWEST_REVISION, "after": NEXT, "backup": None,
        "changes": [{"revision": NEXT, "title": "Store contacts."}],
    }  # fmt: skip
    assert f"other processes use the ladder: runner {runner[:8]}, process " in in_use[2]
    assert all_rows(old) == rows
    assert not list(old.glob("*.tar"))

    backup = tmp_path / "before.tar"
    restore = ["ladder", "restore", backup, tmp_path / "newest"]
    done, again, restored, *ran = run_commands(
        next_version, [*upgrade, "--backup", backup], upgrade, restore, *showing(old)
    )
    assert [code for code, *_ in (done, again, restored)] == [0, 0, 0]
    assert f"upgraded {old} to schema {NEXT}" in done[2]
    assert "there is nothing to do" in again[2]
    assert missing(before, shown(ran)) == []
    assert all_rows(old) == rows
    with closing(open_any(old)) as database, database.engine.connect() as connection:
        assert connection.execute(text("SELECT login, initials FROM users ORDER BY id")).all()[1:] == [
            ("ada", "A"), ("bob", "B"), ("eve", "E"),
        ]  # fmt: skip
        assert connection.scalar(text("SELECT count(*) FROM contacts")) == len(rows["users"])
        url = database.url.render_as_string(hide_password=False)
    assert run_python(next_version, "-c", SAME_TABLES, url).stdout.strip() == "[]"

    newer = CliRunner().invoke(cli, ["ladder", "standings", str(old)])
    assert newer.exit_code == 2
    assert f"a newer version of the arena upgraded the database to schema {NEXT}" in newer.stderr
    with closing(restore_backup(backup, tmp_path / "again")) as restored_here:
        assert all_rows(restored_here.path) == rows
    assert all_rows(tmp_path / "newest") == rows
