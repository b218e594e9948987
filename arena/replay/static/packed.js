// Matches as `pack_matches` of page.py packs them: each distinct event once, steps as arrays. Pure.

/** Return the unpacked matches of a page's data. */
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
