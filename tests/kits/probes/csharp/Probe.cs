using System;
using System.Collections.Generic;
using System.Globalization;
using Coup;

// Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does.
public class Probe : Bot {
    private static readonly string[] Roles = {
        "ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke",
    };

    private readonly string word;

    private Probe(string word) {
        this.word = word;
        Careful = word == "careful";
    }

    public static void Main(string[] words) {
        CoupKit.Run(new Probe(words[0]));
    }

    // Writes what it knows to standard error, and plays any move.
    private Move Tell(Game game) {
        if (word == "know") {
            Know(game);
        }
        if (word != "tell") {
            return null;
        }
        int id = game.Request["id"].Integer();
        Console.WriteLine("{\"id\":" + id + ",\"opponents\":" + All(game.Opponents, player => player.Seat.ToString())
            + ",\"players\":" + All(game.Players, player => "{\"odds\":" + All(Roles, role => Odds(game, player, role))
                + ",\"claims\":" + Numbers(player.Claims)
                + ",\"caught\":" + Numbers(player.Caught)
                + ",\"shown\":" + Numbers(player.Shown)
                + ",\"blocks\":" + Numbers(player.Blocks)
                + ",\"known\":" + All(Roles, role => player.Known.Contains(role) ? "1" : "0")
                + ",\"history\":" + History(player.History) + "}") + "}");
        return game.Legal[id % game.Legal.Count];
    }

    private static string History(History h) {
        int[] counts = { h.Claimed, h.Challenged, h.Proven, h.Caught, h.Challenges, h.WonChallenges, h.Blocks };
        return All(counts, count => count.ToString());
    }

    // Writes what cases.jsonl asks for.
    private static void Know(Game game) {
        Console.WriteLine("{\"claims\":" + All(game.Players, player => Counted(player.Claims))
            + ",\"caught\":" + All(game.Players, player => Counted(player.Caught))
            + ",\"shown\":" + All(game.Players, player => Counted(player.Shown))
            + ",\"blocks\":" + All(game.Players, player => Counted(player.Blocks))
            + ",\"known\":" + All(game.Players, player => All(player.Known, Quoted))
            + ",\"alive\":" + All(game.Players, player => player.Alive ? "true" : "false")
            + ",\"influence\":" + All(game.Players, player => player.Influence.ToString())
            + ",\"coins\":" + All(game.Players, player => player.Coins.ToString())
            + ",\"revealed\":" + All(game.Players, player => All(player.Revealed, Quoted))
            + ",\"odds\":" + All(game.Players, player =>
                Members(Roles, role => Quoted(role) + ":" + Odds(game, player, role)))
            + ",\"cards\":" + All(game.Cards, Quoted) + "}");
    }

    private static string Parts<T>(IEnumerable<T> things, Func<T, string> part) {
        var parts = new List<string>();
        foreach (T thing in things) {
            parts.Add(part(thing));
        }
        return string.Join(",", parts);
    }

    private static string All<T>(IEnumerable<T> things, Func<T, string> part) {
        return "[" + Parts(things, part) + "]";
    }

    private static string Members<T>(IEnumerable<T> things, Func<T, string> part) {
        return "{" + Parts(things, part) + "}";
    }

    private static string Quoted(string text) {
        return '"' + text + '"';
    }

    private static string Counted(Counts counts) {
        return Members(counts, pair => Quoted(pair.Key) + ":" + pair.Value);
    }

    private static string Numbers(Counts counts) {
        return All(Roles, role => counts[role].ToString());
    }

    private static string Odds(Game game, Player player, string role) {
        return game.Odds(player.Seat, role).ToString("R", CultureInfo.InvariantCulture);
    }

    public override void GameOver(Game game) {
        if (word == "know") {
            Know(game);
        }
    }

    public override void Event(Game game, Json news) {
        if (word == "say" && news["event"].Text() == "say") {
            Console.WriteLine(news["says"].Text());
        }
    }

    public override Move Turn(Game game) {
        switch (word) {
            case "say":
                game.Say("hold", "duke");
                game.Say("spare", 1);
                game.Say("doubt", "duke", 1);
                game.Say("text", "Zo\u00eb says \"\\ \ud83c\udfb2\"");
                return null;
            case "roll":
                Console.WriteLine(game.Random.NextDouble().ToString("R", CultureInfo.InvariantCulture));
                return null;
            case "tell":
            case "know":
                return Tell(game);
            default:
                throw new InvalidOperationException("on purpose");
        }
    }

    public override Move Challenge(Game game) { return Tell(game); }

    public override Move Block(Game game) { return Tell(game); }

    public override Move Prove(Game game) { return Tell(game); }

    public override Move Lose(Game game) { return Tell(game); }

    public override Move Exchange(Game game) { return Tell(game); }

    public override Move KeepShown(Game game) { return Tell(game); }

    public override Move ExamineShow(Game game) { return Tell(game); }

    public override Move ExamineDecide(Game game) { return Tell(game); }

    public override Move Draft(Game game) { return Tell(game); }

    public override Move Allegiance(Game game) { return Tell(game); }

    public override Move Other(Game game) { return Tell(game); }
}
