"""`make attack`: attack the sandboxes of this host, and print a table of the results.

`python -m tests.red_team --box bubblewrap` attacks one of them; `--json` prints one JSON list. The exit code is 0 if
all results are as expected, 1 if an attack succeeded unexpectedly, 130 if it was interrupted.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict

from arena.checks import try_sandboxes
from arena.run import remove_leftovers
from arena.sandbox import SandboxChoice, scratch_folder
from tests.red_team import TIERS, Result, attack, expected_results, failures, table


class Interruption:
    """A signal handler: the first signal lets the current attack finish, the next raises KeyboardInterrupt.

    A box that is being started at an unexpected exception would be lost and live on.
    """

    came = False

    def __call__(self, *_: object) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        os.write(2, b"\ninterrupted: this ends with the attack that is on, some seconds; again to end at once\n")

    def check(self) -> None:
        if self.came:
            raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.red_team", description="Attack the sandboxes of this host.")
    parser.add_argument("--box", choices=TIERS, help="attack this one alone; else all that work")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    options = parser.parse_args()
    tried = try_sandboxes()
    if options.box and tried[options.box] is not None:
        say(f"the sandbox {options.box} doesn't work here: {tried[options.box]}")
        return 1
    names = [options.box] if options.box else [name for name, problem in tried.items() if problem is None]
    found: list[Result] = []
    interrupted = False
    try:
        collect(names, found)
    except KeyboardInterrupt:
        interrupted = True
    if options.json:
        print(json.dumps([asdict(result) for result in found]))
    elif found:  # a table of nothing says nothing
        print(table(found))
    if interrupted:
        say("interrupted: " + ("the others weren't made" if found else "before the first attack"))
        return 130
    return 1 if failures(found) else 0


def collect(names: Sequence[str], found: list[Result]) -> None:
    """Attack these boxes; append and print each result at once.

    Raises KeyboardInterrupt between two attacks if a signal came.
    """
    interruption = Interruption()
    for number in (signal.SIGINT, signal.SIGTERM):  # a polite kill ends like Ctrl-C
        signal.signal(number, interruption)
    total = expected_results(names)
    say(f"attacking {', '.join(names)}: this takes some minutes")
    with scratch_folder() as scratch:
        for name in names:
            remove_leftovers(SandboxChoice(name))
        interruption.check()
        with closing(attack(names, scratch)) as results:
            for result in results:
                if not result.ok:  # Ctrl-C also reaches a program that is being started, and has no session yet
                    interruption.check()
                found.append(result)
                row = f"row {result.row}, " if result.row else ""
                count = f"{len(found)} of {total} attacks, {failures(found)} not as expected"
                say(f"{count}; {result.tier}: {row}{result.title}: {result.seen}")
                interruption.check()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
