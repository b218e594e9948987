"""Signing in by a provider of OpenID Connect: the code flow, with PKCE, a state and a nonce.

What the browser brings back is compared with a cookie, which is signed and lasts ten minutes. The provider is asked
when somebody signs in, within a time limit; while it is away, links and passwords let in as ever.
"""

import base64
import hashlib
import hmac
import json
import secrets
from typing import Any

from authlib.integrations.base_client.errors import OAuthError as ClientError
from authlib.integrations.requests_client import OAuth2Session, OAuthError
from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from requests import RequestException

from ladder.service import LadderError, SignIn, sign_in_as
from ladder.web.forms import Visited
from ladder.web.sign_in import count_try, let_in
from ladder.web.visit import RefusedError, Visit, local

router = APIRouter(include_in_schema=False)

LASTS_S = 600
WAIT_S = 5.0  # for each answer of the provider
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
_AWAY = "The provider doesn't answer as it should. Try again in a minute, or come in with a link or a password."
_STALE = "This sign-in was begun elsewhere, or too long ago. Begin it again on the page for signing in."


@router.get("/sign-in/openid")
def begin(visit: Visited, then: str = "/") -> Response:
    """Send the browser to the provider."""
    count_try(visit, "sign in")
    settings, secret = _provider(visit)
    kept = {word: secrets.token_urlsafe(32) for word in ("state", "nonce", "verifier")}
    with _client(visit, settings, secret) as client:
        to, _ = client.create_authorization_url(
            _discovery(visit, client, settings)["authorization_endpoint"],
            state=kept["state"],
            nonce=kept["nonce"],
            code_verifier=kept["verifier"],
        )
    response = RedirectResponse(to, 303, {"Cache-Control": "no-store"})
    value = _sign({**kept, "then": local(then), "ends": visit.ladder.clock() + LASTS_S}, secret)
    response.set_cookie(_cookie(visit), value, max_age=LASTS_S, secure=visit.door.secure, httponly=True, samesite="lax")
    return response


@router.get("/sign-in/openid/callback")
def end(visit: Visited, state: str = "", code: str = "", error: str = "") -> Response:
    """Take what the provider sent the browser back with, ask it who that is, and let the person in."""
    count_try(visit, "sign in")
    settings, secret = _provider(visit)
    kept = _read(visit.request.cookies.get(_cookie(visit), ""), secret)
    if (
        kept is None
        or kept["ends"] < visit.ladder.clock()
        or not hmac.compare_digest(state.encode(), kept["state"].encode())
    ):
        raise RefusedError(403, _STALE, visit)
    if error or not code:
        raise RefusedError(403, "The provider didn't let you in. Begin again on the page for signing in.", visit)
    claims = _claims(visit, settings, secret, code, kept)
    email = str(claims.get("email") or "") if claims.get("email_verified") is True else None
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    response = let_in(visit, kept["then"], lambda: sign_in_as(visit.ladder, issuer, subject, email))
    response.delete_cookie(_cookie(visit), secure=visit.door.secure, httponly=True, samesite="lax")
    return response


def _provider(visit: Visit) -> tuple[SignIn, str]:
    """Return the provider that ladder.toml names, and the client's secret. Raises RefusedError."""
    settings = visit.ladder.last_settings.sign_in
    if settings is None:
        raise RefusedError(404, "This ladder has no provider to sign in at.", visit)
    try:
        return settings, settings.secret(visit.ladder.path)
    except LadderError:
        raise RefusedError(503, _AWAY, visit) from None


def _client(visit: Visit, settings: SignIn, secret: str) -> Any:
    client = OAuth2Session(
        settings.client_id,
        secret,
        scope="openid email profile",
        redirect_uri=f"{visit.door.url}/sign-in/openid/callback",
        code_challenge_method="S256",
        default_timeout=WAIT_S,
    )
    client.trust_env = False  # no ~/.netrc
    return client


def _discovery(visit: Visit, client: Any, settings: SignIn) -> dict[str, Any]:
    """Return what the provider says of itself. Raises RefusedError."""
    issuer = settings.issuer.rstrip("/")
    try:
        discovery: dict[str, Any] = _json(client, f"{issuer}/.well-known/openid-configuration")
        if str(discovery["issuer"]).rstrip("/") != issuer:
            raise ValueError("another's")
        for word in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not str(discovery[word]).startswith(("https://", issuer)):
                raise ValueError("not encrypted")
    except (RequestException, ValueError, KeyError, TypeError):
        raise RefusedError(503, _AWAY, visit, 60) from None
    return discovery


def _claims(visit: Visit, settings: SignIn, secret: str, code: str, kept: dict[str, Any]) -> dict[str, Any]:
    """Return what the provider says of who signed in there. Raises RefusedError."""
    with _client(visit, settings, secret) as client:
        discovery = _discovery(visit, client, settings)
        try:
            token = client.fetch_token(discovery["token_endpoint"], code=code, code_verifier=kept["verifier"])
            keys = KeySet.import_key_set(_json(client, discovery["jwks_uri"]))
            claims = jwt.decode(token["id_token"], keys, algorithms=_ALGORITHMS).claims
            _check(claims, str(discovery["issuer"]), settings.client_id, kept["nonce"])
            if "userinfo_endpoint" in discovery and not {"email", "email_verified"} <= claims.keys():
                more = _json(client, discovery["userinfo_endpoint"], signed=True)
                claims = {**more, **claims} if more.get("sub") == claims["sub"] else claims
        except (OAuthError, ClientError, JoseError, KeyError):
            raise RefusedError(403, _STALE, visit) from None
        except (RequestException, ValueError, TypeError):
            raise RefusedError(503, _AWAY, visit, 60) from None
    return claims


def _check(claims: dict[str, Any], issuer: str, client: str, nonce: str) -> None:
    """Raise JoseError for an ID token that isn't for this client, of this issuer, now, and of this sign-in."""
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


def _json(client: Any, url: str, signed: bool = False) -> Any:
    answered = client.get(url, withhold_token=not signed, timeout=WAIT_S, allow_redirects=False)
    answered.raise_for_status()
    return answered.json()


def _cookie(visit: Visit) -> str:
    return "__Host-openid" if visit.door.secure else "openid"


def _sign(kept: dict[str, Any], secret: str) -> str:
    text = base64.urlsafe_b64encode(json.dumps(kept).encode()).decode()
    return f"{text}.{_mark(text, secret)}"


def _read(value: str, secret: str) -> dict[str, Any] | None:
    """Return what a cookie says that this ladder signed, None for any other."""
    text, _, mark = value.partition(".")
    if not hmac.compare_digest(mark.encode(), _mark(text, secret).encode()):
        return None
    data: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text))
    return data


def _mark(text: str, secret: str) -> str:
    return hmac.new(secret.encode(), b"openid " + text.encode(), hashlib.sha256).hexdigest()
