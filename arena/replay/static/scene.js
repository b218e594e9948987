// A recorded game as one viewer may see it: names, texts, marks and knowledge of all its moments. Pure.

import { percent, title } from "./cards.js";
import { plain } from "./dom.js";
import { stepText } from "./log.js";
import { fold } from "./state.js";
import { MARKS } from "./timeline.js";
import { answers, chance, faults, knowledge, seen } from "./view.js";
import { moveOf, start, words } from "./event_text.js";

const folded = new Map(); // moments by game

/** The moments of a game. */
export function unfolded(game) {
  if (!folded.has(game)) folded.set(game, fold(game));
  return folded.get(game);
}

/** The players' names by seat, isolated from the text around them; a person who plays as "you" is addressed. */
export function callNames(match, game) {
  return game.seating.map((bot) => (match.bots[bot] === "you" ? "you" : `\u2068${plain(match.bots[bot])}\u2069`));
}

/** The texts of a game in these names. `table`: the message catalogue. */
export function tellersFor(table, names) {
  return words(table, names.indexOf("you"));
}

/**
 * A game as `seat` knows it (as in view.js). `truth`: whether hidden cards are shown too. `href(moment)` is a moment's link.
 */
export function makeScene(table, match, game, { seat, truth }, href) {
  const moments = unfolded(game);
  const labels = callNames(match, game);
  const tellers = tellersFor(table, labels);
  const known = knowledge(moments, match.ruleset, seat);
  const entries = (game.stderr ?? []).filter((entry) => seat === null || entry.seat === seat);
  const marks = marked(moments, entries, { seat, truth });
  const texts = moments.map(({ step }) => (step ? start(stepText(tellers, step.kind, seen(step.events, seat), labels)) : ""));
  const { claims } = moments.at(-1);
  const lines = moments.map((moment, index) =>
    texts[index] || index === 0
      ? {
          turn: index ? moment.turn : 0,
          title: index ? `Turn ${moment.turn} · ${labels[moment.actor]}` : "Before the game",
          text: index ? texts[index] : "The cards are dealt",
          href: href(moment),
          marks: marks[index].filter((mark) => mark !== "stderr"),
          claims: claims.filter((claim) => claim.index === index),
        }
      : null,
  );
  const thought = moments.map(({ step }) => (step ? Math.max(0, ...answers(step, seat).map((given) => given[2] ?? 0)) : 0));
  return { match, game, seat, truth, moments, labels, tellers, known, entries, marks, texts, lines, thought, players: seated(match, game), href };
}

function seated(match, game) {
  return game.seating.map((bot) => ({ name: match.bots[bot], handle: match.handles[bot] }));
}

/** The words of MARKS at each moment, as far as the viewer may know. */
function marked(moments, entries, { seat, truth }) {
  const final = moments.at(-1).claims;
  const wrote = new Set(entries.map((entry) => entry.turn ?? 0));
  return moments.map((moment) => {
    const found = new Set(moment.marks);
    if (seat !== null && !truth) {
      const known = final.some((claim) => claim.index === moment.index && !claim.honest && (claim.seat === seat || claim.outcome === "caught"));
      if (!known) found.delete("bluff");
    }
    if (moment.step && !faults(moment.step, seat).length) found.delete("fault");
    if (moment.within === 0 && wrote.has(moment.index ? moment.turn : 0)) found.add("stderr");
    return MARKS.map(([word]) => word).filter((word) => found.has(word));
  });
}

/** Where a moment is, as text: its turn and who acts. */
export function whereabouts({ game, labels, moments }, index) {
  return index ? `Turn ${moments[index].turn} · ${labels[moments[index].actor]}` : `Game ${game.game + 1}`;
}

/** What happens at a moment, as text. */
export function happening({ texts, labels, moments }, index) {
  return texts[index] || (index ? "…" : `The cards are dealt. ${start(addressed(labels[moments[0].actor], "plays"))} first`);
}

/** The winner and "wins", as text; null for a draw. */
export function winnerText({ labels, game }) {
  const name = labels[game.winner];
  return name ? addressed(name, "wins") : null;
}

/** The last claim of a moment that is undecided, as text, and the claim; null without one. */
export function claimText(scene, index) {
  const { moments, labels, seat } = scene;
  const moment = moments[index];
  const claim = moment.claims.at(-1);
  if (!claim || claim.turn !== moment.turn || moment.pending === null) return null;
  const likely = likelihood(scene, claim);
  const odds = likely === null ? "" : `: ${percent(likely)} likely to ${labels[seat] ?? "a spectator"}`;
  return { claim, text: start(addressed(labels[claim.seat], claiming(claim.role))) + odds };
}

/** How likely a claim was to the viewer when it was made; null for the viewer's own. */
export function likelihood({ known, seat }, claim) {
  return claim.seat === seat ? null : chance(known[claim.index].chances[claim.seat], claim.role);
}

/** An answer in a record's notation, as text. */
export function moveText({ tellers, labels }, word) {
  const move = moveOf(word);
  return move === null ? "leaves the game" : tellers.tellMove(move, labels) || word;
}

/** A claim in words: "claims to have a Duke". */
export function claiming(role) {
  return role.startsWith("not_") ? `claims to have no ${title(role.slice(4))}` : `claims the ${title(role)}`;
}

/** A name with its verb; "you" takes the second person. */
export function addressed(name, verb) {
  return `${name} ${name === "you" ? (verb === "has" ? "have" : verb.replace(/s\b/, "")) : verb}`;
}
