// All games of the page as a list of links, by match or the closest first.

import { h, name, refill } from "./dom.js";

/** Return how many cards the winner and the best other player had at the end, which all seats know. Pure. */
export function margin(game, end) {
  const cards = end.hands.map((hand, seat) => (end.out[seat] ? 0 : hand.length));
  const best = game.winner ?? cards.indexOf(Math.max(...cards));
  return [cards[best], Math.max(...cards.toSpliced(best, 1))];
}

export class Games {
  /**
   * `row(place)` gives { href, title, exit, winner, end, turns, closeness, rank } of a game: how a bot went out, how
   * close the game was, and a number that is higher for closer games. `headings` and `about` explain the numbers.
   */
  constructor(matches, row, headings, about) {
    this.row = row;
    this.all = matches.flatMap((match, at) => match.games.map((_, game) => ({ match: at, game })));
    this.order = this.all;
    this.body = h("tbody", {});
    this.sorter = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.sort() }, "closest first");
    this.element = h(
      "dialog",
      { class: "games", "aria-labelledby": "games-title", onkeydown: (event) => this.key(event) },
      h("div", { class: "group" }, h("h2", { id: "games-title" }, `Games (${this.all.length})`), this.sorter, h("form", { method: "dialog" }, h("button", {}, "Close"))),
      h("p", { class: "muted small" }, about),
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...["game", "won by", ...headings].map((text) => h("th", { scope: "col" }, text)))),
        this.body,
      ),
    );
  }

  /** Return the game by an offset in the list; undefined after its end. */
  next({ match, game }, by) {
    return this.order[this.order.findIndex((one) => one.match === match && one.game === game) + by];
  }

  /** Scroll the list to a game. */
  open(now) {
    this.now = now;
    this.fill();
    if (!this.element.open) this.element.showModal();
    this.body.querySelector("[aria-current]")?.focus();
  }

  sort() {
    const closest = this.order === this.all;
    const ranks = closest && new Map(this.all.map((place) => [place, this.row(place).rank]));
    this.order = closest ? this.all.toSorted((one, other) => ranks.get(other) - ranks.get(one)) : this.all;
    this.sorter.setAttribute("aria-pressed", String(closest));
    this.fill();
  }

  fill() {
    refill(
      this.body,
      this.order.map((place) => {
        const { href, title, exit, winner, end, turns, closeness } = this.row(place);
        const current = place.match === this.now.match && place.game === this.now.game;
        return h(
          "tr",
          { class: current ? "now" : "" },
          h("td", {}, h("a", { href, "aria-current": current ? "true" : null, onclick: () => this.element.close() }, title), exit && h("p", { class: "muted small" }, exit)),
          h("td", {}, winner === null ? h("span", { class: "muted" }, `a draw: ${end}`) : name(winner)),
          h("td", { class: "number" }, String(turns)),
          h("td", { class: "number" }, closeness),
        );
      }),
    );
  }

  key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const links = [...this.body.querySelectorAll("a")];
    links[Math.max(0, links.indexOf(document.activeElement) + by)]?.focus();
  }
}
