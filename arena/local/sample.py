"""The sample bots of the kit, by name, as classes: `sample:honest`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location

from arena.bots import kit_of_file, sample_file
from protocol.kits import coup_kit


def sample(name: str) -> type[coup_kit.Bot]:
    """Return the class of the sample bot `name`, such as "sample:honest".

    Raises BotError for a name that is none, ValueError for a sample that isn't written in Python with the kit.
    """
    path = sample_file(name)
    if path is not None and path.is_dir():
        path /= "bot.py"
    if path is None or not path.is_file() or kit_of_file(path) != "python":
        raise ValueError(f"{name!r} is no sample bot that plays in this process, as sample:honest does")
    title = "sample_bot_" + name.removeprefix("sample:").removesuffix(".py")  # a folder's file is always bot.py
    if title not in sys.modules:
        spec = spec_from_file_location(title, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        with _the_arenas_kit():
            spec.loader.exec_module(module)
        sys.modules[title] = module
    values = vars(sys.modules[title]).values()
    classes = [value for value in values if isinstance(value, type) and value.__module__ == title]
    return next(value for value in classes if issubclass(value, coup_kit.Bot))


@contextmanager
def _the_arenas_kit() -> Iterator[None]:
    """Let `import coup_kit` mean the arena's kit, and afterwards what it meant before."""
    before = sys.modules.get("coup_kit")
    sys.modules["coup_kit"] = coup_kit
    try:
        yield
    finally:
        del sys.modules["coup_kit"]
        if before is not None:
            sys.modules["coup_kit"] = before
