"""Teach the game at the table's own page: lessons as data, which the engine plays when the page is made.

Each lesson is a TOML file of this package: who sits at the table with which cards, and the moves in order. Each move of
the learner says what it teaches, and what is wrong with the others. The page holds the frames that the learner's seat
would receive, so it needs neither a server nor Python. This package must not know files of users or commands.
"""

from arena.lessons.lesson import LessonError, make_lesson
from arena.lessons.page import learn_page, load_lessons, puzzles_page, start_page, ways_html, welcome_html
from arena.lessons.puzzle import load_puzzles, make_puzzle
