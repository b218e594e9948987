"""What a ladder was made with, as JSON by name. It is written once, by `init`."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, insert, select

from ladder.store.database.tables import settings


def put_settings(connection: Connection, values: Mapping[str, Any]) -> None:
    """Write the settings of a new ladder."""
    connection.execute(insert(settings), [{"name": name, "value": json.dumps(value)} for name, value in values.items()])


def get_settings(connection: Connection) -> dict[str, Any]:
    """Return the ladder's settings."""
    return {name: json.loads(value) for name, value in connection.execute(select(settings.c.name, settings.c.value))}
