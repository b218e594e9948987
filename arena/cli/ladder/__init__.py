"""Define the group `arena ladder`: its commands, each of which is imported when it is called."""

import click

from arena.cli.main import lazy_commands

COMMANDS = {
    "arena.cli.ladder.operations": {
        "init": "Create a ladder in a new folder.",
        "run": "Check submissions, play matches and rate bots.",
        "serve": "Serve the pages, and run the ladder.",
        "export-site": "Write the public pages as static files.",
        "serve-tables": "Run the tables that users open on the pages.",
        "doctor": "Check the health of a ladder: disks, clock, sandbox, queue.",
        "backup": "Write the whole ladder to one new tar file.",
        "restore": "Restore a backup into a new folder.",
    },
    "arena.cli.ladder.users": {
        "users": "List users, import a roster, merge and withdraw users.",
        "teams": "List teams, and change their members.",
        "access": "List, issue and revoke sign-in links and tokens.",
    },
    "arena.cli.ladder.bots": {
        "submit": "Submit a version of a bot: a file, a folder, a zip or a tar.",
        "similar": "List bots with similar sources.",
        "bot": "Print a bot: versions, rank, faults, times and matches.",
        "queue": "List queued versions and matches.",
        "activate": "Activate another accepted version of a bot.",
        "disable": "Disable a bot.",
        "freeze": "Stop starting rated matches.",
        "suspend": "Suspend a user.",
        "void": "Exclude a match from the ratings.",
        "challenge": "Queue unrated matches against chosen bots.",
    },
    "arena.cli.ladder.results": {
        "standings": "Print the standings: ranks and win rates.",
        "match": "Print a match: its bots, each game, faults and times.",
        "matches": "List the latest finished matches.",
        "log": "Print a bot's standard error in a match.",
        "events": "Print events; --follow prints new ones, too.",
        "rerate": "Compute the standings from all results, and compare.",
        "export": "Write results, matches, versions and decisions as CSV.",
    },
    "arena.cli.ladder.grading": {
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
