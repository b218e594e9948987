// Writes what the kit reckons, or fails: by the word that it is given. ../README.md says what a probe does.
"use strict";

const { Bot, run } = require("./coup_kit.js");

const ROLES = ["ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"];

// Writes the odds of each seat at each request, and at the end of a game its cards and who has how many.
class Reckoner extends Bot {
  other(game) {
    const odds = ({ seat }) => Object.fromEntries(ROLES.map((role) => [role, game.odds(seat, role)]));
    const row = (player) => ({ ...odds(player), opponent: game.opponents.includes(player) });
    console.log(JSON.stringify(game.players.map(row)));
  }

  gameOver(game) {
    console.log(JSON.stringify({ cards: game.cards, influence: game.players.map(({ influence }) => influence) }));
  }
}

for (const method of ["turn", "challenge", "block", "prove", "lose", "exchange", "keepShown"]) {
  Reckoner.prototype[method] = Reckoner.prototype.other;
}
for (const method of ["examineShow", "examineDecide", "draft", "allegiance"]) {
  Reckoner.prototype[method] = Reckoner.prototype.other;
}

// Writes at the end of a game what each player did in it and in the match.
class Historian extends Bot {
  gameOver(game) {
    const did = ({ claims, caught, shown, blocks, history }) => ({ claims, caught, shown, blocks, history });
    console.log(JSON.stringify(game.players.map(did)));
  }
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
  turn(game) {
    return game.find("assasinate");
  }
}

const [, , word] = process.argv;
const bot = new ({ odds: Reckoner, history: Historian, words: Narrator, say: Speaker, roll: Roller }[word] ?? Failing)();
bot.careful = word === "careful";
run(bot);
