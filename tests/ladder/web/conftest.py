"""Fixtures of the pages' tests: a ladder's pages, and a member of its staff who visits them."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.ladder.term import Term
from tests.ladder.web.visitors import Pages, pages


@pytest.fixture
def web(own: Term) -> Iterator[Pages]:
    with pages(own) as made:
        yield made


@pytest.fixture
def staff(web: Pages) -> TestClient:
    return web.visitor("staff")
