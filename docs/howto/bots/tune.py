"""Search for good values of DOUBT and BLUFF of the bot in the folder `new`; tune-parameters.md explains it."""

import re
from pathlib import Path

import bot
import optuna

from arena.local import play

FIELD = ["sample:honest", "sample:counter", "sample:opportunist"]
TRIALS, GAMES = 60, 240


def win_rate(numbers, games, seed):
    bot.DOUBT, bot.BLUFF = numbers["DOUBT"], numbers["BLUFF"]
    return play([bot.MyBot, *FIELD], games=games, seed=seed).win_rates["MyBot"]


def objective(trial):
    numbers = {"DOUBT": trial.suggest_float("DOUBT", 0, 0.5), "BLUFF": trial.suggest_float("BLUFF", 0, 1)}
    return win_rate(numbers, GAMES, seed=trial.number).value


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(objective, n_trials=TRIALS)

best = sorted(study.trials, key=lambda trial: -trial.value)[:5]
fresh = {trial.number: win_rate(trial.params, 5 * GAMES, seed=1000) for trial in best}
for trial in best:
    numbers = ", ".join(f"{name} {value:.2f}" for name, value in trial.params.items())
    print(f"trial {trial.number}: {100 * trial.value:.1f} % in its trial, {fresh[trial.number]} afresh: {numbers}")

chosen = max(best, key=lambda trial: fresh[trial.number].value)
text = Path("new/bot.py").read_text()
for name, value in chosen.params.items():
    text = re.sub(rf"^{name} = [0-9.]+", f"{name} = {value:.2f}", text, flags=re.MULTILINE)
Path("new/bot.py").write_text(text)
