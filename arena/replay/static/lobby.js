// What a table's page shows around the matches: what is agreed on, who sits there, and what may be done next.

import { avatar } from "./cards.js";
import { h, plain, read, refill } from "./dom.js";

const KINDS = { bot: "a bot", person: "a person", program: "a remote bot" };

export class Lobby {
  /** `send` sends a message to the table. */
  constructor(send) {
    this.send = send;
    this.terms = h("section", { class: "panel lobby" });
    this.people = h("ul", { class: "people" });
  }

  show(table) {
    if (table.state === "open") this.drawTerms(table);
    this.drawPeople(table);
  }

  /** What may be done where nothing is asked. */
  steps(table) {
    const you = table.places.find((place) => place.you);
    const wanting = (text, message) => {
      if (!you) return null;
      const others = table.places.filter((place) => place.kind === "person" && !place.again && (table.state !== "between" || place.here));
      return you.again ? h("p", {}, awaited(others)) : h("button", { class: "move first", onclick: () => this.send(message) }, text);
    };
    if (table.state === "between") return [wanting("Next game", { go_on: true })];
    if (table.state !== "over" && table.state !== "void") return [];
    const replay = table.replay ? h("a", { class: "move", href: table.replay }, read("home") ? "Watch the replay" : "Watch the replay, with all cards") : null;
    return [table.again ? wanting("Play again", { rematch: true }) : null, replay];
  }

  /** Show the players, absent ones and those that want to continue; never which have answered. */
  drawPeople(table) {
    const key = JSON.stringify([table.state, table.places]);
    if (key === this.peopleShown) return;
    this.peopleShown = key;
    const over = table.state === "over" || table.state === "void";
    const rows = table.places.map((place) => {
      const called = place.you ? "you" : place.name === null ? KINDS[place.kind] : h("bdi", {}, plain(place.name));
      const marks = [
        place.you ? h("bdi", {}, plain(place.name)) : place.name !== null && KINDS[place.kind],
        place.delay_ms !== null && `${place.delay_ms} ms away`,
        place.won > 0 && `won ${Number(place.won.toFixed(2))}`,
        over && place.again && "wants to play again",
      ];
      return h(
        "li",
        {},
        place.handle ? avatar(place.handle) : null,
        called,
        marks.filter(Boolean).map((mark) => h("span", { class: "muted" }, mark)),
        place.here ? null : h("span", { class: "tag gone" }, table.state === "open" ? "awaited" : "away"),
      );
    });
    refill(this.people, rows);
  }

  /** What is agreed on by sitting down, and whom the table waits for. */
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

export function awaited(places) {
  const names = places.map((place) => plain(place.name ?? KINDS[place.kind]));
  return names.length ? `Waiting for ${names.join(", ")}.` : "The match is starting.";
}

function clock(times) {
  if (!times) return "none";
  return `${times.move_s} s a move${times.game_s ? `, then ${times.game_s} s for a whole game` : ""}`;
}
