"""What is read of a ladder: one function makes a value, and it is both a page and, under /api, JSON with a schema."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from ladder.web.draw import answer, page
from ladder.web.visit import Visit, gate

F = TypeVar("F", bound=Callable[..., Any])


def read(
    router: APIRouter, path: str, template: str, *, shared: bool = False, fresh_s: float | None = None
) -> Callable[[F], F]:
    """Declare a function of the ladder, of a Reader, and of what the path and the query say, as a page and as JSON.

    It returns a value of `ladder.views`, or None where there is none for this reader. See `ladder.web.draw.page`.
    """

    def declare(make: F) -> F:
        _, _, *words = inspect.signature(make).parameters.values()
        words = [word.replace(kind=word.KEYWORD_ONLY) for word in words]
        visit = inspect.Parameter("visit", inspect.Parameter.KEYWORD_ONLY, annotation=Visit, default=Depends(gate))
        kind = inspect.get_annotations(make)["return"]

        def drawn(*, visit: Visit, **given: Any) -> Response:
            return page(visit, template, partial(make, visit.ladder, **given), shared=shared, fresh_s=fresh_s)

        def plain(*, visit: Visit, **given: Any) -> Response:
            return answer(visit, kind, partial(make, visit.ladder, **given), fresh_s=fresh_s)

        for function in (drawn, plain):
            function.__signature__ = inspect.Signature([*words, visit])  # type: ignore[attr-defined]
            function.__doc__, function.__name__ = make.__doc__, make.__name__
        router.get(path, include_in_schema=False)(drawn)
        router.get(f"/api{path}".rstrip("/"), response_model=None, responses={200: {"model": kind}})(plain)
        return make

    return declare
