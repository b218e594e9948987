"""What Canvas and Moodle export, read as a roster, comes back in what they import: the same ids, person by person."""

import csv
import io
import json
from contextlib import closing
from pathlib import Path

from ladder.service import gradebook, grades, parse_roster, take_in_people
from tests.ladder.service.classes import school, settle
from tests.ladder.service.test_grades import BASELINES

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Coup (77),Current Score
    Points Possible,,,,,100,(read only)
"Lovelace, Ada",1041,U7,ada,CS1,50,
"Bøb, B",1042,U8,bob,CS1,,
"Student, Test",9,,,CS1,,
"""
MOODLE = """\
Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments
Participant 12,Ada Lovelace,U7,ada@example.edu,Submitted,-,100,-,
Participant 13,B Bøb,U8,bob@example.edu,Submitted,-,100,-,
"""


def test_the_ids_come_back(tmp_path: Path) -> None:
    with closing(school(tmp_path / "spring", owners="zed")) as ladder:
        settle(ladder, BASELINES)
        for text in (CANVAS, MOODLE):
            take_in_people(ladder, parse_roster(text.encode(), "roster.csv"), "t", "a roster")
        found = grades(ladder, "t")
    rows = {row["Student"]: row for row in csv.DictReader(io.StringIO(gradebook(found, "canvas")))}
    ids = {"1041": ("U7", "ada"), "1042": ("U8", "bob")}
    assert {row["ID"]: (row["SIS User ID"], row["SIS Login ID"]) for row in rows.values() if row["ID"]} == ids
    assert set(json.loads(gradebook(found, "canvas-api"))["grade_data"]) == set(ids)
    sheet = list(csv.DictReader(io.StringIO(gradebook(found, "moodle-worksheet"))))
    told = {row["Identifier"]: (row["ID number"], row["Email address"]) for row in sheet if row["Identifier"]}
    assert told == {"Participant 12": ("U7", "ada@example.edu"), "Participant 13": ("U8", "bob@example.edu")}
