"""Write docs/replay.webp, the README's animation: the first steps of the game of front.record.jsonl in its replay.

`python -m docs.animate` needs Chromium, Playwright and Pillow.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image

from arena.referee import read_record
from arena.replay import make_replay_object, replay_page
from tests.chromium import chromium

DOCS = Path(__file__).parent
STEPS, STEP_MS, WIDTH, HEIGHT = 26, 1300, 760, 560


def main() -> None:
    """Take a picture of each step, and write the animation."""
    record = read_record((DOCS / "front.record.jsonl").read_text(encoding="utf-8"))
    pictures = []
    with tempfile.TemporaryDirectory() as folder, chromium() as reader:
        path = Path(folder, "replay.html")
        path.write_text(replay_page([make_replay_object(record)], "A game"), encoding="utf-8")
        page = reader.open(path, "", WIDTH, HEIGHT, bypass_csp=True, color_scheme="light")
        style = (DOCS / "front-replay.css").read_text(encoding="utf-8")
        page.add_style_tag(content=f"{style} .controls {{ display: none !important }}")
        for _ in range(STEPS):
            page.keyboard.press("ArrowRight")
            page.wait_for_timeout(400)
            pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    pictures[0].save(
        DOCS / "replay.webp", save_all=True, append_images=pictures[1:], duration=STEP_MS, loop=0, quality=55, method=6
    )


if __name__ == "__main__":
    main()
