"""`make attack`: attack the sandboxes of this host, and print a table of the results.

`python -m tests.red_team --box bubblewrap` attacks one of them. The exit code is 0 if all results are as expected, else
1. The next start removes what an interrupted one has left.
"""

import argparse
import sys
from contextlib import closing

from arena.checks import try_sandboxes
from arena.run import remove_leftovers
from arena.sandbox import SandboxChoice, scratch_folder
from tests.red_team.catalog import TIERS
from tests.red_team.suite import Result, attack, failures, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.red_team", description="Attack the sandboxes of this host.")
    parser.add_argument("--box", choices=TIERS, help="attack this one alone; else all that work")
    options = parser.parse_args()
    tried = try_sandboxes()
    if options.box and tried[options.box] is not None:
        say(f"the sandbox {options.box} doesn't work here: {tried[options.box]}")
        return 1
    names = [options.box] if options.box else [name for name, problem in tried.items() if problem is None]
    found: list[Result] = []
    say(f"attacking {', '.join(names)}: this takes some minutes")
    with scratch_folder() as scratch:
        for name in names:
            remove_leftovers(SandboxChoice(name))
        with closing(attack(names, scratch)) as results:
            for result in results:
                found.append(result)
                row = f"row {result.row}, " if result.row else ""
                say(f"{result.tier}: {row}{result.title}: {'' if result.ok else 'NOT EXPECTED: '}{result.seen}")
    print(table(found))
    return 1 if failures(found) else 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
