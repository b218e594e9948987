"""The table [model] of bot.toml, keys, the budget, and commands that refuse a model."""

import os
import tempfile
from pathlib import Path

import pytest

from arena.bots import BotError, load_bots, read_submission
from arena.models import Budget, load_player, read_budget
from tests.cases import each
from tests.cli_workspace import Place
from tests.models.endpoint import KEY, model_folder

URL = "http://localhost/v1/chat/completions"


def load(folder: Path) -> None:
    load_player(load_bots([str(folder)], models=True)[0][0], Budget())


@each(
    "number, line, problem",
    [
        (0, f'api_key = "{KEY}"', "api_key: Extra inputs"),
        (1, f'key_env = "{KEY}"', "key_env: String should match"),
        (2, 'key_env = "sk_zq_secretzq"', "the variable that key_env names contains no key"),
        (3, f'key_file = "{KEY}"', "the file that key_file names contains no key"),
        (4, "temperature = -1.0", "temperature: "),
        (5, "extra = { stream = true }", "extra sets stream"),
        (6, "extra = { day = 2024-01-01 }", "extra contains a date"),
        (7, "extra = { number = nan }", "extra contains a date"),
        (10, f"max_tokens = {'9' * 400}", "max_tokens is over 1,000,000,000"),
        (11, f"extra = {{ max_tokens = {'9' * 400} }}", "max_tokens is over 1,000,000,000"),
        (8, 'key_file = "~no-such-user/key"', "the file that key_file names contains no key"),
        (9, 'key_file = "a\\u0000b"', "the file that key_file names contains no key"),
    ],
)
def test_a_wrong_setting_is_named_without_its_value(tmp_path: Path, number: int, line: str, problem: str) -> None:
    with pytest.raises(BotError) as found:
        load(model_folder(tmp_path / str(number), URL, line))
    assert problem in str(found.value)
    assert "secretzq" not in str(found.value)


@each("host", ["localhost:99999", "localhost:abc", "localhost/\\t", "xn--", "a..b", "[::1"])
def test_an_endpoint_must_be_an_address(tmp_path: Path, host: str) -> None:
    with pytest.raises(BotError, match="endpoint isn't an address"):
        load(model_folder(Path(tempfile.mkdtemp(dir=tmp_path)) / "m", f"http://{host}/v1"))


def test_a_prompt_that_is_too_long_in_bytes_is_refused_not_cut(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "m", URL)
    with (folder / "prompt.jinja").open("a") as prompt:
        prompt.write("\u00fc" * (1 << 17))
    with pytest.raises(BotError, match="at most 256 kB"):
        load(folder)


def test_a_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    folder = model_folder(tmp_path / "m", URL, f'key_file = "{file}"')
    file.chmod(0o640)
    with pytest.raises(BotError, match="others may read"):
        load(folder)
    file.chmod(0o600)
    load(folder)


def test_a_budget_of_money_needs_prices(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text("dollars = 1.0")
    bot = load_bots([str(model_folder(tmp_path / "m", URL))], models=True)[0][0]
    with pytest.raises(BotError, match='no price for "fake"'):
        load_player(bot, read_budget(tmp_path / "budget.toml"))


def test_other_commands_refuse_a_model(place: Place) -> None:
    model_folder(place.folder / "m", URL)
    for words in (["compare", "m", "sample:honest", "--against", "sample:bluffer"], ["exploit", "m"]):
        refused = place.call(*words)
        assert (refused.code, "m is a language model" in refused.err) == (2, True), (words, refused)


def test_a_budget_needs_a_model(place: Place) -> None:
    bots = ["sample:honest", "sample:bluffer"]
    assert place.run("run", *bots, "--games", "2", "--match-games", "2", "--out", "r").code == 0
    for words in (["run", *bots], ["run", "--resume", "r"], ["watch", *bots], ["play", *bots], ["check", *bots]):
        refused = place.call(*words, "--budget", "missing.toml")
        assert (refused.code, "--budget is for language models" in refused.err) == (2, True), (words, refused)


def test_a_bot_gets_no_key(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    model_folder(place.folder / "m", URL, 'key_env = "MODEL_KEY"')
    for command in ("run", "watch"):
        words = ["m", "sample:honest", "--sandbox", "process", "--pass-env", "MODEL_KEY"]
        assert "m's key is for no bot" in place.call(command, *words).err


def test_a_ladder_refuses_a_model(tmp_path: Path) -> None:
    with pytest.raises(BotError, match="is a language model"):
        read_submission(model_folder(tmp_path / "m", URL))


def test_a_new_model_needs_only_an_endpoint(place: Place) -> None:
    made = place.call("new", "mine", "--lang", "model")
    assert made.code == 0
    assert sorted(os.listdir(place.folder / "mine")) == ["bot.toml", "prompt.jinja"]
    load(place.folder / "mine")
