"""Prepare the bots of live tables: claim a table session, and start its bots' programs in a sandbox of their own."""

import io
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from arena import tables
from arena.bots import BotCache, BytecodeCache, MissingProgramError, PortableBot
from arena.sandbox import Program, Sandbox, SandboxError, make_sandbox, programs_of, remove_tree
from ladder import store
from ladder.ladder import Ladder, get_accepted_version
from ladder.tables import change_slots, draw_bots, list_table_bots, unplayable_reason
from ladder.tasks import make_portable_bot


class UnplayableTableError(Exception):
    """A table can't be played here; the message is one line."""


@dataclass(frozen=True, slots=True)
class TableSandboxes:
    """The programs of a table's bots by version id, and their sandbox. Close `ends` when the table has ended."""

    programs: dict[int, Program]
    sandbox: Sandbox
    ends: ExitStack


class PreparedBots:
    """The bots of claimed table sessions, prepared to start. Not thread-safe."""

    def __init__(self, ladder: Ladder, cache: BotCache, scratch: Path) -> None:
        self._ladder = ladder
        self._cache = cache
        self._scratch = scratch
        self._bytecode = BytecodeCache()

    def claim(self, id: int, runner: str) -> tuple[store.TableSession, TableSandboxes] | None:
        """Assign a table session to this process and prepare its bots; None if it is over or another process has it.

        Raises UnplayableTableError if no match can start, or this machine can't start the bots; also DatabaseError.
        """

        def claim_session(
            connection: Connection,
        ) -> tuple[store.TableSession, str | None, dict[int, PortableBot]] | None:
            """Return (session, why it can't be played, bots); None if it can't be claimed. An error would undo it."""
            session = store.claim_session(connection, id, runner)
            if session is None:
                return None
            reason = unplayable_reason(connection, session)
            bots = {} if reason is not None else _list_portable_bots(connection, session)
            return session, reason, bots

        claimed = self._ladder.database.write(claim_session)
        if claimed is None:
            return None
        session, reason, bots = claimed
        if reason is not None:
            raise UnplayableTableError(reason)
        return session, self._make_sandboxes(id, bots)

    def _make_sandboxes(self, id: int, bots: Mapping[int, PortableBot]) -> TableSandboxes:
        """Make a table's sandbox and put its bots, given by version id, there.

        Raises UnplayableTableError if this machine can't start the bots; then nothing is left.
        """
        choice = self._ladder.play.sandbox
        ends = ExitStack()
        try:
            folder = Path(tempfile.mkdtemp(prefix=f"table-{id}-", dir=self._scratch))
            ends.callback(remove_tree, folder)
            sandbox = make_sandbox(choice, folder)
            ends.callback(_close_sandbox, sandbox)
            boxes = TableSandboxes({}, sandbox, ends)
            for version, bot in bots.items():
                self._add_program(boxes, version, bot)
            return replace(boxes, ends=ends.pop_all())
        except (MissingProgramError, SandboxError, OSError) as error:
            raise UnplayableTableError(f"this machine can't start the bots: {error}") from error
        finally:
            ends.close()  # does nothing after pop_all

    def _add_program(self, boxes: TableSandboxes, version: int, bot: PortableBot) -> None:
        """Add a bot's program to those of a table. Raises MissingProgramError, SandboxError, OSError, DatabaseError."""
        choice = self._ladder.play.sandbox
        self._pin_in_cache(bot, boxes.ends)
        resolved = bot.resolve_on(self._cache.locate(bot), programs_of(choice.name))
        boxes.programs[version] = self._bytecode.program(resolved, choice, boxes.sandbox)

    def apply_change(
        self, session: store.TableSession, boxes: TableSandboxes, change: tables.SlotChange
    ) -> store.TableSession:
        """Carry out a change of a table's slots and prepare its new bots; return the session.

        Raises LadderError if the change isn't possible, and the errors of `_add_program`.
        """
        names = [*change.bots, *self._draw_unseated_bots(session, change.draw)]

        def list_bots(connection: Connection) -> dict[int, PortableBot]:
            versions = [get_accepted_version(connection, name) for name in names]
            return {version.id: make_portable_bot(version) for version in versions}

        for version, bot in self._ladder.database.read_with_retry(list_bots).items():
            if version not in boxes.programs:
                self._add_program(boxes, version, bot)
        return change_slots(
            self._ladder,
            session.id,
            bots=names,
            places=() if change.place is None else (change.place,),
            remove=change.remove,
            free=change.free,
            rules=change.rules,
        )

    def _draw_unseated_bots(self, session: store.TableSession, total: int) -> tuple[str, ...]:
        """Return this many random bots, of those that aren't at the table if there are any.

        Raises LadderError if the ladder has no bot that may play.
        """
        if not total:
            return ()
        names = [bot.name for bot in list_table_bots(self._ladder)]
        seated = {slot.version_ref for slot in session.slots}
        return draw_bots([name for name in names if name not in seated] or names, total)

    def _pin_in_cache(self, bot: PortableBot, ends: ExitStack) -> None:
        """Keep a bot's files in the cache until `ends` closes; if the cache lacks them, take them from the database."""
        try:
            ends.enter_context(self._cache.hold(bot))
        except MissingProgramError:
            archive = self._ladder.database.read_with_retry(
                lambda connection: store.get_archive(connection, bot.digest, bot.file)
            )
            self._cache.add(bot, io.BytesIO(archive))
            ends.enter_context(self._cache.hold(bot))


def _list_portable_bots(connection: Connection, session: store.TableSession) -> dict[int, PortableBot]:
    """Return the bots of a table by version id."""
    versions = {slot.version for slot in session.slots if slot.version is not None}
    return {version: make_portable_bot(store.get_version_by_id(connection, version)) for version in versions}


def _close_sandbox(sandbox: Sandbox) -> None:
    with suppress(OSError, SandboxError):  # a later sweep removes the rest
        sandbox.close()
