"""Write three Parquet files of a run, and print three tables of them. Usage: python analyze_run.py RUN"""

import sys

import duckdb

run = sys.argv[1]
duckdb.sql(f"""
create table lines as from read_json('{run}/records/*.jsonl', filename = true, columns = {{
    match: 'int', bots: 'varchar[]', game: 'int', seats: 'int[]', start: 'struct(hands varchar[][])',
    winner: 'int', moves: 'varchar', "by": 'varchar', times_us: 'bigint[]'}});

-- A record has a header with the number of the match, one line for each game, and a last line.
create table games as
    select header.match, line.game, list_transform(line.seats, lambda bot: header.bots[bot + 1]) as bots,
        line.start.hands, line.winner, string_split(line.moves, ' ') as moves,
        list_transform(string_split(line."by", ''), lambda digit: digit::int) as seats, line.times_us
    from lines as line join lines as header using (filename)
    where line.game is not null and header.match is not null;

create table moves as
    select match, game, step, seat, bots[seat + 1] as bot, move, us
    from (select match, game, bots, unnest(range(len(moves))) as step, unnest(seats) as seat,
        unnest(moves) as move, unnest(times_us) as us from games);

copy (from read_json('{run}/results.jsonl')) to 'results.parquet';
copy (from games order by match, game) to 'games.parquet';
copy (from moves order by match, game, step) to 'moves.parquet';
""")

print("how often each seat wins; a draw has no winner")
duckdb.sql("""
select seat, count(*) as games, round(avg(coalesce(winner = seat, false)::int), 3) as won
from (select winner, unnest(range(len(seats))) as seat from 'results.parquet') group by seat order by seat
""").show()
print("how often a hand wins that began with the card")
duckdb.sql("""
select card, count(*) as hands, round(avg(coalesce(winner = seat, false)::int), 3) as won
from (select winner, unnest(range(len(hands))) as seat, unnest(hands) as hand from 'games.parquet'),
    unnest(list_distinct(hand)) as held(card) group by card order by won desc
""").show()
print("how often each bot challenges, of its moves")
duckdb.sql("""
select bot, count(*) as moves, count(*) filter (move = '!') as challenges
from 'moves.parquet' group by bot order by bot
""").show()
