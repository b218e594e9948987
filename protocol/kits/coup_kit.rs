//! The Coup arena's kit for bots in Rust 1.63 or newer, with the standard library alone. Copy this one file beside your bot
//! (kit version 6):
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
//! A method for each kind of request gets the game and returns the index of a move in `game.legal`. What you don't write
//! plays 0, which is always a quiet move. SPEC.md says what is sent.
//!
//! Standard output belongs to the arena: write debug output with `coup_kit::log`, and never with `println!`. A method that
//! panics says at which request, and ends the program; a bot that is `careful` plays the quiet move and goes on.
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, BufRead, Write};
use std::ops::Index;
use std::panic::{self, AssertUnwindSafe};

// --- the bot ---------------------------------------------------------------------------------------------------------

/// A bot: a method for each kind of request, which returns an index into `game.legal`, and notifications.
pub trait Bot {
    /// Your turn: choose an action.
    fn turn(&mut self, _game: &Game) -> usize {
        0
    }
    /// Somebody claims a role (`game.claim`): pass or challenge.
    fn challenge(&mut self, _game: &Game) -> usize {
        0
    }
    /// An action (`game.pending`) can be blocked by you: pass, or block and claim a role.
    fn block(&mut self, _game: &Game) -> usize {
        0
    }
    /// `game.challenger` doubts your claim: show the card, or decline and lose an influence.
    fn prove(&mut self, _game: &Game) -> usize {
        0
    }
    /// Lose one of your two cards; `game.reason` says to what.
    fn lose(&mut self, _game: &Game) -> usize {
        0
    }
    /// Keep as many as you had of `game.cards` and `game.drawn`.
    fn exchange(&mut self, _game: &Game) -> usize {
        0
    }
    /// A variant: keep the card that you have shown, or have it replaced.
    fn keep_shown(&mut self, _game: &Game) -> usize {
        0
    }
    /// A variant: show one of your cards to an inquisitor.
    fn examine_show(&mut self, _game: &Game) -> usize {
        0
    }
    /// A variant: hand the card back that you look at (`game.seen`), or force its owner to swap it.
    fn examine_decide(&mut self, _game: &Game) -> usize {
        0
    }
    /// A variant: pick the first of your two cards.
    fn draft(&mut self, _game: &Game) -> usize {
        0
    }
    /// A variant: choose your side.
    fn allegiance(&mut self, _game: &Game) -> usize {
        0
    }
    /// A kind of request that this kit doesn't know.
    fn other(&mut self, _game: &Game) -> usize {
        0
    }

    /// The match begins: `game.rules`, `game.limits`, `game.handles` are known; the players aren't yet.
    fn match_start(&mut self, _game: &Game) {}
    /// A game begins: `game.seat`, `game.cards`, `game.players` are known.
    fn game_start(&mut self, _game: &Game) {}
    /// Something happened, and `game` has taken it in: `event["event"] == "block"`, `event["seat"].seat()`.
    fn event(&mut self, _game: &Game, _event: &Json) {}
    /// The game is over: `game.winner`, `game.survivors`.
    fn game_over(&mut self, _game: &Game) {}
    /// The referee counted a fault: `error["code"]`, `error["message"]`. By default it is logged.
    fn fault(&mut self, _game: &Game, error: &Json) {
        log(format!("coup_kit: fault {}: {}", error["code"].text(), error["message"].text()));
    }
    /// The match is over.
    fn match_over(&mut self, _game: &Game) {}

    /// Your name in the match's log; without one it is the type's.
    fn name(&self) -> &str {
        ""
    }
    /// Your version there.
    fn version(&self) -> &str {
        ""
    }
    /// true: where a method panics, the quiet move is played and the bot goes on.
    fn careful(&self) -> bool {
        false
    }
}

/// Write a line to standard error, which the arena keeps in the bot's log.
pub fn log(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", text); // unlike eprintln!, no panic where nobody reads it
}

// --- the game --------------------------------------------------------------------------------------------------------

/// A legal move. `word` is its action, or else its key: `tax`, `pass`, `challenge`, `block`, `show`, `keep` ...
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Move {
    pub index: usize,
    pub word: String,
    /// The seat at which an action is aimed.
    pub target: Option<usize>,
    /// The word beside the key: the role to block with, to show, to lose, to pick; a side; `hand_back`.
    pub role: String,
    /// The cards to keep, in an exchange.
    pub keep: Vec<String>,
    /// As on the wire.
    pub raw: Json,
}

impl Move {
    /// Whether it is of this action, or has this key.
    fn is(&self, word: &str) -> bool {
        self.word == word || !self.raw[word].is_null()
    }
}

/// How often, by role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<(String, u32)>);

impl Counts {
    /// The count of a role; 0 for one that was never counted.
    pub fn of(&self, role: &str) -> u32 {
        self.0.iter().find(|(known, _)| known == role).map_or(0, |(_, count)| *count)
    }
    /// All that were counted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(role, count)| (role.as_str(), *count))
    }
    fn add(&mut self, role: &str) {
        match self.0.iter_mut().find(|(known, _)| known == role) {
            Some((_, count)) => *count += 1,
            None => self.0.push((role.to_string(), 1)),
        }
    }
    fn remove(&mut self, role: &str) {
        self.0.retain(|(known, _)| known != role);
    }
}

/// What one player did in all games of the match so far. Players are told apart by their handles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Claims of a role, by actions and by blocks.
    pub claimed: u32,
    /// Those of them that somebody challenged.
    pub challenged: u32,
    /// Those of these that it proved.
    pub proven: u32,
    /// Those of these that it couldn't, or wouldn't, prove.
    pub caught: u32,
    /// Challenges that it made.
    pub challenges: u32,
    /// Those of them that caught somebody.
    pub won_challenges: u32,
    pub blocks: u32,
}

impl History {
    /// How many of its challenged claims were bluffs, 0 to 1; None before the first.
    pub fn bluff_rate(&self) -> Option<f64> {
        if self.challenged == 0 {
            return None;
        }
        Some(f64::from(self.caught) / f64::from(self.challenged))
    }
}

/// A player at the table. What it has is that of the latest request; what it did is of this game.
#[derive(Clone, Debug, Default)]
pub struct Player {
    pub seat: usize,
    /// Its name, which stays the same in all games of the match; seats don't.
    pub handle: String,
    pub coins: i64,
    /// Cards face down; 0: it is out of the game.
    pub influence: usize,
    /// Lost cards, face up.
    pub revealed: Vec<String>,
    /// `loyalist` or `reformist`; empty where there are no sides, or not yet.
    pub allegiance: String,
    /// Role -> how often it claimed it, with cards that it may still hold.
    pub claims: Counts,
    /// Role -> how often it couldn't, or wouldn't, prove it.
    pub caught: Counts,
    /// Role -> how often it proved it.
    pub shown: Counts,
    /// Role -> how often it blocked with it.
    pub blocks: Counts,
    /// Roles that it certainly holds, since it showed or you saw a card, and kept it.
    pub known: Vec<String>,
    /// What it did in the whole match.
    pub history: History,
    lacks: Vec<String>, // roles that it certainly doesn't hold
}

impl Player {
    /// Whether it is still in the game.
    pub fn alive(&self) -> bool {
        self.influence > 0
    }

    /// Cards of it that aren't known.
    fn hidden(&self) -> i64 {
        self.influence as i64 - self.known.len() as i64
    }

    fn knows(&mut self, role: &str) {
        if count(&self.known, role) == 0 {
            self.known.push(role.to_string());
        }
    }

    /// One card of this role has gone; the other card is the same as before.
    fn forgets(&mut self, role: &str) {
        self.claims.remove(role);
        if let Some(place) = self.known.iter().position(|known| known == role) {
            self.known.remove(place);
        }
    }

    /// One card of this role has gone, and another came.
    fn swaps(&mut self, role: &str) {
        self.forgets(role);
        self.lacks.clear();
    }

    /// It may have other cards now.
    fn renewed(&mut self) {
        self.claims.0.clear();
        self.known.clear();
        self.lacks.clear();
    }
}

/// The action that is being decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    pub actor: usize,
    pub action: String,
    pub target: Option<usize>,
}

/// The claim to challenge or to prove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub seat: usize,
    pub role: String,
    /// Whether a block of the pending action claims it; else the action itself does.
    pub block: bool,
}

/// The game as your seat sees it, one for the whole match. Between requests it stays as the latest request said. In
/// `game_over` your cards, and the coins, cards and sides of all, are those of the end.
#[derive(Clone, Debug, Default)]
pub struct Game {
    /// What is asked: `turn`, `challenge`, `block` ...; empty before the first request of a game.
    pub kind: String,
    /// Every move that you may choose; the first is a quiet one.
    pub legal: Vec<Move>,
    /// The request as it came, or game_start before the first one of a game.
    pub request: Json,
    /// The number of the game in the match, from 0.
    pub number: i64,
    /// The number of the turn, from 1, over all players together.
    pub turn: i64,
    /// The seat whose turn it is.
    pub actor: usize,
    /// Your seat in this game.
    pub seat: usize,
    /// Your cards.
    pub cards: Vec<String>,
    /// In `exchange`: the cards that you drew.
    pub drawn: Vec<String>,
    /// In `examine_decide`: the card of another that you look at.
    pub seen: Option<String>,
    /// By seat.
    pub players: Vec<Player>,
    /// In all kinds but `turn`: the action that is being decided.
    pub pending: Option<Pending>,
    /// In `challenge` and `prove`: the claim.
    pub claim: Option<Claim>,
    /// In `block`: whether the action's claim was challenged and proven this turn.
    pub proven: bool,
    /// In `prove`: the seat that challenges you.
    pub challenger: Option<usize>,
    /// In `lose`: to what, `coup`, `assassinate`, `challenge`; else empty.
    pub reason: String,
    /// In `game_over`: the seat that won; None: a draw.
    pub winner: Option<usize>,
    /// In `game_over`: the seats that won or share the draw.
    pub survivors: Vec<usize>,
    /// The fields of hello.ruleset: `game.rules["deck"]["duke"].int()`.
    pub rules: Json,
    pub limits: Json,
    /// hello.match: games, seats, your_handle, handles.
    pub match_: Json,
    pub bot_seed: String,
    /// Of this game; empty before the first, and where the arena is too old to send it.
    pub game_seed: String,
    /// Seeded anew by each `game_seed`, before the first game by `bot_seed`, so that a game can be repeated.
    pub random: Random,
    histories: Vec<(String, History)>, // by handle, of players who aren't at the table now
    doubt: (usize, String),            // who challenged last, and which role
    hand: Vec<String>,                 // your cards before the latest events
    drew: Vec<String>,                 // what you drew to exchange
    deck: Vec<String>,                 // cards that certainly lie in the court deck
    nobody: Player,
    words: RefCell<Vec<String>>, // to be said beside the next answer
}

impl Game {
    /// The public state as on the wire.
    pub fn state(&self) -> &Json {
        &self.request["state"]
    }

    /// You, as the others see you.
    pub fn me(&self) -> &Player {
        self.player(self.seat)
    }

    /// The player in a seat; one without cards if there is no such seat.
    pub fn player(&self, seat: usize) -> &Player {
        self.players.get(seat).unwrap_or(&self.nobody)
    }

    /// The others who are still in the game, clockwise from you.
    pub fn opponents(&self) -> Vec<&Player> {
        let seats = self.players.len();
        let clockwise = (1..seats).map(|step| &self.players[(self.seat + step) % seats]);
        clockwise.filter(|player| player.alive()).collect()
    }

    /// Whether you hold a role.
    pub fn holds(&self, role: &str) -> bool {
        self.cards.iter().any(|card| card == role)
    }

    /// The first legal move of an action or key: `find("tax")`, `find("challenge")`, `find("block")`.
    pub fn find(&self, word: &str) -> Option<usize> {
        self.legal.iter().position(|found| found.is(word))
    }

    /// The legal action against a seat: `find_at("steal", 2)`.
    pub fn find_at(&self, word: &str, target: usize) -> Option<usize> {
        self.legal.iter().position(|found| found.is(word) && found.target == Some(target))
    }

    /// The legal move with a key and a word: `find_role("block", "duke")`, `find_role("lose", "captain")`.
    pub fn find_role(&self, word: &str, role: &str) -> Option<usize> {
        self.legal.iter().position(|found| found.is(word) && found.role == role)
    }

    /// All legal moves of an action or key.
    pub fn moves(&self, word: &str) -> Vec<&Move> {
        self.legal.iter().filter(|found| found.is(word)).collect()
    }

    /// How likely a seat holds at least one card of a role, 0 to 1, from the cards that you can see.
    ///
    /// It is 1 - C(U-d, k) / C(U, k): of U unseen cards d are of the role, and k are the seat's. It takes no account of
    /// what players claim. It is 0 or 1 where that is certain: of yourself, of a card that a player showed and kept, or
    /// you looked at, of a role that it couldn't show where proving is automatic, and of cards that you know to lie in
    /// the deck. For the claim `not_duke` it is how likely the seat has no duke. After a draft, where cards are chosen
    /// and half of them are away, it is a guess where it is neither 0 nor 1.
    pub fn odds(&self, seat: usize, role: &str) -> f64 {
        if let Some(absent) = role.strip_prefix("not_") {
            return 1.0 - self.odds(seat, absent);
        }
        if seat == self.seat {
            return if self.holds(role) { 1.0 } else { 0.0 };
        }
        let player = self.player(seat);
        if count(&player.known, role) > 0 {
            return 1.0;
        }
        if count(&player.lacks, role) > 0 {
            return 0.0;
        }
        let mut sight = [&self.cards[..], &self.drawn, &texts(&self.request["you"]["discards"]), &self.deck].concat();
        let mut elsewhere = 0; // hidden cards of others who lack the role
        for other in &self.players {
            sight.extend_from_slice(&other.revealed);
            if other.seat != self.seat {
                sight.extend_from_slice(&other.known);
                if count(&other.lacks, role) > 0 {
                    elsewhere += other.hidden();
                }
            }
        }
        let deck = &self.rules["deck"];
        let hidden = |role: &str| deck[role].int() - count(&sight, role) as i64;
        let pack: i64 = deck.entries().iter().map(|(_, copies)| copies.int()).sum();
        let mut unseen = pack - sight.len() as i64;
        let (copies, cards) = (hidden(role), player.hidden());
        if cards <= 0 || copies <= 0 || unseen < cards {
            return 0.0;
        }
        if copies > unseen - elsewhere - cards {
            return 1.0; // they have no place but this hand
        }
        if player.lacks.is_empty() {
            unseen -= elsewhere;
        } else {
            unseen -= player.lacks.iter().map(|other| hidden(other)).sum::<i64>();
        }
        let mut none = 1.0;
        for card in 0..cards {
            none *= (unseen - copies - card) as f64 / (unseen - card) as f64;
            if none <= 0.0 {
                return 1.0;
            }
        }
        1.0 - none
    }

    /// Say something beside your next answer: `say("hold", "duke")`, `say("lack", "duke")`, or, where the rules allow
    /// it, `say("text", "Peace?")`. All hear it, and nobody is bound. At most 4, one of them a text. Without talk it
    /// isn't sent. Others' words are events, `say`.
    pub fn say(&self, says: &str, what: &str) {
        let part = if says == "text" { "text" } else { "role" };
        self.speak(says, vec![(part, Json::Text(what.to_string()))]);
    }

    /// The same of a seat: `say_at("attack", 2)`, `say_at("spare", 2)`.
    pub fn say_at(&self, says: &str, target: usize) {
        self.speak(says, vec![("target", Json::Int(target as i64))]);
    }

    /// The same of a seat and a role: `say_of("doubt", "duke", 2)`.
    pub fn say_of(&self, says: &str, role: &str, target: usize) {
        let target = Json::Int(target as i64);
        self.speak(says, vec![("role", Json::Text(role.to_string())), ("target", target)]);
    }

    fn speak(&self, says: &str, parts: Vec<(&str, Json)>) {
        if !matches!(self.rules["talk"].text(), "" | "off") {
            let first = ("says".to_string(), Json::Text(says.to_string()));
            let parts = parts.into_iter().map(|(key, value)| (key.to_string(), value));
            let statement = Json::Object(std::iter::once(first).chain(parts).collect());
            self.words.borrow_mut().push(statement.to_string());
        }
    }

    // --- following the game ---

    fn hello(message: &Json) -> Game {
        let seed = message["bot_seed"].text().to_string();
        Game {
            rules: message["ruleset"].clone(),
            limits: message["limits"].clone(),
            match_: message["match"].clone(),
            random: Random::new(&seed),
            bot_seed: seed,
            ..Game::default()
        }
    }

    fn begin(&mut self, message: &Json, handles: Vec<String>) {
        for player in self.players.drain(..) {
            self.histories.push((player.handle, player.history));
        }
        self.game_seed = message["game_seed"].text().to_string();
        if !self.game_seed.is_empty() {
            self.random = Random::new(&self.game_seed);
        }
        self.hand = texts(&message["you"]["cards"]);
        self.drew.clear();
        self.deck.clear();
        self.winner = None;
        self.survivors.clear();
        for (seat, handle) in handles.into_iter().enumerate() {
            let known = self.histories.iter().position(|(known, _)| *known == handle);
            let history = known.map(|place| self.histories.swap_remove(place).1).unwrap_or_default();
            self.players.push(Player { seat, handle, history, ..Player::default() });
        }
        self.take(message);
    }

    /// Take in what a request, or game_start, says.
    fn take(&mut self, message: &Json) {
        let (state, you, pending, claim) = (&message["state"], &message["you"], &message["pending"], &message["claim"]);
        self.request = message.clone();
        self.kind = message["kind"].text().to_string();
        self.number = message["game"].int();
        self.turn = state["turn"].int();
        self.actor = state["actor"].seat().unwrap_or(0);
        self.seat = you["seat"].seat().unwrap_or(0);
        self.cards = texts(&you["cards"]);
        self.drawn = texts(&you["drawn"]);
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
        for (player, told) in self.players.iter_mut().zip(state["players"].list()) {
            player.coins = told["coins"].int();
            player.influence = told["influence"].seat().unwrap_or(0);
            player.revealed = texts(&told["revealed"]);
            player.allegiance = told["allegiance"].text().to_string();
        }
    }

    /// Remember your hand, and the card of another that you look at, for the events to come.
    fn remember(&mut self) {
        self.hand = self.cards.clone();
        self.drew = self.drawn.clone();
        self.deck = without(&self.deck, &self.drew);
        let target = self.pending.as_ref().and_then(|pending| pending.target);
        if let (Some(seen), Some(target)) = (&self.seen, target) {
            if let Some(player) = self.players.get_mut(target) {
                player.knows(seen);
            }
        }
    }

    fn follow(&mut self, event: &Json) {
        let role = event["role"].text();
        match event["event"].text() {
            "action" => {
                if let (Some(claim), Some(player)) = (event["claim"].as_text(), self.at(&event["seat"])) {
                    player.claims.add(claim);
                    player.history.claimed += 1;
                }
            }
            "block" => self.tell(&event["seat"], |player| {
                player.claims.add(role);
                player.blocks.add(role);
                player.history.claimed += 1;
                player.history.blocks += 1;
            }),
            "challenge" => {
                self.doubt = (event["seat"].seat().unwrap_or(usize::MAX), role.to_string());
                self.tell(&event["seat"], |player| player.history.challenges += 1);
                self.tell(&event["claimant"], |player| player.history.challenged += 1);
            }
            "shown" => {
                let kept = event["replaced"] == Json::Bool(false);
                self.tell(&event["seat"], |player| {
                    player.shown.add(role);
                    player.history.proven += 1;
                    if kept {
                        player.knows(role);
                    } else {
                        player.swaps(role);
                    }
                });
                if !kept {
                    self.swap(&event["seat"], &[role.to_string()], event, false);
                }
            }
            "shown_hand" => {
                let doubted = self.doubt.1.clone();
                self.tell(&event["seat"], |player| {
                    player.shown.add(&doubted);
                    player.history.proven += 1;
                    player.renewed();
                });
                self.swap(&event["seat"], &texts(&event["roles"]), event, false);
            }
            "unproven" => {
                let automatic = self.rules["prove"].text() == "automatic";
                let declined = !automatic && self.rules["embezzle_concede"] != Json::Bool(false);
                self.tell(&event["seat"], |player| {
                    player.caught.add(role);
                    player.claims.remove(role);
                    player.history.caught += 1;
                    match role.strip_prefix("not_") {
                        Some(held) if !declined => player.knows(held),
                        None if automatic && count(&player.lacks, role) == 0 => player.lacks.push(role.to_string()),
                        _ => {}
                    }
                });
                let doubter = self.doubt.0;
                if let Some(player) = self.players.get_mut(doubter) {
                    player.history.won_challenges += 1;
                }
            }
            "lost" => {
                self.tell(&event["seat"], |player| player.forgets(role));
                if event["seat"].seat() == Some(self.seat) {
                    self.hand = without(&self.hand, &[role.to_string()]);
                }
            }
            "drafted" if !event["cards"].is_null() => self.hand = texts(&event["cards"]),
            "exchanged" => {
                self.tell(&event["seat"], Player::renewed);
                if event["cards"].is_null() || self.drew.is_empty() {
                    self.thin(event["count"].seat().unwrap_or(0));
                } else {
                    let kept = texts(&event["cards"]);
                    self.hand.append(&mut self.drew);
                    self.deck.extend(without(&self.hand, &kept));
                    self.hand = kept;
                }
            }
            "forfeit" => self.tell(&event["seat"], Player::renewed),
            "examined" => match (event["replaced"].is_true(), role) {
                (true, "") => {
                    self.tell(&event["target"], Player::renewed);
                    self.thin(1);
                }
                (true, _) => {
                    self.tell(&event["target"], |player| player.swaps(role)); // you know which card went
                    let draw_first = self.rules["examine_replace"].text() == "draw_first";
                    self.swap(&event["target"], &[role.to_string()], event, draw_first);
                }
                (false, "") => {}
                (false, _) => self.tell(&event["target"], |player| player.knows(role)),
            },
            _ => {}
        }
    }

    /// Cards go from a seat to the deck, and as many come from it.
    fn swap(&mut self, seat: &Json, back: &[String], event: &Json, draw_first: bool) {
        if !draw_first {
            self.deck.extend_from_slice(back);
        }
        if seat.seat() == Some(self.seat) && !event["cards"].is_null() {
            let cards = texts(&event["cards"]);
            let came = without(&cards, &without(&self.hand, back));
            self.deck = without(&self.deck, &came);
            self.hand = cards;
        } else {
            self.thin(back.len());
        }
        if draw_first {
            self.deck.extend_from_slice(back);
        }
    }

    /// Somebody drew cards that you don't see: of each role as many fewer are certain.
    fn thin(&mut self, drawn: usize) {
        let before = std::mem::take(&mut self.deck);
        for (place, role) in before.iter().enumerate() {
            if count(&before[..place], role) >= drawn {
                self.deck.push(role.clone());
            }
        }
    }

    /// Make the table that the last events of a game leave.
    fn end(&mut self, message: &Json) {
        for event in message["events"].list() {
            match event["event"].text() {
                "coins" => self.tell(&event["seat"], |player| player.coins += event["delta"].int()),
                "lost" => self.tell(&event["seat"], |player| {
                    player.influence = player.influence.saturating_sub(1);
                    player.revealed.push(event["role"].text().to_string());
                }),
                "forfeit" => self.tell(&event["seat"], |player| {
                    player.influence = 0;
                    player.revealed.extend(texts(&event["roles"]));
                }),
                "drafted" => self.tell(&event["seat"], |player| player.influence = 2),
                "converted" => self.tell(&event["target"], |player| {
                    player.allegiance = event["allegiance"].text().to_string();
                }),
                "allegiances" => {
                    for (player, side) in self.players.iter_mut().zip(event["sides"].list()) {
                        player.allegiance = side.text().to_string();
                    }
                }
                _ => {}
            }
        }
        self.kind.clear();
        self.legal.clear();
        self.drawn.clear();
        self.seen = None;
        self.cards = if self.me().alive() { self.hand.clone() } else { Vec::new() };
        self.cards.sort();
    }

    fn at(&mut self, seat: &Json) -> Option<&mut Player> {
        seat.seat().and_then(|seat| self.players.get_mut(seat))
    }

    fn tell(&mut self, seat: &Json, what: impl FnOnce(&mut Player)) {
        if let Some(player) = self.at(seat) {
            what(player);
        }
    }
}

fn texts(list: &Json) -> Vec<String> {
    list.list().iter().map(|each| each.text().to_string()).collect()
}

fn count(cards: &[String], role: &str) -> usize {
    cards.iter().filter(|card| *card == role).count()
}

/// The cards that are left where some are taken, as far as they are there.
fn without(cards: &[String], gone: &[String]) -> Vec<String> {
    let mut left = cards.to_vec();
    for role in gone {
        if let Some(place) = left.iter().position(|card| card == role) {
            left.remove(place);
        }
    }
    left
}

fn legal_move((index, raw): (usize, &Json)) -> Move {
    let mut made = Move { index, raw: raw.clone(), target: raw["target"].seat(), ..Move::default() };
    if let Some(action) = raw["action"].as_text() {
        made.word = action.to_string();
    } else if let Some((key, value)) = raw.entries().first() {
        made.word = key.clone();
        made.keep = texts(value);
        made.role = match value {
            Json::Bool(value) => value.to_string(),
            _ => value.text().to_string(),
        };
    }
    made
}

/// A generator of random numbers (SplitMix64), not for secrets.
#[derive(Clone, Debug, Default)]
pub struct Random(Cell<u64>);

impl Random {
    /// Seed it by a text.
    pub fn new(seed: &str) -> Random {
        let mixed = seed
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Random(Cell::new(mixed))
    }
    /// 64 random bits.
    pub fn bits(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// 0 or more, less than 1.
    pub fn float(&self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
    /// 0 to below - 1; 0 if below is 0.
    pub fn below(&self, below: usize) -> usize {
        ((u128::from(self.bits()) * below as u128) >> 64) as usize
    }
}

// --- the conversation ------------------------------------------------------------------------------------------------

/// Play: read the arena's lines from standard input and answer them, until the match is over. Doesn't return.
pub fn run<B: Bot>(bot: B) -> ! {
    let mut talk = Talk::new(bot);
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => std::process::exit(0),
            Ok(_) => {}
        }
        if let Some(mut answer) = talk.reply(&line) {
            answer.push('\n');
            let mut output = io::stdout().lock();
            if output.write_all(answer.as_bytes()).and_then(|()| output.flush()).is_err() {
                std::process::exit(0); // the arena has gone
            }
        }
        if let Some(code) = talk.ended {
            std::process::exit(code);
        }
    }
}

/// A conversation with the arena, line by line; `run` carries it over the pipes, your tests need none.
pub struct Talk<B: Bot> {
    pub bot: B,
    pub game: Game,
    /// The exit code, once the conversation is over: 0 after `match_over`, 1 after a panic.
    pub ended: Option<i32>,
}

impl<B: Bot> Talk<B> {
    /// Begin with the first line still to come.
    pub fn new(bot: B) -> Talk<B> {
        Talk { bot, game: Game::default(), ended: None }
    }

    /// Take in a line of the arena, and return the answer, without a newline; None where it wants none.
    pub fn reply(&mut self, line: &[u8]) -> Option<String> {
        let message = match Json::parse(line) {
            Ok(message) => message,
            Err(problem) => {
                if !line.iter().all(u8::is_ascii_whitespace) {
                    log(format!("coup_kit: a line of the arena can't be read: {}", problem));
                }
                return None;
            }
        };
        match message["type"].text() {
            "hello" => {
                self.game = Game::hello(&message);
                self.notify("match_start", &message, B::match_start);
                return if self.ended.is_none() { Some(self.hello()) } else { None };
            }
            "request" => return self.request(&message),
            "game_start" => {
                self.game.begin(&message, texts(&message["players"]));
                self.notify("game_start", &message, B::game_start);
            }
            "game_over" => {
                self.events(&message);
                self.game.end(&message);
                self.game.winner = message["winner"].seat();
                self.game.survivors = message["survivors"].list().iter().filter_map(Json::seat).collect();
                self.notify("game_over", &message, B::game_over);
            }
            "error" => self.notify("fault", &message, |bot, game| bot.fault(game, &message)),
            "match_over" => {
                self.notify("match_over", &message, B::match_over);
                self.ended = self.ended.or(Some(0));
            }
            _ => {}
        }
        None
    }

    fn hello(&self) -> String {
        let own = std::any::type_name::<B>().rsplit(':').next().unwrap_or("bot");
        let name = if self.bot.name().is_empty() { own } else { self.bot.name() };
        let mut fields = vec![("type".to_string(), Json::Text("hello".to_string()))];
        for (key, value) in [("name", name), ("version", self.bot.version())] {
            if !value.is_empty() {
                fields.push((key.to_string(), Json::Text(value.chars().take(64).collect())));
            }
        }
        Json::Object(fields).to_string()
    }

    fn request(&mut self, message: &Json) -> Option<String> {
        let seats = message["state"]["players"].list().len();
        if self.game.players.len() != seats {
            self.game.begin(message, (0..seats).map(|seat| seat.to_string()).collect());
        // no game_start came
        } else {
            self.game.take(message);
        }
        self.events(message);
        self.game.remember(); // after the events, which may tell of an earlier card of that player
        if self.ended.is_some() {
            return None;
        }
        let (bot, game) = (&mut self.bot, &self.game);
        let (method, ask): (&str, fn(&mut B, &Game) -> usize) = match game.kind.as_str() {
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
        let moves = game.legal.len();
        let choice = match panic::catch_unwind(AssertUnwindSafe(|| ask(bot, game))) {
            Ok(choice) if choice < moves.max(1) => choice,
            Ok(choice) => {
                log(format!("{}() returned {}, and game.legal has {} moves", method, choice, moves));
                self.failed(method, message);
                0
            }
            Err(_) => {
                self.failed(method, message);
                0
            }
        };
        if self.ended.is_some() {
            return None;
        }
        let words: Vec<String> = self.game.words.borrow_mut().drain(..).collect();
        let say = if words.is_empty() { String::new() } else { format!(",\"say\":[{}]", words.join(",")) };
        Some(format!("{{\"id\":{},\"choice\":{}{}}}", message["id"], choice, say))
    }

    fn events(&mut self, message: &Json) {
        for event in message["events"].list() {
            self.game.follow(event);
            self.notify("event", message, |bot, game| bot.event(game, event));
        }
    }

    fn notify(&mut self, method: &str, message: &Json, call: impl FnOnce(&mut B, &Game)) {
        let (bot, game) = (&mut self.bot, &self.game);
        if self.ended.is_none() && panic::catch_unwind(AssertUnwindSafe(|| call(bot, game))).is_err() {
            self.failed(method, message);
        }
    }

    /// Say where a method failed, after Rust said how; the conversation is over unless the bot is careful.
    fn failed(&mut self, method: &str, message: &Json) {
        let mut place = message["type"].text().to_string();
        if place == "request" {
            place += &format!(
                " {}: {}, game {}, turn {}, legal {}",
                message["id"],
                message["kind"].text(),
                message["game"],
                message["state"]["turn"],
                message["legal"]
            );
        }
        let own = std::any::type_name::<B>().rsplit(':').next().unwrap_or("bot");
        log(format!("coup_kit: {}.{} failed at {}", own, method, place));
        if !self.bot.careful() {
            self.ended = Some(1);
        }
    }
}

// --- JSON ------------------------------------------------------------------------------------------------------------

/// A value of JSON. `json["key"]` and `json[2]` never fail: what isn't there is Null.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    /// In the order of the line.
    Object(Vec<(String, Json)>),
}

static NULL: Json = Json::Null;

const DEEPEST: usize = 128; // the arena promises 32 levels

impl Json {
    /// Parse a line. The error says what is wrong and at which byte.
    pub fn parse(line: &[u8]) -> Result<Json, String> {
        let mut parser = Parser { bytes: line, at: 0 };
        let value = parser.value(0)?;
        parser.blank();
        if parser.at < line.len() {
            return Err(parser.wrong("something follows"));
        }
        Ok(value)
    }
    /// A text, None for anything else.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }
    /// A text, "" for anything else.
    pub fn text(&self) -> &str {
        self.as_text().unwrap_or("")
    }
    /// A whole number, 0 for anything else.
    pub fn int(&self) -> i64 {
        match self {
            Json::Int(number) => *number,
            Json::Float(number) => *number as i64,
            _ => 0,
        }
    }
    /// A number, 0 for anything else.
    pub fn float(&self) -> f64 {
        match self {
            Json::Int(number) => *number as f64,
            Json::Float(number) => *number,
            _ => 0.0,
        }
    }
    /// A seat, or another number that isn't negative; None for anything else.
    pub fn seat(&self) -> Option<usize> {
        match self {
            Json::Int(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }
    /// Whether it is true.
    pub fn is_true(&self) -> bool {
        *self == Json::Bool(true)
    }
    /// Whether it is null, or isn't there.
    pub fn is_null(&self) -> bool {
        *self == Json::Null
    }
    /// The elements of a list; none of anything else.
    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(list) => list,
            _ => &[],
        }
    }
    /// The keys and values of an object; none of anything else.
    pub fn entries(&self) -> &[(String, Json)] {
        match self {
            Json::Object(entries) => entries,
            _ => &[],
        }
    }
}

impl Index<&str> for Json {
    type Output = Json;
    fn index(&self, key: &str) -> &Json {
        self.entries().iter().find(|(own, _)| own == key).map_or(&NULL, |(_, value)| value)
    }
}

impl Index<usize> for Json {
    type Output = Json;
    fn index(&self, place: usize) -> &Json {
        self.list().get(place).unwrap_or(&NULL)
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
            Json::Int(number) => write!(out, "{}", number),
            Json::Float(number) if number.is_finite() => write!(out, "{}", number),
            Json::Float(_) => out.write_str("null"), // JSON has no word for it
            Json::Text(text) => quoted(text, out),
            Json::List(list) => {
                out.write_str("[")?;
                for (place, each) in list.iter().enumerate() {
                    write!(out, "{}{}", if place > 0 { "," } else { "" }, each)?;
                }
                out.write_str("]")
            }
            Json::Object(entries) => {
                out.write_str("{")?;
                for (place, (key, value)) in entries.iter().enumerate() {
                    out.write_str(if place > 0 { "," } else { "" })?;
                    quoted(key, out)?;
                    write!(out, ":{}", value)?;
                }
                out.write_str("}")
            }
        }
    }
}

fn quoted(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            letter if (letter as u32) < 0x20 => write!(out, "\\u{:04x}", letter as u32)?,
            letter => write!(out, "{}", letter)?,
        }
    }
    out.write_str("\"")
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("{} at byte {}", what, self.at)
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0) // a NUL is wrong wherever it is looked for
    }

    fn blank(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.blank();
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, String> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.wrong("no value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(self.wrong("too many brackets"));
        }
        self.blank();
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => Ok(Json::Text(self.string()?)),
            b'n' => self.word("null", Json::Null),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut entries = Vec::new();
        self.at += 1;
        if self.take(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            self.blank();
            if self.peek() != b'"' {
                return Err(self.wrong("no key"));
            }
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.wrong("no colon"));
            }
            entries.push((key, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Json::Object(entries));
            }
            if !self.take(b',') {
                return Err(self.wrong("no end of an object"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        let mut list = Vec::new();
        self.at += 1;
        if self.take(b']') {
            return Ok(Json::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Json::List(list));
            }
            if !self.take(b',') {
                return Err(self.wrong("no end of an array"));
            }
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let rest = &self.bytes[self.at..];
        let length =
            rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')).count();
        let text = std::str::from_utf8(&rest[..length]).unwrap_or("");
        let value = match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => Json::Int(number),
            (_, Ok(number)) => Json::Float(number),
            _ => return Err(self.wrong("no value")),
        };
        self.at += length;
        Ok(value)
    }

    fn string(&mut self) -> Result<String, String> {
        let mut bytes = Vec::new();
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or(&[]);
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count();
            bytes.extend_from_slice(&rest[..plain]);
            self.at += plain + 1;
            match rest.get(plain) {
                Some(b'"') => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Some(_) => {
                    let letter = self.escape()?;
                    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                None => return Err(self.wrong("no end of a string")),
            }
        }
    }

    /// Read what stands behind a backslash. Half of a surrogate pair becomes the replacement character.
    fn escape(&mut self) -> Result<char, String> {
        let byte = self.peek();
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.four()?;
                let mut code = high;
                if (0xd800..0xdc00).contains(&high) && self.bytes[self.at..].starts_with(b"\\u") {
                    let back = self.at;
                    self.at += 2;
                    let low = self.four()?;
                    if (0xdc00..0xe000).contains(&low) {
                        code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    } else {
                        self.at = back;
                    }
                }
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(self.wrong("no escape")),
        })
    }

    fn four(&mut self) -> Result<u32, String> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or(&[]);
        let mut code = 0;
        for digit in digits {
            code = code * 16 + char::from(*digit).to_digit(16).ok_or_else(|| self.wrong("no digit"))?;
        }
        if digits.is_empty() {
            return Err(self.wrong("no digits"));
        }
        self.at += 4;
        Ok(code)
    }
}
