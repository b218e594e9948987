"""The steps of an examination as a ladder keeps them: JSON by one model."""

from pydantic import TypeAdapter
from sqlalchemy import Connection

from arena.examine import Step, StepView
from ladder.store.database import get_steps

_STEP = TypeAdapter(StepView)


def step_row(step: Step) -> tuple[str, bytes]:
    """Return a step for the database, and what its build printed."""
    return _STEP.dump_json(step.view()).decode(), step.log


def steps_of(connection: Connection, version: int) -> tuple[StepView, ...]:
    """Return the steps of a version's examination."""
    return tuple(map(_STEP.validate_json, get_steps(connection, version)))
