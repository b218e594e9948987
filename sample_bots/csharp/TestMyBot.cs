using System;

// Tries the bot's choices, without an arena: mcs -main:TestMyBot -out:test.exe *.cs && mono test.exe
public static class TestMyBot {
    private const string Hello = "{'type':'hello','bot_seed':'5f1c','ruleset':{'deck':"
        + "{'ambassador':3,'assassin':3,'captain':3,'contessa':3,'duke':3}}}";
    private const string Turn = "'legal':[{'action':'income'},{'action':'tax'},"
        + "{'action':'steal','target':1},{'action':'steal','target':2}]";
    private const string Claim = "'claim':{'seat':1,'role':'duke','block':false},"
        + "'legal':[{'pass':true},{'challenge':true}]";

    private static int failures;

    public static int Main() {
        // It taxes with a duke, and not without.
        Expect(1, "turn", "'contessa','duke'", "", Turn);
        Expect(0, "turn", "'contessa','contessa'", "", Turn);
        // It steals from the richest.
        Expect(3, "turn", "'captain','contessa'", "", Turn);
        // It challenges only what is very unlikely.
        Expect(0, "challenge", "'captain','contessa'", "", Claim);
        Expect(1, "challenge", "'duke','duke'", "'duke'", Claim);
        Console.WriteLine(failures == 0 ? "OK" : "FAILED");
        return failures;
    }

    // Begins a game of three as seat 0, asks for one move, and compares its index. `lost`: a lost card of seat 2.
    private static void Expect(int choice, string kind, string cards, string lost, string more) {
        string now = "'game':0,'you':{'seat':0,'cards':[" + cards + "]},'state':{'turn':1,'actor':0,'deck':9,"
            + "'players':[{'coins':2,'influence':2,'revealed':[]},{'coins':2,'influence':2,'revealed':[]},"
            + "{'coins':5,'influence':" + (lost == "" ? 2 : 1) + ",'revealed':[" + lost + "]}]}";
        var bot = new MyBot();
        Say(bot, Hello);
        Say(bot, "{'type':'game_start','seat':0,'players':['A','B','C']," + now + "}");
        string reply = Say(bot, "{'type':'request','id':1,'kind':'" + kind + "','events':[]," + more + "," + now + "}");
        string wanted = "{\"id\":1,\"choice\":" + choice + "}";
        if (reply != wanted) {
            Console.WriteLine(kind + " with " + cards + ": " + reply + " instead of " + wanted);
            failures++;
        }
    }

    private static string Say(MyBot bot, string line) {
        return bot.Reply(line.Replace('\'', '"'));
    }
}
