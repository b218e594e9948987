"""Define the group `arena ladder`: its commands, each of which is imported when it is called."""

import click

from arena.cli.main import lazy_commands

COMMANDS = {
    "ladder.cli.operations": {
        "init": "Create a ladder in a new folder.",
        "run": "Check submissions, play matches and rate bots.",
        "serve": "Serve the web pages and run the ladder.",
        "export-site": "Export the public pages as static files.",
        "serve-tables": "Serve live tables without the web pages.",
        "doctor": "Check a ladder's health: disks, clock, sandbox, queue.",
        "backup": "Back up the ladder to a tar file.",
        "restore": "Restore a ladder from a backup.",
        "upgrade": "Upgrade the ladder's database for this version of the arena.",
    },
    "ladder.cli.users": {
        "users": "List, import, merge and withdraw users.",
        "teams": "List teams and change their members.",
        "access": "Manage sign-in links, API tokens and sessions.",
    },
    "ladder.cli.bots": {
        "submit": "Submit a version of a bot, or bots of many users.",
        "similar": "List bots of different owners with similar source code.",
        "bot": "Show a bot: versions, rank, faults, times and matches.",
        "queue": "List pending checks and matches.",
        "activate": "Activate another accepted version of a bot.",
        "disable": "Disable a bot.",
        "freeze": "Stop starting rated matches.",
        "suspend": "Suspend a user.",
        "void": "Exclude a match from the ratings.",
        "challenge": "Queue unrated matches against chosen opponents.",
    },
    "ladder.cli.results": {
        "standings": "Print the standings: ranks and win rates.",
        "match": "Show a match: its bots, games, faults and times.",
        "matches": "List recent matches.",
        "log": "Print a bot's standard error from a match.",
        "events": "Print the event log; --follow also prints new events.",
        "rerate": "Recompute the standings from all results.",
        "export": "Export results, matches, versions and the audit log.",
    },
    "ladder.cli.grading": {
        "extend": "Extend a deadline for a user.",
        "final": "Create, show, reveal and export finals.",
        "grades": "Print, release and compare grades.",
    },
}


@click.group()
def ladder() -> None:
    """Run a ladder, which checks, plays and rates submitted bots over a term."""


for command in lazy_commands(COMMANDS):
    ladder.add_command(command)
