"""Steps of examinations are kept as they are told, and what a build printed beside them."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_NAMES = {"name": "what", "outcome": "level", "detail": "text", "help": "do"}  # what the oldest ladders call a field
_LEVELS = {"failed": "fail", "told": "note"}


def upgrade() -> None:
    op.add_column("steps", sa.Column("log", sa.LargeBinary(), nullable=True))
    steps = sa.table(
        "steps", sa.column("version"), sa.column("number"), sa.column("data"), sa.column("log", sa.LargeBinary())
    )
    connection = op.get_bind()
    for version, number, data in connection.execute(sa.select(steps.c.version, steps.c.number, steps.c.data)).all():
        step = {_NAMES.get(name, name): value for name, value in json.loads(data).items()}
        log = step.pop("log", "").encode(errors="surrogateescape")
        step.pop("partial", None)
        step |= {"do": step.get("do") or "", "level": _LEVELS.get(step["level"], step["level"])}
        this = sa.and_(steps.c.version == version, steps.c.number == number)
        connection.execute(steps.update().where(this).values(data=json.dumps(_printable(step)), log=log or None))


def _printable(value: Any) -> Any:
    """Return a value whose texts can be printed: half surrogates were bytes of a bot's that aren't UTF-8."""
    if isinstance(value, dict):
        return {name: _printable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_printable(part) for part in value]
    if not isinstance(value, str):
        return value
    text = value.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
