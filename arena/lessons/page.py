"""Make the page of all lessons: one file that works without a network."""

import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from arena.coup import COUP, make_rules_object
from arena.lessons.lesson import Lesson, LessonError, make_lesson
from arena.replay import table_page


@cache
def load_lessons() -> tuple[Lesson, ...]:
    """Return the lessons of this package in their order. Raises LessonError."""
    return tuple(map(_load, sorted(Path(__file__).parent.glob("*.toml"))))


def _load(path: Path) -> Lesson:
    try:
        return make_lesson(tomllib.loads(path.read_text("utf-8")))
    except (LessonError, KeyError) as problem:
        raise LessonError(f"{path.name}: {problem}") from None


def learn_page(home: tuple[str, str] | None = None, play: str | None = None, lessons: Sequence[Lesson] = ()) -> str:
    """Return the HTML of the page of lessons, by default all.

    home: as of `table_page`. play: the address of a table.
    """
    shown = [asdict(lesson) for lesson in lessons or load_lessons()]
    return table_page("Learn Coup", make_rules_object(COUP), None, home, lessons={"lessons": shown, "play": play})
