//! Writes what the kit reckons, or fails: by the word that it is given. ../README.md says what a probe does.

mod coup_kit;

use coup_kit::{Bot, Game, Json, Player};

const ROLES: [&str; 7] = ["ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"];

macro_rules! each {
    ($call:ident: $($method:ident)*) => { $(fn $method(&mut self, game: &Game) -> usize { $call(game) })* };
}

/// Writes the odds of each seat at each request, and at the end of a game its cards and who has how many.
struct Reckoner;

fn reckon(game: &Game) -> usize {
    let odds = |player: &Player| -> String {
        let odds = ROLES.iter().map(|role| format!(r#""{}":{}"#, role, game.odds(player.seat, role)));
        let opponent = game.opponents().iter().any(|opponent| opponent.seat == player.seat);
        format!(r#"{{{},"opponent":{}}}"#, odds.collect::<Vec<String>>().join(","), opponent)
    };
    coup_kit::log(format!("[{}]", game.players.iter().map(odds).collect::<Vec<String>>().join(",")));
    0
}

impl Bot for Reckoner {
    each!(reckon: turn challenge block prove lose exchange keep_shown examine_show examine_decide draft allegiance other);

    fn game_over(&mut self, game: &Game) {
        let influence: Vec<usize> = game.players.iter().map(|player| player.influence).collect();
        coup_kit::log(format!(r#"{{"cards":{:?},"influence":{:?}}}"#, game.cards, influence));
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
    fn turn(&mut self, game: &Game) -> usize {
        game.find("assasinate").unwrap_or(0)
    }

    fn careful(&self) -> bool {
        self.careful
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("odds") => coup_kit::run(Reckoner),
        Some("say") => coup_kit::run(Speaker),
        Some("roll") => coup_kit::run(Roller),
        word => coup_kit::run(Failing { careful: word == Some("careful") }),
    }
}
