"""Tests of the token file of `arena submit` and `arena connect`."""

from tests.cli_workspace import Place


def test_a_token_file_may_begin_with_a_byte_order_mark(place: Place) -> None:
    """Editors of Windows write one; other letters that no token has are refused."""
    file = place.folder / "token"
    for content, words in (
        (b"\xef\xbb\xbfabc123\r\n", "http://127.0.0.1:1 doesn't answer"),
        ("abc\u00e9".encode(), "doesn't contain a token"),
    ):
        file.write_bytes(content)
        assert words in place.run("submit", "http://127.0.0.1:1", place.bots(1)[0], "--token", file).err
