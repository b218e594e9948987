/** Tests of the bot's choices, without the arena: javac -d build *.java && java -cp build TestMyBot */
public class TestMyBot {
    private static final String HELLO = "{'type':'hello','bot_seed':'5f1c','ruleset':{'deck':"
            + "{'ambassador':3,'assassin':3,'captain':3,'contessa':3,'duke':3}}}";
    private static final String TURN = "'legal':[{'action':'income'},{'action':'tax'},"
            + "{'action':'steal','target':1},{'action':'steal','target':2}]";
    private static final String CLAIM = "'claim':{'seat':1,'role':'duke','block':false},"
            + "'legal':[{'pass':true},{'challenge':true}]";

    private static int failures = 0;

    public static void main(String[] args) {
        // It taxes with a duke, and not without.
        expect(1, "turn", "'contessa','duke'", "", TURN);
        expect(0, "turn", "'contessa','contessa'", "", TURN);
        // It steals from the richest.
        expect(3, "turn", "'captain','contessa'", "", TURN);
        // It challenges only what is very unlikely.
        expect(0, "challenge", "'captain','contessa'", "", CLAIM);
        expect(1, "challenge", "'duke','duke'", "'duke'", CLAIM);
        System.out.println(failures == 0 ? "OK" : "FAILED");
        System.exit(failures);
    }

    /** Starts a game of three players as seat 0, and compares the bot's choice. `lost`: a lost card of seat 2. */
    private static void expect(int choice, String kind, String cards, String lost, String more) {
        String now = "'game':0,'you':{'seat':0,'cards':[" + cards + "]},'state':{'turn':1,'actor':0,'deck':9,"
                + "'players':[{'coins':2,'influence':2,'revealed':[]},{'coins':2,'influence':2,'revealed':[]},"
                + "{'coins':5,'influence':" + (lost.isEmpty() ? 2 : 1) + ",'revealed':[" + lost + "]}]}";
        MyBot bot = new MyBot();
        say(bot, HELLO);
        say(bot, "{'type':'game_start','seat':0,'players':['A','B','C']," + now + "}");
        String reply = say(bot, "{'type':'request','id':1,'kind':'" + kind + "','events':[]," + more + "," + now + "}");
        String wanted = "{\"id\":1,\"choice\":" + choice + "}";
        if (!wanted.equals(reply)) {
            System.out.println(kind + " with " + cards + ": " + reply + " instead of " + wanted);
            failures++;
        }
    }

    private static String say(MyBot bot, String line) {
        return bot.reply(line.replace('\'', '"'));
    }
}
