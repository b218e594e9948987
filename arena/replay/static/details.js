// Details of a moment: requests with answers and times, claims with their odds, and standard error.

import { badge, OUTCOMES, percent, time, title } from "./cards.js";
import { h, name, plain, refill } from "./dom.js";

/** What each kind of request asks, as a heading. */
const ASKED = {
  turn: "An action is chosen",
  challenge: "Who challenges?",
  block: "Who blocks?",
  prove: "Can it be shown?",
  keep_shown: "Is the shown card kept?",
  lose: "Which card is lost?",
  exchange: "Which cards are kept?",
  examine_show: "Which card is shown to the inquisitor?",
  examine_decide: "Is the card replaced?",
  draft: "Which card is picked?",
  allegiance: "Which side?",
};

/** The answers of a step, with their times as bars and faults. */
export class Answers {
  constructor() {
    this.title = h("h2", { id: "answers-title" });
    this.body = h("div", {});
    this.element = h("section", { class: "panel answers", "aria-labelledby": "answers-title" }, this.title, this.body);
  }

  /**
   * `rows`: { name, text, us, fault } of each answer shown; `sealed`: how many others answered unseen. `unattributed`:
   * { name, code, count } of the game's faults that belong to no step.
   */
  show(kind, rows, sealed, unattributed) {
    this.title.textContent = kind === null ? "Before the first turn" : (ASKED[kind] ?? kind);
    const most = Math.max(1, ...rows.map((row) => row.us ?? 0));
    refill(
      this.body,
      rows.length
        ? h(
            "table",
            {},
            h("thead", {}, h("tr", {}, ...["who", "answer", "thought"].map((text) => h("th", { scope: "col" }, text)))),
            h("tbody", {}, rows.map((row) => answer(row, most))),
          )
        : null,
      kind === null ? h("p", { class: "muted" }, "The cards are dealt.") : null,
      unattributed.map((stray) =>
        h("p", {}, name(stray.name), h("span", { class: "fault-code" }, `${plain(stray.code)} × ${stray.count}`), " in this game"),
      ),
      sealed
        ? h("p", { class: "muted" }, `${sealed} ${rows.length ? "more " : ""}${sealed === 1 ? "answer" : "answers"} that this seat wasn't shown`)
        : null,
    );
  }
}

function answer(row, most) {
  const bar = h("span", { class: "took", "aria-hidden": "true" });
  bar.style.setProperty("--value", (row.us / most).toFixed(3));
  return h(
    "tr",
    {},
    h("td", {}, name(row.name)),
    h("td", {}, row.text, row.fault ? h("span", { class: "fault-code" }, plain(row.fault)) : null),
    h("td", { class: "number" }, row.us === null || row.us === undefined ? "" : [time(row.us), bar]),
  );
}

/** All claims of the game so far, latest first: probability, truth and result of each. */
export class Claims {
  constructor() {
    this.looker = h("p", { class: "muted small" });
    this.body = h("tbody", {});
    this.table = h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...["turn", "claim", "likely", "in truth", "outcome"].map((text) => h("th", { scope: "col" }, text)))),
      this.body,
    );
    this.element = h(
      "section",
      { class: "panel claims-panel", "aria-labelledby": "claims-title" },
      h("h2", { id: "claims-title" }, "Claims and odds"),
      this.looker,
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-labelledby": "claims-title" }, this.table),
    );
  }

  /** Reset for another game or viewer, given as text. `any`: whether the viewer knows the truth of any claim. */
  load(looker, truth, any) {
    this.truth = truth;
    this.table.classList.toggle("untold", !any);
    this.rows = new Map(); // by claim: a decided claim is a new object
    this.now = null;
    this.looker.textContent = looker;
  }

  /** `claims`: those of a moment (state.js); `more(claim)` gives { name, likely, href }, likely null for the viewer's own. */
  show(claims, more, index) {
    this.table.hidden = !claims.length;
    const rows = claims.map((claim) => {
      if (!this.rows.has(claim)) this.rows.set(claim, this.row(claim, more(claim)));
      return this.rows.get(claim);
    });
    const now = claims.at(-1)?.index === index ? rows.at(-1) : null;
    if (now !== this.now) {
      this.now?.classList.remove("now");
      now?.classList.add("now");
      this.now = now;
    }
    if (rows.length !== this.body.children.length || rows.some((row, place) => row !== this.body.children[rows.length - 1 - place])) {
      refill(this.body, rows.reverse());
    }
  }

  row(claim, { name: who, likely, href }) {
    const truth = this.truth || likely === null;
    return h(
      "tr",
      {},
      h("td", {}, h("a", { href }, String(claim.turn))),
      h("td", {}, name(who), " ", badge(claim), h("span", { class: "muted small" }, claim.block ? " to block" : "")),
      h("td", { class: "number" }, likely === null ? "own" : meter(likely)),
      h("td", {}, truth ? verdict(claim.honest) : h("span", { class: "muted" }, "hidden")),
      h("td", {}, OUTCOMES[claim.outcome]),
    );
  }
}

/** Whether a claim is true, as text. */
export function verdict(honest) {
  return h("span", { class: honest ? "honest" : "bluffed" }, honest ? "true" : "bluff");
}

function meter(likely) {
  const bar = h("span", { class: "took", "aria-hidden": "true" });
  bar.style.setProperty("--value", likely.toFixed(3));
  return [percent(likely), bar];
}

/** The bots' standard error in a turn. */
export class Stderr {
  constructor() {
    this.title = h("h2", { id: "stderr-title" }, "Standard error");
    this.body = h("div", {});
    this.element = h("section", { class: "panel stderr", "aria-labelledby": "stderr-title" }, this.title, this.body);
    this.shown = "";
  }

  /** `entries`: { name, text } of the turn; `any`: whether other turns of the game have entries. */
  show(entries, where, any) {
    this.element.hidden = !any;
    const key = JSON.stringify([entries, where]);
    if (key === this.shown) return;
    this.shown = key;
    refill(
      this.body,
      entries.length
        ? entries.map((entry) => h("figure", {}, h("figcaption", {}, name(entry.name), ` · ${where}`), output(entry)))
        : h("p", { class: "muted" }, `No output in ${where}.`),
    );
  }
}

function output({ text }) {
  return h("pre", { tabindex: "0", role: "group", "aria-label": "standard error" }, plain(text, true));
}

/** A claim in words: "claims to have a Duke". */
export function claiming(role) {
  return role.startsWith("not_") ? `claims to have no ${title(role.slice(4))}` : `claims the ${title(role)}`;
}
