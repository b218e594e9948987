"""Create a new bot as a copy of a language's starter sample and kit. The copy can play unchanged."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from arena.bots.bot import BotError
from arena.bots.bot_loader import kit_files, normal_name
from arena.bots.languages import KITS, LANGUAGES
from arena.escaping import escape_control
from arena.samples import sample_folder
from arena.sandbox import EXCLUDED_NAMES

MODEL = "model"  # the `language` of a language model
_MODEL_STARTER = Path(__file__).parents[1] / "models" / "starter"
_NOT_COPIED = ("build", *EXCLUDED_NAMES)  # made by builds and tests


@dataclass(frozen=True, slots=True)
class NewBot:
    """A newly created bot. file: the file that its author changes. missing: programs that this machine lacks."""

    name: str
    folder: Path
    language: str
    file: Path
    missing: tuple[str, ...]


def shipped_files() -> list[Path]:
    """Return all files of the kits and the sample bots."""
    kits = [file for language in KITS for file in kit_files(language)]
    return [*kits, *(path for path in sorted(sample_folder().rglob("*")) if path.is_file())]


def new_bot(path: Path, language: str) -> NewBot:
    """Create the folder of a new bot, atomically. language: of KITS, or MODEL.

    Raises BotError if the name isn't valid or `path` is in use, OSError if the files can't be written.
    """
    name = _require_valid_name(path)
    if path.is_symlink():  # a folder can't be moved onto a link
        raise BotError(f"{escape_control(path)} is a link.\nName a folder that isn't a link.")
    if path.exists() and not path.is_dir():
        raise BotError(f"{escape_control(path)} exists and isn't a folder.\nChoose another name.")
    if path.is_dir() and any(path.iterdir()):
        raise BotError(f"{escape_control(path)} exists and isn't empty.\nChoose another name.")
    path.parent.mkdir(parents=True, exist_ok=True)
    sample, kit, starter, programs = _MODEL_STARTER, list[Path](), "bot.toml", tuple[str, ...]()
    if language != MODEL:
        sample, kit = sample_folder() / language, kit_files(language)
        starter, programs = LANGUAGES[language].starter, LANGUAGES[language].needs
    with tempfile.TemporaryDirectory(prefix=".new-", dir=path.parent) as scratch:
        folder = Path(scratch, "bot")
        _copy_sample(sample, folder)
        for file in kit:
            shutil.copyfile(file, folder / file.name)
        folder.rename(path)
    missing = tuple(program for program in programs if shutil.which(program) is None)
    return NewBot(name, path, language, path / starter, missing)


def _require_valid_name(path: Path) -> str:
    """Return the name of a bot with this folder. Raises BotError if it isn't a valid name."""
    try:
        name = normal_name(path.name)
    except ValueError as problem:
        raise BotError(f"{escape_control(path)} isn't a valid bot folder: {problem}.\nChoose another name.") from None
    if not any(character.isalnum() for character in name):
        raise BotError(f"{escape_control(path)} isn't a valid bot folder: it has no letter.\nChoose another name.")
    if name.startswith(("-", ".")):
        raise BotError(
            f'{escape_control(path)} isn\'t a valid bot folder: its name begins with "{name[0]}".\nChoose another name.'
        )
    return name


def _copy_sample(source: Path, target: Path) -> None:
    """Copy a folder without generated files; the copies are writable even if the arena's files aren't."""
    target.mkdir()
    for entry in sorted(source.iterdir()):
        if any(entry.match(pattern) for pattern in _NOT_COPIED):
            continue
        if entry.is_dir():
            _copy_sample(entry, target / entry.name)
        else:
            shutil.copyfile(entry, target / entry.name)
