// The game as text, turn by turn. On the page of a record each line links to its moment.

import { badge } from "./cards.js";
import { plain } from "./dom.js";
import { Component, createRef, h } from "./preact.min.js";
import { MARKS } from "./timeline.js";

const MEANING = Object.fromEntries(MARKS);

const QUIET = { challenge: "No challenge", block: "No block" };

const RESULTS = { blocked: "the block stands", failed: "the action fails", done: "the action succeeds" };

/** The signs of the log and what they mean. */
export function legend() {
  const signs = [...MARKS.slice(0, 3).map(([mark, meaning]) => [h("i", { class: `mark ${mark}` }), meaning]), ["✓", "claim proven"], ["✗", "claim not proven"]];
  return h("p", { class: "small" }, "Signs of the log: ", signs.map(([sign, meaning]) => [" ", sign, ` ${meaning}`]));
}

/** A step as text; "" for a step without text. `tellers`: of event_text.js. `kind`: the kind of request. */
export function stepText(tellers, kind, events, names) {
  const isolated = events.map((event) => (event.text === undefined ? event : { ...event, text: `\u2068${plain(event.text)}\u2069` }));
  const spoken = tellers.story(isolated, names);
  const quiet = !events.some((event) => event.event === "challenge" || event.event === "block");
  const gains = spoken ? "" : tellers.story(isolated, names, true);
  const how = events.find((event) => event.event === "resolved")?.how;
  const result = how === "done" && !(quiet && QUIET[kind]) ? "" : (RESULTS[how] ?? "");
  if (quiet && QUIET[kind]) return [[QUIET[kind], result].filter(Boolean).join(": "), spoken, gains].filter(Boolean).join(" · ");
  return [spoken, gains, result].filter(Boolean).join(" · ");
}

const NEAR_PX = 40; // from the end of a list, for a reader who follows it

/** A list that stays scrolled to its end, unless its reader scrolls up. It is drawn again where `of` is another object. */
export class Following extends Component {
  list = createRef();

  shouldComponentUpdate(next) {
    return next.of !== this.props.of;
  }

  getSnapshotBeforeUpdate() {
    const { scrollHeight, scrollTop, clientHeight } = this.list.current;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  }

  componentDidMount() {
    this.componentDidUpdate(null, null, true);
  }

  componentDidUpdate(before, state, follows) {
    if (follows) this.list.current.scrollTop = this.list.current.scrollHeight;
  }

  render({ list, children }) {
    return h("ol", { ...list, ref: this.list }, children);
  }
}

/**
 * The lines of a game by turn, each { turn, title, entries: [[index, line]] }. `lines`: for each moment { turn, title, text,
 * href, marks, claims }, or null for a moment without text. `href` is null without a link; `claims` are those made then.
 */
export function byTurn(lines) {
  const found = [];
  lines.forEach((line, index) => {
    if (line === null) return;
    if (found.at(-1)?.turn !== line.turn) found.push({ turn: line.turn, title: line.title, entries: [] });
    found.at(-1).entries.push([index, line]);
  });
  return found;
}

/** A turn of `byTurn`; `current`: the index of the line to mark, if it is in this turn. */
export function turnItem({ turn, title, entries }, current = null) {
  return h("li", { class: "turn", key: turn }, h("h3", {}, title), h("ol", {}, entries.map(([index, line]) => h("li", { key: index }, entry(line, index === current)))));
}

function entry({ href, text, claims, marks }, current) {
  return h(
    href === null ? "div" : "a",
    { class: "line", href, "aria-current": current ? "step" : null },
    h("span", { class: "text" }, text),
    claims.map(badge),
    marks.map((mark) => h("i", { class: `mark ${mark}`, role: "img", title: MEANING[mark], "aria-label": MEANING[mark] })),
  );
}

export const LOG_LIST = { class: "turns", tabindex: 0, "aria-labelledby": "log-title" };

/** The panel of the log around its list. */
export function logPanel(list) {
  return h("section", { class: "panel log", "aria-labelledby": "log-title" }, h("h2", { id: "log-title" }, "The game"), list);
}
