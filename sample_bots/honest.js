// Never bluffs: claims only roles it holds, blocks whenever it truly can, never challenges.
//
// It makes the same choices as honest.py. It needs only Node.js, no packages.
"use strict";

const readline = require("node:readline");

// The role that each action claims. Other actions (income, foreign_aid, coup) claim nothing.
const ROLE_FOR = { assassinate: "assassin", steal: "captain", tax: "duke", exchange: "ambassador" };

// The value of keeping a card. Other roles have the value 2.
const VALUE = { captain: 5, duke: 4.5, assassin: 4, ambassador: 2.5, contessa: 2 };
const SECOND_COPY = 2; // a second card of a role adds no new action, so its value is lower by this

const value = (card) => VALUE[card] ?? 2;

function handValue(cards) {
  const copies = cards.length - new Set(cards).size;
  return cards.reduce((sum, card) => sum + value(card), 0) - SECOND_COPY * copies;
}

// Returns the move with the highest score; ties go to the first.
function best(moves, score) {
  return moves.reduce((top, move) => (score(move) > score(top) ? move : top));
}

// Remembers blocked actions and their blockers, in order not to repeat them.
class Blocks {
  action = ""; // the latest action and its target
  by = new Map(); // blocked action and target -> the seat that blocked

  static key = (move) => `${move.action} ${move.target}`;

  // Processes one event of the game.
  see(event) {
    if (event.event === "action") this.action = Blocks.key(event);
    else if (event.event === "block") this.by.set(this.action, event.seat);
    else if (["lost", "shown", "exchanged"].includes(event.event)) {
      for (const [action, seat] of this.by) if (seat === event.seat) this.by.delete(action); // its cards may be new
    }
  }
}

// Chooses the best action that is both legal and true.
function chooseTurn(legal, cards, players, blocks) {
  const coins = (move) => players[move.target].coins;
  const strength = (move) => 1000 * players[move.target].influence + coins(move); // influence first, then coins
  const isTrue = (action) => !(action in ROLE_FOR) || cards.includes(ROLE_FOR[action]);
  const open = (move) => isTrue(move.action) && !blocks.by.has(Blocks.key(move));
  const moves = (action) => legal.filter((move) => move.action === action && open(move));

  for (const action of ["coup", "assassinate"]) {
    if (moves(action).length) return best(moves(action), strength); // the strongest opponent is most likely to win
  }
  // A steal moves 2 coins from an opponent, a tax brings 3 coins: about equal, so steal only from rich players.
  const steals = moves("steal").filter((move) => coins(move) >= 2);
  if (steals.length && (!moves("tax").length || Math.max(...steals.map(coins)) >= 5)) return best(steals, coins);
  for (const action of ["tax", "exchange", "foreign_aid", "income"]) {
    if (moves(action).length) return moves(action)[0];
  }
  return legal[0];
}

// Returns the move of request.legal to play.
function choose(request, blocks) {
  const { kind, legal, state } = request;
  const cards = request.you.cards;
  if (kind === "turn") return chooseTurn(legal, cards, state.players, blocks);
  if (kind === "block") return legal.find((move) => cards.includes(move.block)) ?? legal[0];
  if (kind === "lose") return best(legal, (move) => -value(move.lose));
  if (kind === "exchange") return best(legal, (move) => handValue(move.keep));
  // Never challenge (the first move is to pass), and always prove (the first move is to show the card). For an unknown
  // kind of request the first move is a safe move, too.
  return legal[0];
}

function send(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

let blocks = new Blocks();

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "hello") send({ type: "hello", name: "honest-js", version: "1.0" });
  else if (message.type === "game_start") blocks = new Blocks();
  else if (message.type === "request") {
    for (const event of message.events) blocks.see(event);
    send({ id: message.id, move: choose(message, blocks) });
  }
});
