"""Tests of the token file of `arena submit` and `arena connect`."""

from tests.cli_workspace import Place


def test_a_token_file_of_an_unknown_home_folder_is_only_missing(place: Place) -> None:
    """A container's user may have no home folder."""
    ran = place.run("submit", "http://127.0.0.1:1", place.bots(1)[0], ARENA_TOKEN_FILE="~no-such-user/token")
    assert (ran.code, "~no-such-user/token doesn't exist" in ran.err) == (2, True), ran.err


def test_the_account_page_is_that_of_the_server(place: Place) -> None:
    ran = place.run("connect", "http://127.0.0.1:1/tables/7/program", "cat", "--token-file", "gone")
    assert "your account page, http://127.0.0.1:1/account, and" in ran.err


def test_a_token_file_may_begin_with_a_byte_order_mark(place: Place) -> None:
    """Editors of Windows write one; other letters that no token has are refused."""
    file = place.folder / "token"
    for content, words in (
        (b"\xef\xbb\xbfabc123\r\n", "http://127.0.0.1:1 doesn't answer"),
        ("abc\u00e9".encode(), "doesn't contain a token"),
    ):
        file.write_bytes(content)
        assert words in place.run("submit", "http://127.0.0.1:1", place.bots(1)[0], "--token-file", file).err


def test_a_failing_proxy_of_the_environment_is_named_with_its_variable(place: Place) -> None:
    file = place.bot("token", "abc123")
    for variable, proxy, server, code, words in (
        ("http_proxy", "http://127.0.0.1:9", "http://ladder.invalid", 1, "127.0.0.1:9 of http_proxy) doesn't answer: "),
        ("http_proxy", "127.0.0.1:9", "http://ladder.invalid", 1, "127.0.0.1:9 of http_proxy) doesn't answer: "),
        ("HTTPS_PROXY", "http://u:secret@127.0.0.1:9", "https://ladder.invalid", 1, "127.0.0.1:9 of HTTPS_PROXY) "),
        ("http_proxy", "socks5://127.0.0.1:9", "http://ladder.invalid", 2, "the proxy of http_proxy isn't supported"),
        ("http_proxy", "http://[bad", "http://ladder.invalid", 2, "the proxy of http_proxy isn't supported"),
        ("http_proxy", "http://127.0.0.1:9", "http://localhost:1", 1, "http://localhost:1 doesn't answer: "),
        ("http_proxy", "http://127.0.0.1:9", "http://[::1]:1", 1, "http://[::1]:1 doesn't answer: "),
        ("https_proxy", "http://127.0.0.1:9", "http://ladder.invalid", 1, "http://ladder.invalid doesn't answer: "),
    ):
        ran = place.end(place.start("submit", server, place.bots(1)[0], "--token-file", file, **{variable: proxy}))
        assert ran.code == code, ran.err
        assert words in ran.err
        assert "secret" not in ran.err
        assert len(ran.messages) == 1, ran.err
