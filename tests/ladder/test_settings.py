"""Tests of what ladder.toml may contain."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ladder.settings import LadderError, LadderSettings, parse_settings, read_settings, with_database
from ladder.settings_forms import change_settings, describe_settings, hash_settings, list_setting_forms
from tests.ladder.classes import make_ladder


def test_every_number_has_a_least_and_a_largest_value() -> None:
    schema = LadderSettings.model_json_schema()
    numbers = []

    def walk(node: Any, path: str) -> None:
        if isinstance(node, dict):
            if node.get("type") in ("integer", "number"):
                numbers.append(path)
                assert {"minimum", "exclusiveMinimum"} & set(node), path
                assert {"maximum", "exclusiveMaximum"} & set(node), path
            for key, value in node.items():
                walk(value, f"{path}.{key}")
        elif isinstance(node, list):
            for value in node:
                walk(value, path)

    walk(schema, "")
    assert len(numbers) > 20


@pytest.mark.parametrize("text", ["two\nlines", "\u202egnp", "a\x1b[2J", "a\0"])
@pytest.mark.parametrize(
    "settings",
    [
        lambda text: {"web": {"banner": text}},
        lambda text: {"course": {"title": text}},
        lambda text: {"database": text},
        lambda text: {"grades": {"gradebook_column": text}},
        lambda text: {"baselines": [{"name": "a", "points": 1, "beats": text}]},
        lambda text: {"baselines": [{"name": text, "points": 1, "min_games": 1}]},
        lambda text: {"sign_in": {"issuer": "https://a.org", "client_id": text, "client_secret": "s"}},
        lambda text: {"sign_in": {"issuer": "https://a.org", "client_id": "c", "client_secret": text}},
        lambda text: {"sign_in": {"issuer": "https://a.org", "client_id": "c", "client_secret_file": text}},
    ],
)
def test_texts_are_printable_and_on_one_line(settings: Any, text: str) -> None:
    LadderSettings.model_validate(settings("plain"))
    with pytest.raises(ValidationError):
        LadderSettings.model_validate(settings(text))


def test_titles_have_no_spaces_at_their_ends() -> None:
    for section, key in (("course", "title"), ("course", "contact"), ("grades", "gradebook_column")):
        with pytest.raises(ValidationError, match="has no spaces at its ends"):
            LadderSettings.model_validate({section: {key: " plain"}})
    with pytest.raises(ValidationError, match='Canvas ignores a column with "Final Score" in its title'):
        LadderSettings.model_validate({"grades": {"gradebook_column": "My Final Score"}})


def test_numbers_that_no_course_has_are_refused() -> None:
    for settings in (
        {"lateness": {"grace_minutes": 10**30}},
        {"baselines": [{"name": "a", "points": 1e308, "min_games": 1}]},
        {"deadlines": [{"name": "a", "at": "2026-12-01T00:00:00Z", "grace_minutes": 10**30}]},
        {"deadlines": [{"name": "a", "at": "3000-01-01T00:00:00Z"}]},
        {"deadlines": [{"name": "a", "at": "1969-12-31T23:59:00Z"}]},
    ):
        with pytest.raises(ValidationError):
            LadderSettings.model_validate(settings)
    LadderSettings.model_validate({"deadlines": [{"name": "a", "at": "2999-12-31T23:59:00Z"}]})


@pytest.mark.parametrize("value", ["1" * 5000, "[" * 5000])
def test_toml_that_python_cannot_read_is_refused(value: str) -> None:
    with pytest.raises(LadderError, match="isn't valid TOML"):
        parse_settings(f"x = {value}", Path("ladder.toml"))


def test_a_wrong_name_is_explained_without_a_regular_expression() -> None:
    with pytest.raises(LadderError, match=r"deadlines\.0\.name: use 1 to 40 letters"):
        parse_settings('[[deadlines]]\nname = "a b"\nat = 2026-12-01T00:00:00Z\n', Path("ladder.toml"))
    with pytest.raises(LadderError, match="base_url: use an address without a path"):
        parse_settings('[web]\nbase_url = "https://a/b"\n', Path("ladder.toml"))
    with pytest.raises(LadderError, match="gradebook_column: use parentheses only for"):
        parse_settings('[grades]\ngradebook_column = "Coup (B)"\n', Path("ladder.toml"))
    with pytest.raises(LadderError, match="Its deadlines: none"):
        parse_settings("", Path("ladder.toml")).deadline("a")


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "ladder.toml"
    for make, problem in (
        (lambda: None, "isn't a ladder: it has no ladder.toml"),
        (lambda: file.write_bytes(b"\xff"), "isn't valid TOML"),
        (lambda: (file.unlink(), file.mkdir()), "can't be read: Is a directory"),
    ):
        make()
        with pytest.raises(LadderError, match=problem):
            read_settings(tmp_path)


def test_the_url_of_a_database_may_have_any_letter() -> None:
    url = "sqlite:///\U0001f0cf.db"
    for text in ("", '# first\ndatabase = "x"\n'):
        settings = parse_settings(with_database(f"{text}[course]\ntitle = 'y'\n", url), Path("ladder.toml"))
        assert (settings.database, settings.course.title) == (url, "y")


def test_the_audit_log_describes_changes_by_the_labels_of_forms() -> None:
    reason = 'quotas.max_upload_mb: 16 → 8; deadlines: removed a; deadlines "b".at: x → y; unknown.key: 1 → 2'
    assert describe_settings(reason) == (
        'Quotas, Size of an upload: 16 → 8; Deadlines: removed a; Deadlines "b", Due at: x → y; unknown.key: 1 → 2'
    )


def test_a_form_writes_what_it_changes_and_no_unset_default(tmp_path: Path) -> None:
    """A value that is the default of today is written over another one."""
    with closing(make_ladder(tmp_path / "spring")) as ladder:
        file = ladder.path / "ladder.toml"
        before = re.sub("(?m)^max_upload_mb.*\n", "", file.read_text())
        file.write_text(before)
        for bots in ("3", "1"):
            values = {"max_bots_per_user": bots, "max_upload_mb": "16"}
            change_settings(ladder, "quotas", None, values=values, sha256=hash_settings(ladder.path), actor="staff")
            assert file.read_text() == before.replace("max_bots_per_user = 1 ", f"max_bots_per_user = {bots} ")
        values = {"max_penalty_percent": "50.5"}
        change_settings(ladder, "lateness", None, values=values, sha256=hash_settings(ladder.path), actor="staff")
        assert ladder.settings.lateness.max_penalty_percent == 50.5


def test_a_form_shows_the_grace_period_that_a_deadline_itself_sets() -> None:
    """An empty field would remove a setting that equals the default of today."""
    at = "at = 2026-12-01T23:59:00Z"
    text = f'[[deadlines]]\nname = "a"\n{at}\ngrace_minutes = 15\n[[deadlines]]\nname = "b"\n{at}\n'
    settings = parse_settings(f"{text}[lateness]\ngrace_minutes = 15\n", Path("ladder.toml"))
    forms = [form for form in list_setting_forms(settings) if form.table == "deadlines"]
    shown = [field.value for form in forms for field in form.fields if field.name == "grace_minutes"]
    assert shown == ["15", "", ""]
    assert [deadline.grace_minutes for deadline in settings.deadlines] == [15, 15]


def test_a_form_says_which_value_is_expected(tmp_path: Path) -> None:
    with closing(make_ladder(tmp_path / "spring")) as ladder:
        for table, index, values, expected in (
            ("quotas", None, {"max_bots_per_user": "many"}, 'max_bots_per_user: "many" isn\'t a whole number'),
            ("quotas", None, {"max_bots_per_user": "\uff13"}, "max_bots_per_user: .* isn't a whole number"),
            ("baselines", None, {"points": "ten"}, 'points: "ten" isn\'t a number'),
            ("baselines", None, {"points": "1_000"}, 'points: "1_000" isn\'t a number'),
            ("deadlines", None, {"at": "soon"}, 'at: "soon" isn\'t a date with a time of day'),
            ("deadlines", None, {"at": "2026-12-01T23:59", "zone": "Nowhere"}, 'there is no time zone "Nowhere"'),
        ):
            with pytest.raises(LadderError, match=expected):
                change_settings(ladder, table, index, values=values, sha256=hash_settings(ladder.path), actor="staff")


def test_the_fields_of_a_form_have_the_limits_of_their_settings() -> None:
    attributes = {
        (form.table, field.name): dict(field.attributes)
        for form in list_setting_forms(parse_settings("", Path("ladder.toml")))
        for field in form.fields
    }
    assert attributes["baselines", "points"] == {"min": 0, "max": 1_000_000, "required": True, "step": "any"}
    assert attributes["baselines", "min_games"]["step"] == 1
    assert "required" not in attributes["baselines", "min_games"]
    assert "required" not in attributes["course", "title"]
    assert attributes["quotas", "max_bots_per_user"]["required"]
    assert [place for place, found in attributes.items() if "title" in found] == [("deadlines", "name")]
