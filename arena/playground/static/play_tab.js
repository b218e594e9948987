// The tab in which a visitor plays at a table of sample bots: the table's page, and a worker in place of a server.

import { h, read } from "./dom.js";
import { call, listen } from "./python.js";
import { openReplay } from "./replay.js";

const frame = h("iframe", { id: "table", title: "The table" });
let loads = true; // whether the match hasn't begun

function send(message) {
  frame.contentWindow.postMessage(JSON.stringify(message), location.origin);
}

/** Fill the tab. */
export function fill(panel) {
  frame.src = read("table-url");
  frame.onload = () => listen(({ text }) => loads && send({ loading: text }));
  panel.append(frame);
}
