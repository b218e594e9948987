"""The commands `arena ladder ...`, a module each."""

import click

from arena.cli.main import lazy_commands

COMMANDS = {
    "arena.cli.ladder.operations": {
        "init": "Make a ladder in a new folder.",
        "run": "Examine what is submitted, play, and rate.",
        "serve-tables": "Run the tables that users open on the pages.",
        "doctor": "Check a ladder, which may be running: disks, clock, sandbox.",
        "backup": "Write the whole ladder to one new FILE, a tar.",
        "restore": "Make a ladder in a new folder from a backup.",
    },
    "arena.cli.ladder.users": {
        "users": "List users, import a roster, merge and withdraw users.",
        "teams": "List teams, and change their members.",
        "access": "List, issue and revoke sign-in links and tokens.",
    },
    "arena.cli.ladder.bots": {
        "submit": "Submit a version of a bot: a file, a folder, a zip or a tar.",
        "similar": "List which bots' sources are alike.",
        "bot": "Print all about a bot: its versions, and why one doesn't play.",
        "queue": "Print what waits: versions for their examination, and matches.",
        "activate": "Let another accepted version of a bot play.",
        "disable": "Let no version of a bot play.",
        "freeze": "Let no rated match begin.",
        "suspend": "Let nothing of a person play, be submitted or count.",
        "void": "Take a match out of the ratings.",
        "challenge": "Ask for a match that doesn't rate.",
    },
    "arena.cli.ladder.serve": {
        "serve": "Serve its pages, and examine, play and rate beside them.",
        "export-site": "Write the public pages as static files.",
    },
    "arena.cli.ladder.results": {
        "standings": "Print the table: ranks and shares with 95 % intervals.",
        "match": "Print what is known of a match: its table, each game.",
        "matches": "List the last matches that ended, the newest first.",
        "log": "Print what a bot wrote to standard error in a match.",
        "events": "Print what happened, from an event on; --follow goes on.",
        "rerate": "Rebuild the table from all results, and compare.",
        "export": "Write all results, matches, versions and decisions as CSV.",
    },
    "arena.cli.ladder.grading": {
        "extend": "Extend a deadline for a user.",
        "final": "Create, show, reveal and export finals.",
        "grades": "Print, release and compare grades.",
    },
}


@click.group()
def ladder() -> None:
    """Keep a ladder: bots are submitted, examined, played and rated for as long as a term lasts."""


for command in lazy_commands(COMMANDS):
    ladder.add_command(command)
