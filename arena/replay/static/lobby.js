// The lobby of a table: its settings, its players, and the possible next actions.

import { avatar } from "./cards.js";
import { h, plain, read, refill, say } from "./dom.js";

const KINDS = { bot: "a bot", person: "a person", program: "a remote bot" };

export class Lobby {
  /** `send` sends a message to the table. */
  constructor(send) {
    this.send = send;
    this.terms = h("section", { class: "panel lobby" });
    this.people = h("ul", { class: "people" });
    this.heading = h("h2", { id: "people-title" });
    this.controls = h("div", { class: "arrange" });
    const link = read("invitation");
    this.invitation = link && invitation(link);
    this.change = h("details", { class: "change-places", ontoggle: () => this.people.classList.toggle("fixed", !this.change.open) }, h("summary", {}, "Change the places"), this.controls);
    this.root = h("section", { class: "panel", "aria-labelledby": "people-title" }, this.heading, this.people, this.change, this.invitation);
  }

  /** `seats`: of the game that is played, in the order of turns. */
  show(table, seats = []) {
    if (table.state === "open") this.drawTerms(table);
    if (table.state !== this.state) {
      this.change.open = table.state === "open";
      if (this.invitation) this.invitation.open = table.state === "open";
      this.state = table.state;
    }
    this.change.hidden = !table.manages;
    this.drawPeople(table, seats.map((seat) => seat.handle));
    this.drawControls(table);
  }

  /** The condition that the table waits for before its first match, as text. */
  awaits(table) {
    if (table.start?.close || table.start?.bots) return "Start when the players are here.";
    if (table.manages) return "Add a bot, or wait for a player.";
    const [free, present] = [true, false].map((is) => table.places.filter((place) => place.free === is));
    if (table.opener && present.length > 1) return `${plain(table.opener)} starts the match.`;
    return free.length ? "Waiting for a player." : awaited(present.filter((place) => !place.here));
  }

  /** The actions while no request is open. */
  steps(table) {
    const you = table.places.find((place) => place.you);
    const step = (text, message, first = true) => h("button", { class: first ? "move first" : "move", onclick: () => this.send(message) }, text);
    const wanting = (text, message) => {
      if (!you) return null;
      const others = table.places.filter((place) => place.kind === "person" && !place.again && place.here);
      return you.again ? h("p", {}, others.length ? awaited(others) : "Waiting for players.") : step(text, message);
    };
    if (table.state === "between") return [wanting("Next game", { go_on: true })];
    if (table.state === "playing") return [];
    const join = read("join");
    const take = !you && join && table.again && table.places.some((place) => place.free) ? h("a", { class: "move first", href: join }, "Take a place") : null;
    const { empty, bots, close } = table.start ?? {};
    const stays = table.places.length - empty;
    if (table.state === "open") {
      const fill = empty > 0 && bots && step(`Start with ${empty} more ${empty === 1 ? "bot" : "bots"}`, { start: "bots" });
      return [fill, close && step(empty > 0 ? `Start with ${stays} players` : "Start", { start: "close" }, !fill), take];
    }
    const replay = table.replay ? h("a", { class: "move", href: table.replay }, read("home") ? "Watch the replay" : "Watch the replay, with all cards") : null;
    const start = you?.again && empty > 0 && close ? step(`Start with ${stays} players`, { start: "close" }) : null;
    const home = read("home");
    const back = home ? h("a", { class: "move", href: home[0] }, `Back to ${plain(home[1])}`) : null;
    const write = table.write ? h("a", { class: "move", href: table.write }, "Write a bot") : null;
    return [table.again ? wanting("Play again", { rematch: true }) : null, start, take, replay, write, back];
  }

  /** Show the players, absent ones and those that want to continue; never which have answered. */
  drawPeople(table, order) {
    const key = JSON.stringify([order, table.state, table.places, table.manages, table.bots]);
    if (key === this.peopleShown) return;
    this.peopleShown = key;
    const over = table.state === "over" || table.state === "void";
    say(this.heading, order.length ? "Players in the order of turns" : "At the table");
    const rows = table.places.toSorted((one, other) => order.indexOf(one.handle) - order.indexOf(other.handle)).map((place) => {
      const known = place.name ?? (place.free ? "a free place" : KINDS[place.kind]);
      const bot = table.bots?.find((each) => place.kind === "bot" && each.name === place.name?.replace(/ \(\d+\)$/, ""));
      const marks = [
        place.name !== null && (place.you ? h("bdi", {}, plain(place.name)) : KINDS[place.kind]),
        bot && strength(bot),
        place.delay_ms !== null && `${place.delay_ms} ms away`,
        place.won > 0 && `won ${Number(place.won.toFixed(2))}`,
        over && place.again && "wants to play again",
      ];
      return h(
        "li",
        { class: place.free && "free" },
        place.handle ? avatar(place.handle) : null,
        place.you ? "you" : place.free ? h("span", { class: "muted" }, known) : h("bdi", {}, plain(known)),
        marks.filter(Boolean).map((mark) => h("span", { class: "muted" }, mark)),
        place.here || place.free ? null : h("span", { class: "tag gone" }, table.state === "open" ? "awaited" : "away"),
        table.manages ? h("button", { class: "tool remove", "aria-label": `Remove ${plain(known)}`, onclick: () => this.send({ remove: place.number }) }, "✕") : null,
      );
    });
    refill(this.people, rows);
  }

  /** The controls with which the opener adds bots and places between matches. */
  drawControls(table) {
    const key = JSON.stringify([table.manages && table.expandable, table.bots]);
    if (key === this.controlsShown) return;
    this.controlsShown = key;
    if (!table.manages || !table.expandable) return refill(this.controls);
    const add = (text, what) => h("button", { onclick: () => this.send({ add: what() }) }, text);
    const choice = h("select", { "aria-label": "Bot" }, table.bots.map((bot) => h("option", { value: bot.name }, [plain(bot.name), strength(bot)].filter(Boolean).join(" · "))));
    const bots = table.bots.length ? [choice, add("Add the bot", () => ({ bot: choice.value }))] : [];
    refill(this.controls, bots, add("Add a place", () => ({ place: true })), add("Add a remote bot", () => ({ program: true })));
  }

  /** The settings of the table, and the players that it waits for. */
  drawTerms(table) {
    const far = table.places.some((place) => place.kind === "program");
    const terms = [
      [`Rules: ${table.rules}`, `${table.games} ${table.games === 1 ? "game" : "games"}`, `clock: ${clock(table.clock)}`].join("; "),
      table.open_names ? "All players use their names." : "Bots play under letters. Their names are shown after the match.",
      far && `A remote bot runs on its author's machine and isn't frozen while others think. Its clock: ${clock(table.program_clock)}.`,
      `Matches here aren't rated. A player who is away keeps the seat: ${table.clock ? "when their time runs out, the arena plays a safe move (income or pass)" : "the others wait"}.`,
    ];
    const key = JSON.stringify(terms);
    if (this.termsShown === key) return;
    this.termsShown = key;
    refill(this.terms, h("h2", {}, "Before the match"), h("ul", {}, terms.filter(Boolean).map((text) => h("li", {}, plain(text)))));
  }
}

/** A bot's rank and rating, if it has them. */
function strength({ rank, rating }) {
  const place = rank.length ? `rank ${rank[0] === rank.at(-1) ? rank[0] : `${rank[0]}-${rank.at(-1)}`}` : null;
  const [value, , high] = rating ?? [];
  return [place, rating && `rating ${value.toFixed(1)}${high === null ? "" : ` ± ${(high - value).toFixed(1)}`}`].filter(Boolean).join(", ");
}

/** The link to the table, and its QR code, for the opener. */
function invitation({ link, code }) {
  const field = h("input", { readonly: true, value: link, "aria-label": "Invitation link", onfocus: () => field.select() });
  const copy = navigator.clipboard && h("button", { onclick: () => navigator.clipboard.writeText(link) }, "Copy");
  return h("details", { class: "invitation", open: true }, h("summary", {}, "Invite players"), h("div", { class: "arrange" }, field, copy), h("img", { class: "qr", src: code, alt: "QR code of the invitation link" }));
}

function awaited(places) {
  const names = places.map((place) => plain(place.name ?? KINDS[place.kind]));
  return names.length ? `Waiting for ${names.join(", ")}.` : "The match is starting.";
}

function clock(times) {
  if (!times) return "none";
  return `${times.move_s} s a move${times.game_s ? `, then ${times.game_s} s for a whole game` : ""}`;
}
