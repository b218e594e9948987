// What one seat knows of a moment: its own cards, what is face up, and which cards of others it has seen and not lost
// sight of. Pure. In place of a seat, `null` is a looker who sees all cards, and -1 an onlooker, who sees what is face up.

import { Bot } from "../../../protocol/kits/coup_kit.js";
import { without } from "./state.js";

// Follows a game as bots do: so the page knows what is certain just as they do.
class Follower extends Bot {
  matchStart(game) {
    this.game = game;
  }
}

/**
 * Return, for each moment, what the seat knows: `hands[owner]`, the roles that the owner certainly has, and
 * `chances[owner]`, by role how likely it has one by the cards in sight (the kit's `odds`). Who sees all cards has the
 * chances of an onlooker.
 */
export function knowledge(moments, ruleset, seat) {
  const looker = seat ?? -1;
  const roles = Object.keys(ruleset.deck);
  const bot = new Follower();
  bot.reply({ type: "hello", ruleset });
  return moments.map((moment) => {
    const you = { seat: looker, cards: moment.hands[looker] ?? [] };
    if (moment.picks[looker]) you.discards = without(roles, moment.picks[looker]); // a set has one of each role
    if (looker === moment.actor && moment.drawn.length) you.drawn = moment.drawn;
    const players = moment.hands.map((hand, owner) => ({ influence: hand.length, revealed: moment.revealed[owner] }));
    const events = moment.step ? seen(moment.step.events, looker) : [];
    bot.reply({ type: "request", legal: [{}], events, you, state: { players } });
    return {
      hands: moment.hands.map((hand, owner) => (seat === null || owner === seat ? hand : [...bot.game.players[owner].known])),
      chances: players.map((_, owner) => Object.fromEntries(roles.map((role) => [role, bot.game.odds(owner, role)]))),
    };
  });
}

/** Return how likely a claim ("duke", "not_duke") is true by the chances of its owner. */
export function chance(chances, claim) {
  return claim.startsWith("not_") ? 1 - chances[claim.slice(4)] : chances[claim];
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
