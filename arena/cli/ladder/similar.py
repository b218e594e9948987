"""The command `arena ladder similar`: which bots of different owners are alike in their sources. It accuses nobody."""

from itertools import zip_longest
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, complete_bots, ladder_at
from arena.cli.out import Column, counted, note, refuse, show, table
from ladder import views
from ladder.service import AT_LEAST, side_by_side
from ladder.service import similar as all_similar
from ladder.views import SideBySide, Similar

NO_PROOF = "It accuses nobody: what is alike is a reason to look at both, and no proof that anybody copied."


@click.command()
@FOLDER
@click.argument("versions", metavar="[ONE OTHER]", nargs=-1, shell_complete=complete_bots)
@click.option(
    "--at-least",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    default=AT_LEAST,
    help=f"List pairs of which one has so much of its own text in the other.  [{AT_LEAST:g}]",
)
@answers(views.Similar, views.SideBySide)
def similar(folder: Path, versions: tuple[str, ...], at_least: float, as_json: bool) -> None:
    """List which bots of different owners are alike, for staff: how much of each one's own text is in the other.

    Of each bot the version that plays is compared, else the newest fit. Names, strings, comments and layout don't
    matter; what kits, samples and reference bots hold doesn't count. With two versions (honest@3, or honest for its
    newest), their passages are shown beside each other. It accuses nobody.
    """
    if len(versions) not in (0, 2):
        refuse("name two versions, or none to compare all")
    with ladder_at(folder) as ladder:
        result = side_by_side(ladder, versions[0], versions[1]) if versions else all_similar(ladder, at_least)
    for line in result.unread:
        note(line)
    if as_json:
        print_json(result)
    elif isinstance(result, SideBySide):
        _show_passages(result)
    else:
        _show_pairs(result, folder)


def _show_pairs(result: Similar, folder: Path) -> None:
    columns = [Column("version", least=9), Column("owner", least=6), Column("in the\nother", number=True)]
    columns = [*columns, Column("lines", number=True)]
    rows = [
        tuple(
            cell
            for half in (pair.one, pair.other)
            for cell in (shown(half.version), shown(half.owner), f"{half.share:.0f} %", str(half.lines))
        )
        for pair in result.pairs or ()
    ]
    if rows:
        show(table([*columns, *columns], rows), "")
    show(f"{counted(len(rows), 'pair')} of {counted(result.versions, 'version')} with {result.at_least:g} % or more.")
    if rows:
        show(NO_PROOF, f"See two beside each other: arena ladder similar {folder} ONE OTHER")


def _show_passages(pair: SideBySide) -> None:
    halves = (pair.pair.one, pair.pair.other)
    for half in halves:
        show(f"{shown(half.version)} of {shown(half.owner)}: {half.share:.0f} %, {counted(half.lines, 'line')}")
    for passage in pair.passages:
        parts = (passage.one, passage.other)
        heads = [f"{shown(h.version)} {shown(p.file)}:{p.first}" for h, p in zip(halves, parts, strict=True)]
        sides = [[f"{n:4}{'|' if alike else ' '} {shown(line)}" for n, line, alike in p.numbered] for p in parts]
        show("", table([Column(head, least=20) for head in heads], list(zip_longest(*sides, fillvalue=""))))
    show("", f"{counted(len(pair.passages), 'passage')}{', of more' if pair.cut else ''}. {NO_PROOF}")
