"""Imports of a bot from neither the standard library nor its folder."""

import os
import warnings
from pathlib import Path

import pytest

from arena.bots import Bot, foreign_imports


def bot(path: Path, *words: str) -> Bot:
    folder = path if path.is_dir() else path.parent
    return Bot("bot", path, ("/usr/bin/python3", *words), folder, None, "")


def test_third_party_packages_are_listed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import torch.nn\n")
    (tmp_path / "vendor" / "attrs").mkdir(parents=True)
    (tmp_path / "bot.py").write_text(
        "import json, numpy.linalg\nfrom scipy import stats\nimport mine, attrs, coup_kit\nfrom . import own\n"
        "try:\n    import numba\nexcept ImportError:\n    pass\ndef f():\n    import cupy\n"
    )
    assert foreign_imports(bot(tmp_path, "bot.py")) == ("numpy", "scipy", "torch")
    alone = tmp_path / "bot.py"
    assert foreign_imports(bot(alone, str(alone))) == ("attrs", "mine", "numpy", "scipy")


@pytest.mark.parametrize("words", [("-B", "./src/bot.py"), ("-m", "src.bot"), ("-m", "play")])
def test_files_that_the_bot_does_not_import_are_skipped(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A bot's folder may hold its training and tests. Imports are followed, also in a circle."""
    for file, text in {
        "src/bot.py": "import brain.deep.net, brain\n",
        "play/__main__.py": "from brain.deep import net\n",
        "brain/__init__.py": "from .deep import *\n",
        "brain/deep/__init__.py": "import bs4\n",
        "brain/deep/net.py": "from .. import eyes\nimport brain\n",
        "brain/eyes.py": "import cv2\n",
        "brain/train.py": "import torch\n",
        "train.py": "import torch\nimport pandas\n",
        "test_bot.py": "import pytest\n",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    assert foreign_imports(bot(tmp_path, *words)) == ("bs4", "cv2")


def test_a_file_that_is_not_python_has_no_imports(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("import (")
    (tmp_path / "bot.js").write_text("import numpy\n")
    (tmp_path / "odd.py").write_text("import numpy\nprint('\\d', 1 is 1)\n")
    with warnings.catch_warnings(record=True) as output:
        warnings.simplefilter("always")
        assert [foreign_imports(bot(tmp_path, name)) for name in ("bot.py", "bot.js", "odd.py")] == [(), (), ("numpy",)]
    assert not output


def test_pipes_and_folders_that_may_not_be_read_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("import numpy\nimport pipe\n")
    (tmp_path / "secret").mkdir(mode=0)  # root may read it
    os.mkfifo(tmp_path / "pipe.py")
    assert foreign_imports(bot(tmp_path, "bot.py")) == ("numpy",)
