"""Pages: one self-contained HTML file each, which works offline and asks nothing of the network.

`frame` makes a page of any content in the style that all share. The parts of
`static/` are plain ES modules and style sheets without a build step; `script` and `style` put them into a page. Must
not know files, commands or the engine: what is shown comes in as values.
"""

from arena.page.frame import data, frame, script, style

__all__ = ["data", "frame", "script", "style"]
