using System.Collections.Generic;
using Coup;

// A bot to begin with: it never bluffs, and challenges a claim that is very unlikely.
//
// What it does, which the starters in the other languages do as well, choice for choice:
//
//   turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
//               An attack goes to whoever has most cards, then most coins; a steal to whoever has most coins, and at
//               least 1. No action is aimed at who has blocked it in this game, and no foreign aid taken beside them.
//   challenge   If the claimant holds the role with a chance below Doubt, by the cards that we see.
//   block       With the first role of game.Legal that we hold.
//   lose        The card that is worth least.
//   exchange    Keep the cards that are worth most; a second card of the same role adds less.
//   all else    The first legal move: show the card, have it replaced, hand back what was examined ...
//
// Where several are equal, the first of game.Legal is taken.
public class MyBot : Bot {
    private const double Doubt = 0.22;
    private const int SecondCopy = 4; // a second card of a role is worth this much less

    private static readonly Dictionary<string, string[]> Roles = new Dictionary<string, string[]> {
        { "assassinate", new[] { "assassin" } },
        { "tax", new[] { "duke" } },
        { "steal", new[] { "captain" } },
        { "exchange", new[] { "ambassador", "inquisitor" } },
        { "foreign_aid", null }, // anybody may
    };

    private static readonly Dictionary<string, string[]> Blockers = new Dictionary<string, string[]> {
        { "assassinate", new[] { "contessa" } },
        { "tax", new string[0] },
        { "steal", new[] { "captain", "ambassador", "inquisitor" } },
        { "exchange", new string[0] },
        { "foreign_aid", new[] { "duke" } },
    };

    private static readonly Dictionary<string, int> Values = new Dictionary<string, int> {
        { "captain", 10 }, { "duke", 9 }, { "assassin", 8 }, { "ambassador", 5 }, { "inquisitor", 5 }, { "contessa", 4 },
    };

    public static void Main() {
        CoupKit.Run(new MyBot());
    }

    public override Move Turn(Game game) {
        return Strongest(game, game.Moves("coup"))
            ?? Strongest(game, Honest(game, "assassinate"))
            ?? First(Honest(game, "tax"))
            ?? Richest(game, Honest(game, "steal"))
            ?? First(Honest(game, "exchange"))
            ?? First(Honest(game, "foreign_aid"));
    }

    public override Move Challenge(Game game) {
        bool doubtful = game.Odds(game.Claim.Seat, game.Claim.Role) < Doubt;
        return game.Find(doubtful ? "challenge" : "pass");
    }

    public override Move Block(Game game) {
        return game.Moves("block").Find(move => game.Cards.Contains(move.Value)) ?? game.Find("pass");
    }

    public override Move Lose(Game game) {
        Move worst = game.Legal[0];
        foreach (Move move in game.Legal) {
            if (Value(move.Value) < Value(worst.Value)) {
                worst = move;
            }
        }
        return worst;
    }

    public override Move Exchange(Game game) {
        Move best = game.Legal[0];
        foreach (Move move in game.Legal) {
            if (Worth(move.Cards) > Worth(best.Cards)) {
                best = move;
            }
        }
        return best;
    }

    private static int Value(string card) {
        int value;
        return Values.TryGetValue(card, out value) ? value : 4;
    }

    // How good a hand is.
    private static int Worth(IList<string> cards) {
        int sum = 0;
        foreach (string card in cards) {
            sum += Value(card);
        }
        return sum - SecondCopy * (cards.Count - new HashSet<string>(cards).Count);
    }

    private static Move First(List<Move> moves) {
        return moves.Count == 0 ? null : moves[0];
    }

    // The move against whoever has most cards, then most coins.
    private static Move Strongest(Game game, List<Move> moves) {
        Move best = null;
        int most = -1;
        foreach (Move move in moves) {
            Player target = game.Players[move.Target];
            int strength = 1000 * target.Influence + target.Coins;
            if (strength > most) {
                best = move;
                most = strength;
            }
        }
        return best;
    }

    // The move against whoever has most coins, and at least 1.
    private static Move Richest(Game game, List<Move> moves) {
        Move best = null;
        int most = 0;
        foreach (Move move in moves) {
            int coins = game.Players[move.Target].Coins;
            if (coins > most) {
                best = move;
                most = coins;
            }
        }
        return best;
    }

    // The legal moves of an action, if we hold its role, but not those that would be blocked again.
    private static List<Move> Honest(Game game, string action) {
        List<Move> moves = game.Moves(action);
        string[] roles = Roles[action];
        if (roles != null && !System.Array.Exists(roles, game.Cards.Contains)) {
            moves.Clear();
        }
        foreach (Player player in game.Opponents) {
            if (System.Array.Exists(Blockers[action], role => player.Blocks[role] > 0)) {
                moves.RemoveAll(move => action == "foreign_aid" || move.Target == player.Seat);
            }
        }
        return moves;
    }
}
