"""A ladder in one look, for staff: whether it needs a hand, what was decided, what ladder.toml says."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from arena.examine import Finding
from ladder import views
from ladder.service import Ladder, check_up
from ladder.service import similar as all_similar
from ladder.views import ActList, Overview, Reader, Similar
from ladder.web.draw import form
from ladder.web.forms import Visited
from ladder.web.reads import read
from ladder.web.visit import Id

router = APIRouter()

FRESH_S = 60.0  # that a checkup holds: of a large ladder one takes seconds

_checked: dict[Path, tuple[float, tuple[Finding, ...]]] = {}


@read(router, "/admin", "admin.html", fresh_s=1)
def overview(ladder: Ladder, reader: Reader, check: bool = False) -> Overview:
    """Return the ladder in one look; with `check`, as `arena ladder doctor` checks it, once a minute at most."""
    quotas = views.Quotas(**ladder.last_settings.quotas.model_dump())
    return views.overview(reader, quotas, _checkup(ladder) if check else None)


def _checkup(ladder: Ladder) -> tuple[Finding, ...]:
    now = ladder.clock()
    at, findings = _checked.get(ladder.path, (0.0, ()))
    if not 0 <= now - at < FRESH_S:
        findings = tuple(check_up(ladder.path))
        _checked[ladder.path] = (now, findings)
    return findings


@read(router, "/admin/acts", "acts.html")
def acts(ladder: Ladder, reader: Reader, after: Id | None = None) -> ActList:
    """Return what was decided, the last first; fifty before the one whose number is `after`."""
    return views.act_list(reader, after)


@read(router, "/admin/similar", "similar.html", fresh_s=1)
def similar(ladder: Ladder, _reader: Reader, compare: bool = False) -> Similar:
    """Return which versions of different owners are alike; `compare` takes seconds, of a class."""
    return all_similar(ladder, compare)


@router.get("/admin/settings", include_in_schema=False)
def settings(visit: Visited) -> Response:
    """Show what ladder.toml says, but for secrets: the database's address may hold one."""
    current = visit.ladder.settings
    tables = current.model_dump(exclude={"database", "deadlines", "baselines"}, exclude_none=True)
    tables.get("sign_in", {}).pop("client_secret", None)
    lists = {"deadlines": current.deadlines, "baselines": current.baselines}
    return form(visit, "settings.html", file=visit.ladder.path.absolute() / "ladder.toml", tables=tables, lists=lists)
