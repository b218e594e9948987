"""Serve table sessions: pages to open, join and watch tables, and their chat, replays and lessons."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from arena.coup import make_rules_object
from arena.lessons import learn_page, puzzles_page
from arena.replay import replay_page, rules_page, table_page
from arena.review import review_in_process
from ladder.chat import ChatAction, ChatPage, limit_chat_mode, moderate_chat, view_chat, write_lobby_line
from ladder.ladder import Ladder
from ladder.settings import ChatMode, LadderError
from ladder.store import CLOSED, PROGRAM, TableSession
from ladder.table_pages import (
    PlayerList,
    TableList,
    TablePage,
    TableReplay,
    find_own_record,
    list_players,
    list_tables,
    view_table,
    view_table_replay,
)
from ladder.tables import (
    OpenedSession,
    OpenTableRequest,
    TableAccess,
    close_session,
    find_table_access,
    get_rules,
    is_invited,
    is_opened_by_guest,
    join_table,
    list_rulesets,
    name_inviter,
    open_session,
    quick_play,
    renew_invitation,
    renew_program_token,
    usual_seats,
)
from ladder.view_context import ViewContext
from ladder.web.rendering import json_response, page_and_json, render_form, static_document
from ladder.web.request_context import (
    AuthorizedRoute,
    CurrentContext,
    HTTPError,
    Reason,
    RequestContext,
    RowId,
    redirect_after,
)
from ladder.web.sign_in import ALWAYS_STALE_S, count_try

tables_router = APIRouter(route_class=AuthorizedRoute)

TABLES_PER_PAGE = 30
_NO_TABLE = "This table doesn't exist, or you need its invitation link."


@dataclass(frozen=True, slots=True)
class ProgramInvite:
    """The address at which a remote bot takes a slot of a table.

    name: the bot's, None if the slot has none. socket: a ws:// or wss:// URL. token: the slot's; None: use an account's
    token.
    """

    slot: int
    name: str | None
    socket: str
    token: str | None = None


@dataclass(frozen=True, slots=True)
class CreatedTable:
    """A new table. page: its path. program: the path of the socket for remote bots. invitation: the link for users.

    programs: the slots of remote bots; their tokens are shown only this once.
    """

    id: int
    page: str
    program: str | None
    invitation: str
    programs: tuple[ProgramInvite, ...]


@page_and_json(tables_router, "/tables", "tables.html", fresh_s=1)
def tables(ladder: Ladder, context: ViewContext, after: RowId | None = None) -> TableList:
    """Return the open tables, and thirty ended ones, from the one after table `after`."""
    return list_tables(context, after, TABLES_PER_PAGE)


@tables_router.get("/tables/new", include_in_schema=False)
def new(request: CurrentContext) -> Response:
    """Show the form that opens a table."""
    settings = request.ladder.last_settings.tables
    allowed_modes = [mode for mode in ChatMode if limit_chat_mode(mode, settings.chat) is mode]
    modes = [] if allowed_modes == [ChatMode.OFF] else allowed_modes  # without a choice the form doesn't ask
    return render_form(
        request, "new_table.html", rulesets=list_rulesets(request.ladder), modes=modes, pace=settings.pace
    )


@tables_router.post("/tables", include_in_schema=False)
def open_by_form(
    *,
    request: CurrentContext,
    rules: Annotated[str, Form(max_length=100)],
    games: Annotated[int, Form(ge=1, le=20)] = 1,
    move_time_s: Annotated[int, Form(ge=0, le=600)] = 0,
    is_public: Annotated[bool, Form()] = False,
    allow_spectators: Annotated[bool, Form()] = False,
    chat: Annotated[ChatMode, Form()] = ChatMode.OFF,
    pace: Annotated[Literal["slow", "normal", "fast", "instant"], Form()] = "normal",
) -> Response:
    """Open a table for its opener and free seats, and redirect to it: there the page sends the pace to the table."""
    count_try(request, "table")
    clock_s = max(5, move_time_s) if move_time_s else None  # 0: without a clock
    wanted = OpenTableRequest(
        rules=rules, games=games, move_time_s=clock_s, has_own_seat=True,
        user_seats=usual_seats(get_rules(request.ladder, rules)) - 1, allow_spectators=allow_spectators,
        is_public=is_public, starts_itself=False, chat=chat,
    )  # fmt: skip
    id = open_session(request.ladder, wanted, request.actor).session.id
    return RedirectResponse(f"/tables/{id}/play#{pace}", 303)


@tables_router.post("/tables/quick", include_in_schema=False)
def play_quickly(
    request: CurrentContext, name: Annotated[str, Form()] = "", invites: Annotated[bool, Form()] = False
) -> Response:
    """Join the oldest public table with a free seat, or open one with bots, or one for people; redirect to it."""
    count_try(request, "table")
    return _redirect_to_place(request, *quick_play(request.ladder, request.viewer.login, name.strip(), invites))


@tables_router.post("/api/tables", status_code=201)
def open_plain(request: CurrentContext, wanted: OpenTableRequest) -> CreatedTable:
    """Open a table. Its tokens are shown only this once."""
    count_try(request, "table")
    opened = open_session(request.ladder, wanted, request.actor)
    page = f"/tables/{opened.session.id}"
    programs = tuple(_make_program_invites(request, opened))
    return CreatedTable(
        id=opened.session.id,
        page=page,
        program=f"{page}/program" if programs else None,
        invitation=_make_invitation_link(request, opened.session),
        programs=programs,
    )


@tables_router.post("/api/tables/{id}/close", status_code=204)
def close_plain(request: CurrentContext, id: RowId) -> None:
    """End a table, if it is open."""
    close_session(request.ladder, id, request.viewer)


@page_and_json(tables_router, "/tables/players", "players.html")
def players(ladder: Ladder, context: ViewContext) -> PlayerList:
    """Return the users with finished games at tables: most wins first, then most games."""
    return list_players(context)


@page_and_json(tables_router, "/tables/chat", "chat.html", fresh_s=ALWAYS_STALE_S)
def chat(ladder: Ladder, context: ViewContext, table: RowId | None = None) -> ChatPage | None:
    """Return the newest lines of chat in the lobby; for staff, also those of a table.

    None for other viewers of a table.
    """
    if ladder.last_settings.tables.chat is ChatMode.OFF and not context.viewer.staff:
        return None
    return view_chat(context, table)


@tables_router.post("/tables/chat", include_in_schema=False)
def write_line(request: CurrentContext, text: Annotated[str, Form(max_length=2_000)] = "") -> Response:
    """Write a line in the lobby."""
    write_lobby_line(request.ladder, request.actor, text)
    return RedirectResponse("/tables/chat", 303)


@tables_router.post("/tables/chat/{line}", include_in_schema=False)
def moderate(request: CurrentContext, line: RowId, reason: Reason, action: Annotated[ChatAction, Form()]) -> Response:
    """Delete a line of chat, or mute or unmute its writer."""
    changed = moderate_chat(request.ladder, line, action, request.actor, reason)
    return redirect_after(request, changed, f"this applies to line {line}", "/tables/chat")


@page_and_json(tables_router, "/tables/{id}", "table.html", fresh_s=1)
def table(ladder: Ladder, context: ViewContext, id: RowId) -> TablePage | None:
    """Return a table with its players and ended matches, None if it doesn't exist."""
    return view_table(context, id)


@tables_router.get("/tables/{id}/join", include_in_schema=False)
def show_invitation(request: CurrentContext, id: RowId, link: str = "") -> Response:
    """Show the page of an invitation link. Joining requires a button: mail programs open links by themselves."""
    return _render_invitation(request, id, link)


def _render_invitation(request: RequestContext, id: int, link: str, name: str = "", problem: str = "") -> Response:
    """Return the page of an invitation link; after a rejected request, with its name and the problem.

    Raises HTTPError 404 without the table or the right link.
    """
    _require_invitation(request, id, link)
    access = find_table_access(request.ladder, id, request.viewer, None)
    if access is None:
        raise HTTPError(404, _NO_TABLE, request)
    return render_form(
        request,
        "join_table.html",
        400 if problem else 200,
        inviter=name_inviter(access.session),
        session=access.session,
        link=link,
        guests=request.ladder.last_settings.tables.allow_guests,
        name=name,
        problem=problem,
    )


@tables_router.post("/tables/{id}/join", include_in_schema=False)
def join(
    request: CurrentContext,
    id: RowId,
    link: Annotated[str, Form(max_length=100)] = "",
    name: Annotated[str, Form()] = "",
) -> Response:
    """Join a table, and redirect to it."""
    count_try(request, "table")
    _require_invitation(request, id, link)
    cookie = request.http.cookies.get(request.state.guest_cookie(id))
    access = find_table_access(request.ladder, id, request.viewer, cookie)
    if access is not None and access.slot is not None:
        return RedirectResponse(f"/tables/{id}/play", 303)
    try:
        secret = join_table(request.ladder, id, link, request.viewer.login, name.strip())
    except LadderError as error:
        return _render_invitation(request, id, link, name, " ".join(str(error).splitlines()))
    return _redirect_to_place(request, id, secret)


def _require_invitation(request: RequestContext, id: int, link: str) -> None:
    """Raise HTTPError 404 for viewers that may not read the ladder, unless they show the code of the table's link."""
    if not (request.can_read or is_invited(request.ladder, id, link)):
        raise HTTPError(404, _NO_TABLE, request)


def _redirect_to_place(request: RequestContext, id: int, secret: str | None) -> Response:
    """Redirect to a table, with a guest's new secret as a cookie."""
    response = RedirectResponse(f"/tables/{id}/play", 303)
    if secret is not None:
        request.set_guest_cookie(response, id, secret)
    return response


@tables_router.get("/tables/{id}/play", include_in_schema=False)
def play(request: CurrentContext, id: RowId, link: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Show the page on which to play at or watch a table. Viewers without access are redirected to its summary.

    link: the code of the invitation link, with which a spectator may take a free seat. Raises HTTPError 404 without
    the table.
    """
    guest_secret = request.http.cookies.get(request.state.guest_cookie(id))
    access = find_table_access(request.ladder, id, request.viewer, guest_secret)
    if access is None:
        raise HTTPError(404, "This table doesn't exist.", request)
    if access.session.status == CLOSED or not may_watch(request, access):
        return RedirectResponse(f"/tables/{id}", 303)
    headers = {"Content-Security-Policy": "frame-ancestors 'none'", "Cache-Control": "private, no-store"}
    return Response(_make_play_page(request, access, link), 200, headers, "text/html; charset=utf-8")


def _make_play_page(request: RequestContext, access: TableAccess, link: str) -> str:
    """Return the page on which to play at or watch a table, with what the viewer may do there. link: as in `play`."""
    session = access.session
    address = f"/tables/{session.id}"
    rules = get_rules(request.ladder, session.rules)
    is_opener = _is_opener(request, session)
    needs_no_link = session.is_public or is_opener
    code = _get_invitation_code(request, session) if needs_no_link else link
    can_invite = is_opener or (access.slot is not None and is_opened_by_guest(session))
    return table_page(
        rules.name,
        make_rules_object(rules),
        f"{address}/socket",
        home=(address, f"table {session.id}"),
        banner=request.state.banner,
        join=f"{address}/join?link={quote(code)}" if code else None,
        invitation=_make_invitation(request, session) if can_invite else None,
        reviews=request.viewer.login is not None,  # no replay shows a guest's cards
        rulesets=[asdict(ruleset) for ruleset in list_rulesets(request.ladder)] if is_opener else None,
    )


@tables_router.get("/rules/{name}", include_in_schema=False)
def rules(request: CurrentContext, name: str) -> Response:
    """Show the rules of a preset, or of the ladder."""
    rules_object = make_rules_object(get_rules(request.ladder, name))
    return static_document(request, lambda context: rules_page(rules_object, ("/tables", "Tables")))


@tables_router.get("/learn", include_in_schema=False)
def learn(request: CurrentContext) -> Response:
    """Show the lessons."""
    return static_document(request, lambda context: learn_page(("/tables", "Tables"), "/tables", "/puzzles"))


@tables_router.get("/puzzles", include_in_schema=False)
def puzzles(request: CurrentContext) -> Response:
    """Show the puzzles."""
    return static_document(request, lambda context: puzzles_page(("/learn", "Lessons")))


@tables_router.post("/tables/{id}/slots/{slot}/token", include_in_schema=False)
def replace_token(request: CurrentContext, id: RowId, slot: RowId) -> Response:
    """Replace the token of a remote bot's slot, and show the new one, only this once."""
    count_try(request, "table")
    token = renew_program_token(request.ladder, id, slot, request.viewer)
    access = find_table_access(request.ladder, id, request.viewer, None)
    assert access is not None, "a table with a token exists"
    invites = _make_program_invites(request, OpenedSession(access.session, {slot: token}))
    [renewed] = [invite for invite in invites if invite.slot == slot]
    return render_form(request, "program_token.html", id=id, invite=renewed)


@tables_router.post("/tables/{id}/invitation", include_in_schema=False)
def replace_invitation(request: CurrentContext, id: RowId) -> Response:
    """Replace the invitation link of a table, and redirect to the table, which shows it."""
    count_try(request, "table")
    renew_invitation(request.ladder, id, request.viewer)
    return RedirectResponse(f"/tables/{id}/play", 303)


@tables_router.post("/tables/{id}/close", include_in_schema=False)
def close(request: CurrentContext, id: RowId) -> Response:
    """End a table."""
    changed = close_session(request.ladder, id, request.viewer)
    return redirect_after(request, changed, f"table {id} has ended", f"/tables/{id}")


@tables_router.get("/tables/{id}/matches/{number}/replay", include_in_schema=False)
def replay(request: CurrentContext, id: RowId, number: RowId, review: bool = False) -> Response:
    """Return the replay of a match at a table as an HTML page, redacted for the viewer.

    review: whether it has a review of the viewer's own games.
    """
    if review:
        return _render_review(request, id, number)
    return static_document(request, lambda context: _replay_html(context, id, number))


@tables_router.get("/api/tables/{id}/matches/{number}/replay", response_model=TableReplay)
def replay_as_json(request: CurrentContext, id: RowId, number: RowId) -> Response:
    """Return the games of a match at a table, step by step, redacted for the viewer."""
    return json_response(request, TableReplay, lambda context: view_table_replay(context, id, number))


def _replay_html(
    context: ViewContext, id: int, number: int, review: dict[str, Any] | None = None, player: int | None = None
) -> str | None:
    """Return the page of a match, None without its replay. player: the index of the reviewed player, who is "you"."""
    view = view_table_replay(context, id, number)
    if view is None or view.replay is None:
        return None
    if player is not None:
        view.replay["bots"][player] = "you"
    title = f"Table {id}, match {number + 1}"
    return replay_page([view.replay], title, review=review, home=(f"/tables/{id}/play", "Back to the table"))


def _render_review(request: RequestContext, id: int, number: int) -> Response:
    """Return a match's replay with a review of the viewer's own games. A user has one review at a time.

    Raises HTTPError if the viewer didn't play, or other reviews run.
    """
    count_try(request, "review")
    with request.ladder.reading(request.viewer) as context:
        record_and_player = find_own_record(context, id, number)
    if record_and_player is None:
        raise HTTPError(404, "You didn't play in this match, or its record isn't kept.", request)
    record, player = record_and_player
    with request.state.reviews.admit(request.sender) as is_allowed:
        if not is_allowed:
            raise HTTPError(429, "Other games are being reviewed. Try again in a minute.", request, 60)
        review = review_in_process(record, player)
    with request.ladder.reading(request.viewer) as context:
        text = _replay_html(context, id, number, review, player)
    headers = {"Content-Security-Policy": "frame-ancestors 'self'", "Cache-Control": "private, no-store"}
    return Response(text, 200, headers, "text/html; charset=utf-8")


def _make_program_invites(request: RequestContext, opened: OpenedSession) -> list[ProgramInvite]:
    """Return the invite of each remote bot's slot, with the tokens that may be shown now."""
    socket = f"ws{request.state.url.removeprefix('http')}/tables/{opened.session.id}/program"
    slots = [slot for slot in opened.session.slots if slot.kind == PROGRAM]
    return [ProgramInvite(slot.number, slot.name, socket, opened.secrets.get(slot.number)) for slot in slots]


def _is_opener(request: RequestContext, session: TableSession) -> bool:
    """Return whether the viewer has opened a table, and may change it."""
    return request.viewer.can_write and request.viewer.login == session.login


def may_watch(request: RequestContext, access: TableAccess) -> bool:
    """Return whether a viewer may see a table's matches: a player, the opener, or a spectator."""
    can_spectate = access.session.allow_spectators and request.can_read
    return access.slot is not None or can_spectate or _is_opener(request, access.session)


def _get_invitation_code(request: RequestContext, session: TableSession) -> str:
    return request.ladder.invitation_code(session.id, session.renewals)


def _make_invitation_link(request: RequestContext, session: TableSession) -> str:
    return f"{request.state.url}/tables/{session.id}/join?link={_get_invitation_code(request, session)}"


def _make_invitation(request: RequestContext, session: TableSession) -> dict[str, str]:
    """Return the invitation link of a table, and its QR code as the address of an image."""
    import segno  # for one page only

    link = _make_invitation_link(request, session)
    return {"link": link, "code": segno.make(link, micro=False).svg_data_uri(border=4, omitsize=True, light="#fff")}
