"""Write the report of a study as files that can be published."""

from arena.study_publication.files import TABLES, write_report
from arena.study_publication.page import describe_difference, format_p
