"""How fast the page of a match opens and steps, in the system's Chromium."""

import tempfile
from pathlib import Path
from typing import NamedTuple

from arena.page import page
from tests.chromium import chromium
from tests.page.samples import sample

# Until the first game is drawn: scripts have run, and the browser has painted.
_OPENED = """() => Math.max(
  performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd,
  performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity)"""

# A key in each frame, as somebody who holds it down: all the work of a step, layout included, and frames a second.
_STEPPED = """(keys) => new Promise((done) => {
  const began = performance.now();
  let work = 0;
  let pressed = 0;
  const step = () => {
    const before = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: keys[pressed++], bubbles: true }));
    document.body.offsetHeight;
    work += performance.now() - before;
    if (pressed < keys.length) requestAnimationFrame(step);
    else done([work / pressed, 1000 * pressed / (performance.now() - began)]);
  };
  requestAnimationFrame(step);
})"""


# What this machine's browser manages while one line of text changes: no page is faster.
_FLOOR = """(frames) => new Promise((done) => {
  const line = document.querySelector(".facts");
  const began = performance.now();
  let drawn = 0;
  const step = () => {
    line.textContent = `${drawn++}`;
    if (drawn < frames) requestAnimationFrame(step);
    else done(1000 * drawn / (performance.now() - began));
  };
  requestAnimationFrame(step);
})"""


class Measured(NamedTuple):
    """Medians: a page's size in kB, ms until it is there, ms of work for a step, steps a second, and bare frames."""

    kb: int
    opened_ms: float
    step_ms: float
    steps_a_second: float
    frames_a_second: float


def measured(seats: int, games: int, times: int, steps: int) -> Measured:
    """Open a page several times, and go through a game, all cards shown and as one seat knows it."""
    with tempfile.TemporaryDirectory() as folder, chromium() as reader:
        path = Path(folder) / "page.html"
        path.write_text(page([sample("coup", seats, games)], "a match"), "utf-8")
        opened, walked, floor = [], [], []
        for number in range(times):
            shown = reader.open(path, f"#game={number % games}{'&seat=1' if number % 2 else ''}")
            shown.wait_for_timeout(200)  # the paint is told a moment later
            opened.append(shown.evaluate(_OPENED))
            last = int(shown.get_by_role("slider").get_attribute("max"))
            there, back = ["ArrowRight"] * last, ["ArrowLeft"] * last
            floor.append(shown.evaluate(_FLOOR, steps))
            walked.append(shown.evaluate(_STEPPED, ((there + back) * (1 + steps // (2 * last)))[:steps]))
        reader.check()
        work, rate = (sorted(figures)[times // 2] for figures in zip(*walked, strict=True))
        return Measured(path.stat().st_size // 1000, sorted(opened)[times // 2], work, rate, sorted(floor)[times // 2])
