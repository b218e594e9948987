"""The command `arena ladder mail`: a letter for each participant, which a mail program sends."""

import shlex
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.out import counted, note
from ladder.service import Letters, write_letters


@click.command()
@FOLDER
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), required=True, help="A new folder."
)
@click.option("--deadline", metavar="NAME", help="Tell of this deadline, with what stands for it.  [all to come]")
@click.option("--owner", "login", metavar="LOGIN", help="Write one person's letter.  [all]")
@click.option("--from", "sender", metavar="ADDRESS", help="Who writes.  [the mail program says]")
@click.option("--subject", metavar="TEXT", help="The line that a mailbox shows.  [Your bot on the ladder NAME]")
@answers(Letters)
def mail(
    folder: Path, out: Path, deadline: str | None, login: str | None, sender: str | None, subject: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Write a letter (.eml) for each participant: where his bots stand, faults with advice, and what to do next.

    It holds what he may see, and nothing of others. Nothing is sent: a mail program opens the files.
    """
    with ladder_at(folder) as ladder:
        letters = write_letters(ladder, out, deadline, login, sender, subject)
    if as_json:
        print_json(letters)
        return
    unknown = [shown(letter.file) for letter in letters.rows if letter.email is None]
    if unknown:
        note(f"no email is known, so these have no To: {', '.join(unknown)}")
    note(f"wrote {counted(len(letters.rows), 'letter')} into {out}; read one, and send them:")
    note(f'for f in {shlex.quote(str(out))}/*.eml; do sendmail -t < "$f"; done')
