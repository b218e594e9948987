// How likely a seat holds a role, from the cards that another can see. Pure. The same formula as `arena odds`:
// of U unseen cards d are of the role, and any k of the U are equally likely to be in the hand, so
//
//     P(at least one) = 1 - C(U - d, k) / C(U, k)
//
// Cards of others that the looker knows count as seen. So do those that its own draft left over: a set has one of each
// role, and all but the card that it picks stay out of the game. There it is only a guess: the others chose a card too.

import { holds, without } from "./state.js";

/** Return the probability that at least one of `cards` hidden cards is of a role with `copies` among `unseen` cards. */
export function held(unseen, copies, cards) {
  let none = 1;
  for (let card = 0; card < cards; card++) none *= Math.max(0, unseen - copies - card) / (unseen - card);
  return 1 - none;
}

/**
 * Return how likely `seat` makes a claim ("duke", "not_duke") true, as the looker sees it at a moment.
 * `known`: what the looker knows of each hand (view.js); `deck`: copies of each role in the whole pack.
 */
export function chance(moment, known, deck, looker, seat, claim) {
  if (claim.startsWith("not_")) return 1 - chance(moment, known, deck, looker, seat, claim.slice(4));
  if (seat === looker) return holds(moment.hands[seat], claim) ? 1 : 0;
  if (known[seat].includes(claim)) return 1;
  const drawn = looker === moment.actor ? moment.drawn : [];
  const pick = moment.picks[looker];
  const discards = pick === undefined ? [] : without(Object.keys(deck), pick);
  const visible = [...known.flat(), ...moment.revealed.flat(), ...drawn, ...discards];
  const pack = Object.values(deck).reduce((sum, copies) => sum + copies, 0);
  const copies = (deck[claim] ?? 0) - visible.filter((role) => role === claim).length;
  return held(pack - visible.length, copies, moment.hands[seat].length - known[seat].length);
}
