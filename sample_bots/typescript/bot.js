"use strict";
// A bot to begin with: it never bluffs, and challenges a claim that is very unlikely.
//
// What it does, which the starters in the other languages do as well, choice for choice:
//
// turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income. An
//             attack goes to whoever has most cards, then most coins; a steal to whoever has most coins, and at least 1.
//             No action is aimed at who has blocked it in this game, and no foreign aid taken beside them.
// challenge   If the claimant holds the role with a chance below DOUBT, by the cards that we see.
// block       With the first role of legal that we hold.
// lose        The card that is worth least.
// exchange    Keep the cards that are worth most; a second card of the same role adds less.
// all else    The first legal move: show the card, have it replaced, hand back what was examined ...
//
// Where several are equal, the first of legal is taken. What plays is bot.js: `npm run build` makes it from this file.
Object.defineProperty(exports, "__esModule", { value: true });
exports.MyBot = void 0;
const coup_kit_js_1 = require("./coup_kit.js");
const DOUBT = 0.22;
const ROLES = {
    assassinate: ["assassin"],
    tax: ["duke"],
    steal: ["captain"],
    exchange: ["ambassador", "inquisitor"],
};
const BLOCKERS = {
    assassinate: ["contessa"],
    steal: ["captain", "ambassador", "inquisitor"],
    foreign_aid: ["duke"],
};
const VALUE = { captain: 10, duke: 9, assassin: 8, ambassador: 5, inquisitor: 5, contessa: 4 };
const SECOND_COPY = 4; // a second card of a role is worth this much less
class MyBot extends coup_kit_js_1.Bot {
    turn(game) {
        const coins = (move) => target(game, move)?.coins ?? 0;
        const strength = (move) => 1000 * (target(game, move)?.influence ?? 0) + coins(move);
        const attacks = [game.moves("coup"), this.honest(game, "assassinate")].find((moves) => moves.length);
        if (attacks)
            return best(attacks, strength);
        const [tax] = this.honest(game, "tax");
        if (tax)
            return tax;
        const steals = this.honest(game, "steal").filter((move) => coins(move) > 0);
        if (steals.length)
            return best(steals, coins);
        return this.honest(game, "exchange")[0] ?? this.honest(game, "foreign_aid")[0] ?? game.legal[0];
    }
    // The legal moves of an action, if we hold its role, but not those that would be blocked again.
    honest(game, action) {
        const roles = ROLES[action];
        if (roles && !roles.some((role) => game.cards.includes(role)))
            return [];
        const blocked = (player) => (BLOCKERS[action] ?? []).some((role) => (player?.blocks[role] ?? 0) > 0);
        if (action === "foreign_aid" && game.opponents.some(blocked))
            return [];
        return game.moves(action).filter((move) => !blocked(target(game, move)));
    }
    challenge(game) {
        const { seat, role } = game.claim;
        if (seat === undefined || role === undefined)
            return null;
        return game.find(game.odds(seat, role) < DOUBT ? "challenge" : "pass");
    }
    block(game) {
        return game.moves("block").find((move) => game.cards.includes(move.block ?? "")) ?? game.find("pass");
    }
    lose(game) {
        return best(game.legal, (move) => -(VALUE[move.lose ?? ""] ?? 4));
    }
    exchange(game) {
        return best(game.legal, (move) => worth(move.keep ?? []));
    }
}
exports.MyBot = MyBot;
// Whom a move is aimed at.
function target(game, move) {
    return move.target === undefined ? undefined : game.players[move.target];
}
// The move with the highest score; the first of them where several are equal.
function best(moves, score) {
    return moves.reduce((top, move) => (score(move) > score(top) ? move : top));
}
// How good a hand is.
function worth(cards) {
    const sum = cards.reduce((total, card) => total + (VALUE[card] ?? 4), 0);
    return sum - SECOND_COPY * (cards.length - new Set(cards).size);
}
if (require.main === module)
    (0, coup_kit_js_1.run)(new MyBot());
