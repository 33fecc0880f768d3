import {
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryId,
  type QueryResult,
  sql,
  type UnknownRow,
} from 'kysely';
import { sha256Hex } from '../digest/sha256.ts';

const STATEMENTS = new WeakMap<QueryId, Preparing>();
const MOST = 500; // of a session; texts whose number of values changes are many

/**
 * Has the statements of a query builder prepared: a session parses each text once, and plans it a few times. A statement through
 * it must do with one plan for few rows and for many, hence by indexes (`KEYED_PLANS`): tables grow before they are analyzed.
 */
export class Preparing implements KyselyPlugin {
  readonly #names = new Map<string, string>();
  readonly #scope: string;
  #isOff = false;

  /** @param scope what else decides what a text means: the schema of its tables. */
  constructor(scope: string) {
    this.#scope = scope;
  }

  transformQuery({ node, queryId }: PluginTransformQueryArgs) {
    STATEMENTS.set(queryId, this);
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result;
  }

  /** Returns the name under which a session prepares a text; undefined where it is sent as it is. */
  nameOf(text: string): string | undefined {
    if (this.#isOff) return undefined;
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size === MOST) return known;
    const name = sha256Hex(`${this.#scope} ${text}`).slice(0, 32);
    this.#names.set(text, name);
    return name;
  }

  /** Sends texts as they are from here on where a session lost a name: a pooler lends another one for each transaction. */
  failed(code: unknown): void {
    if (isLostStatement(code)) this.#isOff = true;
  }
}

// No such statement; there already; its rows have another shape by now.
const LOST = new Set(['26000', '42P05', '0A000']);

/** Whether a statement was not carried out because its session had lost its name. */
export function isLostStatement(code: unknown): boolean {
  return typeof code === 'string' && LOST.has(code);
}

/**
 * For a statement that sets up a transaction: plans read by keys, also those made while a table was small. A scan that cannot be
 * avoided looks expensive to Postgres before 18 then, so that it would compile each statement (0.9 s of one, measured on 15).
 */
export const KEYED_PLANS = sql`set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`;

/** Returns what has a statement prepared; undefined for most. */
export function preparingOf(query: QueryId): Preparing | undefined {
  return STATEMENTS.get(query);
}
