"""Changes one small thing in a module at a time, and lists the changes that no test of `make test` notices.

Run `make mutants`, or `python -m tests.mutants --seed 7 --module clock`. Equal seeds draw equal changes of equal
sources. Each change is made in a copy of the files that git tracks; a test that hangs has noticed it.
"""

import argparse
import ast
import importlib.util
import itertools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SELECTED = "not boxes and not long and not clock"
# Module: its files.
FILES = {
    "referee": "arena/referee/process/{match,seat_poller,seat}.py arena/referee/faults.py",
    "clock": "arena/referee/process/clock.py",
    "judge": "arena/referee/process/judge.py",
    "knowledge": "arena/coup/knowledge.py",
    "permissions": "ladder/permissions.py",
    "grades": "ladder/grading/{baselines,grades,grading_inputs,gradebook,releases}.py",
    "finals": "ladder/grading/finals.py",
    "submissions": "ladder/bots/submissions.py ladder/activation.py",
    "accounts": "ladder/users/{credentials,sign_up,passwords}.py",
    "chat": "ladder/chat.py arena/tables/chat.py",
    "settings": "ladder/settings{,_forms}.py",
}
# Module: the tests that reach it, those that notice most first.
TESTS = {
    "referee": "referee/test_{examples,faults}.py referee/process/test_{seat_poller,seat}.py"
    " referee/test_{table_talk,own_time,sent_lines,bad_bots,visibility}.py local referee/process/test_clock.py"
    " ladder/grading/test_one_number.py checks/test_mistakes.py",
    "clock": "referee/process/test_{meter,clock,seat_poller,seat}.py referee/test_{own_time,examples,faults}.py",
    "judge": "referee/process/test_{judge,seat_poller}.py"
    " referee/test_{examples,faults,table_talk,own_time,bad_bots}.py",
    "knowledge": "coup referee/test_{visibility,examples}.py",
    "permissions": "ladder/test_{permissions,answers,replay,step,chat}.py ladder/users ladder/grading/test_grades.py"
    " ladder/web/test_gate.py",
    "grades": "ladder/grading ladder/test_deadlines.py ladder/users/test_roster.py",
    "finals": "ladder/grading ladder/test_{deadlines,round_queue,ladder}.py ladder/web/test_admin.py",
    "submissions": "ladder/bots/test_{submissions,quotas}.py ladder/users/test_{users,teams,sign_up}.py"
    " ladder/test_{activation,deadlines,ladder}.py ladder/grading/test_lateness.py ladder/web/test_submissions.py",
    "accounts": "ladder/users/test_{credentials,sign_up,users,teams}.py ladder/test_lost_answers.py"
    " ladder/web/test_{home,join,passwords}.py",
    "chat": "ladder/test_chat.py tables/test_{chat,table}.py ladder/web/test_chat.py",
    "settings": "ladder/test_{settings,operation,deadlines,lost_answers}.py ladder/grading/test_grades.py"
    " ladder/web/test_{course,admin,openid}.py test_docs.py",
}
SWAPS = {"<": "<=", ">": ">=", "==": "!=", "is": "is not", "in": "not in", "and": "or", "+": "-", "True": "False"}
SWAPS |= {after: before for before, after in SWAPS.items()}
SWAPPED = re.compile(rb"is\s+not\b|not\s+in\b|[<>=!]=|[<>+-]|\b(?:is|in|and|or)\b")
UNREAD = {"annotation", "returns", "decorator_list"}  # fields of a node that do nothing while a function runs


def expand(patterns: str, folder: str = "") -> list[str]:
    """Write out the braces of space-separated paths. Raises FileNotFoundError: pytest's error would count as found."""
    parts = (re.split(r"\{(.*?)\}", folder + pattern) for pattern in patterns.split())
    paths = ["".join(path) for part in parts for path in itertools.product(*(text.split(",") for text in part))]
    for path in paths:
        (ROOT / path).stat()
    return paths


def changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | None, str]]:
    """List what may change: two nodes with a word to swap between them, or one and its new text ("": without `not`)."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in UNREAD and getattr(child, "arg", "") != "strict":
                yield from changes(child)
    match node:
        case ast.Compare():
            yield from ((left, right, "") for left, right in itertools.pairwise([node.left, *node.comparators]))
        case ast.BoolOp():
            yield from ((left, right, "") for left, right in itertools.pairwise(node.values))
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield node.left, node.right, ""
        case ast.UnaryOp(op=ast.Not()):
            yield node, None, ""
        case ast.Constant(value=bool()):
            yield node, None, SWAPS[str(node.value)]
        case ast.Constant(value=int()):
            yield node, None, str(node.value + 1)
        case ast.Return() | ast.Raise():
            yield node, None, "pass"


def mutants(module: str) -> Iterator[tuple[str, str, bytes]]:
    """List all small changes of a module: its file, what is printed, the new content."""
    for path in expand(FILES[module]):
        source = (ROOT / path).read_bytes()
        starts = [0, *itertools.accumulate(len(line) for line in source.splitlines(keepends=True))]
        for first, second, text in changes(ast.parse(source)):
            start, end = (
                starts[first.lineno - 1] + first.col_offset,
                starts[first.end_lineno - 1] + first.end_col_offset,
            )
            if second is not None:
                word = SWAPPED.search(source, end, starts[second.lineno - 1] + second.col_offset)
                start, end, text = *word.span(), SWAPS[" ".join(word[0].decode().split())]
            elif text == "":
                end = start + len("not")
            line, last = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end)
            before, after = source[line:last], source[line:start] + text.encode() + source[end:last]
            shown = " -> ".join(" ".join(lines.decode().split()) for lines in (before, after))
            number = source.count(b"\n", 0, start) + 1
            yield path, f"{path}:{number}: {shown}", source[:line] + after + source[last:]


def write(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    # The length and the time in whole seconds may be those of the last content.
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def passes(tree: Path, module: str, timeout: float) -> bool:
    """Run a module's tests in a copy of the tree, until one fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-m", SELECTED, *expand(TESTS[module], "tests/")]
    env = os.environ | {"PYTHONPATH": str(tree)}
    with subprocess.Popen(command, cwd=tree, env=env, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            return process.wait(timeout) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="which changes (default: by chance)")
    parser.add_argument("--count", type=int, default=60, help="how many, equally many in each module (default: 60)")
    parser.add_argument("--module", choices=FILES, help="only in this module")
    options = parser.parse_args()
    draw, modules = random.Random(options.seed), [options.module] if options.module else list(FILES)
    shares = Counter(itertools.islice(itertools.cycle(draw.sample(modules, len(modules))), options.count))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    survivors = []
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["xargs", "-0", "cp", "--parents", "-t", folder], cwd=ROOT, check=True, input=files)
        for module in modules:
            began, pool = time.monotonic(), list(mutants(module))
            if not passes(Path(folder), module, 1200):
                sys.exit(f"the tests of {module} fail without a change")
            allowed = 60 + 3 * (time.monotonic() - began)
            for path, change, content in draw.sample(pool, min(shares[module], len(pool))):
                write(Path(folder, path), content)
                if passes(Path(folder), module, allowed):
                    survivors.append(change)
                    print(change, flush=True)
                write(Path(folder, path), (ROOT / path).read_bytes())
    print(f"{len(survivors)} of {sum(shares.values())} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
