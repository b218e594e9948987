// Matches as the page carries them (packed.py): each different event once, steps as arrays. Pure.

/** Return the matches of a page's data, as they were recorded. */
export function unpacked({ events, matches }) {
  for (const match of matches) {
    for (const game of match.games) {
      game.steps = game.steps.map(([turn, kind, answers, places, rest]) => ({
        turn,
        kind,
        answers,
        events: places.map((place) => events[place]),
        ...rest,
      }));
    }
  }
  return matches;
}
