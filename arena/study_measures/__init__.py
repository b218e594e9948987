"""Measure the players of a study: the rows of its games, measures by deal, and differences."""

from arena.study_measures import measures, tables
from arena.study_measures.measures import MEASURES, Cases, Difference, Key, Measured, compare_all, measure_all
from arena.study_measures.tables import GameTables, Reaction, Row
