// The table: the seats, clockwise around the stage, with cards, coins and claims.
//
// Unchanged elements stay untouched between moments, so that stepping is fast and no text is read out twice.

import { avatar, badge, card, coins, percent, title } from "./cards.js";
import { h, name, refill } from "./dom.js";
import { holds } from "./state.js";
import { picked } from "./view.js";

const LABELS = { actor: "acts", target: "target", challenger: "challenges", blocker: "blocks" };

/** A table; `players[seat]` is { name, handle }, `roles` are those of the pack, `nearest` sits at the bottom. */
export class Table {
  constructor(players, roles, nearest = 0) {
    this.roles = roles;
    const around = cells(players.length);
    this.places = players.map((player, seat) => new Place(player, around[(seat - nearest + players.length) % players.length]));
    this.stage = h("div", { class: "stage" });
    this.element = h("ol", { class: "seats", "aria-label": "The table" }, this.places.map((place) => place.element));
    this.root = h("section", { class: "felt", "aria-label": "Table" }, this.stage, this.element);
    this.root.style.setProperty("--columns", 2 * around[0].column);
    this.root.style.setProperty("--stage", around.some(({ row }) => row === 2) ? 3 : 1);
  }

  /** Show a moment as `seat` knows it (null: all cards; `known`: view.js's `knowledge`). `truth`: also mark the true roles. */
  show(moments, index, known, { seat, truth }) {
    const moment = moments[index];
    const parts = taking(moment);
    this.places.forEach((place, owner) => {
      const likely = seat === null || owner === seat || moment.out[owner] ? null : Object.entries(known.chances[owner]);
      place.show({
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
        own: owner === seat,
        claims: latest(moment.claims, owner),
        likely,
        true: truth && likely ? this.roles.filter((role) => holds(moment.hands[owner], role)) : [],
      });
    });
  }
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

// The cells around the stage, clockwise from the bottom's middle: { row, column, order }, in rows 1 to 3 and halves of a
// column. Four to seven players have one on either side of the stage, more have one or two on either side of the bottom.
function cells(seats) {
  const middle = seats > 3 && seats < 8 ? 1 : 0;
  const low = Math.max(0, Math.ceil((seats - 6) / 2) - middle);
  const above = seats - 1 - 2 * (low + middle);
  const wide = Math.max(above, 2 * low + 1, 3 + middle);
  const row = (number, from, count) => Array.from({ length: count }, (_, place) => [number, from + 2 * place]);
  const around = [[3, wide], ...row(3, wide - 2 * low, low).reverse(), ...row(2, 1, middle), ...row(1, wide - above + 1, above)];
  const right = [...row(2, 2 * wide - 1, middle), ...row(3, wide + 2, low).reverse()];
  return [...around, ...right].map(([line, column], place) => ({ row: line, column, order: place || seats }));
}

class Place {
  constructor(player, cell) {
    this.parts = Object.fromEntries(["cards", "coins", "label", "claims", "odds"].map((part) => [part, h("div", { class: part })]));
    this.element = h(
      "li",
      { class: "seat" },
      h(
        "div",
        { class: "top" },
        h("div", { class: "who" }, avatar(player.handle), name(player.name), this.parts.label),
        this.parts.coins,
      ),
      this.parts.cards,
      this.parts.claims,
      this.parts.odds,
    );
    for (const [part, value] of Object.entries(cell)) this.element.style.setProperty(`--${part}`, value);
    this.shown = {};
  }

  show(now) {
    const looks = `seat ${now.label} ${now.out ? "out" : ""} ${now.own ? "own" : ""}`;
    if (this.element.className !== looks) this.element.className = looks;
    this.part("coins", [now.coins, now.change], () => coins(now.coins, now.change));
    this.part("label", [now.label, now.side, now.out, now.own], () => [
      now.side ? h("span", { class: `side ${now.side}` }, now.side) : null,
      now.label && !now.out ? h("span", { class: `tag ${now.label}` }, LABELS[now.label]) : null,
      now.out ? h("span", { class: "tag gone" }, "out") : null,
      now.own === true ? h("span", { class: "tag looking" }, "looks") : null,
    ]);
    this.part("cards", [now.hand, now.drawn, now.revealed, now.fresh, now.known], () => [
      now.hand.map((role) => card(role, role !== null && now.known ? "known" : "")),
      now.drawn.map((role) => card(role, "drawn")),
      now.revealed.map((role, place) => card(role, place >= now.revealed.length - now.fresh ? "lost fresh" : "lost")),
    ]);
    this.part("claims", now.claims.map((claim) => [claim.role, claim.outcome]), () =>
      now.claims.length ? [h("span", { class: "muted small" }, "claimed"), now.claims.map(badge)] : [],
    );
    this.part("odds", [now.likely, now.true], () => (now.likely ? [meters(now.likely, now.true)] : []));
  }

  part(part, state, make) {
    const key = JSON.stringify(state);
    if (this.shown[part] === key) return;
    this.shown[part] = key;
    refill(this.parts[part], ...make());
  }
}

/** The probability of each role as a bar with its number; a dot if the seat really has it. */
export function meters(likely, held) {
  return h(
    "ul",
    { class: "meters", "aria-label": "how likely it has" },
    likely.map(([role, value]) => {
      const has = held.includes(role);
      const bar = h("span", { class: `bar ${role}` });
      bar.style.setProperty("--value", value.toFixed(3));
      return h(
        "li",
        { class: has ? "true" : "", title: `${title(role)}: ${percent(value)}${has ? ", and it has one" : ""}` },
        bar,
        h("span", { class: "value" }, percent(value).replace(" ", "\u202f")),
        h("span", { class: "role", "aria-hidden": "true" }, title(role).slice(0, 4)),
        h("span", { class: "unseen" }, `${title(role)} ${percent(value)}${has ? ", true" : ""}`),
      );
    }),
  );
}
