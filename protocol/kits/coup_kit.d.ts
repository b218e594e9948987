// Types of coup_kit.js, for TypeScript and for `// @ts-check`. Copy it next to the kit, which documents each name.

/** A role, or an embezzler's claim; later variants may add others. */
export type Role = "ambassador" | "assassin" | "captain" | "contessa" | "duke" | "inquisitor" | (string & {});
export type Roles = readonly Role[];
export type Allegiance = "loyalist" | "reformist";
/** An element of `legal`: `{action, target}`, `{challenge: true}`, `{block: "duke"}`, `{keep: [...]}` ... */
export type Move = Readonly<{
  action?: string; target?: number; pass?: true; challenge?: true; block?: Role;
  show?: Role | "all"; decline?: true; lose?: Role; keep?: Roles; keep_shown?: boolean;
  pick?: Role; side?: Allegiance; reveal?: Role; examined?: "hand_back" | "force_swap";
}>;
/** The result of a request's method: a legal move, its index, or nothing, which plays the first legal move. */
export type Answer = Move | number | null | undefined | void;
/** Counts by role: only counted roles are keys; a role that was never counted reads as 0. */
export type Counts = Readonly<Record<Role, number>>;

// --- messages: SPEC.md documents each field ---

export type Ruleset = Readonly<{
  name: string; seats: number; deck: Readonly<Partial<Record<Role, number>>>; start_coins: number;
  two_player_starter_coins: number; coup_cost: number; assassinate_cost: number; forced_coup: number;
  turn_limit: number; first_player: "seat_0" | "last_winner" | "random"; attacks_blocked_by: "target" | "anyone";
  block_challenged_by: "anyone" | "actor"; prove: "choose" | "automatic"; shown_card: "replaced" | "may_keep";
  block_after_failed_challenge: "yes" | "never" | "not_challenger"; exchange_draw: number;
  exchange_return: "any" | "claimed_role"; inquisitor: boolean; examine_pick: "target" | "random";
  examine_replace: "draw_first" | "return_first"; reformation: boolean;
  allegiance_start: "starter_chooses" | "assigned"; embezzle_concede: boolean; draft: boolean;
  dead_target: "nothing" | "coins"; talk: "off" | "statements" | "text";
}>;

export type Limits = Readonly<{
  limit_ms: number; bank_ms: number; start_ms: number; clock: "own" | "wall"; ponder: boolean;
  line_bytes: number; flood_bytes: number; lives: number; forfeits: number;
  memory_mb: number; processes: number; cpu_s: number; cores: number;
  file_size_mb: number; tmp_mb: number; open_files: number;
}>;

export type Match = Readonly<{ games: number; seats: number; your_handle: string; handles: readonly string[] }>;
export type Seat = Readonly<{ coins: number; influence: number; revealed: Roles; allegiance?: Allegiance }>;
export type State = Readonly<{ turn: number; actor: number; deck: number; reserve?: number; players: readonly Seat[] }>;
/** Certain facts about one opponent: cards that it holds, and roles that it doesn't hold. */
export type KnownPlayer = Readonly<{ seat: number; has?: Roles; lacks?: Roles }>;
/** Certain facts about all opponents and the court deck. */
export type Known = Readonly<{ players?: readonly KnownPlayer[]; deck?: Roles }>;
export type You = Readonly<{
  seat: number; cards: Roles; drawn?: Roles; discards?: Roles; seen?: Role; known?: Known;
}>;
export type Pending = Readonly<{ actor: number; action: string; target?: number }>;
export type Claim = Readonly<{ seat: number; role: Role; block: boolean }>;

type Happened<Word extends string, More = unknown> = Readonly<{ n: number; event: Word; seat: number } & More>;

/** An event. A later arena may send others: ignore those. */
export type Event =
  | Happened<"action", { action: string; target?: number; claim?: Role }>
  | Happened<"coins", { delta: number; reason: string }>
  | Happened<"challenge", { claimant: number; role: Role }>
  | Happened<"shown", { role: Role; replaced?: false; cards?: Roles }>
  | Happened<"shown_hand", { roles: Roles; cards?: Roles }>
  | Happened<"unproven" | "block", { role: Role }>
  | Happened<"lost", { role: Role; reason: string }>
  | Happened<"exiled">
  | Happened<"exchanged", { count: number; cards?: Roles }>
  | Happened<"examined", { target: number; replaced: boolean; role?: Role; cards?: Roles }>
  | Happened<"drafted", { cards?: Roles }>
  | Happened<"allegiances", { sides: readonly string[] }>
  | Happened<"converted", { target: number; allegiance: string }>
  | Happened<"forfeit", { roles: Roles }>
  | Happened<"say", { says: string; role?: Role; target?: number; text?: string }>
  | Happened<"resolved", { action: string; target?: number; how: string }>;

export type Hello = Readonly<{
  type: "hello"; protocol: number; ruleset: Ruleset; limits: Limits; match: Match; bot_seed: string;
}>;
export type GameStart = Readonly<{
  type: "game_start"; game: number; game_seed: string; seat: number; players: readonly string[]; you: You; state: State;
}>;
type Asked<Kind extends string, More = unknown> = Readonly<
  {
    type: "request"; id: number; kind: Kind; game: number; events: readonly Event[]; state: State; you: You;
    legal: readonly Move[]; clock: Readonly<{ limit_ms: number; bank_ms: number }>;
  } & More
>;

/** A request, by `kind`. A later arena may send others. */
export type Request =
  | Asked<"turn" | "draft" | "allegiance">
  | Asked<"challenge", { pending: Pending; claim: Claim }>
  | Asked<"block", { pending: Pending; proven: boolean }>
  | Asked<"prove" | "keep_shown", { pending: Pending; claim: Claim; challenger: number }>
  | Asked<"lose", { pending: Pending; reason: "coup" | "assassinate" | "challenge" }>
  | Asked<"exchange", { pending: Pending; you: Readonly<{ drawn: Roles }> }>
  | Asked<"examine_show", { pending: Pending }>
  | Asked<"examine_decide", { pending: Pending; you: Readonly<{ seen: Role }> }>;

export type ErrorMessage = Readonly<{
  type: "error"; id: number | null; code: string; message: string; got: string | null; used: Move | null; lives: number;
}>;
export type GameOver = Readonly<{
  type: "game_over"; game: number; winner: number | null; reason: "last_standing" | "turn_limit" | "all_forfeit";
  survivors: readonly number[]; events: readonly Event[]; state: State;
}>;
export type MatchOver = Readonly<{ type: "match_over" }>;

/** A message of the referee, as an object, by `type`. */
export type Message = Hello | GameStart | Request | ErrorMessage | GameOver | MatchOver;
/** The answer of a bot to `hello` and to a request. */
export type Reply =
  | Readonly<{ type: "hello"; name: string; version?: string }>
  | Readonly<{ id: number; choice: number; say?: readonly object[] }>;

// --- the kit ---

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
  get coins(): number;
  get influence(): number;
  get revealed(): Roles;
  get alive(): boolean;
  get allegiance(): Allegiance | null;
  get known(): Roles;
  get lacks(): Roles;
}

export class Game {
  private constructor();
  readonly rules: Ruleset;
  readonly limits: Limits;
  readonly match: Match;
  readonly botSeed: string;
  readonly gameSeed: string;
  readonly request: Request | GameStart | (GameOver & { readonly you: You });
  readonly players: readonly Player[];
  readonly winner: number | null;
  readonly survivors: readonly number[];
  get kind(): string;
  get legal(): readonly Move[];
  get number(): number;
  get state(): State;
  get seat(): number;
  get cards(): Roles;
  get drawn(): Roles;
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
  /** Processes a message of the referee; returns the answer, or null if it needs none. */
  reply(message: Message): Reply | null;
}

/** Plays over standard input and output until the match is over. */
export function run(bot: Bot): void;
