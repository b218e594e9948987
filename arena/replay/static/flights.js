// Coins and cards that move between the seats and the middle of the table, over the page that is drawn.

import { card } from "./cards.js";
import { h, render } from "./preact.min.js";

const FLIGHT_MS = 500;
const APART_MS = 70; // between two coins of a payment
const MAX_COINS = 6; // that move at once

/** Let the coins and cards of events move; `own`: the viewer's seat, which the panel with the hand shows. */
export function fly(events, own) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const middle = document.querySelector(".heap");
  for (const event of events) {
    const part = (name, seat = event.seat) =>
      document.querySelector(seat === own ? { cards: ".own-cards", coins: ".self .coins" }[name] : `.seat[data-seat="${seat}"] .${name}`);
    if (event.event === "coins" && event.reason !== "stolen") {
      const from = event.reason === "steal" ? part("coins", events.find((each) => each.reason === "stolen").seat) : middle;
      const ends = event.delta > 0 ? [from, part("coins")] : [part("coins"), from];
      move(() => h("span", { class: "coin" }), Math.min(Math.abs(event.delta), MAX_COINS), 0, ...ends);
    } else if ((event.event === "shown" && event.replaced !== false) || event.event === "shown_hand" || (event.event === "examined" && event.replaced)) {
      const hand = part("cards", event.target);
      move(hidden, event.roles?.length ?? 1, 0, hand, middle);
      move(hidden, event.roles?.length ?? 1, FLIGHT_MS, middle, hand);
    } else if (event.event === "exchanged") {
      move(hidden, event.count ?? 1, 0, middle, part("cards"));
      move(hidden, event.count ?? 1, FLIGHT_MS, part("cards"), middle);
    } else if (event.event === "drafted") move(hidden, 1, 0, middle, part("cards"));
  }
}

const hidden = () => card(null);

function move(make, count, delay, from, to) {
  const [start, end] = [from, to].map((element) => {
    const box = element.getBoundingClientRect();
    return `translate(${box.x + box.width / 2}px, ${box.y + box.height / 2}px) translate(-50%, -50%)`;
  });
  for (let number = 0; number < count; number++) {
    const element = document.createElement("span");
    element.className = "flying";
    element.ariaHidden = "true";
    render(make(), element);
    document.body.append(element);
    /** @type {KeyframeAnimationOptions} */
    const timing = { duration: FLIGHT_MS, delay: delay + APART_MS * number, easing: "ease-in-out", fill: "backwards" };
    const path = [{ transform: start, opacity: 0 }, { opacity: 1, offset: 0.2 }, { opacity: 1, offset: 0.8 }, { transform: end, opacity: 0 }];
    element.animate(path, timing).onfinish = () => element.remove();
  }
}
