"""Run several cases within one test, since pytest's overhead for a test exceeds the time of most cases."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

Test = Callable[..., None]


def each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Callable[[Any], object] | Iterable[object] | None = None
) -> Callable[[Test], Test]:
    """Do what `pytest.mark.parametrize` does, in one test: the failure of a case ends it, and names the case.

    All cases share the test's fixtures. None may be skipped: the later ones would be skipped with it.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    bare = isinstance(names, str) and len(words) == 1  # a case is the value itself, and no tuple of values
    values = list(cases)
    assert values, "a test without a case tests nothing"
    labels = list(map(ids, values)) if callable(ids) else list(ids or [])
    assert len(labels) in (0, len(values))

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @wraps(test)
        def run(**fixtures: Any) -> None:
            for number, value in enumerate(values):
                case = dict(zip(words, [value] if bare else value, strict=True))
                called = f"the case {labels[number] if labels else case}"
                try:
                    test(**fixtures, **case)
                except pytest.skip.Exception as skip:
                    raise AssertionError(f"{called} is skipped: use pytest.mark.parametrize") from skip
                except BaseException as problem:
                    problem.add_note(f"in {called}")
                    raise

        rest = [parameter for name, parameter in signature.parameters.items() if name not in words]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return decorate
