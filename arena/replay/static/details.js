// Details of a moment: requests with answers and times, claims with their odds, and standard error.

import { badge, name, OUTCOMES, percent, time } from "./cards.js";
import { plain } from "./dom.js";
import { h } from "./preact.min.js";
import { likelihood, moveText } from "./scene.js";
import { answers, faults } from "./view.js";

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

/** The answers of a step, with their times as bars and faults, and the game's faults that belong to no step. */
export function answersPanel(scene, index) {
  const { game, moments, players, seat } = scene;
  const { step } = moments[index];
  const given = step ? answers(step, seat) : [];
  const codes = new Map(step ? faults(step, seat) : []);
  const sealed = step ? step.answers.length - given.length : 0;
  const most = Math.max(1, ...given.map(([, , us]) => us ?? 0));
  const rows = given.map(([giver, word, us]) => answer(players[giver].name, moveText(scene, word), codes.get(giver), us, most));
  const stray = step ? [] : (game.unattributed_faults ?? []).filter(([by]) => seat === null || by === seat);
  return h(
    "section",
    { class: "panel answers", "aria-labelledby": "answers-title" },
    h("h2", { id: "answers-title" }, step ? (ASKED[step.kind] ?? step.kind) : "Before the first turn"),
    rows.length ? h("table", {}, head("who", "answer", "thought"), h("tbody", {}, rows)) : null,
    step ? null : h("p", { class: "muted" }, "The cards are dealt."),
    stray.map(([by, code, count]) => h("p", {}, name(players[by].name), h("span", { class: "fault-code" }, `${plain(code)} × ${count}`), " in this game")),
    sealed ? h("p", { class: "muted" }, `${sealed} ${rows.length ? "more " : ""}${sealed === 1 ? "answer" : "answers"} that this seat wasn't shown`) : null,
  );
}

/** The head of a table. */
export function head(...texts) {
  return h("thead", {}, h("tr", {}, texts.map((text) => h("th", { scope: "col" }, text))));
}

function answer(who, text, fault, us, most) {
  return h(
    "tr",
    {},
    h("td", {}, name(who)),
    h("td", {}, text, fault ? h("span", { class: "fault-code" }, plain(fault)) : null),
    h("td", { class: "number" }, us === null || us === undefined ? "" : [time(us), meter(us / most)]),
  );
}

function meter(share) {
  return h("span", { class: "took", "aria-hidden": "true", style: { "--value": share.toFixed(3) } });
}

/** All claims of the game so far, latest first: probability, truth and result of each. */
export function claimsPanel(scene, index) {
  const { match, moments, players, seat, labels, truth, href } = scene;
  const { claims } = moments[index];
  const all = seat === null || truth;
  const guess = match.ruleset.draft ? " After a draft it is only an estimate." : "";
  const row = (claim) => {
    const likely = likelihood(scene, claim);
    return h(
      "tr",
      { key: claim.index, class: claim.index === index ? "now" : "" },
      h("td", {}, h("a", { href: href(moments[claim.index]) }, String(claim.turn))),
      h("td", {}, name(players[claim.seat].name), " ", badge(claim), h("span", { class: "muted small" }, claim.block ? " to block" : "")),
      h("td", { class: "number" }, likely === null ? "own" : [percent(likely), meter(likely)]),
      h("td", {}, all || likely === null ? verdict(claim.honest) : h("span", { class: "muted" }, "hidden")),
      h("td", {}, OUTCOMES[claim.outcome]),
    );
  };
  return h(
    "section",
    { class: "panel claims-panel", "aria-labelledby": "claims-title" },
    h("h2", { id: "claims-title" }, "Claims and odds"),
    h("p", { class: "muted small" }, `How likely each claim was for ${labels[seat] ?? "a spectator"} when it was made, given the visible cards.${guess}`),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-labelledby": "claims-title" },
      h("table", { class: seat !== -1 || truth ? "" : "untold", hidden: !claims.length }, head("turn", "claim", "likely", "in truth", "outcome"), h("tbody", {}, claims.toReversed().map(row))),
    ),
  );
}

/** Whether a claim is true, as text. */
export function verdict(honest) {
  return h("span", { class: honest ? "honest" : "bluffed" }, honest ? "true" : "bluff");
}

/** The bots' standard error in the turn of a moment; null if the game has none. */
export function stderrPanel({ entries, moments, players }, index) {
  if (!entries.length) return null;
  const { turn } = moments[index];
  const here = entries.filter((entry) => (entry.turn ?? 0) === (index ? turn : 0));
  const where = index ? `turn ${turn}` : "the start of the game";
  const output = ({ seat, text }) =>
    h("figure", {}, h("figcaption", {}, name(players[seat].name), ` · ${where}`), h("pre", { tabindex: "0", role: "group", "aria-label": "standard error" }, plain(text, true)));
  return h(
    "section",
    { class: "panel stderr", "aria-labelledby": "stderr-title" },
    h("h2", { id: "stderr-title" }, "Standard error"),
    h("div", {}, here.length ? here.map(output) : h("p", { class: "muted" }, `No output in ${where}.`)),
  );
}
