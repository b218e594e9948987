"""Lines that must not change unseen: each is changed in a copy of the tree, and its tests have to fail.

Usage: python -m tests.mutants [WORD ...]; of the mutants whose name holds one of the words. Exit code 1 if one survives.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORE, SERVICE, TESTS = "ladder/store/database", "ladder/service", "tests/ladder"
TWO = f"{TESTS}/store/test_two_of_everything.py"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: in a file, of a text that stands there once, and the tests that have to notice it."""

    name: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    Mutant(*row)
    for row in (
        ("a final's key", f"{STORE}/finals.py", ".where(finals.c.id == id).values(revealed=True)", ".values(revealed=True)", TWO),
        ("cancel what is leased", f"{STORE}/queue.py", "query = update(matches).where(matches.c.state == WAITING)", "query = update(matches).where(matches.c.state != ENDED)", TWO),
        ("bench by the first", f"{STORE}/results.py", ".order_by(match_bots.c.match.desc())", ".order_by(match_bots.c.match)", TWO),
        ("bench others", f"{STORE}/results.py", ".where(match_bots.c.version == version, matches.c.kind == RATED, matches.c.rates)", ".where(matches.c.kind == RATED, matches.c.rates)", TWO),
        ("runners of other machines", f"{STORE}/runners.py", "return is_here(runner) and _started", "return _started", TWO),
        ("submissions of others", f"{STORE}/versions.py", "bots.c.owner.in_(party), versions.c.at >= at", "versions.c.at >= at", TWO),
        ("challenges of others", f"{STORE}/queue.py", "theirs = and_(matches.c.by.in_(party), matches", "theirs = and_(matches", TWO),
        ("the day of challenges", f"{SERVICE}/challenge.py", "challenges_since(connection, party, now - now % DAY_S)", "challenges_since(connection, party, 0.0)", f"{TESTS}/service/test_quotas.py"),
        ("the day begins at midnight: challenges", f"{SERVICE}/challenge.py", "challenges_since(connection, party, now - now % DAY_S)", "challenges_since(connection, party, now - DAY_S)", f"{TESTS}/service/test_quotas.py"),
        ("the day begins at midnight", f"{SERVICE}/submit.py", "submitted_since(connection, party, now - now % DAY_S)", "submitted_since(connection, party, now - DAY_S)", f"{TESTS}/service/test_quotas.py"),
        ("an older version late", f"{STORE}/versions.py", "later = tuple_(versions.c.received, versions.c.number) > tuple_", "later = tuple_(versions.c.received, versions.c.number) < tuple_", f"{TESTS}/store/test_turns.py"),
        ("what staff decided", f"{STORE}/versions.py", "            acts.c.id > versions.c.act,\n            acts.c.who != LADDER,", "            acts.c.id > versions.c.act,\n            acts.c.who == LADDER,", f"{TESTS}/store/test_turns.py"),
        ("a challenge of a mate's", f"{SERVICE}/challenge.py", "(by, at) == (owner.id, now)", "at == now", f"{TESTS}/service/test_teams.py"),
        ("who was in a team meets nobody of it", f"{STORE}/teams.py", ".where(team_members.c.owner == bots.c.owner, _NOW)", ".where(team_members.c.owner == bots.c.owner)", f"{TESTS}/service/test_teams.py"),
        ("who left is a mate", f"{STORE}/teams.py", "query.where(_NOW, team_members", "query.where(team_members", f"{TESTS}/service/test_teams.py"),
        ("a final forgets its teams", f"{SERVICE}/finals.py", "return final.owners or owners_of(versions, teams=False)", "return owners_of(versions)", f"{TESTS}/service/test_teams.py"),
        ("a team meets in a match that comes back", f"{STORE}/queue.py", 'return "two of its table are of one owner or team" if', "return None if", f"{TESTS}/service/test_teams.py"),
        ("an exam decides alone", f"{SERVICE}/service.py", "plays = reason is None and is_newest(connection, this)", "plays = reason is None", f"{TESTS}/service/test_tasks.py"),
        ("a reference is benched", f"{SERVICE}/trials.py", "if found.reference or not found.active:", "if not found.active:", f"{TESTS}/service/test_suspects.py"),
        ("a lost answer: challenges", f"{SERVICE}/challenge.py", "ids, today = [id for id, by, at in asked if (by, at) == (owner.id, now)], len", "ids, today = list[int](), len", f"{TESTS}/service/test_lost_answers.py"),
        ("a lost answer: again", f"{STORE}/connection.py", "if not before or self._changes(connection) != old:", "if True:", f"{TESTS}/service/test_lost_answers.py"),
        ("a table twice", f"{STORE}/boards.py", "if seen > ended or (before, whole) == (day, data):", "if seen > ended:", f"{TESTS}/service/test_lost_answers.py"),
        ("an opponent's faults", "ladder/work/exam.py", "for fault in game.faults if fault.bot == 0]", "for fault in game.faults]", f"{TESTS}/service/test_exam.py"),
        ("best share in place of points", f"{SERVICE}/grades.py", "key=lambda grade: (grade.points, grade.share or 0.0)", "key=lambda grade: (grade.share or 0.0, grade.points)", f"{TESTS}/service/test_grades.py"),
        ("a final's grace", f"{SERVICE}/finals.py", "closes=now if due is None else due.closes", "closes=now if due is None else due.at.timestamp()", f"{TESTS}/service/test_grades.py"),
        ("a reference against itself", f"{SERVICE}/tasks.py", "if each.reference and each.bot != version.bot]", "if each.reference]", f"{TESTS}/service/test_tasks.py"),
        ("the balance twice", f"{SERVICE}/rounds.py", "            self._seen = match\n", "", f"{TESTS}/service/test_rounds.py"),
        ("the balance's last", f"{STORE}/queue.py", ".where(matches.c.id > match, matches.c.kind == kind)", ".where(matches.c.id >= match, matches.c.kind == kind)", f"{TESTS}/service/test_rounds.py"),
        ("slowest added up", "ladder/views/bot.py", "func.max(table.slowest_us)", "func.sum(table.slowest_us)", f"{TESTS}/service/test_pages.py"),
        ("who knows an examined card", "protocol/kits/coup_env.py", "self._note(seat, target, _KNOWN + role, 1)", "self._note(target, seat, _KNOWN + role, 1)", "tests/env"),
        ("a forced swap that others see", "protocol/kits/coup_env.py", "for other in range(len(self._seats)) if other not in told]", "for other in told]", "tests/env"),
        ("truncated in a draw", "arena/env/aec.py", "cut_off = game.drawn and seat in survivors", "cut_off = game.drawn", "tests/env"),
        ("truncated in a draw, parallel", "arena/env/parallel.py", "game.drawn and over is not None and seat in over.survivors", "game.drawn and over is not None", "tests/env"),
        ("a name of 64", "protocol/framing.py", "len(text) > NAME_LIMIT", "len(text) >= NAME_LIMIT", "tests/protocol tests/referee/test_exchange.py"),
        ("logins in acts", "ladder/views/lists.py", ".where(true() if logins else acts.c.owner.is_(None))", "", f"{TESTS}/service/test_privacy.py"),
        ("logins of those who decided", "ladder/views/lists.py", 'func.coalesce(owner, acts.c.who).label("who")', 'acts.c.who.label("who")', f"{TESTS}/service/test_privacy.py"),
        ("logins in versions", "ladder/views/lists.py", "owner = owners.c.login if logins else owners.c.pseudonym", "owner = owners.c.login", f"{TESTS}/service/test_privacy.py"),
        ("exports with names", f"{SERVICE}/export.py", "ladder.reading(STAFF if names else PUBLIC)", "ladder.reading(STAFF)", f"{TESTS}/service/test_privacy.py"),
        ("who decided, by login", "ladder/views/decision.py", "decider_name(reader, act.who)", "act.who", f"{TESTS}/service/test_privacy.py"),
        ("a match that has ended", f"{STORE}/results.py", "    if state == ENDED:\n        return False\n", "", f"{TESTS}/store"),
        ("a final among rated ones", f"{STORE}/results.py", "[matches.c.kind == kind] + ([] if final is None else [matches.c.final == final])", "[matches.c.kind == kind]", f"{TESTS}/service/test_final.py {TESTS}/service/test_grades.py"),
        ("void at a release", f"{STORE}/results.py", "acts.c.what.in_((\"void\", \"unvoid\")), acts.c.id <= act", "acts.c.what.in_((\"void\", \"unvoid\"))", f"{TESTS}/service/test_releases.py"),
        ("games at a release", f"{STORE}/results.py", "matches.c.cause == PLAYED, matches.c.ended <= moment.ended)", "matches.c.cause == PLAYED,)", f"{TESTS}/service/test_releases.py"),
        ("late days of the last deadline", f"{SERVICE}/due.py", "if deadline.name == before:", "if False:", f"{TESTS}/service/test_lateness.py"),
        ("later tinkering", f"{SERVICE}/due.py", "if each.owner not in done and each.received", "if each.received", f"{TESTS}/service/test_lateness.py"),
        ("the lease of another", f"{STORE}/leases.py", "table.c.id == id, table.c.runner == runner)", "table.c.id == id)", f"{TESTS}/store/test_runners.py"),
        ("a loss is an attempt", f"{STORE}/leases.py", "row.attempts + (cost is Cost.ATTEMPT)", "row.attempts + (cost is not Cost.NOTHING)", f"{TESTS}/service/test_suspects.py"),
        ("no space between attempts", f"{STORE}/queue.py", "matches.c.kind == kind, may_begin(matches, at))", "matches.c.kind == kind)", f"{TESTS}/service/test_suspects.py"),
        ("one death convicts", f"{STORE}/suspects.py", "    matches.c.cause == GIVEN_UP,\n", "", f"{TESTS}/service/test_suspects.py"),
        ("a rival is charged", f"{STORE}/suspects.py", ".where(or_(match_bots.c.version.in_(guilty), voids.c.match.not_in(explained)))", "", f"{TESTS}/service/test_suspects.py"),
        ("a trial's games count", f"{STORE}/results.py", '    if kind == TRIAL:\n        end(connection, match, "it was a trial, and no worker died", at)\n        return True\n', "", f"{TESTS}/service/test_suspects.py"),
        ("suspects play on", f"{SERVICE}/rounds.py", "            if version.id not in suspected\n", "", f"{TESTS}/service/test_rounds.py {TESTS}/service/test_suspects.py"),
        ("a revoked token", f"{SERVICE}/accounts.py", "if found.revoked:", "if False:", f"{TESTS}/service/test_accounts.py"),
        ("words in the order of answers", "arena/referee/talk.py", "return sorted((statement for place, statement in said if place >= first), key=lambda statement: statement.seat)", "return [statement for place, statement in said if place >= first]", "tests/referee/test_talk.py"),
        ("words after what came of them", "arena/referee/match.py", "(*notes.heard(), *events) if self.talk", "(*events, *notes.heard()) if self.talk", "tests/referee/test_talk.py"),
        ("talk without talk", "arena/referee/match.py", "self.talk = match.terms.rules.talk is not Talk.OFF", "self.talk = True", "tests/referee/test_talk.py"),
        ("words shift a draw", "arena/referee/match.py", "self.moment = state.events", "self.moment = self.notes.feed.count", "tests/referee/test_talk.py"),
        ("text that acts on a terminal", "arena/referee/talk.py", "if any(map(_acts, text)):", "if False:", "tests/referee/test_talk.py"),
        ("text of any length", "arena/referee/talk.py", "if not 1 <= len(text) <= TEXT_LIMIT:", "if not text:", "tests/referee/test_talk.py"),
        ("words about oneself", "arena/referee/talk.py", "if target == seat or not 0", "if not 0", "tests/referee/test_talk.py"),
        ("words about the dead", "arena/referee/talk.py", "return board.influence[target] > 0 or", "return True or", "tests/referee/test_talk.py"),
        ("recorded words unchecked", "arena/referee/record.py", "            check([statement", "            ([statement", "tests/referee/test_talk.py"),
        ("a text that ends its quotation", "protocol/words.py", "str(value).translate(_QUOTES)", "str(value)", "tests/protocol/test_words.py"),
        ("a key that is said", "sample_bots/llm/bot.py", "if text and not (self.key and self.key in text):", "if text:", "tests/sample_bots/test_llm.py"),
        ("hands that a bot could not know", "arena/tell/as_object.py", "hand if seat in own else [None] * len(hand)", "hand", "tests/tell"),
        ("answers that nobody was told", "arena/tell/as_object.py", "each.word if each.seat in own or moment.kind in _OPEN else None", "each.word", "tests/tell"),
        ("events of other seats", "arena/tell/as_object.py", "moment.payloads() if whole else _copies(moment, own)", "moment.payloads()", "tests/tell"),
        ("cards of others' bots", "ladder/views/replay.py", " if viewer.may(\"see a bot's cards\", owners.get(label))", "", f"{TESTS}/views/test_replay.py"),
        ("a sealed final's record", "ladder/views/replay.py", "line = find_match(reader.connection, id, reader.sealed)", "line = find_match(reader.connection, id)", f"{TESTS}/views/test_replay.py"),
        ("bluffs that a page can't tell", "arena/page/static/state.js", "now.hands[seat].includes(null) ? null : holds", "holds", "tests/page/test_modules.py"),
        ("a view that a page lacks", "arena/page/static/app.js", "if (!this.lookers.includes(this.state.seat)) [this.state.seat] = this.lookers;", "", "tests/page/test_browser.py"),
        ("all cards where the loser isn't", "arena/page/static/app.js", "return this.eyes === null ?", "return this.eyes === null || !bots.includes(this.eyes) ?", "tests/page/test_browser.py"),
        ("what others drew", "arena/page/static/view.js", "seat === null || seat === moment.actor ? role : null", "role", "tests/page/test_modules.py tests/page/test_browser.py"),
        ("hidden truth", "arena/page/static/details.js", "const truth = this.truth || likely === null;", "const truth = true;", "tests/page/test_browser.py"),
    )
]  # fmt: skip


def outcome(mutant: Mutant, tree: Path) -> str:
    """Return what became of a mutant: died, survived, or what is wrong with its row."""
    place = tree / mutant.file
    text = (ROOT / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        return f"stands {text.count(mutant.old)} times"
    place.write_text(text.replace(mutant.old, mutant.new))
    words = [
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not boxes and not clock and not long",
        *mutant.tests.split(),
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-P", *words], cwd=tree, capture_output=True, text=True, env=environment)
    place.write_text(text)
    if done.returncode not in (0, 1):
        return f"pytest ended with {done.returncode}: {done.stdout[-300:]}"
    return "died" if done.returncode else "SURVIVED"


def copy(tree: Path) -> Path:
    """Write what git tracks into a folder."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    return tree


def judged(mutants: list[Mutant], places: list[Path]) -> Iterator[tuple[Mutant, str]]:
    """Yield what became of each, in order; as many at a time as there are trees."""
    with ThreadPoolExecutor(len(places)) as pool:
        free = list(places)

        def judge(mutant: Mutant) -> str:
            tree = free.pop()
            try:
                return outcome(mutant, tree)
            finally:
                free.append(tree)

        yield from zip(mutants, pool.map(judge, mutants), strict=True)


def main() -> int:
    """Print a line a mutant."""
    wanted = [each for each in MUTANTS if not sys.argv[1:] or any(word in each.name for word in sys.argv[1:])]
    with tempfile.TemporaryDirectory() as folder:
        places = [copy(Path(folder, str(number))) for number in range(os.cpu_count() or 1)]
        alive = 0
        for mutant, became in judged(wanted, places):
            print(f"{became:10} {mutant.name:40} {mutant.file}", flush=True)
            alive += became != "died"
    print(f"{len(wanted) - alive} of {len(wanted)} died")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
