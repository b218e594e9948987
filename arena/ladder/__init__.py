"""What `arena ladder` is, without the command line. Must not know click, and prints nothing."""

from arena.ladder.exam import Examined, ExamJob, examine_version

__all__ = ["ExamJob", "Examined", "examine_version"]
