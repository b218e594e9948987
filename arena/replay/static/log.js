// The game as text, turn by turn. On the page of a record each line links to its moment.

import { badge } from "./cards.js";
import { h, plain, refill } from "./dom.js";
import { MARKS } from "./scrubber.js";

const MEANING = Object.fromEntries(MARKS);

const QUIET = { challenge: "No challenge", block: "No block" };

const RESULTS = { blocked: "the block stands", failed: "the action fails", done: "the action succeeds" };

/** The signs of the log and what they mean. */
export function legend() {
  const signs = [...MARKS.slice(0, 3).map(([mark, meaning]) => [h("i", { class: `mark ${mark}` }), meaning]), ["✓", "claim proven"], ["✗", "claim not proven"]];
  return h("p", { class: "small" }, "Signs of the log: ", signs.map(([sign, meaning]) => [" ", sign, ` ${meaning}`]));
}

/** A step as text; "" for a step without text. `tellers`: of words.js. `kind`: the kind of request. */
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

export class Log {
  constructor() {
    this.list = h("ol", { class: "turns", tabindex: 0, "aria-labelledby": "log-title" });
    this.element = h("section", { class: "panel log", "aria-labelledby": "log-title" }, h("h2", { id: "log-title" }, "The game"), this.list);
    this.scrolling = null;
    this.load([]);
  }

  /**
   * `lines`: for each moment { turn, title, text, href, marks, claims }, or null for a moment without text. `href` is
   * null without a link; `claims` are those made at the moment.
   */
  load(lines) {
    this.lines = [];
    this.current = null;
    const turns = [];
    lines.forEach((line, index) => {
      if (line === null) return;
      if (turns.at(-1)?.turn !== line.turn) turns.push({ turn: line.turn, title: line.title, items: [] });
      const link = h(
        line.href === null ? "div" : "a",
        { class: "line", href: line.href },
        h("span", { class: "text" }, line.text),
        line.claims.map(badge),
        line.marks.map((mark) => h("i", { class: `mark ${mark}`, role: "img", title: MEANING[mark], "aria-label": MEANING[mark] })),
      );
      this.lines[index] = link;
      turns.at(-1).items.push(h("li", {}, link));
    });
    refill(
      this.list,
      turns.length ? turns.map(({ title, items }) => h("li", { class: "turn" }, h("h3", {}, title), h("ol", {}, items))) : h("li", {}, "The game begins."),
    );
  }

  /** Mark the line of a moment, or the last line before it. */
  show(index) {
    let place = index;
    while (place > 0 && !this.lines[place]) place--;
    const line = this.lines[place];
    if (line === this.current) return;
    const first = this.current === null;
    this.current?.removeAttribute("aria-current");
    this.current = line ?? null;
    if (!line) return;
    line.setAttribute("aria-current", "step");
    if (first) this.scroll();
    else this.scrolling ??= setTimeout(() => this.scroll(), 100); // scrolling costs as much as a whole step
  }

  scroll() {
    this.scrolling = null;
    if (this.current === this.lines.at(-1)) this.list.scrollTop = this.list.scrollHeight;
    else if (this.current) this.list.scrollTop = this.current.offsetTop - this.list.clientHeight / 2;
  }
}
