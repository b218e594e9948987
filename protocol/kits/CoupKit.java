import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A kit for bots of the Coup arena: it reads and writes the lines, follows the game, and asks you for moves. One file,
 * for Java 11 and newer, without packages of others, kit version 6. A whole bot:
 *
 * <pre>
 * public class MyBot extends CoupKit.Bot {
 *     &#64;Override public Move turn(Game game) {
 *         return game.cards.contains("duke") ? game.find("tax") : null;
 *     }
 *
 *     public static void main(String[] args) {
 *         CoupKit.run(new MyBot());
 *     }
 * }
 * </pre>
 *
 * Each kind of request has a method: turn, challenge, block, prove, lose, exchange, and those of rule variants. It gets
 * the game and returns a move of game.legal. What you don't write plays the first of game.legal, which is always a
 * quiet move (income, pass, show the card), and so does null, which is what find() gives where there is no such move.
 * The arena's SPEC.md says what is sent; here it is in objects.
 *
 * log(...) writes to standard error, and once run() has begun so does System.out: it can't break the conversation. An
 * exception that leaves a method is told on standard error with the request at which it came, and ends the program;
 * with careful = true the bot plays the first legal move instead and goes on.
 */
public class CoupKit {
    /** In place of a seat: none, or not known. */
    public static final int NOBODY = -1;

    /** Writes a line to standard error. */
    public static void log(Object line) {
        System.err.println(line);
    }

    /** Plays until the match is over, or the input ends. */
    public static void run(Bot bot) {
        OutputStream wire = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err); // for what the bot or a library prints
        reportUncalled(bot);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            String line;
            while (!bot.over && (line = input.readLine()) != null) {
                String answer = bot.reply(line);
                if (answer != null) {
                    wire.write((answer + "\n").getBytes(StandardCharsets.UTF_8)); // one write, and nothing to flush
                }
            }
        } catch (IOException gone) {
            return; // the arena has ended
        } catch (Throwable told) {
            System.exit(1); // threads of the bot would keep it running
        }
        System.exit(0);
    }

    /** Names the public methods that look like a request's, which the kit doesn't know: @Override would refuse them. */
    private static void reportUncalled(Bot bot) {
        for (Class<?> type = bot.getClass(); type != Bot.class; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                Class<?>[] given = method.getParameterTypes();
                boolean chooses = method.getReturnType() == Move.class || method.getReturnType() == void.class;
                boolean open = Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers());
                if (!open || !chooses || given.length == 0 || given[0] != Game.class) {
                    continue;
                }
                try {
                    Bot.class.getDeclaredMethod(method.getName(), given);
                } catch (NoSuchMethodException unknown) {
                    log("coup_kit: the kit never calls " + type.getSimpleName() + "." + method.getName()
                            + "; write @Override above each method that it is to call, and a helper of yours as private");
                }
            }
        }
    }

    // ---- The bot ----------------------------------------------------------------------------------------------------

    /**
     * Write a class of your own that inherits from this one, with the methods that you need. It inherits the names of
     * the kit's classes too: in it, Game is CoupKit.Game.
     */
    public abstract static class Bot extends CoupKit {
        /** For logs; without one the name is that of the class. */
        public String name = getClass().getSimpleName();
        public String version = "";
        /** Where a method throws: say so, play the first legal move, go on. */
        public boolean careful = false;

        private final Game game = new Game();
        private boolean over = false;

        /** Chooses the action of your turn. */
        public Move turn(Game game) {
            return null;
        }

        /** Challenges game.claim, or passes. */
        public Move challenge(Game game) {
            return null;
        }

        /** Blocks game.pending by claiming a role, or passes. */
        public Move block(Game game) {
            return null;
        }

        /** Shows the card that you claimed, or declines. */
        public Move prove(Game game) {
            return null;
        }

        /** Chooses the card to lose. */
        public Move lose(Game game) {
            return null;
        }

        /** Chooses what to keep of game.cards and game.drawn. */
        public Move exchange(Game game) {
            return null;
        }

        /** Keeps the card that you have shown, or has it replaced. Only in rule variants, as the next four. */
        public Move keepShown(Game game) {
            return null;
        }

        /** Chooses the card that the inquisitor sees. */
        public Move examineShow(Game game) {
            return null;
        }

        /** Hands back the card game.seen, or has it replaced. */
        public Move examineDecide(Game game) {
            return null;
        }

        /** Chooses the card to begin with. */
        public Move draft(Game game) {
            return null;
        }

        /** Chooses your side. */
        public Move allegiance(Game game) {
            return null;
        }

        /** Answers a kind of request that this kit doesn't know. */
        public Move other(Game game) {
            return null;
        }

        /** The rules and limits are known, the players aren't yet. */
        public void matchStart(Game game) {}

        public void gameStart(Game game) {}

        /** Sees one event, after the game took it in. Each comes once, in order. */
        public void event(Game game, Json event) {}

        /** game.winner is known. */
        public void gameOver(Game game) {}

        /** Hears of a fault that the referee counted: error.get("message") says what to repair. */
        public void fault(Game game, Json error) {}

        public void matchOver(Game game) {}

        /** Takes one line, and returns the answer, or null where it wants none. No input, no output: for tests. */
        public final String reply(String text) {
            Json line;
            try {
                line = Json.parse(text);
            } catch (IllegalArgumentException problem) {
                log("coup_kit: a line of the arena is ignored: " + problem.getMessage());
                return null;
            }
            String type = line.get("type").string("");
            if (type.equals("game_start")) {
                game.begin(line);
            }
            game.take(line);
            for (Json event : line.get("events").list()) {
                game.follow(event);
                notify("event", event);
            }
            game.remember();
            String answer = null;
            switch (type) {
                case "hello":
                    game.greet(line);
                    notify("match_start", line);
                    answer = "{\"type\":\"hello\"" + label("name", name) + label("version", version) + "}";
                    break;
                case "request":
                    answer = "{\"id\":" + line.get("id") + ",\"choice\":" + choose() + game.said() + "}";
                    break;
                case "game_over":
                    game.end(line);
                    game.winner = line.get("winner").integer(NOBODY);
                    for (Json survivor : line.get("survivors").list()) {
                        game.survivors.add(survivor.integer(NOBODY));
                    }
                    notify("game_over", line);
                    break;
                case "match_over":
                    over = true;
                    notify("match_over", line);
                    break;
                default:
                    notify(type, line);
            }
            game.kind = "";
            game.legal = Collections.emptyList();
            return answer;
        }

        /** At most 64 characters, as the protocol allows; ASCII alone, so that no half of a pair is left of a cut. */
        private static String label(String key, String text) {
            if (text.isEmpty()) {
                return "";
            }
            String cut = text.substring(0, Math.min(64, text.length())).replaceAll("[^ -~]", "?");
            return ",\"" + key + "\":" + Json.quoted(cut);
        }

        private int choose() {
            try {
                Move move = ask();
                if (move == null) {
                    return 0;
                }
                int index = game.legal.indexOf(move);
                if (index < 0) {
                    throw new IllegalArgumentException("it returned " + move + ", which is not in game.legal");
                }
                return index;
            } catch (Throwable problem) {
                failed(game.kind, problem);
                return 0;
            }
        }

        private Move ask() {
            switch (game.kind) {
                case "turn": return turn(game);
                case "challenge": return challenge(game);
                case "block": return block(game);
                case "prove": return prove(game);
                case "lose": return lose(game);
                case "exchange": return exchange(game);
                case "keep_shown": return keepShown(game);
                case "examine_show": return examineShow(game);
                case "examine_decide": return examineDecide(game);
                case "draft": return draft(game);
                case "allegiance": return allegiance(game);
                default: return other(game);
            }
        }

        private void notify(String what, Json about) {
            try {
                switch (what) {
                    case "match_start": matchStart(game); break;
                    case "game_start": gameStart(game); break;
                    case "event": event(game, about); break;
                    case "game_over": gameOver(game); break;
                    case "error": fault(game, about); break;
                    case "match_over": matchOver(game); break;
                    default: // wants nothing
                }
            } catch (Throwable problem) {
                failed(what, problem);
            }
        }

        /** Says where a method failed; then plays on if the bot is careful, else lets the failure end it. */
        private void failed(String method, Throwable problem) {
            String where = game.request.get("type").string("") + ", game " + game.number;
            if (!game.kind.isEmpty()) {
                where = "request " + game.request.get("id") + ": " + game.kind + ", game " + game.number + ", turn "
                        + game.turn + ", legal " + game.request.get("legal");
            }
            log("coup_kit: " + getClass().getName() + " failed in " + method + " at " + where);
            problem.printStackTrace();
            if (!careful || problem instanceof OutOfMemoryError) {
                throw new IllegalStateException(problem);
            }
        }
    }

    // ---- The game ---------------------------------------------------------------------------------------------------

    /**
     * The game as your seat sees it. One object for the whole match; read it, and leave it as it is. In gameOver your
     * cards, and the coins, cards and sides of all, are those of the end.
     */
    public static final class Game {
        // Of the request; between requests there is nothing to decide, and no legal move.
        /** What is asked: "turn", "challenge", "block" ... */
        public String kind = "";
        /** Every move that you may choose; the first is a quiet one. */
        public List<Move> legal = Collections.emptyList();
        /** The action that is being decided; at your turn its actor is NOBODY. */
        public Pending pending = new Pending(Json.NULL);
        /** The claim to challenge or to prove; else its seat is NOBODY. */
        public Claim claim = new Claim(Json.NULL);
        /** In block: the action's claim was challenged and proven this turn. */
        public boolean proven;
        /** In prove: the seat that challenges you. */
        public int challenger = NOBODY;
        /** In lose: "coup", "assassinate", "challenge"; in game_over: why it ended. */
        public String reason = "";
        /** In examine_decide: the card of another that you look at. */
        public String seen = "";
        /** The line as it came, also where it is game_start, game_over or error. */
        public Json request = Json.NULL;

        // Of the game.
        /** Of the game in the match, from 0. */
        public int number;
        /** Yours. */
        public int seat = NOBODY;
        public int turn;
        public int actor = NOBODY;
        public int deck;
        public int reserve;
        /** Yours, face down. */
        public List<String> cards = Collections.emptyList();
        /** In exchange: what you drew. */
        public List<String> drawn = Collections.emptyList();
        /** With a draft: what you discarded. */
        public List<String> discards = Collections.emptyList();
        /** By seat. */
        public Player[] players = {};
        /** In gameOver: the seat that won; NOBODY: a draw. */
        public int winner = NOBODY;
        /** In gameOver: the seats that won or share the draw. */
        public final List<Integer> survivors = new ArrayList<>();

        // Of the match.
        /** hello.ruleset, such as game.rules.get("coup_cost").integer(7). */
        public Json rules = Json.NULL;
        public Json limits = Json.NULL;
        public Json match = Json.NULL;
        public String botSeed = "";
        /** Of this game; empty before the first, and where the arena is too old to send it. */
        public String gameSeed = "";
        /** Seeded anew by each gameSeed, before the first game by botSeed, so that a game can be repeated. */
        public Random random = new Random(0);

        private final Map<String, History> histories = new HashMap<>(); // by handle
        private final List<String> words = new ArrayList<>(); // to be said beside the next answer
        private Player doubter; // who challenged last in this game,
        private String doubted = ""; // and which role
        private List<String> hand = Collections.emptyList(); // your cards before the latest events
        private List<String> drew = Collections.emptyList(); // what you drew to exchange
        private List<String> sunk = Collections.emptyList(); // cards that certainly lie in the court deck

        /** The public state as it came. */
        public Json state() {
            return request.get("state");
        }

        /** You, as the others see you. */
        public Player me() {
            return players[seat];
        }

        /** The others who are still in the game, clockwise from you. */
        public List<Player> opponents() {
            List<Player> living = new ArrayList<>();
            for (int step = 1; step < players.length; step++) {
                Player player = players[(seat + step) % players.length];
                if (player.alive()) {
                    living.add(player);
                }
            }
            return living;
        }

        /** All legal moves of an action or key: moves("steal"), moves("block"). */
        public List<Move> moves(String word) {
            List<Move> found = new ArrayList<>();
            for (Move move : legal) {
                if (move.word.equals(word)) {
                    found.add(move);
                }
            }
            return found;
        }

        /** The first legal move of an action or key, or null: find("tax"), find("challenge"). */
        public Move find(String word) {
            for (Move move : moves(word)) {
                return move;
            }
            return null;
        }

        /** The same at one target: find("steal", 2). */
        public Move find(String word, int target) {
            for (Move move : moves(word)) {
                if (move.target == target) {
                    return move;
                }
            }
            return null;
        }

        /** The same with one value: find("block", "duke"), find("keep_shown", "true"). */
        public Move find(String word, String value) {
            for (Move move : moves(word)) {
                if (move.value.equals(value)) {
                    return move;
                }
            }
            return null;
        }

        /**
         * Says something beside your next answer: say("hold", "duke"), say("lack", "duke"), or, where the rules allow it,
         * say("text", "Peace?"). All hear it, and nobody is bound. At most 4, one of them a text. Without talk it isn't
         * sent. Others' words are events, "say".
         */
        public void say(String says, String what) {
            words(says, ",\"" + (says.equals("text") ? "text" : "role") + "\":" + Json.quoted(what));
        }

        /** The same of a seat: say("attack", 2), say("spare", 2). */
        public void say(String says, int target) {
            words(says, ",\"target\":" + target);
        }

        /** The same of a seat and a role: say("doubt", "duke", 2). */
        public void say(String says, String role, int target) {
            words(says, ",\"role\":" + Json.quoted(role) + ",\"target\":" + target);
        }

        private void words(String says, String parts) {
            if (!rules.get("talk").string("off").equals("off")) {
                words.add("{\"says\":" + Json.quoted(says) + parts + "}");
            }
        }

        private String said() {
            String say = words.isEmpty() ? "" : ",\"say\":[" + String.join(",", words) + "]";
            words.clear();
            return say;
        }

        /**
         * How likely a seat holds at least one card of a role, from the cards that you see: 1 - C(U-d, k) / C(U, k),
         * where of U unseen cards d are of the role and k are the seat's. It takes no account of what players claim. It
         * is 0 or 1 where that is certain: of yourself, of a card that a player showed and kept, or you looked at, of a
         * role that it couldn't show where proving is automatic, and of cards that you know to lie in the deck. For the
         * claim "not_duke" it is how likely the seat has no duke. After a draft, where cards are chosen and half of
         * them are away, it is a guess where it is neither 0 nor 1.
         */
        public double odds(int whose, String role) {
            if (role.startsWith("not_")) {
                return 1 - odds(whose, role.substring(4));
            }
            if (whose == seat) {
                return cards.contains(role) ? 1 : 0;
            }
            if (whose < 0 || whose >= players.length) {
                return 0;
            }
            Player player = players[whose];
            if (player.known.contains(role)) {
                return 1;
            }
            List<String> sight = new ArrayList<>(cards);
            sight.addAll(drawn);
            sight.addAll(discards);
            sight.addAll(sunk);
            int elsewhere = 0; // hidden cards of others who lack the role
            for (Player each : players) {
                sight.addAll(each.revealed);
                if (each.seat != seat) {
                    sight.addAll(each.known);
                    elsewhere += each.lacks.contains(role) ? each.hidden() : 0;
                }
            }
            int unseen = -sight.size();
            for (Json number : rules.get("deck").list()) {
                unseen += number.integer(0);
            }
            int copies = hidden(role, sight);
            int held = player.hidden();
            if (held <= 0 || copies <= 0 || unseen < held || player.lacks.contains(role)) {
                return 0;
            }
            if (copies > unseen - elsewhere - held) {
                return 1; // they have no place but this hand
            }
            if (player.lacks.isEmpty()) {
                unseen -= elsewhere;
            }
            for (String other : player.lacks) {
                unseen -= hidden(other, sight);
            }
            double none = 1; // C(unseen - copies, held) / C(unseen, held), a card at a time
            for (int card = 0; card < held && none > 0; card++) {
                none *= Math.max(0, (double) (unseen - copies - card) / (unseen - card));
            }
            return 1 - none;
        }

        private int hidden(String role, List<String> sight) {
            return rules.get("deck").get(role).integer(0) - Collections.frequency(sight, role);
        }

        private void greet(Json hello) {
            rules = hello.get("ruleset");
            limits = hello.get("limits");
            match = hello.get("match");
            botSeed = hello.get("bot_seed").string("");
            random.setSeed(mixed(botSeed));
        }

        private static long mixed(String seed) {
            long mixed = 0;
            for (int i = 0; i < seed.length(); i++) {
                mixed = mixed * 31 + seed.charAt(i);
            }
            return mixed;
        }

        private void begin(Json start) {
            gameSeed = start.get("game_seed").string("");
            if (!gameSeed.isEmpty()) {
                random.setSeed(mixed(gameSeed));
            }
            List<String> handles = start.get("players").strings();
            players = new Player[handles.size()];
            for (int i = 0; i < players.length; i++) {
                String handle = handles.get(i);
                if (!histories.containsKey(handle)) {
                    histories.put(handle, new History());
                }
                players[i] = new Player(i, handle, histories.get(handle));
            }
            winner = NOBODY;
            survivors.clear();
            doubter = null;
            sunk = Collections.emptyList();
        }

        /** Takes in what a line says of the request, of you and of the table. */
        private void take(Json line) {
            request = line;
            kind = line.get("kind").string("");
            pending = new Pending(line.get("pending"));
            claim = new Claim(line.get("claim"));
            proven = line.get("proven").bool(false);
            challenger = line.get("challenger").integer(NOBODY);
            reason = line.get("reason").string("");
            List<Move> moves = new ArrayList<>();
            for (Json raw : line.get("legal").list()) {
                moves.add(new Move(raw));
            }
            legal = Collections.unmodifiableList(moves);
            number = line.get("game").integer(number);
            Json you = line.get("you");
            if (!you.isNull()) {
                seat = you.get("seat").integer(seat);
                cards = you.get("cards").strings();
                drawn = you.get("drawn").strings();
                discards = you.get("discards").strings();
                seen = you.get("seen").string("");
            }
            Json state = line.get("state");
            turn = state.get("turn").integer(turn);
            actor = state.get("actor").integer(actor);
            deck = state.get("deck").integer(deck);
            reserve = state.get("reserve").integer(reserve);
            List<Json> table = state.get("players").list();
            for (int i = 0; i < Math.min(table.size(), players.length); i++) {
                players[i].coins = table.get(i).get("coins").integer(0);
                players[i].influence = table.get(i).get("influence").integer(0);
                players[i].revealed = table.get(i).get("revealed").strings();
                players[i].allegiance = table.get(i).get("allegiance").string("");
            }
        }

        /** Remembers your hand, and the card of another that you look at, for the events to come. */
        private void remember() {
            if (request.get("you").isNull()) {
                return;
            }
            hand = cards;
            drew = drawn;
            sunk = without(sunk, drew);
            Player target = at(request.get("pending").get("target"));
            if (target != null && !seen.isEmpty()) {
                target.know(seen); // after the events, which may tell of an earlier one
            }
        }

        private Player at(Json sent) {
            int which = sent.integer(NOBODY);
            return which >= 0 && which < players.length ? players[which] : null;
        }

        /** Takes in one event. */
        private void follow(Json event) {
            Player player = at(event.get("seat"));
            Player target = at(event.get("target"));
            Player claimant = at(event.get("claimant"));
            String role = event.get("role").string("");
            if (player == null) {
                return;
            }
            switch (event.get("event").string("")) {
                case "action":
                    if (!event.get("claim").isNull()) {
                        player.claimed(event.get("claim").string(""));
                    }
                    break;
                case "block":
                    player.claimed(role);
                    player.blocks.add(role);
                    player.history.blocks++;
                    break;
                case "challenge":
                    doubter = player;
                    doubted = role;
                    player.history.challenges++;
                    if (claimant != null) {
                        claimant.history.challenged++;
                    }
                    break;
                case "shown":
                    player.proved(role);
                    if (event.get("replaced").bool(true)) {
                        player.exchange(role);
                        swap(player, Collections.singletonList(role), event, false);
                    } else {
                        player.know(role);
                    }
                    break;
                case "shown_hand":
                    player.proved(doubted);
                    player.renew();
                    swap(player, event.get("roles").strings(), event, false);
                    break;
                case "unproven":
                    player.caught.add(role);
                    player.claims.forget(role);
                    player.history.caught++;
                    if (doubter != null) {
                        doubter.history.wonChallenges++;
                    }
                    boolean automatic = rules.get("prove").string("").equals("automatic");
                    if (!role.startsWith("not_")) {
                        if (automatic && !player.lacks.contains(role)) {
                            player.lacks.add(role);
                        }
                    } else if (automatic || !rules.get("embezzle_concede").bool(true)) {
                        player.know(role.substring(4));
                    }
                    break;
                case "lost":
                    player.forget(role);
                    if (player.seat == seat) {
                        hand = without(hand, Collections.singletonList(role));
                    }
                    break;
                case "drafted":
                    if (!event.get("cards").isNull()) {
                        hand = event.get("cards").strings();
                    }
                    break;
                case "exchanged":
                    player.renew();
                    if (event.get("cards").isNull() || drew.isEmpty()) {
                        thin(event.get("count").integer(0));
                    } else {
                        List<String> kept = event.get("cards").strings();
                        sunk = both(sunk, without(both(hand, drew), kept));
                        hand = kept;
                        drew = Collections.emptyList();
                    }
                    break;
                case "forfeit":
                    player.renew();
                    break;
                case "examined":
                    boolean replaced = event.get("replaced").bool(false);
                    if (target != null && replaced && !role.isEmpty()) {
                        target.exchange(role); // you know which card went
                        boolean drawFirst = rules.get("examine_replace").string("").equals("draw_first");
                        swap(target, Collections.singletonList(role), event, drawFirst);
                    } else if (target != null && replaced) {
                        target.renew();
                        thin(1);
                    } else if (target != null && !role.isEmpty()) {
                        target.know(role);
                    }
                    break;
                default: // changes nothing here
            }
        }

        /** Cards go to the deck, and as many come from it. */
        private void swap(Player player, List<String> back, Json event, boolean drawFirst) {
            if (!drawFirst) {
                sunk = both(sunk, back);
            }
            if (player.seat == seat && !event.get("cards").isNull()) {
                List<String> now = event.get("cards").strings();
                sunk = without(sunk, without(now, without(hand, back)));
                hand = now;
            } else {
                thin(back.size());
            }
            if (drawFirst) {
                sunk = both(sunk, back);
            }
        }

        /** Somebody drew cards that you don't see: of each role as many fewer are certain. */
        private void thin(int count) {
            List<String> left = new ArrayList<>();
            for (int i = 0; i < sunk.size(); i++) {
                if (Collections.frequency(sunk.subList(0, i), sunk.get(i)) >= count) {
                    left.add(sunk.get(i));
                }
            }
            sunk = left;
        }

        /** Makes the table that the last events of a game leave. */
        private void end(Json line) {
            for (Json event : line.get("events").list()) {
                Player player = at(event.get("seat"));
                Player target = at(event.get("target"));
                String word = event.get("event").string("");
                if (word.equals("allegiances")) {
                    List<String> sides = event.get("sides").strings();
                    for (int i = 0; i < Math.min(sides.size(), players.length); i++) {
                        players[i].allegiance = sides.get(i);
                    }
                } else if (word.equals("converted") && target != null) {
                    target.allegiance = event.get("allegiance").string("");
                } else if (player != null) {
                    player.end(word, event);
                }
            }
            drawn = Collections.emptyList();
            seen = "";
            List<String> left = new ArrayList<>(seat >= 0 && seat < players.length && me().alive() ? hand : drawn);
            Collections.sort(left);
            cards = Collections.unmodifiableList(left);
        }

        private static List<String> both(List<String> cards, List<String> more) {
            List<String> all = new ArrayList<>(cards);
            all.addAll(more);
            return all;
        }

        /** The cards that are left where some are taken, as far as they are there. */
        private static List<String> without(List<String> cards, List<String> gone) {
            List<String> left = new ArrayList<>(cards);
            for (String role : gone) {
                left.remove(role);
            }
            return left;
        }
    }

    /** A legal move, whatever its shape on the wire. */
    public static final class Move {
        /** The action ("steal"), else the key: "challenge", "pass", "block", "show", "keep" ... */
        public final String word;
        /** The seat an action is aimed at, or NOBODY. */
        public final int target;
        /** What the key stands for: the role of {"block":"duke"}, "true" of {"pass":true}; else "". */
        public final String value;
        /** Of {"keep":[...]}; else none. */
        public final List<String> cards;
        /** As it was sent. */
        public final Json raw;

        private Move(Json raw) {
            this.raw = raw;
            target = raw.get("target").integer(NOBODY);
            String action = raw.get("action").string("");
            if (action.isEmpty() && !raw.keys().isEmpty()) {
                word = raw.keys().get(0);
                Json first = raw.get(word);
                value = first.is(Boolean.class) ? first.toString() : first.string("");
                cards = first.strings();
            } else {
                word = action;
                value = "";
                cards = Collections.emptyList();
            }
        }

        @Override
        public String toString() {
            return raw.toString();
        }
    }

    /** The action that is being decided. */
    public static final class Pending {
        public final int actor;
        public final String action;
        public final int target;

        private Pending(Json sent) {
            actor = sent.get("actor").integer(NOBODY);
            action = sent.get("action").string("");
            target = sent.get("target").integer(NOBODY);
        }
    }

    /** A claim that is being decided. */
    public static final class Claim {
        public final int seat;
        public final String role;
        /** It is the claim of a block, not of the action. */
        public final boolean block;

        private Claim(Json sent) {
            seat = sent.get("seat").integer(NOBODY);
            role = sent.get("role").string("");
            block = sent.get("block").bool(false);
        }
    }

    /** A player at the table. What it has is that of the latest request; what it did is of this game. */
    public static final class Player {
        public final int seat;
        /** Stays the same in all games of the match; seats don't. */
        public final String handle;
        public int coins;
        /** Cards face down; 0: it is out of the game. */
        public int influence;
        /** Its lost cards, face up. */
        public List<String> revealed = Collections.emptyList();
        /** "loyalist" or "reformist"; "" where there are no sides. */
        public String allegiance = "";
        /** Roles that it claimed with cards that it may still hold. */
        public final Counts claims = new Counts();
        /** Roles that it couldn't, or wouldn't, prove. */
        public final Counts caught = new Counts();
        /** Roles that it proved. */
        public final Counts shown = new Counts();
        /** Roles that it blocked with. */
        public final Counts blocks = new Counts();
        /** Roles that it certainly holds, since you saw a card, and it kept it. */
        public final List<String> known = new ArrayList<>();
        /** Of the whole match. */
        public final History history;

        private final List<String> lacks = new ArrayList<>(); // roles that it certainly doesn't hold

        private Player(int seat, String handle, History history) {
            this.seat = seat;
            this.handle = handle;
            this.history = history;
        }

        public boolean alive() {
            return influence > 0;
        }

        private void claimed(String role) {
            claims.add(role);
            history.claimed++;
        }

        private void proved(String role) {
            shown.add(role);
            history.proven++;
        }

        private void know(String role) {
            if (!known.contains(role)) {
                known.add(role);
            }
        }

        /** One card of this role has gone; its other card is the same as before. */
        private void forget(String role) {
            claims.forget(role);
            known.remove(role);
        }

        /** One card of this role has gone, and another came. */
        private void exchange(String role) {
            forget(role);
            lacks.clear();
        }

        /** All its cards may be others now. */
        private void renew() {
            claims.counts.clear();
            known.clear();
            lacks.clear();
        }

        /** Cards of it that aren't known. */
        private int hidden() {
            return influence - known.size();
        }

        /** Takes in what one of a game's last events leaves. */
        private void end(String word, Json event) {
            switch (word) {
                case "coins":
                    coins += event.get("delta").integer(0);
                    break;
                case "lost":
                    influence--;
                    revealed = Game.both(revealed, Collections.singletonList(event.get("role").string("")));
                    break;
                case "forfeit":
                    influence = 0;
                    revealed = Game.both(revealed, event.get("roles").strings());
                    break;
                case "drafted":
                    influence = 2;
                    break;
                default: // leaves the table as it is
            }
        }
    }

    /** What one player did in all games of the match so far. Players are told apart by their handles. */
    public static final class History {
        /** Claims of a role, by actions and by blocks. */
        public int claimed;
        /** Its claims that somebody challenged. */
        public int challenged;
        /** Those of them that it proved. */
        public int proven;
        /** Those that it couldn't, or wouldn't, prove. */
        public int caught;
        /** Challenges that it made. */
        public int challenges;
        /** Those of them that caught somebody. */
        public int wonChallenges;
        public int blocks;

        /** How many of its challenged claims were bluffs, 0 to 1; NaN before the first. */
        public double bluffRate() {
            return challenged == 0 ? Double.NaN : (double) caught / challenged;
        }
    }

    /** How often, for each role. */
    public static final class Counts {
        private final Map<String, Integer> counts = new LinkedHashMap<>();

        /** How often; 0 for what was never counted. */
        public int get(String role) {
            return counts.getOrDefault(role, 0);
        }

        /** What was counted. */
        public Iterable<String> roles() {
            return Collections.unmodifiableSet(counts.keySet());
        }

        private void add(String role) {
            counts.put(role, get(role) + 1);
        }

        private void forget(String role) {
            counts.remove(role);
        }

        @Override
        public String toString() {
            return counts.toString();
        }
    }

    // ---- JSON: for the fields that the classes above don't have, and those of rule variants to come -----------------

    /**
     * A JSON value, which never changes. What isn't there is NULL, and asking a value for a type that it doesn't have
     * gives the fallback: game.rules.get("deck").get("duke").integer(3).
     */
    public static final class Json {
        public static final Json NULL = new Json(null);

        private final Object value; // null, Boolean, Long, Double, String, List<Json>, Map<String, Json>

        private Json(Object value) {
            this.value = value;
        }

        /** Throws IllegalArgumentException if the text isn't one JSON value. */
        public static Json parse(String text) {
            return new Parser(text).document();
        }

        @SuppressWarnings("unchecked")
        private Map<String, Json> members() {
            return value instanceof Map ? (Map<String, Json>) value : Collections.emptyMap();
        }

        /** What an object has under a key; NULL if nothing. */
        public Json get(String key) {
            return members().getOrDefault(key, NULL);
        }

        /** The keys of an object, in their order; else none. */
        public List<String> keys() {
            return new ArrayList<>(members().keySet());
        }

        /** The elements of an array, or the values of an object; else none. */
        @SuppressWarnings("unchecked") // a List that the parser made
        public List<Json> list() {
            return value instanceof List ? (List<Json>) value : new ArrayList<>(members().values());
        }

        /** The strings in an array. */
        public List<String> strings() {
            List<String> strings = new ArrayList<>();
            for (Json element : list()) {
                if (element.value instanceof String) {
                    strings.add((String) element.value);
                }
            }
            return Collections.unmodifiableList(strings);
        }

        public boolean isNull() {
            return value == null;
        }

        /** Whether it is a Boolean, Long, Double, String, List or Map. */
        public boolean is(Class<?> type) {
            return type.isInstance(value);
        }

        public String string(String otherwise) {
            return value instanceof String ? (String) value : otherwise;
        }

        public boolean bool(boolean otherwise) {
            return value instanceof Boolean ? (Boolean) value : otherwise;
        }

        public double number(double otherwise) {
            return value instanceof Number ? ((Number) value).doubleValue() : otherwise;
        }

        /** A number that fits an int, without its fraction. */
        public int integer(int otherwise) {
            double number = number(otherwise);
            return number >= Integer.MIN_VALUE && number <= Integer.MAX_VALUE ? (int) number : otherwise;
        }

        /** As JSON. */
        @Override
        public String toString() {
            if (value instanceof String) {
                return quoted((String) value);
            }
            StringBuilder out = new StringBuilder();
            if (value instanceof List) {
                for (Json element : list()) {
                    out.append(out.length() == 0 ? "" : ",").append(element);
                }
                return "[" + out + "]";
            }
            if (value instanceof Map) {
                for (Map.Entry<String, Json> member : members().entrySet()) {
                    out.append(out.length() == 0 ? "" : ",").append(quoted(member.getKey()));
                    out.append(":").append(member.getValue());
                }
                return "{" + out + "}";
            }
            return String.valueOf(value);
        }

        private static String quoted(String text) {
            StringBuilder out = new StringBuilder("\"");
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (c == '"' || c == '\\') {
                    out.append('\\').append(c);
                } else if (c < ' ' || Character.isSurrogate(c)) {
                    out.append(String.format("\\u%04x", (int) c));
                } else {
                    out.append(c);
                }
            }
            return out.append('"').toString();
        }
    }

    private static final class Parser {
        private static final int MAX_DEPTH = 200; // of brackets; the protocol promises at most 32

        private final String text;
        private int at = 0;
        private int depth = 0;

        Parser(String text) {
            this.text = text;
        }

        Json document() {
            Json value = value();
            blanks();
            if (at != text.length()) {
                throw wrong();
            }
            return value;
        }

        private IllegalArgumentException wrong() {
            return new IllegalArgumentException("no JSON at character " + at);
        }

        private char peek() {
            return at < text.length() ? text.charAt(at) : '\0';
        }

        private boolean take(char wanted) {
            boolean there = at < text.length() && text.charAt(at) == wanted;
            at += there ? 1 : 0;
            return there;
        }

        private void demand(String wanted) {
            if (!text.startsWith(wanted, at)) {
                throw wrong();
            }
            at += wanted.length();
        }

        private void blanks() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
        }

        private Json value() {
            blanks();
            switch (peek()) {
                case '{': return new Json(object());
                case '[': return new Json(array());
                case '"': return new Json(string());
                case 't': demand("true"); return new Json(true);
                case 'f': demand("false"); return new Json(false);
                case 'n': demand("null"); return Json.NULL;
                default: return new Json(number());
            }
        }

        private void enter() {
            at++;
            if (++depth > MAX_DEPTH) {
                throw wrong();
            }
            blanks();
        }

        private Map<String, Json> object() {
            Map<String, Json> members = new LinkedHashMap<>();
            enter();
            if (!take('}')) {
                do {
                    blanks();
                    String key = string();
                    blanks();
                    demand(":");
                    members.put(key, value());
                    blanks();
                } while (take(','));
                demand("}");
            }
            depth--;
            return members;
        }

        private List<Json> array() {
            List<Json> elements = new ArrayList<>();
            enter();
            if (!take(']')) {
                do {
                    elements.add(value());
                    blanks();
                } while (take(','));
                demand("]");
            }
            depth--;
            return Collections.unmodifiableList(elements);
        }

        private void digits() {
            int start = at;
            while (peek() >= '0' && peek() <= '9') {
                at++;
            }
            if (at == start) {
                throw wrong();
            }
        }

        private Number number() {
            int start = at;
            boolean whole = true;
            take('-');
            if (!take('0')) {
                digits();
            }
            if (take('.')) {
                whole = false;
                digits();
            }
            if (take('e') || take('E')) {
                whole = false;
                if (!take('+')) {
                    take('-');
                }
                digits();
            }
            String number = text.substring(start, at);
            if (whole && number.length() < 19) { // so short that it fits a long
                return Long.valueOf(number);
            }
            return Double.valueOf(number);
        }

        private String string() {
            StringBuilder out = new StringBuilder();
            demand("\"");
            while (!take('"')) {
                char c = peek();
                if (c < ' ') { // the end of the text, too
                    throw wrong();
                }
                at++;
                out.append(c == '\\' ? escaped() : c);
            }
            return out.toString();
        }

        private char escaped() {
            char c = peek();
            at++;
            if (c == 'u') {
                return unicode();
            }
            int which = "\"\\/bfnrt".indexOf(c);
            if (which < 0) {
                throw wrong();
            }
            return "\"\\/\b\f\n\r\t".charAt(which);
        }

        private char unicode() {
            int code = 0;
            for (int i = 0; i < 4; i++) {
                int digit = Character.digit(peek(), 16);
                if (digit < 0) {
                    throw wrong();
                }
                code = code * 16 + digit;
                at++;
            }
            return (char) code;
        }
    }
}
