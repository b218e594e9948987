// A live game, shown event by event: the seats, the sentence between them, coins and cards that move, and the log.
//
// A frame has the newest state, and the events since the frame before. Each event is shown for as long as the server
// says (`ms`), then the state of the frame. A player that skips, or whose page is hidden, sees the newest state at once.

import { card, coins } from "./cards.js";
import { h, plain, read, refill, say } from "./dom.js";
import { Log, stepText } from "./log.js";
import { follow } from "./state.js";
import { Table, latest } from "./table.js";
import { words } from "./words.js";

const FLIGHT_MS = 500;
const APART_MS = 70; // between two coins of a payment
const MAX_COINS = 6; // that move at once

export class Motion {
  /** `rest()` is called when all events are shown, `skipped()` when the player skips. */
  constructor(rest, skipped) {
    this.rest = rest;
    this.skipped = skipped;
    this.hand = h("div", { class: "own-cards", role: "group", "aria-label": "Your cards" });
    this.purse = h("div", { class: "coins" });
    this.self = h("div", { class: "self" }); // with the hand it stands for the player's seat
    this.heap = h("span", { class: "heap" }); // where coins and cards of the middle come from
    this.place = h("div", { class: "place" });
    this.news = h("p", { class: "news", "aria-live": "polite" });
    this.log = new Log();
    this.skipButton = h("button", { class: "tool skip", title: "Space" }, "Skip");
    this.queue = [];
    this.timer = null;
    document.addEventListener("visibilitychange", () => document.hidden && this.flush());
  }

  get busy() {
    return this.timer !== null;
  }

  /** Show a frame's game; `key` names it. `live`: whether the page has shown the events before. */
  take(game, key, live) {
    const fresh = game.events;
    this.game = game;
    this.names = game.seats.map((seat) => (seat.own ? "you" : `\u2068${plain(seat.name)}\u2069`));
    this.tellers = words(read("words"), game.seat);
    if (!live || key !== this.key) {
      this.begin(game, key);
      fresh.forEach((event) => this.apply(event));
      this.queue = [];
    } else {
      this.queue.push(...beats(fresh));
      this.held = fresh.findLast((event) => event.ms)?.ms ?? this.held;
      if (game.end && !this.over) this.queue.push({ ms: this.held, events: [], text: plain(game.end), kind: "victory" });
    }
    this.over = game.end;
    if (!this.busy) this.next();
  }

  begin(game, key) {
    clearTimeout(this.timer);
    Object.assign(this, { key, timer: null, held: 0, lines: [], gone: [], parts: {}, over: null });
    this.changes = game.seats.map(() => 0);
    this.losses = game.seats.map(() => 0);
    this.now = { ...truth(game), hands: game.seats.map(() => [null, null]), pending: null, claims: [], marks: [] };
  }

  /** Show all events at once. */
  flush() {
    if (!this.busy) return;
    clearTimeout(this.timer);
    this.queue.flatMap((beat) => beat.events).forEach((event) => this.apply(event));
    this.queue = [];
    this.next();
  }

  skip() {
    if (this.busy) this.skipped();
    this.flush();
  }

  next() {
    this.timer = null;
    while (this.queue.length) {
      const beat = this.queue.shift();
      beat.events.forEach((event) => this.apply(event));
      if (!beat.ms || document.hidden) continue;
      this.timer = setTimeout(() => {
        this.changes.fill(0);
        this.next();
      }, beat.ms);
      this.draw(beat);
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.fly(beat.events);
      return;
    }
    this.changes.fill(0);
    Object.assign(this.now, truth(this.game));
    if (this.parts[this.game.actor] !== "actor") this.parts = { [this.game.actor]: "actor" };
    this.draw(null);
    this.rest();
  }

  /** Add an event to the moment that is shown, and to the log. */
  apply(event) {
    const { now } = this;
    if (event.event === "action") {
      this.changes.fill(0);
      this.losses.fill(0);
      this.parts = { [event.target]: "target", [event.seat]: "actor" };
      now.actor = event.seat;
    }
    if (event.event === "coins") this.changes[event.seat] += event.delta;
    if (event.event === "lost") this.losses[event.seat] += 1;
    if (event.event === "block") this.parts[event.seat] = "blocker";
    if (event.event === "challenge") {
      this.parts[event.seat] = "challenger";
      this.challenger = event.seat;
    }
    if (event.event === "unproven") event.by = this.challenger;
    if (event.event === "exiled" || event.event === "forfeit") this.gone.push(event.seat);
    if (this.lines.at(-1)?.step !== event.step) this.lines.push({ ...event, events: [], marks: [] });
    const line = this.lines.at(-1);
    line.events.push(event);
    this.now = follow({ ...now, turn: event.turn, index: this.lines.length - 1 }, event);
    line.marks = [...new Set([...line.marks, ...this.now.marks])];
  }

  // ---- display

  draw(beat) {
    const { game, now } = this;
    const players = game.seats.map((seat) => ({ name: plain(seat.name), handle: seat.handle }));
    const key = JSON.stringify(players);
    if (this.players !== key) {
      this.players = key;
      this.table = new Table(players, {}, game.seat ?? 0);
      const own = this.table.places[game.seat]?.parts;
      refill(this.self, own && [own.label, own.claims, this.purse]);
    }
    if (this.place.firstChild !== this.table.root) refill(this.place, this.table.root);
    this.drawStage(beat);
    game.seats.forEach((seat, place) =>
      this.table.places[place].show({
        coins: now.coins[place],
        change: this.changes[place],
        hand: now.out[place] ? [] : now.hands[place],
        known: false,
        drawn: [],
        revealed: now.revealed[place],
        fresh: this.losses[place],
        out: now.out[place],
        side: now.sides[place] ?? null,
        label: game.end && !beat ? "" : (this.parts[place] ?? ""),
        own: seat.own && "you",
        claims: latest(now.claims, place),
        likely: null,
        true: [],
      }),
    );
    const own = game.seat;
    const purse = own === null || now.out[own] ? [] : [now.coins[own], this.changes[own]];
    if (String(purse) !== this.pursed) refill(this.purse, purse.length ? coins(...purse) : null);
    this.pursed = String(purse);
    if (this.busy) this.drawHand();
    this.drawLog();
  }

  /** Show the player's cards; `make(role, place)` makes the element of one in the hand. */
  drawHand(cards = this.now.hands[this.game.seat] ?? [], make = (role) => card(role)) {
    const { seat, end } = this.game;
    this.self.hidden = seat === null || (Boolean(end) && !this.busy); // the result shows all cards
    refill(this.hand, this.self.hidden ? [] : [...cards.map(make), ...this.now.revealed[seat].map((role) => card(role, "lost"))]);
  }

  drawStage(beat) {
    const { now, game } = this;
    const shown = (beat?.events ?? []).filter((event) => ["shown", "lost"].includes(event.event)).map((event) => event.role);
    const last = this.lines.at(-1) ?? { events: [] };
    const begins = !beat && game.turn !== last.turn; // the result of the previous turn is in the log
    const text = beat?.text ?? (beat ? this.text(beat) : game.end ? plain(game.end) : begins ? whose(this.names[game.actor]) : this.text(last));
    const reserve = game.reserve === null ? "" : `, ${now.reserve} in the reserve`;
    const { stage } = this.table;
    stage.classList.toggle("busy", this.busy);
    stage.dataset.kind = beat?.kind ?? beat?.events[0].event ?? "";
    stage.onclick = () => this.skip();
    refill(
      stage,
      h("p", { class: "muted" }, `Turn ${now.turn}, ${now.deck} cards in the deck${reserve}`),
      h("p", { class: "sentence" }, text),
      h("div", { class: "stage-cards" }, shown.map((role) => card(role, "fresh"))),
      this.skipButton,
      this.heap,
    );
    say(this.news, !beat && (game.end || begins) ? "" : text);
  }

  /** A part of a step as text, with the player's private facts. */
  text({ events }) {
    const { seat } = this.game;
    const caught = seat === null ? null : events.find((event) => event.event === "unproven" && [event.seat, event.by].includes(seat));
    const told = events.filter((event) => event.event !== "quiet" && event !== caught);
    const parts = [stepText(this.tellers, events.find((event) => event.event === "quiet")?.kind, told, this.names)];
    if (caught) {
      const card = caught.role === "not_duke" ? "a duke" : `no ${caught.role}`;
      parts.unshift(`${this.names[caught.by]} caught ${this.names[caught.seat]}: ${card}`);
    }
    const drew = events.flatMap((event) => (event.event === "exchanged" ? [] : (event.drew ?? [])));
    if (drew.length) parts.push(`you draw the ${drew.join(" and the ")}`);
    return parts.filter(Boolean).join(" · ").replace(/^you/, "You");
  }

  drawLog() {
    const { claims } = this.now;
    const title = (line) => {
      const acts = this.lines.flatMap((each) => each.events).find((event) => event.turn === line.turn && event.event === "action");
      return acts ? `Turn ${line.turn} · ${this.names[acts.seat]}` : `Turn ${line.turn}`;
    };
    const lines = this.lines.map((line, index) => {
      const text = this.text(line);
      return text ? { turn: line.turn, title: title(line), text, href: null, marks: line.marks, claims: claims.filter((claim) => claim.index === index) } : null;
    });
    const key = JSON.stringify(lines);
    if (key === this.logged) return;
    this.logged = key;
    this.log.load(lines);
    this.log.show(lines.length - 1);
  }

  /** Let coins and cards move between the seats and the middle of the table. */
  fly(events) {
    const { places } = this.table;
    const middle = this.heap;
    for (const event of events) {
      const part = (name, seat = event.seat) => (seat === this.game.seat ? { cards: this.hand, coins: this.purse }[name] : places[seat].parts[name]);
      const { count = 1 } = event;
      if (event.event === "coins" && event.reason !== "stolen") {
        const from = event.reason === "steal" ? part("coins", events.find((each) => each.reason === "stolen").seat) : middle;
        const ends = event.delta > 0 ? [from, part("coins")] : [part("coins"), from];
        move(() => h("span", { class: "coin" }), Math.min(Math.abs(event.delta), MAX_COINS), 0, ...ends);
      } else if ((event.event === "shown" && event.replaced !== false) || event.event === "shown_hand" || (event.event === "examined" && event.replaced)) {
        const hand = part("cards", event.target);
        move(() => card(null), event.roles?.length ?? 1, 0, hand, middle);
        move(() => card(null), event.roles?.length ?? 1, FLIGHT_MS, middle, hand);
      } else if (event.event === "exchanged") {
        move(() => card(null), count, 0, middle, part("cards"));
        move(() => card(null), count, FLIGHT_MS, part("cards"), middle);
      } else if (event.event === "drafted") move(() => card(null), 1, 0, middle, part("cards"));
    }
  }
}

function whose(name) {
  return name === "you" ? "Your turn" : `${name}'s turn`;
}

// The table of a frame, as parts of a moment (state.js).
function truth(game) {
  return {
    turn: game.turn,
    actor: game.actor,
    coins: game.seats.map((seat) => seat.coins),
    hands: game.seats.map((seat) => seat.cards),
    revealed: game.seats.map((seat) => seat.revealed),
    out: game.seats.map((seat) => seat.out),
    sides: game.seats.map((seat) => seat.side),
    deck: game.deck,
    reserve: game.reserve,
  };
}

// Events that are shown together: one with its own time, and those that follow it in its step.
function beats(events) {
  const found = [];
  for (const event of events) {
    if (!found.length || event.ms || event.step !== found.at(-1).step) found.push({ ms: event.ms, step: event.step, events: [] });
    found.at(-1).events.push(event);
  }
  return found;
}

function move(make, count, delay, from, to) {
  const [start, end] = [from, to].map((element) => {
    const box = element.getBoundingClientRect();
    return `translate(${box.x + box.width / 2}px, ${box.y + box.height / 2}px) translate(-50%, -50%)`;
  });
  for (let number = 0; number < count; number++) {
    const element = h("span", { class: "flying", "aria-hidden": "true" }, make());
    document.body.append(element);
    const timing = { duration: FLIGHT_MS, delay: delay + APART_MS * number, easing: "ease-in-out", fill: "backwards" };
    const path = [{ transform: start, opacity: 0 }, { opacity: 1, offset: 0.2 }, { opacity: 1, offset: 0.8 }, { transform: end, opacity: 0 }];
    element.animate(path, timing).onfinish = () => element.remove();
  }
}
