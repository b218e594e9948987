"""Sign users up, in and out, by link, password or OpenID Connect, and manage their credentials.

On the account page users see their bots and create or revoke their credentials. OpenID Connect uses the code flow
with PKCE, a state and a nonce. The browser's response is compared with a signed cookie that lasts ten minutes. The
provider is asked only during a sign-in, within a time limit; while it is unreachable, links and passwords still
work."""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from typing import Annotated, Any, Literal

from authlib.integrations.base_client.errors import OAuthError as ClientError
from authlib.integrations.requests_client import OAuth2Session, OAuthError
from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from requests import RequestException

from arena.formatting import begin_sentence
from ladder import users
from ladder.bots import get_remaining_quota
from ladder.clock import DAY_S
from ladder.home import AccountPage, view_account
from ladder.ladder import Ladder
from ladder.settings import LadderError, OpenIDSettings
from ladder.store import Credential
from ladder.team_invitations import accept_invitation, form_team, invite_to_team, leave_own_team, preview_invitation
from ladder.view_context import ViewContext
from ladder.web.rendering import page_and_json, render_form
from ladder.web.request_context import (
    AuthorizedRoute,
    CurrentContext,
    HTTPError,
    RequestContext,
    RowId,
    client_network,
    safe_redirect_path,
)

sign_in_router = APIRouter(route_class=AuthorizedRoute, include_in_schema=False)


@sign_in_router.get("/sign-in")
def show(request: CurrentContext, link: str = "", then: str = "/") -> Response:
    """Show the sign-in page. A link is used up only by its button: mail programs open links by themselves."""
    return render_form(request, "sign_in.html", link=link, then=safe_redirect_path(then))


@sign_in_router.post("/sign-in")
def enter(request: CurrentContext, link: Annotated[str, Form()], then: Annotated[str, Form()] = "/") -> Response:
    """Sign in with a link, and redirect to `then`."""
    count_try(request, "sign in")
    return sign_in(request, then, lambda: users.sign_in_by_link(request.ladder, link.strip().rpartition("link=")[2]))


@sign_in_router.post("/sign-in/password")
def sign_in_with_password(
    request: CurrentContext,
    login: Annotated[str, Form()],
    password: Annotated[str, Form()],
    then: Annotated[str, Form()] = "/",
) -> Response:
    """Sign in with a login and its password, and redirect to `then`."""
    count_try(request, "sign in")
    known_login = users.find_login(request.ladder, login.strip())
    count_try(request, "password", known_login)
    return sign_in(request, then, lambda: users.sign_in_by_password(request.ladder, known_login, password), known_login)


@sign_in_router.get("/join")
def join(request: CurrentContext, link: str = "") -> Response:
    """Show the sign-up form of a link to join."""
    asks = _get_join_link(request, link).scope == users.APPROVAL_SCOPE
    return render_form(request, "join.html", link=link, asks=asks)


@sign_in_router.post("/join")
def sign_up(
    request: CurrentContext,
    link: Annotated[str, Form()],
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    email: Annotated[str, Form()] = "",
) -> Response:
    """Create an account, sign its user in, and redirect to the home page."""
    count_try(request, "sign in")
    _get_join_link(request, link)
    return _start_session(request, "/", users.create_account(request.ladder, link, login, name, email))


def _get_join_link(request: RequestContext, link: str) -> Credential:
    """Return the sign-up link with this secret. Raises HTTPError if it is unknown or has expired."""
    credential = users.find_join_link(request.ladder, link)
    if credential is None:
        raise HTTPError(404, "This join link is unknown or has expired. Ask the staff for another one.", request)
    return credential


@sign_in_router.post("/sign-out")
def leave(request: CurrentContext) -> Response:
    """Sign the user out."""
    if request.session is not None:
        users.sign_out(request.ladder, request.session)
    return request.delete_session_cookie(RedirectResponse("/", 303))


def sign_in(
    request: RequestContext, then: str, authenticate: Callable[[], users.IssuedSecret], login: str | None = None
) -> Response:
    """Sign in by `authenticate`, and redirect to `then`. A rejection is logged (for `login`) and raises HTTPError."""
    try:
        issued = authenticate()
    except users.AuthenticationError as error:
        users.log_failed_sign_in(request.ladder, str(error), login)
        raise HTTPError(403, f"{begin_sentence(str(error))}.", request) from None
    return _start_session(request, then, issued)


def _start_session(request: RequestContext, then: str, issued: users.IssuedSecret) -> Response:
    """Set a new session's cookie, end the browser's previous session, and redirect to `then`."""
    if request.session is not None:
        users.sign_out(request.ladder, request.session)
    return request.set_session_cookie(RedirectResponse(safe_redirect_path(then), 303), issued)


def count_try(request: RequestContext, kind: str, name: str | None = None) -> None:
    """Count a try by user, else by address; with `name` by address and name. Raises HTTPError if there are too many.

    kind: of TRIES_PER_MINUTE. Tries aren't counted by name alone: anybody could use up the tries of its owner.
    """
    sender = request.sender if name is None else f"{client_network(request.http)} {name}"
    wait_s = request.state.limits.count_try(kind, sender[:100])
    if wait_s:
        raise HTTPError(429, f"Too many attempts. Try again in {wait_s} s.", request, wait_s)


account_router = APIRouter(route_class=AuthorizedRoute)

ALWAYS_STALE_S = 1e-6  # credentials change without events: render the page each time


@page_and_json(account_router, "/account", "account.html", fresh_s=ALWAYS_STALE_S)
def account(ladder: Ladder, context: ViewContext) -> AccountPage | None:
    """Return the user's account, with bots, credentials and deadlines; None without a user."""
    return view_account(context, get_remaining_quota(ladder, context).deadlines)


@account_router.post("/account/tokens", include_in_schema=False)
def make_token(
    request: CurrentContext,
    scope: Annotated[Literal["read", "submit"], Form()],
    days: Annotated[int, Form(ge=1, le=365)],
) -> Response:
    """Create a token, and show it, only this once."""
    count_try(request, "account")
    login = request.actor
    issued = users.issue_secret(request.ladder, login, "token", login, scope, lasts_s=days * DAY_S)
    return render_form(request, "token.html", made=issued, url=request.state.url)


@account_router.post("/account/password", include_in_schema=False)
def change_password(
    request: CurrentContext,
    new: Annotated[str, Form()],
    current: Annotated[str, Form()] = "",
    tokens: Annotated[bool, Form()] = False,
    then: Annotated[str, Form()] = "/account?password=set",
) -> Response:
    """Set or change the password, as `users.set_password` does, and redirect to `then`."""
    count_try(request, "password")
    users.set_password(request.ladder, request.viewer, new, current, tokens)
    return RedirectResponse(safe_redirect_path(then), 303)


@account_router.post("/account/password/remove", include_in_schema=False)
def delete_password(request: CurrentContext, current: Annotated[str, Form()]) -> Response:
    """Remove the password."""
    count_try(request, "password")
    users.remove_password(request.ladder, request.viewer, current)
    return RedirectResponse("/account", 303)


@account_router.post("/account/name", include_in_schema=False)
def set_name_shown(request: CurrentContext, shows_name: Annotated[bool, Form()] = False) -> Response:
    """Store whether podiums may show the user's name."""
    users.set_shows_name(request.ladder, request.actor, shows_name)
    return RedirectResponse("/account", 303)


@account_router.get("/account/team", include_in_schema=False)
def show_invitation(request: CurrentContext, invitation: str) -> Response:
    """Show the team of an invitation, and the user's bots beyond its quota, with a button to join it."""
    team, surplus = preview_invitation(request.ladder, request.actor, invitation)
    return render_form(request, "invitation.html", team=team, invitation=invitation, surplus=surplus)


@account_router.post("/account/team", include_in_schema=False)
def change_team(
    request: CurrentContext,
    name: Annotated[str, Form(max_length=100)] = "",
    invitation: Annotated[str, Form(max_length=200)] = "",
    leave: Annotated[bool, Form()] = False,
) -> Response:
    """Form a team named `name`, join the team of an invitation, or leave a team without other members."""
    count_try(request, "account")
    if leave:
        leave_own_team(request.ladder, request.actor)
    elif invitation:
        accept_invitation(request.ladder, request.actor, invitation)
    else:
        form_team(request.ladder, request.actor, name)
    return RedirectResponse("/account", 303)


@account_router.post("/account/team/invitation", include_in_schema=False)
def make_invitation(request: CurrentContext) -> Response:
    """Create an invitation to the user's team, and show its link, only this once."""
    count_try(request, "account")
    made = invite_to_team(request.ladder, request.actor)
    address = f"{request.state.url}/account/team?invitation={made.secret}"
    return render_form(request, "join_link.html", made=made, address=address, asks=False)


@account_router.post("/account/credentials/{id}/revoke", include_in_schema=False)
def revoke(request: CurrentContext, id: RowId) -> Response:
    """Revoke one of the user's own credentials."""
    count_try(request, "account")
    login = request.actor
    users.revoke_credential(request.ladder, id, login, "revoked by its owner", login)
    return RedirectResponse("/account", 303)


openid_router = APIRouter(route_class=AuthorizedRoute, include_in_schema=False)

MAX_SIGN_IN_S = 600
PROVIDER_TIMEOUT_S = 5.0  # for each answer of the provider
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
_AWAY = "The provider's response is missing or invalid. Try again in a minute, or sign in with a link or a password."
_STALE = "This sign-in was started in another browser, or has expired. Start again on the sign-in page."


@openid_router.get("/sign-in/openid")
def start_provider_sign_in(request: CurrentContext, then: str = "/") -> Response:
    """Redirect to the provider, with a signed cookie that holds the state of this sign-in.

    Raises HTTPError if no provider is set, or it can't be reached.
    """
    count_try(request, "sign in")
    settings, secret = _get_provider(request)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    with _make_client(request, settings, secret) as client:
        endpoint = _fetch_discovery(request, client, settings)["authorization_endpoint"]
        address, _ = client.create_authorization_url(endpoint, state=state, nonce=nonce, code_verifier=verifier)
    response = RedirectResponse(address, 303, {"Cache-Control": "no-store"})
    values = {
        "state": state,
        "nonce": nonce,
        "verifier": verifier,
        "then": safe_redirect_path(then),
        "ends": request.ladder.clock() + MAX_SIGN_IN_S,
    }
    cookie, secure = _encode_cookie(values, secret), request.state.secure
    response.set_cookie(
        _cookie_name(request), cookie, max_age=MAX_SIGN_IN_S, secure=secure, httponly=True, samesite="lax"
    )
    return response


@openid_router.get("/sign-in/openid/callback")
def finish_provider_sign_in(request: CurrentContext, state: str = "", code: str = "", error: str = "") -> Response:
    """Handle the provider's callback: verify the state, fetch the user's identity, and sign them in.

    Raises HTTPError if the provider rejected the user, or a step fails.
    """
    count_try(request, "sign in")
    settings, secret = _get_provider(request)
    if error or not code:  # perhaps without a state
        raise HTTPError(403, "The provider rejected the sign-in. Start again on the sign-in page.", request)
    cookie_values = _get_cookie_values(request, state, secret)
    claims = _fetch_claims(request, settings, secret, code, cookie_values)
    email = str(claims.get("email") or "") if claims.get("email_verified") is True else None
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    response = sign_in(
        request, cookie_values["then"], lambda: users.sign_in_by_provider(request.ladder, issuer, subject, email)
    )
    response.delete_cookie(_cookie_name(request), secure=request.state.secure, httponly=True, samesite="lax")
    return response


def _get_cookie_values(request: RequestContext, state: str, secret: str) -> dict[str, Any]:
    """Return the values of the cookie of this browser's sign-in. Raises HTTPError unless it is that of this `state`."""
    values = _decode_cookie(request.http.cookies.get(_cookie_name(request), ""), secret)
    if values is None:
        raise HTTPError(403, _STALE, request)
    has_ended = values["ends"] < request.ladder.clock()
    if has_ended or not hmac.compare_digest(state.encode(), values["state"].encode()):
        raise HTTPError(403, _STALE, request)
    return values


def _get_provider(request: RequestContext) -> tuple[OpenIDSettings, str]:
    """Return the provider's settings of ladder.toml and the client secret. Raises HTTPError if they are missing."""
    settings = request.ladder.last_settings.sign_in
    if settings is None:
        raise HTTPError(404, "This ladder has no sign-in provider.", request)
    try:
        return settings, settings.secret(request.ladder.path)
    except LadderError:
        raise HTTPError(503, _AWAY, request) from None


def _make_client(request: RequestContext, settings: OpenIDSettings, secret: str) -> OAuth2Session:
    """Return a client of the provider, which the caller closes. secret: the client's."""
    client = OAuth2Session(
        settings.client_id,
        secret,
        scope="openid email profile",
        redirect_uri=f"{request.state.url}/sign-in/openid/callback",
        code_challenge_method="S256",
        default_timeout=PROVIDER_TIMEOUT_S,
    )
    client.trust_env = False  # no ~/.netrc
    return client


def _fetch_discovery(request: RequestContext, client: OAuth2Session, settings: OpenIDSettings) -> dict[str, Any]:
    """Return the provider's discovery document. Raises HTTPError if it is unavailable or invalid."""
    issuer = settings.issuer.rstrip("/")
    try:
        discovery = _get_json(client, f"{issuer}/.well-known/openid-configuration")
        if str(discovery["issuer"]).rstrip("/") != issuer:
            raise ValueError("it names another issuer")
        for key in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not str(discovery[key]).startswith(("https://", issuer)):
                raise ValueError(f"{key} isn't encrypted")
    except (RequestException, ValueError, KeyError):
        raise HTTPError(503, _AWAY, request, 60) from None
    return discovery


def _fetch_claims(
    request: RequestContext, settings: OpenIDSettings, secret: str, code: str, cookie_values: dict[str, Any]
) -> dict[str, Any]:
    """Exchange the code for an ID token, and return its verified claims, with those of userinfo.

    Raises HTTPError if the provider refuses or can't be reached, or a claim isn't valid.
    """
    with _make_client(request, settings, secret) as client:
        discovery = _fetch_discovery(request, client, settings)
        try:
            token = client.fetch_token(discovery["token_endpoint"], code=code, code_verifier=cookie_values["verifier"])
            jwks: Any = _get_json(client, discovery["jwks_uri"])
            keys = KeySet.import_key_set(jwks)
            claims = jwt.decode(token["id_token"], keys, algorithms=_ALGORITHMS).claims
            _validate_claims(claims, str(discovery["issuer"]), settings.client_id, cookie_values["nonce"])
            return _add_userinfo(client, discovery, claims)
        except (OAuthError, ClientError, JoseError, KeyError):
            raise HTTPError(403, _STALE, request) from None
        except (RequestException, ValueError, TypeError):
            raise HTTPError(503, _AWAY, request, 60) from None


def _add_userinfo(client: OAuth2Session, discovery: dict[str, Any], claims: dict[str, Any]) -> dict[str, Any]:
    """Return the claims of an ID token. If it lacks the email, add the claims of userinfo about the same subject."""
    if "userinfo_endpoint" not in discovery or {"email", "email_verified"} <= claims.keys():
        return claims
    userinfo = _get_json(client, discovery["userinfo_endpoint"], signed=True)
    return {**userinfo, **claims} if userinfo.get("sub") == claims["sub"] else claims


def _validate_claims(claims: dict[str, Any], issuer: str, client: str, nonce: str) -> None:
    """Raise JoseError unless an ID token is valid now, from this issuer, for this client and with this nonce."""
    jwt.JWTClaimsRegistry(
        leeway=60,
        iss={"essential": True, "value": issuer},
        aud={"essential": True, "value": client},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
        azp={"value": client},
    ).validate(claims)


def _get_json(client: OAuth2Session, url: str, signed: bool = False) -> dict[str, Any]:
    """Return the JSON object at a URL of the provider. signed: with the token.

    Raises RequestException, also for another status than success, or ValueError if it is no object.
    """
    response = client.get(url, withhold_token=not signed, timeout=PROVIDER_TIMEOUT_S, allow_redirects=False)
    response.raise_for_status()
    content = response.json()
    if not isinstance(content, dict):
        raise ValueError("no object")
    return content


def _cookie_name(request: RequestContext) -> str:
    return "__Host-openid" if request.state.secure else "openid"


def _encode_cookie(values: dict[str, Any], secret: str) -> str:
    text = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
    return f"{text}.{_sign(text, secret)}"


def _decode_cookie(value: str, secret: str) -> dict[str, Any] | None:
    """Return the data of a cookie made by `_encode_cookie`, None if its signature is wrong."""
    text, _, signature = value.partition(".")
    if not hmac.compare_digest(signature.encode(), _sign(text, secret).encode()):
        return None
    values: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text))
    return values


def _sign(text: str, secret: str) -> str:
    return hmac.new(secret.encode(), b"openid " + text.encode(), hashlib.sha256).hexdigest()
