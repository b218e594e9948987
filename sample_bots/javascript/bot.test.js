// Tests of the bot's choices, without the arena: `node --test`.
"use strict";

const assert = require("node:assert");
const test = require("node:test");

const { MyBot } = require("./bot.js");

const HELLO = {
  type: "hello",
  ruleset: { name: "coup", deck: { ambassador: 3, assassin: 3, captain: 3, contessa: 3, duke: 3 } },
  match: { games: 1, seats: 3, your_handle: "A", handles: ["A", "B", "C"] },
  bot_seed: "5f1c09a7d2e84b3690c1f7a85d3e2b46",
};

// Starts a game of three players as seat 0, and returns the bot's move. `revealed`: a lost card of seat 2.
function ask(kind, cards, legal, { revealed = [], ...more } = {}) {
  const players = [
    { coins: 2, influence: cards.length, revealed: [] },
    { coins: 2, influence: 2, revealed: [] },
    { coins: 5, influence: 2 - revealed.length, revealed },
  ];
  const now = { game: 0, state: { turn: 1, actor: 0, deck: 9, players }, you: { seat: 0, cards } };
  const bot = new MyBot();
  bot.reply(HELLO);
  bot.reply({ type: "game_start", seat: 0, players: ["A", "B", "C"], ...now });
  return legal[bot.reply({ type: "request", id: 1, kind, events: [], legal, ...now, ...more }).choice];
}

const TURN = [{ action: "income" }, { action: "tax" }, { action: "steal", target: 1 }, { action: "steal", target: 2 }];

test("it taxes with a duke and not without", () => {
  assert.deepEqual(ask("turn", ["contessa", "duke"], TURN), { action: "tax" });
  assert.deepEqual(ask("turn", ["contessa", "contessa"], TURN), { action: "income" });
});

test("it steals from the richest", () => {
  assert.deepEqual(ask("turn", ["captain", "contessa"], TURN), { action: "steal", target: 2 });
});

test("it challenges only what is very unlikely", () => {
  const legal = [{ pass: true }, { challenge: true }];
  const doubt = { claim: { seat: 1, role: "duke", block: false }, pending: { actor: 1, action: "tax" } };
  assert.deepEqual(ask("challenge", ["captain", "contessa"], legal, doubt), { pass: true });
  assert.deepEqual(ask("challenge", ["duke", "duke"], legal, { ...doubt, revealed: ["duke"] }), { challenge: true });
});
