// The table: the seats, clockwise around the stage, with cards, coins and claims.

import { avatar, badge, card, coins, name, percent, roleColour, title } from "./cards.js";
import { h } from "./preact.min.js";
import { holds } from "./state.js";
import { picked } from "./view.js";

const LABELS = { actor: "acts", target: "target", challenger: "challenges", blocker: "blocks" };

/** A table: `shown[seat]` is what a seat shows, as from `seatsAt`; `nearest` sits at the bottom; `stage` is an element. */
export function tableView(shown, nearest, stage) {
  const { columns, stageColumn, around } = cells(shown.length);
  const style = { "--columns": columns, "--stage": stageColumn };
  const seats = shown.map((now, seat) => place(now, seat, around[(seat - nearest + shown.length) % shown.length]));
  return h("section", { class: "felt", style, "aria-label": "Table" }, stage, h("ol", { class: "seats", "aria-label": "The table" }, seats));
}

/**
 * The seats of a moment as `seat` knows them (null: all cards; `known`: view.js's `knowledge`). `players`: { name, handle }
 * by seat; `roles`: those of the pack; `truth`: also mark the true roles.
 */
export function seatsAt(moments, index, known, { players, roles, seat, truth }) {
  const moment = moments[index];
  const parts = taking(moment);
  return players.map((player, owner) => {
    const likely = seat === null || owner === seat || moment.out[owner] ? null : Object.entries(known.chances[owner]);
    return {
      ...player,
      coins: moment.coins[owner],
      change: index ? moment.coins[owner] - moments[index - 1].coins[owner] : 0,
      hand: hand(moment, known.hands[owner], owner),
      known: seat !== null && owner !== seat,
      drawn: owner === moment.actor ? picked(moment, seat) : [],
      revealed: moment.revealed[owner],
      fresh: index ? moment.revealed[owner].length - moments[index - 1].revealed[owner].length : 0,
      out: moment.out[owner],
      side: moment.sides[owner] ?? null,
      label: parts[owner] ?? "",
      own: owner === seat && "looks",
      claims: latest(moment.claims, owner),
      likely,
      true: truth && likely ? roles.filter((role) => holds(moment.hands[owner], role)) : [],
    };
  });
}

// Known cards first, then hidden ones: the order of a hand has no meaning.
function hand(moment, known, owner) {
  return [...known, ...Array(Math.max(0, moment.hands[owner].length - known.length)).fill(null)];
}

// The role of each seat in the step; of two roles the later one counts.
function taking(moment) {
  const parts = {};
  if (moment.step === null || moment.turn > 0) parts[moment.actor] = "actor";
  if (moment.step === null) return parts;
  const acted = moment.pending ?? moment.step.events.find((event) => event.event === "resolved");
  if (acted && typeof acted.target === "number") parts[acted.target] = "target";
  for (const event of moment.step.events) {
    if (event.event === "block") parts[event.seat] = "blocker";
    if (event.event === "challenge") parts[event.seat] = "challenger";
  }
  return parts;
}

/** The latest claim of each role of a seat. */
export function latest(claims, seat) {
  const found = new Map();
  for (const claim of claims) {
    if (claim.seat === seat) {
      found.delete(claim.role);
      found.set(claim.role, claim);
    }
  }
  return [...found.values()];
}

// The cells around the stage, clockwise from the bottom's middle, in rows 1 to 3 and halves of a column. Four to seven players
// have one on either side, next to all rows where it touches no seat; more have one or two on either side of the bottom.
function cells(seats) {
  const middle = seats > 3 && seats < 8 ? 1 : 0;
  const low = Math.max(0, Math.ceil((seats - 6) / 2) - middle);
  const above = seats - 1 - 2 * (low + middle);
  const wide = Math.max(above, 2 * low + 1, 3 + middle);
  const row = (number, from, count, span = 2) => Array.from({ length: count }, (_, place) => [number, from + span * place, span]);
  const [top, bottom] = [above < 3 ? Math.min(4, (2 * wide) / above) : 2, low ? 2 : 4];
  const side = above === 1 ? "1 / 4" : "2 / 4";
  const left = [...row(3, wide - 2 * low, low).reverse(), ...row(side, 1, middle)];
  const right = [...row(side, 2 * wide - 1, middle), ...row(3, wide + 2, low).reverse()];
  const around = [[3, wide + 1 - bottom / 2, bottom], ...left, ...row(1, wide + 1 - (top * above) / 2, above, top), ...right];
  return { columns: 2 * wide, stageColumn: middle ? 3 : 1, around: around.map(([line, column, span], place) => ({ row: line, column, span, order: place || seats })) };
}

function place(now, seat, cell) {
  const style = Object.fromEntries(Object.entries(cell).map(([part, value]) => [`--${part}`, value]));
  const claims = now.claims.length ? [h("span", { class: "muted small" }, "claimed"), now.claims.map(badge)] : null;
  return h(
    "li",
    { class: `seat ${now.label} ${now.out ? "out" : ""} ${now.own ? "own" : ""} ${now.aim ? "aim" : ""}`, "data-seat": seat, style, key: `${seat} ${now.handle}` },
    h(
      "div",
      { class: "top" },
      h("div", { class: "who" }, avatar(now.handle), name(now.name), h("div", { class: "label" }, labels(now))),
      h("div", { class: "coins" }, coins(now.coins, now.change)),
    ),
    h("div", { class: "cards" }, held(now)),
    h("div", { class: "claims" }, claims),
    h("div", { class: "odds" }, now.likely ? meters(now.likely, now.true) : null),
    now.aim,
    now.bubble,
  );
}

/** The tags of a seat: its side, its part in the move, and whether it is out or away, or its cards are shown. */
export function labels(now) {
  return [
    now.side ? h("span", { class: `side ${now.side}` }, now.side) : null,
    now.label && !now.out ? h("span", { class: `tag ${now.label}` }, LABELS[now.label]) : null,
    now.out ? h("span", { class: "tag gone" }, "out") : null,
    now.away && !now.out ? h("span", { class: "tag gone" }, "away") : null,
    now.own === "looks" && now.name !== "you" ? h("span", { class: "tag looking" }, "looks") : null,
  ];
}

function held(now) {
  return [
    now.hand.map((role) => card(role, role !== null && now.known ? "known" : "")),
    now.drawn.map((role) => card(role, "drawn")),
    now.revealed.map((role, at) => card(role, at >= now.revealed.length - now.fresh ? "lost fresh" : "lost")),
  ];
}

/** The probability of each role as a bar with its number; a dot if the seat really has it. */
export function meters(likely, held) {
  return h(
    "ul",
    { class: "meters", "aria-label": "how likely it has" },
    likely.map(([role, value]) => {
      const has = held.includes(role);
      const bar = h("span", { class: "bar", style: { ...roleColour(role), "--value": value.toFixed(3) } });
      return h(
        "li",
        { class: has ? "true" : "", title: `${title(role)}: ${percent(value)}${has ? ", and it has one" : ""}` },
        bar,
        h("span", { class: "value" }, percent(value).replace("\u00a0", "\u202f")),
        h("span", { class: "role", "aria-hidden": "true" }, title(role).slice(0, 4)),
        h("span", { class: "unseen" }, `${title(role)} ${percent(value)}${has ? ", true" : ""}`),
      );
    }),
  );
}
