"""Find versions by their refs."""

from collections.abc import Sequence

from sqlalchemy import Connection

from ladder.store import version_refs_by_id


def version_ids_by_ref(connection: Connection, refs: Sequence[str]) -> dict[str, int]:
    """Return the ids of versions by version ref. Raises KeyError for an unknown one."""
    known = {version_ref: id for id, version_ref in version_refs_by_id(connection).items()}
    return {version_ref: known[version_ref] for version_ref in refs}
