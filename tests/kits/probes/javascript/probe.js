// Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does.
"use strict";

const { Bot, run } = require("./coup_kit.js");

const ROLES = ["ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"];

const KNOWS = ["claims", "caught", "shown", "blocks", "known", "alive", "influence", "coins", "revealed"];

// Writes at each request and at the end of a game what cases.jsonl asks for.
class Knower extends Bot {
  other(game) {
    const told = Object.fromEntries(KNOWS.map((name) => [name, game.players.map((player) => player[name])]));
    const odds = game.players.map(({ seat }) => Object.fromEntries(ROLES.map((role) => [role, game.odds(seat, role)])));
    console.log(JSON.stringify({ ...told, odds, cards: game.cards }));
  }

  gameOver(game) {
    this.other(game);
  }
}

for (const method of ["turn", "challenge", "block", "prove", "lose", "exchange", "keepShown"]) {
  Knower.prototype[method] = Knower.prototype.other;
}
for (const method of ["examineShow", "examineDecide", "draft", "allegiance"]) {
  Knower.prototype[method] = Knower.prototype.other;
}

// Speaks at each turn, and listens.
class Speaker extends Bot {
  turn(game) {
    game.say("hold", "duke");
    game.say("spare", 1);
    game.say("doubt", "duke", 1);
    game.say("text", 'Zoë says "\\ \u{1f3b2}"');
  }

  event(game, event) {
    if (event.event === "say") console.log(event.says);
  }
}

// Writes each event in words.
class Narrator extends Bot {
  event(game, event) {
    console.log(game.tell(event));
  }
}

// Rolls the kit's dice at each turn.
class Roller extends Bot {
  turn(game) {
    console.log(game.random());
  }
}

// Fails at each turn.
class Failing extends Bot {
  turn() {
    throw new Error("on purpose");
  }
}

const [, , word] = process.argv;
const bot = new ({ know: Knower, words: Narrator, say: Speaker, roll: Roller }[word] ?? Failing)();
bot.careful = word === "careful";
run(bot);
