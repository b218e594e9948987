/* The Python module: `Games`, whose methods read and write the caller's arrays. Everything that comes from Python is checked
here, so that the other files can rely on it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "game.h"

typedef struct { PyObject_HEAD Batch b; } Games;

/* The caller's arrays; each has a row for each game. */
enum { OBSERVATIONS, MASKS, PLAYERS, WHO, REWARDS, TERMINATED, TRUNCATED, RETURNS, HAS_RETURNS, FINAL, N_ARRAYS };
typedef struct {
    Py_buffer views[N_ARRAYS];
    int held;
    int16_t *observations, *final;
    int8_t *masks, *terminated, *truncated, *has_returns;
    int64_t *players, *who;
    double *rewards, *returns;
} Arrays;

static PyObject *refuse(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

/* Copy up to `most` numbers of int16 from a buffer; return how many, -1 with an exception. */
static Py_ssize_t read_numbers(PyObject *from, int16_t *to, Py_ssize_t most) {
    Py_buffer view;
    if (PyErr_Occurred() || PyObject_GetBuffer(from, &view, PyBUF_C_CONTIGUOUS) < 0) return -1;
    Py_ssize_t bytes = view.len;
    if (bytes % 2 || bytes / 2 > most) refuse("a table has too many numbers"), bytes = -2;
    else memcpy(to, view.buf, (size_t)bytes);
    PyBuffer_Release(&view);
    return bytes / 2;
}

static bool within(int number, int low, int high) { return low <= number && number <= high; }

/* Check all tables, and fill `find`; return why they are refused. */
static const char *check_tables(Batch *b, int n_rows, int n_moves, int n_values) {
    const Rules *rules = &b->rules;
    const int16_t *places = (const int16_t *)&b->places;
    bool examines = false, forced = false, free = false;
    b->n_rows = n_rows, b->actions = n_moves;
    if (!within(b->seats, 2, SEATS) || b->games < 1 || b->games > 1 << 24) return "seats or games";
    if (rules->copies != COPIES || !within(rules->draw, 1, 2) || !within(rules->start_coins, 0, 100)) return "rules";
    if (!within(rules->starter_coins, 0, 100) || !within(rules->forced_coup, 1, 100) || rules->turn_limit < 1) return "rules";
    if (n_values != ROLES || !within(b->row_numbers, 1, ROW_NUMBERS) || !within(b->secret_numbers, 1, SECRET_NUMBERS)) return "sizes";
    if (b->numbers != b->places.known + b->seats * b->secret_numbers) return "the place of known";
    if (b->places.known != b->places.coins + b->seats * b->row_numbers || b->places.coins > INT8_MAX) return "the place of coins";
    for (int i = 0; i < (int)(sizeof b->places / sizeof *places); i++) {
        bool in_head = &places[i] < &b->places.coins, secret = &places[i] >= &b->places.known;
        int low = in_head ? 0 : secret ? b->places.known : b->places.coins;
        int high = in_head ? b->places.coins : low + (secret ? b->secret_numbers : b->row_numbers);
        bool single = in_head ? &places[i] < &b->places.claim || (&places[i] > &b->places.claim && &places[i] < &b->places.cards)
                              : !(secret || &places[i] == &b->places.revealed ||
                                  (&places[i] >= &b->places.claimed && &places[i] <= &b->places.caught));
        if (!within(places[i], low, high - (single ? 1 : ROLES))) return "a place";
    }
    memset(b->find, -1, sizeof b->find);
    for (int at = 0; at < n_moves; at++) {
        Move move = b->moves[at];
        if (!within(move.verb, 0, N_VERBS - 1) || !within(move.a, 0, move.verb == TO_act ? n_rows - 1 : ROLES - 1) ||
            !within(move.b, -1, SEATS - 1))
            return "a move";
        b->find[move.verb][move.a][move.b + 1] = (int16_t)at;
    }
    const int16_t(*find)[ROWS][SEATS + 1] = b->find;
    bool found = find[TO_pass][0][1] >= 0 && find[TO_challenge][0][1] >= 0 && find[TO_decline][0][1] >= 0;
    for (int at = 0; at < n_rows; at++) {
        const Row *row = &b->rows[at];
        if (!within(row->effect, 0, N_EFFECTS - 1) || !within(row->cost, 0, 100) || !within(row->gain, 0, 100) ||
            !within(row->targeted, 0, 1) || !within(row->claim, -1, ROLES - 1) || !within(row->block_roles, 0, 31) ||
            !within(row->shown_at, 0, b->places.coins - 1) || !within(row->reason_at, 0, b->places.coins - 1) ||
            (row->forced && row->cost > rules->forced_coup) || ((row->effect == EFFECT_steal || row->effect == EFFECT_hit || row->effect == EFFECT_examine) && !row->targeted))
            return "a row of the action table";
        examines |= row->effect == EFFECT_examine;
        forced |= row->forced, free |= !row->cost && !row->targeted;  /* so that every turn has a move */
        for (int step = row->targeted; step < (row->targeted ? b->seats : 1); step++) found &= find[TO_act][at][step + 1] >= 0;
        for (int role = 0; role < ROLES; role++) found &= !(row->block_roles >> role & 1) || find[TO_block][role][1] >= 0;
    }
    for (int role = 0; role < ROLES; role++) {
        found &= find[TO_lose][role][1] >= 0 && find[TO_show][role][1] >= 0 && find[TO_keep][role][0] >= 0;
        found &= !examines || find[TO_reveal][role][1] >= 0;
        for (int other = role; other < ROLES; other++) found &= find[TO_keep][role][other + 1] >= 0;
    }
    found &= !examines || (find[TO_hand_back][0][1] >= 0 && find[TO_force_swap][0][1] >= 0);
    return found && forced && free ? NULL : "the moves: some are missing";
}

static PyObject *games_new(PyTypeObject *type, PyObject *args, PyObject *options) {
    static char *names[] = {"games", "seats", "facts", "row_numbers", "secret_numbers", "numbers", "rules", "rows", "moves",
        "places", "values", "roster", NULL};
    PyObject *rules, *rows, *moves, *places, *values, *roster;
    Batch b = {0};
    int16_t who[64], rules_size = sizeof b.rules / 2, places_size = sizeof b.places / 2;
    if (!PyArg_ParseTupleAndKeywords(args, options, "LipiiiOOOOOO", names, &b.games, &b.seats, &b.facts, &b.row_numbers,
            &b.secret_numbers, &b.numbers, &rules, &rows, &moves, &places, &values, &roster))
        return NULL;
    Py_ssize_t n_rules = read_numbers(rules, (int16_t *)&b.rules, rules_size), n_values = read_numbers(values, b.value, ROLES);
    Py_ssize_t n_rows = read_numbers(rows, (int16_t *)b.rows, sizeof b.rows / 2), n_who = read_numbers(roster, who, 64);
    Py_ssize_t n_moves = read_numbers(moves, (int16_t *)b.moves, sizeof b.moves / 2);
    Py_ssize_t n_places = read_numbers(places, (int16_t *)&b.places, places_size);
    if (PyErr_Occurred()) return NULL;
    Py_ssize_t row_size = sizeof(Row) / 2;
    const char *problem = n_rules != rules_size || n_places != places_size || n_rows % row_size || n_moves % 3 ? "sizes of tables" : NULL;
    if (!problem) problem = check_tables(&b, (int)(n_rows / row_size), (int)(n_moves / 3), (int)n_values);
    b.opponents = (int)n_who;
    for (int i = 0; i < n_who && !problem; i++) {
        b.roster[i] = who[i];
        if (!within(who[i], RANDOM, 127)) problem = "the roster";
    }
    if (problem) return PyErr_Format(PyExc_ValueError, "invalid: %s", problem);
    b.lanes = b.facts ? lanes_for(b.seats) : 0;
    b.stride = (sizeof(Game) + 2 * (size_t)(b.seats * b.lanes) + 63) / 64 * 64;
    b.memory = PyMem_RawCalloc((size_t)b.games, b.stride);
    if (!b.memory) return PyErr_NoMemory();
    Games *self = (Games *)type->tp_alloc(type, 0);
    if (!self) {
        PyMem_RawFree(b.memory);
        return NULL;
    }
    self->b = b;
    return (PyObject *)self;
}

static void games_dealloc(Games *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyMem_RawFree(self->b.memory);
    type->tp_free(self);
    Py_DECREF(type);
}

static void release(Arrays *out) {
    while (out->held) PyBuffer_Release(&out->views[--out->held]);
}

/* Open the caller's arrays; false with an exception if one has a wrong size, is read-only or not contiguous. */
static bool open_arrays(const Batch *b, PyObject *from, Arrays *out) {
    const size_t items[N_ARRAYS] = {2, 1, 8, 8, 8, 1, 1, 8, 1, 2};
    const int64_t widths[N_ARRAYS] = {b->numbers, b->actions, 1, 1, 1, 1, 1, b->seats, 1, b->numbers};
    memset(out, 0, sizeof *out);
    if (!PyTuple_Check(from) || PyTuple_GET_SIZE(from) != N_ARRAYS) return refuse("10 arrays are needed");
    for (int i = 0; i < N_ARRAYS; i++) {
        if (PyObject_GetBuffer(PyTuple_GET_ITEM(from, i), &out->views[i], PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) break;
        out->held++;
        if (out->views[i].len == b->games * widths[i] * (Py_ssize_t)items[i] && (uintptr_t)out->views[i].buf % items[i] == 0) continue;
        PyErr_Format(PyExc_ValueError, "array %d has a wrong size or isn't aligned", i);
        break;
    }
    if (PyErr_Occurred()) {
        release(out);
        return false;
    }
    out->observations = out->views[OBSERVATIONS].buf, out->masks = out->views[MASKS].buf, out->players = out->views[PLAYERS].buf;
    out->who = out->views[WHO].buf, out->rewards = out->views[REWARDS].buf, out->terminated = out->views[TERMINATED].buf;
    out->truncated = out->views[TRUNCATED].buf, out->returns = out->views[RETURNS].buf;
    out->has_returns = out->views[HAS_RETURNS].buf, out->final = out->views[FINAL].buf;
    return true;
}

/* Write the end of a game into its row: for the learner, or for the seat that acted last. */
static void finish(const Batch *b, Game *g, int64_t row, Arrays *out) {
    int seat = g->learner < 0 ? g->acted_last : g->learner;
    bool cut_off = g->phase == OVER && g->winner < 0 && g->nhand[seat];
    out->rewards[row] = reward(b, g, seat);
    out->truncated[row] = cut_off;
    out->terminated[row] = !cut_off;
    observe(b, g, seat, out->final + row * b->numbers);
    if (g->phase != OVER) return;
    out->has_returns[row] = 1;
    for (int each = 0; each < b->seats; each++) out->returns[row * b->seats + each] = reward(b, g, each);
}

/* Let opponents act, and deal again where a game has ended, up to the next decision of the learner or of a caller's policy;
write what it observes. Games in which the learner had no decision are left out. */
static void settle(const Batch *b, Game *g, int64_t row, Arrays *out) {
    for (;;) {
        if (g->phase == OVER || (g->learner >= 0 && !g->nhand[g->learner])) {
            if (g->learner < 0 || g->decided) finish(b, g, row, out);
            deal(b, g, row);
        }
        int seat = g->asked[g->answered], who = g->who[seat];
        if (who == LEARNER || who >= POLICY) {
            g->decided |= who == LEARNER;
            out->players[row] = seat;
            out->who[row] = who == LEARNER ? 0 : who - POLICY + 1;
            observe(b, g, seat, out->observations + row * b->numbers);
            memcpy(out->masks + row * b->actions, g->mask, (size_t)b->actions);
            return;
        }
        play(b, g, choose(b, g, seat));
    }
}

static PyObject *games_seed(Games *self, PyObject *args) {
    Batch *b = &self->b;
    Py_ssize_t row, length;
    const char *key;
    if (!PyArg_ParseTuple(args, "ny#", &row, &key, &length)) return NULL;
    if (row < 0 || row >= b->games || length != 32) return refuse("a row and a key of 32 bytes are needed");
    set_key(game_at(b, row), (const uint8_t *)key);
    Py_RETURN_NONE;
}

static PyObject *games_deal(Games *self, PyObject *arrays) {
    Arrays out;
    if (!open_arrays(&self->b, arrays, &out)) return NULL;
    for (int64_t row = 0; row < self->b.games; row++) {
        Game *g = game_at(&self->b, row);
        deal(&self->b, g, row);
        settle(&self->b, g, row, &out);
    }
    release(&out);
    Py_RETURN_NONE;
}

static bool legal(const Batch *b, int64_t row, int64_t action) {
    return row >= 0 && row < b->games && action >= 0 && action < b->actions && game_at(b, row)->n_asked && game_at(b, row)->mask[action];
}

/* Play actions[i] in game rows[i]. Return -1; else an i whose action is illegal, and then nothing has been played. */
static int64_t play_all(const Batch *b, const int64_t *rows, const int64_t *actions, int64_t n, Arrays *out) {
    for (int64_t i = 0; i < n; i++)
        if ((i && rows[i] <= rows[i - 1]) || !legal(b, rows[i], actions[i])) return i;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows[i], action = actions[i];
        if (!legal(b, row, action)) continue;  /* `out` can overlap them */
        play(b, game_at(b, row), (int)action);
        settle(b, game_at(b, row), row, out);
    }
    return -1;
}

static PyObject *games_step(Games *self, PyObject *args) {
    Py_buffer rows, actions;
    PyObject *arrays, *done = NULL;
    Arrays out;
    if (!PyArg_ParseTuple(args, "y*y*O", &rows, &actions, &arrays)) return NULL;
    if (rows.len != actions.len || (rows.len | (uintptr_t)rows.buf | (uintptr_t)actions.buf) % 8)
        refuse("as many actions as rows are needed, of int64");
    else if (open_arrays(&self->b, arrays, &out)) {
        done = PyLong_FromLongLong(play_all(&self->b, rows.buf, actions.buf, rows.len / 8, &out));
        release(&out);
    }
    PyBuffer_Release(&rows);
    PyBuffer_Release(&actions);
    return done;
}

static PyObject *games_state(Games *self, PyObject *Py_UNUSED(none)) {
    return PyBytes_FromStringAndSize((const char *)self->b.memory, (Py_ssize_t)self->b.stride * self->b.games);
}

static PyObject *games_restore(Games *self, PyObject *args) {
    const char *state;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "y#", &state, &length)) return NULL;
    if (length != (Py_ssize_t)self->b.stride * self->b.games) return refuse("the state is of another size");
    memcpy(self->b.memory, state, (size_t)length);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"seed", (PyCFunction)games_seed, METH_VARARGS, "seed(row, key): set the key of the games of a row."},
    {"deal", (PyCFunction)games_deal, METH_O, "deal(arrays): deal the next game in all rows."},
    {"step", (PyCFunction)games_step, METH_VARARGS,
        "step(rows, actions, arrays): play in some rows, which ascend; return -1, or where an illegal action is."},
    {"state", (PyCFunction)games_state, METH_NOARGS, "Return the state of all games."},
    {"restore", (PyCFunction)games_restore, METH_VARARGS, "Continue from an undamaged state of an equal batch."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, games_new}, {Py_tp_dealloc, games_dealloc}, {Py_tp_methods, methods},
    {Py_tp_doc, "Games at once; see arena.env.batch."}, {0, NULL}};
static PyType_Spec spec = {"arena.env._games.Games", sizeof(Games), 0, Py_TPFLAGS_DEFAULT, slots};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_games", "Games of Coup in C; see arena.env.batch.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__games(void) {
    static const char *const lists[][2] = {
#define NAME(name) " " #name
        {"RULES", RULES(NAME)}, {"ROW", ROW(NAME)}, {"EFFECTS", EFFECTS(NAME)},
        {"VERBS", VERBS(NAME)}, {"PLACES", PLACES(NAME)}, {"PLAYERS", " learner random honest policy"}};
    PyObject *module = PyModule_Create(&definition), *type = module ? PyType_FromSpec(&spec) : NULL;
    bool made = type && PyModule_AddObjectRef(module, "Games", type) >= 0;
    for (size_t i = 0; made && i < sizeof lists / sizeof *lists; i++)
        made = PyModule_AddStringConstant(module, lists[i][0], lists[i][1]) >= 0;
    Py_XDECREF(type);
    if (made) make_tables();
    else Py_CLEAR(module);
    return module;
}
