"""Tests of texts for others. Source: arena/escaping.py."""

from arena.escaping import escape_csv_cell, hide_folders, quote_path
from tests.cases import each


@each(
    ("text", "shown"),
    [
        ("[Errno 5] I/O error: '/srv/cache/ab12/bot.py'", "[Errno 5] I/O error: 'bot.py'"),
        ("/tmp/x: no space, see https://coup.example/docs/a", "x: no space, see https://coup.example/docs/a"),
        ("2/3 of and/or docs/a.md", "2/3 of and/or docs/a.md"),
    ],
)
def test_folders_of_this_machine_are_hidden(text: str, shown: str) -> None:
    assert hide_folders(text) == shown


def test_a_lone_minus_is_no_formula() -> None:
    assert [escape_csv_cell(text) for text in ("-", "-1", "=A1", "a")] == ["-", "'-1", "'=A1", "a"]


def test_a_path_is_one_word_of_a_printed_command() -> None:
    assert [quote_path(path) for path in ("spring", "my ladder", "a\x1bb")] == ["spring", "'my ladder'", "'a\\x1bb'"]
