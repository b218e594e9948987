// What one seat knows of a moment: its own cards, what is face up, and which cards of others it has seen and not lost
// sight of. Pure. In place of a seat, `null` is a looker who sees all cards, and -1 an onlooker, who sees what is face up.

import { without } from "./state.js";

/** Return, for each moment, what the seat knows of every hand: knowledge[moment][seat] is an array of roles. */
export function knowledge(moments, seat) {
  let known = moments[0].hands.map(() => []);
  return moments.map((moment) => {
    if (moment.step) known = learned(known, moment.step.events, seat);
    return moment.hands.map((hand, owner) => (seat === null || owner === seat ? hand : known[owner]));
  });
}

function learned(before, events, seat) {
  const known = [...before];
  for (const event of events) {
    const owner = event.target ?? event.seat;
    switch (event.event) {
      case "shown":
        if (event.replaced !== false) known[event.seat] = without(known[event.seat], event.role);
        else if (!known[event.seat].includes(event.role)) known[event.seat] = [...known[event.seat], event.role];
        break;
      case "examined":
        if (event.replaced) known[owner] = event.seat === seat ? without(known[owner], event.role) : [];
        else if (event.seat === seat && !known[owner].includes(event.role)) known[owner] = [...known[owner], event.role];
        break;
      case "lost":
        known[event.seat] = without(known[event.seat], event.role);
        break;
      case "exchanged":
      case "shown_hand":
      case "forfeit":
        known[event.seat] = [];
        break;
      default:
    }
  }
  return known;
}

/** Return the events as the seat was sent them: without what is private to others (SPEC.md, "Events"). */
export function seen(events, seat) {
  return seat === null ? events : events.map((event) => publicly(event, seat));
}

function publicly(event, seat) {
  const owner = event.event === "examined" ? event.target : event.seat;
  const { cards, held, ...rest } = event;
  const mine = cards !== undefined && owner === seat ? { ...rest, cards } : rest;
  if (event.event !== "examined" || seat === event.seat || seat === event.target) return mine;
  const { role, ...hidden } = mine;
  return hidden;
}

// Requests whose answers the events tell to all.
const OPEN = ["turn", "prove", "lose", "keep_shown", "examine_decide", "allegiance"];

/**
 * Return the answers of a step that the seat knows of: its own, and without their times those that all are told.
 * Who passed, or also wanted to speak, is told to nobody.
 */
export function answers(step, seat) {
  if (seat === null) return step.given;
  return step.given.flatMap((given) => {
    if (given[0] === seat) return [given];
    return OPEN.includes(step.kind) ? [[given[0], given[1], null]] : [];
  });
}

/** Return the faults of a step, [seat, code] each, that the seat knows of: its own. */
export function faults(step, seat) {
  return (step.fault ?? []).filter(([by]) => seat === null || by === seat);
}

/** Return the cards that the actor of an exchange has drawn, as far as the seat sees them; null for a hidden one. */
export function picked(moment, seat) {
  return moment.drawn.map((role) => (seat === null || seat === moment.actor ? role : null));
}
