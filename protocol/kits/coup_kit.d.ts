// Types of coup_kit.js, for TypeScript and for `// @ts-check`: copy it beside the kit. What each means stands there.

/** A role, or an embezzler's claim; variants to come may have others. */
export type Role = "ambassador" | "assassin" | "captain" | "contessa" | "duke" | "inquisitor" | (string & {});
/** An element of `legal`: `{action, target}`, `{challenge: true}`, `{block: "duke"}`, `{keep: [...]}` ... */
export interface Move {
  readonly action?: string;
  readonly target?: number;
  readonly pass?: true;
  readonly challenge?: true;
  readonly block?: Role;
  readonly show?: Role | "all";
  readonly decline?: true;
  readonly lose?: Role;
  readonly keep?: readonly Role[];
  readonly keep_shown?: boolean;
  readonly pick?: Role;
  readonly side?: Allegiance;
  readonly reveal?: Role;
  readonly examined?: "hand_back" | "force_swap";
}

export type Allegiance = "loyalist" | "reformist";
/** What a request's method returns: a legal move, its index, or nothing, which plays the first. */
export type Answer = Move | number | null | undefined | void;
/** How often, by role: only what was counted is a key; what wasn't reads as 0. */
export type Counts = Readonly<Record<Role, number>>;

export interface Ruleset {
  readonly name: string;
  readonly seats: number;
  readonly deck: Readonly<Partial<Record<Role, number>>>;
  readonly start_coins: number;
  readonly two_player_starter_coins: number;
  readonly coup_cost: number;
  readonly assassinate_cost: number;
  readonly forced_coup: number;
  readonly turn_limit: number;
  readonly first_player: "seat_0" | "last_winner" | "random";
  readonly attacks_blocked_by: "target" | "anyone";
  readonly block_challenged_by: "anyone" | "actor";
  readonly prove: "choose" | "automatic";
  readonly shown_card: "replaced" | "may_keep";
  readonly block_after_failed_challenge: "yes" | "never" | "not_challenger";
  readonly exchange_draw: number;
  readonly exchange_return: "any" | "claimed_role";
  readonly inquisitor: boolean;
  readonly examine_pick: "target" | "random";
  readonly examine_replace: "draw_first" | "return_first";
  readonly reformation: boolean;
  readonly allegiance_start: "starter_chooses" | "assigned";
  readonly embezzle_concede: boolean;
  readonly draft: boolean;
  readonly dead_target: "nothing" | "coins";
  readonly talk: "off" | "statements" | "text";
}

export interface Limits {
  readonly limit_ms: number;
  readonly bank_ms: number;
  readonly start_ms: number;
  readonly line_bytes: number;
  readonly flood_bytes: number;
  readonly lives: number;
  readonly forfeits: number;
  readonly clock: "own" | "wall";
  readonly ponder: boolean;
  readonly memory_mb: number;
  readonly processes: number;
  readonly cpu_s: number;
  readonly cores: number;
  readonly file_size_mb: number;
  readonly tmp_mb: number;
  readonly open_files: number;
}

export interface Match {
  readonly games: number;
  readonly seats: number;
  readonly your_handle: string;
  readonly handles: readonly string[];
}

export interface Seat {
  readonly coins: number;
  readonly influence: number;
  readonly revealed: readonly Role[];
  readonly allegiance?: Allegiance;
}

export interface State {
  readonly turn: number;
  readonly actor: number;
  readonly deck: number;
  readonly reserve?: number;
  readonly players: readonly Seat[];
}

export interface You {
  readonly seat: number;
  readonly cards: readonly Role[];
  readonly drawn?: readonly Role[];
  readonly discards?: readonly Role[];
  readonly seen?: Role;
  readonly known?: Known;
}

/** What is certain of cards that you don't see; what is empty is left out. */
export interface Known {
  readonly players?: readonly { readonly seat: number; readonly has?: readonly Role[]; readonly lacks?: readonly Role[] }[];
  readonly deck?: readonly Role[];
}

export interface Pending {
  readonly actor: number;
  readonly action: string;
  readonly target?: number;
}

export interface Claim {
  readonly seat: number;
  readonly role: Role;
  readonly block: boolean;
}

interface Happened<Word extends string> {
  readonly n: number;
  readonly event: Word;
  readonly seat: number;
}

/** What has happened; SPEC.md, Events. A later arena may send others: leave those alone. */
export type Event =
  | (Happened<"action"> & { readonly action: string; readonly target?: number; readonly claim?: Role })
  | (Happened<"coins"> & { readonly delta: number; readonly reason: string })
  | (Happened<"challenge"> & { readonly claimant: number; readonly role: Role })
  | (Happened<"shown"> & { readonly role: Role; readonly replaced?: false; readonly cards?: readonly Role[] })
  | (Happened<"shown_hand"> & { readonly roles: readonly Role[]; readonly cards?: readonly Role[] })
  | (Happened<"unproven"> & { readonly role: Role })
  | (Happened<"lost"> & { readonly role: Role; readonly reason: string })
  | Happened<"exiled">
  | (Happened<"block"> & { readonly role: Role })
  | (Happened<"exchanged"> & { readonly count: number; readonly cards?: readonly Role[] })
  | (Happened<"examined"> & {
      readonly target: number;
      readonly replaced: boolean;
      readonly role?: Role;
      readonly cards?: readonly Role[];
    })
  | (Happened<"drafted"> & { readonly cards?: readonly Role[] })
  | (Happened<"allegiances"> & { readonly sides: readonly string[] })
  | (Happened<"converted"> & { readonly target: number; readonly allegiance: string })
  | (Happened<"forfeit"> & { readonly roles: readonly Role[] })
  | (Happened<"say"> & { readonly says: string; readonly role?: Role; readonly target?: number; readonly text?: string })
  | (Happened<"resolved"> & { readonly action: string; readonly target?: number; readonly how: string });

export interface Hello {
  readonly type: "hello";
  readonly protocol: number;
  readonly ruleset: Ruleset;
  readonly limits: Limits;
  readonly match: Match;
  readonly bot_seed: string;
}

export interface GameStart {
  readonly type: "game_start";
  readonly game: number;
  readonly game_seed: string;
  readonly seat: number;
  readonly players: readonly string[];
  readonly you: You;
  readonly state: State;
}

interface Asked<Kind extends string> {
  readonly type: "request";
  readonly id: number;
  readonly game: number;
  readonly events: readonly Event[];
  readonly state: State;
  readonly you: You;
  readonly clock: { readonly limit_ms: number; readonly bank_ms: number };
  readonly kind: Kind;
  readonly legal: readonly Move[];
}

/** By `kind`; a later arena may send others. */
export type Request =
  | Asked<"turn" | "draft" | "allegiance">
  | (Asked<"challenge"> & { readonly pending: Pending; readonly claim: Claim })
  | (Asked<"block"> & { readonly pending: Pending; readonly proven: boolean })
  | (Asked<"prove" | "keep_shown"> & { readonly pending: Pending; readonly claim: Claim; readonly challenger: number })
  | (Asked<"lose"> & { readonly pending: Pending; readonly reason: "coup" | "assassinate" | "challenge" })
  | (Asked<"exchange"> & { readonly pending: Pending; readonly you: { readonly drawn: readonly Role[] } })
  | (Asked<"examine_show"> & { readonly pending: Pending })
  | (Asked<"examine_decide"> & { readonly pending: Pending; readonly you: { readonly seen: Role } });

/** A fault; SPEC.md, Faults. */
export interface ErrorMessage {
  readonly type: "error";
  readonly id: number | null;
  readonly code: string;
  readonly message: string;
  readonly got: string | null;
  readonly used: Move | null;
  readonly lives: number;
}

export interface GameOver {
  readonly type: "game_over";
  readonly game: number;
  readonly winner: number | null;
  readonly reason: "last_standing" | "turn_limit" | "all_forfeit";
  readonly survivors: readonly number[];
  readonly events: readonly Event[];
  readonly state: State;
}

export interface MatchOver {
  readonly type: "match_over";
}

/** A message of the referee, as an object, by `type`. */
export type Message = Hello | GameStart | Request | ErrorMessage | GameOver | MatchOver;

/** What a bot answers to `hello`, and to a request. */
export type Reply =
  | { readonly type: "hello"; readonly name?: string; readonly version?: string }
  | { readonly id: number; readonly choice: number; readonly say?: readonly object[] };

export class History {
  claimed: number;
  challenged: number;
  proven: number;
  caught: number;
  challenges: number;
  wonChallenges: number;
  blocks: number;
  get bluffRate(): number | null;
}

export class Player {
  private constructor();
  readonly seat: number;
  readonly handle: string;
  readonly history: History;
  readonly claims: Counts;
  readonly caught: Counts;
  readonly shown: Counts;
  readonly blocks: Counts;
  readonly known: readonly Role[];
  get coins(): number;
  get influence(): number;
  get revealed(): readonly Role[];
  get alive(): boolean;
  get allegiance(): Allegiance | null;
}

export class Game {
  private constructor();
  readonly rules: Ruleset;
  readonly limits: Limits;
  readonly match: Match;
  readonly botSeed: string;
  readonly gameSeed: string;
  readonly request: Request | GameStart;
  readonly players: readonly Player[];
  readonly winner: number | null;
  readonly survivors: readonly number[];
  get kind(): string;
  get legal(): readonly Move[];
  get number(): number;
  get state(): State;
  get seat(): number;
  get cards(): readonly Role[];
  get drawn(): readonly Role[];
  get seen(): Role | null;
  get turn(): number;
  get actor(): number;
  get me(): Player;
  get opponents(): readonly Player[];
  get pending(): Partial<Pending>;
  get claim(): Partial<Claim>;
  get proven(): boolean;
  get challenger(): number | null;
  get reason(): string | null;
  random(): number;
  find(word: string, what?: string | number | boolean | null): Move | null;
  moves(word: string): readonly Move[];
  odds(seat: number, role: Role): number;
  tell(event: Event): string;
  say(says: string, what: string | number, target?: number | null): void;
}

export class Bot {
  name: string;
  version: string;
  careful: boolean;
  turn(game: Game): Answer;
  challenge(game: Game): Answer;
  block(game: Game): Answer;
  prove(game: Game): Answer;
  lose(game: Game): Answer;
  exchange(game: Game): Answer;
  keepShown(game: Game): Answer;
  examineShow(game: Game): Answer;
  examineDecide(game: Game): Answer;
  draft(game: Game): Answer;
  allegiance(game: Game): Answer;
  other(game: Game): Answer;
  matchStart(game: Game): void;
  gameStart(game: Game): void;
  event(game: Game, event: Event): void;
  gameOver(game: Game): void;
  fault(game: Game, error: ErrorMessage): void;
  matchOver(game: Game): void;
  /** Takes a message of the referee; returns the answer, or null. */
  reply(message: Message): Reply | null;
}

/** Plays over the pipes until the match is over. */
export function run(bot: Bot): void;
