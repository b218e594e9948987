// A bot to start with: it never bluffs, and challenges only claims that are very unlikely.
//
// The starters in all languages make the same choices:
//
// turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
//             Attacks target the opponent with most cards, then most coins; steals the richest, with at least 1 coin.
//             Skip attacks on opponents that blocked them in this game, and foreign aid while its blocker lives.
// challenge   Challenge if the probability that the claimant holds the role is below DOUBT.
// block       Block with the first role of legal that we hold.
// lose        Lose the card with the lowest value.
// exchange    Keep the cards with the highest value; a second card of the same role adds less.
// others      Play the first legal move: show the card, have it replaced, hand back the examined card ...
//
// Ties go to the first move in legal.
"use strict";

const { Bot, run } = require("./coup_kit.js");

const DOUBT = 0.22;
const ROLES = { assassinate: ["assassin"], tax: ["duke"], steal: ["captain"], exchange: ["ambassador", "inquisitor"] };
const BLOCKERS = {
  assassinate: ["contessa"],
  steal: ["captain", "ambassador", "inquisitor"],
  foreign_aid: ["duke"],
};
const VALUE = { captain: 10, duke: 9, assassin: 8, ambassador: 5, inquisitor: 5, contessa: 4 };
const SECOND_COPY = 4; // a second card of a role is worth this much less

class MyBot extends Bot {
  turn(game) {
    const coins = (move) => game.players[move.target].coins;
    const strength = (move) => 1000 * game.players[move.target].influence + coins(move);
    const attacks = [game.moves("coup"), this.honest(game, "assassinate")].find((moves) => moves.length);
    if (attacks) return best(attacks, strength);
    const [tax] = this.honest(game, "tax");
    if (tax) return tax;
    const steals = this.honest(game, "steal").filter((move) => coins(move) > 0);
    if (steals.length) return best(steals, coins);
    return this.honest(game, "exchange")[0] ?? this.honest(game, "foreign_aid")[0] ?? game.legal[0];
  }

  // Returns the legal moves of an action if we hold its role, without those that were blocked in this game.
  honest(game, action) {
    if (action in ROLES && !ROLES[action].some((role) => game.cards.includes(role))) return [];
    const blocked = (seat) => (BLOCKERS[action] ?? []).some((role) => game.players[seat].blocks[role] > 0);
    if (action === "foreign_aid" && game.opponents.some((player) => blocked(player.seat))) return [];
    return game.moves(action).filter((move) => !("target" in move) || !blocked(move.target));
  }

  challenge(game) {
    const doubtful = game.odds(game.claim.seat, game.claim.role) < DOUBT;
    return doubtful ? game.find("challenge") : game.find("pass");
  }

  block(game) {
    return game.moves("block").find((move) => game.cards.includes(move.block)) ?? game.find("pass");
  }

  lose(game) {
    return best(game.legal, (move) => -(VALUE[move.lose] ?? 4));
  }

  exchange(game) {
    return best(game.legal, (move) => worth(move.keep));
  }
}

// Returns the move with the highest score; ties go to the first.
function best(moves, score) {
  return moves.reduce((top, move) => (score(move) > score(top) ? move : top));
}

// Returns the value of a hand.
function worth(cards) {
  const sum = cards.reduce((total, card) => total + (VALUE[card] ?? 4), 0);
  return sum - SECOND_COPY * (cards.length - new Set(cards).size);
}

module.exports = { MyBot };

if (require.main === module) run(new MyBot());
