// Cards, coins and signs as elements. A role has a colour, a sign and a name.

import { drawn, h } from "./dom.js";

// Signs on a field of 24 by 24.
const SIGNS = {
  ambassador: "M3 6h18v12H3zM3.5 6.5 12 13l8.500-6.500",
  assassin: "M12 2.500 14 7v8h-4V7zM6.500 15.500h11M12 15.500V21M10 21h4",
  captain: "M12 7.500V21M8 11h8M4.500 14c.4 4 3.700 7 7.500 7s7.100-3 7.500-7M12 7.500a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600z",
  contessa: "M12 20 2.500 10.500a13.500 13.500 0 0 1 19 0zM12 20 7.500 7.300M12 20V6.500M12 20l4.500-12.700",
  duke: "M4 18.500 2.500 7.500 8 12l4-7 4 7 5.500-4.500-1.500 11z",
  inquisitor: "M2 12s3.600-6.500 10-6.500S22 12 22 12s-3.600 6.500-10 6.500S2 12 2 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
};

const CONTROLS = {
  back: "M15 5l-7 7 7 7",
  end: "M6 5l7 7-7 7M17.500 5v14",
  forth: "M9 5l7 7-7 7",
  mark: "M5 5l7 7-7 7M16 12l3-3.500 3 3.500-3 3.500z",
  markback: "M19 5l-7 7 7 7M2 12l3-3.500L8 12l-3 3.500z",
  pause: "M8.500 5v14M15.500 5v14",
  play: "M7.500 4.500v15l12-7.500z",
  start: "M18 5l-7 7 7 7M6.500 5v14",
  theme: "M12 3.500a8.500 8.500 0 1 0 0 17zM12 3.500a8.500 8.500 0 0 1 0 17",
};

/** A line drawing of 24 by 24. */
function sign(path, kind) {
  return drawn("svg", { class: `sign sign-${kind}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, drawn("path", { d: path }));
}

/** The drawing on a button. */
export function control(word) {
  return sign(CONTROLS[word], word);
}

/** Return a role's name as a title: "Duke", "not Duke". */
export function title(role) {
  return role.startsWith("not_") ? `no ${title(role.slice(4))}` : role.charAt(0).toUpperCase() + role.slice(1);
}

/** Two letters, since one letter is ambiguous. */
export function short(role) {
  return role.startsWith("not_") ? `¬${short(role.slice(4))}` : title(role).slice(0, 2);
}

/** A card. `state`: "" in the hand, "lost" face up, "known" for another's that was seen, "drawn" in an exchange. */
export function card(role, state = "") {
  if (role === null) {
    return h("span", { class: `card back ${state}` }, h("span", { "aria-hidden": "true" }, "?"), unseen("a hidden card"));
  }
  return h(
    "span",
    { class: `card ${role} ${state}` },
    sign(SIGNS[role] ?? "", "role"),
    h("span", { class: "role-name" }, title(role)),
    state ? unseen(` (${state})`) : null,
  );
}

/** A claim as a small badge; `outcome` as in state.js. */
export function badge(claim) {
  const role = claim.role.replace(/^not_/, "");
  return h(
    "span",
    { class: `badge ${role} ${claim.outcome}`, title: `${title(claim.role)}: ${OUTCOMES[claim.outcome]}` },
    short(claim.role),
    h("span", { class: "outcome", "aria-hidden": "true" }, { proven: "✓", caught: "✗" }[claim.outcome] ?? ""),
    unseen(` (${title(claim.role)}, ${OUTCOMES[claim.outcome]})`),
  );
}

export const OUTCOMES = {
  open: "open",
  stood: "not challenged",
  proven: "proven",
  caught: "not proven",
};

/** Coins as a number on a coin; `change` is what the step did to them. */
export function coins(number, change) {
  return [
    h("span", { class: "coin", "aria-hidden": "true" }),
    h("span", { class: "count" }, String(number)),
    unseen(number === 1 ? " coin" : " coins"),
    change ? h("span", { class: change > 0 ? "change more" : "change less" }, change > 0 ? `+${change}` : `−${-change}`) : null,
  ];
}

/** Text for those who hear the page. */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}

/** A probability as text: never 0 % or 100 % where it isn't certain. */
export function percent(chance) {
  if (chance <= 0 || chance >= 1) return chance <= 0 ? "0 %" : "100 %";
  return `${Math.min(99, Math.max(1, Math.round(chance * 100)))} %`;
}

/** A time in us as text. */
export function time(us) {
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 1 : 0)} ms`;
  return `${(us / 1e6).toFixed(1)} s`;
}
