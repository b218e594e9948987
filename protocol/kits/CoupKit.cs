using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Reflection;
using System.Text;

// A kit for bots of the Coup arena: it reads and writes the lines, follows the game, and asks you for moves. One file of
// C# 7, without packages of others, for mono 6.8 and newer, kit version 1. It uses nothing that .NET 8 lacks, but wasn't
// tried there. A whole bot:
//
//     using Coup;
//
//     public class MyBot : Bot {
//         public override Move Turn(Game game) {
//             return game.Cards.Contains("duke") ? game.Find("tax") : null;
//         }
//
//         public static void Main() {
//             CoupKit.Run(new MyBot());
//         }
//     }
//
// Each kind of request has a method: Turn, Challenge, Block, Prove, Lose, Exchange, and those of rule variants. It gets
// the game and returns a move of game.Legal. What you don't write plays the first of game.Legal, which is always a quiet
// move (income, pass, show the card), and so does null, which is what Find() gives where there is no such move. The
// arena's SPEC.md says what is sent; here it is in objects.
//
// CoupKit.Log(...) writes to standard error, and once Run() has begun so does Console: it can't break the conversation.
// An exception that leaves a method is told on standard error with the request at which it came, and ends the program;
// with Careful = true the bot plays the first legal move instead and goes on.
namespace Coup {
    public static class CoupKit {
        /// <summary>In place of a seat: none, or not known.</summary>
        public const int Nobody = -1;

        private static readonly Encoding Utf8 = new UTF8Encoding(false); // no byte order mark

        /// <summary>Writes a line to standard error.</summary>
        public static void Log(object line) {
            Console.Error.WriteLine(line);
        }

        /// <summary>Plays until the match is over, or the input ends; then it ends the program.</summary>
        public static void Run(Bot bot) {
            Stream wire = Console.OpenStandardOutput();
            var log = new StreamWriter(Console.OpenStandardError(), Utf8) { AutoFlush = true, NewLine = "\n" };
            Console.SetError(log);
            Console.SetOut(log); // for what the bot or a library prints
            ReportUncalled(bot);
            var input = new StreamReader(Console.OpenStandardInput(), Utf8, false, 1 << 16);
            int code = 0;
            try {
                string line;
                while (!bot.over && (line = Line(input)) != null) {
                    string answer = bot.Reply(line);
                    if (answer != null) {
                        byte[] bytes = Utf8.GetBytes(answer + "\n");
                        wire.Write(bytes, 0, bytes.Length); // one write
                        wire.Flush();
                    }
                }
            } catch (IOException) {
                // the arena has ended
            } catch (Exception) {
                code = 1; // Reply has said why
            }
            Environment.Exit(code); // threads of the bot would keep it running
        }

        /// <summary>Reads up to the next '\n', which alone ends a line; null at the end of the input.</summary>
        private static string Line(TextReader input) {
            var line = new StringBuilder();
            int next;
            while ((next = input.Read()) >= 0 && next != '\n') {
                line.Append((char) next);
            }
            return next < 0 && line.Length == 0 ? null : line.ToString();
        }

        /// <summary>Names the public methods that look like a request's, which the kit doesn't call.</summary>
        private static void ReportUncalled(Bot bot) {
            const BindingFlags Own = BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly;
            for (Type type = bot.GetType(); type != typeof(Bot); type = type.BaseType) {
                foreach (MethodInfo method in type.GetMethods(Own)) {
                    ParameterInfo[] given = method.GetParameters();
                    bool chooses = method.ReturnType == typeof(Move) || method.ReturnType == typeof(void);
                    bool called = method.GetBaseDefinition().DeclaringType == typeof(Bot);
                    if (chooses && !called && given.Length > 0 && given[0].ParameterType == typeof(Game)) {
                        Log("coup_kit: the kit never calls " + type.Name + "." + method.Name
                            + "; write override before each method that it is to call, and a helper of yours as private");
                    }
                }
            }
        }
    }

    // ---- The bot ----------------------------------------------------------------------------------------------------

    /// <summary>Write a class of your own that inherits from this one, with the methods that you need.</summary>
    public abstract class Bot {
        private readonly Game game = new Game();
        internal bool over;

        /// <summary>For logs; without one the name is that of the class.</summary>
        public string Name { get; set; }
        public string Version { get; set; }
        /// <summary>Where a method throws: say so, play the first legal move, go on.</summary>
        public bool Careful { get; set; }

        protected Bot() {
            Name = GetType().Name;
            Version = "";
        }

        /// <summary>Chooses the action of your turn.</summary>
        public virtual Move Turn(Game game) { return null; }

        /// <summary>Challenges game.Claim, or passes.</summary>
        public virtual Move Challenge(Game game) { return null; }

        /// <summary>Blocks game.Pending by claiming a role, or passes.</summary>
        public virtual Move Block(Game game) { return null; }

        /// <summary>Shows the card that you claimed, or declines.</summary>
        public virtual Move Prove(Game game) { return null; }

        /// <summary>Chooses the card to lose.</summary>
        public virtual Move Lose(Game game) { return null; }

        /// <summary>Chooses what to keep of game.Cards and game.Drawn.</summary>
        public virtual Move Exchange(Game game) { return null; }

        /// <summary>Keeps the card that you have shown, or has it replaced. Only in rule variants, as the next four.
        /// </summary>
        public virtual Move KeepShown(Game game) { return null; }

        /// <summary>Chooses the card that the inquisitor sees.</summary>
        public virtual Move ExamineShow(Game game) { return null; }

        /// <summary>Hands back the card game.Seen, or has it replaced.</summary>
        public virtual Move ExamineDecide(Game game) { return null; }

        /// <summary>Chooses the card to begin with.</summary>
        public virtual Move Draft(Game game) { return null; }

        /// <summary>Chooses your side.</summary>
        public virtual Move Allegiance(Game game) { return null; }

        /// <summary>Answers a kind of request that this kit doesn't know.</summary>
        public virtual Move Other(Game game) { return null; }

        /// <summary>The rules and limits are known, the players aren't yet.</summary>
        public virtual void MatchStart(Game game) {}

        public virtual void GameStart(Game game) {}

        /// <summary>Sees one event, after the game took it in. Each comes once, in order.</summary>
        public virtual void Event(Game game, Json news) {}

        /// <summary>game.Winner is known.</summary>
        public virtual void GameOver(Game game) {}

        /// <summary>Hears of a fault that the referee counted: error["message"] says what to repair.</summary>
        public virtual void Fault(Game game, Json error) {}

        public virtual void MatchOver(Game game) {}

        /// <summary>Takes one line, and returns the answer, or null where it wants none. No input, no output: for tests.
        /// </summary>
        public string Reply(string text) {
            Json line;
            try {
                line = Json.Parse(text);
            } catch (FormatException problem) {
                CoupKit.Log("coup_kit: a line of the arena is ignored: " + problem.Message);
                return null;
            }
            string type = line["type"].Text();
            if (type == "game_start") {
                game.Begin(line);
            }
            game.Take(line);
            foreach (Json news in line["events"].List) {
                game.Follow(news);
                Notify("event", news);
            }
            game.Remember();
            string answer = null;
            switch (type) {
                case "hello":
                    game.Greet(line);
                    Notify("match_start", line);
                    answer = "{\"type\":\"hello\"" + Label("name", Name) + Label("version", Version) + "}";
                    break;
                case "request":
                    answer = "{\"id\":" + line["id"] + ",\"choice\":" + Choose() + game.Said() + "}";
                    break;
                case "game_over":
                    game.End(line);
                    Notify("game_over", line);
                    break;
                case "match_over":
                    over = true;
                    Notify("match_over", line);
                    break;
                default:
                    Notify(type, line);
                    break;
            }
            game.Kind = "";
            game.Legal = new Move[0];
            return answer;
        }

        /// <summary>At most 64 characters, as the protocol allows; ASCII alone, so that no half of a pair is left of a cut.
        /// </summary>
        private static string Label(string key, string text) {
            if (string.IsNullOrEmpty(text)) {
                return "";
            }
            var cut = new StringBuilder();
            for (int i = 0; i < Math.Min(64, text.Length); i++) {
                cut.Append(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
            }
            return ",\"" + key + "\":" + Json.Quoted(cut.ToString());
        }

        private int Choose() {
            try {
                Move move = Ask();
                int index = move == null ? 0 : game.Legal.IndexOf(move);
                if (index < 0) {
                    throw new ArgumentException("it returned " + move + ", which is not in game.Legal");
                }
                return index;
            } catch (Exception problem) {
                Failed(game.Kind, problem);
                return 0;
            }
        }

        private Move Ask() {
            switch (game.Kind) {
                case "turn": return Turn(game);
                case "challenge": return Challenge(game);
                case "block": return Block(game);
                case "prove": return Prove(game);
                case "lose": return Lose(game);
                case "exchange": return Exchange(game);
                case "keep_shown": return KeepShown(game);
                case "examine_show": return ExamineShow(game);
                case "examine_decide": return ExamineDecide(game);
                case "draft": return Draft(game);
                case "allegiance": return Allegiance(game);
                default: return Other(game);
            }
        }

        private void Notify(string what, Json about) {
            try {
                switch (what) {
                    case "match_start": MatchStart(game); break;
                    case "game_start": GameStart(game); break;
                    case "event": Event(game, about); break;
                    case "game_over": GameOver(game); break;
                    case "error": Fault(game, about); break;
                    case "match_over": MatchOver(game); break;
                }
            } catch (Exception problem) {
                Failed(what, problem);
            }
        }

        /// <summary>Says where a method failed; then plays on if the bot is careful, else lets the failure end it.</summary>
        private void Failed(string method, Exception problem) {
            string where = game.Request["type"].Text() + ", game " + game.Number;
            if (game.Kind != "") {
                where = "request " + game.Request["id"] + ": " + game.Kind + ", game " + game.Number + ", turn "
                    + game.Turn + ", legal " + game.Request["legal"];
            }
            CoupKit.Log("coup_kit: " + GetType().Name + " failed in " + method + " at " + where);
            CoupKit.Log(problem);
            if (!Careful || problem is OutOfMemoryException) {
                throw new InvalidOperationException("a method of the bot failed", problem);
            }
        }
    }

    // ---- The game ---------------------------------------------------------------------------------------------------

    /// <summary>
    /// The game as your seat sees it. One object for the whole match; read it, and leave it as it is. In GameOver your
    /// cards, and the coins, cards and sides of all, are those of the end.
    /// </summary>
    public sealed class Game {
        // Of the request; between requests there is nothing to decide, and no legal move.
        /// <summary>What is asked: "turn", "challenge", "block" ...</summary>
        public string Kind { get; internal set; } = "";
        /// <summary>Every move that you may choose; the first is a quiet one.</summary>
        public IList<Move> Legal { get; internal set; } = new Move[0];
        /// <summary>The action that is being decided; at your turn its actor is Nobody.</summary>
        public Pending Pending { get; private set; } = new Pending(Json.Null);
        /// <summary>The claim to challenge or to prove; else its seat is Nobody.</summary>
        public Claim Claim { get; private set; } = new Claim(Json.Null);
        /// <summary>In block: the action's claim was challenged and proven this turn.</summary>
        public bool Proven { get; private set; }
        /// <summary>In prove: the seat that challenges you.</summary>
        public int Challenger { get; private set; } = CoupKit.Nobody;
        /// <summary>In lose: "coup", "assassinate", "challenge"; in game_over: why it ended.</summary>
        public string Reason { get; private set; } = "";
        /// <summary>In examine_decide: the card of another that you look at.</summary>
        public string Seen { get; private set; } = "";
        /// <summary>The line as it came, also where it is game_start, game_over or error.</summary>
        public Json Request { get; private set; } = Json.Null;

        // Of the game.
        /// <summary>Of the game in the match, from 0.</summary>
        public int Number { get; private set; }
        /// <summary>Yours.</summary>
        public int Seat { get; private set; } = CoupKit.Nobody;
        public int Turn { get; private set; }
        public int Actor { get; private set; } = CoupKit.Nobody;
        public int Deck { get; private set; }
        public int Reserve { get; private set; }
        /// <summary>Yours, face down.</summary>
        public IList<string> Cards { get; private set; } = new string[0];
        /// <summary>In exchange: what you drew.</summary>
        public IList<string> Drawn { get; private set; } = new string[0];
        /// <summary>With a draft: what you discarded.</summary>
        public IList<string> Discards { get; private set; } = new string[0];
        /// <summary>By seat.</summary>
        public IList<Player> Players { get; private set; } = new Player[0];
        /// <summary>In GameOver: the seat that won; Nobody: a draw.</summary>
        public int Winner { get; private set; } = CoupKit.Nobody;
        /// <summary>In GameOver: the seats that won or share the draw.</summary>
        public IList<int> Survivors { get; private set; } = new int[0];

        // Of the match.
        /// <summary>hello.ruleset, such as game.Rules["coup_cost"].Integer(7).</summary>
        public Json Rules { get; private set; } = Json.Null;
        public Json Limits { get; private set; } = Json.Null;
        public Json Match { get; private set; } = Json.Null;
        public string BotSeed { get; private set; } = "";
        /// <summary>Of this game; empty before the first, and where the arena is too old to send it.</summary>
        public string GameSeed { get; private set; } = "";
        /// <summary>Made anew from each GameSeed, before the first game from BotSeed, so that a game can be repeated.
        /// </summary>
        public Random Random { get; private set; } = new Random(0);

        private readonly Dictionary<string, History> histories = new Dictionary<string, History>(); // by handle
        private readonly List<string> words = new List<string>(); // to be said beside the next answer
        private Player doubter; // who challenged last in this game,
        private string doubted = ""; // and which role
        private IList<string> hand = new string[0]; // your cards before the latest events
        private IList<string> drew = new string[0]; // what you drew to exchange
        private IList<string> sunk = new string[0]; // cards that certainly lie in the court deck

        internal Game() {}

        /// <summary>The public state as it came.</summary>
        public Json State { get { return Request["state"]; } }

        /// <summary>You, as the others see you.</summary>
        public Player Me { get { return Players[Seat]; } }

        /// <summary>The others who are still in the game, clockwise from you.</summary>
        public List<Player> Opponents {
            get {
                var living = new List<Player>();
                for (int step = 1; step < Players.Count; step++) {
                    Player player = Players[(Seat + step) % Players.Count];
                    if (player.Alive) {
                        living.Add(player);
                    }
                }
                return living;
            }
        }

        /// <summary>All legal moves of an action or key: Moves("steal"), Moves("block").</summary>
        public List<Move> Moves(string word) {
            var moves = new List<Move>();
            foreach (Move move in Legal) {
                if (move.Word == word) {
                    moves.Add(move);
                }
            }
            return moves;
        }

        /// <summary>The first legal move of an action or key, or null: Find("tax"), Find("challenge").</summary>
        public Move Find(string word) {
            return Moves(word).Find(move => true);
        }

        /// <summary>The same at one target: Find("steal", 2).</summary>
        public Move Find(string word, int target) {
            return Moves(word).Find(move => move.Target == target);
        }

        /// <summary>The same with one value: Find("block", "duke"), Find("keep_shown", "true").</summary>
        public Move Find(string word, string value) {
            return Moves(word).Find(move => move.Value == value);
        }

        /// <summary>
        /// Says something beside your next answer: Say("hold", "duke"), Say("lack", "duke"), or, where the rules allow it,
        /// Say("text", "Peace?"). All hear it, and nobody is bound. At most 4, one of them a text. Without talk it isn't
        /// sent. Others' words are events, "say".
        /// </summary>
        public void Say(string says, string what) {
            Words(says, ",\"" + (says == "text" ? "text" : "role") + "\":" + Json.Quoted(what));
        }

        /// <summary>The same of a seat: Say("attack", 2), Say("spare", 2).</summary>
        public void Say(string says, int target) {
            Words(says, ",\"target\":" + target);
        }

        /// <summary>The same of a seat and a role: Say("doubt", "duke", 2).</summary>
        public void Say(string says, string role, int target) {
            Words(says, ",\"role\":" + Json.Quoted(role) + ",\"target\":" + target);
        }

        private void Words(string says, string parts) {
            if (Rules["talk"].Text("off") != "off") {
                words.Add("{\"says\":" + Json.Quoted(says) + parts + "}");
            }
        }

        internal string Said() {
            string say = words.Count == 0 ? "" : ",\"say\":[" + string.Join(",", words) + "]";
            words.Clear();
            return say;
        }

        /// <summary>
        /// How likely a seat holds at least one card of a role, from the cards that you see: 1 - C(U-d, k) / C(U, k),
        /// where of U unseen cards d are of the role and k are the seat's. It takes no account of what players claim. It
        /// is 0 or 1 where that is certain: of yourself, of a card that a player showed and kept, or you looked at, of a
        /// role that it couldn't show where proving is automatic, and of cards that you know to lie in the deck. For the
        /// claim "not_duke" it is how likely the seat has no duke. After a draft, where cards are chosen and half of
        /// them are away, it is a guess where it is neither 0 nor 1.
        /// </summary>
        public double Odds(int whose, string role) {
            if (Negative(role)) {
                return 1 - Odds(whose, role.Substring(4));
            }
            if (whose == Seat) {
                return Cards.Contains(role) ? 1 : 0;
            }
            if (whose < 0 || whose >= Players.Count) {
                return 0;
            }
            Player player = Players[whose];
            if (player.Known.Contains(role)) {
                return 1;
            }
            var sight = new List<string>(Cards);
            sight.AddRange(Drawn);
            sight.AddRange(Discards);
            sight.AddRange(sunk);
            int elsewhere = 0; // hidden cards of others who lack the role
            foreach (Player each in Players) {
                sight.AddRange(each.Revealed);
                if (each.Seat != Seat) {
                    sight.AddRange(each.Known);
                    elsewhere += each.Lacks.Contains(role) ? each.Hidden : 0;
                }
            }
            int unseen = -sight.Count;
            foreach (Json number in Rules["deck"].List) {
                unseen += number.Integer();
            }
            int copies = Hidden(role, sight);
            int held = player.Hidden;
            if (held <= 0 || copies <= 0 || unseen < held || player.Lacks.Contains(role)) {
                return 0;
            }
            if (copies > unseen - elsewhere - held) {
                return 1; // they have no place but this hand
            }
            if (player.Lacks.Count == 0) {
                unseen -= elsewhere;
            }
            foreach (string other in player.Lacks) {
                unseen -= Hidden(other, sight);
            }
            double none = 1; // C(unseen - copies, held) / C(unseen, held), a card at a time
            for (int card = 0; card < held && none > 0; card++) {
                none *= Math.Max(0, (double) (unseen - copies - card) / (unseen - card));
            }
            return 1 - none;
        }

        private int Hidden(string role, IList<string> sight) {
            return Rules["deck"][role].Integer() - Count(sight, role, sight.Count);
        }

        private static bool Negative(string role) {
            return role.StartsWith("not_", StringComparison.Ordinal);
        }

        internal void Greet(Json hello) {
            Rules = hello["ruleset"];
            Limits = hello["limits"];
            Match = hello["match"];
            BotSeed = hello["bot_seed"].Text();
            Random = Seeded(BotSeed);
        }

        private static Random Seeded(string seed) {
            uint mixed = 2166136261; // FNV-1a: a string's own hash differs from process to process
            foreach (char c in seed) {
                mixed = unchecked((mixed ^ c) * 16777619);
            }
            return new Random(unchecked((int) mixed));
        }

        internal void Begin(Json start) {
            GameSeed = start["game_seed"].Text();
            if (GameSeed != "") {
                Random = Seeded(GameSeed);
            }
            IList<string> handles = start["players"].Strings;
            var players = new List<Player>();
            foreach (string handle in handles) {
                if (!histories.ContainsKey(handle)) {
                    histories[handle] = new History();
                }
                players.Add(new Player(players.Count, handle, histories[handle]));
            }
            Players = players.AsReadOnly();
            Winner = CoupKit.Nobody;
            Survivors = new int[0];
            doubter = null;
            sunk = new string[0];
        }

        /// <summary>Takes in what a line says of the request, of you and of the table.</summary>
        internal void Take(Json line) {
            Request = line;
            Kind = line["kind"].Text();
            Pending = new Pending(line["pending"]);
            Claim = new Claim(line["claim"]);
            Proven = line["proven"].Bool();
            Challenger = line["challenger"].Integer(CoupKit.Nobody);
            Reason = line["reason"].Text();
            var moves = new List<Move>();
            foreach (Json raw in line["legal"].List) {
                moves.Add(new Move(raw));
            }
            Legal = moves.AsReadOnly();
            Number = line["game"].Integer(Number);
            Json you = line["you"];
            if (!you.IsNull) {
                Seat = you["seat"].Integer(Seat);
                Cards = you["cards"].Strings;
                Drawn = you["drawn"].Strings;
                Discards = you["discards"].Strings;
                Seen = you["seen"].Text();
            }
            Json state = line["state"];
            Turn = state["turn"].Integer(Turn);
            Actor = state["actor"].Integer(Actor);
            Deck = state["deck"].Integer(Deck);
            Reserve = state["reserve"].Integer(Reserve);
            IList<Json> table = state["players"].List;
            for (int i = 0; i < Math.Min(table.Count, Players.Count); i++) {
                Players[i].Coins = table[i]["coins"].Integer();
                Players[i].Influence = table[i]["influence"].Integer();
                Players[i].Revealed = table[i]["revealed"].Strings;
                Players[i].Allegiance = table[i]["allegiance"].Text();
            }
        }

        /// <summary>Remembers your hand, and the card of another that you look at, for the events to come.</summary>
        internal void Remember() {
            if (Request["you"].IsNull) {
                return;
            }
            hand = Cards;
            drew = Drawn;
            sunk = Without(sunk, drew);
            Player target = At(Request["pending"]["target"]);
            if (target != null && Seen != "") {
                target.Know(Seen); // after the events, which may tell of an earlier one
            }
        }

        private Player At(Json sent) {
            int which = sent.Integer(CoupKit.Nobody);
            return which >= 0 && which < Players.Count ? Players[which] : null;
        }

        /// <summary>Takes in one event.</summary>
        internal void Follow(Json news) {
            Player player = At(news["seat"]);
            Player target = At(news["target"]);
            Player claimant = At(news["claimant"]);
            string role = news["role"].Text();
            if (player == null) {
                return;
            }
            switch (news["event"].Text()) {
                case "action":
                    if (!news["claim"].IsNull) {
                        player.Claim(news["claim"].Text());
                    }
                    break;
                case "block":
                    player.Claim(role);
                    player.Blocks.Add(role);
                    player.History.Blocks++;
                    break;
                case "challenge":
                    doubter = player;
                    doubted = role;
                    player.History.Challenges++;
                    if (claimant != null) {
                        claimant.History.Challenged++;
                    }
                    break;
                case "shown":
                    player.Prove(role);
                    if (news["replaced"].Bool(true)) {
                        player.Exchange(role);
                        Swap(player, new[] { role }, news, false);
                    } else {
                        player.Know(role);
                    }
                    break;
                case "shown_hand":
                    player.Prove(doubted);
                    player.Renew();
                    Swap(player, news["roles"].Strings, news, false);
                    break;
                case "unproven":
                    player.Caught.Add(role);
                    player.Claims.Forget(role);
                    player.History.Caught++;
                    if (doubter != null) {
                        doubter.History.WonChallenges++;
                    }
                    bool automatic = Rules["prove"].Text() == "automatic";
                    if (!Negative(role)) {
                        if (automatic && !player.Lacks.Contains(role)) {
                            player.Lacks.Add(role);
                        }
                    } else if (automatic || !Rules["embezzle_concede"].Bool(true)) {
                        player.Know(role.Substring(4));
                    }
                    break;
                case "lost":
                    player.Forget(role);
                    if (player.Seat == Seat) {
                        hand = Without(hand, new[] { role });
                    }
                    break;
                case "drafted":
                    if (!news["cards"].IsNull) {
                        hand = news["cards"].Strings;
                    }
                    break;
                case "exchanged":
                    player.Renew();
                    if (news["cards"].IsNull || drew.Count == 0) {
                        Thin(news["count"].Integer());
                    } else {
                        IList<string> kept = news["cards"].Strings;
                        sunk = Both(sunk, Without(Both(hand, drew), kept));
                        hand = kept;
                        drew = new string[0];
                    }
                    break;
                case "forfeit":
                    player.Renew();
                    break;
                case "examined":
                    bool replaced = news["replaced"].Bool();
                    if (target != null && replaced && role != "") {
                        target.Exchange(role); // you know which card went
                        Swap(target, new[] { role }, news, Rules["examine_replace"].Text() == "draw_first");
                    } else if (target != null && replaced) {
                        target.Renew();
                        Thin(1);
                    } else if (target != null && role != "") {
                        target.Know(role);
                    }
                    break;
            }
        }

        /// <summary>Cards go to the deck, and as many come from it.</summary>
        private void Swap(Player player, IList<string> back, Json news, bool drawFirst) {
            if (!drawFirst) {
                sunk = Both(sunk, back);
            }
            if (player.Seat == Seat && !news["cards"].IsNull) {
                IList<string> now = news["cards"].Strings;
                sunk = Without(sunk, Without(now, Without(hand, back)));
                hand = now;
            } else {
                Thin(back.Count);
            }
            if (drawFirst) {
                sunk = Both(sunk, back);
            }
        }

        /// <summary>Somebody drew cards that you don't see: of each role as many fewer are certain.</summary>
        private void Thin(int count) {
            var left = new List<string>();
            for (int i = 0; i < sunk.Count; i++) {
                if (Count(sunk, sunk[i], i) >= count) {
                    left.Add(sunk[i]);
                }
            }
            sunk = left;
        }

        /// <summary>Makes the table that the last events of a game leave.</summary>
        internal void End(Json line) {
            foreach (Json news in line["events"].List) {
                Player player = At(news["seat"]);
                Player target = At(news["target"]);
                string word = news["event"].Text();
                if (word == "allegiances") {
                    IList<string> sides = news["sides"].Strings;
                    for (int i = 0; i < Math.Min(sides.Count, Players.Count); i++) {
                        Players[i].Allegiance = sides[i];
                    }
                } else if (word == "converted" && target != null) {
                    target.Allegiance = news["allegiance"].Text();
                } else if (player != null) {
                    player.End(word, news);
                }
            }
            Drawn = new string[0];
            Seen = "";
            var left = new List<string>(Seat >= 0 && Seat < Players.Count && Me.Alive ? hand : Drawn);
            left.Sort(StringComparer.Ordinal);
            Cards = left.AsReadOnly();
            Winner = line["winner"].Integer(CoupKit.Nobody);
            var survivors = new List<int>();
            foreach (Json survivor in line["survivors"].List) {
                survivors.Add(survivor.Integer(CoupKit.Nobody));
            }
            Survivors = survivors.AsReadOnly();
        }

        internal static IList<string> Both(IList<string> cards, IList<string> more) {
            var all = new List<string>(cards);
            all.AddRange(more);
            return all.AsReadOnly();
        }

        /// <summary>The cards that are left where some are taken, as far as they are there.</summary>
        private static IList<string> Without(IList<string> cards, IList<string> gone) {
            var left = new List<string>(cards);
            foreach (string role in gone) {
                left.Remove(role);
            }
            return left.AsReadOnly();
        }

        /// <summary>How many of the first cards are of a role.</summary>
        private static int Count(IList<string> cards, string role, int first) {
            int count = 0;
            for (int i = 0; i < first; i++) {
                count += cards[i] == role ? 1 : 0;
            }
            return count;
        }
    }

    /// <summary>A legal move, whatever its shape on the wire.</summary>
    public sealed class Move {
        /// <summary>The action ("steal"), else the key: "challenge", "pass", "block", "show", "keep" ...</summary>
        public string Word { get; }
        /// <summary>The seat an action is aimed at, or Nobody.</summary>
        public int Target { get; }
        /// <summary>What the key stands for: the role of {"block":"duke"}, "true" of {"pass":true}; else "".</summary>
        public string Value { get; } = "";
        /// <summary>Of {"keep":[...]}; else none.</summary>
        public IList<string> Cards { get; } = new string[0];
        /// <summary>As it was sent.</summary>
        public Json Raw { get; }

        internal Move(Json raw) {
            Raw = raw;
            Target = raw["target"].Integer(CoupKit.Nobody);
            Word = raw["action"].Text();
            if (Word == "" && raw.Keys.Count > 0) {
                Word = raw.Keys[0];
                Json first = raw[Word];
                Value = first.Value is bool ? first.ToString() : first.Text();
                Cards = first.Strings;
            }
        }

        public override string ToString() {
            return Raw.ToString();
        }
    }

    /// <summary>The action that is being decided.</summary>
    public sealed class Pending {
        public int Actor { get; }
        public string Action { get; }
        public int Target { get; }

        internal Pending(Json sent) {
            Actor = sent["actor"].Integer(CoupKit.Nobody);
            Action = sent["action"].Text();
            Target = sent["target"].Integer(CoupKit.Nobody);
        }
    }

    /// <summary>A claim that is being decided.</summary>
    public sealed class Claim {
        public int Seat { get; }
        public string Role { get; }
        /// <summary>It is the claim of a block, not of the action.</summary>
        public bool Block { get; }

        internal Claim(Json sent) {
            Seat = sent["seat"].Integer(CoupKit.Nobody);
            Role = sent["role"].Text();
            Block = sent["block"].Bool();
        }
    }

    /// <summary>A player at the table. What it has is that of the latest request; what it did is of this game.</summary>
    public sealed class Player {
        public int Seat { get; }
        /// <summary>Stays the same in all games of the match; seats don't.</summary>
        public string Handle { get; }
        public int Coins { get; internal set; }
        /// <summary>Cards face down; 0: it is out of the game.</summary>
        public int Influence { get; internal set; }
        /// <summary>Its lost cards, face up.</summary>
        public IList<string> Revealed { get; internal set; } = new string[0];
        /// <summary>"loyalist" or "reformist"; "" where there are no sides.</summary>
        public string Allegiance { get; internal set; } = "";
        /// <summary>Roles that it claimed with cards that it may still hold.</summary>
        public Counts Claims { get; } = new Counts();
        /// <summary>Roles that it couldn't, or wouldn't, prove.</summary>
        public Counts Caught { get; } = new Counts();
        /// <summary>Roles that it proved.</summary>
        public Counts Shown { get; } = new Counts();
        /// <summary>Roles that it blocked with.</summary>
        public Counts Blocks { get; } = new Counts();
        /// <summary>Roles that it certainly holds, since you saw a card, and it kept it.</summary>
        public IList<string> Known { get; }
        /// <summary>Of the whole match.</summary>
        public History History { get; }

        /// <summary>Roles that it certainly doesn't hold.</summary>
        internal List<string> Lacks { get; } = new List<string>();

        private readonly List<string> known = new List<string>();

        internal Player(int seat, string handle, History history) {
            Seat = seat;
            Handle = handle;
            History = history;
            Known = known.AsReadOnly();
        }

        public bool Alive { get { return Influence > 0; } }

        /// <summary>Cards of it that aren't known.</summary>
        internal int Hidden { get { return Influence - known.Count; } }

        internal void Claim(string role) {
            Claims.Add(role);
            History.Claimed++;
        }

        internal void Prove(string role) {
            Shown.Add(role);
            History.Proven++;
        }

        internal void Know(string role) {
            if (!known.Contains(role)) {
                known.Add(role);
            }
        }

        /// <summary>One card of this role has gone; its other card is the same as before.</summary>
        internal void Forget(string role) {
            Claims.Forget(role);
            known.Remove(role);
        }

        /// <summary>One card of this role has gone, and another came.</summary>
        internal void Exchange(string role) {
            Forget(role);
            Lacks.Clear();
        }

        /// <summary>All its cards may be others now.</summary>
        internal void Renew() {
            Claims.Clear();
            known.Clear();
            Lacks.Clear();
        }

        /// <summary>Takes in what one of a game's last events leaves.</summary>
        internal void End(string word, Json news) {
            switch (word) {
                case "coins":
                    Coins += news["delta"].Integer();
                    break;
                case "lost":
                    Influence--;
                    Revealed = Game.Both(Revealed, new[] { news["role"].Text() });
                    break;
                case "forfeit":
                    Influence = 0;
                    Revealed = Game.Both(Revealed, news["roles"].Strings);
                    break;
                case "drafted":
                    Influence = 2;
                    break;
            }
        }
    }

    /// <summary>What one player did in all games of the match so far. Players are told apart by their handles.</summary>
    public sealed class History {
        /// <summary>Claims of a role, by actions and by blocks.</summary>
        public int Claimed { get; internal set; }
        /// <summary>Its claims that somebody challenged.</summary>
        public int Challenged { get; internal set; }
        /// <summary>Those of them that it proved.</summary>
        public int Proven { get; internal set; }
        /// <summary>Those that it couldn't, or wouldn't, prove.</summary>
        public int Caught { get; internal set; }
        /// <summary>Challenges that it made.</summary>
        public int Challenges { get; internal set; }
        /// <summary>Those of them that caught somebody.</summary>
        public int WonChallenges { get; internal set; }
        public int Blocks { get; internal set; }

        /// <summary>How many of its challenged claims were bluffs, 0 to 1; NaN before the first.</summary>
        public double BluffRate { get { return Challenged == 0 ? double.NaN : (double) Caught / Challenged; } }
    }

    /// <summary>How often, for each role: player.Claims["duke"]. foreach goes through what was counted.</summary>
    public sealed class Counts : IEnumerable<KeyValuePair<string, int>> {
        private readonly Dictionary<string, int> counts = new Dictionary<string, int>();

        /// <summary>How often; 0 for what was never counted.</summary>
        public int this[string role] {
            get {
                int count;
                return counts.TryGetValue(role, out count) ? count : 0;
            }
        }

        public IEnumerator<KeyValuePair<string, int>> GetEnumerator() {
            return counts.GetEnumerator();
        }

        IEnumerator IEnumerable.GetEnumerator() {
            return GetEnumerator();
        }

        internal void Add(string role) {
            counts[role] = this[role] + 1;
        }

        internal void Forget(string role) {
            counts.Remove(role);
        }

        internal void Clear() {
            counts.Clear();
        }
    }

    // ---- JSON: for the fields that the classes above don't have, and those of rule variants to come -----------------

    /// <summary>
    /// A JSON value, which never changes. What isn't there is Null, and asking a value for a type that it doesn't have
    /// gives the fallback: game.Rules["deck"]["duke"].Integer(3).
    /// </summary>
    public sealed class Json {
        public static readonly Json Null = new Json(null, new string[0], new Json[0]);

        /// <summary>null, a bool, long, double or string; of an array or an object null, too.</summary>
        public object Value { get; }
        /// <summary>The keys of an object, in their order; else none.</summary>
        public IList<string> Keys { get; }
        /// <summary>The elements of an array, or the values of an object; else none.</summary>
        public IList<Json> List { get; }

        private readonly char bracket; // which one it begins with; '\0': none

        private Json(object value, IList<string> keys, IList<Json> list, char bracket = '\0') {
            Value = value;
            Keys = keys;
            List = list;
            this.bracket = bracket;
        }

        /// <summary>Throws FormatException if the text isn't one JSON value.</summary>
        public static Json Parse(string text) {
            return new Parser(text).Document();
        }

        /// <summary>What an object has under a key; Null if nothing.</summary>
        public Json this[string key] {
            get {
                int at = Keys.IndexOf(key);
                return at < 0 ? Null : List[at];
            }
        }

        /// <summary>The strings in an array.</summary>
        public IList<string> Strings {
            get {
                var strings = new List<string>();
                foreach (Json element in List) {
                    var text = element.Value as string;
                    if (text != null) {
                        strings.Add(text);
                    }
                }
                return strings.AsReadOnly();
            }
        }

        public bool IsNull { get { return Value == null && bracket == '\0'; } }

        public string Text(string otherwise = "") {
            return Value as string ?? otherwise;
        }

        public bool Bool(bool otherwise = false) {
            return Value as bool? ?? otherwise;
        }

        public double Number(double otherwise = 0) {
            return Value as long? ?? Value as double? ?? otherwise;
        }

        /// <summary>A number that fits an int, without its fraction.</summary>
        public int Integer(int otherwise = 0) {
            double number = Number(otherwise);
            return number >= int.MinValue && number <= int.MaxValue ? (int) number : otherwise;
        }

        /// <summary>As JSON.</summary>
        public override string ToString() {
            var text = Value as string;
            if (text != null) {
                return Quoted(text);
            }
            if (Value is bool) {
                return (bool) Value ? "true" : "false";
            }
            if (Value is double) {
                return ((double) Value).ToString("R", CultureInfo.InvariantCulture);
            }
            if (bracket == '\0') {
                return Value == null ? "null" : Convert.ToString(Value, CultureInfo.InvariantCulture);
            }
            var parts = new List<string>();
            for (int i = 0; i < List.Count; i++) {
                parts.Add((bracket == '{' ? Quoted(Keys[i]) + ":" : "") + List[i]);
            }
            return bracket + string.Join(",", parts) + (bracket == '{' ? "}" : "]");
        }

        internal static string Quoted(string text) {
            var quoted = new StringBuilder("\"");
            foreach (char c in text) {
                if (c == '"' || c == '\\') {
                    quoted.Append('\\').Append(c);
                } else if (c < ' ' || char.IsSurrogate(c)) {
                    quoted.Append("\\u").Append(((int) c).ToString("x4", CultureInfo.InvariantCulture));
                } else {
                    quoted.Append(c);
                }
            }
            return quoted.Append('"').ToString();
        }

        private sealed class Parser {
            private const int MaxDepth = 200; // of brackets; the protocol promises at most 32

            private readonly string text;
            private int at;
            private int depth;

            internal Parser(string text) {
                this.text = text;
            }

            internal Json Document() {
                Json value = Any();
                Blanks();
                if (at != text.Length) {
                    throw Wrong();
                }
                return value;
            }

            private FormatException Wrong() {
                return new FormatException("no JSON at character " + at);
            }

            private char Peek() {
                return at < text.Length ? text[at] : '\0';
            }

            private bool Take(char wanted) {
                bool there = at < text.Length && text[at] == wanted;
                at += there ? 1 : 0;
                return there;
            }

            private void Demand(string wanted) {
                if (string.CompareOrdinal(text, at, wanted, 0, wanted.Length) != 0) {
                    throw Wrong();
                }
                at += wanted.Length;
            }

            private void Blanks() {
                while (at < text.Length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) {
                    at++;
                }
            }

            private static Json Plain(object value) {
                return new Json(value, Null.Keys, Null.List);
            }

            private Json Any() {
                Blanks();
                switch (Peek()) {
                    case '{': return Object();
                    case '[': return Array();
                    case '"': return Plain(String());
                    case 't': Demand("true"); return Plain(true);
                    case 'f': Demand("false"); return Plain(false);
                    case 'n': Demand("null"); return Null;
                    default: return Plain(Number());
                }
            }

            private void Enter() {
                at++;
                if (++depth > MaxDepth) {
                    throw Wrong();
                }
                Blanks();
            }

            private Json Object() {
                var keys = new List<string>();
                var list = new List<Json>();
                Enter();
                if (!Take('}')) {
                    do {
                        Blanks();
                        keys.Add(String());
                        Blanks();
                        Demand(":");
                        list.Add(Any());
                        Blanks();
                    } while (Take(','));
                    Demand("}");
                }
                depth--;
                return new Json(null, keys.AsReadOnly(), list.AsReadOnly(), '{');
            }

            private Json Array() {
                var list = new List<Json>();
                Enter();
                if (!Take(']')) {
                    do {
                        list.Add(Any());
                        Blanks();
                    } while (Take(','));
                    Demand("]");
                }
                depth--;
                return new Json(null, Null.Keys, list.AsReadOnly(), '[');
            }

            private void Digits() {
                int start = at;
                while (Peek() >= '0' && Peek() <= '9') {
                    at++;
                }
                if (at == start) {
                    throw Wrong();
                }
            }

            private object Number() {
                int start = at;
                bool whole = true;
                Take('-');
                if (!Take('0')) {
                    Digits();
                }
                if (Take('.')) {
                    whole = false;
                    Digits();
                }
                if (Take('e') || Take('E')) {
                    whole = false;
                    if (!Take('+')) {
                        Take('-');
                    }
                    Digits();
                }
                string number = text.Substring(start, at - start);
                if (whole && number.Length < 19) { // so short that it fits a long
                    return long.Parse(number, CultureInfo.InvariantCulture);
                }
                double value;
                if (!double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out value)) {
                    throw Wrong(); // too large
                }
                return value;
            }

            private string String() {
                var value = new StringBuilder();
                Demand("\"");
                while (!Take('"')) {
                    char c = Peek();
                    if (c < ' ') { // the end of the text, too
                        throw Wrong();
                    }
                    at++;
                    value.Append(c == '\\' ? Escaped() : c);
                }
                return value.ToString();
            }

            private char Escaped() {
                char c = Peek();
                at++;
                if (c == 'u') {
                    return Unicode();
                }
                int which = "\"\\/bfnrt".IndexOf(c);
                if (which < 0) {
                    throw Wrong();
                }
                return "\"\\/\b\f\n\r\t"[which];
            }

            private char Unicode() {
                int code = 0;
                for (int i = 0; i < 4; i++) {
                    int digit = "0123456789abcdef".IndexOf(char.ToLowerInvariant(Peek()));
                    if (digit < 0) {
                        throw Wrong();
                    }
                    code = code * 16 + digit;
                    at++;
                }
                return (char) code;
            }
        }
    }
}
