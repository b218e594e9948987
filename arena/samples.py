"""Find the sample bots, in an installed arena or in the repository, by names such as `sample:honest`."""

from difflib import get_close_matches
from pathlib import Path

from arena.escaping import escape_control

_SAMPLE = "sample:"


def sample_file(argument: str) -> Path | None:
    """Return the path of `sample:NAME`; None for any other argument. Raises ValueError for an unknown sample."""
    if not argument.startswith(_SAMPLE):
        return None
    name = argument.removeprefix(_SAMPLE)
    samples = _list_samples()
    sample = samples.get(name) or samples.get(f"{name}.py")
    if sample is None:
        names = sample_names()
        hint = "".join(f"Did you mean {near_name}? " for near_name in get_close_matches(argument, names, 1))
        raise ValueError(
            f"{escape_control(argument)} isn't a sample bot.\n{hint}The sample bots are {', '.join(names)}."
        )
    return sample


def sample_names() -> list[str]:
    """Return the arguments of all sample bots, such as `sample:honest`."""
    return [_SAMPLE + name.removesuffix(".py") for name in _list_samples()]


def _list_samples() -> dict[str, Path]:
    """Return the paths of the sample bots by the name of their file or folder."""
    paths = sorted(sample_folder().iterdir())
    return {path.name: path for path in paths if path.is_file() or (path / "bot.toml").is_file()}


def sample_folder() -> Path:
    """Return the folder of the sample bots, in an installed arena or in the repository."""
    installed = Path(__file__).parent / "sample_bots"
    return installed if installed.is_dir() else Path(__file__).parents[1] / "sample_bots"
