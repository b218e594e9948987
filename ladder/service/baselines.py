"""Whether a version reaches a baseline: what was measured beside what is asked for.

Who beats a bot is told by the adjusted shares of wins, not by the games that the two had in common: those are few, and
at a table of four they say as much of the others. The lower end of the difference's 95 % interval is to be above 0.

Faults are counted plainly: after 240 games without a fault, the 95 % interval still goes up to 1.6 %.

A share is held against its threshold by its value. Where the threshold lies within the interval, more games might say
otherwise; the mark tells so.
"""

from ladder.rating import Estimate, Z, wilson
from ladder.service.measurement import Measures
from ladder.service.settings import Baseline
from ladder.store.database import Version
from ladder.views import Mark


def mark(baseline: Baseline, version: Version, measured: Measures, other: Version | None) -> Mark:
    """Hold a baseline against a version. `other` is the version of the bot that is to be beaten, if it plays."""
    if baseline.beats is not None:
        return _beats(baseline, version, measured, other)
    if baseline.games is not None:
        return _games(baseline, baseline.games, version, measured)
    assert baseline.share_percent is not None
    return _share(baseline, baseline.share_percent, version, measured)


def failure_mark(baseline: Baseline, words: str) -> Mark:
    """Return the mark of a baseline that nothing could be held against."""
    return _mark(baseline, False, None, None, words)


def _beats(baseline: Baseline, version: Version, measured: Measures, other: Version | None) -> Mark:
    if other is None:
        return failure_mark(baseline, f"{baseline.beats} doesn't play")
    if other.bot == version.bot:
        return failure_mark(baseline, f"it is {baseline.beats} itself")
    lead = measured.lead(version.id, other.id)
    if lead is None:
        return failure_mark(baseline, "no games yet")
    if lead.low is None:
        return _mark(baseline, False, 0.0, lead, "too few games for an interval")
    passed = lead.low > 0
    way = "ahead of" if lead.value > 0 else "behind"
    words = f"{abs(100 * lead.value):.1f} points {way} {other.label} ({_interval(lead)})"
    return _mark(baseline, passed, 0.0, lead, words)


def _games(baseline: Baseline, games: int, version: Version, measured: Measures) -> Mark:
    row = measured.row(version.id)
    played = 0 if row is None else row.games
    faulty = measured.faulty.get(version.id, 0)
    words = f"{played} games, where {games} are asked for"
    if baseline.faults_percent is None:
        return _mark(baseline, played >= games, None, None, words)
    if not played:
        return _mark(baseline, False, baseline.faults_percent, None, words)
    share = Estimate(faulty / played, *wilson(faulty / played, Z * Z / played))
    passed = played >= games and 100 * share.value < baseline.faults_percent
    words = f"{words}, {100 * share.value:.1f} % with a fault"
    return _mark(baseline, passed, baseline.faults_percent, share, words)


def _share(baseline: Baseline, threshold: float, version: Version, measured: Measures) -> Mark:
    row = measured.row(version.id)
    if row is None or row.adjusted is None:
        return failure_mark(baseline, "no games yet")
    share = row.adjusted
    words = f"{100 * share.value:.1f} % of wins"
    words += f" ({_interval(share)})" if share.low is not None else ", too few games for an interval"
    passed = share.low is not None and 100 * share.value >= threshold
    doubtful = share.low is not None and share.high is not None and 100 * share.low < threshold <= 100 * share.high
    return _mark(baseline, passed, threshold, share, words, doubtful)


def _mark(
    baseline: Baseline,
    passed: bool,
    threshold: float | None,
    estimate: Estimate | None,
    words: str,
    doubtful: bool = False,
) -> Mark:
    def percent(value: float | None) -> float | None:
        return None if value is None else round(100 * value, 6)  # beyond, processors differ

    return Mark(
        baseline=baseline.name,
        passed=passed,
        points=baseline.points if passed else 0.0,
        possible=baseline.points,
        threshold=threshold,
        value=None if estimate is None else percent(estimate.value),
        low=None if estimate is None else percent(estimate.low),
        high=None if estimate is None else percent(estimate.high),
        doubtful=doubtful,
        words=words,
    )


def _interval(estimate: Estimate) -> str:
    assert estimate.low is not None
    assert estimate.high is not None
    return f"{100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
