// A recorded game, folded into moments: the deal, and one after each step. Pure: no page, no clock.
//
// A step is the requests that the referee sent at once, with the answers and the events that followed. A moment has the
// table after its step, with all cards that the page contains, and null for others. view.js reduces it to a seat's view.

/** Return the moments of a game; `moments[0]` is the deal, `moments[k]` comes after `game.steps[k - 1]`. */
export function fold(game) {
  const moments = [opening(game)];
  for (const step of game.steps) {
    const before = moments[moments.length - 1];
    if (step.drawn) draws(before, step.drawn);
    moments.push(after(before, step));
  }
  return moments;
}

function opening(game) {
  const { start } = game;
  return {
    index: 0,
    turn: 1,
    within: 0, // counts the steps of a turn, from 0
    step: null,
    actor: start.actor,
    pending: null,
    coins: start.coins,
    hands: start.hands,
    revealed: start.hands.map(() => []),
    out: start.hands.map(() => false),
    drawn: [],
    picks: [], // by seat, the card that each chose in the draft
    deck: start.deck,
    reserve: start.reserve ?? 0,
    sides: start.sides ?? [],
    known: {}, // by viewer, the certain facts
    claims: [],
    marks: [],
  };
}

// The drawn cards of an exchange are shown in the moment before the step in which the actor keeps some.
function draws(moment, cards) {
  moment.drawn = cards;
  moment.deck -= cards.length;
}

/** Return a moment after one more event, without a step. */
export function follow(before, event) {
  const now = { ...before, ...copied(before) };
  happened(now, event);
  return now;
}

// The parts of a moment that events change in place.
function copied(before) {
  return {
    coins: [...before.coins],
    hands: [...before.hands],
    revealed: [...before.revealed],
    out: [...before.out],
    claims: [...before.claims],
    marks: [],
  };
}

function after(before, step) {
  const now = {
    ...before,
    ...copied(before),
    index: before.index + 1,
    turn: step.turn,
    within: before.step !== null && before.turn === step.turn ? before.within + 1 : 0,
    step,
    actor: step.kind === "turn" ? step.answers[0][0] : before.actor,
    pending: step.kind === "turn" ? null : before.pending,
    drawn: [],
    known: { ...before.known, ...step.known },
  };
  if (step.kind === "draft") now.picks = picks(step.answers);
  if (step.faults?.length) now.marks.push("fault");
  for (const event of step.events) happened(now, event);
  return now;
}

// A seat that forfeits picks no card.
function picks(answers) {
  const found = [];
  for (const [seat, word] of answers) if (word?.startsWith("pick:")) found[seat] = word.slice("pick:".length);
  return found;
}

function happened(now, event) {
  EVENTS[event.event]?.(now, event);
  if (event.cards) now.hands[owner(event)] = event.cards;
}

// The effect of each event on the table, without that on its owner's hand. Other events have none.
const EVENTS = {
  action(now, event) {
    now.pending = { actor: event.seat, action: event.action, target: event.target ?? null };
    if (event.claim) noteClaim(now, event.seat, event.claim, false);
  },
  block(now, event) {
    noteClaim(now, event.seat, event.role, true);
  },
  challenge(now, event) {
    now.marks.push("challenge");
    outcome(now, event.claimant, { challenger: event.seat });
  },
  shown(now, event) {
    outcome(now, event.seat, { outcome: "proven" });
  },
  shown_hand(now, event) {
    outcome(now, event.seat, { outcome: "proven" });
  },
  unproven(now, event) {
    outcome(now, event.seat, { outcome: "caught" });
  },
  coins(now, event) {
    now.coins[event.seat] += event.delta;
    if (event.reason === "convert" || event.reason === "embezzle") now.reserve -= event.delta;
  },
  lost(now, event) {
    now.marks.push("loss");
    const hand = now.hands[event.seat];
    now.hands[event.seat] = without(hand, hand.includes(event.role) ? event.role : null);
    now.revealed[event.seat] = [...now.revealed[event.seat], event.role];
  },
  exiled(now, event) {
    now.out[event.seat] = true;
  },
  forfeit(now, event) {
    now.marks.push("loss");
    now.out[event.seat] = true;
    now.hands[event.seat] = [];
    now.revealed[event.seat] = [...now.revealed[event.seat], ...event.roles];
    if (event.seat === now.actor) now.deck += returned(now);
  },
  exchanged(now, event) {
    now.deck += event.count;
  },
  drafted(now, event) {
    now.deck -= 1;
    now.hands[event.seat] = [null, null];
  },
  allegiances(now, event) {
    now.sides = event.sides;
  },
  converted(now, event) {
    now.sides = [...now.sides];
    now.sides[event.target] = event.allegiance;
  },
  resolved(now) {
    now.pending = null;
    now.claims = now.claims.map((claim) => (claim.outcome === "open" ? { ...claim, outcome: "stood" } : claim));
  },
};

/** Return the seat whose hand an event's `cards` are. Hidden cards that are replaced stay as many. */
export function owner(event) {
  return event.event === "examined" ? event.target : event.seat;
}

// An exchange that ends because its actor left puts the drawn cards back.
function returned(now) {
  return now.step?.drawn?.length ?? 0;
}

function noteClaim(now, seat, role, block) {
  const { actor, action, target } = now.pending ?? { actor: seat, action: null, target: null };
  const honest = now.hands[seat].includes(null) ? null : holds(now.hands[seat], role); // null: unknown
  if (honest === false) now.marks.push("bluff");
  now.claims.push({
    index: now.index,
    turn: now.turn,
    seat,
    role,
    block,
    actor,
    action,
    target,
    honest,
    challenger: null,
    outcome: "open",
  });
}

// The claim that is decided is the last open one of its seat.
function outcome(now, seat, change) {
  const place = now.claims.findLastIndex((claim) => claim.seat === seat && claim.outcome === "open");
  if (place >= 0) now.claims[place] = { ...now.claims[place], ...change };
}

/** Return whether a hand makes a claim true: "duke" if it has one, "not_duke" if it has none. */
export function holds(hand, claim) {
  return claim.startsWith("not_") ? !hand.includes(claim.slice(4)) : hand.includes(claim);
}

/** Return the cards without one card of a role. */
export function without(cards, role) {
  const place = cards.indexOf(role);
  return place < 0 ? cards : [...cards.slice(0, place), ...cards.slice(place + 1)];
}
