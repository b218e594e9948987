"""Define studies of language models: the file of a study, its conditions and deals, and its games.

`arena.study.design_file` needs pydantic. This package must not know click.
"""

from arena.study.config import Condition, Place, StudyConfig, bot_arguments, make_study_config
