"""What Gradescope reads of an autograder: results.json, made from the steps of an examination.

Source: gradescope-autograders.readthedocs.io, Autograder Specifications, Output format.
"""

import json
from collections.abc import Sequence

import click

from arena.cli.findings import has_failure, step_lines, verdict_line
from arena.examine import Step


def results(bot: str, steps: Sequence[Step]) -> str:
    """Return JSON: 1 point for a bot that can play, else none, and each step as a test that passed or failed."""
    return json.dumps(
        {
            "score": 0.0 if has_failure(steps) else 1.0,
            "output": click.unstyle(verdict_line(bot, steps)),
            "visibility": "visible",
            "tests": [
                {
                    "number": str(step.number),
                    "name": step.what,
                    "status": "failed" if has_failure([step]) else "passed",
                    "output": click.unstyle("\n".join(step_lines(step.view()))),
                }
                for step in steps
            ],
        },
        indent=1,
    )
