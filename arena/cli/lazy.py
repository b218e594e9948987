"""Commands that are imported when they are called: the help of their group, and completion, need a line of each."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from arena import with_extra
from arena.cli.out import refuse

_EXTRAS = {"sqlalchemy": "ladder", "alembic": "ladder", "prometheus_client": "ladder", "distributed": "cluster"}
_EXTRAS |= dict.fromkeys(("fastapi", "starlette", "uvicorn", "jinja2", "multipart", "argon2", "authlib"), "web")


@contextmanager
def needs_extras() -> Iterator[None]:
    """Exit with 2, saying how to install it, where a package of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as problem:
        extra = _EXTRAS.get(problem.name or "")
        if extra is None:
            raise
        refuse(f"this needs the package {problem.name}: {with_extra(extra)}")


class LazyCommand(click.Command):
    """Stands in a group for the command of its name in a module."""

    def __init__(self, name: str, module: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module = module

    def load(self) -> click.Command:
        """Return the command itself."""
        with needs_extras():
            command: click.Command = getattr(import_module(self._module), str(self.name))
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return a context of the command itself: click goes on with that."""
        if extra.get("resilient_parsing") and args and args[-1].startswith("-"):
            args = args[:-1]  # its value is being completed: for the lack of it click would read no other word
        return self.load().make_context(info_name, args, parent, **extra)


def lazy_commands(modules: Mapping[str, Mapping[str, str]]) -> Sequence[click.Command]:
    """Return commands from a table: module -> name -> its line in the group's help."""
    return [LazyCommand(name, module, line) for module, lines in modules.items() for name, line in lines.items()]
