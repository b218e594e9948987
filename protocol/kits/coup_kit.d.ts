// Types of coup_kit.js, for TypeScript and for `// @ts-check`: copy it beside the kit. What each means stands there.

/** A role, or an embezzler's claim; variants to come may have others. */
export type Role = "ambassador" | "assassin" | "captain" | "contessa" | "duke" | "inquisitor" | (string & {});
/** An element of `legal`: `{action, target}`, `{challenge: true}`, `{block: "duke"}`, `{keep: [...]}` ... */
export type Move = Readonly<Record<string, string | number | boolean | readonly string[]>>;
/** What a request's method returns: a legal move, its index, or nothing, which plays the first. */
export type Answer = Move | number | null | undefined | void;
/** How often, by role: only what was counted is a key; what wasn't reads as 0. */
export type Counts = Readonly<Record<Role, number>>;

export interface Ruleset {
  readonly name: string;
  readonly seats: number;
  readonly deck: Readonly<Record<Role, number>>;
  readonly [field: string]: unknown;
}

export interface Seat {
  readonly coins: number;
  readonly influence: number;
  readonly revealed: readonly Role[];
  readonly allegiance?: "loyalist" | "reformist";
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

/** A message of the referee, as an object. */
export interface Message {
  readonly type: string;
  readonly [field: string]: unknown;
}

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
  get allegiance(): "loyalist" | "reformist" | null;
}

export class Game {
  private constructor();
  readonly rules: Ruleset;
  readonly limits: Readonly<Record<string, number | string | boolean>>;
  readonly match: { readonly games: number; readonly seats: number; readonly your_handle: string; readonly handles: string[] };
  readonly botSeed: string;
  readonly gameSeed: string;
  readonly request: Message;
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
  fault(game: Game, error: Message): void;
  matchOver(game: Game): void;
  /** Takes a message of the referee; returns the answer, or null. */
  reply(message: Message): Message | { id: number; choice: number } | null;
}

/** Plays over the pipes until the match is over. */
export function run(bot: Bot): void;
