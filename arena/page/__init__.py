"""Pages: one self-contained HTML file each, which works offline and asks nothing of the network.

`page` shows matches, game by game; `table_page` is where one plays, and asks its own server alone; `frame` makes a page
of any other content in the same style. The parts of `static/` are plain ES modules and style sheets without a build
step; `script` and `style` put them into a page. Must not know files, commands or the engine: what is shown comes in as
values.
"""

from arena.page.frame import data, frame, script, style
from arena.page.packing import pack
from arena.page.page import page
from arena.page.table_page import table_page
