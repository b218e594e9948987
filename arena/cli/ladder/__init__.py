"""The commands `arena ladder ...`, a module each."""

import click

from arena.cli.lazy import lazy_commands

COMMANDS = {
    "arena.cli.ladder.init": {"init": "Make a ladder in a new folder."},
    "arena.cli.ladder.owners": {"owners": "List the owners of bots, and import a roster."},
    "arena.cli.ladder.teams": {"teams": "Let people be in teams, and list them."},
    "arena.cli.ladder.submit": {"submit": "Submit a version of a bot: a file, a folder, a zip or a tar."},
    "arena.cli.ladder.run": {"run": "Examine what is submitted, play, and rate."},
    "arena.cli.ladder.serve": {"serve": "Serve its pages, and examine, play and rate beside them."},
    "arena.cli.ladder.tables": {"tables": "Play at the tables that people open on its pages."},
    "arena.cli.ladder.site": {"site": "Write what the public may read as files, for any web space."},
    "arena.cli.ladder.standings": {"standings": "Print the table: ranks and shares with 95 % intervals."},
    "arena.cli.ladder.similar": {"similar": "List which bots' sources are alike."},
    "arena.cli.ladder.doctor": {"doctor": "Check a ladder, which may be running: disks, clock, sandbox."},
    "arena.cli.ladder.bot": {"bot": "Print all about a bot: its versions, and why one doesn't play."},
    "arena.cli.ladder.match": {"match": "Print what is known of a match: its table, each game."},
    "arena.cli.ladder.matches": {"matches": "List the last matches that ended, the newest first."},
    "arena.cli.ladder.queue": {"queue": "Print what waits: versions for their examination, and matches."},
    "arena.cli.ladder.log": {"log": "Print what a bot wrote to standard error in a match."},
    "arena.cli.ladder.events": {"events": "Print what happened, from an event on; --follow goes on."},
    "arena.cli.ladder.access": {"access": "Let people in who haven't the ladder's file: links and tokens."},
    "arena.cli.ladder.decide": {
        "activate": "Let another fit version of a bot play.",
        "disable": "Let no version of a bot play.",
        "freeze": "Let no rated match begin.",
        "suspend": "Let nothing of a person play, be submitted or count.",
        "void": "Take a match out of the ratings.",
    },
    "arena.cli.ladder.extend": {"extend": "Give a person more time before a deadline."},
    "arena.cli.ladder.challenge": {"challenge": "Ask for a match that doesn't rate."},
    "arena.cli.ladder.rerate": {"rerate": "Rebuild the table from all results, and compare."},
    "arena.cli.ladder.export": {"export": "Write all results, matches, versions and decisions as CSV."},
    "arena.cli.ladder.backup": {
        "backup": "Write the whole ladder to one new FILE, a tar.",
        "restore": "Make a ladder in a new folder from a backup.",
    },
    "arena.cli.ladder.final": {"final": "Hold a final, or see one; without a NAME, list all."},
    "arena.cli.ladder.grades": {"grades": "Print grades as CSV: points for the baselines."},
}


@click.group()
def ladder() -> None:
    """Keep a ladder: bots are submitted, examined, played and rated for as long as a term lasts."""


for command in lazy_commands(COMMANDS):
    ladder.add_command(command)
