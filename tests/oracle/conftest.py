"""Fixture of the second implementation: this folder is no package, so tests can't import it."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def oracle() -> Any:
    spec = spec_from_file_location("oracle", Path(__file__).with_name("oracle.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Oracle
