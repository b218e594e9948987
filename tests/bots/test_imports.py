"""Tests of what a bot imports from neither the standard library nor its folder."""

from pathlib import Path

from arena.bots import foreign_imports


def test_packages_from_elsewhere_are_named(tmp_path: Path) -> None:
    """Not the standard library's, the kit, its own, vendored ones, or what it can do without."""
    (tmp_path / "mine.py").write_text("import torch.nn\n")
    (tmp_path / "vendor" / "attrs").mkdir(parents=True)
    (tmp_path / "bot.py").write_text(
        "import json, numpy.linalg\nfrom scipy import stats\nimport mine, attrs, coup_kit\nfrom . import own\n"
        "try:\n    import numba\nexcept ImportError:\n    pass\ndef f():\n    import cupy\n"
    )
    (tmp_path / "test_bot.py").write_text("import pytest\n")
    assert foreign_imports(tmp_path) == ("numpy", "scipy", "torch")
    assert foreign_imports(tmp_path / "bot.py") == ("attrs", "mine", "numpy", "scipy")


def test_a_file_that_is_no_python_has_none(tmp_path: Path) -> None:
    """Its fault is told when it runs."""
    (tmp_path / "bot.py").write_text("import (")
    (tmp_path / "bot.js").write_text("import numpy\n")
    assert foreign_imports(tmp_path) == () == foreign_imports(tmp_path / "bot.js")
