import { finished } from 'node:stream/promises';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { camelCase } from './camel-case.ts';
import { copyBinary } from './copy-binary-reader.ts';

/** Rows in the text form of COPY. As the only parameter of `copy … from stdin` it is the data that Postgres reads. */
export class CopyText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** As the only parameter of a query without others: its rows are those of `copyOut`. */
export const AS_COPIED = Symbol('rows in the binary form of COPY');

const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** A connection of a pool as kysely uses it; columns of results have their names in camelCase. */
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
    if (data === AS_COPIED) return { rows: (await copyBinary(this.#client, text)) as unknown as Row[] };
    if (data instanceof CopyText) {
      const copy = this.#client.query(copyFrom(text));
      copy.end(data.text);
      await finished(copy);
      return { rows: [] };
    }
    const answer = await this.#client.query({ text, values: [...values], rowMode: 'array' });
    const [result] = [answer].flat().slice(-1); // a text of several statements has several
    if (!result) return { rows: [] };
    const names = result.fields.map(({ name }) => camelCase(name));
    const shape = Object.fromEntries(names.map((name) => [name, null as unknown])); // rows of one shape are quicker to fill
    const rows = result.rows.map((row: readonly unknown[]) => {
      const named = { ...shape };
      for (let i = 0; i < names.length; i++) named[names[i] ?? ''] = row[i];
      return named;
    });
    const counted = COUNTED.has(result.command) ? { numAffectedRows: BigInt(result.rowCount ?? 0) } : {};
    return { rows: rows as Row[], ...counted }; // a column is as its statement declares it
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
