"""The commands `arena ladder access ...`: links, tokens and sessions for people who haven't the ladder's file."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.decide import print_decision
from arena.cli.ladder.opening import BY, FOLDER, acting, ladder_at
from arena.cli.ladder.view import print_view
from arena.cli.ladder.words import when
from arena.cli.out import note, refuse, write
from ladder import views
from ladder.access import STAFF
from ladder.service import ASK, SCOPES, Decided, Issued, issue, revoke_credential

_DAY_S = 86_400.0


@click.group()
def access() -> None:
    """Let people in who haven't the ladder's file: by links for one sign-in, and by tokens for programs."""


@access.command("list")
@FOLDER
@click.option("--owner", "login", metavar="LOGIN", help="Those of one person.")
@answers(views.Credentials)
def list_access(folder: Path, login: str | None, as_json: bool) -> None:
    """List links, sessions, tokens and passwords; what they say is known to nobody."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        listed = views.credential_list(reader, login)
    print_view(listed, as_json)


@access.command("add")
@FOLDER
@click.argument("login", metavar="LOGIN")
@click.option("--kind", type=click.Choice(["link", "token", "join"]), default="link", help="What to make.  [link]")
@click.option("--scope", type=click.Choice(SCOPES), default="submit", help="What for: submit may read, too.  [submit]")
@click.option(
    "--days", type=click.FloatRange(0.01, 3650), metavar="N", help="For how long.  [link 1, join 14, token 180]"
)
@click.option("--ask", is_flag=True, help="With --kind join: staff approves each account.")
@BY
@answers(Issued)
def add_access(
    folder: Path, login: str, kind: str, scope: str, days: float | None, ask: bool, who: str, as_json: bool
) -> None:
    """Make a link for one sign-in, or a token for a program. Its secret is printed this once.

    --kind join is a link of the staff's by which any number of people sign up. With --ask they wait until staff
    approves them: arena ladder owners approve.
    """
    if ask and kind != "join":
        refuse("--ask is for --kind join.")
    with ladder_at(folder) as ladder:
        issued = issue(ladder, login, kind, who, ASK if ask else scope, None if days is None else days * _DAY_S)
        url = ladder.settings.pages.url
    if as_json:
        print_json(issued)
        return
    write(issued.secret)
    note(f"{kind} of {shown(login)}, number {issued.id}, until {when(issued.ends)}; it isn't shown again")
    if kind != "token":
        page = "join" if kind == "join" else "sign-in"
        note(f"{page.replace('-', ' ')}: {url or 'ADDRESS'}/{page}?link={issued.secret}")
        if url is None:
            note("ADDRESS is what arena ladder serve prints; set [pages] url in ladder.toml to have it here")


@access.command("revoke")
@FOLDER
@click.argument("id", metavar="NUMBER", type=click.IntRange(1))
@acting
@answers(Decided)
def revoke_access(folder: Path, id: int, who: str, why: str, as_json: bool) -> None:
    """Let a link, a session, a token or a password let nobody in any more, nor sessions that began by it."""
    with ladder_at(folder) as ladder:
        new = revoke_credential(ladder, id, who, why)
    print_decision(new, f"{id} lets nobody in", as_json)
