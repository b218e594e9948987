// Runs the page's modules on what the test sends, and prints what they say: one line of JSON in, one out.

import { readFileSync } from "node:fs";

const asked = JSON.parse(readFileSync(0, "utf8"));
const load = (name) => import(new URL(`${name}.js`, asked.modules).href);
const [{ tenths }, { fold }, { chance, knowledge, seen, answers, faults, picked }, { words, moveOf }, { unpacked }, { placed }, { highlights }] = await Promise.all(
  ["cards", "state", "view", "event_text", "packed", "moment", "highlights"].map(load),
);
const hands = (...asked) => knowledge(...asked).map((moment) => moment.hands);
const { tell, tellMove, tellEnd, story } = words(asked.words);

const said = asked.matches.map((match) =>
  match.games.map((game) => {
    const moments = fold(game);
    const { ruleset } = match;
    const names = game.seating.map((bot) => match.bots[bot]);
    const seats = names.map((_, seat) => seat);
    const roles = [...Object.keys(ruleset.deck), "not_duke"];
    return {
      moments,
      highlights: highlights({ moments, labels: names, match, game, seat: null, truth: true }),
      placed: moments.map((moment) => (moment.step ? placed(moments, { turn: moment.turn, step: moment.within }) : 0)),
      seen: seats.map((seat) => game.steps.map((step) => seen(step.events, seat))),
      answers: seats.map((seat) => game.steps.map((step) => answers(step, seat))),
      known: seats.map((seat) => hands(moments, ruleset, seat)),
      chances: seats.map((looker) =>
        knowledge(moments, ruleset, looker).map(({ chances }) => seats.map((seat) => roles.map((role) => chance(chances[seat], role)))),
      ),
      told: game.steps.map((step) => step.events.map((event) => tell(event, names))),
      second: seats.map((you) => game.steps.map((step) => seen(step.events, you).map((event) => words(asked.words, you).tell(event, names.with(you, "you"))))),
      stories: game.steps.map((step) => [story(step.events, names), story(step.events, names, true)]),
      moves: game.steps.map((step) => step.answers.map(([, word]) => moveOf(word))),
      movesTold: game.steps.map((step) => step.answers.map(([, word]) => tellMove(moveOf(word), names))),
    };
  }),
);

// All that is shown to a seat (-1: an onlooker) of a match that was told with all cards, and of one that was cut for it.
const shown = (match, seat) =>
  match.games.map((game) => {
    const moments = fold(game);
    const known = knowledge(moments, match.ruleset, seat);
    const named = highlights({ moments, labels: match.bots, match, game, seat, truth: false });
    return moments.map((moment, index) => ({
      highlights: named,
      known: known[index],
      table: [moment.hands.map((hand) => hand.length), moment.revealed, moment.coins, moment.deck, moment.out, moment.sides],
      drawn: picked(moment, seat),
      step: moment.step ? [seen(moment.step.events, seat), answers(moment.step, seat), faults(moment.step, seat)] : [],
      claims: moment.claims.map((claim) => ({ ...claim, honest: claim.seat === seat ? claim.honest : null })),
      bluff: moment.marks.includes("bluff") && moment.claims.some((claim) => claim.seat === seat && claim.index === index),
    }));
  });
const cuts = asked.cuts.map(({ whole, cut, seat }) => [shown(whole, seat), shown(cut, seat)]);
const honest = asked.cuts.map(({ cut }) => cut.games.map((game) => fold(game).at(-1).claims.map((claim) => [claim.seat, claim.honest])));

process.stdout.write(JSON.stringify({ cuts, honest, said, ends: asked.ends.map(tellEnd), tenths: asked.numbers.map(tenths), unpacked: unpacked(asked.packed) }));
