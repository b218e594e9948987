// The moments of a game that people talk about: the largest bluff that stood, the best challenge, the turning point. Pure.

import { percent } from "./cards.js";
import { start } from "./event_text.js";
import { addressed, claiming } from "./scene.js";
import { chance, knowledge } from "./view.js";

/**
 * Return { heading, text, index } of each highlight, in order of play: `index` is its moment.
 * A claim counts by how likely it was to a spectator: the largest bluff was the least likely claim, and the best
 * challenge met the most likely one. A page without some cards names only what it can show.
 */
export function highlights({ moments, labels, match, game, seat, truth }) {
  const spectator = knowledge(moments, match.ruleset, -1);
  const likely = (claim) => chance(spectator[claim.index].chances[claim.seat], claim.role);
  const { claims } = moments.at(-1);
  const shown = claims.filter((claim) => claim.honest === false && (seat === null || truth || claim.seat === seat));
  const bluff = leastBy(shown.filter((claim) => claim.outcome === "stood"), likely);
  const caught = leastBy(claims.filter((claim) => claim.outcome === "caught"), (claim) => -likely(claim));
  const odds = (claim) => `${percent(likely(claim))} likely to a spectator`;
  const turning = turningPoint(moments, game.winner);
  return [
    bluff && { heading: "The largest bluff that stood", text: start(`${addressed(labels[bluff.seat], claiming(bluff.role))}, which is ${odds(bluff)}`), index: bluff.index },
    caught && {
      heading: "The best challenge",
      text: start(`${addressed(labels[caught.challenger], "doubts")} what is ${odds(caught)}: ${addressed(labels[caught.seat], claiming(caught.role))}`),
      index: caught.index,
    },
    turning && { heading: "The turning point", text: lead(labels[game.winner], turning === moments.length - 1), index: turning },
  ]
    .filter(Boolean)
    .toSorted((one, other) => one.index - other.index);
}

function lead(winner, isLast) {
  return isLast ? "The game was open until its last move" : `From here on ${addressed(winner, "has")} the most cards, or as many and the most coins`;
}

function leastBy(claims, value) {
  return claims.reduce((least, claim) => (least === null || value(claim) < value(least) ? claim : least), null);
}

/** The first moment since which no other player was ahead of the winner; null for a draw, or if none ever was. */
function turningPoint(moments, winner) {
  if (winner === null) return null;
  const isAhead = ({ hands, coins }, seat) => hands[seat].length > hands[winner].length || (hands[seat].length === hands[winner].length && coins[seat] > coins[winner]);
  const behind = moments.findLastIndex((moment) => moment.hands.some((_, seat) => isAhead(moment, seat)));
  return behind < 0 ? null : behind + 1;
}
