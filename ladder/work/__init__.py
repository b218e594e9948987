"""What a ladder's workers do: they play matches and examine versions.

Must not know SQLAlchemy: each worker process imports this room, and would import that in vain.
"""

from ladder.work.exam import Examined, ExamJob, examine_version
from ladder.work.task import Task, do
