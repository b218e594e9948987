// A bar over all moments of a game: a slider, marks above it, thinking time below them.

import { time } from "./cards.js";
import { h } from "./preact.min.js";

/** The kinds of mark, in the order of their lanes: the word of a moment's `marks`, and what it means. */
export const MARKS = [
  ["challenge", "challenge"],
  ["bluff", "bluff"],
  ["loss", "loss of a card"],
  ["fault", "fault"],
  ["stderr", "standard error"],
];

/** The lanes of a game. `marks[k]`: the words of MARKS at moment k; `thought[k]`: its longest answer's time in us. */
export function lanes(marks, thought) {
  const last = Math.max(1, marks.length - 1);
  const kinds = MARKS.map(([word]) => word).filter((word) => marks.some((words) => words.includes(word)));
  const at = (index, more) => ({ "--share": (index / last).toFixed(4), ...more });
  const most = Math.max(1, ...thought);
  const bar = (us, index) =>
    us ? h("i", { class: "took", title: time(us), style: at(index, { "--value": (Math.log10(1 + us / 20) / Math.log10(1 + most / 20)).toFixed(3) }) }) : null;
  const signs = marks.flatMap((words, index) => words.map((word) => h("i", { class: `mark ${word}`, style: at(index, { "--lane": kinds.indexOf(word) }) })));
  return [
    h("div", { class: "lanes", "aria-hidden": "true", style: { "--lanes": kinds.length } }, signs),
    h("div", { class: "times", "aria-hidden": "true", title: `thinking time, up to ${time(most)}` }, thought.map(bar)),
  ];
}

/** The bar with its slider at a moment; `drawn`: its `lanes`; `text` describes the moment; `go(index)` moves to another. */
export function timeline(drawn, count, index, text, go) {
  const slider = { type: "range", min: 0, max: count - 1, step: 1, value: index, "aria-label": "moment of the game", "aria-valuetext": text };
  return h("div", { class: count > 200 ? "scrubber dense" : "scrubber" }, drawn, h("input", { ...slider, oninput: (event) => go(Number(event.target.value)) }));
}

/** What the marks mean. */
export function marksLegend() {
  const rows = [...MARKS, ["thought", "thinking time"]];
  return h("ul", { class: "legend", "aria-label": "marks" }, rows.map(([word, text]) => h("li", {}, h("i", { class: `mark ${word}` }), text)));
}
