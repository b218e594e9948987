//! Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does.

mod coup_kit;

use coup_kit::{Bot, Counts, Game, Json, Player};

const ROLES: [&str; 7] = ["ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"];

macro_rules! each {
    ($call:ident: $($method:ident)*) => { $(fn $method(&mut self, game: &Game) -> usize { $call(game) })* };
}

/// Writes at each request and at the end of a game what cases.jsonl asks for.
struct Knower;

fn know(game: &Game) -> usize {
    let each = |what: &dyn Fn(&Player) -> String| -> String {
        game.players.iter().map(what).collect::<Vec<String>>().join(",")
    };
    let counts = |counts: &Counts| -> String {
        let counted: Vec<String> = counts.iter().map(|(role, count)| format!(r#""{}":{}"#, role, count)).collect();
        format!("{{{}}}", counted.join(","))
    };
    let odds = |player: &Player| -> String {
        let odds = ROLES.iter().map(|role| format!(r#""{}":{}"#, role, game.odds(player.seat, role)));
        format!("{{{}}}", odds.collect::<Vec<String>>().join(","))
    };
    let fields = [
        ("claims", each(&|player| counts(&player.claims))),
        ("caught", each(&|player| counts(&player.caught))),
        ("shown", each(&|player| counts(&player.shown))),
        ("blocks", each(&|player| counts(&player.blocks))),
        ("known", each(&|player| format!("{:?}", player.known))),
        ("alive", each(&|player| player.alive().to_string())),
        ("influence", each(&|player| player.influence.to_string())),
        ("coins", each(&|player| player.coins.to_string())),
        ("revealed", each(&|player| format!("{:?}", player.revealed))),
        ("odds", each(&odds)),
    ];
    let told: String = fields.iter().map(|(name, values)| format!(r#""{}":[{}],"#, name, values)).collect();
    coup_kit::log(format!(r#"{{{}"cards":{:?}}}"#, told, game.cards));
    0
}

impl Bot for Knower {
    each!(know: turn challenge block prove lose exchange keep_shown examine_show examine_decide draft allegiance other);

    fn game_over(&mut self, game: &Game) {
        know(game);
    }
}

/// Speaks at each turn, and listens.
struct Speaker;

impl Bot for Speaker {
    fn turn(&mut self, game: &Game) -> usize {
        game.say("hold", "duke");
        game.say_at("spare", 1);
        game.say_of("doubt", "duke", 1);
        game.say("text", "Zo\u{eb} says \"\\ \u{1f3b2}\"");
        0
    }

    fn event(&mut self, _game: &Game, event: &Json) {
        if event["event"].text() == "say" {
            coup_kit::log(event["says"].text());
        }
    }
}

/// Rolls the kit's dice at each turn.
struct Roller;

impl Bot for Roller {
    fn turn(&mut self, game: &Game) -> usize {
        coup_kit::log(game.random.float().to_string());
        0
    }
}

/// Fails at each turn.
struct Failing {
    careful: bool,
}

impl Bot for Failing {
    fn turn(&mut self, _game: &Game) -> usize {
        panic!("on purpose");
    }

    fn careful(&self) -> bool {
        self.careful
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("know") => coup_kit::run(Knower),
        Some("say") => coup_kit::run(Speaker),
        Some("roll") => coup_kit::run(Roller),
        word => coup_kit::run(Failing { careful: word == Some("careful") }),
    }
}
