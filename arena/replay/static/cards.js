// Cards, coins, avatars and signs as elements. A role has a colour, a figure, a sign and a name.

import { plain } from "./dom.js";
import { h } from "./preact.min.js";

// Colours of tokens.css. Roles that are never in one game may share one.
const COLOURS = {
  ambassador: "green",
  assassin: "slate",
  captain: "blue",
  contessa: "red",
  duke: "purple",
  inquisitor: "brown",
};

// Signs on a field of 24 by 24.
const SIGNS = {
  ambassador: "M3 6h18v12H3zM3.5 6.5 12 13l8.500-6.500",
  assassin: "M12 2.500 14 7v8h-4V7zM6.500 15.500h11M12 15.500V21M10 21h4",
  captain: "M12 7.500V21M8 11h8M4.500 14c.4 4 3.700 7 7.500 7s7.100-3 7.500-7M12 7.500a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600z",
  contessa: "M12 20 2.500 10.500a13.500 13.500 0 0 1 19 0zM12 20 7.500 7.300M12 20V6.500M12 20l4.500-12.700",
  duke: "M4 18.500 2.500 7.500 8 12l4-7 4 7 5.500-4.500-1.500 11z",
  inquisitor: "M2 12s3.600-6.500 10-6.500S22 12 22 12s-3.600 6.500-10 6.500S2 12 2 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
};

// Figures on a card of 60 by 84, as [fill, path]: "light", "gold" and "dark" are colours of page.css.
const SHOULDERS = "M8 70c0-13 8-19 22-19s22 6 22 19z";
const HEAD = "M30 30a9 9 0 0 1 9 9v3a9 9 0 0 1-18 0v-3a9 9 0 0 1 9-9z";
const FIGURES = {
  ambassador: [
    ["light", SHOULDERS],
    ["light", HEAD],
    ["dark", "M12 29h36v5H12zM20 12h20v17H20z"],
    ["gold", "M20 23h20v4H20z"],
    ["gold", "M18 55h24v4H18zM18 65h24v4H18z"],
    ["dark", "M21 59h18v6H21z"],
  ],
  assassin: [
    ["dark", "M30 9c14 6 19 22 19 38 0 8 3 15 3 23H8c0-8 3-15 3-23C11 31 16 15 30 9z"],
    ["light", "M30 24c7 4 10 10 10 18 0 5-4 9-10 9s-10-4-10-9c0-8 3-14 10-18z"],
    ["dark", "M18 36h24v7H18z"],
    ["gold", "M28.500 47h3v8h7v3h-7l-1.500 12-1.500-12h-7v-3h7z"],
  ],
  captain: [
    ["light", SHOULDERS],
    ["light", HEAD],
    ["dark", "M6 33c2-13 12-20 24-20s22 7 24 20c-8-4-16-5-24-5s-16 1-24 5z"],
    ["gold", "M30 15.500a5 5 0 1 1 0 10 5 5 0 0 1 0-10z"],
    ["dark", "M28.500 54h3v3h4v3h-4v6c2-.5 4-2 5-4l3 1c-1.500 4-5 6.500-9.500 6.500S22 67 20.500 63l3-1c1 2 3 3.500 5 4v-6h-4v-3h4z"],
    ["gold", "M8 58c2-4 5-6 9-7v6c-3 1-5 3-5 6H8zM52 58c-2-4-5-6-9-7v6c3 1 5 3 5 6h4z"],
  ],
  contessa: [
    ["dark", "M30 11c11 0 17 9 17 20 0 8-3 14-3 22H16c0-8-3-14-3-22 0-11 6-20 17-20z"],
    ["light", SHOULDERS],
    ["light", "M30 22a9.500 9.500 0 0 1 9.500 10v5a9.500 9.500 0 0 1-19 0v-5A9.500 9.500 0 0 1 30 22z"],
    ["gold", "M30 70 11 55c4-6 11-10 19-10s15 4 19 10z"],
    ["dark", "M30 70 17.700 49.700l2.300-1.300zM30 70l-1.300-25h2.600zM30 70l10-21.600 2.300 1.300z"],
  ],
  duke: [
    ["light", SHOULDERS],
    ["light", HEAD],
    ["gold", "M14 33V12l8.500 8L30 9l7.500 11 8.500-8v21z"],
    ["dark", "M14 27h32v3H14z"],
    ["dark", "M19 54l11 16 11-16 6 4-9 12H22l-9-12z"],
    ["gold", "M30 57.500l4 4.500-4 4.500-4-4.500z"],
  ],
  inquisitor: [
    ["dark", "M30 6c7 8 13 22 16 37 2 9 5 18 6 27H8c1-9 4-18 6-27 3-15 9-29 16-37z"],
    ["light", "M10 46c5-8 12-12 20-12s15 4 20 12c-5 8-12 12-20 12s-15-4-20-12z"],
    ["gold", "M30 37a9 9 0 1 1 0 18 9 9 0 0 1 0-18z"],
    ["dark", "M30 42a4 4 0 1 1 0 8 4 4 0 0 1 0-8z"],
    ["gold", "M28.500 17h3v4h4v3h-4v6h-3v-6h-4v-3h4z"],
  ],
};
const BACK = [
  ["light", "M6 6h48v72H6zM7.500 7.500v69h45v-69z"],
  ["light", "M30 12 48 42 30 72 12 42zM30 15 13.800 42 30 69 46.200 42z"],
  ["gold", "M30 27l9 15-9 15-9-15z"],
  ["dark", "M30 35l4 7-4 7-4-7z"],
];

// Signs of moves that claim no role.
const MOVES = {
  challenge: "M12 3v11M12 19.500v.500",
  convert: "M4 9h14l-4-4M20 15H6l4 4",
  coup: "M5 4l14 14M19 4 5 18M4 15l5 5M20 15l-5 5",
  foreign_aid: "M9 15a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM15.500 9.500a6 6 0 1 1-6 8",
  income: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z",
  pass: "M5 5l7 7-7 7M13 5l7 7-7 7",
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
  return h("svg", { class: `sign sign-${kind}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: path }));
}

/** The drawing on a button. */
export function control(word) {
  return sign(CONTROLS[word], word);
}

/** Return a role's name as a title: "Duke", "not Duke". */
export function title(role) {
  return role.startsWith("not_") ? `no ${title(role.slice(4))}` : role.charAt(0).toUpperCase() + role.slice(1);
}

/** The style by which a card, emblem, badge or bar has the role's colour. */
export function roleColour(role) {
  return { "--role": `var(--${COLOURS[role]})` };
}

/** Two letters, since one letter is ambiguous. */
export function short(role) {
  return role.startsWith("not_") ? `¬${short(role.slice(4))}` : title(role).slice(0, 2);
}

/** A card. `state`: "" in the hand, "lost" face up, "known" for a seen card of another player, "drawn" in an exchange. */
export function card(role, state = "") {
  if (role === null) return h("span", { class: `card back ${state}` }, figure(BACK), unseen("a hidden card"));
  return h(
    "span",
    { class: `card ${state}`, style: roleColour(role), title: title(role) },
    figure(FIGURES[role] ?? [], h("path", { class: "strike", d: "M5 66 55 16" })),
    h("span", { class: "corner", "aria-hidden": "true" }, short(role)),
    h("span", { class: "role-name" }, title(role)),
    state ? unseen(` (${state})`) : null,
  );
}

function figure(shapes, ...more) {
  const paths = shapes.map(([fill, d]) => h("path", { d, style: { fill: `var(--${fill})` } }));
  return h("svg", { class: "figure", viewBox: "0 0 60 84", "aria-hidden": "true" }, h("g", {}, paths), more);
}

/** The sign of a move: that of the role that it claims or names, else its own. `row`: its row of the action table, if any. */
export function moveSign({ action, block = null, cards = [], letter = null }, row) {
  const role = block ?? (cards.length === 1 ? cards[0] : null) ?? row?.claim?.replace(/^no /, "");
  if (SIGNS[role]) return h("span", { class: "emblem", style: roleColour(role) }, sign(SIGNS[role], "role"));
  const path = MOVES[action ?? { c: "challenge", p: "pass" }[letter]];
  return path ? h("span", { class: "emblem" }, sign(path, "move")) : null;
}

/** What a move costs, as a number on a coin; null for nothing. */
export function price(cost) {
  return cost ? h("span", { class: "price" }, unseen("costs "), coins(cost)) : null;
}

/** A player's avatar: the first character of the handle on a coloured disc; letters from A to J have ten colours. */
export function avatar(handle) {
  const sum = [...handle].reduce((total, character) => (total * 31 + character.codePointAt(0)) % 9973, 0);
  const style = { "--hue": 36 * (sum % 10) };
  return h("span", { class: "avatar", style, title: plain(handle), "aria-hidden": "true" }, plain([...handle.toUpperCase()][0] ?? "?"));
}

/** An untrusted name, isolated from the text around it if its direction differs. */
export function name(text) {
  return h("bdi", { class: "name", title: plain(text) }, plain(text));
}

/** A claim as a small badge; `outcome` as in state.js. */
export function badge(claim) {
  const role = claim.role.replace(/^not_/, "");
  return h(
    "span",
    { class: `badge ${claim.outcome}`, style: roleColour(role), title: `${title(claim.role)}: ${OUTCOMES[claim.outcome]}` },
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

/** Coins as a number on a coin; `change`: by how many the step changed them. */
export function coins(number, change) {
  return [
    h("span", { class: "coin", "aria-hidden": "true" }),
    h("span", { class: "count" }, String(number)),
    unseen(number === 1 ? " coin" : " coins"),
    change ? h("span", { key: `${number} ${change}`, class: change > 0 ? "change more" : "change less" }, change > 0 ? `+${change}` : `−${-change}`) : null,
  ];
}

/** Text for screen readers. */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}

/** A probability as text: 0 % or 100 % only if it is certain. */
export function percent(chance) {
  if (chance <= 0 || chance >= 1) return chance <= 0 ? "0\u00a0%" : "100\u00a0%";
  return `${Math.min(99, Math.max(1, Math.round(chance * 100)))}\u00a0%`;
}

/** A number with one decimal, without a minus sign before 0.0. */
export function tenths(number) {
  return Number(number.toFixed(1)).toFixed(1);
}

/** A time in us as text. */
export function time(us) {
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 1 : 0)} ms`;
  return `${(us / 1e6).toFixed(1)} s`;
}
