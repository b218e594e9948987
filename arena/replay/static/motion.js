// A live game, event by event: which event is shown, the state after it, and the log so far.
//
// A frame has the newest state, and the events since the frame before. Each event is shown for as long as the server
// says (`ms`), then the state of the frame. A player that skips, or whose page is hidden, sees the newest state at once.

import { plain } from "./dom.js";
import { stepText } from "./log.js";
import { latest } from "./seats.js";
import { follow } from "./state.js";
import { start, words } from "./event_text.js";

export class Motion {
  draw; gone; key; lines; table; // of `begin`, and of the page

  /** `table`: the message catalogue. `draw(events)` is called for each event that is shown, with null when all are. */
  constructor(table, draw) {
    Object.assign(this, { table, draw, queue: [], timer: null, beat: null, lines: [], log: [] });
    document.addEventListener("visibilitychange", () => document.hidden && this.showAll());
  }

  get isShowing() {
    return this.timer !== null;
  }

  /** Show a frame's game; `key` names it. `live`: whether the page has shown the events before. */
  showFrame(game, key, live) {
    const fresh = game.events;
    this.game = game;
    if (!live || key !== this.key) {
      this.begin(game, key);
      this.takeNames();
      fresh.forEach((event) => this.apply(event));
      this.queue = [];
    } else {
      if (!game.end) this.takeNames();
      this.queue.push(...beats(fresh));
      this.held = fresh.findLast((event) => event.ms)?.ms ?? this.held;
      if (game.end && !this.over) this.queue.push({ ms: this.held, events: [], text: plain(game.end), kind: "victory" });
    }
    this.over = game.end;
    if (!this.isShowing) this.showNext();
  }

  begin(game, key) {
    clearTimeout(this.timer);
    Object.assign(this, { key, timer: null, held: 0, lines: [], log: [], gone: [], parts: {}, over: null });
    this.changes = game.seats.map(() => 0);
    this.losses = game.seats.map(() => 0);
    this.now = { ...truth(game), hands: game.seats.map(() => [null, null]), pending: null, claims: [], marks: [] };
  }

  /** Take the players' names; those of bots, which come with the end of a match, only after its last event. */
  takeNames() {
    const { seats, seat } = this.game;
    this.players = seats.map(({ name, handle, own }) => ({ name: plain(name), handle, own }));
    this.names = this.players.map(({ name, own }) => (own ? "you" : `\u2068${name}\u2069`));
    this.tellers = words(this.table, seat);
  }

  /** Show all events at once. */
  showAll() {
    if (!this.isShowing) return;
    clearTimeout(this.timer);
    this.queue.flatMap((beat) => beat.events).forEach((event) => this.apply(event));
    this.queue = [];
    this.showNext();
  }

  showNext() {
    this.timer = null;
    while (this.queue.length) {
      this.beat = this.queue.shift();
      this.beat.events.forEach((event) => this.apply(event));
      if (!this.beat.ms || document.hidden) continue;
      this.timer = setTimeout(() => {
        this.changes.fill(0);
        this.showNext();
      }, this.beat.ms);
      this.writeLog();
      this.draw(this.beat.events);
      return;
    }
    this.beat = null;
    this.changes.fill(0);
    this.takeNames();
    Object.assign(this.now, truth(this.game));
    if (this.parts[this.game.actor] !== "actor") this.parts = { [this.game.actor]: "actor" };
    this.writeLog();
    this.draw(null);
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
    if (event.event === "challenge") this.parts[event.seat] = "challenger";
    if (event.event === "exiled" || event.event === "forfeit") this.gone.push(event.seat);
    if (this.lines.at(-1)?.step !== event.step) this.lines.push({ ...event, events: [], marks: [] });
    const line = this.lines.at(-1);
    line.events.push(event);
    this.now = follow({ ...now, turn: event.turn, index: this.lines.length - 1 }, event);
    line.marks = [...new Set([...line.marks, ...this.now.marks])];
  }

  // ---- as text, and as what a seat shows

  /** Replace the log if it has changed. */
  writeLog() {
    const actions = this.lines.flatMap((line) => line.events).filter((event) => event.event === "action");
    const lines = this.lines.map((line, index) => {
      const text = this.text(line.events);
      const act = actions.find((event) => event.turn === line.turn);
      const title = act ? `Turn ${line.turn} · ${this.names[act.seat]}` : `Turn ${line.turn}`;
      return text ? { turn: line.turn, title, text, href: null, marks: line.marks, claims: this.now.claims.filter((claim) => claim.index === index) } : null;
    });
    if (JSON.stringify(lines) !== JSON.stringify(this.log)) this.log = lines;
  }

  /** A part of a step as text, with the player's private facts. */
  text(events) {
    const shown = events.filter((event) => event.event !== "quiet");
    const parts = [stepText(this.tellers, events.find((event) => event.event === "quiet")?.kind, shown, this.names)];
    const drew = events.flatMap((event) => (event.event === "exchanged" ? [] : (event.drew ?? [])));
    if (drew.length) parts.push(`you draw the ${drew.join(" and the ")}`);
    return start(parts.filter(Boolean).join(" · "));
  }

  /** What the middle of the table says: the event that is shown, else the latest result, or whose turn it is. */
  get sentence() {
    const { beat, game } = this;
    if (beat) return beat.text ?? this.text(beat.events);
    if (game.end) return plain(game.end);
    return this.begins ? whose(this.names[game.actor]) : this.text(this.lines.at(-1)?.events ?? []);
  }

  /** Whether a turn begins: the result of the previous one is in the log. */
  get begins() {
    return !this.beat && this.game.turn !== this.lines.at(-1)?.turn;
  }

  /** The face-up cards of the event that is shown. */
  get shown() {
    return (this.beat?.events ?? []).filter((event) => ["shown", "lost"].includes(event.event)).map((event) => event.role);
  }

  /** What the seats show, as seats.js takes it. */
  get seats() {
    const { now, game } = this;
    const ended = game.end && !this.beat;
    return this.players.map((player, seat) => ({
      ...player,
      coins: now.coins[seat],
      change: this.changes[seat],
      hand: now.out[seat] ? [] : now.hands[seat],
      known: false,
      drawn: [],
      revealed: now.revealed[seat],
      fresh: this.losses[seat],
      out: now.out[seat],
      side: now.sides[seat] ?? null,
      label: ended || (player.own && this.parts[seat] === "actor") ? "" : (this.parts[seat] ?? ""), // "Your turn" says it
      claims: latest(now.claims, seat),
      likely: null,
      true: [],
    }));
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
