"""Tests of signing in by OpenID Connect, with a real provider and its own pages."""

import base64
import hashlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from starlette.testclient import TestClient

from ladder.settings import LadderError, OpenIDSettings
from tests.ladder.term import Term
from tests.ladder.web.visitors import URL, Pages
from tests.ports import free_port

PEOPLE = {
    "1": {"email": "Ada@Example.org", "email_verified": True, "preferred_username": "ada"},
    "2": {"email": "bob@example.org", "email_verified": False, "preferred_username": "bob"},
    "3": {"email": "mallory@example.org", "email_verified": True, "preferred_username": "mallory"},
    "4": {"email": "eve@example.org", "email_verified": True, "preferred_username": "eve"},
    "5": {},
    "staff": {"preferred_username": "staff", "name": "staff"},
}


@contextmanager
def provided(*options: str) -> Iterator[str]:
    port = free_port()
    people = [f"--user-claims={json.dumps({'sub': sub, **claims})}" for sub, claims in PEOPLE.items()]
    words = [Path(sys.executable).parent / "oidc-provider-mock", "--port", str(port), *options, *people]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not answers(f"http://localhost:{port}"):
            assert process.poll() is None
            assert time.monotonic() < until
        yield f"http://localhost:{port}"
    finally:
        process.kill()
        process.wait(60)


def answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/.well-known/openid-configuration", timeout=5).ok
    except requests.RequestException:
        return False


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with provided() as url:
        yield url


@pytest.fixture
def web(web: Pages, own: Term) -> Pages:
    for login in ("ada", "bob", "eve"):
        own.arena("users add", login, "--email", f"{login}@example.org")
    return web


def use(own: Term, issuer: str, *more: str) -> None:
    lines = ["", "[sign_in]", f'issuer = "{issuer}"', 'client_id = "coup"', 'client_secret = "not for you"', *more, ""]
    with (own.path / "ladder.toml").open("a") as toml:
        toml.write("\n".join(lines))


def sent(web: Pages, then: str = "/") -> tuple[TestClient, str]:
    """Return a visitor that is redirected to the provider, and the address."""
    visitor = web.visitor("anonymous")
    del visitor.headers["Sec-Fetch-Site"]
    answered = visitor.get("/sign-in/openid", params={"then": then})
    assert answered.status_code == 303, answered.text
    return visitor, answered.headers["location"]


def back(to: str, sub: str) -> str:
    """Choose a person on the provider's page, and return the path to which it redirects the browser."""
    assert "<form" in requests.get(to, timeout=60).text
    answered = requests.post(to, data={"sub": sub}, timeout=60, allow_redirects=False)
    assert answered.headers["location"].startswith(URL), answered.text
    return answered.headers["location"].removeprefix(URL)


def test_a_provider_user_in_the_roster_is_signed_in(web: Pages, own: Term, provider: str) -> None:
    use(own, provider)
    assert "Sign in with localhost" in web.visitor("anonymous").get("/sign-in").text
    visitor, to = sent(web, "/bots/late")
    query = parse_qs(urlsplit(to).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [f"{URL}/sign-in/openid/callback"]
    came = visitor.get(back(to, "1"))
    assert (came.status_code, came.headers["location"]) == (303, "/bots/late")
    assert visitor.get("/api/account").json()["user"]["login"] == "ada"
    assert "openid" not in visitor.cookies


@pytest.mark.parametrize(
    ("sub", "why"),
    [
        ("2", "sent no verified email"),
        ("3", "no user in the roster has the email &#34;mallory@example.org&#34;"),
        ("4", "you are suspended: she shared her link"),
        ("staff", "sent no verified email"),
    ],
)
def test_a_refused_sign_in_has_a_reason(web: Pages, own: Term, provider: str, sub: str, why: str) -> None:
    """Only a verified email counts; names that a user chose there don't; unknown users are refused."""
    use(own, provider)
    visitor, to = sent(web)
    came = visitor.get(back(to, sub))
    assert came.status_code == 403
    assert why.casefold() in came.text.casefold(), came.text
    assert visitor.get("/account").status_code == 303
    assert "mallory" not in own.arena("users list").out


def test_a_sign_in_that_began_elsewhere_is_refused(web: Pages, own: Term, provider: str) -> None:
    """Tried with another state, another nonce, another cookie, and a used code."""
    use(own, provider)
    visitor, to = sent(web)
    path = back(to, "1")
    state = parse_qs(urlsplit(path).query)["state"][0]
    refused = [visitor.get(path.replace(state, "another")), web.visitor("anonymous").get(path)]
    other, _ = sent(web)
    refused.append(other.get(path))
    tampered, away = sent(web)
    nonce = parse_qs(urlsplit(away).query)["nonce"][0]
    refused.append(tampered.get(back(away.replace(nonce, "another"), "1")))
    forged = web.visitor("anonymous")
    forged.cookies.set("openid", visitor.cookies["openid"][:-1] + "x")
    refused.append(forged.get(path))
    assert visitor.get(path).status_code == 303
    again, elsewhere = sent(web)
    code = parse_qs(urlsplit(path).query)["code"][0]
    refused.append(again.get(back(elsewhere, "1").replace("code=", f"code={code}&unused=")))
    assert [answer.status_code for answer in refused] == [403] * 6
    assert all("in another browser, or has expired" in answer.text for answer in refused)


@contextmanager
def verify_pkce(provider: str, replaced: Mapping[str, bytes] = {}) -> Iterator[str]:
    """Put a proxy in front of a provider that verifies PKCE as RFC 7636 says in 4.5 and 4.6: the mock ignores it.

    replaced: bodies to answer with instead of the provider's, by path.
    """
    challenges: dict[str, str] = {}  # by the codes that were given for them

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.pass_on(b"")

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            form, asked = parse_qs(sent.decode()), parse_qs(urlsplit(self.path).query)
            if "code" in form:
                digest = hashlib.sha256(form.get("code_verifier", [""])[0].encode()).digest()
                if base64.urlsafe_b64encode(digest).decode().rstrip("=") != challenges.pop(form["code"][0], None):
                    self.answer(400, {"Content-Type": "application/json"}, b'{"error": "invalid_grant"}')
                    return
            code = parse_qs(urlsplit(self.pass_on(sent)).query).get("code", [""])[0]
            if asked.get("code_challenge_method") == ["S256"] and code:
                challenges[code] = asked["code_challenge"][0]

        def pass_on(self, sent: bytes) -> str:
            answered = requests.request(
                self.command, provider + self.path, data=sent, headers=dict(self.headers), allow_redirects=False
            )
            kept = {name: answered.headers[name] for name in ("Content-Type", "Location") if name in answered.headers}
            self.answer(answered.status_code, kept, replaced.get(urlsplit(self.path).path, answered.content))
            return kept.get("Location", "")

        def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("localhost", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join(20)


def test_a_code_needs_the_verifier_of_its_sign_in(web: Pages, own: Term, provider: str) -> None:
    """At a strict provider, a code for another challenge, or for none, is refused."""
    with verify_pkce(provider) as looking:
        use(own, looking)
        visitor, to = sent(web, "/bots/late")
        challenge = parse_qs(urlsplit(to).query)["code_challenge"][0]
        assert visitor.get(back(to, "1")).headers["location"] == "/bots/late"
        for change in (lambda own: challenge, lambda own: own[::-1], lambda own: ""):
            visitor, to = sent(web)
            own_one = parse_qs(urlsplit(to).query)["code_challenge"][0]
            came = visitor.get(back(to.replace(own_one, change(own_one)), "1"))
            assert (came.status_code, "Start again" in came.text) == (403, True)
            assert visitor.get("/account").status_code == 303


def test_an_answer_of_the_provider_that_is_no_object_is_its_failure(web: Pages, own: Term, provider: str) -> None:
    with verify_pkce(provider, {"/userinfo": b"[]"}) as looking:
        use(own, looking)
        visitor, to = sent(web)
        came = visitor.get(back(to, "5"))
        assert (came.status_code, "missing or invalid" in came.text) == (503, True)


def test_an_expired_sign_in_is_restarted(web: Pages, own: Term, provider: str) -> None:
    use(own, provider)
    visitor, to = sent(web)
    now = web.ladder.clock()
    web.ladder.clock = lambda: now + 601
    assert visitor.get(back(to, "1")).status_code == 403


def test_an_old_response_of_the_provider_is_refused(web: Pages, own: Term) -> None:
    with provided("--token-max-age=-100") as provider:
        use(own, provider)
        visitor, to = sent(web)
        assert visitor.get(back(to, "1")).status_code == 403


def test_declining_at_the_provider_shows_a_message(web: Pages, own: Term, provider: str) -> None:
    use(own, provider)
    visitor, to = sent(web)
    for state in ("", f"&state={parse_qs(urlsplit(to).query)['state'][0]}"):  # a provider may omit it
        answered = visitor.get(f"/sign-in/openid/callback?error=access_denied{state}")
        assert (answered.status_code, "rejected the sign-in" in answered.text) == (403, True)
        assert 'href="/sign-in">Sign in with another' in answered.text


def test_the_settings_page_shows_the_provider_without_the_secret(web: Pages, own: Term) -> None:
    assert web.visitor("staff").get("/admin/settings").status_code == 200  # without a provider
    use(own, "https://id.example.org")
    page = web.visitor("staff").get("/admin/settings").text
    assert "https://id.example.org" in page
    assert "not for you" not in page


def test_while_the_provider_is_away_links_let_in(web: Pages, own: Term) -> None:
    use(own, f"http://localhost:{free_port()}")
    answered = web.visitor("anonymous").get("/sign-in/openid")
    assert (answered.status_code, "sign in with a link or a password" in answered.text) == (503, True)
    assert web.visitor("ada").get("/account").status_code == 200


@pytest.mark.parametrize(
    "words",
    [
        'issuer = "http://id.example.org"\nclient_id = "c"\nclient_secret = "s"',
        'issuer = "https://id.example.org"\nclient_id = "c"',
        'issuer = "https://id.example.org"\nclient_id = "c"\nclient_secret = "s"\nclient_secret_file = "f"',
        'issuer = "https://id.example.org"\nclient_id = "c"\nclient_secret = "s"\nclaim = "preferred_username"',
    ],
)
def test_a_provider_is_encrypted_and_has_one_secret(own: Term, words: str) -> None:
    toml = own.path / "ladder.toml"
    toml.write_text(f"{toml.read_text()}\n[sign_in]\n{words}\n")
    assert "sign_in" in own.arena("standings", code=2).err


def test_a_secret_file_holds_the_secret_of_the_client(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("\ufeffnot for you\n")
    settings = OpenIDSettings(issuer="https://id.example.org", client_id="c", client_secret_file="secret")
    assert settings.secret(tmp_path) == "not for you"
    (tmp_path / "secret").unlink()
    with pytest.raises(LadderError, match="can't be read"):
        settings.secret(tmp_path)
