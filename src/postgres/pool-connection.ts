import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type pg from 'pg';
import { CamelCaseQuery, CopyBinary, CopyText } from './copy-client.ts';

const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** A connection of a pool as kysely uses it. */
export class PoolConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  #ended = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      return await this.#send<Row>(sql, parameters);
    } catch (error) {
      this.#ended ||= endsSession(error);
      throw withCallers(error);
    }
  }

  /** No statement is streamed: rows are read in pages by key. */
  // biome-ignore lint/correctness/useYield: it refuses
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('streamed statements are not supported; read in pages');
  }

  /** Opens or ends a transaction. */
  async control(command: string): Promise<void> {
    await this.#client.query(command);
  }

  /** Returns the connection to its pool. One whose session the server has ended is dropped: its socket closes a moment later. */
  release(): void {
    this.#client.release(this.#ended);
  }

  async #send<Row>(text: string, values: readonly unknown[]): Promise<QueryResult<Row>> {
    const [data] = values;
    const answer = (await (data instanceof CopyText || data instanceof CopyBinary
      ? this.#client.query(text, [data])
      : this.#client.query(new CamelCaseQuery(text, values) as unknown as string))) as unknown as pg.QueryResult; // known to `CopyingClient`, of which pools are
    const { command, rowCount, rows } = answer;
    // a column is as its statement declares it
    return { rows: rows as Row[], ...(COUNTED.has(command) ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) };
  }
}

/** An error of the driver is made in its socket's handler; its stack alone says nothing of who sent the statement. */
function withCallers(error: unknown): unknown {
  if (error instanceof Error && error.stack !== undefined)
    error.stack += `\n${(new Error().stack ?? '').split('\n').slice(1).join('\n')}`;
  return error;
}

/** Returns whether the server ends the session with this error, as where it is shut down or an administrator ends it. */
function endsSession(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && (error.severity === 'FATAL' || error.severity === 'PANIC');
}
