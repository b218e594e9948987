// The knowledge of one seat at a moment: its own cards, face-up cards, and the certain facts of each step. Pure.
// In place of a seat, `null` is a viewer who sees all cards, and -1 a spectator, who sees face-up cards.

import { owner, without } from "./state.js";

/**
 * Return, for each moment, what the seat knows: `hands[owner]`, the roles that the owner certainly has, and
 * `chances[owner]`, by role the probability by the visible cards (the kits' `odds`). A viewer of all cards has the
 * chances of a spectator.
 */
export function knowledge(moments, ruleset, seat) {
  const looker = seat ?? -1;
  const roles = Object.keys(ruleset.deck);
  return moments.map((moment) => {
    const own = moment.hands[looker] ?? [];
    const { players = [], deck = [] } = moment.known[looker] ?? {};
    const certain = moment.hands.map((_, owner) => ({ has: [], lacks: [], ...players.find((each) => each.seat === owner) }));
    const sight = [...own, ...deck, ...moment.revealed.flat(), ...certain.flatMap(({ has }) => has)];
    if (moment.picks[looker]) sight.push(...without(roles, moment.picks[looker])); // a set has one of each role
    if (looker === moment.actor) sight.push(...moment.drawn);
    const hidden = (role) => ruleset.deck[role] - sight.filter((card) => card === role).length;
    const all = roles.reduce((sum, role) => sum + hidden(role), 0);
    const chance = (owner, role) => {
      if (owner === looker) return Number(own.includes(role));
      const { has, lacks } = certain[owner];
      const [cards, copies] = [moment.hands[owner].length - has.length, hidden(role)];
      if (has.includes(role)) return 1;
      if (cards <= 0 || copies <= 0 || lacks.includes(role)) return 0;
      const others = certain.map((each, other) => (each.lacks.includes(role) ? moment.hands[other].length - each.has.length : 0));
      const elsewhere = others.reduce((sum, count) => sum + count, 0);
      if (copies > all - elsewhere - cards) return 1; // only this hand has space for them
      const unseen = all - (lacks.length ? lacks.reduce((sum, other) => sum + hidden(other), 0) : elsewhere);
      let none = 1; // C(unseen - copies, cards) / C(unseen, cards), card by card
      for (let card = 0; card < cards; card++) none *= Math.max(unseen - copies - card, 0) / (unseen - card);
      return 1 - none;
    };
    return {
      hands: moment.hands.map((hand, owner) => (seat === null || owner === seat ? hand : certain[owner].has)),
      chances: moment.hands.map((_, owner) => Object.fromEntries(roles.map((role) => [role, chance(owner, role)]))),
    };
  });
}

/** Return the probability that a claim ("duke", "not_duke") is true, by the chances of its owner. */
export function chance(chances, claim) {
  return claim.startsWith("not_") ? 1 - chances[claim.slice(4)] : chances[claim];
}

/** Return the events as the seat was sent them, without the private parts of others (reference/protocol/events.md). */
export function seen(events, seat) {
  return seat === null ? events : events.map((event) => publicly(event, seat));
}

function publicly(event, seat) {
  const { cards, held, ...rest } = event;
  const mine = cards !== undefined && owner(event) === seat ? { ...rest, cards } : rest;
  if (event.event !== "examined" || seat === event.seat || seat === event.target) return mine;
  const { role, ...hidden } = mine;
  return hidden;
}

// Requests whose answers are public events.
const OPEN = ["turn", "prove", "lose", "keep_shown", "examine_decide", "allegiance"];

/**
 * Return the answers of a step that the seat knows: its own, and the public ones without their times.
 * Passes, and further challenges and blocks, stay sealed.
 */
export function answers(step, seat) {
  if (seat === null) return step.answers;
  return step.answers.flatMap((given) => {
    if (given[0] === seat) return [given];
    return OPEN.includes(step.kind) ? [[given[0], given[1], null]] : [];
  });
}

/** Return the seat's own faults of a step, as [seat, code]. */
export function faults(step, seat) {
  return (step.faults ?? []).filter(([by]) => seat === null || by === seat);
}

/** Return the cards that the actor of an exchange has drawn, null for each that the seat doesn't see. */
export function picked(moment, seat) {
  return moment.drawn.map((role) => (seat === null || seat === moment.actor ? role : null));
}
