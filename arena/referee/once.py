"""Forms of events and phases that are made once: a form is found by a flat tuple of the fields.

To hash a dataclass, and to compare it with another, takes longer than all else that is done with its form.
"""

from collections.abc import Callable, Hashable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_args

from arena.coup import Act, Claim, Event, Phase

Form = TypeVar("Form")

_MOST = 10_000  # a few MB of texts


def _flat(kind: type[Any]) -> Callable[[Any], Hashable]:
    """Return what reads the kind of an event or a phase, and all fields of it that a message may tell."""
    names = []
    for part in fields(kind):
        if part.type in (Act, Claim):
            names += [f"{part.name}.{inner.name}" for inner in fields(part.type)]
        elif part.name not in ("asked", "then", "past"):
            names.append(part.name)
    return attrgetter("__class__", *names)


_FLAT = {kind: _flat(kind) for kind in get_args(Event | Phase)}


class Once(Generic[Form]):
    """The forms that `make` gives to events or phases, which nobody may change."""

    __slots__ = ("_forms", "_make")

    def __init__(self, make: Callable[..., Form]) -> None:
        self._forms: dict[Hashable, Form] = {}
        self._make = make

    def of(self, value: Event | Phase, *more: int) -> Form:
        """Return the form of an event or a phase, and of numbers that matter beside it."""
        key = (_FLAT[type(value)](value), *more)
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= _MOST:
                self._forms.clear()
            form = self._forms[key] = self._make(value, *more)
        return form
