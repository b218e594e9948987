// The tab in which a visitor writes a bot and plays it against sample bots.

import { h } from "./dom.js";

/** Fill the tab. */
export function fill(panel) {
  panel.append(h("div", { id: "editor" }));
}
