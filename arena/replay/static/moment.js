// A link to a moment: "#match=12&game=7&turn=14&step=2&seat=2". Pure.
//
// `step` counts the steps of a turn from 0 and is omitted if it is 0; `match` is omitted if there is one match;
// `seat` is the viewer, -1 a spectator; it is omitted if the page opens with this viewer.

/** Return { match, game, turn, step, seat }, each a number or null, from a link's part after "#". */
export function parsed(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (key) => (/^(-1|\d{1,9})$/.test(found.get(key) ?? "") ? Number(found.get(key)) : null);
  return /** @type {any} */ (Object.fromEntries(["match", "game", "turn", "step", "seat"].map((key) => [key, number(key)])));
}

/** Return the link's part with its "#". */
export function link({ match = null, game, turn = null, step = null, seat = null }) {
  const parts = [
    match === null ? "" : `match=${match}`,
    `game=${game}`,
    turn === null ? "" : `turn=${turn}`,
    step ? `step=${step}` : "",
    seat === null ? "" : `seat=${seat}`,
  ];
  return `#${parts.filter(Boolean).join("&")}`;
}

/** Return the index of a link's moment: the last one before it if the game has no such turn or step. */
export function placed(moments, { turn, step }) {
  if (turn === null) return 0;
  const before = moments.findLastIndex(
    (moment) => moment.step !== null && (moment.turn < turn || (moment.turn === turn && moment.within <= (step ?? 0))),
  );
  return Math.max(before, 0);
}
