"""Run all harmless checks, and print one line {"check", "outcome"} for each.

usage: probes.py GROUP...        groups: processes, storage, isolation

The first line of standard input is a JSON object that names the targets: pids, ports, sockets and files outside of the
box. The last line of output is {"check": "done"}.
"""

# mypy: disable-error-code="import-not-found, no-any-return"
# (A box holds this folder alone, so its files import each other by their bare names.)

from __future__ import annotations

import json
import os
import sys

import calls
import isolation
import processes
import storage

GROUPS = {"processes": processes.checks, "storage": storage.checks, "isolation": isolation.checks}


def main() -> None:
    inherited = sorted(set(os.listdir("/proc/self/fd"))) if os.path.isdir("/proc/self/fd") else []
    calls.refuse_privileges()
    targets = json.loads(sys.stdin.buffer.readline())
    # The listing's own descriptor is closed by now.
    extra = [name for name in inherited if int(name) > 2 and os.path.lexists(f"/proc/self/fd/{name}")]
    if "isolation" in sys.argv[1:]:
        calls.say("49.descriptors", f"{calls.OPEN} {' '.join(extra)}" if extra else calls.ABSENT)
    for group in sys.argv[1:]:
        for name, check in GROUPS[group](targets):
            calls.attempt(name, check)
    calls.say("done", "done")


if __name__ == "__main__":
    main()
