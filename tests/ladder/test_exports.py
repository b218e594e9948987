"""Tests of `export`: a ladder's matches and decisions as files, with names only on request."""

import csv
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from arena.referee import GameResult
from ladder.bot_pages import view_bot
from ladder.exports import export_ladder
from ladder.ladder import open_ladder
from ladder.permissions import STAFF_VIEWER
from ladder.store import all_results, all_users, match_results
from ladder.users import import_users, merge_users, parse_roster
from tests.documents import document
from tests.ladder.classes import look, make_ladder
from tests.ladder.small_ladder import play, small_ladder
from tests.ladder.term import Term


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_matches_and_decisions_are_written_as_files(own: Term, tmp_path: Path) -> None:
    """Each result is there once, with the versions that played; other matches have a reason."""
    own.arena("disable", "late", "--reason", "=1+1", "--by", "prof")
    out = tmp_path / "out"
    own.arena("export", "--out", out)
    results = [GameResult.from_line(line) for line in (out / "results.jsonl").read_text().splitlines()]
    matches = {int(row["match"]): row for row in rows(out / "matches.csv")}
    assert {result.match for result in results} == {id for id, row in matches.items() if row["outcome"] == "played"}
    with closing(open_ladder(own.path)) as ladder, ladder.database.read() as connection:
        for match in {result.match for result in results}:
            assert tuple(result for result in results if result.match == match) == match_results(connection, match)
    assert any(result.faults for result in results)
    versions = {(row["bot"], row["version"]): row for row in rows(out / "versions.csv")}
    assert versions["broken", "1"]["status"] == "rejected"
    assert versions["late", "1"]["owner"] == "pseudonym of ada"
    assert {f"{bot}@{number}" for bot, number in versions} >= {ref for result in results for ref in result.seats}
    acts = rows(out / "audit_log.csv")
    assert [(act["actor"], act["action"], act["bot"], act["version"], act["reason"]) for act in acts][-1] == (
        "prof", "disable", "late", "1", "'=1+1",
    )  # fmt: skip
    assert {row["bot"] for row in rows(out / "standings.csv")} == {"late", "one", "two"}
    assert not (out / "users.csv").exists()
    assert not any("Ada" in path.read_text() or ",ada," in path.read_text() for path in out.iterdir())


def test_names_are_written_where_they_are_asked_for(own: Term, tmp_path: Path) -> None:
    files = own.json("export", "--out", tmp_path / "out", "--show-logins")["items"]
    assert {Path(file).stat().st_mode & 0o777 for file in files} == {0o600}
    assert [Path(file).name for file in files] == [
        "results.jsonl", "matches.csv", "versions.csv", "audit_log.csv", "chat.csv", "users.csv",
        "standings.csv",
    ]  # fmt: skip
    assert {row["login"]: row["name"] for row in rows(tmp_path / "out" / "users.csv")}["ada"] == "Ada"
    assert {row["owner"] for row in rows(tmp_path / "out" / "versions.csv")} == {"ada", "bob", "staff"}


def test_another_ladder_imports_the_users_of_an_export(tmp_path: Path) -> None:
    """A new season starts like this, with the same login, name, pseudonym, section, email and number."""
    roster = b'login,name,section,email,number,staff\nada,Ada,A,ada@x.edu,7,no\nbob,"Bob, B.",,,,yes\n'
    output = []
    autumn = small_ladder(tmp_path / "autumn", None)
    with closing(make_ladder(tmp_path / "spring", "zed")) as old, closing(autumn) as new:
        import_users(old, parse_roster(roster, "roster.csv"), "staff", "roster.csv")
        merge_users(old, "zed", "ada", "staff", "one person")
        export_ladder(old, tmp_path / "out", names=True)
        owners = tmp_path / "out" / "users.csv"
        taken = import_users(new, parse_roster(owners.read_bytes(), owners.name), "staff", owners.name)
        assert taken.added == 2
        assert [remark.text for remark in taken.remarks] == ["columns that aren't imported: suspended, withdrawn"]
        for ladder in (old, new):
            output.append([replace(owner, id=0) for owner in ladder.database.read_with_retry(all_users)])
    assert output[0] == output[1]


def test_export_refuses_a_folder_with_files(term: Term, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    assert "isn't empty" in term.arena("export", "--out", tmp_path, code=2).err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_all_results_are_those_of_each_match(tmp_path: Path, url: str | None) -> None:
    with closing(small_ladder(tmp_path / "spring", url)) as ladder:
        played = play(ladder, 5)
        with ladder.database.read() as connection:
            found = list(all_results(connection))
            assert found == [result for match in sorted(played) for result in match_results(connection, match)]
        assert len(found) == 5 * ladder.play.match_games


def test_pages_and_decisions_are_the_same_in_both_databases(tmp_path: Path, url: str | None) -> None:
    with closing(small_ladder(tmp_path / "spring", url)) as ladder:
        played = play(ladder, 7)
        term = Term(ladder.path)
        pages = {name: look(ladder, STAFF_VIEWER, view_bot, name, max_matches=100) for name in ("one", "two", "three")}
        for name, page in pages.items():
            assert [line.id for line in page.recent_matches] == sorted(played, reverse=True) * (name != "three")
            sums = page.versions[0].rated_matches
            assert (sums.matches, sums.games) == (len(page.recent_matches), 2 * len(page.recent_matches))
            seats = [seat for line in page.recent_matches for seat in line.players if seat.version_ref == f"{name}@1"]
            assert sums.wins == sum(seat.wins for seat in seats)
        assert [line["id"] for line in term.json("matches", "--kind", "rated")["items"]] == sorted(played, reverse=True)
        asked = term.json("challenge", "one", "two", "--owner", "staff")["matches"]
        assert [line["id"] for line in term.json("matches", "--todo")["items"]] == asked
        assert term.json("rerate")["matches"] == 7
        term.arena("void", played[0], "--reason", "it was wrong")
        output = term.json("rerate")
        assert (output["same"], output["news"], output["matches"], output["games"]) == (None, -1, 6, 12)
        term.arena("disable", "three", "--reason", "enough")
        term.arena("rerate")
        assert {row["bot"] for row in term.json("standings")["items"]} == {"one", "two"}
        assert term.json("export", "--out", tmp_path / "out")


def test_the_documents_name_the_columns_of_an_export(own: Term, tmp_path: Path) -> None:
    files = own.json("export", "--out", tmp_path / "out", "--show-logins")["items"]
    columns = {Path(file).name: Path(file).read_text().partition("\n")[0].split(",") for file in files}
    page = document("docs/reference/events-and-exports.md")
    for name in ("matches.csv", "versions.csv", "audit_log.csv", "users.csv"):
        (listed,) = re.findall(rf"^(?:Columns of `{name}`:|\| `{name}` \|)((?:.+\n)+?)(?=\||\n|\Z)", page, re.MULTILINE)
        assert re.findall(r"`(\w+)`", listed) == columns[name]
    script = document("docs/howto/course/similarity.md")
    assert set(re.findall(r'row\["(\w+)"\]', script)) <= {*columns["versions.csv"]}
