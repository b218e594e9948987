"""Report studies from their folders, and forecast a study before it is played."""

from arena.study_report.forecast import ShownDifference, StudyPlan, plan_study
from arena.study_report.report import Study, StudyReport, make_study_report, read_study
