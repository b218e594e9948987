//! A bot to start with: it never bluffs, and challenges only claims that are very unlikely.
//!
//! The starters in all languages make the same choices:
//!
//! turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
//!             Attacks target the opponent with most cards, then most coins; steals the richest, with at least 1 coin.
//!             Skip attacks on opponents that blocked them in this game, and foreign aid while its blocker lives.
//! challenge   Challenge if the probability that the claimant holds the role is below DOUBT.
//! block       Block with the first role of `legal` that we hold.
//! lose        Lose the card with the lowest value.
//! exchange    Keep the cards with the highest value; a second card of the same role adds less.
//! others      Play the first legal move: show the card, have it replaced, hand back the examined card ...
//!
//! Ties go to the first move in `legal`.

mod coup_kit;

use coup_kit::{Bot, Game, Move};
use std::cmp::Reverse;

const DOUBT: f64 = 0.22;
const SECOND_COPY: i64 = 4; // a second card of a role is worth this much less

/// Return the roles of which an action claims one.
fn roles(action: &str) -> &'static [&'static str] {
    match action {
        "assassinate" => &["assassin"],
        "tax" => &["duke"],
        "steal" => &["captain"],
        "exchange" => &["ambassador", "inquisitor"],
        _ => &[],
    }
}

/// Return the roles that block an action.
fn blockers(action: &str) -> &'static [&'static str] {
    match action {
        "assassinate" => &["contessa"],
        "steal" => &["captain", "ambassador", "inquisitor"],
        "foreign_aid" => &["duke"],
        _ => &[],
    }
}

fn value(card: &str) -> i64 {
    match card {
        "captain" => 10,
        "duke" => 9,
        "assassin" => 8,
        "ambassador" | "inquisitor" => 5,
        _ => 4,
    }
}

/// Return the value of a hand.
fn worth(cards: &[String]) -> i64 {
    let second = |place: usize| cards[..place].contains(&cards[place]);
    let copies = (0..cards.len()).filter(|place| second(*place)).count() as i64;
    cards.iter().map(|card| value(card)).sum::<i64>() - SECOND_COPY * copies
}

/// Return the index of the move with the highest key, if any; ties go to the first.
fn best<K: Ord>(moves: &[&Move], key: impl Fn(&Move) -> K) -> Option<usize> {
    moves.iter().min_by_key(|found| Reverse(key(found))).map(|found| found.index)
}

struct MyBot;

impl MyBot {
    /// Return the legal moves of an action if we hold its role, without those that were blocked in this game.
    fn honest<'a>(&self, game: &'a Game, action: &str) -> Vec<&'a Move> {
        let claimed = roles(action);
        if !claimed.is_empty() && !claimed.iter().any(|role| game.holds(role)) {
            return Vec::new();
        }
        let blocked = |seat: usize| blockers(action).iter().any(|role| game.player(seat).blocks.of(role) > 0);
        if action == "foreign_aid" && game.opponents().iter().any(|player| blocked(player.seat)) {
            return Vec::new();
        }
        game.moves(action).into_iter().filter(|found| !found.target.into_iter().any(blocked)).collect()
    }
}

impl Bot for MyBot {
    fn turn(&mut self, game: &Game) -> usize {
        let target = |found: &Move| game.player(found.target.unwrap_or(game.seat));
        let coins = |found: &Move| target(found).coins;
        let strength = |found: &Move| (target(found).influence, target(found).coins);

        let mut steals = self.honest(game, "steal");
        steals.retain(|found| coins(found) > 0);
        best(&game.moves("coup"), strength)
            .or_else(|| best(&self.honest(game, "assassinate"), strength))
            .or_else(|| best(&self.honest(game, "tax"), coins))
            .or_else(|| best(&steals, coins))
            .or_else(|| best(&self.honest(game, "exchange"), coins))
            .or_else(|| best(&self.honest(game, "foreign_aid"), coins))
            .unwrap_or(0)
    }

    fn challenge(&mut self, game: &Game) -> usize {
        let doubtful = game.claim.iter().any(|claim| game.odds(claim.seat, &claim.role) < DOUBT);
        if doubtful {
            game.find("challenge").unwrap_or(0)
        } else {
            0
        }
    }

    fn block(&mut self, game: &Game) -> usize {
        game.moves("block").iter().find(|found| game.holds(&found.role)).map_or(0, |found| found.index)
    }

    fn lose(&mut self, game: &Game) -> usize {
        best(&game.moves("lose"), |found| -value(&found.role)).unwrap_or(0)
    }

    fn exchange(&mut self, game: &Game) -> usize {
        best(&game.moves("keep"), |found| worth(&found.keep)).unwrap_or(0)
    }
}

fn main() {
    coup_kit::run(MyBot)
}

/// Tests of the bot's choices, without the arena.
#[cfg(test)]
mod tests {
    use super::coup_kit::Talk;
    use super::MyBot;

    const HELLO: &str = r#"{"type":"hello","bot_seed":"5f1c","ruleset":{"deck":
        {"ambassador":3,"assassin":3,"captain":3,"contessa":3,"duke":3}}}"#;
    const TURN: &str = r#""kind":"turn","legal":[{"action":"income"},{"action":"tax"},
        {"action":"steal","target":1},{"action":"steal","target":2}]"#;
    const CLAIM: &str = r#""kind":"challenge","claim":{"seat":1,"role":"duke","block":false},
        "legal":[{"pass":true},{"challenge":true}]"#;

    /// Start a game of three players as seat 0, and return the bot's answer. `lost`: a lost card of seat 2.
    fn ask(request: &str, cards: &str, lost: &str) -> String {
        let now = format!(
            r#""game":0,"you":{{"seat":0,"cards":[{}]}},"state":{{"turn":1,"actor":0,"deck":9,"players":[
            {{"coins":2,"influence":2,"revealed":[]}},{{"coins":2,"influence":2,"revealed":[]}},
            {{"coins":5,"influence":{},"revealed":[{}]}}]}}"#,
            cards,
            if lost.is_empty() { 2 } else { 1 },
            lost
        );
        let mut talk = Talk::new(MyBot);
        talk.reply(HELLO.as_bytes());
        talk.reply(format!(r#"{{"type":"game_start","seat":0,"players":["A","B","C"],{}}}"#, now).as_bytes());
        let line = format!(r#"{{"type":"request","id":1,"events":[],{},{}}}"#, request, now);
        talk.reply(line.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn it_taxes_with_a_duke_and_not_without() {
        assert_eq!(ask(TURN, r#""contessa","duke""#, ""), r#"{"id":1,"choice":1}"#);
        assert_eq!(ask(TURN, r#""contessa","contessa""#, ""), r#"{"id":1,"choice":0}"#);
    }

    #[test]
    fn it_steals_from_the_richest() {
        assert_eq!(ask(TURN, r#""captain","contessa""#, ""), r#"{"id":1,"choice":3}"#);
    }

    #[test]
    fn it_challenges_only_what_is_very_unlikely() {
        assert_eq!(ask(CLAIM, r#""captain","contessa""#, ""), r#"{"id":1,"choice":0}"#);
        assert_eq!(ask(CLAIM, r#""duke","duke""#, r#""duke""#), r#"{"id":1,"choice":1}"#);
    }
}
