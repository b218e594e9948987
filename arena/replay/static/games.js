// All games of the page as a list of links, by match or the closest first.

import { name } from "./cards.js";
import { head } from "./details.js";
import { h } from "./preact.min.js";

/** Return how many cards the winner and the best other player had at the end, which all seats know. Pure. */
export function margin(game, end) {
  const cards = end.hands.map((hand, seat) => (end.out[seat] ? 0 : hand.length));
  const best = game.winner ?? cards.indexOf(Math.max(...cards));
  return [cards[best], Math.max(...cards.toSpliced(best, 1))];
}

/**
 * The dialog. `rows`: { href, title, exit, winner, end, turns, closeness, current } of each game in order,
 * none while it is closed: how a bot went out, and how close the game was. `headings` and `about` explain the numbers; `sort()` changes the order.
 */
export function gamesDialog(rows, count, { headings, about, closest, sort }) {
  return h(
    "dialog",
    { class: "games", id: "games", "aria-labelledby": "games-title", onkeydown: moveFocus },
    h(
      "div",
      { class: "group" },
      h("h2", { id: "games-title" }, `Games (${count})`),
      h("button", { type: "button", "aria-pressed": String(closest), onclick: sort }, "closest first"),
      h("form", { method: "dialog" }, h("button", {}, "Close")),
    ),
    h("p", { class: "muted small" }, about),
    h("table", {}, head("game", "won by", ...headings), h("tbody", {}, rows.map(gameRow))),
  );
}

function gameRow({ href, title, exit, winner, end, turns, closeness, current }) {
  return h(
    "tr",
    { class: current ? "now" : "", key: title },
    h("td", {}, h("a", { href, "aria-current": current ? "true" : null }, title), exit && h("p", { class: "muted small" }, exit)),
    h("td", {}, winner === null ? h("span", { class: "muted" }, `a draw: ${end}`) : name(winner)),
    h("td", { class: "number" }, String(turns)),
    h("td", { class: "number" }, closeness),
  );
}

function moveFocus(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const links = [...event.currentTarget.querySelectorAll("a")];
  links[Math.max(0, links.indexOf(document.activeElement) + by)]?.focus();
}
