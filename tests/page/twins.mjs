// Runs the page's modules on what the test sends, and prints what they say: one line of JSON in, one out.

import { readFileSync } from "node:fs";

const asked = JSON.parse(readFileSync(0, "utf8"));
const load = (name) => import(new URL(`${name}.js`, asked.modules).href);
const [{ fold }, { knowledge, seen, answers }, { chance }, { words, moveOf }, { unpacked }, { placed }] = await Promise.all(
  ["state", "view", "odds", "words", "packed", "moment"].map(load),
);
const { tell, tellMove, tellEnd, story } = words(asked.words);

const said = asked.matches.map((match) =>
  match.games.map((game) => {
    const moments = fold(game);
    const deck = match.ruleset.deck;
    const names = game.seating.map((bot) => match.bots[bot]);
    const seats = names.map((_, seat) => seat);
    const roles = [...Object.keys(deck), "not_duke"];
    return {
      moments,
      placed: moments.map((moment) => (moment.step ? placed(moments, { turn: moment.turn, step: moment.within }) : 0)),
      seen: seats.map((seat) => game.steps.map((step) => seen(step.events, seat))),
      answers: seats.map((seat) => game.steps.map((step) => answers(step, seat))),
      known: seats.map((seat) => knowledge(moments, seat)),
      knownFromSeen: seats.map((seat) =>
        knowledge(
          moments.map((moment) =>
            moment.step ? { ...moment, step: { ...moment.step, events: seen(moment.step.events, seat) } } : moment,
          ),
          seat,
        ),
      ),
      chances: seats.map((looker) => {
        const known = knowledge(moments, looker);
        return moments.map((moment, index) =>
          seats.map((seat) => roles.map((role) => chance(moment, known[index], deck, looker, seat, role))),
        );
      }),
      told: game.steps.map((step) => step.events.map((event) => tell(event, names))),
      stories: game.steps.map((step) => [story(step.events, names), story(step.events, names, true)]),
      moves: game.steps.map((step) => step.given.map(([, word]) => moveOf(word))),
      movesTold: game.steps.map((step) => step.given.map(([, word]) => tellMove(moveOf(word), names))),
    };
  }),
);

const sights = [0, 1, 2].map((seat) => knowledge(fold(asked.sights), seat));

process.stdout.write(JSON.stringify({ said, sights, ends: asked.ends.map(tellEnd), unpacked: unpacked(asked.packed) }));
