//! A kit for Coup Arena bots: it handles the messages of the protocol, and calls a method of your bot for each move.
//! Copy this file next to your bot. It requires only Rust 1.63 or newer. This is kit version 9. A complete bot:
//!
//! ```ignore
//! mod coup_kit;
//! use coup_kit::{Bot, Game};
//!
//! struct MyBot;
//!
//! impl Bot for MyBot {
//!     fn turn(&mut self, game: &Game) -> usize {
//!         if game.holds("duke") { game.find("tax").unwrap_or(0) } else { 0 }
//!     }
//! }
//!
//! fn main() {
//!     coup_kit::run(MyBot)
//! }
//! ```
//!
//! Write a method for each kind of request that you want to answer. It gets the game and returns an index into
//! `game.legal`. For other requests the kit returns 0, a safe move (income, pass, show the card ...).
//!
//! Write debug output with `coup_kit::log`: output of `println!` would be read as an answer. If a method panics, the
//! kit prints its request and ends the program. With `careful` it plays the safe move instead, and the bot continues.
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::ops::Index;
use std::panic::{self, AssertUnwindSafe};

/// Actions and keys of the moves in all rules.
const MOVES: &str = " income foreign_aid coup tax assassinate steal exchange examine convert embezzle \
    pass challenge block show decline lose keep keep_shown pick side reveal examined ";

// --- the bot ---------------------------------------------------------------------------------------------------------

/// A bot: methods for requests, which return an index into `game.legal`, and for notifications.
#[rustfmt::skip]
pub trait Bot {
    fn turn(&mut self, _game: &Game) -> usize { 0 } // choose the action of your turn; by default income
    fn challenge(&mut self, _game: &Game) -> usize { 0 } // challenge `game.claim`, or pass (the default)
    fn block(&mut self, _game: &Game) -> usize { 0 } // block `game.pending` by claiming a role, or pass (the default)
    fn prove(&mut self, _game: &Game) -> usize { 0 } // show the card that you claimed (the default), or decline
    fn lose(&mut self, _game: &Game) -> usize { 0 } // choose the card to lose; `game.reason` is the reason
    fn exchange(&mut self, _game: &Game) -> usize { 0 } // choose the cards to keep from `game.cards` and `game.drawn`
    // Only in variants:
    fn keep_shown(&mut self, _game: &Game) -> usize { 0 } // keep the card that you showed, or replace it (the default)
    fn examine_show(&mut self, _game: &Game) -> usize { 0 } // choose the card to show to the inquisitor
    fn examine_decide(&mut self, _game: &Game) -> usize { 0 } // hand back `game.seen` (the default), or replace it
    fn draft(&mut self, _game: &Game) -> usize { 0 } // choose your first card from a set of five
    fn allegiance(&mut self, _game: &Game) -> usize { 0 } // choose your side
    fn other(&mut self, _game: &Game) -> usize { 0 } // answer a kind of request that this kit doesn't know

    fn match_start(&mut self, _game: &Game) {} // prepare for the match: the rules are known, the players aren't yet
    fn game_start(&mut self, _game: &Game) {} // prepare for a game: your seat, your cards and the players are known
    fn event(&mut self, _game: &Game, _event: &Json) {} // process an event; each comes once, in order
    fn game_over(&mut self, _game: &Game) {} // learn from a finished game: `game.winner` and `game.survivors` are known
    /// Process a fault that the referee counted: `error["message"]` explains what to fix. The default logs it.
    fn fault(&mut self, _game: &Game, error: &Json) { log(format!("coup_kit: fault {}", error)); }
    fn match_over(&mut self, _game: &Game) {} // clean up after the match; half a second is left

    fn name(&self) -> &str { "" } // for logs, at most 64 characters; by default the type's name
    fn version(&self) -> &str { "" }
    fn careful(&self) -> bool { false } // true: if a method panics, the kit plays 0 and continues
}

/// Write a line to standard error, which the arena stores in the bot's log.
pub fn log(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", text); // unlike eprintln!, it doesn't panic if the pipe is closed
}

// --- the game --------------------------------------------------------------------------------------------------------

/// A legal move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Move {
    pub index: usize,
    pub word: String, // the action, or else the key: tax, pass, challenge, block, show, keep ...
    pub target: Option<usize>, // the seat that the action targets
    pub role: String, // the key's value: the role to block with, to show or to lose; a side; hand_back
    pub keep: Vec<String>, // in exchange: the cards to keep
    pub raw: Json,    // as received
}

/// Counts by role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(HashMap<String, u32>);

impl Counts {
    /// The count of a role; a role that was never counted reads as 0.
    pub fn of(&self, role: &str) -> u32 {
        self.0.get(role).copied().unwrap_or(0)
    }
}

/// A player at the table, with its public state of the latest request.
#[derive(Clone, Debug, Default)]
pub struct Player {
    pub seat: usize,
    pub handle: String, // the same in all games of the match, unlike the seat
    pub coins: i64,
    pub influence: usize,      // number of face-down cards; 0: it is out of the game, or in a draft
    pub revealed: Vec<String>, // its lost cards, face up
    pub allegiance: String,    // loyalist or reformist; empty without sides, or before they are chosen
    pub blocks: Counts,        // by role: its blocks in this game
    pub known: Vec<String>,    // cards that it certainly holds, from you.known of the request
    pub lacks: Vec<String>,    // roles that it certainly lacks, but for those of which you see every card
}

#[rustfmt::skip]
impl Player {
    /// Whether it is still in the game. In a draft all players are, without cards.
    pub fn alive(&self) -> bool { self.influence > 0 || self.revealed.is_empty() && !self.handle.is_empty() }
    /// The number of its cards that aren't known.
    fn hidden(&self) -> i64 { self.influence as i64 - self.known.len() as i64 }
}

/// The undecided action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    pub actor: usize,
    pub action: String,
    pub target: Option<usize>,
}

/// The undecided claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub seat: usize,
    pub role: String,
    pub block: bool, // true: the claim of a block; false: of the action
}

/// The game as your seat sees it: one object for the whole match. Between requests it has the values of the latest
/// request. In `game_over`, state and cards are final and nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Game {
    pub kind: String,             // the kind of request: turn, challenge, block ...; empty without a request
    pub legal: Vec<Move>,         // all legal moves; the first is a safe move
    pub request: Json,            // the message as received: a request, hello, game_start or game_over
    pub number: i64,              // number of the game in the match, from 0
    pub turn: i64,                // number of the turn, from 1, counting all players' turns
    pub actor: usize,             // the seat whose turn it is
    pub seat: usize,              // your seat in this game
    pub cards: Vec<String>,       // your face-down cards
    pub drawn: Vec<String>,       // in exchange: the cards that you drew
    pub seen: Option<String>,     // in examine_decide: the opponent's card that you see
    pub players: Vec<Player>,     // by seat
    pub pending: Option<Pending>, // the undecided action; None at your turn
    pub claim: Option<Claim>,     // the undecided claim; else None
    pub proven: bool,             // in block: whether the actor proved the action's claim this turn
    pub challenger: Option<usize>, // in prove: the seat that challenges you
    pub reason: String,           // in lose: why: coup, assassinate, challenge; in game_over: why it ended
    pub winner: Option<usize>,    // in game_over: the seat that won; None: a draw
    pub survivors: Vec<usize>,    // in game_over: the seats that won or share the draw
    pub rules: Json,              // hello.ruleset: game.rules["deck"]["duke"].int()
    pub limits: Json,             // hello.limits
    pub match_: Json,             // hello.match: games, seats, your_handle, handles
    pub bot_seed: String,
    pub game_seed: String, // of this game; empty before the first game
    pub random: Random,    // each game seeds it with game_seed; before the first game its seed is bot_seed
    nobody: Player,
    words: RefCell<Vec<Json>>, // statements for the next answer
}

#[rustfmt::skip]
impl Game {
    /// The public state as received.
    pub fn state(&self) -> &Json { &self.request["state"] }
    /// Your own player, as the others see it.
    pub fn me(&self) -> &Player { self.player(self.seat) }
    /// The player in a seat; one without cards if there is no such seat.
    pub fn player(&self, seat: usize) -> &Player { self.players.get(seat).unwrap_or(&self.nobody) }
    /// The other living players, clockwise from you.
    pub fn opponents(&self) -> Vec<&Player> {
        let (before, after) = self.players.split_at((self.seat + 1).min(self.players.len()));
        after.iter().chain(before).filter(|player| player.alive() && player.seat != self.seat).collect()
    }
    /// Whether you hold a role.
    pub fn holds(&self, role: &str) -> bool { count(&self.cards, role) > 0 }
    /// All legal moves with this action or key. Panics for a word of no rules.
    pub fn moves(&self, word: &str) -> Vec<&Move> {
        let found: Vec<_> = self.legal.iter().filter(|found| found.word == word).collect();
        let known = !found.is_empty() || MOVES.contains(&format!(" {} ", word));
        assert!(known, "no rules have a move {:?}, only{}", word, MOVES);
        found
    }
    /// The first legal move with this action or key: `find("tax")`, `find("challenge")`, `find("block")`.
    pub fn find(&self, word: &str) -> Option<usize> { self.first(word, |_| true) }
    /// The first legal move with this action against a seat: `find_at("steal", 2)`.
    pub fn find_at(&self, word: &str, target: usize) -> Option<usize> { self.first(word, |at| at.target == Some(target)) }
    /// The first legal move with this key and value: `find_role("block", "duke")`, `find_role("lose", "captain")`.
    pub fn find_role(&self, word: &str, role: &str) -> Option<usize> { self.first(word, |found| found.role == role) }
    fn first(&self, word: &str, fits: impl Fn(&Move) -> bool) -> Option<usize> {
        let first = self.moves(word).into_iter().find(|found| fits(found))?;
        self.legal.iter().position(|found| std::ptr::eq(found, first))
    }
}

impl Game {
    /// Return the probability, 0 to 1, that a seat holds at least one card of a role, from the cards that you see.
    ///
    /// It is 1 - C(U-d, k) / C(U, k): of U unseen cards d have the role, and k are the seat's. Claims don't count, but
    /// `you.known` of the request does: the result is 0 or 1 where that is certain. For `not_duke` it is the
    /// probability that the seat has no duke. After a draft, values other than 0 and 1 are guesses.
    pub fn odds(&self, seat: usize, role: &str) -> f64 {
        if let Some(absent) = role.strip_prefix("not_") {
            return 1.0 - self.odds(seat, absent);
        }
        let (player, you) = (self.player(seat), &self.request["you"]);
        if seat == self.seat || count(&player.known, role) > 0 {
            return if seat != self.seat || self.holds(role) { 1.0 } else { 0.0 };
        }
        let mut sight =
            [&self.cards[..], &self.drawn, &you["discards"].texts(), &you["known"]["deck"].texts()].concat();
        let mut elsewhere = 0; // hidden cards of other players that lack the role
        for other in &self.players {
            sight.extend([&other.revealed[..], &other.known].concat());
            if count(&other.lacks, role) > 0 {
                elsewhere += other.hidden();
            }
        }
        let deck = &self.rules["deck"];
        let hidden = |role: &str| deck[role].int() - count(&sight, role);
        let pack: i64 = deck.entries().iter().map(|(_, copies)| copies.int()).sum();
        let mut unseen = pack - sight.len() as i64;
        let (copies, cards) = (hidden(role), player.hidden());
        if cards <= 0 || copies <= 0 || unseen < cards || count(&player.lacks, role) > 0 {
            return 0.0;
        }
        if copies > unseen - elsewhere - cards {
            return 1.0; // only this hand has room for them
        }
        unseen -= player.lacks.iter().map(|other| hidden(other)).sum::<i64>();
        if player.lacks.is_empty() {
            unseen -= elsewhere;
        }
        // C(unseen - copies, cards) / C(unseen, cards), a card at a time
        let part = |card: i64| (unseen - copies - card).max(0) as f64 / (unseen - card) as f64;
        1.0 - (0..cards).map(part).product::<f64>()
    }

    /// Add a statement to your next answer: `say("hold", "duke")`, `say_at("attack", 2)`, `say_of("doubt", "duke", 2)`,
    /// and if the rules allow it, `say("text", "Peace?")`. At most 4, one of them a text. Without talk nothing is sent.
    pub fn say(&self, says: &str, what: &str) {
        self.speak(says, &[(if says == "text" { "text" } else { "role" }, Json::from(what))]);
    }
    pub fn say_at(&self, says: &str, target: usize) {
        self.speak(says, &[("target", Json::Number(target as f64))]);
    }
    pub fn say_of(&self, says: &str, role: &str, target: usize) {
        self.speak(says, &[("role", Json::from(role)), ("target", Json::Number(target as f64))]);
    }

    fn speak(&self, says: &str, parts: &[(&str, Json)]) {
        if !matches!(self.rules["talk"].text(), "" | "off") {
            let mut statement = vec![("says".to_string(), Json::from(says))];
            statement.extend(parts.iter().map(|(key, value)| (key.to_string(), value.clone())));
            self.words.borrow_mut().push(Json::Object(statement));
        }
    }

    /// Store the values of a hello, game_start, request or game_over.
    fn take(&mut self, message: &Json) {
        let (state, you, pending, claim) = (&message["state"], &message["you"], &message["pending"], &message["claim"]);
        if message["type"] == "hello" {
            self.rules = message["ruleset"].clone();
            self.limits = message["limits"].clone();
            self.match_ = message["match"].clone();
            self.bot_seed = message["bot_seed"].text().to_string();
            self.random = Random::new(&self.bot_seed);
        } else if message["type"] == "game_start" {
            self.game_seed = message["game_seed"].text().to_string();
            if !self.game_seed.is_empty() {
                self.random = Random::new(&self.game_seed);
            }
            let handles = message["players"].texts().into_iter().enumerate();
            self.players = handles.map(|(seat, handle)| Player { seat, handle, ..Player::default() }).collect();
        }
        self.request = message.clone();
        self.kind = message["kind"].text().to_string();
        self.number = message["game"].int();
        self.turn = state["turn"].int();
        self.actor = state["actor"].seat().unwrap_or(0);
        if !you.is_null() {
            self.seat = you["seat"].seat().unwrap_or(0);
            self.cards = you["cards"].texts();
        }
        self.drawn = you["drawn"].texts();
        self.seen = you["seen"].as_text().map(str::to_string);
        self.legal = message["legal"].list().iter().enumerate().map(legal_move).collect();
        self.pending = pending["action"].as_text().map(|action| Pending {
            actor: pending["actor"].seat().unwrap_or(0),
            action: action.to_string(),
            target: pending["target"].seat(),
        });
        self.claim = claim["role"].as_text().map(|role| Claim {
            seat: claim["seat"].seat().unwrap_or(0),
            role: role.to_string(),
            block: claim["block"].is_true(),
        });
        self.proven = message["proven"].is_true();
        self.challenger = message["challenger"].seat();
        self.reason = message["reason"].text().to_string();
        self.winner = message["winner"].seat();
        self.survivors = message["survivors"].list().iter().filter_map(Json::seat).collect();
        for (player, now) in self.players.iter_mut().zip(state["players"].list()) {
            player.coins = now["coins"].int();
            player.influence = now["influence"].seat().unwrap_or(0);
            player.revealed = now["revealed"].texts();
            player.allegiance = now["allegiance"].text().to_string();
            let all = you["known"]["players"].list();
            let known = all.iter().find(|known| known["seat"].seat() == Some(player.seat)).unwrap_or(&NULL);
            player.known = known["has"].texts();
            player.lacks = known["lacks"].texts();
        }
    }

    /// Store your cards at the end of a game, from the latest event that contains them.
    fn end(&mut self, message: &Json) {
        for event in message["events"].list() {
            if !event["cards"].is_null() {
                self.cards = event["cards"].texts();
            } else if event["event"] == "lost" && event["seat"].seat() == Some(self.seat) {
                let lost = self.cards.iter().position(|card| event["role"] == card.as_str());
                lost.map(|place| self.cards.remove(place));
            }
        }
        if !self.me().alive() {
            self.cards.clear();
        }
    }
}

fn count(cards: &[String], role: &str) -> i64 {
    cards.iter().filter(|card| *card == role).count() as i64
}

fn legal_move((index, raw): (usize, &Json)) -> Move {
    let mut made = Move { index, raw: raw.clone(), target: raw["target"].seat(), ..Move::default() };
    if let Some(action) = raw["action"].as_text() {
        made.word = action.to_string();
    } else if let Some((key, value)) = raw.entries().first() {
        made.word = key.clone();
        made.keep = value.texts();
        made.role = value.as_text().map_or_else(|| value.to_string(), str::to_string);
    }
    made
}

/// A generator of random numbers (SplitMix64), not for secrets.
#[derive(Clone, Debug, Default)]
pub struct Random(Cell<u64>);

#[rustfmt::skip]
impl Random {
    /// Create a generator with this seed.
    pub fn new(seed: &str) -> Random {
        let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Random(Cell::new(seed.bytes().fold(0xcbf2_9ce4_8422_2325, mix)))
    }
    /// Return 64 random bits.
    pub fn bits(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// Return a number from 0 up to, but not including, 1.
    pub fn float(&self) -> f64 { (self.bits() >> 11) as f64 / (1_u64 << 53) as f64 }
    /// Return an integer from 0 to below - 1; 0 if below is 0.
    pub fn below(&self, below: usize) -> usize { ((u128::from(self.bits()) * below as u128) >> 64) as usize }
}

// --- the protocol ----------------------------------------------------------------------------------------------------

/// Play: read the referee's messages from standard input and answer them until the match is over. Never returns.
pub fn run<B: Bot>(bot: B) -> ! {
    let mut talk = Talk::new(bot);
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while !talk.ended && matches!(input.read_until(b'\n', &mut line), Ok(length) if length > 0) {
        if let Some(mut answer) = talk.reply(&line) {
            answer.push('\n');
            let mut output = io::stdout().lock();
            talk.ended = output.write_all(answer.as_bytes()).and_then(|()| output.flush()).is_err();
            // the arena has ended
        }
        line.clear();
    }
    std::process::exit(0)
}

/// The exchange of messages with the referee. `run` connects it to standard input and output; tests use it directly.
pub struct Talk<B: Bot> {
    pub bot: B,
    pub game: Game,
    pub ended: bool, // after match_over
}

impl<B: Bot> Talk<B> {
    /// Create a talk that has received no message.
    pub fn new(bot: B) -> Talk<B> {
        Talk { bot, game: Game::default(), ended: false }
    }

    /// Process a message of the referee; return the answer without a newline, or None if it needs none.
    pub fn reply(&mut self, line: &[u8]) -> Option<String> {
        let parsed = Json::parse(line).map_err(|problem| log(format!("coup_kit: ignored a line: {}", problem)));
        let message = &parsed.ok()?;
        if message["type"] == "hello" || !message["state"].is_null() {
            self.game.take(message);
        }
        for event in message["events"].list() {
            if let (true, Some(seat)) = (event["event"] == "block", event["seat"].seat()) {
                if let Some(player) = self.game.players.get_mut(seat) {
                    *player.blocks.0.entry(event["role"].text().to_string()).or_default() += 1;
                }
            }
            self.notify("event", message, |bot, game| bot.event(game, event));
        }
        match message["type"].text() {
            "hello" => {
                self.notify("match_start", message, B::match_start);
                let (name, version) = (Json::from(self.name()), Json::from(self.bot.version()));
                return Some(format!("{{\"type\":\"hello\",\"name\":{},\"version\":{}}}", name, version));
            }
            "request" => {
                let choice = self.choose(message);
                let words = self.game.words.take();
                let say = if words.is_empty() { String::new() } else { format!(",\"say\":{}", Json::List(words)) };
                return Some(format!("{{\"id\":{},\"choice\":{}{}}}", message["id"], choice, say));
            }
            "game_start" => self.notify("game_start", message, B::game_start),
            "game_over" => {
                self.game.end(message);
                self.notify("game_over", message, B::game_over);
            }
            "error" => self.notify("fault", message, |bot, game| bot.fault(game, message)),
            "match_over" => {
                self.notify("match_over", message, B::match_over);
                self.ended = true;
            }
            _ => {}
        }
        None
    }

    fn name(&self) -> &str {
        let own = std::any::type_name::<B>().rsplit(':').next().filter(|_| self.bot.name().is_empty());
        own.unwrap_or_else(|| self.bot.name())
    }

    fn choose(&mut self, message: &Json) -> usize {
        let (method, ask): (&str, fn(&mut B, &Game) -> usize) = match message["kind"].text() {
            "turn" => ("turn", B::turn),
            "challenge" => ("challenge", B::challenge),
            "block" => ("block", B::block),
            "prove" => ("prove", B::prove),
            "lose" => ("lose", B::lose),
            "exchange" => ("exchange", B::exchange),
            "keep_shown" => ("keep_shown", B::keep_shown),
            "examine_show" => ("examine_show", B::examine_show),
            "examine_decide" => ("examine_decide", B::examine_decide),
            "draft" => ("draft", B::draft),
            "allegiance" => ("allegiance", B::allegiance),
            _ => ("other", B::other),
        };
        self.guarded(method, message, |bot, game| {
            let (choice, moves) = (ask(bot, game), game.legal.len());
            assert!(choice < moves.max(1), "{}() returned {}; game.legal has {} moves", method, choice, moves);
            choice
        })
    }

    fn notify(&mut self, method: &str, message: &Json, call: impl FnOnce(&mut B, &Game)) {
        self.guarded(method, message, |bot, game| {
            call(bot, game);
            0
        });
    }

    /// Call a method of the bot. If it panics, print where, and panic again unless the bot is careful.
    fn guarded(&mut self, method: &str, message: &Json, call: impl FnOnce(&mut B, &Game) -> usize) -> usize {
        let (bot, game) = (&mut self.bot, &self.game);
        let called = panic::catch_unwind(AssertUnwindSafe(|| call(bot, game)));
        called.unwrap_or_else(|problem| {
            let (id, kind, turn) = (&message["id"], message["kind"].text(), &message["state"]["turn"]);
            let place = format!("{} {}: {}, game {}, turn {}", message["type"].text(), id, kind, message["game"], turn);
            log(format!("coup_kit: {}.{} failed at {}, legal {}", self.name(), method, place, message["legal"]));
            if !self.bot.careful() {
                panic::resume_unwind(problem);
            }
            0
        })
    }
}

// --- JSON ------------------------------------------------------------------------------------------------------------

/// A JSON value. `json["key"]` never fails: a missing value is Null.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    #[default]
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>), // in the order of the message
}

static NULL: Json = Json::Null;

const DEEPEST: usize = 128; // the protocol promises at most 32 levels

#[rustfmt::skip]
impl Json {
    /// Parse a line. The error contains the byte at which parsing failed.
    pub fn parse(line: &[u8]) -> Result<Json, String> {
        let mut parser = Parser { bytes: line, at: 0 };
        let value = parser.value(0).filter(|_| parser.peek().is_none());
        value.ok_or_else(|| format!("invalid JSON at byte {}", parser.at))
    }
    /// A string; None, or "", for other types.
    pub fn as_text(&self) -> Option<&str> { if let Json::Text(text) = self { Some(text) } else { None } }
    pub fn text(&self) -> &str { self.as_text().unwrap_or("") }
    /// A number and an integer, 0 for other types; a seat, None for other types.
    pub fn float(&self) -> f64 { if let Json::Number(number) = self { *number } else { 0.0 } }
    pub fn int(&self) -> i64 { self.float() as i64 }
    pub fn seat(&self) -> Option<usize> {
        if let Json::Number(number) = self { usize::try_from(*number as i64).ok() } else { None }
    }
    /// Whether it is true; whether it is null or missing.
    pub fn is_true(&self) -> bool { *self == Json::Bool(true) }
    pub fn is_null(&self) -> bool { *self == Json::Null }
    /// The elements of a list, and those as strings; empty for other types.
    pub fn list(&self) -> &[Json] { if let Json::List(list) = self { list } else { &[] } }
    pub fn texts(&self) -> Vec<String> { self.list().iter().map(|each| each.text().to_string()).collect() }
    /// The keys and values of an object; empty for other types.
    pub fn entries(&self) -> &[(String, Json)] { if let Json::Object(entries) = self { entries } else { &[] } }
}

impl Index<&str> for Json {
    type Output = Json;
    fn index(&self, key: &str) -> &Json {
        self.entries().iter().find(|(own, _)| own == key).map_or(&NULL, |(_, value)| value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}

impl PartialEq<&str> for Json {
    fn eq(&self, other: &&str) -> bool {
        self.as_text() == Some(*other)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{}", value),
            Json::Number(number) => write!(out, "{}", number),
            Json::Text(text) => quoted(text, out),
            Json::List(list) => {
                for (place, each) in list.iter().enumerate() {
                    write!(out, "{}{}", if place > 0 { "," } else { "[" }, each)?;
                }
                out.write_str(if list.is_empty() { "[]" } else { "]" })
            }
            Json::Object(entries) => {
                for (place, (key, value)) in entries.iter().enumerate() {
                    out.write_str(if place > 0 { "," } else { "{" })?;
                    quoted(key, out)?;
                    write!(out, ":{}", value)?;
                }
                out.write_str(if entries.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

fn quoted(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' | '\0'..='\u{1f}' => write!(out, "\\u{:04x}", letter as u32)?,
            letter => write!(out, "{}", letter)?,
        }
    }
    out.write_str("\"")
}

/// Parses JSON. Methods return None for invalid JSON; `at` is its position.
struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    /// The next byte that isn't a blank.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there.then_some(())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        match self.peek()? {
            b'"' => self.string().map(Json::Text),
            b'[' => {
                let mut list = Vec::new();
                self.at += 1;
                while self.take(b']').is_none() {
                    if !list.is_empty() {
                        self.take(b',')?;
                    }
                    list.push(self.value(depth + 1)?);
                }
                Some(Json::List(list))
            }
            b'{' => {
                let mut entries = Vec::new();
                self.at += 1;
                while self.take(b'}').is_none() {
                    if !entries.is_empty() {
                        self.take(b',')?;
                    }
                    let key = self.string()?;
                    self.take(b':')?;
                    entries.push((key, self.value(depth + 1)?));
                }
                Some(Json::Object(entries))
            }
            _ => {
                let rest = &self.bytes[self.at..];
                let length =
                    rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
                let word = std::str::from_utf8(&rest[..length]).ok()?;
                self.at += length;
                match word {
                    "null" => Some(Json::Null),
                    "true" | "false" => Some(Json::Bool(word == "true")),
                    _ => word.parse().ok().filter(|number: &f64| number.is_finite()).map(Json::Number),
                }
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        self.take(b'"')?;
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => bytes.extend_from_slice(self.escape()?.encode_utf8(&mut [0; 4]).as_bytes()),
                _ => bytes.push(byte),
            }
        }
    }

    /// Read an escape sequence after its backslash. Half of a surrogate pair becomes the replacement character.
    fn escape(&mut self) -> Option<char> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        if byte != b'u' {
            let which = b"\"\\/bfnrt".iter().position(|known| *known == byte)?;
            return "\"\\/\u{8}\u{c}\n\r\t".chars().nth(which);
        }
        let mut code = self.four()?;
        if (0xd800..0xdc00).contains(&code) && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let low = self.four()?;
            code =
                if (0xdc00..0xe000).contains(&low) { 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) } else { code };
        }
        Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four(&mut self) -> Option<u32> {
        let digits = std::str::from_utf8(self.bytes.get(self.at..self.at + 4)?).ok()?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
